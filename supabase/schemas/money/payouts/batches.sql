-- A batch through its steps: prepared, approved, exported, settled; or cancelled. Money leaves a balance when its line
-- is prepared.

-- For the sandbox: one at a time for each partner, and not while the operator pays. Called before any row is locked.
create function private.lock_payouts_of(partner uuid) returns void
language plpgsql
as $$
begin
  perform private.lock('payouts', shared => true), private.lock('sandbox_payouts', partner::text);
end $$;

-- A posting of euros from one account to another; an amount below zero goes the other way.
create function private.euro_posting(cause text, amount numeric, from_kind text, from_owner uuid, to_kind text,
                                     to_owner uuid) returns private.posting
language plpgsql immutable
as $$
begin
  if amount > 0 then
    return row(cause, 'EUR', amount, from_kind, from_owner, to_kind, to_owner)::private.posting;
  end if;
  return row(cause, 'EUR', -amount, to_kind, to_owner, from_kind, from_owner)::private.posting;
end $$;

-- What lines paid of each part of a payee's sales. A failed or cancelled line does not count, so at most one line pays
-- a part of a sale that stands.
create function private.paid_of(tenant uuid, kind text, payee uuid)
returns table (allocation_id uuid, paid numeric, state text, failed boolean, paid_at timestamptz)
language plpgsql stable
as $$
begin
  -- a session keeps a plan that it made while nothing was paid: that would read every line once for each part
  if not exists (select from core.payout_parts o
                  where o.ledger_partner_id = tenant and o.payee_id = payee and o.kind = paid_of.kind) then
    return;
  end if;
  return query
  select e.allocation_id, case when k.counts then e.amount else 0 end,
         case when not k.counts then null when l.status = 'paid' then 'paid' when b.status = 'prepared'
              then 'pending' else 'approved' end,
         l.failed_effect in ('account', 'holder'), l.paid_at
    from core.payout_parts o
    join core.payout_lines l on l.partner_id = o.partner_id and l.id = o.line_id
    join core.payout_batches b on b.id = l.batch_id
   cross join lateral (select l.status in ('pending', 'paid') as counts) k
    -- by both columns: else without statistics each call reads all entries of the partner
   cross join lateral (
     select * from core.payout_entries e where e.partner_id = o.partner_id and e.part_id = o.id offset 0) e
   where o.ledger_partner_id = tenant and o.payee_id = payee and o.kind = paid_of.kind;
end $$;

-- Each part of a sale that earned a payee something: whether the sale stands, what is due (0 if it was taken back), and
-- what was paid of it.
create function private.earned_of(tenant uuid, kind text, payee uuid)
returns table (allocation_id uuid, arrival bigint, stands boolean, due numeric, paid numeric, state text,
               paid_at timestamptz)
language plpgsql stable
as $$
begin
  return query
  -- one pass over sold and paid parts, combined without a join: a partner may have a hundred thousand of each
  select m.id, max(m.arrival), bool_or(m.stands), sum(m.due), sum(m.paid),
         case when sum(m.paid) <> 0 then max(m.state) when bool_or(m.failed) then 'failed' else 'pending' end,
         case when sum(m.paid) <> 0 then max(m.paid_at) end
    from (
      select a.id, s.arrival, a.reversal_id is null as stands,
          case when a.reversal_id is null then a.net else 0 end as due, 0.00 as paid,
             null as state, false as failed, null::timestamptz as paid_at
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'customer' and a.partner_id = tenant and a.account_id = payee and a.net > 0
      union all
      select a.id, s.arrival, a.reversal_id is null, case when a.reversal_id is null then a.partner_share else 0 end, 0,
          null, false, null
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'partner' and a.partner_id = tenant and a.share_partner_id = payee and a.partner_share > 0
      union all
      select p.allocation_id, null, null, 0, p.paid, p.state, p.failed, p.paid_at
        from private.paid_of(tenant, earned_of.kind, payee) p) m
   group by m.id;
end $$;

-- Makes a batch with a line for each of these payees, for all that they are owed now, or that owners are. The caller
-- has locked payouts. ids are the ids of a batch that a restore lost: {batch, lines: {payee: line}}.
create function private.make_batch(payees private.payee[], from_euro numeric, by_login text, owners uuid[] default null,
                                   ids jsonb default '{}') returns uuid
language plpgsql
as $$
declare
  made   uuid;
  ledger record;
begin
  insert into core.payout_batches (id, minimum, prepared_by)
    values (coalesce((ids ->> 'batch')::uuid, gen_random_uuid()), from_euro, by_login)
  returning id into made;
  for ledger in
    with part as (
      select coalesce((ids -> 'lines' ->> coalesce(y.account_id, y.partner_id)::text)::uuid,
                      gen_random_uuid()) as line_id, coalesce(y.account_id, y.partner_id) as payee_id, y.*
                      from unnest(payees) y
    ), balance as (
      select l.line_id, b.* from part l
        join private.payable_balances(owners) b on b.partner_id = l.partner_id and coalesce(b.account_id,
            b.partner_id) = l.payee_id
    ), lines as (
      insert into core.payout_lines (partner_id, id, batch_id, account_id, owner_id, amount, name, iban_ciphertext,
                                     iban_key_id, iban_last4)
      select l.partner_id, l.line_id, made, l.account_id, l.owner_id, b.amount, l.name, l.iban_ciphertext,
          l.iban_key_id, l.iban_last4
        from part l join (select b.line_id, sum(b.amount) as amount from balance b group by b.line_id) b
            on b.line_id = l.line_id
       order by l.name, l.line_id
    ), piece as (
      select gen_random_uuid() as id, b.*, a.owner_id
        from balance b
        left join core.accounts a on a.partner_id = b.partner_id and a.id = b.of_account_id
    ), entry as (
      select p.partner_id, p.id as part_id, p.ledger_partner_id, d.allocation_id, p.owner_id, d.due - d.paid as amount,
          d.stands
        from piece p
       cross join lateral private.earned_of(p.ledger_partner_id, p.kind, coalesce(p.of_account_id, p.partner_id)) d
       where d.due <> d.paid
    ), parts as (
      insert into core.payout_parts (partner_id, id, line_id, ledger_partner_id, kind, account_id, owner_id,
                                     amount, forgotten)
      select p.partner_id, p.id, p.line_id, p.ledger_partner_id, p.kind, p.of_account_id, p.owner_id, p.amount,
             case p.kind when 'vat' then 0 else p.amount - coalesce(e.amount, 0) end
        from piece p
        left join (select e.part_id, sum(e.amount) as amount from entry e group by e.part_id) e on e.part_id = p.id
      returning *
    ), entries as (
      insert into core.payout_entries (partner_id, part_id, ledger_partner_id, allocation_id, owner_id, amount, sold)
      select e.partner_id, e.part_id, e.ledger_partner_id, e.allocation_id, e.owner_id, e.amount, e.stands from entry e
    )
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id, p.amount, p.kind, p.payee_id, 'payout',
                                          y.payee_id)) as postings
      from parts p join part y on y.line_id = p.line_id
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  return made;
end $$;

-- The cause of an entry of a part of a line. What failed by mistake moves a second time.
create function private.payout_cause(part uuid, line core.payout_lines) returns text
language sql immutable
as $$ select 'payout:' || part || case when line.unfailed_at is null then '' else ':again' end $$;

-- Puts the money of these lines back into the balances that they took it from. It is moved by what the parts say, not
-- by the entries, because retention may have deleted those.
create function private.return_lines(lines core.payout_lines[]) returns void
language plpgsql
as $$
declare
  ledger record;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting(k.cause || ':reversed', p.amount, 'payout', l.payee_id, p.kind, p.payee_id))
               || coalesce(array_agg(private.euro_posting(k.cause || ':paid:reversed', p.amount, 'bank', l.payee_id,
                                                          'payout', l.payee_id))
                             filter (where l.status = 'paid'), '{}') as postings
      from unnest(lines) l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     cross join lateral (select private.payout_cause(p.id, l) as cause) k
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
end $$;

-- Marks those of these lines as paid that wait for the bank, on the day on which it booked them or else now; returns
-- how many.
create function private.pay_lines(lines core.payout_lines[], booked_on date default null) returns int
language plpgsql
as $$
declare
  waiting constant core.payout_lines[] := array(select l from unnest(lines) l where l.status = 'pending');
  ledger record;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting(private.payout_cause(p.id, l) || ':paid', p.amount, 'payout', l.payee_id,
                                          'bank', l.payee_id)) as postings
      from unnest(waiting) l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  update core.payout_lines l
     set status = 'paid',
         paid_at = greatest(b.exported_at,
                            least(private.now(), private.dutch_midnight(pay_lines.booked_on) + interval '12 hours')),
         booked_on = pay_lines.booked_on
    from unnest(waiting) w join core.payout_batches b on b.id = w.batch_id
   where l.partner_id = w.partner_id and l.id = w.id;
  perform private.request_statements(waiting), private.notify_payments(waiting, 'payout_paid');
  perform private.emit_payouts('payout.paid', waiting);
  return cardinality(waiting);
end $$;

-- Marks lines that the bank did not pay, or sent back. The money is in the balances again. Only if the account was
-- wrong a customer is asked for another IBAN. bars: what it bars, where the reason does not say so.
create function private.fail_lines(lines core.payout_lines[], reason text, bars text default null) returns void
language plpgsql
as $$
declare
  effect constant text := coalesce(bars, private.failure_effect(reason));
  line   core.payout_lines;
begin
  perform private.return_lines(lines), private.withdraw_statements(lines);
  update core.payout_lines l
     set status = 'failed', failed_at = private.now(), failed_reason = fail_lines.reason, failed_by = session_user,
         failed_effect = effect, paid_at = null, return_asked_by = null, return_asked_reason = null
    from unnest(lines) g where l.partner_id = g.partner_id and l.id = g.id;
  foreach line in array lines loop
    perform private.set_tenant(line.partner_id),
        private.audit('payout.failed', line.payee_id, jsonb_build_object('line', line.id, 'amount', line.amount));
  end loop;
  perform private.set_tenant(null), private.emit_payouts('payout.failed', lines);
  perform private.notify_payments(lines, 'payout_failed') where effect = 'account';
end $$;

-- Marks a line as paid that failed here, and that the bank booked all the same. Its money leaves the balances a second
-- time. Refused if it came back, or another payment has it already.
create function private.unfail_line(line core.payout_lines) returns void
language plpgsql
as $$
declare
  ledger record;
begin
  -- of what the bank paid twice one may have come back
  perform private.refuse_if('payout_came_back',
    line.returned and (line.booked_again is null or line.surplus_on is not null), json_build_object('line', line.id));
  perform private.refuse_if('payout_paid_again', line.unfailed_at is not null or exists (
    select from core.payout_parts p
      join core.payout_parts o on o.ledger_partner_id = p.ledger_partner_id and o.payee_id = p.payee_id
          and o.kind = p.kind and o.id <> p.id
      join core.payout_lines l on l.partner_id = o.partner_id and l.id = o.line_id and l.status in ('pending', 'paid')
     where p.partner_id = line.partner_id and p.line_id = line.id
       -- VAT belongs to no sale, so a later payment may have it
       and (p.forgotten <> 0 or p.kind = 'vat' and l.arrival > line.arrival or exists (
         select from core.payout_entries e
           join core.payout_entries n on n.partner_id = o.partner_id and n.part_id = o.id
               and n.ledger_partner_id = e.ledger_partner_id and n.allocation_id = e.allocation_id
          where e.partner_id = p.partner_id and e.part_id = p.id))), json_build_object('line', line.id));
  update core.payout_lines l
     set status = 'pending', failed_at = null, failed_reason = null, failed_effect = null, failed_by = null,
         released_at = null, released_reason = null, returned = false, unfailed_at = private.now()
   where l.partner_id = line.partner_id and l.id = line.id
  returning * into line;
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting(private.payout_cause(p.id, line), p.amount, p.kind, p.payee_id, 'payout',
                                          line.payee_id)) as postings
      from core.payout_parts p where p.partner_id = line.partner_id and p.line_id = line.id
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  perform private.pay_lines(array[line], line.booked_on),
          private.set_tenant(line.partner_id),
          private.audit('payout.unfailed', line.payee_id, jsonb_build_object('line', line.id));
  perform private.set_tenant(null);
end $$;

-- What a payment to a customer was for, by its line or its part: the first days of its quarters, and the kWh.
create function private.paid_for(tenant uuid, account uuid, line uuid, part uuid, out quarters jsonb, out kwh numeric)
language sql stable
as $$
  select coalesce(jsonb_agg(distinct date_trunc('quarter', r.period)::date), '[]'),
         coalesce(round(sum(s.ere / r.ere_per_kwh), 3), 0)
    from core.payout_parts p
    -- else without statistics each payment reads all booking rows and parts of sales of the partner
   cross join lateral (
     select s.partner_id, s.row_id, s.ere
       from core.payout_entries e
       join core.allocations s on s.partner_id = e.ledger_partner_id and s.id = e.allocation_id
      where e.partner_id = p.partner_id and e.part_id = p.id and e.sold offset 0) s
    join core.booking_rows r on r.partner_id = s.partner_id and r.id = s.row_id
   where p.partner_id = tenant and p.account_id = account and p.kind = 'customer' and (p.line_id = line or p.id = part)
$$;

-- Mails the customers of these lines: payout_sent, the bank is asked to pay them on a day; payout_paid, it did;
-- payout_failed, it could not.
create function private.notify_payments(lines core.payout_lines[], kind text, pays_on date default null) returns void
language plpgsql
as $$
declare
  expected constant jsonb := case kind when 'payout_sent' then
    jsonb_build_object('from', private.working_day(greatest(private.today(), pays_on - 1), 1),
                       'until', private.working_day(greatest(private.today(), pays_on - 1), 3)) else '{}' end;
begin
  insert into core.notices (partner_id, account_id, owner_id, kind, cause, details)
  select l.partner_id, l.account_id, l.owner_id, notify_payments.kind, notify_payments.kind || ':' || l.id
             -- what failed by mistake is told again
             || case when l.unfailed_at is null then '' else ':again' end,
         jsonb_build_object('amount_eur', l.amount, 'iban_last4', l.iban_last4) || expected
           || case when notify_payments.kind = 'payout_paid' then (
                select to_jsonb(f) from private.paid_for(l.partner_id, l.account_id, l.id, null) f) else '{}' end
    from unnest(lines) l
    join core.accounts a on a.partner_id = l.partner_id and a.id = l.account_id
   -- who gave another IBAN since then is not asked for one
   where notify_payments.kind <> 'payout_failed' or coalesce(a.iban_last4, l.iban_last4) = l.iban_last4
  on conflict on constraint notices_cause_key do nothing;
end $$;

-- The state of each part of a payee's sales that stand: pending, approved (by two people), paid, or failed (its last
-- payment came back). taken: a line pays it, or it settles a debt, even in part. A debt is what was paid for a sale
-- that was taken back.
create function private.payments(tenant uuid, kind text, payee uuid)
returns table (allocation_id uuid, amount numeric, state text, paid_at timestamptz, taken boolean)
language plpgsql stable
as $$
begin
  return query
  with earned as (
    select e.*, sum(e.due) filter (where e.paid = 0) over (order by e.arrival, e.allocation_id) as up_to
      from private.earned_of(tenant, kind, payee) e where e.stands
  ), kept as (
    -- the balance is less than the unpaid parts by the debt, which the oldest of these parts settle
    select (select sum(e.due) from earned e where e.paid = 0) - private.balance(tenant, 'EUR',
        payments.kind, payee) as debt
  ), last as (
    select case when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending'
                else 'approved' end as state, l.paid_at
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status in ('pending', 'paid')
      join core.payout_batches b on b.id = l.batch_id
     where p.ledger_partner_id = tenant and p.payee_id = payee and p.kind = payments.kind
         and (select k.debt from kept k) > 0
     order by l.arrival desc limit 1
  )
  select e.allocation_id, e.due,
         case when e.paid <> 0 then e.state when e.up_to <= k.debt then coalesce(l.state, 'paid') else e.state end,
         case when e.paid <> 0 then e.paid_at when e.up_to <= k.debt then l.paid_at end,
         e.paid <> 0 or coalesce(e.up_to - e.due < k.debt, false)
    from earned e
   cross join kept k
    left join last l on true;
end $$;

-- A batch through its steps: prepared, approved, exported, settled; or cancelled. Money leaves a balance when its line is prepared.

create function private.lock_payouts(exclusively boolean) returns void
language plpgsql
set search_path = ''
as $$
declare
  key constant bigint := hashtextextended('payouts', 0);
begin
  if exclusively then
    perform pg_advisory_xact_lock(key);
  else
    perform pg_advisory_xact_lock_shared(key);
  end if;
end $$;
comment on function private.lock_payouts(boolean) is
  'Balances are paid out by one transaction at a time (exclusively), and not while another takes back what was not paid out.';

create function private.lock_payouts_of(partner uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.lock_payouts(exclusively => false), pg_advisory_xact_lock(hashtextextended('payouts of ' || partner, 0));
end $$;
comment on function private.lock_payouts_of(uuid) is
  'For the sandbox, where a partner''s customers are settled and reset: one at a time of each partner, and not while the operator pays. Before any row is locked.';

create function private.euro_posting(cause text, amount numeric, from_kind text, from_owner uuid, to_kind text, to_owner uuid) returns private.posting
language plpgsql immutable
set search_path = ''
as $$
begin
  if amount > 0 then
    return row(cause, 'EUR', amount, from_kind, from_owner, to_kind, to_owner)::private.posting;
  end if;
  return row(cause, 'EUR', -amount, to_kind, to_owner, from_kind, from_owner)::private.posting;
end $$;
comment on function private.euro_posting(text, numeric, text, uuid, text, uuid) is
  'Euros from one account to another; an amount below zero goes the other way.';

create function private.make_batch(payees private.payee[], from_euro numeric, by_login text, owners uuid[] default null) returns uuid
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
declare
  made   uuid;
  ledger record;
begin
  insert into core.payout_batches (minimum, prepared_by) values (from_euro, by_login) returning id into made;
  for ledger in
    with part as materialized (
      select gen_random_uuid() as line_id, coalesce(y.account_id, y.partner_id) as payee_id, y.* from unnest(payees) y
    ), balance as materialized (
      select l.line_id, b.* from part l
        join private.payable_balances(owners) b on b.partner_id = l.partner_id and coalesce(b.account_id, b.partner_id) = l.payee_id
    ), lines as (
      insert into core.payout_lines (partner_id, id, batch_id, account_id, owner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4)
      select l.partner_id, l.line_id, made, l.account_id, l.owner_id, b.amount, l.name, l.iban_ciphertext, l.iban_key_id, l.iban_last4
        from part l join (select b.line_id, sum(b.amount) as amount from balance b group by b.line_id) b on b.line_id = l.line_id
       order by l.name, l.line_id
    ), parts as (
      insert into core.payout_parts (partner_id, line_id, ledger_partner_id, kind, account_id, owner_id, amount)
      select b.partner_id, b.line_id, b.ledger_partner_id, b.kind, b.of_account_id, a.owner_id, b.amount
        from balance b
        left join core.accounts a on a.partner_id = b.partner_id and a.id = b.of_account_id
      returning *
    )
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id, p.amount, p.kind, p.payee_id, 'payout', y.payee_id)) as postings
      from parts p join part y on y.line_id = p.line_id
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  return made;
end $$;
comment on function private.make_batch(private.payee[], numeric, text, uuid[]) is
  'A batch with a line for each of these payees, for all that is owed to them as it stands now, or what of it owners have; the money is on its way from here on. Payouts are locked.';

create function private.return_lines(lines core.payout_lines[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  ledger record;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg('payout:' || p.id) || coalesce(array_agg('payout:' || p.id || ':paid') filter (where l.status = 'paid'), '{}') as causes
      from unnest(lines) l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     group by p.ledger_partner_id
  loop
    perform private.reverse_postings(ledger.partner_id, ledger.causes);
  end loop;
end $$;
comment on function private.return_lines(core.payout_lines[]) is 'Gives what these lines took back to the balances it came from.';

create function private.pay_lines(batch uuid) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  ledger record;
  paid   int;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id || ':paid', p.amount, 'payout', l.payee_id, 'bank', l.payee_id)) as postings
      from core.payout_lines l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.batch_id = batch and l.status = 'pending'
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  update core.payout_lines l set status = 'paid', paid_at = private.now() where l.batch_id = batch and l.status = 'pending';
  get diagnostics paid = row_count;
  perform private.request_statements(batch);
  perform private.emit_payouts('payout.paid', array(select l from unnest(private.lines_of(batch)) l where l.status = 'paid'));
  return paid;
end $$;
comment on function private.pay_lines(uuid) is 'Notes of a batch that the bank paid every line that was not said to have failed: how many.';

create function private.fail_line(line core.payout_lines, reason text) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.return_lines(array[line]), private.withdraw_statement(line);
  update core.payout_lines l set status = 'failed', failed_at = private.now(), failed_reason = fail_line.reason, paid_at = null
   where l.partner_id = line.partner_id and l.id = line.id;
  perform private.act_for_partner(line.partner_id), private.audit('payout.failed', line.payee_id, jsonb_build_object('line', line.id, 'amount', line.amount));
  perform private.emit_payouts('payout.failed', array[line]);
  if line.account_id is not null then
    perform private.notify(line.account_id, 'payout_failed', 'payout_failed:' || line.id,
                           jsonb_build_object('amount_eur', line.amount, 'iban_last4', line.iban_last4));
  end if;
end $$;
comment on function private.fail_line(core.payout_lines, text) is
  'The bank could not pay a line, or sent it back: the money is in the balance again, the IBAN is held back, and the customer is asked for another.';

create function private.notify_paid(batch uuid) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
begin
  insert into core.notices (partner_id, account_id, owner_id, kind, cause, details)
  select l.partner_id, l.account_id, l.owner_id, 'payout_sent', 'payout_sent:' || l.id,
         jsonb_build_object('amount_eur', l.amount, 'iban_last4', l.iban_last4)
    from core.payout_lines l where l.batch_id = batch and l.account_id is not null
  on conflict on constraint notices_cause_key do nothing;
end $$;
comment on function private.notify_paid(uuid) is 'Has the customers of a batch told that their money is on its way.';

create function private.forgotten_of(tenant uuid, kind text, payee uuid) returns numeric
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return private.balance(tenant, 'EUR', kind, payee)
    + coalesce((select sum(p.amount)
                  from core.payout_parts p
                  join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status in ('pending', 'paid')
                 where p.ledger_partner_id = tenant and p.payee_id = payee and p.kind = forgotten_of.kind), 0)
    - coalesce((select sum(case forgotten_of.kind when 'customer' then a.net else a.partner_share end)
                  from core.allocations a
                 where a.partner_id = tenant and a.reversal_id is null
                   and case forgotten_of.kind when 'customer' then a.account_id = payee else a.share_partner_id = payee end), 0);
end $$;
comment on function private.forgotten_of(uuid, text, uuid) is
  'What a payee got of sales that retention deleted, less what payments brought that it deleted: the ledger carries both. 0 as long as it deleted neither.';

create function private.payments(tenant uuid, kind text, payee uuid)
returns table (allocation_id uuid, amount numeric, state text, paid_at timestamptz)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  forgotten constant numeric := private.forgotten_of(tenant, kind, payee);
begin
  return query
  with due as materialized (
    -- the oldest part of a balance is paid first
    select a.id, k.amount, forgotten + sum(k.amount) over (order by s.arrival, a.id) as up_to
      from core.allocations a
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      cross join lateral (select case payments.kind when 'customer' then a.net else a.partner_share end as amount) k
     where a.partner_id = tenant and a.reversal_id is null and k.amount > 0
       and case payments.kind when 'customer' then a.account_id = payee else a.share_partner_id = payee end
  ), taken as (
    select l.arrival, case when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending' else 'approved' end as state, l.paid_at,
           sum(p.amount) over (order by l.status <> 'paid', l.arrival) as up_to
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status in ('pending', 'paid')
      join core.payout_batches b on b.id = l.batch_id
     where p.ledger_partner_id = tenant and p.payee_id = payee and p.kind = payments.kind
  )
  select d.id, d.amount, coalesce(t.state, 'pending'), t.paid_at
    from due d
    left join lateral (select t.* from taken t where t.up_to >= d.up_to order by t.state <> 'paid', t.arrival limit 1) t on true;
end $$;
comment on function private.payments(uuid, text, uuid) is
  'How far each part of a sale that stands has come to one payee (kind customer or partner): pending, approved once two people let it go to the bank, or paid, with the moment. A part that was paid in part is not paid.';

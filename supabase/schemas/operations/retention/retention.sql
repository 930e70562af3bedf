-- Retention deletes data that we need not keep any more: docs/retention.md. No step leaves a reference to what it
-- deletes.

-- Data from before this day may be deleted: on 1 January 2033 data from before 2027.
create function private.retention_border() returns date
language sql stable
as $$ select make_date(extract(year from private.today())::int - 6, 1, 1) $$;

-- Until the transaction ends, others may write months, and nothing else that ledger check reads.
create function private.hold_books() returns void
language plpgsql
as $$
begin
  perform private.lock('payouts');
  -- waits first for who locked a booking: they go on to write the tables below
  lock table core.bookings in exclusive mode;
  lock table core.credits, core.booking_rows, core.sales, core.sale_reversals, core.allocations, core.invoices,
      core.invoice_entries,
             core.payout_batches, core.payout_lines, core.payout_parts, core.payout_entries, core.ledger_accounts,
                 core.ledger_entries
    in share row exclusive mode;
end $$;

-- Refuses with ledger_disagrees if a tenant's books are wrong, so that evidence of tampering stays. The caller runs
-- private.hold_books.
create function private.require_agreement(tenant uuid) returns void
language plpgsql
as $$
declare
  found record;
begin
  select p.slug, k.what, k.example into found
    from core.partners p cross join lateral private.check_books(p.id) k
        where p.id = tenant and (k.wrong > 0 or k.expected <> k.found)
   order by k.what limit 1;
  perform private.refuse_if('ledger_disagrees', found.slug is not null,
    json_build_object('partner_slug', found.slug, 'check', found.what, 'first', found.example));
end $$;

-- Deletes the due rows of a kind of core.deletions, at most size rows of each table. Returns how many.
create function private.delete_due(of_kind text, border date, size int) returns int
language plpgsql
as $$
declare
  deletion core.deletions;
  counted  int;
  deleted  int := 0;
begin
  for deletion in select * from core.deletions d where d.kind = of_kind order by d.step loop
    -- skips locked rows until the next run; `only`, because a ctid is of one table and not of its partitions
    execute format('delete from only core.%1$I d where d.ctid = any (array(
                      select d.ctid from only core.%1$I d where %2$s limit $2 for update of d skip locked))',
                   deletion.of_table, replace(deletion.due, ':border', '$1')) using border, size;
    get diagnostics counted = row_count;
    deleted := deleted + counted;
  end loop;
  return deleted;
end $$;

create function private.sweep(of_kind text) returns int
language sql security definer
as $$ select private.delete_due(of_kind, null, 10000) $$;
comment on function private.sweep(text) is
  'Deletes the due rows of a kind for the worker, at most ten thousand of each table. It has no border, so data that '
  'we keep for years stays. Definer: every tenant at once.';

create function private.forget_payouts(border date, size int) returns int
language plpgsql
as $$
declare
  gone core.payout_lines[] := array(
    select l from core.payout_lines l join core.payout_batches b on b.id = l.batch_id
     where l.status <> 'pending' and greatest(b.settled_at, b.cancelled_at, l.paid_at,
                                              l.failed_at) < private.dutch_midnight(border)
       -- after its sales, which are paid by it
       and not exists (select from core.payout_parts p join core.payout_entries e on e.partner_id = p.partner_id
                       and e.part_id = p.id
                        where p.partner_id = l.partner_id and p.line_id = l.id)
     order by l.partner_id, l.id limit size for update of l);
  tenant   uuid;
  postings private.posting[];
begin
  perform private.require_agreement(t.id)
    from (select l.partner_id as id from unnest(gone) l
          union
          select p.ledger_partner_id from unnest(gone) l join core.payout_parts p on p.partner_id = l.partner_id
              and p.line_id = l.id) t;
  for tenant, postings in
    select k.ledger_partner_id, array_agg(case when k.amount > 0
             then row('closed:line:' || k.line_id, 'EUR', k.amount, 'bank', k.payee_id, 'closed',
                      k.ledger_partner_id)::private.posting
             else row('closed:line:' || k.line_id, 'EUR', -k.amount, 'closed', k.ledger_partner_id, 'bank',
                      k.payee_id)::private.posting end)
      from (select p.ledger_partner_id, p.line_id, l.payee_id, sum(p.amount) as amount
              from unnest(gone) l join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
             where l.status = 'paid' group by 1, 2, 3) k
     where k.amount <> 0 group by k.ledger_partner_id
  loop
    perform private.post(tenant, postings);
  end loop;
  perform private.withdraw_statements(gone);
  delete from core.documents d where d.year < extract(year from border);
  delete from core.payout_parts p using unnest(gone) l where p.partner_id = l.partner_id and p.line_id = l.id;
  delete from core.payout_lines d using unnest(gone) l where d.partner_id = l.partner_id and d.id = l.id;
  delete from core.payout_batches b
   where greatest(b.settled_at, b.cancelled_at) < private.dutch_midnight(border)
       and not exists (select from core.payout_lines l where l.batch_id = b.id);
  return cardinality(gone);
end $$;

create function private.forget_invoices(border date, size int) returns int
language plpgsql
as $$
declare
  gone     core.invoices[];
  tenant   uuid;
  postings private.posting[];
  deleted  int;
begin
  -- a partner's whole year at once, because its numbers have no gaps; not while a later credit note refers to it or to
  -- an invoice that it corrects too, because their VAT is that of their sum; nor while a sale is left that it charges:
  -- its share would be invoiced again
  gone := array(
    select i from core.invoices i
      join (select i.partner_id, i.year from core.invoices i
             where i.year < extract(year from border)
               and not exists (select from core.invoices c join core.invoices o on o.partner_id = c.partner_id
                               and c.corrects in (o.id, o.corrects)
                                where o.partner_id = i.partner_id and o.year = i.year and c.year > i.year)
               and not exists (select from core.invoices o
                                 join core.invoice_entries n on n.partner_id = o.partner_id and n.invoice_id = o.id
                                 join core.ledger_entries e on e.partner_id = n.ledger_partner_id and e.id = n.entry_id
                                 join core.allocations a on a.partner_id = e.partner_id
                                     and a.id = private.as_uuid(split_part(e.cause, ':', 2))
                                where o.partner_id = i.partner_id and o.year = i.year)
             group by 1, 2 order by 2, 1 limit size) y on y.partner_id = i.partner_id and y.year = i.year);
  perform private.require_agreement(t.id) from (select distinct i.partner_id as id from unnest(gone) i) t;
  -- the service's claim to their VAT goes too; we still owe the partner what it was not paid
  for tenant, postings in
    select i.partner_id, array_agg(private.euro_posting('closed:invoice:' || i.id, i.vat, 'closed', i.partner_id,
                                                        'input_vat', private.people_tenant()))
      from unnest(gone) i where i.vat <> 0 group by i.partner_id
  loop
    perform private.post(tenant, postings);
  end loop;
  delete from core.invoice_entries e using unnest(gone) i where e.partner_id = i.partner_id and e.invoice_id = i.id;
  delete from core.documents d using unnest(gone) i where d.partner_id = i.partner_id and d.invoice_id = i.id;
  -- one statement deletes credit notes together with the invoices that they correct
  delete from core.invoices d using unnest(gone) i where d.partner_id = i.partner_id and d.id = i.id;
  get diagnostics deleted = row_count;
  return deleted;
end $$;

-- Whether nothing that must be kept rests on a booking of before the border: a sale, a reversal or a payment of a year
-- that is kept. Overviews and invoices are of calendar years.
create function private.is_past(booking core.bookings, border date) returns boolean
language plpgsql stable
as $$
declare
  kept_from constant date := date_trunc('year', border + interval '1 year' - interval '1 day');
begin
  return not exists (
    select from core.sales s
     where s.partner_id = booking.partner_id and s.booking_id = booking.id
       and (s.sold_on >= kept_from
            or exists (select from core.sale_reversals v
                        where v.partner_id = s.partner_id and v.sale_id = s.id
                          and v.reversed_at >= private.dutch_midnight(kept_from))
            or exists (select from core.allocations a
                         join core.payout_entries e on e.ledger_partner_id = a.partner_id and e.allocation_id = a.id
                         join core.payout_parts p on p.partner_id = e.partner_id and p.id = e.part_id
                         join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
                        where a.partner_id = s.partner_id and a.sale_id = s.id
                          and (l.status = 'pending' or coalesce(l.paid_at, l.failed_at)
                                                       >= private.dutch_midnight(kept_from)))));
end $$;

create function private.forget_bookings(border date, size int) returns int
language plpgsql
as $$
declare
  booking core.bookings;
  sales   uuid[];
  checked uuid[] := '{}';
  deleted int := 0;
  counted int;
begin
  for booking in select * from core.bookings b where b.quarter < border and private.is_past(b, border)
      order by b.quarter, b.partner_id, b.id for update loop
    if booking.partner_id <> all (checked) then
      perform private.require_agreement(booking.partner_id);
      checked := checked || booking.partner_id;
    end if;
    sales := array(select s.id from core.sales s where s.partner_id = booking.partner_id and s.booking_id = booking.id);
    -- what remains on these accounts moves to the tenant's account `closed`
    perform private.post(booking.partner_id, array_agg(case when b.balance > 0
        then row('closed:' || a.id, a.unit, b.balance, a.kind, a.owner, 'closed', a.partner_id)::private.posting
        else row('closed:' || a.id, a.unit, -b.balance, 'closed', a.partner_id, a.kind, a.owner)::private.posting end))
      from core.ledger_accounts a
     cross join lateral (select private.balance(a.partner_id, a.unit, a.kind, a.owner) as balance) b
     where a.partner_id = booking.partner_id and a.owner = any (sales || booking.id) and b.balance <> 0
    having count(*) > 0;
    with gone as (
      delete from core.allocations a where a.partner_id = booking.partner_id and a.sale_id = any (sales) returning a.id
    ), entry as (
      delete from core.payout_entries e using gone a where e.ledger_partner_id = booking.partner_id
          and e.allocation_id = a.id returning e.*
    )
    update core.payout_parts p set forgotten = p.forgotten + e.amount
      from (select e.partner_id, e.part_id, sum(e.amount) as amount from entry e group by e.partner_id, e.part_id) e
     where p.partner_id = e.partner_id and p.id = e.part_id;
    delete from core.sale_reversals v where v.partner_id = booking.partner_id and v.sale_id = any (sales);
    delete from core.sales s where s.partner_id = booking.partner_id and s.id = any (sales);
    delete from core.credits c using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and c.partner_id = r.partner_id
         and c.row_id = r.id;
    -- its months are locked while they have a booking row, so both go together
    delete from core.delivered_months d using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.live
       and d.partner_id = r.partner_id and d.connection_id = r.connection_id and d.period = r.period;
    delete from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id;
    get diagnostics counted = row_count;
    perform private.sum_booking(booking.partner_id, booking.id);
    delete from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id;
    deleted := deleted + counted + 1;
    exit when deleted >= size;
  end loop;
  -- GET /partner/payouts no longer lists these quarters; what it lists would be told again
  delete from core.announced_payouts t
   where t.period < private.quarter_name(border)
     and not exists (
       select from core.bookings b
         join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
         join core.allocations a on a.partner_id = s.partner_id and a.sale_id = s.id
        where b.partner_id in (t.partner_id, private.people_tenant()) and private.quarter_name(b.quarter) = t.period
          and a.share_partner_id = t.partner_id);
  return deleted;
end $$;

create function private.forget_sessions(border date, size int) returns int
language plpgsql
as $$
declare
  gone    core.charging_sessions[] := array(
    select s from core.charging_sessions s
     where s.month < border
       -- a booking that was sold late is kept with what it rests on
       and not exists (select from core.booking_rows r where r.partner_id = s.partner_id
                       and r.connection_id = s.connection_id and r.period = s.month)
     limit size for update skip locked);
  deleted int;
begin
  delete from core.replaced_charging_sessions r using unnest(gone) s
   where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id;
  delete from core.charging_evidence e using unnest(gone) s
   where e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id;
  -- by our clock, because the charger's may say 1970
  delete from core.ocpp_transactions t where t.created_at < private.dutch_midnight(border);
  -- messages that belong to no session
  delete from core.charging_evidence e where e.session_id is null and e.received_at < private.dutch_midnight(border);
  delete from core.charging_sessions d using unnest(gone) s where d.partner_id = s.partner_id
      and d.charger_id = s.charger_id and d.id = s.id;
  get diagnostics deleted = row_count;
  delete from core.charger_months m
   where m.month < border and not exists (
     select from core.charging_sessions s where s.partner_id = m.partner_id and s.charger_id = m.charger_id
         and s.month = m.month);
  return deleted;
end $$;

create function private.forget_mandates(border date, size int) returns int
language plpgsql
as $$
declare
  gone core.mandates[] := array(
    select m from core.mandates m
     where coalesce(m.valid_until, private.dutch_day(m.created_at)) < border
       and not exists (select from core.booking_rows r where r.partner_id = m.partner_id
                       and r.connection_id = m.connection_id and r.mandate_id = m.id)
     limit size for update of m skip locked);
begin
  delete from core.documents d using unnest(gone) m where d.partner_id = m.partner_id and d.mandate_id = m.id;
  delete from core.mandates d using unnest(gone) m where d.partner_id = m.partner_id and d.id = m.id;
  delete from core.mandate_links l
   where l.expires_at < private.dutch_midnight(border) and not exists (select from core.mandates m
                                                                       where m.partner_id = l.partner_id
                                                                       and m.link_id = l.id);
  return cardinality(gone);
end $$;

create function private.forget_accounts(border date, size int) returns int
language plpgsql
as $$
declare
  gone        core.accounts[];
  connections core.connections[];
  tenant      uuid;
  postings    private.posting[];
begin
  -- we owe these customers nothing, and may delete all of their rows; what they owe is written off
  gone := array(
    select a from core.accounts a
     where a.created_at < private.dutch_midnight(border)
       and not exists (select from core.payout_lines l where l.partner_id = a.partner_id and l.account_id = a.id)
       and not exists (select from core.payout_parts p where p.partner_id = a.partner_id and p.account_id = a.id)
       and not exists (select from core.booking_rows r where r.partner_id = a.partner_id and r.account_id = a.id)
       and not exists (
         select from core.connections c
          where c.partner_id = a.partner_id and c.account_id = a.id
            and (exists (select from core.mandates m where m.partner_id = c.partner_id and m.connection_id = c.id)
                 or exists (select from core.delivered_months d where d.partner_id = c.partner_id
                            and d.connection_id = c.id)
                 or exists (select from core.deliveries d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.charging_sessions s where s.partner_id = c.partner_id
                            and s.connection_id = c.id)))
       and not exists (
         select from core.chargers h
          where h.partner_id = a.partner_id and h.account_id = a.id
            and (exists (select from core.charging_sessions s where s.partner_id = h.partner_id and s.charger_id = h.id)
                 or exists (select from core.charging_evidence e where e.partner_id = h.partner_id
                            and e.charger_id = h.id)))
       and private.balance(a.partner_id, 'EUR', 'customer', a.id) <= 0
     order by a.partner_id, a.id limit size for update of a);
  for tenant, postings in
    select o.partner_id, array_agg(private.euro_posting('closed:debt:' || o.id, -o.balance, 'closed', o.partner_id,
                                                        'customer', o.id))
      from (select a.partner_id, a.id, private.balance(a.partner_id, 'EUR', 'customer', a.id) as balance
              from unnest(gone) a) o
     where o.balance < 0 group by o.partner_id
  loop
    perform private.require_agreement(tenant), private.post(tenant, postings);
  end loop;
  connections := array(select c from core.connections c join unnest(gone) a on c.partner_id = a.partner_id
                       and c.account_id = a.id);
  delete from core.notices n using unnest(gone) a where n.partner_id = a.partner_id and n.account_id = a.id;
  delete from core.documents d using unnest(gone) a where d.partner_id = a.partner_id and d.account_id = a.id;
  delete from core.virtual_chargers v using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id
      and h.account_id = a.id
   where v.partner_id = h.partner_id and v.charger_id = h.id;
  delete from core.charger_months m using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id
      and h.account_id = a.id
   where m.partner_id = h.partner_id and m.charger_id = h.id;
  delete from core.charger_names n using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id
      and h.account_id = a.id
   where n.partner_id = h.partner_id and n.charger_id = h.id;
  delete from core.kept_evidence k using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id
      and h.account_id = a.id
   where k.partner_id = h.partner_id and k.source_id = h.id;
  delete from core.chargers h using unnest(gone) a where h.partner_id = a.partner_id and h.account_id = a.id;
  delete from core.ean_checks e using unnest(connections) c where e.partner_id = c.partner_id
      and e.connection_id = c.id;
  delete from core.mandate_links l using unnest(connections) c where l.partner_id = c.partner_id
      and l.connection_id = c.id;
  delete from core.connections d using unnest(connections) c where d.partner_id = c.partner_id and d.id = c.id;
  delete from core.locations l using unnest(connections) c
   where l.partner_id = c.partner_id and l.id = c.location_id
     and not exists (select from core.connections o where o.partner_id = l.partner_id and o.location_id = l.id);
  delete from core.drafts d using unnest(gone) a where d.account_id = a.id;
  delete from core.signatories s using unnest(gone) a where s.partner_id = a.partner_id and s.account_id = a.id;
  delete from core.accounts d using unnest(gone) a where d.partner_id = a.partner_id and d.id = a.id;
  return cardinality(gone);
end $$;

-- Deletes the oldest rows of the audit log or ledger with their links. Keeps the last hash, because the next link
-- builds on it.
create function private.forget_log(of_log text, border date, size int) returns int
language plpgsql
as $$
declare
  chain   core.audit_chains;
  kept    bigint;
  upto    core.audit_links;
  deleted int := 0;
  rows    bigint[];
  fault   private.audit_fault;
begin
  for chain in select * from core.audit_chains c where c.log = of_log and c.position > c.checkpoint_position
      order by c.partner_id for update loop
    -- kept: the first row that must stay; all rows before it go
    select min(l.position) into kept
      from core.audit_links l
      join core.audit_content v on v.partner_id = l.partner_id and v.log = of_log and v.row_id = l.row_id
     where l.partner_id = chain.partner_id and l.log = of_log and l.position <= chain.checkpoint_position + size
       and (v.at >= private.dutch_midnight(border)
            or v.what like 'invoice:%' and exists (
              select from core.invoices i where i.partner_id = l.partner_id
                  and i.id = private.as_uuid(split_part(v.what, ':', 2)))
            or v.what like 'allocation:%' and exists (
              select from core.allocations a where a.partner_id = l.partner_id
                  and a.id = private.as_uuid(split_part(v.what, ':', 2))));
    select * into upto from core.audit_links l
     where l.partner_id = chain.partner_id and l.log = of_log and l.position = coalesce(kept - 1,
         least(chain.position, chain.checkpoint_position + size));
    continue when not found;
    rows := array(select l.row_id from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log
                  and l.position <= upto.position);
    -- nobody may change these rows between their check and their deletion
    if of_log = 'audit' then
      perform from core.audit_log a where a.partner_id = chain.partner_id and a.id = any (rows) for update;
    else
      perform private.require_agreement(chain.partner_id);
    end if;
    fault := (private.verify_links(chain, chain.checkpoint_position,
                                   least(chain.position - chain.checkpoint_position, size)::int, null)).first_fault;
    perform private.refuse_if('audit_disagrees', fault.fault is not null, json_build_object(
      'partner_slug', (select p.slug from core.partners p where p.id = chain.partner_id), 'log', of_log, 'fault',
          fault.fault, 'row', fault.row_id, 'what', fault.what));
    if of_log = 'audit' then
      delete from core.audit_log a where a.partner_id = chain.partner_id and a.id = any (rows);
    else
      perform private.carry_forward(chain.partner_id, rows, upto.position);
      delete from core.ledger_entries e where e.partner_id = chain.partner_id and e.id = any (rows);
    end if;
    delete from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log
        and l.position <= upto.position;
    update core.audit_chains c set checkpoint_position = upto.position, checkpoint_hash = upto.hash
     where c.partner_id = chain.partner_id and c.log = of_log;
    deleted := deleted + cardinality(rows);
    exit when deleted >= size;
  end loop;
  return deleted;
end $$;

-- Posts the sum of these entries to each account, so that deleting them changes no balance.
create function private.carry_forward(tenant uuid, entries bigint[], upto bigint) returns void
language plpgsql
as $$
begin
  perform private.post(tenant, array_agg(case when n.amount > 0
      then row('carried:' || upto || ':' || a.id, a.unit, n.amount, 'closed', tenant, a.kind, a.owner)::private.posting
      else row('carried:' || upto || ':' || a.id, a.unit, -n.amount, a.kind, a.owner, 'closed', tenant)::private.posting
          end))
    from (
      select s.account_id, sum(s.amount) as amount
        from (select e.credit as account_id, e.amount from core.ledger_entries e where e.partner_id = tenant
              and e.id = any (entries)
              union all
              select e.debit, -e.amount from core.ledger_entries e where e.partner_id = tenant
                  and e.id = any (entries)) s
       group by s.account_id) n
    join core.ledger_accounts a on a.partner_id = tenant and a.id = n.account_id
   where n.amount <> 0 and a.kind <> 'closed'
  having count(*) > 0;
end $$;

-- Deletes rows of a kind, and returns how many. Refused if they disagree with the ledger or their chain: the rows are
-- the proof.
create function private.retention_step(kind text, size int) returns int
language plpgsql
as $$
declare
  border constant date := private.retention_border();
begin
  perform private.hold_books() where kind in ('invoices', 'bookings', 'payouts', 'accounts', 'ledger');
  return case kind
    when 'drafts' then private.forget_claimed_drafts(size)
    when 'payouts' then private.forget_payouts(border, size)
    when 'invoices' then private.forget_invoices(border, size)
    when 'bookings' then private.forget_bookings(border, size)
    when 'sessions' then private.forget_sessions(border, size)
    when 'mandates' then private.forget_mandates(border, size)
    when 'accounts' then private.forget_accounts(border, size)
    when 'audit_log' then private.forget_log('audit', border, size)
    when 'ledger' then private.forget_log('ledger', border, size)
    else case when kind = any (private.retention_kinds()) then private.delete_due(kind, border, size) end end;
end $$;

-- The kinds in order of deletion: a kind comes before the kinds that it refers to.
create function private.retention_kinds() returns text[]
language sql immutable
as $$ select '{drafts,bookings,payouts,invoices,months,sessions,deliveries,ean_checks,uploads,ocpi_cdrs,mandates,'
             'accounts,audit_log,ledger}'::text[] $$;

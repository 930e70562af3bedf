-- What a reset deletes of bookings, sales, payouts and the ledger. On the sandbox only: elsewhere only retention
-- deletes these.

-- Locks the bookings with rows of accounts, before their connections, as every step of a booking does.
create function private.lock_bookings_of(tenant uuid, accounts uuid[]) returns void
language plpgsql
as $$
begin
  perform from core.bookings b
    where b.partner_id = tenant
      and b.id = any (array(select r.booking_id from core.booking_rows r where r.partner_id = tenant
                            and r.account_id = any (accounts)))
    order by b.id for update;
end $$;

-- Deletes what was posted for these causes, and all entries of these owners. An entry is both sides, so the rest is
-- balanced.
create function private.erase_entries(tenant uuid, causes text[], accounts uuid[]) returns void
language plpgsql
as $$
begin
  delete from core.ledger_entries e using unnest(causes) c (cause)
   where e.partner_id = tenant and e.cause > c.cause || ':' and e.cause < c.cause || ';';
  delete from core.ledger_entries e using core.ledger_accounts a
   where a.partner_id = tenant and a.owner = any (accounts) and e.partner_id = tenant
       and (e.debit = a.id or e.credit = a.id);
  delete from core.ledger_accounts a where a.partner_id = tenant and a.owner = any (accounts);
end $$;

-- Deletes payouts to accounts, and all payouts and invoices of partners with a share in what is erased. Only
-- private.erase_bookings runs it.
create function private.erase_payouts(tenant uuid, accounts uuid[], partners uuid[]) returns void
language plpgsql
as $$
declare
  gone   core.payout_lines[];
  ledger record;
begin
  gone := array(
    select l from core.payout_lines l where l.partner_id = tenant and l.account_id = any (accounts)
    union all
    select l from core.payout_lines l where l.partner_id = any (partners) and l.account_id is null);
  for ledger in
    select p.ledger_partner_id as partner_id, array_agg('payout:' || p.id || again || suffix) as causes
      from unnest(gone) l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
      cross join unnest(array['', ':again']) again
      cross join unnest(array['', ':paid', ':reversed', ':paid:reversed']) suffix
     group by p.ledger_partner_id
  loop
    delete from core.ledger_entries e using unnest(ledger.causes) c (cause) where e.partner_id = ledger.partner_id
        and e.cause = c.cause;
  end loop;
  delete from core.ledger_entries e using core.invoices i where i.partner_id = any (partners)
      and e.partner_id = i.partner_id and e.cause = 'invoice:' || i.id || ':vat';
  delete from core.documents d where d.partner_id = any (partners) and d.invoice_id is not null;
  delete from core.invoice_entries i where i.partner_id = any (partners);
  delete from core.invoices i where i.partner_id = any (partners);
  perform private.withdraw_statements(gone);
  delete from core.payout_entries e using unnest(gone) l join core.payout_parts p on p.partner_id = l.partner_id
      and p.line_id = l.id
   where e.partner_id = p.partner_id and e.part_id = p.id;
  delete from core.payout_parts p using unnest(gone) l where p.partner_id = l.partner_id and p.line_id = l.id;
  delete from core.payout_lines d using unnest(gone) l where d.partner_id = l.partner_id and d.id = l.id;
  delete from core.payout_batches b using unnest(gone) l
   where b.id = l.batch_id and not exists (select from core.payout_lines o where o.batch_id = b.id);
end $$;

-- Deletes what was booked, credited, sold and paid of accounts, and bookings and sales with nothing left.
create function private.erase_bookings(tenant uuid, accounts uuid[]) returns void
language plpgsql
as $$
declare
  gone     uuid[];
  causes   text[];
  touched  core.bookings[];
  booking  core.bookings;
begin
  perform private.only_in_sandbox(), private.lock_bookings_of(tenant, accounts);
  gone := array(select r.id from core.booking_rows r where r.partner_id = tenant and r.account_id = any (accounts));
  touched := array(select b from core.bookings b where b.partner_id = tenant and b.id = any (array(
    select r.booking_id from core.booking_rows r where r.partner_id = tenant and r.id = any (gone)))
      order by b.quarter);
  causes := array(
    select 'row:' || g.id from unnest(gone) g (id)
    union all select 'credit:' || c.id from core.credits c where c.partner_id = tenant and c.row_id = any (gone)
    union all select 'allocation:' || a.id from core.allocations a where a.partner_id = tenant
        and a.row_id = any (gone));
  perform private.erase_payouts(tenant, accounts, array(
    select a.share_partner_id from core.allocations a where a.partner_id = tenant and a.row_id = any (gone)
        and a.partner_share > 0
    union
    -- who was paid for them, be it without a share
    select l.partner_id from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id
        and l.id = p.line_id
     where p.ledger_partner_id = tenant and p.kind = 'customer' and p.payee_id = any (accounts)
         and l.account_id is null));
  perform private.erase_entries(tenant, causes, accounts);

  -- of a sale that others have a part in, that part is left
  with erased as (
    delete from core.allocations a where a.partner_id = tenant and a.row_id = any (gone) returning a.sale_id, a.ere,
        a.gross
  )
  update core.sales s set ere = s.ere - e.ere, gross = s.gross - e.gross
    from (select sale_id, sum(ere) as ere, sum(gross) as gross from erased group by sale_id) e
   where s.partner_id = tenant and s.id = e.sale_id and s.ere > e.ere;
  delete from core.sale_reversals v
   where v.partner_id = tenant and not exists (select from core.allocations a where a.partner_id = tenant
                                               and a.sale_id = v.sale_id);
  with nobody_s as (
    delete from core.sales s
     where s.partner_id = tenant and not exists (select from core.allocations a where a.partner_id = tenant
                                                 and a.sale_id = s.id)
    returning s.id)
  delete from core.ledger_accounts a using nobody_s s where a.partner_id = tenant and a.owner = s.id;
  delete from core.credits c where c.partner_id = tenant and c.row_id = any (gone);
  delete from core.booking_rows r where r.partner_id = tenant and r.id = any (gone);
  foreach booking in array touched loop
    perform private.sum_booking(tenant, booking.id);
    if exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id) then
      perform private.settle_difference(booking);
    else
      perform private.erase_entries(tenant, '{}', array[booking.id]);
      delete from core.bookings b where b.partner_id = tenant and b.id = booking.id;
    end if;
  end loop;
end $$;

create function private.erase_books(partner uuid) returns void
language plpgsql security definer
as $$
declare
  accounts    constant uuid[] := array(select a.id from core.accounts a where a.partner_id = partner
                                       order by a.id for update);
  connections uuid[];
  months      date[];
begin
  perform private.only_in_sandbox(), private.lock_bookings_of(partner, accounts);
  -- all of them: after this nobody books a month that is not seen below
  perform private.lock_connections(partner,
                                   array(select c.id from core.connections c where c.partner_id = partner
                                         and c.account_id = any (accounts)));
  select array_agg(r.connection_id), array_agg(r.period) into connections, months
    from (select distinct r.connection_id, r.period from core.booking_rows r where r.partner_id = partner
          and r.account_id = any (accounts)) r;
  perform private.erase_bookings(partner, accounts);
  -- the months stay, also rejected months, and can be delivered and booked again
  update core.delivered_months d set status = private.month_status(d.connection_id, d.period), accepted_kwh = null
    from unnest(connections, months) as m (connection_id, month)
   where d.partner_id = partner and d.connection_id = m.connection_id and d.period = m.month
       and d.status in ('submitted', 'registered', 'rejected');
  perform private.release_charging_sessions(connections, months);
  delete from core.figures f where f.partner_id = partner;
  delete from core.announced_payouts t where t.partner_id = partner;
end $$;
comment on function private.erase_books(uuid) is
  'Deletes what was booked, credited, sold and paid of a partner''s CPO accounts, and its published figures. Accounts '
  'and months stay. Definer, because nothing else deletes these.';

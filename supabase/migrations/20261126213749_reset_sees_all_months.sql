begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.erase_books (
  partner uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  accounts    constant uuid[] := array(select a.id from core.accounts a where a.partner_id = partner order by a.id for update);
  connections uuid[];
  months      date[];
begin
  perform private.only_in_sandbox(), private.lock_bookings_of(partner, accounts);
  -- all of them: after this nobody books a month that is not seen below
  perform private.lock_connections(partner, array(select c.id from core.connections c where c.partner_id = partner and c.account_id = any (accounts)));
  select array_agg(r.connection_id), array_agg(r.period) into connections, months
    from (select distinct r.connection_id, r.period from core.booking_rows r where r.partner_id = partner and r.account_id = any (accounts)) r;
  perform private.erase_bookings(partner, accounts);
  -- the months stay, also rejected months, and can be delivered and booked again
  update core.delivered_months d set status = private.month_status(d.connection_id, d.period), accepted_kwh = null
    from unnest(connections, months) as m (connection_id, month)
   where d.partner_id = partner and d.connection_id = m.connection_id and d.period = m.month and d.status in ('submitted', 'registered', 'rejected');
  delete from core.figures f where f.partner_id = partner;
  delete from core.told_payouts t where t.partner_id = partner;
end $function$;

commit;

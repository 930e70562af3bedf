-- Bookings: what a tenant sends to the register for a quarter, row by row. Opened, and then submitted.

-- A quarter as people write it: 2026-Q2.
create function private.quarter_name(quarter date) returns text
language sql immutable
as $$ select to_char(quarter, 'YYYY-"Q"Q') $$;

-- The open booking of a quarter. If there is none, opens the first, or one that supplements those submitted.
create function private.open_booking(tenant uuid, quarter date, run uuid) returns core.bookings
language plpgsql
as $$
declare
  booking core.bookings;
begin
  -- if two run at once, the second finds the booking that the first opened
  perform private.lock('booking', tenant || ' ' || quarter);
  select * into booking from core.bookings b where b.partner_id = tenant and b.quarter = open_booking.quarter
      and b.status = 'open';
  if not found then
    insert into core.bookings (partner_id, run_id, quarter, number)
    -- a reset may have deleted one of them
    select tenant, run, open_booking.quarter, 1 + coalesce(max(b.number), 0) from core.bookings b
     where b.partner_id = tenant and b.quarter = open_booking.quarter
    returning * into booking;
    perform private.audit('booking.opened', booking.id,
                          jsonb_build_object('quarter', booking.quarter, 'number', booking.number));
  end if;
  return booking;
end $$;

-- A booking, its row locked: one transaction at a time changes it.
create function private.lock_booking(tenant uuid, booking_id uuid) returns core.bookings
language plpgsql
as $$
declare
  booking core.bookings;
begin
  select * into strict booking from core.bookings b where b.partner_id = tenant and b.id = booking_id for update;
  return booking;
end $$;

-- Until the transaction ends nobody else delivers, signs or corrects anything of these connections.
create function private.lock_connections(tenant uuid, connections uuid[]) returns void
language plpgsql
as $$
begin
  -- in their order, as deliveries lock them, so that neither waits for the other
  perform from core.connections c where c.partner_id = tenant and c.id = any (connections)
      order by c.id for no key update;
end $$;

create function private.reserve_months(booking core.bookings, chosen uuid[], held uuid[]) returns private.posting[]
language plpgsql
as $$
declare
  postings private.posting[];
begin
  with claimed as (
    insert into core.booking_rows
      (partner_id, booking_id, account_id, connection_id, owner_id, period, kwh, session_count, source, delivery_id,
       ere_per_kwh, ean_code,
       ean_exclusive, signatory, postal_code, house_number, house_number_addition, street, city, mandate_id,
           mandate_signed_at,
       mandate_valid_from, mandate_valid_until, fee_pct, partner_share_pct, share_partner_id, charger_brand,
           charger_model, charger_serial, flags)
    select booking.partner_id, booking.id, c.account_id, c.id, c.owner_id, j.period, j.kwh, j.session_count,
           case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end, j.delivery_id,
               j.ere_per_kwh, c.ean_code,
           c.ean_exclusive, coalesce(c.full_name, m.signed_name), c.postal_code, c.house_number,
               c.house_number_addition, c.street, c.city,
           m.id, m.signed_at, m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct,
           -- a person is in the people's tenant, and belongs to whoever had brought them by that month
           case when c.user_id is null then booking.partner_id when c.attached_month <= j.period then c.brought_by
                else private.brought_by_then(c.user_id, j.period) end,
           h.brands, h.models, h.serials, j.flags
      from (select j.connection_id, array_agg(j) as months
              from private.judge_quarter(booking.partner_id, booking.quarter, chosen, held) j where j.reason is null
                  group by j.connection_id) q
     cross join lateral (
       select c.*, a.user_id, s.full_name, t.partner_id as brought_by, t.attached_month,
              l.postal_code, l.house_number, l.house_number_addition, l.street, l.city
         from core.connections c
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
         join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
         left join core.signatories s on s.partner_id = c.partner_id and s.account_id = c.account_id
         left join core.attributions t on t.user_id = a.user_id
        where c.partner_id = booking.partner_id and c.id = q.connection_id) c
     cross join lateral unnest(q.months) j
     cross join lateral (
       select string_agg(coalesce(h.brand, h.ocpp_vendor), '; ' order by h.created_at, h.id) as brands,
              string_agg(coalesce((select k.model from core.charger_models k where k.id = h.catalog_charger_id),
                                  h.ocpp_model), '; '
                         order by h.created_at, h.id) as models,
              string_agg(h.serial_number, '; ' order by h.created_at, h.id) as serials
         from core.chargers h
        where h.partner_id = booking.partner_id and h.connection_id = c.id and h.mid_eligible
          and (h.status = 'active' or h.removed_at >= private.dutch_midnight(j.period))) h
     cross join lateral (select * from core.mandates m where m.partner_id = booking.partner_id
                         and m.id = j.mandate_id offset 0) m
     order by j.ean_code, j.period  -- two tenants that claim the same EANs wait for each other in one order
    -- somebody else's booking took the EAN and month a moment ago
    on conflict do nothing
    returning id, account_id, connection_id, period, kwh
  ), locked as (
    update core.delivered_months d set status = 'submitted'
      from claimed r
     where d.partner_id = booking.partner_id and d.connection_id = r.connection_id and d.period = r.period
  )
  select array_agg(row('row:' || r.id || ':submitted', 'kWh', r.kwh, 'delivered', r.account_id, 'submitted',
                       booking.id)::private.posting)
    into postings from claimed r;
  return postings;
end $$;
comment on function private.reserve_months(core.bookings, uuid[], uuid[]) is
  'Adds the bookable months of these locked connections to a booking, with the facts of now, and locks the months. '
  'Returns the postings. Only this function relies on the index over EAN and month of all tenants.';

-- Takes in and locks every month that may be booked, and returns how many. 0: none, it stays open. Null: it is not open
-- any more.
create function private.submit_booking(tenant uuid, booking_id uuid, chosen uuid[] default null) returns int
language plpgsql
as $$
declare
  booking  constant core.bookings := private.lock_booking(tenant, booking_id);
  held     uuid[];
  postings private.posting[];
begin
  if booking.status <> 'open' then
    return null;
  end if;
  -- nobody changes the factor while we book by it; later it is fixed, because the booking used it
  perform from core.ere_factors f where f.delivery_year = extract(year from booking.quarter) for share;
  held := array(
    select distinct d.connection_id
      from core.delivered_months d
      join core.connections c on c.partner_id = d.partner_id and c.id = d.connection_id
     where d.partner_id = tenant and private.quarter_of(d.period) = booking.quarter
         and not d.locked
       and (chosen is null or c.account_id = any (chosen)));
  perform private.lock_connections(tenant, held);
  -- a connection that got its first month after we locked is not in held: the next booking takes it
  postings := private.reserve_months(booking, chosen, held);
  if postings is null then
    return 0;
  end if;
  perform private.post(tenant, postings);
  update core.bookings b set status = 'submitted', submitted_at = private.now() where b.partner_id = tenant
      and b.id = booking.id;
  perform private.sum_booking(tenant, booking.id);
  perform private.audit('booking.submitted', booking.id, jsonb_build_object('rows', cardinality(postings)));
  perform private.emit_months(tenant, 'account.months_locked',
                              array(select r.id from core.booking_rows r where r.partner_id = tenant
                                    and r.booking_id = booking.id));
  return cardinality(postings);
end $$;

-- Opens months again, as staged or outside_mandate, whichever holds now. Sessions that came meanwhile count. The
-- connections are locked.
create function private.unlock_months(tenant uuid, connections uuid[], months date[]) returns void
language plpgsql
as $$
begin
  update core.delivered_months d set status = private.month_status(d.connection_id, d.period)
    from unnest(connections, months) as m (connection_id, month)
   where d.partner_id = tenant and d.connection_id = m.connection_id and d.period = m.month and d.locked;
  perform private.release_charging_sessions(connections, months);
end $$;

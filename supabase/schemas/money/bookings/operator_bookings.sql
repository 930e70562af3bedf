-- The operator on bookings: preview, open, submit, withdraw, list.

-- The first day of a quarter written 2026-Q2 that has begun; its year must have a factor.
create function private.read_quarter(value text) returns date
language plpgsql
as $$
declare
  quarter date;
begin
  if value ~ '^20[0-9]{2}-Q[1-4]$' then
    quarter := make_date(left(value, 4)::int, right(value, 1)::int * 3 - 2, 1);
  end if;
  perform private.refuse_if('invalid_quarter', quarter is null or quarter < private.first_delivery_month());
  perform private.refuse_if('quarter_not_begun', quarter > private.today(), json_build_object('quarter', value));
  perform private.refuse_if('factor_missing',
                            not exists (select from core.ere_factors f
                                        where f.delivery_year = extract(year from quarter)),
    json_build_object('delivery_year', extract(year from quarter)));
  return quarter;
end $$;

-- Bookings with this booking id, run id or quarter, or all if none is named. Of one partner or of all.
create function private.bookings_named(named text, partner uuid) returns setof core.bookings
language sql stable
as $$
  select b.* from core.bookings b
   where b.partner_id = any (array(select p.id from core.partners p where partner is null or p.id = partner))
     and (named is null or b.id = private.as_uuid(named) or b.run_id = private.as_uuid(named)
          or private.quarter_name(b.quarter) = named)
$$;

-- Refuses a booking that there is not; a quarter that has not begun, or cannot be, in the words of read_quarter.
create function private.refuse_booking(named text) returns void
language plpgsql
as $$
begin
  perform private.read_quarter(named) where named ~ '^20[0-9]{2}-Q[1-4]$';
  perform private.refuse('booking_not_found', json_build_object('booking', named));
end $$;

-- The one booking that {booking, partner?} names by its id, or by a run or quarter that has one; locked. Its partner
-- becomes the tenant.
create function private.booking_named(input jsonb) returns core.bookings
language plpgsql
as $$
declare
  named      constant text := input ->> 'booking';
  candidates constant core.bookings[] := array(
    select b from private.bookings_named(coalesce(named, ''), private.chosen_partner(input)) b
     where b.status <> 'withdrawn' or b.id = private.as_uuid(named));
begin
  perform private.act_as_operator(input);
  perform private.refuse_booking(named) where cardinality(candidates) = 0;
  perform private.refuse_if('booking_ambiguous', cardinality(candidates) > 1,
                            json_build_object('booking', named, 'partner', input -> 'partner'));
  perform private.set_tenant((candidates[1]).partner_id);
  return private.lock_booking((candidates[1]).partner_id, (candidates[1]).id);
end $$;

-- A booking as the operator sees it, with the state of its rows.
create function private.booking_row(booking core.bookings) returns json
language sql stable
as $$
  select json_build_object(
    'booking_id', booking.id, 'run_id', booking.run_id, 'partner_slug',
        (select p.slug from core.partners p where p.id = booking.partner_id),
    'quarter', private.quarter_name(booking.quarter), 'number', booking.number, 'status', booking.status,
    'rows', t.rows, 'kwh', t.kwh, 'waiting', t.waiting, 'registered', t.registered, 'rejected', t.rejected,
    'accepted_kwh', t.accepted_kwh, 'ere', t.ere, 'granted_ere', booking.granted_ere, 'sold_ere', s.ere,
        'gross_eur', s.gross,
    'opened_at', private.iso(booking.opened_at), 'submitted_at', private.iso(booking.submitted_at),
    'withdrawn_at', private.iso(booking.withdrawn_at), 'export_sha256', booking.export_sha256)
  from (select count(*) as rows, coalesce(sum(r.kwh), 0) as kwh,
        count(*) filter (where r.status = 'submitted') as waiting,
               count(*) filter (where r.status = 'registered') as registered,
                   count(*) filter (where r.status = 'rejected') as rejected,
               coalesce(sum(c.accepted_kwh), 0) as accepted_kwh, coalesce(sum(c.ere), 0) as ere
          from core.booking_rows r
          -- offset 0: else without statistics all credits are read for each row
          left join lateral (
            select * from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id
                and c.reversed_at is null offset 0) c on true
         where r.partner_id = booking.partner_id and r.booking_id = booking.id) t
  cross join (select coalesce(sum(a.ere), 0) as ere, coalesce(sum(a.gross), 0) as gross
                from core.sales s
                join core.allocations a on a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is null
               where s.partner_id = booking.partner_id and s.booking_id = booking.id) s
$$;

create function private.booking_answer(booking core.bookings, changed boolean) returns json
language sql stable
as $$
  select json_build_object('changed', changed, 'booking', private.booking_row(b))
    from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id
$$;

create function ops.booking_list(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  partner constant uuid := private.chosen_partner(input);
begin
  perform private.refuse_booking(input ->> 'booking')
    where input ? 'booking' and not exists (select from private.bookings_named(input ->> 'booking', partner));
  return (
    select json_build_object('bookings', coalesce(json_agg(private.booking_row(b) order by b.quarter desc, p.slug,
                                                           b.number desc), '[]'))
      from (select * from private.bookings_named(input ->> 'booking', partner)
             where input ->> 'status' is null or status = input ->> 'status'
             order by quarter desc, opened_at desc, id limit coalesce((input ->> 'limit')::int, 1000)) b
      join core.partners p on p.id = b.partner_id);
end $$;
comment on function ops.booking_list(jsonb) is
  'Bookings, newest quarter first: {booking?, partner?, status?, limit?} to {bookings}. booking is a booking id, a run '
  'id or a quarter.';

create function ops.booking_open(input jsonb) returns json
language plpgsql security definer
as $$
declare
  partner constant uuid := private.chosen_partner(input);
  run     constant uuid := gen_random_uuid();
  wanted  date;
  chosen  uuid[];
  opened  core.bookings[] := '{}';
  tenant  uuid;
begin
  perform private.act_as_operator(input);
  wanted := private.read_quarter(input ->> 'quarter');
  -- whoever has something that could be booked, and whoever has a booking open already
  chosen := array(
    select p.id from core.partners p
     where (partner is null or p.id = partner)
       and (exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status = 'open')
            or exists (select from core.delivered_months d
                        where d.partner_id = p.id and private.quarter_of(d.period) = wanted
                          and d.status = 'staged'))
     order by p.id);
  foreach tenant in array chosen loop
    perform private.set_tenant(tenant);
    opened := opened || private.open_booking(tenant, wanted, run);
  end loop;
  return json_build_object(
    'changed', exists (select from unnest(opened) b where b.run_id = run),
    'bookings', (select coalesce(json_agg(private.booking_row(b) order by p.slug), '[]') from unnest(opened) b
                 join core.partners p on p.id = b.partner_id));
end $$;
comment on function ops.booking_open(jsonb) is
  'Opens a booking of a quarter, for each partner that has months for it, or for one of them: {quarter, partner?} to '
  '{changed, bookings}. Answers a booking that is already open. After a submitted booking it opens a supplementary '
  'one.';

create function ops.booking_submit(input jsonb) returns json
language plpgsql security definer
as $$
declare
  taken   int;
  booking constant core.bookings := private.booking_named(input);
begin
  perform private.refuse_if('booking_withdrawn', booking.status = 'withdrawn',
                            json_build_object('booking', booking.id));
  perform private.refuse_if('quarter_not_over', private.next_quarter(booking.quarter) > private.today(),
    json_build_object('quarter', private.quarter_name(booking.quarter)));
  taken := private.submit_booking(booking.partner_id, booking.id);
  return private.booking_answer(booking, coalesce(taken, 0) > 0);
end $$;
comment on function ops.booking_submit(jsonb) is
  'Takes in and locks every month that may be booked: {booking, partner?} to {changed, booking}. If there is none, '
  'nothing changes and it stays open.';

create function ops.booking_withdraw(input jsonb) returns json
language plpgsql security definer
as $$
declare
  reason  constant text := case when input ->> 'reason' is not null then private.operator_reason(input ->> 'reason')
                                end;
  booking core.bookings := private.booking_named(input);
  tenant  constant uuid := booking.partner_id;
  taken   core.booking_rows[];
begin
  booking := private.lock_booking(tenant, booking.id);
  if booking.status = 'withdrawn' then
    return private.booking_answer(booking, false);
  elsif exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id
                and r.status in ('registered', 'rejected')) then
    perform private.refuse('booking_credited', json_build_object('booking', booking.id));
  elsif booking.exported_at is not null and reason is null then
    perform private.refuse('booking_exported', json_build_object('booking', booking.id,
                                                                 'exported_at', private.iso(booking.exported_at)));
  end if;
  taken := array(select r from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id);
  perform private.lock_connections(tenant, array(select r.connection_id from unnest(taken) r));
  update core.booking_rows r set status = 'withdrawn' where r.partner_id = tenant and r.booking_id = booking.id;
  perform private.reverse_postings(tenant, array(select 'row:' || r.id || ':submitted' from unnest(taken) r));
  perform private.unlock_months(tenant, array_agg(r.connection_id), array_agg(r.period)) from unnest(taken) r;
  update core.bookings b set status = 'withdrawn', withdrawn_at = private.now() where b.partner_id = tenant
      and b.id = booking.id;
  perform private.sum_booking(tenant, booking.id);
  perform private.audit('booking.withdrawn', booking.id,
                        jsonb_strip_nulls(jsonb_build_object('rows', cardinality(taken), 'reason', reason)));
  perform private.emit_months(tenant, 'account.months_reopened', array(select r.id from unnest(taken) r));
  return private.booking_answer(booking, true);
end $$;
comment on function ops.booking_withdraw(jsonb) is
  'Withdraws a booking before the register credited or rejected anything: {booking, partner?, reason?} to {changed, '
  'booking}. Its months open again. An exported booking needs a reason.';

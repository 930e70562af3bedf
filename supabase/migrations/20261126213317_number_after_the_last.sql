begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.open_booking (
  tenant  uuid,
  quarter date,
  run     uuid
)
  RETURNS core.bookings
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking core.bookings;
begin
  -- if two run at once, the second finds the booking that the first opened
  perform pg_advisory_xact_lock(hashtextextended('bookings of ' || tenant || ' for ' || quarter, 0));
  select * into booking from core.bookings b where b.partner_id = tenant and b.quarter = open_booking.quarter and b.status = 'open';
  if not found then
    insert into core.bookings (partner_id, run_id, quarter, number)
    -- a reset may have deleted one of them
    select tenant, run, open_booking.quarter, 1 + coalesce(max(b.number), 0) from core.bookings b where b.partner_id = tenant and b.quarter = open_booking.quarter
    returning * into booking;
    perform private.audit('booking.opened', booking.id, jsonb_build_object('quarter', booking.quarter, 'number', booking.number));
  end if;
  return booking;
end $function$;

commit;

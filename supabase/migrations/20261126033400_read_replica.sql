begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.admit (
  ticket jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.admit(ticket);
  return api.charge()::jsonb || jsonb_build_object('flushed', pg_current_wal_flush_lsn());
end $function$;

CREATE OR REPLACE FUNCTION api.read_replica (
  caller jsonb,
  place  jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'cpo', 'partner');
  if not private.has_replayed((place ->> 'flushed')::pg_lsn) then
    return null;
  end if;
  case place ->> 'list'
    when 'list_accounts' then return api.list_accounts(caller, query);
    when 'list_ere_positions' then return api.list_ere_positions(caller, query);
    when 'list_customers' then return api.list_customers(caller, query);
    when 'read_portal_customers' then return api.read_portal_customers(caller, query);
    when 'read_portal_drafts' then return api.read_portal_drafts(caller, query);
    when 'read_portal_payouts' then return api.read_portal_payouts(caller);
  end case;
end $function$;

ALTER FUNCTION "api"."read_replica"(jsonb, jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION ops.evidence_open (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  csv     text;
  booking constant core.bookings := private.submitted_booking_named(input);
begin
  csv := private.export_csv(booking);
  perform private.audit('booking.evidence_shown', booking.id);
  return json_build_object(
    'booking_id', booking.id, 'partner_id', booking.partner_id,
    'partner_slug', (select p.slug from core.partners p where p.id = booking.partner_id),
    'quarter', private.quarter_name(booking.quarter), 'number', booking.number, 'submitted_at', private.iso(booking.submitted_at),
    'rows', (select count(*) from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id),
    'export_sha256', booking.export_sha256, 'csv', csv, 'flushed', pg_current_wal_flush_lsn());
end $function$;

CREATE OR REPLACE FUNCTION ops.replica_ready (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return json_build_object('ready', private.has_replayed((input ->> 'flushed')::pg_lsn));
end $function$;

CREATE OR REPLACE FUNCTION private.has_replayed (
  flushed pg_lsn
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  for attempt in 1 .. 100 loop
    exit when not pg_is_in_recovery();
    if pg_last_wal_replay_lsn() >= flushed then
      return true;
    end if;
    perform pg_sleep(0.0025);
  end loop;
  return false;
end $function$;

COMMENT ON FUNCTION "api"."admit"(jsonb) IS 'Admission alone: a ticket to {caller, rate, flushed}. For a request that does nothing else in the database, was refused there, or reads on a replica: flushed is how far the log is on disk, so all that was answered before is in front of it.';

COMMENT ON FUNCTION "api"."read_replica"(jsonb, jsonb, jsonb) IS 'One list on a replica, for a caller whom the primary admitted: {list, flushed} and the query of that list to its answer. flushed is the position of the primary''s log at the admission; whatever was answered before is in front of it. Null if the replica has not replayed so much within a quarter of a second, or is none.';

COMMENT ON FUNCTION "ops"."evidence_open"(jsonb) IS 'The head of a booking''s evidence: {booking, partner?} to {booking_id, partner_id, …, rows, export_sha256, csv, flushed}. It names people, so it leaves an audit row.';

COMMENT ON FUNCTION "ops"."replica_ready"(jsonb) IS 'Whether this replica has what the primary had on disk: {flushed} to {ready}. Read in another transaction.';

REVOKE ALL ON FUNCTION "api"."read_replica"(jsonb, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."read_replica"(jsonb, jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "ops"."replica_ready"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."replica_ready"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "private"."has_replayed"(pg_lsn) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."has_replayed"(pg_lsn) TO "api_owner";

commit;

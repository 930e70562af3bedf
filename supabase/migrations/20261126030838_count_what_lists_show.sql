begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.read_portal_log (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  size constant int := (query ->> 'limit')::int;
begin
  perform private.act_as(caller, 'partner');
  return (
    with page as materialized (
      select * from private.partner_log((query ->> 'before')::bigint, size + 1)
    ), shown as (
      select * from page p order by p.id desc limit size
    )
    select json_build_object(
      'who', private.portal_who(),
      'total', private.partner_log_total(10001),
      'changes', (select coalesce(json_agg(json_build_object(
                    'at', private.iso(s.at),
                    'action', s.action,
                    'by', case when s.actor ~ '^operator' then 'operator' when s.details ? 'manager_id' then 'person' else 'key' end,
                    'email', (private.user_profile((s.details ->> 'manager_id')::uuid)).email,
                    -- a change of who manages the partner is about a person
                    'about', case when s.action ~ '^partner[.]manager_' then (private.user_profile(s.subject_id)).email end,
                    'details', s.details - 'manager_id') order by s.id desc), '[]') from shown s),
      'before', case when (select count(*) from page) > size then (select min(s.id)::text from shown s) end));
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_webhook (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
begin
  perform private.act_as(caller, 'partner');
  endpoint := private.shown_webhook(query ->> 'webhook_id');
  return json_build_object(
    'who', private.portal_who(),
    'signed_in_recently', private.signed_in_recently(),
    'webhook', private.webhook_json(endpoint),
    'previous_until', case when endpoint.previous_until > private.now() then private.iso(endpoint.previous_until) end,
    'retries', (select json_build_object('waiting', count(r.next_attempt_at), 'given_up', count(*) - count(r.next_attempt_at))
                  from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id),
    'attempts_total', (select count(*) from (
                         select from core.webhook_attempts a where a.partner_id = endpoint.partner_id and a.endpoint_id = endpoint.id limit 10001) a),
    'attempts', private.newest_attempts(endpoint, (query ->> 'limit')::int));
end $function$;

CREATE OR REPLACE FUNCTION private.partner_log_total (
  most integer
)
  RETURNS bigint
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select count(*) from (
    select from core.audit_log a where a.partner_id = private.partner_id() and a.actor ~ '^(partner|operator)' limit most) a
$function$;

COMMENT ON FUNCTION "api"."read_portal_log"(jsonb, jsonb) IS 'What was changed for a partner, newest first: {before, limit} to {who, total, changes: [{at, action, by: person | key | operator, email, about, details}], before}. Send before for the next page; null is the end. total stops at 10001. email is null for a login that is gone.';

COMMENT ON FUNCTION "api"."read_portal_webhook"(jsonb, jsonb) IS 'An endpoint of a partner''s own log and its latest attempts: {webhook_id, limit} to {who, signed_in_recently, webhook, previous_until, retries: {waiting, given_up}, attempts_total, attempts}. attempts_total stops at 10001. previous_until is null if one secret signs.';

COMMENT ON FUNCTION "private"."partner_log_total"(integer) IS 'How many rows private.partner_log has, up to so many. Definer, as it is.';

REVOKE ALL ON FUNCTION "private"."partner_log_total"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."partner_log_total"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."partner_log_total"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."partner_log_total"(integer) TO "postgres";

commit;

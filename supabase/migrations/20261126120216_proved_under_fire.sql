begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.admit (
  ticket jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
declare
  credential constant jsonb := ticket -> 'credential';
  demand     constant jsonb := ticket -> 'demand';
  admitted   jsonb;
  state      record;
  ignored    text;
begin
  if ticket ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(ticket ->> 'host');
  end if;
  -- statements, because of an expression every branch is prepared
  case credential ->> 'kind'
    when 'cpo' then admitted := private.admit_cpo(credential, demand);
    when 'user', 'personal_token' then admitted := private.admit_user(credential, demand);
    when 'session' then admitted := private.admit_signed_in((credential ->> 'user_id')::uuid, private.as_uuid(credential ->> 'session_id'), demand);
    when 'page_session' then admitted := private.admit_page_session(credential, demand);
    when 'ocpi_token' then admitted := private.admit_ocpi(credential, demand);
    when 'partner_key' then admitted := private.admit_partner_key(credential, demand);
    else perform private.refuse_admission('missing_or_invalid_token');
  end case;
  -- somebody who signs for an account is of no tenant
  if ticket ? 'tenant' and ticket ->> 'tenant' is distinct from admitted #>> '{caller,partner_id}' then
    perform private.refuse_admission('tenant_changed');
  end if;
  -- a look, so that who is over the limit is refused before the work; that the request fits is for charge() to decide
  state := private.limit_state(admitted ->> 'subject', demand ->> 'bucket');
  if not state.fits then
    perform private.refuse_admission('too_many_requests', json_build_object('rate',
      private.rate_json(demand ->> 'bucket', state.quota, state.window_seconds, state.full_in, false)));
  end if;
  ignored := set_config('app.admission', (admitted || jsonb_build_object(
    'bucket', demand -> 'bucket', 'quota', state.quota, 'window_seconds', state.window_seconds))::text, true);
  return admitted -> 'caller';
end $function$;

CREATE OR REPLACE FUNCTION private.move_digests (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET "TimeZone" TO 'UTC'
  SET "DateStyle" TO 'ISO, YMD'
  SET bytea_output TO 'hex'
  SET extra_float_digits TO '1'
  SET search_path TO ''
  AS $function$
declare
  moment  constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  part    record;
  buckets json;
  tables  jsonb := '{}';
begin
  for part in select * from private.partner_tables() t where t.kind = 'own' and coalesce(input -> 'tables' ? t.name, true) loop
    execute format(
      'select json_object_agg(b, json_build_array(n, h)) from (
         select hashtextextended(row(%s)::text, 0) & 1023 as b, count(*) as n, sum(hashtextextended(row(%s)::text, 1))::text as h
           from core.%I t where %s group by 1) d',
      private.listed(part.key, 't.%I'), private.listed(part.columns, 't.%I'), part.name, part.condition)
      into buckets using (input ->> 'partner_id')::uuid;
    tables := tables || jsonb_build_object(part.name, coalesce(buckets, '{}'));
  end loop;
  return json_build_object('moment', moment::text, 'tables', tables);
end $function$;

CREATE OR REPLACE FUNCTION private.move_written (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  part    record;
  written json;
  tables  jsonb := '{}';
begin
  for part in select * from private.partner_tables() t where t.kind = 'own' loop
    execute format(
      'select json_build_array(count(*), coalesce(json_agg(json_build_array(%s)) filter (where age(t.xmin) <= age($2)), ''[]'')) from core.%I t where %s',
      private.listed(part.key, 't.%I::text'), part.name, part.condition)
      into written using (input ->> 'partner_id')::uuid, (input ->> 'since')::xid8::xid;
    tables := tables || jsonb_build_object(part.name, written);
  end loop;
  return tables::json;
end $function$;

CREATE OR REPLACE FUNCTION private.server()
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return (select concat_ws(' ', c.system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), 'core.deployment'::regclass::oid) from pg_control_system() c);
exception when insufficient_privilege then
  perform private.refuse('server_unknown');
end $function$;

REVOKE ALL ON FUNCTION "private"."move_written"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_written"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_written"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."move_written"(jsonb) TO "postgres";

commit;

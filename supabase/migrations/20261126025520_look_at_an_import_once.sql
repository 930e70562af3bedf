begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION api.import_stretch (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  kept     core.imports;
  imported json;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (input ->> 'id')::uuid and i.expires_at > private.now() for update;
  -- a second click, or another tab, finds the stretch done; whether people are mailed was said by the first
  if kept.id is null or kept.rows_done <> (input ->> 'from')::int or kept.send_invite <> (input ->> 'send_invite')::boolean then
    return private.import_state(kept);
  end if;
  imported := private.import_drafts(input);
  update core.imports i
     set rows_done = least(kept.rows_done + jsonb_array_length(input -> 'rows'), kept.row_count),
         send_invite = (input ->> 'send_invite')::boolean,
         expires_at = private.now() + interval '1 hour',
         -- what was expected makes room for what happened
         outcomes = case when kept.send_invite is null then '[]' else kept.outcomes end || private.import_outcomes(imported)
   where i.partner_id = kept.partner_id and i.id = kept.id
  returning * into kept;
  return private.import_state(kept);
end $function$;

CREATE OR REPLACE FUNCTION api.look_at_import (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  verdicts jsonb;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  verdicts := private.import_outcomes(private.import_drafts(input));
  update core.imports i set outcomes = verdicts
   where i.partner_id = private.partner_id() and i.id = (input ->> 'id')::uuid and i.send_invite is null;
  return verdicts;
end $function$;

ALTER FUNCTION "api"."look_at_import"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.read_portal_import (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  kept core.imports;
begin
  perform private.act_as(caller, 'partner');
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (request ->> 'id')::uuid and i.expires_at > private.now();
  return json_build_object(
    'who', private.portal_who(),
    'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(),
                             'remaining', greatest(private.draft_cap() - private.drafts_made(), 0)),
    'import', case when kept.id is not null then json_build_object(
      'sealed', json_build_object('ciphertext', kept.ciphertext, 'key_id', kept.key_id),
      'state', private.import_state(kept),
      'outcomes', (
        select coalesce(json_agg(json_build_object(
            'row', o.row, 'reason', o.reason, 'ean_status', o.ean_status,
            'claim_url', case when d.status = 'invited' and d.invited_at is null then private.claim_url(d.id, request -> 'links') end) order by o.row), '[]')
          from jsonb_to_recordset(kept.outcomes) as o (row int, draft_id uuid, reason text, ean_status text)
          left join core.drafts d on d.partner_id = kept.partner_id and d.id = o.draft_id)) end);
end $function$;

CREATE OR REPLACE FUNCTION private.import_outcomes (
  imported json
)
  RETURNS jsonb
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select (select coalesce(jsonb_agg(jsonb_build_object('row', c -> 'row', 'draft_id', c -> 'draft_id', 'ean_status', c -> 'ean_status')), '[]')
            from jsonb_array_elements((imported -> 'created')::jsonb) c)
      || (select coalesce(jsonb_agg(jsonb_build_object('row', r -> 'row', 'reason', r -> 'reason')), '[]')
            from jsonb_array_elements((imported -> 'rejected')::jsonb) r)
$function$;

COMMENT ON FUNCTION "api"."look_at_import"(jsonb, jsonb) IS 'The first look at a kept file: {id} and the input of a dry run of private.import_drafts, to [{row, ean_status} | {row, reason}]. It stays with the file until its import begins.';

COMMENT ON TABLE "core"."imports" IS 'A file of customers that a manager looks at before the import. Personal data, encrypted by the functions: only the person who brought it reads it, for an hour. outcomes has {row, draft_id} or {row, reason} for each row that is done; until it is confirmed, what the first look found.';

REVOKE ALL ON FUNCTION "api"."look_at_import"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."look_at_import"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."look_at_import"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."look_at_import"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "private"."import_outcomes"(json) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."import_outcomes"(json) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."import_outcomes"(json) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."import_outcomes"(json) TO "postgres";

commit;

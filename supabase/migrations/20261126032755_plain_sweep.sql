begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."sweep"(text, integer);

CREATE OR REPLACE FUNCTION private.sweep (
  of_kind text
)
  RETURNS integer
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.delete_due(of_kind, null, 10000) $function$;

CREATE OR REPLACE FUNCTION private.write_charging_sessions (
  compared private.compared_charging_session[]
)
  RETURNS private.charging_session_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  created private.charging_session_change[];
begin
  with written as (
    insert into core.charging_sessions as s
      (partner_id, charger_id, id, connection_id, owner_id, source, external_id, connector, started_at, ended_at, wh, status, flags, received_at,
       meter_id, meter_start_wh, meter_end_wh)
    select private.partner_id(), (c.item).charger_id, c.session_id, c.connection_id, c.owner_id, (c.item).source, (c.item).external_id,
           (c.item).connector, (c.item).started_at, (c.item).ended_at, (c.item).wh, (c.item).status, c.flags, private.now(), (c.item).meter_id,
           (c.item).meter_start_wh, (c.item).meter_end_wh
      from unnest(compared) c where c.status = 'created'
     order by (c.item).started_at, (c.item).source, (c.item).external_id
    returning s as session)
  select array_agg(row(w.session, null)::private.charging_session_change) into created from written w;
  insert into core.charging_evidence
    (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, upload_id, request_id, document, document_sha256, sent_sha256,
     signed, signature, meter_id, meter_start_wh, meter_end_wh, end_from, received_at)
  select private.partner_id(), i.charger_id, c.session_id, c.owner_id, i.source, i.external_id, i.client_id, i.upload_id, i.request_id, i.document,
         sha256(convert_to(i.document::text, 'UTF8')), i.sent_sha256, i.signed, case when i.signed <> '{}' then 'unchecked' end, i.meter_id,
         i.meter_start_wh, i.meter_end_wh, i.end_from, private.now()
    from unnest(compared) c cross join lateral (select (c.item).*) i
   where c.status in ('created', 'updated') and i.document is not null;
  return created;
end $function$;

COMMENT ON FUNCTION "private"."own_paid"(integer) IS 'What this transaction''s person, or the CPO that settles with them, was paid since the year began and ever: {year_eur, all_eur, debts: [{eur, unsold}]}. debts has each account whose sale was reversed after it was paid, and its ERE not sold: later payments of that account are less. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."sweep"(text) IS 'What the worker deletes of a kind, ten thousand rows of a table at most. Without a border, what is kept for years stays. Definer: every tenant at once.';

REVOKE ALL ON FUNCTION "private"."sweep"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."sweep"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."sweep"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sweep"(text) TO "postgres";

commit;

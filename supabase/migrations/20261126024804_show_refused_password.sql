begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION ops.charger_story (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers;
begin
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = private.as_uuid(input ->> 'charger');
  perform private.refuse_if('charger_not_found', not found, json_build_object('charger', input ->> 'charger'));
  return json_build_object(
    'charger', private.charger_row(charger)::jsonb || jsonb_build_object(
      'ocpp_identity', charger.ocpp_identity, 'last_seen_at', private.iso(charger.last_seen_at),
      'password_refused_at', private.iso(charger.ocpp_refused_at),
      'meter_kwh', charger.latest_meter_wh / 1000.0, 'meter_updated_at', private.iso(charger.meter_updated_at)),
    'link', (
      select json_build_object('protocol', l.protocol, 'connections', l.generation, 'connected_at', private.iso(l.connected_at),
                               'booted_at', private.iso(l.booted_at), 'boot', l.boot)
        from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id),
    'transactions', (
      select coalesce(json_agg(json_build_object(
               'transaction', coalesce(t.told_id, t.id::text), 'evse_no', t.connector, 'started_at', private.iso(coalesce(t.started_at, t.first_at)),
               'ended_at', private.iso(t.ended_at), 'start_wh', coalesce(t.meter_start_wh, t.begin_wh), 'last_wh', t.last_wh, 'end_wh', t.end_wh,
               'clock', t.clock) order by t.id desc), '[]')
        from (select * from core.ocpp_transactions t
               where t.partner_id = charger.partner_id and t.charger_id = charger.id order by t.id desc limit (input ->> 'limit')::int) t),
    'changes', (
      select coalesce(json_agg(json_build_object('at', private.iso(a.at), 'what', a.action, 'by', a.actor) order by a.id), '[]')
        from core.audit_log a where a.subject_id = charger.id));
end $function$;

commit;

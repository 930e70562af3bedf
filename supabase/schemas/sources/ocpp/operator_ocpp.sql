-- For the operator: what a charger sent by OCPP, and serial numbers that two chargers report.

create function ops.charger_story(input jsonb) returns json
language plpgsql stable security definer
as $$
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
      select json_build_object('protocol', l.protocol, 'connections', l.generation,
                               'connected_at', private.iso(l.connected_at),
                               'booted_at', private.iso(l.booted_at), 'boot', l.boot)
        from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id),
    'transactions', (
      select coalesce(json_agg(json_build_object(
               'transaction', coalesce(t.source_id, t.id::text), 'evse_no', t.connector, 'started_at',
                   private.iso(coalesce(t.started_at, t.first_at)),
               'ended_at', private.iso(t.ended_at), 'start_wh', coalesce(t.meter_start_wh, t.begin_wh), 'last_wh',
                   t.last_wh, 'end_wh', t.end_wh,
               'clock', t.clock) order by t.id desc), '[]')
        from (select * from core.ocpp_transactions t
               where t.partner_id = charger.partner_id and t.charger_id = charger.id
                   order by t.id desc limit (input ->> 'limit')::int) t),
    'changes', (
      select coalesce(json_agg(json_build_object('at', private.iso(a.at), 'what', a.action, 'by', a.actor)
                               order by a.id), '[]')
        from core.audit_log a where a.subject_id = charger.id));
end $$;
comment on function ops.charger_story(jsonb) is
  'One charger: {charger, limit} to {charger, link: its last connection and BootNotification or null, transactions: '
  'the newest by OCPP, changes}.';

create function ops.charger_conflicts(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('conflicts', coalesce(json_agg(json_build_object(
           'charger_id', c.charger_id, 'brand', c.brand, 'serial_number', c.serial_number, 'held_by', c.held_by,
               'booted_at', private.iso(c.booted_at))
           order by c.booted_at desc, c.charger_id), '[]'))
    from (select h.id as charger_id, h.brand, o.serial_number, o.id as held_by, l.booted_at
            from core.ocpp_links l
            join core.chargers h on h.partner_id = l.partner_id and h.id = l.charger_id and h.status = 'active'
            join core.chargers o
              on o.partner_id = any (array(select p.id from core.partners p)) and o.brand = h.brand
                  and o.serial_number = private.boot_serial(l.boot)
             and o.status = 'active' and o.id <> h.id
           order by l.booted_at desc, h.id limit (input ->> 'limit')::int) c
$$;
comment on function ops.charger_conflicts(jsonb) is
  'Chargers whose BootNotification tells a serial number that another charger has, newest boot first: {limit} to '
  '{conflicts: [{charger_id, brand, serial_number, held_by, booted_at}]}.';

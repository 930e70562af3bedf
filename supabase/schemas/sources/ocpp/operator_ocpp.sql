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
      select json_build_object('protocol', l.protocol, 'generation', l.generation, 'by_mirror', l.by_mirror,
                               'connected_at', private.iso(l.connected_at),
                               'booted_at', private.iso(l.booted_at), 'boot', l.boot,
                               'ids_of_another', l.foreign_ids, 'another_serial_number', l.mirror ->> 'serial',
                               'another_at', private.iso((l.mirror ->> 'at')::timestamptz))
        from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id),
    'waiting', (
      select coalesce(json_agg(json_build_object(
               'transaction', w ->> 'transaction', 'at', private.iso((w ->> 'at')::timestamptz),
               'meter_wh', w -> 'meter_wh') order by n desc), '[]')
        from core.ocpp_links l, jsonb_array_elements(l.waiting) with ordinality e (w, n)
       where l.partner_id = charger.partner_id and l.charger_id = charger.id and w ->> 'kind' = 'stop'),
    'transactions', (
      select coalesce(json_agg(json_build_object(
               'transaction', coalesce(t.source_id, t.id::text), 'called', t.foreign_ids, 'evse_no', t.connector,
               'started_at', private.iso(coalesce(t.started_at, t.first_at)),
               -- without a stop, where its session ends
               'ended_at', private.iso(coalesce(t.ended_at, case when t.is_over then s.ended_at end)),
               'ended_by', case when t.ended_at is not null and t.end_guessed then 'guess'
                                when t.ended_at is not null then 'stop' when t.is_over then 'last value' end,
               'start_wh', coalesce(t.meter_start_wh, t.begin_wh), 'last_wh', t.last_wh, 'end_wh', t.end_wh,
               'clock', t.clock, 'counted_wh', case when s.counted then s.wh end, 'flags', s.flags) order by t.id desc),
               '[]')
        from (select * from core.ocpp_transactions t
               where t.partner_id = charger.partner_id and t.charger_id = charger.id
                   order by t.id desc limit (input ->> 'limit')::int) t
        left join core.charging_sessions s on s.partner_id = t.partner_id and s.charger_id = t.charger_id
                                          and s.source = 'ocpp'
                                          and s.external_id = coalesce(t.source_id, '1.6:' || t.id)),
    'changes', (
      select coalesce(json_agg(json_build_object('at', private.iso(a.at), 'what', a.action, 'by', a.actor)
                               order by a.id), '[]')
        from core.audit_log a where a.subject_id = charger.id));
end $$;
comment on function ops.charger_story(jsonb) is
  'One charger: {charger, limit} to {charger, link: its last connection and BootNotification or null, waiting: stops '
  'that fit no transaction or several, transactions: the newest by OCPP, changes}.';

-- Active registrations that may be one physical charger, so that its kWh count twice. charger_id is the later one.
-- booted_as: its BootNotification told the serial number that the other has, so its own sessions do not count.
-- other_brand: both have the serial number, under two brands, and both count. booted_alike: both told the same number
-- beside an own one, and both count.
create function private.charger_conflicts()
returns table (charger_id uuid, brand text, serial_number text, reason text, held_by uuid, since timestamptz)
language sql stable
as $$
  select h.id, h.brand, h.booted_as, 'booted_as', o.id, l.booted_at
    from core.chargers h
    join core.chargers o on o.brand = h.brand and o.status = 'active' and o.id <> h.id
                       and (h.booted_as in (o.serial_number, o.booted_as) or o.booted_before @> array[h.booted_as])
    join core.ocpp_links l on l.partner_id = h.partner_id and l.charger_id = h.id
   where h.status = 'active' and h.counts_from = 'infinity' and o.counts_from is distinct from 'infinity'
  union all
  select h.id, h.brand, h.serial_number, 'other_brand', o.id, h.created_at
    from core.chargers h
    join core.chargers o on o.serial_number = h.serial_number and o.brand <> h.brand and o.status = 'active'
   where h.status = 'active' and (o.created_at, o.id) < (h.created_at, h.id)
  union all
  select h.id, h.brand, h.booted_as, 'booted_alike', o.id, h.created_at
    from core.chargers h
    join core.chargers o on o.brand = h.brand and o.booted_as = h.booted_as and o.status = 'active'
   where h.status = 'active' and (o.created_at, o.id) < (h.created_at, h.id)
     and h.counts_from is distinct from 'infinity' and o.counts_from is distinct from 'infinity'
$$;

create function ops.charger_conflicts(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('conflicts', coalesce(json_agg(json_build_object(
           'charger_id', c.charger_id, 'brand', c.brand, 'serial_number', c.serial_number, 'reason', c.reason,
           'held_by', c.held_by, 'since', private.iso(c.since)) order by c.since desc, c.charger_id), '[]'))
    from (select * from private.charger_conflicts() f
           order by f.since desc, f.charger_id limit (input ->> 'limit')::int) c
$$;
comment on function ops.charger_conflicts(jsonb) is
  'Chargers that two registrations may have, latest first: {limit} to {conflicts: [{charger_id, brand, serial_number, '
  'reason: booted_as | other_brand | booted_alike, held_by, since}]}.';

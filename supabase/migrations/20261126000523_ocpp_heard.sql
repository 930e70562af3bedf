begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."chargers"
  ADD COLUMN "ocpp_refused_at" timestamp WITH time zone;

CREATE OR REPLACE FUNCTION api.admit_charger (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers := private.charger_by_identity(input ->> 'identity');
  link    core.ocpp_links;
begin
  perform private.act_as(caller, 'gateway');
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  -- the charger is locked before its link, as everywhere; a password that is being renewed is judged as it is then
  update core.chargers h set last_seen_at = private.now()
   where h.partner_id = charger.partner_id and h.id = charger.id and h.status = 'active'
     and h.ocpp_password_hash = decode(input ->> 'password_hash', 'hex');
  if not found then
    -- noted once a minute, so that attempts cost no writes
    update core.chargers h set ocpp_refused_at = private.now()
     where h.partner_id = charger.partner_id and h.id = charger.id and h.ocpp_password_hash <> decode(input ->> 'password_hash', 'hex')
       and coalesce(h.ocpp_refused_at, '-infinity') < private.now() - interval '1 minute';
    return json_build_object('ok', false);
  end if;
  insert into core.ocpp_links as l (partner_id, charger_id, owner_id, generation, connected_at)
  values (charger.partner_id, charger.id, charger.owner_id, 1, private.now())
  on conflict on constraint ocpp_links_pkey do update set generation = l.generation + 1, connected_at = excluded.connected_at
  returning * into link;
  return json_build_object('ok', true, 'charger_id', charger.id, 'generation', link.generation);
end $function$;

CREATE OR REPLACE FUNCTION api.renew_ocpp_password (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers;
begin
  perform private.act_as(caller, 'user', 'session');
  update core.chargers h set ocpp_password_hash = decode(input ->> 'password_hash', 'hex'), ocpp_refused_at = null
   where h.partner_id = private.house() and h.user_id = private.user_id() and h.id = private.as_uuid(input ->> 'charger_id')
     and h.status = 'active' and h.ocpp_identity is not null
  returning * into charger;
  if charger.id is null then
    perform private.refuse('charger_not_found');
  end if;
  update core.ocpp_links l set generation = l.generation + 1 where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  perform private.audit('charger.password_renewed', charger.id);
  return json_build_object('identity', charger.ocpp_identity);
end $function$;

CREATE OR REPLACE FUNCTION private.event_ocpp (
  charger core.chargers,
  said    jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  readings constant jsonb := said -> 'readings';
  at       constant timestamptz := said ->> 'at';
  told     core.ocpp_transactions;
begin
  insert into core.ocpp_transactions (partner_id, charger_id, owner_id, told_id, first_at, clock)
  values (charger.partner_id, charger.id, charger.owner_id, said ->> 'transaction', at, said ->> 'clock')
  on conflict on constraint ocpp_transactions_told_key do nothing;
  select * into told from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.told_id = said ->> 'transaction';
  told := private.merge_ocpp_readings(told, readings);
  told.connector := coalesce(told.connector, (said ->> 'connector')::int);
  told.first_at := private.earlier_ocpp(told.first_at, at);
  if said ->> 'type' = 'Started' then
    told.started_at := coalesce(told.started_at, at);
  elsif said ->> 'type' = 'Ended' and told.ended_at is null then
    told.ended_at := at;
    told.end_wh := coalesce(readings #>> '{end,wh}', readings #>> '{last,wh}');
    told.clock := case when told.clock = 'charger' then said ->> 'clock' else told.clock end;
  end if;
  perform private.store_ocpp_transaction(told);
  if told.ended_at is null then
    perform private.note_ocpp_meter(charger, told.last_at, told.last_wh);
  end if;
  return private.ocpp_session(told);
end $function$;

CREATE OR REPLACE FUNCTION private.note_ocpp_meter (
  charger core.chargers,
  at      timestamp with time zone,
  wh      bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.chargers h set latest_meter_wh = wh, meter_updated_at = at
   where h.partner_id = charger.partner_id and h.id = charger.id and wh is not null and at > coalesce(h.meter_updated_at, '-infinity');
end $function$;

CREATE OR REPLACE FUNCTION private.ocpp_session (
  told core.ocpp_transactions
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  base        bigint  := coalesce(told.meter_start_wh, told.begin_wh);
  final       bigint  := told.end_wh;
  from_values constant boolean := told.last_wh is not null and (final is null or base is null or final < base - 10 or (final = 0 and base > 0));
  wh          bigint;
begin
  if told.ended_at is null or from_values then
    final := told.last_wh;
    -- a charger that does not know its register at the start says 0
    if base = 0 and told.begin_wh > 0 then
      base := told.begin_wh;
    end if;
    -- the values of some chargers count from 0 for each charge, beside a register that runs on
    if told.ended_at is not null and final < base - 10 and told.end_wh is not null then
      final := told.end_wh;
    end if;
  end if;
  wh := final - base;
  -- a stop may lie 10 Wh below the start, by rounding; a running value below the start is a fault of one sample
  if wh between -10 and -1 or told.ended_at is null then
    wh := greatest(wh, 0);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'charger_id', told.charger_id,
    'source', 'ocpp',
    'external_id', coalesce(told.told_id, '1.6:' || told.id),
    'connector', coalesce(told.connector, 1),
    'started_at', coalesce(told.started_at, private.earlier_ocpp(told.first_at, told.begin_at)),
    'ended_at', told.ended_at,
    'wh', coalesce(wh, 0),
    -- a running charge's reading is noted by the time at which it was measured
    'meter_wh', case when told.ended_at is not null then final end,
    'meter_start_wh', case when wh > 0 then base end,
    'meter_end_wh', case when wh > 0 and told.ended_at is not null then final end,
    'end_from', case when told.ended_at is null then null when told.clock <> 'charger' then 'clock' when from_values then 'values' end,
    'flags', case when told.ended_at is not null and wh is null then '["no_end"]'::jsonb end));
end $function$;

CREATE OR REPLACE FUNCTION private.own_chargers()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_strip_nulls(json_build_object(
           'id', h.id,
           'nickname', private.charger_name(h),
           'connection_type', h.connection_type,
           -- the gateway tells every minute who is connected
           'status', case when h.last_seen_at > private.now() - interval '3 minutes' then 'online' else 'offline' end,
           'mid_certified', h.mid_eligible is true,
           'is_charging', coalesce(s.status = 'charging', false),
           'current_session', case when s.id is not null then json_build_object(
             'id', s.id, 'started_at', private.iso(s.started_at), 'kwh_so_far', round(s.wh / 1000.0, 2)) end,
           'ocpp_identity', h.ocpp_identity,
           'last_seen_at', private.iso(h.last_seen_at),
           'password_refused_at', case when h.ocpp_refused_at > coalesce(h.last_seen_at, '-infinity') then private.iso(h.ocpp_refused_at) end,
           'latest_meter_wh', h.latest_meter_wh,
           'meter_updated_at', private.iso(h.meter_updated_at))) order by h.created_at desc, h.id desc), '[]')
    from core.chargers h
    left join lateral (
      select * from core.charging_sessions s
       where s.partner_id = h.partner_id and s.charger_id = h.id and s.ended_at is null
       order by s.started_at desc, s.id limit 1) s on true
   where h.user_id = private.user_id() and h.status = 'active'
$function$;

CREATE OR REPLACE FUNCTION private.values_ocpp (
  charger core.chargers,
  said    jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  last constant jsonb := coalesce(nullif(said -> 'last', 'null'), said -> 'begin');
  told core.ocpp_transactions := private.own_ocpp_transaction(charger, said ->> 'transaction');
begin
  if told.id is null and last ->> 'at' is not null then
    told := private.open_ocpp_transaction(charger, (said ->> 'connector')::int, (last ->> 'at')::timestamptz, null);
  end if;
  if told.id is not null then
    told := private.merge_ocpp_readings(told, said);
    perform private.store_ocpp_transaction(told);
    perform private.note_ocpp_meter(charger, told.last_at, told.last_wh);
    return private.ocpp_session(told);
  end if;
  -- outside a transaction it is only what the meter says
  perform private.note_ocpp_meter(charger, (last ->> 'at')::timestamptz, (last ->> 'wh')::bigint);
  return null;
end $function$;

COMMENT ON COLUMN "core"."chargers"."ocpp_refused_at" IS 'When a connection last gave a wrong password, to the minute. Null if none did since the password is there.';

REVOKE ALL ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) TO "postgres";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
  told     core.ocpp_transactions := private.named_ocpp_transaction(charger, said);
begin
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

CREATE OR REPLACE FUNCTION private.is_after_ocpp (
  told core.ocpp_transactions,
  at   timestamp with time zone
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
RETURN (((told).clock <> 'wrong'::text) AND (at > ((told).ended_at + '00:01:00'::interval)));

CREATE OR REPLACE FUNCTION private.merge_ocpp_readings (
  told     core.ocpp_transactions,
  readings jsonb
)
  RETURNS core.ocpp_transactions
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  -- a 1.6 charger tells its first reading with StartTransaction
  first constant jsonb := case when told.told_id is null and told.meter_start_wh is not null then readings -> 'begin' else readings -> 'first' end;
  last  constant jsonb := readings -> 'last';
  at    constant timestamptz := first ->> 'at';
begin
  if at is not null and (told.begin_at is null or private.earlier_ocpp(at, told.begin_at) = at
                                                  and (at <> told.begin_at or (first ->> 'wh')::bigint < told.begin_wh)) then
    told.begin_at := at;
    told.begin_wh := first ->> 'wh';
  end if;
  if last ->> 'at' is not null and (told.last_wh is null or (last ->> 'wh')::bigint > told.last_wh)
     and private.is_after_ocpp(told, (last ->> 'at')::timestamptz) is not true then
    told.last_at := last ->> 'at';
    told.last_wh := last ->> 'wh';
  end if;
  return told;
end $function$;

CREATE OR REPLACE FUNCTION private.named_ocpp_transaction (
  charger core.chargers,
  said    jsonb
)
  RETURNS core.ocpp_transactions
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  name constant text := said ->> 'transaction';
  at   constant timestamptz := said ->> 'at';
  told core.ocpp_transactions;
  next core.ocpp_transactions;
begin
  insert into core.ocpp_transactions (partner_id, charger_id, owner_id, told_id, first_at, clock)
  values (charger.partner_id, charger.id, charger.owner_id, name, at, said ->> 'clock')
  on conflict on constraint ocpp_transactions_told_key do nothing;
  select * into told from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.told_id = name;
  if at <= told.ended_at is not false or 'wrong' in (said ->> 'clock', told.clock) then
    return told;
  end if;
  select * into next from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and starts_with(t.told_id, name || '@') and t.first_at <= at
   order by t.first_at desc limit 1;
  if said ->> 'type' = 'Started' and at <= next.ended_at is not true and (next.id is null or next.ended_at is not null) then
    insert into core.ocpp_transactions (partner_id, charger_id, owner_id, told_id, first_at, clock)
    values (charger.partner_id, charger.id, charger.owner_id, concat(name, '@', floor(extract(epoch from at))), at, said ->> 'clock')
    returning * into next;
  end if;
  return case when next.id is null then told else next end;
end $function$;

CREATE OR REPLACE FUNCTION private.stop_ocpp (
  charger core.chargers,
  said    jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  readings constant jsonb := said -> 'readings';
  told     core.ocpp_transactions := private.own_ocpp_transaction(charger, said ->> 'transaction');
  is_own   constant boolean := told.id is not null;
begin
  if not is_own then
    told := private.guess_ocpp_transaction(charger, said);
  end if;
  if told.id is not null then
    if told.ended_at is null or is_own and told.end_guessed then
      told.ended_at := null;
      told := private.merge_ocpp_readings(told, readings);
      told.ended_at := said ->> 'at';
      told.end_wh := said ->> 'meter_wh';
      told.end_guessed := not is_own;
      told.clock := case when told.clock = 'charger' then said ->> 'clock' else told.clock end;
      perform private.store_ocpp_transaction(told);
    end if;
    return private.ocpp_session(told);
  end if;
  if readings #>> '{begin,at}' is not null and readings #>> '{end,at}' is not null then
    return jsonb_build_object(
      'charger_id', charger.id, 'source', 'ocpp',
      -- a repeat has the charger's time again, and two connectors may stop at one time
      'external_id', concat('stop:', coalesce(said ->> 'told', said ->> 'at'), ':', readings #>> '{end,wh}'),
      'started_at', readings #> '{begin,at}', 'ended_at', said -> 'at', 'wh', (readings #>> '{end,wh}')::bigint - (readings #>> '{begin,wh}')::bigint,
      'meter_wh', readings #> '{end,wh}', 'meter_start_wh', readings #> '{begin,wh}', 'meter_end_wh', readings #> '{end,wh}');
  end if;
  return null;
end $function$;

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
  if (told.id is null or private.is_after_ocpp(told, (last ->> 'at')::timestamptz)) and last ->> 'at' is not null then
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

REVOKE ALL ON FUNCTION "private"."is_after_ocpp"(core.ocpp_transactions, timestamp WITH time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."is_after_ocpp"(core.ocpp_transactions, timestamp WITH time zone) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."is_after_ocpp"(core.ocpp_transactions, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."is_after_ocpp"(core.ocpp_transactions, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."named_ocpp_transaction"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."named_ocpp_transaction"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."named_ocpp_transaction"(core.chargers, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."named_ocpp_transaction"(core.chargers, jsonb) TO "postgres";

commit;

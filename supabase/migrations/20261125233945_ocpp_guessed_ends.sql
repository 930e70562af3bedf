begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."own_ocpp_transaction"(core.chargers, text);

DROP FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions);

ALTER TABLE "core"."ocpp_transactions"
  ADD COLUMN "end_guessed" boolean NOT NULL DEFAULT false;

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
    return json_build_object('ok', false);
  end if;
  insert into core.ocpp_links as l (partner_id, charger_id, owner_id, generation, connected_at)
  values (charger.partner_id, charger.id, charger.owner_id, 1, private.now())
  on conflict on constraint ocpp_links_pkey do update set generation = l.generation + 1, connected_at = excluded.connected_at
  returning * into link;
  return json_build_object('ok', true, 'charger_id', charger.id, 'generation', link.generation);
end $function$;

CREATE OR REPLACE FUNCTION private.connected_charger (
  charger_id uuid,
  generation bigint
)
  RETURNS core.chargers
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers;
begin
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = connected_charger.charger_id and h.status = 'active'
     for no key update;
  -- the charger first, as everywhere; until the transaction ends nobody else connects as this charger, or tells for it
  perform from core.ocpp_links l
    where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.generation = connected_charger.generation for update;
  if not found then
    perform private.refuse('connection_superseded');
  end if;
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  return charger;
end $function$;

CREATE OR REPLACE FUNCTION private.earlier_ocpp (
  one   timestamp with time zone,
  other timestamp with time zone
)
  RETURNS timestamp WITH time zone
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN ((other IS NULL) OR (ROW((one < '2010-01-01 00:00:00+00'::timestamp WITH time zone), one) <= ROW((other < '2010-01-01 00:00:00+00'::timestamp
  WITH time zone), other))) THEN one ELSE other END;

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
  return private.ocpp_session(told);
end $function$;

CREATE OR REPLACE FUNCTION private.give_up_charges()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  given_up int;
begin
  update core.charging_sessions s set flags = s.flags || '{no_end}'::text[]
    from (select t.partner_id, t.charger_id, coalesce(t.told_id, '1.6:' || t.id) as external_id
            from core.ocpp_transactions t
           where t.ended_at is null and exists (
             select from core.ocpp_transactions l
              where l.partner_id = t.partner_id and l.charger_id = t.charger_id and l.connector = t.connector and private.ocpp_began_later(l, t)
                and l.created_at < private.now() - interval '48 hours')) lost
   where s.partner_id = lost.partner_id and s.charger_id = lost.charger_id and s.source = 'ocpp' and s.external_id = lost.external_id
     and not 'no_end' = any (s.flags);
  get diagnostics given_up = row_count;
  return given_up;
end $function$;

CREATE OR REPLACE FUNCTION private.guess_ocpp_transaction (
  charger core.chargers,
  said    jsonb
)
  RETURNS core.ocpp_transactions
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  at       constant timestamptz := said ->> 'at';
  meter_wh constant bigint := said ->> 'meter_wh';
  begun_at constant timestamptz := said #>> '{readings,begin,at}';
  begun_wh constant bigint := said #>> '{readings,begin,wh}';
  told     core.ocpp_transactions;
begin
  select * into told from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.end_guessed and t.end_wh is not distinct from meter_wh
     and (t.ended_at = at or said ->> 'clock' = 'arrival' and t.ended_at > at - interval '1 hour')
   order by t.id desc limit 1;
  if told.id is not null then
    return told;
  end if;
  told := private.open_ocpp_transaction(charger, null, at, meter_wh);
  if begun_at is not null then
    return case when (told.clock <> 'charger' or abs(extract(epoch from told.first_at - begun_at)) <= 300)
                 and (coalesce(told.meter_start_wh, 0) = 0 or abs(told.meter_start_wh - begun_wh) <= 10) then told end;
  end if;
  return case when meter_wh + 10 >= told.last_wh is not false and not exists (
    select from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.connector <> told.connector) then told end;
end $function$;

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
  if last ->> 'at' is not null and (told.last_wh is null or (last ->> 'wh')::bigint > told.last_wh) then
    told.last_at := last ->> 'at';
    told.last_wh := last ->> 'wh';
  end if;
  return told;
end $function$;

CREATE OR REPLACE FUNCTION private.ocpp_began_later (
  later core.ocpp_transactions,
  told  core.ocpp_transactions
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN ('wrong'::text = ANY (ARRAY[(later).clock, (told).clock])) THEN ((later).id > (told).id) ELSE ((later).first_at > (told).first_at) END;

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
    'meter_wh', final,
    'meter_start_wh', case when wh > 0 then base end,
    'meter_end_wh', case when wh > 0 and told.ended_at is not null then final end,
    'end_from', case when told.ended_at is null then null when told.clock <> 'charger' then 'clock' when from_values then 'values' end,
    'flags', case when told.ended_at is not null and wh is null then '["no_end"]'::jsonb end));
end $function$;

CREATE OR REPLACE FUNCTION private.open_ocpp_transaction (
  charger      core.chargers,
  on_connector integer,
  at           timestamp with time zone,
  meter_wh     bigint
)
  RETURNS core.ocpp_transactions
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  found_ones core.ocpp_transactions[] := array(
    select t from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.ended_at is null
       and (on_connector is null or t.connector = on_connector)
       -- a clock that was ahead at the start is not ahead of its arrival
       and (t.clock = 'wrong' or least(t.first_at, t.created_at) <= at)
       and (meter_wh is null or coalesce(t.meter_start_wh, t.begin_wh, 0) <= meter_wh + 10)
       -- one car at a time: a later start has ended it without a word
       and not exists (
         select from core.ocpp_transactions l
          where l.partner_id = t.partner_id and l.charger_id = t.charger_id and l.connector = t.connector and private.ocpp_began_later(l, t)));
begin
  -- of two nobody knows which is meant
  return case when cardinality(found_ones) = 1 then found_ones[1] end;
end $function$;

CREATE OR REPLACE FUNCTION private.own_ocpp_transaction (
  charger core.chargers,
  named   text
)
  RETURNS core.ocpp_transactions
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  told core.ocpp_transactions;
begin
  if named ~ '^[1-9][0-9]{0,9}$' and named::bigint <= 2147483647 then
    select * into told from core.ocpp_transactions t
     where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.told_id is null and t.id = named::int;
  end if;
  return told;
end $function$;

CREATE OR REPLACE FUNCTION private.start_ocpp (
  charger core.chargers,
  said    jsonb
)
  RETURNS core.ocpp_transactions
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  told core.ocpp_transactions;
begin
  -- A repeat gets the same id. A charger without the time begins each charge alike, so its repeats are those of the last hour.
  select * into told from core.ocpp_transactions t
   where t.partner_id = charger.partner_id and t.charger_id = charger.id and t.told_id is null and t.connector = (said ->> 'connector')::int
     and t.told_at is not distinct from (said ->> 'told')::timestamptz and t.meter_start_wh is not distinct from (said ->> 'meter_wh')::bigint
     and (said ->> 'clock' = 'charger' or t.ended_at is null and t.created_at > private.now() - interval '1 hour')
   order by t.id desc limit 1;
  if told.id is null then
    insert into core.ocpp_transactions (partner_id, charger_id, owner_id, connector, told_at, started_at, first_at, meter_start_wh, clock)
    values (charger.partner_id, charger.id, charger.owner_id, (said ->> 'connector')::int, (said ->> 'told')::timestamptz,
            (said ->> 'at')::timestamptz, (said ->> 'at')::timestamptz, (said ->> 'meter_wh')::bigint, said ->> 'clock')
    returning * into told;
  end if;
  return told;
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

CREATE OR REPLACE FUNCTION private.store_ocpp_transaction (
  told core.ocpp_transactions
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.ocpp_transactions t
     set connector = told.connector, started_at = told.started_at, first_at = told.first_at, begin_at = told.begin_at, begin_wh = told.begin_wh,
         last_at = told.last_at, last_wh = told.last_wh, ended_at = told.ended_at, end_wh = told.end_wh, clock = told.clock,
         end_guessed = told.end_guessed
   where t.partner_id = told.partner_id and t.charger_id = told.charger_id and t.id = told.id;
end $function$;

COMMENT ON COLUMN "core"."ocpp_transactions"."end_guessed" IS 'Ended by a stop that named another transaction. The stop that names this one counts instead.';

REVOKE ALL ON FUNCTION "private"."earlier_ocpp"(timestamp WITH time zone, timestamp WITH time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."earlier_ocpp"(timestamp WITH time zone, timestamp WITH time zone) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."earlier_ocpp"(timestamp WITH time zone, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earlier_ocpp"(timestamp WITH time zone, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."guess_ocpp_transaction"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."guess_ocpp_transaction"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."guess_ocpp_transaction"(core.chargers, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."guess_ocpp_transaction"(core.chargers, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."ocpp_began_later"(core.ocpp_transactions, core.ocpp_transactions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."ocpp_began_later"(core.ocpp_transactions, core.ocpp_transactions) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."ocpp_began_later"(core.ocpp_transactions, core.ocpp_transactions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."ocpp_began_later"(core.ocpp_transactions, core.ocpp_transactions) TO "postgres";

REVOKE ALL ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) TO "postgres";

commit;

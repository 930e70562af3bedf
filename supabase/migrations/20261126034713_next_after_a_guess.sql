begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
     and (told.end_guessed or private.is_after_ocpp(told, (last ->> 'at')::timestamptz) is not true) then
    told.last_at := last ->> 'at';
    told.last_wh := last ->> 'wh';
  end if;
  return told;
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
  at   constant timestamptz := last ->> 'at';
begin
  if at is not null and (told.id is null or private.is_after_ocpp(told, at))
     -- one that ended by a guess may go on, until another begins
     and (told.end_guessed is not true or exists (
       select from core.ocpp_transactions l
        where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.connector = told.connector and l.first_at <= at
          and private.ocpp_began_later(l, told))) then
    told := private.open_ocpp_transaction(charger, (said ->> 'connector')::int, at, null);
  end if;
  if told.id is not null then
    told := private.merge_ocpp_readings(told, said);
    perform private.store_ocpp_transaction(told);
    perform private.note_ocpp_meter(charger, told.last_at, told.last_wh);
    return private.ocpp_session(told);
  end if;
  -- outside a transaction it is only what the meter says
  perform private.note_ocpp_meter(charger, at, (last ->> 'wh')::bigint);
  return null;
end $function$;

commit;

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

CREATE OR REPLACE FUNCTION api.list_parked_charging (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  page_limit  constant int    := (query ->> 'limit')::int;
  page_offset constant bigint := (query ->> 'offset')::bigint;
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select p.* from core.parked_charging p
       where p.partner_id = private.partner_id() and p.owner_id = private.client_id()
       order by p.received_at desc, p.id desc limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by received_at desc, id desc limit page_limit
    ), newest as materialized (
      select p.names, p.received_at from core.parked_charging p
       where p.partner_id = private.partner_id() and p.owner_id = private.client_id()
       order by p.received_at desc, p.id desc limit 10000
    )
    select json_build_object(
      'parked', coalesce(json_agg(json_build_object(
        'parked_id', s.id, 'session_id', s.external_id, 'source', s.source, 'reason', s.reason,
        'names', (select json_agg(json_build_object('kind', split_part(n, ':', 1), 'value', substr(n, strpos(n, ':') + 1))) from unnest(s.names) n),
        'started_at', s.item ->> 'started_at', 'ended_at', s.item ->> 'ended_at', 'kwh', trim_scale((s.item ->> 'wh')::numeric / 1000),
        'received_at', private.iso(s.received_at)) order by s.received_at desc, s.id desc), '[]'),
      'names', (select coalesce(json_agg(json_build_object(
                  'kind', split_part(g.name, ':', 1), 'value', substr(g.name, strpos(g.name, ':') + 1), 'sessions', g.sessions) order by g.sessions desc, g.name), '[]')
                  from (select n.name, count(*) as sessions from newest w cross join unnest(w.names) n (name) group by n.name order by 2 desc, 1 limit 100) g),
      'limit', page_limit, 'offset', page_offset, 'count', count(*), 'has_more', (select count(*) from page) > page_limit)
      from shown s);
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

CREATE OR REPLACE FUNCTION private.client_session (
  session core.charging_sessions,
  charger core.chargers,
  why     text
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'charging_session_id', session.id,
    'session_id', case session.source when 'file' then null else session.external_id end,
    'source', session.source,
    'account_id', charger.account_id,
    'charger_id', session.charger_id,
    'evse_no', session.connector,
    'started_at', private.iso(session.started_at),
    'ended_at', private.iso(session.ended_at),
    'kwh', trim_scale(session.wh / 1000.0),
    'meter_start_kwh', trim_scale(session.meter_start_wh / 1000.0),
    'meter_end_kwh', trim_scale(session.meter_end_wh / 1000.0),
    'meter_id', session.meter_id,
    'period', to_char(session.month, 'YYYY-MM'),
    'flags', session.flags,
    'counted', why is null,
    'not_counted', why,
    'received_at', private.iso(session.received_at))
$function$;

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

CREATE OR REPLACE FUNCTION private.store_upload (
  input jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  dry    constant boolean := (input ->> 'dry_run')::boolean;
  upload core.uploads;
  newest core.uploads;
begin
  -- one file of a client at a time, so that equal ones find the first stored
  perform pg_advisory_xact_lock(hashtextextended('uploads of ' || private.client_id(), 0));
  if not dry then
    select * into newest from core.uploads u
     where u.partner_id = private.partner_id() and u.owner_id = private.client_id() order by u.arrival desc limit 1;
    if newest.sha256 = decode(input ->> 'sha256', 'hex') and newest.kind = input ->> 'kind' and newest.decimal is not distinct from input ->> 'decimal' then
      if private.rows_left_out(newest.counts) = 0 then
        return private.upload_answer(newest) || '{"idempotent": true}';
      end if;
    else
      newest := null;
    end if;
  end if;
  begin
    upload.results := case input ->> 'kind' when 'months' then private.deliver_months_of_file(input) else private.deliver_sessions_of_file(input) end;
    upload.results := (
      select coalesce(jsonb_agg(r.result order by (r.result ->> 'row')::int), '[]') from (
        -- the id of a session that a dry run undoes is nobody's
        select e.result - case when dry and e.result ->> 'status' = 'created' then 'charging_session_id' else '' end as result
          from jsonb_array_elements(upload.results) e (result)
        union all
        select jsonb_strip_nulls(e.result || '{"status": "invalid"}') from jsonb_array_elements(input -> 'rejected') e (result)) r);
    upload.counts := (
      select jsonb_object_agg(s.status, coalesce(n.rows, 0))
        from jsonb_array_elements_text(input -> 'statuses') s (status)
        left join (select e.result ->> 'status' as status, count(*) as rows from jsonb_array_elements(upload.results) e (result) group by 1) n
          on n.status = s.status);
    if dry or private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      raise exception using errcode = 'DRY01';
    end if;
    insert into core.uploads (partner_id, id, owner_id, user_id, file_name, sha256, decimal, kind, rows, columns, counts, results)
    values (private.partner_id(), (input ->> 'upload_id')::uuid, private.client_id(), private.manager_id(), input ->> 'file_name',
            decode(input ->> 'sha256', 'hex'), input ->> 'decimal', input ->> 'kind', (input ->> 'rows')::int, input -> 'columns',
            upload.counts, upload.results)
    returning * into upload;
  exception when sqlstate 'DRY01' then
    -- it was judged by storing it, and is undone
    if not dry then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
    return jsonb_build_object('upload_id', null, 'kind', input -> 'kind', 'created_at', null, 'rows', input -> 'rows', 'columns', input -> 'columns',
                              'counts', upload.counts, 'results', upload.results);
  end;
  return private.upload_answer(upload);
end $function$;

CREATE OR REPLACE FUNCTION private.take_cdrs (
  link core.ocpi_connections,
  sent private.sent_cdr[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  parties constant text[] := link.parties || link.added_parties;
  cdr     private.sent_cdr;
  known   core.ocpi_cdrs;
  taker   core.ocpi_cdrs;
  reason  text;
  fresh   jsonb := '[]';
  parked  jsonb := '[]';
  credits jsonb := '[]';
  results jsonb := '[]';
  faulty  int   := 0;
  last    text;
begin
  foreach cdr in array sent loop
    known := null;
    reason := coalesce(cdr.refused, case when cdr.party <> all (parties) then 'party_id: ' || cdr.party || ' is not a party of this connection' end);
    if reason is null then
      select * into known from core.ocpi_cdrs c
       where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party and c.cdr_id = cdr.id;
      reason := private.cdr_refusal(cdr, known);
    end if;
    if reason is not null then
      faulty := faulty + 1;
      last := left(concat_ws(' ', cdr.party || ':' || cdr.id, reason), 300);
    elsif known.cdr_id is null then
      taker := null;
      if cdr.kind <> 'credit' then
        select * into taker from core.ocpi_cdrs c
         where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party and c.credit_of = cdr.id;
      end if;
      insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, credit_of, status, document)
      values (link.partner_id, link.owner_id, cdr.party, cdr.id, decode(cdr.kept_sha256, 'hex'), cdr.credit_of,
              case when cdr.kind = 'session' and taker.cdr_id is not null then 'credited' when cdr.kind = 'session' then 'taken' else cdr.kind end, cdr.document);
      if cdr.kind = 'credit' then
        update core.ocpi_cdrs c set status = 'credited'
         where c.partner_id = link.partner_id and c.owner_id = link.owner_id and c.party = cdr.party and c.cdr_id = cdr.credit_of and c.status = 'taken';
        credits := credits || jsonb_build_object('party', cdr.party, 'credit_of', cdr.credit_of, 'document', cdr.document, 'sent_sha256', cdr.sent_sha256);
      elsif cdr.kind = 'session' then
        if cdr.session ->> 'started_at' is null or cdr.session ->> 'ended_at' is null then
          parked := parked || (cdr.session || '{"park": "no_times"}');
        else
          fresh := fresh || (cdr.session || jsonb_build_object('place', cdr.place, 'sent_sha256', cdr.sent_sha256, 'client_id', link.owner_id,
                                                               'request_id', nullif(current_setting('app.request_id', true), '')));
        end if;
        if taker.cdr_id is not null then
          credits := credits || jsonb_build_object('party', cdr.party, 'credit_of', cdr.id, 'document', taker.document);
        end if;
      end if;
    end if;
    results := results || jsonb_strip_nulls(jsonb_build_object(
      'place', cdr.place, 'status', case when reason is not null then 'refused' when known.cdr_id is null then 'taken' else 'unchanged' end, 'reason', reason));
  end loop;
  if fresh <> '[]' then
    parked := parked || coalesce((
      select jsonb_agg(f.item || '{"park": "ambiguous_charger"}')
        from jsonb_to_recordset(private.deliver_named_sessions(link.owner_id, fresh)) as r (place int, status text, reason text)
        join jsonb_array_elements(fresh) f (item) on (f.item ->> 'place')::int = r.place
       where r.status = 'rejected' and r.reason = 'ambiguous_charger'), '[]');
  end if;
  perform private.park_cdrs(link.owner_id, parked) where parked <> '[]';
  perform private.credit_cdrs(credits) where credits <> '[]';
  update core.ocpi_connections c
     set taken = c.taken + (select count(*) from jsonb_array_elements(results) r where r ->> 'status' = 'taken'),
         refused = c.refused + faulty, last_refusal = coalesce(last, c.last_refusal),
         last_refused_at = case when last is null then c.last_refused_at else private.now() end
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id;
  return results;
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

COMMENT ON COLUMN "core"."ocpi_connections"."taken" IS 'CDRs that were new; refused: answered with 2001. last_refusal says why, without values.';

REVOKE ALL ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."note_ocpp_meter"(core.chargers, timestamp WITH time zone, bigint) TO "postgres";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "api"."ingest_charging_sessions"(jsonb, jsonb);

DROP FUNCTION "private"."tenants_of_chargers"(uuid[]);

CREATE TABLE "core"."ocpp_links" (
  "partner_id"   uuid                     NOT NULL,
  "charger_id"   uuid                     NOT NULL,
  "generation"   bigint                   NOT NULL,
  "protocol"     text,
  "connected_at" timestamp with time zone NOT NULL,
  "boot"         jsonb,
  "booted_at"    timestamp with time zone,
  CONSTRAINT "ocpp_links_pkey" PRIMARY KEY (partner_id, charger_id),
  CONSTRAINT "ocpp_links_protocol_known" CHECK ((protocol = ANY (ARRAY['ocpp1.6'::text, 'ocpp2.0.1'::text]))),
  "owner_id"     uuid                     NOT NULL DEFAULT private.owner_id()
);

ALTER TABLE "core"."ocpp_links"
  ENABLE ROW LEVEL SECURITY;

CREATE TABLE "core"."ocpp_transactions" (
  "partner_id"     uuid                     NOT NULL,
  "charger_id"     uuid                     NOT NULL,
  "id"             integer                  GENERATED ALWAYS AS IDENTITY NOT NULL,
  "told_id"        text,
  "connector"      integer,
  "told_at"        timestamp with time zone,
  "started_at"     timestamp with time zone,
  "first_at"       timestamp with time zone NOT NULL,
  "meter_start_wh" bigint,
  "begin_at"       timestamp with time zone,
  "begin_wh"       bigint,
  "last_at"        timestamp with time zone,
  "last_wh"        bigint,
  "ended_at"       timestamp with time zone,
  "end_wh"         bigint,
  "clock"          text                     NOT NULL,
  CONSTRAINT "ocpp_transactions_clock_known" CHECK ((clock = ANY (ARRAY['charger'::text, 'arrival'::text, 'wrong'::text]))),
  CONSTRAINT "ocpp_transactions_pkey" PRIMARY KEY (partner_id, charger_id, id),
  CONSTRAINT "ocpp_transactions_told_key" UNIQUE (partner_id, charger_id, told_id),
  "owner_id"       uuid                     NOT NULL DEFAULT private.owner_id(),
  "created_at"     timestamp with time zone NOT NULL DEFAULT private.now()
);

ALTER TABLE "core"."ocpp_transactions"
  ENABLE ROW LEVEL SECURITY;

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
  if charger.id is null or charger.ocpp_password_hash <> decode(input ->> 'password_hash', 'hex') then
    return json_build_object('ok', false);
  end if;
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  insert into core.ocpp_links as l (partner_id, charger_id, owner_id, generation, connected_at)
  values (charger.partner_id, charger.id, charger.owner_id, 1, private.now())
  on conflict on constraint ocpp_links_pkey do update set generation = l.generation + 1, connected_at = excluded.connected_at
  returning * into link;
  update core.chargers h set last_seen_at = private.now() where h.partner_id = charger.partner_id and h.id = charger.id;
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
  update core.chargers h set ocpp_password_hash = decode(input ->> 'password_hash', 'hex')
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

ALTER FUNCTION "api"."renew_ocpp_password"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.run_due_jobs (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object(
    'mandates_expired', private.expire_mandates(),
    'endings_announced', private.announce_endings(),
    'missing_asked', private.announce_missing(),
    'mail_purged', private.sweep('mail'),
    'logos_purged', private.sweep('logos'),
    'invitations_purged', private.sweep('invitations'),
    'oauth_purged', private.sweep('oauth'),
    'sessions_synced', private.sync_virtual_chargers(),
    'charges_given_up', private.give_up_charges(),
    'parked_stored', private.judge_due_parked(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    'charging_changes_swept', private.sweep_charging_changes(),
    'parked_swept', private.sweep('parked', 10000),
    'webhook_attempts_swept', private.sweep('webhook_attempts', 10000),
    'job_runs_swept', private.sweep('job_runs'),
    'mail_counts_swept', private.sweep('mail_counts'),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep('rate_limits'));
end $function$;

CREATE OR REPLACE FUNCTION api.see_chargers (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'gateway');
  return json_build_object('gone', private.note_seen(
    array(select (c ->> 'charger_id')::uuid from jsonb_array_elements(input -> 'chargers') with ordinality c (c, place) order by place),
    array(select (c ->> 'generation')::bigint from jsonb_array_elements(input -> 'chargers') with ordinality c (c, place) order by place)));
end $function$;

ALTER FUNCTION "api"."see_chargers"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.tell_ocpp (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  charger  core.chargers;
  told     core.ocpp_transactions;
  said     jsonb;
  item     jsonb;
  items    jsonb := '[]';
  ids      int[] := '{}';
begin
  perform private.act_as(caller, 'gateway');
  charger := private.connected_charger((input ->> 'charger_id')::uuid, (input ->> 'generation')::bigint);
  for said in select s from jsonb_array_elements(input -> 'happened') s loop
    told := null;
    item := null;
    case said ->> 'kind'
      when 'boot' then perform private.boot_ocpp(charger, input ->> 'protocol', said -> 'boot');
      when 'start' then
        told := private.start_ocpp(charger, said);
        item := private.ocpp_session(told);
      when 'stop' then item := private.stop_ocpp(charger, said);
      when 'event' then item := private.event_ocpp(charger, said);
      when 'values' then item := private.values_ocpp(charger, said);
    end case;
    ids := ids || told.id;
    if item is null and said ? 'evidence' then
      perform private.keep_ocpp_words(charger, said);
    elsif item is not null then
      items := items || (item || coalesce(said -> 'evidence', '{}'));
    end if;
  end loop;
  if items <> '[]' then
    perform private.ingest_charging_sessions(items);
  end if;
  return json_build_object('ids', ids);
end $function$;

ALTER FUNCTION "api"."tell_ocpp"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION private.boot_ocpp (
  charger  core.chargers,
  protocol text,
  boot     jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  serial constant text := upper(regexp_replace(boot ->> 'serial_number', '\s', '', 'g'));
begin
  update core.ocpp_links l set boot = boot_ocpp.boot, booted_at = private.now(), protocol = boot_ocpp.protocol
   where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  if charger.catalog_charger_id is null and boot ->> 'vendor' is not null and boot ->> 'model' is not null then
    perform private.identify_charger(charger, jsonb_build_object(
      'ocpp_vendor', boot ->> 'vendor', 'ocpp_model', boot ->> 'model', 'ocpp_meter_type', boot ->> 'meter_type'));
    select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
  -- one that is active elsewhere stays there: the EAN keeps a month from being booked twice
  if charger.serial_number is null and charger.brand is not null and serial ~ '^[^[:space:]a-z]{1,64}$'
     and private.claim_serial_number(charger.brand, serial) then
    update core.chargers h set serial_number = serial where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
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
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = connected_charger.charger_id and h.status = 'active';
  -- until the transaction ends nobody else connects as this charger, or tells for it
  perform from core.ocpp_links l
    where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.generation = connected_charger.generation for update;
  if not found then
    perform private.refuse('connection_superseded');
  end if;
  perform private.act_for_person(charger.partner_id, charger.owner_id);
  return charger;
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
  told.first_at := least(told.first_at, at);
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

CREATE OR REPLACE FUNCTION private.forget_sessions (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone    core.charging_sessions[] := array(select s from core.charging_sessions s where s.month < border limit size for update skip locked);
  deleted int;
begin
  delete from core.replaced_charging_sessions r using unnest(gone) s
   where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id;
  delete from core.charging_evidence e using unnest(gone) s
   where e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id;
  delete from core.ocpp_transactions t where t.first_at < private.dutch_midnight(border);
  -- words that belong to no session
  delete from core.charging_evidence e where e.session_id is null and e.received_at < private.dutch_midnight(border);
  delete from core.charging_sessions d using unnest(gone) s where d.partner_id = s.partner_id and d.charger_id = s.charger_id and d.id = s.id;
  get diagnostics deleted = row_count;
  delete from core.charger_months m
   where m.month < border and not exists (
     select from core.charging_sessions s where s.partner_id = m.partner_id and s.charger_id = m.charger_id and s.month = m.month);
  return deleted;
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
              where l.partner_id = t.partner_id and l.charger_id = t.charger_id and l.connector = t.connector and l.first_at > t.first_at
                and l.created_at < private.now() - interval '48 hours')) lost
   where s.partner_id = lost.partner_id and s.charger_id = lost.charger_id and s.source = 'ocpp' and s.external_id = lost.external_id
     and not 'no_end' = any (s.flags);
  get diagnostics given_up = row_count;
  return given_up;
end $function$;

CREATE OR REPLACE FUNCTION private.keep_ocpp_words (
  charger core.chargers,
  said    jsonb
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  insert into core.charging_evidence
    (partner_id, charger_id, owner_id, source, external_id, request_id, document, document_sha256, sent_sha256, signed, signature)
  select charger.partner_id, charger.id, charger.owner_id, 'ocpp', coalesce(said ->> 'transaction', said ->> 'kind'),
         nullif(current_setting('app.request_id', true), ''), w.document, sha256(convert_to(w.document::text, 'UTF8')), w.sent_sha256, w.signed,
         case when w.signed <> '{}' then 'unchecked' end
    from (select said #> '{evidence,document}' as document, decode(said #>> '{evidence,sent_sha256}', 'hex') as sent_sha256,
                 array(select jsonb_array_elements_text(coalesce(said #> '{evidence,signed}', '[]'))) as signed) w
   -- the gateway may bring the same message again
   where not exists (
     select from core.charging_evidence e
      where e.partner_id = charger.partner_id and e.charger_id = charger.id and e.session_id is null and e.sent_sha256 = w.sent_sha256)
$function$;

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
  first constant jsonb := case when told.told_id is null then readings -> 'begin' else readings -> 'first' end;
  last  constant jsonb := readings -> 'last';
begin
  if first ->> 'at' is not null and (told.begin_at is null
     or ((first ->> 'at')::timestamptz, (first ->> 'wh')::bigint) < (told.begin_at, told.begin_wh)) then
    told.begin_at := first ->> 'at';
    told.begin_wh := first ->> 'wh';
  end if;
  if last ->> 'at' is not null and (told.last_wh is null or (last ->> 'wh')::bigint > told.last_wh) then
    told.last_at := last ->> 'at';
    told.last_wh := last ->> 'wh';
  end if;
  return told;
end $function$;

CREATE OR REPLACE FUNCTION private.note_seen (
  chargers    uuid[],
  generations bigint[]
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  gone uuid[];
begin
  select array_agg(n.charger_id) into gone
    from unnest(chargers, generations) n (charger_id, generation)
   where not exists (
     select from core.chargers h join core.ocpp_links l on l.partner_id = h.partner_id and l.charger_id = h.id
      where h.partner_id = any (array(select p.id from core.partners p)) and h.id = n.charger_id and h.status = 'active' and l.generation = n.generation);
  -- in order, so that two reports cannot wait for each other
  perform from core.chargers h
    where h.partner_id = any (array(select p.id from core.partners p)) and h.id = any (chargers) and h.id <> all (coalesce(gone, '{}'))
    order by h.id for no key update;
  update core.chargers h set last_seen_at = private.now()
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = any (chargers) and h.id <> all (coalesce(gone, '{}'));
  return coalesce(gone, '{}');
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
    'started_at', coalesce(told.started_at, least(told.begin_at, told.first_at)),
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
       and t.first_at <= at and (meter_wh is null or coalesce(t.meter_start_wh, t.begin_wh, 0) <= meter_wh + 10)
       -- one car at a time: a later start has ended it without a word
       and not exists (
         select from core.ocpp_transactions l
          where l.partner_id = t.partner_id and l.charger_id = t.charger_id and l.connector = t.connector and l.first_at > t.first_at));
begin
  -- of two nobody knows which is meant
  return case when cardinality(found_ones) = 1 then found_ones[1] end;
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
           'status', case when private.is_online(h) then 'online' else 'offline' end,
           'mid_certified', h.mid_eligible is true,
           'is_charging', coalesce(s.status = 'charging', false),
           'current_session', case when s.id is not null then json_build_object(
             'id', s.id, 'started_at', private.iso(s.started_at), 'kwh_so_far', round(s.wh / 1000.0, 2)) end,
           'ocpp_identity', h.ocpp_identity,
           'last_seen_at', private.iso(h.last_seen_at),
           'latest_meter_wh', h.latest_meter_wh,
           'meter_updated_at', private.iso(h.meter_updated_at))) order by h.created_at desc, h.id desc), '[]')
    from core.chargers h
    left join lateral (
      select * from core.charging_sessions s
       where s.partner_id = h.partner_id and s.charger_id = h.id and s.ended_at is null
       order by s.started_at desc, s.id limit 1) s on true
   where h.user_id = private.user_id() and h.status = 'active'
$function$;

CREATE OR REPLACE FUNCTION private.own_ocpp_transaction (
  charger core.chargers,
  named   text
)
  RETURNS core.ocpp_transactions
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select t from core.ocpp_transactions t
   where named ~ '^[1-9][0-9]{0,9}$' and t.partner_id = charger.partner_id and t.charger_id = charger.id and t.told_id is null
     and t.id = case when named ~ '^[1-9][0-9]{0,9}$' and named::bigint <= 2147483647 then named::int end
$function$;

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
     and t.told_at is not distinct from (said ->> 'told')::timestamptz and t.meter_start_wh = (said ->> 'meter_wh')::bigint
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
begin
  if told.id is null then
    told := private.open_ocpp_transaction(charger, null, (said ->> 'at')::timestamptz, (said ->> 'meter_wh')::bigint);
  end if;
  if told.id is not null then
    if told.ended_at is null then
      told := private.merge_ocpp_readings(told, readings);
      told.ended_at := said ->> 'at';
      told.end_wh := said ->> 'meter_wh';
      told.clock := case when told.clock = 'charger' then said ->> 'clock' else told.clock end;
      perform private.store_ocpp_transaction(told);
    end if;
    return private.ocpp_session(told);
  end if;
  if readings #>> '{begin,at}' is not null and readings #>> '{end,at}' is not null then
    return jsonb_build_object(
      'charger_id', charger.id, 'source', 'ocpp', 'external_id', 'stop:' || (said ->> 'at'),
      'started_at', readings #> '{begin,at}', 'ended_at', said -> 'at', 'wh', (readings #>> '{end,wh}')::bigint - (readings #>> '{begin,wh}')::bigint,
      'meter_wh', readings #> '{end,wh}', 'meter_start_wh', readings #> '{begin,wh}', 'meter_end_wh', readings #> '{end,wh}');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION private.store_ocpp_transaction (
  told core.ocpp_transactions
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  update core.ocpp_transactions t
     set connector = told.connector, started_at = told.started_at, first_at = told.first_at, begin_at = told.begin_at, begin_wh = told.begin_wh,
         last_at = told.last_at, last_wh = told.last_wh, ended_at = told.ended_at, end_wh = told.end_wh, clock = told.clock
   where t.partner_id = told.partner_id and t.charger_id = told.charger_id and t.id = told.id
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
    return private.ocpp_session(told);
  end if;
  -- outside a transaction it is only what the meter says
  update core.chargers h set latest_meter_wh = (last ->> 'wh')::bigint, meter_updated_at = (last ->> 'at')::timestamptz
   where h.partner_id = charger.partner_id and h.id = charger.id and (last ->> 'at')::timestamptz > coalesce(h.meter_updated_at, '-infinity');
  return null;
end $function$;

CREATE INDEX ocpp_transactions_open ON core.ocpp_transactions USING btree (partner_id, charger_id, connector)
  WHERE (ended_at IS NULL);

CREATE POLICY "a tenant reaches its own rows" ON "core"."ocpp_links"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "a tenant reaches its own rows" ON "core"."ocpp_transactions"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

COMMENT ON COLUMN "core"."ocpp_links"."boot" IS 'Its last BootNotification: {vendor, model, meter_type, serial_number, meter_serial_number, firmware}.';

COMMENT ON COLUMN "core"."ocpp_links"."generation" IS 'Grows with each connection and each new password. Messages of an older one are refused, so one connection speaks for a charger.';

COMMENT ON COLUMN "core"."ocpp_transactions"."clock" IS 'arrival: the charger''s clock was wrong, and the time of arrival stands for it. wrong: nobody knows the time.';

COMMENT ON COLUMN "core"."ocpp_transactions"."first_at" IS 'The earliest message.';

COMMENT ON COLUMN "core"."ocpp_transactions"."id" IS 'The transactionId of OCPP 1.6: an integer that no two chargers have, and that is never used again. Its session has the external id 1.6:<id>.';

COMMENT ON COLUMN "core"."ocpp_transactions"."last_wh" IS 'The largest reading: a register only grows, so a sample that drops is a fault.';

COMMENT ON COLUMN "core"."ocpp_transactions"."told_at" IS 'The start by the clock of a 1.6 charger, by which a repeated StartTransaction is recognized.';

COMMENT ON COLUMN "core"."ocpp_transactions"."told_id" IS 'The transactionId that a charger of OCPP 2.0.1 gave; null for 1.6.';

COMMENT ON FUNCTION "api"."admit_charger"(jsonb, jsonb) IS 'A charger connects: {identity, password_hash} to {ok, charger_id, generation}. Its older connections may tell nothing from then on.';

COMMENT ON FUNCTION "api"."renew_ocpp_password"(jsonb, jsonb) IS 'POST /chargers/{id}/ocpp-credentials: {charger_id, password_hash} to {identity}. The old password ends at once. An open connection ends with the gateway''s next report.';

COMMENT ON FUNCTION "api"."see_chargers"(jsonb, jsonb) IS 'Chargers that were heard of in the last minute: {chargers: [{charger_id, generation}]} to {gone: [charger_id]}, whose connections are to be closed.';

COMMENT ON FUNCTION "api"."tell_ocpp"(jsonb, jsonb) IS 'What happened at a connected charger: {charger_id, generation, protocol, happened: [{kind: boot|start|values|stop|event, evidence?, …}]} (domain/charging_in/ocpp) to {ids}, the transaction ids of starts, null for others. Idempotent.';

COMMENT ON FUNCTION "private"."connected_charger"(uuid, bigint) IS 'The charger for which a connection of the gateway may speak; the transaction then acts for its owner. Refuses if it was removed or a newer connection is there. Definer, because the gateway knows no tenant.';

COMMENT ON FUNCTION "private"."give_up_charges"() IS 'Flags a running session as no_end once another has begun at its connector 48 hours ago. Its stop clears the flag if it comes after all. Definer, because it looks at every tenant.';

COMMENT ON FUNCTION "private"."note_seen"(uuid[], bigint[]) IS 'Notes when chargers were last heard of. Returns those that were removed, got a new password, or are connected elsewhere. Definer, because the gateway names chargers of any owner.';

COMMENT ON TABLE "core"."ocpp_links" IS 'The connection of a charger to the OCPP gateway. Kept as long as the charger; chargers.last_seen_at says when it was last heard of.';

COMMENT ON TABLE "core"."ocpp_transactions" IS 'What a charger told of one transaction by OCPP. Its charging session is computed from this row each time, so messages may come twice and in any order. Readings are in Wh. Kept as long as charging sessions.';

REVOKE ALL ON FUNCTION "api"."renew_ocpp_password"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."renew_ocpp_password"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."renew_ocpp_password"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."renew_ocpp_password"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."see_chargers"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."see_chargers"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."see_chargers"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."see_chargers"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."tell_ocpp"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."tell_ocpp"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."tell_ocpp"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."tell_ocpp"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "private"."boot_ocpp"(core.chargers, text, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."boot_ocpp"(core.chargers, text, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."boot_ocpp"(core.chargers, text, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."boot_ocpp"(core.chargers, text, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."connected_charger"(uuid, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."connected_charger"(uuid, bigint) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."connected_charger"(uuid, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."connected_charger"(uuid, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."event_ocpp"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."event_ocpp"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."event_ocpp"(core.chargers, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."event_ocpp"(core.chargers, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."give_up_charges"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."give_up_charges"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."give_up_charges"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."give_up_charges"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."keep_ocpp_words"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."keep_ocpp_words"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."keep_ocpp_words"(core.chargers, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."keep_ocpp_words"(core.chargers, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."merge_ocpp_readings"(core.ocpp_transactions, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."merge_ocpp_readings"(core.ocpp_transactions, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."merge_ocpp_readings"(core.ocpp_transactions, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."merge_ocpp_readings"(core.ocpp_transactions, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."note_seen"(uuid[], bigint[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."note_seen"(uuid[], bigint[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."note_seen"(uuid[], bigint[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."note_seen"(uuid[], bigint[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."ocpp_session"(core.ocpp_transactions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."ocpp_session"(core.ocpp_transactions) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."ocpp_session"(core.ocpp_transactions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."ocpp_session"(core.ocpp_transactions) TO "postgres";

REVOKE ALL ON FUNCTION "private"."open_ocpp_transaction"(core.chargers, integer, timestamp WITH time zone, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."open_ocpp_transaction"(core.chargers, integer, timestamp WITH time zone, bigint) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."open_ocpp_transaction"(core.chargers, integer, timestamp WITH time zone, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."open_ocpp_transaction"(core.chargers, integer, timestamp WITH time zone, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_ocpp_transaction"(core.chargers, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."start_ocpp"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."start_ocpp"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."start_ocpp"(core.chargers, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."start_ocpp"(core.chargers, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."stop_ocpp"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."stop_ocpp"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."stop_ocpp"(core.chargers, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."stop_ocpp"(core.chargers, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."store_ocpp_transaction"(core.ocpp_transactions) TO "postgres";

REVOKE ALL ON FUNCTION "private"."values_ocpp"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."values_ocpp"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."values_ocpp"(core.chargers, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."values_ocpp"(core.chargers, jsonb) TO "postgres";

GRANT INSERT, SELECT, UPDATE ON TABLE "core"."ocpp_links" TO "api_owner";

GRANT INSERT, SELECT, UPDATE ON TABLE "core"."ocpp_transactions" TO "api_owner";

ALTER TABLE "core"."ocpp_links"
  ADD CONSTRAINT "ocpp_links_charger_fkey" FOREIGN KEY (partner_id, charger_id, owner_id) REFERENCES core.chargers(partner_id, id, owner_id) ON DELETE CASCADE;

CREATE POLICY "an owner reaches only their own rows" ON "core"."ocpp_links"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

ALTER TABLE "core"."ocpp_transactions"
  ADD CONSTRAINT "ocpp_transactions_charger_fkey" FOREIGN KEY (partner_id, charger_id, owner_id) REFERENCES core.chargers(partner_id, id, owner_id) ON DELETE CASCADE;

CREATE POLICY "an owner reaches only their own rows" ON "core"."ocpp_transactions"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP VIEW "core"."deletions";

ALTER TABLE "core"."charging_sessions"
  DROP CONSTRAINT "charging_sessions_flags_known";

ALTER TABLE "core"."events"
  DROP CONSTRAINT "events_type_known";

DROP FUNCTION "private"."charging_session_flags"(timestamp WITH time zone, timestamp WITH time zone, bigint, numeric);

create table core.charger_names (
  partner_id uuid        not null,
  owner_id   uuid        not null default private.owner_id(),
  party      text        not null default '',
  kind       text        not null,
  value      text        not null,
  charger_id uuid        not null,
  evse_no    int,
  ended_at   timestamptz,
  constraint charger_names_pkey primary key (partner_id, owner_id, kind, value, party, charger_id),
  constraint charger_names_kind_known check (kind in ('external_ref', 'evse_uid', 'evse_id', 'meter_id')),
  constraint charger_names_value_length check (length(value) between 1 and 120),
  constraint charger_names_party_length check (length(party) <= 40),
  constraint charger_names_evse_no_range check (evse_no between 1 and 100)
);

ALTER TABLE "core"."charger_names"
  ENABLE ROW LEVEL SECURITY;

create table core.charging_changes (
  partner_id uuid        not null,
  owner_id   uuid        not null,
  arrival    bigint      not null generated always as identity,
  position   bigint,
  charger_id uuid        not null,
  session_id uuid        not null,
  at         timestamptz not null default private.now(),
  constraint charging_changes_pkey primary key (partner_id, owner_id, arrival)
);

ALTER TABLE "core"."charging_changes"
  ENABLE ROW LEVEL SECURITY;

create table core.charging_evidence (
  partner_id      uuid        not null,
  charger_id      uuid        not null,
  id              bigint      generated always as identity,
  session_id      uuid,
  owner_id        uuid        not null default private.owner_id(),
  source          text        not null,
  external_id     text        not null,
  client_id       uuid,
  upload_id       uuid,
  request_id      text,
  document        jsonb       not null,
  document_sha256 bytea       not null,
  sent_sha256     bytea,
  signed          text[]      not null default '{}',
  signature       text,
  meter_id        text,
  meter_start_wh  bigint,
  meter_end_wh    bigint,
  end_from        text,
  received_at     timestamptz not null default private.now(),
  constraint charging_evidence_pkey primary key (partner_id, charger_id, id),
  constraint charging_evidence_signature_known check (signature in ('unchecked', 'verified', 'failed', 'unreadable')),
  constraint charging_evidence_signature_whole check ((signature is null) = (signed = '{}'))
);

ALTER TABLE "core"."charging_evidence"
  ENABLE ROW LEVEL SECURITY;

create table core.charging_heads (
  partner_id uuid   not null,
  owner_id   uuid   not null,
  position   bigint not null default 0,
  swept      bigint not null default 0,
  constraint charging_heads_pkey primary key (partner_id, owner_id)
);

ALTER TABLE "core"."charging_heads"
  ENABLE ROW LEVEL SECURITY;

create table core.parked_charging (
  partner_id  uuid        not null,
  id          uuid        not null default gen_random_uuid(),
  owner_id    uuid        not null default private.owner_id(),
  source      text        not null,
  told_as     text        not null,
  external_id text,
  party       text        not null default '',
  names       text[]      not null,
  item        jsonb       not null,
  reason      text        not null,
  received_at timestamptz not null default private.now(),
  judge_at    timestamptz,
  constraint parked_charging_pkey primary key (partner_id, id),
  constraint parked_charging_told_key unique (partner_id, owner_id, told_as, source),
  constraint parked_charging_reason_known check (reason in ('unknown_charger', 'ambiguous_charger', 'charger_removed', 'no_times'))
);

ALTER TABLE "core"."parked_charging"
  ENABLE ROW LEVEL SECURITY;

create table core.uploads (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  owner_id   uuid        not null default private.owner_id(),
  user_id    uuid,
  file_name  text,
  sha256     bytea       not null,
  decimal    text,
  kind       text        not null,
  rows       int         not null,
  counts     jsonb       not null,
  results    jsonb       not null,
  created_at timestamptz not null default private.now(),
  constraint uploads_pkey primary key (partner_id, id),
  constraint uploads_kind_known check (kind in ('months', 'sessions')),
  constraint uploads_file_name_length check (length(file_name) <= 200)
);

ALTER TABLE "core"."uploads"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "core"."charging_sessions"
  ADD COLUMN "meter_id" text;

ALTER TABLE "core"."charging_sessions"
  ADD COLUMN "meter_start_wh" bigint;

ALTER TABLE "core"."charging_sessions"
  ADD COLUMN "meter_end_wh" bigint;

CREATE TYPE "private"."found_charger" AS (
  "place"      integer,
  "charger_id" uuid,
  "evse_no"    integer,
  "reason"     text
);

CREATE TYPE "private"."named_charger" AS (
  "place"         integer,
  "party"         text,
  "started_at"    timestamp WITH time zone,
  "charger_id"    uuid,
  "external_ref"  text,
  "serial_number" text,
  "evse_uid"      text,
  "evse_id"       text,
  "meter_id"      text
);

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "meter_id" text CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "meter_start_wh" bigint CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "meter_end_wh" bigint CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "power_type" text CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "told_flags" text[] CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "end_from" text CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "document" jsonb CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "sent_sha256" bytea CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "signed" text[] CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "client_id" uuid CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "upload_id" uuid CASCADE;

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "request_id" text CASCADE;

CREATE OR REPLACE FUNCTION api.list_own_charging_sessions (
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
  page_limit  constant int         := (query ->> 'limit')::int;
  page_offset constant bigint      := (query ->> 'offset')::bigint;
  charger     constant uuid        := (query ->> 'charger_id')::uuid;
  since       constant timestamptz := coalesce(private.as_border(query ->> 'from'), '-infinity');
  until       constant timestamptz := coalesce(private.as_border(query ->> 'to'), 'infinity');
begin
  perform private.act_as(caller, 'user');
  return (
    with page as materialized (
      select s.* from core.charging_sessions s
       where s.owner_id = private.user_id() and not 'withdrawn' = any (s.flags) and (charger is null or s.charger_id = charger)
         and s.started_at >= since and s.started_at < until
       order by s.started_at desc, s.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by started_at desc, id desc limit page_limit
    )
    select json_build_object(
      'sessions', coalesce(json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc), '[]'),
      'limit', page_limit,
      'offset', page_offset,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown s);
end $function$;

CREATE OR REPLACE FUNCTION api.reset_sandbox (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- an import that runs is either before this or after it, whole
  perform private.lock_imports(private.partner_id());
  select * into erased from private.erase_customers(private.partner_id(), null, input ->> 'key');
  perform private.erase_books(private.partner_id());
  delete from core.charger_names n where n.partner_id = private.partner_id();
  delete from core.parked_charging p where p.partner_id = private.partner_id();
  delete from core.uploads u where u.partner_id = private.partner_id();
  perform private.audit('sandbox.reset', private.partner_id(), jsonb_build_object('customers', erased.customers, 'drafts', erased.drafts));
  return json_build_object('ok', true, 'customers_deleted', erased.customers, 'drafts_deleted', erased.drafts);
end $function$;

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

CREATE OR REPLACE FUNCTION ops.connection_archive (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection core.connections;
begin
  perform private.act_as_operator(input);
  connection := private.connection_named(input ->> 'connection');
  if connection.status = 'archived' then
    return private.connection_answer(connection, false);
  end if;
  if private.has_signed_mandate(connection) then
    perform private.end_mandate(connection.id, 'revoked', 'connection_archived');
  end if;
  perform private.void_mandate_links(connection.id);
  -- otherwise a charger could not be registered again on another connection
  update core.chargers h set status = 'removed', removed_at = private.now()
   where h.partner_id = connection.partner_id and h.connection_id = connection.id and h.status = 'active';
  perform private.drop_charger_names(array(
    select h.id from core.chargers h where h.partner_id = connection.partner_id and h.connection_id = connection.id));
  update core.connections c set status = 'archived'
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.archived', connection.id);
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION private.charger_name_value (
  kind  text,
  value text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select left(upper(case kind when 'evse_id' then regexp_replace(value, '[*[:space:]-]', '', 'g') else btrim(value) end), 120) $function$;

CREATE OR REPLACE FUNCTION private.charging_session_flags (
  item     private.charging_session_item,
  power_kw numeric
)
  RETURNS text[]
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select array_remove(array[
    case when item.wh < 0 then 'negative' end,
    case when item.ended_at < item.started_at then 'ends_before_start' end,
    -- five minutes, because clocks differ; a charger that lost the time starts again in 1970 or 2000
    case when greatest(item.started_at, item.ended_at) > private.now() + interval '5 minutes' or item.started_at < '2010-01-01Z' then 'wrong_clock' end,
    case when item.ended_at - item.started_at > interval '31 days' then 'too_long' end,
    -- A tenth for the meter's and the grid's tolerance, a minute for the clock's. 50 kW is the most an AC charger of ours may have, 400 kW a
    -- fast one.
    case when item.wh > coalesce(power_kw, case item.power_type when 'DC' then 400 else 50 end) * 1000 * 1.1
                        * (extract(epoch from greatest(coalesce(item.ended_at, private.now()) - item.started_at, interval '0')) + 60) / 3600
         then 'beyond_power' end,
    case when 'no_end' = any (item.told_flags) then 'no_end' end,
    case when 'meter_disagrees' = any (item.told_flags)
           or abs(item.meter_end_wh - item.meter_start_wh - item.wh) > greatest(100, 0.01 * item.wh) then 'meter_disagrees' end,
    case when 'abroad' = any (item.told_flags) then 'abroad' end
  ], null)
$function$;

CREATE OR REPLACE FUNCTION private.deliver_named_sessions (
  owner    uuid,
  sessions jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  wanted  private.named_charger[];
  found   private.found_charger[];
  ready   jsonb;
  waiting core.parked_charging[];
  results jsonb;
begin
  wanted := array(
    select row(i.place, i.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id)::private.named_charger
      from jsonb_to_recordset(sessions) as i (place int, party text, started_at timestamptz, charger_id uuid, external_ref text, serial_number text,
                                              evse_uid text, evse_id text, meter_id text));
  found := array(select f from private.find_chargers(owner, wanted) f);
  select coalesce(jsonb_agg(s.item || jsonb_build_object(
           'charger_id', f.charger_id, 'connector', c.evse_no,
           'external_id', coalesce(s.item ->> 'external_id', c.evse_no || '@' || (s.item ->> 'started_at')))), '[]') into ready
    from jsonb_array_elements(sessions) s (item)
    join unnest(found) f on f.place = (s.item ->> 'place')::int
   cross join lateral (select coalesce(f.evse_no, (s.item ->> 'evse_no')::int, 1) as evse_no) c
   where f.charger_id is not null;
  results := private.ingest_charging_sessions(ready);

  -- two that are told alike are one: the later word counts
  waiting := array(
    select distinct on (p.source, p.told_as)
           row(null, null, owner, p.source, p.told_as, p.external_id, p.party, p.names, p.item, p.reason, null, null)::core.parked_charging
      from (select w.place, s.item ->> 'source' as source, s.item ->> 'external_id' as external_id, coalesce(w.party, '') as party, n.names, f.reason,
                   coalesce(s.item ->> 'external_id', concat_ws(' ', array_to_string(n.names, ' '), s.item ->> 'evse_no', s.item ->> 'started_at')) as told_as,
                   (s.item - 'place') || jsonb_strip_nulls(jsonb_build_object('client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))) as item
              from unnest(found) f
              join unnest(wanted) w on w.place = f.place
              join jsonb_array_elements(sessions) s (item) on (s.item ->> 'place')::int = f.place
             cross join lateral (select array_agg(n.kind || ':' || n.value order by n.rank) as names from private.names_told(w) n) n
             where f.reason in ('unknown_charger', 'charger_removed') and n.names is distinct from array['charger_id:' || upper(w.charger_id::text)]) p
     order by p.source, p.told_as, p.place desc);
  perform private.park_charging(owner, waiting);
  -- what was parked under the same id is not any more
  delete from core.parked_charging p
   using jsonb_array_elements(ready) r (item)
   where p.partner_id = private.partner_id() and p.owner_id = owner and p.source = r.item ->> 'source' and p.told_as = r.item ->> 'external_id';
  return results || coalesce((
    select jsonb_agg(case when f.reason = 'ambiguous_charger' then jsonb_build_object('place', f.place, 'status', 'rejected', 'reason', 'ambiguous_charger')
                          when w.external_ref is null and w.serial_number is null and w.evse_uid is null and w.evse_id is null and w.meter_id is null
                          then jsonb_build_object('place', f.place, 'status', 'rejected', 'reason', f.reason)
                          else jsonb_build_object('place', f.place, 'status', 'parked', 'reason', f.reason) end)
      from unnest(found) f join unnest(wanted) w on w.place = f.place where f.reason is not null), '[]');
end $function$;

CREATE OR REPLACE FUNCTION private.drop_charger_names (
  chargers uuid[]
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  update core.charger_names n set ended_at = private.now()
   where n.partner_id = private.partner_id() and n.charger_id = any (chargers) and n.ended_at is null
$function$;

CREATE OR REPLACE FUNCTION private.due_parked (
  size integer
)
  RETURNS SETOF core.parked_charging
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return query select * from core.parked_charging p where p.judge_at <= private.now() order by p.judge_at limit size;
end $function$;

CREATE OR REPLACE FUNCTION private.erase_accounts (
  accounts    uuid[],
  chargers    uuid[],
  connections uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  house     constant uuid := private.house();
  locations constant uuid[] := array(
    select distinct c.location_id from core.connections c where c.partner_id = house and c.id = any (connections));
begin
  perform private.erase_bookings(house, accounts);
  delete from core.replaced_charging_sessions r where r.partner_id = house and r.charger_id = any (chargers);
  delete from core.charger_months m where m.partner_id = house and m.charger_id = any (chargers);
  delete from core.charging_evidence e where e.partner_id = house and e.charger_id = any (chargers);
  delete from core.charging_sessions s where s.partner_id = house and s.charger_id = any (chargers);
  delete from core.virtual_chargers v where v.partner_id = house and v.charger_id = any (chargers);
  delete from core.delivered_months d where d.partner_id = house and d.connection_id = any (connections);
  delete from core.notices n where n.partner_id = house and n.account_id = any (accounts);
  delete from core.documents d where d.partner_id = house and d.account_id = any (accounts);
  delete from core.mandates m where m.partner_id = house and m.connection_id = any (connections);
  delete from core.mandate_links l where l.partner_id = house and l.connection_id = any (connections);
  delete from core.ean_checks e where e.partner_id = house and e.connection_id = any (connections);
  delete from core.chargers h where h.partner_id = house and h.id = any (chargers);
  delete from core.connections c where c.partner_id = house and c.id = any (connections);
  delete from core.locations l
   where l.partner_id = house and l.id = any (locations)
     and not exists (select from core.connections c where c.partner_id = house and c.location_id = l.id);
  delete from core.signatories s where s.partner_id = house and s.account_id = any (accounts);
  delete from core.accounts a where a.partner_id = house and a.id = any (accounts);
end $function$;

CREATE OR REPLACE FUNCTION private.find_chargers (
  owner  uuid,
  wanted private.named_charger[]
)
  RETURNS SETOF private.found_charger
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
  return query
  with told as materialized (
    select w.place, coalesce(w.party, '') as party, w.started_at, n.rank, n.kind, n.value
      from unnest(wanted) w cross join lateral private.names_told(w) n
  ), named as materialized (
    select distinct t.kind, t.value from told t
  ), meant as materialized (
    select n.kind, n.value, c.party, c.charger_id, c.evse_no, c.ended_at
      from named n
      join core.charger_names c on c.partner_id = private.partner_id() and c.owner_id = owner and c.kind = n.kind and c.value = n.value
    union all
    select n.kind, n.value, '', h.id, null, h.removed_at
      from named n join core.chargers h on h.partner_id = private.partner_id() and h.serial_number = n.value and h.owner_id = owner
     where n.kind = 'serial_number' and h.user_id is null
    union all
    select n.kind, n.value, '', h.id, null, h.removed_at
      from named n join core.chargers h on h.partner_id = private.partner_id() and h.id = lower(n.value)::uuid and h.owner_id = owner
     where n.kind = 'charger_id' and h.user_id is null
  ), hit as (
    select t.place, t.rank, m.charger_id, m.evse_no, m.stood,
           -- a name of the party before one for all; of those who had the name then, the first to lose it
           rank() over (partition by t.place, t.rank order by m.stood desc, m.party desc, coalesce(m.ended_at, 'infinity')) as nearness
      from told t
     cross join lateral (
       select m.*, m.ended_at is null or t.started_at < m.ended_at as stood
         from meant m where m.kind = t.kind and m.value = t.value and m.party in (t.party, '')) m
  ), verdict as (
    select h.place, array_agg(distinct h.charger_id) filter (where h.stood) as chargers,
           (array_agg(h.evse_no order by h.rank) filter (where h.stood and h.evse_no is not null))[1] as evse_no
      from hit h where h.nearness = 1 group by h.place
  )
  select w.place, case when cardinality(v.chargers) = 1 then v.chargers[1] end, v.evse_no,
         case when v.place is null then 'unknown_charger'
              when v.chargers is null then 'charger_removed'
              when cardinality(v.chargers) > 1 then 'ambiguous_charger' end
    from unnest(wanted) w left join verdict v on v.place = w.place;
end $function$;

CREATE OR REPLACE FUNCTION private.forget_accounts (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone        core.accounts[];
  connections core.connections[];
begin
  -- a customer of whom nothing is left that has to be kept, and to whom nothing is owed
  gone := array(
    select a from core.accounts a
     where a.created_at < private.dutch_midnight(border)
       and not exists (select from core.payout_lines l where l.partner_id = a.partner_id and l.account_id = a.id)
       and not exists (select from core.payout_parts p where p.partner_id = a.partner_id and p.account_id = a.id)
       and not exists (select from core.booking_rows r where r.partner_id = a.partner_id and r.account_id = a.id)
       and not exists (
         select from core.connections c
          where c.partner_id = a.partner_id and c.account_id = a.id
            and (exists (select from core.mandates m where m.partner_id = c.partner_id and m.connection_id = c.id)
                 or exists (select from core.delivered_months d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.deliveries d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.charging_sessions s where s.partner_id = c.partner_id and s.connection_id = c.id)))
       and not exists (
         select from core.chargers h
          where h.partner_id = a.partner_id and h.account_id = a.id
            and (exists (select from core.charging_sessions s where s.partner_id = h.partner_id and s.charger_id = h.id)
                 or exists (select from core.charging_evidence e where e.partner_id = h.partner_id and e.charger_id = h.id)))
       and private.balance(a.partner_id, 'EUR', 'customer', a.id) = 0
     order by a.partner_id, a.id limit size for update of a);
  connections := array(select c from core.connections c join unnest(gone) a on c.partner_id = a.partner_id and c.account_id = a.id);
  delete from core.notices n using unnest(gone) a where n.partner_id = a.partner_id and n.account_id = a.id;
  delete from core.documents d using unnest(gone) a where d.partner_id = a.partner_id and d.account_id = a.id;
  delete from core.virtual_chargers v using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where v.partner_id = h.partner_id and v.charger_id = h.id;
  delete from core.charger_months m using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where m.partner_id = h.partner_id and m.charger_id = h.id;
  delete from core.charger_names n using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where n.partner_id = h.partner_id and n.charger_id = h.id;
  delete from core.chargers h using unnest(gone) a where h.partner_id = a.partner_id and h.account_id = a.id;
  delete from core.ean_checks e using unnest(connections) c where e.partner_id = c.partner_id and e.connection_id = c.id;
  delete from core.mandate_links l using unnest(connections) c where l.partner_id = c.partner_id and l.connection_id = c.id;
  delete from core.connections d using unnest(connections) c where d.partner_id = c.partner_id and d.id = c.id;
  delete from core.locations l using unnest(connections) c
   where l.partner_id = c.partner_id and l.id = c.location_id
     and not exists (select from core.connections o where o.partner_id = l.partner_id and o.location_id = l.id);
  delete from core.drafts d using unnest(gone) a where d.account_id = a.id;
  delete from core.signatories s using unnest(gone) a where s.partner_id = a.partner_id and s.account_id = a.id;
  delete from core.accounts d using unnest(gone) a where d.partner_id = a.partner_id and d.id = a.id;
  return cardinality(gone);
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
  -- words that belong to no session
  delete from core.charging_evidence e where e.session_id is null and e.received_at < private.dutch_midnight(border);
  delete from core.charging_sessions d using unnest(gone) s where d.partner_id = s.partner_id and d.charger_id = s.charger_id and d.id = s.id;
  get diagnostics deleted = row_count;
  delete from core.charger_months m
   where m.month < border and not exists (
     select from core.charging_sessions s where s.partner_id = m.partner_id and s.charger_id = m.charger_id and s.month = m.month);
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.free_parked (
  owner uuid,
  names text[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  chosen uuid[];
begin
  chosen := private.parked_by_name(owner, names, 1001);
  if cardinality(chosen) > 1000 then
    update core.parked_charging p set judge_at = private.now()
     where p.partner_id = private.partner_id() and p.id = any (private.parked_by_name(owner, names, 200000));
  end if;
  return private.judge_parked(owner, chosen[:1000]);
end $function$;

CREATE OR REPLACE FUNCTION private.judge_charging_sessions (
  changes private.charging_session_change[]
)
  RETURNS private.touched_month[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  candidates core.charging_sessions[];
  touched    private.touched_month[];
begin
  candidates := array(
    select distinct on ((k.session).id) k.session
      from (select c.after as session from unnest(changes) c
            union all
            -- a session that was corrected may no longer overlap later ones, or overlap others than before
            select other.session
              from unnest(changes) c
              cross join lateral (values ((c.before).started_at, (c.before).ended_at), ((c.after).started_at, (c.after).ended_at)) span (started_at, ended_at)
              cross join lateral (
                select s as session from core.charging_sessions s
                 where s.partner_id = private.partner_id() and s.charger_id = (c.after).charger_id
                   and s.started_at < span.ended_at + interval '5 minutes' and s.ended_at > span.started_at - interval '5 minutes'
                   and s.started_at > span.started_at - interval '31 days'
                offset 0) other  -- one index lookup per span, instead of a join of all sessions with all
             where (c.before).id is not null) k);
  with looked_at as (
    select s.id, s.charger_id, s.connection_id, s.month, s.counted, s.flags, (c.after).id is not null as changed, (c.before).month as old_month,
           private.own_flags(s.flags) || coalesce(o.flags, '{}') as judged,
           -- what came after the lock, and was withdrawn since, was never booked
           not 'withdrawn' = any (s.flags) or exists (
             select from core.replaced_charging_sessions r
              where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and not 'after_lock' = any (r.flags)) as booked,
           s.ended_at is not null and h.mid_eligible is true and exists (
             select from core.delivered_months d
              where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                and (d.period = s.month or d.period = (c.before).month and (c.before).ended_at is not null)) as locked
      from unnest(candidates) s
      join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
      left join unnest(changes) c on (c.after).id = s.id
      left join lateral (
        select case when bool_or(e.same) then '{duplicate}'::text[] when count(*) > 0 then '{overlapping}' else '{}' end as flags
          from core.charging_sessions o
         cross join lateral (
           select abs(extract(epoch from o.started_at - s.started_at)) <= 300 and abs(extract(epoch from o.ended_at - s.ended_at)) <= 300
                  and abs(o.wh - s.wh) <= greatest(100, 0.01 * greatest(o.wh, s.wh)) as same) e
         where s.ended_at is not null
           and o.partner_id = s.partner_id and o.charger_id = s.charger_id and o.connector = s.connector
           and o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,after_lock}'
           and o.started_at <= s.ended_at + interval '5 minutes' and o.ended_at >= s.started_at - interval '5 minutes'
           and o.started_at > s.started_at - interval '31 days'
           and (e.same or o.started_at < s.ended_at and o.ended_at > s.started_at)) o on true
  ), verdict as materialized (
    select l.*, l.judged || case when l.booked and ('after_lock' = any (l.flags) or l.locked and (l.changed or not l.counted and l.judged = '{}'))
                                 then '{after_lock}'::text[] else '{}' end as new_flags
      from looked_at l
  ), flagged as (
    update core.charging_sessions s set flags = v.new_flags
      from verdict v
     where v.flags <> v.new_flags and s.partner_id = private.partner_id() and s.charger_id = v.charger_id and s.id = v.id
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, v.id
      from verdict v join core.chargers h on h.partner_id = private.partner_id() and h.id = v.charger_id and h.user_id is null
     where v.changed or v.flags <> v.new_flags
     order by v.id
  )
  select array_agg(row(m.charger_id, m.connection_id, m.month)::private.touched_month) into touched
    from (select charger_id, connection_id, month from verdict
          union select charger_id, connection_id, old_month from verdict where old_month is not null) m;
  return touched;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_due_parked()
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  due    record;
  stored bigint := 0;
begin
  for due in
    select d.partner_id, d.owner_id, array_agg(d.id) as chosen from private.due_parked(1000) d group by d.partner_id, d.owner_id order by 1, 2
  loop
    perform private.act_for_tenant(due.partner_id);
    stored := stored + private.judge_parked(due.owner_id, due.chosen);
  end loop;
  perform private.act_for_partner(null);
  return stored;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_parked (
  owner  uuid,
  chosen uuid[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  parked core.parked_charging[];
  found  private.found_charger[];
  ready  jsonb;
  gone   int[];
begin
  parked := array(
    select p from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner and p.id = any (chosen)
     order by p.id for update skip locked);
  found := array(
    select f from private.find_chargers(owner, array(
      select row(p.place, p.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id)::private.named_charger
        from (select g.place, (parked[g.place]).* from generate_subscripts(parked, 1) g (place)) p
       cross join lateral jsonb_to_record(p.item) as i (started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text,
                                                        evse_id text, meter_id text))) f);
  select coalesce(jsonb_agg(p.item || jsonb_build_object(
           'place', f.place, 'charger_id', f.charger_id, 'connector', c.evse_no,
           'external_id', coalesce(p.external_id, c.evse_no || '@' || (p.item ->> 'started_at')))), '[]') into ready
    from unnest(found) f
   cross join lateral (select (parked[f.place]).*) p
   cross join lateral (select coalesce(f.evse_no, (p.item ->> 'evse_no')::int, 1) as evse_no) c
   where f.charger_id is not null;
  gone := array(select (r ->> 'place')::int from jsonb_array_elements(private.ingest_charging_sessions(ready)) r where r ->> 'status' <> 'rejected');
  delete from core.parked_charging p where p.partner_id = private.partner_id() and p.id = any (array(select (parked[g]).id from unnest(gone) g));
  update core.parked_charging p set judge_at = null, reason = coalesce(f.reason, p.reason)
    from unnest(found) f
   where p.partner_id = private.partner_id() and p.id = (parked[f.place]).id and f.place <> all (gone);
  return cardinality(gone);
end $function$;

CREATE OR REPLACE FUNCTION private.lasting_flags (
  session core.charging_sessions
)
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select case when 'withdrawn' = any (session.flags) and session.source not in ('api', 'file') then '{withdrawn}'::text[] else '{}' end $function$;

CREATE OR REPLACE FUNCTION private.name_charger (
  charger core.chargers,
  input   jsonb
)
  RETURNS text[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  given core.charger_names[];
  taken text;
begin
  given := array(
    select distinct on (n.kind, n.value, n.party)
           row(charger.partner_id, charger.owner_id, n.party, n.kind, private.charger_name_value(n.kind, n.value), charger.id, n.evse_no, null)::core.charger_names
      from (select '' as party, 'external_ref' as kind, input ->> 'external_ref' as value, null::int as evse_no
            union all
            select coalesce(upper(e.evse ->> 'party'), ''), k.kind, e.evse ->> k.kind, e.place::int
              from jsonb_array_elements(coalesce(nullif(input -> 'evses', 'null'), '[]')) with ordinality e (evse, place)
             cross join (values ('evse_uid'), ('evse_id'), ('meter_id')) k (kind)) n
     where n.value is not null and private.charger_name_value(n.kind, n.value) <> ''
     order by n.kind, n.value, n.party, n.evse_no);
  -- what is given replaces what was there; what is left out stays
  delete from core.charger_names n
   where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.ended_at is null
     and (n.kind = 'external_ref' and input ? 'external_ref' or n.kind <> 'external_ref' and jsonb_typeof(input -> 'evses') = 'array');
  insert into core.charger_names (partner_id, owner_id, party, kind, value, charger_id, evse_no)
  select g.partner_id, g.owner_id, g.party, g.kind, g.value, g.charger_id, g.evse_no from unnest(given) g
   order by g.kind, g.value, g.party
  on conflict do nothing;
  select g.kind into taken from unnest(given) g
   where not exists (
     select from core.charger_names n
      where n.partner_id = g.partner_id and n.owner_id = g.owner_id and n.kind = g.kind and n.value = g.value and n.party = g.party
        and n.charger_id = charger.id and n.ended_at is null)
   order by g.kind limit 1;
  if taken is not null then
    perform private.refuse('name_taken', json_build_object('kind', taken));
  end if;
  return array(select g.kind || ':' || g.value from unnest(given) g
               union select 'serial_number:' || charger.serial_number where charger.serial_number is not null);
end $function$;

CREATE OR REPLACE FUNCTION private.names_parked (
  owner uuid,
  told  text[]
)
  RETURNS text[]
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return array(
    select t from unnest(told) t
     where exists (select from core.parked_charging p where p.names @> array[t] and p.partner_id = private.partner_id() and p.owner_id = owner));
end $function$;

CREATE OR REPLACE FUNCTION private.names_told (
  wanted private.named_charger
)
  RETURNS TABLE (
    rank  integer,
    kind  text,
    value text
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select n.rank, n.kind, private.charger_name_value(n.kind, n.value)
    from (values (0, 'charger_id', wanted.charger_id::text), (1, 'external_ref', wanted.external_ref), (2, 'serial_number', wanted.serial_number),
                 (3, 'evse_uid', wanted.evse_uid), (4, 'evse_id', wanted.evse_id), (5, 'meter_id', wanted.meter_id)) n (rank, kind, value)
   where n.value is not null
$function$;

CREATE OR REPLACE FUNCTION private.own_flags (
  flags text[]
)
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select array_remove(array_remove(array_remove(flags, 'overlapping'), 'duplicate'), 'after_lock') $function$;

CREATE OR REPLACE FUNCTION private.park_charging (
  owner  uuid,
  parked core.parked_charging[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  told text[] := array(select distinct n from unnest(parked) p cross join lateral unnest(p.names) n);
  news text[];
begin
  if cardinality(parked) = 0 then
    return;
  elsif (select count(*) from (
           select from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner limit 200000) p) + cardinality(parked) > 200000 then
    perform private.refuse('parked_limit');
  end if;
  news := array(select n from unnest(told) n except select unnest(private.names_parked(owner, told)) order by 1);
  insert into core.parked_charging as p (partner_id, owner_id, source, told_as, external_id, party, names, item, reason, judge_at)
  -- looked at once more by the worker: a name may be given at this very moment
  select private.partner_id(), owner, n.source, n.told_as, n.external_id, n.party, n.names, n.item, n.reason, private.now() + interval '1 minute'
    from unnest(parked) n order by n.told_as, n.source
  on conflict on constraint parked_charging_told_key do update
     set names = excluded.names, item = excluded.item, reason = excluded.reason, received_at = excluded.received_at, judge_at = excluded.judge_at
   where (p.names, p.item, p.reason) is distinct from (excluded.names, excluded.item, excluded.reason);
  if news <> '{}' then
    perform private.tell(private.partner_id(), owner, 'charging.parked', null, jsonb_build_object(
      'names', (select jsonb_agg(jsonb_build_object('kind', split_part(n, ':', 1), 'value', substr(n, strpos(n, ':') + 1))) from unnest(news[:20]) n),
      'name_count', cardinality(news)));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.parked_by_name (
  owner uuid,
  told  text[],
  size  integer
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return array(
    select p.id from core.parked_charging p
     where p.names && told and p.partner_id = private.partner_id() and p.owner_id = owner
     order by p.received_at, p.id limit size);
end $function$;

CREATE OR REPLACE FUNCTION private.read_charging_sessions (
  sessions jsonb
)
  RETURNS SETOF private.charging_session_item
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with sent as (
    select i.item,
           coalesce((i.item ->> 'place')::int, i.ordinality::int) as place,
           private.as_uuid(i.item ->> 'charger_id') as charger_id,
           case when length(i.item ->> 'source') between 1 and 40 then i.item ->> 'source' end as source,
           case when length(i.item ->> 'external_id') between 1 and 120 then i.item ->> 'external_id' end as external_id,
           case when i.item ->> 'connector' is null then 1
                when private.as_count(i.item -> 'connector') between 1 and 100 then (i.item ->> 'connector')::numeric::int end as connector,
           private.as_moment(i.item ->> 'started_at') as started_at,
           private.as_moment(i.item ->> 'ended_at') as ended_at,
           private.as_count(i.item -> 'wh') as wh,
           case when i.item ->> 'ended_at' is not null then 'completed' else coalesce(i.item ->> 'status', 'charging') end as status,
           private.as_count(i.item -> 'meter_wh') as meter_wh,
           left(i.item ->> 'meter_id', 120) as meter_id,
           private.as_count(i.item -> 'meter_start_wh') as meter_start_wh,
           private.as_count(i.item -> 'meter_end_wh') as meter_end_wh,
           i.item ->> 'power_type' as power_type,
           case when i.item ? 'flags' then array(
             select f from jsonb_array_elements_text(i.item -> 'flags') f where f in ('no_end', 'meter_disagrees', 'abroad')) else '{}' end as told_flags,
           i.item ->> 'end_from' as end_from,
           nullif(i.item -> 'document', 'null') as document,
           decode(i.item ->> 'sent_sha256', 'hex') as sent_sha256,
           case when i.item ? 'signed' then array(select jsonb_array_elements_text(i.item -> 'signed')) else '{}' end as signed,
           coalesce((i.item ->> 'client_id')::uuid, private.client_id()) as client_id,
           (i.item ->> 'upload_id')::uuid as upload_id,
           coalesce(i.item ->> 'request_id', nullif(current_setting('app.request_id', true), '')) as request_id
      from jsonb_array_elements(sessions) with ordinality as i (item, ordinality)
  )
  select place, charger_id, source, external_id, connector, started_at, ended_at, wh, status, meter_wh,
         case when charger_id is null then 'bad_charger_id'
              when source is null then 'bad_source'
              when external_id is null then 'bad_external_id'
              when connector is null then 'bad_connector'
              when started_at is null then 'bad_started_at'
              when item ->> 'ended_at' is not null and ended_at is null then 'bad_ended_at'
              when wh is null then 'bad_wh'
              when status not in ('active', 'charging') and ended_at is null then 'bad_status' end,
         meter_id, meter_start_wh, meter_end_wh, power_type, told_flags, end_from, document, sent_sha256, signed, client_id, upload_id, request_id
    from sent
$function$;

CREATE OR REPLACE FUNCTION private.release_charging_sessions (
  connections uuid[],
  months      date[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  touched_connections uuid[];
  touched_months      date[];
begin
  with opened as (
    select * from unnest(connections, months) as o (connection_id, month)
  ), released as (
    update core.charging_sessions s set flags = array_remove(s.flags, 'after_lock')
      from opened o
     where s.partner_id = private.partner_id() and s.connection_id = o.connection_id and 'after_lock' = any (s.flags)
       and (s.month = o.month or exists (
              select from core.replaced_charging_sessions r where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and r.month = o.month))
       -- one that moved between months waits until both are open: where the other is booked, it is booked with it
       and not exists (
              select from core.delivered_months d
               where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                 and (d.period = s.month or exists (
                        select from core.replaced_charging_sessions r
                         where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and r.month = d.period)))
    returning s.charger_id, s.id, s.connection_id, s.month
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, r.id
      from released r join core.chargers h on h.partner_id = private.partner_id() and h.id = r.charger_id and h.user_id is null)
  select array_agg(t.connection_id), array_agg(t.month) into touched_connections, touched_months
    from (select r.connection_id, r.month from released r union select * from opened) t;
  perform private.deliver_charging_sessions(touched_connections, touched_months);
end $function$;

CREATE OR REPLACE FUNCTION private.retention_kinds()
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select '{drafts,invoices,bookings,payouts,months,sessions,deliveries,ean_checks,uploads,mandates,accounts,audit_log,ledger}'::text[] $function$;

CREATE OR REPLACE FUNCTION private.sequence_charging (
  partner uuid,
  owner   uuid
)
  RETURNS core.charging_heads
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  head core.charging_heads;
begin
  if exists (select from core.charging_changes c where c.partner_id = partner and c.owner_id = owner and c.position is null) then
    insert into core.charging_heads (partner_id, owner_id) values (partner, owner) on conflict on constraint charging_heads_pkey do nothing;
    select * into head from core.charging_heads h where h.partner_id = partner and h.owner_id = owner for update;
    with numbered as (
      update core.charging_changes c set position = head.position + n.place
        from (select u.ctid, row_number() over (order by u.arrival) as place
                from core.charging_changes u where u.partner_id = partner and u.owner_id = owner and u.position is null
               order by u.arrival limit private.events_at_once()) n
       where c.ctid = n.ctid
      returning 1)
    update core.charging_heads h set position = h.position + (select count(*) from numbered) where h.partner_id = partner and h.owner_id = owner;
  end if;
  select * into head from core.charging_heads h where h.partner_id = partner and h.owner_id = owner;
  return case when head.partner_id is null then row(partner, owner, 0, 0)::core.charging_heads else head end;
end $function$;

CREATE OR REPLACE FUNCTION private.store_charging_sessions (
  items private.charging_session_item[]
)
  RETURNS private.charging_session_change[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  old    core.charging_sessions[];
  stored core.charging_sessions[];
begin
  old := array(
    select s from unnest(items) i
      join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = i.charger_id and s.source = i.source and s.external_id = i.external_id);
  with written as (
    insert into core.charging_sessions as s
      (partner_id, charger_id, connection_id, owner_id, source, external_id, connector, started_at, ended_at, wh, status, flags, received_at,
       meter_id, meter_start_wh, meter_end_wh)
    select h.partner_id, h.id, h.connection_id, h.owner_id, i.source, i.external_id, i.connector, i.started_at, i.ended_at, i.wh, i.status,
           private.charging_session_flags(i, h.power_kw), private.now(), i.meter_id, i.meter_start_wh, i.meter_end_wh
      from unnest(items) i
      join core.chargers h on h.partner_id = private.partner_id() and h.id = i.charger_id
     order by i.started_at, i.source, i.external_id
    on conflict on constraint charging_sessions_external_id_key do update
       set connector = excluded.connector, started_at = excluded.started_at, ended_at = excluded.ended_at, wh = excluded.wh,
           status = excluded.status, received_at = excluded.received_at, meter_id = excluded.meter_id,
           meter_start_wh = excluded.meter_start_wh, meter_end_wh = excluded.meter_end_wh,
           connection_id = coalesce(s.connection_id, excluded.connection_id),
           flags = excluded.flags || private.lasting_flags(s) || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end
     -- late news of a charge that has ended since does not open it again
     where (s.ended_at is null or excluded.ended_at is not null)
       and (s.connector, s.started_at, s.ended_at, s.wh, s.status, s.meter_id, s.meter_start_wh, s.meter_end_wh, private.own_flags(s.flags))
           is distinct from (excluded.connector, excluded.started_at, excluded.ended_at, excluded.wh, excluded.status, excluded.meter_id,
                             excluded.meter_start_wh, excluded.meter_end_wh, excluded.flags || private.lasting_flags(s))
    returning s as session)
  select array_agg(w.session) into stored from written w;

  insert into core.replaced_charging_sessions
    (partner_id, charger_id, session_id, owner_id, month, started_at, ended_at, wh, flags, received_at)
  select o.partner_id, o.charger_id, o.id, o.owner_id, o.month, o.started_at, o.ended_at, o.wh, o.flags, o.received_at
    from unnest(stored) s
    join unnest(old) o on o.id = s.id
   where o.ended_at is not null and (o.started_at, o.ended_at, o.wh) is distinct from (s.started_at, s.ended_at, s.wh);

  insert into core.charging_evidence
    (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, upload_id, request_id, document, document_sha256, sent_sha256,
     signed, signature, meter_id, meter_start_wh, meter_end_wh, end_from, received_at)
  select s.partner_id, s.charger_id, s.id, s.owner_id, s.source, s.external_id, i.client_id, i.upload_id, i.request_id, i.document,
         sha256(convert_to(i.document::text, 'UTF8')), i.sent_sha256, i.signed, case when i.signed <> '{}' then 'unchecked' end, i.meter_id,
         i.meter_start_wh, i.meter_end_wh, i.end_from, s.received_at
    from unnest(stored) s
    join unnest(items) i on i.charger_id = s.charger_id and i.source = s.source and i.external_id = s.external_id
   where i.document is not null;
  return array(
    select row(s, o)::private.charging_session_change from unnest(stored) s left join unnest(old) o on o.id = s.id);
end $function$;

CREATE OR REPLACE FUNCTION private.sweep_charging_changes()
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  client record;
  swept  bigint := 0;
begin
  for client in
    select distinct c.partner_id, c.owner_id
      from (select c.partner_id, c.owner_id from core.charging_changes c where c.at <= private.events_kept_since()
             order by c.at limit private.events_at_once()) c
     order by 1, 2
  loop
    perform private.sequence_charging(client.partner_id, client.owner_id);
    -- a reader that numbers holds the head: left to the next run
    perform from core.charging_heads h where h.partner_id = client.partner_id and h.owner_id = client.owner_id for update skip locked;
    continue when not found;
    with gone as (
      delete from core.charging_changes c
       where c.ctid = any (array(
         select d.ctid from core.charging_changes d
          where d.partner_id = client.partner_id and d.owner_id = client.owner_id and d.position is not null and d.at <= private.events_kept_since()
          order by d.position limit private.events_at_once()))
      returning c.position
    ), noted as (
      update core.charging_heads h set swept = greatest(h.swept, (select max(g.position) from gone g))
       where h.partner_id = client.partner_id and h.owner_id = client.owner_id
    )
    select swept + count(*) into swept from gone;
  end loop;
  return swept;
end $function$;

CREATE OR REPLACE FUNCTION private.withdraw_charging_sessions (
  sessions    uuid[],
  document    jsonb,
  sent_sha256 bytea
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  chosen  core.charging_sessions[];
  changes private.charging_session_change[];
begin
  -- in the order of private.ingest_charging_sessions
  perform from core.chargers h
    where h.partner_id = private.partner_id()
      and h.id = any (array(select s.charger_id from core.charging_sessions s where s.partner_id = private.partner_id() and s.id = any (sessions)))
    order by h.id for no key update;
  chosen := array(
    select s from core.charging_sessions s
     where s.partner_id = private.partner_id() and s.id = any (sessions) and not 'withdrawn' = any (s.flags));
  perform from core.connections c
    where c.partner_id = private.partner_id() and c.id = any (array(select s.connection_id from unnest(chosen) s))
    order by c.id for no key update;
  with written as (
    update core.charging_sessions s
       set flags = private.own_flags(s.flags) || '{withdrawn}'::text[] || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end,
           received_at = private.now()
      from unnest(chosen) o
     where s.partner_id = o.partner_id and s.charger_id = o.charger_id and s.id = o.id
    returning s as session, o)
  select array_agg(row(w.session, w.o)::private.charging_session_change) into changes from written w;
  insert into core.replaced_charging_sessions
    (partner_id, charger_id, session_id, owner_id, month, started_at, ended_at, wh, flags, received_at)
  select o.partner_id, o.charger_id, o.id, o.owner_id, o.month, o.started_at, o.ended_at, o.wh, o.flags, o.received_at
    from unnest(chosen) o where o.ended_at is not null;
  insert into core.charging_evidence
    (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, request_id, document, document_sha256, sent_sha256)
  select o.partner_id, o.charger_id, o.id, o.owner_id, o.source, o.external_id, private.client_id(), nullif(current_setting('app.request_id', true), ''),
         document, sha256(convert_to(document::text, 'UTF8')), sent_sha256
    from unnest(chosen) o;
  perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  return array(select o.id from unnest(chosen) o);
end $function$;

ALTER TABLE "core"."charging_evidence"
  ADD CONSTRAINT "charging_evidence_session_fkey" FOREIGN KEY (partner_id, charger_id, session_id) REFERENCES core.charging_sessions(partner_id, charger_id, id);

ALTER TABLE "core"."charging_sessions"
  ADD CONSTRAINT "charging_sessions_flags_known"
    CHECK ((flags <@ '{negative,ends_before_start,wrong_clock,too_long,beyond_power,overlapping,after_lock,withdrawn,duplicate,no_end,meter_disagrees,abroad}'::text[]));

ALTER TABLE "core"."events"
  ADD CONSTRAINT "events_type_known"
    CHECK
    ((type = ANY (ARRAY['account.created'::text, 'account.eligibility_changed'::text, 'account.months_locked'::text, 'account.months_registered'::text,
    'account.months_rejected'::text,
    'account.months_reopened'::text,
    'mandate.signed'::text,
    'mandate.renewed'::text,
    'mandate.declined'::text,
    'mandate.revoked'::text,
    'mandate.expired'::text,
    'ean.status_changed'::text,
    'charger.registered'::text,
    'charger.mid_confirmed'::text,
    'registration.submitted'::text,
    'registration.approved'::text,
    'registration.rejected'::text,
    'draft.claimed'::text,
    'draft.active'::text,
    'draft.expired'::text,
    'draft.conflict'::text,
    'customer.sharing_ended'::text,
    'ere.sold'::text,
    'ere.sale_reversed'::text,
    'charging.parked'::text, 'payout.approved'::text, 'payout.paid'::text, 'payout.failed'::text, 'payout.reversed'::text, 'webhook_endpoint.disabled'::text])));

CREATE VIEW "core"."deletions" WITH (security_invoker=true) AS  SELECT step,
    kind,
    of_table,
    due
   FROM ( VALUES (1,'months'::text,'delivered_months'::text,'d.period < :border and not exists (
     select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period)'::text), (2,'deliveries'::text,'deliveries'::text,'d.received_at < private.dutch_midnight(:border)
     and not exists (select from core.delivered_months m where m.partner_id = d.partner_id and m.delivery_id = d.id)
     and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.delivery_id = d.id)'::text), (3,'ean_checks'::text,'ean_checks'::text,'d.checked_at < private.dutch_midnight(:border)'::text), (4,'mail'::text,'mail_outbox'::text,'d.status = ''nobody'' or d.created_at < private.now() - interval ''90 days'' and d.status <> ''queued'''::text), (5,'logos'::text,'partner_logos'::text,'d.replaced_at < private.now() - interval ''90 days'''::text), (6,'invitations'::text,'manager_invitations'::text,'d.expires_at < private.now() - interval ''30 days'''::text), (7,'oauth'::text,'revoked_access_tokens'::text,'d.expires_at < private.now()'::text), (8,'oauth'::text,'oauth_codes'::text,'d.expires_at < private.now() - interval ''1 day'''::text), (9,'oauth'::text,'oauth_refresh_tokens'::text,'d.expires_at < private.now()'::text), (10,'oauth'::text,'one_time_codes'::text,'d.expires_at < private.now()'::text), (11,'oauth'::text,'page_sessions'::text,'d.expires_at < private.now()'::text), (12,'oauth'::text,'oauth_grants'::text,'d.created_at < private.now() - interval ''1 day''
     and not exists (select from core.oauth_codes c where c.grant_id = d.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = d.id)'::text), (13,'webhook_attempts'::text,'webhook_attempts'::text,'d.at <= private.now() - interval ''30 days'' order by d.at'::text), (14,'job_runs'::text,'job_runs'::text,'d.finished_at < private.now() - interval ''7 days'' or d.id <= (select max(n.id) from core.job_runs n) - 100000'::text), (15,'mail_counts'::text,'mail_counts'::text,'d.day < private.today()'::text), (16,'rate_limits'::text,'rate_limit_state'::text,'d.full_at < private.now()'::text), (17,'uploads'::text,'uploads'::text,'d.created_at < private.dutch_midnight(:border)'::text), (18,'parked'::text,'parked_charging'::text,'d.received_at < private.now() - interval ''400 days'' order by d.received_at'::text)) deletion(step, kind, of_table, due);

CREATE INDEX charger_names_charger ON core.charger_names USING btree (partner_id, charger_id);

CREATE INDEX chargers_serial ON core.chargers USING btree (partner_id, serial_number)
  WHERE (serial_number IS NOT NULL);

CREATE UNIQUE INDEX charging_changes_position ON core.charging_changes USING btree (partner_id, owner_id, "position")
  WHERE ("position" IS NOT NULL);

CREATE INDEX charging_changes_unnumbered ON core.charging_changes USING btree (partner_id, owner_id, arrival)
  WHERE ("position" IS NULL);

CREATE INDEX charging_evidence_session ON core.charging_evidence USING btree (partner_id, charger_id, session_id);

CREATE INDEX parked_charging_due ON core.parked_charging USING btree (judge_at)
  WHERE (judge_at IS NOT NULL);

CREATE INDEX parked_charging_names ON core.parked_charging USING gin (names);

CREATE POLICY "a tenant reaches its own rows" ON "core"."charger_names"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "a tenant reaches its own rows" ON "core"."charging_changes"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "an owner reaches only their own rows" ON "core"."charging_changes"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

CREATE POLICY "a tenant reaches its own rows" ON "core"."charging_evidence"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "a tenant reaches its own rows" ON "core"."charging_heads"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "an owner reaches only their own rows" ON "core"."charging_heads"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

CREATE POLICY "a tenant reaches its own rows" ON "core"."parked_charging"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "a tenant reaches its own rows" ON "core"."uploads"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

COMMENT ON COLUMN "core"."charger_names"."ended_at" IS 'When the charger was removed: the name still means it for sessions that began earlier. Null while it stands.';

COMMENT ON COLUMN "core"."charger_names"."party" IS 'The party of a hub that uses the name, NL-TNM; empty for all.';

COMMENT ON COLUMN "core"."charging_changes"."position" IS 'Its place in the client''s list, numbered after it was committed, as events are.';

COMMENT ON COLUMN "core"."charging_evidence"."client_id" IS 'Who told it; null for a charger itself.';

COMMENT ON COLUMN "core"."charging_evidence"."document" IS 'The words of the source, without costs, cards and tokens. document_sha256 is of its text as Postgres writes it.';

COMMENT ON COLUMN "core"."charging_evidence"."end_from" IS 'Where the end comes from if no message told it: values, clock.';

COMMENT ON COLUMN "core"."charging_evidence"."sent_sha256" IS 'SHA-256 of the bytes that came: the body of a request, the file, the CDR, the frame.';

COMMENT ON COLUMN "core"."charging_evidence"."session_id" IS 'Null for words that belong to no session.';

COMMENT ON COLUMN "core"."charging_sessions"."connector" IS 'The EVSE of the charger, from 1. One EVSE charges one car at a time.';

COMMENT ON COLUMN "core"."charging_sessions"."external_id" IS 'The source''s own id of the session, unique for a charger and source. A file without ids is known by EVSE and start: 1@2026-03-10T18:00:00Z.';

COMMENT ON COLUMN "core"."charging_sessions"."flags" IS 'after_lock: it came, or changed, after its month was locked. The energy counts and the booked ERE stays. Every other flag keeps it out of all totals. withdrawn: its source took it back. duplicate: another source or id told the same charge first.';

COMMENT ON COLUMN "core"."charging_sessions"."meter_start_wh" IS 'The reading of the meter (meter_id, if the source names it) at the start, meter_end_wh at the end. Null if the source did not say.';

COMMENT ON COLUMN "core"."parked_charging"."item" IS 'The session for private.ingest_charging_sessions, without a charger. With the words of the source.';

COMMENT ON COLUMN "core"."parked_charging"."judge_at" IS 'When the worker looks for its charger again; null until one of its names appears.';

COMMENT ON COLUMN "core"."parked_charging"."names" IS 'The names that it was told by, each as kind:value.';

COMMENT ON COLUMN "core"."parked_charging"."told_as" IS 'By what the source knows it: its id, or its names and start.';

COMMENT ON COLUMN "core"."uploads"."decimal" IS 'The decimal sign that the sender named; null if the columns told it.';

COMMENT ON COLUMN "core"."uploads"."user_id" IS 'The person who sent it in the portal; null for the API.';

COMMENT ON FUNCTION "api"."reset_sandbox"(jsonb, jsonb) IS 'POST /sandbox/v1/reset: {key}. Deletes the partner''s customers and drafts, what was booked and sold of its CPO accounts, the names of its chargers, parked sessions and uploads, in one transaction. These accounts and their chargers, sessions, months, keys and settings stay.';

COMMENT ON FUNCTION "private"."charger_name_value"(text, text) IS 'A name as it is compared: upper-case and trimmed; an EVSE id also without stars, dashes and spaces.';

COMMENT ON FUNCTION "private"."charging_session_flags"(private.charging_session_item, numeric) IS 'Why a session is implausible, judged by its own fields alone. meter_disagrees: its readings and its energy differ by more than 1 % and 0.1 kWh.';

COMMENT ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) IS 'Stores sessions of a client''s chargers, of any source: items as private.ingest_charging_sessions takes them, with place, names (charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id; party) and evse_no in place of charger and connector, and external_id null where EVSE and start identify it. To its results, with status parked too.';

COMMENT ON FUNCTION "private"."drop_charger_names"(uuid[]) IS 'Frees the names of removed chargers for others. They still mean these chargers for sessions that began earlier.';

COMMENT ON FUNCTION "private"."due_parked"(integer) IS 'Parked sessions that the worker looks at, longest due first. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."find_chargers"(uuid, private.named_charger[]) IS 'The chargers of a client that sessions name, with the EVSE. Unknown names do not matter as long as one is known; a removed charger is meant by what began before.';

COMMENT ON FUNCTION "private"."free_parked"(uuid, text[]) IS 'Judges the parked sessions with one of these names, kind:value, again: a thousand now, the rest by the worker.';

COMMENT ON FUNCTION "private"."ingest_charging_sessions"(jsonb) IS 'Stores all charging sessions, within a tenant: [{charger_id, source, external_id, connector?, started_at, ended_at?, wh, status?, meter_wh?, meter_id?, meter_start_wh?, meter_end_wh?, power_type?: AC|DC, flags?: [no_end|meter_disagrees|abroad], end_from?, document?, sent_sha256?: hex, signed?: [text], client_id?, upload_id?, request_id?}] to [{place, status: created|updated|unchanged|superseded|rejected, reason?, session_id?, flags?}]. Idempotent by charger, source and external_id. A telling with a document that changes something is kept in core.charging_evidence.';

COMMENT ON FUNCTION "private"."judge_charging_sessions"(private.charging_session_change[]) IS 'Flags changed sessions, and those they overlap or used to, notes both for the client''s cursor, and returns the months that may differ now. Of two overlapping sessions of an EVSE the first to come stands, even if it overlaps another itself. duplicate: begin and end are within five minutes, and the energy within 1 % or 0.1 kWh.';

COMMENT ON FUNCTION "private"."judge_due_parked"() IS 'The worker judges parked sessions again that are due, a thousand in a run. Returns how many it stored.';

COMMENT ON FUNCTION "private"."judge_parked"(uuid, uuid[]) IS 'Looks for the chargers of parked sessions again, and stores what it finds. Returns how many are parked no more.';

COMMENT ON FUNCTION "private"."lasting_flags"(core.charging_sessions) IS 'Flags that no later word of the source clears. A client may tell again what it withdrew; a credited CDR stays credited.';

COMMENT ON FUNCTION "private"."name_charger"(core.chargers, jsonb) IS 'Gives a charger of a client its names: {external_ref?, evses?: [{party?, evse_uid?, evse_id?, meter_id?}]}; the first is EVSE 1. Returns what may free parked sessions. Refuses with name_taken a name of another charger of the client.';

COMMENT ON FUNCTION "private"."names_parked"(uuid, text[]) IS 'Which of these names parked sessions of a client have. Definer, because row-level security keeps the index on names from being used.';

COMMENT ON FUNCTION "private"."names_told"(private.named_charger) IS 'The names of an item, each with its kind, as they are compared.';

COMMENT ON FUNCTION "private"."own_flags"(text[]) IS 'The flags of private.charging_session_flags(), and withdrawn: all but overlapping, duplicate and after_lock.';

COMMENT ON FUNCTION "private"."park_charging"(uuid, core.parked_charging[]) IS 'Parks sessions of a client, one each told_as and source, and tells its log of names that were not parked before. At most 200,000 a client: parked_limit.';

COMMENT ON FUNCTION "private"."parked_by_name"(uuid, text[], integer) IS 'The parked sessions of a client with one of these names, oldest first. Definer, because row-level security keeps the index on names from being used.';

COMMENT ON FUNCTION "private"."read_charging_sessions"(jsonb) IS 'Sessions as a source sent them, each read on its own. reason is null, or bad_ and the unreadable field. Without ended_at a session is charging, unless status says active. What is beside the session (document, sent_sha256, signed, …) comes from our own doors, which checked its shape.';

COMMENT ON FUNCTION "private"."sequence_charging"(uuid, uuid) IS 'Numbers the committed changes of a client, ten thousand at most, and returns its head. Every reader calls this first. Definer, because nothing else changes a row.';

COMMENT ON FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]) IS 'Inserts new sessions, updates changed ones, keeps the words that changed them as evidence, and returns what changed. One item per session; the chargers are locked.';

COMMENT ON FUNCTION "private"."sweep_charging_changes"() IS 'Deletes changes of sessions older than 90 days, ten thousand a client in a run. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."withdraw_charging_sessions"(uuid[], jsonb, bytea) IS 'Takes sessions back, with the words that say so as evidence: no total counts them, and what they overlapped may count. Returns those that were not withdrawn before.';

COMMENT ON TABLE "core"."charger_names" IS 'What a CPO client calls a charger, or an EVSE of it (evse_no, from 1). value is as private.charger_name_value writes it. Kept as long as the charger.';

COMMENT ON TABLE "core"."charging_changes" IS 'A change of a session of a CPO client, or of its flags, for the cursor of GET /v1/charging-sessions. Kept 90 days. No personal data.';

COMMENT ON TABLE "core"."charging_evidence" IS 'What a source said about a charging session, one row a telling that changed something. Append-only, kept seven years. Personal data: signed texts may name the card.';

COMMENT ON TABLE "core"."charging_heads" IS 'Up to where the changes of a client are numbered, and up to where they were deleted.';

COMMENT ON TABLE "core"."parked_charging" IS 'A session whose charger we do not know yet. Stored as soon as a name appears, else deleted after 400 days. Personal data.';

COMMENT ON TABLE "core"."uploads" IS 'A file of months or sessions of a CPO client: its hash and the result of each row, not the file. Kept seven years.';

COMMENT ON TYPE "private"."found_charger" IS 'The charger and EVSE that were meant, or why we cannot tell: unknown_charger, ambiguous_charger, charger_removed.';

COMMENT ON TYPE "private"."named_charger" IS 'The names by which a source means the charger of the item at this place.';

COMMENT ON VIEW "core"."deletions" IS 'What is deleted row by row when it is due. due is a condition on rows d of a table of core. :border in it is the day before which nothing need be kept. A kind is deleted step by step.';

REVOKE ALL ON FUNCTION "private"."charger_name_value"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."charger_name_value"(text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."charging_session_flags"(private.charging_session_item, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."charging_session_flags"(private.charging_session_item, numeric) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."drop_charger_names"(uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."drop_charger_names"(uuid[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."due_parked"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."due_parked"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."find_chargers"(uuid, private.named_charger[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."find_chargers"(uuid, private.named_charger[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."free_parked"(uuid, text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."free_parked"(uuid, text[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."judge_due_parked"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."judge_due_parked"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."judge_parked"(uuid, uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."judge_parked"(uuid, uuid[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."lasting_flags"(core.charging_sessions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lasting_flags"(core.charging_sessions) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."name_charger"(core.chargers, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."name_charger"(core.chargers, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."names_parked"(uuid, text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."names_parked"(uuid, text[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."names_told"(private.named_charger) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."names_told"(private.named_charger) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."park_charging"(uuid, core.parked_charging[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."park_charging"(uuid, core.parked_charging[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."parked_by_name"(uuid, text[], integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."parked_by_name"(uuid, text[], integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."sequence_charging"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."sequence_charging"(uuid, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."sweep_charging_changes"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."sweep_charging_changes"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."withdraw_charging_sessions"(uuid[], jsonb, bytea) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."withdraw_charging_sessions"(uuid[], jsonb, bytea) TO "api_owner";

GRANT DELETE, INSERT, SELECT, UPDATE ON TABLE "core"."charger_names" TO "api_owner";

GRANT INSERT, SELECT ON TABLE "core"."charging_changes" TO "api_owner";

GRANT INSERT, SELECT ON TABLE "core"."charging_evidence" TO "api_owner";

GRANT SELECT ON TABLE "core"."charging_heads" TO "api_owner";

GRANT DELETE, INSERT, SELECT, UPDATE ON TABLE "core"."parked_charging" TO "api_owner";

GRANT DELETE, INSERT, SELECT ON TABLE "core"."uploads" TO "api_owner";

ALTER TABLE "core"."charger_names"
  ADD CONSTRAINT "charger_names_charger_fkey" FOREIGN KEY (partner_id, charger_id, owner_id) REFERENCES core.chargers(partner_id, id, owner_id);

CREATE UNIQUE INDEX charger_names_standing ON core.charger_names USING btree (partner_id, owner_id, kind, VALUE, party)
  WHERE (ended_at IS NULL);

CREATE POLICY "an owner reaches only their own rows" ON "core"."charger_names"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

CREATE INDEX charging_changes_age ON core.charging_changes USING btree (at);

ALTER TABLE "core"."charging_evidence"
  ADD CONSTRAINT "charging_evidence_charger_fkey" FOREIGN KEY (partner_id, charger_id, owner_id) REFERENCES core.chargers(partner_id, id, owner_id);

CREATE POLICY "an owner reaches only their own rows" ON "core"."charging_evidence"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

ALTER TABLE "core"."parked_charging"
  ADD CONSTRAINT "parked_charging_client_fkey" FOREIGN KEY (partner_id, owner_id) REFERENCES core.oauth_clients(partner_id, id);

CREATE POLICY "an owner reaches only their own rows" ON "core"."parked_charging"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

CREATE INDEX parked_charging_received ON core.parked_charging USING btree (partner_id, owner_id, received_at, id);

ALTER TABLE "core"."uploads"
  ADD CONSTRAINT "uploads_client_fkey" FOREIGN KEY (partner_id, owner_id) REFERENCES core.oauth_clients(partner_id, id);

CREATE POLICY "an owner reaches only their own rows" ON "core"."uploads"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

COMMENT ON COLUMN "core"."uploads"."owner_id" IS 'The client whose customers and chargers the file is about.';

CREATE INDEX uploads_newest ON core.uploads USING btree (partner_id, owner_id, created_at);

commit;

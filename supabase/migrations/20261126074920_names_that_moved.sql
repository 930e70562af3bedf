begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."charger_names"
  ADD COLUMN "given_up" boolean NOT NULL DEFAULT false;

ALTER TYPE "private"."found_charger" ADD ATTRIBUTE "moved" boolean CASCADE;

ALTER TYPE "private"."named_charger" ADD ATTRIBUTE "ended_at" timestamp WITH time zone CASCADE;

ALTER TYPE "private"."told_name" ADD ATTRIBUTE "ended_at" timestamp WITH time zone CASCADE;

CREATE OR REPLACE FUNCTION api.list_chargers (
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
  account     constant uuid   := (query ->> 'account_id')::uuid;
  reference   constant text   := private.charger_name_value('external_ref', query ->> 'external_ref');
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select h.* from core.chargers h
       where h.partner_id = private.partner_id() and h.owner_id = private.client_id()
         and (account is null or h.account_id = account)
         and (reference is null or exists (
                select from core.charger_names n
                 where n.partner_id = h.partner_id and n.owner_id = h.owner_id and n.kind = 'external_ref' and n.value = reference and n.charger_id = h.id
                  and not n.given_up))
       order by h.created_at desc, h.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by created_at desc, id desc limit page_limit
    )
    select json_build_object(
      'chargers', coalesce(json_agg(private.client_charger(s::core.chargers) order by s.created_at desc, s.id desc), '[]'),
      'limit', page_limit, 'offset', page_offset, 'count', count(*), 'has_more', (select count(*) from page) > page_limit)
      from shown s);
end $function$;

CREATE OR REPLACE FUNCTION api.register_charger (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  serial     constant text := input ->> 'serial_number';
  account    uuid;
  connection uuid;
  model      core.charger_models;
  charger    core.chargers;
  active     int;
begin
  perform private.act_as(caller, 'cpo');
  perform private.hold_names(private.client_id());
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  -- of parallel registrations of one charger the later ones wait here, and then find it
  perform private.lock_chargers(account, null);
  charger := private.known_charger(account, serial);
  if charger.id is not null then
    return private.charger_answer(charger, true);
  end if;
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  model := private.choose_model(input);
  if serial is null then
    select h.* into charger from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active'
       and h.serial_number is null and h.catalog_charger_id = model.id;
    if found then
      return private.charger_answer(charger, true);
    end if;
  end if;
  active := private.require_charger_room(account, null);
  perform private.refuse_if('serial_number_required', active > 0 and serial is null);
  perform private.refuse_if('charger_claimed', not private.reserve_serial_number(model.brand, serial));

  insert into core.chargers
    (partner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, ocpp_vendor, ocpp_model, ocpp_meter_type, mid_eligible, power_kw)
  values
    (private.partner_id(), account, connection, model.id, model.brand, serial, input ->> 'ocpp_vendor', input ->> 'ocpp_model',
     input ->> 'ocpp_meter_type', model.mid_meter, (input ->> 'power_kw')::numeric)
  returning * into charger;
  perform private.advance_registration(account, true);
  perform private.audit('charger.registered', charger.id);
  perform private.free_parked(charger.owner_id, private.name_charger(charger, input));
  return private.charger_answer(charger, false);
end $function$;

CREATE OR REPLACE FUNCTION api.update_charger (
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
  told    text[];
begin
  perform private.act_as(caller, 'cpo');
  perform private.hold_names(private.client_id(), true) where input ?| '{external_ref,evses}';
  charger := private.standing_charger(input);
  if charger.status = 'removed' then
    perform private.refuse('charger_not_found');
  elsif input ? 'power_kw' then
    update core.chargers h set power_kw = (input ->> 'power_kw')::numeric
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
  end if;
  -- by its reference the charger is found; only beside its id does the reference change
  told := private.name_charger(charger, case when input ->> 'charger_id' is null then input - 'external_ref' else input end);
  perform private.audit('charger.named', charger.id);
  return json_build_object('ok', true, 'sessions_stored', private.free_parked(charger.owner_id, told), 'charger', private.client_charger(charger));
end $function$;

CREATE OR REPLACE FUNCTION private.can_store_again (
  upload core.uploads
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select exists (
    select from jsonb_array_elements(upload.results) r (result)
      left join core.charging_sessions s on s.partner_id = upload.partner_id and s.id = (r.result ->> 'charging_session_id')::uuid
     where r.result ->> 'status' = 'parked' or 'withdrawn' = any (s.flags))
$function$;

CREATE OR REPLACE FUNCTION private.find_chargers (
  owner  uuid,
  wanted private.named_charger[]
)
  RETURNS SETOF private.found_charger
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  with named as materialized (
    -- each name is looked up once
    select n.kind, n.value, coalesce(w.party, '') as party, array_agg(row(w.place, w.started_at, n.rank, w.ended_at)::private.told_name) as told
      from unnest(wanted) w left join lateral private.names_told(w) n on true
     group by n.kind, n.value, coalesce(w.party, '')
  ), meant as materialized (
    select n.told, n.kind, n.value, l.*
      from named n
      left join lateral (
        select c.party, c.charger_id, c.evse_no, c.ended_at, c.given_up
          from core.charger_names c
         where c.partner_id = private.partner_id() and c.owner_id = owner and c.kind = n.kind and c.value = n.value and c.party in (n.party, '')
        union all
        select '', h.id, null, h.removed_at, false from core.chargers h
         where n.kind = 'serial_number' and h.partner_id = private.partner_id() and h.serial_number = n.value and h.owner_id = owner and h.user_id is null
        union all
        select '', h.id, null, h.removed_at, false from core.chargers h
         where n.kind = 'charger_id' and h.partner_id = private.partner_id() and h.id = lower(n.value)::uuid and h.owner_id = owner
           and h.user_id is null) l on true
  ), hit as (
    select t.place, t.rank, m.charger_id, m.evse_no, s.stood, m.given_up,
           -- a name of the party before one for all; of those who had the name then, the first to lose it
           s.stood is not null and rank() over (
             partition by t.place, t.rank order by s.stood desc nulls last, m.party desc nulls last, coalesce(m.ended_at, 'infinity')) = 1 as nearest
      from meant m
     cross join lateral unnest(m.told) t
     cross join lateral (
       select case when m.charger_id is null then null
                   when m.ended_at is null then true
                   when not m.given_up then t.started_at < m.ended_at
                   when t.started_at < m.ended_at and private.has_under_name(m.charger_id, m.kind, m.value, t.started_at, t.ended_at) then true end as stood) s
  ), verdict as (
    select h.place, array_agg(distinct h.charger_id) filter (where h.stood and h.nearest) as chargers,
           (array_agg(h.evse_no order by h.rank) filter (where h.stood and h.nearest and h.evse_no is not null))[1] as evse_no,
           bool_or(h.nearest) as named, bool_or(h.nearest and h.given_up) as moved
      from hit h group by h.place
  )
  select v.place, case when cardinality(v.chargers) = 1 then v.chargers[1] end, v.evse_no,
         case when v.named is not true then 'unknown_charger'
              when v.chargers is null then 'charger_removed'
              when cardinality(v.chargers) > 1 then 'ambiguous_charger' end,
         v.moved
    from verdict v order by v.place;
end $function$;

CREATE OR REPLACE FUNCTION private.has_under_name (
  charger    uuid,
  kind       text,
  value      text,
  started_at timestamp with time zone,
  ended_at   timestamp with time zone
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select exists (
    select from core.charging_sessions s
      join core.charging_evidence e on e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id
     where s.partner_id = private.partner_id() and s.charger_id = charger and not 'withdrawn' = any (s.flags)
       and s.started_at > has_under_name.started_at - interval '31 days'
       and s.started_at <= greatest(has_under_name.started_at + interval '5 minutes', has_under_name.ended_at)
       and (s.started_at >= has_under_name.started_at - interval '5 minutes' or s.ended_at > has_under_name.started_at)
       and exists (select from jsonb_path_query(e.document, 'strict $.** ? (@.type() == "string")') word
                    where private.charger_name_value(has_under_name.kind, word #>> '{}') = has_under_name.value))
$function$;

CREATE OR REPLACE FUNCTION private.hold_names (
  owner uuid,
  taken boolean DEFAULT false
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if taken then
    perform pg_advisory_xact_lock(hashtextextended('names of ' || owner, 0));
  else
    perform pg_advisory_xact_lock_shared(hashtextextended('names of ' || owner, 0));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_charging_sessions (
  changes private.charging_session_change[]
)
  RETURNS private.touched_month[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  looked  private.charging_session_change[] := changes;
  touched private.touched_month[];
begin
  if exists (select from unnest(changes) c where (c.before).id is not null) then
    looked := array(
      select distinct on (((k.change).after).id) k.change
        from (select c as change from unnest(changes) c
              union all
              -- A session that was corrected may no longer overlap later ones, or overlap others than before. These come as they were.
              select row(other.session, other.session)::private.charging_session_change
                from unnest(changes) c
                cross join lateral (values ((c.before).started_at, (c.before).ended_at), ((c.after).started_at, (c.after).ended_at)) span (started_at, ended_at)
                cross join lateral (
                  select s as session from core.charging_sessions s
                   where s.partner_id = private.partner_id() and s.charger_id = (c.after).charger_id
                     and s.started_at < span.ended_at + interval '5 minutes' and s.ended_at > span.started_at - interval '5 minutes'
                     and s.started_at > span.started_at - interval '31 days'
                  offset 0) other  -- one index lookup per span, instead of a join of all sessions with all
               where (c.before).id is not null) k
       order by ((k.change).after).id, (k.change).after is not distinct from (k.change).before);
  end if;
  with looked_at as materialized (
    select s.id, s.charger_id, s.connection_id, s.month, s.counted, s.flags, c.after is distinct from c.before as changed, (c.before).month as old_month,
           private.own_flags(s.flags) || coalesce(o.flags, '{}') as judged,
           -- what came after the lock, and was withdrawn since, was never booked
           not 'withdrawn' = any (s.flags) or exists (
             select from core.replaced_charging_sessions r
              where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and not 'after_lock' = any (r.flags)) as booked,
           s.ended_at is not null and h.mid_eligible is true and exists (
             select from core.delivered_months d
              where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                and d.period in (s.month, case when (c.before).ended_at is not null then (c.before).month end)) as locked
      from unnest(looked) c
     cross join lateral (select (c.after).*) s
      join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
      left join lateral (
        select case when bool_or(e.same) then '{duplicate}'::text[] when count(*) > 0 then '{overlapping}' else '{}' end as flags
          from (
           -- only a long session that began over a day ago can still last
           select near.* from core.charging_sessions near
            where near.partner_id = s.partner_id and near.charger_id = s.charger_id and near.started_at > s.started_at - interval '24 hours'
              and near.started_at <= s.ended_at + interval '5 minutes'
           union all
           select long.* from core.charging_sessions long
            where long.partner_id = s.partner_id and long.charger_id = s.charger_id and long.ended_at - long.started_at > interval '23 hours'
              and long.started_at > s.started_at - interval '31 days' and long.started_at <= s.started_at - interval '24 hours') o
         cross join lateral (
           select abs(extract(epoch from o.started_at - s.started_at)) <= 300 and abs(extract(epoch from o.ended_at - s.ended_at)) <= 300
                  and abs(o.wh - s.wh) <= greatest(100, 0.01 * greatest(o.wh, s.wh))
                  -- short sessions of one source may follow each other so closely
                  and (o.source <> s.source or o.started_at < s.ended_at and o.ended_at > s.started_at) as same) e
         where s.ended_at is not null
           and o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,after_lock}'
           and o.started_at <= s.ended_at + interval '5 minutes' and o.ended_at >= s.started_at - interval '5 minutes'
           and case when o.connector = s.connector then e.same or o.started_at < s.ended_at and o.ended_at > s.started_at
                    -- A source that names no EVSE means the first. A file without ids knows a session by its EVSE, and may name it later.
                    else e.same and (o.source <> s.source and least(o.connector, s.connector) = 1 or s.source = 'file' and o.received_at <> s.received_at
                                     and (o.started_at, o.ended_at, o.wh) = (s.started_at, s.ended_at, s.wh)) end) o on true
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
  perform private.hold_names(owner);
  parked := array(
    select p from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner and p.id = any (chosen)
     order by p.received_at, p.id for update skip locked);
  found := array(
    select f from private.find_chargers(owner, array(
      select row(p.place, p.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id, i.ended_at)::private.named_charger
        from (select g.place, (parked[g.place]).* from generate_subscripts(parked, 1) g (place)) p
       cross join lateral jsonb_to_record(p.item) as i (started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text,
                                                        evse_id text, meter_id text, ended_at timestamptz))) f);
  select coalesce(jsonb_agg(p.item || jsonb_build_object(
           'place', f.place, 'charger_id', f.charger_id, 'connector', c.evse_no,
           'external_id', coalesce(p.external_id, c.evse_no || '@' || (p.item ->> 'started_at')))), '[]') into ready
    from unnest(found) f
   cross join lateral (select (parked[f.place]).*) p
   cross join lateral (select coalesce(f.evse_no, (p.item ->> 'evse_no')::int, 1) as evse_no) c
   where f.charger_id is not null and p.reason <> 'no_times';
  -- what was told of a session since stands
  gone := array(
    select (i.item ->> 'place')::int
      from jsonb_array_elements(ready) i (item)
      join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (i.item ->> 'charger_id')::uuid and s.source = i.item ->> 'source'
       and s.external_id = i.item ->> 'external_id' and s.received_at > (parked[(i.item ->> 'place')::int]).received_at);
  ready := coalesce((select jsonb_agg(i.item) from jsonb_array_elements(ready) i (item) where (i.item ->> 'place')::int <> all (gone)), '[]');
  gone := gone || array(
    select (r ->> 'place')::int from jsonb_array_elements(private.ingest_charging_sessions(ready)) r where r ->> 'status' <> 'rejected');
  delete from core.parked_charging p where p.partner_id = private.partner_id() and p.id = any (array(select (parked[g]).id from unnest(gone) g));
  update core.parked_charging p set judge_at = null, reason = case p.reason when 'no_times' then p.reason else coalesce(f.reason, p.reason) end
    from unnest(found) f
   where p.partner_id = private.partner_id() and p.id = (parked[f.place]).id and f.place <> all (gone);
  return cardinality(gone);
end $function$;

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
           row(charger.partner_id, charger.owner_id, n.party, n.kind, private.charger_name_value(n.kind, n.value), charger.id, n.evse_no, null, false)::core.charger_names
      from (select '' as party, 'external_ref' as kind, input ->> 'external_ref' as value, null::int as evse_no
            union all
            select coalesce(upper(e.evse ->> 'party'), ''), k.kind, e.evse ->> k.kind, e.place::int
              from jsonb_array_elements(coalesce(nullif(input -> 'evses', 'null'), '[]')) with ordinality e (evse, place)
             cross join (values ('evse_uid'), ('evse_id'), ('meter_id')) k (kind)) n
     where n.value is not null and private.charger_name_value(n.kind, n.value) <> ''
     order by n.kind, n.value, n.party, n.evse_no);
  -- what is given replaces what was there; what is left out stays
  update core.charger_names n set ended_at = private.now(), given_up = true
   where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.ended_at is null
     and (n.kind = 'external_ref' and input ? 'external_ref' or n.kind <> 'external_ref' and jsonb_typeof(input -> 'evses') = 'array');
  delete from core.charger_names n using unnest(given) g
   where n.partner_id = g.partner_id and n.owner_id = g.owner_id and n.kind = g.kind and n.value = g.value and n.party = g.party
     and n.charger_id = charger.id;
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
  perform private.refuse_if('name_taken', taken is not null, json_build_object('kind', taken));
  return array(select g.kind || ':' || g.value from unnest(given) g
               union select 'serial_number:' || charger.serial_number where charger.serial_number is not null);
end $function$;

CREATE OR REPLACE FUNCTION private.park_cdrs (
  owner    uuid,
  sessions jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.park_charging(owner, array(
    select row(null, null, owner, 'ocpi', s.item ->> 'external_id', s.item ->> 'external_id', s.item ->> 'party', n.names,
               (s.item - '{place,park}'::text[]) || jsonb_strip_nulls(jsonb_build_object(
                 'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))), s.item ->> 'park', null, null)::core.parked_charging
      from jsonb_array_elements(sessions) s (item)
     cross join lateral (
       select array_agg(t.kind || ':' || t.value order by t.rank) as names
         from private.names_told(row(0, s.item ->> 'party', null, null, null, null, s.item ->> 'evse_uid', s.item ->> 'evse_id', s.item ->> 'meter_id', null)::private.named_charger) t) n));
end $function$;

CREATE OR REPLACE FUNCTION private.read_charging_sessions (
  sessions jsonb,
  shared   jsonb                   DEFAULT '{}'::jsonb,
  meant    private.found_charger[] DEFAULT NULL::private.found_charger[]
)
  RETURNS SETOF private.charging_session_item
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
declare
  known   constant text[] := '{no_end,meter_disagrees,abroad}';
  client  constant uuid   := private.client_id();
  request constant text   := nullif(current_setting('app.request_id', true), '');
  upload  constant uuid   := shared ->> 'upload_id';
  hash    constant bytea  := decode(shared ->> 'sent_sha256', 'hex');
begin
  return query
  select coalesce(i.place, i.n::int), r.charger_id, r.source, r.external_id, r.connector, r.started_at, r.ended_at, r.wh, r.status,
         private.as_count(i.meter_wh),
         case when r.charger_id is null then 'bad_charger_id'
              when r.source is null then 'bad_source'
              when r.external_id is null then 'bad_external_id'
              when r.connector is null then 'bad_connector'
              when r.started_at is null then 'bad_started_at'
              when i.ended_at is not null and r.ended_at is null then 'bad_ended_at'
              when r.wh is null then 'bad_wh'
              when r.status not in ('active', 'charging') and r.ended_at is null then 'bad_status' end,
         left(i.meter_id, 120), private.as_count(i.meter_start_wh), private.as_count(i.meter_end_wh), i.power_type,
         case when i.flags is null then '{}' else array(select f from jsonb_array_elements_text(i.flags) f where f = any (known)) end,
         i.end_from, i.document, coalesce(hash, decode(i.sent_sha256, 'hex')),
         case when i.signed is null then '{}' else array(select jsonb_array_elements_text(i.signed)) end,
         coalesce(i.client_id, client), coalesce(upload, i.upload_id), coalesce(i.request_id, request), i.sheet_row
    from rows from (
           jsonb_to_recordset(sessions) as (
             place int, charger_id text, source text, external_id text, connector jsonb, started_at text, ended_at text, wh jsonb, status text,
             meter_wh jsonb, meter_id text, meter_start_wh jsonb, meter_end_wh jsonb, power_type text, flags jsonb, end_from text, document jsonb,
             sent_sha256 text, signed jsonb, client_id uuid, upload_id uuid, request_id text, sheet_row int, evse_no int),
           unnest(meant)) with ordinality
         as i (place, charger_id, source, external_id, connector, started_at, ended_at, wh, status, meter_wh, meter_id, meter_start_wh, meter_end_wh,
               power_type, flags, end_from, document, sent_sha256, signed, client_id, upload_id, request_id, sheet_row, evse_no,
               found_place, found_id, found_evse_no, found_reason, found_moved, n)
   -- read once, though judged by several columns
   cross join lateral (
     select case when meant is null then private.as_uuid(i.charger_id) else i.found_id end as charger_id,
            case when length(i.source) between 1 and 40 then i.source end as source,
            case when i.external_id is null and meant is not null then coalesce(i.found_evse_no, i.evse_no, 1) || '@' || i.started_at
                 when length(i.external_id) between 1 and 120 then i.external_id end as external_id,
            case when meant is not null then coalesce(i.found_evse_no, i.evse_no, 1)
                 when i.connector is null then 1
                 when private.as_count(i.connector) between 1 and 100 then private.as_count(i.connector)::int end as connector,
            private.as_moment(i.started_at) as started_at, private.as_moment(i.ended_at) as ended_at, private.as_count(i.wh) as wh,
            case when i.ended_at is not null then 'completed' else coalesce(i.status, 'charging') end as status
     offset 0) r
   where meant is null or i.found_id is not null;
end $function$;

CREATE OR REPLACE FUNCTION private.store_named_sessions (
  owner    uuid,
  sessions jsonb,
  shared   jsonb
)
  RETURNS private.charging_session_result[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  wanted  private.named_charger[];
  found   private.found_charger[];
  sent    private.charging_session_item[];
  waiting core.parked_charging[];
  results private.charging_session_result[];
begin
  perform private.hold_names(owner);
  -- by their order, so that what was found lies beside what was sent
  wanted := array(
    select row(i.n, i.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id, i.ended_at)::private.named_charger
      from rows from (jsonb_to_recordset(sessions) as (
             party text, started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text, evse_id text, meter_id text,
             ended_at timestamptz))
           with ordinality as i (party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id, ended_at, n));
  found := array(select f from private.find_chargers(owner, wanted) f);
  sent := array(select r from private.read_charging_sessions(sessions, shared, found) r);
  results := private.store_charging_sessions(sent);
  if exists (select from unnest(found) f where f.reason is not null) then
    with missed as materialized (
      select s.item, s.reason, coalesce(s.party, '') as party, n.names,
             s.reason in ('unknown_charger', 'charger_removed') and n.names is distinct from array['charger_id:' || upper(s.charger_id::text)] as waits
        from rows from (jsonb_array_elements(sessions), unnest(found), unnest(wanted))
             as s (item, place, found_id, evse_no, reason, moved, n, party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id, ended_at)
       cross join lateral (
         select array_agg(t.kind || ':' || t.value order by t.rank) as names
           from private.names_told(row(s.n, s.party, null, s.charger_id, s.external_ref, s.serial_number, s.evse_uid, s.evse_id, s.meter_id, null)::private.named_charger) t) n
       where s.reason is not null
    ), told as (
      select m.*, m.item ->> 'source' as source, m.item ->> 'external_id' as external_id, (m.item ->> 'place')::int as place,
             -- two chargers may have the same session_id; a CDR's id is its party's
             case when m.item ->> 'external_id' is null then concat_ws(' ', array_to_string(m.names, ' '), m.item ->> 'evse_no', m.item ->> 'started_at')
                  when m.item ->> 'source' = 'ocpi' then m.item ->> 'external_id'
                  else (m.item ->> 'external_id') || ' ' || md5(array_to_string(m.names, ' ')) end as told_as
        from missed m
    )
    select array(
             -- two that are told alike, or have one id and start, are one: the later word counts
             select distinct on (t.source, coalesce(t.external_id, t.told_as), t.item ->> 'started_at')
                    row(null, null, owner, t.source, t.told_as, t.external_id, t.party, t.names,
                        (t.item - 'place') || shared || jsonb_strip_nulls(jsonb_build_object(
                          'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))), t.reason, null, null)::core.parked_charging
               from (select distinct on (t.source, t.told_as) t.* from told t where t.waits order by t.source, t.told_as, t.place desc) t
              order by t.source, coalesce(t.external_id, t.told_as), t.item ->> 'started_at', t.place desc),
           results || array(
             select row(t.place, (t.item ->> 'sheet_row')::int, t.external_id, case when t.waits then 'parked' else 'rejected' end, t.reason, null)::private.charging_session_result
               from told t)
      into waiting, results;
    perform private.park_charging(owner, waiting);
  end if;
  if exists (select from unnest(found) f where f.moved) then
    results := array(
      select row(r.place, r.sheet_row, r.told_id, r.status, coalesce(r.reason, m.reason), r.session)::private.charging_session_result
        from unnest(results) r
        left join (select (s.item ->> 'place')::int as place, 'name_moved' as reason
                     from rows from (jsonb_array_elements(sessions), unnest(found)) as s (item, place, charger_id, evse_no, reason, moved)
                    where s.moved and s.reason is null) m on m.place = r.place);
  end if;
  -- the same id and start, parked by other names: it is told by these now
  if exists (select from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner) then
    delete from core.parked_charging p
     using (select i.source, i.external_id, i.started_at from unnest(sent) i
            union all
            select w.source, w.external_id, (w.item ->> 'started_at')::timestamptz from unnest(waiting) w) i
     where p.partner_id = private.partner_id() and p.owner_id = owner and p.source = i.source and p.external_id = i.external_id
       and (p.source = 'ocpi' or (p.item ->> 'started_at')::timestamptz = i.started_at)
       and p.told_as <> all (array(select w.told_as from unnest(waiting) w));
  end if;
  return results;
end $function$;

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
  select * into newest from core.uploads u
   where u.partner_id = private.partner_id() and u.owner_id = private.client_id() order by u.arrival desc limit 1;
  if newest.sha256 = decode(input ->> 'sha256', 'hex') and newest.kind = input ->> 'kind' and newest.decimal is not distinct from input ->> 'decimal'
     and not private.can_store_again(newest) then
    if private.rows_left_out(newest.counts) = 0 then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
  else
    newest := null;
  end if;
  begin
    upload.results := case input ->> 'kind' when 'months' then private.deliver_months_of_file(input) else private.deliver_sessions_of_file(input) end;
    upload.results := (
      select coalesce(jsonb_agg(r.result order by (r.result ->> 'row')::int), '[]') from (
        -- the id of a session that a dry run undoes is nobody's
        select e.result - case when dry and bool_or(e.result ->> 'status' = 'created') over (partition by e.result ->> 'charging_session_id')
                               then 'charging_session_id' else '' end as result
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
    if private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
    return jsonb_build_object('upload_id', null, 'kind', input -> 'kind', 'created_at', null, 'rows', input -> 'rows', 'columns', input -> 'columns',
                              'counts', upload.counts, 'results', upload.results);
  end;
  return private.upload_answer(upload);
end $function$;

COMMENT ON COLUMN "core"."charger_names"."ended_at" IS 'When the charger lost the name: it still means the charger for sessions that began earlier. Null while it stands.';

COMMENT ON COLUMN "core"."charger_names"."given_up" IS 'It was taken from a charger that stayed: it means this charger only for sessions that the charger has under the name.';

COMMENT ON TYPE "private"."found_charger" IS 'The charger and EVSE that were meant, or why we cannot tell: unknown_charger, ambiguous_charger, charger_removed. moved: by a name that it gave up.';

COMMENT ON TYPE "private"."told_name" IS 'An item that gives a name: its place, when its session began and ended, and which of its names it is.';

REVOKE ALL ON FUNCTION "private"."can_store_again"(core.uploads) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."can_store_again"(core.uploads) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."can_store_again"(core.uploads) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."can_store_again"(core.uploads) TO "postgres";

REVOKE ALL ON FUNCTION "private"."has_under_name"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."has_under_name"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."has_under_name"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."has_under_name"(uuid, text, text, timestamp WITH time zone, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."hold_names"(uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."hold_names"(uuid, boolean) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."hold_names"(uuid, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."hold_names"(uuid, boolean) TO "postgres";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."booking_rows"
  DROP CONSTRAINT "booking_rows_flags_known";

CREATE OR REPLACE FUNCTION api.deliver_charging_sessions (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  results jsonb;
  answer  json;
begin
  perform private.act_as(caller, 'cpo');
  begin
    results := private.deliver_named_sessions(private.client_id(), input -> 'sessions');
    -- a statement of its own, which sees what that one stored
    answer := private.delivered_sessions(results);
    if (input ->> 'dry_run')::boolean then
      raise exception using errcode = 'DRY01';
    end if;
  exception when sqlstate 'DRY01' then
    null;  -- it was judged by storing it, and is undone
  end;
  return answer;
end $function$;

ALTER FUNCTION "api"."deliver_charging_sessions"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.get_charging_session (
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
  answer json;
begin
  perform private.act_as(caller, 'cpo');
  select private.client_session(s, h, private.why_not_counted(s, h.mid_eligible, d)) into answer
    from core.charging_sessions s
    join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
    left join core.delivered_months d on d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.period = s.month
   where s.partner_id = private.partner_id() and s.id = (query ->> 'charging_session_id')::uuid and s.owner_id = private.client_id();
  if answer is null then
    perform private.refuse('charging_session_not_found');
  end if;
  return answer;
end $function$;

ALTER FUNCTION "api"."get_charging_session"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.ingest_months (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  delivery   constant uuid := gen_random_uuid();
  source     constant text := input ->> 'source';
  today      constant date := private.today();
  tenant     uuid;
  owner      uuid;
  connection uuid;
  verdicts   json;
begin
  perform private.act_as(caller, 'cpo');
  tenant := private.partner_id();
  owner := private.owner_id();
  connection := private.lock_for_delivery((input ->> 'account_id')::uuid, (input ->> 'connection_id')::uuid);

  with judged as materialized (
    select m.period, m.handed, m.total_kwh, m.session_count,
           d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery, d.received_at as old_received_at,
           case when m.period > today then 'future_period'
                when m.total_kwh is null then 'bad_kwh'
                when m.session_count is null then 'bad_session_count'
                when d.locked then 'locked'
                else private.judge_month(k, m.period) end as verdict
      from (select t.period, t.handed, coalesce(t.total_kwh, s.kwh) as total_kwh, coalesce(t.session_count, s.sessions) as session_count
              from unnest((input ->> 'periods')::date[], (input ->> 'total_kwh')::numeric(12, 3)[], (input ->> 'session_count')::int[],
                          (input ->> 'from_sessions')::boolean[]) as t (period, total_kwh, session_count, handed)
              left join lateral private.charged_in_month(connection, case when t.handed then t.period end) s on true) m
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = connection and d.period = m.period
      left join core.connection_coverage k on k.partner_id = tenant and k.connection_id = connection
  ), delivered as (
    insert into core.deliveries (partner_id, id, connection_id, owner_id, client_id, request_id, body, body_sha256, replaced)
    select tenant, delivery, connection, owner, private.client_id(), caller ->> 'request_id', input ->> 'body', input ->> 'body_sha256',
           array_agg((j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at)::core.replaced_total)
      from judged j
     where j.verdict in ('staged', 'outside_mandate') and j.old_kwh is not null and (j.old_kwh, j.old_count) <> (j.total_kwh, j.session_count)
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, connection, owner, j.period, j.total_kwh, j.session_count, case when j.handed then 'sessions' else source end, j.verdict,
           case when j.handed then null else delivery end, private.now()
      from judged j where j.verdict in ('staged', 'outside_mandate')
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where not d.locked
  )
  select json_object_agg(j.period, case j.verdict when 'staged' then 'ingested' else j.verdict end) into verdicts from judged j;
  return json_build_object('connection_id', connection, 'verdicts', verdicts);
end $function$;

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
                 where n.partner_id = h.partner_id and n.owner_id = h.owner_id and n.kind = 'external_ref' and n.value = reference and n.charger_id = h.id))
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

ALTER FUNCTION "api"."list_chargers"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.list_charging_sessions (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  size     constant int         := (query ->> 'limit')::int;
  one      constant uuid        := (query ->> 'charger_id')::uuid;
  account  constant uuid        := (query ->> 'account_id')::uuid;
  since    constant timestamptz := coalesce(private.as_border(query ->> 'from'), '-infinity');
  until    constant timestamptz := coalesce(private.as_border(query ->> 'to'), 'infinity');
  counted  constant boolean     := (query ->> 'counted')::boolean;
  owner    uuid;
  head     core.charging_heads;
  parts    text[];
  chargers uuid[];
  looked   core.charging_sessions[];
  chosen   uuid[];
  shown    json;
  next     text;
  more     boolean;
begin
  perform private.act_as(caller, 'cpo');
  owner := private.client_id();
  head := private.sequence_charging(private.partner_id(), owner);
  parts := case when query ->> 'after' is null then array['s', head.position::text]
                else string_to_array(private.charging_place(owner, query ->> 'after'), '|') end;
  if parts is null then
    perform private.refuse('invalid_cursor');
  elsif parts[2]::bigint < head.swept then
    perform private.refuse('cursor_expired');
  end if;
  if account is not null or one is not null then
    chargers := array(select h.id from core.chargers h
                       where h.partner_id = private.partner_id() and h.owner_id = owner and (account is null or h.account_id = account) and (one is null or h.id = one));
  end if;
  if parts[1] = 's' then
    -- all that is stored, newest first, a thousand of which are looked at
    looked := array(
      select s from core.charging_sessions s
       where s.owner_id = owner and s.partner_id = private.partner_id() and s.started_at >= since and s.started_at < until
         and (chargers is null or s.charger_id = any (chargers))
         and (parts[3] is null or (s.started_at, s.id) < (parts[3]::timestamptz, parts[4]::uuid))
       order by s.started_at desc, s.id desc limit 1001);
  else
    -- what changed since: each session at its last change
    looked := array(
      select s from (
        select c.session_id, c.charger_id, max(c.position) as position
          from core.charging_changes c
         where c.partner_id = private.partner_id() and c.owner_id = owner and c.position > parts[2]::bigint
           and c.position <= parts[2]::bigint + private.events_at_once()
         group by c.session_id, c.charger_id order by max(c.position) limit 1001) c
      join core.charging_sessions s on s.partner_id = private.partner_id() and s.id = c.session_id and s.charger_id = c.charger_id
     order by c.position);
  end if;
  with place as (
    select u.place, u.s, h, private.why_not_counted(u.s, h.mid_eligible, d) as why
      from (select g.place, looked[g.place] as s from generate_subscripts(looked[:1000], 1) g (place)) u
      join core.chargers h on h.partner_id = (u.s).partner_id and h.id = (u.s).charger_id
      left join core.delivered_months d on d.partner_id = (u.s).partner_id and d.connection_id = (u.s).connection_id and d.period = (u.s).month
  ), kept as (
    select * from place p
     where (counted is null or counted = (p.why is null))
       and ((p.s).started_at >= since and (p.s).started_at < until) and (chargers is null or (p.s).charger_id = any (chargers))
     order by p.place limit size + 1
  ), page as (
    select * from kept k order by k.place limit size
  )
  select (select coalesce(json_agg(private.client_session(p.s, p.h, p.why) order by p.place), '[]') from page p),
         (select array_agg((p.s).id order by p.place) from page p),
         (select count(*) from kept) > size
    into shown, chosen, more;
  if parts[1] = 's' then
    if more or cardinality(looked) > 1000 then
      next := (select concat_ws('|', 's', parts[2], l.started_at at time zone 'UTC' || 'Z', l.id)
                 from (select (looked[case when more then array_position(array(select (x).id from unnest(looked) x), chosen[size]) else 1000 end]).*) l);
      more := true;
    else
      next := concat_ws('|', 'c', parts[2]);
      more := parts[2]::bigint < head.position;
    end if;
  else
    next := concat_ws('|', 'c', case
      when more then (select max(c.position) from core.charging_changes c
                       where c.partner_id = private.partner_id() and c.owner_id = owner and c.position > parts[2]::bigint
                         and c.position <= parts[2]::bigint + private.events_at_once() and c.session_id = chosen[size])
      when cardinality(looked) > 1000 then (
        select max(c.position) from core.charging_changes c
         where c.partner_id = private.partner_id() and c.owner_id = owner and c.position > parts[2]::bigint
           and c.position <= parts[2]::bigint + private.events_at_once() and c.session_id = (looked[1000]).id)
      else least(head.position, parts[2]::bigint + private.events_at_once()) end);
    more := split_part(next, '|', 2)::bigint < head.position;
  end if;
  return json_build_object(
    'sessions', shown, 'next_cursor', private.charging_cursor(owner, next),
    'has_more', more or exists (select from core.charging_changes c where c.partner_id = private.partner_id() and c.owner_id = owner and c.position is null));
end $function$;

ALTER FUNCTION "api"."list_charging_sessions"(jsonb, jsonb) OWNER TO "api_owner";

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
        'started_at', s.item ->> 'started_at', 'ended_at', s.item ->> 'ended_at', 'kwh', (s.item ->> 'wh')::numeric / 1000,
        'received_at', private.iso(s.received_at)) order by s.received_at desc, s.id desc), '[]'),
      'names', (select coalesce(json_agg(json_build_object(
                  'kind', split_part(g.name, ':', 1), 'value', substr(g.name, strpos(g.name, ':') + 1), 'sessions', g.sessions) order by g.sessions desc, g.name), '[]')
                  from (select n.name, count(*) as sessions from newest w cross join unnest(w.names) n (name) group by n.name order by 2 desc, 1 limit 100) g),
      'limit', page_limit, 'offset', page_offset, 'count', count(*), 'has_more', (select count(*) from page) > page_limit)
      from shown s);
end $function$;

ALTER FUNCTION "api"."list_parked_charging"(jsonb, jsonb) OWNER TO "api_owner";

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
  perform private.refuse_if('charger_claimed', not private.claim_serial_number(model.brand, serial));

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

CREATE OR REPLACE FUNCTION api.remove_charger (
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
  changed boolean;
begin
  perform private.act_as(caller, 'cpo');
  charger := private.standing_charger(input);
  changed := charger.status = 'active';
  if changed then
    update core.chargers h set status = 'removed', removed_at = private.now()
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
    perform private.drop_charger_names(array[charger.id]), private.audit('charger.removed', charger.id);
  end if;
  return json_build_object('ok', true, 'changed', changed, 'charger_id', charger.id, 'removed_at', private.iso(charger.removed_at));
end $function$;

ALTER FUNCTION "api"."remove_charger"(jsonb, jsonb) OWNER TO "api_owner";

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

ALTER FUNCTION "api"."update_charger"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.withdraw_charging_sessions (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  told constant text[] := array(select distinct t from jsonb_array_elements_text(input -> 'session_ids') t);
  known jsonb;
  twice text;
  gone  uuid[];
  freed text[];
begin
  perform private.act_as(caller, 'cpo');
  with hit as (
    select t.told, s.id, s.external_id = t.told as by_own
      from unnest(told) as t (told)
      join core.charging_sessions s on s.partner_id = private.partner_id() and s.external_id = t.told and s.source = 'api' and s.owner_id = private.client_id()
    union all
    select t.told, s.id, false
      from unnest(told) as t (told)
      join core.charging_sessions s on s.partner_id = private.partner_id() and s.id = private.as_uuid(t.told) and s.source in ('api', 'file')
       and s.owner_id = private.client_id()
  )
  select jsonb_object_agg(h.told, h.id), min(h.told) filter (where h.sessions > 1) into known, twice
    from (select h.told, min(h.id::text) as id, count(distinct h.id) as sessions from hit h group by h.told) h;
  if twice is not null then
    perform private.refuse('ambiguous_session', json_build_object('session_id', twice));
  end if;
  gone := private.withdraw_charging_sessions(
    array(select e.value::uuid from jsonb_each_text(known) e), '{"withdraw": true}', decode(input ->> 'sent_sha256', 'hex'));
  with deleted as (
    delete from core.parked_charging p
     where p.partner_id = private.partner_id() and p.owner_id = private.client_id() and p.source in ('api', 'file')
       and (p.told_as = any (told) and p.external_id is not null or p.id = any (array(select private.as_uuid(t) from unnest(told) t)))
    returning p.told_as, p.id::text
  )
  select array_agg(d.told_as) || array_agg(d.id) into freed from deleted d;
  return (
    select json_agg(json_build_object('session_id', t.told, 'status', case
             when t.told = any (freed) or (known ->> t.told)::uuid = any (gone) then 'withdrawn'
             when known ? t.told then 'unchanged' else 'not_found' end) order by t.place)
      from jsonb_array_elements_text(input -> 'session_ids') with ordinality as t (told, place));
end $function$;

ALTER FUNCTION "api"."withdraw_charging_sessions"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION ops.charging_flagged (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('flagged', coalesce(json_agg(json_build_object(
           'charging_session_id', q.id, 'partner_slug', q.slug, 'charger_id', q.charger_id, 'source', q.source, 'started_at', private.iso(q.started_at),
           'kwh', q.wh / 1000.0, 'flags', q.flags) order by q.arrival desc), '[]'))
    from (select s.*, p.slug
            from core.charging_sessions s join core.partners p on p.id = s.partner_id
           where s.flags <> '{}' and not s.flags <@ '{after_lock,withdrawn}' and s.received_at > private.now() - interval '31 days'
             and (private.chosen_partner(input) is null or p.id = private.chosen_partner(input))
           order by s.arrival desc limit coalesce((input ->> 'limit')::int, 50)) q
$function$;

CREATE OR REPLACE FUNCTION ops.charging_parked (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('parked', coalesce(json_agg(json_build_object(
           'partner_slug', q.slug, 'client_id', q.client_id, 'reason', q.reason, 'name', q.name, 'sessions', q.sessions,
           'oldest', private.iso(q.oldest)) order by q.sessions desc, q.slug, q.name), '[]'))
    from (select p.slug, c.client_id, w.reason, w.names[1] as name, count(*) as sessions, min(w.received_at) as oldest
            from core.parked_charging w
            join core.partners p on p.id = w.partner_id
            join core.oauth_clients c on c.partner_id = w.partner_id and c.id = w.owner_id
           where private.chosen_partner(input) is null or p.id = private.chosen_partner(input)
           group by p.slug, c.client_id, w.reason, w.names[1]
           order by count(*) desc, p.slug, w.names[1] limit coalesce((input ->> 'limit')::int, 50)) q
$function$;

CREATE OR REPLACE FUNCTION ops.charging_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  session core.charging_sessions;
begin
  select * into session from core.charging_sessions s
   where s.partner_id = any (array(select p.id from core.partners p)) and s.id = private.as_uuid(input ->> 'session');
  if not found then
    perform private.refuse('charging_session_not_found', json_build_object('session', input ->> 'session'));
  end if;
  return json_build_object('session', json_build_object(
    'charging_session_id', session.id,
    'partner_slug', (select p.slug from core.partners p where p.id = session.partner_id),
    'charger_id', session.charger_id, 'evse_no', session.connector, 'source', session.source, 'external_id', session.external_id,
    'started_at', private.iso(session.started_at), 'ended_at', private.iso(session.ended_at), 'kwh', session.wh / 1000.0,
    'meter_id', session.meter_id, 'meter_start_kwh', session.meter_start_wh / 1000.0, 'meter_end_kwh', session.meter_end_wh / 1000.0,
    'flags', session.flags, 'received_at', private.iso(session.received_at), 'tellings', private.tellings(session)));
end $function$;

CREATE OR REPLACE FUNCTION private.charged_in_month (
  connection uuid,
  period     date
)
  RETURNS TABLE (
    kwh      numeric,
    sessions integer
  )
  LANGUAGE plpgsql
  STABLE
  STRICT
  SET search_path TO ''
  AS $function$
begin
  return query
  select round(coalesce(sum(s.wh), 0) / 1000.0, 3), count(s.wh)::int
    from core.charging_sessions s
    join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
   where s.partner_id = private.partner_id() and s.connection_id = connection and s.month = period and s.counted and s.flags = '{}';
end $function$;

CREATE OR REPLACE FUNCTION private.charging_cursor (
  owner uuid,
  place text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
RETURN translate(encode((convert_to(place, 'UTF8'::name) || substr(sha256((uuid_send(OWNER) || convert_to(place, 'UTF8'::name))), 1, 8)), 'base64'::text), '+/=
'::text, '-_'::text);

CREATE OR REPLACE FUNCTION private.charging_place (
  owner uuid,
  after text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  bytes bytea;
  place text;
begin
  if after !~ '^[A-Za-z0-9_-]{12,200}$' or length(after) % 4 = 1 then
    return null;
  end if;
  bytes := decode(translate(after, '-_', '+/') || repeat('=', (4 - length(after) % 4) % 4), 'base64');
  -- ASCII, or it is none of ours
  place := encode(substr(bytes, 1, length(bytes) - 8), 'escape');
  return case when private.charging_cursor(owner, place) = after then place end;
end $function$;

CREATE OR REPLACE FUNCTION private.client_charger (
  charger core.chargers
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'charger_id', charger.id,
    'account_id', charger.account_id,
    'connection_id', charger.connection_id,
    'external_ref', (select n.value from core.charger_names n
                      where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.kind = 'external_ref' and n.ended_at is null),
    'serial_number', charger.serial_number,
    'catalog', (select private.catalog_charger(m) from core.charger_models m where m.id = charger.catalog_charger_id),
    'mid_eligible', charger.mid_eligible,
    'power_kw', charger.power_kw,
    'evses', (select coalesce(json_agg(e.evse order by e.evse_no, e.party), '[]')
                from (select n.evse_no, n.party, json_strip_nulls(json_build_object(
                               'evse_no', n.evse_no, 'party', nullif(n.party, ''), 'evse_uid', min(n.value) filter (where n.kind = 'evse_uid'),
                               'evse_id', min(n.value) filter (where n.kind = 'evse_id'), 'meter_id', min(n.value) filter (where n.kind = 'meter_id'))) as evse
                        from core.charger_names n
                       where n.partner_id = charger.partner_id and n.charger_id = charger.id and n.evse_no is not null and n.ended_at is null
                       group by n.evse_no, n.party) e),
    'status', charger.status,
    'created_at', private.iso(charger.created_at),
    'removed_at', private.iso(charger.removed_at))
$function$;

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
    'kwh', session.wh / 1000.0,
    'meter_start_kwh', session.meter_start_wh / 1000.0,
    'meter_end_kwh', session.meter_end_wh / 1000.0,
    'meter_id', session.meter_id,
    'period', to_char(session.month, 'YYYY-MM'),
    'flags', session.flags,
    'counted', why is null,
    'not_counted', why,
    'received_at', private.iso(session.received_at))
$function$;

CREATE OR REPLACE FUNCTION private.delivered_sessions (
  results jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_strip_nulls(json_build_object(
           'place', r.place, 'status', case r.status when 'rejected' then 'invalid' else r.status end, 'reason', r.reason,
           'charging_session_id', s.id, 'flags', r.flags, 'counted', s.id is not null and w.why is null, 'not_counted', w.why)) order by r.place), '[]')
    from jsonb_to_recordset(results) as r (place int, status text, reason text, session_id uuid, flags jsonb)
    left join core.charging_sessions s on s.partner_id = private.partner_id() and s.id = r.session_id
    left join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
    left join core.delivered_months d on d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.period = s.month
   cross join lateral (select case when s.id is not null then private.why_not_counted(s, h.mid_eligible, d) end as why) w
$function$;

CREATE OR REPLACE FUNCTION private.evidence_lines (
  booking core.bookings,
  part    text,
  after   uuid,
  size    integer
)
  RETURNS TABLE (
    key  uuid,
    line json
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select r.id, to_json(j)
    from (select * from core.booking_rows r
           where part = 'rows' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.id > after order by r.id limit size) r
    left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
   cross join lateral (
     select r.id as row_id, r.account_id, r.connection_id, r.ean_code, to_char(r.period, 'YYYY-MM') as period, r.status, r.kwh, r.session_count, r.source,
            r.ere_per_kwh, r.delivery_id, r.signatory, r.postal_code, r.house_number, r.house_number_addition, r.street, r.city,
            r.mandate_id, r.fee_pct, r.partner_share_pct, r.charger_brand, r.charger_model, r.charger_serial, r.flags,
            c.accepted_kwh, c.ere, c.reason) j
  union all
  select m.id, json_build_object(
           'mandate_id', m.id, 'connection_id', m.connection_id, 'status', m.status, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
           'signed_at', private.iso(m.signed_at), 'signed_name', m.signed_name, 'code_confirmed', m.code_confirmed, 'code_sent_to', m.code_sent_to,
           'address', m.address, 'user_agent', m.user_agent, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason,
           'document', m.document, 'document_sha256', m.document_sha256, 'pdf_sha256', d.sha256)
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'mandates' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    join core.mandates m on m.partner_id = booking.partner_id and m.id = k.mandate_id
    left join core.documents d on d.partner_id = m.partner_id and d.mandate_id = m.id
  union all
  -- a mandate that is not rendered yet has a line too, without a document
  select k.mandate_id, json_build_object('mandate_id', k.mandate_id, 'sha256', d.sha256, 'pdf', translate(encode(d.pdf, 'base64'), e'\n', ''))
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'pdfs' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    left join core.documents d on d.partner_id = booking.partner_id and d.mandate_id = k.mandate_id
  union all
  select d.id, json_build_object(
           'delivery_id', d.id, 'connection_id', d.connection_id, 'client_id', d.client_id, 'request_id', d.request_id,
           'received_at', private.iso(d.received_at), 'body', d.body, 'body_sha256', d.body_sha256)
    from (select distinct r.delivery_id from core.booking_rows r
           where part = 'deliveries' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.delivery_id > after order by r.delivery_id limit size) k
    join core.deliveries d on d.partner_id = booking.partner_id and d.id = k.delivery_id
  union all
  select k.connection_id, json_build_object(
           'connection_id', k.connection_id,
           'chargers', (select coalesce(json_agg(json_build_object(
                'charger_id', h.id, 'status', h.status, 'brand', h.brand, 'serial_number', h.serial_number, 'ocpp_vendor', h.ocpp_vendor,
                'ocpp_model', h.ocpp_model, 'ocpp_meter_type', h.ocpp_meter_type, 'mid_eligible', h.mid_eligible, 'power_kw', h.power_kw,
                'model', m.model, 'mid_evidence', m.mid_evidence, 'mid_source', m.mid_source) order by h.created_at, h.id), '[]')
              from core.chargers h left join core.charger_models m on m.id = h.catalog_charger_id
             where h.partner_id = booking.partner_id and h.connection_id = k.connection_id),
           'ean_checks', (select coalesce(json_agg(json_build_object(
                'ean_code', e.ean_code, 'source', e.source, 'outcome', e.outcome, 'reason', e.reason, 'checked_at', private.iso(e.checked_at)) order by e.id), '[]')
              from core.ean_checks e where e.partner_id = booking.partner_id and e.connection_id = k.connection_id),
           'replaced_months', (select coalesce(json_agg(json_build_object(
                'period', to_char(r.period, 'YYYY-MM'), 'total_kwh', r.total_kwh, 'delivery_id', r.delivery_id, 'replaced_by', r.replaced_by,
                'replaced_at', private.iso(r.replaced_at)) order by r.period, r.replaced_at, r.received_at, r.replaced_by), '[]')
              from core.replaced_months r
             where r.partner_id = booking.partner_id and r.connection_id = k.connection_id
               and r.period >= booking.quarter and r.period < booking.quarter + interval '3 months'),
           'charging_sessions', (select coalesce(json_agg(json_build_object(
                'session_id', s.id, 'charger_id', s.charger_id, 'source', s.source, 'external_id', s.external_id, 'started_at', private.iso(s.started_at),
                'ended_at', private.iso(s.ended_at), 'wh', s.wh, 'meter_id', s.meter_id, 'meter_start_wh', s.meter_start_wh, 'meter_end_wh', s.meter_end_wh,
                'flags', s.flags, 'received_at', private.iso(s.received_at),
                'tellings', private.tellings(s),
                'signed', (select coalesce(json_agg(t.signed order by e.id, t.place), '[]')
                             from core.charging_evidence e cross join lateral unnest(e.signed) with ordinality t (signed, place)
                            where e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id)) order by s.started_at, s.id), '[]')
              from core.charging_sessions s
             where s.partner_id = booking.partner_id and s.connection_id = k.connection_id
               and s.month >= booking.quarter and s.month < booking.quarter + interval '3 months'))
    from (select distinct r.connection_id from core.booking_rows r
           where part = 'connections' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.connection_id > after order by r.connection_id limit size) k
  union all
  select k.subject, json_build_object(
           'subject', k.subject,
           'rows', (select coalesce(json_agg(json_build_object(
                'id', a.id, 'at', private.iso(a.at), 'actor', a.actor, 'action', a.action, 'details', a.details, 'request_id', a.request_id,
                'position', l.position, 'hash', encode(l.hash, 'hex')) order by a.id), '[]')
              from core.audit_log a
              left join core.audit_links l on l.partner_id = a.partner_id and l.log = 'audit' and l.row_id = a.id
              -- that somebody looked at this is no part of it, so that it stays the same
             where a.subject_id = k.subject and a.partner_id = booking.partner_id and a.action <> 'booking.evidence_shown'))
    from (select distinct s.subject
            from core.booking_rows r cross join lateral (values (r.booking_id), (r.account_id), (r.connection_id), (r.mandate_id)) s (subject)
           where part = 'audit' and r.partner_id = booking.partner_id and r.booking_id = booking.id and s.subject > after order by s.subject limit size) k
$function$;

CREATE OR REPLACE FUNCTION private.judge_quarter (
  tenant  uuid,
  quarter date,
  chosen  uuid[] DEFAULT NULL::uuid[],
  held    uuid[] DEFAULT NULL::uuid[]
)
  RETURNS SETOF private.judged_month
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  today  constant date := private.today();
  -- a sandbox settlement names accounts. In January it takes the running month: mandates begin on 1 January, so no other month exists
  over   constant date := case when chosen is not null and extract(month from today) = 1 then date_trunc('year', today) + interval '1 month' else today end;
  factor core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return query
  -- what is a connection's is looked up once for all its months of the quarter
  select c.id, c.account_id, c.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id, factor.ere_per_kwh,
         case when m.total_kwh > 0 then array_remove(array[
           case when m.total_kwh > h.kw * l.hours then 'beyond_power' end,
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           case when m.session_count > l.hours then 'too_many_sessions' end,
           case when b.repeats = 2 then 'repeated_total' end,
           case when m.session_count = 0 then 'no_sessions' end,
           case when v.gap then 'meter_gap' end,
           case when m.delivery_id is not null and abs(m.total_kwh * 1000 - v.wh) > greatest(1000, 0.02 * v.wh) then 'differs_from_sessions' end], null) else '{}' end,
         case when m.locked or c.ean_exclusive and private.ean_booked(c.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > over then 'month_not_over'
              when factor.bookable_until < today then 'year_closed'
              when s.signed is null then 'no_mandate'
              when s.mandate_id is null then 'outside_mandate'
              when g.ean_validated is not true then 'gate:ean_validated'  -- an archived connection has no gates
              when h.mid_until >= m.period::timestamp at time zone 'Europe/Amsterdam' is not true then 'gate:mid_charger_registered'
              when not g.iban_present then 'gate:iban_present'
              when c.registration_status in ('concept', 'ingediend') then 'registration_open'
              when c.registration_status = 'afgekeurd' then 'registration_rejected'
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              when m.delivery_id is null and c.ean_exclusive and private.ean_delivered(c.ean_code, m.period, c.id) then 'already_delivered' end
    from (select d.connection_id, array_agg(d) as months
            from core.delivered_months d
           where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date
             and (held is null or d.connection_id = any (held))
           group by d.connection_id) q
   cross join lateral (
     select * from core.connections c
      where c.partner_id = tenant and c.id = q.connection_id and (chosen is null or c.account_id = any (chosen)) offset 0) c
    left join lateral (select * from core.connection_gates g where g.partner_id = tenant and g.connection_id = c.id offset 0) g on true
   cross join lateral (
     -- a charger of unknown power counts as 50 kW, as for its sessions; a removed charger counts for the time it was
     -- there
     select coalesce(sum(coalesce(h.power_kw, 50)) filter (where h.status = 'active'), sum(coalesce(h.power_kw, 50))) as kw,
            max(case h.status when 'active' then 'infinity' else h.removed_at end) filter (where h.mid_eligible) as mid_until
       from core.chargers h where h.partner_id = tenant and h.connection_id = c.id) h
   cross join lateral unnest(q.months) m
    join private.months_of(quarter) l on l.period = m.period
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
   cross join lateral (
     -- where the register of an EVSE's meter runs on, all that it counted in the month is in a session, once
     select sum(e.wh) as wh, bool_or(e.gap) as gap
       from (select sum(s.wh) as wh,
                    count(distinct s.meter_id) < 2 and count(*) filter (where s.meter_start_wh = 0) < 2
                    and abs((array_agg(s.meter_end_wh order by s.started_at desc) filter (where s.meter_end_wh is not null))[1]
                            - (array_agg(s.meter_start_wh order by s.started_at) filter (where s.meter_start_wh is not null))[1] - sum(s.wh))
                        > greatest(1000, 0.02 * sum(s.wh)) as gap
               from core.charging_sessions s
               join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
              where s.partner_id = tenant and s.connection_id = c.id and s.month = m.period and s.counted
              group by s.charger_id, s.connector) e) v
    left join lateral (
      -- one that covers the month before one that does not, the newest first
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $function$;

CREATE OR REPLACE FUNCTION private.preview_quarter (
  quarter date,
  partner uuid
)
  RETURNS TABLE (
    slug          text,
    taken         boolean,
    reason        text,
    flags         text[],
    account_id    uuid,
    connection_id uuid,
    ean_code      text,
    period        date,
    kwh           numeric,
    session_count integer,
    source        text,
    ere           numeric
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return query
  select p.slug, j.reason is null, j.reason, j.flags, j.account_id, j.connection_id, j.ean_code, j.period, j.kwh, j.session_count,
         case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end, j.kwh * j.ere_per_kwh
    from core.partners p
    cross join lateral private.judge_quarter(p.id, quarter) j
   where preview_quarter.partner is null or p.id = preview_quarter.partner
  union all
  -- charged, corrected or withdrawn after the month was booked
  select p.slug, false, w.reason, '{}', c.account_id, c.id, c.ean_code, s.month, sum(s.wh) / 1000.0, count(*)::int, 'own_sessions', null
    from core.charging_sessions s
    join core.partners p on p.id = s.partner_id
    join core.connections c on c.partner_id = s.partner_id and c.id = s.connection_id
   cross join lateral (select case when 'withdrawn' = any (s.flags) then 'withdrawn_after_lock' else 'arrived_after_lock' end as reason) w
   where s.month >= quarter and s.month < (quarter + interval '3 months')::date and 'after_lock' = any (s.flags)
     and (preview_quarter.partner is null or p.id = preview_quarter.partner)
   group by p.slug, w.reason, c.account_id, c.id, c.ean_code, s.month;
end $function$;

CREATE OR REPLACE FUNCTION private.standing_charger (
  input jsonb
)
  RETURNS core.chargers
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  charger core.chargers;
begin
  select h.* into charger from core.chargers h
   where h.partner_id = private.partner_id() and h.owner_id = private.client_id() and h.user_id is null
     and case when input ->> 'charger_id' is not null then h.id = (input ->> 'charger_id')::uuid
              else h.id = (select n.charger_id from core.charger_names n
                            where n.partner_id = private.partner_id() and n.owner_id = private.client_id() and n.kind = 'external_ref'
                              and n.value = private.charger_name_value('external_ref', input ->> 'external_ref') and n.ended_at is null and n.party = '') end
     for no key update;
  if not found then
    perform private.refuse('charger_not_found');
  end if;
  return charger;
end $function$;

CREATE OR REPLACE FUNCTION private.tellings (
  session core.charging_sessions
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object(
           'source', e.source, 'external_id', e.external_id, 'received_at', private.iso(e.received_at), 'client_id', e.client_id,
           'request_id', e.request_id, 'upload_id', e.upload_id, 'meter_id', e.meter_id, 'meter_start_wh', e.meter_start_wh,
           'meter_end_wh', e.meter_end_wh, 'end_from', e.end_from, 'signature', e.signature, 'document', e.document,
           'document_sha256', encode(e.document_sha256, 'hex'), 'sent_sha256', encode(e.sent_sha256, 'hex')) order by e.id), '[]')
    from core.charging_evidence e
   where e.partner_id = session.partner_id and e.charger_id = session.charger_id and e.session_id = session.id
$function$;

CREATE OR REPLACE FUNCTION private.why_not_counted (
  session core.charging_sessions,
  mid     boolean,
  month   core.delivered_months
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select case when session.ended_at is null then 'running'
              when not session.flags <@ '{after_lock}' then 'flagged'
              when mid is not true then 'mid'
              when month.delivery_id is not null then 'typed_total'
              when month.status = 'outside_mandate' then 'outside_mandate'
              when session.flags <> '{}' then 'locked' end
$function$;

ALTER TABLE "core"."booking_rows"
  ADD CONSTRAINT "booking_rows_flags_known" CHECK ((flags <@ '{beyond_power,above_average,too_many_sessions,repeated_total,no_sessions,meter_gap,differs_from_sessions}'::text[]));

CREATE INDEX chargers_owner ON core.chargers USING btree (partner_id, owner_id, created_at DESC, id DESC);

COMMENT ON FUNCTION "api"."deliver_charging_sessions"(jsonb, jsonb) IS 'POST /v1/charging-sessions: {sessions, dry_run} to [{place, status, reason?, charging_session_id?, flags?, counted, not_counted?}]. Items as private.deliver_named_sessions takes them.';

COMMENT ON FUNCTION "api"."get_charging_session"(jsonb, jsonb) IS 'GET /v1/charging-sessions/{charging_session_id}: {charging_session_id} to the session.';

COMMENT ON FUNCTION "api"."ingest_months"(jsonb, jsonb) IS 'POST /v1/sessions:batch: {account_id, connection_id, source, periods, total_kwh, session_count, from_sessions, body, body_sha256} to {connection_id, verdicts: {period: verdict}}. Four arrays as Postgres writes them, an entry each month. The first days are distinct; kWh and sessions are null if invalid, or if the month is handed back to its charging sessions (from_sessions). A verdict is ingested, outside_mandate, locked, future_period, bad_kwh or bad_session_count. A bad item is a result, never an exception. One set-based statement.';

COMMENT ON FUNCTION "api"."list_chargers"(jsonb, jsonb) IS 'GET /v1/chargers: {limit, offset, account_id, external_ref} to a page of the client''s chargers, newest first, removed ones too.';

COMMENT ON FUNCTION "api"."list_charging_sessions"(jsonb, jsonb) IS 'GET /v1/charging-sessions: {after, limit, account_id, charger_id, from, to, counted} to {sessions, next_cursor, has_more}. First all that is stored, then what changed, each session as it is now.';

COMMENT ON FUNCTION "api"."list_parked_charging"(jsonb, jsonb) IS 'GET /v1/charging-sessions/parked: {limit, offset} to {parked, names, …}, newest first. names: the 100 most frequent of the 10,000 newest.';

COMMENT ON FUNCTION "api"."register_charger"(jsonb, jsonb) IS 'POST /v1/chargers: {account_id, connection_id, catalog_charger_id | ocpp_vendor, ocpp_model, ocpp_meter_type, serial_number, external_ref, power_kw, evses}. Stores parked sessions that name it.';

COMMENT ON FUNCTION "api"."remove_charger"(jsonb, jsonb) IS 'POST /v1/chargers:remove: {charger_id | external_ref} to {ok, changed, charger_id, removed_at}. What it charged stays and counts. Its names and serial number are free for another.';

COMMENT ON FUNCTION "api"."update_charger"(jsonb, jsonb) IS 'POST /v1/chargers:update: {charger_id | external_ref, external_ref?, power_kw?, evses?} to {ok, sessions_stored, charger}. What is left out stays; null and [] clear.';

COMMENT ON FUNCTION "api"."withdraw_charging_sessions"(jsonb, jsonb) IS 'POST /v1/charging-sessions:withdraw: {session_ids, sent_sha256} to [{session_id, status: withdrawn|unchanged|not_found}]. Ids of the client, or ours, of sessions that it told itself. Refuses with ambiguous_session an id that two chargers have.';

COMMENT ON FUNCTION "ops"."charging_flagged"(jsonb) IS 'Sessions of the last 31 days that no total counts because of a flag, newest first: {partner?, limit?} to {flagged}.';

COMMENT ON FUNCTION "ops"."charging_parked"(jsonb) IS 'Names that sessions wait for, most sessions first: {partner?, limit?} to {parked}.';

COMMENT ON FUNCTION "ops"."charging_show"(jsonb) IS 'A charging session with what its sources said, without signed texts: {session} to {session}.';

REVOKE ALL ON FUNCTION "api"."deliver_charging_sessions"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."deliver_charging_sessions"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."get_charging_session"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."get_charging_session"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."list_chargers"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."list_chargers"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."list_charging_sessions"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."list_charging_sessions"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."list_parked_charging"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."list_parked_charging"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."remove_charger"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."remove_charger"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."update_charger"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."update_charger"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "api"."withdraw_charging_sessions"(jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "api"."withdraw_charging_sessions"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "ops"."charging_flagged"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."charging_flagged"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."charging_parked"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."charging_parked"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."charging_show"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."charging_show"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "private"."charged_in_month"(uuid, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."charged_in_month"(uuid, date) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."charging_cursor"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."charging_cursor"(uuid, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."charging_place"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."charging_place"(uuid, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."client_charger"(core.chargers) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."client_charger"(core.chargers) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."client_session"(core.charging_sessions, core.chargers, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."client_session"(core.charging_sessions, core.chargers, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."delivered_sessions"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."delivered_sessions"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."standing_charger"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."standing_charger"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."tellings"(core.charging_sessions) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."tellings"(core.charging_sessions) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."why_not_counted"(core.charging_sessions, boolean, core.delivered_months) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."why_not_counted"(core.charging_sessions, boolean, core.delivered_months) TO "api_owner";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
    union all
    select p.external_id, p.id, true
      from core.parked_charging p
     where p.partner_id = private.partner_id() and p.owner_id = private.client_id() and p.source = 'api' and p.external_id = any (told)
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
       and (p.external_id = any (told) or p.id = any (array(select private.as_uuid(t) from unnest(told) t)))
    returning p.external_id, p.id::text
  )
  select array_agg(d.external_id) || array_agg(d.id) into freed from deleted d;
  return (
    select json_agg(json_build_object('session_id', t.told, 'status', case
             when t.told = any (freed) or (known ->> t.told)::uuid = any (gone) then 'withdrawn'
             when known ? t.told then 'unchanged' else 'not_found' end) order by t.place)
      from jsonb_array_elements_text(input -> 'session_ids') with ordinality as t (told, place));
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
     order by p.received_at, p.id for update skip locked);
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
   where f.charger_id is not null and p.reason <> 'no_times';
  gone := array(select (r ->> 'place')::int from jsonb_array_elements(private.ingest_charging_sessions(ready)) r where r ->> 'status' <> 'rejected');
  delete from core.parked_charging p where p.partner_id = private.partner_id() and p.id = any (array(select (parked[g]).id from unnest(gone) g));
  update core.parked_charging p set judge_at = null, reason = case p.reason when 'no_times' then p.reason else coalesce(f.reason, p.reason) end
    from unnest(found) f
   where p.partner_id = private.partner_id() and p.id = (parked[f.place]).id and f.place <> all (gone);
  return cardinality(gone);
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
  -- by their order, so that what was found lies beside what was sent
  wanted := array(
    select row(i.n, i.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id)::private.named_charger
      from rows from (jsonb_to_recordset(sessions) as (
             party text, started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text, evse_id text, meter_id text))
           with ordinality as i (party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id, n));
  found := array(select f from private.find_chargers(owner, wanted) f);
  sent := array(select r from private.read_charging_sessions(sessions, shared, found) r);
  results := private.store_charging_sessions(sent);
  if exists (select from unnest(found) f where f.reason is not null) then
    with missed as materialized (
      select s.item, s.reason, coalesce(s.party, '') as party, n.names,
             s.reason in ('unknown_charger', 'charger_removed') and n.names is distinct from array['charger_id:' || upper(s.charger_id::text)] as waits
        from rows from (jsonb_array_elements(sessions), unnest(found), unnest(wanted))
             as s (item, place, found_id, evse_no, reason, n, party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id)
       cross join lateral (
         select array_agg(t.kind || ':' || t.value order by t.rank) as names
           from private.names_told(row(s.n, s.party, null, s.charger_id, s.external_ref, s.serial_number, s.evse_uid, s.evse_id, s.meter_id)::private.named_charger) t) n
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

CREATE INDEX parked_charging_external_id ON core.parked_charging USING btree (partner_id, owner_id, external_id, source);

COMMENT ON COLUMN "core"."parked_charging"."told_as" IS 'By what the source knows it: its id, with a hash of its names if the id is the charger''s only; or its names and start.';

update core.parked_charging set told_as = external_id || ' ' || md5(array_to_string(names, ' ')) where source = 'api' and external_id is not null;

commit;

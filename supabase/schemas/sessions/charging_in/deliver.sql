-- Sessions that name their charger: they are stored where we know it, and parked where we do not.

create function private.names_parked(owner uuid, told text[]) returns text[]
language plpgsql stable security definer
as $$
begin
  return array(
    select t from unnest(told) t
     where exists (select from core.parked_charging p where p.names @> array[t] and p.partner_id = private.partner_id()
                   and p.owner_id = owner));
end $$;
comment on function private.names_parked(uuid, text[]) is
  'Which of these names parked sessions of a client have. Definer, because row-level security keeps the index on names '
  'from being used.';

create function private.parked_by_name(owner uuid, told text[], size int) returns uuid[]
language plpgsql stable security definer
as $$
begin
  return array(
    select p.id from core.parked_charging p
     where p.names && told and p.partner_id = private.partner_id() and p.owner_id = owner
     order by p.received_at, p.id limit size);
end $$;
comment on function private.parked_by_name(uuid, text[], int) is
  'The parked sessions of a client with one of these names, oldest first. Definer, because row-level security keeps '
  'the index on names from being used.';

-- Parks sessions of a client, one each told_as and source, and tells its log of names that were not parked before. At
-- most 200,000 a client: parked_limit.
create function private.park_charging(owner uuid, parked core.parked_charging[]) returns void
language plpgsql
as $$
declare
  told text[] := array(select distinct n from unnest(parked) p cross join lateral unnest(p.names) n);
  news text[];
begin
  if cardinality(parked) = 0 then
    return;
  elsif (select count(*) from (
           select from core.parked_charging p where p.partner_id = private.partner_id()
               and p.owner_id = owner limit 200000) p) + cardinality(parked) > 200000 then
    perform private.refuse('parked_limit');
  end if;
  news := array(select n from unnest(told) n except select unnest(private.names_parked(owner, told)) order by 1);
  insert into core.parked_charging as p (partner_id, owner_id, source, told_as, external_id, party, names, item,
                                         reason, judge_at)
  -- the worker looks again in a minute, because somebody may be storing a name of the charger now
  select private.partner_id(), owner, n.source, n.told_as, n.external_id, n.party, n.names, n.item, n.reason,
      private.now() + interval '1 minute'
    from unnest(parked) n order by n.told_as, n.source
  on conflict on constraint parked_charging_told_key do update
     set names = excluded.names, item = excluded.item, reason = excluded.reason, received_at = excluded.received_at,
         judge_at = excluded.judge_at
   where (p.names, p.item, p.reason) is distinct from (excluded.names, excluded.item, excluded.reason);
  if news <> '{}' then
    perform private.append_event(private.partner_id(), owner, 'charging.parked', null, jsonb_build_object(
      'names', (select jsonb_agg(jsonb_build_object('kind', split_part(n, ':', 1),
                                                    'value', substr(n, strpos(n, ':') + 1))) from unnest(news[:20]) n),
      'name_count', cardinality(news)));
  end if;
end $$;

-- Stores sessions of a client's chargers, of any source: items as private.read_charging_sessions takes them, with
-- place, names (charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id; party) and evse_no in place of
-- charger and connector, and external_id null where EVSE and start identify it. shared is part of each item:
-- sent_sha256, upload_id. status may be parked too.
create function private.store_named_sessions(owner uuid, sessions jsonb,
                                             shared jsonb) returns private.charging_session_result[]
language plpgsql
set plan_cache_mode = 'force_generic_plan'  -- one session: else 7.5 ms instead of 4.5
as $$
declare
  wanted  private.named_charger[];
  found   private.found_charger[];
  sent    private.charging_session_item[];
  waiting core.parked_charging[];
  results private.charging_session_result[];
begin
  perform private.hold_names(owner);
  -- in the order of sessions, so that the n-th charger we find belongs to the n-th session
  wanted := array(
    select row(i.n, i.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id,
               i.meter_id, i.ended_at)::private.named_charger
      from rows from (jsonb_to_recordset(sessions) as (
             party text, started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text,
                 evse_id text, meter_id text,
             ended_at timestamptz))
           with ordinality as i (party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id,
                                 meter_id, ended_at, n));
  found := array(select f from private.find_chargers(owner, wanted) f);
  sent := array(select r from private.read_charging_sessions(sessions, shared, found) r);
  results := private.store_charging_sessions(sent);
  if exists (select from unnest(found) f where f.reason is not null) then
    with missed as materialized (
      select s.item, s.reason, coalesce(s.party, '') as party, n.names,
             s.reason in ('unknown_charger', 'charger_removed')
                 and n.names is distinct from array['charger_id:' || upper(s.charger_id::text)] as waits
        from rows from (jsonb_array_elements(sessions), unnest(found), unnest(wanted))
             as s (item, place, found_id, evse_no, reason, moved, n, party, started_at, charger_id, external_ref,
                   serial_number, evse_uid, evse_id, meter_id, ended_at)
       cross join lateral (
         select array_agg(t.kind || ':' || t.value order by t.rank) as names
           from private.names_told(row(s.n, s.party, null, s.charger_id, s.external_ref, s.serial_number, s.evse_uid,
                                       s.evse_id, s.meter_id, null)::private.named_charger) t) n
       where s.reason is not null
    ), told as (
      select m.*, m.item ->> 'source' as source, m.item ->> 'external_id' as external_id,
          (m.item ->> 'place')::int as place,
             -- two chargers may use the same session_id, so we add their names; the id of a CDR already names its party
             case when m.item ->> 'external_id' is null then concat_ws(' ', array_to_string(m.names, ' '),
                                                                       m.item ->> 'evse_no', m.item ->> 'started_at')
                  when m.item ->> 'source' = 'ocpi' then m.item ->> 'external_id'
                  else (m.item ->> 'external_id') || ' ' || md5(array_to_string(m.names, ' ')) end as told_as
        from missed m
    )
    select array(
             -- items with the same told_as, or the same id and start, are one session: the last item counts
             select distinct on (t.source, coalesce(t.external_id, t.told_as), t.item ->> 'started_at')
                    row(null, null, owner, t.source, t.told_as, t.external_id, t.party, t.names,
                        (t.item - 'place') || shared || jsonb_strip_nulls(jsonb_build_object(
                          'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))),
                              t.reason, null, null)::core.parked_charging
               from (select distinct on (t.source, t.told_as) t.* from told t where t.waits order by t.source,
                     t.told_as, t.place desc) t
              order by t.source, coalesce(t.external_id, t.told_as), t.item ->> 'started_at', t.place desc),
           results || array(
             select row(t.place, (t.item ->> 'sheet_row')::int, t.external_id,
                        case when t.waits then 'parked' else 'rejected' end, t.reason,
                        null)::private.charging_session_result
               from told t)
      into waiting, results;
    perform private.park_charging(owner, waiting);
  end if;
  if exists (select from unnest(found) f where f.moved) then
    results := array(
      select row(r.place, r.sheet_row, r.told_id, r.status, coalesce(r.reason, m.reason),
                 r.session)::private.charging_session_result
        from unnest(results) r
        left join (select (s.item ->> 'place')::int as place, 'name_moved' as reason
                     from rows from (jsonb_array_elements(sessions), unnest(found)) as s (item, place, charger_id,
                         evse_no, reason, moved)
                    where s.moved and s.reason is null) m on m.place = r.place);
  end if;
  -- a session with the same id and start, parked under other names, has these names now
  if exists (select from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner) then
    delete from core.parked_charging p
     using (select i.source, i.external_id, i.started_at from unnest(sent) i
            union all
            select w.source, w.external_id, (w.item ->> 'started_at')::timestamptz from unnest(waiting) w) i
     where p.partner_id = private.partner_id() and p.owner_id = owner and p.source = i.source
         and p.external_id = i.external_id
       and (p.source = 'ocpi' or (p.item ->> 'started_at')::timestamptz = i.started_at)
       and p.told_as <> all (array(select w.told_as from unnest(waiting) w));
  end if;
  return results;
end $$;

-- private.store_named_sessions to private.charging_results.
create function private.deliver_named_sessions(owner uuid, sessions jsonb) returns jsonb
language plpgsql
as $$ begin return private.charging_results(private.store_named_sessions(owner, sessions, '{}')); end $$;

-- Looks for the chargers of parked sessions again, and stores what it finds. Returns how many are parked no more.
create function private.judge_parked(owner uuid, chosen uuid[]) returns int
language plpgsql
as $$
declare
  parked core.parked_charging[];
  found  private.found_charger[];
  ready  jsonb;
  gone   int[];
begin
  perform private.hold_names(owner);
  parked := array(
    select p from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner
        and p.id = any (chosen)
     order by p.received_at, p.id for update skip locked);
  found := array(
    select f from private.find_chargers(owner, array(
      select row(p.place, p.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id,
                 i.meter_id, i.ended_at)::private.named_charger
        from (select g.place, (parked[g.place]).* from generate_subscripts(parked, 1) g (place)) p
       cross join lateral jsonb_to_record(p.item) as i (started_at timestamptz, charger_id uuid, external_ref text,
                                                        serial_number text, evse_uid text,
                                                        evse_id text, meter_id text, ended_at timestamptz))) f);
  select coalesce(jsonb_agg(p.item || jsonb_build_object(
           'place', f.place, 'charger_id', f.charger_id, 'connector', c.evse_no,
           'external_id', coalesce(p.external_id, c.evse_no || '@' || (p.item ->> 'started_at')))), '[]') into ready
    from unnest(found) f
   cross join lateral (select (parked[f.place]).*) p
   cross join lateral (select coalesce(f.evse_no, (p.item ->> 'evse_no')::int, 1) as evse_no) c
   where f.charger_id is not null and p.reason <> 'no_times';
  -- a session that was stored after this one was parked stays as it is
  gone := array(
    select (i.item ->> 'place')::int
      from jsonb_array_elements(ready) i (item)
      join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (i.item ->> 'charger_id')::uuid
            and s.source = i.item ->> 'source'
       and s.external_id = i.item ->> 'external_id'
           and s.received_at > (parked[(i.item ->> 'place')::int]).received_at);
  ready := coalesce((select jsonb_agg(i.item) from jsonb_array_elements(ready) i (item)
                     where (i.item ->> 'place')::int <> all (gone)), '[]');
  gone := gone || array(
    select (r ->> 'place')::int from jsonb_array_elements(private.ingest_charging_sessions(ready)) r
     where r ->> 'status' <> 'rejected');
  delete from core.parked_charging p where p.partner_id = private.partner_id()
      and p.id = any (array(select (parked[g]).id from unnest(gone) g));
  update core.parked_charging p set judge_at = null, reason = case p.reason when 'no_times' then p.reason
                                                                   else coalesce(f.reason, p.reason) end
    from unnest(found) f
   where p.partner_id = private.partner_id() and p.id = (parked[f.place]).id and f.place <> all (gone);
  return cardinality(gone);
end $$;

-- Judges the parked sessions with one of these names, kind:value, again: a thousand now, the rest by the worker.
create function private.free_parked(owner uuid, told text[]) returns int
language plpgsql
as $$
declare
  chosen constant uuid[] := private.parked_by_name(owner, told, 1001);
begin
  if cardinality(chosen) > 1000 then
    update core.parked_charging p set judge_at = private.now()
     where p.partner_id = private.partner_id() and p.id = any (private.parked_by_name(owner, told, 200000));
  end if;
  return private.judge_parked(owner, chosen[:1000]);
end $$;

-- The clients that have parked sessions that are due, each found by one look into the index.
create function private.clients_with_due_parked() returns table (partner_id uuid, owner_id uuid)
language plpgsql stable
as $$
begin
  return query
  with recursive client as (
    (select p.partner_id, p.owner_id from core.parked_charging p
      where p.judge_at is not null order by p.partner_id, p.owner_id limit 1)
    union all
    select n.partner_id, n.owner_id
      from client c
     cross join lateral (
       select p.partner_id, p.owner_id from core.parked_charging p
        where p.judge_at is not null and (p.partner_id, p.owner_id) > (c.partner_id, c.owner_id)
        order by p.partner_id, p.owner_id limit 1) n)
  select c.partner_id, c.owner_id from client c;
end $$;

-- Judges parked sessions of a client that are due, longest due first, a thousand at most. Returns how many it stored.
create function private.judge_due_parked(partner uuid, owner uuid) returns bigint
language plpgsql
as $$
declare
  stored bigint;
begin
  -- the client itself may hold its names; others wait for no more than a second of it
  perform set_config('lock_timeout', '1s', true), private.set_tenant_and_see_all(partner);
  stored := private.judge_parked(owner, array(
    select p.id from core.parked_charging p
     where p.partner_id = partner and p.owner_id = owner and p.judge_at <= private.now()
     order by p.judge_at limit 1000));
  perform private.set_tenant(null);
  return stored;
end $$;

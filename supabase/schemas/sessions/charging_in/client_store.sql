-- Sessions that name their charger: they are stored where we know it, and parked where we do not.

create function private.names_parked(owner uuid, wanted text[]) returns text[]
language plpgsql stable security definer
as $$
begin
  return array(
    select t from unnest(wanted) t
     where exists (select from core.parked_charging p where p.names @> array[t] and p.partner_id = private.partner_id()
                   and p.owner_id is not distinct from owner));
end $$;
comment on function private.names_parked(uuid, text[]) is
  'Which of these names parked sessions of a client have. Definer, because row-level security keeps the index on names '
  'from being used.';

create function private.parked_by_name(owner uuid, wanted text[], size int, past core.parked_charging default null)
  returns uuid[]
language plpgsql stable security definer
as $$
begin
  return array(
    select p.id from core.parked_charging p
     where p.names && wanted and p.partner_id = private.partner_id() and p.owner_id is not distinct from owner
       and (past.id is null or p.retry_at is null and (p.received_at, p.id) > (past.received_at, past.id))
     order by p.received_at, p.id limit size);
end $$;
comment on function private.parked_by_name(uuid, text[], int, core.parked_charging) is
  'The parked sessions of a client with one of these names, oldest first. With past: those after it that are not due. '
  'Definer, because row-level security keeps the index on names from being used.';

create function private.count_parked(owner uuid) returns bigint
language plpgsql stable security definer
as $$
begin
  return (
    select count(*) from (
      select from core.parked_charging p
       where p.owner_id = owner and exists (
         select from core.oauth_clients c where c.partner_id = private.partner_id() and c.id = owner) limit 200000) p);
end $$;
comment on function private.count_parked(uuid) is
  'How many sessions of a client are parked, 200,000 at most. Definer, because row-level security reads each row, '
  'which takes ten times as long as the index.';

-- Parks sessions that were not stored: [{n, source, known_as, external_id?, party?, names, item, reason}], one each
-- known_as and source, and tells the client's log of names that were not parked before. Refuses with parked_limit what
-- exceeds 200,000 a client, or the client's quota of evidence: what is parked keeps its words.
create function private.park_sessions(owner uuid, parked jsonb) returns void
language plpgsql
as $$
declare
  sent constant text[] := array(
    select distinct n from jsonb_to_recordset(parked) as p (names text[]) cross join lateral unnest(p.names) n);
  news text[];
  told bigint;
begin
  -- the words that they replace are no longer kept
  told := (
    select sum(greatest(octet_length(n.item::text) - coalesce(k.size, 0), 0))
      from jsonb_to_recordset(parked) as n (source text, known_as text, item jsonb)
      left join lateral (
        select octet_length(p.item::text) as size from core.parked_charging p
         where p.partner_id = private.partner_id() and p.owner_id is not distinct from owner
           and p.known_as = n.known_as and p.source = n.source limit 1) k on true);
  if told > 0 and told > (select r.bytes from private.evidence_room(owner) r)
     or private.count_parked(owner) + jsonb_array_length(parked) > 200000 then
    perform private.refuse('parked_limit');
  end if;
  perform private.count_evidence(told, owner) where told > 0;
  news := array(select n from unnest(sent) n except select unnest(private.names_parked(owner, sent)) order by 1);
  insert into core.parked_charging as p (partner_id, owner_id, source, known_as, external_id, party, names, item,
                                         reason, retry_at)
  -- the worker looks again in a minute, because somebody may be storing a name of the charger now
  select private.partner_id(), owner, n.source, n.known_as, n.external_id, coalesce(n.party, ''), n.names, n.item,
         n.reason, private.now() + interval '1 minute'
    from jsonb_to_recordset(parked) as n (source text, known_as text, external_id text, party text, names text[],
                                          item jsonb, reason text)
   order by n.known_as, n.source
  on conflict on constraint parked_charging_known_as_key do update
     set names = excluded.names, item = excluded.item, reason = excluded.reason, received_at = excluded.received_at,
         retry_at = excluded.retry_at
   where (p.names, p.item, p.reason) is distinct from (excluded.names, excluded.item, excluded.reason);
  if news <> '{}' then
    perform private.append_event(private.partner_id(), owner, 'charging.parked', null, jsonb_build_object(
      'names', (select jsonb_agg(jsonb_build_object('kind', split_part(n, ':', 1),
                                                    'value', substr(n, strpos(n, ':') + 1))) from unnest(news[:20]) n),
      'name_count', cardinality(news)));
  end if;
end $$;

-- Items whose id stands for another charge of the charger, stored, parked or earlier in the batch, and when that one
-- began. The same charge is at the same EVSE, where both name one, and begins within 3 hours of it or overlaps it.
create function private.reused_ids(owner uuid, items jsonb, resolved jsonb) returns table (n int, began timestamptz)
language plpgsql stable
set plan_cache_mode = 'force_generic_plan'
set enable_seqscan = off  -- as private.store_sessions
as $$
#variable_conflict use_column
begin
  return query
  with sent as materialized (
    select e.n::int as n, f.charger_id, f.names, f.waits, i.external_id, coalesce(f.evse_no, i.evse_no) as evse,
           private.as_moment(i.started_at) as began, private.as_moment(i.ended_at) as ended
      from jsonb_array_elements(items) with ordinality e (item, n)
     cross join lateral jsonb_to_record(e.item) as i (source text, external_id text, evse_no int, started_at text,
                                                      ended_at text)
      join jsonb_to_recordset(resolved) as f (n int, charger_id uuid, evse_no int, names text[], reason text,
                                              waits boolean) on f.n = e.n
     where i.source = 'api' and (f.reason is null or f.waits)
  ), known as (
    select t.n, t.evse, t.began, t.ended, coalesce(s.started_at, p.began, first_value(t.began) over same) as old_began,
           case when s.id is not null then s.ended_at when p.began is not null then p.ended
                else first_value(t.ended) over same end as old_ended,
           case when s.id is not null then case when not s.evse_assumed or s.connector > 1 then s.connector end
                when p.began is not null then p.evse else first_value(t.evse) over same end as old_evse
      from sent t
      left join lateral (
        -- a client may send again what it withdrew
        select * from core.charging_sessions s
         where not t.waits and s.partner_id = private.partner_id()
           and s.id = private.session_id(t.charger_id, 'api', t.external_id) and not 'withdrawn' = any (s.flags)
         limit 1) s on true
      left join lateral (
        select private.as_moment(p.item ->> 'started_at') as began, private.as_moment(p.item ->> 'ended_at') as ended,
               (p.item ->> 'evse_no')::int as evse
          from core.parked_charging p
         where t.waits and p.partner_id = private.partner_id() and p.owner_id is not distinct from owner
           and p.source = 'api'
           and p.known_as = t.external_id || ' ' || md5(array_to_string(t.names, ' '))
         limit 1) p on true
    window same as (partition by t.external_id, t.charger_id, t.names order by t.n)  -- the id differs first
  )
  select k.n, k.old_began from known k
   where k.evse <> k.old_evse
      or k.began not between k.old_began - interval '3 hours' and k.old_began + interval '3 hours'
         and not (k.began < coalesce(k.old_ended, k.old_began) and coalesce(k.ended, k.began) > k.old_began);
end $$;

-- Items of a file without their ids. One whose EVSE and start match a session of an earlier file gets that session's
-- id; the others get none.
create function private.by_evse_and_start(items jsonb, resolved jsonb) returns jsonb
language sql stable
as $$
  select jsonb_agg((e.item - 'external_id') || case when s.source = 'api'
             then jsonb_build_object('source', 'api', 'external_id', s.external_id)
             else '{"source": "file"}' end order by e.n)
    from jsonb_array_elements(items) with ordinality e (item, n)
    left join jsonb_to_recordset(resolved) as f (n int, charger_id uuid, evse_no int) on f.n = e.n
    left join lateral (
      select s.source, s.external_id from core.charging_sessions s
       where s.charger_id = f.charger_id and s.started_at = private.as_moment(e.item ->> 'started_at')
         and s.partner_id = private.partner_id() and s.source in ('api', 'file')
         and s.connector = coalesce(f.evse_no, (e.item ->> 'evse_no')::int, 1)
         and exists (select from core.charging_evidence v where v.session_id = s.id and v.upload_id is not null)
       order by s.source desc limit 1) s on true
$$;

-- Stores sessions of a client's chargers, of any source: items as private.read_sessions takes them, with names
-- (charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id; party) and evse_no in place of charger and
-- connector, and external_id null where EVSE and start identify it. shared is part of each item: sent_sha256,
-- upload_id. ids_ignored in shared: of a file whose ids stand for several charges. Answers as private.store_sessions;
-- status may be parked too. stored_began: when the charge began that has the id of an item that is refused for it.
create function private.store_client_sessions(owner uuid, items jsonb, shared jsonb default '{}')
returns table (place int, sheet_row int, source_id text, status text, reason text, charger_id uuid, session_id uuid,
               flags text[], stored_began timestamptz)
language plpgsql
as $$
#variable_conflict use_column
declare
  resolved  jsonb;
  reused jsonb;
  parked jsonb;
begin
  perform private.hold_names(owner);
  resolved := (select jsonb_agg(to_jsonb(f) order by f.n) from private.resolve_chargers(owner, items) f);
  -- a platform's CDRs have ids of their own rules
  if items -> 0 ->> 'source' <> 'ocpi' then
    reused := (select jsonb_object_agg(u.n, u.began) from private.reused_ids(owner, items, resolved) u);
  end if;
  if shared ? 'ids_ignored' or reused is not null and shared ? 'upload_id' then
    items := private.by_evse_and_start(items, resolved);
  elsif reused is not null then
    resolved := (
      select jsonb_agg(f.row || case when reused ? (f.row ->> 'n') then jsonb_build_object(
                'reason', 'session_id_reused', 'waits', false, 'stored_began', reused -> (f.row ->> 'n'))
              else '{}' end)
        from jsonb_array_elements(resolved) f (row));
  end if;
  if resolved @> '[{"waits": true}]' then
    with missed as (
      select f.n, f.reason, f.names, e.item, e.item ->> 'source' as source, e.item ->> 'external_id' as external_id,
             -- two chargers may use the same session id, so we add their names; the id of a CDR already names its party
             case when e.item ->> 'external_id' is null then concat_ws(' ', array_to_string(f.names, ' '),
                                                                       e.item ->> 'evse_no', e.item ->> 'started_at')
                  when e.item ->> 'source' = 'ocpi' then e.item ->> 'external_id'
                  else (e.item ->> 'external_id') || ' ' || md5(array_to_string(f.names, ' ')) end as known_as
        from jsonb_to_recordset(resolved) as f (n int, names text[], reason text, waits boolean)
        join jsonb_array_elements(items) with ordinality e (item, n) on e.n = f.n
       where f.waits
    ), last as (
      -- items with the same known_as are one session, and those with the same id and start that share a name: the last
      -- item counts. Without a shared name they may be of two chargers.
      select distinct on (m.source, m.known_as) m.* from missed m
       where not exists (
         select from missed l
          where l.source = m.source and l.external_id = m.external_id and l.names && m.names and l.n > m.n
            and l.item ->> 'started_at' = m.item ->> 'started_at')
       order by m.source, m.known_as, m.n desc
    )
    select jsonb_agg(jsonb_build_object(
             'source', l.source, 'known_as', l.known_as, 'external_id', l.external_id, 'party', l.item -> 'party',
             'names', l.names, 'reason', l.reason,
             'item', (l.item - 'place') || shared || jsonb_strip_nulls(jsonb_build_object(
               'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), '')))))
      into parked from last l;
  end if;
  return query
  select r.place, r.sheet_row, r.source_id, case when f.waits then 'parked' else r.status end, r.reason, r.charger_id,
         r.session_id, r.flags, f.stored_began
    from private.store_sessions(items, shared, resolved) with ordinality
           r (place, sheet_row, source_id, status, reason, charger_id, session_id, flags, n)
    left join jsonb_to_recordset(resolved) as f (n int, waits boolean, stored_began timestamptz) on f.n = r.n
   order by r.n;
  if parked is not null then
    perform private.park_sessions(owner, parked);
  end if;
  -- a session with the same id and start, parked under other names, has these names now
  if exists (select from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner) then
    delete from core.parked_charging p
     where p.partner_id = private.partner_id() and p.id = any (array(
       select k.id
         from jsonb_array_elements(items) with ordinality e (item, n)
         join jsonb_to_recordset(resolved) as f (n int, reason text, waits boolean) on f.n = e.n
        cross join lateral (
          select k.* from core.parked_charging k
           where k.partner_id = private.partner_id() and k.owner_id is not distinct from owner
             and k.source = e.item ->> 'source' and k.external_id = e.item ->> 'external_id' limit 1000) k
        where (f.reason is null or f.waits)
          and (k.source = 'ocpi'
               or private.as_moment(k.item ->> 'started_at') = private.as_moment(e.item ->> 'started_at'))
          and k.known_as <> all (array(select w.known_as from jsonb_to_recordset(parked) as w (known_as text)))));
  end if;
end $$;

-- Looks for the chargers of parked sessions again, and stores what it finds. Returns how many are parked no more.
create function private.retry_parked(owner uuid, chosen uuid[]) returns int
language plpgsql
set enable_seqscan = off  -- as private.store_sessions
as $$
declare
  parked jsonb;
  resolved  jsonb;
  ready  jsonb;
  gone   uuid[];
begin
  perform private.hold_names(owner);
  select jsonb_agg(p.item || jsonb_build_object('id', p.id, 'parked_at', p.received_at, 'stays', p.reason = 'no_times',
                                                'external_id', p.external_id, 'party', p.party, 'names', p.names)
                   order by p.received_at, p.id) into parked
    from (select p.* from core.parked_charging p
           where p.partner_id = private.partner_id() and p.owner_id is not distinct from owner and p.id = any (chosen)
           order by p.received_at, p.id for update skip locked) p;
  resolved := (select jsonb_agg(to_jsonb(f) order by f.n) from private.resolve_chargers(owner, parked) f);
  with known as (
    select i.item, (i.item ->> 'id')::uuid as id, f.charger_id,
           coalesce(f.evse_no, (i.item ->> 'evse_no')::int) as evse_no
      from jsonb_array_elements(parked) with ordinality i (item, n)
      join jsonb_to_recordset(resolved) as f (n int, charger_id uuid, evse_no int) on f.n = i.n
     where f.charger_id is not null and not (i.item ->> 'stays')::boolean
  ), named as (
    select k.*, coalesce(k.item ->> 'external_id',
                         coalesce(k.evse_no, 1) || '@' || (k.item ->> 'started_at')) as external_id from known k
  ), meant as materialized (  -- else each reads the whole index
    select n.*, private.session_id(n.charger_id, n.item ->> 'source', n.external_id) as session_id from named n
  ), late as materialized (
    -- a session that was stored after this one was parked stays as it is
    select m.*, s.received_at is not null as stored_since
      from meant m
      left join lateral (
        select s.received_at from core.charging_sessions s
         where s.partner_id = private.partner_id() and s.id = m.session_id
           and s.received_at > (m.item ->> 'parked_at')::timestamptz limit 1) s on true
  )
  select array_agg(l.id) filter (where l.stored_since),
         jsonb_agg(l.item || jsonb_build_object('charger_id', l.charger_id, 'evse_no', l.evse_no,
                                                'external_id', l.external_id, 'id', l.id))
           filter (where not l.stored_since)
    into gone, ready from late l;
  if ready is not null then
    gone := gone || array(
      select (ready -> (r.n::int - 1) ->> 'id')::uuid
        from private.store_sessions(ready, '{"counted": true}') with ordinality
               r (place, sheet_row, source_id, status, reason, charger_id, session_id, flags, n)
       where r.status <> 'rejected');
  end if;
  delete from core.parked_charging p where p.partner_id = private.partner_id() and p.id = any (gone);
  update core.parked_charging p
     set retry_at = null, reason = case p.reason when 'no_times' then p.reason else coalesce(f.reason, p.reason) end
    from jsonb_array_elements(parked) with ordinality i (item, n)
    join jsonb_to_recordset(resolved) as f (n int, reason text) on f.n = i.n
   where p.partner_id = private.partner_id() and p.id = any (chosen) and p.id = (i.item ->> 'id')::uuid;
  return coalesce(cardinality(gone), 0);
end $$;

-- Stores the parked sessions with one of these names, kind:value: a thousand now, the rest by the worker. 10,000 are
-- due at once: of 200,000 the mark alone takes longer than a statement may. The worker marks the next ones.
create function private.store_parked(owner uuid, wanted text[]) returns int
language plpgsql
as $$
declare
  chosen constant uuid[] := private.parked_by_name(owner, wanted, 1001);
begin
  if cardinality(chosen) > 1000 then
    update core.parked_charging p set retry_at = private.now()
     where p.partner_id = private.partner_id() and p.id = any (private.parked_by_name(owner, wanted, 10000));
  end if;
  return private.retry_parked(owner, chosen[:1000]);
end $$;

-- The clients that have parked sessions that are due, each found by one look into the index.
create function private.clients_with_due_parked() returns table (partner_id uuid, owner_id uuid)
language plpgsql stable
as $$
begin
  return query
  with recursive client as (
    (select p.partner_id, p.owner_id from core.parked_charging p
      where p.retry_at is not null and p.reason <> 'unreadable' order by p.partner_id, p.owner_id limit 1)
    union all
    select n.partner_id, n.owner_id
      from client c
     cross join lateral (
       select p.partner_id, p.owner_id from core.parked_charging p
        where p.retry_at is not null and p.reason <> 'unreadable'
          and (p.partner_id, p.owner_id) > (c.partner_id, c.owner_id)
        order by p.partner_id, p.owner_id limit 1) n)
  select c.partner_id, c.owner_id from client c;
end $$;

-- Tries parked sessions of a client that are due, longest due first, a thousand at most. Returns how many it stored.
create function private.retry_due_parked(partner uuid, owner uuid) returns bigint
language plpgsql
as $$
declare
  chosen uuid[];
  told   text[];
  last   core.parked_charging;
  stored bigint;
begin
  -- the client itself may hold its names; others wait for no more than a second of it
  perform set_config('lock_timeout', '1s', true), private.set_tenant_and_see_all(partner);
  chosen := array(
    select p.id from core.parked_charging p
     where p.partner_id = partner and p.owner_id = owner and p.retry_at <= private.now()
       and p.reason <> 'unreadable'
     order by p.retry_at, p.received_at, p.id limit 1000);
  select p.* into last from core.parked_charging p
   where p.partner_id = partner and p.id = any (chosen) order by p.received_at desc, p.id desc limit 1;
  told := array(select distinct n from core.parked_charging p cross join unnest(p.names) n
                 where p.partner_id = partner and p.id = any (chosen));
  stored := private.retry_parked(owner, chosen);
  -- those of their names that came after them may be stored too; it ends with the last, as none is looked at twice
  if stored > 0 or cardinality(chosen) = 1000 then
    update core.parked_charging p set retry_at = private.now()
     where p.partner_id = partner and p.id = any (private.parked_by_name(owner, told, 1000, last));
  end if;
  perform private.set_tenant(null);
  return stored;
end $$;

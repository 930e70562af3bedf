-- /v1/charging-sessions: a CPO client delivers, takes back and reads its charging sessions.

-- Why a session is not in its month's total now: running, flagged, mid, typed_total, outside_mandate, locked. Null if
-- it is.
create function private.why_not_counted(session core.charging_sessions, mid boolean,
                                        month core.delivered_months) returns text
language sql immutable
return case when session.ended_at is null then 'running'
            when not session.flags <@ '{after_lock}' then 'flagged'
            when mid is not true then 'mid'
            when month.delivery_id is not null then 'typed_total'
            when month.status = 'outside_mandate' then 'outside_mandate'
            when session.flags <> '{}' then 'locked' end;

create function api.store_charging_sessions(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  answer json;
begin
  perform private.act_as(caller, 'cpo');
  begin
    select coalesce(json_agg(json_strip_nulls(json_build_object(
             'place', r.place, 'status', r.status, 'reason', r.reason,
             'stored_started_at', private.iso(r.stored_began), 'charging_session_id', r.charging_session_id,
             'flags', r.flags, 'counted', r.counted, 'not_counted', r.not_counted)) order by r.place), '[]') into answer
      from private.stored_sessions(input -> 'sessions',
                                   jsonb_build_object('sent_sha256', input -> 'sent_sha256')) r;
    if (input ->> 'dry_run')::boolean then
      raise exception using errcode = 'DRY01';
    end if;
  exception when sqlstate 'DRY01' then
    null;  -- it was judged by storing it, and is undone
  end;
  return answer;
end $$;
comment on function api.store_charging_sessions(jsonb, jsonb) is
  'POST /v1/charging-sessions: {sessions, sent_sha256, dry_run} to [{place, status, reason?, stored_started_at?, '
  'charging_session_id?, flags?, counted, not_counted?}]. Items as private.store_client_sessions takes them.';
grant execute on function api.store_charging_sessions(jsonb, jsonb) to edge_slow;

-- Stores sessions of the client that acts, and answers in the words of the API.
create function private.stored_sessions(items jsonb, shared jsonb)
returns table (place int, sheet_row int, source_id text, status text, reason text, charging_session_id uuid,
               flags text[], counted boolean, not_counted text, stored_began timestamptz)
language plpgsql
as $$
#variable_conflict use_column
declare
  results jsonb;
begin
  results := (select jsonb_agg(to_jsonb(r))
                from private.store_client_sessions(private.client_id(), items, shared) r);
  return query
  select r.place, r.sheet_row, r.source_id, case r.status when 'rejected' then 'invalid' else r.status end, r.reason,
         r.session_id, r.flags, r.session_id is not null and w.why is null and r.status <> 'superseded', w.why,
         r.stored_began
    from jsonb_to_recordset(results) as r (place int, sheet_row int, source_id text, status text, reason text,
                                           charger_id uuid, session_id uuid, flags text[],
                                           stored_began timestamptz)
    left join lateral (
      select private.why_not_counted(s, (
               select h.mid_eligible from core.chargers h where h.partner_id = s.partner_id and h.id = s.charger_id),
             d) as why
        from core.charging_sessions s
        left join core.delivered_months d on d.partner_id = s.partner_id and d.connection_id = s.connection_id
         and d.period = s.month
       where s.partner_id = private.partner_id() and s.id = r.session_id
       limit 1) w on true;
end $$;

create function api.withdraw_charging_sessions(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  sent constant text[] := array(select distinct t from jsonb_array_elements_text(input -> 'session_ids') t);
  known jsonb;
  twice text;
  gone  uuid[];
  freed text[];
begin
  perform private.act_as(caller, 'cpo');
  with asked as materialized (  -- row-level security keeps a cast of its own from an index
    select t.sent, private.as_uuid(t.sent) as id from unnest(sent) as t (sent)
  ), hit as (
    select a.sent, s.id
      from asked a
      join core.charging_sessions s on s.partner_id = private.partner_id() and s.external_id = a.sent
          and s.source = 'api' and s.owner_id is not distinct from private.client_id()
    union all
    select a.sent, s.id
      from asked a
      join core.charging_sessions s on s.partner_id = private.partner_id() and s.id = a.id
          and s.source in ('api', 'file') and s.owner_id is not distinct from private.client_id()
    union all
    select p.external_id, p.id
      from core.parked_charging p
     where p.partner_id = private.partner_id() and p.owner_id is not distinct from private.client_id()
       and p.source = 'api' and p.external_id = any (sent)
  )
  select jsonb_object_agg(h.sent, h.id), min(h.sent) filter (where h.sessions > 1) into known, twice
    from (select h.sent, min(h.id::text) as id, count(distinct h.id) as sessions from hit h group by h.sent) h;
  if twice is not null then
    perform private.refuse('ambiguous_session', json_build_object('session_id', twice));
  end if;
  gone := private.withdraw_charging_sessions(
    array(select e.value::uuid from jsonb_each_text(known) e), '{"withdraw": true}', sha256('{"withdraw": true}'),
    decode(input ->> 'sent_sha256', 'hex'));
  with deleted as (
    delete from core.parked_charging p
     where p.partner_id = private.partner_id() and p.owner_id is not distinct from private.client_id()
       and p.source in ('api', 'file')
       and (p.external_id = any (sent) or p.id = any (array(select private.as_uuid(t) from unnest(sent) t)))
    returning p.external_id, p.id::text
  )
  select array_agg(d.external_id) || array_agg(d.id) into freed from deleted d;
  return (
    select json_agg(json_build_object('session_id', t.sent, 'status', case
             when t.sent = any (freed) or (known ->> t.sent)::uuid = any (gone) then 'withdrawn'
             when known ? t.sent then 'unchanged' else 'not_found' end) order by t.place)
      from jsonb_array_elements_text(input -> 'session_ids') with ordinality as t (sent, place));
end $$;
comment on function api.withdraw_charging_sessions(jsonb, jsonb) is
  'POST /v1/charging-sessions:withdraw: {session_ids, sent_sha256} to [{session_id, status: '
  'withdrawn|unchanged|not_found}]. Ids of the client, or ours, of sessions that it sent itself. Refuses with '
  'ambiguous_session an id that two chargers have.';
grant execute on function api.withdraw_charging_sessions(jsonb, jsonb) to edge_slow;

-- A charging session as its client reads it. why is private.why_not_counted.
create function private.client_session(session core.charging_sessions, charger core.chargers, why text) returns json
language sql stable
as $$
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
$$;

-- The cursor of a client's charging sessions: c|<position>, or while it goes through all that is stored
-- s|<position>|<started_at>|<id>.
create function private.charging_cursor(owner uuid, place text) returns text
language sql immutable
-- base64url, with half a hash by which a cursor of another client, or one that was made up, is known
return translate(encode(convert_to(place, 'UTF8') || substr(sha256(uuid_send(owner) || convert_to(place, 'UTF8')), 1,
                                                            8), 'base64'), E'+/=\n', '-_');

-- What private.charging_cursor was made of; null for any other cursor.
create function private.charging_place(owner uuid, after text) returns text
language plpgsql immutable
as $$
declare
  bytes bytea;
  place text;
begin
  if after !~ '^[A-Za-z0-9_-]{12,200}$' or length(after) % 4 = 1 then
    return null;
  end if;
  bytes := decode(translate(after, '-_', '+/') || repeat('=', (4 - length(after) % 4) % 4), 'base64');
  -- our cursors are ASCII: escape keeps them, and changes any other
  place := encode(substr(bytes, 1, length(bytes) - 8), 'escape');
  return case when private.charging_cursor(owner, place) = after then place end;
end $$;

create function api.list_charging_sessions(caller jsonb, query jsonb) returns json
language plpgsql security definer
set plan_cache_mode = 'force_custom_plan'  -- else a page takes a fifth longer, and reads twice as many rows
as $$
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
                       where h.partner_id = private.partner_id() and h.owner_id = owner
                           and (account is null or h.account_id = account) and (one is null or h.id = one));
  end if;
  if parts[1] = 's' then
    -- all that is stored, newest first, a thousand of which are looked at
    looked := array(
      select s from core.charging_sessions s
       where s.owner_id = owner and s.partner_id = private.partner_id() and s.started_at >= since
           and s.started_at < until
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
      join core.charging_sessions s on s.partner_id = private.partner_id() and s.id = c.session_id
          and s.charger_id = c.charger_id
     order by c.position);
  end if;
  with place as (
    select u.place, u.s, h, private.why_not_counted(u.s, h.mid_eligible, d) as why
      from (select g.place, looked[g.place] as s from generate_subscripts(looked[:1000], 1) g (place)) u
      join core.chargers h on h.partner_id = (u.s).partner_id and h.id = (u.s).charger_id
      left join core.delivered_months d on d.partner_id = (u.s).partner_id and d.connection_id = (u.s).connection_id
          and d.period = (u.s).month
  ), kept as (
    select * from place p
     where (counted is null or counted = (p.why is null))
       and ((p.s).started_at >= since and (p.s).started_at < until)
           and (chargers is null or (p.s).charger_id = any (chargers))
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
                 from (select (looked[case when more then array_position(array(select (x).id from unnest(looked) x),
                                                                         chosen[size]) else 1000 end]).*) l);
      more := true;
    else
      next := concat_ws('|', 'c', parts[2]);
      more := parts[2]::bigint < head.position;
    end if;
  else
    next := concat_ws('|', 'c', case
      when more then (select max(c.position) from core.charging_changes c
                       where c.partner_id = private.partner_id() and c.owner_id = owner
                           and c.position > parts[2]::bigint
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
    'has_more', more or exists (select from core.charging_changes c where c.partner_id = private.partner_id()
                                and c.owner_id = owner and c.position is null));
end $$;
comment on function api.list_charging_sessions(jsonb, jsonb) is
  'GET /v1/charging-sessions: {after, limit, account_id, charger_id, from, to, counted} to {sessions, next_cursor, '
  'has_more}. First all that is stored, then what changed, each session as it is now.';

create function api.get_charging_session(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  answer json;
begin
  perform private.act_as(caller, 'cpo');
  select private.client_session(s, h, private.why_not_counted(s, h.mid_eligible, d)) into answer
    from core.charging_sessions s
    join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
    left join core.delivered_months d on d.partner_id = s.partner_id and d.connection_id = s.connection_id
        and d.period = s.month
   where s.partner_id = private.partner_id() and s.id = (query ->> 'charging_session_id')::uuid
       and s.owner_id = private.client_id();
  if answer is null then
    perform private.refuse('charging_session_not_found');
  end if;
  return answer;
end $$;
comment on function api.get_charging_session(jsonb, jsonb) is
  'GET /v1/charging-sessions/{charging_session_id}: {charging_session_id} to the session.';

-- The names of chargers that a client's parked sessions wait for, the most frequent of its 10,000 newest sessions:
-- [{kind, value, sessions}].
create function private.parked_names(client uuid, most int) returns json
language sql stable
as $$
  select coalesce(json_agg(json_build_object(
           'kind', split_part(g.name, ':', 1), 'value', substr(g.name, strpos(g.name, ':') + 1), 'sessions', g.sessions)
           order by g.sessions desc, g.name), '[]')
    from (select n.name, count(*) as sessions
            from (select p.names from core.parked_charging p
                   where p.partner_id = private.partner_id() and p.owner_id = client
                   order by p.received_at desc, p.id desc limit 10000) w
           cross join unnest(w.names) n (name)
           group by n.name order by 2 desc, 1 limit most) g
$$;

create function api.list_parked_charging(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  page_limit  constant int    := (query ->> 'limit')::int;
  page_offset constant bigint := (query ->> 'offset')::bigint;
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as (
      select p.* from core.parked_charging p
       where p.partner_id = private.partner_id() and p.owner_id = private.client_id()
       order by p.received_at desc, p.id desc limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by received_at desc, id desc limit page_limit
    )
    select json_build_object(
      'parked', coalesce(json_agg(json_build_object(
        'parked_id', s.id, 'session_id', s.external_id, 'source', s.source, 'reason', s.reason,
        'detail', s.item ->> 'refused',
        'names', (select coalesce(json_agg(json_build_object(
                           'kind', split_part(n, ':', 1), 'value', substr(n, strpos(n, ':') + 1))), '[]')
                    from unnest(s.names) n),
        'started_at', private.iso(private.as_moment(s.item ->> 'started_at')),
        'ended_at', private.iso(private.as_moment(s.item ->> 'ended_at')),
        'kwh', trim_scale((s.item ->> 'wh')::numeric / 1000),
        'received_at', private.iso(s.received_at)) order by s.received_at desc, s.id desc), '[]'),
      'names', private.parked_names(private.client_id(), 100),
      'limit', page_limit, 'offset', page_offset, 'count', count(*), 'has_more',
          (select count(*) from page) > page_limit)
      from shown s);
end $$;
comment on function api.list_parked_charging(jsonb, jsonb) is
  'GET /v1/charging-sessions/parked: {limit, offset} to {parked, names, …}, newest first. names: the 100 most frequent '
  'of the 10,000 newest.';

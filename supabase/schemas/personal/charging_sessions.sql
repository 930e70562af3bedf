-- GET /sessions.

create function private.charging_session_row(session core.charging_sessions) returns json
language sql stable
as $$
  select json_build_object(
    'id', session.id,
    'charger_id', session.charger_id,
    'charger_nickname', private.charger_name(h),
    'started_at', private.iso(session.started_at),
    'ended_at', private.iso(session.ended_at),
    'kwh', round(session.wh / 1000.0, 2),
    'status', session.status,
    'ere_credits', case when h.mid_eligible and session.counted and session.flags = '{}' then round(session.wh / 1000.0 * m.ere_per_kwh, 2) end,
    'flags', session.flags)
    from core.chargers h
    left join core.counted_months m
      on m.partner_id = session.partner_id and m.connection_id = session.connection_id and m.period = session.month
   where h.partner_id = session.partner_id and h.id = session.charger_id
$$;

create function api.list_own_charging_sessions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
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
end $$;
comment on function api.list_own_charging_sessions(jsonb, jsonb) is
  'GET /sessions: {limit, offset, charger_id, from, to} to a page of the person''s sessions, newest first. from inclusive, to exclusive.';

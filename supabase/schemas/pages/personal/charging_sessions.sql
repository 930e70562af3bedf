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
    'ere_credits', case when h.mid_eligible and session.counted and session.flags = '{}'
                        then round(session.wh / 1000.0 * m.ere_per_kwh, 2) end,
    'counts_for_ere', h.mid_eligible is true and session.counted and session.flags = '{}' and m.period is not null,
    'flags', session.flags)
    from core.chargers h
    left join core.counted_months m
      on m.partner_id = session.partner_id and m.connection_id = session.connection_id and m.period = session.month
   where h.partner_id = session.partner_id and h.id = session.charger_id
$$;

-- The newest sessions of this transaction's person, for {limit, offset}. One more than the limit if another page
-- follows.
create function private.own_charging_sessions(since timestamptz, until timestamptz, charger uuid,
                                              withdrawn boolean, query jsonb)
returns core.charging_sessions[]
language plpgsql stable
as $$
begin
  return array(
    select s from core.charging_sessions s
     where s.owner_id = private.user_id() and s.started_at >= since and s.started_at < until
       and (charger is null or s.charger_id = charger) and (withdrawn or not 'withdrawn' = any (s.flags))
     order by s.started_at desc, s.id desc limit (query ->> 'limit')::int + 1 offset (query ->> 'offset')::bigint);
end $$;

create function api.list_own_charging_sessions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  page core.charging_sessions[];
begin
  perform private.act_as(caller, 'user');
  page := private.own_charging_sessions(coalesce(private.as_border(query ->> 'from'), '-infinity'),
                                        coalesce(private.as_border(query ->> 'to'), 'infinity'),
                                        (query ->> 'charger_id')::uuid, false, query);
  return private.page_answer('sessions', (
    select json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc)
     from unnest(page[:(query ->> 'limit')::int]) s),
    array(select s.id from unnest(page) s), query);
end $$;
comment on function api.list_own_charging_sessions(jsonb, jsonb) is
  'GET /sessions: {limit, offset, charger_id, from, to} to a page of the person''s sessions, newest first. from '
  'inclusive, to exclusive.';

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.total_charging_sessions (
  touched private.touched_month[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connections uuid[];
  months      date[];
begin
  insert into core.charger_months as m (partner_id, charger_id, month, owner_id, wh, sessions)
  select h.partner_id, h.id, t.month, h.owner_id, coalesce(sum(s.wh), 0), count(s.wh)
    -- charger and month are of one query, t, so that one look into the index finds both
    from (select distinct t.charger_id, t.month, t.month::timestamp at time zone 'Europe/Amsterdam' as since,
                 (t.month + interval '1 month') at time zone 'Europe/Amsterdam' as until
            from unnest(touched) t) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id
    left join core.charging_sessions s
      on s.partner_id = h.partner_id and s.charger_id = t.charger_id and s.counted and s.started_at >= t.since and s.started_at < t.until
   group by h.partner_id, h.id, t.month
  on conflict on constraint charger_months_pkey do update set wh = excluded.wh, sessions = excluded.sessions
   where (m.wh, m.sessions) <> (excluded.wh, excluded.sessions);

  select array_agg(t.connection_id), array_agg(t.month) into connections, months
    from unnest(touched) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id and h.mid_eligible
   where t.connection_id is not null;
  perform private.deliver_charging_sessions(connections, months);
end $function$;

commit;

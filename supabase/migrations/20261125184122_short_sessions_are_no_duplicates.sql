begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
                  and abs(o.wh - s.wh) <= greatest(100, 0.01 * greatest(o.wh, s.wh))
                  -- short sessions of one source may follow each other so closely
                  and (o.source <> s.source or o.started_at < s.ended_at and o.ended_at > s.started_at) as same) e
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

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.deliver_charging_sessions (
  connections uuid[],
  months      date[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'auto'
  SET search_path TO ''
  AS $function$
begin
  -- one total, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = any (connections) order by c.id for no key update;
  insert into core.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
  select c.partner_id, c.id, c.owner_id, t.month, round(coalesce(sum(s.wh), 0) / 1000.0, 3), count(s.wh), 'sessions',
         private.month_status(t.connection_id, t.month), private.now()
    from (select distinct * from unnest(connections, months) as t (connection_id, month)) t
    join core.connections c on c.partner_id = private.partner_id() and c.id = t.connection_id
    left join lateral (
      select s.wh from core.charging_sessions s
        join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
       where s.partner_id = private.partner_id() and s.connection_id = t.connection_id and s.month = t.month and s.counted and s.flags = '{}') s on true
   group by c.partner_id, c.id, t.connection_id, t.month
  having count(s.wh) > 0 or exists (
    select from core.delivered_months d where d.partner_id = private.partner_id() and d.connection_id = t.connection_id and d.period = t.month)
  on conflict on constraint delivered_months_pkey do update
     set total_kwh = excluded.total_kwh, session_count = excluded.session_count, status = excluded.status, received_at = excluded.received_at
   where not d.locked
     and d.delivery_id is null  -- a total that a client delivered is corrected by that client only
     and (d.total_kwh, d.session_count) is distinct from (excluded.total_kwh, excluded.session_count);
end $function$;

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
  with looked_at as materialized (
    select s.id, s.charger_id, s.connection_id, s.month, s.counted, s.flags, (c.after).id is not null as changed, (c.before).month as old_month,
           private.own_flags(s.flags) || coalesce(o.flags, '{}') as judged,
           -- what came after the lock, and was withdrawn since, was never booked
           not 'withdrawn' = any (s.flags) or exists (
             select from core.replaced_charging_sessions r
              where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and not 'after_lock' = any (r.flags)) as booked,
           s.ended_at is not null and h.mid_eligible is true and exists (
             select from core.delivered_months d
              where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                and d.period in (s.month, case when (c.before).ended_at is not null then (c.before).month end)) as locked
      from unnest(candidates) s
      join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
      left join unnest(changes) c on (c.after).id = s.id
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
           and o.connector = s.connector and o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,after_lock}'
           and o.started_at <= s.ended_at + interval '5 minutes' and o.ended_at >= s.started_at - interval '5 minutes'
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

CREATE OR REPLACE FUNCTION private.store_charging_sessions (
  items private.charging_session_item[]
)
  RETURNS private.charging_session_change[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  old    core.charging_sessions[];
  stored core.charging_sessions[];
begin
  old := array(
    select s from unnest(items) i
      join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = i.charger_id and s.source = i.source and s.external_id = i.external_id);
  stored := private.write_charging_sessions(items);

  insert into core.replaced_charging_sessions
    (partner_id, charger_id, session_id, owner_id, month, started_at, ended_at, wh, flags, received_at)
  select o.partner_id, o.charger_id, o.id, o.owner_id, o.month, o.started_at, o.ended_at, o.wh, o.flags, o.received_at
    from unnest(stored) s
    join unnest(old) o on o.id = s.id
   where o.ended_at is not null and (o.started_at, o.ended_at, o.wh) is distinct from (s.started_at, s.ended_at, s.wh);

  perform private.write_charging_evidence(stored, items);
  return array(
    select row(s, o)::private.charging_session_change from unnest(stored) s left join unnest(old) o on o.id = s.id);
end $function$;

CREATE OR REPLACE FUNCTION private.write_charging_evidence (
  stored core.charging_sessions[],
  items  private.charging_session_item[]
)
  RETURNS void
  LANGUAGE sql
  SET plan_cache_mode TO 'auto'
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
  insert into core.charging_evidence
    (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, upload_id, request_id, document, document_sha256, sent_sha256,
     signed, signature, meter_id, meter_start_wh, meter_end_wh, end_from, received_at)
  select s.partner_id, s.charger_id, s.id, s.owner_id, s.source, s.external_id, i.client_id, i.upload_id, i.request_id, i.document,
         sha256(convert_to(i.document::text, 'UTF8')), i.sent_sha256, i.signed, case when i.signed <> '{}' then 'unchecked' end, i.meter_id,
         i.meter_start_wh, i.meter_end_wh, i.end_from, s.received_at
    from unnest(stored) s
    join unnest(items) i on i.charger_id = s.charger_id and i.source = s.source and i.external_id = s.external_id
   where i.document is not null
$function$;

CREATE OR REPLACE FUNCTION private.write_charging_sessions (
  items private.charging_session_item[]
)
  RETURNS core.charging_sessions[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'auto'
  SET search_path TO ''
  AS $function$
declare
  stored core.charging_sessions[];
begin
  with written as (
    insert into core.charging_sessions as s
      (partner_id, charger_id, connection_id, owner_id, source, external_id, connector, started_at, ended_at, wh, status, flags, received_at,
       meter_id, meter_start_wh, meter_end_wh)
    select h.partner_id, h.id, h.connection_id, h.owner_id, i.source, i.external_id, i.connector, i.started_at, i.ended_at, i.wh, i.status,
           private.charging_session_flags(i, h.power_kw), private.now(), i.meter_id, i.meter_start_wh, i.meter_end_wh
      from unnest(items) i
      join core.chargers h on h.partner_id = private.partner_id() and h.id = i.charger_id
     order by i.started_at, i.source, i.external_id
    on conflict on constraint charging_sessions_external_id_key do update
       set connector = excluded.connector, started_at = excluded.started_at, ended_at = excluded.ended_at, wh = excluded.wh,
           status = excluded.status, received_at = excluded.received_at, meter_id = excluded.meter_id,
           meter_start_wh = excluded.meter_start_wh, meter_end_wh = excluded.meter_end_wh,
           connection_id = coalesce(s.connection_id, excluded.connection_id),
           flags = excluded.flags || private.lasting_flags(s) || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end
     -- late news of a charge that has ended since does not open it again
     where (s.ended_at is null or excluded.ended_at is not null)
       and (s.connector, s.started_at, s.ended_at, s.wh, s.status, s.meter_id, s.meter_start_wh, s.meter_end_wh, private.own_flags(s.flags))
           is distinct from (excluded.connector, excluded.started_at, excluded.ended_at, excluded.wh, excluded.status, excluded.meter_id,
                             excluded.meter_start_wh, excluded.meter_end_wh, excluded.flags || private.lasting_flags(s))
    returning s as session)
  select array_agg(w.session) into stored from written w;
  return stored;
end $function$;

CREATE INDEX charging_sessions_long ON core.charging_sessions USING btree (partner_id, charger_id, started_at)
  WHERE ((ended_at - started_at) > '23:00:00'::interval);

REVOKE ALL ON FUNCTION "private"."write_charging_evidence"(core.charging_sessions[], private.charging_session_item[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."write_charging_evidence"(core.charging_sessions[], private.charging_session_item[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."write_charging_evidence"(core.charging_sessions[], private.charging_session_item[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."write_charging_evidence"(core.charging_sessions[], private.charging_session_item[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."write_charging_sessions"(private.charging_session_item[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."write_charging_sessions"(private.charging_session_item[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."write_charging_sessions"(private.charging_session_item[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."write_charging_sessions"(private.charging_session_item[]) TO "postgres";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP INDEX "core"."charging_sessions_charger";

CREATE OR REPLACE FUNCTION private.compare_charging_sessions (
  sent private.charging_session_item[]
)
  RETURNS private.compared_charging_session[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return array(
    select row(i.item, coalesce(s.id, i.new_id), h.connection_id, h.owner_id, f.flags || private.lasting_flags(s), s,
               case when h.id is null then 'rejected'
                    when (i.item).place < i.latest then 'superseded'
                    when s.id is null then 'created'
                    -- late news of a charge that has ended since does not open it again
                    when (s.ended_at is null or (i.item).ended_at is not null)
                     and (s.connector, s.started_at, s.ended_at, s.wh, s.status, s.meter_id, s.meter_start_wh, s.meter_end_wh, private.own_flags(s.flags))
                         is distinct from ((i.item).connector, (i.item).started_at, (i.item).ended_at, (i.item).wh, (i.item).status, (i.item).meter_id,
                                           (i.item).meter_start_wh, (i.item).meter_end_wh, f.flags || private.lasting_flags(s)) then 'updated'
                    else 'unchanged' end)::private.compared_charging_session
      from (select u as item, gen_random_uuid() as new_id,
                   max(u.place) filter (where u.reason is null) over (partition by u.charger_id, u.external_id, u.source) as latest
              from unnest(sent) u) i
      left join core.chargers h on h.partner_id = private.partner_id() and h.id = (i.item).charger_id and (i.item).reason is null
      left join core.charging_sessions s
        on s.partner_id = h.partner_id and s.charger_id = h.id and s.source = (i.item).source and s.external_id = (i.item).external_id
     cross join lateral (select private.charging_session_flags(i.item, h.power_kw) as flags offset 0) f);
end $function$;

CREATE OR REPLACE FUNCTION private.deliver_charging_sessions (
  connections uuid[],
  months      date[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- one total, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = any (connections) order by c.id for no key update;
  insert into core.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
  select c.partner_id, c.id, c.owner_id, t.month, round(coalesce(sum(s.wh), 0) / 1000.0, 3), coalesce(sum(s.sessions), 0), 'sessions',
         private.month_status(t.connection_id, t.month), private.now()
    from (select distinct * from unnest(connections, months) as t (connection_id, month)) t
    join core.connections c on c.partner_id = private.partner_id() and c.id = t.connection_id
    left join lateral (
      select told.wh, told.sessions
        from (select s.charger_id, sum(s.wh) as wh, count(*) as sessions from core.charging_sessions s
               where s.partner_id = private.partner_id() and s.connection_id = t.connection_id and s.month = t.month and s.counted and s.flags = '{}'
               group by s.charger_id) told
        join core.chargers h on h.partner_id = private.partner_id() and h.id = told.charger_id and h.mid_eligible) s on true
   group by c.partner_id, c.id, t.connection_id, t.month
  having count(s.wh) > 0 or exists (
    select from core.delivered_months d where d.partner_id = private.partner_id() and d.connection_id = t.connection_id and d.period = t.month)
  on conflict on constraint delivered_months_pkey do update
     set total_kwh = excluded.total_kwh, session_count = excluded.session_count, status = excluded.status, received_at = excluded.received_at
   where not d.locked
     and d.delivery_id is null  -- a total that a client delivered is corrected by that client only
     and (d.total_kwh, d.session_count) is distinct from (excluded.total_kwh, excluded.session_count);
end $function$;

CREATE OR REPLACE FUNCTION private.store_charging_sessions (
  sent private.charging_session_item[]
)
  RETURNS private.charging_session_result[]
  LANGUAGE plpgsql
  SET jit TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  chargers constant uuid[] := array(select distinct i.charger_id from unnest(sent) i where i.reason is null);
  compared private.compared_charging_session[];
  changes  private.charging_session_change[];
begin
  -- one batch at a time on a charger; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers) order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  compared := private.compare_charging_sessions(sent);
  changes := private.write_charging_sessions(compared);
  if exists (select from unnest(compared) c where c.status = 'updated') then
    changes := changes || private.correct_charging_sessions(compared);
  end if;
  if changes <> '{}' then
    perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  end if;
  perform private.note_chargers(compared);
  return array(
    select row((c.item).place, (c.item).sheet_row, case when (c.item).source <> 'file' then (c.item).external_id end, c.status,
               case when c.status = 'rejected' then coalesce((c.item).reason, 'unknown_charger') end, s)::private.charging_session_result
      from unnest(compared) c
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (c.item).charger_id and s.source = (c.item).source
       and s.external_id = (c.item).external_id and c.status <> 'rejected');
end $function$;

CREATE INDEX charging_sessions_charger ON core.charging_sessions USING btree (charger_id, started_at);

commit;

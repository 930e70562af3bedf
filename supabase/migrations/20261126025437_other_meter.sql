begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."booking_rows"
  DROP CONSTRAINT "booking_rows_flags_known";

CREATE OR REPLACE FUNCTION api.portal_upload (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  answer jsonb;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  perform private.act_for_client((input ->> 'client')::uuid);
  answer := private.store_upload(input);
  if answer ? 'idempotent' then
    null;
  elsif (input ->> 'dry_run')::boolean then
    -- judging stores the rows and undoes it, with the client's lock: so only the first look and the confirmation do
    update core.imports i set outcomes = answer -> 'results' where i.partner_id = private.partner_id() and i.id = (input ->> 'upload_id')::uuid;
  else
    perform private.audit('upload.stored', (input ->> 'upload_id')::uuid, jsonb_build_object('kind', input -> 'kind', 'rows', input -> 'rows'));
  end if;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_quarter (
  tenant  uuid,
  quarter date,
  chosen  uuid[] DEFAULT NULL::uuid[],
  held    uuid[] DEFAULT NULL::uuid[]
)
  RETURNS SETOF private.judged_month
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  today  constant date := private.today();
  -- a sandbox settlement names accounts. In January it takes the running month: mandates begin on 1 January, so no other month exists
  over   constant date := case when chosen is not null and extract(month from today) = 1 then date_trunc('year', today) + interval '1 month' else today end;
  factor core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return query
  -- what is a connection's is looked up once for all its months of the quarter
  select c.id, c.account_id, c.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id, factor.ere_per_kwh,
         case when m.total_kwh > 0 then array_remove(array[
           case when m.total_kwh > h.kw * l.hours then 'beyond_power' end,
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           case when m.session_count > l.hours then 'too_many_sessions' end,
           case when b.repeats = 2 then 'repeated_total' end,
           case when m.session_count = 0 then 'no_sessions' end,
           case when v.gap then 'meter_gap' end,
           case when m.delivery_id is not null and abs(m.total_kwh * 1000 - v.wh) > greatest(1000, 0.02 * v.wh) then 'differs_from_sessions' end,
           case when v.other_meter then 'other_meter' end], null) else '{}' end,
         case when m.locked or c.ean_exclusive and private.ean_booked(c.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > over then 'month_not_over'
              when factor.bookable_until < today then 'year_closed'
              when s.signed is null then 'no_mandate'
              when s.mandate_id is null then 'outside_mandate'
              when g.ean_validated is not true then 'gate:ean_validated'  -- an archived connection has no gates
              when h.mid_until >= m.period::timestamp at time zone 'Europe/Amsterdam' is not true then 'gate:mid_charger_registered'
              when not g.iban_present then 'gate:iban_present'
              when c.registration_status in ('concept', 'ingediend') then 'registration_open'
              when c.registration_status = 'afgekeurd' then 'registration_rejected'
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              when m.delivery_id is null and c.ean_exclusive and private.ean_delivered(c.ean_code, m.period, c.id) then 'already_delivered' end
    from (select d.connection_id, array_agg(d) as months
            from core.delivered_months d
           where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date
             and (held is null or d.connection_id = any (held))
           group by d.connection_id) q
   cross join lateral (
     select * from core.connections c
      where c.partner_id = tenant and c.id = q.connection_id and (chosen is null or c.account_id = any (chosen)) offset 0) c
    left join lateral (select * from core.connection_gates g where g.partner_id = tenant and g.connection_id = c.id offset 0) g on true
   cross join lateral (
     -- a charger of unknown power counts as 50 kW, as for its sessions; a removed charger counts for the time it was
     -- there
     select coalesce(sum(coalesce(h.power_kw, 50)) filter (where h.status = 'active'), sum(coalesce(h.power_kw, 50))) as kw,
            max(case h.status when 'active' then 'infinity' else h.removed_at end) filter (where h.mid_eligible) as mid_until
       from core.chargers h where h.partner_id = tenant and h.connection_id = c.id) h
   cross join lateral unnest(q.months) m
   cross join lateral (
     select extract(epoch from (m.period + interval '1 month') at time zone 'Europe/Amsterdam'
                             - m.period::timestamp at time zone 'Europe/Amsterdam') / 3600 as hours) l
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
   cross join lateral (
     -- where the register of an EVSE's meter runs on, all that it counted in the month is in a session, once
     select sum(e.wh) as wh, bool_or(e.gap) as gap, bool_or(not e.meters <@ n.known) as other_meter
       from (select s.charger_id, s.connector, sum(s.wh) as wh,
                    array_agg(distinct private.charger_name_value('meter_id', s.meter_id)) filter (where s.meter_id is not null) as meters,
                    count(distinct s.meter_id) < 2 and count(*) filter (where s.meter_start_wh = 0) < 2
                    and abs((array_agg(s.meter_end_wh order by s.started_at desc) filter (where s.meter_end_wh is not null))[1]
                            - (array_agg(s.meter_start_wh order by s.started_at) filter (where s.meter_start_wh is not null))[1] - sum(s.wh))
                        > greatest(1000, 0.02 * sum(s.wh)) as gap
               from core.charging_sessions s
               join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
              where s.partner_id = tenant and s.connection_id = c.id and s.month = m.period and s.counted
              group by s.charger_id, s.connector) e
      cross join lateral (
        select array_agg(n.value) as known from core.charger_names n
         where n.partner_id = tenant and n.charger_id = e.charger_id and n.kind = 'meter_id' and n.evse_no = e.connector
           and n.ended_at is null and e.meters is not null) n) v
    left join lateral (
      -- one that covers the month before one that does not, the newest first
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $function$;

CREATE OR REPLACE FUNCTION private.store_upload (
  input jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  dry    constant boolean := (input ->> 'dry_run')::boolean;
  upload core.uploads;
  newest core.uploads;
begin
  -- one file of a client at a time, so that equal ones find the first stored
  perform pg_advisory_xact_lock(hashtextextended('uploads of ' || private.client_id(), 0));
  select * into newest from core.uploads u
   where u.partner_id = private.partner_id() and u.owner_id = private.client_id() order by u.arrival desc limit 1;
  if newest.sha256 = decode(input ->> 'sha256', 'hex') and newest.kind = input ->> 'kind' and newest.decimal is not distinct from input ->> 'decimal' then
    if private.rows_left_out(newest.counts) = 0 then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
  else
    newest := null;
  end if;
  begin
    upload.results := case input ->> 'kind' when 'months' then private.deliver_months_of_file(input) else private.deliver_sessions_of_file(input) end;
    upload.results := (
      select coalesce(jsonb_agg(r.result order by (r.result ->> 'row')::int), '[]') from (
        -- the id of a session that a dry run undoes is nobody's
        select e.result - case when dry and e.result ->> 'status' = 'created' then 'charging_session_id' else '' end as result
          from jsonb_array_elements(upload.results) e (result)
        union all
        select jsonb_strip_nulls(e.result || '{"status": "invalid"}') from jsonb_array_elements(input -> 'rejected') e (result)) r);
    upload.counts := (
      select jsonb_object_agg(s.status, coalesce(n.rows, 0))
        from jsonb_array_elements_text(input -> 'statuses') s (status)
        left join (select e.result ->> 'status' as status, count(*) as rows from jsonb_array_elements(upload.results) e (result) group by 1) n
          on n.status = s.status);
    if dry or private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      raise exception using errcode = 'DRY01';
    end if;
    insert into core.uploads (partner_id, id, owner_id, user_id, file_name, sha256, decimal, kind, rows, columns, counts, results)
    values (private.partner_id(), (input ->> 'upload_id')::uuid, private.client_id(), private.manager_id(), input ->> 'file_name',
            decode(input ->> 'sha256', 'hex'), input ->> 'decimal', input ->> 'kind', (input ->> 'rows')::int, input -> 'columns',
            upload.counts, upload.results)
    returning * into upload;
  exception when sqlstate 'DRY01' then
    -- it was judged by storing it, and is undone
    if private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
    return jsonb_build_object('upload_id', null, 'kind', input -> 'kind', 'created_at', null, 'rows', input -> 'rows', 'columns', input -> 'columns',
                              'counts', upload.counts, 'results', upload.results);
  end;
  return private.upload_answer(upload);
end $function$;

ALTER TABLE "core"."booking_rows"
  ADD CONSTRAINT "booking_rows_flags_known"
    CHECK ((flags <@ '{beyond_power,above_average,too_many_sessions,repeated_total,no_sessions,meter_gap,differs_from_sessions,other_meter}'::text[]));

commit;

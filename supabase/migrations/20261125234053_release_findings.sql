begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP VIEW "core"."deletions";

DROP FUNCTION "private"."sweep"(text, integer);

CREATE OR REPLACE FUNCTION api.run_due_jobs (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object(
    'mandates_expired', private.expire_mandates(),
    'endings_announced', private.announce_endings(),
    'missing_asked', private.announce_missing(),
    'mail_purged', private.sweep('mail'),
    'logos_purged', private.sweep('logos'),
    'invitations_purged', private.sweep('invitations'),
    'oauth_purged', private.sweep('oauth'),
    'sessions_synced', private.sync_virtual_chargers(),
    'charges_given_up', private.give_up_charges(),
    'parked_stored', private.judge_due_parked(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    'charging_changes_swept', private.sweep_charging_changes(),
    'parked_swept', private.sweep('parked'),
    'webhook_attempts_swept', private.sweep('webhook_attempts'),
    'job_runs_swept', private.sweep('job_runs'),
    'mail_counts_swept', private.sweep('mail_counts'),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep('rate_limits'));
end $function$;

CREATE OR REPLACE FUNCTION private.check_partner_sums (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with counted as (
    select to_date(m.month, 'YYYY-MM') as period, m.kwh, m.ere_credits
      from json_to_recordset(private.count_dashboard(tenant) -> 'months') as m (month text, kwh numeric, ere_credits numeric)
  ), delivered as (
    select d.period, round(sum(d.total_kwh), 2) as kwh, round(coalesce(sum(coalesce(d.accepted_kwh, d.total_kwh) * m.ere_per_kwh), 0), 2) as ere_credits
      from core.attributions k
      join core.accounts a on a.partner_id = private.house() and a.user_id = k.user_id
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.period = d.period
     where k.partner_id = tenant and (d.status = 'staged' or d.locked)
     group by d.period
  )
  select 'dashboards show what customers delivered', coalesce(sum(d.kwh), 0), coalesce(sum(c.kwh), 0),
         count(*) filter (where k.is_wrong), min(to_char(period, '"month "YYYY-MM')) filter (where k.is_wrong)
    from delivered d full join counted c using (period)
   cross join lateral (select (d.kwh, d.ere_credits) is distinct from (c.kwh, c.ere_credits) as is_wrong) k
$function$;

CREATE OR REPLACE FUNCTION private.count_dashboard (
  partner uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
  house constant uuid := private.house();
  today constant date := private.today();
begin
  return (
    -- a connection with each of its mandates, newest first, so that all months are joined once
    with connection as materialized (
      select k.user_id, k.attached_month, c.id, m.valid_from, m.covered_until, m.fee_pct * m.partner_share_pct as agreed,
             c.status = 'active' and m.status = 'signed' and today between m.valid_from and m.valid_until as holds,
             row_number() over mandates = 1 as is_first,
             -- where two mandates cover a month, the mandate signed last counts
             range_agg(daterange(m.valid_from, m.covered_until, '[]')) filter (where m.covered_until >= m.valid_from)
               over (mandates rows between unbounded preceding and 1 preceding) as covered_by_newer
        from core.attributions k
        join core.accounts a on a.partner_id = house and a.user_id = k.user_id
        join core.connections c on c.partner_id = house and c.account_id = a.id
        left join core.mandates m on m.partner_id = house and m.connection_id = c.id and m.status <> 'declined'
       where k.partner_id = count_dashboard.partner
      window mandates as (partition by c.id order by m.signed_at desc, m.id)
    ), delivered as materialized (
      select d.period, c.is_first, d.locked, v.covers, case when v.covers and not d.locked then c.agreed end as agreed,
             sum(d.total_kwh) as kwh, sum(coalesce(d.accepted_kwh, d.total_kwh)) as accepted_kwh, count(*) filter (where d.total_kwh > 0) as charged
        from connection c
        join core.delivered_months d on d.partner_id = house and d.connection_id = c.id and d.period >= c.attached_month and (d.status = 'staged' or d.locked)
       cross join lateral (
         select coalesce(d.period between c.valid_from and c.covered_until and (c.covered_by_newer @> d.period) is not true, false) as covers) v
       group by d.period, c.is_first, d.locked, v.covers, 5
    ), booked as (
      -- a booked month earns by what its row says, any other by the mandate that covers it
      select r.period, sum(coalesce(d.accepted_kwh, d.total_kwh) * r.fee_pct * r.partner_share_pct) as agreed_kwh
        from core.booking_rows r
        join connection c on c.id = r.connection_id and c.is_first and r.period >= c.attached_month
        join core.delivered_months d on d.partner_id = house and d.connection_id = r.connection_id and d.period = r.period and d.locked
       where r.partner_id = house and r.live and r.share_partner_id = count_dashboard.partner
       group by r.period
    ), several as (
      -- who charged at two connections in a month is one customer
      select d.period, count(*) - count(distinct c.user_id) as too_many
        from (select k.user_id from connection k where k.is_first group by k.user_id having count(*) > 1) k
        join connection c on c.user_id = k.user_id and c.is_first
        join core.delivered_months d on d.partner_id = house and d.connection_id = c.id and d.period >= c.attached_month and (d.status = 'staged' or d.locked)
             and d.total_kwh > 0
       group by d.period
    ), month as materialized (
      select d.period, d.kwh, d.charged - coalesce(s.too_many, 0) as active, d.counted_kwh * coalesce(f.ere_per_kwh, 0) as ere,
             (d.agreed_kwh + coalesce(b.agreed_kwh, 0)) * coalesce(f.ere_per_kwh, 0) as agreed_ere
        from (select d.period, sum(d.kwh) filter (where d.is_first) as kwh, sum(d.charged) filter (where d.is_first) as charged,
                     coalesce(sum(d.accepted_kwh) filter (where case when d.locked then d.is_first else d.covers end), 0) as counted_kwh,
                     coalesce(sum(d.kwh * d.agreed), 0) as agreed_kwh
                from delivered d group by d.period) d
        left join booked b on b.period = d.period
        left join several s on s.period = d.period
        left join core.ere_factors f on f.delivery_year = extract(year from d.period)
    ), sold as (
      select coalesce(sum(a.ere * a.fee_pct * a.partner_share_pct), 0) as ere
        from core.allocations a
        join core.booking_rows r on r.partner_id = house and r.id = a.row_id and r.live
        join connection c on c.id = r.connection_id and c.is_first and r.period >= c.attached_month
       where a.partner_id = house and a.share_partner_id = count_dashboard.partner and a.reversal_id is null
    )
    select json_build_object(
      'as_of', private.iso(private.now()),
      'customers_total', (select count(*) from core.attributions k where k.partner_id = count_dashboard.partner),
      'customers_active', (select count(distinct c.user_id) from connection c where c.holds),
      'drafts', (select json_object_agg(d.status, d.drafts order by d.place) from private.drafts_by_status(count_dashboard.partner) d),
      'chargers_total', (select count(*) from core.attributions k join core.chargers h on h.partner_id = house and h.user_id = k.user_id and h.status = 'active'
                          where k.partner_id = count_dashboard.partner),
      'kwh_total', (select round(coalesce(sum(m.kwh), 0), 2) from month m),
      'kwh_this_month', (select round(coalesce(sum(m.kwh), 0), 2) from month m where m.period = date_trunc('month', today)),
      'ere_estimated', (select round(coalesce(sum(m.ere), 0), 2) from month m),
      -- the partner's part, by percentages, of what is not sold yet
      'partner_share_estimated_eur', (select trunc(greatest(coalesce(sum(m.agreed_ere), 0) - (select s.ere from sold s), 0) / 10000
                                                   * coalesce(private.last_price(house), 0), 2) from month m),
      'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                            'active_customers', m.active) order by m.period desc), '[]') from month m)));
end $function$;

CREATE OR REPLACE FUNCTION private.sweep (
  of_kind text,
  size    integer DEFAULT 10000
)
  RETURNS integer
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select private.delete_due(of_kind, null, size) $function$;

CREATE VIEW "core"."deletions" WITH (security_invoker=true) AS  SELECT step,
    kind,
    of_table,
    due
   FROM ( VALUES (1,'months'::text,'delivered_months'::text,'d.period < :border and not exists (
     select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period)'::text), (2,'deliveries'::text,'deliveries'::text,'d.received_at < private.dutch_midnight(:border)
     and not exists (select from core.delivered_months m where m.partner_id = d.partner_id and m.delivery_id = d.id)
     and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.delivery_id = d.id)'::text), (3,'ean_checks'::text,'ean_checks'::text,'d.checked_at < private.dutch_midnight(:border)'::text), (4,'mail'::text,'mail_outbox'::text,'d.status = ''nobody'' or d.created_at < private.now() - interval ''90 days'''::text), (5,'logos'::text,'partner_logos'::text,'d.replaced_at < private.now() - interval ''90 days'''::text), (6,'invitations'::text,'manager_invitations'::text,'d.expires_at < private.now() - interval ''30 days'''::text), (7,'oauth'::text,'revoked_access_tokens'::text,'d.expires_at < private.now()'::text), (8,'oauth'::text,'oauth_codes'::text,'d.expires_at < private.now() - interval ''1 day'''::text), (9,'oauth'::text,'oauth_refresh_tokens'::text,'d.expires_at < private.now()'::text), (10,'oauth'::text,'one_time_codes'::text,'d.expires_at < private.now()'::text), (11,'oauth'::text,'page_sessions'::text,'d.expires_at < private.now()'::text), (12,'oauth'::text,'oauth_grants'::text,'d.created_at < private.now() - interval ''1 day''
     and not exists (select from core.oauth_codes c where c.grant_id = d.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = d.id)'::text), (13,'webhook_attempts'::text,'webhook_attempts'::text,'d.at <= private.now() - interval ''30 days'' order by d.at'::text), (14,'job_runs'::text,'job_runs'::text,'d.finished_at < private.now() - interval ''7 days'' or d.id <= (select max(n.id) from core.job_runs n) - 100000'::text), (15,'mail_counts'::text,'mail_counts'::text,'d.day < private.today()'::text), (16,'rate_limits'::text,'rate_limit_state'::text,'d.full_at < private.now()'::text), (17,'uploads'::text,'uploads'::text,'d.created_at < private.dutch_midnight(:border)'::text), (18,'parked'::text,'parked_charging'::text,'d.received_at < private.now() - interval ''400 days'' order by d.received_at'::text), (19,'ocpi_cdrs'::text,'ocpi_cdrs'::text,'d.received_at < private.dutch_midnight(:border)'::text)) deletion(step, kind, of_table, due);

COMMENT ON FUNCTION "private"."sweep"(text, integer) IS 'What the worker deletes of a kind. Without a border, nothing is before it: what is kept for years stays. Definer: every tenant at once.';

COMMENT ON VIEW "core"."deletions" IS 'What is deleted row by row when it is due. due is a condition on rows d of a table of core. :border in it is the day before which nothing need be kept. A kind is deleted step by step.';

REVOKE ALL ON FUNCTION "private"."sweep"(text, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."sweep"(text, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."sweep"(text, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sweep"(text, integer) TO "postgres";

commit;

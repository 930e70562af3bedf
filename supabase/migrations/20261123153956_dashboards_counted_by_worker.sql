-- A dashboard is counted when it is read, or above 1,000 customers by the worker: the first read of such a partner counts once.
begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE TABLE "core"."dashboards" (
  "partner_id" uuid                     NOT NULL,
  "as_of"      timestamp with time zone NOT NULL,
  "asked_at"   timestamp with time zone,
  "figures"    json                     NOT NULL,
  CONSTRAINT "dashboards_pkey" PRIMARY KEY (partner_id)
);

ALTER TABLE "core"."dashboards"
  ENABLE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION api.get_dashboard (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner');
  return private.partner_figures(private.own_partner());
end $function$;

CREATE OR REPLACE FUNCTION api.recount_dashboard (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object('partner_id', private.recount_dashboard());
end $function$;

ALTER FUNCTION "api"."recount_dashboard"(jsonb) OWNER TO "api_owner";

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
    'mail_purged', private.purge_mail(),
    'logos_purged', private.purge_logos(),
    'invitations_purged', private.purge_invitations(),
    'oauth_purged', private.purge_oauth(),
    'sessions_synced', private.sync_virtual_chargers(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    'webhook_attempts_swept', private.sweep_webhook_attempts(),
    'job_runs_swept', private.sweep_job_runs(),
    'mail_counts_swept', private.sweep_mail_counts(),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep_rate_limits());
end $function$;

CREATE OR REPLACE FUNCTION private.check_partner_sums (
  tenant uuid
)
  RETURNS TABLE (
    what     text,
    expected numeric,
    found    numeric,
    wrong    bigint,
    example  text
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with counted as (
    select to_date(m.month, 'YYYY-MM') as period, m.kwh, m.ere_credits
      from json_to_recordset(private.count_dashboard(tenant) -> 'months') as m (month text, kwh numeric, ere_credits numeric)
  ), delivered as (
    select d.period, round(sum(d.total_kwh), 2) as kwh, round(coalesce(sum(m.ere), 0), 2) as ere_credits
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
  SECURITY DEFINER
  SET search_path TO ''
  SET plan_cache_mode TO 'force_custom_plan'
  SET work_mem TO '64MB'
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
      select d.period, c.is_first, d.locked, v.covers, case when d.locked then r.agreed when v.covers then c.agreed end as agreed,
             sum(d.total_kwh) as kwh, coalesce(sum(d.accepted_kwh - d.total_kwh) filter (where d.locked and d.accepted_kwh is not null), 0) as corrected,
             count(*) filter (where d.total_kwh > 0) as charged
        from connection c
        join core.delivered_months d on d.partner_id = house and d.connection_id = c.id and d.period >= c.attached_month and (d.status = 'staged' or d.locked)
       cross join lateral (
         select coalesce(d.period between c.valid_from and c.covered_until and (c.covered_by_newer @> d.period) is not true, false) as covers) v
        -- a booked month earns by what its row says, any other by the mandate that covers it
        left join (
          select b.connection_id, b.period, b.fee_pct * b.partner_share_pct as agreed
            from core.booking_rows b where b.partner_id = house and b.live and b.share_partner_id = count_dashboard.partner) r
          on r.connection_id = d.connection_id and r.period = d.period and d.locked
       group by d.period, c.is_first, d.locked, v.covers, 5
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
             d.agreed_kwh * coalesce(f.ere_per_kwh, 0) as agreed_ere
        from (select d.period, sum(d.kwh) filter (where d.is_first) as kwh, sum(d.charged) filter (where d.is_first) as charged,
                     coalesce(sum(d.kwh) filter (where case when d.locked then d.is_first else d.covers end), 0) as counted_kwh,
                     coalesce(sum((d.kwh + d.corrected) * d.agreed) filter (where case when d.locked then d.is_first else d.covers end), 0) as agreed_kwh
                from delivered d group by d.period) d
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

CREATE OR REPLACE FUNCTION private.counted_at_once()
  RETURNS integer
  LANGUAGE sql
  IMMUTABLE
RETURN 1000;

CREATE OR REPLACE FUNCTION private.drafts_by_status (
  partner uuid
)
  RETURNS TABLE (
    status text,
    drafts bigint,
    place  bigint
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select k.status, count(d.id), k.place
    from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) with ordinality as k (status, place)
    left join core.drafts d on d.partner_id = drafts_by_status.partner and private.draft_status(d) = k.status
   group by k.status, k.place
$function$;

CREATE OR REPLACE FUNCTION private.partner_figures (
  partner core.partners
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  fresh constant timestamptz := private.now() - interval '60 seconds';
  last  core.dashboards;
begin
  if (select count(*) from (select from core.attributions k where k.partner_id = partner.id limit private.counted_at_once() + 1) k) <= private.counted_at_once() then
    return private.count_dashboard(partner.id);
  end if;
  select * into last from core.dashboards d where d.partner_id = partner.id;
  if last.partner_id is null then
    last.figures := private.count_dashboard(partner.id);
    insert into core.dashboards (partner_id, as_of, figures) values (partner.id, private.now(), last.figures) on conflict do nothing;
  elsif last.as_of < fresh and (last.asked_at is null or last.asked_at < fresh) then
    -- one reader of many asks, and none waits for it
    update core.dashboards d set asked_at = private.now()
     where d.partner_id = (select a.partner_id from core.dashboards a
                            where a.partner_id = partner.id and a.as_of < fresh and (a.asked_at is null or a.asked_at < fresh) for update skip locked);
    if found then
      perform private.kick();
    end if;
  end if;
  return last.figures;
end $function$;

CREATE OR REPLACE FUNCTION private.partner_story (
  partner core.partners
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'partner', private.partner_settings(partner),
    'counts', json_build_object(
      'cpo_accounts', (select coalesce(sum(k.accounts), 0) from core.account_counts k where k.partner_id = partner.id),
      'customers', (select count(*) from core.attributions k where k.partner_id = partner.id),
      'drafts', (select coalesce(json_object_agg(d.status, d.drafts order by d.status), '{}')
                   from private.drafts_by_status(partner.id) d where d.drafts > 0),
      'drafts_left', greatest(private.draft_cap() - (
        select count(*) from core.draft_uploads u where u.partner_id = partner.id and u.at > private.now() - interval '30 days'), 0),
      'failed_mails', (select count(*) from core.mail_outbox m
                        where (m.status = 'failed' or m.status = 'queued' and m.last_error is not null) and m.partner_id = partner.id),
      -- what people bring it is earned in the house's ledger
      'balance_eur', (select sum(private.balance(l.tenant, 'EUR', 'partner', partner.id))
                        from unnest(array[partner.id, private.house()]) as l (tenant) where partner.id <> private.house())),
    'company', partner.company,
    'branding', partner.branding,
    'payout', json_build_object('iban_last4', partner.iban_last4, 'account_holder', partner.iban_holder),
    'managers', (select coalesce(json_agg(json_build_object('user_id', m.user_id, 'email', (private.user_profile(m.user_id)).email) order by m.user_id), '[]')
                   from core.partner_managers m where m.partner_id = partner.id),
    'key', (select json_build_object('prefix', k.prefix, 'last4', k.last4, 'created_at', private.iso(k.created_at), 'last_used_at', private.iso(k.last_used_at))
              from core.partner_keys k where k.partner_id = partner.id and k.revoked_at is null),
    'clients', (select coalesce(json_agg(private.client_row(c) order by c.created_at, c.id), '[]') from core.oauth_clients c where c.partner_id = partner.id))
$function$;

CREATE OR REPLACE FUNCTION private.recount_dashboard()
  RETURNS uuid
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  due uuid;
begin
  -- one count at a time
  if not pg_try_advisory_xact_lock(hashtextextended('dashboards are counted', 0)) then
    return null;
  end if;
  select d.partner_id into due from core.dashboards d
   where d.asked_at > d.as_of or d.as_of < private.dutch_midnight(private.today())
   order by d.asked_at > d.as_of desc nulls last, d.as_of limit 1;
  update core.dashboards d set as_of = private.now(), figures = private.count_dashboard(due) where d.partner_id = due;
  return due;
end $function$;

ALTER TABLE "core"."dashboards"
  ADD CONSTRAINT "dashboards_partner_id_fkey" FOREIGN KEY (partner_id) REFERENCES core.partners(id);

CREATE POLICY "a tenant reaches its own rows" ON "core"."dashboards"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

COMMENT ON COLUMN "core"."dashboards"."asked_at" IS 'When a reader last asked for a new count.';

COMMENT ON FUNCTION "api"."recount_dashboard"(jsonb) IS 'Counts the next dashboard that is due: {partner_id}, null where none is.';

COMMENT ON FUNCTION "private"."check_partner_sums"(uuid) IS 'Counts a partner''s dashboard and compares its months with the customers'' positions. Both read one snapshot, so neither shows a transaction that still runs.';

COMMENT ON FUNCTION "private"."count_dashboard"(uuid) IS 'Counts a partner''s customers and drafts, from the month each customer was attached, in one statement. Definer, because people own what they have in the house; the sums disclose nothing about a customer that the list does not.';

COMMENT ON FUNCTION "private"."counted_at_once"() IS 'A reader counts so many customers. Above that, only the worker counts.';

COMMENT ON FUNCTION "private"."partner_figures"(core.partners) IS 'The dashboard of a partner: up to 1,000 customers as of now, above that the last count. Definer, because dashboards are otherwise only read.';

COMMENT ON FUNCTION "private"."recount_dashboard"() IS 'Counts the next dashboard that a reader asked for, or that was not counted since midnight; null where there is none, or somebody else counts. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."require_agreement"(uuid) IS 'Refuses with ledger_disagrees where ledger check of a tenant does not hold, but for its check of dashboards: those are counted again anyway. The books are held.';

COMMENT ON TABLE "core"."dashboards" IS 'The last count of each partner with more than 1,000 customers, since somebody first read it. The worker counts again when a reader asks, and every night. Sums, no personal data. As long as the partner.';

REVOKE ALL ON FUNCTION "api"."recount_dashboard"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."recount_dashboard"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."recount_dashboard"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."recount_dashboard"(jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "private"."check_partner_sums"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_partner_sums"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_partner_sums"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."count_dashboard"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_dashboard"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."count_dashboard"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."counted_at_once"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."counted_at_once"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."counted_at_once"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."recount_dashboard"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."recount_dashboard"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."recount_dashboard"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."recount_dashboard"() TO "postgres";

GRANT SELECT ON TABLE "core"."dashboards" TO "api_owner";

commit;

-- last: nothing reads or marks any more
DROP TRIGGER "mark_added" ON "core"."allocations";

DROP TRIGGER "mark_changed" ON "core"."allocations";

DROP TRIGGER "mark_gone" ON "core"."allocations";

DROP TRIGGER "mark_added" ON "core"."attributions";

DROP TRIGGER "mark_changed" ON "core"."attributions";

DROP TRIGGER "mark_gone" ON "core"."attributions";

DROP TRIGGER "mark_added" ON "core"."booking_rows";

DROP TRIGGER "mark_changed" ON "core"."booking_rows";

DROP TRIGGER "mark_gone" ON "core"."booking_rows";

DROP TRIGGER "mark_added" ON "core"."chargers";

DROP TRIGGER "mark_changed" ON "core"."chargers";

DROP TRIGGER "mark_gone" ON "core"."chargers";

DROP TRIGGER "mark_changed" ON "core"."connections";

DROP TRIGGER "mark_added" ON "core"."credits";

DROP TRIGGER "mark_changed" ON "core"."credits";

DROP TRIGGER "mark_gone" ON "core"."credits";

DROP TRIGGER "mark_added" ON "core"."delivered_months";

DROP TRIGGER "mark_changed" ON "core"."delivered_months";

DROP TRIGGER "mark_gone" ON "core"."delivered_months";

DROP TRIGGER "sum_added" ON "core"."drafts";

DROP TRIGGER "sum_changed" ON "core"."drafts";

DROP TRIGGER "sum_gone" ON "core"."drafts";

DROP TRIGGER "mark_added" ON "core"."mandates";

DROP TRIGGER "mark_changed" ON "core"."mandates";

DROP TRIGGER "mark_gone" ON "core"."mandates";

DROP FUNCTION "ops"."partner_recount"(jsonb);

DROP FUNCTION "private"."count_customers"(uuid[], date[], date[]);

DROP FUNCTION "private"."counts_of"(core.customer_totals);

DROP FUNCTION "private"."fold_partner_sums"();

DROP FUNCTION "private"."mark_month"();

DROP FUNCTION "private"."mark_month_of_row"();

DROP FUNCTION "private"."mark_person"();

DROP FUNCTION "private"."months_of_customers"(uuid[], date[], date[]);

DROP FUNCTION "private"."people_of_partner"(uuid, uuid, integer);

DROP FUNCTION "private"."sum_drafts"();

DROP FUNCTION "private"."totals_of_customers"(uuid[]);

DROP FUNCTION "private"."wrong_customers"(uuid, uuid[]);

DROP FUNCTION "private"."wrong_sums"(uuid);

DROP TABLE "core"."customer_months";

DROP FUNCTION "private"."sum_customer_months"();

DROP TABLE "core"."customer_totals";

DROP FUNCTION "private"."sum_customer_totals"();

DROP TABLE "core"."partner_sums";

DROP TABLE "core"."recounts";

DROP FUNCTION "private"."recount_customers"();

commit;

-- Functions that plan as well without a setting of their own.
begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."fill_marks"(text, jsonb, boolean);

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
      select d.period, c.is_first, d.locked, v.covers, case when v.covers and not d.locked then c.agreed end as agreed,
             sum(d.total_kwh) as kwh, count(*) filter (where d.total_kwh > 0) as charged
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
                     coalesce(sum(d.kwh) filter (where case when d.locked then d.is_first else d.covers end), 0) as counted_kwh,
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

alter function private.emit_all(uuid,text,private.occurrence[]) reset plan_cache_mode;
alter function private.authenticate_client(jsonb,text) reset enable_seqscan;
alter function private.account_page(jsonb) reset plan_cache_mode;
alter function api.list_accounts(jsonb,jsonb) reset plan_cache_mode;
alter function private.note_eligibility(uuid,uuid[]) reset plan_cache_mode;
alter function private.require_delivery() reset enable_seqscan;
alter function private.lock_for_delivery(uuid,uuid) reset plan_cache_mode;
alter function api.ingest_months(jsonb,jsonb) reset plan_cache_mode;
alter function private.chain_rows(uuid,text,integer) reset plan_cache_mode;
alter function private.verify_links(core.audit_chains,bigint,integer,bytea) reset plan_cache_mode;
alter function private.verify_rest(core.audit_chains) reset plan_cache_mode;
alter function private.share_entries(uuid) reset plan_cache_mode;
alter function private.write_invoice(core.partners,core.invoices) reset plan_cache_mode;
alter function private.invoice_months(core.invoices) reset plan_cache_mode;
alter function private.statement_content(core.documents) reset plan_cache_mode;
alter function private.yearly_overview(core.accounts,integer) reset plan_cache_mode;
alter function private.enqueue_mails(jsonb,jsonb) reset plan_cache_mode;
alter function private.emit_ended(uuid,uuid[]) reset plan_cache_mode;
alter function private.expire_mandates() reset plan_cache_mode;
alter function private.known_addresses(text[],uuid,text,boolean) reset enable_seqscan;
alter function private.known_addresses(text[],uuid,text,boolean) reset plan_cache_mode;
alter function private.settle_rows(jsonb,uuid,text,bigint,boolean) reset plan_cache_mode;
alter function private.import_drafts(jsonb) reset plan_cache_mode;
alter function private.close_balances(uuid,uuid[]) reset plan_cache_mode;
alter function private.forget_payouts(date,integer) reset plan_cache_mode;
alter function private.forget_bookings(date,integer) reset plan_cache_mode;
alter function private.forget_mandates(date,integer) reset plan_cache_mode;
alter function private.forget_accounts(date,integer) reset plan_cache_mode;
alter function private.forget_log(text,date,integer) reset plan_cache_mode;
alter function private.carry_forward(uuid,bigint[],bigint) reset plan_cache_mode;
alter function api.list_events(jsonb,jsonb) reset plan_cache_mode;
alter function private.replay_webhook(core.webhook_endpoints,jsonb) reset plan_cache_mode;
alter function private.posts_of(core.webhook_endpoints,core.event_heads,text,integer) reset plan_cache_mode;
alter function private.partner_payouts(uuid) reset plan_cache_mode;
alter function private.partner_log(bigint,integer) reset plan_cache_mode;
alter function private.customer_candidates(uuid,jsonb,uuid,integer) reset plan_cache_mode;
alter function api.read_portal_drafts(jsonb,jsonb) reset plan_cache_mode;
alter function private.erase_entries(uuid,text[],uuid[]) reset plan_cache_mode;
alter function private.erase_payouts(uuid,uuid[],uuid[]) reset plan_cache_mode;
alter function private.erase_bookings(uuid,uuid[]) reset plan_cache_mode;
alter function private.erase_books(uuid) reset plan_cache_mode;
alter function private.erase_accounts(uuid[],uuid[],uuid[]) reset plan_cache_mode;
alter function private.erase_customers(uuid,uuid[],text) reset plan_cache_mode;
alter function private.settled_quarter(uuid,uuid[],date) reset plan_cache_mode;
alter function private.due_accounts(uuid[],uuid[],date) reset plan_cache_mode;
alter function private.evidence_rows(core.bookings,uuid,integer) reset plan_cache_mode;
alter function private.evidence_mandates(core.bookings,uuid,integer) reset plan_cache_mode;
alter function private.evidence_pdfs(core.bookings,uuid,integer) reset plan_cache_mode;
alter function private.evidence_deliveries(core.bookings,uuid,integer) reset plan_cache_mode;
alter function private.evidence_connections(core.bookings,uuid,integer) reset plan_cache_mode;
alter function private.evidence_audit(core.bookings,uuid,integer) reset plan_cache_mode;
alter function private.account_events(core.accounts) reset plan_cache_mode;

commit;

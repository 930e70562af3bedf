-- GET /partner/payouts, GET /partner/dashboard.

create function private.payout_id(partner uuid, quarter date) returns uuid
language sql immutable
return md5('payout ' || partner::text || ' ' || quarter)::uuid;
comment on function private.payout_id(uuid, date) is 'The id of what a partner earned in a quarter of delivery: the same for good.';

create function private.partner_payouts(partner uuid) returns json
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  tenants constant uuid[] := array[partner, private.house()];
begin
  return (
    with paid as materialized (
      select p.* from unnest(tenants) t (id) cross join lateral private.payments(t.id, 'partner', partner_payouts.partner) p
    ), part as materialized (
      select b.quarter, a.account_id, a.row_id, a.ere, a.partner_share, k.accepted_kwh, coalesce(p.state, 'paid') as state, p.paid_at
        from core.allocations a
        join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
        join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
        join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
        left join paid p on p.allocation_id = a.id
       where a.partner_id = any (tenants) and a.share_partner_id = partner_payouts.partner and a.reversal_id is null
    ), quarter as (
      select p.quarter, count(distinct p.account_id) as customers, sum(p.ere) as ere, sum(p.partner_share) as share,
             (select sum(r.accepted_kwh) from (select distinct q.row_id, q.accepted_kwh from part q where q.quarter = p.quarter) r) as kwh,
             case when sum(p.partner_share) = 0 then 'none_due'
                  when bool_and(p.state = 'paid') then 'paid'
                  when bool_or(p.state = 'failed') then 'failed'
                  when bool_and(p.state in ('paid', 'approved')) then 'approved'
                  else 'pending' end as status,
             max(p.paid_at) as paid_at
        from part p group by p.quarter
    )
    select coalesce(json_agg(json_build_object(
             'payout_id', private.payout_id(partner_payouts.partner, q.quarter), 'period', private.quarter_name(q.quarter), 'status', q.status,
             'customers', q.customers, 'kwh', round(q.kwh, 2), 'ere_units', round(q.ere, 2), 'partner_share_eur', q.share, 'vat_eur', coalesce(i.vat, 0),
             'paid_at', case when q.status = 'paid' then private.iso(q.paid_at) end, 'invoice_number', i.number) order by q.quarter desc), '[]')
      from quarter q
      left join lateral (
        select sum(i.vat) as vat, (array_agg(private.invoice_number(i) order by i.year desc, i.number desc))[1] as number
          from core.invoices i where i.partner_id = partner_payouts.partner and i.quarter = q.quarter) i on true);
end $$;
comment on function private.partner_payouts(uuid) is
  'What a partner earned by the quarter of delivery, from the first sale on: of its CPO accounts, and of the people it brought from the month of attachment. Definer, because what people own is in the house; it discloses sums.';
grant execute on function private.partner_payouts(uuid) to api_owner;

create function api.list_payouts(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('payouts', private.partner_payouts(private.partner_id()));
end $$;
comment on function api.list_payouts(jsonb) is 'GET /partner/payouts: {payouts}, newest quarter first. Empty until something is sold.';
select private.expose('api.list_payouts(jsonb)');

create function private.drafts_by_status(partner uuid) returns table (status text, drafts bigint, place bigint)
language sql stable
set search_path = ''
as $$
  select k.status,
         coalesce((select sum(s.amount) from core.partner_sums s where s.partner_id = drafts_by_status.partner and s.what = 'draft:' || k.status), 0)::bigint
           + case k.status when 'invited' then -o.drafts when 'expired' then o.drafts else 0 end,
         k.place
    from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) with ordinality as k (status, place)
   -- expired by their last moment, which the job has not noted yet
   cross join (select count(*) as drafts from core.drafts d
                where d.partner_id = drafts_by_status.partner and d.status = 'invited' and d.expires_at <= (select private.now())) o
$$;
comment on function private.drafts_by_status(uuid) is 'How many drafts of a partner stand in each status as of now, in the order of the dashboard.';

create function private.partner_figures(partner core.partners) returns json
language plpgsql stable security definer
-- planned once: it takes little, and to plan it would take more
set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off
as $$
declare
  today constant date := private.today();
begin
  return (
    with sums as materialized (
      select s.what, s.day, sum(s.amount) as amount, sum(s.active) as active, sum(s.kwh) as kwh, sum(s.counted_kwh) as counted_kwh,
             sum(s.agreed_kwh) as agreed_kwh, sum(s.sold_ere) as sold_ere
        from core.partner_sums s where s.partner_id = partner.id group by s.what, s.day
    ), months as materialized (
      select s.day as period, s.active, s.kwh, s.counted_kwh * coalesce(f.ere_per_kwh, 0) as ere,
             -- the partner's part of what is not sold yet
             (s.agreed_kwh * coalesce(f.ere_per_kwh, 0) - s.sold_ere) / 10000 as unsold_ere
        from sums s left join core.ere_factors f on f.delivery_year = extract(year from s.day)
       where s.what = 'month' and s.amount > 0
    )
    select json_build_object(
      'customers_total', (select coalesce(sum(s.amount), 0) from sums s where s.what = 'customers'),
      'customers_active', (select coalesce(sum(s.amount), 0) from sums s where s.what = 'signed' and s.day <= today),
      'drafts', (select json_object_agg(d.status, d.drafts order by d.place) from private.drafts_by_status(partner.id) d),
      'chargers_total', (select coalesce(sum(s.amount), 0) from sums s where s.what = 'chargers'),
      'kwh_total', (select round(coalesce(sum(m.kwh), 0), 2) from months m),
      'kwh_this_month', (select round(coalesce(sum(m.kwh), 0), 2) from months m where m.period = date_trunc('month', today)),
      'ere_estimated', (select round(coalesce(sum(m.ere), 0), 2) from months m),
      'partner_share_estimated_eur', (select trunc(greatest(coalesce(sum(m.unsold_ere), 0), 0) * coalesce(private.last_price(private.house()), 0), 2) from months m),
      'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                            'active_customers', m.active) order by m.period desc), '[]') from months m)));
end $$;
comment on function private.partner_figures(core.partners) is
  'Sums over a partner''s customers and drafts, from the month each was attached, out of core.partner_sums: what depends on the day alone is decided here. Definer, because the last price is the house''s; the sums disclose nothing about a customer that the list does not.';
grant execute on function private.partner_figures(core.partners) to api_owner;

create function api.get_dashboard(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.partner_figures(private.own_partner());
end $$;
comment on function api.get_dashboard(jsonb) is
  'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year; the share in euro is that of ERE that are not sold yet at the last average price, 0 until there is one.';
select private.expose('api.get_dashboard(jsonb)');

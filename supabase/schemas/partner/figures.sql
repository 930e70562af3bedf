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
             case when bool_and(p.state = 'paid') then 'paid'
                  when (select l.status from core.payout_lines l
                         where l.partner_id = partner_payouts.partner and l.payee_id = partner_payouts.partner and l.status <> 'cancelled'
                         order by l.arrival desc limit 1) = 'failed' then 'failed'
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

create function private.partner_figures(partner core.partners) returns json
language plpgsql stable security definer
-- planned for the partner at hand: a plan for any partner joins a hundred thousand customers with nested loops, and ran out of time
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  house   constant uuid := private.house();
  figures json;
begin
  with customers as materialized (
    select a.user_id, a.attached_month from core.attributions a where a.partner_id = partner.id
  ), connected as materialized (
    select k.user_id, k.attached_month, c.connection_id, c.mandate_id, c.status = 'active' and c.mandate_status = 'signed' as signed
      from customers k
      join core.accounts b on b.partner_id = house and b.user_id = k.user_id
      join core.connection_mandates c on c.partner_id = b.partner_id and c.account_id = b.id
  ), months as materialized (
    select d.period, sum(d.total_kwh) as kwh, coalesce(sum(m.ere), 0) as ere, count(distinct k.user_id) filter (where d.total_kwh > 0) as active,
           -- the partner's part of its ERE, sold or not: a booked month by what its row says, any other by the mandate
           sum(coalesce(c.accepted_kwh * m.ere_per_kwh, m.ere)
               * case when r.id is null then coalesce(g.fee_pct * g.partner_share_pct, partner.default_fee_pct * partner.partner_share_pct)
                      when r.share_partner_id = partner.id then r.fee_pct * r.partner_share_pct end) / 10000 as shared_ere
      from connected k
      -- what a customer charged before the partner brought them does not concern the partner
      join core.delivered_months d on d.partner_id = house and d.connection_id = k.connection_id and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.period = d.period
      left join core.mandates g on g.partner_id = house and g.id = k.mandate_id
      left join core.booking_rows r on r.partner_id = house and r.connection_id = d.connection_id and r.period = d.period and r.live
      left join core.credits c on c.partner_id = house and c.row_id = r.id and c.reversed_at is null
     where d.status = 'staged' or d.locked
     group by d.period
  ), unsold as (
    select coalesce((select sum(m.shared_ere) from months m), 0) - coalesce(sum(a.ere * a.fee_pct * a.partner_share_pct) / 10000, 0) as ere
      from core.allocations a where a.partner_id = house and a.share_partner_id = partner.id and a.reversal_id is null
  )
  select json_build_object(
    'customers_total', (select count(*) from customers),
    'customers_active', (select count(distinct k.user_id) from connected k where k.signed),
    'drafts', (select json_object_agg(s.status, coalesce(n.drafts, 0) order by s.place)
                 from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) with ordinality as s (status, place)
                 left join (select private.draft_status(d) as status, count(*) as drafts from core.drafts d where d.partner_id = partner.id group by 1) n
                   on n.status = s.status),
    'chargers_total', (select count(*) from customers k join core.chargers h on h.partner_id = house and h.user_id = k.user_id and h.status = 'active'),
    'kwh_total', (select round(coalesce(sum(kwh), 0), 2) from months),
    'kwh_this_month', (select round(coalesce(sum(kwh), 0), 2) from months where period = date_trunc('month', private.today())),
    'ere_estimated', (select round(coalesce(sum(ere), 0), 2) from months),
    'partner_share_estimated_eur', (select trunc(greatest(u.ere, 0) * coalesce(private.last_price(house), 0), 2) from unsold u),
    'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                          'active_customers', m.active) order by m.period desc), '[]') from months m))
    into figures;
  return figures;
end $$;
comment on function private.partner_figures(core.partners) is
  'Sums over a partner''s customers and drafts, from the month each was attached. Definer, because the customers'' rows are in the house; the sums disclose nothing about a customer that the list does not.';
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

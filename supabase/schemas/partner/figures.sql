-- GET /partner/payouts, GET /partner/dashboard.

create function api.list_payouts(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  -- a payout follows from a sale of ERE, and none is booked here yet
  return json_build_object('payouts', '[]'::json);
end $$;
comment on function api.list_payouts(jsonb) is 'GET /partner/payouts: {payouts}, newest first. Empty until sales are booked.';
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
    select k.user_id, k.attached_month, c.connection_id, c.status = 'active' and c.mandate_status = 'signed' as signed
      from customers k
      join core.accounts b on b.partner_id = house and b.user_id = k.user_id
      join core.connection_mandates c on c.partner_id = b.partner_id and c.account_id = b.id
  ), months as materialized (
    select d.period, sum(d.total_kwh) as kwh, coalesce(sum(m.ere), 0) as ere, count(distinct k.user_id) filter (where d.total_kwh > 0) as active
      from connected k
      -- what a customer charged before the partner brought them does not concern the partner
      join core.delivered_months d on d.partner_id = house and d.connection_id = k.connection_id and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.period = d.period
     where d.status = 'staged' or d.locked
     group by d.period
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
    'partner_share_estimated_eur', 0,
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
  'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year; the share in euros is 0 until a price is known.';
select private.expose('api.get_dashboard(jsonb)');

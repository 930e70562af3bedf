-- GET /energy and GET /ere-position: months are read, never sessions.

create function private.own_counted_months() returns table (month date, kwh numeric, ere numeric)
language plpgsql stable
set search_path = ''
as $$
begin
  return query
  select m.period, sum(m.total_kwh), sum(m.ere)
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
   where a.user_id = private.user_id()
   group by m.period;
end $$;
comment on function private.own_counted_months() is 'What counts toward ERE for the person of this transaction, over all their connections.';
grant execute on function private.own_counted_months() to api_owner;

create function api.get_energy(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return (
    with energy as (
      select m.month, sum(m.wh) / 1000.0 as kwh, sum(m.sessions) as sessions
        from core.charger_months m where m.owner_id = private.user_id() and m.sessions > 0
       group by m.month
    ), month as (
      select coalesce(e.month, c.month) as month, coalesce(e.kwh, 0) as kwh, coalesce(e.sessions, 0) as sessions, coalesce(c.ere, 0) as ere
        from energy e full join private.own_counted_months() c on c.month = e.month
    )
    select json_build_object(
      'total_kwh', round(coalesce(sum(m.kwh), 0), 2),
      'total_ere_credits', round(coalesce(sum(m.ere), 0), 2),
      'total_sessions', coalesce(sum(m.sessions), 0),
      'months', coalesce(json_agg(json_build_object(
        'month', to_char(m.month, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2), 'sessions', m.sessions)
        order by m.month desc), '[]'))
    from month m);
end $$;
comment on function api.get_energy(jsonb) is 'GET /energy: {total_kwh, total_ere_credits, total_sessions, months}, newest month first.';
select private.expose('api.get_energy(jsonb)');

create function private.forecast_kwh(this_month date) returns numeric
language sql stable
set search_path = ''
as $$
  with counted as materialized (
    select * from private.own_counted_months() where month <= this_month
  ), past as (
    -- complete months since the first that counted, at most the last twelve; one without charging is a zero among them
    select coalesce(sum(c.kwh) / nullif(
             (extract(year from age(this_month, min(c.month))) * 12 + extract(month from age(this_month, min(c.month))))::int, 0), 0) as average
      from counted c where c.month < this_month and c.month >= this_month - interval '12 months'
  )
  select coalesce(sum(c.kwh) filter (where c.month >= date_trunc('year', this_month)), 0)
         + greatest(t.average - coalesce(sum(c.kwh) filter (where c.month = this_month), 0), 0)
         + t.average * (12 - extract(month from this_month))
    from past t left join counted c on true
   group by t.average
$$;
comment on function private.forecast_kwh(date) is
  'The kWh that will count this year: what does already, and the trailing average for the rest of this month and each month after it.';
grant execute on function private.forecast_kwh(date) to api_owner;

create function api.get_ere_position(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  this_month   constant date := date_trunc('month', private.today());
  this_quarter constant int  := extract(quarter from this_month);
  this_year    constant int  := extract(year from this_month);
  factor       core.ere_factors;
begin
  perform private.act_as(caller, 'user');
  select * into factor from core.ere_factors f where f.delivery_year = this_year;
  return (
    with counted as materialized (
      select extract(quarter from c.month)::int as quarter, sum(c.kwh) as kwh, sum(c.ere) as ere
        from private.own_counted_months() c where extract(year from c.month) = this_year
       group by 1
    )
    select json_build_object(
      'year', this_year,
      'kwh', round(coalesce(sum(c.kwh), 0), 2),
      'renewable_share', factor.renewable_share,
      'reserved_ere', round(coalesce(sum(c.ere), 0), 2),
      'sold_ere', 0,
      'forecast_ere', round(private.forecast_kwh(this_month) * coalesce(factor.ere_per_kwh, 0), 2),
      'quarters', json_agg(json_build_object(
        'quarter', this_year || '-Q' || q,
        'kwh', round(coalesce(c.kwh, 0), 2),
        'ere_credits', round(coalesce(c.ere, 0), 2),
        'sold_ere', 0,
        'price_per_ere', null,
        'revenue_eur', null,
        'status', case when q < this_quarter then 'closed' else 'open' end,
        'sold_at', null) order by q))
    from generate_series(1, this_quarter) q left join counted c on c.quarter = q);
end $$;
comment on function api.get_ere_position(jsonb) is
  'GET /ere-position: the current year and its quarters so far. Nothing is sold before an operator records a sale.';
select private.expose('api.get_ere_position(jsonb)');

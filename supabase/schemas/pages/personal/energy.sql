-- GET /energy and GET /ere-position read months, never sessions.

create function private.own_counted_months(since date, until date,
                                           going_on boolean default false) returns table (month date,
                                           kwh numeric, ere numeric)
language plpgsql stable security definer
as $$
begin
  return query
  select m.period, sum(m.kwh), sum(m.ere)
    from private.own_account_rows() a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
   where m.period >= since and m.period < until
     and (not going_on or exists (select from core.mandates d where d.partner_id = c.partner_id
                                  and d.connection_id = c.id
                                                                and private.today(
                                                                    ) between d.valid_from and d.covered_until))
   group by m.period;
end $$;
comment on function private.own_counted_months(date, date, boolean) is
  'What counts toward ERE for this transaction''s person, over all connections, or over those whose mandate goes on; '
  'of a credited month the accepted kWh. since inclusive, until exclusive. Definer, because what they signed for at a '
  'CPO is in its tenant.';

create function private.signed_months(since date, until date) returns table (month date, kwh numeric, sessions bigint)
language plpgsql stable security definer
as $$
begin
  return query
  select d.period, sum(d.total_kwh), sum(d.session_count)
    from private.signed_accounts(private.signatory()) a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
   where private.signatory() is not null and d.period >= since and d.period < until and d.total_kwh > 0
   group by d.period;
end $$;
comment on function private.signed_months(date, date) is
  'The totals by month that CPOs delivered for accounts the caller signed for. Definer, as private.own_account_rows.';

-- What this transaction's person charged by month, by own chargers and CPO deliveries, with its ERE, exact.
create function private.own_months(since date, until date) returns table (month date, kwh numeric, sessions bigint,
                                                                          ere_credits numeric)
language plpgsql stable
as $$
begin
  return query
  with energy as (
    select e.month, sum(e.kwh) as kwh, sum(e.sessions)::bigint as sessions
      from (select m.month, m.wh / 1000.0 as kwh, m.sessions
              from core.charger_months m
             where m.owner_id = private.user_id() and m.sessions > 0 and m.month >= since and m.month < until
            union all
            select * from private.signed_months(since, until)) e
     group by e.month
  )
  select coalesce(e.month, c.month), coalesce(e.kwh, 0), coalesce(e.sessions, 0), coalesce(c.ere, 0)
    from energy e full join private.own_counted_months(since, until) c on c.month = e.month;
end $$;

create function api.get_energy(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'user');
  return (
    select json_build_object(
      'total_kwh', round(coalesce(sum(m.kwh), 0), 2),
      'total_ere_credits', round(coalesce(sum(m.ere_credits), 0), 2),
      'total_sessions', coalesce(sum(m.sessions), 0),
      'months', coalesce(json_agg(r order by m.month desc), '[]'))
    from private.own_months('-infinity', 'infinity') m
   cross join lateral (select to_char(m.month, 'YYYY-MM') as month, round(m.kwh, 2) as kwh,
                       round(m.ere_credits, 2) as ere_credits, m.sessions) r);
end $$;
comment on function api.get_energy(jsonb) is
  'GET /energy: {total_kwh, total_ere_credits, total_sessions, months}, newest month first.';

-- The kWh that count this year, and those still to come: each month adds the average of the connections whose mandate
-- goes on.
create function private.forecast_kwh(this_month date) returns numeric
language sql stable
as $$
  with counted as (
    select * from private.own_counted_months((this_month - interval '12 months')::date,
                                             (this_month + interval '1 month')::date, true)
  ), past as (
    -- complete months since the first that counted, at most the last twelve; one without charging is a zero among them
    select coalesce(sum(c.kwh) / nullif(
             (extract(year from age(this_month, min(c.month))) * 12 + extract(month
                                                                              from age(this_month, min(c.month))))::int,
                                                                              0), 0) as average
      from counted c where c.month < this_month and c.month >= this_month - interval '12 months'
  )
  select (select coalesce(sum(y.kwh), 0) from private.own_counted_months(date_trunc('year', this_month)::date,
                                                                         (this_month + interval '1 month')::date) y)
         + greatest(t.average - coalesce(sum(c.kwh) filter (where c.month = this_month), 0), 0)
         + t.average * (12 - extract(month from this_month))
    from past t left join counted c on true
   group by t.average
$$;

-- What a customer is still to be paid, also what is on its way. Below zero: they were paid more, for what was taken
-- back since.
create function private.still_owed(tenant uuid, account uuid) returns numeric
language sql stable
as $$
  select private.balance(tenant, 'EUR', 'customer', account) + coalesce((
    select sum(p.amount)
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'pending'
     where p.ledger_partner_id = tenant and p.payee_id = account and p.kind = 'customer'), 0)
$$;

create function private.own_quarters(since date, until date, of_account uuid default null)
returns table (quarter date, kwh numeric, ere numeric, registered_ere numeric, sold_ere numeric, gross numeric,
               net numeric, sold_on date, is_paid boolean, unpaid numeric, unsold json)
language plpgsql stable security definer
as $$
begin
  return query
  with own as (
    select a.partner_id, a.id from private.own_account_rows() a where of_account is null or a.id = of_account
  ), unpaid as (
    select o.*, a.row_id, p.amount, sum(p.amount) over (partition by o.id) as whole,
           sum(p.amount) over (partition by o.id order by s.arrival, a.id) as up_to
      from own o
     cross join lateral private.payments(o.partner_id, 'customer', o.id) p
      join core.allocations a on a.partner_id = o.partner_id and a.id = p.allocation_id
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
     where p.state <> 'paid'
  ), owed as (
    select o.id, private.still_owed(o.partner_id, o.id) as amount from own o where o.id in (select u.id from unpaid u)
  ), waiting as (
    -- what was paid and taken back since comes off the oldest
    select u.row_id, sum(least(u.amount, greatest(u.up_to - (u.whole - w.amount), 0))) as amount
      from unpaid u join owed w on w.id = u.id
     group by u.row_id
  ), prices as (
    select t.partner_id, private.last_price(t.partner_id) as price from (select distinct o.partner_id from own o) t
  ), parts as (
    -- ERE are sold for each tenant, and each mandate has its own fee
    select private.quarter_of(m.period) as first_day, p.price, coalesce(m.fee_pct, s.fee_pct) as fee_pct,
        sum(m.kwh) as kwh, sum(m.ere) as ere,
           sum(m.registered_ere) as registered_ere, sum(m.sold_ere) as sold_ere, sum(m.gross) as gross,
               sum(m.net) as net, min(m.sold_on) as sold_on,
           bool_and(w.row_id is null) as is_paid, coalesce(sum(w.amount), 0) as unpaid
      from own o
      join prices p on p.partner_id = o.partner_id
      join core.connections c on c.partner_id = o.partner_id and c.account_id = o.id
      join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
      left join waiting w on w.row_id = m.row_id
      -- as private.reserve_months will book it
      left join lateral (select d.fee_pct from core.mandates d
                          where m.row_id is null and d.partner_id = c.partner_id and d.connection_id = c.id
                            and m.period between d.valid_from and d.covered_until
                          order by d.signed_at desc limit 1) s on true
     where m.period >= since and m.period < until
     group by 1, 2, 3
  )
  select p.first_day, sum(p.kwh), sum(p.ere), sum(p.registered_ere), sum(p.sold_ere), sum(p.gross), sum(p.net),
      min(p.sold_on),
         bool_and(p.is_paid), sum(p.unpaid),
         json_agg(json_build_object('ere', p.ere - p.sold_ere, 'price_per_ere_eur', p.price, 'fee_pct', p.fee_pct)
                  order by p.price, p.fee_pct)
    from parts p
   group by p.first_day;
end $$;
comment on function private.own_quarters(date, date, uuid) is
  'The quarters in which something counts for this transaction''s person, or for one account of theirs. ERE exact, '
  'credited and sold; euro gross, and the person''s part (net). Also the first day of sale, whether all that was sold '
  'is paid, and what of net is not (unpaid). unsold has the ERE that are not sold, by the tenant''s last price and the '
  'fee: [{ere, price_per_ere_eur, fee_pct}]. since inclusive, until exclusive. Definer, because payments are in the '
  'service''s own batch.';

-- The object of GET /ere-position, for a year that has begun. A quarter is sold once any of it is, and paid once all
-- that was sold is.
create function private.own_ere_position(year int) returns json
language plpgsql stable
as $$
declare
  this_month constant date := date_trunc('month', private.today());
  this_year  constant int  := extract(year from this_month);
  -- quarters of the year that have begun
  begun      constant int  := case when year = this_year then extract(quarter from this_month) else 4 end;
  factor     core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = year;
  return (
    with own as (
      select * from private.own_quarters(make_date(year, 1, 1), make_date(year + 1, 1, 1))
    )
    select json_build_object(
      'year', year,
      'kwh', round(coalesce(sum(o.kwh), 0), 2),
      'renewable_share', factor.renewable_share,
      'reserved_ere', round(coalesce(sum(o.registered_ere - o.sold_ere), 0), 2),
      'sold_ere', round(coalesce(sum(o.sold_ere), 0), 2),
      'forecast_ere', case
                           when year = this_year
                           then round(private.forecast_kwh(this_month) * coalesce(factor.ere_per_kwh, 0), 2) end,
      'quarters', json_agg(json_build_object(
        'quarter', year || '-Q' || q,
        'kwh', round(coalesce(o.kwh, 0), 2),
        'ere_credits', round(coalesce(o.ere, 0), 2),
        'sold_ere', round(coalesce(o.sold_ere, 0), 2),
        'price_per_ere', round(o.gross / nullif(o.sold_ere, 0), 2),
        'revenue_eur', case when o.sold_ere > 0 then o.net end,
        'status', case when o.sold_ere > 0 and o.is_paid then 'paid'
                       when o.sold_ere > 0 then 'sold'
                       when year < this_year or q < begun then 'closed' else 'open' end,
        'sold_at', private.iso(private.dutch_midnight(o.sold_on))) order by q))
    from generate_series(1, begun) q left join own o on o.quarter = make_date(year, 3 * q - 2, 1));
end $$;

create function api.get_ere_position(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'user');
  return private.own_ere_position(extract(year from private.today())::int);
end $$;
comment on function api.get_ere_position(jsonb) is 'GET /ere-position: the current year and its quarters so far.';

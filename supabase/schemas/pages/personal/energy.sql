-- GET /energy and GET /ere-position read months, never sessions.

create function private.own_counted_months(since date, until date) returns table (month date, kwh numeric, ere numeric)
language plpgsql stable security definer
as $$
begin
  return query
  select m.period, sum(m.kwh), sum(m.ere)
    from private.own_account_rows() a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
   where m.period >= since and m.period < until
   group by m.period;
end $$;
comment on function private.own_counted_months(date, date) is
  'What counts toward ERE for this transaction''s person; of a credited month the accepted kWh. since inclusive, until '
  'exclusive. Definer, because what they signed for at a CPO is in its tenant.';

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
      'total_kwh_all', round(coalesce(sum(m.kwh), 0), 2),
      'total_sessions_all', coalesce(sum(m.sessions), 0),
      'months', coalesce(json_agg(json_build_object(
        'month', to_char(m.month, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere_credits, 2),
        'sessions', m.sessions, 'kwh_all', round(m.kwh, 2), 'sessions_all', m.sessions) order by m.month desc), '[]'))
    from private.own_months('-infinity', 'infinity') m);
end $$;
comment on function api.get_energy(jsonb) is
  'GET /energy: {total_kwh, total_ere_credits, total_sessions, total_kwh_all, total_sessions_all, months}, newest '
  'month first. What ends in _all repeats the number without it: other programs look for that name.';

-- What ERE may bring a person: gross rounded to the cent, the fee cut to it, as in a sale. Null without a price.
create function private.estimated_net(ere numeric, price numeric, fee_pct numeric) returns numeric
language sql immutable
return case when ere < 0.01 then 0
            else round(ere * price, 2) - trunc(round(ere * price, 2) * fee_pct * 0.01, 2) end;

create function private.own_forecast(this_month date)
returns table (price numeric, fee_pct numeric, kwh numeric, history_days int)
language plpgsql stable security definer
as $$
begin
  return query
  with going as (
    select c.partner_id, c.id, d.fee_pct
      from private.own_account_rows() a
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
     cross join lateral (select d.fee_pct from core.mandates d
                          where d.partner_id = c.partner_id and d.connection_id = c.id
                            and private.today() between d.valid_from and d.covered_until
                          order by d.signed_at desc limit 1) d
  ), counted as (
    select g.partner_id, g.fee_pct, m.period, m.kwh
      from going g
      join core.earned_months m on m.partner_id = g.partner_id and m.connection_id = g.id
     where m.period >= this_month - interval '12 months' and m.period <= this_month
  ), past as (
    -- complete months since the first that counted, at most the last twelve; one without charging is a zero among them
    select min(c.period) filter (where c.period < this_month) as first_month,
           sum(c.kwh) filter (where c.period < this_month) as kwh,
           coalesce(sum(c.kwh) filter (where c.period = this_month), 0) as kwh_now
      from counted c
  ), average as (
    select p.*, coalesce(p.kwh / nullif(
             (extract(year from age(this_month, p.first_month)) * 12
              + extract(month from age(this_month, p.first_month)))::int, 0), 0) as monthly
      from past p
  ), shares as (
    select g.partner_id, g.fee_pct, coalesce(sum(c.kwh) filter (where c.period < this_month), 0) as kwh
      from (select distinct g.partner_id, g.fee_pct from going g) g
      left join counted c on c.partner_id = g.partner_id and c.fee_pct = g.fee_pct
     group by g.partner_id, g.fee_pct
  )
  select private.last_price(s.partner_id), s.fee_pct,
         coalesce((greatest(v.monthly - v.kwh_now, 0) + v.monthly * (12 - extract(month from this_month)))
                  * s.kwh / nullif(v.kwh, 0), 0),
         coalesce(this_month - v.first_month, 0)
    from shares s cross join average v;
end $$;
comment on function private.own_forecast(date) is
  'The kWh that may still count this year, for each tenant''s price and each fee of a mandate in force. The rest of '
  'this month and each later month bring the average of the complete months before, shared out as those were. '
  'history_days has the days of those months. Definer, as private.own_counted_months.';

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
               net numeric, sold_on date, is_paid boolean, unpaid numeric, unpaid_ere numeric, unpaid_gross numeric,
               lowest_fee numeric, highest_fee numeric, pending_net numeric, unsold json)
language plpgsql stable security definer
as $$
begin
  return query
  with own as (
    select a.partner_id, a.id from private.own_account_rows() a where of_account is null or a.id = of_account
  ), unpaid as (
    select o.*, a.row_id, a.ere, a.gross, p.amount, sum(p.amount) over (partition by o.id) as whole,
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
    select u.row_id, sum(k.amount) as amount, sum(u.ere * k.amount / u.amount) as ere,
           sum(u.gross * k.amount / u.amount) as gross
      from unpaid u
      join owed w on w.id = u.id
     cross join lateral (select least(u.amount, greatest(u.up_to - (u.whole - w.amount), 0)) as amount) k
     group by u.row_id
  ), prices as (
    select t.partner_id, private.last_price(t.partner_id) as price from (select distinct o.partner_id from own o) t
  ), parts as (
    -- ERE are sold for each tenant, and each mandate has its own fee
    select private.quarter_of(m.period) as first_day, p.price, coalesce(m.fee_pct, s.fee_pct) as fee_pct,
        sum(m.kwh) as kwh, sum(m.ere) as ere,
           sum(m.registered_ere) as registered_ere, sum(m.sold_ere) as sold_ere, sum(m.gross) as gross,
               sum(m.net) as net, min(m.sold_on) as sold_on,
           bool_and(w.row_id is null) as is_paid, coalesce(sum(w.amount), 0) as unpaid,
           coalesce(sum(w.ere), 0) as unpaid_ere, coalesce(sum(w.gross), 0) as unpaid_gross
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
         bool_and(p.is_paid), sum(p.unpaid), sum(p.unpaid_ere), sum(p.unpaid_gross), min(p.fee_pct), max(p.fee_pct),
         case when not bool_or(k.pending is null) then sum(k.pending) end,
         json_agg(json_build_object('ere', p.ere - p.sold_ere, 'price_per_ere_eur', p.price, 'fee_pct', p.fee_pct,
                                    'net_eur', private.estimated_net(p.ere - p.sold_ere, p.price, p.fee_pct))
                  order by p.price, p.fee_pct)
    from parts p
   cross join lateral (select private.estimated_net(p.ere - p.registered_ere, p.price, p.fee_pct) as pending) k
   group by p.first_day;
end $$;
comment on function private.own_quarters(date, date, uuid) is
  'The quarters in which something counts for this transaction''s person, or for one account of theirs. ERE exact, '
  'credited and sold; euro gross, and the person''s part (net). Also the first day of sale, whether all that was sold '
  'is paid, and what of net is not (unpaid), with its ERE and gross. unsold has the ERE that are not sold, by the '
  'tenant''s last price and the fee: [{ere, price_per_ere_eur, fee_pct, net_eur}]. net_eur is what they may bring, '
  'null without a price. pending_net: what the ERE may bring that the register has not credited. since inclusive, '
  'until exclusive. Definer, because payments are in the service''s own batch.';

-- A part of what was sold: {ere, net_eur, price_per_ere}.
create function private.settled_part(ere numeric, gross numeric, net numeric) returns json
language sql stable
return json_build_object('ere', round(ere, 2), 'net_eur', net, 'price_per_ere', round(gross / nullif(ere, 0), 2));

-- The object of GET /ere-position, for a year that has begun. A quarter is sold once any of it is, and paid once all
-- that was sold is. The forecast of a past year is null.
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
      select q.*, u.net as unsold_net
        from private.own_quarters(make_date(year, 1, 1), make_date(year + 1, 1, 1)) q
       cross join lateral (
         select case when count(*) = count(p.part ->> 'net_eur') then sum((p.part ->> 'net_eur')::numeric) end as net
           from json_array_elements(q.unsold) p (part)) u
    ), whole as (
      select coalesce(sum(o.kwh), 0) as kwh, coalesce(sum(o.ere), 0) as ere,
             coalesce(sum(o.registered_ere), 0) as registered_ere, coalesce(sum(o.sold_ere), 0) as sold_ere,
             coalesce(sum(o.gross), 0) as gross, coalesce(sum(o.net), 0) as net,
             coalesce(sum(o.unpaid), 0) as unpaid, coalesce(sum(o.unpaid_ere), 0) as unpaid_ere,
             coalesce(sum(o.unpaid_gross), 0) as unpaid_gross,
             min(o.lowest_fee) as lowest_fee, max(o.highest_fee) as highest_fee,
             case when count(*) = count(o.unsold_net) then coalesce(sum(o.unsold_net), 0) end as unsold_net,
             case when count(*) = count(o.pending_net) then coalesce(sum(o.pending_net), 0) end as pending_net
        from own o
    ), future as (
      select coalesce(sum(k.ere), 0) as ere,
             case when count(*) = count(k.net) then coalesce(sum(k.net), 0) end as net,
             coalesce(max(f.history_days), 0) as history_days,
             min(f.fee_pct) as lowest_fee, max(f.fee_pct) as highest_fee
        from private.own_forecast(this_month) f
       cross join lateral (select f.kwh * coalesce(factor.ere_per_kwh, 0) as ere) e
       cross join lateral (select e.ere, private.estimated_net(e.ere, f.price, f.fee_pct) as net) k
       where year = this_year
    ), price as (
      select min(k.price) as lowest, max(k.price) as highest
        from (select distinct a.partner_id from private.own_account_rows() a) a
       cross join lateral (select private.last_price(a.partner_id) as price) k
    )
    select json_build_object(
      'year', year,
      'compliance_year', year,
      'kwh', round(w.kwh, 2),
      'renewable_share', factor.renewable_share,
      'effective_fee_pct', case when w.lowest_fee = w.highest_fee then w.lowest_fee
                                when w.lowest_fee is null and f.lowest_fee = f.highest_fee then f.lowest_fee end,
      'reserved_ere', round(w.registered_ere - w.sold_ere, 2),
      'sold_ere', round(w.sold_ere, 2),
      'forecast_ere', case when year = this_year then round(w.ere + f.ere, 2) end,
      'paid', private.settled_part(w.sold_ere - w.unpaid_ere, w.gross - w.unpaid_gross, w.net - w.unpaid),
      'payable', private.settled_part(w.unpaid_ere, w.unpaid_gross, w.unpaid),
      'reserved', private.settled_part(0, 0, 0),
      'unsold', json_build_object(
        'ere', round(w.ere - w.sold_ere + f.ere, 2),
        'ytd_ere', round(w.ere - w.sold_ere, 2),
        'future_ere', round(f.ere, 2),
        'forecast_net_eur', w.unsold_net + f.net,
        'ytd_forecast_net_eur', w.unsold_net,
        'future_forecast_net_eur', f.net),
      'ytd_expected_eur', w.net + w.unsold_net,
      'total_expected_eur', w.net + w.unsold_net + f.net,
      'realized_avg_price', round(w.gross / nullif(w.sold_ere, 0), 2),
      'indicative_price_per_ere', case when p.lowest = p.highest then round(p.lowest, 2) end,
      'allocatable_ere', round(w.ere - w.sold_ere, 2),
      'pending_ere', round(w.ere - w.registered_ere, 2),
      'pending_forecast_net_eur', w.pending_net,
      'forecast_is_projected', f.ere > 0,
      'forecast_history_days', f.history_days,
      'forecast_confidence', null,
      'quarters', (
        select json_agg(json_build_object(
          'quarter', year || '-Q' || q,
          'kwh', round(coalesce(o.kwh, 0), 2),
          'ere_credits', round(coalesce(o.ere, 0), 2),
          'ere', round(coalesce(o.ere, 0), 2),
          'sold_ere', round(coalesce(o.sold_ere, 0), 2),
          'unsold_ere', round(coalesce(o.ere - o.sold_ere, 0), 2),
          'price_per_ere', round(o.gross / nullif(o.sold_ere, 0), 2),
          'revenue_eur', case when o.sold_ere > 0 then o.net end,
          'realized_net_eur', coalesce(o.net, 0),
          'net_eur_by_status', json_build_object(
            'paid', coalesce(o.net - o.unpaid, 0), 'payable', coalesce(o.unpaid, 0), 'reserved', 0),
          'status', case when o.sold_ere > 0 and o.is_paid then 'paid'
                         when o.sold_ere > 0 then 'sold'
                         when year < this_year or q < begun then 'closed' else 'open' end,
          'final', year < this_year or q < begun,
          'sold_at', private.iso(private.dutch_midnight(o.sold_on))) order by q)
          from generate_series(1, begun) q left join own o on o.quarter = make_date(year, 3 * q - 2, 1)))
      from whole w cross join future f cross join price p);
end $$;

create function api.get_ere_position(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'user');
  return private.own_ere_position(extract(year from private.today())::int);
end $$;
comment on function api.get_ere_position(jsonb) is 'GET /ere-position: the current year and its quarters so far.';

-- GET /v1/ere-positions.

-- A delivered month as the API shows it.
create function private.month_json(month core.delivered_months) returns json
language sql stable
return json_build_object(
  'period', month.period, 'total_kwh', month.total_kwh, 'session_count', month.session_count, 'status', month.status,
  'received_at', private.iso(month.received_at), 'connection_id', month.connection_id, 'accepted_kwh',
      month.accepted_kwh, 'register_reason', private.register_reason(month));

-- What the latest of these years with months that count yields for an account, else what the first does.
create function private.latest_ere(account uuid, years int[]) returns json
language plpgsql stable
as $$
declare
  year constant int := (
    select max(extract(year from m.period))
      from core.connections c join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
     where c.partner_id = private.partner_id() and c.account_id = account
         and extract(year from m.period) = any (years));
begin
  return (select p.answer -> 'ere' from private.positions(array[coalesce(year, years[1])]) p
          where p.partner_id = private.partner_id() and p.account_id = account);
end $$;

-- The positions of accounts as the API shows them, for the tenant's published years (newest first). ere is of the
-- latest of these years with months that count, else of the first; null if no year is published. kWh as accepted once
-- credited; ERE with two decimals; the price with six. Planned as part of the calling statement.
create function private.positions(years int[])
returns table (partner_id uuid, account_id uuid, client_id uuid, created_at timestamptz, cpo_external_ref text,
               answer json)
language sql stable
begin atomic
  with published as (
    select f.delivery_year, f.price, f.published_at, k.renewable_share, k.ere_per_kwh
      from core.figures f
      join core.ere_factors k on k.delivery_year = f.delivery_year
     where f.partner_id = private.partner_id() and f.delivery_year = years[1])
  select g.partner_id, g.account_id, g.client_id, g.created_at, g.cpo_external_ref, row_to_json(r)
    from core.account_gates g
    -- the months are read once, for the list and for what nobody booked of the newest year
    cross join lateral (
      select json_agg(private.month_json(d) order by d.period, d.connection_id) as months,
             sum(d.total_kwh) filter (where d.status = 'staged' or d.locked) as total_kwh,
             sum(d.total_kwh) filter (where d.status = 'staged' and d.period <@ k.newest) as open_kwh,
             max(d.received_at) filter (where d.status = 'staged' and d.period <@ k.newest) as open_at
        from core.connections c
        -- the days of the newest year that its mandates cover: a sub-select makes the year once; offset 0, else the
        -- view adds up the whole tenant
        left join lateral (
          select k.covered * (select datemultirange(daterange(make_date(years[1], 1, 1),
                                                              make_date(years[1] + 1, 1, 1)))) as newest
            from core.connection_coverage k
           where k.partner_id = c.partner_id and k.connection_id = c.id and cardinality(years) > 0 offset 0) k on true
        join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
       where c.partner_id = g.partner_id and c.account_id = g.account_id) d
    left join core.account_years s on s.partner_id = g.partner_id and s.account_id = g.account_id
        and s.delivery_year = years[1]
    left join lateral (
      select case
        when s.account_id is null and d.open_at is null and cardinality(years) > 1
            then private.latest_ere(g.account_id, years)
        else json_build_object(
          'delivery_year', p.delivery_year, 'kwh_counted', coalesce(s.kwh, 0) + coalesce(d.open_kwh, 0),
          'renewable_share', p.renewable_share, 'ere_per_kwh', p.ere_per_kwh,
          'ere_estimated', round(coalesce(s.ere, 0) + coalesce(d.open_kwh, 0) * p.ere_per_kwh, 2),
          'ere_registered', round(coalesce(s.registered_ere, 0), 2), 'ere_sold', round(coalesce(s.sold_ere, 0), 2),
          'reserved_ere', round(coalesce(s.registered_ere - s.sold_ere, 0), 2), 'price_per_ere_eur', p.price,
          'gross_eur', coalesce(s.gross, 0), 'fee_pct', s.fee_pct, 'net_eur', coalesce(s.net, 0), 'currency', 'EUR',
          'updated_at', private.iso(greatest(p.published_at, s.changed_at, d.open_at))) end as ere
        from published p) e on true
    cross join lateral (
      select g.account_id, g.cpo_external_ref, g.payout_handler, g.ere_eligible, g.mandate_valid_from, g.checklist,
             coalesce(d.months, '[]') as delivered_months, coalesce(d.total_kwh, 0) as total_kwh_delivered, e.ere) r;
end;

create function api.list_ere_positions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  years     int[];
  found     uuid[];
  positions json;
begin
  perform private.act_as(caller, 'cpo');
  years := array(
    select f.delivery_year from core.figures f
     where f.partner_id = private.partner_id() and f.delivery_year = coalesce((query ->> 'delivery_year')::int,
                                                                              f.delivery_year)
     order by f.delivery_year desc);
  if query ->> 'cpo_external_ref' is null then
    found := private.account_page(query);
    positions := (
      select json_agg(p.answer order by p.created_at desc, p.account_id desc)
        from private.positions(years) p
       where p.partner_id = private.partner_id() and p.account_id = any (found[:(query ->> 'limit')::int]));
  else
    -- what integrators ask for most, without looking the account up first: 20 us of 280
    select array_agg(p.account_id), json_agg(p.answer) into found, positions
      from private.positions(years) p
     where p.client_id = private.client_id() and p.cpo_external_ref = query ->> 'cpo_external_ref'
         and (query ->> 'offset')::bigint = 0;
  end if;
  return private.page_answer('positions', positions, found, query);
end $$;
comment on function api.list_ere_positions(jsonb, jsonb) is
  'GET /v1/ere-positions: {limit, offset, cpo_external_ref, delivery_year} to a page of positions, newest account '
  'first. ere is null until figures are published, for the requested year if one is.';

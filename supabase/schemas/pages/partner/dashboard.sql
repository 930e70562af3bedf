-- GET /partner/dashboard: counted when read, or for a partner that has many customers by the worker, if a reader finds
-- the count a minute old.

-- The number of a partner's drafts in each status as of now, in the order of the dashboard.
create function private.drafts_by_status(partner uuid) returns table (status text, drafts bigint, place bigint)
language sql stable
as $$
  select k.status, count(d.id), k.place
    from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) with ordinality as k (status, place)
    left join core.drafts d on d.partner_id = drafts_by_status.partner and private.draft_status(d) = k.status
   group by k.status, k.place
$$;

-- Counts the customers whom a partner brought, from the month each was attached, and its drafts. Or, of_clients, the
-- accounts of its CPO clients. Only definers call it: people own what they have in the people's tenant.
create function private.count_dashboard(partner uuid, of_clients boolean default false) returns json
language plpgsql stable
as $$
declare
  tenant constant uuid := case when of_clients then partner else private.people_tenant() end;
  today constant date := private.today();
begin
  return (
    with holder as (
      select k.user_id as id, k.attached_month, a.id as account_id
        from core.attributions k
        join core.accounts a on a.partner_id = tenant and a.user_id = k.user_id
       where not of_clients and k.partner_id = count_dashboard.partner
      union all
      select a.id, '-infinity', a.id from core.accounts a where of_clients and a.partner_id = tenant
    ), connection as (
      -- a connection with each of its mandates, newest first, so that all months are joined once
      select k.id as holder, k.attached_month, c.id, m.valid_from, m.covered_until,
          m.fee_pct * m.partner_share_pct as agreed,
             c.status = 'active' and m.status = 'signed' and today between m.valid_from and m.valid_until as holds,
             row_number() over mandates = 1 as is_first,
             -- where two mandates cover a month, the mandate signed last counts
             range_agg(daterange(m.valid_from, m.covered_until, '[]')) filter (where m.covered_until >= m.valid_from)
               over (mandates rows between unbounded preceding and 1 preceding) as covered_by_newer
        from holder k
        join core.connections c on c.partner_id = tenant and c.account_id = k.account_id
        left join core.mandates m on m.partner_id = tenant and m.connection_id = c.id and m.status <> 'declined'
      window mandates as (partition by c.id order by m.signed_at desc, m.id)
    ), delivered as (
      select d.period, c.is_first, d.locked, v.covers, case when v.covers and not d.locked then c.agreed end as agreed,
             sum(d.total_kwh) as kwh, sum(coalesce(d.accepted_kwh, d.total_kwh)) as accepted_kwh,
                 count(*) filter (where d.total_kwh > 0) as charged
        from connection c
        join core.delivered_months d on d.partner_id = tenant and d.connection_id = c.id
            and d.period >= c.attached_month and (d.status = 'staged' or d.locked)
       cross join lateral (
         select coalesce(d.period between c.valid_from and c.covered_until
                         and (c.covered_by_newer @> d.period) is not true, false) as covers) v
       group by d.period, c.is_first, d.locked, v.covers, 5
    ), booked as (
      -- a booked month earns by what its row says, any other by the mandate that covers it
      select r.period, sum(coalesce(d.accepted_kwh, d.total_kwh) * r.fee_pct * r.partner_share_pct) as agreed_kwh
        from core.booking_rows r
        join connection c on c.id = r.connection_id and c.is_first and r.period >= c.attached_month
        join core.delivered_months d on d.partner_id = tenant and d.connection_id = r.connection_id
            and d.period = r.period and d.locked
       where r.partner_id = tenant and r.live and r.share_partner_id = count_dashboard.partner
       group by r.period
    ), several as (
      -- who charged at two connections in a month is one customer
      select d.period, count(*) - count(distinct c.holder) as too_many
        from (select k.holder from connection k where k.is_first group by k.holder having count(*) > 1) k
        join connection c on c.holder = k.holder and c.is_first
        join core.delivered_months d on d.partner_id = tenant and d.connection_id = c.id
            and d.period >= c.attached_month and (d.status = 'staged' or d.locked)
             and d.total_kwh > 0
       group by d.period
    ), month as (
      select d.period, d.kwh, d.charged - coalesce(s.too_many, 0) as active,
          d.counted_kwh * coalesce(f.ere_per_kwh, 0) as ere,
             (d.agreed_kwh + coalesce(b.agreed_kwh, 0)) * coalesce(f.ere_per_kwh, 0) as agreed_ere
        from (select d.period, sum(d.kwh) filter (where d.is_first) as kwh,
              sum(d.charged) filter (where d.is_first) as charged,
                     coalesce(sum(d.accepted_kwh) filter (where case when d.locked then d.is_first else d.covers end),
                              0) as counted_kwh,
                     coalesce(sum(d.kwh * d.agreed), 0) as agreed_kwh
                from delivered d group by d.period) d
        left join booked b on b.period = d.period
        left join several s on s.period = d.period
        left join core.ere_factors f on f.delivery_year = extract(year from d.period)
    ), sold as (
      select coalesce(sum(a.ere * a.fee_pct * a.partner_share_pct), 0) as ere
        from core.allocations a
        join core.booking_rows r on r.partner_id = tenant and r.id = a.row_id and r.live
        join connection c on c.id = r.connection_id and c.is_first and r.period >= c.attached_month
       where a.partner_id = tenant and a.share_partner_id = count_dashboard.partner and a.reversal_id is null
    )
    select json_build_object(
      'as_of', private.iso(private.now()),
      'customers_total', case when of_clients then private.accounts_made(tenant, null, null) else (
        select count(*) from core.attributions k where k.partner_id = count_dashboard.partner) end,
      'customers_active', (select count(distinct c.holder) from connection c where c.holds),
      'drafts', case when not of_clients then (select json_object_agg(d.status, d.drafts order by d.place)
                                               from private.drafts_by_status(count_dashboard.partner) d) end,
      'chargers_total', case when of_clients then (
        select count(*) from core.chargers h where h.partner_id = tenant and h.status = 'active')
        else (select count(*) from core.attributions k join core.chargers h on h.partner_id = tenant
                         and h.user_id = k.user_id and h.status = 'active'
                          where k.partner_id = count_dashboard.partner) end,
      'kwh_total', (select round(coalesce(sum(m.kwh), 0), 2) from month m),
      'kwh_this_month', (select round(coalesce(sum(m.kwh), 0), 2) from month m
                         where m.period = date_trunc('month', today)),
      'ere_estimated', (select round(coalesce(sum(m.ere), 0), 2) from month m),
      -- the partner's part, by percentages, of what is not sold yet
      'partner_share_estimated_eur',
          (select trunc(greatest(coalesce(sum(m.agreed_ere), 0) - (select s.ere from sold s), 0) / 10000
                                                   * coalesce(private.last_price(tenant), 0), 2) from month m),
      'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'),
                                                            'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                            'active_customers', m.active) order by m.period desc), '[]')
                                                                from month m)));
end $$;

-- Whether a partner has more than 1,000 customers: up to these its figures are as of now.
create function private.has_many_customers(partner uuid) returns boolean
language plpgsql stable
as $$
begin
  return exists (select from core.attributions k where k.partner_id = has_many_customers.partner
                  order by k.created_at desc, k.user_id desc offset 1000);
end $$;

-- Whether what a partner has is too much to count all of it for each reader: many customers, or accounts of its CPO
-- clients.
create function private.has_many(partner uuid) returns boolean
language plpgsql stable
as $$
begin
  return private.has_many_customers(partner)
      or exists (select from core.accounts a where a.partner_id = has_many.partner order by a.id offset 1000);
end $$;

create function private.partner_coming(partner uuid) returns numeric
language sql stable security definer
as $$
  select coalesce((select sum(b.amount) from private.payable_balances(array[partner]) b
                    where b.partner_id = partner and b.account_id is null), 0)
       -- account by account: payable_balances looks for each owner in every tenant
       + coalesce((select sum(private.balance(a.partner_id, 'EUR', 'customer', a.id)) from core.accounts a
                    where a.partner_id = partner and a.payout_handler <> 'service_pays_customer'), 0)
       + coalesce((select sum(l.amount) from core.payout_lines l
                    where l.partner_id = partner and l.payee_id = partner and l.status = 'pending'), 0)
$$;
comment on function private.partner_coming(uuid) is
  'What a partner is owed, VAT included and debts taken off, for its share and for customers that it settles with '
  'itself, with what is on its way to the bank. Definer, because what people own is in the people''s tenant.';

-- Counts all that is kept of a partner that has many: what GET /partner/dashboard and GET /partner/payouts answer, the
-- same figures of the accounts of its clients, what its newest customers need, and what it is owed. What fails is
-- null, and its SQLSTATE the error.
create function private.count_partner(partner core.partners, out figures json, out accounts json, out payouts json,
                                      out needs json, out coming_eur numeric, out error text)
language plpgsql stable
as $$
begin
  -- the quick ones first: where time runs out, only the rest is missing
  for part in 1..5 loop
    begin
      case part
        when 1 then needs := private.customers_in_need(partner, true, null);
        when 2 then payouts := private.partner_payouts(partner.id);
        when 3 then coming_eur := private.partner_coming(partner.id);
        when 4 then figures := private.count_dashboard(partner.id);
        when 5 then accounts := private.count_dashboard(partner.id, true);
      end case;
    exception
      when query_canceled then error := sqlstate; return;
      when others then error := sqlstate;
    end;
  end loop;
end $$;

create function private.partner_figures(partner core.partners) returns json
language plpgsql security definer
as $$
declare
  fresh constant timestamptz := private.now() - interval '60 seconds';
  last  core.dashboards;
  failed text;
begin
  if not private.has_many(partner.id) then
    return private.count_dashboard(partner.id);
  end if;
  select * into last from core.dashboards d where d.partner_id = partner.id;
  if last.partner_id is null and private.try_lock('dashboard', partner.id::text) then  -- one first reader counts
    select c.figures, c.accounts, c.payouts, c.needs, c.coming_eur, c.error
      into last.figures, last.accounts, last.payouts, last.needs, last.coming_eur, failed
      from private.count_partner(partner) c;
    perform private.kick() where failed is not null;  -- the worker counts
    insert into core.dashboards (partner_id, as_of, figures, accounts, payouts, needs, coming_eur)
      values (partner.id, case when failed is null then private.now() else '-infinity' end, last.figures,
              last.accounts, last.payouts, last.needs, last.coming_eur)
    on conflict do nothing;
  elsif last.as_of < fresh and (last.asked_at is null or last.asked_at < fresh) then
    -- one reader of many asks, and none waits for it
    update core.dashboards d set asked_at = private.now()
     where d.partner_id = (select a.partner_id from core.dashboards a
                            where a.partner_id = partner.id and a.as_of < fresh
                                and (a.asked_at is null or a.asked_at < fresh) for update skip locked);
    perform private.kick() where found;
  end if;
  return case when private.has_many_customers(partner.id) then last.figures
              else private.count_dashboard(partner.id) end;
end $$;
comment on function private.partner_figures(core.partners) is
  'The dashboard of a partner: as of now, or of one that private.has_many_customers the last count. Null until the '
  'first reader has counted, or the worker where its time ran out. Definer, because dashboards are otherwise only '
  'read.';

create function api.show_dashboard(caller jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return coalesce(private.partner_figures(private.own_partner()), private.refusal('service_unavailable'));
end $$;
comment on function api.show_dashboard(jsonb) is
  'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year. The share in euro is '
  'of unsold ERE at the last average price, 0 until there is one. Refused with service_unavailable until the first '
  'reader has counted, or the worker where its time ran out.';

create function private.recount_dashboard(out partner_id uuid, out error text)
language plpgsql security definer
as $$
declare
  counted record;
begin
  -- one count at a time
  if not private.try_lock('dashboards') then
    return;
  end if;
  select d.partner_id into recount_dashboard.partner_id from core.dashboards d
   where (d.asked_at > d.as_of or d.as_of < private.dutch_midnight(private.today()))
     and (d.failed_at is null or d.failed_at <= private.now() - interval '10 minutes')
   order by d.asked_at > d.as_of desc nulls last, d.as_of limit 1;
  select c.* into counted
    from core.partners p cross join lateral private.count_partner(p) c where p.id = recount_dashboard.partner_id;
  error := counted.error;
  update core.dashboards d
     set as_of     = case when counted.error is null then private.now() else d.as_of end,
         failed_at = case when counted.error is not null then private.now() end,
         figures   = coalesce(counted.figures, d.figures),
         accounts  = coalesce(counted.accounts, d.accounts),
         payouts   = coalesce(counted.payouts, d.payouts),
         needs     = coalesce(counted.needs, d.needs),
         coming_eur = coalesce(counted.coming_eur, d.coming_eur)
   where d.partner_id = recount_dashboard.partner_id;
exception when query_canceled or others then
  error := sqlstate;
  update core.dashboards d set failed_at = private.now() where d.partner_id = recount_dashboard.partner_id;
end $$;
comment on function private.recount_dashboard() is
  'Counts the next dashboard that a reader asked for, or that was not counted since midnight. Nothing if there is '
  'none, or another count runs. A count that fails or takes a minute is noted, its SQLSTATE answered, and its last '
  'value kept. Definer: every tenant at once.';

create function api.recount_dashboard(caller jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select (select row_to_json(r) from private.recount_dashboard() r); $$;
comment on function api.recount_dashboard(jsonb) is
  'Counts the next dashboard that is due: {partner_id, error}. partner_id is null if none is, error if the count did '
  'not fail.';
grant execute on function api.recount_dashboard(jsonb) to edge_slow;

-- Compares the months of a partner's dashboard with the positions of its customers, in one snapshot. It compares the
-- customers that the partner brought, and then the accounts of its clients.
create function private.check_partner_sums(tenant uuid) returns setof private.check_result
language sql stable
as $$
  with kind as (
    select k.of_clients, k.name from (values (false, 'customers'), (true, 'accounts')) k (of_clients, name)
     -- nobody is shown the people's tenant as accounts
     where not k.of_clients or tenant <> private.people_tenant()
  ), counted as (
    select k.of_clients, to_date(m.month, 'YYYY-MM') as period, m.kwh, m.ere_credits
      from kind k
     cross join json_to_recordset(private.count_dashboard(tenant, k.of_clients) -> 'months') as m (month text,
         kwh numeric, ere_credits numeric)
  ), holder as (
    select false as of_clients, a.partner_id, a.id, k.attached_month
      from core.attributions k
      join core.accounts a on a.partner_id = private.people_tenant() and a.user_id = k.user_id
     where k.partner_id = tenant
    union all
    select true, a.partner_id, a.id, '-infinity' from core.accounts a
     where a.partner_id = tenant and tenant <> private.people_tenant()
  ), delivered as (
    select k.of_clients, d.period, round(sum(d.total_kwh), 2) as kwh,
        round(coalesce(sum(coalesce(d.accepted_kwh, d.total_kwh) * m.ere_per_kwh), 0), 2) as ere_credits
      from holder k
      join core.connections c on c.partner_id = k.partner_id and c.account_id = k.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
          and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id
          and m.period = d.period
     where d.status = 'staged' or d.locked
     group by k.of_clients, d.period
  )
  select format('dashboards show what %s delivered', k.name), coalesce(sum(r.expected), 0), coalesce(sum(r.found), 0),
         count(*) filter (where r.is_wrong), min(to_char(r.period, '"month "YYYY-MM')) filter (where r.is_wrong)
    from kind k
    left join (
      select of_clients, period, d.kwh as expected, c.kwh as found,
             (d.kwh, d.ere_credits) is distinct from (c.kwh, c.ere_credits) as is_wrong
        from delivered d full join counted c using (of_clients, period)) r using (of_clients)
   group by k.of_clients, k.name order by k.of_clients
$$;

-- Whether the kept sums of a partner are those of its customers and drafts, and what makes them so again.

create function private.people_of_partner(partner uuid, after uuid, size int) returns uuid[]
language sql stable
set search_path = ''
as $$
  select array(
    select p.user_id
      from (select a.user_id from core.attributions a where a.partner_id = people_of_partner.partner
            union select t.user_id from core.customer_totals t where t.partner_id = people_of_partner.partner) p
     where p.user_id > after order by p.user_id limit size)
$$;
comment on function private.people_of_partner(uuid, uuid, int) is 'Whom a partner brought, or is kept to have brought, after one of them.';

create function private.wrong_customers(partner uuid, people uuid[]) returns table (user_id uuid, period date, kwh numeric)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  select coalesce(w.user_id, k.user_id), coalesce(w.period, k.period), coalesce(w.kwh, 0) - coalesce(k.kwh, 0)
    from private.months_of_customers(people, array_fill(date '-infinity', array[cardinality(people)]), array_fill(date 'infinity', array[cardinality(people)])) w
    full join (select m.* from core.customer_months m where m.partner_id = wrong_customers.partner and m.user_id = any (people)) k
      on k.user_id = w.user_id and k.period = w.period and k.partner_id = w.partner_id
   where (w.kwh, w.counted_kwh, w.agreed_kwh, w.sold_ere) is distinct from (k.kwh, k.counted_kwh, k.agreed_kwh, k.sold_ere)
  union all
  select coalesce(w.user_id, k.user_id), null, 0
    from private.totals_of_customers(people) w
    full join (select t.* from core.customer_totals t where t.partner_id = wrong_customers.partner and t.user_id = any (people)) k on k.user_id = w.user_id and k.partner_id = w.partner_id
   where (w.chargers, w.signed) is distinct from (k.chargers, k.signed);
end $$;
comment on function private.wrong_customers(uuid, uuid[]) is
  'What is not kept of people whom a partner brought as their rows say: a month and by how many kWh, or (null) the rest. All of one snapshot, so that a transaction under way shows in neither.';

create function private.wrong_sums(partner uuid) returns setof core.partner_sums
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  select wrong_sums.partner, null::bigint, s.what, s.day, false, sum(s.amount)::bigint, sum(s.active)::bigint, sum(s.kwh), sum(s.counted_kwh),
         sum(s.agreed_kwh), sum(s.sold_ere)
    from (select k.what, k.day, k.amount, 0 as active, 0 as kwh, 0 as counted_kwh, 0 as agreed_kwh, 0 as sold_ere
            from core.customer_totals t cross join lateral private.counts_of(t) k where t.partner_id = wrong_sums.partner
          union all
          select 'month', m.period, 1, (m.kwh > 0)::int, m.kwh, m.counted_kwh, m.agreed_kwh, m.sold_ere
            from core.customer_months m where m.partner_id = wrong_sums.partner
          union all
          select 'draft:' || d.status, null, 1, 0, 0, 0, 0, 0 from core.drafts d where d.partner_id = wrong_sums.partner
          union all
          select p.what, p.day, -p.amount, -p.active, -p.kwh, -p.counted_kwh, -p.agreed_kwh, -p.sold_ere
            from core.partner_sums p where p.partner_id = wrong_sums.partner) s
   group by s.what, s.day
  having (sum(s.amount), sum(s.active), sum(s.kwh), sum(s.counted_kwh), sum(s.agreed_kwh), sum(s.sold_ere)) is distinct from (0, 0, 0, 0, 0, 0);
end $$;
comment on function private.wrong_sums(uuid) is 'What each kept sum of a partner lacks to be that of what is kept of its customers, and of its drafts. Of one snapshot.';

create function private.check_partner_sums(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  -- 30 us a month: of a large partner others every day
  most   constant int := 10000;
  people uuid[] := private.people_of_partner(tenant, private.house(), most + 1);
begin
  if cardinality(people) > most then
    people := private.people_of_partner(tenant, gen_random_uuid(), most);
  end if;
  return query
  with thing as (
    select c.kwh, 'customer ' || c.user_id || coalesce(to_char(c.period, ' YYYY-MM'), '') as name
      from private.wrong_customers(tenant, people) c
    union all
    select s.kwh, s.what || coalesce(' ' || s.day, '') from private.wrong_sums(tenant) s
  ), kept as (
    select coalesce(sum(s.kwh), 0) as kwh from core.partner_sums s where s.partner_id = tenant
  )
  select 'kept sums are those of customers and drafts', k.kwh + coalesce((select sum(t.kwh) from thing t), 0), k.kwh,
         (select count(*) from thing), (select min(t.name) from thing t)
    from kept k;
end $$;
comment on function private.check_partner_sums(uuid) is 'What the dashboard of a partner is made of, beside the rows it is about: in kWh, and how many customers, months and sums are wrong. Of more than 10,000 customers those that come next in an order from anywhere.';

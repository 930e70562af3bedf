-- Whether ledger, months, bookings, sales and payouts agree. Everything of a tenant is read: hash joins, whatever the
-- planner believes.

create function private.check_kwh(tenant uuid) returns setof private.check_result
language sql stable
as $$
  with booked as (
    select r.*, c.accepted_kwh
      from core.booking_rows r
      left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
     where r.partner_id = tenant and r.live
  ), month as (
    select coalesce(d.connection_id, r.connection_id) as connection_id, coalesce(d.period, r.period) as period,
        d.total_kwh,
           case when d.locked then 0 else d.total_kwh end as left_out, r.kwh as booked,
           -- a locked month has a live row that says the same, and an open one has none
           coalesce(d.locked, false) is distinct from (r.id is not null) or r.kwh <> d.total_kwh or r.status <> d.status
             or r.accepted_kwh is distinct from d.accepted_kwh as is_wrong
      from (select * from core.delivered_months where partner_id = tenant) d
      full join booked r on r.connection_id = d.connection_id and r.period = d.period
  ), ledger as (
    select b.owner, b.kind, b.balance from core.ledger_balances b where b.partner_id = tenant and b.unit = 'kWh'
        and b.kind not in ('delivered', 'closed')
  ), booking as (
    select r.booking_id as owner, k.kind, sum(k.kwh) as kwh
      from booked r
      cross join lateral (values ('submitted', case r.status when 'submitted' then r.kwh end),
                          ('registered', r.accepted_kwh),
                                 ('written_off', r.kwh - r.accepted_kwh)) k (kind, kwh)
     group by r.booking_id, k.kind
  ), account as (
    select coalesce(l.owner, b.owner) as owner, coalesce(l.balance, 0) as balance, coalesce(b.kwh, 0) as kwh
      from ledger l full join booking b on b.owner = l.owner and b.kind = l.kind
  )
  select 'kWh booked and left out are those delivered', coalesce(sum(m.total_kwh), 0),
      coalesce(sum(m.left_out), 0) + coalesce(sum(m.booked), 0),
         count(*) filter (where m.is_wrong),
             min(m.connection_id || ' ' || to_char(m.period, 'YYYY-MM')) filter (where m.is_wrong)
    from month m
  union all
  select 'kWh in the ledger are those booked', coalesce(sum(a.kwh), 0), coalesce(sum(a.balance), 0),
         count(*) filter (where a.kwh <> a.balance), min('booking ' || a.owner) filter (where a.kwh <> a.balance)
    from account a
$$;

create function private.check_ere(tenant uuid) returns setof private.check_result
language sql stable
as $$
  with credited as (
    select r.booking_id, r.id, c.ere, trunc(c.accepted_kwh * r.ere_per_kwh, 6) as by_factor
      from core.booking_rows r
      join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
     where r.partner_id = tenant
  ), sold as (
    select a.row_id, sum(a.ere) as ere from core.allocations a where a.partner_id = tenant and a.reversal_id is null
      group by a.row_id
  ), booking as (
    select b.id, b.granted_ere, coalesce(sum(c.ere), 0) as credited, coalesce(sum(s.ere), 0) as sold
      from core.bookings b
      left join credited c on c.booking_id = b.id
      left join sold s on s.row_id = c.id
     where b.partner_id = tenant group by b.id, b.granted_ere
  ), ledger as (
    select b.owner, coalesce(sum(b.balance) filter (where b.kind = 'unsold'), 0) as unsold,
        coalesce(sum(b.balance) filter (where b.kind = 'sold'), 0) as sold,
           coalesce(-sum(b.balance) filter (where b.kind = 'register'), 0) as granted
      from core.ledger_balances b where b.partner_id = tenant and b.unit = 'ERE' and b.kind <> 'closed'
     -- of a booking that retention deleted its accounts stay, with nothing in them
     group by b.owner having bool_or(b.balance <> 0)
  ), judged as (
    select b.*, coalesce(l.unsold, 0) as in_unsold, coalesce(l.sold, 0) as in_sold, coalesce(l.granted, 0) as in_granted
      from booking b full join ledger l on l.owner = b.id
  )
  select 'ERE credited are kWh by the factor', coalesce(sum(c.by_factor), 0), coalesce(sum(c.ere), 0),
         count(*) filter (where c.ere <> c.by_factor), min('row ' || c.id) filter (where c.ere <> c.by_factor)
    from credited c
  union all
  select 'ERE in the ledger are those credited', coalesce(sum(j.credited), 0),
      coalesce(sum(j.in_unsold + j.in_sold), 0),
         count(*) filter (where j.credited is distinct from j.in_unsold + j.in_sold),
         min('booking ' || j.id) filter (where j.credited is distinct from j.in_unsold + j.in_sold)
    from judged j
  union all
  select 'ERE sold are those allocated', coalesce(sum(j.sold), 0), coalesce(sum(j.in_sold), 0),
         count(*) filter (where j.sold is distinct from j.in_sold),
             min('booking ' || j.id) filter (where j.sold is distinct from j.in_sold)
    from judged j
  union all
  select 'ERE from the register are those granted', coalesce(sum(coalesce(j.granted_ere, j.credited)), 0),
      coalesce(sum(j.in_granted), 0),
         count(*) filter (where coalesce(j.granted_ere, j.credited) is distinct from j.in_granted
                          or j.in_sold > j.in_granted),
         min('booking ' || j.id) filter (where coalesce(j.granted_ere, j.credited) is distinct from j.in_granted
                                         or j.in_sold > j.in_granted)
    from judged j
$$;

create function private.check_money(tenant uuid) returns setof private.check_result
language sql stable
as $$
  with moved as (
    -- what was moved for each part, less what was moved back
    select k.allocation_id, sum(k.amount) filter (where k.what = 'net') as net,
        sum(k.amount) filter (where k.what = 'share') as share,
           sum(k.amount) filter (where k.what = 'fee') as fee
      from (select split_part(e.cause, ':', 2) as allocation_id, split_part(e.cause, ':', 3) as what,
                   case split_part(e.cause, ':', 4) when 'reversed' then -e.amount else e.amount end as amount
              from core.ledger_entries e
             where e.partner_id = tenant and e.cause > 'allocation:' and e.cause < 'allocation;') k
     group by k.allocation_id
  ), part as (
    select a.*, a.reversal_id is null as stands, coalesce(m.net, 0) as in_net, coalesce(m.share, 0) as in_share,
        coalesce(m.fee, 0) as in_fee
      from (select * from core.allocations where partner_id = tenant) a
      left join moved m on m.allocation_id = a.id::text
  ), sale as (
    select s.id, s.reference, s.gross, s.ere, sum(p.gross) as parts, sum(p.ere) as parts_ere,
        coalesce(sum(p.gross) filter (where p.stands), 0) as stands,
           -private.balance(tenant, 'EUR', 'buyer', s.id) as owed
      from core.sales s left join part p on p.sale_id = s.id
     where s.partner_id = tenant group by s.id, s.reference, s.gross, s.ere
  )
  select 'parts of sales add up to them', coalesce(sum(s.gross), 0), coalesce(sum(s.parts), 0),
         count(*) filter (where (s.gross, s.ere) is distinct from (s.parts, s.parts_ere)),
         min('sale ' || s.reference) filter (where (s.gross, s.ere) is distinct from (s.parts, s.parts_ere))
    from sale s
  union all
  select 'buyers owe what was sold', coalesce(sum(s.stands), 0), coalesce(sum(s.owed), 0),
         count(*) filter (where s.stands <> s.owed), min('sale ' || s.reference) filter (where s.stands <> s.owed)
    from sale s
  union all
  select 'customers, partners and the service got what was sold', coalesce(sum(p.gross) filter (where p.stands), 0),
         coalesce(sum(p.in_net + p.in_share + p.in_fee), 0), count(*) filter (where k.is_wrong),
             min('row ' || p.row_id) filter (where k.is_wrong)
    from part p
    cross join lateral (
      select (p.in_net, p.in_share, p.in_fee) is distinct from
             case when p.stands then row(p.net, p.partner_share, p.fee - p.partner_share) else row(0.00, 0.00, 0.00)
                  end as is_wrong) k
$$;

create function private.check_owed(tenant uuid) returns setof private.check_result
language sql stable
as $$
  with ledger as (
    select b.kind, b.owner, b.balance from core.ledger_balances b where b.partner_id = tenant and b.unit = 'EUR'
  ), got as (
    select k.kind, k.owner, k.amount
      from core.allocations a
     cross join lateral (values ('customer', a.account_id, a.net),
                         ('partner', coalesce(a.share_partner_id, private.people_tenant()), a.partner_share),
                                ('service', private.people_tenant(), a.fee - a.partner_share)) k (kind, owner, amount)
     where a.partner_id = tenant and a.reversal_id is null
    union all
    select k.kind, k.owner, k.amount
      from core.invoices i
     cross join lateral (values ('vat', i.partner_id, i.vat), ('input_vat', private.people_tenant(), -i.vat)) k (kind,
         owner, amount)
     where i.partner_id = tenant
    union all
    select p.kind, p.payee_id, -p.amount
      from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.ledger_partner_id = tenant and l.status in ('pending', 'paid')
  ), account as (
    select coalesce(b.owner, g.owner) as owner, coalesce(g.amount, 0) as amount, coalesce(b.balance, 0) as balance
      from (select * from ledger where kind in ('customer', 'partner', 'service', 'vat', 'input_vat')) b
      full join (select g.kind, g.owner, sum(g.amount) as amount from got g group by g.kind, g.owner) g
          on g.kind = b.kind and g.owner = b.owner
     -- of what retention deleted nobody can add up what was earned and paid
     where not exists (select from ledger where kind = 'closed')
  )
  select 'what is owed was earned, and not paid yet', coalesce(sum(a.amount), 0), coalesce(sum(a.balance), 0),
         count(*) filter (where a.amount <> a.balance), min('owner ' || a.owner) filter (where a.amount <> a.balance)
    from account a
$$;

create function private.check_sums(tenant uuid) returns setof private.check_result
language sql stable
as $$
  select 'sums of bookings are those of their rows', coalesce(sum(s.kwh), 0), coalesce(sum(k.kwh), 0),
         count(*) filter (where s is distinct from k),
             min('booking ' || coalesce(s.booking_id, k.booking_id)) filter (where s is distinct from k)
    from (select * from core.booking_sums where partner_id = tenant) s
    full join (select * from core.account_bookings where partner_id = tenant) k on k.booking_id = s.booking_id
        and k.account_id = s.account_id
  union all
  select 'sums of years are those of their bookings', coalesce(sum(s.ere), 0), coalesce(sum(k.ere), 0),
         count(*) filter (where s is distinct from k),
         min(format('account %s %s', coalesce(s.account_id, k.account_id),
                    coalesce(s.delivery_year, k.delivery_year))) filter (where s is distinct from k)
    from (select * from core.year_sums where partner_id = tenant) s
    full join (select * from core.account_years where partner_id = tenant) k on k.account_id = s.account_id
        and k.delivery_year = s.delivery_year
  union all
  select 'prices of figures are those of their sales', coalesce(sum(p.price), 0), coalesce(sum(f.price), 0),
         count(*) filter (where f.price is distinct from p.price),
             min('year ' || f.delivery_year) filter (where f.price is distinct from p.price)
    from core.figures f cross join lateral (select private.average_price(tenant, f.delivery_year) as price) p
   where f.partner_id = tenant
$$;

-- What must hold of a tenant's ledger, months, bookings, sales and payouts.
create function private.check_books(tenant uuid) returns setof private.check_result
language sql stable
set enable_nestloop = off  -- else without statistics it reads 2.6 times as many blocks
set max_parallel_workers_per_gather = 0  -- a plan without loops looks so dear that processes start to read a few rows
as $$
  select b.unit || ' sums to zero', 0, sum(b.balance), (sum(b.balance) <> 0)::int, b.unit
    from core.ledger_balances b where b.partner_id = tenant group by b.unit
  union all select * from private.check_kwh(tenant)
  union all select * from private.check_ere(tenant)
  union all select * from private.check_money(tenant)
  union all select * from private.check_owed(tenant)
  union all select * from private.check_sums(tenant)
  union all select * from private.check_payouts(tenant)
  union all select * from private.check_invoices(tenant)
$$;

-- The whole check of a tenant: its books, and the sums that dashboards show.
create function private.check_ledger(tenant uuid) returns setof private.check_result
language sql stable
as $$
  select * from private.check_books(tenant)
  union all select * from private.check_partner_sums(tenant)
$$;

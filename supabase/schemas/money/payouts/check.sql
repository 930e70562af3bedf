-- Whether payouts and the ledger agree; see money/ledger/check.sql.

create function private.check_payouts(tenant uuid) returns setof private.check_result
language sql stable
as $$
  with part as (
    select p.*, l.status, l.payee_id as line_payee_id
      from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.ledger_partner_id = tenant
  ), line as (
    select l.id, l.amount, coalesce(sum(p.amount), 0) as parts
      from core.payout_lines l left join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.partner_id = tenant group by l.id, l.amount
  ), owed as (
    select k.kind, p.line_payee_id as payee_id, sum(p.amount) as amount
      from part p join (values ('payout', 'pending'), ('bank', 'paid')) k (kind, status) on k.status = p.status
     group by k.kind, p.line_payee_id
  ), balance as (
    select coalesce(b.owner, o.payee_id) as payee_id, coalesce(o.amount, 0) as amount, coalesce(b.balance, 0) as balance
      from (select * from core.ledger_balances where partner_id = tenant and unit = 'EUR'
            and kind in ('payout', 'bank')) b
      full join owed o on o.kind = b.kind and o.payee_id = b.owner
  ), entry as (
    select e.part_id, e.ledger_partner_id, e.allocation_id, p.kind, p.status, e.amount
      from part p join core.payout_entries e on e.partner_id = p.partner_id and e.part_id = p.id
  ), pays as (
    select p.id, p.amount - p.forgotten as amount, coalesce(e.amount, 0) as entries
      from part p left join (select e.part_id, sum(e.amount) as amount from entry e group by e.part_id) e
          on e.part_id = p.id
     where p.kind <> 'vat'
  ), earned as (
    -- at most one pending or paid line pays a part of a sale, and still does if the sale was taken back since
    select e.allocation_id, e.kind, e.amount, a.reversal_id is null as stands,
        case e.kind when 'customer' then a.net else a.partner_share end as due
      from (select e.allocation_id, e.kind, sum(e.amount) filter (where e.status in ('pending', 'paid')) as amount
            from entry e group by e.allocation_id, e.kind) e
      left join (select * from core.allocations where partner_id = tenant) a on a.id = e.allocation_id
  )
  select 'parts of payouts are the sales they pay', coalesce(sum(p.amount), 0), coalesce(sum(p.entries), 0),
         count(*) filter (where p.amount <> p.entries), min('part ' || p.id) filter (where p.amount <> p.entries)
    from pays p
  union all
  select 'each part of a sale is paid once', 0, count(*) filter (where k.is_wrong), count(*) filter (where k.is_wrong),
      min('allocation ' || e.allocation_id) filter (where k.is_wrong)
    from earned e
   cross join lateral (
     select e.due is null or coalesce(e.amount, 0) <> 0 and coalesce(e.amount, 0) <> e.due
         and (e.stands or e.amount <> -e.due) as is_wrong) k
  union all
  select 'lines of payouts are the sum of their parts', coalesce(sum(l.parts), 0), coalesce(sum(l.amount), 0),
         count(*) filter (where l.parts <> l.amount), min('line ' || l.id) filter (where l.parts <> l.amount)
    from line l
  union all
  select 'what is on its way, and what was paid, are lines of payouts', coalesce(sum(b.amount), 0),
      coalesce(sum(b.balance), 0),
         count(*) filter (where b.amount <> b.balance), min('payee ' || b.payee_id) filter (where b.amount <> b.balance)
    from balance b
$$;

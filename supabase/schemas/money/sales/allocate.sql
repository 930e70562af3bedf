-- The split of a sale over the rows of its booking.

-- What each row gives and gets of a sale: ERE in proportion to its unsold ERE, cents in proportion to that. Largest
-- remainder adds them up.
create function private.split_sale(sale core.sales)
returns table (row_id uuid, ere numeric, gross numeric)
language plpgsql stable
as $$
declare
  -- whole numbers from here on: millionths of an ERE, and cents
  quantity constant numeric := sale.ere * 1000000;
  cents    constant numeric := sale.gross * 100;
begin
  return query
  with held as (
    select r.id, (c.ere - s.ere) * 1000000 as unsold
      from core.booking_rows r
      -- offset 0: else without statistics all credits are read for each row
      cross join lateral (
        select c.ere from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id
            and c.reversed_at is null offset 0) c
      cross join lateral (
        select coalesce(sum(a.ere), 0) as ere from core.allocations a
         where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null) s
     where r.partner_id = sale.partner_id and r.booking_id = sale.booking_id and r.status = 'registered'
         and c.ere > s.ere
  ), share as (
    select h.id, div(quantity * h.unsold, sum(h.unsold) over ()) as whole,
        mod(quantity * h.unsold, sum(h.unsold) over ()) as rest from held h
  ), part as (
    -- what the division leaves goes to the largest remainders, of equal ones to the first row ids, which are ordered as
    -- their text is
    select s.id, s.whole + (row_number() over (order by s.rest desc,
                                               s.id) <= quantity - sum(s.whole) over ())::int as micro
      from share s
  ), money as (
    select p.id, p.micro, div(cents * p.micro, quantity) as whole, mod(cents * p.micro, quantity) as rest from part p
     where p.micro > 0
  )
  select m.id, m.micro / 1000000,
         (m.whole + (row_number() over (order by m.rest desc, m.id) <= cents - sum(m.whole) over ())::int) / 100
    from money m;
end $$;

-- Splits a sale and moves its ERE and money. The customer gets gross less fee, the partner its share of the fee, the
-- service the rest.
create function private.allocate_sale(sale core.sales) returns int
language plpgsql
as $$
declare
  postings private.posting[];
begin
  with allocated as (
    insert into core.allocations
      (partner_id, sale_id, row_id, account_id, owner_id, share_partner_id, ere, gross, fee_pct,
       partner_share_pct, partner_share)
    select sale.partner_id, sale.id, r.id, r.account_id, r.owner_id, r.share_partner_id, s.ere, s.gross, r.fee_pct,
        r.partner_share_pct,
           case when r.share_partner_id is null then 0
                else trunc(trunc(s.gross * r.fee_pct * 0.01, 2) * r.partner_share_pct * 0.01, 2) end
      from private.split_sale(sale) s
      join core.booking_rows r on r.partner_id = sale.partner_id and r.id = s.row_id
    returning *
  )
  select array_agg(row('allocation:' || a.id || ':' || p.what, p.unit, p.amount, p.debit_kind, p.debit_owner,
                       p.credit_kind, p.credit_owner)::private.posting)
    into postings
    from allocated a
    cross join lateral (values
      ('ere', 'ERE', a.ere, 'unsold', sale.booking_id, 'sold', sale.booking_id),
      ('net', 'EUR', a.net, 'buyer', sale.id, 'customer', a.account_id),
      ('share', 'EUR', a.partner_share, 'buyer', sale.id, 'partner',
       coalesce(a.share_partner_id, private.people_tenant())),
      ('fee', 'EUR', a.fee - a.partner_share, 'buyer', sale.id, 'service', private.people_tenant())
    ) p (what, unit, amount, debit_kind, debit_owner, credit_kind, credit_owner);
  perform private.post(sale.partner_id, postings);
  return cardinality(postings) / 4;
end $$;

-- Taking a sale back.

-- Which parts of a sale are paid out or on their way, even partly, to customer or partner.
create function private.paid_out_allocations(sale core.sales) returns uuid[]
language plpgsql stable
as $$
begin
  if not exists (select from core.ledger_accounts a where a.partner_id = sale.partner_id and a.kind = 'payout') then
    return '{}';
  end if;
  return array(
    with payee as (
      select distinct p.kind, p.owner
        from core.allocations a
       cross join lateral (values ('customer', a.account_id, a.net),
                           ('partner', a.share_partner_id, a.partner_share)) p (kind, owner, amount)
       where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and p.amount > 0
    )
    select distinct a.id
      from payee y
     cross join lateral private.payments(sale.partner_id, y.kind, y.owner) p
      join core.allocations a on a.partner_id = sale.partner_id and a.id = p.allocation_id and a.sale_id = sale.id
     where p.taken);
end $$;

-- Takes back what of a sale was not paid out, or with recover all of it: later payouts settle the negative balance. Its
-- booking is locked.
create function private.reverse_sale(sale core.sales, reason text, recover boolean, out reversed int, out paid_out int)
language plpgsql
as $$
declare
  paid     uuid[] := private.paid_out_allocations(sale);
  reversal uuid;
  causes   text[];
begin
  paid_out := cardinality(paid);
  if recover then
    paid := '{}';
  end if;
  if not exists (select from core.allocations a
                  where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null
                      and a.id <> all (paid)) then
    reversed := 0;
    return;
  end if;
  insert into core.sale_reversals (partner_id, sale_id, reason, recover)
    values (sale.partner_id, sale.id, reverse_sale.reason, reverse_sale.recover)
  returning id into reversal;
  with taken_back as (
    update core.allocations a set reversal_id = reversal
     where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)
    returning a.id)
  select array_agg('allocation:' || t.id || ':' || what), count(distinct t.id) into causes, reversed
    from taken_back t cross join unnest(array['ere', 'net', 'share', 'fee']) what;
  perform private.reverse_postings(sale.partner_id, causes);
  perform private.sum_booking(sale.partner_id, sale.booking_id);
  perform private.audit('sale.reversed', sale.id,
                        jsonb_build_object('allocations', reversed, 'recover', reverse_sale.recover));
  perform private.emit_sale(sale.partner_id, 'ere.sale_reversed', array(
            select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id
                and a.reversal_id = reversal)),
          private.announce_payouts(array(
            select distinct a.share_partner_id from core.allocations a
             where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal
                 and a.partner_share > 0));
end $$;

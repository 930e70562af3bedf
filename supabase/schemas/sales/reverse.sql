-- Taking a sale back.

-- reads all that a tenant ever sold: hash joins, whatever the planner believes
create function private.paid_out_allocations(sale core.sales) returns uuid[]
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan' set enable_nestloop = off
as $$
begin
  if not exists (select from core.ledger_accounts a where a.partner_id = sale.partner_id and a.kind = 'payout') then
    return '{}';
  end if;
  return array(
    with part as materialized (
      -- what each part of each sale brings to its payees: to a customer, and where there is one to a partner
      select p.kind, p.owner, p.amount, a.id, a.sale_id
        from core.allocations a
        cross join lateral (values ('customer', a.account_id, a.net), ('partner', a.share_partner_id, a.partner_share)) p (kind, owner, amount)
       where a.partner_id = sale.partner_id and a.reversal_id is null and p.amount > 0
    ), payee as materialized (
      select w.kind, w.owner, private.balance(sale.partner_id, 'EUR', w.kind, w.owner) as balance
        from (select distinct p.kind, p.owner from part p where p.sale_id = sale.id) w
    ), due as (
      -- the oldest is paid first: a part is paid out, be it in part, as soon as less is left than it and all after it come to
      select p.id, p.sale_id, y.balance,
             sum(p.amount) over (partition by p.kind, p.owner order by s.arrival desc, p.id desc) as due_from_here
        from payee y
        join part p on p.kind = y.kind and p.owner = y.owner
        join core.sales s on s.partner_id = sale.partner_id and s.id = p.sale_id
    )
    select distinct d.id from due d where d.sale_id = sale.id and d.balance < d.due_from_here);
end $$;
comment on function private.paid_out_allocations(core.sales) is
  'Which parts of a sale have been paid out, or are on their way, to the customer or to the partner, be it in part. What is not paid is in the payee''s balance.';

create function private.reverse_sale(sale core.sales, reason text, recover boolean, out reversed int, out paid_out int)
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
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
                  where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)) then
    reversed := 0;
    return;
  end if;
  insert into core.sale_reversals (partner_id, sale_id, reason, recover) values (sale.partner_id, sale.id, reverse_sale.reason, reverse_sale.recover)
  returning id into reversal;
  with taken_back as (
    update core.allocations a set reversal_id = reversal
     where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)
    returning a.id)
  select array_agg('allocation:' || t.id || ':' || what), count(distinct t.id) into causes, reversed
    from taken_back t cross join unnest(array['ere', 'net', 'share', 'fee']) what;
  perform private.reverse_postings(sale.partner_id, causes);
  perform private.audit('sale.reversed', sale.id, jsonb_build_object('allocations', reversed, 'recover', reverse_sale.recover));
  perform private.emit_sale(sale.partner_id, 'ere.sale_reversed', array(
            select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal)),
          private.tell_payouts(array(
            select distinct a.share_partner_id from core.allocations a
             where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal and a.partner_share > 0));
end $$;
comment on function private.reverse_sale(core.sales, text, boolean) is
  'Gives back what of a sale has not been paid out, or with recover all of it: what was paid is then a negative balance, which later payouts settle. Its booking is locked. How many parts were reversed, and how many had been paid out.';

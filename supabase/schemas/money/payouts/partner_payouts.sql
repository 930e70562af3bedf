-- What a partner earned, by quarter of delivery.

-- The id of what a partner earned in a quarter of delivery; it never changes.
create function private.payout_id(partner uuid, quarter date) returns uuid
language sql immutable
return md5('payout ' || partner::text || ' ' || quarter)::uuid;

create function private.partner_payouts(partner uuid) returns json
language plpgsql stable security definer
as $$
declare
  tenants constant uuid[] := array[partner, private.people_tenant()];
begin
  return (
    with paid as (
      select p.* from unnest(tenants) t (id) cross join lateral private.payments(t.id, 'partner',
          partner_payouts.partner) p
    ), part as (
      select b.quarter, a.account_id, a.row_id, a.ere, a.partner_share, k.accepted_kwh,
          coalesce(p.state, 'paid') as state, p.paid_at
        from core.allocations a
        join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
        join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
        join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
        left join paid p on p.allocation_id = a.id
       where a.partner_id = any (tenants) and a.share_partner_id = partner_payouts.partner and a.reversal_id is null
    ), quarter as (
      select p.quarter, count(distinct p.account_id) as customers, sum(p.ere) as ere, sum(p.partner_share) as share,
             (select sum(r.accepted_kwh) from (select distinct q.row_id, q.accepted_kwh from part q
                                               where q.quarter = p.quarter) r) as kwh,
             case when sum(p.partner_share) = 0 then 'none_due'
                  when bool_and(p.state = 'paid') then 'paid'
                  when bool_or(p.state = 'failed') then 'failed'
                  when bool_and(p.state in ('paid', 'approved')) then 'approved'
                  else 'pending' end as status,
             max(p.paid_at) as paid_at
        from part p group by p.quarter
    )
    select coalesce(json_agg(json_build_object(
             'payout_id', private.payout_id(partner_payouts.partner, q.quarter), 'period',
                 private.quarter_name(q.quarter), 'status', q.status,
             'customers', q.customers, 'kwh', round(q.kwh, 2), 'ere_units', round(q.ere, 2), 'partner_share_eur',
                 q.share, 'vat_eur', coalesce(i.vat, 0),
             'paid_at', case when q.status = 'paid' then private.iso(q.paid_at) end, 'invoice_number', i.number)
                 order by q.quarter desc), '[]')
      from quarter q
      left join lateral (
        select sum(i.vat) as vat,
            (array_agg(private.invoice_number(i) order by i.year desc, i.number desc))[1] as number
          from core.invoices i where i.partner_id = partner_payouts.partner and i.quarter = q.quarter) i on true);
end $$;
comment on function private.partner_payouts(uuid) is
  'What a partner earned by quarter of delivery, from the first sale on. It is of its CPO accounts, and of the people '
  'it brought, from the month of attachment. Definer, because what people own is in the people''s tenant; it discloses '
  'sums.';

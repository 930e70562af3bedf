-- What a partner earned, and what it was paid, in its portal.

create function private.partner_payments(partner uuid, size int) returns json
language sql stable security definer
as $$
  with own as (
    -- a payment may be for a hundred thousand accounts: only the partner's own parts are read
    select p.line_id, sum(p.amount) filter (where p.kind = 'partner') as share,
           sum(p.amount) filter (where p.kind = 'vat') as vat
      from core.payout_parts p
     where p.ledger_partner_id = any (array[partner, private.people_tenant()]) and p.payee_id = partner
         and p.kind in ('partner', 'vat')
     group by p.line_id
  )
  select coalesce(json_agg(json_build_object(
           'payment_reference', replace(l.id::text, '-', ''), 'status', private.payment_status(l.status, b.status),
           'created_at', private.iso(b.prepared_at), 'paid_at', private.iso(l.paid_at), 'amount_eur', l.amount,
           'share_eur', coalesce(o.share, 0), 'vat_eur', coalesce(o.vat, 0),
           'customers_eur', l.amount - coalesce(o.share, 0) - coalesce(o.vat, 0)) order by l.arrival desc), '[]')
    from (select * from core.payout_lines l
           where l.partner_id = partner and l.payee_id = partner and l.status <> 'cancelled'
           order by l.arrival desc limit size) l
    join core.payout_batches b on b.id = l.batch_id
    left join own o on o.line_id = l.id
$$;
comment on function private.partner_payments(uuid, int) is
  'The newest payments to a partner: [{payment_reference, status, created_at, paid_at, amount_eur, share_eur, vat_eur, '
  'customers_eur}]. customers_eur is what GET /v1/settlements lists by customer. Definer, because a batch is the '
  'service''s own.';

create function api.read_portal_settlements(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return (
    with page as (
      select s, row_number() over () as place from private.settlements(private.partner_id(), null, query) s
    )
    select json_build_object(
      'who', private.portal_who(),
      'settlements', (select coalesce(jsonb_agg(to_jsonb(p.s) || jsonb_build_object(
           'name', private.account_name(a),
           'reference', private.payment_reference(private.line_id_of((p.s).payment_reference))) order by p.place), '[]')
         from page p join core.accounts a on a.partner_id = private.partner_id() and a.id = (p.s).account_id
        where p.place <= (query ->> 'limit')::int),
      'has_more', (select count(*) from page) > (query ->> 'limit')::int));
end $$;
comment on function api.read_portal_settlements(jsonb, jsonb) is
  'A page of what GET /v1/settlements answers, of all clients of the partner: {limit, offset, payment_reference} to '
  '{who, settlements, has_more}, each settlement with the name of the customer, and the reference by which the bank '
  'and the PDFs name the payment. A payment_reference may be that too.';

create function api.read_portal_payouts(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return (
    select json_build_object(
      'who', private.portal_who(),
      'payouts', private.partner_payouts(p.id),
      'payments', private.partner_payments(p.id, 20),
      'invoices', private.partner_invoices(),
      'fee_pct', p.default_fee_pct,
      'share_pct', p.partner_share_pct,
      'iban_last4', p.iban_last4,
      'iban_held_until',
          case when p.iban_ciphertext is not null then private.iso(private.iban_held_until(p.iban_changed_at)) end,
      'invoices_need', private.why_no_invoice(p))
      from core.partners p where p.id = private.partner_id());
end $$;
comment on function api.read_portal_payouts(jsonb) is
  'What a partner earned: {who, payouts, payments, invoices, fee_pct, share_pct, iban_last4, iban_held_until, '
  'invoices_need}, payouts as GET /partner/payouts, payments as private.partner_payments, invoices as GET '
  '/partner/invoices, invoices_need as private.why_no_invoice.';

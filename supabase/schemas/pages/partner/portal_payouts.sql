-- What a partner earned, in its portal.

create function api.read_portal_payouts(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return (
    select json_build_object(
      'who', private.portal_who(),
      'payouts', private.partner_payouts(p.id),
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
  'What a partner earned: {who, payouts, invoices, fee_pct, share_pct, iban_last4, iban_held_until, invoices_need}, '
  'payouts as GET /partner/payouts, invoices as GET /partner/invoices, invoices_need as private.why_no_invoice.';

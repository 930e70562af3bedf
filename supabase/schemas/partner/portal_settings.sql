-- What the settings in the pages of a partner show; they are changed by what the Partner API runs (settings.sql, events/manage_webhooks.sql).

create function api.read_portal_settings(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return (
    select json_build_object(
      'who', private.portal_who(),
      'signed_in_recently', private.signed_in_recently(),
      'partner', private.partner_answer(),
      'iban_held_until', case when p.iban_ciphertext is not null and p.iban_changed_at > private.now() - interval '48 hours'
                              then private.iso(p.iban_changed_at + interval '48 hours') end,
      'invoices_need', private.why_no_invoice(p),
      'webhooks', (select json_build_object('enabled', count(*) filter (where e.status = 'enabled'), 'disabled', count(*) filter (where e.status = 'disabled'))
                     from core.webhook_endpoints e where e.partner_id = p.id and e.owner_id = p.id))
      from core.partners p where p.id = private.partner_id());
end $$;
comment on function api.read_portal_settings(jsonb) is
  'The settings of a partner as its pages show them: {who, signed_in_recently, partner, iban_held_until, invoices_need, webhooks: {enabled, disabled}}, partner as GET /partner/me, invoices_need as private.why_no_invoice.';
select private.expose('api.read_portal_settings(jsonb)');

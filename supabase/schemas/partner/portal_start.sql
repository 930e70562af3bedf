-- What the people who manage a partner see first.

-- How many of the tenant's newest drafts need what attention: {examined, all, conflict, ean, expiring}. all: there are no other drafts.
create function private.drafts_in_need() returns json
language sql stable
as $$
  select json_build_object('examined', count(*), 'all', count(*) < private.drafts_examined(),
                           'conflict', count(*) filter (where d.needs = 'conflict'),
                           'ean', count(*) filter (where d.needs = 'ean'),
                           'expiring', count(*) filter (where d.needs = 'expiring'))
    from (select private.needs_attention(d) as needs from core.drafts d
           where d.partner_id = private.partner_id() order by d.created_at desc, d.id desc limit private.drafts_examined()) d
$$;

-- How many of a partner's newest customers lack what, as far as it may see: {examined, all, without_charger, without_mid, rejected}. all:
-- there are no others.
create function private.customers_in_need(partner core.partners, disclosing boolean, key text) returns json
language sql stable
as $$
  select json_build_object('examined', count(*), 'all', count(*) < private.customers_examined(),
                           'without_charger', count(*) filter (where c.charger_count = 0),
                           'without_mid', count(*) filter (where c.charger_count > 0 and c.charger_mid_eligible is not true),
                           'rejected', count(*) filter (where c.registration_status = 'afgekeurd'))
    from json_to_recordset(private.customer_page(partner, disclosing, jsonb_build_object(
           'ids', private.customer_candidates(partner.id, '{}', null, private.customers_examined()), 'key', key)))
      as c (charger_count int, charger_mid_eligible boolean, registration_status text)
$$;

create function api.read_portal_start(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  partner core.partners;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  return json_build_object(
    'who', private.portal_who(),
    'figures', private.partner_figures(partner),
    'payouts', private.partner_payouts(partner.id),
    'attention', json_build_object(
      'drafts', private.drafts_in_need(),
      'customers', private.customers_in_need(partner, private.is_partner_itself(), query ->> 'key'),
      'webhooks', (select json_build_object('disabled', count(*) filter (where e.status = 'disabled'),
                                            'failing', count(*) filter (where e.status = 'enabled' and e.failing_since is not null))
                     from core.webhook_endpoints e where e.partner_id = partner.id and e.owner_id = partner.id),
      'account_missing', partner.iban_ciphertext is null,
      'invoices_need', private.why_no_invoice(partner),
      'cap', private.draft_cap(),
      'cap_left', greatest(private.draft_cap() - private.drafts_made(), 0)));
end $$;
comment on function api.read_portal_start(jsonb, jsonb) is
  'What the people who manage a partner see first: {key} to {who, figures, payouts, attention}, figures as GET /partner/dashboard, payouts as GET /partner/payouts. attention is {drafts, customers, webhooks, account_missing, invoices_need, cap, cap_left} of what is newest.';

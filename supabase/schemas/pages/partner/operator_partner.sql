-- The operator on one partner: show.

create function ops.partner_show(input jsonb) returns json
language plpgsql security definer
as $$
declare
  partner constant core.partners := private.partner_named(input);
begin
  perform private.audit('partner.shown', partner.id);
  return json_build_object(
    'partner', private.partner_settings(partner),
    'counts', json_build_object(
      'cpo_accounts', (select coalesce(sum(k.accounts), 0) from core.account_counts k where k.partner_id = partner.id),
      'customers', (select count(*) from core.attributions k where k.partner_id = partner.id),
      'drafts', (select coalesce(json_object_agg(d.status, d.drafts order by d.status), '{}')
                   from private.drafts_by_status(partner.id) d where d.drafts > 0),
      'drafts_left', greatest(private.draft_cap() - (
        select count(*) from core.draft_uploads u where u.partner_id = partner.id
            and u.at > private.now() - interval '30 days'), 0),
      'failed_mails', (select count(*) from core.mail_outbox m
                        where m.status in ('failed', 'bounced') and m.partner_id = partner.id),
      -- what people bring it is earned in the people's tenant's ledger
      'balance_eur', (select sum(private.balance(l.tenant, 'EUR', 'partner', partner.id))
                        from unnest(array[partner.id, private.people_tenant()]) as l (tenant)
                            where partner.id <> private.people_tenant())),
    'company', partner.company,
    'branding', partner.branding,
    'payout', json_build_object('iban_last4', partner.iban_last4, 'account_holder', partner.iban_holder),
    'managers', (select coalesce(json_agg(json_build_object('user_id', m.user_id,
                                                            'email', (private.user_profile(m.user_id)).email)
                                                            order by m.user_id), '[]')
                   from core.partner_managers m where m.partner_id = partner.id),
    'key', (select json_build_object('prefix', k.prefix, 'last4', k.last4, 'created_at', private.iso(k.created_at),
                                     'last_used_at', private.iso(k.last_used_at))
              from core.partner_keys k where k.partner_id = partner.id and k.revoked_at is null
                      and private.key_stands(k)),
    'clients', (select coalesce(json_agg(private.client_row(c) order by c.created_at, c.id), '[]')
                from core.oauth_clients c where c.partner_id = partner.id));
end $$;
comment on function ops.partner_show(jsonb) is
  'One partner: {partner} to {partner, counts, company, branding, payout, managers, key, clients}. It shows who '
  'manages it, so it leaves an audit row.';

-- GET /partner/me.

create function private.partner_answer() returns json
language plpgsql stable
as $$
begin
  return (select json_build_object(
    'id', p.id,
    'name', p.name,
    'slug', p.slug,
    'is_active', p.is_active,
    'referral_code', p.referral_code,
    'referral_url', null,
    'return_url', p.return_url,
    'default_fee_pct', p.default_fee_pct,
    'partner_share_pct', p.partner_share_pct,
    'company', (select json_object_agg(f.name, p.company ->> f.name)
                  from unnest(array['name', 'kvk', 'vat', 'street', 'house_number', 'postal_code',
                                    'city']) as f (name)),
    'payout', json_build_object('iban_masked', '**** ' || p.iban_last4, 'account_holder', p.iban_holder),
    'branding', (select json_object_agg(f.name, p.branding ->> f.name)
                   from unnest(array['display_name', 'logo_url', 'primary_color', 'reply_to']) as f (name)),
    'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(),
                             'remaining', greatest(private.draft_cap() - private.drafts_made(), 0)),
    'api_key', (select json_build_object('prefix', k.prefix, 'last4', k.last4, 'created_at', private.iso(k.created_at),
                                         -- a key that asks is in use; its row says so when the request is charged
                                         'last_used_at', private.iso(case when private.manager_id() is null
                                                                          then private.now() else k.last_used_at end))
                  from core.partner_keys k where k.partner_id = p.id and k.revoked_at is null
                      and private.key_stands(k)),
    'clients', (select coalesce(json_agg(json_build_object(
                         'client_id', c.client_id, 'name', c.name, 'scopes', c.scopes,
                         'secret_rotated_at', private.iso(c.secret_rotated_at),
                         'last_used_at', private.iso(c.last_used_at)) order by c.created_at, c.id), '[]')
                  from private.cpo_clients() c where c.disabled_at is null))
    from core.partners p where p.id = private.partner_id());
end $$;

create function api.get_partner(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('partner', private.partner_answer());
end $$;
comment on function api.get_partner(jsonb) is
  'GET /partner/me: {partner}. It has the IBAN''s last four, and the API key''s prefix and last four.';

-- What a managing person changes: company, branding, payout IBAN, keys.

create function api.set_partner_company(caller jsonb, company jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  fields text[];
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  select array_agg(f.key order by f.key) into fields
    from core.partners p, jsonb_each_text(set_partner_company.company) f
   where p.id = private.partner_id() and f.value is distinct from p.company ->> f.key;
  if fields is not null then
    update core.partners p set company = p.company || set_partner_company.company where p.id = private.partner_id();
    perform private.audit('partner.company_changed', private.partner_id(), jsonb_build_object('fields', fields));
  end if;
  return json_build_object('ok', true, 'company', private.partner_answer() -> 'company');
end $$;
comment on function api.set_partner_company(jsonb, jsonb) is 'POST /partner/company: what was sent replaces, what was not stays.';
select private.expose('api.set_partner_company(jsonb, jsonb)');

create function api.set_partner_branding(caller jsonb, branding jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partners p set branding = p.branding || set_partner_branding.branding where p.id = private.partner_id();
  perform private.audit('partner.branding_changed', private.partner_id());
  return json_build_object('ok', true, 'branding', private.partner_answer() -> 'branding');
end $$;
comment on function api.set_partner_branding(jsonb, jsonb) is 'POST /partner/branding: what was sent replaces, what was not stays. With a primary_color come light and dark, where it can be read.';
select private.expose('api.set_partner_branding(jsonb, jsonb)');

create function api.set_partner_iban(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partners p
     set iban_ciphertext = input #>> '{iban,ciphertext}', iban_key_id = input #>> '{iban,key_id}', iban_last4 = input #>> '{iban,last4}',
         iban_holder = input ->> 'account_holder'
   where p.id = private.partner_id();
  perform private.enqueue_mails(input -> 'mail', (
    select jsonb_agg(jsonb_build_object('recipient', m.email, 'cause', 'partner_iban:' || gen_random_uuid(), 'fields', jsonb_build_object(
             'partner_name', (private.own_partner()).name, 'iban_masked', '**** ' || (input #>> '{iban,last4}'), 'account_holder', input ->> 'account_holder')))
      from private.manager_emails(private.partner_id()) m (email)));
  perform private.audit('partner.iban_changed', private.partner_id());
  return json_build_object('ok', true, 'payout', private.partner_answer() -> 'payout');
end $$;
comment on function api.set_partner_iban(jsonb, jsonb) is
  'POST /partner/payout-iban: {iban: {ciphertext, key_id, last4}, account_holder, mail}. Everybody who manages the partner is told by mail.';
select private.expose('api.set_partner_iban(jsonb, jsonb)');

create function api.mint_partner_key(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  minted json;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  minted := private.store_partner_key(input, (input ->> 'rotate')::boolean);
  if minted is null then
    perform private.refuse('api_key_exists');
  end if;
  return minted;
end $$;
comment on function api.mint_partner_key(jsonb, jsonb) is 'POST /partner/api-keys: {rotate, key_hash, prefix, last4}. The key itself never comes here.';
select private.expose('api.mint_partner_key(jsonb, jsonb)');

create function api.revoke_partner_key(caller jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  revoked boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
  revoked := found;
  if revoked then
    perform private.audit('partner.key_revoked', private.partner_id());
  end if;
  return json_build_object('ok', true, 'revoked', revoked);
end $$;
comment on function api.revoke_partner_key(jsonb) is 'POST /partner/api-keys/revoke: the active key, if there is one, stops working at once.';
select private.expose('api.revoke_partner_key(jsonb)');

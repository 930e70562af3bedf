-- What a managing person changes: company, branding, payout IBAN, keys.

create function api.set_partner_company(caller jsonb, company jsonb) returns json
language plpgsql security definer
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
comment on function api.set_partner_company(jsonb, jsonb) is
  'POST /partner/company: replaces the fields that were sent.';

create function api.set_partner_branding(caller jsonb, branding jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partners p set branding = p.branding || set_partner_branding.branding where p.id = private.partner_id();
  perform private.audit('partner.branding_changed', private.partner_id());
  return json_build_object('ok', true, 'branding', private.partner_answer() -> 'branding');
end $$;
comment on function api.set_partner_branding(jsonb, jsonb) is
  'POST /partner/branding: replaces the fields that were sent.';

create function api.set_partner_logo(caller jsonb, logo jsonb) returns json
language plpgsql security definer
as $$
declare
  png   constant bytea := decode(logo ->> 'png', 'base64');
  shown constant bytea := sha256(png);
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partner_logos l set replaced_at = private.now()
   where l.partner_id = private.partner_id() and l.replaced_at is null and l.hash is distinct from shown;
  if png is not null then
    insert into core.partner_logos (partner_id, hash, png, width, height)
    values (private.partner_id(), shown, png, (logo ->> 'width')::int, (logo ->> 'height')::int)
    on conflict on constraint partner_logos_pkey do update set replaced_at = null;
  end if;
  delete from core.partner_logos l
   where l.partner_id = private.partner_id() and l.replaced_at is not null and l.hash not in (
     select r.hash from core.partner_logos r where r.partner_id = private.partner_id() and r.replaced_at is not null
       order by r.replaced_at desc limit 10);
  perform private.audit('partner.logo_changed', private.partner_id(), jsonb_build_object('hash', encode(shown, 'hex')));
  return json_build_object('ok', true);
end $$;
comment on function api.set_partner_logo(jsonb, jsonb) is
  'Replaces the logo of a partner: {png, width, height}, png as base64 and written by us; png null for none. The ten '
  'before it are kept for mail that shows them.';

create function api.set_partner_iban(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  partner core.partners;
  iban    constant jsonb := input -> 'iban';
  same    boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  partner := private.own_partner();
  -- each encryption gives another ciphertext: only TypeScript, which has the keys, can compare the numbers
  if partner.iban_last4 = iban ->> 'last4' and input #>> '{same_iban,as}' is null then
    return private.need('same_iban', json_build_object('partner_id', partner.id, 'sent', iban,
      'stored', json_build_object('ciphertext', partner.iban_ciphertext, 'key_id', partner.iban_key_id)));
  end if;
  same := (input #> '{same_iban,same}' = 'true' and input #>> '{same_iban,as}' = partner.iban_ciphertext) is true;
  if same and input ->> 'account_holder' = partner.iban_holder then
    return json_build_object('ok', true, 'payout', private.partner_answer() -> 'payout');
  end if;
  update core.partners p
     set iban_ciphertext = case when same then p.iban_ciphertext else iban ->> 'ciphertext' end,
         iban_key_id = case when same then p.iban_key_id else iban ->> 'key_id' end,
         iban_last4 = iban ->> 'last4', iban_holder = input ->> 'account_holder'
   where p.id = partner.id;
  perform private.mail_each(
    'iban_changed', 'nl', 'partner_iban',
    jsonb_build_object('partner_name', partner.name, 'iban_masked', '**** ' || (iban ->> 'last4'),
                       'account_holder', input ->> 'account_holder'),
    array(select private.manager_emails(partner.id)));
  perform private.audit('partner.iban_changed', partner.id, jsonb_build_object('fields', array_remove(array[
    case when not same then 'iban' end,
        case when input ->> 'account_holder' is distinct from partner.iban_holder then 'account_holder' end], null)));
  return json_build_object('ok', true, 'payout', private.partner_answer() -> 'payout');
end $$;
comment on function api.set_partner_iban(jsonb, jsonb) is
  'POST /partner/payout-iban: {iban: {ciphertext, key_id, last4}, account_holder, same_iban}. Mails everybody who '
  'manages the partner. It does not store an unchanged IBAN again, so no waiting time restarts. Asks for same_iban, '
  '{as: ciphertext, same}, if the last four characters are equal.';

create function api.set_partner_return_url(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  sent constant text := nullif(btrim(input ->> 'return_url'), '');
  root constant text := private.return_root(sent);
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  if sent is not null and root is null then
    return json_build_object('ok', false);
  end if;
  update core.partners p set return_url = root where p.id = private.partner_id() and p.return_url is distinct from root;
  perform private.audit('partner.return_url_changed', private.partner_id()) where found;
  return json_build_object('ok', true);
end $$;
comment on function api.set_partner_return_url(jsonb, jsonb) is
  'Sets where the partner''s sign-in links may lead back to, empty for nowhere: {return_url} to {ok}. False if '
  'private.return_root refuses it. On its pages only, by a person who has just signed in.';

create function api.mint_partner_key(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  minted json;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  minted := private.store_partner_key(input, (input ->> 'rotate')::boolean, (caller ->> 'grant_id')::uuid,
                                      (caller ->> 'secret_number')::bigint);
  perform private.refuse_if('api_key_exists', minted is null);
  return minted;
end $$;
comment on function api.mint_partner_key(jsonb, jsonb) is
  'POST /partner/api-keys: {rotate, key_hash, prefix, last4}. The key itself never comes here. Mails everybody who '
  'manages the partner.';

create function api.revoke_partner_key(caller jsonb) returns json
language plpgsql security definer
as $$
declare
  revoked boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id()
      and k.revoked_at is null;
  revoked := found;
  perform private.audit('partner.key_revoked', private.partner_id()) where revoked;
  return json_build_object('ok', true, 'revoked', revoked);
end $$;
comment on function api.revoke_partner_key(jsonb) is
  'POST /partner/api-keys/revoke: ends the active key at once, if there is one.';

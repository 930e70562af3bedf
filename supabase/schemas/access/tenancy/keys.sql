-- Partner API keys: one active key a partner, kept as a hash.

create function private.key_json(key core.partner_keys) returns json
language plpgsql stable
as $$ begin return json_build_object('prefix', key.prefix, 'last4', key.last4,
                                     'created_at', private.iso(key.created_at)); end $$;

create function private.key_stands(key core.partner_keys) returns boolean
language plpgsql stable security definer
as $$
begin
  return key.revoked_at is null and (key.grant_id is null or exists (
    select from core.oauth_grants g join core.oauth_clients c on c.id = g.client_id
     where g.id = key.grant_id and g.revoked_at is null and private.login_stands(g.user_id)
       and c.disabled_at is null and 'partners:write' = any (c.scopes) and private.may_act_for_people(c)
       and key.secret_number >= c.tokens_from_secret
       and private.managed_partner(g.user_id) = key.partner_id));
end $$;
comment on function private.key_stands(core.partner_keys) is
  'Whether a key may be used. One that an application minted ends with the grant, the application, its scope, and the '
  'person''s management of the partner. Definer, because the grant is a person''s.';

-- Mails everybody who manages the partner that it has a new key, and who made it, by which application.
create function private.mail_new_key(minted core.partner_keys) returns void
language plpgsql
as $$
declare
  partner constant core.partners := private.own_partner();
begin
  perform private.mail_each(
    'key_minted', coalesce(partner.locale, 'nl'), 'partner_key',
    jsonb_build_object(
      'partner_name', private.partner_display_name(partner), 'key', minted.prefix || '…' || minted.last4,
      'by', (private.user_profile(private.manager_id())).email,
      'application', (select c.name from core.oauth_clients c where c.id = private.client_id())),
    array(select private.manager_emails(partner.id)));
end $$;

-- Stores a new key of the tenant: {key_hash, prefix, last4}. Null for a revoked key, and while another is active,
-- unless rotate ends that. By an application with a grant_id and a secret_number.
create function private.store_partner_key(key jsonb, rotate boolean, grant_id uuid default null,
                                          secret_number bigint default null) returns json
language plpgsql
as $$
declare
  minted core.partner_keys;
begin
  -- a form that is sent twice mints the same key
  select * into minted from core.partner_keys k
   where k.partner_id = private.partner_id() and k.key_hash = decode(key ->> 'key_hash', 'hex')
       and k.revoked_at is null;
  if found then
    return private.key_json(minted);
  end if;
  update core.partner_keys k set revoked_at = private.now()
   where k.partner_id = private.partner_id() and k.revoked_at is null and (rotate or not private.key_stands(k));
  insert into core.partner_keys (partner_id, key_hash, prefix, last4, grant_id, secret_number)
  values (private.partner_id(), private.reserve_token_hash(key ->> 'key_hash'), key ->> 'prefix', key ->> 'last4',
          store_partner_key.grant_id, store_partner_key.secret_number)
  on conflict do nothing
  returning * into minted;
  if minted.id is null then
    return null;
  end if;
  perform private.audit('partner.key_minted', minted.id, jsonb_build_object('rotated', rotate));
  perform private.mail_new_key(minted);
  return private.key_json(minted);
end $$;

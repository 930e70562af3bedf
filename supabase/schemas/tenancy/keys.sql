-- Partner API keys: one active key a partner, kept as a hash.

-- The partner of an active key: {key_hash, key_host, host}, key_host by the key's prefix. Only definers call it, because admission runs
-- before a tenant is set.
create function private.key_holder(credential jsonb, out partner_id uuid, out partner_active boolean)
language plpgsql stable
as $$
begin
  select k.partner_id, p.is_active into key_holder.partner_id, key_holder.partner_active
    from core.partner_keys k join core.partners p on p.id = k.partner_id
   where k.key_hash = decode(credential ->> 'key_hash', 'hex') and k.revoked_at is null
     -- the sandbox handed out keys of the other prefix until September 2026
     and (credential ->> 'key_host' = credential ->> 'host' or credential ->> 'host' = 'sandbox' and k.created_at < '2026-09-01Z');
end $$;

create function private.key_json(key core.partner_keys) returns json
language plpgsql stable
as $$ begin return json_build_object('prefix', key.prefix, 'last4', key.last4, 'created_at', private.iso(key.created_at)); end $$;

-- Stores a new key of the tenant: {key_hash, prefix, last4}. Null while another is active, unless rotate ends that at once. Null too for a
-- revoked key.
create function private.store_partner_key(key jsonb, rotate boolean) returns json
language plpgsql
as $$
declare
  minted core.partner_keys;
begin
  -- a form that is sent twice mints the same key
  select * into minted from core.partner_keys k
   where k.partner_id = private.partner_id() and k.key_hash = decode(key ->> 'key_hash', 'hex') and k.revoked_at is null;
  if found then
    return private.key_json(minted);
  end if;
  if rotate then
    update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
  end if;
  insert into core.partner_keys (partner_id, key_hash, prefix, last4)
  values (private.partner_id(), private.reserve_token_hash(key ->> 'key_hash'), key ->> 'prefix', key ->> 'last4')
  on conflict do nothing
  returning * into minted;
  if minted.id is null then
    return null;
  end if;
  perform private.audit('partner.key_minted', minted.id, jsonb_build_object('rotated', rotate));
  return private.key_json(minted);
end $$;

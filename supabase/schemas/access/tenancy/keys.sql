-- Partner API keys: one active key a partner, kept as a hash.

create function private.key_json(key core.partner_keys) returns json
language plpgsql stable
as $$ begin return json_build_object('prefix', key.prefix, 'last4', key.last4,
                                     'created_at', private.iso(key.created_at)); end $$;

-- Stores a new key of the tenant: {key_hash, prefix, last4}. Null for a revoked key, and while another is active,
-- unless rotate ends that.
create function private.store_partner_key(key jsonb, rotate boolean) returns json
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
  if rotate then
    update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id()
        and k.revoked_at is null;
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

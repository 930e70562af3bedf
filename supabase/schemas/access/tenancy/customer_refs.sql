-- References of customers, which a partner gives us back.

-- The AES key of a partner's customer references.
create function private.customer_key(partner uuid, key text) returns bytea
language sql immutable
return substr(private.claim_mac('customers:' || partner::text, (private.keys_for('customer', key))[1]), 1, 16);

create function private.encrypt_block(block bytea, key bytea) returns bytea
language plpgsql immutable security definer
as $$ begin return extensions.encrypt(block, key, 'aes-ecb/pad:none'); end $$;
comment on function private.encrypt_block(bytea, bytea) is
  'AES of one block of 16 bytes, which is a permutation, so no mode is needed. Definer, as private.claim_mac.';

create function private.decrypt_block(block bytea, key bytea) returns bytea
language plpgsql immutable security definer
as $$ begin return extensions.decrypt(block, key, 'aes-ecb/pad:none'); end $$;
comment on function private.decrypt_block(bytea, bytea) is
  'Reverses private.encrypt_block. Definer, as private.claim_mac.';

-- A partner's reference of a customer: always the same, different for every partner, and without meaning to anybody
-- else.
create function private.customer_ref(person uuid, customer_key bytea) returns text
language sql immutable
-- a permutation of the ids, so that whom a reference means is looked up and not looked for
return 'cus_' || encode(private.encrypt_block(uuid_send(person), customer_key), 'hex');

-- The person of a private.customer_ref, under any key that is still accepted. One of another partner, or made up, is an
-- id that nobody has.
create function private.customer_named(ref text, partner uuid, key text) returns uuid
language plpgsql stable
as $$
declare
  each   text;
  person uuid;
  first  uuid;
begin
  if ref ~ '^cus_[0-9a-f]{32}$' then
    foreach each in array private.keys_for('customer', key) loop
      person := encode(private.decrypt_block(decode(substr(ref, 5), 'hex'), private.customer_key(partner, each)),
                       'hex')::uuid;
      if exists (select from core.attributions a where a.partner_id = partner and a.user_id = person) then
        return person;
      end if;
      first := coalesce(first, person);
    end loop;
  end if;
  return first;
end $$;

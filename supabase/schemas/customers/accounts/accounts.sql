-- Accounts: customers. Each has a signatory and one or more connections.

-- Stores an encrypted IBAN: {ciphertext, key_id, last4, checksum_ok, holder?}. holder where the operator stores it.
create function private.store_iban(account uuid, iban jsonb) returns void
language plpgsql
as $$
begin
  update core.accounts
     set iban_ciphertext = iban ->> 'ciphertext', iban_key_id = iban ->> 'key_id', iban_last4 = iban ->> 'last4',
         iban_checksum_ok = (iban ->> 'checksum_ok')::boolean, iban_holder = iban ->> 'holder', iban_asked = null
   where id = account;
  perform private.audit('account.iban_stored', account);
  perform private.advance_registration(account);
end $$;

-- Until when no money goes to an IBAN that was stored or changed then; null if it is over.
create function private.iban_held_until(changed_at timestamptz) returns timestamptz
language sql stable
return case when changed_at > private.now() - interval '48 hours' then changed_at + interval '48 hours' end;

create function private.known_account(cpo_external_ref text) returns uuid
language sql stable
as $$
  select a.id from core.accounts a
   where a.client_id = private.client_id() and a.cpo_external_ref = known_account.cpo_external_ref
$$;

-- The account with this id, this cpo_external_ref, or both; either may be null, not both.
create function private.find_account(id uuid, reference text default null) returns uuid
language plpgsql
as $$
declare
  account uuid;
begin
  select a.id into account from core.accounts a
   where (find_account.id is null or a.id = find_account.id)
     and (reference is null or a.client_id = private.client_id() and a.cpo_external_ref = reference)
     and num_nonnulls(find_account.id, reference) > 0;
  perform private.refuse_if('account_not_found', not found);
  return account;
end $$;

create trigger note_iban_change before update of iban_ciphertext on core.accounts for each row
  when (new.iban_ciphertext is distinct from old.iban_ciphertext) execute function private.note_iban_change();

-- Opting out of mail, by the hash of the address. It never ends.

create function private.suppress(email_hash bytea) returns void
language sql security definer
as $$ insert into core.suppressions (email_hash) values (suppress.email_hash) on conflict do nothing $$;
comment on function private.suppress(bytea) is
  'Puts an address on the opt-out list. Definer, because no tenant owns the list or may read it.';

-- The hashes of an address on the opt-out list, by each key. With a tenant also those of its customers who ended the
-- account.
create function private.email_hashes(email text, key text, tenant uuid default null) returns bytea[]
language plpgsql immutable
as $$
declare
  hashes bytea[] := '{}';
  each   text;
begin
  foreach each in array private.keys_for('opt_out', key) loop
    hashes := hashes || private.claim_mac('email:' || lower(email), each);
    if tenant is not null then
      hashes := hashes || private.claim_mac('ended:' || tenant || ':' || lower(email), each);
    end if;
  end loop;
  return hashes;
end $$;

create function private.opted_out(email text, key text, tenant uuid default null) returns boolean
language plpgsql stable security definer
as $$ begin return exists (select from core.suppressions s
                           where s.email_hash = any (private.email_hashes(email, key, tenant))); end $$;
comment on function private.opted_out(text, text, uuid) is
  'Whether an address opted out of mail, or with a tenant was a customer of that partner who ended the account. '
  'Definer, because no tenant may read the list.';

create function private.forget_opt_outs(emails text[], key text, tenant uuid) returns void
language plpgsql security definer
as $$
begin
  perform private.only_in_sandbox();
  delete from core.suppressions s
   where s.email_hash = any (array(select unnest(private.email_hashes(e, key, tenant)) from unnest(emails) e));
end $$;
comment on function private.forget_opt_outs(text[], text, uuid) is
  'Takes addresses off the opt-out list, for a reset of the sandbox. Definer, because no tenant owns the list.';

create function api.opt_out(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'anyone');
  perform private.suppress(decode(request ->> 'email_hash', 'hex'));
  return json_build_object('ok', true);
end $$;
comment on function api.opt_out(jsonb, jsonb) is
  'Stores that the bearer of an unsubscribe link wants no more mail: {email_hash}. Not rate limited: mail services '
  'send it for many people from one address.';

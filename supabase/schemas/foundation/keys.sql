-- Keys: what is derived from them, and links and hashes made with them.

-- RFC 4648 section 5, without padding.
create function private.base64url(bytes bytea) returns text
language sql immutable parallel safe
return translate(rtrim(encode(bytes, 'base64'), '='), E'+/\n', '-_');

create function private.claim_mac(message text, key text) returns bytea
language plpgsql immutable security definer
as $$ begin return extensions.hmac(convert_to(message, 'UTF8'), decode(key, 'hex'), 'sha256'); end $$;
comment on function private.claim_mac(text, text) is
  'HMAC-SHA-256 under a key in hex. Definer, because api_owner may not use the schema of the extensions.';

-- The keys of a purpose, in hex, from sqlKeys in packages/shared/src/auth/keys.ts: the first makes, all verify. No
-- object: the one key itself.
create function private.keys_for(purpose text, keys text) returns text[]
language sql immutable
return string_to_array(case when starts_with(keys, '{') then keys::jsonb ->> purpose else keys end, ',');

-- Links and hashes made with keys. `links` is {key, pages_url}: keys, as private.keys_for reads them, and the root of
-- the pages.

-- The planner writes these into calling queries, 500 times in an import. The casts to text are needed: text || uuid is
-- not immutable.

-- The token of a claim link, derived whenever it is shown. claimToken in packages/shared/src/domain/claim/links.ts
-- makes the same.
create function private.claim_token(draft uuid, key text) returns text
language sql immutable
return replace(draft::text, '-', '') || '-'
    || private.base64url(private.claim_mac('claim:' || draft::text, (private.keys_for('claim', key))[1]));

-- The hash of an address in new unsubscribe links, which opting out stores.
create function private.email_hash(email text, key text) returns bytea
language sql immutable
return private.claim_mac('email:' || lower(email), (private.keys_for('opt_out', key))[1]);

create function private.claim_url(draft uuid, links jsonb) returns text
language sql immutable
return (links ->> 'pages_url') || '/claim/' || private.claim_token(draft, links ->> 'key');

-- An unsubscribe link. Its token has the hash of the address, so it works when the draft is long gone.
create function private.unsubscribe_url(email text, links jsonb) returns text
language plpgsql immutable
as $$
declare
  hash constant text := encode(private.email_hash(email, links ->> 'key'), 'hex');
begin
  return (links ->> 'pages_url') || '/unsubscribe/' || hash || '-'
      || private.base64url(private.claim_mac('unsubscribe:' || hash,
                                             (private.keys_for('opt_out', links ->> 'key'))[1]));
end $$;

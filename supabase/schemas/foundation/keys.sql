-- Keys: what is derived from them, and links and hashes made with them.

-- RFC 4648 section 5, without padding.
create function private.base64url(bytes bytea) returns text
language sql immutable parallel safe
return translate(rtrim(encode(bytes, 'base64'), '='), E'+/\n', '-_');

create function private.claim_mac(message text, key text) returns bytea
language plpgsql immutable security definer
as $$ begin return extensions.hmac(convert_to(message, 'UTF8'), decode(key, 'hex'), 'sha256'); end $$;
comment on function private.claim_mac(text, text) is 'HMAC-SHA-256 under a key in hex. Definer, because api_owner may not use the schema of the extensions.';

-- The keys of a purpose, in hex, from sqlKeys in packages/shared/src/auth/keys.ts: the first makes, all verify. No object: the one key itself.
create function private.keys_for(purpose text, keys text) returns text[]
language sql immutable
return string_to_array(case when starts_with(keys, '{') then keys::jsonb ->> purpose else keys end, ',');

-- Links and hashes made with keys. `links` is {key, pages_url}: keys, as private.keys_for reads them, and the root of the pages.

-- The planner writes these into calling queries, 500 times in an import. The casts to text are needed: text || uuid is not immutable.

-- The token of a claim link, derived whenever it is shown. claimToken in packages/shared/src/domain/claim/links.ts makes the same.
create function private.claim_token(draft uuid, key text) returns text
language sql immutable
return replace(draft::text, '-', '') || '-' || private.base64url(private.claim_mac('claim:' || draft::text, (private.keys_for('claim', key))[1]));

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
      || private.base64url(private.claim_mac('unsubscribe:' || hash, (private.keys_for('opt_out', links ->> 'key'))[1]));
end $$;

create function api.issue_auth_link(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  draft      core.drafts;
  status     text;
  customer   record;
  registered text;
  target     text;
  link       uuid;
  wanted     boolean;
  email_sent boolean := false;
begin
  perform private.act_as(caller, 'partner');
  -- of several drafts the newest that can be claimed; parallel calls for one draft queue here, so that one link is left
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id()
     and (input ->> 'draft_id' is null or d.id = (input ->> 'draft_id')::uuid)
     and (input ->> 'email' is null or d.email = input ->> 'email')
   order by private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1
     for no key update;
  perform private.refuse_if('draft_not_found', draft.id is null);
  select p.return_url into registered from core.partners p where p.id = draft.partner_id;
  target := coalesce(input ->> 'return_url', registered);
  perform private.refuse_if('return_url_not_allowed', input ->> 'return_url' is not null and not private.return_url_allowed(target, registered));
  status := private.draft_status(draft);
  select * into customer from private.draft_login(draft);
  perform private.refuse_if('draft_not_claimable', status in ('expired', 'conflict') or status = 'active' and not customer.empty, json_build_object(
    'status', status, 'reason', case status when 'active' then 'already_active' else status end));
  update core.draft_links l set expires_at = private.now()
   where l.partner_id = draft.partner_id and l.draft_id = draft.id and l.used_at is null and l.expires_at > private.now();
  insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
  values (draft.partner_id, draft.id, private.reserve_token_hash(input ->> 'token_hash'), target, private.now() + interval '300 seconds')
  returning id into link;
  wanted := (input ->> 'send_email')::boolean and not private.opted_out(draft.email, input #>> '{links,key}');
  if wanted then
    email_sent := 0 = private.enqueue_mails(jsonb_build_object('template', 'sign_in', 'locale', coalesce(draft.locale, (private.own_partner()).locale, 'nl'),
                                                                 'content', jsonb_build_object('link', input -> 'auth_url'), 'key', input #> '{links,key}'), (
      select jsonb_build_array(jsonb_build_object('recipient', draft.email, 'cause', 'claim_sign_in:' || draft.id || ':' || link,
               'content', private.letter_content(draft, private.partner_brand(p), input -> 'links')))
        from core.partners p where p.id = draft.partner_id));
  end if;
  perform private.audit('draft.auth_link_issued', draft.id);
  return json_build_object('ok', true, 'auth_url', input ->> 'auth_url', 'expires_in', 300,
                           'resume', customer.user_id is not null, 'return_url', target, 'email_sent', email_sent, 'mail_limit', wanted and not email_sent);
end $$;
comment on function api.issue_auth_link(jsonb, jsonb) is
  'POST /partner/drafts/auth-link: {draft_id, email, return_url, token_hash, auth_url, send_email, links}. A newer link voids the older. With send_email the customer gets it by mail, unless they opted out or reached today''s limit (mail_limit).';

-- Drafts: made by import, listed, withdrawn, opened by a sign-in link, looked up in the EAN register, reminded of, expired, purged.
-- What happens when a customer opens a claim link is in the next migration.

-- Links and hashes under the claim key -------------------------------------------------------------------------------
-- `links` is {key, pages_url}: the claim key (hex), which the database never stores, and the root of the pages.

create function private.claim_mac(message text, key text) returns bytea
language plpgsql immutable security definer
set search_path = ''
as $$ begin return extensions.hmac(convert_to(message, 'UTF8'), decode(key, 'hex'), 'sha256'); end $$;
comment on function private.claim_mac(text, text) is
  'HMAC-SHA-256 under the claim key. Definer, because api_owner has no business in the schema of the extensions.';

create function private.base64url(bytes bytea) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return translate(rtrim(encode(bytes, 'base64'), '='), E'+/\n', '-_'); end $$;
comment on function private.base64url(bytea) is 'RFC 4648 section 5, without padding.';

create function private.claim_token(draft uuid, key text) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return replace(draft::text, '-', '') || '-' || private.base64url(private.claim_mac('claim:' || draft, key)); end $$;
comment on function private.claim_token(uuid, text) is 'The token of a claim link, derived whenever it is shown; claimToken in packages/shared/src/claim.ts makes the same.';

create function private.email_hash(email text, key text) returns bytea
language plpgsql immutable
set search_path = ''
as $$ begin return private.claim_mac('email:' || lower(email), key); end $$;
comment on function private.email_hash(text, text) is 'An address as the opt-out list and unsubscribe links know it.';

create function private.unsubscribe_token(email text, key text) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  hash constant text := encode(private.email_hash(email, key), 'hex');
begin
  return hash || '-' || private.base64url(private.claim_mac('unsubscribe:' || hash, key));
end $$;
comment on function private.unsubscribe_token(text, text) is
  'The token of an unsubscribe link: it names the address by its hash, so that it works when the draft is long gone.';

create function private.claim_url(draft uuid, links jsonb) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return (links ->> 'pages_url') || '/claim/' || private.claim_token(draft, links ->> 'key'); end $$;

create function private.unsubscribe_url(email text, links jsonb) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return (links ->> 'pages_url') || '/unsubscribe/' || private.unsubscribe_token(email, links ->> 'key'); end $$;

create function private.suppress(email_hash bytea) returns void
language sql security definer
set search_path = ''
as $$ insert into core.suppressions (email_hash) values (suppress.email_hash) on conflict do nothing $$;
comment on function private.suppress(bytea) is 'Puts an address on the opt-out list. Definer, because no tenant owns the list or may read it.';

create function private.is_suppressed(email_hash bytea) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$ begin return exists (select from core.suppressions s where s.email_hash = is_suppressed.email_hash); end $$;
comment on function private.is_suppressed(bytea) is 'Whether an address asked not to be written to. Definer, because no tenant may read the list.';

grant execute on function
  private.claim_mac(text, text), private.base64url(bytea), private.claim_token(uuid, text), private.email_hash(text, text),
  private.unsubscribe_token(text, text), private.claim_url(uuid, jsonb), private.unsubscribe_url(text, jsonb),
  private.suppress(bytea), private.is_suppressed(bytea)
to api_owner;

-- Mail to many -------------------------------------------------------------------------------------------------------

create function private.fill_marks(template text, fields jsonb, escape boolean) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  filled text := template;
  field  record;
begin
  for field in select '{{' || f.key || '}}' as mark, coalesce(f.value, '') as value from jsonb_each_text(fields) as f loop
    filled := replace(filled, field.mark, case when escape then private.escape_html(field.value) else field.value end);
  end loop;
  return filled;
end $$;
comment on function private.fill_marks(text, jsonb, boolean) is 'The template with each {{name}} replaced by what fields say; what is put into HTML is escaped.';
grant execute on function private.fill_marks(text, jsonb, boolean) to api_owner;

alter table core.mail_outbox add column unsubscribe_url text;
comment on column core.mail_outbox.unsubscribe_url is 'For the header List-Unsubscribe (RFC 8058); null where the mail answers what its reader just did.';

create function private.enqueue_mails(mail jsonb, letters jsonb) returns void
language sql
set search_path = ''
as $$
  insert into core.mail_outbox
    (partner_id, cause, template, locale, recipient, subject, html, text, links, unsubscribe_url, status, done_at)
  select private.partner_id(), l.cause, mail ->> 'template', mail ->> 'locale', l.recipient,
         private.fill_marks(mail ->> 'subject', l.fields, false),
         private.fill_marks(mail ->> 'html', l.fields, true),
         private.fill_marks(mail ->> 'text', l.fields, false),
         array(select private.fill_marks(link, l.fields, false) from jsonb_array_elements_text(mail -> 'links') as link),
         l.fields ->> 'unsubscribe_url',
         case when private.is_sandbox() then 'captured' else 'queued' end,
         case when private.is_sandbox() then private.now() end
    from jsonb_to_recordset(letters) as l (recipient text, cause text, fields jsonb)
  on conflict on constraint mail_outbox_cause_key do nothing
$$;
comment on function private.enqueue_mails(jsonb, jsonb) is
  'enqueue_mail for many: one composed mail, and letters [{recipient, cause, fields}]. The field unsubscribe_url also becomes the mail''s List-Unsubscribe.';
grant execute on function private.enqueue_mails(jsonb, jsonb) to api_owner;

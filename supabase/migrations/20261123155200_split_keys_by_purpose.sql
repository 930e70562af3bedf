begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.keys_for (
  purpose text,
  keys    text
)
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
RETURN string_to_array(CASE WHEN starts_with(keys, '{'::text) THEN ((keys)::jsonb ->> purpose) ELSE keys END, ','::text);

CREATE OR REPLACE FUNCTION private.email_hashes (
  email text,
  key   text
)
  RETURNS bytea[]
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  hashes bytea[] := '{}';
  each   text;
begin
  foreach each in array private.keys_for('opt_out', key) loop
    hashes := hashes || private.claim_mac('email:' || lower(email), each);
  end loop;
  return hashes;
end $function$;

CREATE OR REPLACE FUNCTION private.opted_out (
  email text,
  key   text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ begin return exists (select from core.suppressions s where s.email_hash = any (private.email_hashes(email, key))); end $function$;

CREATE OR REPLACE FUNCTION private.customer_named (
  ref     text,
  partner uuid,
  key     text
)
  RETURNS uuid
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  each   text;
  person uuid;
  first  uuid;
begin
  if ref ~ '^cus_[0-9a-f]{32}$' then
    foreach each in array private.keys_for('customer', key) loop
      person := encode(private.decrypt_block(decode(substr(ref, 5), 'hex'), private.customer_key(partner, each)), 'hex')::uuid;
      if exists (select from core.attributions a where a.partner_id = partner and a.user_id = person) then
        return person;
      end if;
      first := coalesce(first, person);
    end loop;
  end if;
  return first;
end $function$;

CREATE OR REPLACE FUNCTION api.issue_auth_link (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
  if draft.id is null then
    perform private.refuse('draft_not_found');
  end if;
  select p.return_url into registered from core.partners p where p.id = draft.partner_id;
  target := coalesce(input ->> 'return_url', registered);
  if input ->> 'return_url' is not null and not private.return_url_allowed(target, registered) then
    perform private.refuse('return_url_not_allowed');
  end if;
  status := private.draft_status(draft);
  select * into customer from private.draft_login(draft);
  if status in ('expired', 'conflict') or status = 'active' and not customer.empty then
    perform private.refuse('draft_not_claimable', json_build_object(
      'status', status, 'reason', case status when 'active' then 'already_active' else status end));
  end if;
  update core.draft_links l set expires_at = private.now()
   where l.partner_id = draft.partner_id and l.draft_id = draft.id and l.used_at is null and l.expires_at > private.now();
  insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
  values (draft.partner_id, draft.id, private.claim_token_hash(input ->> 'token_hash'), target, private.now() + interval '300 seconds')
  returning id into link;
  wanted := input -> 'mails' <> 'null' and not private.opted_out(draft.email, input #>> '{links,key}');
  if wanted then
    email_sent := 0 = private.enqueue_mails(input -> 'mails' -> coalesce(draft.locale, (private.own_partner()).locale, 'nl'), (
      select jsonb_build_array(jsonb_build_object('recipient', draft.email, 'cause', 'claim_sign_in:' || draft.id || ':' || link,
               'fields', private.letter_fields(draft, private.partner_brand(p), input -> 'links')))
        from core.partners p where p.id = draft.partner_id));
  end if;
  perform private.audit('draft.auth_link_issued', draft.id);
  return json_build_object('ok', true, 'auth_url', input ->> 'auth_url', 'expires_in', 300,
                           'resume', customer.user_id is not null, 'return_url', target, 'email_sent', email_sent, 'mail_limit', wanted and not email_sent);
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_customer (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner  core.partners;
  person   uuid;
  customer jsonb;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  person := private.customer_named(query ->> 'customer_ref', partner.id, query ->> 'key');
  customer := private.customer_page(partner, private.is_partner_itself(), jsonb_build_object('ids', array[person], 'key', query -> 'key'))::jsonb -> 0;
  if customer is null then
    perform private.refuse('customer_not_found');
  end if;
  return json_build_object(
    'who', private.portal_who(),
    'customer', customer,
    -- a draft names the person, so it is shown with one who is disclosed
    'draft', case when customer ? 'email' then (
      select json_build_object('draft_id', d.id, 'status', d.status, 'created_at', private.iso(d.created_at),
                               'invited_at', private.iso(d.invited_at), 'claimed_at', private.iso(d.claimed_at))
        from core.drafts d where d.partner_id = partner.id and d.user_id = person order by d.created_at desc, d.id limit 1) end);
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_customers (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  looks_for jsonb        := jsonb_strip_nulls(query -> 'for');
  size      constant int := (query ->> 'limit')::int;
  partner   core.partners;
  key       constant text := query ->> 'key';
  examined  int;
  ids       uuid[];
  found     json;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  ids := array[private.customer_named(looks_for ->> 'text', partner.id, key)];
  if ids[1] is not null then
    looks_for := looks_for - 'text';
  else
    examined := case when looks_for - 'month' = '{}' then size + 1 else private.customers_examined() end;
    ids := private.customer_candidates(partner.id, looks_for, private.customer_named(query ->> 'after', partner.id, key), examined);
  end if;
  found := private.customer_page(partner, private.is_partner_itself(),
                                 jsonb_build_object('ids', ids, 'for', looks_for, 'limit', size + 1, 'key', query -> 'key'));
  return json_build_object(
    'who', private.portal_who(),
    'customers', (select coalesce(json_agg(f.customer order by f.place), '[]')
                    from json_array_elements(found) with ordinality as f (customer, place) where f.place <= size),
    'more_after', case when json_array_length(found) > size then found -> (size - 1) ->> 'customer_ref'
                 when cardinality(ids) = examined then private.customer_ref(ids[examined], private.customer_key(partner.id, key)) end);
end $function$;

CREATE OR REPLACE FUNCTION private.draft_mailing (
  draft core.drafts,
  key   text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  mails record;
begin
  -- by their whole causes, which an index has; a mail is kept 90 days
  select max(m.created_at) as last_at, count(*) filter (where m.cause like 'claim_resent:%') as by_hand into mails
    from core.mail_outbox m
   where m.partner_id = draft.partner_id
     and m.cause = any (array['claim:' || draft.id] || array(select k.kind || draft.id || ':' || n
                                                               from unnest(array['claim_reminder:', 'claim_resent:']) k (kind), generate_series(1, 3) n));
  return jsonb_build_object(
    'state', case when private.draft_status(draft) not in ('invited', 'claimed') then 'not_claimable'
                  when private.opted_out(draft.email, key) then 'opted_out'
                  when mails.by_hand >= 3 then 'enough'
                  when mails.last_at > private.now() - interval '1 day' then 'too_soon'
                  when not exists (select from private.mails_that_fit('invitation', array[draft.email], key, dry => true)) then 'mail_limit'
                  else 'may' end,
    'last_at', private.iso(mails.last_at),
    'again_at', private.iso(mails.last_at + interval '1 day'),
    'by_hand', mails.by_hand);
end $function$;

CREATE OR REPLACE FUNCTION private.forget_opt_outs (
  emails text[],
  key    text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.only_in_sandbox();
  delete from core.suppressions s where s.email_hash = any (array(select unnest(private.email_hashes(e, key)) from unnest(emails) e));
end $function$;

CREATE OR REPLACE FUNCTION private.claim_token (
  draft uuid,
  key   text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
RETURN
  ((replace((draft)::text, '-'::text, ''::text) || '-'::text) || private.base64url(private.claim_mac(('claim:'::text || (draft)::text), (private.keys_for('claim'::text, key))[1])));

CREATE OR REPLACE FUNCTION private.customer_key (
  partner uuid,
  key     text
)
  RETURNS bytea
  LANGUAGE sql
  IMMUTABLE
RETURN substr(private.claim_mac(('customers:'::text || (partner)::text), (private.keys_for('customer'::text, key))[1]), 1, 16);

CREATE OR REPLACE FUNCTION private.email_hash (
  email text,
  key   text
)
  RETURNS bytea
  LANGUAGE sql
  IMMUTABLE
RETURN private.claim_mac(('email:'::text || lower(email)), (private.keys_for('opt_out'::text, key))[1]);

CREATE OR REPLACE FUNCTION private.known_addresses (
  emails text[],
  tenant uuid,
  key    text,
  others boolean
)
  RETURNS TABLE (
    email  text,
    reason text
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  AS $function$
begin
  return query
  with open as (
    select d.email, bool_or(d.partner_id = tenant) as own, bool_or(d.partner_id <> tenant and p.is_active) as foreign
      from core.drafts d
      join core.partners p on p.id = d.partner_id
     where d.email = any (emails) and (others or d.partner_id = tenant) and d.status in ('invited', 'claimed') and (d.status = 'claimed' or d.expires_at > private.now())
     group by d.email
  ), people as (
    select distinct u.email::text as email from auth.users u
     -- the condition of Auth's own index on the address
     where others and u.email = any (emails) and u.is_sso_user = false
       and (exists (select from core.attributions a where a.user_id = u.id)
            or exists (select from core.accounts a where a.user_id = u.id))
  )
  select e.email,
         case when o.own then 'already_drafted'
              when p.email is not null then 'existing_user'
              when others and private.opted_out(e.email, key) then 'suppressed'
              when o.foreign then 'conflict' end
    from unnest(emails) as e (email)
    left join open o on o.email = e.email
    left join people p on p.email = e.email;
end $function$;

CREATE OR REPLACE FUNCTION private.mail_subject (
  email text,
  key   text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
RETURN ('mail:'::text || encode(private.claim_mac(('email:'::text || private.counted_address(email)), (private.keys_for('mail'::text, key))[1]), 'hex'::text));

CREATE OR REPLACE FUNCTION private.own_customer (
  named text,
  key   text,
  OUT   account_id uuid,
  OUT   user_id uuid
)
  RETURNS record
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select a.id, a.user_id
    from core.attributions t
    join core.accounts a on a.partner_id = private.house() and a.user_id = t.user_id
   where t.partner_id = private.partner_id() and t.source in ('partner_upload', 'partner_invite')
     and case when named like 'cus\_%' then t.user_id = private.customer_named(named, private.partner_id(), key) else a.id = private.as_uuid(named) end
   order by a.created_at, a.id limit 1
$function$;

CREATE OR REPLACE FUNCTION private.remind_drafts (
  mails jsonb,
  links jsonb,
  size  integer
)
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  post     record;
  reminded bigint := 0;
begin
  for post in
    with due as (
      -- where several reminders are due, one mail is sent for all of them
      update core.drafts d
         set reminders_sent = (select count(*) from unnest(array[3, 10, 30]) as r (day) where d.created_at + make_interval(days => r.day) <= private.now())
       where d.id in (
         select w.id from core.drafts w
          where w.status = 'invited' and w.send_invite and w.reminders_sent < 3 and w.expires_at > private.now()
            and w.created_at + make_interval(days => (array[3, 10, 30])[w.reminders_sent + 1]) <= private.now()
            -- those of a deactivated partner stay due
            and w.partner_id in (select p.id from core.partners p where p.is_active)
          order by w.created_at limit size for update skip locked)
      returning d as draft
    ), wanted as materialized (
      select due.draft, row_number() over () as n from due where not private.opted_out((due.draft).email, links ->> 'key')
    ), fits as materialized (
      -- of all partners at once: counted in one order, so that two statements cannot wait for each other
      select f.n from private.mails_that_fit('claim_reminder', array(select (w.draft).email from wanted w order by w.n), links ->> 'key') f (n)
    )
    select p.id as partner_id, coalesce((w.draft).locale, p.locale, 'nl') as locale,
           jsonb_agg(jsonb_build_object('recipient', (w.draft).email, 'cause', 'claim_reminder:' || (w.draft).id || ':' || (w.draft).reminders_sent,
             'counted', w.n in (select f.n from fits f), 'fields', private.letter_fields(w.draft, private.partner_brand(p), links))) as letters
      from wanted w join core.partners p on p.id = (w.draft).partner_id
     group by p.id, 2
  loop
    perform private.act_for_partner(post.partner_id), private.enqueue_mails(mails -> post.locale, post.letters);
    reminded := reminded + jsonb_array_length(post.letters);
  end loop;
  return reminded;
end $function$;

CREATE OR REPLACE FUNCTION private.unsubscribe_token (
  email text,
  key   text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  hash constant text := encode(private.email_hash(email, key), 'hex');
begin
  return hash || '-' || private.base64url(private.claim_mac('unsubscribe:' || hash, (private.keys_for('opt_out', key))[1]));
end $function$;

COMMENT ON FUNCTION "private"."claim_mac"(text, text) IS 'HMAC-SHA-256 under a key in hex. Definer, because api_owner has no business in the schema of the extensions.';

COMMENT ON FUNCTION "private"."customer_key"(uuid, text) IS 'The AES key under which a partner is told its customers.';

COMMENT ON FUNCTION "private"."customer_named"(text, uuid, text) IS 'Whom a reference of private.customer_ref means, under any key that references are still taken of; null where it is none. One of another partner, or made up, is an id that nobody has.';

COMMENT ON FUNCTION "private"."email_hash"(text, text) IS 'An address as new unsubscribe links know it, and the opt-out list by these.';

COMMENT ON FUNCTION "private"."email_hashes"(text, text) IS 'An address as the opt-out list may know it: under every key that opt-outs were ever stored under.';

COMMENT ON FUNCTION "private"."keys_for"(text, text) IS 'The keys of one purpose (claim, mail, opt_out, customer), in hex, of what sqlKeys in packages/shared/src/auth/keys.ts hands over: the first makes, all of them verify. A text that is no object is the one key of its caller. The database stores none of them.';

COMMENT ON FUNCTION "private"."opted_out"(text, text) IS 'Whether an address asked not to be written to. Definer, because no tenant may read the list.';

REVOKE ALL ON FUNCTION "private"."customer_named"(text, uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."customer_named"(text, uuid, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."email_hashes"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."email_hashes"(text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."keys_for"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."keys_for"(text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."opted_out"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."opted_out"(text, text) TO "api_owner";

DROP FUNCTION "private"."customer_named"(text, bytea);

commit;

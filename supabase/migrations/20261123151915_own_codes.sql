begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.own_code_fits (
  kind    text,
  address text,
  key     text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return private.is_sandbox() or exists (select from private.take_mails(array[private.mail_subject(address, key) || '@own'], kind, 'mail_kind', 'mail_kind'));
end $function$;

REVOKE ALL ON FUNCTION "private"."own_code_fits"(text, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_code_fits"(text, text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_code_fits"(text, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_code_fits"(text, text, text) TO "postgres";

CREATE OR REPLACE FUNCTION api.send_account_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  address text;
  account core.accounts;
begin
  perform private.act_as(caller, 'session', 'signatory');
  address := private.signatory();
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  if account.payout_handler <> 'service_pays_customer' then
    perform private.refuse('account_not_found');
  end if;
  if not private.enqueue_mail(request -> 'mail', address, 'account_code:' || (request ->> 'code_hash'),
                              jsonb_build_object('partner_name', (select p.name from core.partners p where p.id = account.partner_id)),
                              counted => private.own_code_fits('account_code', address, request #>> '{mail,key}')) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_account_code(request, address);
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.send_claim_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if private.draft_state(draft) not in ('open', 'active') or private.claim_stage(draft) <> coalesce(request ->> 'stage', private.claim_stage(draft)) then
    perform private.refuse('claim_not_open');
  elsif private.judge_code(draft.code_hash, draft.code_expires_at, draft.code_attempts, request ->> 'code_hash') is null then
    return json_build_object('ok', true);  -- this code was sent already
  end if;
  if not private.enqueue_mail(request -> 'mail', draft.email, 'claim_code:' || draft.id || ':' || (request ->> 'code_hash'),
           counted => case when request ->> 'proved_by' = 'code' then private.own_code_fits('claim_code', draft.email, request #>> '{mail,key}') end) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  update core.drafts d
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.code_expiry(), code_attempts = 0
   where d.partner_id = draft.partner_id and d.id = draft.id;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.send_withdrawal_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  entered record;
begin
  select * into entered from private.enter_signed_mandate(caller, request);
  if not private.enqueue_mail(request -> 'mail', entered.address, 'account_code:' || (request ->> 'code_hash'),
                              jsonb_build_object('partner_name', (select p.name from core.partners p where p.id = (entered.account).partner_id)),
                              counted => private.own_code_fits('account_code', entered.address, request #>> '{mail,key}')) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_account_code(request, entered.address);
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION private.claim_code_refusal (
  draft   core.drafts,
  request jsonb
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  refused constant text := private.judge_guess(draft.email, 'claim', draft.code_hash, draft.code_expires_at, draft.code_attempts,
    request || case when request ->> 'proved_by' = 'code' then jsonb_build_object('email', draft.email, 'device_hash', '') else '{}' end);
begin
  if refused = 'wrong_code' then
    update core.drafts d set code_attempts = d.code_attempts + 1 where d.partner_id = draft.partner_id and d.id = draft.id;
  end if;
  return refused;
end $function$;

CREATE OR REPLACE FUNCTION private.counted_address (
  email text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN (lower(split_part(email, '@'::text, 2)) = ANY (ARRAY['gmail.com'::text, 'googlemail.com'::text])) THEN
  (replace(split_part(split_part(lower(email), '@'::text, 1), '+'::text, 1), '.'::text, ''::text) || '@gmail.com'::text) WHEN
  (lower(split_part(email, '@'::text, 2)) = ANY (ARRAY['proton.me'::text, 'protonmail.com'::text, 'pm.me'::text])) THEN
  (translate(split_part(split_part(lower(email), '@'::text, 1), '+'::text, 1), '.-_'::text, ''::text) || '@proton.me'::text) WHEN
  (lower(split_part(email, '@'::text, 2)) = ANY (ARRAY['icloud.com'::text, 'me.com'::text, 'mac.com'::text])) THEN
  (split_part(split_part(lower(email), '@'::text, 1), '+'::text, 1) || '@icloud.com'::text) WHEN
  (split_part(lower(split_part(email, '@'::text, 2)), '.'::text, 1) = ANY (ARRAY['outlook'::text, 'hotmail'::text, 'live'::text, 'msn'::text, 'fastmail'::text])) THEN
  ((split_part(split_part(lower(email), '@'::text, 1), '+'::text, 1) || '@'::text) || split_part(lower(email), '@'::text, 2)) ELSE lower(email) END;

CREATE OR REPLACE FUNCTION private.enqueue_mails (
  mail    jsonb,
  letters jsonb
)
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  template constant text    := case when mail ? 'sender' then replace(mail ->> 'html', '{{sender}}', private.head_of(mail -> 'sender')) else mail ->> 'html' end;
  names    constant text[]  := private.mark_names(concat_ws(' ', mail ->> 'subject', template, mail ->> 'text', mail ->> 'links'));
  subject  constant text    := private.as_format(mail ->> 'subject', names);
  html     constant text    := private.as_format(template, names);
  body     constant text    := private.as_format(mail ->> 'text', names);
  links    constant text[]  := array(select private.as_format(l.link, names) from jsonb_array_elements_text(mail -> 'links') with ordinality as l (link, place) order by l.place);
  captured constant boolean := private.is_sandbox();
  kind     constant text    := private.counted_kind(letters #>> '{0,cause}');
  fits     bigint[];
begin
  if kind is not null and letters #> '{0,counted}' is null then
    fits := array(select private.mails_that_fit(kind, array(select l.letter ->> 'recipient' from jsonb_array_elements(letters) with ordinality as l (letter, place) order by l.place),
                                                mail ->> 'key', (letters #>> '{0,connection}')::uuid));
  end if;
  insert into core.mail_outbox
    (partner_id, cause, template, locale, recipient, subject, html, text, links, reply_to, unsubscribe_url, status, done_at)
  select private.partner_id(), case when d.dropped then l.cause || ':dropped:' || gen_random_uuid() else l.cause end,
         mail ->> 'template', mail ->> 'locale', l.recipient,
         -- the subject of a code begins with it
         case when d.dropped then '' else format(subject, variadic v.plain) end,
         case when d.dropped then '' else format(html, variadic v.escaped) end,
         case when d.dropped then '' else format(body, variadic v.plain) end,
         case when d.dropped then '{}' else array(select format(link, variadic v.plain) from unnest(links) as link) end,
         l.fields ->> 'reply_to', l.fields ->> 'unsubscribe_url',
         case when l.to_nobody then 'nobody' when d.dropped then 'dropped' when captured then 'captured' else 'queued' end,
         case when l.to_nobody or d.dropped or captured then private.now() end
    from rows from (jsonb_to_recordset(letters) as (recipient text, cause text, fields jsonb, to_nobody boolean, counted boolean))
         with ordinality as l (recipient, cause, fields, to_nobody, counted, place)
    cross join lateral (select not coalesce(l.counted, l.place = any (fits), true) as dropped offset 0) as d
    cross join lateral (select l.fields || coalesce(mail -> 'defaults', '{}') || jsonb_strip_nulls(l.fields) as marks offset 0) as m
    cross join private.mark_values(names, m.marks) as v
  on conflict on constraint mail_outbox_cause_key do nothing;
  if found and not captured then
    perform private.kick();
  end if;
  return (select count(*) from rows from (jsonb_to_recordset(letters) as (counted boolean)) with ordinality as l (counted, place) where not coalesce(l.counted, l.place = any (fits), true));
end $function$;

COMMENT ON FUNCTION "api"."complete_claim"(jsonb, jsonb) IS 'Adds to a signed claim what was put off, or changes it: {draft_id, step: payout|charger, answers, iban, missing, code_hash, key, proved_by, repeat_hash, mail}. The browser has a session of this claim.';

COMMENT ON FUNCTION "api"."revoke_claim"(jsonb, jsonb) IS 'The customer ends the mandate of their claim by a code that was mailed for this: {draft_id, code_hash, key, proved_by}. Open months are judged again; locked ones and the registration stay.';

COMMENT ON FUNCTION "api"."send_claim_code"(jsonb, jsonb) IS 'Mails a one-time code, good for ten minutes and five attempts: {draft_id, code_hash, mail, stage?, proved_by?}. With stage (invited, claimed) only while the claim is there. A browser that proved the address by a code has codes of its own.';

COMMENT ON FUNCTION "private"."claim_code_refusal"(core.drafts, jsonb) IS 'Why a one-time code, {code_hash, key, proved_by?}, is refused, or null; a wrong one is counted, so the refusal has to be an answer. Guesses of a browser that proved the address by a code are counted apart.';

COMMENT ON FUNCTION "private"."counted_address"(text) IS 'The mailbox of an address, for limits only: tags, and dots (of Proton also - and _) where the provider ignores them, make no other one.';

COMMENT ON FUNCTION "private"."own_code_fits"(text, text, text) IS 'Counts a code of a kind for a browser that has proved the address, apart from all other mail of it: what strangers and partners have mailed keeps nobody from withdrawing a mandate or changing an account number.';

commit;

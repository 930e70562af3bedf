begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP VIEW "core"."deletions";

DROP FUNCTION "private"."account_code_sent"(text);

DROP FUNCTION "private"."claim_code_refusal"(core.drafts, jsonb);

DROP FUNCTION "private"."code_expiry"();

DROP FUNCTION "private"."expect_second_click"(core.drafts, text);

DROP FUNCTION "private"."is_second_click"(core.drafts, text);

DROP FUNCTION "private"."judge_code"(bytea, timestamp WITH time zone, integer, text);

DROP FUNCTION "private"."judge_guess"(text, text, bytea, timestamp WITH time zone, integer, jsonb);

DROP FUNCTION "private"."judge_sign_in_code"(jsonb, text);

DROP FUNCTION "private"."keep_account_code"(jsonb, text);

DROP FUNCTION "private"."keep_sign_in_code"(jsonb);

DROP FUNCTION "private"."link_code_refusal"(core.mandate_links, text, jsonb);

DROP FUNCTION "private"."use_claim_code"(core.drafts, jsonb);

CREATE TABLE "core"."one_time_codes" (
  "subject"    text                     NOT NULL,
  "code_hash"  bytea,
  "used_hash"  bytea,
  "email"      text                     NOT NULL,
  "attempts"   integer                  NOT NULL DEFAULT 0,
  "expires_at" timestamp with time zone NOT NULL,
  CONSTRAINT "one_time_codes_pkey" PRIMARY KEY (subject)
);

ALTER TABLE "core"."one_time_codes"
  ENABLE ROW LEVEL SECURITY;

-- codes that are on their way open what they did
insert into core.one_time_codes (subject, code_hash, used_hash, email, attempts, expires_at)
select 'browser:' || encode(c.token_hash, 'hex'), case when c.used_at is null then c.code_hash end, case when c.used_at is not null then c.code_hash end,
       c.email, c.attempts, c.expires_at
  from core.sign_in_codes c where c.expires_at > private.now()
union all
select 'claim:' || d.id, d.code_hash, null, d.email, d.code_attempts, d.code_expires_at
  from core.drafts d where d.code_hash is not null and d.code_expires_at > private.now()
union all
select 'claim:' || d.id, null, d.used_code_hash, d.email, 0, d.code_used_at + interval '10 seconds'
  from core.drafts d where d.code_hash is null and d.used_code_hash is not null and d.code_used_at > private.now() - interval '10 seconds'
union all
select 'mandate:' || l.id, l.code_hash, null, s.email, l.code_attempts, l.code_expires_at
  from core.mandate_links l
  join core.connections c on c.partner_id = l.partner_id and c.id = l.connection_id
  join core.signatories s on s.partner_id = c.partner_id and s.account_id = c.account_id
 where l.code_hash is not null and l.code_expires_at > private.now() and s.email is not null
union all
select 'invitation:' || i.id, i.code_hash, null, i.email, i.code_attempts, i.code_expires_at
  from core.manager_invitations i where i.code_hash is not null and i.code_expires_at > private.now();

ALTER TABLE "core"."drafts"
  DROP COLUMN "code_attempts";

ALTER TABLE "core"."drafts"
  DROP COLUMN "code_expires_at";

ALTER TABLE "core"."drafts"
  DROP COLUMN "code_hash";

ALTER TABLE "core"."drafts"
  DROP COLUMN "code_used_at";

ALTER TABLE "core"."drafts"
  DROP COLUMN "used_code_hash";

ALTER TABLE "core"."manager_invitations"
  DROP COLUMN "code_attempts";

ALTER TABLE "core"."manager_invitations"
  DROP COLUMN "code_expires_at";

ALTER TABLE "core"."manager_invitations"
  DROP COLUMN "code_hash";

ALTER TABLE "core"."mandate_links"
  DROP COLUMN "code_attempts";

ALTER TABLE "core"."mandate_links"
  DROP COLUMN "code_expires_at";

ALTER TABLE "core"."mandate_links"
  DROP COLUMN "code_hash";

DROP TABLE "core"."sign_in_codes";

CREATE OR REPLACE FUNCTION api.accept_invitation (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  invitation constant core.manager_invitations := private.lock_invitation(caller, request ->> 'token_hash');
  refused    constant text := (private.judge_guess('invitation:' || invitation.id, 'invitation', request)).refused;
  login      record;
  claimed    record;
begin
  if refused is not null then
    return private.refusal(refused);
  end if;
  -- on the sandbox whoever tries this out as the partner reads the codes it signs in with later, as of a login that a claim made
  select * into login from private.prove_login(invitation.email, case when private.is_sandbox() then invitation.partner_id end, request);
  if login.next is not null then
    return login.next;
  elsif not private.login_stands(login.user_id) then
    perform private.refuse('link_not_open');
  end if;
  select * into claimed from private.claim_manager(login.user_id, invitation.partner_id);
  perform private.use_code('invitation:' || invitation.id);
  update core.manager_invitations i set used_at = private.now()
   where i.partner_id = invitation.partner_id and i.id = invitation.id and claimed.manages = invitation.partner_id;
  if claimed.added then
    perform private.audit('partner.manager_added', login.user_id);
    perform private.tell_managers(request -> 'told', invitation.email, null, array[invitation.email]);
  end if;
  return json_build_object('email', invitation.email, 'accepted', claimed.manages = invitation.partner_id);
end $function$;

CREATE OR REPLACE FUNCTION api.decline_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link core.mandate_links;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, renewal, address, user_agent)
  values (link.partner_id, link.connection_id, link.owner_id, link.id, 'declined', private.signed_until(link.connection_id) is not null, left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now() where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  -- whoever declines the years after those that are signed for changes nothing
  perform private.emit('mandate.declined', c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'declined'))
     from core.connections c
    where c.partner_id = link.partner_id and c.id = link.connection_id and private.signed_until(c.id) is null;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.open_invitation (
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
  perform private.act_as(caller, 'anyone'), private.count_visit(request ->> 'address_hash');
  select * into entered from private.enter_invitation(request ->> 'token_hash');
  perform private.act_for_tenant(entered.partner_id);
  return coalesce((
    select json_build_object('state', private.invitation_state(i), 'email', i.email, 'partner_name', private.partner_display_name(p),
                             'code_sent', private.code_sent('invitation:' || i.id))
      from core.manager_invitations i join core.partners p on p.id = i.partner_id
     where i.partner_id = entered.partner_id and i.id = entered.id), json_build_object('state', 'unknown'));
end $function$;

CREATE OR REPLACE FUNCTION api.prove_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft   core.drafts;
  view    jsonb;
  judged  record;
  refused text;
  answer  json;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  perform private.count_visit(request ->> 'address_hash');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  view := private.claim_view(draft, request);
  if private.draft_state(draft) not in ('open', 'active') then
    refused := 'claim_not_open';
  else
    select * into judged from private.judge_claim_code(draft, request);
    if judged.again then
      perform private.use_code('claim:' || draft.id);
      return view::json;
    end if;
    refused := judged.refused;
  end if;
  if refused is null then
    answer := private.prove_draft(draft, false, request);
    refused := answer ->> 'refused';
  end if;
  if refused is not null then
    return private.refusal(refused, json_build_object('claim', view));
  end if;
  return coalesce(answer, view::json);
end $function$;

CREATE OR REPLACE FUNCTION api.read_signed_account (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account core.accounts;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  if account.payout_handler <> 'service_pays_customer' then
    perform private.refuse('account_not_found');
  end if;
  return json_build_object(
    'email', private.own_email(), 'partner_id', account.partner_id, 'iban_last4', account.iban_last4,
    'partner_name', (select p.name from core.partners p where p.id = account.partner_id),
    'code_sent', private.code_sent('browser:' || (request ->> 'token_hash')));
end $function$;

CREATE OR REPLACE FUNCTION api.read_signed_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  entered    record;
  connection constant uuid := (request ->> 'connection_id')::uuid;
begin
  select * into entered from private.enter_signed_mandate(caller, request);
  return (
    select json_build_object(
      'email', entered.address,
      'partner_name', (select p.name from core.partners p where p.id = (entered.account).partner_id),
      'ean_code', c.ean_code, 'registration_status', c.registration_status, 'renewed_until', c.renewed_until,
      'withdrawal', private.withdrawal_means(connection),
      'code_sent', private.code_sent('browser:' || (request ->> 'token_hash')))
      from core.connection_mandates c where c.partner_id = (entered.account).partner_id and c.connection_id = connection);
end $function$;

CREATE OR REPLACE FUNCTION api.revoke_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft      core.drafts;
  connection uuid;
  refused    text;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status is distinct from 'active' then
    perform private.refuse('claim_not_open');
  end if;
  refused := (private.use_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  connection := private.mandated_connection(draft.account_id);
  if connection is null then
    perform private.refuse('claim_not_open');
  end if;
  perform private.end_mandate(connection, 'revoked', 'customer');
  return json_build_object('ok', true);
end $function$;

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
  perform private.keep_code('browser:' || (request ->> 'token_hash'), address, request ->> 'code_hash');
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
  elsif private.code_works('claim:' || draft.id, request ->> 'code_hash') then
    return json_build_object('ok', true);  -- this code was sent already
  end if;
  if not private.enqueue_mail(request -> 'mail', draft.email, 'claim_code:' || draft.id || ':' || (request ->> 'code_hash'),
           counted => case when request ->> 'proved_by' = 'code' then private.own_code_fits('claim_code', draft.email, request #>> '{mail,key}') end) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code('claim:' || draft.id, draft.email, request ->> 'code_hash');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.send_invitation_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  invitation constant core.manager_invitations := private.lock_invitation(caller, request ->> 'token_hash');
begin
  if not private.enqueue_mail(request -> 'mail', invitation.email, 'invitation_code:' || invitation.id || ':' || (request ->> 'code_hash')) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code('invitation:' || invitation.id, invitation.email, request ->> 'code_hash');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.send_mandate_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link      core.mandate_links;
  recipient text;
begin
  link := private.enter_link(caller, request);
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if private.link_state(link) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  recipient := private.connection_facts(link.connection_id) ->> 'email';
  if recipient is null then
    perform private.refuse('signatory_email_missing');
  end if;
  if not private.enqueue_mail(request -> 'mail', recipient, 'mandate_code:' || link.id || ':' || (request ->> 'code_hash'), connection => link.connection_id) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code('mandate:' || link.id, recipient, request ->> 'code_hash');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.send_sign_in_code (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  rate      jsonb;
  counted   text;
  login     uuid;
  signatory boolean;
  stranger  boolean;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(request, array['sign_in_code'], 'sign_in_mail');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_codes', json_build_object('rate', rate));  -- what was counted stays
  end if;
  counted := private.sign_in_mail(request);
  if counted = 'refused' then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code('browser:' || (request ->> 'token_hash'), request ->> 'email', request ->> 'code_hash');
  -- a code is mail that nobody owns; nothing else of the house is read here
  perform private.act_for_partner(private.house()), set_config('app.breadth', 'tenant', true);
  -- the same look-ups and the same rows either way: how long the answer takes must not tell whose address it is
  login := private.login_at(request ->> 'email');
  signatory := private.signs(request ->> 'email');
  stranger := private.code_opens(request ->> 'email', true);
  perform private.enqueue_mail(request -> 'mail', request ->> 'email', 'sign_in_code:' || (request ->> 'token_hash'),
                               to_nobody => login is null and not (signatory and (request ->> 'signatories')::boolean is true)
                                            and not (stranger and (request ->> 'strangers')::boolean is true),
                               counted => counted = 'fits');
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
  perform private.keep_code('browser:' || (request ->> 'token_hash'), entered.address, request ->> 'code_hash');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.sign_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  draft    core.drafts;
  facts    jsonb;
  refused  text;
  account  uuid;
  login    record;
  proof    record;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.draft_for(private.enter_draft((request ->> 'draft_id')::uuid, true), request ->> 'proved_by');
  if draft.status = 'active' then
    return private.sign_again(draft, request);
  elsif private.claim_stage(draft) is distinct from 'claimed' or private.claim_open_step(draft) is not null
        or request ->> 'proved_by' = 'link' and private.ends_links(draft) then
    perform private.refuse('claim_not_open');
  end if;
  facts := private.signed_facts(private.claim_facts(draft), private.mandate_periods(null, (private.own_partner()).mandate_years), request);
  refused := (private.judge_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  if draft.user_id is null then
    -- begun by a sign-in link; the code proves now what the link did not
    select * into proof from private.prove_login(draft.email, draft.partner_id, request);
    if proof.next is not null then
      return proof.next;
    end if;
  end if;
  select * into login from private.claimant(draft.email, draft.partner_id);
  if login.taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('claim_conflict');
  elsif not private.claim_ean(facts ->> 'ean_code') then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('claim_conflict');
  end if;
  if draft.user_id is null then
    -- stored before the account is opened: from then on this transaction acts for the person, and sees their own drafts only
    update core.drafts d set user_id = login.user_id where d.partner_id = draft.partner_id and d.id = draft.id returning * into draft;
  end if;

  -- first, so that the partner is told what becomes of its customer
  if not private.attribute_claimant(draft) then
    raise exception 'the login of draft % was attributed elsewhere meanwhile', draft.id using errcode = 'serialization_failure';
  end if;
  account := private.open_account(draft, facts, request);
  update core.drafts d
     set status = 'active', account_id = account, activated_at = private.now(),
         progress = jsonb_strip_nulls(jsonb_build_object('return_url', d.progress ->> 'return_url'))
   where d.partner_id = draft.partner_id and d.id = draft.id;
  if not found then
    raise exception 'draft % is out of sight of the person who signed it', draft.id;
  end if;
  perform private.use_code('claim:' || draft.id), private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id);
  perform private.audit('draft.activated', draft.id), private.emit_draft('draft.active', draft.id, 'active');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.sign_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link   core.mandate_links;
  facts  jsonb;
  judged record;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  facts := private.signed_facts(private.connection_facts(link.connection_id),
                                private.mandate_periods(link.connection_id, link.validity_years), request);
  if facts ->> 'email' is not null then
    select * into judged from private.judge_guess('mandate:' || link.id, 'mandate', request);
    if judged.refused is not null then
      return private.refusal(judged.refused);
    elsif judged.email <> facts ->> 'email' then
      return private.refusal('code_expired');  -- it went to the address that was on file before
    end if;
    perform private.use_code('mandate:' || link.id);
  end if;
  perform private.record_signature(link, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id);
  end if;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION private.claim_view (
  draft   core.drafts,
  request jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  state  constant text := private.draft_state(draft);
  answers jsonb;
  view   jsonb;
begin
  draft := private.draft_for(draft, request #>> '{session,proved_by}');
  draft.status := private.claim_stage(draft);
  select jsonb_build_object('state', state, 'status', draft.status, 'locale', coalesce(draft.locale, p.locale),
                            'brand', private.partner_brand(p), 'partner_name', p.name) into view
    from core.partners p where p.id = draft.partner_id;
  if state not in ('open', 'active') then
    return coalesce(view, jsonb_build_object('state', state));
  end if;
  view := view || jsonb_build_object('email', draft.email, 'code_sent', private.code_sent('claim:' || draft.id));
  if not private.is_proven(draft, request -> 'session') then
    return view;  -- the link alone shows nothing of what is known or typed
  elsif state = 'active' then
    view := view || private.claim_outcome(draft) || jsonb_build_object(
      'return_url', coalesce(draft.progress ->> 'return_url', (select p.return_url from core.partners p where p.id = draft.partner_id)));
    -- what the partner uploaded describes the first charger, not a second one
    answers := case when view -> 'chargers' = '[]' then coalesce(draft.charger, '{}') else '{}' end;
    return view || jsonb_build_object('answers', answers)
      || case when request ->> 'step' = 'charger'
              then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
  elsif draft.status <> 'claimed' then
    return view;
  end if;
  answers := private.claim_answers(draft);
  return view || jsonb_build_object(
    'answers', answers,
    'confirmed', coalesce(draft.progress -> 'confirmed', '[]'),
    'open_step', private.claim_open_step(draft),
    'candidates', coalesce(draft.progress -> 'candidates', '[]'),
    'iban_last4', draft.progress #>> '{iban,last4}',
    'charger', (select jsonb_build_object('name', m.brand || ' ' || m.model, 'mid_meter', m.mid_meter)
                  from core.charger_models m where m.id = (answers ->> 'catalog_charger_id')::uuid))
    || case when private.claim_open_step(draft) is null
            then private.what_may_be_signed(private.claim_facts(draft), null, private.own_partner()) else '{}' end
    || case when request ->> 'step' = 'charger'
            then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION private.close_login (
  person uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  held uuid;
begin
  for held in select g.id from core.oauth_grants g where g.user_id = person and g.revoked_at is null order by g.id loop
    perform private.end_grant(held, 'account_closed');
  end loop;
  delete from core.oauth_consents o where o.user_id = person;
  delete from core.personal_tokens t where t.user_id = person;
  delete from core.page_sessions s where s.user_id = person;
  -- a code that waits in another browser would make the login anew
  delete from core.one_time_codes c using auth.users u where u.id = person and c.email = u.email and starts_with(c.subject, 'browser:');
  if exists (select from core.accounts a where a.user_id = person) or exists (select from core.chargers h where h.user_id = person) then
    -- as Supabase Auth deletes where rows must stay: by a mark, and with nothing left that says who it was
    update auth.users u
       set deleted_at = private.now(), email = 'closed-' || u.id || '@deleted.invalid', encrypted_password = null, raw_user_meta_data = '{}'
     where u.id = person;
  else
    delete from auth.users u where u.id = person;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.code_sent (
  subject text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return exists (select from core.one_time_codes c
                  where c.subject = code_sent.subject and c.code_hash is not null and c.expires_at > private.now());
end $function$;

CREATE OR REPLACE FUNCTION private.code_works (
  subject   text,
  code_hash text DEFAULT NULL::text
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return exists (
    select from core.one_time_codes c
     where c.subject = code_works.subject and private.judge_code(c, coalesce(code_works.code_hash, encode(c.code_hash, 'hex'))) is null);
end $function$;

CREATE OR REPLACE FUNCTION private.complete_payout (
  draft   core.drafts,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  before text;
  used   record;
begin
  select a.iban_last4 into before from core.accounts a where a.partner_id = private.partner_id() and a.id = draft.account_id for no key update;
  if not found or jsonb_typeof(request -> 'iban') is distinct from 'object' then
    perform private.refuse('claim_not_open');
  elsif before is not null and request -> 'missing' = 'true' then
    return null;
  elsif before is not null then
    perform private.act_for_partner(draft.partner_id);
    if before = request #>> '{iban,last4}' and request ->> 'code_hash' is null then
      return null;
    end if;
    select * into used from private.use_claim_code(draft, request);
    if used.refused is not null then
      return private.refusal(used.refused);
    elsif used.again then
      -- a second click: the number is there; another one takes a code of its own
      return case when before is distinct from request #>> '{iban,last4}' then private.refusal('code_expired') end;
    end if;
    perform private.enter_account(draft);
  end if;
  perform private.store_iban(draft.account_id, request -> 'iban');
  perform private.act_for_partner(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_iban:' || draft.id || ':' || gen_random_uuid());
  return null;
end $function$;

CREATE OR REPLACE FUNCTION private.count_wrong_code (
  subject text
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ update core.one_time_codes c set attempts = c.attempts + 1 where c.subject = count_wrong_code.subject $function$;

CREATE OR REPLACE FUNCTION private.drop_waiting_mail (
  draft uuid
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  delete from core.one_time_codes c where c.subject = 'claim:' || draft;
  delete from core.mail_outbox m
   where m.partner_id = private.partner_id() and m.status = 'queued' and m.cause like 'claim%:' || draft || '%'
$function$;

CREATE OR REPLACE FUNCTION private.end_in_conflict (
  draft  core.drafts,
  reason text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.drafts d
     set status = 'conflict', conflict_reason = reason, progress = '{}'
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.audit('draft.conflict', draft.id, jsonb_build_object('reason', reason)), private.emit_draft('draft.conflict', draft.id, 'conflict');
end $function$;

CREATE OR REPLACE FUNCTION private.end_sign_ins (
  address text,
  kept    text DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  delete from core.one_time_codes c where c.email = address and starts_with(c.subject, 'browser:') and c.subject is distinct from 'browser:' || kept;
  delete from core.page_sessions s where s.signatory = address;
end $function$;

CREATE OR REPLACE FUNCTION private.erase_customers (
  partner uuid,
  chosen  uuid[],
  key     text,
  OUT     customers bigint,
  OUT     drafts bigint
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  house       constant uuid := private.house();
  everything  constant boolean := chosen is null;
  gone        core.drafts[];
  people      uuid[];
  logins      uuid[];
  accounts    uuid[];
  chargers    uuid[];
  connections uuid[];
begin
  -- before any row, as who prepares a payout does
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- waits for requests under way on these drafts, to see what they changed
  gone := array(select d from core.drafts d where d.partner_id = partner and (everything or d.id = any (chosen)) order by d.id for update);
  people := array(
    select d.user_id from unnest(gone) d where d.user_id is not null
    union select a.user_id from core.attributions a where everything and a.partner_id = partner
    -- a withdrawn draft leaves its login behind
    union select u.id from auth.users u where everything and u.raw_app_meta_data ->> 'claimed_for' = partner::text);
  -- a login is deleted only where a claim of this partner made it and nobody else relies on it
  logins := array(
    select u.id from auth.users u
     where u.id = any (people) and u.raw_app_meta_data ->> 'claimed_for' = partner::text
       and not exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
       and not exists (select from core.partner_managers m where m.user_id = u.id));
  accounts := array(
    select a.id from core.accounts a
     where a.partner_id = house and (a.id = any (array(select d.account_id from unnest(gone) d)) or a.user_id = any (logins))
     order by a.id for update);
  perform private.lock_bookings_of(private.house(), accounts);
  -- an opt-out outlives its draft; what remembers a draft that was withdrawn is the mail by which its customer opted out
  perform private.forget_opt_outs(array(
    select d.email from unnest(gone) d
    union select u.email from auth.users u where u.id = any (people)
    union select m.recipient from core.mail_outbox m where everything and m.partner_id = partner and m.cause like 'claim%'), key);
  -- locked in the order in which charging sessions lock them
  perform from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
    where v.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by v.id for update of v;
  chargers := array(select h.id from core.chargers h
                     where h.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by h.id for update);
  connections := array(select c.id from core.connections c where c.partner_id = house and c.account_id = any (accounts) order by c.id for update);

  perform private.erase_accounts(accounts, chargers, connections);

  -- what was written about drafts; the mandates of CPO accounts may have gone to the same people
  delete from core.mail_outbox m
   where m.partner_id = partner and m.cause like 'claim%'
     and (everything or m.recipient = any (array(select d.email from unnest(gone) d)));
  delete from core.mail_outbox m using auth.users u where u.id = any (logins) and m.partner_id = house and m.recipient = u.email;
  delete from core.one_time_codes c where c.subject = any (array(select 'claim:' || g.id from unnest(gone) g));
  delete from core.drafts d where d.partner_id = partner and d.id = any (array(select g.id from unnest(gone) g));
  drafts := cardinality(gone);
  -- deleted drafts do not count toward the cap
  delete from core.draft_uploads u
   where u.partner_id = partner
     and (everything or u.id in (select n.id from core.draft_uploads n where n.partner_id = partner order by n.id desc limit drafts));
  delete from core.imports i where everything and i.partner_id = partner;
  with ended as (delete from core.attributions a where a.partner_id = partner and a.user_id = any (people) returning 1)
  select count(*) into customers from ended;
  delete from core.ended_attributions a where a.partner_id = partner and (everything or a.user_id = any (people));
  -- a code that waits would make a login that nobody knows to be this partner's
  delete from core.one_time_codes c using auth.users u where u.id = any (logins) and c.email = u.email and starts_with(c.subject, 'browser:');
  delete from auth.users u where u.id = any (logins);
end $function$;

CREATE OR REPLACE FUNCTION private.expire_drafts (
  OUT expired bigint,
  OUT purged bigint
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  with ended as (
    update core.drafts d set status = 'expired', progress = '{}'
     where d.status = 'invited' and d.expires_at <= private.now() returning d.partner_id, d.id
  ), told as (
    insert into core.events (partner_id, owner_id, type, subject_id, data)
    select e.partner_id, e.partner_id, 'draft.expired', e.id, '{"status": "expired"}' from ended e
  ), dropped as (
    delete from core.mail_outbox m using ended e
     where m.partner_id = e.partner_id and m.status = 'queued' and m.cause like 'claim%:' || e.id || '%')
  select count(*) into expired from ended;
  with ended as (
    delete from core.drafts d where d.status in ('expired', 'conflict') and d.expires_at <= private.now() - interval '30 days'
    returning d.partner_id, d.id, d.status
  ), noted as (
    insert into core.audit_log (actor, action, partner_id, subject_id, details)
    select 'worker', 'draft.deleted', e.partner_id, e.id, jsonb_build_object('status', e.status) from ended e
    returning 1)
  select count(*) + private.forget_claimed_drafts(1000) into purged from noted;
  delete from core.draft_uploads u where u.at <= private.now() - interval '31 days';
  delete from core.imports i where i.expires_at <= private.now();
end $function$;

CREATE OR REPLACE FUNCTION private.judge_claim_code (
  draft   core.drafts,
  request jsonb,
  OUT     refused text,
  OUT     again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  select j.refused, j.again into refused, again
    from private.judge_guess('claim:' || draft.id, 'claim',
      request || case when request ->> 'proved_by' = 'code' then jsonb_build_object('email', draft.email, 'device_hash', '') else '{}' end,
      request ->> 'repeat_hash') j;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_code (
  code      core.one_time_codes,
  presented text
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return case when code.code_hash is null or code.expires_at > private.now() is not true then 'code_expired'
              when code.attempts >= 5 then 'too_many_attempts'
              when code.code_hash <> decode(presented, 'hex') is not false then 'wrong_code' end;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_guess (
  subject  text,
  purpose  text,
  request  jsonb,
  again_by text          DEFAULT NULL::text,
  OUT      refused text,
  OUT      email text,
  OUT      again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  code    core.one_time_codes;
  guesses text;
begin
  -- of ten at once, nine wait here
  select * into code from core.one_time_codes c where c.subject = judge_guess.subject for update;
  email := code.email;
  again := coalesce(code.used_hash = decode(again_by, 'hex') and code.expires_at > private.now(), false);
  refused := case when not again then private.judge_code(code, request ->> 'code_hash') end;
  if not again and (refused is null or refused = 'wrong_code') then
    -- what strangers guess wrong leaves a browser that signed in to this account before alone
    guesses := 'guesses:' || purpose || ':' || private.mail_subject(email, request ->> 'key')
               || case when request ->> 'device_hash' is not null and request ->> 'email' = email then '@devices' else '' end;
    -- counted before it is known to be right, so that guesses sent at once count too
    if not (private.debit(guesses, 'code_guesses') ->> 'allowed')::boolean then
      refused := 'too_many_guesses';
    elsif refused is null then
      perform private.give_back(guesses, 'code_guesses');
    else
      perform private.count_wrong_code(subject);
    end if;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.judge_sign_in_code (
  request jsonb,
  purpose text,
  OUT     refused text,
  OUT     email text,
  OUT     again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  subject constant text := 'browser:' || (request ->> 'token_hash');
begin
  select * into refused, email, again from private.judge_guess(subject, purpose, request, request ->> 'code_hash');
  if refused is null and not private.code_opens(email, (request ->> 'strangers')::boolean is true) then
    perform private.count_wrong_code(subject);
    refused := 'wrong_code';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.keep_code (
  subject   text,
  address   text,
  code_hash text
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  insert into core.one_time_codes (subject, code_hash, email, expires_at)
  values (keep_code.subject, decode(keep_code.code_hash, 'hex'), address, private.now() + interval '10 minutes')
  on conflict on constraint one_time_codes_pkey do update
    set code_hash = excluded.code_hash, used_hash = null, email = excluded.email, attempts = 0, expires_at = excluded.expires_at
$function$;

CREATE OR REPLACE FUNCTION private.mandate_link_view (
  link_id uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  link    core.mandate_links;
  partner core.partners;
  state   text;
begin
  select * into link from core.mandate_links l where l.partner_id = private.partner_id() and l.id = link_id;
  select * into partner from core.partners p where p.id = link.partner_id;
  state := private.link_state(link);
  if state not in ('open', 'signed', 'declined') then
    return json_build_object('state', state, 'locale', coalesce(link.locale, partner.locale));
  end if;
  return json_build_object(
    'state', state,
    'locale', coalesce(link.locale, partner.locale),
    'code_sent', private.code_sent('mandate:' || link.id),
    'partner_name', partner.name,
    'brand', case when partner.id <> private.house() then private.partner_brand(partner) end,
    'return_url', link.return_url,
    'facts', case when state = 'open' then private.connection_facts(link.connection_id) end,
    'periods', case when state = 'open' then private.mandate_periods(link.connection_id, link.validity_years) end,
    'offer', case when state = 'open' then (
      select private.offer(a.partner_id, a.payout_handler)
        from core.connections c join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
       where c.partner_id = link.partner_id and c.id = link.connection_id) end,
    'held_until', private.signed_until(link.connection_id),
    'signed', case when state = 'signed' then (
      select private.shown_mandate(m) from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id) end,
    'may_sign_again', state = 'signed' and private.may_sign_again(link.connection_id));
end $function$;

CREATE OR REPLACE FUNCTION private.prove_draft (
  draft   core.drafts,
  by_link boolean,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  login record;
  proof record;
begin
  if draft.status = 'active' then
    perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash');
    return null;
  end if;
  if not by_link then
    select * into proof from private.prove_login(draft.email, draft.partner_id, request);
    if proof.next is not null then
      return proof.next;
    end if;
  end if;
  select * into login from private.claimant(draft.email, draft.partner_id);
  if login.taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('claim_conflict');
  elsif draft.status = 'invited' and draft.ean is not null and private.ean_taken(draft.ean) then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('claim_conflict');
  end if;
  update core.drafts d
     set status = 'claimed', user_id = case when login.proved then login.user_id end,
         progress = d.progress - 'by_link' || case when not by_link then '{"by_code": true}' when login.proved is not true then '{"by_link": true}' else '{}' end::jsonb,
         claimed_at = coalesce(d.claimed_at, private.now())
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash');
  if draft.status = 'invited' then
    perform private.audit('draft.claimed', draft.id), private.emit_draft('draft.claimed', draft.id, 'claimed');
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION private.record_signature (
  link       core.mandate_links,
  facts      jsonb,
  request    jsonb,
  brought_by uuid               DEFAULT NULL::uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  terms record;
begin
  select * into strict terms from private.terms_of(link.connection_id, brought_by);
  perform private.end_others_sign_ins(facts ->> 'email', link.partner_id);
  insert into core.mandates
    (partner_id, connection_id, owner_id, link_id, status, renewal, fee_pct, partner_share_pct, valid_from, valid_until, signed_name, signed_at, document,
     document_sha256, code_confirmed, code_sent_to, address, user_agent, locale)
  values
    (link.partner_id, link.connection_id, link.owner_id, link.id, 'signed', (facts ->> 'valid_from')::date > private.today(),
     terms.fee_pct, terms.partner_share_pct, (facts ->> 'valid_from')::date, (facts ->> 'valid_until')::date,
     request ->> 'signed_name', private.now(), request ->> 'document', request ->> 'document_sha256',
     facts ->> 'email' is not null, facts ->> 'email', left(request ->> 'address', 64), left(request ->> 'user_agent', 400),
     request #>> '{mail,locale}');
  update core.mandate_links l set used_at = private.now() where l.partner_id = link.partner_id and l.id = link.id;
  perform private.void_mandate_links(link.connection_id);
  perform private.request_mandate_document(link);
  perform private.judge_months(link.connection_id);
  perform private.emit(case when (facts ->> 'valid_from')::date > private.today() then 'mandate.renewed' else 'mandate.signed' end,
                       c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'signed')),
          private.advance_registration(c.account_id, true)
     from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id;
  perform private.audit('mandate.signed', link.connection_id, jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
end $function$;

CREATE OR REPLACE FUNCTION private.redeem_sign_in_code (
  request jsonb,
  purpose text,
  OUT     refused text,
  OUT     email text,
  OUT     again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  select * into refused, email, again from private.judge_sign_in_code(request, purpose);
  if refused is null then
    perform private.use_code('browser:' || (request ->> 'token_hash'), request ->> 'code_hash');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.sign_again (
  draft   core.drafts,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner    constant core.partners := private.own_partner();
  connection uuid;
  facts      jsonb;
  refused    text;
  link       core.mandate_links;
begin
  perform private.enter_account(draft);
  connection := private.signable_connection(draft.account_id);
  if connection is null then
    perform private.refuse('claim_not_open');
  end if;
  facts := private.signed_facts(private.renewal_facts(connection, partner), private.mandate_periods(connection, partner.mandate_years), request);
  perform private.act_for_partner(draft.partner_id);
  refused := (private.use_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  link := private.link_for_signature(connection, request);
  perform private.record_signature(link, facts, request);
  perform private.act_for_partner(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id || ':' || link.id);
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION private.still_opens (
  mail core.mail_outbox
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  about      constant text[] := string_to_array(mail.cause, ':');
  matter     constant text   := about[1];
  subject_id constant uuid   := private.as_uuid(about[2]);
  link       core.mandate_links;
  draft      core.drafts;
  notice     core.notices;
begin
  if matter in ('mandate_link', 'mandate_code') then
    select * into link from core.mandate_links l where l.partner_id = mail.partner_id and l.id = subject_id;
    return private.link_state(link) = 'open' and mail.recipient = (private.connection_facts(link.connection_id) ->> 'email')
       and (matter = 'mandate_link' or private.code_works('mandate:' || link.id, about[3]));
  elsif matter in ('claim', 'claim_reminder', 'claim_sign_in', 'claim_code') then
    select * into draft from core.drafts d where d.partner_id = mail.partner_id and d.id = subject_id;
    return draft.email = mail.recipient and private.draft_status(draft) in ('invited', 'claimed', 'active') and case matter
      when 'claim_code' then private.code_works('claim:' || draft.id, about[3])
      when 'claim_sign_in' then exists (
        select from core.draft_links l
         where l.partner_id = mail.partner_id and l.id = private.as_uuid(about[3]) and l.used_at is null and l.expires_at > private.now())
      -- who came needs no invitation any more, and of reminders the newest says it
      else private.draft_status(draft) = 'invited' and (matter = 'claim' or draft.reminders_sent::text = about[3]) end;
  elsif matter = 'sign_in_code' then
    return private.code_works('browser:' || about[2]);
  elsif matter in ('notice', 'claim_notice') then
    select * into notice from core.notices n
     where n.partner_id = case matter when 'notice' then mail.partner_id else private.house() end and n.id = subject_id;
    perform private.act_for_partner(notice.partner_id);
    return private.notice_details(notice) is not null and not exists (
      -- of the mails about a mandate that ends, one to a CPO's customer has a link to sign by in it
      select from unnest(mail.links) as l (url)
       cross join lateral private.link_by_token(encode(sha256(convert_to(regexp_replace(l.url, '^.*/', ''), 'UTF8')), 'hex')) as k
       where private.link_state(k) not in ('unknown', 'open'));
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.use_claim_code (
  draft   core.drafts,
  request jsonb,
  OUT     refused text,
  OUT     again boolean
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  select j.refused, j.again into refused, again from private.judge_claim_code(draft, request) j;
  if refused is null then
    perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.use_code (
  subject  text,
  again_by text DEFAULT NULL::text
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  update core.one_time_codes c
     set code_hash = null, used_hash = case when c.code_hash is not null then decode(again_by, 'hex') end,
         expires_at = least(c.expires_at, private.now() + interval '10 seconds')
   where c.subject = use_code.subject
$function$;

CREATE VIEW "core"."deletions" WITH (security_invoker=true) AS  SELECT step,
    kind,
    of_table,
    due
   FROM ( VALUES (1,'months'::text,'delivered_months'::text,'d.period < :border and not exists (
     select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period)'::text), (2,'deliveries'::text,'deliveries'::text,'d.received_at < private.dutch_midnight(:border)
     and not exists (select from core.delivered_months m where m.partner_id = d.partner_id and m.delivery_id = d.id)
     and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.delivery_id = d.id)'::text), (3,'ean_checks'::text,'ean_checks'::text,'d.checked_at < private.dutch_midnight(:border)'::text), (4,'mail'::text,'mail_outbox'::text,'d.status = ''nobody'' or d.created_at < private.now() - interval ''90 days'' and d.status <> ''queued'''::text), (5,'logos'::text,'partner_logos'::text,'d.replaced_at < private.now() - interval ''90 days'''::text), (6,'invitations'::text,'manager_invitations'::text,'d.expires_at < private.now() - interval ''30 days'''::text), (7,'oauth'::text,'revoked_access_tokens'::text,'d.expires_at < private.now()'::text), (8,'oauth'::text,'oauth_codes'::text,'d.expires_at < private.now() - interval ''1 day'''::text), (9,'oauth'::text,'oauth_refresh_tokens'::text,'d.expires_at < private.now()'::text), (10,'oauth'::text,'one_time_codes'::text,'d.expires_at < private.now()'::text), (11,'oauth'::text,'page_sessions'::text,'d.expires_at < private.now()'::text), (12,'oauth'::text,'oauth_grants'::text,'d.created_at < private.now() - interval ''1 day''
     and not exists (select from core.oauth_codes c where c.grant_id = d.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = d.id)'::text), (13,'webhook_attempts'::text,'webhook_attempts'::text,'d.at <= private.now() - interval ''30 days'' order by d.at'::text), (14,'job_runs'::text,'job_runs'::text,'d.finished_at < private.now() - interval ''7 days'' or d.id <= (select max(n.id) from core.job_runs n) - 100000'::text), (15,'mail_counts'::text,'mail_counts'::text,'d.day < private.today()'::text), (16,'rate_limits'::text,'rate_limit_state'::text,'d.full_at < private.now()'::text)) deletion(step, kind, of_table, due);

CREATE INDEX one_time_codes_email ON core.one_time_codes USING btree (email);

CREATE INDEX one_time_codes_expiry ON core.one_time_codes USING btree (expires_at);

COMMENT ON COLUMN "core"."one_time_codes"."code_hash" IS 'The code with the secret of its link or browser, and where one subject has several uses with its use, as SHA-256. Null once it was used.';

COMMENT ON COLUMN "core"."one_time_codes"."subject" IS 'What the code opens: claim:, mandate: or invitation: and the id of the draft, link or invitation; or browser: and the SHA-256 of 256 random bits in the cookie of the one browser that asked. A newer code takes its place.';

COMMENT ON COLUMN "core"."one_time_codes"."used_hash" IS 'What the browser that used the code may send once more, because the answer to its first click may not have reached it.';

COMMENT ON FUNCTION "private"."code_sent"(text) IS 'Whether a code waits to be typed. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."code_works"(text, text) IS 'Whether a code, or where that is null the one that was sent last, would be taken now. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."count_wrong_code"(text) IS 'Counts a wrong guess of a code. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."drop_waiting_mail"(uuid) IS 'The code of a draft ends, and mail about it that was not sent yet is not sent any more. Definer, because the outbox is otherwise only written.';

COMMENT ON FUNCTION "private"."end_sign_ins"(text, text) IS 'Ends the codes by which browsers sign in at an address, but the one whose token_hash is kept, and the browsers that proved it as a signatory''s. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."judge_claim_code"(core.drafts, jsonb) IS 'As private.judge_guess, of {code_hash, key, proved_by?, repeat_hash?}. Guesses of a browser that proved the address by a code are counted apart.';

COMMENT ON FUNCTION "private"."judge_code"(core.one_time_codes, text) IS 'Why the SHA-256 of a presented code is refused, or null.';

COMMENT ON FUNCTION "private"."judge_guess"(text, text, jsonb, text) IS 'Judges a guess {code_hash, key, email?, device_hash?} of the code of a subject: why it is refused, or null, and the address that it proves. again: the code was used, by a browser that now sends again_by once more. Wrong ones are counted by code, and by the address and what it is for, so that a new link or draft brings no new guesses. A refusal has to be an answer, or the guess would not count. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."judge_sign_in_code"(jsonb, text) IS 'As private.judge_guess, of the code of one browser, {token_hash, code_hash, key, strangers?}; where it would sign nobody in every one is wrong. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."keep_code"(text, text, text) IS 'Keeps a code that is mailed now to an address, in place of an older one. Definer: no caller may read codes.';

COMMENT ON FUNCTION "private"."redeem_sign_in_code"(jsonb, text) IS 'As private.judge_sign_in_code; a code that is right is used up, but for a second click.';

COMMENT ON FUNCTION "private"."use_claim_code"(core.drafts, jsonb) IS 'As private.judge_claim_code; a code that is right is used up, but for a second click where repeat_hash is given.';

COMMENT ON FUNCTION "private"."use_code"(text, text) IS 'Uses the code of a subject up; within ten seconds private.judge_guess takes it once more of a browser that sends again_by. Definer: no caller may read codes.';

COMMENT ON TABLE "core"."mandate_links" IS 'A link a signatory signs through: good for 14 days, one signature, and until a newer one is issued. token_hash is the SHA-256 of 256 random bits.';

COMMENT ON TABLE "core"."one_time_codes" IS 'One-time codes that were mailed: good for ten minutes and five attempts. An address without a login has rows too, so that nobody can tell which addresses have one. Personal data; ends with the clean-up after it expired.';

COMMENT ON VIEW "core"."deletions" IS 'What is deleted row by row when it is due: a row is a condition on rows d of a table of core, in which :border is the day before which nothing need be kept. A kind is deleted step by step.';

REVOKE ALL ON FUNCTION "private"."code_sent"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."code_sent"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."code_works"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."code_works"(text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."count_wrong_code"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."judge_claim_code"(core.drafts, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."judge_claim_code"(core.drafts, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."judge_code"(core.one_time_codes, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."judge_guess"(text, text, jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."judge_guess"(text, text, jsonb, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."judge_sign_in_code"(jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."judge_sign_in_code"(jsonb, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."keep_code"(text, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."keep_code"(text, text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."use_claim_code"(core.drafts, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."use_claim_code"(core.drafts, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."use_code"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."use_code"(text, text) TO "api_owner";

commit;

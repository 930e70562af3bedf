begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."claim_addresses"(text[], uuid);

DROP FUNCTION "private"."claim_documents"(integer);

DROP FUNCTION "private"."claim_ean"(text, uuid);

DROP FUNCTION "private"."claim_manager"(uuid, uuid);

DROP FUNCTION "private"."claim_months"(core.bookings, uuid[], uuid[]);

DROP FUNCTION "private"."claim_token_hash"(text);

DROP FUNCTION "private"."claim_webhooks"(integer, text);

ALTER TABLE "core"."drafts"
  ALTER COLUMN "id" DROP DEFAULT;

DROP FUNCTION "private"."claim_draft_id"();

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
  -- on the sandbox the partner can read later sign-in codes of this login, as for a login that a claim made
  select * into login from private.prove_login(invitation.email, case when private.is_sandbox() then invitation.partner_id end, request);
  if login.next is not null then
    return login.next;
  elsif not private.login_stands(login.user_id) then
    perform private.refuse('link_not_open');
  end if;
  select * into claimed from private.reserve_manager(login.user_id, invitation.partner_id);
  perform private.use_code('invitation:' || invitation.id);
  update core.manager_invitations i set used_at = private.now()
   where i.partner_id = invitation.partner_id and i.id = invitation.id and claimed.manages = invitation.partner_id;
  if claimed.added then
    perform private.audit('partner.manager_added', login.user_id);
    perform private.tell_managers('joined', invitation.email, null, array[invitation.email]);
  end if;
  return json_build_object('email', invitation.email, 'accepted', claimed.manages = invitation.partner_id);
end $function$;

CREATE OR REPLACE FUNCTION api.begin_page_session (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'session');
  insert into core.page_sessions (token_hash, user_id, sign_in_session_id, signatory)
  values (private.reserve_token_hash(request ->> 'token_hash'), private.user_id(), (request ->> 'sign_in_session_id')::uuid,
          private.take_signatory(request ->> 'signatory_hash', private.user_id()));
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.claim_documents (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return private.lease_documents((batch ->> 'size')::int);
end $function$;

CREATE OR REPLACE FUNCTION api.claim_webhooks (
  caller jsonb,
  batch  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return private.lease_webhooks((batch ->> 'size')::int, batch ->> 'key')::json;
end $function$;

CREATE OR REPLACE FUNCTION api.create_account (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  ean_register constant jsonb := input -> 'ean_register';
  reference  constant text  := input ->> 'cpo_external_ref';
  wanted     constant jsonb := input -> 'connection';
  ean        constant text  := wanted ->> 'ean_code';
  account    uuid;
  connection uuid;
  checked    record;
begin
  perform private.act_as(caller, 'cpo');
  if reference is not null then
    -- parallel first calls queue here, so that the later ones find the account of the first
    perform pg_advisory_xact_lock(hashtextextended(private.client_id() || ' ' || reference, 0));
    account := private.known_account(reference);
    if account is not null then
      return private.repeat_account(account, input);
    end if;
  end if;

  if not private.reserve_ean(ean) then
    perform private.refuse('ean_in_use');
  elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
    return private.ask('ean_register', wanted::json);
  end if;
  select * into checked
    from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', ean_register);
  if checked.outcome = 'mismatch' then
    perform private.record_ean_check(null, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    return private.refusal('ean_address_mismatch');
  end if;

  insert into core.accounts
    (partner_id, client_id, type, display_name, payout_handler, cpo_external_ref, company, iban_ciphertext, iban_key_id, iban_last4)
  values
    (private.partner_id(), private.client_id(), input ->> 'type', input ->> 'display_name', input ->> 'payout_handler', reference,
     nullif(input -> 'company', 'null'), input #>> '{iban,ciphertext}', input #>> '{iban,key_id}', input #>> '{iban,last4}')
  returning id into account;

  insert into core.signatories (partner_id, account_id, full_name, email, phone)
  values (private.partner_id(), account, input #>> '{person,full_name}', input #>> '{person,email}', input #>> '{person,phone}');

  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (private.partner_id(), account,
          private.location_for(wanted || jsonb_strip_nulls(jsonb_build_object(
            'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city)))),
          ean, not private.is_test_ean(ean),
          case checked.outcome when 'matched' then 'matched' else 'unverified' end, private.now())
  returning id into connection;

  perform private.record_ean_check(connection, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
    wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
  perform private.audit('account.created', account);
  perform private.emit('account.created', account, connection, jsonb_build_object('connection_id', connection));
  return private.account_answer(account, false);
end $function$;

CREATE OR REPLACE FUNCTION api.create_personal_token (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  token   core.personal_tokens;
  expires constant timestamptz := (input ->> 'expires_at')::timestamptz;
begin
  perform private.act_as(caller, 'session');
  perform pg_advisory_xact_lock(hashtextextended('tokens of ' || private.user_id(), 0));
  -- a form that is sent twice makes the same token
  select * into token from core.personal_tokens t
   where t.user_id = private.user_id() and t.token_hash = decode(input ->> 'token_hash', 'hex') and t.revoked_at is null;
  if found then
    return private.token_row(token);
  end if;
  if (select count(*) from core.personal_tokens t where t.user_id = private.user_id() and t.revoked_at is null) >= 50 then
    perform private.refuse('token_limit_reached');
  elsif expires <= private.now() then
    perform private.refuse('invalid_request', json_build_object(
      'detail', 'expires_at: must be in the future',
      'issues', json_build_array(json_build_object('path', 'expires_at', 'message', 'must be in the future'))));
  elsif expires is null or expires > private.now() + interval '1 year' then
    perform private.require_recent_sign_in();
  end if;
  insert into core.personal_tokens (user_id, name, token_hash, last4, scopes, expires_at)
  values (private.user_id(), input ->> 'name', private.reserve_token_hash(input ->> 'token_hash'), input ->> 'last4',
          array(select distinct jsonb_array_elements_text(input -> 'scopes') order by 1), expires)
  returning * into token;
  perform private.audit('personal_token.created', token.id, jsonb_build_object('scopes', token.scopes));
  return private.token_row(token);
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
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, renewal, address, user_agent)
  values (link.partner_id, link.connection_id, link.owner_id, link.id, 'declined', private.signed_until(link.connection_id) is not null, left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now() where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  -- declining the years after the signed years changes nothing
  perform private.emit('mandate.declined', c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'declined'))
     from core.connections c
    where c.partner_id = link.partner_id and c.id = link.connection_id and private.signed_until(c.id) is null;
  return json_build_object('ok', true);
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
  perform private.refuse_if('draft_not_found', draft.id is null);
  select p.return_url into registered from core.partners p where p.id = draft.partner_id;
  target := coalesce(input ->> 'return_url', registered);
  perform private.refuse_if('return_url_not_allowed', input ->> 'return_url' is not null and not private.return_url_allowed(target, registered));
  status := private.draft_status(draft);
  select * into customer from private.draft_login(draft);
  if status in ('expired', 'conflict') or status = 'active' and not customer.empty then
    perform private.refuse('draft_not_claimable', json_build_object(
      'status', status, 'reason', case status when 'active' then 'already_active' else status end));
  end if;
  update core.draft_links l set expires_at = private.now()
   where l.partner_id = draft.partner_id and l.draft_id = draft.id and l.used_at is null and l.expires_at > private.now();
  insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
  values (draft.partner_id, draft.id, private.reserve_token_hash(input ->> 'token_hash'), target, private.now() + interval '300 seconds')
  returning id into link;
  -- the functions of 0.9.0 say mails
  wanted := coalesce((input ->> 'send_email')::boolean, input -> 'mails' <> 'null') and not private.opted_out(draft.email, input #>> '{links,key}');
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
end $function$;

CREATE OR REPLACE FUNCTION api.issue_mandate_link (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account    uuid;
  connection uuid;
  registered text;
  partner    core.partners;
  signatory  core.signatories;
  link       core.mandate_links;
  status     text;
  send_email constant boolean := (input ->> 'send_email')::boolean;
  email_sent boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  select c.return_url into registered from core.oauth_clients c where c.id = private.client_id();
  select * into partner from core.partners p where p.id = private.partner_id();
  perform private.refuse_if('return_url_not_allowed', input ->> 'return_url' is not null and not private.return_url_allowed(input ->> 'return_url', registered));
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  -- one link, signature or correction at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  select m.mandate_status into status
    from core.connection_mandates m where m.partner_id = private.partner_id() and m.connection_id = connection;
  perform private.refuse_if('mandate_already_signed', not private.can_sign(connection));
  select * into signatory from core.signatories s where s.partner_id = private.partner_id() and s.account_id = account;
  perform private.refuse_if('signatory_email_missing', send_email and signatory.email is null);

  perform private.void_mandate_links(connection);
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, private.reserve_token_hash(input ->> 'token_hash'), input ->> 'locale', coalesce((input ->> 'validity_years')::int, partner.mandate_years),
          coalesce(input ->> 'return_url', registered), private.now() + interval '1209600 seconds')
  returning * into link;
  if send_email then
    email_sent := private.enqueue_mail(
      jsonb_build_object('template', 'mandate_link', 'locale', coalesce(input ->> 'locale', partner.locale, 'nl'), 'key', coalesce(input -> 'key', input #> '{mails,nl,key}')),
      signatory.email, 'mandate_link:' || link.id,
      jsonb_build_object('full_name', signatory.full_name, 'partner_name', partner.name, 'logo', private.partner_brand(partner) -> 'logo',
                         'link', input -> 'mandate_link'), connection => connection);
  end if;
  perform private.audit('mandate_link.issued', connection);
  return json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'mandate_link', input ->> 'mandate_link',
    'expires_at', private.iso(link.expires_at),
    'expires_in', 1209600,
    'mandate_status', status,
    'email_sent', email_sent,
    'mail_limit', send_email and not email_sent);
end $function$;

CREATE OR REPLACE FUNCTION api.set_partner_iban (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner core.partners;
  iban    constant jsonb := input -> 'iban';
  same    boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  partner := private.own_partner();
  -- each encryption gives another ciphertext: only TypeScript, which has the keys, can compare the numbers
  if partner.iban_last4 = iban ->> 'last4' and input #>> '{same_iban,as}' is null then
    return private.ask('same_iban', json_build_object('partner_id', partner.id, 'sent', iban,
      'stored', json_build_object('ciphertext', partner.iban_ciphertext, 'key_id', partner.iban_key_id)));
  end if;
  same := (input #> '{same_iban,same}' = 'true' and input #>> '{same_iban,as}' = partner.iban_ciphertext) is true;
  if same and input ->> 'account_holder' = partner.iban_holder then
    return json_build_object('ok', true, 'payout', private.partner_answer() -> 'payout');
  end if;
  update core.partners p
     set iban_ciphertext = case when same then p.iban_ciphertext else iban ->> 'ciphertext' end,
         iban_key_id = case when same then p.iban_key_id else iban ->> 'key_id' end,
         iban_last4 = iban ->> 'last4', iban_holder = input ->> 'account_holder'
   where p.id = partner.id;
  perform private.enqueue_mails('{"template": "iban_changed", "locale": "nl"}', (
    select jsonb_agg(jsonb_build_object('recipient', m.email, 'cause', 'partner_iban:' || gen_random_uuid(), 'content', jsonb_build_object(
             'partner_name', partner.name, 'iban_masked', '**** ' || (iban ->> 'last4'), 'account_holder', input ->> 'account_holder')))
      from private.manager_emails(partner.id) m (email)));
  perform private.audit('partner.iban_changed', partner.id, jsonb_build_object('fields', array_remove(array[
    case when not same then 'iban' end, case when input ->> 'account_holder' is distinct from partner.iban_holder then 'account_holder' end], null)));
  return json_build_object('ok', true, 'payout', private.partner_answer() -> 'payout');
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
  elsif not private.reserve_ean(facts ->> 'ean_code') then
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
  perform private.refuse_if('link_not_open', private.link_state(link) <> 'open');
  facts := private.signed_facts(private.connection_facts(link.connection_id),
                                private.mandate_periods(link.connection_id, link.validity_years), request);
  if facts ->> 'email' is not null then
    select * into judged from private.judge_guess('mandate:' || link.id, 'mandate', request);
    if judged.refused is not null then
      return private.refusal(judged.refused);
    elsif judged.email <> facts ->> 'email' then
      return private.refusal('code_expired');  -- the code went to the previous address
    end if;
    perform private.use_code('mandate:' || link.id);
  end if;
  perform private.record_signature(link.connection_id, link.id, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id,
                                 jsonb_build_object('logo', private.partner_brand(private.own_partner()) -> 'logo'));
  end if;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.update_connection (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  ean_register constant jsonb := input -> 'ean_register';
  wanted_id  uuid;
  connection core.connections;
  current    jsonb;
  wanted     jsonb;
  ean        text;
  signed     boolean;
  lapses     boolean;
  checked    record;
  changed    boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  wanted_id := private.find_connection((input #>> '{criteria,connection_id}')::uuid, (input #>> '{criteria,account_id}')::uuid, input #>> '{criteria,cpo_external_ref}');
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = wanted_id and c.status = 'active' for update;
  if not found then
    perform private.refuse('connection_not_found');  -- archived since it was looked up above
  end if;
  select jsonb_build_object('ean_code', connection.ean_code, 'postal_code', l.postal_code, 'house_number', l.house_number,
                            'house_number_addition', l.house_number_addition, 'street', l.street, 'city', l.city)
    into current from core.locations l where l.partner_id = connection.partner_id and l.id = connection.location_id;
  wanted := current || (input -> 'connection');
  ean := wanted ->> 'ean_code';
  select m.mandate_status = 'signed' into signed
    from core.connection_mandates m where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  -- a mandate that holds is lost; of one that ran out the months that still count by it
  lapses := signed or exists (
    select from core.delivered_months d
      join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.covered_until is not null
     where d.partner_id = connection.partner_id and d.connection_id = connection.id and d.status = 'staged');

  if lower(wanted::text) is distinct from lower(current::text) then
    if not private.reserve_ean(ean, connection.id) then
      perform private.refuse('ean_in_use');
    elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
      return private.ask('ean_register', wanted::json);
    end if;
    -- a street that was not sent belongs to the old address
    if (wanted - 'street' - 'city' - 'ean_code') <> (current - 'street' - 'city' - 'ean_code') then
      wanted := jsonb_build_object('street', null, 'city', null) || (wanted - 'street' - 'city')
                || jsonb_strip_nulls(jsonb_build_object('street', input #> '{connection,street}', 'city', input #> '{connection,city}'));
    end if;
    select * into checked
      from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', ean_register);
    perform private.record_ean_check(connection.id, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    if checked.outcome = 'mismatch' then
      return private.refusal('ean_address_mismatch');
    elsif lapses and (input -> 'acknowledge_mandate_lapses') is distinct from 'true' then
      return private.refusal('mandate_acknowledgement_required');
    end if;

    perform private.correct_connection(connection, wanted || jsonb_strip_nulls(jsonb_build_object(
      'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city))), checked.outcome);
    perform private.lapse_mandates(connection.id);
    perform private.end_mandate(connection.id, 'revoked', 'connection_updated') where signed;
    perform private.audit('connection.updated', connection.id, jsonb_build_object('mandate_revoked', signed));
    changed := true;
  end if;
  return private.connection_update_answer(connection.id, changed, changed and signed);
end $function$;

CREATE OR REPLACE FUNCTION ops.connection_add (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection core.connections;
  account    constant core.accounts := private.account_named(input);
begin
  -- of parallel calls for one account the later ones wait here, and then find the connection
  perform from core.accounts a where a.partner_id = account.partner_id and a.id = account.id for no key update;
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.status = 'active' and c.ean_code = input ->> 'ean_code';
  if found then
    return private.connection_answer(connection, false);
  end if;
  perform private.refuse_if('ean_in_use', not private.reserve_ean(input ->> 'ean_code'), json_build_object('ean_code', input ->> 'ean_code'));
  -- the EAN register is asked by the weekly re-check, which finds this connection due as soon as its mandate is signed
  insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (account.partner_id, account.id, account.owner_id, private.location_for(input), input ->> 'ean_code', not private.is_test_ean(input ->> 'ean_code'),
          'unverified', '-infinity')
  returning * into connection;
  perform private.audit('connection.added', connection.id);
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_add_manager (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person  uuid;
  claimed record;
  partner constant core.partners := private.business_named(input);
begin
  select u.id into person from auth.users u where u.email = lower(input ->> 'user');
  perform private.refuse_if('user_not_found', not found, json_build_object('user', input ->> 'user'));
  perform private.refuse_if('login_not_proved', not exists (select from auth.users u where u.id = person and private.login_proved(u, partner.id)),
    json_build_object('user', input ->> 'user'));
  select * into claimed from private.reserve_manager(person, partner.id);
  perform private.refuse_if('manages_another_partner', claimed.manages <> partner.id, json_build_object('user', input ->> 'user'));
  if claimed.added then
    perform private.audit('partner.manager_added', person);
    perform private.tell_managers('joined', lower(input ->> 'user'), null, array[lower(input ->> 'user')]);
  end if;
  return json_build_object('changed', claimed.added, 'manager', json_build_object('user_id', person, 'partner_id', partner.id, 'partner_slug', partner.slug));
end $function$;

CREATE OR REPLACE FUNCTION private.add_refresh_token (
  grant_id   uuid,
  generation integer,
  token_hash text
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  insert into core.oauth_refresh_tokens (token_hash, grant_id, generation, expires_at)
  values (private.reserve_token_hash(add_refresh_token.token_hash), grant_id, generation, private.now() + interval '30 days')
$function$;

CREATE OR REPLACE FUNCTION private.average_price (
  tenant uuid,
  year   integer
)
  RETURNS numeric
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select round((sum(s.gross) - coalesce(sum(v.gross), 0)) / nullif(sum(s.ere) - coalesce(sum(v.ere), 0), 0), 6)
      from core.bookings b
      join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
      -- the parts of a sale sum to the sale, so only reversed parts are looked up
      left join lateral (
        select sum(a.ere) as ere, sum(a.gross) as gross
          from core.allocations a
         where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
           and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v on true
     where b.partner_id = tenant and b.quarter >= make_date(year, 1, 1) and b.quarter < make_date(year + 1, 1, 1));
end $function$;

CREATE OR REPLACE FUNCTION private.begin_signatory_session (
  token_hash text,
  address    text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if not private.signs(address) then
    return false;
  end if;
  insert into core.page_sessions (token_hash, signatory) values (private.reserve_token_hash(begin_signatory_session.token_hash), address);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.chain_rows (
  partner uuid,
  of_log  text,
  size    integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  -- of the transactions that could have written, those before this are over for whatever is read from here on
  over     constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  chain    core.audit_chains;
  ids      bigint[];
  contents bytea[];
  hashes   bytea[] := '{}';
  reached  bigint;
begin
  select * into chain from core.audit_chains c where c.partner_id = partner and c.log = of_log for update skip locked;
  if not found then
    return 0;  -- another one is at it
  end if;

  with fresh as materialized (
    select a.row_id
      from (select 'audit' as log, a.id as row_id from core.audit_log a where a.partner_id = partner
            union all
            select 'ledger', e.id from core.ledger_entries e where e.partner_id = partner) a
     where a.log = of_log and a.row_id > chain.settled_id
       and (select l.position from core.audit_links l where l.partner_id = partner and l.log = of_log and l.row_id = a.row_id) is null
     order by a.row_id limit size
  )
  select array_agg(v.row_id order by v.row_id), array_agg(v.content order by v.row_id) into ids, contents
    from fresh f
   cross join lateral (select * from core.audit_content c where c.partner_id = partner and c.log = of_log and c.row_id = f.row_id offset 0) v;

  for n in 1 .. coalesce(cardinality(ids), 0) loop
    chain.hash := sha256(chain.hash || contents[n]);
    hashes := array_append(hashes, chain.hash);
  end loop;
  insert into core.audit_links (partner_id, log, position, row_id, content, hash)
  select partner, of_log, chain.position + k.n, k.row_id, k.content, k.hash
    from unnest(ids, contents, hashes) with ordinality k (row_id, content, hash, n);

  -- Ids are given before rows are committed, so a lower id may still come from a transaction that runs now. A
  -- transaction that begins a minute later, after this run, has a higher number than all of these. Once no older
  -- transaction runs, no lower id can come.
  chain.last_id := greatest(chain.last_id, ids[cardinality(ids)]);
  reached := case when cardinality(hashes) < size then chain.last_id else ids[size] end;
  if chain.marked_id > chain.settled_id and chain.marked_before is null then
    if private.now() > chain.marked_at + interval '1 minute' then
      chain.marked_before := pg_current_xact_id();
    end if;
  else
    if chain.marked_id > chain.settled_id and reached >= chain.marked_id
       -- of another server, whose numbers a dump brought here, nobody is at work
       and (over >= chain.marked_before or chain.marked_before > pg_snapshot_xmax(pg_current_snapshot())) then
      chain.settled_id := chain.marked_id;
    end if;
    if chain.marked_id = chain.settled_id then
      chain.marked_id := reached;
      chain.marked_at := private.now();
      chain.marked_before := null;
    end if;
  end if;
  update core.audit_chains c
     set position = chain.position + cardinality(hashes), hash = chain.hash, settled_id = chain.settled_id, last_id = chain.last_id,
         marked_id = chain.marked_id, marked_at = chain.marked_at, marked_before = chain.marked_before
   where c.partner_id = partner and c.log = of_log;
  return cardinality(hashes);
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
  -- a code that waits in another browser would create the login again
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

CREATE OR REPLACE FUNCTION private.consent (
  person  uuid,
  client  core.oauth_clients,
  scopes  text[],
  request jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  grant_id uuid;
begin
  insert into core.oauth_consents (user_id, client_id, scopes) values (person, client.id, scopes)
  on conflict on constraint oauth_consents_pkey do nothing;
  if not found then
    update core.oauth_consents c set scopes = consent.scopes, last_at = private.now(), withdrawn_at = null
     where c.user_id = person and c.client_id = consent.client.id;
  -- the first consent, and only that, may attribute (specification section 4.5)
  elsif client.partner_id is not null
        and (private.user_profile(person)).created_at >= private.now() - interval '7 days'
        and private.claim_customer(person, client.partner_id, 'oauth_consent') = 'new' then
    perform private.audit('user.attributed', person, jsonb_build_object('source', 'oauth_consent', 'to', client.partner_id));
  end if;

  insert into core.oauth_grants (user_id, client_id, scopes) values (person, client.id, scopes) returning id into grant_id;
  insert into core.oauth_codes (code_hash, grant_id, redirect_uri, code_challenge, expires_at)
  values (private.reserve_token_hash(request ->> 'code_hash'), grant_id, request ->> 'redirect_uri', request ->> 'code_challenge',
          private.now() + interval '10 minutes');
  perform private.audit('oauth.consented', grant_id, jsonb_build_object('client_id', client.client_id, 'scopes', scopes));
end $function$;

CREATE OR REPLACE FUNCTION private.customer_page (
  partner    core.partners,
  disclosing boolean,
  query      jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  house constant uuid := private.house();
  key   constant bytea := private.customer_key(partner.id, query ->> 'key');
  -- of the partner's portal: these alone, and of them whoever it looks for
  ids       constant uuid[]  := case when query ? 'ids' then array(select i::uuid from jsonb_array_elements_text(query -> 'ids') i) end;
  looks_for constant jsonb   := coalesce(query -> 'for', '{}');
  is_active constant boolean := (looks_for ->> 'is_active')::boolean;
  words     constant tsquery := private.search_query(looks_for ->> 'text');
  after core.attributions;
  until core.attributions;
begin
  after.created_at := coalesce((query #>> '{after,at}')::timestamptz, 'infinity');
  after.user_id    := coalesce((query #>> '{after,id}')::uuid, private.house());
  until.created_at := coalesce((query #>> '{until,at}')::timestamptz, '-infinity');
  until.user_id    := coalesce((query #>> '{until,id}')::uuid, private.house());
  return (
    with shown as materialized (
      select a.* from core.attributions a
       where a.partner_id = partner.id and (ids is null or a.user_id = any (ids))
         and (a.created_at, a.user_id) < (after.created_at, after.user_id) and (a.created_at, a.user_id) >= (until.created_at, until.user_id)
    ), charger as (
      -- the newest, and how many there are
      select distinct on (h.user_id) h.user_id, h.brand, m.model, h.connection_type, h.mid_eligible,
             count(*) over (partition by h.user_id order by h.created_at desc, h.id rows between unbounded preceding and unbounded following) as charger_count
        from shown k
        join core.chargers h on h.partner_id = house and h.user_id = k.user_id and h.status = 'active'
        left join core.charger_models m on m.id = h.catalog_charger_id
       order by h.user_id, h.created_at desc, h.id
    ), customers as (
      -- the oldest account, and its connection with a signed mandate, or else its oldest connection
      select distinct on (k.created_at, k.user_id) k.*, b.type, s.full_name, s.email, s.phone,
             l.postal_code, l.street, l.house_number, l.house_number_addition, l.city, c.registration_status, c.mandate_status,
             h.brand, h.model, h.connection_type, h.mid_eligible, coalesce(h.charger_count, 0) as charger_count,
             disclosing and k.source in ('partner_upload', 'partner_invite') as is_disclosed
        from shown k
        left join core.accounts b on b.partner_id = house and b.user_id = k.user_id
        left join core.signatories s on s.partner_id = house and s.account_id = b.id
        left join core.connection_mandates c on c.partner_id = house and c.account_id = b.id and c.status = 'active'
        left join core.locations l on l.partner_id = house and l.id = c.location_id
        left join charger h on h.user_id = k.user_id
       order by k.created_at desc, k.user_id desc, b.created_at, b.id, c.mandate_status = 'signed' desc, c.created_at, c.connection_id
    )
    select coalesce(json_agg(
             case when k.is_disclosed then row_to_json(disclosed) else row_to_json(pseudonymous) end
             order by k.created_at desc, k.user_id desc), '[]')
      from (select * from customers k
             -- by nothing that the row does not show
             where (is_active is null or coalesce(k.mandate_status = 'signed', false) = is_active)
               and (looks_for ->> 'source' is null or k.source = looks_for ->> 'source')
               and (looks_for ->> 'city' is null or starts_with(lower(k.city), lower(looks_for ->> 'city')))
               and (looks_for ->> 'registration' is null or k.is_disclosed and k.registration_status = looks_for ->> 'registration')
               and case looks_for ->> 'charger' when 'with' then k.charger_count > 0
                                                when 'without' then k.charger_count = 0
                                                when 'without_mid' then k.charger_count > 0 and k.mid_eligible is not true else true end
               and (looks_for ->> 'text' is null
                    or k.is_disclosed and private.search_words(k.full_name, k.email, private.phone_end(k.phone)) @@ words
                    or disclosing and starts_with(lower(k.external_ref), lower(looks_for ->> 'text')))
             order by k.created_at desc, k.user_id desc limit (query ->> 'limit')::int) k
      cross join lateral (
        select private.customer_ref(k.user_id, key) as customer_ref,
               -- what the partner typed itself may name the person, so an application does not get to see it
               case when disclosing then k.external_ref end as external_ref,
               coalesce(k.mandate_status = 'signed', false) as is_active, coalesce(k.type, 'particulier') as type) r
      cross join lateral (
        select r.customer_ref, r.external_ref, k.full_name as naam, k.email, k.phone, k.postal_code, k.street,
               concat_ws(' ', k.house_number, k.house_number_addition) as house_number, k.city, k.registration_status, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger, null as brand_asked_at) disclosed
      cross join lateral (
        select r.customer_ref, r.external_ref, k.city, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger, null as brand_asked_at) pseudonymous);
end $function$;

CREATE OR REPLACE FUNCTION private.earned_of (
  tenant uuid,
  kind   text,
  payee  uuid
)
  RETURNS TABLE (
    allocation_id uuid,
    arrival       bigint,
    stands        boolean,
    due           numeric,
    paid          numeric,
    state         text,
    paid_at       timestamp with time zone
  )
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  -- one pass over sold and paid parts, combined without a join: a partner may have a hundred thousand of each
  select m.id, max(m.arrival), bool_or(m.stands), sum(m.due), sum(m.paid),
         case when sum(m.paid) <> 0 then max(m.state) when bool_or(m.failed) then 'failed' else 'pending' end,
         case when sum(m.paid) <> 0 then max(m.paid_at) end
    from (
      select a.id, s.arrival, a.reversal_id is null as stands, case when a.reversal_id is null then a.net else 0 end as due, 0.00 as paid,
             null as state, false as failed, null::timestamptz as paid_at
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'customer' and a.partner_id = tenant and a.account_id = payee and a.net > 0
      union all
      select a.id, s.arrival, a.reversal_id is null, case when a.reversal_id is null then a.partner_share else 0 end, 0, null, false, null
        from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
       where earned_of.kind = 'partner' and a.partner_id = tenant and a.share_partner_id = payee and a.partner_share > 0
      union all
      -- of a part of a sale that stands one line at a time counts
      select e.allocation_id, null, null, 0, case when k.counts then e.amount else 0 end,
             case when not k.counts then null when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending' else 'approved' end,
             l.status = 'failed', l.paid_at
        from core.payout_parts o
        join core.payout_lines l on l.partner_id = o.partner_id and l.id = o.line_id
        join core.payout_batches b on b.id = l.batch_id
       cross join lateral (select l.status in ('pending', 'paid') as counts) k
        join core.payout_entries e on e.partner_id = o.partner_id and e.part_id = o.id
       where o.ledger_partner_id = tenant and o.payee_id = payee and o.kind = earned_of.kind) m
   group by m.id;
end $function$;

CREATE OR REPLACE FUNCTION private.erase_books (
  partner uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  accounts    constant uuid[] := array(select a.id from core.accounts a where a.partner_id = partner order by a.id for update);
  connections uuid[];
  months      date[];
begin
  perform private.only_in_sandbox(), private.lock_bookings_of(partner, accounts);
  select array_agg(r.connection_id), array_agg(r.period) into connections, months
    from (select distinct r.connection_id, r.period from core.booking_rows r where r.partner_id = partner and r.account_id = any (accounts)) r;
  perform private.lock_connections(partner, connections), private.erase_bookings(partner, accounts);
  -- the months stay, also rejected months, and can be delivered and booked again
  update core.delivered_months d set status = private.month_status(d.connection_id, d.period), accepted_kwh = null
    from unnest(connections, months) as m (connection_id, month)
   where d.partner_id = partner and d.connection_id = m.connection_id and d.period = m.month and d.status in ('submitted', 'registered', 'rejected');
  delete from core.figures f where f.partner_id = partner;
  delete from core.told_payouts t where t.partner_id = partner;
end $function$;

CREATE OR REPLACE FUNCTION private.evidence_lines (
  booking core.bookings,
  part    text,
  after   uuid,
  size    integer
)
  RETURNS TABLE (
    key  uuid,
    line json
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select r.id, to_json(j)
    from (select * from core.booking_rows r
           where part = 'rows' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.id > after order by r.id limit size) r
    left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
   cross join lateral (
     select r.id as row_id, r.account_id, r.connection_id, r.ean_code, to_char(r.period, 'YYYY-MM') as period, r.status, r.kwh, r.session_count, r.source,
            r.ere_per_kwh, r.delivery_id, r.signatory, r.postal_code, r.house_number, r.house_number_addition, r.street, r.city,
            r.mandate_id, r.fee_pct, r.partner_share_pct, r.charger_brand, r.charger_model, r.charger_serial, r.flags,
            c.accepted_kwh, c.ere, c.reason) j
  union all
  select m.id, json_build_object(
           'mandate_id', m.id, 'connection_id', m.connection_id, 'status', m.status, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
           'signed_at', private.iso(m.signed_at), 'signed_name', m.signed_name, 'code_confirmed', m.code_confirmed, 'code_sent_to', m.code_sent_to,
           'address', m.address, 'user_agent', m.user_agent, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason,
           'document', m.document, 'document_sha256', m.document_sha256, 'pdf_sha256', d.sha256)
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'mandates' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    join core.mandates m on m.partner_id = booking.partner_id and m.id = k.mandate_id
    left join core.documents d on d.partner_id = m.partner_id and d.mandate_id = m.id
  union all
  -- a mandate that is not rendered yet has a line too, without a document
  select k.mandate_id, json_build_object('mandate_id', k.mandate_id, 'sha256', d.sha256, 'pdf', translate(encode(d.pdf, 'base64'), e'\n', ''))
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'pdfs' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    left join core.documents d on d.partner_id = booking.partner_id and d.mandate_id = k.mandate_id
  union all
  select d.id, json_build_object(
           'delivery_id', d.id, 'connection_id', d.connection_id, 'client_id', d.client_id, 'request_id', d.request_id,
           'received_at', private.iso(d.received_at), 'body', d.body, 'body_sha256', d.body_sha256)
    from (select distinct r.delivery_id from core.booking_rows r
           where part = 'deliveries' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.delivery_id > after order by r.delivery_id limit size) k
    join core.deliveries d on d.partner_id = booking.partner_id and d.id = k.delivery_id
  union all
  select k.connection_id, json_build_object(
           'connection_id', k.connection_id,
           'chargers', (select coalesce(json_agg(json_build_object(
                'charger_id', h.id, 'status', h.status, 'brand', h.brand, 'serial_number', h.serial_number, 'ocpp_vendor', h.ocpp_vendor,
                'ocpp_model', h.ocpp_model, 'ocpp_meter_type', h.ocpp_meter_type, 'mid_eligible', h.mid_eligible, 'power_kw', h.power_kw,
                'model', m.model, 'mid_evidence', m.mid_evidence, 'mid_source', m.mid_source) order by h.created_at, h.id), '[]')
              from core.chargers h left join core.charger_models m on m.id = h.catalog_charger_id
             where h.partner_id = booking.partner_id and h.connection_id = k.connection_id),
           'ean_checks', (select coalesce(json_agg(json_build_object(
                'ean_code', e.ean_code, 'source', e.source, 'outcome', e.outcome, 'reason', e.reason, 'checked_at', private.iso(e.checked_at)) order by e.id), '[]')
              from core.ean_checks e where e.partner_id = booking.partner_id and e.connection_id = k.connection_id),
           'replaced_months', (select coalesce(json_agg(json_build_object(
                'period', to_char(r.period, 'YYYY-MM'), 'total_kwh', r.total_kwh, 'delivery_id', r.delivery_id, 'replaced_by', r.replaced_by,
                'replaced_at', private.iso(r.replaced_at)) order by r.period, r.replaced_at, r.received_at, r.replaced_by), '[]')
              from core.replaced_months r
             where r.partner_id = booking.partner_id and r.connection_id = k.connection_id
               and r.period >= booking.quarter and r.period < booking.quarter + interval '3 months'),
           'charging_sessions', (select coalesce(json_agg(json_build_object(
                'session_id', s.id, 'charger_id', s.charger_id, 'source', s.source, 'external_id', s.external_id, 'started_at', private.iso(s.started_at),
                'ended_at', private.iso(s.ended_at), 'wh', s.wh, 'flags', s.flags, 'received_at', private.iso(s.received_at)) order by s.started_at, s.id), '[]')
              from core.charging_sessions s
             where s.partner_id = booking.partner_id and s.connection_id = k.connection_id
               and s.month >= booking.quarter and s.month < booking.quarter + interval '3 months'))
    from (select distinct r.connection_id from core.booking_rows r
           where part = 'connections' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.connection_id > after order by r.connection_id limit size) k
  union all
  select k.subject, json_build_object(
           'subject', k.subject,
           'rows', (select coalesce(json_agg(json_build_object(
                'id', a.id, 'at', private.iso(a.at), 'actor', a.actor, 'action', a.action, 'details', a.details, 'request_id', a.request_id,
                'position', l.position, 'hash', encode(l.hash, 'hex')) order by a.id), '[]')
              from core.audit_log a
              left join core.audit_links l on l.partner_id = a.partner_id and l.log = 'audit' and l.row_id = a.id
              -- that somebody looked at this is no part of it, so that it stays the same
             where a.subject_id = k.subject and a.partner_id = booking.partner_id and a.action <> 'booking.evidence_shown'))
    from (select distinct s.subject
            from core.booking_rows r cross join lateral (values (r.booking_id), (r.account_id), (r.connection_id), (r.mandate_id)) s (subject)
           where part = 'audit' and r.partner_id = booking.partner_id and r.booking_id = booking.id and s.subject > after order by s.subject limit size) k
$function$;

CREATE OR REPLACE FUNCTION private.forget_accounts (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone        core.accounts[];
  connections core.connections[];
begin
  -- a customer without data that must be kept, to whom nothing is owed
  gone := array(
    select a from core.accounts a
     where a.created_at < private.dutch_midnight(border)
       and not exists (select from core.payout_lines l where l.partner_id = a.partner_id and l.account_id = a.id)
       and not exists (select from core.payout_parts p where p.partner_id = a.partner_id and p.account_id = a.id)
       and not exists (select from core.booking_rows r where r.partner_id = a.partner_id and r.account_id = a.id)
       and not exists (
         select from core.connections c
          where c.partner_id = a.partner_id and c.account_id = a.id
            and (exists (select from core.mandates m where m.partner_id = c.partner_id and m.connection_id = c.id)
                 or exists (select from core.delivered_months d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.deliveries d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.charging_sessions s where s.partner_id = c.partner_id and s.connection_id = c.id)))
       and not exists (
         select from core.chargers h
          where h.partner_id = a.partner_id and h.account_id = a.id
            and (exists (select from core.charging_sessions s where s.partner_id = h.partner_id and s.charger_id = h.id)
                 or exists (select from core.charging_evidence e where e.partner_id = h.partner_id and e.charger_id = h.id)))
       and private.balance(a.partner_id, 'EUR', 'customer', a.id) = 0
     order by a.partner_id, a.id limit size for update of a);
  connections := array(select c from core.connections c join unnest(gone) a on c.partner_id = a.partner_id and c.account_id = a.id);
  delete from core.notices n using unnest(gone) a where n.partner_id = a.partner_id and n.account_id = a.id;
  delete from core.documents d using unnest(gone) a where d.partner_id = a.partner_id and d.account_id = a.id;
  delete from core.virtual_chargers v using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where v.partner_id = h.partner_id and v.charger_id = h.id;
  delete from core.charger_months m using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where m.partner_id = h.partner_id and m.charger_id = h.id;
  delete from core.charger_names n using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where n.partner_id = h.partner_id and n.charger_id = h.id;
  delete from core.chargers h using unnest(gone) a where h.partner_id = a.partner_id and h.account_id = a.id;
  delete from core.ean_checks e using unnest(connections) c where e.partner_id = c.partner_id and e.connection_id = c.id;
  delete from core.mandate_links l using unnest(connections) c where l.partner_id = c.partner_id and l.connection_id = c.id;
  delete from core.connections d using unnest(connections) c where d.partner_id = c.partner_id and d.id = c.id;
  delete from core.locations l using unnest(connections) c
   where l.partner_id = c.partner_id and l.id = c.location_id
     and not exists (select from core.connections o where o.partner_id = l.partner_id and o.location_id = l.id);
  delete from core.drafts d using unnest(gone) a where d.account_id = a.id;
  delete from core.signatories s using unnest(gone) a where s.partner_id = a.partner_id and s.account_id = a.id;
  delete from core.accounts d using unnest(gone) a where d.partner_id = a.partner_id and d.id = a.id;
  return cardinality(gone);
end $function$;

CREATE OR REPLACE FUNCTION private.import_drafts (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  tenant       uuid;
  links        constant jsonb   := input -> 'links';
  send_invite  constant boolean := (input ->> 'send_invite')::boolean;
  dry_run      constant boolean := coalesce((input ->> 'dry_run')::boolean, false);
  -- what other tenants' people decide is told of customers who agreed that their data is passed on
  others       constant boolean := not dry_run or coalesce((input ->> 'consent')::boolean, false);
  batch        constant uuid    := case when not dry_run then gen_random_uuid() end;
  emails       constant text[]  := array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r);
  brand        jsonb;
  remaining    bigint;
  answer       json;
  letters      jsonb;
begin
  tenant := private.partner_id();
  if not dry_run then
    -- judged against what the import before this one made: the cap among the imports of a partner, "nobody else's" address by address
    perform private.lock_imports(tenant);
    perform private.reserve_addresses(array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r where r ->> 'reason' is null), tenant);
    -- a draft that has expired, noted or not, no longer keeps its address from being drafted again
    update core.drafts d set status = 'expired'
     where d.partner_id = tenant and d.status = 'invited' and d.expires_at <= private.now()
       and d.email = any (emails);
  end if;
  select private.partner_brand(p) into brand from core.partners p where p.id = tenant;
  remaining := greatest(private.draft_cap() - private.drafts_made(), 0);

  with settled as materialized (
    select (r.row).*, r.id, r.outcome,
           case when (r.row).ean is not null then 'provided' when (r.row).postal_code is null then 'no_address' else 'pending' end as ean_status
      from private.settle_rows(input -> 'rows', tenant, links ->> 'key', remaining, others) r
  ), invited as materialized (
    select s.email, row_number() over (order by s.place) as n from settled s where s.outcome is null and send_invite
  ), fits as materialized (
    select f.n from private.mails_that_fit('invitation', array(select i.email from invited i order by i.n), links ->> 'key', dry => dry_run) f (n)
  ), invitable as materialized (
    select i.email from invited i where not others or i.n in (select f.n from fits f)
  ), created as (
    insert into core.drafts as d
      (partner_id, id, batch_id, source, type, name, email, phone, external_ref, kvk, vat, company_name, contact_name, referral_code,
       ean, postal_code, house_number, house_number_addition, street, city, charger, ean_status, send_invite, invited_at, expires_at)
    select tenant, s.id, batch, input ->> 'source', s.type, s.name, s.email, s.phone, s.external_ref, s.kvk, s.vat, s.company_name,
           s.contact_name, s.referral_code, s.ean, s.postal_code, s.house_number, s.house_number_addition, s.street, s.city,
           case when s.charger is not null then s.charger || jsonb_build_object('brand', private.charger_brand(s.charger ->> 'brand')) end,
           s.ean_status, i.email is not null, case when i.email is not null then private.now() end, private.now() + interval '60 days'
      from settled s left join invitable i on i.email = s.email where s.outcome is null and not dry_run
    returning d as draft
  ), counted as (
    insert into core.draft_uploads (partner_id) select tenant from created
  ), shown as (
    select s.place, s.sheet_row, s.email, s.external_ref, s.ean_status,
           case when not dry_run then s.id end as draft_id, case when not dry_run then private.claim_url(s.id, links) end as claim_url
      from settled s where s.outcome is null
  )
  select json_build_object(
      'ok', true,
      'dry_run', dry_run,
      'added', (select count(*) from shown),
      'batch_id', batch,
      'created', (select coalesce(json_agg(row_to_json(r) order by s.place), '[]')
                    from shown s
                    cross join lateral (select s.place as row, s.sheet_row, s.draft_id, s.email, s.external_ref, s.claim_url, s.ean_status,
                                               0 as ean_candidates) r),
      'address_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.address_ignored) order by s.place), '[]')
                            from settled s where s.outcome is null and s.address_ignored is not null),
      'ean_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.ean_ignored) order by s.place), '[]')
                        from settled s where s.outcome is null and s.ean_ignored is not null),
      'invite_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', 'mail_limit') order by s.place), '[]')
                           from settled s where s.outcome is null and send_invite and s.email not in (select i.email from invitable i)),
      'claim_urls', (select coalesce(json_agg(json_build_object('email', s.email, 'claim_url', s.claim_url) order by s.place), '[]')
                       from shown s where not send_invite and not dry_run),
      'referral_codes', (select coalesce(json_agg(json_build_object(
          'email', s.email, 'code', s.referral_code, 'matched', private.referral_code_known(s.referral_code)) order by s.place), '[]')
                           from settled s where s.outcome is null and s.referral_code is not null),
      'rejected', (select coalesce(json_agg(
          case when s.detail is null or s.reason is null
               then json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'sheet_row', s.sheet_row)
               else json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'sheet_row', s.sheet_row, 'detail', s.detail) end order by s.place), '[]')
                     from settled s where s.outcome is not null),
      'skipped', (select json_object_agg(w.reason, case w.reason when 'over_request_limit' then (input ->> 'over_request_limit')::bigint
                                                                 else coalesce(n.rows, 0) end order by w.place)
                    from jsonb_array_elements_text(input -> 'counters') with ordinality as w (reason, place)
                    left join (select s.outcome, count(*) as rows from settled s group by s.outcome) n on n.outcome = w.reason),
      'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(), 'remaining_before', remaining)),
    (select jsonb_agg(jsonb_build_object('recipient', (c.draft).email, 'cause', 'claim:' || (c.draft).id, 'counted', true,
                                         'content', private.letter_content(c.draft, brand, links)))
       from created c where (c.draft).send_invite)
    into answer, letters;

  if letters is not null then
    perform private.enqueue_mails(jsonb_build_object('template', 'claim', 'locale', coalesce((private.own_partner()).locale, 'nl'),
                                             'content', jsonb_build_object('message', coalesce(input ->> 'message',
                                               -- the functions of 0.9.0 say mails, with the message in them
                                               substring(input #>> '{mails,nl,text}' from '{{partner_name}} schrijft u: “(.*)”\n\nBekijk uw aanmelding:')))), letters);
  end if;
  if not dry_run and (answer ->> 'added')::int > 0 then
    perform private.audit('drafts.imported', batch, jsonb_build_object('added', answer -> 'added', 'rows', cardinality(emails), 'source', input -> 'source'));
  elsif others and cardinality(emails) > 0 then
    -- also an import of which no row became a draft: it told as much as a dry run
    perform private.audit('drafts.previewed', null, jsonb_build_object('rows', cardinality(emails), 'source', input -> 'source'));
  end if;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION private.invite_manager (
  address    text,
  input      jsonb,
  invited_by text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner    constant uuid := private.partner_id();
  invitation constant uuid := gen_random_uuid();
  rate       jsonb;
begin
  if exists (select from private.manager_emails(partner) m (email) where m.email = address) then
    return false;
  end if;
  -- withdrawn ones count: their mail was sent
  if (select count(*) from core.manager_invitations i
       where i.partner_id = partner and i.email = address and i.created_at > private.now() - interval '1 day') >= 3 then
    return null;
  end if;
  rate := private.debit('partner:' || partner, 'manager_invitation');
  if not (rate ->> 'allowed')::boolean then
    return null;
  end if;
  if not private.enqueue_mail(input -> 'mail', address, 'manager_invitation:' || invitation, jsonb_build_object(
       'partner_name', (select private.partner_display_name(p) from core.partners p where p.id = partner), 'invited_by', invited_by),
       -- the operator chooses no stranger's address
       counted => case when invited_by is null then true end) then
    return null;
  end if;
  -- one link works for an address: the newest
  update core.manager_invitations i set withdrawn_at = private.now()
   where i.partner_id = partner and i.email = address and i.used_at is null and i.withdrawn_at is null;
  insert into core.manager_invitations (partner_id, id, email, token_hash, invited_by)
  values (partner, invitation, address, private.reserve_token_hash(input ->> 'token_hash'), private.manager_id());
  perform private.tell_managers('invited', address, invited_by, array[invited_by]);
  perform private.audit('partner.manager_invited', invitation);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.isolate (
  tenant_table regclass,
  privileges   text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  execute format('alter table %s enable row level security', tenant_table);
  -- not as a sub-select: inlined, it is an index condition that is evaluated once a scan, and the planner sees that
  -- joined tables share it
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = private.partner_id()) with check (partner_id = private.partner_id())', tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
  if exists (select from pg_catalog.pg_attribute a where a.attrelid = tenant_table and a.attname = 'owner_id' and not a.attisdropped) then
    perform private.keep_to_owner(tenant_table, 'owner_id');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.issue_renewal_link (
  connection uuid,
  token_hash text,
  expires_at timestamp with time zone,
  signed_by  uuid                     DEFAULT NULL::uuid
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  -- an open link of the CPO keeps working; a signature by one link voids the other
  insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, return_url, expires_at)
  select m.partner_id, connection, m.owner_id, private.reserve_token_hash(issue_renewal_link.token_hash),
         case when l.id is null then m.locale else l.locale end, l.validity_years, l.return_url, issue_renewal_link.expires_at
    from core.mandates m
    left join core.mandate_links l on l.partner_id = m.partner_id and l.id = m.link_id
   where m.partner_id = private.partner_id() and m.connection_id = connection and m.status <> 'declined' and (signed_by is null or m.link_id = signed_by)
   order by m.created_at desc limit 1
$function$;

CREATE OR REPLACE FUNCTION private.judge_quarter (
  tenant  uuid,
  quarter date,
  chosen  uuid[] DEFAULT NULL::uuid[],
  held    uuid[] DEFAULT NULL::uuid[]
)
  RETURNS SETOF private.judged_month
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  today  constant date := private.today();
  -- a sandbox settlement names accounts. In January it takes the running month: mandates begin on 1 January, so no other month exists
  over   constant date := case when chosen is not null and extract(month from today) = 1 then date_trunc('year', today) + interval '1 month' else today end;
  factor core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return query
  -- what is a connection's is looked up once for all its months of the quarter
  select c.id, c.account_id, c.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id, factor.ere_per_kwh,
         case when m.total_kwh > 0 then array_remove(array[
           case when m.total_kwh > h.kw * l.hours then 'beyond_power' end,
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           case when m.session_count > l.hours then 'too_many_sessions' end,
           case when b.repeats = 2 then 'repeated_total' end,
           case when m.session_count = 0 then 'no_sessions' end], null) else '{}' end,
         case when m.locked or c.ean_exclusive and private.ean_booked(c.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > over then 'month_not_over'
              when factor.bookable_until < today then 'year_closed'
              when s.signed is null then 'no_mandate'
              when s.mandate_id is null then 'outside_mandate'
              when g.ean_validated is not true then 'gate:ean_validated'  -- an archived connection has no gates
              when h.mid_until >= m.period::timestamp at time zone 'Europe/Amsterdam' is not true then 'gate:mid_charger_registered'
              when not g.iban_present then 'gate:iban_present'
              when c.registration_status in ('concept', 'ingediend') then 'registration_open'
              when c.registration_status = 'afgekeurd' then 'registration_rejected'
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              when m.delivery_id is null and c.ean_exclusive and private.ean_delivered(c.ean_code, m.period, c.id) then 'already_delivered' end
    from (select d.connection_id, array_agg(d) as months
            from core.delivered_months d
           where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date
             and (held is null or d.connection_id = any (held))
           group by d.connection_id) q
   cross join lateral (
     select * from core.connections c
      where c.partner_id = tenant and c.id = q.connection_id and (chosen is null or c.account_id = any (chosen)) offset 0) c
    left join lateral (select * from core.connection_gates g where g.partner_id = tenant and g.connection_id = c.id offset 0) g on true
   cross join lateral (
     -- a charger of unknown power counts as 50 kW, as for its sessions; a removed charger counts for the time it was
     -- there
     select coalesce(sum(coalesce(h.power_kw, 50)) filter (where h.status = 'active'), sum(coalesce(h.power_kw, 50))) as kw,
            max(case h.status when 'active' then 'infinity' else h.removed_at end) filter (where h.mid_eligible) as mid_until
       from core.chargers h where h.partner_id = tenant and h.connection_id = c.id) h
   cross join lateral unnest(q.months) m
    join private.months_of(quarter) l on l.period = m.period
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
    left join lateral (
      -- one that covers the month before one that does not, the newest first
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $function$;

CREATE OR REPLACE FUNCTION private.keep_to_owner (
  tenant_table regclass,
  owner_column name
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  execute format('create policy "an owner reaches only their own rows" on %1$s as restrictive to api_owner '
                 -- If the reach is null, every row equals itself. It is a sub-select, so that it is evaluated once and
                 -- not for every row; there is one, because each costs a plan. It is a case, because the planner then
                 -- expects half the rows. For a comparison it would expect one in two hundred, and join ten thousand
                 -- rows with nested loops.
                 'using (case when coalesce((select private.reach()), %2$I) is not distinct from %2$I then true else false end)',
                 tenant_table, owner_column);
end $function$;

CREATE OR REPLACE FUNCTION private.lease_documents (
  size integer
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with claimed as (
    update core.documents d set due_at = private.now() + interval '5 minutes'
     where (d.partner_id, d.id) in (
       select w.partner_id, w.id from core.documents w
        where w.pdf is null and w.due_at <= private.now()
        order by w.due_at limit size for update skip locked)
    returning d.*)
  select coalesce(json_agg(json_build_object(
           'partner_id', d.partner_id, 'id', d.id, 'kind', case when d.mandate_id is not null then 'mandate' when d.invoice_id is not null then 'invoice'
                                                                        when d.year is not null then 'overview' else 'statement' end, 'created_at', private.iso(d.created_at),
           'content', private.document_content(d)) order by d.created_at, d.id), '[]')
    from claimed d
$function$;

CREATE OR REPLACE FUNCTION private.lease_webhooks (
  size integer,
  key  text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
  head     core.event_heads;
  posts    jsonb;
  more     boolean;
  claimed  jsonb := '[]';
begin
  for endpoint in
    with leased as (
      update core.webhook_endpoints e set lease_id = gen_random_uuid(), lease_until = private.now() + interval '60 seconds'
       where (e.partner_id, e.id) in (
         select w.partner_id, w.id from core.webhook_endpoints w
          where w.status = 'enabled' and (w.lease_until is null or w.lease_until <= private.now()) and private.webhook_is_due(w)
            and private.may_be_told(w)
          order by w.lease_until nulls first limit size for update skip locked)
      returning e.*)
    -- two workers that number the same logs do so in one order
    select * from leased l order by l.partner_id, l.owner_id, l.id
  loop
    head := private.sequence_events(endpoint.partner_id, endpoint.owner_id);
    -- that of a log that begins later, where the rest is not kept any more
    endpoint.delivered_to := greatest(endpoint.delivered_to, head.swept);
    -- for a rare type a long log is looked through in parts
    more := head.sequence > endpoint.delivered_to + private.events_at_once();
    head.sequence := least(head.sequence, endpoint.delivered_to + private.events_at_once());
    -- a deleted event is not sent again; this checks only the next events, because many may wait
    delete from core.webhook_retries r
     using (select n.event_id from core.webhook_retries n
             where n.partner_id = endpoint.partner_id and n.endpoint_id = endpoint.id and n.next_attempt_at > '-infinity' and n.next_attempt_at <= private.now()
             order by n.next_attempt_at limit 50) n
     where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = n.event_id
       and not exists (select from core.events e where e.partner_id = r.partner_id and e.id = r.event_id and e.created_at > private.events_kept_since());
    posts := private.posts_of(endpoint, head, key, case when endpoint.failures >= 5 then 1 else 50 end);
    if jsonb_array_length(posts) = 0 then
      -- the events since are of other types; of what failed the next retry is yet to come
      update core.webhook_endpoints e
         set delivered_to = case when endpoint.failures < 5 then head.sequence else e.delivered_to end, lease_id = case when more then e.lease_id end,
             lease_until = case when more then e.lease_until else private.now() end, probe_at = null, failures = case when endpoint.failures >= 5 then 4 else e.failures end
       where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
    end if;
    -- without posts, where the rest of the log is for the next turn
    if more or jsonb_array_length(posts) > 0 then
      claimed := claimed || jsonb_build_object(
        'partner_id', endpoint.partner_id, 'webhook_id', endpoint.id, 'lease_id', endpoint.lease_id, 'url', endpoint.url, 'posts', posts,
        'secrets', jsonb_build_array(jsonb_build_object('ciphertext', endpoint.secret_ciphertext, 'key_id', endpoint.secret_key_id))
                   || case when endpoint.previous_until > private.now()
                           then jsonb_build_array(jsonb_build_object('ciphertext', endpoint.previous_ciphertext, 'key_id', endpoint.previous_key_id)) else '[]' end);
    end if;
  end loop;
  return claimed;
end $function$;

CREATE OR REPLACE FUNCTION private.link_state (
  link core.mandate_links
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select case
    when link.id is null then 'unknown'
    when link.used_at is not null then coalesce(
      (select case m.status when 'declined' then 'declined' else 'signed' end
         from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id), 'voided')
    -- a deactivated partner's links do not work; they work again once it is active
    when link.voided_at is not null or private.active_partner(link.partner_id) is null then 'voided'
    when link.expires_at <= private.now() then 'expired'
    else 'open' end
$function$;

CREATE OR REPLACE FUNCTION private.may_yield (
  account_partner uuid,
  account         uuid,
  spent           uuid[]
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET enable_seqscan TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return exists (
      select from core.connections c
        join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = account_partner and c.account_id = account and m.status = 'signed' and m.valid_until >= private.today())
    or exists (
      select from core.connections c
        join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
        join core.ere_factors f on f.delivery_year = extract(year from m.period)
       where c.partner_id = account_partner and c.account_id = account and m.status = 'staged' and m.total_kwh > 0
         -- no month is booked for an archived connection, for one without a charger in that month, or for one that can
         -- no longer be registered because it has no mandate
         and c.status = 'active' and c.registration_status in ('ingediend', 'goedgekeurd')
         and exists (select from core.chargers h
                      where h.partner_id = c.partner_id and h.connection_id = c.id
                        and (h.status = 'active' or h.removed_at >= m.period::timestamp at time zone 'Europe/Amsterdam'))
         and (f.bookable_until is null or f.bookable_until >= private.today()))
    or exists (
      select from core.connections c
        join core.booking_rows r on r.partner_id = c.partner_id and r.connection_id = c.id and r.live
        left join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
       where c.partner_id = account_partner and c.account_id = account
         and (k.id is null or k.ere > (select coalesce(sum(a.ere), 0) from core.allocations a
                                        where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null)
                              and r.booking_id <> all (spent)));
end $function$;

CREATE OR REPLACE FUNCTION private.posts_of (
  endpoint core.webhook_endpoints,
  head     core.event_heads,
  key      text,
  most     integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    with retry as (
      select r.event_id, r.attempts, r.next_attempt_at, e as event
        from core.webhook_retries r
        left join core.events e on e.partner_id = r.partner_id and e.id = r.event_id and e.created_at > private.events_kept_since()
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.next_attempt_at <= private.now()
       order by r.next_attempt_at limit most
    ), turn as (
      select e.id as event_id, e as event, e.sequence
        from core.events e
       where e.partner_id = endpoint.partner_id and e.owner_id = endpoint.owner_id and e.sequence > endpoint.delivered_to and e.sequence <= head.sequence
         and e.created_at > private.events_kept_since() and (endpoint.types is null or e.type = any (endpoint.types))
         and private.is_shown(e, not endpoint.pseudonymous)
       order by e.sequence limit most
    ), post as (
      select r.event_id, r.event, r.attempts + 1 as attempt, true as again, case when r.next_attempt_at = '-infinity' then 0 else 2 end as rank,
             r.next_attempt_at, null::bigint as sequence from retry r
      union all
      -- a failing receiver gets the next event of the log at every other probe: so we do not retry only an event that
      -- it cannot handle
      select t.event_id, t.event, 1, false, case when endpoint.failures >= 5 and endpoint.failures % 2 = 1 then 1 else 3 end, null, t.sequence from turn t
    )
    select coalesce(jsonb_agg(jsonb_build_object(
             'event_id', p.event_id, 'attempt', p.attempt, 'again', p.again, 'sequence', p.sequence,
             'type', coalesce((p.event).type, 'ping'),
             'body', case when (p.event).id is null then jsonb_build_object('type', 'ping', 'timestamp', private.iso(private.now()), 'data', '{}'::jsonb)
                          else jsonb_build_object('type', (p.event).type, 'timestamp', private.iso((p.event).created_at), 'sequence', (p.event).sequence,
                                                  'data', private.event_data(p.event, not endpoint.pseudonymous, key)) end) order by p.rank, p.next_attempt_at, p.sequence), '[]')
      from (select * from post p order by p.rank, p.next_attempt_at, p.sequence limit most) p);
end $function$;

CREATE OR REPLACE FUNCTION private.repeat_account (
  account uuid,
  input   jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  iban   constant jsonb := input -> 'iban';
  stored core.accounts;
begin
  if jsonb_typeof(iban) = 'object' then
    select * into stored from core.accounts a where a.partner_id = private.partner_id() and a.id = account for no key update;
    -- each encryption gives another ciphertext: only TypeScript, which has the keys, can compare the numbers
    if stored.iban_last4 = iban ->> 'last4' and input #>> '{same_iban,as}' is null then
      return private.ask('same_iban', json_build_object('partner_id', stored.partner_id, 'sent', iban,
        'stored', json_build_object('ciphertext', stored.iban_ciphertext, 'key_id', stored.iban_key_id)));
    elsif input #> '{same_iban,same}' is distinct from 'true' or input #>> '{same_iban,as}' is distinct from stored.iban_ciphertext then
      perform private.store_iban(account, iban), private.tell_of_iban(stored, iban ->> 'last4');
    end if;
  end if;
  return private.account_answer(account, true);
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_addresses (
  emails text[],
  tenant uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  -- in one order, so that two imports cannot wait for each other
  keys constant bigint[] := array(select distinct hashtextextended('core.drafts email ' || e.email, 0) from unnest(emails) as e (email) order by 1);
begin
  -- Every address takes one entry of the server's lock table, which has 3,840 entries with 60 connections
  -- (max_locks_per_transaction times max_connections). When it is full, every statement fails. So a long list waits for
  -- one of four places first; a short list does not.
  if cardinality(keys) > 50 then
    perform pg_advisory_xact_lock(hashtextextended('core.drafts long import ' || abs(hashtextextended(tenant::text, 0) % 4), 0));
  end if;
  perform pg_advisory_xact_lock(k.key) from unnest(keys) as k (key);
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_draft_id()
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$ begin return gen_random_uuid(); end $function$;

CREATE OR REPLACE FUNCTION private.reserve_ean (
  ean            text,
  for_connection uuid DEFAULT NULL::uuid
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- the test values are everybody's at once
  perform pg_advisory_xact_lock(hashtextextended('ean ' || ean, 0)) where not private.is_test_ean(ean);
  return not private.ean_taken(ean, for_connection);
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_manager (
  person  uuid,
  partner uuid,
  OUT     added boolean,
  OUT     manages uuid
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  insert into core.partner_managers (partner_id, user_id) values (partner, person)
  on conflict on constraint partner_managers_user_id_key do nothing;
  added := found;
  select m.partner_id into manages from core.partner_managers m where m.user_id = person;
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_months (
  booking core.bookings,
  chosen  uuid[],
  held    uuid[]
)
  RETURNS private.posting[]
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
  postings private.posting[];
begin
  with claimed as (
    insert into core.booking_rows
      (partner_id, booking_id, account_id, connection_id, owner_id, period, kwh, session_count, source, delivery_id, ere_per_kwh, ean_code,
       ean_exclusive, signatory, postal_code, house_number, house_number_addition, street, city, mandate_id, mandate_signed_at,
       mandate_valid_from, mandate_valid_until, fee_pct, partner_share_pct, share_partner_id, charger_brand, charger_model, charger_serial, flags)
    select booking.partner_id, booking.id, c.account_id, c.id, c.owner_id, j.period, j.kwh, j.session_count,
           case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end, j.delivery_id, j.ere_per_kwh, c.ean_code,
           c.ean_exclusive, coalesce(c.full_name, m.signed_name), c.postal_code, c.house_number, c.house_number_addition, c.street, c.city,
           m.id, m.signed_at, m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct,
           -- a person is in the house, and belongs to whoever had brought them by that month
           case when c.user_id is null then booking.partner_id when c.attached_month <= j.period then c.brought_by
                else private.brought_by_then(c.user_id, j.period) end,
           h.brands, h.models, h.serials, j.flags
      from (select j.connection_id, array_agg(j) as months
              from private.judge_quarter(booking.partner_id, booking.quarter, chosen, held) j where j.reason is null group by j.connection_id) q
     cross join lateral (
       select c.*, a.user_id, s.full_name, t.partner_id as brought_by, t.attached_month,
              l.postal_code, l.house_number, l.house_number_addition, l.street, l.city
         from core.connections c
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
         join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
         left join core.signatories s on s.partner_id = c.partner_id and s.account_id = c.account_id
         left join core.attributions t on t.user_id = a.user_id
        where c.partner_id = booking.partner_id and c.id = q.connection_id offset 0) c
     cross join lateral unnest(q.months) j
     cross join lateral (
       select string_agg(coalesce(h.brand, h.ocpp_vendor), '; ' order by h.created_at, h.id) as brands,
              string_agg(coalesce((select k.model from core.charger_models k where k.id = h.catalog_charger_id), h.ocpp_model), '; '
                         order by h.created_at, h.id) as models,
              string_agg(h.serial_number, '; ' order by h.created_at, h.id) as serials
         from core.chargers h
        where h.partner_id = booking.partner_id and h.connection_id = c.id and h.mid_eligible
          and (h.status = 'active' or h.removed_at >= j.period::timestamp at time zone 'Europe/Amsterdam')) h
     cross join lateral (select * from core.mandates m where m.partner_id = booking.partner_id and m.id = j.mandate_id offset 0) m
     order by j.ean_code, j.period  -- two tenants that claim the same EANs wait for each other in one order
    -- somebody else's booking took the EAN and month a moment ago
    on conflict do nothing
    returning id, account_id, connection_id, period, kwh
  ), locked as (
    update core.delivered_months d set status = 'submitted'
      from claimed r
     where d.partner_id = booking.partner_id and d.connection_id = r.connection_id and d.period = r.period
  )
  select array_agg(row('row:' || r.id || ':submitted', 'kWh', r.kwh, 'delivered', r.account_id, 'submitted', booking.id)::private.posting)
    into postings from claimed r;
  return postings;
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_token_hash (
  hex text
)
  RETURNS bytea
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
declare
  hash constant bytea := decode(hex, 'hex');
begin
  if length(hash) is distinct from 32 then
    raise exception 'a token is stored as its SHA-256' using errcode = 'invalid_parameter_value';
  end if;
  return hash;
end $function$;

CREATE OR REPLACE FUNCTION private.settle_attempt (
  endpoint core.webhook_endpoints,
  result   jsonb
)
  RETURNS core.webhook_endpoints
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  event     constant uuid := (result ->> 'event_id')::uuid;
  attempt   constant int := (result ->> 'attempt')::int;
  again     constant boolean := (result ->> 'again')::boolean;
  succeeded constant boolean := (result ->> 'status')::int between 200 and 299;
  retry_in  constant interval := (result ->> 'retry_after')::int * interval '1 second';
  unsigned  constant boolean := coalesce(result ->> 'error' = 'secret_unreadable', false);
  -- an event that could not be signed is retried as for a failing receiver, and does not count as an attempt
  probing   constant boolean := endpoint.failures >= 5 or unsigned;
  next      timestamptz;
begin
  if succeeded then
    endpoint.failures := 0;
    endpoint.failing_since := null;
    endpoint.last_error := null;
    endpoint.warnings := 0;
    endpoint.probe_at := null;
    if again then
      delete from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    end if;
  else
    endpoint.failures := greatest(endpoint.failures + 1, case when unsigned then 5 end);
    -- how long it was ours to mend is no time for which the receiver failed
    endpoint.failing_since := case when endpoint.last_error = 'secret_unreadable' and not unsigned then private.now()
                                   else coalesce(endpoint.failing_since, private.now()) end;
    endpoint.last_error := left(coalesce(result ->> 'error', 'http_' || (result ->> 'status')), 200);
    if endpoint.failures >= 5 then
      endpoint.probe_at := private.now() + coalesce(retry_in, private.probe_delay(endpoint.failures));
    end if;
    if result ->> 'type' = 'ping' then
      delete from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif again and probing then
      -- it was the receiver that was tried: the event has its attempts still before it, and the next probe is of another
      next := endpoint.probe_at;
      update core.webhook_retries r set next_attempt_at = private.now()
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif again then
      next := private.now() + coalesce(case when attempt < 10 then retry_in end, private.webhook_delay(attempt));
      update core.webhook_retries r set attempts = attempt, next_attempt_at = next
       where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = event;
    elsif endpoint.failures < 5 and (result ->> 'status')::int is distinct from 410 then
      next := private.now() + coalesce(retry_in, private.webhook_delay(attempt));
      insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts, next_attempt_at)
      values (endpoint.partner_id, endpoint.id, event, attempt, next)
      on conflict on constraint webhook_retries_pkey do nothing;
    else
      next := endpoint.probe_at;
    end if;
  end if;
  -- of what keeps failing the cursor stands still
  if not again and (succeeded or endpoint.failures < 5) and (result ->> 'status')::int is distinct from 410 then
    endpoint.delivered_to := greatest(endpoint.delivered_to, (result ->> 'sequence')::bigint);
  end if;
  insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, status, ms, error, next_attempt_at)
  values (endpoint.partner_id, endpoint.id, event, result ->> 'type', attempt, (result ->> 'at')::timestamptz, (result ->> 'status')::int,
          (result ->> 'ms')::int, left(result ->> 'error', 200), next);
  return endpoint;
end $function$;

CREATE OR REPLACE FUNCTION private.settle_rows (
  rows      jsonb,
  tenant    uuid,
  key       text,
  remaining bigint,
  others    boolean
)
  RETURNS SETOF private.settled_row
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return query
  with sent as materialized (
    select r as row, r.* from jsonb_populate_recordset(null::private.draft_row, rows) r
  ), known as (
    select * from private.known_addresses(array(select distinct s.email from sent s where s.reason is null), tenant, key, others)
  ), judged as materialized (
    select s.row, s.place, s.email,
           coalesce(s.reason, k.reason, case when s.charger is not null then private.judge_charger(s.charger, others) end) as verdict
      from sent s left join known k on s.reason is null and k.email = s.email
  ), first as (
    select j.email, min(j.place) as place from judged j where j.verdict is null group by j.email
  ), fitting as (
    select f.email, f.place, row_number() over (order by f.place) as rank from first f
  )
  select private.reserve_draft_id(), j.row,
         coalesce(j.verdict, case when f.rank > remaining then 'over_cap' when f.place <> j.place then 'already_drafted' end)
    from judged j left join fitting f on j.verdict is null and f.email = j.email;
end $function$;

CREATE OR REPLACE FUNCTION private.signed_accounts (
  address text
)
  RETURNS SETOF core.accounts
  LANGUAGE plpgsql
  STABLE
  ROWS 1
  SET search_path TO ''
  AS $function$
begin
  return query
    select a.*
      from core.partners p
      -- nobody has more accounts, except a CPO that gave its own address for all customers. The limit bounds the cost
      -- of a look-up, per partner: so a CPO that gives the address of another CPO's customer displaces nothing
      cross join lateral (select s.account_id from core.signatories s where s.email = address and s.partner_id = p.id limit 1000) s
      join core.accounts a on a.partner_id = p.id and a.id = s.account_id
      join core.oauth_clients k on k.id = a.client_id and k.disabled_at is null
     where p.is_active and exists (select from core.oauth_clients k where k.partner_id = p.id) and exists (select from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                    where c.partner_id = a.partner_id and c.account_id = a.id and m.document is not null)
     order by a.created_at desc, a.id
     limit 100;
end $function$;

CREATE OR REPLACE FUNCTION private.store_partner_key (
  key    jsonb,
  rotate boolean
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  minted core.partner_keys;
begin
  -- a form that is sent twice mints the same key
  select * into minted from core.partner_keys k
   where k.partner_id = private.partner_id() and k.key_hash = decode(key ->> 'key_hash', 'hex') and k.revoked_at is null;
  if found then
    return private.key_json(minted);
  end if;
  if rotate then
    update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
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
end $function$;

CREATE OR REPLACE FUNCTION private.submit_booking (
  tenant     uuid,
  booking_id uuid,
  chosen     uuid[] DEFAULT NULL::uuid[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking  constant core.bookings := private.lock_booking(tenant, booking_id);
  held     uuid[];
  postings private.posting[];
begin
  if booking.status <> 'open' then
    return null;
  end if;
  -- the factor by which the months are taken in does not change meanwhile, nor afterwards
  perform from core.ere_factors f where f.delivery_year = extract(year from booking.quarter) for share;
  held := array(
    select distinct d.connection_id
      from core.delivered_months d
      join core.connections c on c.partner_id = d.partner_id and c.id = d.connection_id
     where d.partner_id = tenant and d.period >= booking.quarter and d.period < (booking.quarter + interval '3 months')::date and not d.locked
       and (chosen is null or c.account_id = any (chosen)));
  perform private.lock_connections(tenant, held);
  -- of a connection whose first month came since, nothing is locked: its months are for the next booking
  postings := private.reserve_months(booking, chosen, held);
  if postings is null then
    return 0;
  end if;
  perform private.post(tenant, postings);
  update core.bookings b set status = 'submitted', submitted_at = private.now() where b.partner_id = tenant and b.id = booking.id;
  perform private.sum_booking(tenant, booking.id);
  perform private.audit('booking.submitted', booking.id, jsonb_build_object('rows', cardinality(postings)));
  perform private.emit_months(tenant, 'account.months_locked', array(select r.id from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id));
  return cardinality(postings);
end $function$;

CREATE OR REPLACE FUNCTION private.sweep_events()
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  log   record;
  head  core.event_heads;
  swept bigint := 0;
begin
  for log in
    select l.partner_id, l.owner_id from (
      (select e.partner_id, e.owner_id from core.events e where e.created_at <= private.events_kept_since() order by e.created_at limit private.events_at_once())
      union
      -- what nobody has read: numbered bit by bit, before it is much for one reader
      (select e.partner_id, e.owner_id from core.events e
        where e.sequence is null and e.created_at <= private.now() - interval '1 hour' limit private.events_at_once())) l
     order by l.partner_id, l.owner_id
  loop
    -- only where there is none: to find that there is one, an insert waits for who changes it
    if not exists (select from core.event_heads h where h.partner_id = log.partner_id and h.owner_id = log.owner_id) then
      insert into core.event_heads (partner_id, owner_id) values (log.partner_id, log.owner_id) on conflict on constraint event_heads_pkey do nothing;
    end if;
    -- A run of jobs keeps its locks until all jobs are done. So it locks heads in the same order as
    -- private.lease_webhooks, and leaves a locked head to the next run. It waits only for a transaction that is
    -- inserting the same head.
    select * into head from core.event_heads h where h.partner_id = log.partner_id and h.owner_id = log.owner_id for update skip locked;
    continue when not found;
    perform private.sequence_events(log.partner_id, log.owner_id);
    swept := swept + private.sweep_log(head, private.events_at_once() - swept);
  end loop;
  return swept;
end $function$;

CREATE OR REPLACE FUNCTION private.verify_rest (
  chain core.audit_chains
)
  RETURNS private.audit_fault
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  last  core.audit_links;
  found private.audit_fault;
begin
  select * into last from core.audit_links l where l.partner_id = chain.partner_id and l.log = chain.log order by l.position desc limit 1;
  if (chain.position, chain.hash) is distinct from (coalesce(last.position, chain.checkpoint_position), coalesce(last.hash, chain.checkpoint_hash)) then
    found.fault := 'cut_off';
    found.position := coalesce(last.position, chain.checkpoint_position) + 1;
    return found;
  end if;
  -- a row below the settled end was not written by the service; a later row waits for the job, for ten minutes at most
  select case when v.row_id <= chain.settled_id then 'inserted' else 'not_chained' end, null, v.row_id, v.at, v.what into found
    from core.audit_content v
   where v.partner_id = chain.partner_id and v.log = chain.log
     and (v.row_id <= chain.settled_id or v.at < private.now() - interval '10 minutes')
     and (select l.position from core.audit_links l where l.partner_id = v.partner_id and l.log = chain.log and l.row_id = v.row_id) is null
   order by v.row_id limit 1;
  return found;
end $function$;

COMMENT ON FUNCTION "private"."lease_documents"(integer) IS 'Definer, because it leases documents of every tenant.';

COMMENT ON FUNCTION "private"."lease_webhooks"(integer, text) IS 'Leases endpoints with something to send, for a minute each, with at most fifty events, or one while it fails. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."reserve_addresses"(text[], uuid) IS 'Until the transaction ends no other import, of any partner, judges these addresses. It waits, and then sees the draft that was made. Called after private.lock_imports.';

COMMENT ON FUNCTION "private"."reserve_draft_id"() IS 'The id of a new draft. A claim link knows only this id, before the tenant is known. It is random, so no other draft has it.';

COMMENT ON FUNCTION "private"."reserve_ean"(text, uuid) IS 'Whether an EAN is free for this connection, or for a new one. Reserves it until the transaction ends: other callers wait. Call this before storing the EAN of an active connection.';

COMMENT ON FUNCTION "private"."reserve_manager"(uuid, uuid) IS 'Lets a person manage a partner unless they manage one already. Returns whether it did, and which one they manage. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."reserve_months"(core.bookings, uuid[], uuid[]) IS 'Adds the bookable months of these locked connections to a booking, with the facts of now, and locks the months. Returns the postings. Only this function relies on the index over EAN and month of all tenants.';

COMMENT ON FUNCTION "private"."reserve_token_hash"(text) IS 'How a new token is stored: its SHA-256, from hexadecimal. It is looked up before the tenant is known. Its 256 random bits make it unique.';

REVOKE ALL ON FUNCTION "private"."lease_documents"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lease_documents"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."lease_documents"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."lease_documents"(integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."lease_webhooks"(integer, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lease_webhooks"(integer, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."lease_webhooks"(integer, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."lease_webhooks"(integer, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reserve_addresses"(text[], uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_addresses"(text[], uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_addresses"(text[], uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reserve_addresses"(text[], uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reserve_draft_id"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_draft_id"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_draft_id"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reserve_draft_id"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."reserve_ean"(text, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_ean"(text, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_ean"(text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reserve_ean"(text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reserve_manager"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_manager"(uuid, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_manager"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reserve_manager"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reserve_months"(core.bookings, uuid[], uuid[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_months"(core.bookings, uuid[], uuid[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_months"(core.bookings, uuid[], uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reserve_months"(core.bookings, uuid[], uuid[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."reserve_token_hash"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_token_hash"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_token_hash"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."reserve_token_hash"(text) TO "postgres";

ALTER TABLE "core"."drafts"
  ALTER COLUMN "id" SET DEFAULT private.reserve_draft_id();

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "api"."claim_mail"(jsonb, jsonb);

DROP FUNCTION "private"."as_format"(text, text[]);

DROP FUNCTION "private"."claim_mail"(integer);

DROP FUNCTION "private"."enqueue_mail"(jsonb, text, text, jsonb, boolean, uuid, boolean);

DROP FUNCTION "private"."head_of"(jsonb);

DROP FUNCTION "private"."leave_partner"(uuid, jsonb);

DROP FUNCTION "private"."letter_fields"(core.drafts, jsonb, jsonb);

DROP FUNCTION "private"."mail_row"(core.mail_outbox, text);

DROP FUNCTION "private"."mark_names"(text);

DROP FUNCTION "private"."mark_values"(text[], jsonb);

DROP FUNCTION "private"."escape_html"(text);

DROP FUNCTION "private"."masked"(text);

DROP FUNCTION "private"."remind_drafts"(jsonb, jsonb, integer);

DROP FUNCTION "private"."settle_webhook"(jsonb, jsonb);

DROP FUNCTION "private"."tell_managers"(jsonb, text, text, text[], text[]);

DROP FUNCTION "private"."warn_of_webhook"(core.webhook_endpoints, text, jsonb);

-- What was sent or dropped has no text any more. What waits, failed or was captured keeps the text it has.
ALTER TABLE "core"."mail_outbox"
  ADD COLUMN "content" jsonb NOT NULL DEFAULT '{}';

update core.mail_outbox m
   set content = jsonb_build_object('subject', m.subject, 'html', m.html, 'text', m.text, 'links', m.links,
                                    'reply_to', m.reply_to, 'unsubscribe_url', m.unsubscribe_url)
 where m.html <> '';

ALTER TABLE "core"."mail_outbox"
  ALTER COLUMN "content" DROP DEFAULT,
  DROP COLUMN "subject",
  DROP COLUMN "html",
  DROP COLUMN "text",
  DROP COLUMN "links",
  DROP COLUMN "reply_to",
  DROP COLUMN "unsubscribe_url";

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
    perform private.tell_managers('joined', invitation.email, null, array[invitation.email]);
  end if;
  return json_build_object('email', invitation.email, 'accepted', claimed.manages = invitation.partner_id);
end $function$;

CREATE OR REPLACE FUNCTION api.close_own_account (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person     uuid;
  ending     json;
  connection uuid;
  brand      jsonb;
begin
  perform private.act_as(caller, 'session');
  person := private.user_id();
  perform private.require_recent_sign_in();
  ending := private.own_end();
  if (ending ->> 'balance_eur')::numeric > 0 and (ending ->> 'iban_missing')::boolean then
    return json_build_object('closed', false);
  end if;
  perform from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
   where a.user_id = person and c.status = 'active' order by c.id for update of c;
  for connection in
    select c.connection_id from core.connection_mandates c
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
     where a.user_id = person and c.status = 'active' and c.mandate_status = 'signed' order by c.connection_id
  loop
    perform private.end_mandate(connection, 'revoked', 'customer');
  end loop;
  update core.chargers h set status = 'removed', removed_at = private.now() where h.partner_id = private.partner_id() and h.user_id = person and h.status = 'active';
  brand := private.own_brand();
  if brand is not null then
    perform private.stop_sharing(person, (brand ->> 'partner_id')::uuid);
  end if;
  perform private.audit('user.account_closed', person);
  perform private.leave_partner(person, coalesce(input ->> 'operator', input #>> '{mails,operator}'));
  perform private.close_login(person);
  return json_build_object('closed', true);
end $function$;

CREATE OR REPLACE FUNCTION api.invite_draft_again (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  links   constant jsonb := input -> 'links';
  draft   core.drafts;
  mailing jsonb;
  dropped bigint;
begin
  perform private.act_as(caller, 'partner');
  -- of two clicks the second finds the mail of the first
  perform from core.drafts d where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid for no key update;
  draft := private.own_partners_draft((input ->> 'draft_id')::uuid);
  mailing := private.draft_mailing(draft, links ->> 'key');
  if mailing ->> 'state' = 'may' then
    dropped := private.enqueue_mails(jsonb_build_object('template', 'claim', 'locale', coalesce(draft.locale, (private.own_partner()).locale, 'nl'), 'key', links -> 'key'), jsonb_build_array(jsonb_build_object(
      'recipient', draft.email, 'cause', 'claim_resent:' || draft.id || ':' || (mailing ->> 'by_hand')::int + 1,
      'content', private.letter_content(draft, private.partner_brand(private.own_partner()), links))));
    -- another partner may have been faster
    if dropped > 0 then
      return json_build_object('state', 'mail_limit');
    end if;
    update core.drafts d set invited_at = coalesce(d.invited_at, private.now()) where d.partner_id = draft.partner_id and d.id = draft.id;
    perform private.audit('draft.invited_again', draft.id);
  end if;
  return json_build_object('state', mailing ->> 'state');
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
  if input ->> 'return_url' is not null and not private.return_url_allowed(input ->> 'return_url', registered) then
    perform private.refuse('return_url_not_allowed');
  end if;
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  -- one link, signature or correction at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  select m.mandate_status into status
    from core.connection_mandates m where m.partner_id = private.partner_id() and m.connection_id = connection;
  if not private.can_sign(connection) then
    perform private.refuse('mandate_already_signed');
  end if;
  select * into signatory from core.signatories s where s.partner_id = private.partner_id() and s.account_id = account;
  if send_email and signatory.email is null then
    perform private.refuse('signatory_email_missing');
  end if;

  perform private.void_mandate_links(connection);
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, private.claim_token_hash(input ->> 'token_hash'), input ->> 'locale', coalesce((input ->> 'validity_years')::int, partner.mandate_years),
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

CREATE OR REPLACE FUNCTION api.lease_mail (
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
  return private.lease_mail((batch ->> 'size')::int);
end $function$;

ALTER FUNCTION "api"."lease_mail"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.list_captured_mail (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  return (
    select json_build_object('mail', coalesce(json_agg(json_build_object(
        'id', m.id, 'captured_at', private.iso(m.created_at), 'to', m.recipient, 'from', query ->> 'from',
        'template', m.template, 'locale', m.locale, 'content', m.content) order by m.created_at desc, m.id desc), '[]'))
      from private.captured_mail(private.partner_id(), query ->> 'to', (query ->> 'limit')::int) m);
end $function$;

CREATE OR REPLACE FUNCTION api.remove_manager (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  person  constant uuid := private.as_uuid(input ->> 'user_id');
  own     text;
  theirs  text;
  removed boolean;
begin
  -- one at a time, and only by who manages the partner still: of two who remove each other the second is too late
  perform private.act_as(caller, 'partner'), private.act_as_manager(), private.require_recent_sign_in();
  delete from core.partner_managers m
   where m.partner_id = private.partner_id() and m.user_id = person
     and exists (select from core.partner_managers o where o.partner_id = m.partner_id and o.user_id <> m.user_id);
  removed := found;
  if removed then
    own := (private.user_profile(private.manager_id())).email;
    theirs := (private.user_profile(person)).email;
    perform private.audit('partner.manager_removed', person);
    perform private.tell_managers(case when own = theirs then 'left' else 'removed' end, theirs, own, array[own], array[theirs]);
  end if;
  return json_build_object('removed', removed);
end $function$;

CREATE OR REPLACE FUNCTION api.run_draft_jobs (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  ended record;
begin
  perform private.act_as(caller, 'worker');
  select * into ended from private.expire_drafts();
  return json_build_object('expired', ended.expired, 'purged', ended.purged,
                           'reminded', private.remind_drafts(input -> 'links', (input ->> 'size')::int));
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
  if not private.enqueue_mail(request -> 'mail', recipient, 'mandate_code:' || link.id || ':' || (request ->> 'code_hash'),
                              jsonb_build_object('logo', private.partner_brand(private.own_partner()) -> 'logo'), connection => link.connection_id) then
    return private.refusal('too_many_codes', json_build_object('rate', private.mail_rate()));
  end if;
  perform private.keep_code('mandate:' || link.id, recipient, request ->> 'code_hash');
  return json_build_object('ok', true);
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
  -- encrypted anew it is another ciphertext: whether it is another number is known to who has the keys
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

CREATE OR REPLACE FUNCTION api.settle_webhook (
  caller  jsonb,
  settled jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object('settled', private.settle_webhook(settled, settled ->> 'operator'));
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
  perform private.record_signature(link.connection_id, link.id, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id,
                                 jsonb_build_object('logo', private.partner_brand(private.own_partner()) -> 'logo'));
  end if;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.withdraw_signed_mandate (
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
  partner core.partners;
  used    record;
begin
  select * into entered from private.enter_signed_mandate(caller, request);
  select * into used from private.redeem_sign_in_code(request, 'account');
  if used.refused is not null then
    return private.refusal(used.refused);  -- a wrong code was counted
  elsif used.email is distinct from entered.address then
    perform private.refuse('account_not_found');
  end if;
  perform private.end_mandate((request ->> 'connection_id')::uuid, 'revoked', 'customer');
  partner := private.own_partner();
  perform private.enqueue_mails(jsonb_build_object('template', 'customer_withdrew', 'locale', coalesce(partner.locale, 'nl')), letters)
     from (select jsonb_agg(jsonb_build_object('recipient', m.email, 'cause', 'customer_withdrew:' || gen_random_uuid(), 'content', jsonb_build_object(
                    'partner_name', private.partner_display_name(partner),
                    'reference', coalesce((entered.account).cpo_external_ref, (entered.account).id::text)))) as letters
             from private.manager_emails(partner.id) m (email)) l
    where l.letters is not null;
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION ops.mail_list (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('mails', coalesce(json_agg(private.mail_row(m) order by m.created_at desc, m.id desc), '[]'))
    from private.newest_mails(input, coalesce((input ->> 'limit')::int, 20)) m
$function$;

CREATE OR REPLACE FUNCTION ops.mail_resend (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  mail    core.mail_outbox;
  partner core.partners;
begin
  perform private.act_as_operator(input);
  select * into mail from core.mail_outbox m
   where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id') and m.status <> 'nobody' for update;
  if mail.id is null then
    perform private.refuse('mail_not_found', json_build_object('mail', input ->> 'id'));
  elsif mail.status = 'sent' then
    perform private.refuse('mail_sent', json_build_object('mail', mail.id));
  elsif mail.status = 'captured' then
    perform private.refuse('mail_captured', json_build_object('mail', mail.id));
  elsif mail.status = 'dropped' then
    perform private.refuse('mail_dropped', json_build_object('mail', mail.id));
  end if;
  select * into partner from core.partners p where p.id = mail.partner_id;
  perform private.act_for_partner(mail.partner_id);
  if mail.template in ('claim', 'reminder', 'sign_in', 'mandate_link') and not partner.is_active then
    perform private.refuse('mail_of_inactive_partner', json_build_object('mail', mail.id, 'partner', partner.slug));
  elsif private.wants_no_mail(mail) then
    perform private.refuse('mail_unwanted', json_build_object('mail', mail.id));
  elsif private.still_opens(mail) is not true then
    perform private.refuse('mail_outdated', json_build_object('mail', mail.id));
  elsif mail.status = 'queued' and mail.next_attempt_at <= private.now() + interval '5 minutes' then
    -- it goes by itself, or a worker has it in hand, which claims it for five minutes: it must not be sent twice
    return json_build_object('changed', false, 'mail', private.mail_row(mail));
  end if;
  update core.mail_outbox m set status = 'queued', attempts = 0, next_attempt_at = private.now(), done_at = null
   where m.partner_id = mail.partner_id and m.id = mail.id
  returning * into mail;
  perform private.act_for_partner(mail.partner_id), private.audit('mail.resent', mail.id);
  return json_build_object('changed', true, 'mail', private.mail_row(mail));
end $function$;

CREATE OR REPLACE FUNCTION ops.mail_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  mail core.mail_outbox;
begin
  perform private.act_as_operator(input);
  if input ->> 'id' is null then
    select * into mail from private.newest_mails(input, 1);
  else
    -- the key begins with the tenant; naming every tenant lets it serve
    select * into mail from core.mail_outbox m
     where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id');
  end if;
  if mail.id is null then
    perform private.refuse('mail_not_found');
  end if;
  -- a mail may hold a code or a link that lets its reader act as the recipient
  perform private.act_for_partner(mail.partner_id), private.audit('mail.shown', mail.id);
  return json_build_object('mail', private.mail_row(mail), 'locale', mail.locale, 'content', mail.content);
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
  partner core.partners;
  person  uuid;
  claimed record;
begin
  perform private.act_as_operator(input);
  partner := private.business_named(input ->> 'partner');
  select u.id into person from auth.users u where u.email = lower(input ->> 'user');
  if not found then
    perform private.refuse('user_not_found', json_build_object('user', input ->> 'user'));
  elsif not exists (select from auth.users u where u.id = person and private.login_proved(u, partner.id)) then
    perform private.refuse('login_not_proved', json_build_object('user', input ->> 'user'));
  end if;
  select * into claimed from private.claim_manager(person, partner.id);
  if claimed.manages <> partner.id then
    perform private.refuse('manages_another_partner', json_build_object('user', input ->> 'user'));
  end if;
  if claimed.added then
    perform private.audit('partner.manager_added', person);
    perform private.tell_managers('joined', lower(input ->> 'user'), null, array[lower(input ->> 'user')]);
  end if;
  return json_build_object('changed', claimed.added, 'manager', json_build_object('user_id', person, 'partner_id', partner.id, 'partner_slug', partner.slug));
end $function$;

CREATE OR REPLACE FUNCTION private.enqueue_mail (
  mail       jsonb,
  recipient  text,
  cause      text,
  content    jsonb   DEFAULT '{}'::jsonb,
  to_nobody  boolean DEFAULT false,
  connection uuid    DEFAULT NULL::uuid,
  counted    boolean DEFAULT NULL::boolean
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return private.enqueue_mails(mail, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('connection', connection, 'counted', counted))
    || jsonb_build_object('recipient', recipient, 'cause', cause, 'to_nobody', to_nobody, 'content', content))) = 0;
end $function$;

CREATE OR REPLACE FUNCTION private.enqueue_mails (
  mail    jsonb,
  letters jsonb
)
  RETURNS bigint
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  about    constant jsonb   := coalesce(mail -> 'content', mail - '{template,locale,key}'::text[]);
  captured constant boolean := private.is_sandbox();
  kind     constant text    := private.counted_kind(letters #>> '{0,cause}');
  fits     bigint[];
begin
  if kind is not null and letters #> '{0,counted}' is null then
    fits := array(select private.mails_that_fit(kind, array(select l.letter ->> 'recipient' from jsonb_array_elements(letters) with ordinality as l (letter, place) order by l.place),
                                                mail ->> 'key', (letters #>> '{0,connection}')::uuid));
  end if;
  insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status, done_at)
  select private.partner_id(), case when d.dropped then l.cause || ':dropped:' || gen_random_uuid() else l.cause end,
         mail ->> 'template', mail ->> 'locale', l.recipient,
         case when d.dropped then '{}' else about || l.content end,
         case when l.to_nobody then 'nobody' when d.dropped then 'dropped' when captured then 'captured' else 'queued' end,
         case when l.to_nobody or d.dropped or captured then private.now() end
    from rows from (jsonb_to_recordset(letters) as (recipient text, cause text, content jsonb, to_nobody boolean, counted boolean))
         with ordinality as l (recipient, cause, content, to_nobody, counted, place)
    cross join lateral (select not coalesce(l.counted, l.place = any (fits), true) as dropped offset 0) as d
  on conflict on constraint mail_outbox_cause_key do nothing;
  if found and not captured then
    perform private.kick();
  end if;
  return (select count(*) from rows from (jsonb_to_recordset(letters) as (counted boolean)) with ordinality as l (counted, place) where not coalesce(l.counted, l.place = any (fits), true));
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
    perform private.claim_addresses(array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r where r ->> 'reason' is null), tenant);
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
                                             'content', jsonb_build_object('message', input -> 'message')), letters);
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
  values (partner, invitation, address, private.claim_token_hash(input ->> 'token_hash'), private.manager_id());
  perform private.tell_managers('invited', address, invited_by, array[invited_by]);
  perform private.audit('partner.manager_invited', invitation);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.lease_mail (
  size integer
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with leased as (
    update core.mail_outbox m
       set attempts = m.attempts + 1, next_attempt_at = private.now() + interval '5 minutes'
     where (m.partner_id, m.id) in (
       select q.partner_id, q.id from core.mail_outbox q
        where q.status = 'queued' and q.next_attempt_at <= private.now()
          -- what a deactivated partner invites to opens nothing, and waits until it is active again; what was signed stays told
          and (q.template not in ('claim', 'reminder', 'sign_in', 'mandate_link', 'manager_invitation')
               or q.partner_id in (select p.id from core.partners p where p.is_active))
        order by q.next_attempt_at limit size for update skip locked)
    returning m.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'id', id, 'recipient', recipient,
                                             'template', template, 'locale', locale, 'content', content) order by created_at), '[]')
    from leased
$function$;

CREATE OR REPLACE FUNCTION private.leave_partner (
  person   uuid,
  operator text
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  tenant constant uuid := private.partner_id();
  email  constant text := (private.user_profile(person)).email;
  left_partner uuid;
begin
  -- as a colleague who removes somebody: one at a time
  select p.id into left_partner from core.partners p join core.partner_managers m on m.partner_id = p.id where m.user_id = person for no key update of p;
  delete from core.partner_managers m where m.user_id = person and m.partner_id = left_partner;
  if not found then
    return;
  end if;
  perform private.act_for_partner(left_partner), private.tell_managers('left', email, null, array[email]);
  if not exists (select from core.partner_managers m where m.partner_id = left_partner) then
    perform private.enqueue_mail('{"template": "managers_changed", "locale": "nl"}', operator, 'managers_changed:' || gen_random_uuid(), jsonb_build_object(
      'change', 'alone', 'partner_name', private.partner_display_name(private.own_partner()), 'person', email));
  end if;
  perform private.audit('partner.manager_removed', person);
  perform private.act_for_partner(tenant);
end $function$;

CREATE OR REPLACE FUNCTION private.letter_content (
  draft core.drafts,
  brand jsonb,
  links jsonb
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
RETURN
  jsonb_build_object('full_name', COALESCE((draft).contact_name, (draft).name, (draft).company_name), 'brand', brand, 'claim_url', private.claim_url((draft).id, links),
  'unsubscribe_url', private.unsubscribe_url((draft).email, links));

CREATE OR REPLACE FUNCTION private.mail_row (
  mail core.mail_outbox
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'id', mail.id,
    'partner_slug', (select p.slug from core.partners p where p.id = mail.partner_id),
    'created_at', private.iso(mail.created_at),
    'status', mail.status,
    'recipient', mail.recipient,
    'template', mail.template,
    'attempts', mail.attempts,
    'last_error', mail.last_error,
    'done_at', private.iso(mail.done_at))
$function$;

CREATE OR REPLACE FUNCTION private.remind_drafts (
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
             'counted', w.n in (select f.n from fits f), 'content', private.letter_content(w.draft, private.partner_brand(p), links))) as letters
      from wanted w join core.partners p on p.id = (w.draft).partner_id
     group by p.id, 2
  loop
    perform private.act_for_partner(post.partner_id), private.enqueue_mails(jsonb_build_object('template', 'reminder', 'locale', post.locale), post.letters);
    reminded := reminded + jsonb_array_length(post.letters);
  end loop;
  return reminded;
end $function$;

CREATE OR REPLACE FUNCTION private.settle_mail (
  tenant    uuid,
  mail      uuid,
  failure   text,
  permanent boolean
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  update core.mail_outbox m
     set status = case when failure is null then 'sent' when permanent or m.attempts >= 12 then 'failed' else 'queued' end,
         done_at = case when failure is null or permanent or m.attempts >= 12 then private.now() end,
         last_error = left(failure, 200),
         -- 1, 2, 4 … 256 minutes: a mail server may be down for most of a day
         next_attempt_at = private.now() + make_interval(mins => (2 ^ least(m.attempts - 1, 8))::int),
         content = case when failure is null then '{}' else m.content end
   where m.partner_id = tenant and m.id = mail and m.status = 'queued'
$function$;

CREATE OR REPLACE FUNCTION private.settle_webhook (
  settled  jsonb,
  operator text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
  result   jsonb;
  gone     boolean := false;
begin
  select * into endpoint from core.webhook_endpoints e
   where e.partner_id = (settled ->> 'partner_id')::uuid and e.id = (settled ->> 'webhook_id')::uuid for update;
  -- revoked or moved meanwhile, or another worker has it by now: what was sent is sent once more
  if not found or endpoint.lease_id is distinct from (settled ->> 'lease_id')::uuid then
    return false;
  end if;
  for result in select r from jsonb_array_elements(settled -> 'results') r loop
    endpoint := private.settle_attempt(endpoint, result);
    gone := gone or (result ->> 'status')::int = 410;
  end loop;
  update core.webhook_endpoints e
     set failures = endpoint.failures, failing_since = endpoint.failing_since, last_error = endpoint.last_error, probe_at = endpoint.probe_at, delivered_to = endpoint.delivered_to,
         warnings = case when endpoint.failing_since <= private.now() - interval '96 hours' then 2
                         when endpoint.failing_since <= private.now() - interval '24 hours' then 1 else 0 end,
         -- who had a turn just now comes after all who wait
         lease_id = null, lease_until = private.now()
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
  -- a secret that does not open is for the operator, whom the figures tell
  if endpoint.status = 'disabled' or endpoint.last_error = 'secret_unreadable' then
    return true;
  elsif gone or endpoint.failing_since <= private.now() - interval '5 days' then
    perform private.act_for_partner(endpoint.partner_id), private.disable_webhook(endpoint, case when gone then 'gone' else 'failing' end);
    perform private.warn_of_webhook(endpoint, 'disabled', operator);
  elsif endpoint.failing_since <= private.now() - interval '96 hours' and endpoint.warnings < 2
     or endpoint.failing_since <= private.now() - interval '24 hours' and endpoint.warnings < 1 then
    perform private.warn_of_webhook(endpoint, 'failing', operator);
  end if;
  return true;
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
      select from jsonb_array_elements_text(coalesce(mail.content -> 'links', jsonb_build_array(mail.content #>> '{reader,link}'))) as l (url)
       cross join lateral private.link_by_token(encode(sha256(convert_to(regexp_replace(l.url, '^.*/', ''), 'UTF8')), 'hex')) as k
       where private.link_state(k) not in ('unknown', 'open'));
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.tell_managers (
  change text,
  person text,
  by     text,
  but    text[],
  others text[] DEFAULT '{}'::text[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.own_partner();
  letters constant jsonb := (
    select jsonb_agg(jsonb_build_object('recipient', t.email, 'cause', 'managers_changed:' || gen_random_uuid(), 'content', jsonb_build_object(
             'change', change, 'partner_name', private.partner_display_name(partner), 'person', person, 'by', by)))
      from (select m.email from private.manager_emails(partner.id) m (email) union select unnest(others)) t
     where t.email <> all (array_remove(but, null)));
begin
  if letters is not null then
    perform private.enqueue_mails(jsonb_build_object('template', 'managers_changed', 'locale', coalesce(partner.locale, 'nl')), letters);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.wants_no_mail (
  mail core.mail_outbox
)
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(private.is_suppressed(decode((regexp_match(mail.content ->> 'unsubscribe_url', '/([0-9a-f]{64})-[^/]*$'))[1], 'hex')), false)
$function$;

CREATE OR REPLACE FUNCTION private.warn_of_webhook (
  endpoint core.webhook_endpoints,
  warning  text,
  operator text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- who owns an endpoint decides what it answers, and may enable it again and again
  if not private.is_sandbox() and not exists (select from private.take_mails(array['webhooks:' || endpoint.owner_id], 'webhook', 'mail_kind', 'mail_kind')) then
    return;
  end if;
  perform private.act_for_partner(endpoint.partner_id);
  perform private.enqueue_mails(jsonb_build_object('template', 'webhook_' || warning, 'locale', 'nl'), (
    select jsonb_agg(jsonb_build_object(
             'recipient', t.email, 'cause', 'webhook_' || warning || ':' || endpoint.id || ':' || private.iso(endpoint.failing_since) || ':' || endpoint.warnings || ':' || t.email,
             'content', jsonb_build_object('partner_name', p.name, 'url', endpoint.url, 'since', private.iso(endpoint.failing_since))))
      from core.partners p
      cross join lateral (select m.email from private.manager_emails(p.id) m (email) union select operator) t
     where p.id = endpoint.partner_id and t.email is not null));
end $function$;

COMMENT ON COLUMN "core"."mail_outbox"."content" IS 'What the mail is about. packages/shared/src/domain/mail writes its text, by template and locale; a mail of 0.9.0 has its text here. unsubscribe_url also becomes the header List-Unsubscribe (RFC 8058), reply_to the header Reply-To.';

COMMENT ON COLUMN "core"."mail_outbox"."status" IS 'nobody: written for an address that has no login, as long as it takes to look like one that has; never sent, deleted by the next run of jobs. dropped: the address had reached its limit of the day. Never sent; its content is not stored.';

COMMENT ON FUNCTION "api"."accept_invitation"(jsonb, jsonb) IS 'Who proves the invited address by its code manages the partner, and the others are told: {token_hash, code_hash, key} to {email, accepted}. Not accepted where they manage another partner, which they may leave and come back. Asks for a login where the address has none.';

COMMENT ON FUNCTION "api"."close_own_account"(jsonb, jsonb) IS 'A person ends their account, {operator} as private.leave_partner takes it: mandates end, chargers and everything that lets somebody in goes, and what they are owed is paid without a minimum. Answers {closed}, false where there is money and nowhere to pay it. Refused with recent_sign_in_required a quarter of an hour after signing in. What shows how kWh became money is kept as docs/retention.md says.';

COMMENT ON FUNCTION "api"."invite_draft_again"(jsonb, jsonb) IS 'Mails the customer of a draft their invitation once more: {draft_id, links} to {state} of private.draft_mailing, "may" where it was sent. Refused with draft_not_found.';

COMMENT ON FUNCTION "api"."invite_manager"(jsonb, jsonb) IS 'A manager invites a colleague: {email, token_hash, mail} to {invited} as private.invite_manager says it.';

COMMENT ON FUNCTION "api"."issue_auth_link"(jsonb, jsonb) IS 'POST /partner/drafts/auth-link: {draft_id, email, return_url, token_hash, auth_url, send_email, links}. A newer link voids the older. With send_email the customer gets it by mail, unless they opted out or had enough today (mail_limit).';

COMMENT ON FUNCTION "api"."issue_mandate_link"(jsonb, jsonb) IS 'POST /v1/mandate-links: {account_id, cpo_external_ref, connection_id, token_hash, mandate_link, locale, validity_years, return_url, send_email, key}. Voids the older link. While a mandate holds only from 1 November of its last year: then for the years after it.';

COMMENT ON FUNCTION "api"."lease_mail"(jsonb, jsonb) IS 'The next mails to send: {size} to [{partner_id, id, recipient, template, locale, content}]. Each is leased for five minutes, then offered again.';

COMMENT ON FUNCTION "api"."list_captured_mail"(jsonb, jsonb) IS 'GET /sandbox/v1/mail: {to, limit, from} to {mail: [{id, captured_at, to, from, template, locale, content}]}, newest first: every mail written on behalf of the partner, its CPO accounts'' mandates included, and its customers'' codes to sign in.';

COMMENT ON FUNCTION "api"."remove_manager"(jsonb, jsonb) IS 'Somebody manages the partner no more, from this moment: {user_id} to {removed}, false for the last one and for who does not manage it. Oneself too. The others and the one who goes are told by mail.';

COMMENT ON FUNCTION "api"."run_draft_jobs"(jsonb, jsonb) IS 'Everything of drafts that is due: {links, size} to counts. Safe to call at any time, from several callers at once.';

COMMENT ON FUNCTION "api"."set_partner_iban"(jsonb, jsonb) IS 'POST /partner/payout-iban: {iban: {ciphertext, key_id, last4}, account_holder, same_iban}. Everybody who manages the partner is told by mail. What is there already stays as it is, so that nothing waits for it anew; asks for same_iban, {as: ciphertext, same}, where the last four characters do not tell.';

COMMENT ON FUNCTION "api"."settle_webhook"(jsonb, jsonb) IS 'What came of what was sent to an endpoint: {partner_id, webhook_id, lease_id, results: [{event_id, type, attempt, again, sequence, at, status, ms, error, retry_after}], operator} to {settled}; operator is an address to warn too.';

COMMENT ON FUNCTION "api"."withdraw_signed_mandate"(jsonb, jsonb) IS 'A signatory withdraws the mandate for a connection, by a code that was mailed for it: {connection_id, token_hash, code_hash, key}. The whole months before it count; they are told by mail, the client by its event, and who manages the partner by mail.';

COMMENT ON FUNCTION "ops"."mail_list"(jsonb) IS 'Mail that waits, was sent, was captured or was dropped by a limit of its address, newest first, without its content: {to?, partner?, failed?, limit?} to {mails}.';

COMMENT ON FUNCTION "ops"."mail_resend"(jsonb) IS 'Has a mail that failed, or waits long after a failure, sent by the next run of the worker: {id} to {changed, mail}. Not what was sent, which is deleted; nor what a limit dropped, which has no content; nor what its reader can do nothing with any more, or asked not to get.';

COMMENT ON FUNCTION "ops"."mail_show"(jsonb) IS 'One mail and what it is about: {id}, or the newest of {to?, partner?}, to {mail, locale, content}. Leaves an audit row, for it reads what was meant for the recipient.';

COMMENT ON FUNCTION "ops"."partner_add_manager"(jsonb) IS 'Lets a person with a login manage a partner, and tells the others: {partner, user} to {changed, manager}. A person manages one. Refused where no code of ours proved the address: whoever made that login would manage it.';

COMMENT ON FUNCTION "ops"."partner_invite"(jsonb) IS 'Mails somebody an invitation to manage a partner, which makes their login: {partner, email, token_hash, mail} to {changed, invitation}. Not changed where they manage it already.';

COMMENT ON FUNCTION "private"."enqueue_mail"(jsonb, text, text, jsonb, boolean, uuid, boolean) IS 'Puts a mail {template, locale, content, key} in the outbox, about its content and what the caller adds to it. The worker writes the text when it sends. key hashes the recipient for limits. to_nobody does the same work for a mail that is never sent; connection is the one that the mail is about, by which it is counted too. False where a limit dropped it.';

COMMENT ON FUNCTION "private"."enqueue_mails"(jsonb, jsonb) IS 'enqueue_mail for many: letters of one kind [{recipient, cause, content, to_nobody, connection, counted}]. A mail over the limits of its address (private.mails_that_fit) is dropped; returns how many were. counted says that the caller has asked, and whether it fits.';

COMMENT ON FUNCTION "private"."import_drafts"(jsonb) IS 'Makes drafts of the partner of this transaction: {source, send_invite, dry_run, consent, rows, over_request_limit, counters, links, message | null}, to what the import answers. Rows come read and judged on their own; one set-based statement judges the rest. A dry run is judged by the same statement, which then stores no draft. With consent it also tells what depends on people of other tenants, and leaves a row in the audit log; so does an import of which no row becomes a draft.';

COMMENT ON FUNCTION "private"."invite_manager"(text, jsonb, text) IS 'Mails an invitation to an address, {token_hash, mail}, and tells who manages the partner; both name invited_by, or where that is null the service. False for who manages the partner already, null where twenty were invited within a day, this address three times, or it had enough mail today. Whether the address has a login changes nothing.';

COMMENT ON FUNCTION "private"."lease_mail"(integer) IS 'Definer: the worker sends the mail of every tenant.';

COMMENT ON FUNCTION "private"."leave_partner"(uuid, text) IS 'Somebody who ends their account manages no partner any more. The others are told, and where there are none the operator, at this address. Definer, because the person acts for the house.';

COMMENT ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) IS 'What a mail to a draft''s customer is about: {full_name, brand, claim_url, unsubscribe_url}, brand as private.partner_brand of its partner.';

COMMENT ON FUNCTION "private"."remind_drafts"(jsonb, integer) IS 'Writes the reminders of day 3, 10 and 30 to those who were mailed and have not claimed; never to who opted out. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."settle_mail"(uuid, uuid, text, boolean) IS 'Deletes the content of a mail that was sent: it held live links and codes. Definer: the worker sends the mail of every tenant.';

COMMENT ON FUNCTION "private"."settle_webhook"(jsonb, text) IS 'What came of what was sent to a leased endpoint, and the lease back. An answer of 410 disables it, as do five days without a success, with mails after 24 and 96 hours. False: it was not the caller''s any more. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."tell_managers"(text, text, text, text[], text[]) IS 'Mails whoever manages the partner of this transaction, and others, what became of a person (invited, joined, removed or left), in the partner''s language; by is null for the service. Not those in but, who know.';

COMMENT ON FUNCTION "private"."warn_of_webhook"(core.webhook_endpoints, text, text) IS 'Writes to whoever manages the partner, and to the operator, that an endpoint fails, or (disabled) that nothing is sent to it any more: on production ten times a day of one log.';

COMMENT ON TABLE "core"."mail_outbox" IS 'Every mail, once for each cause. On the sandbox it is captured and never sent. Its content has personal data, codes and live links: it is deleted once sent, the row after 90 days.';

REVOKE ALL ON FUNCTION "api"."lease_mail"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."lease_mail"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_mail"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."lease_mail"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "private"."enqueue_mail"(jsonb, text, text, jsonb, boolean, uuid, boolean) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."enqueue_mail"(jsonb, text, text, jsonb, boolean, uuid, boolean) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."lease_mail"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lease_mail"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."leave_partner"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."leave_partner"(uuid, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."letter_content"(core.drafts, jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."mail_row"(core.mail_outbox) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."remind_drafts"(jsonb, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."remind_drafts"(jsonb, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."settle_webhook"(jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."settle_webhook"(jsonb, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."tell_managers"(text, text, text, text[], text[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."tell_managers"(text, text, text, text[], text[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."warn_of_webhook"(core.webhook_endpoints, text, text) FROM PUBLIC;

commit;

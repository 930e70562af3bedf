begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."issue_renewal_link"(uuid, core.mandate_links, text, timestamp WITH time zone);

DROP FUNCTION "private"."link_for_signature"(uuid, jsonb);

DROP FUNCTION "private"."link_signed_by"(uuid);

DROP FUNCTION "private"."record_signature"(core.mandate_links, jsonb, jsonb, uuid);

DROP FUNCTION "private"."request_mandate_document"(core.mandate_links);

ALTER TABLE "core"."mandates"
  ALTER COLUMN "link_id" DROP NOT NULL;

-- a claim's signature brought a link with it that was expired when it was made
update core.mandates m set link_id = null
  from core.mandate_links l where l.partner_id = m.partner_id and l.id = m.link_id and l.expires_at <= l.created_at;
delete from core.mandate_links l where l.expires_at <= l.created_at;

CREATE OR REPLACE FUNCTION api.renew_mandate (
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
  rate jsonb;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) is distinct from 'signed' or not private.may_sign_again(link.connection_id) then
    perform private.refuse('link_not_open');
  end if;
  rate := private.debit('mandate_renewal:' || link.id, 'mandate_renewal');
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_codes', json_build_object('rate', rate));
  end if;
  perform private.issue_renewal_link(link.connection_id, request ->> 'new_token_hash', private.now() + interval '1209600 seconds', link.id);
  perform private.audit('mandate_link.issued', link.connection_id, '{"renewal": true}');
  return json_build_object('ok', true);
end $function$;

CREATE OR REPLACE FUNCTION api.renew_signed_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account    core.accounts;
  connection uuid;
  rate       jsonb;
begin
  perform private.act_as(caller, 'session', 'signatory');
  account := private.enter_signed_account((request ->> 'account_id')::uuid);
  select c.id into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.id = (request ->> 'connection_id')::uuid for update;
  if connection is null or not private.may_sign_again(connection) then
    perform private.refuse('link_not_open');
  end if;
  rate := private.debit('mandate_renewal:' || connection, 'mandate_renewal');
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_codes', json_build_object('rate', rate));
  end if;
  perform private.issue_renewal_link(connection, request ->> 'new_token_hash', private.now() + interval '1209600 seconds');
  perform private.audit('mandate_link.issued', connection, '{"renewal": true}');
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
  perform private.record_signature(link.connection_id, link.id, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id);
  end if;
  return json_build_object('ok', true);
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
  -- one that the CPO issued meanwhile goes on working: who signs by either voids the other
  insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, return_url, expires_at)
  select m.partner_id, connection, m.owner_id, private.claim_token_hash(issue_renewal_link.token_hash),
         case when l.id is null then m.locale else l.locale end, l.validity_years, l.return_url, issue_renewal_link.expires_at
    from core.mandates m
    left join core.mandate_links l on l.partner_id = m.partner_id and l.id = m.link_id
   where m.partner_id = private.partner_id() and m.connection_id = connection and m.status <> 'declined' and (signed_by is null or m.link_id = signed_by)
   order by m.created_at desc limit 1
$function$;

CREATE OR REPLACE FUNCTION private.mail_notice (
  post jsonb
)
  RETURNS boolean
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  notice core.notices;
  email  text;
begin
  -- a reset locks accounts first
  perform from core.notices n join core.accounts a on a.partner_id = n.partner_id and a.id = n.account_id
    where n.partner_id = (post ->> 'partner_id')::uuid and n.id = (post ->> 'notice_id')::uuid for key share of a;
  update core.notices n set due_at = null
   where n.partner_id = (post ->> 'partner_id')::uuid and n.id = (post ->> 'notice_id')::uuid and n.due_at is not null
  returning * into notice;
  if notice.id is null then
    return false;  -- another worker was quicker
  end if;
  perform private.act_for_partner(notice.partner_id);
  if post ->> 'token_hash' is not null then
    perform private.issue_renewal_link(notice.connection_id, post ->> 'token_hash', greatest(
      private.now() + interval '1209600 seconds',
      -- until the January after it: who signs then loses no month
      make_timestamptz(extract(year from (notice.details ->> 'valid_until')::date)::int + 1, 2, 1, 0, 0, 0, 'Europe/Amsterdam')));
  end if;
  select s.email into email from core.signatories s where s.partner_id = notice.partner_id and s.account_id = notice.account_id;
  if post ->> 'draft_id' is not null then
    -- beside the other mail of the claim, which its partner sees on the sandbox
    perform private.act_for_partner((private.draft_by_id((post ->> 'draft_id')::uuid)).partner_id);
  end if;
  perform private.enqueue_mail(post -> 'mail', email, case when post ->> 'draft_id' is null then 'notice:' else 'claim_notice:' end || notice.id)
    where email is not null;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.open_account (
  draft   core.drafts,
  facts   jsonb,
  request jsonb
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  answers    constant jsonb := private.claim_answers(draft);
  checked    constant jsonb := draft.progress -> 'ean_check';
  ean        constant text := facts ->> 'ean_code';
  account    uuid;
  connection uuid;
begin
  perform private.enter_account(draft);
  insert into core.accounts
    (partner_id, user_id, access_channel, type, display_name, payout_handler, company, iban_ciphertext, iban_key_id, iban_last4)
  values
    (private.house(), draft.user_id, 'user', facts ->> 'type', coalesce(facts ->> 'company_name', facts ->> 'full_name'), 'service_pays_customer',
     case when facts ->> 'type' <> 'particulier' then
       jsonb_build_object('name', facts ->> 'company_name', 'kvk', facts ->> 'kvk', 'vat', answers ->> 'vat') end,
     draft.progress #>> '{iban,ciphertext}', draft.progress #>> '{iban,key_id}', draft.progress #>> '{iban,last4}')
  returning id into account;
  insert into core.signatories (partner_id, account_id, full_name, email, phone)
  values (private.house(), account, facts ->> 'full_name', draft.email, answers ->> 'phone');
  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (private.house(), account, private.location_for(facts), ean, not private.is_test_ean(ean),
          case checked ->> 'outcome' when 'matched' then 'matched' else 'unverified' end, private.now())
  returning id into connection;
  perform private.record_ean_check(connection, ean, facts ->> 'postal_code', (facts ->> 'house_number')::int,
    facts ->> 'house_number_addition', checked ->> 'source', checked ->> 'outcome', checked ->> 'reason');
  perform private.add_own_charger(account, connection, answers);
  perform private.audit('account.created', account, jsonb_build_object('draft_id', draft.id, 'for', draft.partner_id));
  perform private.record_signature(connection, null, facts, request, draft.partner_id);
  perform private.act_for_partner(draft.partner_id);
  return account;
end $function$;

CREATE OR REPLACE FUNCTION private.record_signature (
  connection uuid,
  link       uuid,
  facts      jsonb,
  request    jsonb,
  brought_by uuid  DEFAULT NULL::uuid
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  signed_for core.connections;
  terms      record;
  mandate    uuid;
begin
  select * into strict signed_for from core.connections c where c.partner_id = private.partner_id() and c.id = connection;
  select * into strict terms from private.terms_of(connection, brought_by);
  perform private.end_others_sign_ins(facts ->> 'email', signed_for.partner_id);
  insert into core.mandates
    (partner_id, connection_id, owner_id, link_id, status, renewal, fee_pct, partner_share_pct, valid_from, valid_until, signed_name, signed_at, document,
     document_sha256, code_confirmed, code_sent_to, address, user_agent, locale)
  values
    (signed_for.partner_id, connection, signed_for.owner_id, link, 'signed', (facts ->> 'valid_from')::date > private.today(),
     terms.fee_pct, terms.partner_share_pct, (facts ->> 'valid_from')::date, (facts ->> 'valid_until')::date,
     request ->> 'signed_name', private.now(), request ->> 'document', request ->> 'document_sha256',
     facts ->> 'email' is not null, facts ->> 'email', left(request ->> 'address', 64), left(request ->> 'user_agent', 400),
     request #>> '{mail,locale}')
  returning id into mandate;
  insert into core.documents (partner_id, account_id, owner_id, mandate_id)
  values (signed_for.partner_id, signed_for.account_id, signed_for.owner_id, mandate);
  update core.mandate_links l set used_at = private.now() where l.partner_id = signed_for.partner_id and l.id = link;
  perform private.void_mandate_links(connection), private.judge_months(connection);
  perform private.emit(case when (facts ->> 'valid_from')::date > private.today() then 'mandate.renewed' else 'mandate.signed' end,
                       signed_for.account_id, connection, jsonb_build_object('connection_id', connection, 'mandate_status', 'signed')),
          private.advance_registration(signed_for.account_id, true);
  perform private.audit('mandate.signed', connection, jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
  return mandate;
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
  mandate    uuid;
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
  mandate := private.record_signature(connection, null, facts, request);
  perform private.act_for_partner(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id || ':' || mandate);
  return json_build_object('ok', true);
end $function$;

COMMENT ON COLUMN "core"."mandates"."link_id" IS 'The mandate link by which it was decided; null where a claim was signed.';

COMMENT ON FUNCTION "private"."issue_renewal_link"(uuid, text, timestamp with time zone, uuid) IS 'A link to sign again, as the link signed_by, or by which was signed last: in the same language, for as many years where those were fixed, and back to the same address.';

COMMENT ON FUNCTION "private"."record_signature"(uuid, uuid, jsonb, jsonb, uuid) IS 'The signature itself, its evidence and what follows from it, by a mandate link, or by a claim, which has none: {signed_name, document, document_sha256, address, user_agent} on facts. Who signs has been proven by the caller; brought_by is the partner who brings them with this signature.';

COMMENT ON TABLE "core"."mandates" IS 'What a signatory decided, by a mandate link or a claim, with the evidence: the text as shown, its SHA-256, the typed name, the code proof, network address and user agent. Personal data; append-only but for its end; kept seven years after it.';

REVOKE ALL ON FUNCTION "private"."issue_renewal_link"(uuid, text, timestamp WITH time zone, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."issue_renewal_link"(uuid, text, timestamp WITH time zone, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."record_signature"(uuid, uuid, jsonb, jsonb, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_signature"(uuid, uuid, jsonb, jsonb, uuid) TO "api_owner";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP TRIGGER "take_owner" ON "core"."charger_months";

DROP TRIGGER "take_owner" ON "core"."chargers";

DROP TRIGGER "take_owner" ON "core"."charging_sessions";

DROP TRIGGER "take_owner" ON "core"."connections";

DROP TRIGGER "take_owner" ON "core"."delivered_months";

DROP TRIGGER "take_owner" ON "core"."deliveries";

DROP TRIGGER "take_owner" ON "core"."documents";

DROP TRIGGER "take_owner" ON "core"."ean_checks";

DROP TRIGGER "take_owner" ON "core"."mandate_links";

DROP TRIGGER "take_owner" ON "core"."mandates";

DROP TRIGGER "take_owner" ON "core"."notices";

DROP TRIGGER "take_owner" ON "core"."replaced_charging_sessions";

DROP TRIGGER "take_owner" ON "core"."signatories";

DROP TRIGGER "take_owner" ON "core"."virtual_chargers";

DROP FUNCTION "private"."belong_with"(regclass, regclass, name);

DROP FUNCTION "private"."take_owner"();

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
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  -- whoever declines the years after those that are signed for changes nothing
  perform private.emit('mandate.declined', c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'declined'))
     from core.connections c
    where c.partner_id = link.partner_id and c.id = link.connection_id and private.signed_until(c.id) is null;
  return json_build_object('ok', true);
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
  account    core.accounts;
  connection core.connections;
begin
  perform private.act_as_operator(input);
  account := private.account_named(input ->> 'account');
  -- of parallel calls for one account the later ones wait here, and then find the connection
  perform from core.accounts a where a.partner_id = account.partner_id and a.id = account.id for no key update;
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.status = 'active' and c.ean_code = input ->> 'ean_code';
  if found then
    return private.connection_answer(connection, false);
  end if;
  if not private.claim_ean(input ->> 'ean_code') then
    perform private.refuse('ean_in_use', json_build_object('ean_code', input ->> 'ean_code'));
  end if;
  -- the EAN register is asked by the weekly re-check, which finds this connection due as soon as its mandate is signed
  insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (account.partner_id, account.id, account.owner_id, private.location_for(input), input ->> 'ean_code', not private.is_test_ean(input ->> 'ean_code'),
          'unverified', '-infinity')
  returning * into connection;
  perform private.audit('connection.added', connection.id);
  return private.connection_answer(connection, true);
end $function$;

CREATE OR REPLACE FUNCTION private.issue_renewal_link (
  connection uuid,
  signed_by  core.mandate_links,
  token_hash text,
  expires_at timestamp with time zone
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  -- one that the CPO issued meanwhile goes on working: who signs by either voids the other
  insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, signed_by.owner_id, private.claim_token_hash(issue_renewal_link.token_hash), signed_by.locale, signed_by.validity_years,
          signed_by.return_url, issue_renewal_link.expires_at)
$function$;

CREATE OR REPLACE FUNCTION private.notify (
  account    uuid,
  kind       text,
  cause      text,
  details    jsonb DEFAULT '{}'::jsonb,
  connection uuid  DEFAULT NULL::uuid
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
  select a.partner_id, a.id, a.owner_id, connection, notify.kind, notify.cause, notify.details
    from core.accounts a where a.partner_id = private.partner_id() and a.id = account
  on conflict on constraint notices_cause_key do nothing
$function$;

CREATE OR REPLACE FUNCTION private.record_ean_check (
  connection   uuid,
  ean          text,
  postal_code  text,
  house_number integer,
  addition     text,
  source       text,
  outcome      text,
  reason       text
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  insert into core.ean_checks
    (partner_id, connection_id, owner_id, ean_code, postal_code, house_number, house_number_addition, source, outcome, reason)
  values (private.partner_id(), connection,
          -- without a connection the check belongs to the caller
          coalesce((select c.owner_id from core.connections c where c.partner_id = private.partner_id() and c.id = connection), private.owner_id()),
          ean, postal_code, house_number, addition, source, outcome, reason)
$function$;

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
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.void_mandate_links(link.connection_id);
  perform private.request_mandate_document(link);
  perform private.judge_months(link.connection_id);
  perform private.emit(case when (facts ->> 'valid_from')::date > private.today() then 'mandate.renewed' else 'mandate.signed' end,
                       c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'signed')),
          private.advance_registration(c.account_id, true)
     from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id;
  perform private.audit('mandate.signed', link.connection_id, jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
end $function$;

CREATE OR REPLACE FUNCTION private.request_mandate_document (
  link core.mandate_links
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  insert into core.documents (partner_id, account_id, owner_id, mandate_id)
  select m.partner_id, c.account_id, c.owner_id, m.id
    from core.mandates m
    join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
   where m.partner_id = link.partner_id and m.link_id = link.id and m.document is not null
  on conflict on constraint documents_mandate_key do nothing
$function$;

CREATE OR REPLACE FUNCTION private.tell_of_iban (
  before core.accounts,
  last4  text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  told constant bigint := (select count(*) from core.notices n
                            where n.partner_id = before.partner_id and n.account_id = before.id and n.kind = 'payout_iban_changed'
                              and n.created_at > private.now() - interval '1 day');
begin
  if before.payout_handler <> 'service_pays_customer'
     or not exists (select from core.mandates m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
                     where c.partner_id = before.partner_id and c.account_id = before.id and m.document is not null) then
    return;
  elsif told < 5 or private.is_sandbox() then
    perform private.notify(before.id, 'payout_iban_changed', 'payout_iban_changed:' || before.id || ':' || gen_random_uuid(),
                           jsonb_build_object('iban_last4', last4));
  else
    -- no money goes to any of these numbers within 48 hours
    insert into core.notices (partner_id, account_id, owner_id, kind, cause, due_at)
    values (before.partner_id, before.id, before.owner_id, 'payout_iban_changed', 'payout_iban_changed:' || before.id || ':' || private.today(),
            (private.today() + 1)::timestamp at time zone 'Europe/Amsterdam')
    on conflict on constraint notices_cause_key do nothing;
  end if;
end $function$;

ALTER TABLE "core"."ean_checks"
  ADD CONSTRAINT "ean_checks_of_somebody" CHECK (((connection_id IS NULL) OR (owner_id IS NOT NULL)));

commit;

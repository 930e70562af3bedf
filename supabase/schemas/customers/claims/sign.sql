-- Signing: the draft becomes an account in the service's own tenant.

-- Opens the account of a signed claim in the people's tenant, with a charger if one was chosen. The caller has reserved
-- the EAN.
create function private.open_account(draft core.drafts, facts jsonb, request jsonb) returns uuid
language plpgsql
as $$
declare
  answers    constant jsonb := private.claim_answers(draft);
  checked    constant jsonb := draft.progress -> 'ean_check';
  ean        constant text := facts ->> 'ean_code';
  account    uuid;
  connection uuid;
begin
  perform private.enter_account(draft);
  insert into core.accounts
    (partner_id, user_id, access_channel, type, display_name, payout_handler, company, iban_ciphertext,
     iban_key_id, iban_last4, iban_checksum_ok)
  values
    (private.people_tenant(), draft.user_id, 'user', facts ->> 'type',
     coalesce(facts ->> 'company_name', facts ->> 'full_name'), 'service_pays_customer',
     case when facts ->> 'type' <> 'particulier' then
       jsonb_build_object('name', facts ->> 'company_name', 'kvk', facts ->> 'kvk', 'vat', answers ->> 'vat') end,
     draft.progress #>> '{iban,ciphertext}', draft.progress #>> '{iban,key_id}', draft.progress #>> '{iban,last4}',
     (draft.progress #>> '{iban,checksum_ok}')::boolean)
  returning id into account;
  insert into core.signatories (partner_id, account_id, full_name, email, phone)
  values (private.people_tenant(), account, facts ->> 'full_name', draft.email, answers ->> 'phone');
  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status,
                                ean_checked_at)
  values (private.people_tenant(), account, private.location_for(facts), ean, not private.is_test_ean(ean),
          case checked ->> 'outcome' when 'matched' then 'matched' else 'unverified' end, private.now())
  returning id into connection;
  perform private.record_ean_check(connection, ean, facts ->> 'postal_code', (facts ->> 'house_number')::int,
    facts ->> 'house_number_addition', checked ->> 'source', checked ->> 'outcome', checked ->> 'reason');
  perform private.add_own_charger(account, connection, answers);
  perform private.audit('account.created', account, jsonb_build_object('draft_id', draft.id, 'for', draft.partner_id));
  perform private.record_signature(connection, null, facts, request, draft.partner_id);
  perform private.set_tenant(draft.partner_id);
  return account;
end $$;

-- The customer of a signed claim signs for later years, or again after its end. A code is mailed for this.
create function private.sign_again(draft core.drafts, request jsonb) returns json
language plpgsql
as $$
declare
  partner    constant core.partners := private.own_partner();
  connection uuid;
  facts      jsonb;
  refused    text;
  mandate    uuid;
begin
  perform private.enter_account(draft);
  connection := private.mandated_connection(draft.account_id, to_sign_again => true);
  perform private.refuse_if('claim_not_open', connection is null);
  facts := private.signed_facts(private.renewal_facts(connection, partner),
                                private.mandate_periods(connection, partner.mandate_years), request);
  perform private.set_tenant(draft.partner_id);
  refused := (private.use_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  mandate := private.record_signature(connection, null, facts, request);
  perform private.set_tenant(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id || ':' || mandate);
  return json_build_object('ok', true);
end $$;

create function api.sign_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
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
  facts := private.signed_facts(private.claim_facts(draft),
                                private.mandate_periods(null, (private.own_partner()).mandate_years), request);
  refused := (private.judge_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  if draft.user_id is null then
    -- begun by a sign-in link; the code proves now what the link did not
    select * into proof from private.prove_login(draft.email, draft.partner_id, request);
    if proof.need is not null then
      return proof.need;
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
    -- stored before the account is opened: from then on this transaction acts for the person, and sees their own drafts
    -- only
    update core.drafts d set user_id = login.user_id where d.partner_id = draft.partner_id and d.id = draft.id
      returning * into draft;
  end if;

  -- first, so that the partner is told what becomes of its customer
  if private.reserve_customer(draft.user_id, draft.partner_id, case draft.source when 'invite' then 'partner_invite'
                                                                    else 'partner_upload' end,
                            draft.external_ref) is null then
    raise exception 'the login of draft % was attributed elsewhere meanwhile',
        draft.id using errcode = 'serialization_failure';
  end if;
  account := private.open_account(draft, facts, request);
  update core.drafts d
     set status = 'active', account_id = account, activated_at = private.now(),
         progress = jsonb_strip_nulls(jsonb_build_object('return_url', d.progress ->> 'return_url'))
   where d.partner_id = draft.partner_id and d.id = draft.id;
  if not found then
    raise exception 'draft % is out of sight of the person who signed it', draft.id;
  end if;
  perform private.use_code('claim:' || draft.id), private.enqueue_mail(request -> 'mail', draft.email,
                                                                       'claim_signed:' || draft.id);
  perform private.audit('draft.activated', draft.id), private.emit_draft('draft.active', draft.id, 'active');
  return json_build_object('ok', true);
end $$;
comment on function api.sign_claim(jsonb, jsonb) is
  'Signs, and makes the draft an account: {draft_id, facts, signed_name, code_hash, key, document, document_sha256, '
  'address, user_agent, mail, proved_by}. facts, with the chosen years, must still be what was shown. An active draft '
  'signs again, if it may. May ask for login first. A conflict, and a counted wrong code, stay: these refusals are '
  'answers.';

-- After signing: the customer adds what they postponed, or ends the mandate.

-- From here the transaction acts for the person of the draft, in the people's tenant.
create function private.enter_account(draft core.drafts) returns void
language plpgsql
as $$ begin perform private.act_for_person(private.people_tenant(), draft.user_id); end $$;

-- The active connection of an account with a signed mandate, or the one that may be signed for again, locked. Null if
-- there is none.
create function private.mandated_connection(account uuid, to_sign_again boolean default false) returns uuid
language plpgsql
as $$
declare
  connection uuid;
begin
  -- locked as every other change of a mandate does
  perform from core.connections c where c.partner_id = private.partner_id() and c.account_id = account
      and c.status = 'active' for update;
  select c.id into connection
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active'
     and case when to_sign_again then private.may_sign_again(c.id) else m.mandate_status = 'signed' end
   order by m.signed_at desc, c.id limit 1;
  return connection;
end $$;

-- private.judge_claim_code, which then uses up a right code. With repeat_hash a second click may send it again.
create function private.use_claim_code(draft core.drafts, request jsonb, out refused text, out again boolean)
language plpgsql
as $$
begin
  select j.refused, j.again into refused, again from private.judge_claim_code(draft, request) j;
  perform private.use_code('claim:' || draft.id, request ->> 'repeat_hash') where refused is null;
end $$;

-- Stores the IBAN, also after the mandate ended. Replacing one takes a code; a wrong code is an answer. With missing,
-- none is replaced.
create function private.complete_payout(draft core.drafts, request jsonb) returns json
language plpgsql
as $$
declare
  before text;
  used   record;
begin
  select a.iban_last4 into before from core.accounts a where a.partner_id = private.partner_id()
      and a.id = draft.account_id for no key update;
  if not found or jsonb_typeof(request -> 'iban') is distinct from 'object' then
    perform private.refuse('claim_not_open');
  elsif before is not null and request -> 'missing' = 'true' then
    return null;
  elsif before is not null then
    perform private.set_tenant(draft.partner_id);
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
  perform private.set_tenant(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_iban:' || draft.id || ':' || gen_random_uuid());
  return null;
end $$;

-- Adds a charger to the account of a signed claim, by the rules of POST /v1/chargers. Refused once the mandate has
-- ended.
create function private.complete_charger(draft core.drafts, answers jsonb) returns void
language plpgsql
as $$
declare
  connection uuid;
  model      constant uuid := (answers ->> 'catalog_charger_id')::uuid;
  serial     constant text := answers ->> 'serial_number';
  active     int;
begin
  perform private.lock_chargers(null, draft.user_id);
  connection := private.mandated_connection(draft.account_id);
  perform private.refuse_if('claim_not_open', connection is null or model is null);
  if exists (select from core.chargers h
              where h.partner_id = private.partner_id() and h.account_id = draft.account_id and h.status = 'active'
                and h.catalog_charger_id = model and h.serial_number is not distinct from serial) then
    return;
  end if;
  active := private.require_charger_room(null, draft.user_id);
  perform private.refuse_if('serial_number_required', active > 0 and serial is null);
  perform private.add_own_charger(draft.account_id, connection, answers);
  perform private.advance_registration(draft.account_id, true);
end $$;

create function api.complete_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  draft   core.drafts;
  refused json;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  perform private.refuse_if('claim_not_open', draft.status is distinct from 'active');
  perform private.enter_account(draft);
  case request ->> 'step'
    when 'payout' then refused := private.complete_payout(draft, request);
    when 'charger' then perform private.complete_charger(draft, request -> 'answers');
    else perform private.refuse('claim_not_open');
  end case;
  return coalesce(refused, json_build_object('ok', true));
end $$;
comment on function api.complete_claim(jsonb, jsonb) is
  'Adds to a signed claim what the customer postponed, or changes it: {draft_id, step: payout|charger, answers, iban, '
  'missing, code_hash, key, proved_by, repeat_hash, mail}. The browser has a session of this claim.';

create function api.revoke_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  draft      core.drafts;
  connection uuid;
  refused    text;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  perform private.refuse_if('claim_not_open', draft.status is distinct from 'active');
  refused := (private.use_claim_code(draft, request - 'repeat_hash')).refused;
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  connection := private.mandated_connection(draft.account_id);
  perform private.refuse_if('claim_not_open', connection is null);
  perform private.end_mandate(connection, 'revoked', 'customer');
  return json_build_object('ok', true);
end $$;
comment on function api.revoke_claim(jsonb, jsonb) is
  'Ends the mandate of a claim for its customer, by a code mailed for this: {draft_id, code_hash, key, proved_by}. '
  'Open months are judged again; locked ones and the registration stay.';

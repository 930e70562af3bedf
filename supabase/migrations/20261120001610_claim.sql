-- The claim: a customer proves the e-mail address of a draft, checks what the partner uploaded, and signs; the draft becomes an
-- account in the service's own tenant. Beside it opting out of mail.

-- ten codes at once, then one each six hours, five guesses a code: over a draft's 60 days a guess succeeds with about 1 in 800
insert into core.rate_limits (bucket, quota, window_seconds) values ('claim_code', 10, 216000);

-- Opting out of mail --------------------------------------------------------------------------------------------------

create function api.opt_out(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'anyone');
  perform private.suppress(decode(request ->> 'email_hash', 'hex'));
  return json_build_object('ok', true);
end $$;
comment on function api.opt_out(jsonb, jsonb) is
  'The bearer of an unsubscribe link wants no more mail: {email_hash}. Not rate limited: mail services send it for many people from one address.';
select private.expose('api.opt_out(jsonb, jsonb)');

-- Opening a claim ------------------------------------------------------------------------------------------------------

create function private.draft_by_id(draft uuid) returns core.drafts
language sql stable security definer
set search_path = ''
as $$ select d from core.drafts d where d.id = draft $$;
comment on function private.draft_by_id(uuid) is
  'Finds a draft before its tenant is known; definer for that reason alone. The claim token, verified before it gets here, is the credential.';

create function private.enter_draft(draft_id uuid, lock boolean) returns core.drafts
language plpgsql
set search_path = ''
as $$
declare
  draft core.drafts := private.draft_by_id(draft_id);
begin
  perform private.act_for_partner(draft.partner_id), set_config('app.caller_kind', 'customer', true);
  if lock then
    select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = draft_id for update;
  end if;
  return draft;
end $$;
comment on function private.enter_draft(uuid, boolean) is 'Makes the bearer of a claim link the caller, within the tenant of the draft.';

create function private.draft_state(draft core.drafts) returns text
language sql stable
set search_path = ''
as $$
  select case
    when draft.id is null then 'gone'
    when private.draft_status(draft) in ('invited', 'claimed') then 'open'
    else private.draft_status(draft) end
$$;

create function private.claim_stage(draft core.drafts) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return case when draft.status = 'claimed' and draft.user_id is null then 'invited' else draft.status end; end $$;
comment on function private.claim_stage(core.drafts) is 'The status of a claim; where the login was deleted meanwhile the address is to be proven again.';

create function private.claim_answers(draft core.drafts) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'type', draft.type,
    'full_name', coalesce(draft.contactpersoon, draft.naam),
    'company_name', coalesce(draft.bedrijfsnaam, case when draft.type <> 'particulier' and draft.contactpersoon is not null then draft.naam end),
    'kvk', draft.kvk,
    'vat', draft.btw,
    'phone', draft.phone,
    'postal_code', draft.postal_code,
    'house_number', draft.house_number,
    'house_number_addition', draft.house_number_addition,
    'street', draft.street,
    'city', draft.city,
    'ean_code', draft.ean,
    'brand', draft.charger ->> 'brand',
    'serial_number', draft.charger ->> 'serial_number') || coalesce(draft.progress -> 'answers', '{}')
$$;
comment on function private.claim_answers(core.drafts) is 'What the partner uploaded, overlaid with what the customer confirmed or changed.';

create function private.claim_open_step(draft core.drafts) returns text
language sql stable
set search_path = ''
as $$
  select s.step
    from unnest(array['details', 'company', 'address', 'ean', 'payout', 'charger']) with ordinality as s (step, place)
   where not coalesce(draft.progress -> 'confirmed', '[]') ? s.step
     and (s.step <> 'company' or private.claim_answers(draft) ->> 'type' <> 'particulier')
   order by s.place limit 1
$$;
comment on function private.claim_open_step(core.drafts) is 'The first step the customer has not confirmed; null when only the mandate is left.';

create function private.claim_facts(draft core.drafts) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    -- under the name it is registered by, and the one its customers know it by
    'partner_name', concat(p.name, ' (' || nullif(private.partner_display_name(p), p.name) || ')'),
    'type', a.answers ->> 'type',
    'company_name', case when a.answers ->> 'type' <> 'particulier' then a.answers ->> 'company_name' end,
    'kvk', case when a.answers ->> 'type' <> 'particulier' then a.answers ->> 'kvk' end,
    'full_name', a.answers ->> 'full_name',
    'email', draft.email,
    'ean_code', a.answers ->> 'ean_code',
    'street', a.answers ->> 'street',
    'house_number', (a.answers ->> 'house_number')::int,
    'house_number_addition', a.answers ->> 'house_number_addition',
    'postal_code', a.answers ->> 'postal_code',
    'city', a.answers ->> 'city',
    'valid_from', make_date(extract(year from private.today())::int, 1, 1),
    'valid_until', make_date(extract(year from private.today())::int, 12, 31))
  from core.partners p, lateral (select private.claim_answers(draft) as answers) as a
  where p.id = draft.partner_id
$$;
comment on function private.claim_facts(core.drafts) is
  'What private.mandate_facts gives of a connection, of a draft that has none yet: what the mandate''s text is composed of.';

create function private.enter_account(draft core.drafts) returns void
language plpgsql
set search_path = ''
as $$ begin perform private.act_for_partner(private.house()), set_config('app.user_id', draft.user_id::text, true); end $$;
comment on function private.enter_account(core.drafts) is 'What a draft became is the person''s own, in the house: from here the transaction acts for that person.';

create function private.claim_outcome(draft core.drafts) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  outcome jsonb;
begin
  perform private.enter_account(draft);
  select jsonb_build_object(
           'signed', jsonb_build_object(
             'status', case when m.status = 'signed' and m.valid_until < private.today() then 'expired' else m.status end,
             'document', m.document, 'document_sha256', m.document_sha256, 'signed_name', m.signed_name,
             'signed_at', private.iso(m.signed_at), 'code_sent_to', m.code_sent_to, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
             'ended_at', private.iso(m.ended_at)),
           'checklist', g.checklist,
           'registration_status', c.registration_status,
           'ean_validation_status', c.ean_validation_status,
           'iban_last4', a.iban_last4,
           'chargers', (select coalesce(jsonb_agg(jsonb_build_object('name', private.charger_name(h), 'serial_number', h.serial_number,
                                                                     'mid_eligible', h.mid_eligible) order by h.created_at, h.id), '[]')
                          from core.chargers h where h.partner_id = c.partner_id and h.account_id = c.account_id and h.status = 'active'))
    into outcome
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.document is not null
    join core.account_gates g on g.partner_id = c.partner_id and g.account_id = c.account_id
   where c.partner_id = private.house() and c.account_id = draft.account_id
   order by m.created_at desc limit 1;
  perform private.act_for_partner(draft.partner_id);
  return coalesce(outcome, '{}');
end $$;
comment on function private.claim_outcome(core.drafts) is
  'What an active draft led to: {signed, checklist, registration_status, ean_validation_status, iban_last4, chargers}.';

create function private.charger_choice(brand text) returns jsonb
language sql stable
set search_path = ''
as $$
  with models as (select m.* from core.charger_models m where m.mid_meter is not null or m.listed)
  select jsonb_build_object(
    'brands', (select jsonb_agg(b.brand order by lower(b.brand) collate "C") from (select distinct m.brand from models m) as b),
    'models', (select jsonb_agg(jsonb_build_object('id', m.id, 'model', m.model, 'mid_meter', m.mid_meter) order by lower(m.model) collate "C")
                 from models m where m.brand = charger_choice.brand))
$$;
comment on function private.charger_choice(text) is 'The brands of the catalogue, and the models of one.';

create function private.claim_view(draft core.drafts, request jsonb) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  state  constant text := private.draft_state(draft);
  answers jsonb;
  view   jsonb;
begin
  draft.status := private.claim_stage(draft);
  select jsonb_build_object('state', state, 'status', draft.status, 'locale', draft.locale,
                            'brand', private.partner_brand(p), 'partner_name', p.name) into view
    from core.partners p where p.id = draft.partner_id;
  if state not in ('open', 'active') then
    return coalesce(view, jsonb_build_object('state', state));
  end if;
  view := view || jsonb_build_object('email', draft.email, 'code_sent', coalesce(draft.code_expires_at > private.now(), false));
  if not (request ->> 'proven')::boolean then
    return view;  -- the link alone shows nothing of what is known or typed
  elsif state = 'active' then
    view := view || private.claim_outcome(draft) || jsonb_build_object(
      'return_url', coalesce(draft.progress ->> 'return_url', (select p.return_url from core.partners p where p.id = draft.partner_id)));
    -- the charger that the partner told of is the first one; a second is another
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
    'facts', case when private.claim_open_step(draft) is null then private.claim_facts(draft) end,
    'charger', (select jsonb_build_object('name', m.brand || ' ' || m.model, 'mid_meter', m.mid_meter)
                  from core.charger_models m where m.id = (answers ->> 'catalog_charger_id')::uuid))
    || case when request ->> 'step' = 'charger'
            then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
end $$;
comment on function private.claim_view(core.drafts, jsonb) is
  'What the pages of a claim may show: state open|active|expired|conflict|gone and branding; the address where a code goes; and with {proven} what was uploaded and typed.';

grant execute on function
  private.draft_by_id(uuid), private.enter_draft(uuid, boolean), private.draft_state(core.drafts), private.claim_stage(core.drafts),
  private.claim_answers(core.drafts),
  private.claim_open_step(core.drafts), private.claim_facts(core.drafts), private.enter_account(core.drafts),
  private.claim_outcome(core.drafts), private.charger_choice(text), private.claim_view(core.drafts, jsonb)
to api_owner;

create function api.open_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.debit('address:' || (request ->> 'address_hash'), 'page');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return private.claim_view(private.enter_draft((request ->> 'draft_id')::uuid, false), request)::json;
end $$;
comment on function api.open_claim(jsonb, jsonb) is
  'What a claim link opens: {draft_id, address_hash, proven, step, brand} to private.claim_view. proven says that the browser has a session of this claim.';
select private.expose('api.open_claim(jsonb, jsonb)');

-- Proving the e-mail address -------------------------------------------------------------------------------------------

create function api.send_claim_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft core.drafts;
  rate  jsonb;
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if private.draft_state(draft) not in ('open', 'active') or private.claim_stage(draft) <> coalesce(request ->> 'stage', private.claim_stage(draft)) then
    return json_build_object('outcome', 'not_open');
  elsif private.judge_code(draft.code_hash, draft.code_expires_at, draft.code_attempts, request ->> 'code_hash') is null then
    return json_build_object('outcome', 'sent');  -- the very code that is out already
  end if;
  rate := private.debit('draft:' || draft.id, 'claim_code');
  if not (rate ->> 'allowed')::boolean then
    return json_build_object('outcome', 'too_many_codes', 'rate', rate);
  end if;
  update core.drafts d
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.code_expiry(), code_attempts = 0
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_code:' || draft.id || ':' || (request ->> 'code_hash'));
  return json_build_object('outcome', 'sent');
end $$;
comment on function api.send_claim_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts: {draft_id, code_hash, mail, stage?} to {outcome: sent|too_many_codes|not_open, rate}. '
  'With stage (invited, claimed) only while the claim is there.';
select private.expose('api.send_claim_code(jsonb, jsonb)');

create function private.claim_code_outcome(draft core.drafts, code_hash text) returns text
language plpgsql
set search_path = ''
as $$
declare
  refused constant text := private.judge_code(draft.code_hash, draft.code_expires_at, draft.code_attempts, code_hash);
begin
  if refused = 'wrong_code' then
    update core.drafts d set code_attempts = d.code_attempts + 1 where d.partner_id = draft.partner_id and d.id = draft.id;
  end if;
  return refused;
end $$;
comment on function private.claim_code_outcome(core.drafts, text) is 'Why a one-time code is refused, or null; a wrong one is counted.';

create function private.claimant(email text, partner uuid, out user_id uuid, out confirmed boolean, out taken boolean)
language sql stable security definer
set search_path = ''
as $$
  select u.id, u.email_confirmed_at is not null,
         exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
         or exists (select from core.accounts a where a.user_id = u.id)
    from auth.users u where u.email = claimant.email and not u.is_sso_user and u.deleted_at is null
$$;
comment on function private.claimant(text, uuid) is
  'The login of an address, all null when there is none; taken when another partner has it or it has an account of its own. Definer: logins belong to Supabase Auth, and the question crosses tenants.';

create function private.end_in_conflict(draft core.drafts, reason text) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.drafts d
     set status = 'conflict', conflict_reason = reason, progress = '{}', code_hash = null, code_expires_at = null
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.audit('draft.conflict', draft.id, jsonb_build_object('reason', reason));
end $$;

create function private.prove_draft(draft core.drafts) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  login record;
begin
  if draft.status = 'active' then
    update core.drafts d set code_hash = null, code_expires_at = null where d.partner_id = draft.partner_id and d.id = draft.id;
    return jsonb_build_object('outcome', 'proven');
  end if;
  select * into login from private.claimant(draft.email, draft.partner_id);
  if login.taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return jsonb_build_object('outcome', 'conflict');
  elsif login.confirmed is not true then
    return jsonb_build_object('outcome', 'ask_login', 'email', draft.email, 'unconfirmed_user', login.user_id, 'partner_id', draft.partner_id);
  elsif draft.status = 'invited' and draft.ean is not null and private.ean_taken(draft.ean) then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return jsonb_build_object('outcome', 'conflict');
  end if;
  update core.drafts d
     set status = 'claimed', user_id = login.user_id, claimed_at = coalesce(d.claimed_at, private.now()), code_hash = null, code_expires_at = null
   where d.partner_id = draft.partner_id and d.id = draft.id;
  if draft.status = 'invited' then
    perform private.audit('draft.claimed', draft.id);
  end if;
  return jsonb_build_object('outcome', 'proven');
end $$;
comment on function private.prove_draft(core.drafts) is
  'The address is proven: the draft is claimed, or in conflict. Outcome ask_login, and nothing stored, where Supabase Auth must make the login first.';

grant execute on function
  private.claim_code_outcome(core.drafts, text), private.claimant(text, uuid), private.end_in_conflict(core.drafts, text),
  private.prove_draft(core.drafts)
to api_owner;

create function api.prove_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate    jsonb;
  draft   core.drafts;
  refused text;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.debit('address:' || (request ->> 'address_hash'), 'page');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if private.draft_state(draft) not in ('open', 'active') then
    return (jsonb_build_object('outcome', 'not_open') || private.claim_view(draft, request))::json;
  end if;
  refused := private.claim_code_outcome(draft, request ->> 'code_hash');
  return (private.claim_view(draft, request)
          || case when refused is null then private.prove_draft(draft) else jsonb_build_object('outcome', refused) end)::json;
end $$;
comment on function api.prove_claim(jsonb, jsonb) is
  'Proves the address by its code: {draft_id, address_hash, code_hash} to private.claim_view and outcome proven|conflict|ask_login|wrong_code|code_expired|too_many_attempts|not_open. '
  'After ask_login it is called again, once the login is made: the code is used up then.';
select private.expose('api.prove_claim(jsonb, jsonb)');

create function private.sign_in_link(token_hash text) returns core.draft_links
language sql stable security definer
set search_path = ''
as $$ select l from core.draft_links l where l.token_hash = decode(sign_in_link.token_hash, 'hex') $$;
comment on function private.sign_in_link(text) is 'Finds a link before its tenant is known; definer for that reason alone. The token is the credential.';

create function private.sign_in_link_state(link core.draft_links) returns text
language sql stable
set search_path = ''
as $$
  select case when link.id is null then 'unknown' when link.used_at is not null then 'used'
              when link.expires_at <= private.now() then 'expired' else 'open' end
$$;
grant execute on function private.sign_in_link(text), private.sign_in_link_state(core.draft_links) to api_owner;

create function api.open_sign_in_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate  jsonb;
  link  core.draft_links;
  draft core.drafts;
  view  jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.debit('address:' || (request ->> 'address_hash'), 'page');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, false);
  view := private.claim_view(draft, '{"proven": false}') - 'email';
  -- what became of the draft says more than what became of the link
  if private.draft_state(draft) in ('open', 'active', 'gone') and private.sign_in_link_state(link) <> 'open' then
    view := view || jsonb_build_object('state', private.sign_in_link_state(link));
  end if;
  return view::json;
end $$;
comment on function api.open_sign_in_link(jsonb, jsonb) is
  'What a sign-in link opens, without using it up: {token_hash, address_hash} to {state: open|active|expired|conflict|used|unknown, locale, brand}.';
select private.expose('api.open_sign_in_link(jsonb, jsonb)');

create function api.use_sign_in_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link   core.draft_links;
  draft  core.drafts;
  answer jsonb;
begin
  perform private.act_as(caller, 'anyone');
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, true);
  select * into link from core.draft_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if private.sign_in_link_state(link) <> 'open' or private.draft_state(draft) not in ('open', 'active') then
    return json_build_object('outcome', 'not_open');
  end if;
  answer := private.prove_draft(draft);
  if answer ->> 'outcome' <> 'ask_login' then
    update core.draft_links l set used_at = private.now() where l.partner_id = link.partner_id and l.id = link.id;
    update core.drafts d set progress = d.progress || jsonb_build_object('return_url', link.return_url)
     where d.partner_id = draft.partner_id and d.id = draft.id and link.return_url is not null and d.status <> 'conflict';
  end if;
  return (answer || jsonb_build_object('draft_id', draft.id))::json;
end $$;
comment on function api.use_sign_in_link(jsonb, jsonb) is
  'Uses a sign-in link up, which proves the address: {token_hash} to {outcome: proven|conflict|ask_login|not_open, draft_id}. After ask_login it is called again.';
select private.expose('api.use_sign_in_link(jsonb, jsonb)');

-- The steps ------------------------------------------------------------------------------------------------------------

create function private.candidates_at(answers jsonb, register jsonb) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  if register ->> 'source' = 'table' then
    return private.points_in_table(answers ->> 'postal_code', (answers ->> 'house_number')::int, answers ->> 'house_number_addition');
  end if;
  return coalesce(register -> 'points', '[]');
end $$;
comment on function private.candidates_at(jsonb, jsonb) is 'The metering points the register knows at an address, to choose from.';

create function private.save_step(draft core.drafts, request jsonb) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  step     constant text  := request ->> 'step';
  typed    constant jsonb := request -> 'answers';
  before   constant jsonb := private.claim_answers(draft);
  kept     jsonb := draft.progress;
  answers  jsonb := coalesce(kept -> 'answers', '{}') || typed;
  points   jsonb;
  moved    boolean;
  checked  record;
begin
  case step
    when 'address' then
      moved := (before - 'street' - 'city') || (typed - 'street' - 'city') <> before - 'street' - 'city';
      points := private.candidates_at(typed, request -> 'register');
      if points = '[]' and not moved then
        points := draft.ean_candidates;  -- the register is silent now; it was not when the draft was made
      end if;
      kept := kept || jsonb_build_object('candidates', points);
      answers := answers || jsonb_strip_nulls(jsonb_build_object(
        'street', coalesce(typed ->> 'street', points #>> '{0,street}'), 'city', coalesce(typed ->> 'city', points #>> '{0,city}')));
      if moved and before ->> 'postal_code' is not null then
        -- another address has another connection
        answers := answers || '{"ean_code": null}';
        kept := (kept - 'ean_check') || jsonb_build_object('confirmed', coalesce(kept -> 'confirmed', '[]') - 'ean');
      end if;
    when 'ean' then
      if private.ean_taken(typed ->> 'ean_code') then
        return jsonb_build_object('outcome', 'ean_in_use');
      end if;
      select * into checked from private.check_ean(typed ->> 'ean_code', before ->> 'postal_code', (before ->> 'house_number')::int,
        before ->> 'house_number_addition', request -> 'register');
      if checked.outcome = 'mismatch' then
        return jsonb_build_object('outcome', 'ean_address_mismatch');
      end if;
      kept := kept || jsonb_build_object('ean_check', to_jsonb(checked) - 'street' - 'city');
    when 'payout' then
      kept := case when jsonb_typeof(request -> 'iban') = 'object' then kept || jsonb_build_object('iban', request -> 'iban')
                   when request -> 'later' = 'true' then kept - 'iban' else kept end;
    when 'charger' then
      if private.charger_taken(typed ->> 'brand', typed ->> 'serial_number') then
        return jsonb_build_object('outcome', 'charger_claimed');
      end if;
    else null;
  end case;
  update core.drafts d
     set progress = kept || jsonb_build_object(
           'answers', answers, 'confirmed', (coalesce(kept -> 'confirmed', '[]') - step) || to_jsonb(step))
   where d.partner_id = draft.partner_id and d.id = draft.id
  returning * into draft;
  return jsonb_build_object('outcome', 'saved', 'open_step', private.claim_open_step(draft));
end $$;
comment on function private.save_step(core.drafts, jsonb) is
  'Keeps what a step asked: {step, answers, register, iban, later}. Outcome saved, or ean_in_use|ean_address_mismatch|charger_claimed and nothing kept.';

grant execute on function private.candidates_at(jsonb, jsonb), private.save_step(core.drafts, jsonb) to api_owner;

create function api.save_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status is distinct from 'claimed' then
    return json_build_object('outcome', 'not_open');
  end if;
  return private.save_step(draft, request)::json;
end $$;
comment on function api.save_claim(jsonb, jsonb) is
  'Keeps a step of a claim whose address is proven: {draft_id, step, answers, register, iban, later} to {outcome, open_step}.';
select private.expose('api.save_claim(jsonb, jsonb)');

-- Signing --------------------------------------------------------------------------------------------------------------

create function private.attribute_claimant(draft core.drafts) returns boolean
language plpgsql security definer
set search_path = ''
as $$
begin
  insert into core.attributions (partner_id, user_id, source, external_ref, attached_month)
  values (draft.partner_id, draft.user_id, case draft.source when 'invite' then 'partner_invite' else 'partner_upload' end, draft.external_ref, date_trunc('month', private.today())::date)
  on conflict on constraint attributions_user_id_key do nothing;
  return exists (select from core.attributions a where a.user_id = draft.user_id and a.partner_id = draft.partner_id);
end $$;
comment on function private.attribute_claimant(core.drafts) is
  'Attributes the person of a draft to its partner; false when another partner has them. Definer, because it looks across tenants.';

create function private.add_own_charger(account uuid, connection uuid, chosen jsonb, details jsonb default '{}') returns uuid
language plpgsql
set search_path = ''
as $$
declare
  charger uuid;
begin
  insert into core.chargers (partner_id, account_id, connection_id, user_id, catalog_charger_id, brand, serial_number, mid_eligible, nickname, power_kw)
  select private.partner_id(), account, connection, private.user_id(), m.id, m.brand, chosen ->> 'serial_number', m.mid_meter,
         left(m.brand || ' ' || m.model, 100), (chosen ->> 'power_kw')::numeric
    from core.charger_models m where m.id = (chosen ->> 'catalog_charger_id')::uuid
  returning id into charger;
  if charger is not null then
    perform private.audit('charger.registered', charger, details);
  end if;
  return charger;
end $$;
comment on function private.add_own_charger(uuid, uuid, jsonb, jsonb) is
  'A charger on the account of the person who acts: {catalog_charger_id, serial_number, power_kw?}; null where they put it off. A taken serial number is a unique violation.';

create function private.open_account(draft core.drafts, facts jsonb, request jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  answers    constant jsonb := private.claim_answers(draft);
  checked    constant jsonb := draft.progress -> 'ean_check';
  ean        constant text := facts ->> 'ean_code';
  account    uuid;
  connection uuid;
  link       core.mandate_links;
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
  -- evidence hangs on a link; this one was never anybody's to open: the claim link is
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, expires_at)
  values (private.house(), connection, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), request #>> '{mail,locale}', 1, private.now())
  returning * into link;
  perform private.audit('account.created', account, jsonb_build_object('draft_id', draft.id, 'for', draft.partner_id));
  perform private.record_signature(link, facts, request);
  perform private.act_for_partner(draft.partner_id);
  return account;
end $$;
comment on function private.open_account(core.drafts, jsonb, jsonb) is
  'What a signed claim becomes, in the service''s own tenant: account, signatory, connection, charger where one was chosen, mandate. A taken EAN or serial number is a unique violation.';

grant execute on function
  private.attribute_claimant(core.drafts), private.add_own_charger(uuid, uuid, jsonb, jsonb), private.open_account(core.drafts, jsonb, jsonb)
to api_owner;

create function api.sign_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft    core.drafts;
  facts    jsonb;
  refused  text;
  account  uuid;
  violated text;
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status is distinct from 'claimed' or draft.user_id is null or private.claim_open_step(draft) is not null then
    return json_build_object('outcome', 'not_open');
  end if;
  facts := private.claim_facts(draft);
  if facts is distinct from request -> 'facts' then
    return json_build_object('outcome', 'changed');
  end if;
  refused := private.claim_code_outcome(draft, request ->> 'code_hash');
  if refused is not null then
    return json_build_object('outcome', refused);
  elsif (private.claimant(draft.email, draft.partner_id)).taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return json_build_object('outcome', 'conflict');
  end if;

  begin
    account := private.open_account(draft, facts, request);
  exception when unique_violation then
    get stacked diagnostics violated = constraint_name;
    if violated = 'connections_active_ean' then
      perform private.end_in_conflict(draft, 'ean_in_use');
      return json_build_object('outcome', 'conflict');
    elsif violated = 'chargers_active_serial' then
      return json_build_object('outcome', 'charger_claimed');
    end if;
    raise;
  end;
  if not private.attribute_claimant(draft) then
    raise exception 'the login of draft % was attributed elsewhere meanwhile', draft.id using errcode = 'serialization_failure';
  end if;
  update core.drafts d
     set status = 'active', account_id = account, activated_at = private.now(), code_hash = null, code_expires_at = null,
         progress = jsonb_strip_nulls(jsonb_build_object('return_url', d.progress ->> 'return_url'))
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id);
  perform private.audit('draft.activated', draft.id);
  return json_build_object('outcome', 'signed');
end $$;
comment on function api.sign_claim(jsonb, jsonb) is
  'Signs, and makes the draft an account: {draft_id, facts, signed_name, code_hash, document, document_sha256, address, user_agent, mail}. '
  'Outcome signed|changed|conflict|charger_claimed|wrong_code|code_expired|too_many_attempts|not_open; facts must still be what was shown.';
select private.expose('api.sign_claim(jsonb, jsonb)');

-- After signing --------------------------------------------------------------------------------------------------------

create function private.mandated_connection(account uuid) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  connection uuid;
begin
  -- locked as every other change of a mandate does
  perform from core.connections c where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' for update;
  select c.id into connection
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.mandate_status = 'signed'
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active'
   order by m.signed_at desc, c.id limit 1;
  return connection;
end $$;
comment on function private.mandated_connection(uuid) is 'The active connection of an account whose mandate holds, locked; null where none does.';

create function private.complete_payout(draft core.drafts, request jsonb) returns text
language plpgsql
set search_path = ''
as $$
declare
  before text;
begin
  select a.iban_last4 into before from core.accounts a where a.partner_id = private.partner_id() and a.id = draft.account_id for no key update;
  if not found or jsonb_typeof(request -> 'iban') is distinct from 'object' then
    return 'not_open';
  elsif before is not null and request -> 'missing' = 'true' then
    return 'saved';
  end if;
  perform private.store_iban(draft.account_id, request -> 'iban');
  if before is not null then
    perform private.act_for_partner(draft.partner_id);
    perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_iban:' || draft.id || ':' || gen_random_uuid());
  end if;
  return 'saved';
end $$;
comment on function private.complete_payout(core.drafts, jsonb) is
  'Stores where the compensation goes, also when the mandate has ended: what was registered before is still paid. The customer is mailed when another IBAN was there; with missing that one stays.';

create function private.complete_charger(draft core.drafts, answers jsonb) returns text
language plpgsql
set search_path = ''
as $$
declare
  connection uuid;
  model      constant uuid := (answers ->> 'catalog_charger_id')::uuid;
  serial     constant text := answers ->> 'serial_number';
  active     int;
begin
  -- POST /chargers counts the same ten under this lock, and takes it first: its charger then locks the connection
  perform pg_advisory_xact_lock(hashtextextended('chargers of ' || draft.user_id, 0));
  connection := private.mandated_connection(draft.account_id);
  if connection is null or model is null then
    return 'not_open';
  end if;
  if exists (select from core.chargers h
              where h.partner_id = private.partner_id() and h.account_id = draft.account_id and h.status = 'active'
                and h.catalog_charger_id = model and h.serial_number is not distinct from serial) then
    return 'saved';
  end if;
  select count(*) into active from core.chargers h where h.user_id = draft.user_id and h.status = 'active';
  if active >= 10 then
    return 'charger_limit_reached';
  elsif active > 0 and serial is null then
    return 'serial_number_required';
  end if;
  perform private.add_own_charger(draft.account_id, connection, answers);
  perform private.advance_registration(draft.account_id, true);
  return 'saved';
exception when unique_violation then
  return 'charger_claimed';
end $$;
comment on function private.complete_charger(core.drafts, jsonb) is
  'Adds a charger to the account of a signed claim, by the rules of POST /v1/chargers; the same one again changes nothing. A mandate that ended takes none.';

grant execute on function
  private.mandated_connection(uuid), private.complete_payout(core.drafts, jsonb), private.complete_charger(core.drafts, jsonb)
to api_owner;

create function api.complete_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft   core.drafts;
  outcome text := 'not_open';
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status = 'active' then
    perform private.enter_account(draft);
    outcome := case request ->> 'step' when 'payout' then private.complete_payout(draft, request)
                                       when 'charger' then private.complete_charger(draft, request -> 'answers') else outcome end;
  end if;
  return json_build_object('outcome', outcome);
end $$;
comment on function api.complete_claim(jsonb, jsonb) is
  'Adds to a signed claim what was put off, or changes it: {draft_id, step: payout|charger, answers, iban, missing, mail} to '
  '{outcome: saved|charger_claimed|charger_limit_reached|serial_number_required|not_open}. The browser has a session of this claim.';
select private.expose('api.complete_claim(jsonb, jsonb)');

create function api.revoke_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft      core.drafts;
  connection uuid;
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status = 'active' then
    perform private.enter_account(draft);
    connection := private.mandated_connection(draft.account_id);
  end if;
  if connection is null then
    return json_build_object('outcome', 'not_open');
  end if;
  perform private.end_mandate(connection, 'revoked', 'customer');
  return json_build_object('outcome', 'revoked');
end $$;
comment on function api.revoke_claim(jsonb, jsonb) is
  'The customer ends the mandate of their claim: {draft_id} to {outcome: revoked|not_open}. Open months are judged again; locked ones and the registration stay.';
select private.expose('api.revoke_claim(jsonb, jsonb)');

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."account_story"(core.accounts);

DROP FUNCTION "private"."admit_signatory"(core.page_sessions, jsonb);

DROP FUNCTION "private"."attribute_claimant"(core.drafts);

DROP FUNCTION "private"."candidates_at"(jsonb, jsonb);

DROP FUNCTION "private"."claim_customer"(uuid, uuid, text, text);

DROP FUNCTION "private"."claim_ocpp_identity"(text);

DROP FUNCTION "private"."claim_serial_number"(text, text);

DROP FUNCTION "private"."close_balances"(uuid, uuid[]);

DROP FUNCTION "private"."connection_update_answer"(uuid, boolean, boolean);

DROP FUNCTION "private"."correct_connection"(core.connections, jsonb, text);

DROP FUNCTION "private"."credit_rows"(core.bookings, private.credit_line[]);

DROP FUNCTION "private"."due_accounts"(uuid[], uuid[], date);

DROP FUNCTION "private"."emit_ended"(uuid, uuid[]);

DROP FUNCTION "private"."emit_published"(uuid, integer);

DROP FUNCTION "private"."end_customer"(uuid, text, text);

DROP FUNCTION "private"."end_ways_in"(uuid);

DROP FUNCTION "private"."fail_lines"(text[], text);

DROP FUNCTION "private"."is_online"(core.chargers);

DROP FUNCTION "private"."is_suppressed"(bytea);

DROP FUNCTION "private"."key_holder"(jsonb);

DROP FUNCTION "private"."lapse_mandates"(uuid);

DROP FUNCTION "private"."lease_mail"(integer);

DROP FUNCTION "private"."may_be_told"(core.webhook_endpoints);

DROP FUNCTION "private"."months_of"(date);

DROP FUNCTION "private"."months_wait"(core.connections);

DROP FUNCTION "private"."newest_drafts"(uuid, text, integer);

DROP FUNCTION "private"."open_chains"();

DROP FUNCTION "private"."own_webhook"(text);

DROP FUNCTION "private"."partner_story"(core.partners);

DROP FUNCTION "private"."preview_quarter"(date, uuid);

DROP FUNCTION "private"."probe_delay"(integer);

DROP FUNCTION "private"."read_redirect_uris"(jsonb);

DROP FUNCTION "private"."read_sale"(core.bookings, jsonb);

DROP FUNCTION "private"."recount_dashboard"();

DROP FUNCTION "private"."save_step"(core.drafts, jsonb);

DROP FUNCTION "private"."see_chargers"(private.charging_session_item[]);

DROP FUNCTION "private"."session_began"();

DROP FUNCTION "private"."signed_mandate"(uuid);

DROP FUNCTION "private"."sold_by_year"();

DROP FUNCTION "private"."statements_of"(uuid);

DROP FUNCTION "private"."tell_secured"(uuid, text, jsonb);

DROP FUNCTION "private"."update_webhook"(core.webhook_endpoints, jsonb);

DROP FUNCTION "private"."withdraw_booking"(uuid, uuid, text);

ALTER TABLE "core"."oauth_consents"
  DROP COLUMN "first_at";

ALTER TABLE "core"."dashboards"
  ADD COLUMN "failed_at" timestamp WITH time zone;

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
  return private.lease_mail((batch ->> 'size')::int, batch ->> 'key');
end $function$;

CREATE OR REPLACE FUNCTION api.read_connection_mandate (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  connection uuid;
begin
  perform private.act_as(caller, 'cpo');
  select c.id into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (request ->> 'connection_id')::uuid;
  perform private.refuse_if('connection_not_found', connection is null);
  -- the mandate that covers today, else the one signed last
  return private.mandate_document((
    select m.id from core.mandates m
     where m.partner_id = private.partner_id() and m.connection_id = connection and m.document is not null
     order by m.status = 'signed' and private.today() between m.valid_from and m.valid_until desc, m.created_at desc limit 1));
end $function$;

CREATE OR REPLACE FUNCTION api.read_own_overview (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := extract(year from private.today());
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(), 'year', year, 'name', private.own_name(),
    'months', (select coalesce(json_agg(m order by m.month), '[]') from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'position', private.own_ere_position(year), 'prices', private.own_prices(year), 'accounts', private.own_accounts());
end $function$;

CREATE OR REPLACE FUNCTION api.read_own_start (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := extract(year from private.today());
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(), 'year', year,
    'name', private.own_name(),
    'charged_kwh', (select coalesce(sum(m.kwh), 0) from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'quarters', (select coalesce(json_agg(json_build_object('quarter', q.quarter, 'kwh', q.kwh, 'ere', q.ere, 'sold_ere', q.sold_ere,
                                                            'net_eur', q.net, 'unpaid_eur', q.unpaid) order by q.quarter), '[]')
                   from private.own_quarters('-infinity', 'infinity') q),
    'paid', private.own_paid(year),
    'prices', private.own_prices(year),
    'progress', private.own_progress(),
    'idle_chargers', private.own_idle_chargers(year),
    'left_out', private.own_left_out(year),
    'accounts', private.own_accounts());
end $function$;

ALTER FUNCTION "api"."read_own_start"(jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.recount_dashboard (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'worker');
  return (select row_to_json(r) from private.recount_dashboard() r);
end $function$;

CREATE OR REPLACE FUNCTION api.register_charger (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  serial     constant text := input ->> 'serial_number';
  account    uuid;
  connection uuid;
  model      core.charger_models;
  charger    core.chargers;
  active     int;
begin
  perform private.act_as(caller, 'cpo');
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  -- of parallel registrations of one charger the later ones wait here, and then find it
  perform private.lock_chargers(account, null);
  charger := private.known_charger(account, serial);
  if charger.id is not null then
    return private.charger_answer(charger, true);
  end if;
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  model := private.choose_model(input);
  if serial is null then
    select h.* into charger from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active'
       and h.serial_number is null and h.catalog_charger_id = model.id;
    if found then
      return private.charger_answer(charger, true);
    end if;
  end if;
  active := private.require_charger_room(account, null);
  perform private.refuse_if('serial_number_required', active > 0 and serial is null);
  perform private.refuse_if('charger_claimed', not private.reserve_serial_number(model.brand, serial));

  insert into core.chargers
    (partner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, ocpp_vendor, ocpp_model, ocpp_meter_type, mid_eligible, power_kw)
  values
    (private.partner_id(), account, connection, model.id, model.brand, serial, input ->> 'ocpp_vendor', input ->> 'ocpp_model',
     input ->> 'ocpp_meter_type', model.mid_meter, (input ->> 'power_kw')::numeric)
  returning * into charger;
  perform private.advance_registration(account, true);
  perform private.audit('charger.registered', charger.id);
  perform private.free_parked(charger.owner_id, private.name_charger(charger, input));
  return private.charger_answer(charger, false);
end $function$;

CREATE OR REPLACE FUNCTION api.register_own_charger (
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
  charger    core.chargers;
begin
  perform private.act_as(caller, 'user', 'session');
  perform private.require_charger_room(null, private.user_id());
  select a.id, c.id into account, connection
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where a.user_id = private.user_id()
   order by c.created_at, c.id limit 1;
  perform private.refuse_if('ocpp_identity_taken', not private.reserve_ocpp_identity(input ->> 'ocpp_identity'),
    json_build_object('ocpp_identity', input ->> 'ocpp_identity'));
  insert into core.chargers
    (partner_id, account_id, connection_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash)
  values (private.partner_id(), account, connection, private.user_id(), input ->> 'nickname', 'ocpp',
          input ->> 'ocpp_identity', decode(input ->> 'password_hash', 'hex'))
  returning * into charger;
  perform private.audit('charger.registered', charger.id), private.emit_charger('charger.registered', charger);
  return json_build_object('id', charger.id);
end $function$;

CREATE OR REPLACE FUNCTION api.save_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  step    constant text  := request ->> 'step';
  typed   constant jsonb := request -> 'answers';
  draft   core.drafts;
  before  jsonb;
  kept    jsonb;
  answers jsonb;
  points  jsonb;
  moved   boolean;
  checked record;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  -- judged on the locked row: a code may have been proved since the page was opened
  perform private.refuse_if('claim_not_open', draft.status is distinct from 'claimed' or request ->> 'proved_by' = 'link' and private.ends_links(draft));
  before := private.claim_answers(draft);
  kept := draft.progress;
  answers := coalesce(kept -> 'answers', '{}') || typed;
  case step
    when 'address' then
      moved := (before - 'street' - 'city') || (typed - 'street' - 'city') <> before - 'street' - 'city';
      points := case when request #>> '{ean_register,source}' = 'table'
        then private.points_in_table(typed ->> 'postal_code', (typed ->> 'house_number')::int, typed ->> 'house_number_addition')
        else coalesce(request #> '{ean_register,points}', '[]') end;
      if points = '[]' and not moved then
        points := draft.ean_candidates;  -- the EAN register gives no answer now, but gave one when the draft was made
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
      perform private.refuse_if('ean_in_use', private.ean_taken(typed ->> 'ean_code'));
      select * into checked from private.check_ean(typed ->> 'ean_code', before ->> 'postal_code', (before ->> 'house_number')::int,
        before ->> 'house_number_addition', request -> 'ean_register');
      perform private.refuse_if('ean_address_mismatch', checked.outcome = 'mismatch');
      kept := kept || jsonb_build_object('ean_check', to_jsonb(checked) - 'street' - 'city');
    when 'payout' then
      kept := case when jsonb_typeof(request -> 'iban') = 'object' then kept || jsonb_build_object('iban', request -> 'iban', 'iban_by_link', request ->> 'proved_by' = 'link')
                   when request -> 'later' = 'true' then kept - 'iban' - 'iban_by_link' else kept end;
    when 'charger' then
      perform private.refuse_if('charger_claimed', private.charger_taken(typed ->> 'brand', typed ->> 'serial_number'));
    else null;
  end case;
  update core.drafts d
     set progress = kept || jsonb_build_object(
           'answers', answers, 'confirmed', (coalesce(kept -> 'confirmed', '[]') - step) || to_jsonb(step))
   where d.partner_id = draft.partner_id and d.id = draft.id
  returning * into draft;
  return json_build_object('open_step', private.claim_open_step(private.draft_for(draft, request ->> 'proved_by')));
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
  if private.reserve_customer(draft.user_id, draft.partner_id, case draft.source when 'invite' then 'partner_invite' else 'partner_upload' end,
                            draft.external_ref) is null then
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

    wanted := wanted || jsonb_strip_nulls(jsonb_build_object(
      'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city)));
    -- the registration starts again
    update core.connections c
       set ean_code = ean,
           ean_exclusive = not private.is_test_ean(ean),
           location_id = private.location_for(wanted),
           ean_validation_status = case checked.outcome when 'matched' then 'matched' else 'unverified' end,
           ean_checked_at = private.now(),
           registration_status = 'concept',
           submitted_at = null
     where c.partner_id = connection.partner_id and c.id = connection.id;
    perform private.void_mandate_links(connection.id), private.drop_unused_location(connection.location_id);
    -- earlier signatures no longer cover its open months
    update core.mandates m set lapsed_at = private.now()
     where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.covered_until is not null;
    perform private.judge_months(connection.id) where found;
    perform private.end_mandate(connection.id, 'revoked', 'connection_updated') where signed;
    perform private.audit('connection.updated', connection.id, jsonb_build_object('mandate_revoked', signed));
    changed := true;
  end if;
  return (
    select json_build_object(
      'ok', true,
      'changed', changed,
      'connection_id', c.id,
      'account_id', c.account_id,
      'ean_code', c.ean_code,
      'ean_validation_status', c.ean_validation_status,
      'registration_status', c.registration_status,
      'mandate_status', m.mandate_status,
      'mandate_revoked', changed and signed)
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
    where c.partner_id = connection.partner_id and c.id = connection.id);
end $function$;

CREATE OR REPLACE FUNCTION api.update_webhook (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  endpoint core.webhook_endpoints;
  before   core.webhook_endpoints;
begin
  perform private.act_on_webhooks(caller), private.require_recent_sign_in();
  before := private.own_webhook(input ->> 'webhook_id');
  endpoint := before;
  endpoint.url := coalesce(input ->> 'url', endpoint.url);
  if input ? 'types' then
    endpoint.types := (select array_agg(t) from jsonb_array_elements_text(nullif(input -> 'types', 'null')) t);
  end if;
  if endpoint = before then
    return private.webhook_json(before);
  end if;
  if endpoint.url <> before.url then
    -- what an application redirects is no more than what it may read
    endpoint.pseudonymous := endpoint.pseudonymous or not private.is_partner_itself();
    -- another receiver is tried at once, and whoever is sending to the one before says nothing of it any more
    endpoint.failures := 0;
    endpoint.failing_since := null;
    endpoint.last_error := null;
    endpoint.warnings := 0;
    endpoint.probe_at := null;
    endpoint.lease_id := null;
    endpoint.lease_until := null;
  end if;
  update core.webhook_endpoints e
     set (url, types, pseudonymous, failures, failing_since, last_error, warnings, probe_at, lease_id, lease_until)
       = (endpoint.url, endpoint.types, endpoint.pseudonymous, endpoint.failures, endpoint.failing_since, endpoint.last_error, endpoint.warnings,
          endpoint.probe_at, endpoint.lease_id, endpoint.lease_until)
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
  perform private.audit('webhook.updated', endpoint.id, jsonb_build_object('changed', to_jsonb(array_remove(array[
    case when endpoint.url <> before.url then 'url' end, case when endpoint.types is distinct from before.types then 'types' end], null))));
  return private.webhook_json(endpoint);
end $function$;

CREATE OR REPLACE FUNCTION ops.account_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account constant core.accounts := private.account_meant(input);
begin
  perform private.audit('account.shown', account.id);
  return json_build_object(
    'account', json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'access_channel', account.access_channel, 'type', account.type,
      'display_name', account.display_name, 'company', account.company, 'payout_handler', account.payout_handler,
      'iban_last4', account.iban_last4, 'balance_eur', private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'brought_by', (select p.slug from core.attributions t join core.partners p on p.id = t.partner_id where t.user_id = account.user_id),
      'created_at', private.iso(account.created_at)),
    'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email, 'phone', s.phone)
                    from core.signatories s where s.partner_id = account.partner_id and s.account_id = account.id),
    'connections', (select coalesce(json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id), '[]')
                      from core.connections c where c.partner_id = account.partner_id and c.account_id = account.id),
    'mandates', (select coalesce(json_agg(json_build_object(
                          'connection_id', c.id, 'status', m.status, 'renewal', m.renewal, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
                          'covered_until', m.covered_until, 'fee_pct', m.fee_pct, 'signed_name', m.signed_name, 'signed_at', private.iso(m.signed_at),
                          'code_confirmed', m.code_confirmed, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason)
                          order by m.created_at, m.id), '[]')
                   from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                  where c.partner_id = account.partner_id and c.account_id = account.id),
    'chargers', (select coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]')
                   from core.chargers h where h.partner_id = account.partner_id and h.account_id = account.id),
    'months', (select coalesce(json_agg(json_build_object('year', g.year, 'status', g.status, 'months', g.months, 'kwh', g.kwh) order by g.year, g.status), '[]')
                 from (select extract(year from d.period)::int as year, d.status, count(*) as months, sum(d.total_kwh) as kwh
                         from core.connections c join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
                        where c.partner_id = account.partner_id and c.account_id = account.id group by 1, 2) g),
    'told', (select coalesce(json_agg(json_build_object('kind', n.kind, 'created_at', private.iso(n.created_at), 'waits', n.due_at is not null) order by n.created_at, n.id), '[]')
               from core.notices n where n.partner_id = account.partner_id and n.account_id = account.id));
end $function$;

CREATE OR REPLACE FUNCTION ops.app_create (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  wanted constant text[] := array(select distinct jsonb_array_elements_text(input -> 'redirect_uris'));
  app    uuid;
begin
  perform private.act_as_operator(input);
  -- compared letter for letter later on, so what is registered must be plain: https, or http on the machine itself; ASCII; no
  -- credentials, no fragment (RFC 6749 section 3.1.2, RFC 9700 section 2.1)
  if cardinality(wanted) not between 1 and 10 or exists (
    select from unnest(wanted) uri
     where length(uri) > 500 or uri ~ '[^!-~]' or uri ~ '[\\"<>^`{|}#]'
        or uri !~ '^(https://[^/?@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)([/?].*)?$') then
    perform private.refuse('invalid_redirect_uris');
  end if;
  insert into core.oauth_clients (client_id, partner_id, name, operated_by, secret_hash, grant_types, scopes, redirect_uris)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.business_named(input)).id end,
          private.operator_name(input ->> 'name'),
          private.operator_name(input ->> 'operated_by'),
          decode(input ->> 'secret_hash', 'hex'),
          '{authorization_code,refresh_token}',
          private.read_scopes(input -> 'scopes', 'user'),
          wanted)
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning id into app;
  perform private.refuse_if('client_id_taken', app is null, json_build_object('client_id', input ->> 'client_id'));
  perform private.audit('app.created', app, jsonb_build_object('scopes', input -> 'scopes', 'redirect_uris', input -> 'redirect_uris'));
  return json_build_object('app', private.app_row(app));
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_preview (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  quarter constant date := private.read_quarter(input ->> 'quarter');
  chosen  constant uuid := private.chosen_partner(input);
begin
  return (
    with month as materialized (
      select p.slug, j.reason is null as taken, j.reason, j.flags, j.account_id, j.connection_id, j.ean_code, j.period, j.kwh, j.session_count,
             case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end as source, j.kwh * j.ere_per_kwh as ere
        from core.partners p
        cross join lateral private.judge_quarter(p.id, quarter) j
       where chosen is null or p.id = chosen
      union all
      -- sessions that came after their month was locked, which are in no booking, and those withdrawn since, which are in one
      select p.slug, false, w.reason, '{}', c.account_id, c.id, c.ean_code, s.month, sum(s.wh) / 1000.0, count(*)::int, 'own_sessions', null::numeric
        from core.charging_sessions s
        join core.partners p on p.id = s.partner_id
        join core.connections c on c.partner_id = s.partner_id and c.id = s.connection_id
       cross join lateral (select case when 'withdrawn' = any (s.flags) then 'withdrawn_after_lock' else 'arrived_after_lock' end as reason) w
       where s.month >= quarter and s.month < (quarter + interval '3 months')::date and 'after_lock' = any (s.flags)
         and (chosen is null or p.id = chosen)
       group by p.slug, w.reason, c.account_id, c.id, c.ean_code, s.month
    ), flagged as (
      select m.* from month m where m.taken and m.flags <> '{}' order by cardinality(m.flags) desc, m.kwh desc, m.ean_code, m.period
    )
    select json_build_object(
      'quarter', private.quarter_name(quarter),
      'flagged', (select coalesce(json_agg(json_build_object(
                    'partner_slug', f.slug, 'ean_code', f.ean_code, 'period', to_char(f.period, 'YYYY-MM'), 'kwh', f.kwh,
                    'session_count', f.session_count, 'flags', f.flags)), '[]') from (select * from flagged limit 20) f),
      'flagged_months', (select count(*) from flagged),
      'taken', (select coalesce(json_agg(json_build_object(
                  'partner_slug', t.slug, 'months', t.months, 'kwh', t.kwh, 'ere', t.ere) order by t.slug), '[]')
                  from (select m.slug, count(*) as months, sum(m.kwh) as kwh, sum(m.ere) as ere from month m where m.taken group by m.slug) t),
      'left_out', (select coalesce(json_agg(json_build_object(
                     'reason', l.reason, 'months', l.months, 'kwh', l.kwh) order by l.months desc, l.reason), '[]')
                     from (select m.reason, count(*) as months, sum(m.kwh) as kwh from month m where not m.taken group by m.reason) l),
      'total', (select json_build_object('months', count(*), 'kwh', coalesce(sum(m.kwh), 0), 'ere', coalesce(sum(m.ere), 0)) from month m where m.taken),
      'csv', case when input ? 'csv' then (
        select private.csv_line('taken', 'reason', 'flags', 'partner', 'account_id', 'connection_id', 'ean', 'period', 'kwh', 'sessions', 'source', 'ere')
               || coalesce(string_agg(private.csv_line(
                    case when m.taken then 'yes' else 'no' end, m.reason, array_to_string(m.flags, ' '), m.slug, m.account_id::text,
                    m.connection_id::text, m.ean_code, to_char(m.period, 'YYYY-MM'), m.kwh::text, m.session_count::text, m.source, m.ere::text), ''
                    order by cardinality(m.flags) desc, m.taken desc, m.slug, m.ean_code, m.period, m.reason), '')
          from month m) end));
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_withdraw (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  reason  constant text := case when input ->> 'reason' is not null then private.operator_reason(input ->> 'reason') end;
  booking core.bookings := private.booking_named(input);
  tenant  constant uuid := booking.partner_id;
  taken   core.booking_rows[];
begin
  booking := private.lock_booking(tenant, booking.id);
  if booking.status = 'withdrawn' then
    return private.booking_answer(booking, false);
  elsif exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id and r.status in ('registered', 'rejected')) then
    perform private.refuse('booking_credited', json_build_object('booking', booking.id));
  elsif booking.exported_at is not null and reason is null then
    perform private.refuse('booking_exported', json_build_object('booking', booking.id, 'exported_at', private.iso(booking.exported_at)));
  end if;
  taken := array(select r from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id);
  perform private.lock_connections(tenant, array(select r.connection_id from unnest(taken) r));
  update core.booking_rows r set status = 'withdrawn' where r.partner_id = tenant and r.booking_id = booking.id;
  perform private.reverse_postings(tenant, array(select 'row:' || r.id || ':submitted' from unnest(taken) r));
  perform private.unlock_months(tenant, array_agg(r.connection_id), array_agg(r.period)) from unnest(taken) r;
  update core.bookings b set status = 'withdrawn', withdrawn_at = private.now() where b.partner_id = tenant and b.id = booking.id;
  perform private.sum_booking(tenant, booking.id);
  perform private.audit('booking.withdrawn', booking.id, jsonb_strip_nulls(jsonb_build_object('rows', cardinality(taken), 'reason', reason)));
  perform private.emit_months(tenant, 'account.months_reopened', array(select r.id from unnest(taken) r));
  return private.booking_answer(booking, true);
end $function$;

CREATE OR REPLACE FUNCTION ops.draft_list (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  chosen constant text := input ->> 'status';
  most   constant int  := coalesce((input ->> 'limit')::int, 20);
  tenant uuid;
  found  json;
begin
  perform private.act_as_operator(input);
  if input ->> 'partner' is not null then
    tenant := (private.business_named(input)).id;
  end if;
  found := (
    select coalesce(json_agg(json_build_object(
             'draft_id', d.id, 'partner_slug', p.slug, 'status', private.draft_status(d), 'conflict_reason', d.conflict_reason, 'type', d.type,
             'name', coalesce(d.contact_name, d.name, d.company_name), 'email', d.email, 'external_ref', d.external_ref, 'ean_status', d.ean_status,
             'open_step', case when d.status = 'claimed' then private.claim_open_step(d) end, 'reminders_sent', d.reminders_sent,
             'created_at', private.iso(d.created_at), 'claimed_at', private.iso(d.claimed_at), 'expires_at', private.iso(d.expires_at))
             order by d.created_at desc, d.id desc), '[]')
      from (
        select d.* from (
          -- status by status, each of which an index has newest first
          select l.* from unnest(case when chosen is null then array['invited', 'claimed', 'expired', 'conflict', 'active'] else array[chosen] end) as s (status)
            cross join lateral (
              select d.* from core.drafts d
               where d.status = s.status and (tenant is null or d.partner_id = tenant)
                 and (chosen is null or d.status <> 'invited' or d.expires_at > private.now())
               order by d.created_at desc, d.id desc limit most) l
          union all
          -- expired, and not written down by the job yet
          (select d.* from core.drafts d
            where chosen = 'expired' and d.status = 'invited' and d.expires_at <= private.now() and (tenant is null or d.partner_id = tenant)
            order by d.created_at desc, d.id desc limit most)) d
        order by d.created_at desc, d.id desc limit most) d
      join core.partners p on p.id = d.partner_id);
  if json_array_length(found) > 0 then
    perform private.audit('drafts.listed', tenant, jsonb_build_object('drafts', json_array_length(found)));
  end if;
  return json_build_object('drafts', found);
end $function$;

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
  perform private.refuse_if('mail_not_found', mail.id is null, json_build_object('mail', input ->> 'id'));
  perform private.refuse_if('mail_sent', mail.status = 'sent', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_captured', mail.status = 'captured', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_dropped', mail.status = 'dropped', json_build_object('mail', mail.id));
  select * into partner from core.partners p where p.id = mail.partner_id;
  perform private.act_for_partner(mail.partner_id);
  if mail.template in ('claim', 'reminder', 'sign_in', 'mandate_link') and not partner.is_active then
    perform private.refuse('mail_of_inactive_partner', json_build_object('mail', mail.id, 'partner', partner.slug));
  -- its reader opted out by its unsubscribe link, which has the hash of the address; who did by a newer one is found when it is sent
  elsif exists (select from core.suppressions s
                 where s.email_hash = decode((regexp_match(mail.content ->> 'unsubscribe_url', '/([0-9a-f]{64})-[^/]*$'))[1], 'hex')) then
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

CREATE OR REPLACE FUNCTION ops.partner_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.partner_named(input);
begin
  perform private.audit('partner.shown', partner.id);
  return json_build_object(
    'partner', private.partner_settings(partner),
    'counts', json_build_object(
      'cpo_accounts', (select coalesce(sum(k.accounts), 0) from core.account_counts k where k.partner_id = partner.id),
      'customers', (select count(*) from core.attributions k where k.partner_id = partner.id),
      'drafts', (select coalesce(json_object_agg(d.status, d.drafts order by d.status), '{}')
                   from private.drafts_by_status(partner.id) d where d.drafts > 0),
      'drafts_left', greatest(private.draft_cap() - (
        select count(*) from core.draft_uploads u where u.partner_id = partner.id and u.at > private.now() - interval '30 days'), 0),
      'failed_mails', (select count(*) from core.mail_outbox m
                        where (m.status = 'failed' or m.status = 'queued' and m.last_error is not null) and m.partner_id = partner.id),
      -- what people bring it is earned in the house's ledger
      'balance_eur', (select sum(private.balance(l.tenant, 'EUR', 'partner', partner.id))
                        from unnest(array[partner.id, private.house()]) as l (tenant) where partner.id <> private.house())),
    'company', partner.company,
    'branding', partner.branding,
    'payout', json_build_object('iban_last4', partner.iban_last4, 'account_holder', partner.iban_holder),
    'managers', (select coalesce(json_agg(json_build_object('user_id', m.user_id, 'email', (private.user_profile(m.user_id)).email) order by m.user_id), '[]')
                   from core.partner_managers m where m.partner_id = partner.id),
    'key', (select json_build_object('prefix', k.prefix, 'last4', k.last4, 'created_at', private.iso(k.created_at), 'last_used_at', private.iso(k.last_used_at))
              from core.partner_keys k where k.partner_id = partner.id and k.revoked_at is null),
    'clients', (select coalesce(json_agg(private.client_row(c) order by c.created_at, c.id), '[]') from core.oauth_clients c where c.partner_id = partner.id));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_settle (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  failed constant text[] := array(select jsonb_array_elements_text(coalesce(input -> 'failed', '[]')));
  batch  core.payout_batches;
  named  text;
  reason text;
  line   core.payout_lines;
  state  text;
  paid   int := 0;
  lost   int := 0;
begin
  perform private.refuse_if('nothing_to_settle', input ->> 'batch' is null and cardinality(failed) = 0);
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  if input ->> 'batch' is not null then
    batch := private.payout_batch_named(input);
    perform private.refuse_if('payout_not_exported', batch.status not in ('exported', 'settled'),
      json_build_object('batch', batch.id, 'status', batch.status));
  end if;
  reason := private.operator_reason(coalesce(input ->> 'reason', 'the bank could not pay it'));
  foreach named in array failed loop
    select * into line from core.payout_lines l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.id = private.line_id_of(named);
    perform private.refuse_if('payout_line_not_found', not found, json_build_object('line', named));
    select b.status into state from core.payout_batches b where b.id = line.batch_id;
    perform private.refuse_if('payout_not_exported', state not in ('exported', 'settled'),
      json_build_object('batch', line.batch_id, 'status', state));
    if line.status <> 'failed' then
      perform private.fail_line(line, reason);
      lost := lost + 1;
    end if;
  end loop;
  perform private.act_for_partner(null);
  if batch.status = 'exported' then
    paid := private.pay_lines(batch.id);
    update core.payout_batches b set status = 'settled', settled_by = session_user, settled_at = private.now() where b.id = batch.id returning * into batch;
    perform private.audit('payout.settled', batch.id, jsonb_build_object('paid', paid));
  end if;
  return json_build_object(
    'changed', paid + lost > 0, 'paid', paid, 'failed', lost,
    'batch', case when batch.id is not null then private.payout_batch_row(batch) end,
    'lines', (select coalesce(json_agg(private.payout_line_row(l) order by l.arrival), '[]') from core.payout_lines l
               where l.partner_id = any (array(select p.id from core.partners p)) and l.id = any (array(select private.line_id_of(f) from unnest(failed) f))));
end $function$;

CREATE OR REPLACE FUNCTION ops.sale_record (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  booking constant core.bookings := private.submitted_booking_named(input);
  ere     constant numeric := private.as_decimal(input ->> 'ere', 6);
  price   constant numeric := private.as_decimal(input ->> 'price', 6);
  wanted  core.sales;
  sale    core.sales;
  changed boolean;
begin
  perform private.refuse_if('invalid_ere', ere > 0 is not true);
  perform private.refuse_if('invalid_price', (price > 0 and price < 1000000) is not true);
  perform private.refuse_if('invalid_date', input ? 'date' and (private.as_day(input ->> 'date') <= private.today()) is not true);
  wanted.partner_id := booking.partner_id;
  wanted.booking_id := booking.id;
  wanted.reference := private.operator_name(input ->> 'reference');
  wanted.buyer := private.operator_name(input ->> 'buyer');
  wanted.ere := ere;
  wanted.price := price;
  wanted.gross := round(ere * price, 2);
  wanted.sold_on := coalesce(private.as_day(input ->> 'date'), private.today());
  -- of two at once with one reference, for whatever bookings of a tenant, the second sees what the first recorded
  perform pg_advisory_xact_lock(hashtextextended('sale of ' || wanted.partner_id || ' ' || wanted.reference, 0));
  select * into sale from core.sales s where s.partner_id = wanted.partner_id and s.reference = wanted.reference;
  changed := not found;
  if changed then
    sale := private.record_sale(booking, wanted);
  elsif (sale.booking_id, sale.buyer, sale.ere, sale.price) <> (wanted.booking_id, wanted.buyer, wanted.ere, wanted.price)
        or input ? 'date' and sale.sold_on <> wanted.sold_on then
    perform private.refuse('reference_taken', json_build_object('reference', sale.reference));
  end if;
  return json_build_object('changed', changed, 'sale', private.sale_row(sale));
end $function$;

CREATE OR REPLACE FUNCTION ops.stats (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'at', private.iso(private.now()),
    'waits', json_build_array(
      private.waiting('registrations to review', $q$select from core.connections c where c.registration_status = 'ingediend' and c.status = 'active'$q$),
      private.waiting('chargers to judge', $q$select from core.chargers h where h.status = 'active' and h.mid_eligible is null$q$),
      private.waiting('EANs denied', $q$select from core.connections c where c.status = 'active' and c.ean_validation_status in ('mismatch', 'not_found')$q$),
      private.waiting('EANs to check again', $q$select from core.connections c where c.status = 'active' and c.ean_validation_status = 'unverified'$q$),
      private.waiting('drafts to look up',
        $q$select from core.drafts d where d.ean_status in ('pending', 'failed') and d.status in ('invited', 'claimed')$q$),
      private.waiting('mail to send', $q$select from core.mail_outbox m where m.status = 'queued'$q$),
      private.waiting('mail that failed',
        $q$select from core.mail_outbox m where m.status = 'failed' or m.status = 'queued' and m.last_error is not null$q$),
      private.waiting('notices to mail', 'select from core.notices n where n.due_at is not null'),
      private.waiting('bookings to submit', $q$select from core.bookings b where b.status = 'open'$q$),
      private.waiting('payout batches to approve', $q$select from core.payout_batches b where b.status = 'prepared'$q$),
      private.waiting('payout batches to export', $q$select from core.payout_batches b where b.status = 'approved'$q$),
      private.waiting('payout batches to settle', $q$select from core.payout_batches b where b.status = 'exported'$q$),
      private.waiting('partners with customers and nobody who manages them',
        $q$select from core.partners p
            where p.is_active and not exists (select from core.partner_managers m where m.partner_id = p.id)
              and exists (select from core.attributions a where a.partner_id = p.id)$q$)),
    'holds', json_build_array(
      private.held('partners', 'core.partners'), private.held('clients', 'core.oauth_clients'), private.held('drafts', 'core.drafts'),
      private.held('accounts', 'core.accounts'), private.held('connections', 'core.connections'), private.held('mandates', 'core.mandates'),
      private.held('chargers', 'core.chargers'), private.held('charging sessions', 'core.charging_sessions'),
      private.held('months', 'core.delivered_months'), private.held('booked months', 'core.booking_rows'),
      private.held('ledger entries', 'core.ledger_entries'), private.held('audit rows', 'core.audit_log')),
    'sold', (
      select coalesce(json_agg(json_build_object('delivery_year', y.year, 'sales', y.sales, 'ere', y.ere, 'gross_eur', y.gross) order by y.year), '[]')
        from (
          select extract(year from b.quarter)::int as year, count(*) as sales,
                 sum(s.ere) - coalesce(sum(v.ere), 0) as ere, sum(s.gross) - coalesce(sum(v.gross), 0) as gross
            from core.sales s
            join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
            left join lateral (
              select sum(a.ere) as ere, sum(a.gross) as gross
                from core.allocations a
               where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
                 and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v on true
           group by 1) y))
$function$;

CREATE OR REPLACE FUNCTION private.add_own_charger (
  account    uuid,
  connection uuid,
  chosen     jsonb,
  details    jsonb DEFAULT '{}'::jsonb
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  model   core.charger_models;
  charger core.chargers;
begin
  select * into model from core.charger_models m where m.id = (chosen ->> 'catalog_charger_id')::uuid;
  if not found then
    return null;
  elsif not private.reserve_serial_number(model.brand, chosen ->> 'serial_number') then
    perform private.refuse('charger_claimed');
  end if;
  insert into core.chargers (partner_id, account_id, connection_id, user_id, catalog_charger_id, brand, serial_number, mid_eligible, nickname, power_kw)
  values (private.partner_id(), account, connection, private.user_id(), model.id, model.brand, chosen ->> 'serial_number', model.mid_meter,
          left(model.brand || ' ' || model.model, 100), (chosen ->> 'power_kw')::numeric)
  returning * into charger;
  perform private.audit('charger.registered', charger.id, details), private.emit_charger('charger.registered', charger);
  return charger.id;
end $function$;

CREATE OR REPLACE FUNCTION private.admit_page_session (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  shown    core.page_sessions;
  admitted jsonb;
  partner  uuid;
begin
  select * into shown from core.page_sessions s
   where s.token_hash = decode(credential ->> 'token_hash', 'hex') and s.expires_at > private.now();
  if demand ->> 'kind' is distinct from 'partner' then
    if shown.user_id is null and shown.signatory is not null then
      -- as long as they sign for an account; of no tenant, so that row-level security shows them nothing
      if not private.signs(shown.signatory) then
        perform private.refuse_admission('missing_or_invalid_token');
      elsif demand ->> 'kind' is distinct from 'session' then
        perform private.refuse_admission('wrong_kind');
      end if;
      return jsonb_build_object(
        'caller', jsonb_build_object('kind', 'signatory', 'signatory', shown.signatory, 'signed_in_at', shown.created_at),
        'subject', 'signatory:' || encode(sha256(convert_to(shown.signatory, 'UTF8')), 'hex'));
    end if;
    return jsonb_set(private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand), '{caller,signatory}',
                     coalesce(to_jsonb(shown.signatory), 'null'));
  end if;
  admitted := private.admit_signed_in(shown.user_id, shown.sign_in_session_id, demand || '{"kind": "session"}');
  partner := private.managed_partner(shown.user_id);
  if partner is null then
    perform private.refuse_admission('no_partner_linked');
  end if;
  return jsonb_set(admitted, '{caller}', admitted -> 'caller' || jsonb_build_object(
    'kind', 'partner', 'partner_id', partner, 'manager_id', shown.user_id, 'user_id', null));
end $function$;

CREATE OR REPLACE FUNCTION private.admit_partner_key (
  credential jsonb,
  demand     jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  holder record;
begin
  select k.partner_id, p.is_active as partner_active into holder
    from core.partner_keys k join core.partners p on p.id = k.partner_id
   where k.key_hash = decode(credential ->> 'key_hash', 'hex') and k.revoked_at is null
     -- the sandbox handed out keys of the other prefix until September 2026
     and (credential ->> 'key_host' = credential ->> 'host' or credential ->> 'host' = 'sandbox' and k.created_at < '2026-09-01Z');
  if holder.partner_id is null then
    perform private.refuse_admission('missing_or_invalid_token');
  elsif (demand ->> 'kind' in ('partner', 'sandbox')) is not true then
    perform private.refuse_admission('wrong_kind');
  elsif (demand ->> 'key')::boolean is not true then
    perform private.refuse_admission('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif holder.partner_active is not true then
    perform private.refuse_admission('no_partner_linked');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'partner', 'partner_id', holder.partner_id),
    'subject', 'partner:' || holder.partner_id,
    'key_hash', credential -> 'key_hash');
end $function$;

CREATE OR REPLACE FUNCTION private.boot_ocpp (
  charger  core.chargers,
  protocol text,
  boot     jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  serial constant text := private.boot_serial(boot);
begin
  perform private.emit_charger('charger.connected', charger)
    from core.ocpp_links l where l.partner_id = charger.partner_id and l.charger_id = charger.id and l.booted_at is null;
  update core.ocpp_links l set boot = boot_ocpp.boot, booted_at = private.now(), protocol = boot_ocpp.protocol
   where l.partner_id = charger.partner_id and l.charger_id = charger.id;
  if charger.catalog_charger_id is null and boot ->> 'vendor' is not null and boot ->> 'model' is not null then
    perform private.identify_charger(charger, jsonb_build_object(
      'ocpp_vendor', boot ->> 'vendor', 'ocpp_model', boot ->> 'model', 'ocpp_meter_type', boot ->> 'meter_type'));
    select * into charger from core.chargers h where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
  -- one that is active elsewhere stays there: the EAN keeps a month from being booked twice
  if charger.serial_number is null and charger.brand is not null and serial ~ '^[^[:space:]a-z]{1,64}$'
     and private.reserve_serial_number(charger.brand, serial) then
    update core.chargers h set serial_number = serial where h.partner_id = charger.partner_id and h.id = charger.id;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.chain_audit (
  size integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  due     record;
  chained int := 0;
begin
  insert into core.audit_chains (partner_id, log, hash, checkpoint_hash)
  select p.id, l.log, g.hash, g.hash
    from core.partners p
   cross join (values ('audit'), ('ledger')) l (log)
   -- a chain begins with whose it is
   cross join lateral (select sha256(convert_to(l.log || ' of ' || p.id, 'UTF8')) as hash) g
   where not exists (select from core.audit_chains c where c.partner_id = p.id and c.log = l.log)
  on conflict on constraint audit_chains_pkey do nothing;
  begin
    perform private.seal_chains();
  exception when lock_not_available then
    null;  -- a chain is being written: the next run seals
  end;
  for due in
    select c.partner_id, c.log
      from core.audit_chains c
     where case c.log when 'audit' then exists (select from core.audit_log a where a.partner_id = c.partner_id and a.id > c.settled_id)
                      else exists (select from core.ledger_entries e where e.partner_id = c.partner_id and e.id > c.settled_id) end
     order by c.partner_id, c.log
  loop
    chained := chained + private.chain_rows(due.partner_id, due.log, size - chained);
    exit when chained >= size;
  end loop;
  return json_build_object(
    'chained', chained, 'more', chained >= size,
    'sealed', (select json_build_object('day', s.day, 'hash', encode(s.hash, 'hex')) from core.audit_seals s order by s.day desc limit 1));
end $function$;

CREATE OR REPLACE FUNCTION private.chosen_partner (
  input jsonb
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  return case when input ->> 'partner' is not null then (private.partner_named(input)).id end;
end $function$;

CREATE OR REPLACE FUNCTION private.claim_outcome (
  draft core.drafts
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner core.partners;
  outcome jsonb;
begin
  select * into partner from core.partners p where p.id = draft.partner_id;
  perform private.enter_account(draft);
  -- in one statement, so that it is all of one moment: what may be signed is other once somebody has signed
  select jsonb_build_object(
           'signed', private.shown_mandate(m),
           'renewal', (select private.shown_mandate(r) from core.mandates r
                        where r.partner_id = c.partner_id and r.connection_id = c.id and r.status = 'signed' and r.valid_from > private.today()
                        order by r.valid_until desc limit 1),
           'held_until', private.signed_until(c.id),
           'withdrawal', case when k.mandate_status = 'signed' then private.withdrawal_means(c.id) end,
           'checklist', g.checklist,
           'registration_status', c.registration_status,
           'ean_validation_status', c.ean_validation_status,
           'iban_last4', a.iban_last4,
           -- those that have a statement
           'payouts', (select coalesce(jsonb_agg(jsonb_build_object('line_id', l.id, 'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date,
                                                                    'amount_eur', l.amount) order by l.arrival desc), '[]')
                         from (select l.* from core.documents d join core.payout_lines l on l.partner_id = d.partner_id and l.id = d.line_id
                                where d.partner_id = a.partner_id and d.account_id = a.id order by l.arrival desc limit 100) l),
           'chargers', (select coalesce(jsonb_agg(jsonb_build_object('name', private.charger_name(h), 'serial_number', h.serial_number,
                                                                     'mid_eligible', h.mid_eligible) order by h.created_at, h.id), '[]')
                          from core.chargers h where h.partner_id = c.partner_id and h.account_id = c.account_id and h.status = 'active'))
         || case when private.may_sign_again(c.id) then private.what_may_be_signed(private.renewal_facts(c.id, partner), c.id, partner) else '{}' end
    into outcome
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    join core.mandates m on m.partner_id = c.partner_id and m.id = k.mandate_id and m.document is not null
    join core.account_gates g on g.partner_id = c.partner_id and g.account_id = c.account_id
   where c.partner_id = private.house() and c.account_id = draft.account_id
   order by c.status, m.created_at desc limit 1;
  perform private.act_for_partner(draft.partner_id);
  return coalesce(outcome, '{}');
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
        and private.reserve_customer(person, client.partner_id, 'oauth_consent') = 'new' then
    perform private.audit('user.attributed', person, jsonb_build_object('source', 'oauth_consent', 'to', client.partner_id));
  end if;

  insert into core.oauth_grants (user_id, client_id, scopes) values (person, client.id, scopes) returning id into grant_id;
  insert into core.oauth_codes (code_hash, grant_id, redirect_uri, code_challenge, expires_at)
  values (private.reserve_token_hash(request ->> 'code_hash'), grant_id, request ->> 'redirect_uri', request ->> 'code_challenge',
          private.now() + interval '10 minutes');
  perform private.audit('oauth.consented', grant_id, jsonb_build_object('client_id', client.client_id, 'scopes', scopes));
end $function$;

CREATE OR REPLACE FUNCTION private.credit_booking (
  booking core.bookings,
  lines   private.credit_line[],
  granted numeric
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  credited private.credited_row[];
  sold     constant numeric := private.balance(booking.partner_id, 'ERE', 'sold', booking.id);
begin
  -- a rejected month is open for a new delivery
  perform private.lock_connections(booking.partner_id, array(
    select r.connection_id from unnest(lines) l
      cross join lateral (select * from core.booking_rows r where r.partner_id = booking.partner_id and r.id = l.row_id offset 0) r
     where l.accepted_kwh = 0));
  credited := private.write_credits(booking.partner_id, lines);
  perform private.post(booking.partner_id, array(
    select row('credit:' || c.credit_id || ':' || p.what, p.unit, p.amount, p.debit_kind, booking.id, p.credit_kind, p.credit_owner)::private.posting
      from unnest(credited) c
      cross join lateral (values
        ('registered', 'kWh', c.accepted_kwh, 'submitted', 'registered', booking.id),
        ('written_off', 'kWh', case when c.accepted_kwh > 0 then c.kwh - c.accepted_kwh else 0 end, 'submitted', 'written_off', booking.id),
        ('rejected', 'kWh', case when c.accepted_kwh > 0 then 0 else c.kwh end, 'submitted', 'delivered', c.account_id),
        ('ere', 'ERE', c.ere, 'register', 'unsold', booking.id)) p (what, unit, amount, debit_kind, credit_kind, credit_owner)));
  perform private.release_charging_sessions(array_agg(c.connection_id), array_agg(c.period)) from unnest(credited) c where c.accepted_kwh = 0;
  perform private.emit_months(booking.partner_id, 'account.months_registered', array(select c.row_id from unnest(credited) c where c.accepted_kwh > 0)),
          private.emit_months(booking.partner_id, 'account.months_rejected', array(select c.row_id from unnest(credited) c where c.accepted_kwh = 0));
  if granted < sold then
    perform private.refuse('granted_below_sold', json_build_object('granted_ere', granted, 'sold_ere', sold));
  elsif granted is distinct from booking.granted_ere and granted is not null then
    update core.bookings b set granted_ere = granted where b.partner_id = booking.partner_id and b.id = booking.id;
    perform private.audit('booking.granted', booking.id, jsonb_build_object('before', booking.granted_ere, 'after', granted));
    booking.granted_ere := granted;
  end if;
  perform private.settle_difference(booking);
  if cardinality(credited) > 0 then
    perform private.sum_booking(booking.partner_id, booking.id);
    perform private.audit('booking.credited', booking.id, jsonb_build_object('rows', cardinality(credited)));
  end if;
  return cardinality(credited);
end $function$;

CREATE OR REPLACE FUNCTION private.expire_mandates()
  RETURNS bigint
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  expired core.mandates[];
  tenant  uuid;
begin
  with ended as (
    update core.mandates m set status = 'expired', ended_at = private.now(), ended_reason = 'last_year_over'
     where (m.partner_id, m.id) in (
       -- on 1 January all of them: a part in each run, so that mail and the other jobs go on
       select e.partner_id, e.id
         from core.mandates e
         join core.connections c on c.partner_id = e.partner_id and c.id = e.connection_id
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
        where e.status = 'signed' and e.valid_until < private.today()
        limit 10000 for key share of a skip locked for update of e skip locked)
    returning m as mandate
  ), noted as (
    insert into core.audit_log (actor, action, partner_id, subject_id)
    select 'worker', 'mandate.expired', (e.mandate).partner_id, (e.mandate).connection_id from ended e
  ), told as (
    insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
    select c.partner_id, c.account_id, c.owner_id, c.id, 'mandate_ended', 'mandate_ended:' || (e.mandate).id,
           jsonb_build_object('valid_until', (e.mandate).valid_until)
      from ended e
      join core.connections c on c.partner_id = (e.mandate).partner_id and c.id = (e.mandate).connection_id and c.status = 'active'
     where (e.mandate).lapsed_at is null and not private.is_renewed(e.mandate)
    on conflict on constraint notices_cause_key do nothing
  )
  select array_agg(e.mandate) into expired from ended e;
  for tenant in select distinct m.partner_id from unnest(expired) m order by m.partner_id loop
    perform private.emit_all(tenant, 'mandate.expired', array(
      select row(c.account_id, c.connection_id, jsonb_build_object('connection_id', c.connection_id, 'mandate_status', 'expired'))::private.occurrence
        from core.connection_mandates c
       -- of one that was renewed the next years have begun
       where c.partner_id = tenant and c.connection_id in (select m.connection_id from unnest(expired) m where m.partner_id = tenant)
         and c.status = 'active' and c.mandate_status = 'expired'
       order by c.connection_id));
    perform private.note_eligibility(tenant, array(
      select distinct c.account_id from core.connections c
       where c.partner_id = tenant and c.id in (select m.connection_id from unnest(expired) m where m.partner_id = tenant)));
  end loop;
  return coalesce(cardinality(expired), 0);
end $function$;

CREATE OR REPLACE FUNCTION private.forget_bookings (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking core.bookings;
  sales   uuid[];
  checked uuid[] := '{}';
  deleted int := 0;
  counted int;
begin
  for booking in select * from core.bookings b where b.quarter < border order by b.quarter, b.partner_id, b.id for update loop
    if booking.partner_id <> all (checked) then
      perform private.require_agreement(booking.partner_id);
      checked := checked || booking.partner_id;
    end if;
    sales := array(select s.id from core.sales s where s.partner_id = booking.partner_id and s.booking_id = booking.id);
    -- deletion leaves balances as they are: they are closed into the tenant's account for what was closed
    perform private.post(booking.partner_id, array_agg(case when b.balance > 0
        then row('closed:' || a.id, a.unit, b.balance, a.kind, a.owner, 'closed', a.partner_id)::private.posting
        else row('closed:' || a.id, a.unit, -b.balance, 'closed', a.partner_id, a.kind, a.owner)::private.posting end))
      from core.ledger_accounts a
     cross join lateral (select private.balance(a.partner_id, a.unit, a.kind, a.owner) as balance) b
     where a.partner_id = booking.partner_id and a.owner = any (sales || booking.id) and b.balance <> 0
    having count(*) > 0;
    with gone as (
      delete from core.allocations a where a.partner_id = booking.partner_id and a.sale_id = any (sales) returning a.id
    ), entry as (
      delete from core.payout_entries e using gone a where e.ledger_partner_id = booking.partner_id and e.allocation_id = a.id returning e.*
    )
    update core.payout_parts p set forgotten = p.forgotten + e.amount
      from (select e.partner_id, e.part_id, sum(e.amount) as amount from entry e group by e.partner_id, e.part_id) e
     where p.partner_id = e.partner_id and p.id = e.part_id;
    delete from core.sale_reversals v where v.partner_id = booking.partner_id and v.sale_id = any (sales);
    delete from core.sales s where s.partner_id = booking.partner_id and s.id = any (sales);
    delete from core.credits c using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and c.partner_id = r.partner_id and c.row_id = r.id;
    -- with its months, which are locked as long as there is a row of them
    delete from core.delivered_months d using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.live
       and d.partner_id = r.partner_id and d.connection_id = r.connection_id and d.period = r.period;
    delete from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id;
    get diagnostics counted = row_count;
    perform private.sum_booking(booking.partner_id, booking.id), private.price_figures(booking.partner_id, extract(year from booking.quarter)::int);
    delete from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id;
    deleted := deleted + counted + 1;
    exit when deleted >= size;
  end loop;
  -- a quarter that is not listed any more is no news
  delete from core.told_payouts t where t.period < private.quarter_name(border);
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.grounds_to_reject (
  connection core.connections
)
  RETURNS text[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  closed constant text[] := array_remove(private.closed_gates(connection), 'iban_present');
begin
  -- who stopped has no mandate and maybe no charger any more; what was delivered while they had both still counts
  if 'mandate_signed' = any (closed) and exists (
    select from core.counted_months m
      join core.chargers h on h.partner_id = m.partner_id and h.connection_id = m.connection_id and h.mid_eligible
       and (h.status = 'active' or h.removed_at >= m.period::timestamp at time zone 'Europe/Amsterdam')
     where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.status = 'staged' and m.total_kwh > 0) then
    return array_remove(array_remove(closed, 'mandate_signed'), 'mid_charger_registered');
  end if;
  return closed;
end $function$;

CREATE OR REPLACE FUNCTION private.ingest_charging_sessions (
  sessions jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  sent    constant private.charging_session_item[] := array(select r from private.read_charging_sessions(sessions) r);
  -- of a session that is twice in one batch, the later item counts
  items   constant private.charging_session_item[] := array(
    select i from (select distinct on (i.charger_id, i.source, i.external_id) i
                     from unnest(sent) i where i.reason is null
                    order by i.charger_id, i.source, i.external_id, i.place desc) as last (i));
  chargers constant uuid[] := array(select distinct i.charger_id from unnest(items) i);
  changes private.charging_session_change[];
begin
  -- one batch at a time on a charger; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers) order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  changes := private.store_charging_sessions(items);
  perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  perform private.note_chargers(items);
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'place', i.place,
             'status', case when s.id is null then 'rejected'
                            when i.place < last.place then 'superseded'
                            when (c.after).id is null then 'unchanged'
                            when (c.before).id is null then 'created'
                            else 'updated' end,
             'reason', case when s.id is null then coalesce(i.reason, 'unknown_charger') end,
             'session_id', s.id,
             'flags', s.flags))), '[]')
      from unnest(sent) i
      left join unnest(items) last
        on i.reason is null and last.charger_id = i.charger_id and last.source = i.source and last.external_id = i.external_id
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = last.charger_id and s.source = last.source and s.external_id = last.external_id
      left join unnest(changes) c on (c.after).id = s.id);
end $function$;

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
           case when m.session_count = 0 then 'no_sessions' end,
           case when v.gap then 'meter_gap' end,
           case when m.delivery_id is not null and abs(m.total_kwh * 1000 - v.wh) > greatest(1000, 0.02 * v.wh) then 'differs_from_sessions' end], null) else '{}' end,
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
   cross join lateral (
     select extract(epoch from (m.period + interval '1 month') at time zone 'Europe/Amsterdam'
                             - m.period::timestamp at time zone 'Europe/Amsterdam') / 3600 as hours) l
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
   cross join lateral (
     -- where the register of an EVSE's meter runs on, all that it counted in the month is in a session, once
     select sum(e.wh) as wh, bool_or(e.gap) as gap
       from (select sum(s.wh) as wh,
                    count(distinct s.meter_id) < 2 and count(*) filter (where s.meter_start_wh = 0) < 2
                    and abs((array_agg(s.meter_end_wh order by s.started_at desc) filter (where s.meter_end_wh is not null))[1]
                            - (array_agg(s.meter_start_wh order by s.started_at) filter (where s.meter_start_wh is not null))[1] - sum(s.wh))
                        > greatest(1000, 0.02 * sum(s.wh)) as gap
               from core.charging_sessions s
               join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
              where s.partner_id = tenant and s.connection_id = c.id and s.month = m.period and s.counted
              group by s.charger_id, s.connector) e) v
    left join lateral (
      -- one that covers the month before one that does not, the newest first
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $function$;

CREATE OR REPLACE FUNCTION private.lease_mail (
  size integer,
  key  text
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with due as materialized (
    select q.partner_id, q.id, key is not null and q.content ->> 'unsubscribe_url' is not null and private.opted_out(q.recipient, key) as unwanted
      from core.mail_outbox q
     where q.status = 'queued' and q.next_attempt_at <= private.now()
       -- what a deactivated partner invites to opens nothing, and waits until it is active again; what was signed stays told
       and (q.template not in ('claim', 'reminder', 'sign_in', 'mandate_link', 'manager_invitation')
            or q.partner_id in (select p.id from core.partners p where p.is_active))
     order by q.next_attempt_at limit size for update skip locked
  ), dropped as (
    update core.mail_outbox m set status = 'dropped', done_at = private.now(), content = '{}'
      from due d where d.unwanted and m.partner_id = d.partner_id and m.id = d.id
  ), leased as (
    update core.mail_outbox m set attempts = m.attempts + 1, next_attempt_at = private.now() + interval '5 minutes'
      from due d where not d.unwanted and m.partner_id = d.partner_id and m.id = d.id
    returning m.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'id', id, 'recipient', recipient,
                                             'template', template, 'locale', locale, 'content', content) order by created_at), '[]')
    from leased
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

CREATE OR REPLACE FUNCTION private.note_chargers (
  items private.charging_session_item[]
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  update core.chargers h
     set last_seen_at = greatest(h.last_seen_at, seen.at),
         latest_meter_wh = case when seen.meter_at >= coalesce(h.meter_updated_at, '-infinity') then seen.meter_wh else h.latest_meter_wh end,
         meter_updated_at = greatest(h.meter_updated_at, seen.meter_at)
    from (select i.charger_id, max(i.at) as at, max(i.at) filter (where i.meter_wh is not null) as meter_at,
                 (array_agg(i.meter_wh order by i.at desc, i.place desc) filter (where i.meter_wh is not null))[1] as meter_wh
            from (select *, least(coalesce(ended_at, private.now()), private.now()) as at from unnest(items)) i
           group by i.charger_id) seen
   where h.partner_id = private.partner_id() and h.id = seen.charger_id
$function$;

CREATE OR REPLACE FUNCTION private.own_chargers()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_strip_nulls(json_build_object(
           'id', h.id,
           'nickname', private.charger_name(h),
           'connection_type', h.connection_type,
           -- OCPP chargers send a heartbeat at least every 15 minutes
           'status', case when h.last_seen_at > private.now() - interval '15 minutes' then 'online' else 'offline' end,
           'mid_certified', h.mid_eligible is true,
           'is_charging', coalesce(s.status = 'charging', false),
           'current_session', case when s.id is not null then json_build_object(
             'id', s.id, 'started_at', private.iso(s.started_at), 'kwh_so_far', round(s.wh / 1000.0, 2)) end,
           'ocpp_identity', h.ocpp_identity,
           'last_seen_at', private.iso(h.last_seen_at),
           'latest_meter_wh', h.latest_meter_wh,
           'meter_updated_at', private.iso(h.meter_updated_at))) order by h.created_at desc, h.id desc), '[]')
    from core.chargers h
    left join lateral (
      select * from core.charging_sessions s
       where s.partner_id = h.partner_id and s.charger_id = h.id and s.ended_at is null
       order by s.started_at desc, s.id limit 1) s on true
   where h.user_id = private.user_id() and h.status = 'active'
$function$;

CREATE OR REPLACE FUNCTION private.own_webhook (
  named text
)
  RETURNS core.webhook_endpoints
  LANGUAGE sql
  SET search_path TO ''
  AS $function$ select private.webhook_named((private.shown_webhook(named)).id::text) $function$;

CREATE OR REPLACE FUNCTION private.prove_login (
  address text,
  tenant  uuid,
  request jsonb,
  OUT     user_id uuid,
  OUT     next json
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  login   auth.users;
  refused text;
  acting  uuid;
begin
  select * into login from auth.users u where u.email = address and not u.is_sso_user and u.deleted_at is null;
  user_id := login.id;
  if private.login_proved(login, tenant) or login.id is not null and not private.login_stands(login.id) then
    return;
  end if;
  -- locked, so that nobody proves it or adds to what it owns meanwhile
  select * into login from auth.users u where u.id = user_id for update;
  if private.login_proved(login, tenant) then
    return;
  elsif login.id is null or not private.login_owns(login.id) then
    if request ? 'login' then
      -- a login was made and is gone: somebody signed up with the address at that moment. The code still works
      perform private.refuse('service_unavailable');
    end if;
    user_id := null;
    if login.id is not null then
      perform private.end_sign_ins(address, request ->> 'token_hash');
      refused := private.delete_login(login.id);
    end if;
    next := private.ask('login', json_build_object('email', address, 'partner_id', tenant, 'refused', refused));
    return;
  end if;
  perform private.end_sign_ins(address, request ->> 'token_hash');
  refused := private.secure_login(login.id);
  if refused is not null or request #>> '{login,secured}' is distinct from login.id::text then
    -- twice: a sign-in by the old password that was under way gets its session after the first time
    next := private.ask('login', json_build_object('email', address, 'secured', login.id, 'refused', refused,
      'locale', (select p.locale from core.partners p where p.id = tenant)));
    return;
  end if;
  update auth.users u
     set raw_app_meta_data = u.raw_app_meta_data || jsonb_build_object('proved_email', u.email)
         || case when tenant is not null and private.is_sandbox() then jsonb_build_object('claimed_for', tenant) else '{}' end
   where u.id = login.id;
  -- in the service's own name; the caller may act for a tenant
  acting := private.partner_id();
  perform private.act_for_partner(private.house()),
          private.enqueue_mail(request #> '{login,mail}', address, 'login_secured:' || login.id || ':' || gen_random_uuid()),
          private.act_for_partner(acting);
end $function$;

CREATE OR REPLACE FUNCTION private.publish_figures (
  tenant uuid,
  year   integer
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  insert into core.figures (partner_id, delivery_year) values (tenant, year) on conflict on constraint figures_pkey do nothing;
  if not found then
    return false;
  end if;
  perform private.price_figures(tenant, year);
  -- the events of its earlier sales
  perform private.emit_all(tenant, 'ere.sold', array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     where a.partner_id = tenant and a.reversal_id is null and extract(year from r.period) = year
     group by a.account_id order by a.account_id));
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.recount_dashboard (
  OUT partner_id uuid,
  OUT error text
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  -- one count at a time
  if not pg_try_advisory_xact_lock(hashtextextended('dashboards are counted', 0)) then
    return;
  end if;
  select d.partner_id into recount_dashboard.partner_id from core.dashboards d
   where (d.asked_at > d.as_of or d.as_of < private.dutch_midnight(private.today()))
     and (d.failed_at is null or d.failed_at <= private.now() - interval '10 minutes')
   order by d.asked_at > d.as_of desc nulls last, d.as_of limit 1;
  update core.dashboards d set as_of = private.now(), failed_at = null, figures = private.count_dashboard(d.partner_id)
   where d.partner_id = recount_dashboard.partner_id;
exception when query_canceled or others then
  error := sqlstate;
  update core.dashboards d set failed_at = private.now() where d.partner_id = recount_dashboard.partner_id;
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_customer (
  person       uuid,
  partner      uuid,
  source       text,
  external_ref text DEFAULT NULL::text
)
  RETURNS text
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  insert into core.attributions (partner_id, user_id, source, external_ref, attached_month)
  select p.id, person, reserve_customer.source, reserve_customer.external_ref, date_trunc('month', private.today())::date
    from core.partners p where p.id = partner and p.is_active
  -- whoever came a moment ago: of this partner, or of another one
  on conflict do nothing;
  return case when found then 'new'
              when exists (select from core.attributions a where a.user_id = person and a.partner_id = partner) then 'own' end;
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_ocpp_identity (
  identity text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended('ocpp_identity ' || identity, 0));
  return (private.charger_by_identity(identity)).id is null;
end $function$;

CREATE OR REPLACE FUNCTION private.reserve_serial_number (
  brand         text,
  serial_number text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if serial_number is null then
    return true;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('charger ' || brand || ' ' || serial_number, 0));
  return not private.charger_taken(brand, serial_number);
end $function$;

CREATE OR REPLACE FUNCTION private.say_farewell (
  person uuid,
  ending json,
  input  jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  tenant  constant uuid := private.partner_id();
  address constant text := (private.user_profile(person)).email;
begin
  -- kept as opt-outs are, for these partners alone
  insert into core.suppressions (email_hash)
  select private.claim_mac('ended:' || p.id || ':' || lower(address), (private.keys_for('opt_out', input ->> 'key'))[1])
    from (select a.partner_id from core.attributions a where a.user_id = person
          union select a.partner_id from core.ended_attributions a where a.user_id = person
          union select d.partner_id from core.drafts d where d.user_id = person) p (id)
   where input ->> 'key' is not null
  on conflict do nothing;
  -- the functions of the release before send no mail
  if jsonb_typeof(input -> 'mail') = 'object' then
    perform private.act_for_partner(private.house()),
            private.enqueue_mail(input -> 'mail', address, 'account_closed:' || person, jsonb_build_object('end', ending)),
            private.act_for_partner(tenant);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.secure_login (
  person uuid
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  tenant constant uuid := private.partner_id();
  held   record;
begin
  -- a partner's log would tell that the address had a login
  perform private.act_for_partner(private.house());
  update auth.users u
     set encrypted_password = extensions.crypt(encode(extensions.gen_random_bytes(32), 'hex'), extensions.gen_salt('bf')),
         confirmation_token = '', recovery_token = '', reauthentication_token = '',
         email_change = '', email_change_token_new = '', email_change_token_current = '',
         phone = null, phone_confirmed_at = null, phone_change = '', phone_change_token = '',
         email_confirmed_at = coalesce(u.email_confirmed_at, private.now()),
         raw_user_meta_data = '{}',
         raw_app_meta_data = coalesce(u.raw_app_meta_data, '{}') || '{"provider": "email", "providers": ["email"]}'
   where u.id = person;
  -- sessions, refresh tokens, factors, links and foreign identities: whatever Supabase Auth keeps for a login, in this version or a later one
  for held in
    select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'auth'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'user_id' and not a.attisdropped
     order by c.relname
  loop
    execute format('delete from auth.%I where user_id::text = $1', held.name)
            || case held.name when 'identities' then ' and provider <> ''email''' else '' end using person::text;
  end loop;
  update core.personal_tokens t set revoked_at = private.now() where t.user_id = person and t.revoked_at is null;
  perform private.end_grant(g.id, 'login_secured') from core.oauth_grants g where g.user_id = person and g.revoked_at is null;
  delete from core.oauth_codes c using core.oauth_grants g where g.id = c.grant_id and g.user_id = person;
  delete from core.page_sessions s where s.user_id = person;
  -- the charger stays; it connects again with a password that its owner is shown
  update core.chargers c set ocpp_password_hash = extensions.digest(extensions.gen_random_bytes(32), 'sha256')
   where c.user_id = person and c.ocpp_password_hash is not null;
  perform private.audit('login.secured', person), private.act_for_partner(tenant);
  return null;
exception when insufficient_privilege then
  return sqlerrm;
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
      endpoint.probe_at := private.now() + coalesce(retry_in, (0.9 + random() * 0.2)
        * coalesce((array['5 seconds', '1 minute', '5 minutes']::interval[])[endpoint.failures - 4], '10 minutes'));
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

CREATE OR REPLACE FUNCTION private.settle_customers (
  partner uuid,
  quarter date,
  price   numeric
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  house    constant uuid := private.house();
  most     constant int  := private.settled_at_once();
  people   uuid[];
  accounts uuid[];
  due      uuid[];
begin
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- a reset locks accounts before their bookings too
  people := array(
    select a.id from core.attributions t
      join core.accounts a on a.partner_id = house and a.user_id = t.user_id
     where t.partner_id = partner and t.source in ('partner_upload', 'partner_invite')
     order by a.id for key share of a);
  accounts := array(select a.id from core.accounts a where a.partner_id = partner order by a.id for key share);
  due := array(
    select distinct j.account_id
      from unnest(array[house, partner]) t (id)
      cross join lateral private.judge_quarter(t.id, settle_customers.quarter, people || accounts) j
     where j.reason is null
     order by j.account_id);
  if due <> '{}' then
    -- the authority publishes a year's factor late; a rehearsal takes the one of the year before
    insert into core.ere_factors (delivery_year, renewable_share)
    select extract(year from quarter), f.renewable_share from core.ere_factors f
     where f.delivery_year < extract(year from quarter) order by f.delivery_year desc limit 1
    on conflict on constraint ere_factors_pkey do nothing;
  end if;
  perform private.settle_accounts(house, due[1:most], quarter, price), private.settle_accounts(partner, due[1:most], quarter, price);
  perform private.pay_accounts(partner, people || accounts);
  perform private.act_for_partner(partner);
  perform private.publish_figures(partner, f.delivery_year) from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return (private.settled_quarter(partner, people || accounts, quarter)::jsonb
          || jsonb_build_object('accounts_left', greatest(0, cardinality(due) - most)))::json;
end $function$;

CREATE OR REPLACE FUNCTION private.signed_in_recently()
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$ begin return coalesce(nullif(current_setting('app.signed_in_at', true), '')::timestamptz >= private.now() - interval '15 minutes', true); end $function$;

CREATE OR REPLACE FUNCTION private.webhook_is_due (
  endpoint core.webhook_endpoints
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (exists (select from core.webhook_retries r
                   where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.next_attempt_at = '-infinity')
      or case when endpoint.failures >= 5 then endpoint.probe_at <= private.now()
              else exists (select from core.webhook_retries r
                            where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.next_attempt_at <= private.now())
                or exists (select from core.events e where e.partner_id = endpoint.partner_id and e.owner_id = endpoint.owner_id and e.sequence is null)
                or exists (select from core.events e
                            where e.partner_id = endpoint.partner_id and e.owner_id = endpoint.owner_id and e.sequence > endpoint.delivered_to) end)
     -- what GET /v1/events refuses is not sent either
     and exists (select from core.partners p where p.id = endpoint.partner_id and p.is_active)
     and (endpoint.owner_id = endpoint.partner_id
          or exists (select from core.oauth_clients c
                      where c.partner_id = endpoint.partner_id and c.id = endpoint.owner_id and c.disabled_at is null and 'cpo:accounts:read' = any (c.scopes)));
end $function$;

COMMENT ON COLUMN "core"."dashboards"."failed_at" IS 'When the last count failed; null if it did not. It is tried again after ten minutes, so that others have their turn.';

COMMENT ON COLUMN "core"."mail_outbox"."status" IS 'nobody: for an address without a login, so that the answer takes as long as for one with a login. Never sent, deleted by the next run of jobs. dropped: the address had reached its limit of the day, or its reader opted out since. Never sent; its content is not stored.';

COMMENT ON FUNCTION "api"."lease_mail"(jsonb, jsonb) IS 'The next mails to send: {size, key} to [{partner_id, id, recipient, template, locale, content}]. Each is leased for five minutes, then offered again. Mail that its reader opted out of since is dropped.';

COMMENT ON FUNCTION "api"."read_own_overview"(jsonb) IS 'The first page of 0.9.0, until its functions are replaced: {email, name, year, months, position, prices, accounts}. To be deleted with release 1.0.0.';

COMMENT ON FUNCTION "api"."read_own_start"(jsonb) IS 'What a person sees first: {email, name, year, charged_kwh, quarters, paid, prices, progress, idle_chargers, left_out, accounts}. quarters has every one in which something counts.';

COMMENT ON FUNCTION "api"."recount_dashboard"(jsonb) IS 'Counts the next dashboard that is due: {partner_id, error}. partner_id is null if none is, error if the count did not fail.';

COMMENT ON FUNCTION "api"."update_webhook"(jsonb, jsonb) IS 'POST /partner/webhooks/{webhook_id}/update and /v1/…: {webhook_id, url?, types?} to the endpoint. types null is all. Its position stays, and what waits goes to the new address.';

COMMENT ON FUNCTION "ops"."account_show"(jsonb) IS 'One account, by its id, cpo_external_ref, EAN or e-mail address: {account} to {account, signatory, connections, mandates, chargers, months, told}, months summed by year and status. Leaves an audit row.';

COMMENT ON FUNCTION "ops"."mail_list"(jsonb) IS 'Mail, newest first, without its content: {to?, partner?, failed?, limit?} to {mails}. It waits, was sent, was captured or was dropped: by a limit of its address, or because its reader opted out.';

COMMENT ON FUNCTION "private"."lease_mail"(integer, text) IS 'Definer: the worker sends the mail of every tenant.';

COMMENT ON FUNCTION "private"."recount_dashboard"() IS 'Counts the next dashboard that a reader asked for, or that was not counted since midnight. Nothing if there is none, or another count runs. A count that fails or takes a minute is noted, and its SQLSTATE answered. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."reserve_customer"(uuid, uuid, text, text) IS 'Attributes a person to an active partner unless somebody has them already. Returns new, own if this partner has them, else null. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."reserve_ocpp_identity"(text) IS 'Whether an OCPP identity is free for a new charger. Reserves it until the transaction ends: other callers wait.';

COMMENT ON FUNCTION "private"."reserve_serial_number"(text, text) IS 'Whether a serial number of a brand is free for a new charger. Reserves it until the transaction ends: other callers wait. Call this before storing an active charger.';

REVOKE ALL ON FUNCTION "api"."read_own_start"(jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."read_own_start"(jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_own_start"(jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_own_start"(jsonb) TO "edge";

REVOKE ALL ON FUNCTION "private"."lease_mail"(integer, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lease_mail"(integer, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."note_chargers"(private.charging_session_item[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."note_chargers"(private.charging_session_item[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_webhook"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_webhook"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."recount_dashboard"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."recount_dashboard"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_customer"(uuid, uuid, text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_customer"(uuid, uuid, text, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_ocpp_identity"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_ocpp_identity"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."reserve_serial_number"(text, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."reserve_serial_number"(text, text) TO "api_owner";

commit;

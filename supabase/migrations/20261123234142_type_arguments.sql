begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."add_refresh_token"(uuid, integer, jsonb);

DROP FUNCTION "private"."count_visit"(jsonb);

DROP FUNCTION "private"."find_account"(jsonb);

DROP FUNCTION "private"."find_connection"(jsonb);

DROP FUNCTION "private"."lock_invitation"(jsonb, jsonb);

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
  refused    constant text := private.judge_guess(invitation.email, 'invitation', invitation.code_hash, invitation.code_expires_at, invitation.code_attempts, request);
  login      record;
  claimed    record;
begin
  if refused = 'wrong_code' then
    update core.manager_invitations i set code_attempts = i.code_attempts + 1 where i.partner_id = invitation.partner_id and i.id = invitation.id;
  end if;
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
  update core.manager_invitations i
     set code_hash = null, code_expires_at = null, used_at = case when claimed.manages = invitation.partner_id then private.now() end
   where i.partner_id = invitation.partner_id and i.id = invitation.id;
  if claimed.added then
    perform private.audit('partner.manager_added', login.user_id);
    perform private.tell_managers(request -> 'told', invitation.email, null, array[invitation.email]);
  end if;
  return json_build_object('email', invitation.email, 'accepted', claimed.manages = invitation.partner_id);
end $function$;

CREATE OR REPLACE FUNCTION api.describe_authorization (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  checked record;
begin
  perform private.act_as(caller, 'anyone');
  perform private.count_visit(request ->> 'address_hash');
  select * into checked from private.check_authorization(request);
  if checked.refusal is not null then
    return private.refusal(checked.refusal);
  end if;
  perform private.act_for_partner((checked.client).partner_id);
  return json_build_object(
    'name', (checked.client).name,
    'operated_by', coalesce((checked.client).operated_by, (select p.name from core.partners p where p.id = private.partner_id())),
    'scopes', checked.scopes);
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
    email_sent := private.enqueue_mail(input -> 'mails' -> coalesce(input ->> 'locale', partner.locale, 'nl'), signatory.email, 'mandate_link:' || link.id,
      jsonb_build_object('full_name', signatory.full_name, 'partner_name', partner.name), connection => connection);
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

CREATE OR REPLACE FUNCTION api.open_claim (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  perform private.count_visit(request ->> 'address_hash');
  return private.claim_view(private.enter_draft((request ->> 'draft_id')::uuid, false), request)::json;
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
                             'code_sent', coalesce(i.code_expires_at > private.now(), false))
      from core.manager_invitations i join core.partners p on p.id = i.partner_id
     where i.partner_id = entered.partner_id and i.id = entered.id), json_build_object('state', 'unknown'));
end $function$;

CREATE OR REPLACE FUNCTION api.open_mandate_link (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.count_visit(request ->> 'address_hash');
  return private.mandate_link_view((private.enter_link(caller, request)).id);
end $function$;

CREATE OR REPLACE FUNCTION api.open_sign_in_link (
  caller  jsonb,
  request jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  link  core.draft_links;
  draft core.drafts;
  view  jsonb;
begin
  perform private.act_as(caller, 'anyone');
  perform private.count_visit(request ->> 'address_hash');
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, false);
  view := private.claim_view(draft, '{}') - 'email';
  -- the state of the draft tells the reader more than the state of the link
  if private.draft_state(draft) in ('open', 'active', 'gone') and private.sign_in_link_state(link, draft) <> 'open' then
    view := view || jsonb_build_object('state', private.sign_in_link_state(link, draft), 'draft_id', draft.id);
  end if;
  return view::json;
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
  refused text;
  answer  json;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  perform private.count_visit(request ->> 'address_hash');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  view := private.claim_view(draft, request);
  if private.draft_state(draft) not in ('open', 'active') then
    refused := 'claim_not_open';
  elsif private.is_second_click(draft, request ->> 'repeat_hash') then
    return view::json;
  else
    refused := private.claim_code_refusal(draft, request);
  end if;
  if refused is null then
    answer := private.prove_draft(draft, false, request);
    refused := answer ->> 'refused';
    if answer is null then
      perform private.expect_second_click(draft, request ->> 'repeat_hash');
    end if;
  end if;
  if refused is not null then
    return private.refusal(refused, json_build_object('claim', view));
  end if;
  return coalesce(answer, view::json);
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
  if private.require_charger_room(account, null) > 0 and serial is null then
    perform private.refuse('serial_number_required');
  elsif not private.claim_serial_number(model.brand, serial) then
    perform private.refuse('charger_claimed');
  end if;

  insert into core.chargers
    (partner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, ocpp_vendor, ocpp_model, ocpp_meter_type, mid_eligible)
  values
    (private.partner_id(), account, connection, model.id, model.brand, serial, input ->> 'ocpp_vendor', input ->> 'ocpp_model',
     input ->> 'ocpp_meter_type', model.mid_meter)
  returning * into charger;
  perform private.advance_registration(account, true);
  perform private.audit('charger.registered', charger.id);
  return private.charger_answer(charger, false);
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
  update core.manager_invitations i
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.code_expiry(), code_attempts = 0
   where i.partner_id = invitation.partner_id and i.id = invitation.id;
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
    if not private.claim_ean(ean, connection.id) then
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
    if signed then
      perform private.end_mandate(connection.id, 'revoked', 'connection_updated');
    end if;
    perform private.audit('connection.updated', connection.id, jsonb_build_object('mandate_revoked', signed));
    changed := true;
  end if;
  return private.connection_update_answer(connection.id, changed, changed and signed);
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
  values (private.claim_token_hash(add_refresh_token.token_hash), grant_id, generation, private.now() + interval '30 days')
$function$;

CREATE OR REPLACE FUNCTION private.count_visit (
  address_hash text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  rate constant jsonb := private.debit('address:' || address_hash, 'page');
begin
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_requests', json_build_object('rate', rate));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.find_account (
  id        uuid,
  reference text DEFAULT NULL::text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  account uuid;
begin
  select a.id into account from core.accounts a
   where (find_account.id is null or a.id = find_account.id)
     and (reference is null or a.client_id = private.client_id() and a.cpo_external_ref = reference);
  if not found then
    perform private.refuse('account_not_found');
  end if;
  return account;
end $function$;

CREATE OR REPLACE FUNCTION private.find_connection (
  id        uuid,
  account   uuid,
  reference text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  found_ids uuid[];
begin
  -- by way of the account, whose row-level security checks the client as well as the tenant
  select array_agg(c.id order by c.created_at, c.id) into found_ids
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where (account is null or a.id = account)
     and (reference is null or a.client_id = private.client_id() and a.cpo_external_ref = reference)
     and (find_connection.id is null or c.id = find_connection.id);
  if found_ids is null then
    perform private.refuse('connection_not_found');
  elsif cardinality(found_ids) > 1 then
    perform private.refuse('ambiguous_connection');
  end if;
  return found_ids[1];
end $function$;

CREATE OR REPLACE FUNCTION private.lock_for_delivery (
  account uuid,
  wanted  uuid
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connection uuid;
begin
  -- a connection belongs to whom its account belongs to, which is not read here
  select c.id into connection
    from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' and (wanted is null or c.id = wanted)
   order by c.created_at, c.id limit 1
     for no key update;
  if not found then
    -- these know why not, in the words of the API
    perform private.find_account(account);
    connection := private.pick_connection(account, wanted, true);
    perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for no key update;
  end if;
  return connection;
end $function$;

CREATE OR REPLACE FUNCTION private.lock_invitation (
  caller     jsonb,
  token_hash text
)
  RETURNS core.manager_invitations
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  entered    record;
  invitation core.manager_invitations;
begin
  perform private.act_as(caller, 'anyone');
  select * into entered from private.enter_invitation(lock_invitation.token_hash);
  perform private.act_for_tenant(entered.partner_id);
  select * into invitation from core.manager_invitations i where i.partner_id = entered.partner_id and i.id = entered.id for update;
  if invitation.id is null or private.invitation_state(invitation) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  return invitation;
end $function$;

CREATE OR REPLACE FUNCTION private.redeem_code (
  client  core.oauth_clients,
  request jsonb,
  OUT     oauth_grant core.oauth_grants,
  OUT     scopes text[],
  OUT     refusal text
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  presented constant bytea := decode(request ->> 'code_hash', 'hex');
  code      core.oauth_codes;
begin
  refusal := 'invalid_grant';
  -- the grant is locked first: of ten requests at once, nine wait here and then see a used code
  select g.* into oauth_grant from core.oauth_grants g join core.oauth_codes c on c.grant_id = g.id
   where c.code_hash = presented and g.client_id = client.id for update of g;
  select * into code from core.oauth_codes c where c.code_hash = presented and c.grant_id = oauth_grant.id;
  if code.used_at is not null and not private.is_race(code.used_at) then
    perform private.end_grant(oauth_grant.id, 'code_reused');
  elsif code.used_at is null and private.is_live(oauth_grant) and code.expires_at > private.now()
        and code.redirect_uri = request ->> 'redirect_uri' and code.code_challenge = request ->> 'code_challenge' then
    update core.oauth_codes c set used_at = private.now() where c.code_hash = presented;
    perform private.add_refresh_token(oauth_grant.id, 1, request ->> 'new_refresh_hash');
    scopes := oauth_grant.scopes;
    refusal := null;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.rotate_refresh_token (
  client  core.oauth_clients,
  request jsonb,
  OUT     oauth_grant core.oauth_grants,
  OUT     scopes text[],
  OUT     refusal text
)
  RETURNS record
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  presented constant bytea := decode(request ->> 'refresh_hash', 'hex');
  wanted    constant text[] := private.scope_words(request ->> 'scope');
  token     core.oauth_refresh_tokens;
  newest    int;
begin
  refusal := 'invalid_grant';
  -- the grant is locked first: of ten requests at once, nine wait here and then see a rotated token
  select g.* into oauth_grant from core.oauth_grants g join core.oauth_refresh_tokens t on t.grant_id = g.id
   where t.token_hash = presented and g.client_id = client.id for update of g;
  select * into token from core.oauth_refresh_tokens t where t.token_hash = presented and t.grant_id = oauth_grant.id;
  if token.rotated_at is not null then
    select max(t.generation) into newest from core.oauth_refresh_tokens t where t.grant_id = oauth_grant.id;
    if token.generation < newest - 1 or not private.is_race(token.rotated_at) then
      perform private.end_grant(oauth_grant.id, 'refresh_token_reused');
    end if;
  elsif private.is_live(oauth_grant) and token.expires_at > private.now() then
    if not wanted <@ oauth_grant.scopes then
      refusal := 'invalid_scope';
      return;
    end if;
    update core.oauth_refresh_tokens t set rotated_at = private.now() where t.token_hash = presented;
    perform private.add_refresh_token(oauth_grant.id, token.generation + 1, request ->> 'new_refresh_hash');
    scopes := array(select s from unnest(oauth_grant.scopes) s where wanted = '{}' or s = any (wanted));
    refusal := null;
  end if;
end $function$;

COMMENT ON FUNCTION "private"."count_visit"(text) IS 'Counts a visit to a page against the network address it comes from; too many are refused. What is refused after it has to be an answer, or the visit would not count.';

COMMENT ON FUNCTION "private"."find_account"(uuid, text) IS 'The account with this id and this cpo_external_ref; either may be null, not both.';

COMMENT ON FUNCTION "private"."find_connection"(uuid, uuid, text) IS 'The one active connection with this id, of this account, of the account with this cpo_external_ref; any may be null, not all.';

COMMENT ON FUNCTION "private"."lock_invitation"(jsonb, text) IS 'The open invitation of a link, one request at a time; its partner is the tenant from here on.';

REVOKE ALL ON FUNCTION "private"."add_refresh_token"(uuid, integer, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."count_visit"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."count_visit"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."find_account"(uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."find_account"(uuid, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."find_connection"(uuid, uuid, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."find_connection"(uuid, uuid, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."lock_invitation"(jsonb, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lock_invitation"(jsonb, text) TO "api_owner";

commit;

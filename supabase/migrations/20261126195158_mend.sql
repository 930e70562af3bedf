begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

ALTER TABLE "core"."dashboards"
  ALTER COLUMN "figures" DROP NOT NULL;

CREATE OR REPLACE FUNCTION api.connect_virtual_charger (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  customer   record;
  profile    constant jsonb := input -> 'profile';
  model      core.charger_models;
  connection uuid;
  virtual    core.virtual_chargers;
  charger    uuid;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  model := private.virtual_model(profile);
  select * into customer from private.require_customer(input ->> 'id', input ->> 'key');
  perform private.lock_chargers(null, customer.user_id);
  perform from core.accounts a where a.partner_id = private.house() and a.id = customer.account_id for no key update;
  perform private.refuse_if('customer_not_found', not found);  -- a reset deleted it meanwhile
  connection := private.pick_connection(customer.account_id, null, true);
  -- a repeat: the same model charging the same way
  select v.* into virtual
    from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
   where v.partner_id = private.house() and h.account_id = customer.account_id and h.status = 'active' and h.catalog_charger_id = model.id
     and (v.wh_per_session, v.sessions_per_week, v.power_kw, v.since)
         = ((profile ->> 'wh_per_session')::int, (profile ->> 'sessions_per_week')::numeric, (profile ->> 'power_kw')::numeric, (profile ->> 'since')::date)
   order by v.created_at, v.id limit 1;
  if virtual.id is null then
    perform private.require_charger_room(null, customer.user_id);
    charger := private.add_own_charger(customer.account_id, connection, jsonb_build_object(
      'catalog_charger_id', model.id, 'serial_number', 'SANDBOX-' || upper(left(replace(gen_random_uuid()::text, '-', ''), 16)),
      'power_kw', profile -> 'power_kw'), '{"virtual": true}');
    insert into core.virtual_chargers (partner_id, charger_id, wh_per_session, sessions_per_week, power_kw, since)
    values (private.house(), charger, (profile ->> 'wh_per_session')::int, (profile ->> 'sessions_per_week')::numeric,
            (profile ->> 'power_kw')::numeric, (profile ->> 'since')::date)
    returning * into virtual;
    perform private.advance_registration(customer.account_id, true);
  end if;
  return private.virtual_charger_answer(virtual)::json;
end $function$;

CREATE OR REPLACE FUNCTION api.get_dashboard (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'partner');
  return coalesce(private.partner_figures(private.own_partner()), private.refusal('service_unavailable'));
end $function$;

CREATE OR REPLACE FUNCTION api.import_stretch (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  kept     core.imports;
  imported json;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (input ->> 'id')::uuid and i.expires_at > private.now() for update;
  -- a second click, or another tab, finds the stretch done; whether people are mailed was said by the first
  if kept.id is null or kept.rows_done <> (input ->> 'from')::int or kept.send_invite <> (input ->> 'send_invite')::boolean then
    return private.import_state(kept);
  end if;
  kept.created_at := case when kept.send_invite is null then private.now() else kept.created_at end;  -- sign-ups begin once confirmed
  imported := private.import_drafts(input || jsonb_build_object('begun', kept.created_at));
  update core.imports i
     set rows_done = least(kept.rows_done + jsonb_array_length(input -> 'rows'), kept.row_count),
         send_invite = (input ->> 'send_invite')::boolean,
         created_at = kept.created_at, expires_at = private.now() + interval '1 hour',
         -- what was expected makes room for what happened
         outcomes = case when kept.send_invite is null then '[]' else kept.outcomes end || private.import_outcomes(imported)
   where i.partner_id = kept.partner_id and i.id = kept.id
  returning * into kept;
  return private.import_state(kept);
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
  perform private.refuse_if('draft_not_claimable', status in ('expired', 'conflict') or status = 'active' and not customer.empty, json_build_object(
    'status', status, 'reason', case status when 'active' then 'already_active' else status end));
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

CREATE OR REPLACE FUNCTION api.read_own_earnings (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(),
    'year', year,
    'years', private.own_years(),
    'position', private.own_ere_position(year),
    'quarters', private.own_earned(make_date(year, 1, 1), make_date(year + 1, 1, 1)),
    'left_out', private.own_left_out(year),
    'idle_chargers', private.own_idle_chargers(year),
    'accounts', private.own_accounts(),
    'payouts', private.own_payouts(year),
    'overviews', private.own_overviews(),
    -- the page of 0.9.0 shows the fee, or that it is unknown
    'prices', '{"fee_pct": null}'::json);
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_log (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  size constant int := (query ->> 'limit')::int;
begin
  perform private.act_as(caller, 'partner');
  return (
    with page as materialized (
      select l.*, row_number() over (order by l.id desc) <= size as shown
        from private.partner_log((query ->> 'before')::bigint, size + 1, coalesce((query ->> 'skip')::int, 0)) l
    )
    select json_build_object(
      'who', private.portal_who(),
      'total', case when query ? 'skip' then (select count(*) from private.partner_log(null, 10001, 0)) end,
      'changes', (select coalesce(json_agg(json_build_object(
                    'at', private.iso(s.at),
                    'action', s.action,
                    'by', case when s.actor ~ '^operator' then 'operator' when s.details ? 'manager_id' then 'person' else 'key' end,
                    'email', (private.user_profile((s.details ->> 'manager_id')::uuid)).email,
                    'subject_id', s.subject_id,
                    'about', coalesce(
                      (select coalesce(d.company_name, d.contact_name, d.name, d.email) from core.drafts d where d.partner_id = private.partner_id() and d.id = s.subject_id),
                      (select e.url from core.webhook_endpoints e where e.partner_id = private.partner_id() and e.id = s.subject_id),
                      (select i.email from core.manager_invitations i where i.partner_id = private.partner_id() and i.id = s.subject_id),
                      case when s.action ~ '^partner[.]manager_' then (private.user_profile(s.subject_id)).email end),
                    'details', s.details - 'manager_id') order by s.id desc), '[]') from page s where s.shown),
      'before', (select (min(s.id) filter (where s.shown))::text from page s having not bool_and(s.shown))));
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
      'ean_code', c.ean_code, 'registration_status', c.registration_status,
      'may_still_book', private.may_still_book(c.registration_status), 'renewed_until', c.renewed_until,
      'withdrawal', private.withdrawal_means(connection),
      'code_sent', private.code_sent('browser:' || (request ->> 'token_hash')))
      from core.connection_mandates c where c.partner_id = (entered.account).partner_id and c.connection_id = connection);
end $function$;

CREATE OR REPLACE FUNCTION api.review_customer (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  outcome    constant text := input ->> 'outcome';
  customer   record;
  connection core.connections;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into customer from private.own_customer(input ->> 'id', input ->> 'key');
  if customer.account_id is null then
    -- or an account that a CPO client of the partner made
    customer.account_id := private.as_uuid(input ->> 'id');
  else
    perform private.act_for_person(private.house(), customer.user_id);
  end if;
  perform from core.accounts a where a.partner_id = private.partner_id() and a.id = customer.account_id for no key update;
  perform private.refuse_if('customer_not_found', not found);
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = customer.account_id and c.status = 'active'
   order by c.registration_status = 'ingediend' desc, c.submitted_at desc nulls last, c.id limit 1 for update;
  perform private.refuse_if('nothing_to_review', connection.registration_status is distinct from 'ingediend', json_build_object(
    'registration_status', connection.registration_status, 'closed_gates', private.closed_gates(connection)));
  perform private.review_registration(connection, outcome);
  return json_build_object('ok', true, 'from', 'ingediend', 'to', outcome, 'closed_gates', private.closed_gates(connection));
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
  -- nobody owns the mail of a code; this function reads nothing else of the house
  perform private.act_for_partner(private.house()), set_config('app.breadth', 'tenant', true);
  -- always the same look-ups and rows: the time of the answer must not tell whether we know the address
  login := private.login_at(request ->> 'email');
  signatory := private.signs(request ->> 'email');
  stranger := private.code_opens(request ->> 'email', true);
  perform private.enqueue_mail(request -> 'mail', request ->> 'email', 'sign_in_code:' || (request ->> 'token_hash'),
                               to_nobody => login is null and not (signatory and (request ->> 'signatories')::boolean is true)
                                            and not (stranger and (request ->> 'strangers')::boolean is true),
                               counted => counted = 'fits');
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
  perform private.refuse_if('connection_not_found', not found);  -- archived since it was looked up above
  select jsonb_build_object('ean_code', connection.ean_code, 'postal_code', l.postal_code, 'house_number', l.house_number,
                            'house_number_addition', l.house_number_addition, 'street', l.street, 'city', l.city)
    into current from core.locations l where l.partner_id = connection.partner_id and l.id = connection.location_id;
  wanted := current || (input -> 'connection');
  ean := wanted ->> 'ean_code';
  select m.mandate_status = 'signed' into signed
    from core.connection_mandates m where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  -- a change ends a signed mandate, and uncovers staged months that an ended mandate still covers
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

CREATE OR REPLACE FUNCTION ops.quarter_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  named   constant text := input ->> 'quarter';
  partner constant uuid := private.chosen_partner(input);
  wanted  date;
  spent   uuid[];
begin
  -- names of quarters sort as their days do
  perform private.refuse_if('quarter_not_begun', named ~ '^20[0-9]{2}-Q[1-4]$' and named > private.quarter_name(date_trunc('quarter', private.today()::timestamp)::date),
    json_build_object('quarter', named));
  wanted := private.read_quarter(named);
  spent := private.spent_bookings();
  return (
    with known as materialized (
      select p, exists (select from core.delivered_months d
                         where d.partner_id = p.id and d.period >= wanted and d.period < (wanted + interval '3 months')::date)
                or exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status <> 'withdrawn') as begun
        from core.partners p
       where partner is null and p.is_active or p.id = partner or
             partner is null and exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status <> 'withdrawn')
    ), stand as materialized (
      select (k.p).slug, private.quarter_state(k.p, wanted, spent) as state from known k where k.begun or partner is not null
    )
    select json_build_object(
             'quarter', named, 'over', (wanted + interval '3 months')::date <= private.today(), 'last_day', (wanted + interval '3 months')::date - 1,
             'partners', coalesce((select json_agg(s.state order by s.slug) from stand s), '[]'),
             'payable', case when exists (select from stand s where s.state #>> '{next,step}' = 'pay')
                             then exists (select from private.payees(private.read_minimum('{}')) y where y.reason is null) end,
             'without', (select count(*) from known k where not k.begun and partner is null)));
end $function$;

CREATE OR REPLACE FUNCTION ops.retention_preview (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  counts jsonb := '[]';
  kind   text;
begin
  perform private.act_as_operator(input);
  -- really deletes, counts, and rolls back: no other count is exact
  begin
    foreach kind in array private.retention_kinds() loop
      counts := counts || jsonb_build_object('kind', kind, 'rows', private.retention_step(kind, 1000000000));
    end loop;
    raise exception using errcode = 'RTEST';
  exception when sqlstate 'RTEST' then
    null;
  end;
  return json_build_object('before', private.retention_border(), 'kinds', counts);
end $function$;

CREATE OR REPLACE FUNCTION ops.retention_step (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  deleted int;
begin
  perform private.act_as_operator(input);
  -- a second run waits for the first
  perform pg_advisory_xact_lock(hashtextextended('retention', 0));
  deleted := private.retention_step(input ->> 'kind', (input ->> 'size')::int);
  if deleted > 0 then
    perform private.audit('retention.deleted', null, jsonb_build_object('kind', input ->> 'kind', 'rows', deleted, 'before', private.retention_border()));
  end if;
  return json_build_object('kind', input ->> 'kind', 'rows', deleted);
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
           'may_still_book', private.may_still_book(c.registration_status),
           'ean_validation_status', c.ean_validation_status,
           'iban_last4', a.iban_last4,
           -- only payments that have a statement
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

CREATE OR REPLACE FUNCTION private.code_opens (
  address   text,
  strangers boolean
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return private.login_at(address) is not null or private.signs(address)
      -- the code makes a login for an address that has none; a banned or deleted login stays closed
      or strangers and not exists (select from auth.users u where u.email = address and not u.is_sso_user);
end $function$;

CREATE OR REPLACE FUNCTION private.count_sign_in (
  attempt        jsonb,
  buckets        text[],
  account_bucket text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  login  constant text := 'login:' || (attempt ->> 'email_hash');
  device constant text := 'device:' || (attempt ->> 'device_hash');
  place  constant text := coalesce(device, 'address:' || (attempt ->> 'address_hash'));
  bucket text;
  rate   jsonb;
begin
  if device is null then
    rate := private.debit(place, 'sign_in_address');
    if not (rate ->> 'allowed')::boolean then
      return rate;
    end if;
  end if;
  foreach bucket in array buckets loop
    rate := private.debit(login || '@' || place, bucket);
    if not (rate ->> 'allowed')::boolean then
      return rate;
    end if;
  end loop;
  -- browsers that signed in to this account before have one limit together: strangers cannot use it up
  return private.debit(case when device is null then login else login || '@devices' end, account_bucket);
end $function$;

CREATE OR REPLACE FUNCTION private.delete_due (
  of_kind text,
  border  date,
  size    integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  deletion core.deletions;
  counted  int;
  deleted  int := 0;
begin
  for deletion in select * from core.deletions d where d.kind = of_kind order by d.step loop
    -- skips locked rows until the next run; `only`, because a ctid is of one table and not of its partitions
    execute format('delete from only core.%1$I d where d.ctid = any (array(
                      select d.ctid from only core.%1$I d where %2$s limit $2 for update of d skip locked))',
                   deletion.of_table, replace(deletion.due, ':border', '$1')) using border, size;
    get diagnostics counted = row_count;
    deleted := deleted + counted;
  end loop;
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.end_mandate (
  connection uuid,
  new_status text,
  reason     text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.mandates m
     set status = new_status, ended_at = private.now(), ended_reason = reason
   where m.connection_id = connection and m.status = 'signed'
     and m.valid_until >= private.today();  -- one that ran out keeps covering its years, whether the job has noted its end or not
  perform private.judge_months(connection);
  perform private.notify(c.account_id, 'mandate_withdrawn', 'mandate_withdrawn:' || k.mandate_id,
                         jsonb_build_object('by', reason,
                           'covered_until', (select max(m.covered_until) from core.mandates m
                            where m.partner_id = c.partner_id and m.connection_id = c.id and m.covered_until >= m.valid_from and not r.missing),
                           'lost_kwh', (select coalesce(sum(d.total_kwh), 0) from core.delivered_months d
                             join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                                 and m.ended_at = private.now() and d.period between m.valid_from and m.valid_until
                            where d.partner_id = c.partner_id and d.connection_id = c.id and (d.status = 'outside_mandate' or d.status = 'staged' and r.missing))), c.id)
     from core.connections c
    cross join lateral (select not private.may_still_book(c.registration_status) as missing) r
     join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    where c.partner_id = private.partner_id() and c.id = connection;
  perform private.audit('mandate.' || new_status, connection, jsonb_build_object('reason', reason));
  perform private.emit('mandate.' || new_status, c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', new_status))
     from core.connections c
    -- a client that corrects a connection acknowledges that, and reads it in the answer
    where c.partner_id = private.partner_id() and c.id = connection and reason <> 'connection_updated';
  perform private.note_eligibility(c.partner_id, array[c.account_id])
     from core.connections c where c.partner_id = private.partner_id() and c.id = connection;
end $function$;

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
  -- customers whom we owe nothing, and of whom we must keep nothing
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
    -- what remains on these accounts moves to the tenant's account `closed`
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
    -- its months are locked while they have a booking row, so both go together
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
  -- GET /partner/payouts no longer lists these quarters
  delete from core.told_payouts t where t.period < private.quarter_name(border);
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.forget_invoices (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone    core.invoices[];
  deleted int;
begin
  -- a partner's whole year at once, because its numbers have no gaps; not while a later credit note refers to it
  gone := array(
    select i from core.invoices i
      join (select i.partner_id, i.year from core.invoices i
             where i.year < extract(year from border)
               and not exists (select from core.invoices c join core.invoices o on o.partner_id = c.partner_id and o.id = c.corrects
                                where o.partner_id = i.partner_id and o.year = i.year and c.year > i.year)
             group by 1, 2 order by 2, 1 limit size) y on y.partner_id = i.partner_id and y.year = i.year);
  perform private.require_agreement(t.id) from (select distinct i.partner_id as id from unnest(gone) i) t;
  delete from core.invoice_entries e using unnest(gone) i where e.partner_id = i.partner_id and e.invoice_id = i.id;
  delete from core.documents d using unnest(gone) i where d.partner_id = i.partner_id and d.invoice_id = i.id;
  -- one statement deletes credit notes together with the invoices that they correct
  delete from core.invoices d using unnest(gone) i where d.partner_id = i.partner_id and d.id = i.id;
  get diagnostics deleted = row_count;
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.forget_log (
  of_log text,
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  chain   core.audit_chains;
  kept    bigint;
  upto    core.audit_links;
  deleted int := 0;
  rows    bigint[];
  fault   private.audit_fault;
begin
  for chain in select * from core.audit_chains c where c.log = of_log and c.position > c.checkpoint_position order by c.partner_id for update loop
    -- kept: the first row that must stay; all rows before it go
    select min(l.position) into kept
      from core.audit_links l
     cross join lateral (
       select v.at, v.what from core.audit_content v where v.partner_id = l.partner_id and v.log = of_log and v.row_id = l.row_id offset 0) v
     where l.partner_id = chain.partner_id and l.log = of_log and l.position <= chain.checkpoint_position + size
       and (v.at >= private.dutch_midnight(border)
            or v.what like 'invoice:%' and exists (
              select from core.invoices i where i.partner_id = l.partner_id and i.id = private.as_uuid(split_part(v.what, ':', 2))));
    select * into upto from core.audit_links l
     where l.partner_id = chain.partner_id and l.log = of_log and l.position = coalesce(kept - 1, least(chain.position, chain.checkpoint_position + size));
    continue when not found;
    rows := array(select l.row_id from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log and l.position <= upto.position);
    -- nobody may change these rows between their check and their deletion
    if of_log = 'audit' then
      perform from core.audit_log a where a.partner_id = chain.partner_id and a.id = any (rows) for update;
    else
      perform private.require_agreement(chain.partner_id);
    end if;
    fault := (private.verify_links(chain, chain.checkpoint_position, (upto.position - chain.checkpoint_position)::int, null)).first_fault;
    perform private.refuse_if('audit_disagrees', fault.fault is not null, json_build_object(
      'partner_slug', (select p.slug from core.partners p where p.id = chain.partner_id), 'log', of_log, 'fault', fault.fault, 'row', fault.row_id, 'what', fault.what));
    if of_log = 'audit' then
      delete from core.audit_log a where a.partner_id = chain.partner_id and a.id = any (rows);
    else
      perform private.carry_forward(chain.partner_id, rows, upto.position);
      delete from core.ledger_entries e where e.partner_id = chain.partner_id and e.id = any (rows);
    end if;
    delete from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log and l.position <= upto.position;
    update core.audit_chains c set checkpoint_position = upto.position, checkpoint_hash = upto.hash
     where c.partner_id = chain.partner_id and c.log = of_log;
    deleted := deleted + cardinality(rows);
    exit when deleted >= size;
  end loop;
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.forget_payouts (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone core.payout_lines[] := array(
    select l from core.payout_lines l join core.payout_batches b on b.id = l.batch_id
     where l.status <> 'pending' and greatest(b.settled_at, b.cancelled_at, l.paid_at, l.failed_at) < private.dutch_midnight(border)
       -- after its sales, which are paid by it
       and not exists (select from core.payout_parts p join core.payout_entries e on e.partner_id = p.partner_id and e.part_id = p.id
                        where p.partner_id = l.partner_id and p.line_id = l.id)
     order by l.partner_id, l.id limit size for update of l);
  tenant   uuid;
  postings private.posting[];
begin
  perform private.require_agreement(t.id)
    from (select l.partner_id as id from unnest(gone) l
          union
          select p.ledger_partner_id from unnest(gone) l join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id) t;
  for tenant, postings in
    select k.ledger_partner_id, array_agg(case when k.amount > 0
             then row('closed:line:' || k.line_id, 'EUR', k.amount, 'bank', k.payee_id, 'closed', k.ledger_partner_id)::private.posting
             else row('closed:line:' || k.line_id, 'EUR', -k.amount, 'closed', k.ledger_partner_id, 'bank', k.payee_id)::private.posting end)
      from (select p.ledger_partner_id, p.line_id, l.payee_id, sum(p.amount) as amount
              from unnest(gone) l join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
             where l.status = 'paid' group by 1, 2, 3) k
     where k.amount <> 0 group by k.ledger_partner_id
  loop
    perform private.post(tenant, postings);
  end loop;
  perform private.withdraw_statement(l) from unnest(gone) l;
  delete from core.documents d where d.year < extract(year from border);
  delete from core.payout_parts p using unnest(gone) l where p.partner_id = l.partner_id and p.line_id = l.id;
  delete from core.payout_lines d using unnest(gone) l where d.partner_id = l.partner_id and d.id = l.id;
  delete from core.payout_batches b
   where greatest(b.settled_at, b.cancelled_at) < private.dutch_midnight(border) and not exists (select from core.payout_lines l where l.batch_id = b.id);
  return cardinality(gone);
end $function$;

CREATE OR REPLACE FUNCTION private.forget_sessions (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone    core.charging_sessions[] := array(select s from core.charging_sessions s where s.month < border limit size for update skip locked);
  deleted int;
begin
  delete from core.replaced_charging_sessions r using unnest(gone) s
   where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id;
  delete from core.charging_evidence e using unnest(gone) s
   where e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id;
  -- by our clock, because the charger's may say 1970
  delete from core.ocpp_transactions t where t.created_at < private.dutch_midnight(border);
  -- messages that belong to no session
  delete from core.charging_evidence e where e.session_id is null and e.received_at < private.dutch_midnight(border);
  delete from core.charging_sessions d using unnest(gone) s where d.partner_id = s.partner_id and d.charger_id = s.charger_id and d.id = s.id;
  get diagnostics deleted = row_count;
  delete from core.charger_months m
   where m.month < border and not exists (
     select from core.charging_sessions s where s.partner_id = m.partner_id and s.charger_id = m.charger_id and s.month = m.month);
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.hold_books()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.lock_payouts(exclusively => true);
  -- waits first for who locked a booking: they go on to write the tables below
  lock table core.bookings in exclusive mode;
  lock table core.credits, core.booking_rows, core.sales, core.sale_reversals, core.allocations, core.invoices, core.invoice_entries,
             core.payout_batches, core.payout_lines, core.payout_parts, core.payout_entries, core.ledger_accounts, core.ledger_entries
    in share row exclusive mode;
end $function$;

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
    -- two workers that number the same logs lock them in one order
    select * from leased l order by l.partner_id, l.owner_id, l.id
  loop
    head := private.sequence_events(endpoint.partner_id, endpoint.owner_id);
    -- retention deleted the events up to here
    endpoint.delivered_to := greatest(endpoint.delivered_to, head.swept);
    -- a long log may have few events of the wanted types: one turn reads a part of it
    more := head.sequence > endpoint.delivered_to + private.events_at_once();
    head.sequence := least(head.sequence, endpoint.delivered_to + private.events_at_once());
    -- drops retries of deleted events, among the next fifty only, because many may wait
    delete from core.webhook_retries r
     using (select n.event_id from core.webhook_retries n
             where n.partner_id = endpoint.partner_id and n.endpoint_id = endpoint.id and n.next_attempt_at > '-infinity' and n.next_attempt_at <= private.now()
             order by n.next_attempt_at limit 50) n
     where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.event_id = n.event_id
       and not exists (select from core.events e where e.partner_id = r.partner_id and e.id = r.event_id and e.created_at > private.events_kept_since());
    posts := private.posts_of(endpoint, head, key, case when endpoint.failures >= 5 then 1 else 50 end);
    if jsonb_array_length(posts) = 0 then
      -- the new events are of other types, and no retry is due
      update core.webhook_endpoints e
         set delivered_to = case when endpoint.failures < 5 then head.sequence else e.delivered_to end, lease_id = case when more then e.lease_id end,
             lease_until = case when more then e.lease_until else private.now() end, probe_at = null, failures = case when endpoint.failures >= 5 then 4 else e.failures end
       where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
    end if;
    -- without posts too, if the next turn reads the rest of the log
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

CREATE OR REPLACE FUNCTION private.may_still_book (
  registration_status text
)
  RETURNS boolean
  LANGUAGE sql
  IMMUTABLE
RETURN (registration_status = ANY (ARRAY['ingediend'::text, 'goedgekeurd'::text]));

CREATE OR REPLACE FUNCTION private.own_accounts()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object(
           'account_id', a.id,
           'draft_id', private.own_draft(a.id),
           'cpo', case when a.client_id is not null then (select p.name from core.partners p where p.id = a.partner_id) end,
           'payout_handler', a.payout_handler,
           'fee_pct', (select m.fee_pct from core.connections c
                         join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.status <> 'declined'
                        where c.partner_id = a.partner_id and c.account_id = a.id
                        order by m.signed_at desc limit 1),
           'iban_last4', a.iban_last4,
           'iban_held_until', case when a.iban_ciphertext is not null and a.iban_changed_at > private.now() - interval '48 hours'
                                   then private.iso(a.iban_changed_at + interval '48 hours') end,
           'sent', private.balance(a.partner_id, 'EUR', 'customer', a.id) <= 0 and not exists (
             select from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'pending'
               join core.payout_batches b on b.id = l.batch_id and b.status <> 'exported'
              where p.ledger_partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'),
           'checklist', g.checklist,
           'chargers', (select json_build_object('count', count(*), 'with_mid', count(*) filter (where h.mid_eligible),
                                                 'waiting', count(*) filter (where h.mid_eligible is null))
                          from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'),
           'connections', (select coalesce(json_agg(json_build_object(
                                    'connection_id', c.connection_id, 'ean_code', c.ean_code, 'ean_validation_status', c.ean_validation_status,
                                    'street', l.street, 'house_number', l.house_number, 'house_number_addition', l.house_number_addition,
                                    'postal_code', l.postal_code, 'city', l.city,
                                    'registration_status', c.registration_status, 'mandate_status', c.mandate_status,
                                    'valid_from', c.valid_from, 'valid_until', c.valid_until, 'renewed_until', c.renewed_until,
                                    'may_sign_again', private.may_sign_again(c.connection_id, c.partner_id)) order by c.created_at, c.connection_id), '[]')
                             from core.connection_mandates c
                             join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
                            where c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'))
           order by a.created_at, a.id), '[]')
    from private.own_account_rows() a
    join core.account_gates g on g.partner_id = a.partner_id and g.account_id = a.id
$function$;

CREATE OR REPLACE FUNCTION private.own_end()
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with month as (select date_trunc('month', private.today())::date as began), lost as (
    select coalesce(sum(m.total_kwh) filter (where m.period < t.began and not private.may_still_book(c.registration_status)), 0) as lost_kwh,
           coalesce(sum(m.total_kwh) filter (where m.period >= t.began), 0) as month_kwh
      from month t cross join core.counted_months m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
     where c.account_id in (select o.id from core.accounts o where o.user_id = private.user_id()) and m.status = 'staged')
  select json_build_object(
    'balance_eur', private.own_balance(),
    'accounts', count(*),
    'managed_alone', private.managed_alone(private.user_id()),
    'lost_kwh', (select lost_kwh from lost),
    'month', (select began from month),
    'month_kwh', (select month_kwh from lost),
    'iban_missing', coalesce(bool_or(a.iban_ciphertext is null and a.payout_handler = 'service_pays_customer'), false),
    -- of this delivery year, which is the last one
    'kept_until', case when count(*) > 0 then make_date(extract(year from private.today())::int + 7, 1, 1) end)
    from core.accounts a where a.user_id = private.user_id()
$function$;

CREATE OR REPLACE FUNCTION private.own_idle_chargers (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object(
           'name', private.charger_name(h), 'kwh', round(k.wh / 1000.0, 3),
           'why', case when h.mid_eligible is null then 'mid_unknown' when not h.mid_eligible then 'no_mid' else 'no_connection' end)
           order by k.wh desc, h.id), '[]')
    from core.chargers h
    join lateral (select sum(case when d.locked then least(m.wh, greatest(d.charged - d.total_kwh * 1000, 0)) else m.wh end) as wh
                    from core.charger_months m
                    -- of a booked month only the kWh beyond its total do not count
                    left join lateral (
                      select d.locked, d.total_kwh,
                             (select sum(o.wh) from core.chargers n join core.charger_months o on o.partner_id = n.partner_id and o.charger_id = n.id
                               where n.partner_id = d.partner_id and n.connection_id = d.connection_id and o.month = d.period) as charged
                        from core.delivered_months d
                       where d.partner_id = h.partner_id and d.connection_id = h.connection_id and d.period = m.month and d.locked) d on true
                   where m.partner_id = h.partner_id and m.charger_id = h.id
                     and m.month >= make_date(year, 1, 1) and m.month < make_date(year + 1, 1, 1)) k on k.wh > 0
   where h.user_id = private.user_id() and (h.mid_eligible is not true or h.connection_id is null)
$function$;

CREATE OR REPLACE FUNCTION private.own_left_out (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with month as (
    select d.* from private.own_account_rows() a
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
     where d.period >= make_date(year, 1, 1) and d.period < make_date(year + 1, 1, 1)
  ), left_out as (
    select d.period, d.connection_id, d.total_kwh - coalesce(k.accepted_kwh, 0) as kwh,
           case when d.status = 'staged' then 'no_factor'
                when d.status <> 'outside_mandate' then 'register'
                when d.period < private.first_delivery_month() then 'before_ere'
                when exists (select from core.mandates m
                              where m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.status = 'revoked'
                                and d.period between m.valid_from and least(m.valid_until, m.ended_at at time zone 'Europe/Amsterdam')) then 'mandate_ended'
                else 'outside_mandate' end as why, k.reason
      from month d
      left join lateral (
        select k.accepted_kwh, k.reason
          from core.booking_rows r
          join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
         where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period
           and (d.status = 'registered' and r.live or d.status = 'rejected' and r.status = 'rejected')
         order by k.credited_at desc limit 1) k on d.status in ('registered', 'rejected')
     where d.status in ('outside_mandate', 'rejected') and d.total_kwh > 0 or d.status = 'registered' and k.accepted_kwh < d.total_kwh
          or d.status = 'staged' and d.total_kwh > 0
             and not exists (select from core.ere_factors f where f.delivery_year = year)
             and exists (select from core.mandates m where m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                                       and d.period between m.valid_from and m.covered_until)
    union all
    -- kWh of MID chargers beyond the booked total; private.own_idle_chargers has the other chargers
    select d.period, d.connection_id, h.wh / 1000.0 - d.total_kwh, 'after_booking', null
      from month d
      join lateral (select sum(m.wh) as wh from core.chargers h
                      join core.charger_months m on m.partner_id = h.partner_id and m.charger_id = h.id and m.month = d.period
                     where h.partner_id = d.partner_id and h.connection_id = d.connection_id and h.mid_eligible) h on h.wh > d.total_kwh * 1000
     where d.locked and d.source = 'sessions'
  )
  select coalesce(json_agg(json_build_object('month', l.period, 'kwh', l.kwh, 'why', l.why, 'reason', l.reason)
                           order by l.period, l.connection_id, l.why), '[]')
    from left_out l
$function$;

CREATE OR REPLACE FUNCTION private.partner_figures (
  partner core.partners
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  fresh constant timestamptz := private.now() - interval '60 seconds';
  last  core.dashboards;
begin
  if (select count(*) from (select from core.attributions k where k.partner_id = partner.id limit private.counted_at_once() + 1) k) <= private.counted_at_once() then
    return private.count_dashboard(partner.id);
  end if;
  select * into last from core.dashboards d where d.partner_id = partner.id;
  if last.partner_id is null then
    insert into core.dashboards (partner_id, as_of, asked_at) values (partner.id, '-infinity', private.now()) on conflict do nothing;
    perform private.kick() where found;
  elsif last.as_of < fresh and (last.asked_at is null or last.asked_at < fresh) then
    -- one reader of many asks, and none waits for it
    update core.dashboards d set asked_at = private.now()
     where d.partner_id = (select a.partner_id from core.dashboards a
                            where a.partner_id = partner.id and a.as_of < fresh and (a.asked_at is null or a.asked_at < fresh) for update skip locked);
    perform private.kick() where found;
  end if;
  return last.figures;
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
      -- every other probe sends the next event of the log: the receiver may fail on one event alone
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
  -- we could not sign the event: we retry it as if the receiver failed, and count no attempt
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
    -- the receiver did not fail while we could not read the secret
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
      -- this attempt probed the receiver, so it does not count for the event; the next probe sends another event
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
  -- if the receiver keeps failing, the cursor stays where it is
  if not again and (succeeded or endpoint.failures < 5) and (result ->> 'status')::int is distinct from 410 then
    endpoint.delivered_to := greatest(endpoint.delivered_to, (result ->> 'sequence')::bigint);
  end if;
  insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, status, ms, error, next_attempt_at)
  values (endpoint.partner_id, endpoint.id, event, result ->> 'type', attempt, (result ->> 'at')::timestamptz, (result ->> 'status')::int,
          (result ->> 'ms')::int, left(result ->> 'error', 200), next);
  return endpoint;
end $function$;

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
  -- it was revoked or moved, or another worker leased it: these events are sent once more
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
         -- an endpoint that just had its turn goes to the end of the queue
         lease_id = null, lease_until = private.now()
   where e.partner_id = endpoint.partner_id and e.id = endpoint.id;
  -- only the operator can mend a secret that we cannot read: the metrics tell them
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
  -- the owner of an endpoint can make it fail, and enable it, as often as they like
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

CREATE OR REPLACE FUNCTION private.webhook_delay (
  attempt integer
)
  RETURNS interval
  LANGUAGE sql
  SET search_path TO ''
  AS $function$
  -- a tenth more or less: events that failed together are retried apart
  select (array['5 seconds', '5 minutes', '30 minutes', '2 hours', '5 hours', '10 hours', '14 hours', '20 hours', '24 hours']::interval[])[attempt]
         * (0.9 + random() * 0.2)
$function$;

COMMENT ON FUNCTION "api"."get_dashboard"(jsonb) IS 'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year. The share in euro is of unsold ERE at the last average price, 0 until there is one. Refused with service_unavailable while the worker counts first.';

COMMENT ON FUNCTION "api"."read_portal_log"(jsonb, jsonb) IS 'What was changed for a partner, newest first: {before, skip, limit} to {who, total, changes: [{at, action, by: person | key | operator, email, subject_id, about, details}], before}. Send before, or skip, for a next page; before is null at the end. about names a draft, a webhook or a manager that is still there. total is null without skip, and stops at 10001. email is null for a login that is gone.';

COMMENT ON FUNCTION "api"."read_portal_start"(jsonb, jsonb) IS 'What the people who manage a partner see first: {key} to {who, figures, payouts, attention}, figures as GET /partner/dashboard, null while the worker counts first, payouts as GET /partner/payouts. attention is {drafts, customers, webhooks, account_missing, invoices_need, cap, cap_left} of what is newest.';

COMMENT ON FUNCTION "api"."read_signed_mandate"(jsonb, jsonb) IS 'What withdrawing the mandate for a connection would mean: {connection_id, token_hash} to {email, partner_name, ean_code, registration_status, may_still_book, renewed_until, withdrawal, code_sent}; withdrawal as private.withdrawal_means.';

COMMENT ON FUNCTION "api"."redeem_sign_in_code"(jsonb, jsonb) IS 'Uses a one-time code: {token_hash, code_hash, key, email, device_hash?, signatory_hash?, strangers?} to {email, login, signatory}. Asks for a login first if the address has none, or if a stranger may have made it. login: the owner may sign in. signatory_hash signs in a signatory of a CPO''s customer.';

COMMENT ON FUNCTION "api"."send_sign_in_code"(jsonb, jsonb) IS 'Mails a one-time code, good for ten minutes and five attempts: {address_hash, email_hash, device_hash, email, token_hash, code_hash, mail, signatories?, strangers?}. It goes to an address with a login. signatories adds the signatories of a CPO''s customers, strangers adds addresses without a login. The answer is the same if the code opens nothing.';

COMMENT ON FUNCTION "ops"."quarter_show"(jsonb) IS 'Where each partner stands in a quarter: {quarter, partner?} to {quarter, over, last_day, partners, payable, without}. Each partner has next: {step, booking?, batch?, ere?}. without counts the partners that delivered and booked nothing. payable: whether anybody can be paid now, null where no partner waits for that. No personal data.';

COMMENT ON FUNCTION "ops"."retention_step"(jsonb) IS 'Deletes about this many rows of a kind: {kind, size} to {kind, rows}. It may be more, because a booking goes with all its rows.';

COMMENT ON FUNCTION "private"."code_opens"(text, boolean) IS 'Whether a code mailed to an address signs somebody in: a login or a signatory, and with strangers also somebody new. Definer, because logins belong to Supabase Auth.';

COMMENT ON FUNCTION "private"."lease_webhooks"(integer, text) IS 'Leases endpoints with something to send, each for a minute, with at most fifty events. A failing endpoint gets one event. Definer: every tenant at once.';

COMMENT ON FUNCTION "private"."own_accounts"() IS 'The accounts of this transaction''s person: {account_id, draft_id, cpo, payout_handler, fee_pct, iban_last4, iban_held_until, sent, checklist, chargers, connections}. sent: we asked the bank to pay all that we owe. cpo names the CPO of an account that a CPO made, null for their own. fee_pct is of the last signature. Definer, because a CPO''s accounts are in its tenant.';

COMMENT ON FUNCTION "private"."own_left_out"(integer) IS 'The kWh of a person''s year that do not count toward ERE: [{month, kwh, why, reason}]. why is before_ere, outside_mandate, mandate_ended, register, after_booking or no_factor. after_booking: the kWh came, or the meter was confirmed as MID, after the month was booked. no_factor: the year has no factor yet. reason has the register''s own words, if any. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_paid"(integer) IS 'What this transaction''s person, or the CPO that settles with them, was paid since the year began and ever: {year_eur, all_eur, debts: [{eur, unsold}]}. debts has each account that was paid for a sale that was reversed later, with its unsold ERE; its next payments are lower. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."partner_figures"(core.partners) IS 'The dashboard of a partner: up to 1,000 customers as of now, above that the last count, or null before the worker counted first. Definer, because dashboards are otherwise only read.';

COMMENT ON FUNCTION "private"."reader_of_codes"(text) IS 'On the sandbox: the tenant that reads the codes of a signatory without a login. Such a code makes the login for that tenant. Else null. Definer, because it looks across tenants.';

COMMENT ON FUNCTION "private"."sweep"(text) IS 'Deletes the due rows of a kind for the worker, at most ten thousand of each table. It has no border, so data that we keep for years stays. Definer: every tenant at once.';

COMMENT ON TABLE "core"."dashboards" IS 'The last count of each partner with more than 1,000 customers, since somebody first read it. The worker counts when a reader asks, and every night. figures is null, and as_of -infinity, before the first count. Sums, no personal data. Kept as long as the partner.';

COMMENT ON VIEW "core"."deletions" IS 'Which rows we delete one by one. due is a condition on rows d of a table of core; rows from before the day :border need not be kept. A kind is deleted step by step.';

REVOKE ALL ON FUNCTION "private"."may_still_book"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."may_still_book"(text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."may_still_book"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."may_still_book"(text) TO "postgres";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

COMMENT ON COLUMN "core"."booking_rows"."account_id" IS NULL;

COMMENT ON COLUMN "core"."charger_models"."mid_source" IS NULL;

COMMENT ON COLUMN "core"."dashboards"."asked_at" IS NULL;

COMMENT ON COLUMN "core"."sales"."gross" IS NULL;

DROP FUNCTION "ops"."evidence_page"(jsonb);

DROP FUNCTION "ops"."invoice_list"(jsonb);

DROP FUNCTION "ops"."ledger_check"(jsonb);

DROP FUNCTION "ops"."payout_due"(jsonb);

DROP FUNCTION "ops"."sale_list"(jsonb);

DROP FUNCTION "ops"."webhook_disable"(jsonb);

DROP FUNCTION "ops"."webhook_enable"(jsonb);

DROP FUNCTION "ops"."webhook_pinged"(jsonb);

DROP FUNCTION "ops"."webhook_revoke"(jsonb);

DROP FUNCTION "ops"."webhook_rotate"(jsonb);

DROP FUNCTION "private"."enter_signed_account"(uuid);

DROP FUNCTION "private"."enter_signed_connection"(uuid);

DROP FUNCTION "private"."positions"(integer[]);

DROP FUNCTION "private"."record_sale"(core.bookings, core.sales);

DROP FUNCTION "private"."require_enabled"(core.webhook_endpoints);

DROP FUNCTION "private"."write_invoice"(core.partners, core.invoices);

CREATE OR REPLACE FUNCTION api.list_ere_positions (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
declare
  years     int[];
  found     uuid[];
  positions json;
begin
  perform private.act_as(caller, 'cpo');
  years := array(
    select f.delivery_year from core.figures f
     where f.partner_id = private.partner_id() and f.delivery_year = coalesce((query ->> 'delivery_year')::int, f.delivery_year)
     order by f.delivery_year desc);
  if query ->> 'cpo_external_ref' is null then
    found := private.account_page(query);
    positions := (
      select json_agg(p.answer order by p.created_at desc, p.account_id desc)
        from private.positions(years) p
       where p.partner_id = private.partner_id() and p.account_id = any (found[:(query ->> 'limit')::int]));
  else
    -- what integrators ask for most, without looking the account up first: 20 us of 280
    select array_agg(p.account_id), json_agg(p.answer) into found, positions
      from private.positions(years) p
     where p.client_id = private.client_id() and p.cpo_external_ref = query ->> 'cpo_external_ref' and (query ->> 'offset')::bigint = 0;
  end if;
  return private.page_answer('positions', positions, found, query);
end $function$;

CREATE OR REPLACE FUNCTION api.list_own_charging_sessions (
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
  page core.charging_sessions[];
begin
  perform private.act_as(caller, 'user');
  page := private.own_charging_sessions(coalesce(private.as_border(query ->> 'from'), '-infinity'), coalesce(private.as_border(query ->> 'to'), 'infinity'),
                                        (query ->> 'charger_id')::uuid, false, query);
  return private.page_answer('sessions', (
    select json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc) from unnest(page[:(query ->> 'limit')::int]) s),
    array(select s.id from unnest(page) s), query);
end $function$;

CREATE OR REPLACE FUNCTION api.portal_upload (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  answer jsonb;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  perform private.act_for_client((input ->> 'client')::uuid);
  answer := private.store_upload(input);
  -- judging stores the rows and undoes it, with the client's lock: so only the first look and the confirmation do
  update core.imports i set outcomes = answer -> 'results'
   where (input ->> 'dry_run')::boolean and not answer ? 'idempotent' and i.partner_id = private.partner_id() and i.id = (input ->> 'upload_id')::uuid;
  perform private.audit('upload.stored', (input ->> 'upload_id')::uuid, jsonb_build_object('kind', input -> 'kind', 'rows', input -> 'rows'))
    where not ((input ->> 'dry_run')::boolean or answer ? 'idempotent');
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION api.read_own_charging (
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
  year      constant int  := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
  one_month constant date := (query ->> 'month')::date;
  page      core.charging_sessions[];
begin
  perform private.act_as(caller, 'session', 'signatory');
  page := private.own_charging_sessions(one_month::timestamp at time zone 'Europe/Amsterdam',
                                        (one_month + interval '1 month') at time zone 'Europe/Amsterdam', null, true, query);
  return json_build_object(
    'email', private.own_email(),
    'year', year,
    'years', private.own_years(),
    'months', (select coalesce(json_agg(m order by m.month), '[]') from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'left_out', private.own_left_out(year),
    'idle_chargers', private.own_idle_chargers(year),
    'sessions', (select coalesce(json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc), '[]')
                   from unnest(page[:(query ->> 'limit')::int]) s),
    'has_more', cardinality(page) > (query ->> 'limit')::int);
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
    'left_out', private.own_left_out(year),
    'idle_chargers', private.own_idle_chargers(year),
    'accounts', private.own_accounts(),
    'payouts', private.own_payouts(year),
    'overviews', private.own_overviews(),
    -- the page of 0.9.0 says what the service keeps, or that it is not known
    'prices', '{"fee_pct": null}'::json);
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
  update core.webhook_endpoints e
     set url = coalesce(input ->> 'url', e.url),
         types = case when input ? 'types' then (select array_agg(t) from jsonb_array_elements_text(nullif(input -> 'types', 'null')) t) else e.types end
   where e.partner_id = before.partner_id and e.id = before.id returning * into endpoint;
  if endpoint = before then
    return private.webhook_json(before);
  elsif endpoint.url <> before.url then
    -- What an application redirects is no more than what it may read. Another receiver is tried at once, and whoever is sending to the one
    -- before says nothing of it any more.
    update core.webhook_endpoints e
       set pseudonymous = e.pseudonymous or not private.is_partner_itself(),
           failures = 0, failing_since = null, last_error = null, warnings = 0, probe_at = null, lease_id = null, lease_until = null
     where e.partner_id = before.partner_id and e.id = before.id returning * into endpoint;
  end if;
  perform private.audit('webhook.updated', endpoint.id, jsonb_build_object('changed', to_jsonb(array_remove(array[
    case when endpoint.url <> before.url then 'url' end, case when endpoint.types is distinct from before.types then 'types' end], null))));
  return private.webhook_json(endpoint);
end $function$;

CREATE OR REPLACE FUNCTION ops.evidence_page (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('lines', coalesce(json_agg(p.line order by p.key), '[]'), 'last', max(p.key::text))
    from core.bookings b
   cross join lateral private.evidence_lines(
           b, input ->> 'part', coalesce((input ->> 'after')::uuid, '00000000-0000-0000-0000-000000000000'), (input ->> 'size')::int) p
   where b.partner_id = (input ->> 'partner_id')::uuid and b.id = (input ->> 'booking_id')::uuid
$function$;

CREATE OR REPLACE FUNCTION ops.invoice_list (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('invoices', coalesce(json_agg(private.invoice_row(i) order by i.issued_on desc, i.year desc, i.number desc, i.partner_id), '[]'))
    from (select i.*
            from private.chosen_partner(input) as chosen (id) join core.invoices i on chosen.id is null or i.partner_id = chosen.id
           where input ->> 'quarter' is null or private.quarter_name(i.quarter) = upper(input ->> 'quarter')
           order by i.issued_on desc, i.year desc, i.number desc, i.partner_id limit coalesce((input ->> 'limit')::int, 50)) i
$function$;

CREATE OR REPLACE FUNCTION ops.ledger_check (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with checked as materialized (
    select p.slug, k.*
      from private.chosen_partner(input) as chosen (id)
      join core.partners p on chosen.id is null or p.id = chosen.id
     cross join lateral private.check_ledger(p.id) k
  )
  select json_build_object(
    'ok', coalesce(sum(k.wrong), 0) = 0 and coalesce(bool_and(k.expected = k.found), true),
    'checks', (select json_agg(json_build_object('check', c.what, 'expected', c.expected, 'found', c.found, 'wrong', c.wrong) order by c.what)
                 from (select k.what, sum(k.expected) as expected, sum(k.found) as found, sum(k.wrong) as wrong from checked k group by k.what) c),
    'wrong', (select coalesce(json_agg(json_build_object('partner_slug', k.slug, 'check', k.what, 'expected', k.expected, 'found', k.found,
                                                         'wrong', k.wrong, 'first', k.example) order by k.slug, k.what), '[]')
                from checked k where k.wrong > 0 or k.expected <> k.found))
    from checked k
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
  perform private.refuse_if('mail_not_found', mail.id is null, json_build_object('mail', input ->> 'id'));
  perform private.refuse_if('mail_sent', mail.status = 'sent', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_captured', mail.status = 'captured', json_build_object('mail', mail.id));
  perform private.refuse_if('mail_dropped', mail.status = 'dropped', json_build_object('mail', mail.id));
  select * into partner from core.partners p where p.id = mail.partner_id;
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

CREATE OR REPLACE FUNCTION ops.payout_due (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('payees', coalesce(json_agg(json_build_object(
           'partner_id', y.partner_id, 'account_id', y.account_id, 'iban', json_build_object('ciphertext', y.iban_ciphertext, 'key_id', y.iban_key_id),
           'failed', coalesce(y.failed, '[]'))), '[]'))
    from private.payees(private.read_minimum(input)) y where y.reason is null
$function$;

CREATE OR REPLACE FUNCTION ops.sale_list (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('sales', coalesce(json_agg(private.sale_row(s) order by s.arrival desc), '[]'))
    from (select s.* from private.bookings_named(input ->> 'booking', private.chosen_partner(input)) b
            join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
           order by s.arrival desc limit coalesce((input ->> 'limit')::int, 50)) s
$function$;

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
  named   constant text    := private.operator_name(input ->> 'reference');
  buyer   constant text    := private.operator_name(input ->> 'buyer');
  ere     constant numeric := private.as_decimal(input ->> 'ere', 6);
  price   constant numeric := private.as_decimal(input ->> 'price', 6);
  day     constant date    := private.as_day(input ->> 'date');
  sale    core.sales;
  changed boolean;
begin
  perform private.refuse_if('invalid_ere', ere > 0 is not true);
  perform private.refuse_if('invalid_price', (price > 0 and price < 1000000) is not true);
  perform private.refuse_if('invalid_date', input ? 'date' and (day <= private.today()) is not true);
  -- of two at once with one reference, for whatever bookings of a tenant, the second sees what the first recorded
  perform pg_advisory_xact_lock(hashtextextended('sale of ' || booking.partner_id || ' ' || named, 0));
  select * into sale from core.sales s where s.partner_id = booking.partner_id and s.reference = named;
  changed := not found;
  if changed then
    sale := private.record_sale(booking, named, buyer, ere, price, coalesce(day, private.today()));
  elsif (sale.booking_id, sale.buyer, sale.ere, sale.price) <> (booking.id, buyer, ere, price) or sale.sold_on <> day then
    perform private.refuse('reference_taken', json_build_object('reference', sale.reference));
  end if;
  return json_build_object('changed', changed, 'sale', private.sale_row(sale));
end $function$;

CREATE OR REPLACE FUNCTION ops.webhook_disable (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('changed', before.status = 'enabled', 'webhook', private.webhook_row(private.disable_webhook(before, 'operator')))
    from private.any_webhook(input) before
$function$;

CREATE OR REPLACE FUNCTION ops.webhook_enable (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object('changed', before.status = 'disabled', 'webhook', private.webhook_row(private.enable_webhook(before)))
    from private.any_webhook(input) before
$function$;

CREATE OR REPLACE FUNCTION ops.webhook_pinged (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(private.pinged(endpoint.id, (input ->> 'ping')::uuid), '{"ok": false, "attempt": null}') from private.any_webhook(input) endpoint
$function$;

CREATE OR REPLACE FUNCTION ops.webhook_revoke (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select json_build_object('ok', true) from private.revoke_webhook(private.any_webhook(input)) $function$;

CREATE OR REPLACE FUNCTION ops.webhook_rotate (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$ select json_build_object('changed', true, 'webhook', private.webhook_row(private.rotate_webhook(private.any_webhook(input), input))) $function$;

CREATE OR REPLACE FUNCTION private.claim_view (
  draft   core.drafts,
  request jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  state  constant text := private.draft_state(draft);
  answers jsonb;
  view   jsonb;
begin
  draft := private.draft_for(draft, request #>> '{session,proved_by}');
  draft.status := private.claim_stage(draft);
  select jsonb_build_object('state', state, 'status', draft.status, 'locale', coalesce(draft.locale, p.locale),
                            'brand', private.partner_brand(p), 'partner_name', p.name) into view
    from core.partners p where p.id = draft.partner_id;
  if state not in ('open', 'active') then
    return coalesce(view, jsonb_build_object('state', state));
  end if;
  view := view || jsonb_build_object('email', draft.email, 'code_sent', private.code_sent('claim:' || draft.id));
  if not private.is_proven(draft, request -> 'session') or state = 'open' and draft.status <> 'claimed' then
    -- the link alone shows nothing of what is known or typed, but what anybody may earn
    return view || jsonb_build_object('offer', private.offer(private.house(), 'service_pays_customer'),
                                      'fee_pct', (private.own_partner()).default_fee_pct);
  elsif state = 'active' then
    view := view || private.claim_outcome(draft) || jsonb_build_object(
      'login', private.claim_login(draft, request -> 'session'),
      'return_url', coalesce(draft.progress ->> 'return_url', (select p.return_url from core.partners p where p.id = draft.partner_id)));
    -- what the partner uploaded describes the first charger, not a second one
    answers := case when view -> 'chargers' = '[]' then coalesce(draft.charger, '{}') else '{}' end;
  else
    answers := private.claim_answers(draft);
    view := view || jsonb_build_object(
      'confirmed', coalesce(draft.progress -> 'confirmed', '[]'),
      'open_step', private.claim_open_step(draft),
      'candidates', coalesce(draft.progress -> 'candidates', '[]'),
      'iban_last4', draft.progress #>> '{iban,last4}',
      'charger', (select jsonb_build_object('name', m.brand || ' ' || m.model, 'mid_meter', m.mid_meter)
                    from core.charger_models m where m.id = (answers ->> 'catalog_charger_id')::uuid))
      || case when private.claim_open_step(draft) is null
              then private.what_may_be_signed(private.claim_facts(draft), null, private.own_partner()) else '{}' end;
  end if;
  return view || jsonb_build_object('answers', answers)
    || case when request ->> 'step' = 'charger' then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION private.enter_signed_account (
  account    uuid,
  connection uuid DEFAULT NULL::uuid
)
  RETURNS core.accounts
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  signed core.accounts;
begin
  select * into signed from private.signed_accounts(private.signatory()) a
   where a.id = account or exists (select from core.connections c where c.partner_id = a.partner_id and c.account_id = a.id and c.id = connection);
  perform private.refuse_if('account_not_found', signed.id is null);
  perform private.act_for_person(signed.partner_id, null), private.act_for_tenant(signed.partner_id), set_config('app.caller_kind', 'signatory', true);
  return signed;
end $function$;

CREATE OR REPLACE FUNCTION private.enter_signed_mandate (
  caller  jsonb,
  request jsonb,
  OUT     account core.accounts,
  OUT     address text
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connection constant uuid := (request ->> 'connection_id')::uuid;
begin
  perform private.act_as(caller, 'session', 'signatory');
  address := private.signatory();
  account := private.enter_signed_account(null, connection);
  -- of two clicks the second finds it ended
  perform from core.connections c where c.partner_id = account.partner_id and c.id = connection for update;
  if not exists (select from core.connection_mandates c
                  where c.partner_id = account.partner_id and c.connection_id = connection and c.status = 'active' and c.mandate_status = 'signed') then
    perform private.refuse('link_not_open');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.issue_invoices (
  partner  core.partners,
  wanted   date,
  by_login text
)
  RETURNS SETOF core.invoices
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  due     record;
  invoice core.invoices;
begin
  -- of two at once the second finds nothing left, and the numbers have no gaps
  perform pg_advisory_xact_lock(hashtextextended('invoices of ' || partner.id, 0));
  for due in
    select i.id as corrects, i.vat_regime, i.vat_rate, i.year, i.number from core.invoices i
     where i.partner_id = partner.id
       and i.id in (select e.corrects from private.share_entries(partner.id) e where e.quarter = wanted)
    union all
    select null, partner.vat_regime, case partner.vat_regime when 'regular' then (
             select r.rate from core.vat_rates r where r.valid_from <= private.today() order by r.valid_from desc limit 1) else 0 end, null, null
     where private.why_no_invoice(partner) is null
     order by year, number  -- the invoice of the rest comes last
  loop
    invoice := private.write_invoice(partner, wanted, by_login, due.corrects, due.vat_regime, due.vat_rate);
    if invoice.id is not null then
      return next invoice;
    end if;
  end loop;
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
    select q.partner_id, q.id, key is not null and q.content ->> 'unsubscribe_url' is not null and private.opted_out(q.recipient, key)
             or private.still_opens(q) is not true as unwanted
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

CREATE OR REPLACE FUNCTION private.newest_mails (
  input jsonb,
  size  integer
)
  RETURNS SETOF core.mail_outbox
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  partner constant uuid    := private.chosen_partner(input);
  wanted  constant text    := lower(input ->> 'to');
  failed  constant boolean := coalesce((input ->> 'failed')::boolean, false);
begin
  return query
    select * from core.mail_outbox m
     where (not failed or m.status = 'failed' or m.status = 'queued' and m.last_error is not null) and m.status <> 'nobody'
       and (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted)
     order by m.created_at desc, m.id desc limit size;
end $function$;

CREATE OR REPLACE FUNCTION private.newest_tokens (
  person uuid,
  size   integer
)
  RETURNS TABLE (
    id         uuid,
    created_at timestamp with time zone
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return query
    (select p.id, p.created_at from core.personal_tokens p where person is null or p.user_id = person order by p.created_at desc limit size)
    union all
    (select g.id, g.created_at from core.oauth_grants g where person is null or g.user_id = person order by g.created_at desc limit size)
    order by 2 desc, 1 limit size;
end $function$;

CREATE OR REPLACE FUNCTION private.own_charging_sessions (
  since     timestamp with time zone,
  until     timestamp with time zone,
  charger   uuid,
  withdrawn boolean,
  query     jsonb
)
  RETURNS core.charging_sessions[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return array(
    select s from core.charging_sessions s
     where s.owner_id = private.user_id() and s.started_at >= since and s.started_at < until
       and (charger is null or s.charger_id = charger) and (withdrawn or not 'withdrawn' = any (s.flags))
     order by s.started_at desc, s.id desc limit (query ->> 'limit')::int + 1 offset (query ->> 'offset')::bigint);
end $function$;

CREATE OR REPLACE FUNCTION private.payees (
  minimum numeric,
  owners  uuid[]  DEFAULT NULL::uuid[]
)
  RETURNS SETOF private.payee
  LANGUAGE plpgsql
  STABLE
  SET enable_nestloop TO 'off'
  SET search_path TO ''
  AS $function$
declare
  spent constant uuid[] := case when minimum > 0 then private.spent_bookings() else '{}' end;
begin
  return query
  with owed as materialized (
    select b.partner_id, b.account_id, sum(b.amount) as amount from private.payable_balances(owners) b group by b.partner_id, b.account_id
  )
  select o.partner_id, o.account_id, a.owner_id, o.amount, n.name, i.ciphertext, i.key_id, i.last4, i.changed_at,
         f.failed,
         case when o.amount < 0 then 'owes'
              when o.amount < minimum and case when o.account_id is null then private.partner_may_yield(o.partner_id, spent)
                                               else private.may_yield(o.partner_id, o.account_id, spent) end then 'below_minimum'
              when i.ciphertext is null then 'iban_missing'
              when i.changed_at > private.now() - interval '48 hours' then 'iban_changed'
              when n.name is null then 'name_unreadable' end
    from owed o
    join core.partners p on p.id = o.partner_id
    left join core.accounts a on a.partner_id = o.partner_id and a.id = o.account_id
    left join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
    cross join lateral (
      -- a business is paid in its own name
      select private.sepa_name(case when o.account_id is null then p.iban_holder
                                    else coalesce(case when a.type <> 'particulier' then a.company ->> 'name' end, s.full_name, a.display_name) end) as name) n
    cross join lateral (
      select p.iban_ciphertext as ciphertext, p.iban_key_id as key_id, p.iban_last4 as last4, p.iban_changed_at as changed_at where o.account_id is null
      union all select a.iban_ciphertext, a.iban_key_id, a.iban_last4, a.iban_changed_at where o.account_id is not null) i
    left join lateral (
      select jsonb_agg(jsonb_build_object('ciphertext', l.iban_ciphertext, 'key_id', l.iban_key_id) order by l.iban_ciphertext) as failed
        from (select distinct l.iban_ciphertext, l.iban_key_id from core.payout_lines l
               where l.partner_id = o.partner_id and l.payee_id = coalesce(o.account_id, o.partner_id)
                 and l.status = 'failed' and l.released_at is null) l) f on true
   where o.amount <> 0;
end $function$;

CREATE OR REPLACE FUNCTION private.ping_webhook (
  endpoint core.webhook_endpoints
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  ping constant uuid := gen_random_uuid();
begin
  perform private.refuse_if('endpoint_disabled', endpoint.status <> 'enabled');
  insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts, next_attempt_at)
  values (endpoint.partner_id, endpoint.id, ping, 0, '-infinity');
  return ping;
end $function$;

CREATE OR REPLACE FUNCTION private.positions (
  years integer[]
)
  RETURNS TABLE (
    partner_id       uuid,
    account_id       uuid,
    client_id        uuid,
    created_at       timestamp with time zone,
    cpo_external_ref text,
    answer           json
  )
  LANGUAGE sql
  STABLE
BEGIN ATOMIC
 WITH published
  AS MATERIALIZED (
          SELECT f.delivery_year,
             f.price,
             f.published_at,
             k.renewable_share,
             k.ere_per_kwh
            FROM (core.figures f
              JOIN core.ere_factors k ON ((k.delivery_year = f.delivery_year)))
           WHERE ((f.partner_id = private.partner_id()) AND (f.delivery_year = ANY (positions.years)))
         )
  SELECT g.partner_id,
     g.account_id,
     g.client_id,
     g.created_at,
     g.cpo_external_ref,
     row_to_json(r.*) AS row_to_json
    FROM (((core.account_gates g
      CROSS JOIN LATERAL ( SELECT string_agg(private.month_json(d_1.*), ','::text ORDER BY d_1.period, d_1.connection_id) AS months,
             sum(d_1.total_kwh) FILTER (WHERE ((d_1.status = 'staged'::text) OR d_1.locked)) AS total_kwh,
             sum(d_1.total_kwh) FILTER (WHERE ((d_1.status = 'staged'::text) AND (d_1.period <@ k.newest))) AS open_kwh,
             max(d_1.received_at) FILTER (WHERE ((d_1.status = 'staged'::text) AND (d_1.period <@ k.newest))) AS open_at
            FROM ((core.connections c
              LEFT JOIN LATERAL ( SELECT range_agg((daterange(m.valid_from, m.covered_until, '[]'::text) * daterange(make_date((positions.years)[1], 1, 1), make_date(((positions.years)[1] + 1), 1, 1)))) FILTER (WHERE (m.covered_until >= m.valid_from)) AS newest
                    FROM core.mandates m
                   WHERE ((m.partner_id = c.partner_id) AND (m.connection_id = c.id) AND (cardinality(positions.years) > 0))) k ON (true))
              JOIN core.delivered_months d_1 ON (((d_1.partner_id = c.partner_id) AND (d_1.connection_id = c.id))))
           WHERE ((c.partner_id = g.partner_id) AND (c.account_id = g.account_id))) d)
      LEFT JOIN LATERAL ( SELECT (concat('{"delivery_year":', p.delivery_year, ',"kwh_counted":', (s.kwh + o.kwh), ',"renewable_share":', p.renewable_share, ',"ere_per_kwh":', p.ere_per_kwh, ',"ere_estimated":', round((s.ere + (o.kwh * p.ere_per_kwh)), 2), ',"ere_registered":', round(s.registered, 2), ',"ere_sold":', round(s.sold, 2), ',"reserved_ere":', round((s.registered - s.sold), 2), ',"price_per_ere_eur":', COALESCE((p.price)::text, 'null'::text), ',"gross_eur":', s.gross, ',"fee_pct":', COALESCE((s.fee_pct)::text, 'null'::text), ',"net_eur":', s.net, ',"currency":"EUR","updated_at":"', private.iso(GREATEST(p.published_at, s.changed_at, o.received_at)), '"}'))::json AS ere
            FROM ((((unnest((positions.years || (positions.years)[1])) WITH ORDINALITY y(year, place)
              JOIN published p ON ((p.delivery_year = y.year)))
              CROSS JOIN LATERAL ( SELECT count(*) AS bookings,
                     COALESCE(sum(b.kwh), (0)::numeric) AS kwh,
                     COALESCE(sum(b.ere), (0)::numeric) AS ere,
                     COALESCE(sum(b.registered_ere), (0)::numeric) AS registered,
                     COALESCE(sum(b.sold_ere), (0)::numeric) AS sold,
                     COALESCE(sum(b.gross), (0)::numeric) AS gross,
                     COALESCE(sum(b.net), (0)::numeric) AS net,
                         CASE
                             WHEN (min(b.lowest_fee) = max(b.highest_fee)) THEN min(b.lowest_fee)
                             ELSE NULL::numeric
                         END AS fee_pct,
                     max(b.changed_at) AS changed_at
                    FROM core.account_bookings b
                   WHERE ((b.partner_id = g.partner_id) AND (b.account_id = g.account_id) AND (b.delivery_year = p.delivery_year))) s)
              LEFT JOIN LATERAL ( SELECT sum(m.total_kwh) AS kwh,
                     max(m.received_at) AS received_at
                    FROM (core.connections c
                      JOIN core.counted_months m ON (((m.partner_id = c.partner_id) AND (m.connection_id = c.id))))
                   WHERE ((y.year <> (positions.years)[1]) AND (c.partner_id = g.partner_id) AND (c.account_id = g.account_id) AND (m.status = 'staged'::text) AND (m.period >= make_date(y.year, 1, 1)) AND (m.period < make_date((y.year + 1), 1, 1)))) older ON (true))
              CROSS JOIN LATERAL ( SELECT (COALESCE(older.kwh, (0)::numeric) +
                         CASE
                             WHEN (y.year = (positions.years)[1]) THEN COALESCE(d.open_kwh, (0)::numeric)
                             ELSE (0)::numeric
                         END) AS kwh,
                         CASE
                             WHEN (y.year = (positions.years)[1]) THEN d.open_at
                             ELSE older.received_at
                         END AS received_at) o)
           WHERE ((s.bookings > 0) OR (o.received_at IS NOT NULL) OR (y.place > cardinality(positions.years)))
           ORDER BY y.place
          LIMIT 1) e ON (true))
      CROSS JOIN LATERAL ( SELECT g.account_id,
             g.cpo_external_ref,
             g.payout_handler,
             g.ere_eligible,
             g.mandate_valid_from,
             g.checklist,
             (concat('[', d.months, ']'))::json AS delivered_months,
             COALESCE(d.total_kwh, (0)::numeric) AS total_kwh_delivered,
             e.ere) r);
END;

CREATE OR REPLACE FUNCTION private.record_sale (
  booking   core.bookings,
  reference text,
  buyer     text,
  ere       numeric,
  price     numeric,
  sold_on   date
)
  RETURNS core.sales
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  sellable constant numeric := private.sellable_ere(booking);
  sale     core.sales;
begin
  perform private.refuse_if('not_enough_ere', ere > sellable, json_build_object('ere', ere, 'sellable_ere', sellable));
  perform private.refuse_if('worth_nothing', round(ere * price, 2) = 0);
  insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
  values (booking.partner_id, booking.id, record_sale.reference, record_sale.buyer, record_sale.ere, record_sale.price, round(ere * price, 2), record_sale.sold_on)
  returning * into sale;
  perform private.allocate_sale(sale);
  perform private.sum_booking(booking.partner_id, booking.id), private.price_figures(booking.partner_id, extract(year from booking.quarter)::int);
  perform private.audit('sale.recorded', sale.id, jsonb_build_object('reference', sale.reference, 'ere', sale.ere, 'gross', sale.gross));
  perform private.emit_sale(sale.partner_id, 'ere.sold', array(select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id));
  return sale;
end $function$;

CREATE OR REPLACE FUNCTION private.replay_webhook (
  endpoint core.webhook_endpoints,
  input    jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  since bigint;
  until bigint;
  again int;
begin
  perform private.refuse_if('endpoint_disabled', endpoint.status <> 'enabled');
  if (input ->> 'failed')::boolean then
    update core.webhook_retries r set attempts = 0, next_attempt_at = private.now()
     where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id and r.next_attempt_at is null;
    get diagnostics again = row_count;
    perform private.audit('webhook.replayed', endpoint.id);
    return json_build_object('ok', true, 'from', null, 'to', null, 'events', again);
  end if;
  since := private.place_in_log(endpoint.owner_id, 'from', input ->> 'from');
  -- what is still to be sent in its turn is not sent twice
  until := least(private.place_in_log(endpoint.owner_id, 'to', input ->> 'to'), endpoint.delivered_to);
  insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts, next_attempt_at)
  select e.partner_id, endpoint.id, e.id, 0, private.now() + (e.sequence - since) * interval '1 microsecond'
    from core.events e
   where e.partner_id = endpoint.partner_id and e.owner_id = endpoint.owner_id and e.sequence > since and e.sequence <= until
     and (endpoint.types is null or e.type = any (endpoint.types)) and private.is_shown(e, not endpoint.pseudonymous)
  on conflict on constraint webhook_retries_pkey do update set attempts = 0, next_attempt_at = excluded.next_attempt_at;
  get diagnostics again = row_count;
  perform private.audit('webhook.replayed', endpoint.id, jsonb_build_object('from', since + 1, 'to', until));
  return json_build_object('ok', true, 'from', since + 1, 'to', greatest(until, since), 'events', again);
end $function$;

CREATE OR REPLACE FUNCTION private.settle_accounts (
  tenant   uuid,
  accounts uuid[],
  quarter  date,
  price    numeric
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  run     constant uuid := gen_random_uuid();
  booking core.bookings;
  taken   int;
begin
  if not exists (select from private.judge_quarter(tenant, quarter, accounts) j where j.reason is null) then
    return;
  end if;
  perform private.act_for_partner(tenant);
  loop
    booking := private.open_booking(tenant, quarter, run);
    taken := private.submit_booking(tenant, booking.id, accounts);
    exit when taken is not null;  -- null: somebody submitted the one that was open
  end loop;
  if taken = 0 then
    -- another booking took the same months a moment ago
    delete from core.bookings b where b.partner_id = tenant and b.id = booking.id and b.run_id = run;
    return;
  end if;
  booking := private.lock_booking(tenant, booking.id);
  perform private.credit_booking(booking, array(
    select row(0, r.id, r.kwh, null, null)::private.credit_line
      from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id), null);
  -- less than half a cent is credited and stays unsold
  perform private.record_sale(booking, 'sandbox-' || booking.id, 'Sandbox', s.ere, price, private.today())
     from private.sellable_ere(booking) s (ere) where round(s.ere * price, 2) > 0;
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
  perform private.act_for_partner(mail.partner_id);
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

CREATE OR REPLACE FUNCTION private.write_invoice (
  partner  core.partners,
  quarter  date,
  by_login text,
  corrects uuid,
  regime   text,
  rate     numeric
)
  RETURNS core.invoices
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  this_year constant int := extract(year from private.today());
  invoice   core.invoices;
begin
  -- one statement: what is sold while it runs is on the next invoice
  with charged as materialized (
    select e.ledger_partner_id, e.entry_id, e.amount from private.share_entries(partner.id) e
     where e.quarter = write_invoice.quarter and e.corrects is not distinct from write_invoice.corrects
  ), written as (
    insert into core.invoices (partner_id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, vat, corrects, name, company)
    select partner.id, this_year, last.number + 1, write_invoice.quarter, private.today(), by_login, regime, rate, sum(c.amount),
           round((sum(c.amount) + before.net) * rate * 0.01, 2) - before.vat, write_invoice.corrects, coalesce(partner.company ->> 'name', partner.name), partner.company
      from charged c
     cross join (select coalesce(sum(i.net), 0) as net, coalesce(sum(i.vat), 0) as vat from core.invoices i
                  where i.partner_id = partner.id and i.corrects = write_invoice.corrects) before
     cross join (select coalesce(max(i.number), 0) as number from core.invoices i where i.partner_id = partner.id and i.year = this_year) last
     group by before.net, before.vat, last.number having sum(c.amount) <> 0
    returning *
  ), listed as (
    insert into core.invoice_entries (partner_id, ledger_partner_id, entry_id, invoice_id, amount)
    select w.partner_id, c.ledger_partner_id, c.entry_id, w.id, c.amount from written w cross join charged c
  )
  select * into invoice from written;
  if not found then
    return null;
  end if;
  if invoice.vat <> 0 then
    perform private.post(partner.id, array[private.euro_posting('invoice:' || invoice.id || ':vat', invoice.vat, 'input_vat', private.house(), 'vat', partner.id)]);
  end if;
  insert into core.documents (partner_id, invoice_id) values (invoice.partner_id, invoice.id);
  perform private.act_for_partner(partner.id),
          private.audit('invoice.issued', invoice.id, jsonb_build_object('number', private.invoice_number(invoice), 'net', invoice.net, 'vat', invoice.vat));
  return invoice;
end $function$;

COMMENT ON FUNCTION "api"."lease_mail"(jsonb, jsonb) IS 'The next mails to send: {size, key} to [{partner_id, id, recipient, template, locale, content}]. Each is leased for five minutes, then offered again. Mail that its reader opted out of since, or whose link or code is of no use any more, is dropped.';

COMMENT ON FUNCTION "ops"."evidence_page"(jsonb) IS 'A page of a booking''s evidence: {partner_id, booking_id, part, after?, size} to {lines, last}. part is rows, mandates, pdfs, deliveries, connections or audit. Send last as after for the next page; an empty page has null.';

COMMENT ON FUNCTION "ops"."invoice_list"(jsonb) IS 'Invoices, newest first: {quarter?, partner?, limit?} to {invoices}.';

COMMENT ON FUNCTION "ops"."ledger_check"(jsonb) IS 'Whether kWh, ERE and money agree from delivered months to the last cent: {partner?} to {ok, checks, wrong}. Of one partner or of all.';

COMMENT ON FUNCTION "ops"."mail_list"(jsonb) IS 'Mail, newest first, without its content: {to?, partner?, failed?, limit?} to {mails}. It waits, was sent, was captured or was dropped: by a limit of its address, or because its reader opted out or can no longer use it.';

COMMENT ON FUNCTION "ops"."payout_due"(jsonb) IS 'The payees of a batch, with their encrypted IBANs and those of their failed payments: {minimum?} to {payees}. The holder of the keys judges these, for payout_prepare.';

COMMENT ON FUNCTION "ops"."sale_list"(jsonb) IS 'Sales, newest first: {booking?, partner?, limit?} to {sales}. booking is a booking id, a run id or a quarter.';

COMMENT ON FUNCTION "ops"."webhook_disable"(jsonb) IS 'Stops sending to an endpoint; nothing is lost: {webhook} to {changed, webhook}.';

COMMENT ON FUNCTION "ops"."webhook_enable"(jsonb) IS 'Sends to an endpoint again, from its last position: {webhook} to {changed, webhook}.';

COMMENT ON FUNCTION "ops"."webhook_pinged"(jsonb) IS 'The result of a ping: {webhook, ping} to {ok, attempt}; attempt is null until it was sent.';

COMMENT ON FUNCTION "ops"."webhook_revoke"(jsonb) IS 'Deletes an endpoint, and what was still to be sent: {webhook} to {ok}.';

COMMENT ON FUNCTION "ops"."webhook_rotate"(jsonb) IS 'Replaces the secret: {webhook, secret, now?} to {changed, webhook}. Both sign for 24 hours, unless now.';

COMMENT ON FUNCTION "private"."enter_signed_account"(uuid, uuid) IS 'Enters the tenant of an account that the caller signed for, or that has this connection, as by a mandate link. Refused with account_not_found for any other. Definer, because it looks across tenants.';

REVOKE ALL ON FUNCTION "ops"."evidence_page"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."evidence_page"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."evidence_page"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."evidence_page"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."invoice_list"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."invoice_list"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."invoice_list"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."invoice_list"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."ledger_check"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."ledger_check"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."ledger_check"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."ledger_check"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."payout_due"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."payout_due"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."payout_due"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."payout_due"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."sale_list"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."sale_list"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."sale_list"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."sale_list"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_disable"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_disable"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_disable"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_disable"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_enable"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_enable"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_enable"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_enable"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_pinged"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_pinged"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_pinged"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_pinged"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_revoke"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_revoke"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_revoke"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_revoke"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "ops"."webhook_rotate"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."webhook_rotate"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."webhook_rotate"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "ops"."webhook_rotate"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."enter_signed_account"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."enter_signed_account"(uuid, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."enter_signed_account"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."enter_signed_account"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."own_charging_sessions"(timestamp WITH time zone, timestamp WITH time zone, uuid, boolean, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_charging_sessions"(timestamp WITH time zone, timestamp WITH time zone, uuid, boolean, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_charging_sessions"(timestamp WITH time zone, timestamp WITH time zone, uuid, boolean, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_charging_sessions"(timestamp WITH time zone, timestamp WITH time zone, uuid, boolean, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."positions"(integer[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."positions"(integer[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."positions"(integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."positions"(integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."record_sale"(core.bookings, text, text, numeric, numeric, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."record_sale"(core.bookings, text, text, numeric, numeric, date) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."record_sale"(core.bookings, text, text, numeric, numeric, date) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."record_sale"(core.bookings, text, text, numeric, numeric, date) TO "postgres";

REVOKE ALL ON FUNCTION "private"."write_invoice"(core.partners, date, text, uuid, text, numeric) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."write_invoice"(core.partners, date, text, uuid, text, numeric) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."write_invoice"(core.partners, date, text, uuid, text, numeric) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."write_invoice"(core.partners, date, text, uuid, text, numeric) TO "postgres";

commit;

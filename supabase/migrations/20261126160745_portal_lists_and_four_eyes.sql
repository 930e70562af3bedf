begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."newest_attempts"(core.webhook_endpoints, integer);

DROP FUNCTION "private"."partner_log"(bigint, integer);

DROP FUNCTION "private"."partner_log_total"(integer);

DROP FUNCTION "private"."refuse_unknown_payments"();

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
  imported := private.import_drafts(input || jsonb_build_object('begun', kept.created_at));
  update core.imports i
     set rows_done = least(kept.rows_done + jsonb_array_length(input -> 'rows'), kept.row_count),
         send_invite = (input ->> 'send_invite')::boolean,
         expires_at = private.now() + interval '1 hour',
         -- what was expected makes room for what happened
         outcomes = case when kept.send_invite is null then '[]' else kept.outcomes end || private.import_outcomes(imported)
   where i.partner_id = kept.partner_id and i.id = kept.id
  returning * into kept;
  return private.import_state(kept);
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_drafts (
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
  size  constant int  := (query ->> 'limit')::int;
  skip  constant int  := coalesce((query ->> 'skip')::int, 0);
  sort  constant text := query #>> '{for,sort}';
  typed constant text := lower(query #>> '{for,text}');
  named constant uuid[] := (select array_agg(n::uuid) from jsonb_array_elements_text(query #> '{for,ids}') n);
  last  core.drafts;
begin
  perform private.act_as(caller, 'partner');
  select * into last from core.drafts d where d.partner_id = private.partner_id() and d.id = (query ->> 'after')::uuid;
  return (
    with examined as materialized (
      select d as draft, d.id, row_number() over newest as place, private.draft_status(d) as status
        from core.drafts d
       where d.partner_id = private.partner_id() and (last.id is null or (d.created_at, d.id) < (last.created_at, last.id))
         and (named is null or d.id = any (named))
      window newest as (order by d.created_at desc, d.id desc)
       order by d.created_at desc, d.id desc limit private.drafts_examined()
    ), alike as materialized (
      select e.*, coalesce((e.draft).company_name, (e.draft).contact_name, (e.draft).name, (e.draft).email) as name
        from examined e
       where (query #>> '{for,needs}' is null or private.needs_attention(e.draft) = query #>> '{for,needs}')
         and (typed is null or strpos(lower(concat_ws(E'\n', (e.draft).name, (e.draft).company_name, (e.draft).contact_name, (e.draft).email,
                                                      (e.draft).external_ref, (e.draft).city)), typed) > 0)
    ), found as (
      select a.*, row_number() over (order by case sort when 'name' then lower(a.name) when 'status' then a.status when 'city' then lower((a.draft).city) end,
                                              case when sort = 'until' and a.status = 'invited' then (a.draft).expires_at end,
                                              case when sort = 'oldest' then -a.place end, a.place) as number
        from alike a where query #>> '{for,status}' is null or a.status = query #>> '{for,status}'
    )
    select json_build_object(
      'who', private.portal_who(),
      'drafts', (select coalesce(json_agg(private.portal_draft(f.draft) order by f.number), '[]') from found f where f.number > skip and f.number <= skip + size),
      'total', (select count(*) from found),
      'counts', (select coalesce(json_object_agg(c.status, c.drafts), '{}') from (select a.status, count(*) as drafts from alike a group by a.status) c),
      -- the page of 0.9.0 says no skip: it goes on behind the last draft that it has
      'more_after', coalesce((select f.id from found f where not query ? 'skip' and f.number = size and (select count(*) from found) > size),
                             (select e.id from examined e where e.place = private.drafts_examined()))));
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
      'total', (select count(*) from private.partner_log(null, 10001, 0)),
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

CREATE OR REPLACE FUNCTION api.read_portal_webhook (
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
  endpoint core.webhook_endpoints;
begin
  perform private.act_as(caller, 'partner');
  endpoint := private.shown_webhook(query ->> 'webhook_id');
  return json_build_object(
    'who', private.portal_who(),
    'signed_in_recently', private.signed_in_recently(),
    'webhook', private.webhook_json(endpoint),
    'previous_until', case when endpoint.previous_until > private.now() then private.iso(endpoint.previous_until) end,
    'retries', (select json_build_object('waiting', count(r.next_attempt_at), 'given_up', count(*) - count(r.next_attempt_at))
                  from core.webhook_retries r where r.partner_id = endpoint.partner_id and r.endpoint_id = endpoint.id),
    'attempts_total', (select count(*) from (select from core.webhook_attempts a
                                              where a.partner_id = endpoint.partner_id and a.endpoint_id = endpoint.id limit 10001) a),
    'attempts', private.newest_attempts(endpoint, (query ->> 'limit')::int, coalesce((query ->> 'skip')::int, 0)));
end $function$;

CREATE OR REPLACE FUNCTION ops.payout_approve (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  login   constant text := private.operator_login();
  batch   core.payout_batches := private.payout_batch_named(input);
  changed constant boolean := batch.status = 'prepared';
begin
  if batch.status = 'cancelled' then
    perform private.refuse('payout_cancelled', json_build_object('batch', batch.id));
  elsif batch.prepared_by = login then
    perform private.refuse('second_person_needed', json_build_object('batch', batch.id, 'login', login));
  elsif (input ->> 'look')::boolean then
    return ops.payout_show(input);
  elsif changed then
    update core.payout_batches b set status = 'approved', approved_by = login, approved_at = private.now() where b.id = batch.id returning * into batch;
    perform private.audit('payout.approved', batch.id), private.emit_payouts('payout.approved', private.lines_of(batch.id));
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $function$;

CREATE OR REPLACE FUNCTION private.booking_named (
  input jsonb
)
  RETURNS core.bookings
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  named      constant text := input ->> 'booking';
  candidates constant core.bookings[] := array(
    select b from private.bookings_named(coalesce(named, ''), private.chosen_partner(input)) b
     where b.status <> 'withdrawn' or b.id = private.as_uuid(named));
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('booking_not_found', cardinality(candidates) = 0, json_build_object('booking', named));
  perform private.refuse_if('booking_ambiguous', cardinality(candidates) > 1, json_build_object('booking', named, 'partner', input -> 'partner'));
  perform private.act_for_partner((candidates[1]).partner_id);
  return private.lock_booking((candidates[1]).partner_id, (candidates[1]).id);
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
  -- one moment for all stretches of a file
  begun        constant timestamptz := coalesce((input ->> 'begun')::timestamptz, private.now());
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
    perform private.reserve_addresses(array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r where r ->> 'reason' is null), tenant);
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
       ean, postal_code, house_number, house_number_addition, street, city, charger, ean_status, send_invite, invited_at, expires_at, created_at)
    select tenant, s.id, batch, input ->> 'source', s.type, s.name, s.email, s.phone, s.external_ref, s.kvk, s.vat, s.company_name,
           s.contact_name, s.referral_code, s.ean, s.postal_code, s.house_number, s.house_number_addition, s.street, s.city,
           case when s.charger is not null then s.charger || jsonb_build_object('brand', private.charger_brand(s.charger ->> 'brand')) end,
           s.ean_status, i.email is not null, case when i.email is not null then private.now() end, private.now() + interval '60 days',
           -- microseconds apart, so that lists of the newest first have the order of the sheet
           begun + (5000 - s.place) * interval '1 microsecond'
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
                                             'content', jsonb_build_object('message', coalesce(input ->> 'message',
                                               -- the functions of 0.9.0 say mails, with the message in them
                                               substring(input #>> '{mails,nl,text}' from '{{partner_name}} schrijft u: “(.*)”\n\nBekijk uw aanmelding:')))), letters);
  end if;
  if not dry_run and (answer ->> 'added')::int > 0 then
    perform private.audit('drafts.imported', batch, jsonb_build_object('added', answer -> 'added', 'rows', cardinality(emails), 'source', input -> 'source'));
  elsif others and cardinality(emails) > 0 then
    -- also an import of which no row became a draft: it told as much as a dry run
    perform private.audit('drafts.previewed', null, jsonb_build_object('rows', cardinality(emails), 'source', input -> 'source'));
  end if;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION private.newest_attempts (
  endpoint core.webhook_endpoints,
  size     integer,
  skip     integer                DEFAULT 0
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(private.attempt_json(a) order by a.id desc), '[]')
    from (select * from core.webhook_attempts a where a.partner_id = endpoint.partner_id and a.endpoint_id = endpoint.id
           order by a.id desc limit size offset skip) a
$function$;

CREATE OR REPLACE FUNCTION private.partner_log (
  before bigint,
  size   integer,
  skip   integer
)
  RETURNS TABLE (
    id         bigint,
    at         timestamp with time zone,
    actor      text,
    action     text,
    subject_id uuid,
    details    jsonb
  )
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select a.id, a.at, a.actor, a.action, a.subject_id, a.details from core.audit_log a
   where a.partner_id = private.partner_id() and a.actor ~ '^(partner|operator)' and (partner_log.before is null or a.id < partner_log.before)
   order by a.id desc limit size offset skip
$function$;

CREATE OR REPLACE FUNCTION private.quarter_state (
  tenant  core.partners,
  quarter date,
  spent   uuid[]
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with booking as materialized (
    select b.id, b.number, b.status, b.export_sha256, r.waiting, r.waiting_kwh,
           case when b.status = 'submitted' and b.id <> all (spent) then greatest(private.sellable_ere(b), 0) else 0 end as sellable,
           count(*) over () = 1 as alone
      from core.bookings b
     cross join lateral (
       select count(*) as waiting, coalesce(sum(r.kwh), 0) as waiting_kwh
         from core.booking_rows r where r.partner_id = b.partner_id and r.booking_id = b.id and r.status = 'submitted') r
     where b.partner_id = tenant.id and b.quarter = quarter_state.quarter and b.status <> 'withdrawn'
  ), credited as (
    select coalesce(sum(c.ere), 0) as ere
      from booking b
      join core.booking_rows r on r.partner_id = tenant.id and r.booking_id = b.id
      join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
  ), allocation as materialized (
    select a.id, a.ere, a.reversal_id is null as stands, a.gross, a.net + a.partner_share as due
      from booking b
      join core.sales s on s.partner_id = tenant.id and s.booking_id = b.id
      join core.allocations a on a.partner_id = s.partner_id and a.sale_id = s.id
  ), sold as (
    select coalesce(sum(a.ere), 0) as ere, coalesce(sum(a.gross), 0) as gross, coalesce(sum(a.due), 0) as due from allocation a where a.stands
  ), entry as materialized (
    select e.amount, l.status, l.batch_id
      from allocation a
      join core.payout_entries e on e.ledger_partner_id = tenant.id and e.allocation_id = a.id
      join core.payout_parts p on p.partner_id = e.partner_id and p.id = e.part_id
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where l.status in ('paid', 'pending')
  ), paid as (
    select coalesce(sum(e.amount) filter (where e.status = 'paid'), 0) as paid, coalesce(sum(e.amount), 0) as taken from entry e
  ), batch as (
    select b.id, b.status from core.payout_batches b
     where b.id in (select e.batch_id from entry e where e.status = 'pending') order by b.prepared_at, b.id limit 1
  ), delivered as (
    select count(*) as months, coalesce(sum(j.kwh), 0) as kwh, count(*) filter (where j.reason is null) as bookable,
           count(*) filter (where j.reason <> 'already_booked') as left_out
      from private.judge_quarter(tenant.id, quarter) j
  ), figures as (
    select exists (select from core.figures f where f.partner_id = tenant.id and f.delivery_year = extract(year from quarter)) as published
  ), next as (
    -- the first step of the chain that waits
    select case
             when d.bookable > 0 and (quarter + interval '3 months')::date > private.today() then json_build_object('step', 'wait')
             when d.bookable > 0 then json_build_object('step', case when exists (select from booking b where b.status = 'open') then 'submit' else 'open' end)
             else coalesce(
               (select json_build_object('step', case when b.export_sha256 is null then 'export' else 'credit' end, 'booking', case when b.alone then null else b.id end)
                  from booking b where b.waiting > 0 order by b.number limit 1),
               (select json_build_object('step', 'sell', 'booking', case when b.alone then null else b.id end, 'ere', b.sellable)
                  from booking b where b.sellable > 0 order by b.number limit 1),
               case when s.ere > 0 and not f.published then json_build_object('step', 'publish') end,
               (select json_build_object('step', case b.status when 'prepared' then 'approve' when 'approved' then 'send' else 'settle' end, 'batch', b.id)
                  from batch b),
               case when s.due > p.taken then json_build_object('step', 'pay')
                    when s.ere > 0 then json_build_object('step', case when exists (
                      select from core.partners p cross join lateral private.share_entries(p.id) e
                       where p.id <> private.house() and tenant.id in (p.id, private.house()) and e.quarter = quarter_state.quarter
                       group by p.id having sum(e.amount) <> 0) then 'invoice' else 'done' end)
                    when d.left_out > 0 then json_build_object('step', 'preview')
                    when d.months > 0 then json_build_object('step', 'done')
                    else json_build_object('step', 'deliver') end)
           end as step
      from delivered d, figures f, sold s, paid p
  )
  select json_build_object(
           'partner_slug', tenant.slug, 'months', d.months, 'kwh', d.kwh, 'to_book', d.bookable, 'left_out', d.left_out,
           'open', (select count(*) from booking b where b.status = 'open'),
           'submitted_kwh', (select coalesce(sum(b.waiting_kwh), 0) from booking b),
           'credited_ere', c.ere, 'sold_ere', s.ere, 'gross_eur', s.gross, 'due_eur', s.due, 'paid_eur', p.paid, 'figures', f.published, 'next', n.step)
    from delivered d, credited c, sold s, paid p, figures f, next n
$function$;

CREATE OR REPLACE FUNCTION private.refuse_unknown_payments()
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$ select private.refuse_if('payouts_wait', private.server() is distinct from (select d.pays_from from core.deployment d)) $function$;

COMMENT ON FUNCTION "api"."read_portal_drafts"(jsonb, jsonb) IS 'A page of a partner''s newest drafts: {for: {text, status, needs, sort, ids}, after, skip, limit} to {who, drafts, total, counts, more_after}. needs as private.needs_attention; sort is name, status, city, until or oldest, else the newest first. total and counts by status are of what was found among private.drafts_examined(). Send more_after as after to search older ones; null is the end.';

COMMENT ON FUNCTION "api"."read_portal_log"(jsonb, jsonb) IS 'What was changed for a partner, newest first: {before, skip, limit} to {who, total, changes: [{at, action, by: person | key | operator, email, subject_id, about, details}], before}. Send before, or skip, for a next page; before is null at the end. about names a draft, a webhook or a manager that is still there. total stops at 10001. email is null for a login that is gone.';

COMMENT ON FUNCTION "api"."read_portal_webhook"(jsonb, jsonb) IS 'An endpoint of a partner''s own log and its latest attempts: {webhook_id, skip, limit} to {who, signed_in_recently, webhook, previous_until, retries: {waiting, given_up}, attempts_total, attempts}. attempts_total stops at 10001. previous_until is null if one secret signs.';

COMMENT ON FUNCTION "ops"."payout_approve"(jsonb) IS 'Lets a batch go to the bank, by another person than the one who prepared it: {batch, look?} to {changed, batch}. With look it changes nothing, and answers as payout_show.';

COMMENT ON FUNCTION "private"."partner_log"(bigint, integer, integer) IS 'What a partner''s people, its key and the operator did for it, newest first, below an id. It leaves out its clients and customers. Definer, because api functions append to the audit log and read nothing.';

REVOKE ALL ON FUNCTION "private"."newest_attempts"(core.webhook_endpoints, integer, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."newest_attempts"(core.webhook_endpoints, integer, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."partner_log"(bigint, integer, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."partner_log"(bigint, integer, integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."refuse_unknown_payments"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_unknown_payments"() TO "api_owner";

commit;

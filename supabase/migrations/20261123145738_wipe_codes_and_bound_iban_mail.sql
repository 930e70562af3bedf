begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.import_drafts (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  tenant       uuid;
  links        constant jsonb   := input -> 'links';
  send_invite  constant boolean := (input ->> 'send_invite')::boolean;
  dry_run      constant boolean := coalesce((input ->> 'dry_run')::boolean, false);
  -- what other tenants' people decide is told of customers who agreed that their data is passed on
  others       constant boolean := not dry_run or coalesce((input ->> 'consent')::boolean, false);
  batch        constant uuid    := case when not dry_run then gen_random_uuid() end;
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
    perform private.claim_addresses(array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r where r ->> 'reason' is null), tenant);
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
       ean, postal_code, house_number, house_number_addition, street, city, charger, ean_status, send_invite, invited_at, expires_at)
    select tenant, s.id, batch, input ->> 'source', s.type, s.name, s.email, s.phone, s.external_ref, s.kvk, s.vat, s.company_name,
           s.contact_name, s.referral_code, s.ean, s.postal_code, s.house_number, s.house_number_addition, s.street, s.city,
           case when s.charger is not null then s.charger || jsonb_build_object('brand', private.charger_brand(s.charger ->> 'brand')) end,
           s.ean_status, i.email is not null, case when i.email is not null then private.now() end, private.now() + interval '60 days'
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
                                         'fields', private.letter_fields(c.draft, brand, links)))
       from created c where (c.draft).send_invite)
    into answer, letters;

  if letters is not null then
    perform private.enqueue_mails(input -> 'mails' -> coalesce((private.own_partner()).locale, 'nl'), letters);
  end if;
  if not dry_run and (answer ->> 'added')::int > 0 then
    perform private.audit('drafts.imported', batch, jsonb_build_object('added', answer -> 'added', 'rows', cardinality(emails), 'source', input -> 'source'));
  elsif others and cardinality(emails) > 0 then
    -- also an import of which no row became a draft: it told as much as a dry run
    perform private.audit('drafts.previewed', null, jsonb_build_object('rows', cardinality(emails), 'source', input -> 'source'));
  end if;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION private.notice_details (
  notice core.notices
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  missing text[];
begin
  if notice.kind = 'something_missing' then
    select private.still_missing(a) into missing from core.accounts a where a.partner_id = notice.partner_id and a.id = notice.account_id;
    return case when cardinality(missing) > 0 then jsonb_build_object('missing', missing) end;
  elsif notice.kind = 'payout_iban_changed' and not notice.details ? 'iban_last4' then
    return (select jsonb_build_object('iban_last4', a.iban_last4) from core.accounts a where a.partner_id = notice.partner_id and a.id = notice.account_id);
  elsif notice.kind = 'mandate_ending' and private.signed_until(notice.connection_id) is distinct from (notice.details ->> 'valid_until')::date
     or notice.kind = 'mandate_ended' and private.signed_until(notice.connection_id) is not null then
    return null;
  end if;
  return notice.details;
end $function$;

CREATE OR REPLACE FUNCTION private.settle_mail (
  tenant    uuid,
  mail      uuid,
  failure   text,
  permanent boolean
)
  RETURNS void
  LANGUAGE sql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  update core.mail_outbox m
     set status = case when failure is null then 'sent' when permanent or m.attempts >= 12 then 'failed' else 'queued' end,
         done_at = case when failure is null or permanent or m.attempts >= 12 then private.now() end,
         last_error = left(failure, 200),
         -- 1, 2, 4 … 256 minutes: a mail server may be down for most of a day
         next_attempt_at = private.now() + make_interval(mins => (2 ^ least(m.attempts - 1, 8))::int),
         subject = case when failure is null then private.masked(m.subject) else m.subject end,
         html = case when failure is null then '' else m.html end,
         text = case when failure is null then '' else m.text end,
         links = case when failure is null then '{}' else m.links end,
         unsubscribe_url = case when failure is not null then m.unsubscribe_url end
   where m.partner_id = tenant and m.id = mail and m.status = 'queued'
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
    insert into core.notices (partner_id, account_id, kind, cause, due_at)
    values (before.partner_id, before.id, 'payout_iban_changed', 'payout_iban_changed:' || before.id || ':' || private.today(),
            (private.today() + 1)::timestamp at time zone 'Europe/Amsterdam')
    on conflict on constraint notices_cause_key do nothing;
  end if;
end $function$;

COMMENT ON COLUMN "core"."notices"."details" IS 'registration_rejected {grounds}; mandate_ending {valid_until, reminder}; mandate_ended {valid_until}; mandate_withdrawn {by, covered_until}; payout_sent, payout_failed {amount_eur, iban_last4}; payout_iban_changed {iban_last4, by}, without the number where it is told at the end of the day.';

COMMENT ON FUNCTION "private"."import_drafts"(jsonb) IS 'Makes drafts of the partner of this transaction: {source, send_invite, dry_run, consent, rows, over_request_limit, counters, links, mails: {nl, en} | null}, to what the import answers. Rows come read and judged on their own; one set-based statement judges the rest. A dry run is judged by the same statement, which then stores no draft. With consent it also tells what depends on people of other tenants, and leaves a row in the audit log; so does an import of which no row becomes a draft.';

COMMENT ON FUNCTION "private"."settle_mail"(uuid, uuid, text, boolean) IS 'Wipes what was sent, the code in its subject too: it held live links and codes. Definer: the worker sends the mail of every tenant.';

COMMENT ON FUNCTION "private"."tell_of_iban"(core.accounts, text) IS 'Has the signatory of an account told that its client gave another account number for what the service pays them: on production of the first five within a day at once, of more by one mail at the end of the Dutch day, which names the last number.';

commit;

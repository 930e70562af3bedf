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
    -- waits for the partner's import before this one, because of the cap, and for imports with the same addresses
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
           begun - s.place * interval '1 microsecond'
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

commit;

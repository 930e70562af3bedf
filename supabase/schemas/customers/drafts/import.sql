-- POST /partner/drafts/import, POST /partner/customers.

-- The content of a mail to a draft's customer; brand is private.partner_brand of its partner. offer is what a claim
-- says first.
create function private.letter_content(draft core.drafts, brand jsonb, links jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'full_name', coalesce(draft.contact_name, draft.name, draft.company_name),
    'brand', brand,
    'claim_url', private.claim_url(draft.id, links),
    'unsubscribe_url', private.unsubscribe_url(draft.email, links),
    'offer', private.offer(private.people_tenant(), 'service_pays_customer') - 'payout_handler'
      || jsonb_build_object('fee_pct', (select p.default_fee_pct from core.partners p where p.id = draft.partner_id)))
$$;

-- Drafts a partner may make in any 30 days; withdrawn ones count.
create function private.draft_cap() returns int
language plpgsql immutable
as $$ begin return 1000; end $$;

-- What the partner has used of its cap.
create function private.drafts_made() returns bigint
language plpgsql stable
as $$
begin
  return (select count(*) from core.draft_uploads u where u.partner_id = private.partner_id()
          and u.at > private.now() - interval '30 days');
end $$;

create function private.known_addresses(emails text[], tenant uuid, key text, others boolean) returns table (email text,
    reason text)
language plpgsql stable security definer
as $$
begin
  return query
  with open as (
    select d.email, bool_or(d.partner_id = tenant) as own, bool_or(d.partner_id <> tenant and p.is_active) as foreign
      from core.drafts d
      join core.partners p on p.id = d.partner_id
     where d.email = any (emails) and (others or d.partner_id = tenant) and d.status in ('invited', 'claimed')
         and (d.status = 'claimed' or d.expires_at > private.now())
     group by d.email
  ), people as (
    select distinct u.email::text as email from auth.users u
     -- the condition of Auth's own index on the address
     where others and u.email = any (emails) and u.is_sso_user = false
       and (exists (select from core.attributions a where a.user_id = u.id)
            or exists (select from core.accounts a where a.user_id = u.id))
  )
  select e.email,
         case when o.own then 'already_drafted'
              when p.email is not null then 'existing_user'
              when others and private.opted_out(e.email, key, tenant) then 'suppressed'
              when o.foreign then 'conflict' end
    from unnest(emails) as e (email)
    left join open o on o.email = e.email
    left join people p on p.email = e.email;
end $$;
comment on function private.known_addresses(text[], uuid, text, boolean) is
  'Why an address gets no new draft of this partner; null if it may. Definer, because it looks across tenants and into '
  'Auth; the answer names none. Without others it reads only the partner''s own drafts.';

-- The catalogue's brand for a name or vendor string, or null.
create function private.charger_brand(named text) returns text
language plpgsql stable
as $$
begin
  return coalesce(
    (select b.brand from core.charger_brands b where private.charger_key(b.brand) = private.charger_key(named)),
    (select a.brand from core.charger_vendor_aliases a where a.vendor = private.vendor_key(named) and a.names_brand));
end $$;

-- Why a draft cannot have this charger {brand, serial_number}; null if it can. Only with others does it say that
-- somebody has the charger.
create function private.judge_charger(charger jsonb, others boolean) returns text
language plpgsql stable
as $$
declare
  brand constant text := private.charger_brand(charger ->> 'brand');
begin
  return case when brand is null then 'charger_brand_unsupported'
              when not exists (select from core.partners p where p.id = private.partner_id()
                               and brand = any (p.charger_brands)) then 'charger_not_linked'
              when others and private.charger_taken(brand, charger ->> 'serial_number') then 'charger_claimed' end;
end $$;

create function private.referral_code_known(code text) returns boolean
language plpgsql stable security definer
as $$ begin return exists (select from core.partners p where p.referral_code = upper(code) and p.is_active); end $$;
comment on function private.referral_code_known(text) is
  'Whether a referral code belongs to an active partner. Definer, because it looks across tenants.';

create function private.reserve_addresses(emails text[], tenant uuid) returns void
language plpgsql
as $$
declare
  -- in one order, so that two imports cannot wait for each other
  addresses constant text[] := array(select distinct e.email from unnest(emails) as e (email) order by 1);
begin
  -- Every address takes one entry of the server's lock table, which has 3,840 entries with 60 connections
  -- (max_locks_per_transaction times max_connections). When it is full, every statement fails. So a long list waits for
  -- one of four places first; a short list does not.
  if cardinality(addresses) > 50 then
    perform private.lock('long_imports', abs(hashtextextended(tenant::text, 0) % 4)::text);
  end if;
  perform private.lock('address', a.email) from unnest(addresses) as a (email);
end $$;
comment on function private.reserve_addresses(text[], uuid) is
  'Until the transaction ends no other import, of any partner, judges these addresses. It waits, and then sees the '
  'draft that was made. Called after the lock of the partner''s imports.';

-- Decides each row of an import: outcome is null for a draft to be made, else the reason. remaining is what the cap
-- leaves.
create function private.settle_rows(rows jsonb, tenant uuid, key text, remaining bigint,
                                    others boolean) returns setof private.settled_row
language plpgsql
as $$
begin
  return query
  with sent as (
    select r as row, r.* from jsonb_populate_recordset(null::private.draft_row, rows) r
  ), known as (
    select * from private.known_addresses(array(select distinct s.email from sent s where s.reason is null),
                                          tenant, key, others)
  ), judged as (
    select s.row, s.place, s.email,
           coalesce(s.reason, k.reason, case when s.charger is not null then private.judge_charger(s.charger, others)
                                             end) as verdict
      from sent s left join known k on s.reason is null and k.email = s.email
  ), first as (
    select j.email, min(j.place) as place from judged j where j.verdict is null group by j.email
  ), fitting as (
    select f.email, f.place, row_number() over (order by f.place) as rank from first f
  )
  select private.reserve_draft_id(), j.row,
         coalesce(j.verdict,
                  case when f.rank > remaining then 'over_cap' when f.place <> j.place then 'already_drafted' end)
    from judged j left join fitting f on j.verdict is null and f.email = j.email;
end $$;

-- Makes drafts of the tenant: {source, send_invite, dry_run, consent, rows, over_request_limit, counters, links,
-- message | null}, to the import's answer. Each row comes read and judged on its own; one set-based statement judges
-- the rest. A dry run stores no draft. With consent it also judges by people of other tenants. That leaves an audit
-- row, and so does an import that makes no draft.
create function private.import_drafts(input jsonb) returns json
language plpgsql
as $$
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
    perform private.lock('imports', tenant::text);
    perform private.reserve_addresses(array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r
                                            where r ->> 'reason' is null), tenant);
    -- a draft that has expired, noted or not, no longer keeps its address from being drafted again
    update core.drafts d set status = 'expired'
     where d.partner_id = tenant and d.status = 'invited' and d.expires_at <= private.now()
       and d.email = any (emails);
  end if;
  select private.partner_brand(p) into brand from core.partners p where p.id = tenant;
  remaining := greatest(private.draft_cap() - private.drafts_made(), 0);

  with settled as (
    select (r.row).*, r.id, r.outcome,
           case when (r.row).ean is not null then 'provided' when (r.row).postal_code is null then 'no_address'
                else 'pending' end as ean_status
      from private.settle_rows(input -> 'rows', tenant, links ->> 'key', remaining, others) r
  ), invited as (
    select s.email, row_number() over (order by s.place) as n from settled s where s.outcome is null and send_invite
  ), fits as (
    select f.n from private.mails_that_fit('invitation', array(select i.email from invited i order by i.n),
                                           links ->> 'key', dry => dry_run) f (n)
  ), invitable as (
    select i.email from invited i where not others or i.n in (select f.n from fits f)
  ), created as (
    insert into core.drafts as d
      (partner_id, id, batch_id, source, type, name, email, phone, external_ref, kvk, vat, company_name,
       contact_name, referral_code,
       ean, postal_code, house_number, house_number_addition, street, city, charger, ean_status, send_invite,
           invited_at, expires_at, created_at)
    select tenant, s.id, batch, input ->> 'source', s.type, s.name, s.email, s.phone, s.external_ref, s.kvk, s.vat,
        s.company_name,
           s.contact_name, s.referral_code, s.ean, s.postal_code, s.house_number, s.house_number_addition,
               s.street, s.city,
           case when s.charger is not null then s.charger
                || jsonb_build_object('brand', private.charger_brand(s.charger ->> 'brand')) end,
           s.ean_status, i.email is not null, case when i.email is not null then private.now() end,
               private.now() + interval '60 days',
           -- microseconds apart, so that lists of the newest first have the order of the sheet
           begun - s.place * interval '1 microsecond'
      from settled s left join invitable i on i.email = s.email where s.outcome is null and not dry_run
    returning d as draft
  ), counted as (
    insert into core.draft_uploads (partner_id) select tenant from created
  ), shown as (
    select s.place, s.sheet_row, s.email, s.external_ref, s.ean_status,
           case when not dry_run then s.id end as draft_id,
               case when not dry_run then private.claim_url(s.id, links) end as claim_url
      from settled s where s.outcome is null
  )
  select json_build_object(
      'ok', true,
      'dry_run', dry_run,
      'added', (select count(*) from shown),
      'batch_id', batch,
      'created', (select coalesce(json_agg(row_to_json(r) order by s.place), '[]')
                    from shown s
                    cross join lateral (select s.place as row, s.sheet_row, s.draft_id, s.email, s.external_ref,
                                        s.claim_url, s.ean_status,
                                               0 as ean_candidates) r),
      'address_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.address_ignored)
                                                   order by s.place), '[]')
                            from settled s where s.outcome is null and s.address_ignored is not null),
      'ean_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.ean_ignored)
                                               order by s.place), '[]')
                        from settled s where s.outcome is null and s.ean_ignored is not null),
      'invite_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', 'mail_limit')
                                                  order by s.place), '[]')
                           from settled s where s.outcome is null and send_invite and s.email not in (select i.email
                               from invitable i)),
      'claim_urls', (select coalesce(json_agg(json_build_object('email', s.email, 'claim_url', s.claim_url)
                                              order by s.place), '[]')
                       from shown s where not send_invite and not dry_run),
      'referral_codes', (select coalesce(json_agg(json_build_object(
          'email', s.email, 'code', s.referral_code, 'matched', private.referral_code_known(s.referral_code))
              order by s.place), '[]')
                           from settled s where s.outcome is null and s.referral_code is not null),
      'rejected', (select coalesce(json_agg(
          case when s.detail is null or s.reason is null
               then json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'sheet_row', s.sheet_row)
               else json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'sheet_row', s.sheet_row,
                                      'detail', s.detail) end order by s.place), '[]')
                     from settled s where s.outcome is not null),
      'skipped', (select json_object_agg(w.reason,
                                         case w.reason when 'over_request_limit'
                                              then (input ->> 'over_request_limit')::bigint
                                                                 else coalesce(n.rows, 0) end order by w.place)
                    from jsonb_array_elements_text(input -> 'counters') with ordinality as w (reason, place)
                    left join (select s.outcome, count(*) as rows from settled s group by s.outcome) n
                        on n.outcome = w.reason),
      'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(), 'remaining_before', remaining)),
    (select jsonb_agg(jsonb_build_object('recipient', (c.draft).email, 'cause', 'claim:' || (c.draft).id,
                                         'counted', true,
                                         'content', private.letter_content(c.draft, brand, links)))
       from created c where (c.draft).send_invite)
    into answer, letters;

  if letters is not null then
    perform private.enqueue_mails(jsonb_build_object('template', 'claim',
                                                     'locale', coalesce((private.own_partner()).locale, 'nl'),
                                             'content', jsonb_build_object('message', input ->> 'message')), letters);
  end if;
  if not dry_run and (answer ->> 'added')::int > 0 then
    perform private.audit('drafts.imported', batch,
                          jsonb_build_object('added', answer -> 'added', 'rows', cardinality(emails),
                                             'source', input -> 'source'));
  elsif others and cardinality(emails) > 0 then
    -- also an import of which no row became a draft: it told as much as a dry run
    perform private.audit('drafts.previewed', null,
                          jsonb_build_object('rows', cardinality(emails), 'source', input -> 'source'));
  end if;
  return answer;
end $$;

create function api.import_drafts(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.import_drafts(input);
end $$;
comment on function api.import_drafts(jsonb, jsonb) is
  'POST /partner/drafts/import and /partner/customers, and the dry run on a partner''s pages: as '
  'private.import_drafts.';

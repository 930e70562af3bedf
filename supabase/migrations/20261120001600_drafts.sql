-- Drafts: made by import, listed, withdrawn, opened by a sign-in link, looked up in the EAN register, reminded of, expired, purged.
-- What happens when a customer opens a claim link is in the next migration.

-- Links and hashes under the claim key -------------------------------------------------------------------------------
-- `links` is {key, pages_url}: the claim key (hex), which the database never stores, and the root of the pages.

create function private.claim_mac(message text, key text) returns bytea
language plpgsql immutable security definer
set search_path = ''
as $$ begin return extensions.hmac(convert_to(message, 'UTF8'), decode(key, 'hex'), 'sha256'); end $$;
comment on function private.claim_mac(text, text) is
  'HMAC-SHA-256 under the claim key. Definer, because api_owner has no business in the schema of the extensions.';

create function private.base64url(bytes bytea) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return translate(rtrim(encode(bytes, 'base64'), '='), E'+/\n', '-_'); end $$;
comment on function private.base64url(bytea) is 'RFC 4648 section 5, without padding.';

create function private.claim_token(draft uuid, key text) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return replace(draft::text, '-', '') || '-' || private.base64url(private.claim_mac('claim:' || draft, key)); end $$;
comment on function private.claim_token(uuid, text) is 'The token of a claim link, derived whenever it is shown; claimToken in packages/shared/src/domain/claim/links.ts makes the same.';

create function private.email_hash(email text, key text) returns bytea
language plpgsql immutable
set search_path = ''
as $$ begin return private.claim_mac('email:' || lower(email), key); end $$;
comment on function private.email_hash(text, text) is 'An address as the opt-out list and unsubscribe links know it.';

create function private.unsubscribe_token(email text, key text) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  hash constant text := encode(private.email_hash(email, key), 'hex');
begin
  return hash || '-' || private.base64url(private.claim_mac('unsubscribe:' || hash, key));
end $$;
comment on function private.unsubscribe_token(text, text) is
  'The token of an unsubscribe link: it names the address by its hash, so that it works when the draft is long gone.';

create function private.claim_url(draft uuid, links jsonb) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return (links ->> 'pages_url') || '/claim/' || private.claim_token(draft, links ->> 'key'); end $$;

create function private.unsubscribe_url(email text, links jsonb) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return (links ->> 'pages_url') || '/unsubscribe/' || private.unsubscribe_token(email, links ->> 'key'); end $$;

create function private.suppress(email_hash bytea) returns void
language sql security definer
set search_path = ''
as $$ insert into core.suppressions (email_hash) values (suppress.email_hash) on conflict do nothing $$;
comment on function private.suppress(bytea) is 'Puts an address on the opt-out list. Definer, because no tenant owns the list or may read it.';

create function private.is_suppressed(email_hash bytea) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$ begin return exists (select from core.suppressions s where s.email_hash = is_suppressed.email_hash); end $$;
comment on function private.is_suppressed(bytea) is 'Whether an address asked not to be written to. Definer, because no tenant may read the list.';

grant execute on function
  private.claim_mac(text, text), private.base64url(bytea), private.claim_token(uuid, text), private.email_hash(text, text),
  private.unsubscribe_token(text, text), private.claim_url(uuid, jsonb), private.unsubscribe_url(text, jsonb),
  private.suppress(bytea), private.is_suppressed(bytea)
to api_owner;

-- Mail to many -------------------------------------------------------------------------------------------------------

-- What a draft is ----------------------------------------------------------------------------------------------------

comment on column core.drafts.ean_candidates is 'The metering points of the address, [{ean_code, street, city, house_number_addition}]: several where the customer has to choose.';
comment on column core.drafts.invited_at is 'When the claim mail was written; null where the partner passes the link on itself.';
-- serves: reminders
create index drafts_to_remind on core.drafts (reminders_sent, created_at) where status = 'invited' and send_invite;

create function private.draft_status(draft core.drafts) returns text
language plpgsql stable
set search_path = ''
as $$
begin
  return case when draft.status = 'invited' and draft.expires_at <= private.now() then 'expired' else draft.status end;
end $$;
comment on function private.draft_status(core.drafts) is 'The status read against the calendar, so that an expiry needs no job to be on time.';

create function private.partner_display_name(partner core.partners) returns text
language plpgsql stable
set search_path = ''
as $$ begin return coalesce(partner.branding ->> 'display_name', partner.name); end $$;

create function private.luminance(color text) returns double precision
language sql immutable
set search_path = ''
as $$
  select sum(w.weight * case when v.level <= 0.04045 then v.level / 12.92 else ((v.level + 0.055) / 1.055) ^ 2.4 end)
    from (values (0, 0.2126::double precision), (1, 0.7152), (2, 0.0722)) as w (place, weight),
         lateral (select get_byte(decode(substr(color, 2), 'hex'), w.place) / 255.0::double precision as level) as v
$$;
comment on function private.luminance(text) is 'Relative luminance of #rrggbb (WCAG 2.2).';

create function private.contrast(one text, other text) returns double precision
language sql immutable
set search_path = ''
as $$
  select (greatest(l.a, l.b) + 0.05) / (least(l.a, l.b) + 0.05) from (select private.luminance(one) as a, private.luminance(other) as b) as l
$$;
comment on function private.contrast(text, text) is 'Contrast of two colours (WCAG 2.2): 4.5 is needed to read by.';

create function private.partner_brand(partner core.partners) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'name', private.partner_display_name(partner),
    'reply_to', nullif(partner.branding ->> 'reply_to', ''),
    -- against the grounds of the style sheet that are hardest to read it on, and with what is written on it
    'light', case when c.color is not null then case when private.contrast(c.color, '#e6f2ec') >= 4.5 then c.color end end,
    'dark', case when c.color is not null then
              case when least(private.contrast(c.color, '#1c2f27'), private.contrast(c.color, '#06281c')) >= 4.5 then c.color end end)
  from (select case when partner.branding ->> 'primary_color' ~ '^#[0-9A-Fa-f]{6}$' then lower(partner.branding ->> 'primary_color') end as color) as c
$$;
comment on function private.partner_brand(core.partners) is
  'How pages and mail name a partner: {name, reply_to, light, dark}; a colour only where it can be read, else null.';

grant execute on function private.luminance(text), private.contrast(text, text), private.partner_brand(core.partners) to api_owner;

create function private.letter_fields(draft core.drafts, partner_name text, links jsonb) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  brand jsonb;
begin
  select private.partner_brand(p) into brand from core.partners p where p.id = draft.partner_id;
  return jsonb_build_object(
    'full_name', coalesce(draft.contactpersoon, draft.naam, draft.bedrijfsnaam),
    'partner_name', partner_name,
    'accent', brand ->> 'light',
    'reply_to', brand ->> 'reply_to',
    'claim_url', private.claim_url(draft.id, links),
    'unsubscribe_url', private.unsubscribe_url(draft.email, links));
end $$;
comment on function private.letter_fields(core.drafts, text, jsonb) is
  'What the marks in a mail to a draft''s customer stand for: full_name, partner_name, accent, reply_to, claim_url, unsubscribe_url. Null is for the mail''s defaults.';

grant execute on function
  private.draft_status(core.drafts), private.partner_display_name(core.partners), private.letter_fields(core.drafts, text, jsonb)
to api_owner;

-- POST /partner/drafts/import, POST /partner/customers ---------------------------------------------------------------

create function private.draft_cap() returns int
language plpgsql immutable
set search_path = ''
as $$ begin return 1000; end $$;
comment on function private.draft_cap() is 'Drafts a partner may make in any 30 days; withdrawn ones count.';

create function private.drafts_made() returns bigint
language plpgsql stable
set search_path = ''
as $$
begin
  return (select count(*) from core.draft_uploads u where u.partner_id = private.partner_id() and u.at > private.now() - interval '30 days');
end $$;
comment on function private.drafts_made() is 'What the partner has used of its cap.';

create function private.known_addresses(emails text[], tenant uuid, key text) returns table (email text, reason text)
language sql stable security definer
set search_path = ''
as $$
  select e.email,
         case when exists (select from core.drafts d
                            where d.partner_id = tenant and d.email = e.email
                              and (d.status = 'claimed' or d.status = 'invited' and d.expires_at > private.now())) then 'already_drafted'
              when exists (select from auth.users u
                            -- the condition of Auth's own index on the address
                            where u.email = e.email and u.is_sso_user = false
                              and (exists (select from core.attributions a where a.user_id = u.id)
                                   or exists (select from core.accounts a where a.user_id = u.id))) then 'existing_user'
              when private.is_suppressed(private.email_hash(e.email, key)) then 'suppressed'
              when exists (select from core.drafts d
                            where d.partner_id <> tenant and d.email = e.email
                              and (d.status = 'claimed' or d.status = 'invited' and d.expires_at > private.now())) then 'conflict' end
    from unnest(emails) as e (email)
$$;
comment on function private.known_addresses(text[], uuid, text) is
  'Why an address gets no new draft of this partner, null where it may. Definer, because it looks across tenants and into Auth; it says that, never whose.';

create function private.charger_brand(named text) returns text
language plpgsql stable
set search_path = ''
as $$
begin
  return coalesce(
    (select b.brand from core.charger_brands b where private.charger_key(b.brand) = private.charger_key(named)),
    (select a.brand from core.charger_vendor_aliases a where a.vendor = private.vendor_key(named) and a.names_brand));
end $$;
comment on function private.charger_brand(text) is 'The catalogue''s brand of that name or vendor string, or null.';

create function private.charger_taken(brand text, serial_number text) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (select from core.chargers h
                  where h.brand = charger_taken.brand and h.serial_number = charger_taken.serial_number and h.status = 'active');
end $$;
comment on function private.charger_taken(text, text) is 'Whether a charger is active on some account. Definer, because it looks across tenants; it says that, never whose.';

create function private.judge_charger(charger jsonb) returns text
language plpgsql stable
set search_path = ''
as $$
declare
  brand constant text := private.charger_brand(charger ->> 'brand');
begin
  return case when brand is null then 'charger_brand_unsupported'
              when not exists (select from core.partners p where p.id = private.partner_id() and brand = any (p.charger_brands)) then 'charger_not_linked'
              when private.charger_taken(brand, charger ->> 'serial_number') then 'charger_claimed' end;
end $$;
comment on function private.judge_charger(jsonb) is 'Why a draft cannot come with this charger {brand, serial_number}; null when it can.';

create function private.referral_code_known(code text) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$ begin return exists (select from core.partners p where p.referral_code = upper(code) and p.is_active); end $$;
comment on function private.referral_code_known(text) is 'Whether a referral code is an active partner''s. Definer, because it looks across tenants.';

grant execute on function
  private.draft_cap(), private.drafts_made(), private.known_addresses(text[], uuid, text), private.charger_brand(text),
  private.charger_taken(text, text), private.judge_charger(jsonb), private.referral_code_known(text)
to api_owner;

create type private.draft_row as (
  place           int,
  email           text,
  reason          text,
  detail          text,
  address_ignored text,
  type            text,
  naam            text,
  phone           text,
  external_ref    text,
  kvk             text,
  btw             text,
  bedrijfsnaam    text,
  contactpersoon  text,
  referral_code   text,
  ean             text,
  postal_code     text,
  house_number    int,
  house_number_addition text,
  street          text,
  city            text,
  charger         jsonb);

create function private.lock_imports(tenant uuid) returns void
language sql
set search_path = ''
as $$ select pg_advisory_xact_lock(hashtextextended('core.drafts import', 0) # hashtextextended(tenant::text, 1)) $$;
comment on function private.lock_imports(uuid) is 'Until the end of the transaction no other import of the partner begins.';
grant execute on function private.lock_imports(uuid) to api_owner;

create function api.import_drafts(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  tenant       uuid;
  partner      core.partners;
  links        constant jsonb   := input -> 'links';
  send_invite  constant boolean := (input ->> 'send_invite')::boolean;
  batch        constant uuid    := gen_random_uuid();
  remaining    bigint;
  answer       json;
  letters      jsonb;
  look_up      json;
begin
  perform private.act_as(caller, 'partner');
  tenant := private.partner_id();
  -- One import at a time, across partners: the cap, "one open draft an address" and "nobody else's" are all judged against what
  -- the import before this one made. An import of 500 rows takes a fraction of a second.
  perform private.lock_imports(tenant), pg_advisory_xact_lock(hashtextextended('core.drafts import', 0));
  select * into partner from core.partners p where p.id = tenant;
  remaining := greatest(private.draft_cap() - private.drafts_made(), 0);
  -- what ran out but was not noted yet holds no address any more
  update core.drafts d set status = 'expired'
   where d.partner_id = tenant and d.status = 'invited' and d.expires_at <= private.now()
     and d.email in (select r ->> 'email' from jsonb_array_elements(input -> 'rows') r);

  with sent as materialized (
    select * from jsonb_populate_recordset(null::private.draft_row, input -> 'rows')
  ), known as (
    select * from private.known_addresses(array(select distinct s.email from sent s where s.reason is null), tenant, links ->> 'key')
  ), judged as materialized (
    select s.*, coalesce(s.reason, k.reason, case when s.charger is not null then private.judge_charger(s.charger) end) as verdict
      from sent s left join known k on s.reason is null and k.email = s.email
  ), once as (
    select j.place, row_number() over (partition by j.email order by j.place) as occurrence from judged j where j.verdict is null
  ), fitting as (
    select o.place, row_number() over (order by o.place) as rank from once o where o.occurrence = 1
  ), settled as materialized (
    select j.*, gen_random_uuid() as id,
           coalesce(j.verdict, case when f.place is null then 'already_drafted' when f.rank > remaining then 'over_cap' end) as outcome
      from judged j left join fitting f on f.place = j.place
  ), created as (
    insert into core.drafts as d
      (partner_id, id, batch_id, source, type, naam, email, phone, external_ref, kvk, btw, bedrijfsnaam, contactpersoon, referral_code,
       ean, postal_code, house_number, house_number_addition, street, city, charger, ean_status, send_invite, invited_at, expires_at)
    select tenant, s.id, batch, input ->> 'source', s.type, s.naam, s.email, s.phone, s.external_ref, s.kvk, s.btw, s.bedrijfsnaam,
           s.contactpersoon, s.referral_code, s.ean, s.postal_code, s.house_number, s.house_number_addition, s.street, s.city,
           s.charger || jsonb_build_object('brand', private.charger_brand(s.charger ->> 'brand')),
           case when s.ean is not null then 'provided' when s.postal_code is null then 'no_address' else 'pending' end,
           send_invite, case when send_invite then private.now() end, private.now() + interval '60 days'
      from settled s where s.outcome is null
    returning d as draft
  ), counted as (
    insert into core.draft_uploads (partner_id) select tenant from created
  ), shown as (
    select s.place, private.claim_url(s.id, links) as claim_url, c.draft
      from created c join settled s on s.id = (c.draft).id
  )
  select json_build_object(
      'ok', true,
      'added', (select count(*) from shown),
      'batch_id', batch,
      'created', (select coalesce(json_agg(json_build_object(
          'draft_id', (s.draft).id, 'email', (s.draft).email, 'external_ref', (s.draft).external_ref, 'claim_url', s.claim_url,
          'ean_status', (s.draft).ean_status, 'ean_candidates', 0) order by s.place), '[]') from shown s),
      'address_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.address_ignored) order by s.place), '[]')
                            from settled s where s.outcome is null and s.address_ignored is not null),
      'claim_urls', (select coalesce(json_agg(json_build_object('email', (s.draft).email, 'claim_url', s.claim_url) order by s.place), '[]')
                       from shown s where not send_invite),
      'referral_codes', (select coalesce(json_agg(json_build_object(
          'email', s.email, 'code', s.referral_code, 'matched', private.referral_code_known(s.referral_code)) order by s.place), '[]')
                           from settled s where s.outcome is null and s.referral_code is not null),
      'rejected', (select coalesce(json_agg(
          case when s.detail is null or s.reason is null
               then json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place)
               else json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'detail', s.detail) end order by s.place), '[]')
                     from settled s where s.outcome is not null),
      'skipped', (select json_object_agg(w.reason, case w.reason when 'over_request_limit' then (input ->> 'over_request_limit')::bigint
                                                                 else (select count(*) from settled s where s.outcome = w.reason) end)
                    from unnest(array['invalid', 'reserved_domain', 'missing_kvk', 'already_drafted', 'existing_user', 'suppressed', 'conflict',
                                      'over_request_limit', 'over_cap', 'charger_brand_unsupported', 'charger_not_linked', 'charger_claimed']) as w (reason)),
      'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(), 'remaining_before', remaining)),
    (select jsonb_agg(jsonb_build_object('recipient', (s.draft).email, 'cause', 'claim:' || (s.draft).id,
                                         'fields', private.letter_fields(s.draft, private.partner_display_name(partner), links)))
       from shown s where send_invite),
    (select json_agg(json_build_object('draft_id', (s.draft).id, 'postal_code', (s.draft).postal_code, 'house_number', (s.draft).house_number,
                                       'house_number_addition', (s.draft).house_number_addition) order by s.place)
       from shown s where (s.draft).ean_status = 'pending' and input ->> 'source' = 'api')
    into answer, letters, look_up;

  if letters is not null then
    perform private.enqueue_mails(input -> 'mail', letters);
  end if;
  if (answer ->> 'added')::int > 0 then
    perform private.audit('drafts.imported', batch, jsonb_build_object('added', answer -> 'added', 'source', input -> 'source'));
  end if;
  return case when look_up is null then answer else json_build_object('look_up', look_up, 'answer', answer) end;
end $$;
comment on function api.import_drafts(jsonb, jsonb) is
  'POST /partner/drafts/import and /partner/customers: {source, send_invite, rows, over_request_limit, links, mail}. Rows come read and judged on their own; one set-based statement judges the rest. Where source is api and addresses are to be looked up: {look_up, answer}.';
select private.expose('api.import_drafts(jsonb, jsonb)');

-- EAN look-ups by address --------------------------------------------------------------------------------------------

create function private.record_draft_lookup(draft uuid, register jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  found_draft core.drafts;
  points      jsonb;
  count       int;
begin
  select * into found_draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = draft and d.status in ('invited', 'claimed') and d.ean_status in ('pending', 'failed')
     for no key update;
  if not found then
    return null;  -- withdrawn, claimed with an EAN, or looked up by somebody else meanwhile
  end if;
  points := case
    when register ->> 'source' = 'table' then
      private.points_in_table(found_draft.postal_code, found_draft.house_number, found_draft.house_number_addition)
    when register ->> 'outcome' = 'points' then register -> 'points'
    when register ->> 'outcome' = 'unknown_address' then '[]' end;
  count := jsonb_array_length(points);
  update core.drafts d
     set ean_status = case when count is null then 'failed' when count = 0 then 'not_found' when count = 1 then 'resolved' else 'ambiguous' end,
         ean = case when count = 1 then points #>> '{0,ean_code}' end,
         ean_candidates = coalesce(points, '[]'),
         street = coalesce(d.street, points #>> '{0,street}'),
         city = coalesce(d.city, points #>> '{0,city}'),
         ean_looked_up_at = private.now()
   where d.partner_id = found_draft.partner_id and d.id = found_draft.id
  returning * into found_draft;
  return json_build_object('draft_id', found_draft.id, 'ean_status', found_draft.ean_status, 'ean_candidates', coalesce(count, 0));
end $$;
comment on function private.record_draft_lookup(uuid, jsonb) is
  'Writes down what the register knows at a draft''s address: {source, outcome, points}, or {source: "table"} to look it up here. No answer is failed, and tried again for a day.';
grant execute on function private.record_draft_lookup(uuid, jsonb) to api_owner;

create function api.record_draft_lookups(caller jsonb, results jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return (select coalesce(json_agg(private.record_draft_lookup((r ->> 'draft_id')::uuid, r -> 'register')), '[]')
            from jsonb_array_elements(results) r);
end $$;
comment on function api.record_draft_lookups(jsonb, jsonb) is 'The register''s answers during an import: [{draft_id, register}] to [{draft_id, ean_status, ean_candidates}].';
select private.expose('api.record_draft_lookups(jsonb, jsonb)');

create function private.due_draft_lookups(size int) returns json
language sql security definer
set search_path = ''
as $$
  -- claimed for an hour by the time of the look-up; the result ends it, a failure is due again after that hour, for a day
  with claimed as (
    update core.drafts d set ean_looked_up_at = private.now()
     where d.id in (
       select w.id from core.drafts w
        where w.ean_status in ('pending', 'failed') and w.status in ('invited', 'claimed')
          and (w.ean_looked_up_at is null or w.ean_looked_up_at <= private.now() - interval '1 hour')
          and (w.ean_status = 'pending' or w.created_at > private.now() - interval '1 day')
        order by w.created_at limit size for update skip locked)
    returning d.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'draft_id', id, 'postal_code', postal_code,
                                             'house_number', house_number, 'house_number_addition', house_number_addition)), '[]')
    from claimed
$$;
comment on function private.due_draft_lookups(int) is 'Drafts whose address waits to be looked up. Definer: every tenant at once.';
grant execute on function private.due_draft_lookups(int) to api_owner;

create function api.due_draft_lookups(caller jsonb, batch jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.due_draft_lookups((batch ->> 'size')::int);
end $$;
comment on function api.due_draft_lookups(jsonb, jsonb) is
  'The next addresses to look up: {size} to [{partner_id, draft_id, postal_code, house_number, house_number_addition}].';
select private.expose('api.due_draft_lookups(jsonb, jsonb)');

create function api.record_draft_lookup(caller jsonb, due jsonb, register jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker'), private.act_for_partner((due ->> 'partner_id')::uuid);
  return private.record_draft_lookup((due ->> 'draft_id')::uuid, register);
end $$;
comment on function api.record_draft_lookup(jsonb, jsonb, jsonb) is 'The register''s answer for a due draft; null where it waits no longer.';
select private.expose('api.record_draft_lookup(jsonb, jsonb, jsonb)');

-- GET /partner/drafts ------------------------------------------------------------------------------------------------

create function api.list_drafts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  links constant jsonb := query -> 'links';
begin
  perform private.act_as(caller, 'partner');
  return (
    select json_build_object('drafts', coalesce(json_agg(json_build_object(
        'draft_id', d.id,
        'status', s.status,
        'type', d.type,
        'naam', d.naam,
        'email', d.email,
        'external_ref', d.external_ref,
        'city', d.city,
        'ean_status', d.ean_status,
        'ean_candidates', jsonb_array_length(d.ean_candidates),
        'claim_url', case when s.status in ('invited', 'claimed') then private.claim_url(d.id, links) end,
        'batch_id', d.batch_id,
        'created_at', private.iso(d.created_at),
        'invited_at', private.iso(d.invited_at),
        'claimed_at', private.iso(d.claimed_at),
        'expires_at', private.iso(d.expires_at)) order by d.created_at desc, d.id desc), '[]'))
      from core.drafts d cross join lateral (select private.draft_status(d) as status) s
     where d.partner_id = private.partner_id()
       and (query ->> 'external_ref' is null or d.external_ref = query ->> 'external_ref')
       and (query ->> 'status' is null or s.status = query ->> 'status'));
end $$;
comment on function api.list_drafts(jsonb, jsonb) is 'GET /partner/drafts: {external_ref, status, links} to {drafts}, newest first. claim_url is null unless the draft can be claimed.';
select private.expose('api.list_drafts(jsonb, jsonb)');

-- POST /partner/drafts/withdraw --------------------------------------------------------------------------------------

create function private.release_customer(person uuid, partner uuid) returns void
language sql security definer
set search_path = ''
as $$
  delete from core.attributions a
   where a.user_id = person and a.partner_id = partner and a.source in ('partner_upload', 'partner_invite')
     and not exists (select from core.accounts b where b.user_id = person)
$$;
comment on function private.release_customer(uuid, uuid) is
  'Unlinks a login that a claimed draft made from its partner; the login stays. Definer, because attributions are otherwise only read.';

create function private.drop_waiting_mail(draft uuid) returns void
language sql security definer
set search_path = ''
as $$
  delete from core.mail_outbox m
   where m.partner_id = private.partner_id() and m.status = 'queued' and m.cause like 'claim%:' || draft || '%'
$$;
comment on function private.drop_waiting_mail(uuid) is 'Mail about a draft that was not sent yet is not sent any more. Definer, because the outbox is otherwise only written.';

grant execute on function private.release_customer(uuid, uuid), private.drop_waiting_mail(uuid) to api_owner;

create function api.withdraw_draft(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner');
  -- waits for a claim under way, and sees what came of it
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid for update;
  if draft.id is null then
    perform private.refuse('draft_not_found', json_build_object('code', 'draft_not_found'));
  elsif draft.status = 'active' then
    perform private.refuse('draft_active', json_build_object('code', 'draft_active'));
  end if;
  delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.release_customer(draft.user_id, draft.partner_id), private.drop_waiting_mail(draft.id);
  perform private.audit('draft.withdrawn', draft.id, jsonb_build_object('status', private.draft_status(draft)));
  return json_build_object('ok', true);
end $$;
comment on function api.withdraw_draft(jsonb, jsonb) is
  'POST /partner/drafts/withdraw: {draft_id}. The draft, its links and its waiting mail go, a login it made is unlinked; an audit row without personal data stays.';
select private.expose('api.withdraw_draft(jsonb, jsonb)');

-- POST /partner/drafts/auth-link -------------------------------------------------------------------------------------

create function private.draft_login(draft core.drafts, out user_id uuid, out empty boolean)
language plpgsql stable security definer
set search_path = ''
as $$
begin
  user_id := coalesce(draft.user_id, (select u.id from auth.users u where u.email = draft.email and u.is_sso_user = false));
  empty := not exists (select from core.accounts a join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
                        where a.id = draft.account_id or a.user_id = draft_login.user_id);
end $$;
comment on function private.draft_login(core.drafts) is
  'The login of a draft''s customer, and whether their account has no connection yet. Definer, because logins belong to Auth and accounts to the house.';
grant execute on function private.draft_login(core.drafts) to api_owner;

-- links a partner may have mailed to the customer of a draft in a day
insert into core.rate_limits (bucket, quota, window_seconds) values ('draft_mail', 10, 86400);

create function api.issue_auth_link(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft      core.drafts;
  status     text;
  customer   record;
  registered text;
  target     text;
  link       uuid;
  email_sent boolean;
begin
  perform private.act_as(caller, 'partner');
  -- of several drafts the newest that can be claimed; parallel calls for one draft queue here, so that one link is left
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id()
     and (input ->> 'draft_id' is null or d.id = (input ->> 'draft_id')::uuid)
     and (input ->> 'email' is null or d.email = input ->> 'email')
   order by private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1
     for no key update;
  if draft.id is null then
    perform private.refuse('draft_not_found');
  end if;
  select p.return_url into registered from core.partners p where p.id = draft.partner_id;
  target := coalesce(input ->> 'return_url', registered);
  if input ->> 'return_url' is not null and not private.return_url_allowed(target, registered) then
    perform private.refuse('return_url_not_allowed', json_build_object('message',
      'return_url must be the return URL registered in the partner portal, followed by /, ? or nothing, without a fragment.'));
  end if;
  status := private.draft_status(draft);
  select * into customer from private.draft_login(draft);
  if status in ('expired', 'conflict') or status = 'active' and not customer.empty then
    perform private.refuse('draft_not_claimable', json_build_object(
      'status', status, 'reason', case status when 'active' then 'already_active' else status end));
  end if;
  update core.draft_links l set expires_at = private.now()
   where l.partner_id = draft.partner_id and l.draft_id = draft.id and l.used_at is null and l.expires_at > private.now();
  insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
  values (draft.partner_id, draft.id, decode(input ->> 'token_hash', 'hex'), target, private.now() + interval '300 seconds')
  returning id into link;
  email_sent := input -> 'mails' <> 'null' and not private.is_suppressed(private.email_hash(draft.email, input #>> '{links,key}'));
  if email_sent then
    email_sent := private.debit('draft:' || draft.id, 'draft_mail') ->> 'allowed';
  end if;
  if email_sent then
    perform private.enqueue_mails(input -> 'mails' -> draft.locale, (
      select jsonb_build_array(jsonb_build_object('recipient', draft.email, 'cause', 'claim_sign_in:' || draft.id || ':' || link,
               'fields', private.letter_fields(draft, private.partner_display_name(p), input -> 'links')))
        from core.partners p where p.id = draft.partner_id));
  end if;
  perform private.audit('draft.auth_link_issued', draft.id);
  return json_build_object('ok', true, 'auth_url', input ->> 'auth_url', 'expires_in', 300,
                           'resume', customer.user_id is not null, 'return_url', target, 'email_sent', email_sent);
end $$;
comment on function api.issue_auth_link(jsonb, jsonb) is
  'POST /partner/drafts/auth-link: {draft_id, email, return_url, token_hash, auth_url, mails: {nl, en} | null, links}. A newer link voids the older. '
  'Where there are mails the customer gets theirs, unless they opted out or had ten today.';
select private.expose('api.issue_auth_link(jsonb, jsonb)');

-- Scheduled work -----------------------------------------------------------------------------------------------------

create function private.expire_drafts(out expired bigint, out purged bigint)
language plpgsql security definer
set search_path = ''
as $$
begin
  with ended as (
    update core.drafts d set status = 'expired', progress = '{}', code_hash = null, code_expires_at = null
     where d.status = 'invited' and d.expires_at <= private.now() returning 1)
  select count(*) into expired from ended;
  with ended as (
    delete from core.drafts d where d.status in ('expired', 'conflict') and d.expires_at <= private.now() - interval '30 days'
    returning d.partner_id, d.id, d.status
  ), noted as (
    insert into core.audit_log (actor, action, partner_id, subject_id, details)
    select 'worker', 'draft.deleted', e.partner_id, e.id, jsonb_build_object('status', e.status) from ended e
    returning 1)
  select count(*) into purged from noted;
  delete from core.draft_uploads u where u.at <= private.now() - interval '31 days';
end $$;
comment on function private.expire_drafts() is
  'Writes expiry down, deletes what expired or conflicted 30 days after its last day, and sweeps what the rolling cap counts no longer. Definer: every tenant at once.';

create function private.remind_drafts(mails jsonb, links jsonb, size int) returns bigint
language plpgsql security definer
set search_path = ''
as $$
declare
  post     record;
  reminded bigint := 0;
begin
  for post in
    with due as (
      -- where reminders were missed, the latest one stands for them all
      update core.drafts d
         set reminders_sent = (select count(*) from unnest(array[3, 10, 30]) as r (day) where d.created_at + make_interval(days => r.day) <= private.now())
       where d.id in (
         select w.id from core.drafts w
          where w.status = 'invited' and w.send_invite and w.reminders_sent < 3 and w.expires_at > private.now()
            and w.created_at + make_interval(days => (array[3, 10, 30])[w.reminders_sent + 1]) <= private.now()
          order by w.created_at limit size for update skip locked)
      returning d as draft)
    select p.id as partner_id, (due.draft).locale,
           jsonb_agg(jsonb_build_object('recipient', (due.draft).email, 'cause', 'claim_reminder:' || (due.draft).id || ':' || (due.draft).reminders_sent,
             'fields', private.letter_fields(due.draft, private.partner_display_name(p), links))) as letters
      from due join core.partners p on p.id = (due.draft).partner_id and p.is_active
     where not private.is_suppressed(private.email_hash((due.draft).email, links ->> 'key'))
     group by p.id, (due.draft).locale
  loop
    perform private.act_for_partner(post.partner_id), private.enqueue_mails(mails -> post.locale, post.letters);
    reminded := reminded + jsonb_array_length(post.letters);
  end loop;
  return reminded;
end $$;
comment on function private.remind_drafts(jsonb, jsonb, int) is
  'Writes the reminders of day 3, 10 and 30 to those who were mailed and have not claimed; never to who opted out. Definer: every tenant at once.';
grant execute on function private.expire_drafts(), private.remind_drafts(jsonb, jsonb, int) to api_owner;

create function api.run_draft_jobs(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  ended record;
begin
  perform private.act_as(caller, 'worker');
  select * into ended from private.expire_drafts();
  return json_build_object('expired', ended.expired, 'purged', ended.purged,
                           'reminded', private.remind_drafts(input -> 'mails', input -> 'links', (input ->> 'size')::int));
end $$;
comment on function api.run_draft_jobs(jsonb, jsonb) is
  'Everything of drafts that is due: {mails: {nl, en}, links, size} to counts. Safe to call at any time, from several callers at once.';
select private.expose('api.run_draft_jobs(jsonb, jsonb)');

-- The sandbox: an integrator plays the customer, the charger, the reviewer and the mailbox. What happens here happens through the
-- functions that production runs; only who starts them differs. Nothing of it runs on another host.

insert into core.rate_limits (bucket, quota, window_seconds) values ('sandbox', 60, 60);

create function private.only_in_sandbox() returns void
language plpgsql
set search_path = ''
as $$
begin
  if not private.is_sandbox() then
    raise exception 'this function runs on the sandbox only' using errcode = 'insufficient_privilege';
  end if;
end $$;
comment on function private.only_in_sandbox() is 'The second lock behind the routes, which exist on the sandbox host only.';
grant execute on function private.only_in_sandbox() to api_owner;

-- Virtual chargers -----------------------------------------------------------------------------------------------------

create table core.virtual_chargers (
  partner_id        uuid          not null,
  id                uuid          not null default gen_random_uuid(),
  charger_id        uuid          not null,
  wh_per_session    int           not null,
  sessions_per_week numeric(4, 2) not null,
  power_kw          numeric(4, 2) not null,
  since             date          not null,
  synced_at         timestamptz,
  created_at        timestamptz   not null default private.now(),
  constraint virtual_chargers_pkey primary key (partner_id, id),
  constraint virtual_chargers_charger_key unique (partner_id, charger_id),
  constraint virtual_chargers_charger_fkey foreign key (partner_id, charger_id) references core.chargers (partner_id, id),
  constraint virtual_chargers_wh_range check (wh_per_session between 100 and 100000),
  constraint virtual_chargers_sessions_range check (sessions_per_week between 0 and 50),
  constraint virtual_chargers_power_range check (power_kw between 1 and 50),
  constraint virtual_chargers_fit_a_week check (wh_per_session * sessions_per_week <= 168000 * power_kw)
);
comment on table core.virtual_chargers is
  'The cloud of a maker that does not exist: what a virtual charger of the sandbox charges, and up to when that was collected. Empty in production.';
-- serves: the collection that is due
create index virtual_chargers_due on core.virtual_chargers (synced_at);
select private.isolate('core.virtual_chargers', 'select, insert, update');

create function private.virtual_sessions(virtual core.virtual_chargers, upto timestamptz) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  started constant timestamptz := virtual.since::timestamp at time zone 'Europe/Amsterdam';
  lasts   constant bigint := ceil(virtual.wh_per_session * 3.6 / virtual.power_kw);
  slot    bigint;
begin
  if virtual.sessions_per_week = 0 then
    return '[]';
  end if;
  -- one session in each slot, anywhere in it where it ends before the next slot begins: sessions never overlap
  slot := floor(604800 / virtual.sessions_per_week);
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
             'charger_id', virtual.charger_id, 'source', 'sandbox', 'external_id', n::text,
             'started_at', private.iso(s.at), 'ended_at', private.iso(s.at + make_interval(secs => lasts)),
             'wh', virtual.wh_per_session, 'meter_wh', (n + 1) * virtual.wh_per_session) order by n), '[]')
      from generate_series(greatest(floor(extract(epoch from coalesce(virtual.synced_at, started) - started) / slot)::bigint - 1, 0),
                           floor(extract(epoch from upto - started) / slot)::bigint) n
      cross join lateral (
        select started + make_interval(secs => n * slot
                 + (hashtextextended(virtual.charger_id || ':' || n, 0) & 9223372036854775807) % (greatest(slot - lasts, 0) + 1)) as at) s
     where s.at + make_interval(secs => lasts) <= upto
       and (virtual.synced_at is null or s.at + make_interval(secs => lasts) > virtual.synced_at));
end $$;
comment on function private.virtual_sessions(core.virtual_chargers, timestamptz) is
  'The sessions of a virtual charger that ended since it was last collected, as private.ingest_sessions takes them. The same for good: the n-th is where the charger''s id puts it.';

create function private.collect_sessions(virtuals core.virtual_chargers[]) returns bigint
language plpgsql
set search_path = ''
as $$
declare
  sessions jsonb;
  created  bigint;
begin
  select coalesce(jsonb_agg(s.session), '[]') into sessions
    from unnest(virtuals) v cross join lateral jsonb_array_elements(private.virtual_sessions(v, private.now())) s (session);
  select count(*) into created from jsonb_array_elements(private.ingest_sessions(sessions)) r where r ->> 'status' = 'created';
  update core.virtual_chargers v set synced_at = private.now()
   where v.partner_id = private.partner_id() and v.id = any (array(select u.id from unnest(virtuals) u));
  return created;
end $$;
comment on function private.collect_sessions(core.virtual_chargers[]) is
  'Takes in what locked virtual chargers charged up to now, and says how many sessions were new.';

create function private.sync_virtual_chargers() returns bigint
language plpgsql
set search_path = ''
as $$
declare
  due     core.virtual_chargers[];
  created bigint := 0;
begin
  if private.is_sandbox() then
    perform private.act_for_partner(private.house());
    due := array(
      select v from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id and h.status = 'active'
       where v.partner_id = private.house() and (v.synced_at is null or v.synced_at <= private.now() - interval '10 minutes')
       order by v.synced_at nulls first limit 2000 for update of v skip locked);
    created := private.collect_sessions(due);
    perform private.act_for_partner(null);
  end if;
  return created;
end $$;
comment on function private.sync_virtual_chargers() is
  'Collects every virtual charger ten minutes after it was last collected: with a worker that runs each minute, within fifteen.';

-- Review ---------------------------------------------------------------------------------------------------------------

create function private.review_due_registrations() returns bigint
language plpgsql security definer
set search_path = ''
as $$
declare
  connection core.connections;
  reviewed   bigint := 0;
begin
  if private.is_sandbox() then
    for connection in
      select * from core.connections c
       where c.registration_status = 'ingediend' and c.status = 'active' and c.submitted_at <= private.now() - interval '2 minutes'
       order by c.submitted_at, c.id limit 500 for update skip locked
    loop
      perform private.act_for_partner(connection.partner_id);
      perform private.review_registration(connection,
        case when cardinality(private.closed_gates(connection)) = 0 then 'goedgekeurd' else 'afgekeurd' end);
      reviewed := reviewed + 1;
    end loop;
    perform private.act_for_partner(null);
  end if;
  return reviewed;
end $$;
comment on function private.review_due_registrations() is
  'The sandbox''s reviewer: two minutes after it was submitted a registration is approved where mandate, EAN and MID charger hold, else rejected. Definer: every tenant at once.';

grant execute on function
  private.virtual_sessions(core.virtual_chargers, timestamptz), private.collect_sessions(core.virtual_chargers[]),
  private.sync_virtual_chargers(), private.review_due_registrations()
to api_owner;

-- Whose customer -------------------------------------------------------------------------------------------------------

create function private.own_customer(named text, key text, out account_id uuid, out user_id uuid)
language sql stable security definer
set search_path = ''
as $$
  -- a customer_ref is not stored: it is looked for among the partner's own
  select a.id, a.user_id
    from core.attributions t
    join core.accounts a on a.partner_id = private.house() and a.user_id = t.user_id
   where t.partner_id = private.partner_id() and t.source in ('partner_upload', 'partner_invite')
     and case when named like 'cus\_%' then private.customer_ref(t.user_id, t.partner_id, key) = named else a.id = private.as_uuid(named) end
   order by a.created_at, a.id limit 1
$$;
comment on function private.own_customer(text, text) is
  'The account of a customer the partner itself brought, by customer_ref or account id; nulls where it has none. Definer, because people own their accounts in the house.';

create function private.require_customer(named text, key text, out account_id uuid, out user_id uuid)
language plpgsql
set search_path = ''
as $$
begin
  select c.account_id, c.user_id into require_customer.account_id, require_customer.user_id from private.own_customer(named, key) c;
  if require_customer.account_id is null then
    perform private.refuse('customer_not_found');
  end if;
  -- from here on the customer acts, in what is theirs
  perform private.act_for_partner(private.house()), set_config('app.user_id', require_customer.user_id::text, true);
end $$;
comment on function private.require_customer(text, text) is 'private.own_customer, or the refusal customer_not_found; the transaction then acts as that person.';
grant execute on function private.own_customer(text, text), private.require_customer(text, text) to api_owner;

-- POST /sandbox/v1/customers/{id}/chargers -----------------------------------------------------------------------------

create function private.virtual_charger_answer(virtual core.virtual_chargers) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select jsonb_build_object('charger_id', h.id, 'integration_id', virtual.id, 'catalog_charger_id', m.id, 'brand', m.brand, 'model', m.model,
                              'mid', coalesce(h.mid_eligible, false))
      from core.chargers h join core.charger_models m on m.id = h.catalog_charger_id
     where h.partner_id = virtual.partner_id and h.id = virtual.charger_id);
end $$;

create function private.virtual_model(profile jsonb) returns core.charger_models
language plpgsql
set search_path = ''
as $$
declare
  model core.charger_models;
begin
  if (profile ->> 'since')::date > private.today() then
    perform private.refuse('invalid_request', json_build_object(
      'detail', 'since: must not be after today', 'issues', json_build_array(json_build_object('path', 'since', 'message', 'must not be after today'))));
  elsif profile ->> 'catalog_charger_id' is not null then
    return private.choose_model(jsonb_build_object('catalog_charger_id', profile -> 'catalog_charger_id'));
  end if;
  select m.* into model from core.charger_models m
   where m.mid_meter = (profile ->> 'mid')::boolean order by lower(m.brand) collate "C", lower(m.model) collate "C" limit 1;
  return model;
end $$;
comment on function private.virtual_model(jsonb) is 'The catalogue model of a profile: the one named, else the first with or without a MID meter. Refuses a profile that begins in the future.';
grant execute on function private.virtual_charger_answer(core.virtual_chargers), private.virtual_model(jsonb) to api_owner;

create function api.connect_virtual_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
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
  -- the lock that the claim pages and POST /chargers count the same ten under, and take first
  perform pg_advisory_xact_lock(hashtextextended('chargers of ' || customer.user_id, 0));
  perform from core.accounts a where a.partner_id = private.house() and a.id = customer.account_id for no key update;
  if not found then
    perform private.refuse('customer_not_found');  -- a reset came first
  end if;
  connection := private.pick_connection(customer.account_id, null, true);
  -- a repeat: the same model charging the same way
  select v.* into virtual
    from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
   where v.partner_id = private.house() and h.account_id = customer.account_id and h.status = 'active' and h.catalog_charger_id = model.id
     and (v.wh_per_session, v.sessions_per_week, v.power_kw, v.since)
         = ((profile ->> 'wh_per_session')::int, (profile ->> 'sessions_per_week')::numeric, (profile ->> 'power_kw')::numeric, (profile ->> 'since')::date)
   order by v.created_at, v.id limit 1;
  if virtual.id is null then
    if (select count(*) from core.chargers h where h.user_id = customer.user_id and h.status = 'active') >= 10 then
      perform private.refuse('charger_limit_reached');
    end if;
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
end $$;
comment on function api.connect_virtual_charger(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/chargers: {id, key, profile: {mid, catalog_charger_id, wh_per_session, sessions_per_week, power_kw, since}}. '
  'The same profile again is the same charger. Its sessions are collected by api.sync_customer.';
select private.expose('api.connect_virtual_charger(jsonb, jsonb)');

-- POST /sandbox/v1/customers/{id}/sync ---------------------------------------------------------------------------------

create function api.sync_customer(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  customer record;
  virtuals core.virtual_chargers[];
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into customer from private.require_customer(input ->> 'id', input ->> 'key');
  virtuals := array(
    select v from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
     where v.partner_id = private.house() and h.account_id = customer.account_id and h.status = 'active'
     order by v.id for update of v);
  return json_build_object('ok', true, 'sessions_created', private.collect_sessions(virtuals), 'error', null);
end $$;
comment on function api.sync_customer(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/sync: {id, key} to {ok, sessions_created, error}. Collects every virtual charger of the customer up to now.';
select private.expose('api.sync_customer(jsonb, jsonb)');

-- POST /sandbox/v1/customers/{id}/review -------------------------------------------------------------------------------

create function api.review_customer(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  outcome    constant text := input ->> 'outcome';
  customer   record;
  connection core.connections;
  closed     text[];
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into customer from private.own_customer(input ->> 'id', input ->> 'key');
  if customer.account_id is null then
    -- or an account that a CPO client of the partner made
    customer.account_id := private.as_uuid(input ->> 'id');
  else
    perform private.act_for_partner(private.house()), set_config('app.user_id', customer.user_id::text, true);
  end if;
  perform from core.accounts a where a.partner_id = private.partner_id() and a.id = customer.account_id for no key update;
  if not found then
    perform private.refuse('customer_not_found');
  end if;
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = customer.account_id and c.status = 'active'
   order by c.registration_status = 'ingediend' desc, c.submitted_at desc nulls last, c.id limit 1 for update;
  if connection.registration_status = outcome then
    return json_build_object('ok', true, 'from', outcome, 'to', outcome);
  elsif connection.registration_status is distinct from 'ingediend' then
    perform private.refuse('nothing_to_review', json_build_object('registration_status', connection.registration_status));
  end if;
  closed := private.review_registration(connection, outcome);
  if cardinality(closed) > 0 then
    perform private.refuse('gates_closed', json_build_object('ok', false, 'gates', closed));
  end if;
  return json_build_object('ok', true, 'from', 'ingediend', 'to', outcome);
end $$;
comment on function api.review_customer(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/review: {id, key, outcome} to {ok, from, to}. As the operator reviews: an approval needs mandate, EAN and MID charger. A repeat changes nothing.';
select private.expose('api.review_customer(jsonb, jsonb)');

-- POST /sandbox/v1/drafts/{id}/claim: where a rehearsal stands; the claim itself runs through the functions of the pages ------------

create function private.foreign_login(email text, partner uuid) returns boolean
language sql stable security definer
set search_path = ''
as $$
  select exists (
    select from auth.users u
     where u.email = foreign_login.email and u.is_sso_user = false and u.deleted_at is null
       and u.raw_app_meta_data ->> 'claimed_for' is distinct from partner::text)
$$;
comment on function private.foreign_login(text, uuid) is
  'Whether an address has a login that no claim of this partner made. Definer, because logins belong to Supabase Auth.';

create function private.customer_standing(account uuid) returns jsonb
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (
    select jsonb_build_object(
             'registration_status', c.registration_status,
             'iban_present', a.iban_ciphertext is not null,
             'charger', (select private.virtual_charger_answer(v)
                           from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
                          where v.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'
                          order by v.created_at, v.id limit 1))
      from core.accounts a
      left join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
     where a.partner_id = private.house() and a.id = account
     order by c.created_at, c.id limit 1);
end $$;
comment on function private.customer_standing(uuid) is
  'How far the account of a draft is: registration, IBAN, first virtual charger. Definer, because accounts of people are in the house.';
grant execute on function private.foreign_login(text, uuid), private.customer_standing(uuid) to api_owner;

create function api.find_rehearsal(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  named   constant text := input ->> 'id';
  draft   core.drafts;
  answers jsonb;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- of several drafts with one reference the newest that can be claimed
  select d.* into draft from core.drafts d
   where d.partner_id = private.partner_id() and (d.id = private.as_uuid(named) or d.external_ref = named)
   order by d.id = private.as_uuid(named) desc nulls last, private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1;
  if draft.id is null then
    perform private.refuse('draft_not_found');
  elsif jsonb_typeof(input -> 'profile') = 'object' then
    perform private.virtual_model(input -> 'profile');
  end if;
  answers := private.claim_answers(draft);
  return (jsonb_build_object(
    'draft_id', draft.id,
    'external_ref', draft.external_ref,
    'email', draft.email,
    'type', draft.type,
    'locale', draft.locale,
    'draft_status', private.draft_status(draft),
    'stage', private.claim_stage(draft),
    'foreign_login', private.foreign_login(draft.email, draft.partner_id),
    'account_id', draft.account_id,
    'customer_ref', private.customer_ref(draft.user_id, draft.partner_id, input ->> 'key'),
    'brand', private.partner_brand(private.own_partner()),
    'answers', answers,
    'candidates', case when draft.postal_code is null
                         or (answers ->> 'postal_code', answers ->> 'house_number', answers ->> 'house_number_addition')
                            is not distinct from (draft.postal_code, draft.house_number::text, draft.house_number_addition)
                       then draft.ean_candidates
                       else coalesce(draft.progress -> 'candidates', '[]') end,  -- of the address the customer gave instead
    'confirmed', coalesce(draft.progress -> 'confirmed', '[]'))
    || coalesce(private.customer_standing(draft.account_id), '{}'))::json;
end $$;
comment on function api.find_rehearsal(jsonb, jsonb) is
  'A draft of the partner by its id or external_ref, and how far its claim is: {id, key, profile?}; a profile that cannot be connected is refused at once. foreign_login: a login the caller did not make, which no helper enters.';
select private.expose('api.find_rehearsal(jsonb, jsonb)');

create function api.free_draft_ean(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid and private.claim_stage(d) = 'invited' for update;
  if private.ean_taken(draft.ean) then
    if private.ean_taken(input ->> 'ean') then
      perform private.refuse('ean_in_use');
    end if;
    update core.drafts d set ean = input ->> 'ean', ean_status = 'provided' where d.partner_id = draft.partner_id and d.id = draft.id;
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.free_draft_ean(jsonb, jsonb) is
  'Puts the EAN the caller gives in the place of an uploaded one that is in use, with which the draft would end in conflict: {draft_id, ean}. Before the address is proven.';
select private.expose('api.free_draft_ean(jsonb, jsonb)');

-- GET /sandbox/v1/mail -------------------------------------------------------------------------------------------------

create function private.captured_mail(partner uuid, address text, size int) returns setof core.mail_outbox
language sql stable security definer
set search_path = ''
as $$
  select m.* from core.mail_outbox m
   where m.status = 'captured' and (address is null or m.recipient = address)
     and (m.partner_id = partner
          -- what the service writes to its customers itself: a code to sign in with
          or m.partner_id = private.house() and exists (
               select from auth.users u
                where u.email = m.recipient and u.is_sso_user = false and u.raw_app_meta_data ->> 'claimed_for' = partner::text))
   order by m.created_at desc, m.id desc limit size
$$;
comment on function private.captured_mail(uuid, text, int) is
  'Mail written on a partner''s behalf, and to the logins that claims of its drafts made, newest first. Definer, because the latter is in the house.';
grant execute on function private.captured_mail(uuid, text, int) to api_owner;

create function api.list_captured_mail(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  return (
    select json_build_object('mail', coalesce(json_agg(json_build_object(
        'id', m.id, 'captured_at', private.iso(m.created_at), 'to', m.recipient, 'from', query ->> 'from', 'subject', m.subject,
        'template', m.template, 'links', m.links, 'html', m.html, 'text', m.text) order by m.created_at desc, m.id desc), '[]'))
      from private.captured_mail(private.partner_id(), query ->> 'to', (query ->> 'limit')::int) m);
end $$;
comment on function api.list_captured_mail(jsonb, jsonb) is
  'GET /sandbox/v1/mail: {to, limit, from} to {mail}, newest first: every mail written on behalf of the partner, its CPO accounts'' mandates included, and its customers'' codes to sign in.';
select private.expose('api.list_captured_mail(jsonb, jsonb)');

-- POST /sandbox/v1/reset, and the customer that a fixture replaces ------------------------------------------------------

create function private.erase_customers(partner uuid, chosen uuid[], out customers bigint, out drafts bigint)
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  house       constant uuid := private.house();
  everything  constant boolean := chosen is null;
  gone        core.drafts[];
  people      uuid[];
  logins      uuid[];
  accounts    uuid[];
  chargers    uuid[];
  connections uuid[];
  locations   uuid[];
begin
  perform private.only_in_sandbox();
  -- what is under way on a draft ends first, and is seen
  gone := array(select d from core.drafts d where d.partner_id = partner and (everything or d.id = any (chosen)) order by d.id for update);
  people := array(
    select d.user_id from unnest(gone) d where d.user_id is not null
    union select a.user_id from core.attributions a where everything and a.partner_id = partner
    -- a withdrawn draft leaves its login behind
    union select u.id from auth.users u where everything and u.raw_app_meta_data ->> 'claimed_for' = partner::text);
  -- a login goes only where a claim of this partner made it and nobody else has come to rely on it
  logins := array(
    select u.id from auth.users u
     where u.id = any (people) and u.raw_app_meta_data ->> 'claimed_for' = partner::text
       and not exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
       and not exists (select from core.partner_managers m where m.user_id = u.id));
  accounts := array(
    select a.id from core.accounts a
     where a.partner_id = house and (a.id = any (array(select d.account_id from unnest(gone) d)) or a.user_id = any (logins))
     order by a.id for update);
  -- in the order in which sessions lock them
  perform from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
    where v.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by v.id for update of v;
  chargers := array(select h.id from core.chargers h
                     where h.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by h.id for update);
  connections := array(select c.id from core.connections c where c.partner_id = house and c.account_id = any (accounts) order by c.id for update);
  locations := array(select distinct c.location_id from core.connections c where c.partner_id = house and c.id = any (connections));

  delete from core.replaced_sessions r using core.charging_sessions s
   where s.partner_id = house and s.charger_id = any (chargers) and r.partner_id = house and r.session_id = s.id;
  delete from core.charger_months m where m.partner_id = house and m.charger_id = any (chargers);
  delete from core.charging_sessions s where s.partner_id = house and s.charger_id = any (chargers);
  delete from core.virtual_chargers v where v.partner_id = house and v.charger_id = any (chargers);
  delete from core.replaced_months r where r.partner_id = house and r.connection_id = any (connections);
  delete from core.delivered_months d where d.partner_id = house and d.connection_id = any (connections);
  delete from core.mandates m where m.partner_id = house and m.connection_id = any (connections);
  delete from core.mandate_links l where l.partner_id = house and l.connection_id = any (connections);
  delete from core.ean_checks e where e.partner_id = house and e.connection_id = any (connections);
  delete from core.chargers h where h.partner_id = house and h.id = any (chargers);
  delete from core.connections c where c.partner_id = house and c.id = any (connections);
  delete from core.locations l
   where l.partner_id = house and l.id = any (locations)
     and not exists (select from core.connections c where c.partner_id = house and c.location_id = l.id);
  delete from core.signatories s where s.partner_id = house and s.account_id = any (accounts);
  delete from core.accounts a where a.partner_id = house and a.id = any (accounts);

  -- what was written about drafts; the mandates of CPO accounts may have gone to the same people
  delete from core.mail_outbox m
   where m.partner_id = partner and m.cause like 'claim%'
     and (everything or m.recipient = any (array(select d.email from unnest(gone) d)));
  delete from core.mail_outbox m using auth.users u where u.id = any (logins) and m.partner_id = house and m.recipient = u.email;
  delete from core.drafts d where d.partner_id = partner and d.id = any (array(select g.id from unnest(gone) g));
  drafts := cardinality(gone);
  -- what no longer is does not count toward the cap
  delete from core.draft_uploads u
   where u.partner_id = partner
     and (everything or u.id in (select n.id from core.draft_uploads n where n.partner_id = partner order by n.id desc limit drafts));
  with ended as (delete from core.attributions a where a.partner_id = partner and a.user_id = any (people) returning 1)
  select count(*) into customers from ended;
  delete from auth.users u where u.id = any (logins);
end $$;
comment on function private.erase_customers(uuid, uuid[]) is
  'Deletes a partner''s drafts, those chosen or (null) all, with what customers made of them: accounts and all under them, mail, logins. '
  'A person who came with a login of their own keeps it, and is the partner''s no more. Definer, because customers are in the house and logins in Auth.';

grant execute on function private.erase_customers(uuid, uuid[]) to api_owner;

create function api.reset_sandbox(caller jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- an import that runs is either before this or after it, whole
  perform private.lock_imports(private.partner_id());
  select * into erased from private.erase_customers(private.partner_id(), null);
  perform private.audit('sandbox.reset', private.partner_id(), jsonb_build_object('customers', erased.customers, 'drafts', erased.drafts));
  return json_build_object('ok', true, 'customers_deleted', erased.customers, 'drafts_deleted', erased.drafts);
end $$;
comment on function api.reset_sandbox(jsonb) is
  'POST /sandbox/v1/reset: every customer attributed to the partner and every draft it made, in one transaction. CPO accounts, keys and settings stay.';
select private.expose('api.reset_sandbox(jsonb)');

create function api.clear_fixture(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into erased from private.erase_customers(private.partner_id(), array(
    select d.id from core.drafts d where d.partner_id = private.partner_id() and d.external_ref = input ->> 'external_ref'));
  return json_build_object('drafts_deleted', erased.drafts);
end $$;
comment on function api.clear_fixture(jsonb, jsonb) is 'Makes room for a fixture: {external_ref}. The drafts with that reference go, with their customers.';
select private.expose('api.clear_fixture(jsonb, jsonb)');

-- Accounts, their signatory, the connections (an EAN at an address), and the checks of an EAN against the register.

create table core.locations (
  partner_id            uuid not null,
  id                    uuid not null default gen_random_uuid(),
  postal_code           text not null,
  house_number          int  not null,
  house_number_addition text,
  street                text,
  city                  text,
  created_at            timestamptz not null default private.now(),
  constraint locations_pkey primary key (partner_id, id),
  constraint locations_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint locations_address_key unique nulls not distinct (partner_id, postal_code, house_number, house_number_addition),
  constraint locations_postal_code_shape check (postal_code ~ '^[1-9][0-9]{3}[A-Z]{2}$'),
  constraint locations_house_number_positive check (house_number between 1 and 99999)
);
comment on table core.locations is
  'An address, shared by the tenant''s connections there. Personal data; deleted with the last connection that refers to it.';
select private.isolate('core.locations', 'select, insert, update, delete');

create table core.accounts (
  partner_id        uuid        not null,
  id                uuid        not null default gen_random_uuid(),
  client_id         uuid,
  user_id           uuid,
  access_channel    text        not null default 'cpo_api',
  type              text        not null,
  display_name      text,
  payout_handler    text        not null,
  cpo_external_ref  text,
  company           jsonb,
  iban_ciphertext   text,
  iban_key_id       text,
  iban_last4        text,
  created_at        timestamptz not null default private.now(),
  constraint accounts_pkey primary key (partner_id, id),
  constraint accounts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint accounts_client_id_fkey foreign key (client_id) references core.oauth_clients (id),
  constraint accounts_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint accounts_cpo_external_ref_key unique (client_id, cpo_external_ref),
  constraint accounts_access_channel_known check (access_channel in ('cpo_api', 'user')),
  constraint accounts_owner check (case access_channel when 'cpo_api' then client_id is not null and user_id is null else client_id is null end),
  constraint accounts_type_known check (type in ('particulier', 'zakelijk', 'vve')),
  constraint accounts_payout_handler_known check (payout_handler in ('service_pays_customer', 'via_cpo_invoicing')),
  constraint accounts_lengths check (length(display_name) <= 120 and length(cpo_external_ref) <= 120),
  constraint accounts_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4) in (0, 3))
);
comment on table core.accounts is
  'A customer: of a CPO client (client_id), or a person with a login (user_id) in the service''s own tenant. iban_ciphertext is AES-256-GCM made before it reaches the database, under the key iban_key_id; SQL knows presence and last four. Personal data.';
-- serves: GET /v1/accounts and GET /v1/ere-positions, newest first
create index accounts_newest on core.accounts (client_id, created_at desc, id desc);
-- serves: the accounts of a person
create index accounts_user on core.accounts (user_id) where user_id is not null;
select private.isolate('core.accounts', 'select, insert, update');
create policy "a person reaches only their own accounts" on core.accounts as restrictive to api_owner
  using ((select private.user_id()) is null or user_id = (select private.user_id()));
create policy "a CPO client reaches only the accounts it created" on core.accounts as restrictive to api_owner
  using ((select private.client_id()) is null or client_id = (select private.client_id()));

create table core.signatories (
  partner_id uuid not null,
  account_id uuid not null,
  full_name  text not null,
  email      text,
  phone      text,
  constraint signatories_pkey primary key (partner_id, account_id),
  constraint signatories_account_fkey foreign key (partner_id, account_id) references core.accounts (partner_id, id),
  constraint signatories_full_name_length check (length(full_name) between 2 and 120),
  constraint signatories_email_shape check (length(email) <= 254 and email = lower(email))
);
comment on table core.signatories is 'The natural person who signs for an account. Personal data, kept as long as the mandate''s evidence must be.';
select private.isolate('core.signatories', 'select, insert, update');

create table core.connections (
  partner_id            uuid        not null,
  id                    uuid        not null default gen_random_uuid(),
  account_id            uuid        not null,
  location_id           uuid        not null,
  ean_code              text        not null,
  ean_exclusive         boolean     not null default true,
  ean_validation_status text,
  ean_checked_at        timestamptz,
  status                text        not null default 'active',
  registration_status   text        not null default 'concept',
  submitted_at          timestamptz,
  created_at            timestamptz not null default private.now(),
  constraint connections_pkey primary key (partner_id, id),
  constraint connections_account_fkey foreign key (partner_id, account_id) references core.accounts (partner_id, id),
  constraint connections_location_fkey foreign key (partner_id, location_id) references core.locations (partner_id, id),
  constraint connections_ean_code_shape check (ean_code ~ '^[0-9]{18}$'),
  constraint connections_ean_validation_status_known
    check (ean_validation_status in ('pending', 'matched', 'unverified', 'mismatch', 'not_found', 'manual')),
  constraint connections_status_known check (status in ('active', 'archived')),
  constraint connections_registration_status_known
    check (registration_status in ('concept', 'ingediend', 'goedgekeurd', 'afgekeurd'))
);
comment on table core.connections is
  'An EAN at an address, registered for an account. At most one active connection holds an EAN, across all tenants. Personal data.';
comment on column core.connections.ean_exclusive is 'False only for the sandbox''s test values, which every integrator may use at once.';
-- serves: ean_in_use; unique across tenants on purpose
create unique index connections_active_ean on core.connections (ean_code) where status = 'active' and ean_exclusive;
-- serves: the connections of an account
create index connections_account on core.connections (partner_id, account_id, created_at);
-- serves: the location that became unused
create index connections_location on core.connections (partner_id, location_id);
-- serves: the weekly re-check of unverified connections
create index connections_unverified on core.connections (ean_checked_at) where status = 'active' and ean_validation_status = 'unverified';
select private.isolate('core.connections', 'select, insert, update');

create table core.ean_checks (
  id            bigint generated always as identity,
  partner_id    uuid        not null,
  connection_id uuid,
  ean_code      text        not null,
  postal_code   text        not null,
  house_number  int         not null,
  house_number_addition text,
  source        text        not null,
  outcome       text        not null,
  reason        text,
  checked_at    timestamptz not null default private.now(),
  constraint ean_checks_pkey primary key (id),
  constraint ean_checks_outcome_known check (outcome in ('matched', 'mismatch', 'unknown_address', 'unavailable'))
);
comment on table core.ean_checks is 'Every question put to the EAN register and what it answered, refused creations included. Personal data; kept for audit.';
-- serves: the check history of a connection
create index ean_checks_connection on core.ean_checks (partner_id, connection_id, id);
select private.isolate('core.ean_checks', 'select, insert');

create table core.ean_register_points (
  ean_code              text not null,
  postal_code           text not null,
  house_number          int  not null,
  house_number_addition text,
  street                text not null,
  city                  text not null,
  constraint ean_register_points_pkey primary key (ean_code),
  constraint ean_register_points_ean_code_shape check (ean_code ~ '^[0-9]{18}$')
);
comment on table core.ean_register_points is
  'A register of our own, for hosts that do not ask the public one (EAN_REGISTER=table). Metering points, no persons.';
-- serves: the metering points of an address
create index ean_register_points_address on core.ean_register_points (postal_code, house_number);
alter table core.ean_register_points enable row level security;
create policy "every tenant reads the register" on core.ean_register_points for select to api_owner using (true);
grant select on core.ean_register_points to api_owner;

-- The EAN and the register -------------------------------------------------------------------------------------------

create function private.is_test_ean(ean text) returns boolean
language sql stable
set search_path = ''
as $$ select private.is_sandbox() and ean ~ '^8716870000000000(16|23|30|47|54|61)$' $$;
comment on function private.is_test_ean(text) is 'The six EANs with which an integrator picks the outcome of the check on the sandbox.';

create function private.ean_taken(ean text, except_connection uuid default null) returns boolean
language sql stable security definer
set search_path = ''
as $$
  select private.is_sandbox() and ean = '871687000000000054'
      or not private.is_test_ean(ean) and exists (
           select from core.connections c
            where c.ean_code = ean_taken.ean and c.status = 'active' and c.ean_exclusive
              and c.id is distinct from except_connection)
$$;
comment on function private.ean_taken(text, uuid) is
  'Whether another active connection holds the EAN. Definer, because it looks across tenants; it says that, never whose.';

create function private.points_in_table(postal_code text, house_number int, addition text) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('ean_code', p.ean_code, 'street', p.street, 'city', p.city,
                                                 'house_number_addition', p.house_number_addition) order by p.ean_code), '[]')
      from core.ean_register_points p
     where p.postal_code = points_in_table.postal_code and p.house_number = points_in_table.house_number
       and p.house_number_addition is not distinct from addition);
end $$;
comment on function private.points_in_table(text, int, text) is
  'The metering points of an address in the register of our own, as the public one answers them.';

create function private.check_ean(
  ean text, postal_code text, house_number int, addition text, register jsonb,
  out outcome text, out street text, out city text, out source text, out reason text)
language plpgsql
set search_path = ''
as $$
declare
  points jsonb := register -> 'points';
begin
  source := register ->> 'source';
  reason := register ->> 'reason';
  if source = 'table' then
    points := private.points_in_table(postal_code, house_number, addition);
  elsif register ->> 'outcome' = 'unavailable' then
    outcome := 'unavailable';
    return;
  end if;
  if points is null or jsonb_array_length(points) = 0 then
    outcome := 'unknown_address';
    return;
  end if;
  select case when bool_or(p.ean_code = ean) then 'matched' else 'mismatch' end, min(p.street), min(p.city)
    into outcome, street, city
    from jsonb_to_recordset(points) as p (ean_code text, street text, city text);
end $$;
comment on function private.check_ean(text, text, int, text, jsonb) is
  'Judges an EAN by the register''s answer for its address: {source, outcome, points, reason}, or {source: "table"} to look it up here.';

create function private.record_ean_check(
  connection uuid, ean text, postal_code text, house_number int, addition text, source text, outcome text, reason text) returns void
language sql
set search_path = ''
as $$
  insert into core.ean_checks
    (partner_id, connection_id, ean_code, postal_code, house_number, house_number_addition, source, outcome, reason)
  values (private.partner_id(), connection, ean, postal_code, house_number, addition, source, outcome, reason)
$$;

create function private.location_for(address jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  location uuid;
begin
  insert into core.locations as l (partner_id, postal_code, house_number, house_number_addition, street, city)
  values (private.partner_id(), address ->> 'postal_code', (address ->> 'house_number')::int,
          address ->> 'house_number_addition', address ->> 'street', address ->> 'city')
  on conflict on constraint locations_address_key do update
     set street = coalesce(excluded.street, l.street), city = coalesce(excluded.city, l.city)
  returning id into location;
  return location;
end $$;
comment on function private.location_for(jsonb) is
  'The tenant''s row for an address: {postal_code, house_number, house_number_addition, street, city}.';

create function private.drop_unused_location(location uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  delete from core.locations l
   where l.partner_id = private.partner_id() and l.id = location
     and not exists (select from core.connections c where c.partner_id = l.partner_id and c.location_id = l.id);
exception when foreign_key_violation then
  null;  -- a connection moved in at the same moment
end $$;
comment on function private.drop_unused_location(uuid) is 'Deletes an address, personal data, that no connection is left at.';

-- POST /v1/accounts --------------------------------------------------------------------------------------------------

create function private.account_answer(account uuid, idempotent boolean) returns json
language plpgsql stable
set search_path = ''
as $$
begin
  return (select json_build_object(
    'ok', true,
    'idempotent', idempotent,
    'account_id', a.id,
    'connection_id', c.id,
    'location_id', c.location_id,
    'ean_validation_status', c.ean_validation_status,
    'iban_stored', a.iban_ciphertext is not null,
    'mandate_status', m.mandate_status,
    'account', json_build_object(
      'id', a.id, 'type', a.type, 'display_name', a.display_name, 'payout_handler', a.payout_handler,
      'cpo_external_ref', a.cpo_external_ref, 'created_at', private.iso(a.created_at)))
  from core.accounts a
  -- the connection it was created with, unless that one was archived and another took its place
  join lateral (
    select * from core.connections c
     where c.partner_id = a.partner_id and c.account_id = a.id
     order by c.status, c.created_at, c.id
     limit 1) c on true
  join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
  where a.id = account);
end $$;

create function private.store_iban(account uuid, iban jsonb) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.accounts
     set iban_ciphertext = iban ->> 'ciphertext', iban_key_id = iban ->> 'key_id', iban_last4 = iban ->> 'last4'
   where id = account;
  perform private.audit('account.iban_stored', account);
  perform private.advance_registration(account);
end $$;
comment on function private.store_iban(uuid, jsonb) is 'Stores an encrypted IBAN: {ciphertext, key_id, last4}.';

create function private.known_account(cpo_external_ref text) returns uuid
language sql stable
set search_path = ''
as $$
  select a.id from core.accounts a
   where a.client_id = private.client_id() and a.cpo_external_ref = known_account.cpo_external_ref
$$;

create function private.repeat_account(account uuid, iban jsonb) returns json
language plpgsql
set search_path = ''
as $$
begin
  if jsonb_typeof(iban) = 'object' then
    perform private.store_iban(account, iban);
  end if;
  return private.account_answer(account, true);
end $$;
comment on function private.repeat_account(uuid, jsonb) is
  'A repeat by cpo_external_ref: stores a new IBAN if one was sent and ignores the rest (specification section 4.1).';

grant execute on function
  private.is_test_ean(text), private.ean_taken(text, uuid), private.points_in_table(text, int, text), private.check_ean(text, text, int, text, jsonb),
  private.record_ean_check(uuid, text, text, int, text, text, text, text), private.location_for(jsonb), private.drop_unused_location(uuid),
  private.account_answer(uuid, boolean), private.store_iban(uuid, jsonb), private.known_account(text),
  private.repeat_account(uuid, jsonb)
to api_owner;

create function api.repeat_account(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account uuid;
begin
  perform private.act_as(caller, 'cpo');
  account := private.known_account(input ->> 'cpo_external_ref');
  return case when account is not null then private.repeat_account(account, input -> 'iban') end;
end $$;
comment on function api.repeat_account(jsonb, jsonb) is
  'POST /v1/accounts when the rest of the body cannot be used: {cpo_external_ref, iban} to the account''s answer, or null when the reference is new.';
select private.expose('api.repeat_account(jsonb, jsonb)');

create function api.create_account(caller jsonb, input jsonb, register jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  reference  constant text  := input ->> 'cpo_external_ref';
  wanted     constant jsonb := input -> 'connection';
  ean        constant text  := wanted ->> 'ean_code';
  account    uuid;
  connection uuid;
  checked    record;
begin
  perform private.act_as(caller, 'cpo');
  if reference is not null then
    -- parallel first calls queue here, so that the later ones find the account of the first
    perform pg_advisory_xact_lock(hashtextextended(private.client_id() || ' ' || reference, 0));
    account := private.known_account(reference);
    if account is not null then
      return private.repeat_account(account, input -> 'iban');
    end if;
  end if;

  if private.ean_taken(ean) then
    perform private.refuse('ean_in_use');
  elsif jsonb_typeof(register) = 'null' then
    return json_build_object('ask_register', wanted);
  end if;
  select * into checked
    from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', register);
  if checked.outcome = 'mismatch' then
    perform private.record_ean_check(null, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    return private.refusal('ean_address_mismatch');
  end if;

  insert into core.accounts
    (partner_id, client_id, type, display_name, payout_handler, cpo_external_ref, company, iban_ciphertext, iban_key_id, iban_last4)
  values
    (private.partner_id(), private.client_id(), input ->> 'type', input ->> 'display_name', input ->> 'payout_handler', reference,
     nullif(input -> 'company', 'null'), input #>> '{iban,ciphertext}', input #>> '{iban,key_id}', input #>> '{iban,last4}')
  returning id into account;

  insert into core.signatories (partner_id, account_id, full_name, email, phone)
  values (private.partner_id(), account, input #>> '{person,full_name}', input #>> '{person,email}', input #>> '{person,phone}');

  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (private.partner_id(), account,
          private.location_for(wanted || jsonb_strip_nulls(jsonb_build_object(
            'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city)))),
          ean, not private.is_test_ean(ean),
          case checked.outcome when 'matched' then 'matched' else 'unverified' end, private.now())
  on conflict (ean_code) where status = 'active' and ean_exclusive do nothing
  returning id into connection;
  if connection is null then
    perform private.refuse('ean_in_use');  -- taken between the look above and now
  end if;

  perform private.record_ean_check(connection, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
    wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
  perform private.audit('account.created', account);
  return private.account_answer(account, false);
end $$;
comment on function api.create_account(jsonb, jsonb, jsonb) is
  'POST /v1/accounts. register is the EAN register''s answer, or null: then {ask_register: address} comes back where one is needed, and nothing was stored.';
select private.expose('api.create_account(jsonb, jsonb, jsonb)');

-- GET /v1/accounts ---------------------------------------------------------------------------------------------------

create function private.account_page(query jsonb) returns setof core.accounts
language plpgsql stable
set search_path = ''
as $$
begin
  return query
    select a.* from core.accounts a
     where a.client_id = private.client_id()
       and (account_page.query ->> 'cpo_external_ref' is null or a.cpo_external_ref = account_page.query ->> 'cpo_external_ref')
     order by a.created_at desc, a.id desc
     limit (account_page.query ->> 'limit')::int + 1 offset (account_page.query ->> 'offset')::bigint;
end $$;
comment on function private.account_page(jsonb) is
  'The accounts of the client that {limit, offset, cpo_external_ref} asks for, newest first, and one more where there is another page.';
grant execute on function private.account_page(jsonb) to api_owner;

create function api.list_accounts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  page_limit constant int := (query ->> 'limit')::int;
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select * from private.account_page(query)
    ), shown as (
      select * from page order by created_at desc, id desc limit page_limit
    )
    select json_build_object(
      'accounts', coalesce(json_agg(json_build_object(
        'id', a.id,
        'account_id', a.id,
        'type', a.type,
        'display_name', a.display_name,
        'payout_handler', a.payout_handler,
        'cpo_external_ref', a.cpo_external_ref,
        'access_channel', a.access_channel,
        'created_at', private.iso(a.created_at),
        'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email)
                        from core.signatories s where s.partner_id = a.partner_id and s.account_id = a.id),
        'connections', (select coalesce(json_agg(json_build_object(
                            'connection_id', c.id,
                            'ean_code', c.ean_code,
                            'status', c.status,
                            'registration_status', c.registration_status,
                            'ean_validation_status', c.ean_validation_status,
                            'mandate_status', m.mandate_status,
                            'mandate_valid_from', m.valid_from,
                            'mandate_valid_until', m.valid_until,
                            'mandate_signed_at', private.iso(m.signed_at)) order by c.created_at, c.id), '[]')
                          from core.connections c
                          join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                         where c.partner_id = a.partner_id and c.account_id = a.id)
        ) order by a.created_at desc, a.id desc), '[]'),
      'limit', page_limit,
      'offset', (query ->> 'offset')::bigint,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown a);
end $$;
comment on function api.list_accounts(jsonb, jsonb) is
  'GET /v1/accounts: {limit, offset, cpo_external_ref} to a page of the client''s accounts, newest first.';
select private.expose('api.list_accounts(jsonb, jsonb)');

-- POST /v1/connections:update ----------------------------------------------------------------------------------------

create function private.find_connection(criteria jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  account uuid;
  found_ids uuid[];
begin
  -- through the account, where row-level security holds the client as well as the tenant
  select array_agg(c.id order by c.created_at, c.id) into found_ids
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where (criteria ->> 'account_id' is null or a.id = (criteria ->> 'account_id')::uuid)
     and (criteria ->> 'cpo_external_ref' is null or a.client_id = private.client_id() and a.cpo_external_ref = criteria ->> 'cpo_external_ref')
     and (criteria ->> 'connection_id' is null or c.id = (criteria ->> 'connection_id')::uuid);
  if found_ids is null then
    perform private.refuse('connection_not_found');
  elsif cardinality(found_ids) > 1 then
    perform private.refuse('ambiguous_connection');
  end if;
  return found_ids[1];
end $$;
comment on function private.find_connection(jsonb) is
  'The one active connection that agrees with every id given: {connection_id, account_id, cpo_external_ref}, at least one of them.';
grant execute on function private.find_connection(jsonb) to api_owner;

create function api.update_connection(caller jsonb, input jsonb, register jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  wanted_id  uuid;
  connection core.connections;
  current    jsonb;
  wanted     jsonb;
  ean        text;
  signed     boolean;
  checked    record;
  changed    boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  wanted_id := private.find_connection(input -> 'criteria');
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = wanted_id and c.status = 'active' for update;
  if not found then
    perform private.refuse('connection_not_found');  -- archived between the look above and now
  end if;
  select jsonb_build_object('ean_code', connection.ean_code, 'postal_code', l.postal_code, 'house_number', l.house_number,
                            'house_number_addition', l.house_number_addition, 'street', l.street, 'city', l.city)
    into current from core.locations l where l.partner_id = connection.partner_id and l.id = connection.location_id;
  wanted := current || (input -> 'connection');
  ean := wanted ->> 'ean_code';
  select m.mandate_status = 'signed' into signed
    from core.connection_mandates m where m.partner_id = connection.partner_id and m.connection_id = connection.id;

  if lower(wanted::text) is distinct from lower(current::text) then
    if private.ean_taken(ean, connection.id) then
      perform private.refuse('ean_in_use');
    elsif jsonb_typeof(register) = 'null' then
      return json_build_object('ask_register', wanted);
    end if;
    -- a street that was not sent belongs to the old address
    if (wanted - 'street' - 'city' - 'ean_code') <> (current - 'street' - 'city' - 'ean_code') then
      wanted := jsonb_build_object('street', null, 'city', null) || (wanted - 'street' - 'city')
                || jsonb_strip_nulls(jsonb_build_object('street', input #> '{connection,street}', 'city', input #> '{connection,city}'));
    end if;
    select * into checked
      from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', register);
    perform private.record_ean_check(connection.id, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    if checked.outcome = 'mismatch' then
      return private.refusal('ean_address_mismatch');
    elsif signed and (input -> 'acknowledge_mandate_lapses') is distinct from 'true' then
      return private.refusal('mandate_acknowledgement_required');
    end if;

    begin
      update core.connections c
         set ean_code = ean,
             ean_exclusive = not private.is_test_ean(ean),
             location_id = private.location_for(wanted || jsonb_strip_nulls(jsonb_build_object(
               'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city)))),
             ean_validation_status = case checked.outcome when 'matched' then 'matched' else 'unverified' end,
             ean_checked_at = private.now(),
             registration_status = 'concept',
             submitted_at = null
       where c.partner_id = connection.partner_id and c.id = connection.id;
    exception when unique_violation then
      perform private.refuse('ean_in_use');  -- taken between the look above and now
    end;
    if signed then
      perform private.end_mandate(connection.id, 'revoked', 'connection_updated');
    end if;
    perform private.void_mandate_links(connection.id);
    perform private.drop_unused_location(connection.location_id);
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
end $$;
comment on function api.update_connection(jsonb, jsonb, jsonb) is
  'POST /v1/connections:update: {criteria, connection, acknowledge_mandate_lapses}. Order: found, ambiguous, no-op, ean_in_use, ean_address_mismatch, acknowledgement, write.';
select private.expose('api.update_connection(jsonb, jsonb, jsonb)');

-- Chargers, of accounts and of people.

create table core.chargers (
  partner_id         uuid        not null,
  id                 uuid        not null default gen_random_uuid(),
  account_id         uuid,
  connection_id      uuid,
  user_id            uuid,
  owner_id           uuid        not null default private.owner_id(),
  catalog_charger_id uuid,
  brand              text,
  serial_number      text,
  ocpp_vendor        text,
  ocpp_model         text,
  ocpp_meter_type    text,
  mid_eligible       boolean,
  nickname           text,
  connection_type    text        not null default 'other',
  power_kw           numeric(5, 1),
  ocpp_identity      text,
  ocpp_password_hash bytea,
  last_seen_at       timestamptz,
  latest_meter_wh    bigint,
  meter_updated_at   timestamptz,
  status             text        not null default 'active',
  created_at         timestamptz not null default private.now(),
  removed_at         timestamptz,
  constraint chargers_pkey primary key (partner_id, id),
  constraint chargers_owner_key unique (partner_id, id, owner_id),
  constraint chargers_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint chargers_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint chargers_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint chargers_owner check (case when user_id is null then num_nulls(account_id, connection_id, catalog_charger_id, brand) = 0
                                        else owner_id = user_id end),
  constraint chargers_catalog_charger_id_fkey foreign key (catalog_charger_id) references core.charger_models (id),
  constraint chargers_serial_number_shape check (serial_number ~ '^[^[:space:]a-z]{1,64}$'),
  constraint chargers_nickname_length check (length(nickname) between 1 and 100),
  constraint chargers_connection_type_known
    check (connection_type in ('easee', 'wallbox', 'zaptec', 'enphase', 'ocpp', 'smappee', 'v2c', 'other')),
  constraint chargers_power_kw_positive check (power_kw > 0),
  constraint chargers_ocpp_identity_shape check (ocpp_identity ~ '^[A-Za-z0-9_-]{1,64}$'),
  constraint chargers_ocpp_credentials_whole check (num_nulls(ocpp_identity, ocpp_password_hash) in (0, 2)),
  constraint chargers_ocpp_password_is_sha256 check (length(ocpp_password_hash) = 32),
  constraint chargers_status_known check (status in ('active', 'removed')),
  constraint chargers_active_stands check (status = 'removed' or removed_at is null)
);
comment on table core.chargers is
  'A charger of an account, bound to one of its connections; or of a person, who may have no account yet. serial_number is upper-case without spaces, and with its brand active on one account only, across all tenants.';
comment on column core.chargers.mid_eligible is 'Null while the evidence of a MID meter is still to be judged: it opens no gate.';
comment on column core.chargers.power_kw is 'The most it delivers to one car; null where nobody said. What a session is judged against.';
comment on column core.chargers.removed_at is
  'Until when it stood there: what it charged before goes on to count. Null where it stands, or nobody noted when it went.';
comment on column core.chargers.ocpp_password_hash is
  'SHA-256 of the 160 random bits that the charger sends in HTTP Basic (OCPP-J security profile 2); the gateway checks it, nobody reads it back.';
-- serves: charger_claimed; unique across tenants on purpose, taken by private.claim_serial_number
create unique index chargers_active_serial on core.chargers (brand, serial_number) where status = 'active';
-- serves: the gateway, which knows a charger by its identity alone; unique across tenants on purpose, taken by private.claim_ocpp_identity
create unique index chargers_active_ocpp_identity on core.chargers (ocpp_identity) where status = 'active';
-- serves: the chargers of an account, and its limit
create index chargers_account on core.chargers (partner_id, account_id);
-- serves: the gate mid_charger_registered
create index chargers_connection on core.chargers (partner_id, connection_id);
-- serves: the chargers of a person
create index chargers_user on core.chargers (user_id, created_at) where user_id is not null;
select private.isolate('core.chargers', 'select, insert, update');
select private.keep_to_owner('core.chargers');
-- serves: the chargers whose MID evidence is to be judged, oldest first
create index chargers_unconfirmed on core.chargers (created_at, id) where status = 'active' and mid_eligible is null;

create function private.charger_name(charger core.chargers) returns text
language sql stable
set search_path = ''
as $$
  select coalesce(charger.nickname,
    (select concat_ws(' ', m.brand, m.model) from core.charger_models m where m.id = charger.catalog_charger_id), charger.ocpp_identity, 'Charger')
$$;
comment on function private.charger_name(core.chargers) is 'What its owner calls it, or else what it is.';
grant execute on function private.charger_name(core.chargers) to api_owner;

create function private.is_online(charger core.chargers) returns boolean
language sql stable
set search_path = ''
as $$ select coalesce(charger.last_seen_at > private.now() - interval '15 minutes', false) $$;
comment on function private.is_online(core.chargers) is 'Heard of in the last 15 minutes: OCPP chargers send a heartbeat at least that often.';
grant execute on function private.is_online(core.chargers) to api_owner;

create function private.charger_by_identity(identity text) returns core.chargers
language sql stable security definer
set search_path = ''
as $$ select h from core.chargers h where h.ocpp_identity = identity and h.status = 'active' $$;
comment on function private.charger_by_identity(text) is
  'Finds a charger before its tenant is known; definer for that reason alone.';
grant execute on function private.charger_by_identity(text) to api_owner;

create function private.charger_taken(brand text, serial_number text) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (select from core.chargers h
                  where h.brand = charger_taken.brand and h.serial_number = charger_taken.serial_number and h.status = 'active');
end $$;
comment on function private.charger_taken(text, text) is 'Whether a charger is active on some account. Definer, because it looks across tenants; the answer does not say whose.';
grant execute on function private.charger_taken(text, text) to api_owner;

create function private.claim_serial_number(brand text, serial_number text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  if serial_number is null then
    return true;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('charger ' || brand || ' ' || serial_number, 0));
  return not private.charger_taken(brand, serial_number);
end $$;
comment on function private.claim_serial_number(text, text) is
  'Whether a serial number of a brand is free for a new charger; it then is until the end of the transaction, for nobody else gets an answer before. Whoever stores an active charger asks this first.';
grant execute on function private.claim_serial_number(text, text) to api_owner;

create function private.claim_ocpp_identity(identity text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('ocpp_identity ' || identity, 0));
  return (private.charger_by_identity(identity)).id is null;
end $$;
comment on function private.claim_ocpp_identity(text) is
  'Whether an identity is free for a new charger to connect by; it then is until the end of the transaction, for nobody else gets an answer before.';
grant execute on function private.claim_ocpp_identity(text) to api_owner;

create function private.lock_chargers(account uuid, person uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  if person is null then
    perform from core.accounts a where a.partner_id = private.partner_id() and a.id = account for no key update;
  else
    -- a person may have chargers and no account yet
    perform pg_advisory_xact_lock(hashtextextended('chargers of ' || person, 0));
  end if;
end $$;
comment on function private.lock_chargers(uuid, uuid) is
  'Until the end of the transaction nobody else adds a charger for this person, or where person is null, to this account of a CPO client. Taken before any lock on a connection.';
grant execute on function private.lock_chargers(uuid, uuid) to api_owner;

create function private.require_charger_room(account uuid, person uuid) returns int
language plpgsql
set search_path = ''
as $$
declare
  active int;
begin
  perform private.lock_chargers(account, person);
  if person is null then
    select count(*) into active from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active';
  else
    select count(*) into active from core.chargers h where h.user_id = person and h.status = 'active';
  end if;
  if active >= 10 then
    perform private.refuse('charger_limit_reached');
  end if;
  return active;
end $$;
comment on function private.require_charger_room(uuid, uuid) is
  'Refuses an eleventh active charger of a person, or where person is null, of an account of a CPO client; else says how many there are.';
grant execute on function private.require_charger_room(uuid, uuid) to api_owner;

create function private.emit_charger(type text, charger core.chargers) returns void
language plpgsql security definer
set search_path = ''
as $$
declare
  about constant jsonb := jsonb_build_object('charger_id', charger.id, 'connection_id', charger.connection_id, 'mid_eligible', charger.mid_eligible);
begin
  if charger.account_id is not null then
    perform private.emit_of(charger.partner_id, emit_charger.type, charger.account_id, charger.id, about);
  else
    perform private.tell(t.partner_id, t.partner_id, emit_charger.type, charger.id, about - 'charger_id' - 'connection_id', t.user_id)
       from core.attributions t where t.user_id = charger.user_id;
  end if;
end $$;
comment on function private.emit_charger(text, core.chargers) is
  'Writes an event of a charger, which a person may have before there is an account. Definer, because a person''s partner is another tenant.';
grant execute on function private.emit_charger(text, core.chargers) to api_owner;

create function private.add_own_charger(account uuid, connection uuid, chosen jsonb, details jsonb default '{}') returns uuid
language plpgsql
set search_path = ''
as $$
declare
  model   core.charger_models;
  charger core.chargers;
begin
  select * into model from core.charger_models m where m.id = (chosen ->> 'catalog_charger_id')::uuid;
  if not found then
    return null;
  elsif not private.claim_serial_number(model.brand, chosen ->> 'serial_number') then
    perform private.refuse('charger_claimed');
  end if;
  insert into core.chargers (partner_id, account_id, connection_id, user_id, catalog_charger_id, brand, serial_number, mid_eligible, nickname, power_kw)
  values (private.partner_id(), account, connection, private.user_id(), model.id, model.brand, chosen ->> 'serial_number', model.mid_meter,
          left(model.brand || ' ' || model.model, 100), (chosen ->> 'power_kw')::numeric)
  returning * into charger;
  perform private.audit('charger.registered', charger.id, details), private.emit_charger('charger.registered', charger);
  return charger.id;
end $$;
comment on function private.add_own_charger(uuid, uuid, jsonb, jsonb) is
  'A charger on the account of the person who acts: {catalog_charger_id, serial_number, power_kw?}; null where they put it off. Refuses a serial number that is taken.';
grant execute on function private.add_own_charger(uuid, uuid, jsonb, jsonb) to api_owner;

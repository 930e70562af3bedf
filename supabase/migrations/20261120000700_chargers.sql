-- Registered chargers, and the four gates: the one place that computes eligibility.

create table core.chargers (
  partner_id         uuid        not null,
  id                 uuid        not null default gen_random_uuid(),
  account_id         uuid,
  connection_id      uuid,
  user_id            uuid,
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
  constraint chargers_pkey primary key (partner_id, id),
  constraint chargers_account_fkey foreign key (partner_id, account_id) references core.accounts (partner_id, id),
  constraint chargers_connection_fkey foreign key (partner_id, connection_id) references core.connections (partner_id, id),
  constraint chargers_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint chargers_owner check (user_id is not null or num_nulls(account_id, connection_id, catalog_charger_id, brand) = 0),
  constraint chargers_catalog_charger_id_fkey foreign key (catalog_charger_id) references core.charger_models (id),
  constraint chargers_serial_number_shape check (serial_number ~ '^[^[:space:]a-z]{1,64}$'),
  constraint chargers_nickname_length check (length(nickname) between 1 and 100),
  constraint chargers_connection_type_known
    check (connection_type in ('easee', 'wallbox', 'zaptec', 'enphase', 'ocpp', 'smappee', 'v2c', 'other')),
  constraint chargers_power_kw_positive check (power_kw > 0),
  constraint chargers_ocpp_identity_shape check (ocpp_identity ~ '^[A-Za-z0-9_-]{1,64}$'),
  constraint chargers_ocpp_credentials_whole check (num_nulls(ocpp_identity, ocpp_password_hash) in (0, 2)),
  constraint chargers_ocpp_password_is_sha256 check (length(ocpp_password_hash) = 32),
  constraint chargers_status_known check (status in ('active', 'removed'))
);
comment on table core.chargers is
  'A charger of an account, bound to one of its connections; or of a person, who may have no account yet. serial_number is upper-case without spaces, and with its brand active on one account only, across all tenants.';
comment on column core.chargers.mid_eligible is 'Null while the evidence of a MID meter is still to be judged: it opens no gate.';
comment on column core.chargers.power_kw is 'The most it delivers to one car; null where nobody said. What a session is judged against.';
comment on column core.chargers.ocpp_password_hash is
  'SHA-256 of the 160 random bits that the charger sends in HTTP Basic (OCPP-J security profile 2); the gateway checks it, nobody reads it back.';
-- serves: charger_claimed; unique across tenants on purpose
create unique index chargers_active_serial on core.chargers (brand, serial_number) where status = 'active';
-- serves: the gateway, which knows a charger by its identity alone; unique across tenants on purpose
create unique index chargers_active_ocpp_identity on core.chargers (ocpp_identity) where status = 'active';
-- serves: the chargers of an account, and its limit
create index chargers_account on core.chargers (partner_id, account_id);
-- serves: the gate mid_charger_registered
create index chargers_connection on core.chargers (partner_id, connection_id);
-- serves: the chargers of a person
create index chargers_user on core.chargers (user_id, created_at) where user_id is not null;
select private.isolate('core.chargers', 'select, insert, update');
create policy "a person reaches only their own chargers" on core.chargers as restrictive to api_owner
  using ((select private.user_id()) is null or user_id = (select private.user_id()));

-- The four gates -----------------------------------------------------------------------------------------------------

create view core.connection_gates with (security_invoker = true) as
select c.partner_id,
       c.account_id,
       c.id as connection_id,
       c.created_at,
       m.valid_from as mandate_valid_from,
       m.mandate_status = 'signed' as mandate_signed,
       coalesce(c.ean_validation_status in ('matched', 'manual'), false) as ean_validated,
       exists (select from core.chargers h
                where h.partner_id = c.partner_id and h.connection_id = c.id and h.status = 'active' and h.mid_eligible) as mid_charger_registered,
       a.iban_ciphertext is not null as iban_present
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
 where c.status = 'active';
comment on view core.connection_gates is
  'The four gates of every active connection: signed mandate, validated EAN, registered MID charger, IBAN. Nobody else computes eligibility.';
grant select on core.connection_gates to api_owner;

create view core.account_gates with (security_invoker = true) as
select a.partner_id,
       a.id as account_id,
       json_build_object('mandate_signed', coalesce(g.mandate_signed, false),
                         'ean_validated', coalesce(g.ean_validated, false),
                         'mid_charger_registered', coalesce(g.mid_charger_registered, false),
                         'iban_present', a.iban_ciphertext is not null) as checklist,
       coalesce(g.mandate_signed and g.ean_validated and g.mid_charger_registered and g.iban_present, false) as ere_eligible,
       case when g.mandate_signed then g.mandate_valid_from end as mandate_valid_from
  from core.accounts a
  -- of several connections the one that is furthest speaks for the account, so that eligible is exactly "all four hold"
  left join lateral (
    select * from core.connection_gates g
     where g.partner_id = a.partner_id and g.account_id = a.id
     order by g.mandate_signed::int + g.ean_validated::int + g.mid_charger_registered::int desc, g.created_at, g.connection_id
     limit 1) g on true;
comment on view core.account_gates is 'The checklist of an account, whether it is ERE-eligible, and from when its mandate holds.';
grant select on core.account_gates to api_owner;

create function private.advance_registration(account uuid, corrected boolean default false) returns void
language sql
set search_path = ''
as $$
  update core.connections c
     set registration_status = 'ingediend', submitted_at = private.now()
    from core.connection_gates g
    join core.accounts a on a.partner_id = g.partner_id and a.id = g.account_id
   where g.account_id = account and g.partner_id = c.partner_id and g.connection_id = c.id
     and (c.registration_status = 'concept' or corrected and c.registration_status = 'afgekeurd')
     and g.mandate_signed
     and case a.access_channel
           when 'user' then exists (select from core.chargers h
                                     where h.partner_id = c.partner_id and h.connection_id = c.id and h.status = 'active')
           else g.ean_validated and g.mid_charger_registered and g.iban_present end
$$;
comment on function private.advance_registration(uuid, boolean) is
  'Submits the registration of a connection: of a CPO''s account by itself once all four gates hold, of a person''s when they have done their part, a signature and a charger; review judges the rest. Called after anything that can open a gate; corrected says that it is an answer to a rejection.';

grant execute on function private.advance_registration(uuid, boolean) to api_owner;

-- POST /v1/chargers --------------------------------------------------------------------------------------------------

create function private.charger_answer(charger core.chargers, idempotent boolean) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'ok', true,
    'idempotent', idempotent,
    'charger_id', charger.id,
    'catalog', private.catalog_charger(m),
    'mid_eligible', charger.mid_eligible,
    'account_ere_eligible', (select g.ere_eligible from core.account_gates g
                              where g.partner_id = charger.partner_id and g.account_id = charger.account_id))
  from core.charger_models m where m.id = charger.catalog_charger_id
$$;

create function private.choose_model(input jsonb) returns core.charger_models
language plpgsql
set search_path = ''
as $$
declare
  chosen   core.charger_models;
  resolved private.charger_resolution;
begin
  if input ->> 'catalog_charger_id' is not null then
    select * into chosen from core.charger_models m
     where m.id = (input ->> 'catalog_charger_id')::uuid and (m.mid_meter is not null or m.listed);
    if not found then
      perform private.refuse('catalog_unresolved', json_build_object('suggestions', '[]'::json));
    end if;
  else
    resolved := private.resolve_charger(input ->> 'ocpp_vendor', input ->> 'ocpp_model', input ->> 'ocpp_meter_type');
    if not resolved.resolved then
      perform private.refuse('catalog_unresolved', json_build_object('detail', resolved.detail, 'suggestions', resolved.suggestions));
    end if;
    select * into chosen from core.charger_models m where m.id = resolved.catalog_charger_id;
  end if;
  return chosen;
end $$;
comment on function private.choose_model(jsonb) is
  'The catalogue model of {catalog_charger_id} or {ocpp_vendor, ocpp_model, ocpp_meter_type}; the id wins when both are sent.';

grant execute on function private.charger_answer(core.chargers, boolean), private.choose_model(jsonb) to api_owner;

create function api.register_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  serial     constant text := input ->> 'serial_number';
  account    uuid;
  connection uuid;
  model      core.charger_models;
  charger    core.chargers;
  active     int;
begin
  perform private.act_as(caller, 'cpo');
  account := private.find_account(input);
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  -- parallel registrations on one account queue here: the limit and the first charger are counted under this lock
  perform from core.accounts a where a.partner_id = private.partner_id() and a.id = account for no key update;
  model := private.choose_model(input);

  select h.* into charger from core.chargers h
   where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active'
     and (case when serial is null then h.serial_number is null and h.catalog_charger_id = model.id else h.serial_number = serial end);
  if found then
    return private.charger_answer(charger, true);
  end if;
  select count(*) into active from core.chargers h
   where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active';
  if active >= 10 then
    perform private.refuse('charger_limit_reached');
  elsif active > 0 and serial is null then
    perform private.refuse('serial_number_required');
  end if;

  insert into core.chargers
    (partner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, ocpp_vendor, ocpp_model, ocpp_meter_type, mid_eligible)
  values
    (private.partner_id(), account, connection, model.id, model.brand, serial, input ->> 'ocpp_vendor', input ->> 'ocpp_model',
     input ->> 'ocpp_meter_type', model.mid_meter)
  on conflict (brand, serial_number) where status = 'active' do nothing
  returning * into charger;
  if charger.id is null then
    perform private.refuse('charger_claimed');
  end if;
  perform private.advance_registration(account, true);
  perform private.audit('charger.registered', charger.id);
  return private.charger_answer(charger, false);
end $$;
comment on function api.register_charger(jsonb, jsonb) is
  'POST /v1/chargers: {account_id, connection_id, catalog_charger_id | ocpp_vendor, ocpp_model, ocpp_meter_type, serial_number}.';
select private.expose('api.register_charger(jsonb, jsonb)');

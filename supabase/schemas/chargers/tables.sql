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
  counts_from        timestamptz,
  counts_until       timestamptz,
  ocpp_refused_at    timestamptz,
  ocpp_mirror_hash   bytea,
  booted_as          text,
  booted_before      text[]      not null default '{}',
  counts_before      timestamptz,
  constraint chargers_pkey primary key (partner_id, id),
  constraint chargers_account_fkey foreign key (partner_id, account_id, owner_id)
      references core.accounts (partner_id, id, owner_id),
  constraint chargers_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id),
  constraint chargers_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint chargers_owner check (case when user_id is null then num_nulls(account_id, connection_id,
                                                                            catalog_charger_id, brand) = 0
                                        else owner_id = user_id end),
  constraint chargers_catalog_charger_id_fkey foreign key (catalog_charger_id) references core.charger_models (id),
  constraint chargers_serial_number_shape check (serial_number ~ '^[^[:space:]a-z]{1,64}$'),
  constraint chargers_booted_as_shape check (booted_as ~ '^[^[:space:]a-z]{1,64}$'),
  constraint chargers_nickname_length check (length(nickname) between 1 and 100),
  constraint chargers_connection_type_known
    check (connection_type in ('easee', 'wallbox', 'zaptec', 'enphase', 'ocpp', 'smappee', 'v2c', 'other')),
  constraint chargers_power_kw_positive check (power_kw > 0),
  constraint chargers_ocpp_identity_shape check (ocpp_identity ~ '^[A-Za-z0-9*_=:+|@. -]{1,64}$'),
  constraint chargers_ocpp_credentials_whole check (num_nulls(ocpp_identity, ocpp_password_hash) in (0, 2)),
  constraint chargers_ocpp_password_is_sha256 check (length(ocpp_password_hash) = 32),
  constraint chargers_ocpp_mirror_is_sha256 check (length(ocpp_mirror_hash) = 32),
  constraint chargers_status_known check (status in ('active', 'removed')),
  constraint chargers_active_stands check ((status = 'removed') = (removed_at is not null))
);
comment on table core.chargers is
  'A charger of an account, bound to one of its connections, or of a person, perhaps without an account. serial_number '
  'is upper-case without spaces. One account only, across all tenants, has a brand and serial number active.';
comment on column core.chargers.mid_eligible is
  'Null while the operator must judge the evidence of a MID meter: it opens no gate.';
comment on column core.chargers.power_kw is
  'The most it delivers to one car; null if unknown. Sessions are judged by it.';
comment on column core.chargers.removed_at is
  'When it was removed: its earlier sessions still count. Null while it stands.';
comment on column core.chargers.counts_from is
  'When the former registration of its brand and serial number ended, whoever had it: what began before is that '
  'one''s, from counts_before on. Null for the first. infinity: it named a serial number that another active '
  'registration has, or it is a person''s second charger and has no serial number.';
comment on column core.chargers.counts_before is
  'When the first charge with energy of a former registration began: what began before is this one''s. Null: nothing '
  'before counts_from is.';
comment on column core.chargers.counts_until is
  'When it ended for the next registration of its brand and serial number. -infinity: no session of it counted, and '
  'the next has all. Null until there is one.';
comment on column core.chargers.ocpp_password_hash is
  'SHA-256 of the 64 to 160 random bits that the charger sends in HTTP Basic (OCPP-J security profile 2). Only the '
  'gateway checks it.';
comment on column core.chargers.ocpp_mirror_hash is
  'SHA-256 of the 160 random bits in the address of a mirror: another back office that sends us a copy. Only the '
  'gateway checks it.';
comment on column core.chargers.booted_as is
  'The serial number of its last BootNotification, where serial_number is another one or none. It is reserved as well.';
comment on column core.chargers.booted_before is
  'What it booted as earlier, the last 20: its charges of then count by these numbers, so they stay reserved.';
comment on column core.chargers.ocpp_refused_at is
  'When a connection last gave a wrong password, to the minute. Null if none did since the password is there.';
-- serves: charger_claimed; unique across tenants on purpose, taken by private.reserve_serial_number
create unique index chargers_active_serial on core.chargers (brand, serial_number) where status = 'active';
-- serves: the registrations of a charger, across tenants
create index chargers_registrations on core.chargers (brand, serial_number) where serial_number is not null;
-- serves: charger_claimed and the registrations of a charger, by what it booted as
create index chargers_booted on core.chargers (brand, booted_as) where booted_as is not null;
-- serves: the same, by what it booted as earlier
create index chargers_booted_before on core.chargers using gin (booted_before);
-- serves: the gateway, which knows a charger by its identity and password. Two people may have the same identity.
create index chargers_active_ocpp_identity on core.chargers (ocpp_identity, ocpp_password_hash)
    where status = 'active';
-- serves: a person's second charger of one identity
create unique index chargers_own_ocpp_identity on core.chargers (user_id, ocpp_identity) where status = 'active';
-- serves: a mirror, which the gateway knows by the secret of its address
create index chargers_active_ocpp_mirror on core.chargers (ocpp_mirror_hash)
    where status = 'active' and ocpp_mirror_hash is not null;
-- serves: the chargers of an account, and its limit
create index chargers_account on core.chargers (account_id);
-- serves: the gate mid_charger_registered
create index chargers_connection on core.chargers (connection_id);
-- serves: the chargers of a person
create index chargers_user on core.chargers (user_id, created_at) where user_id is not null;
select private.enable_tenant_policy('core.chargers', 'select, insert, update');

-- a charger of unknown power counts as 50 kW, as for its sessions; a removed charger counts where no other is left, and
-- for the time it was there
create view core.connection_power with (security_invoker = true) as
select h.partner_id,
       h.connection_id,
       coalesce(sum(coalesce(h.power_kw, 50)) filter (where h.status = 'active'), sum(coalesce(h.power_kw, 50))) as kw,
       max(case h.status when 'active' then 'infinity'
                -- without a span the next registration has its time
                else least(h.removed_at, h.counts_until) end) filter (where h.mid_eligible) as mid_until
  from core.chargers h
 where h.connection_id is not null
 group by h.partner_id, h.connection_id;
comment on view core.connection_power is
  'What the chargers of a connection can give, in kW, and until when one with a MID meter was there. No row without a '
  'charger.';
grant select on core.connection_power to api_owner;

-- serves: the chargers whose MID evidence is to be judged, oldest first
create index chargers_unconfirmed on core.chargers (created_at, id) where status = 'active' and mid_eligible is null;
-- serves: GET /v1/chargers, newest first. The tenant does not lead: as for core.delivered_months_quarter
create index chargers_owner on core.chargers (owner_id, created_at desc, id desc);
-- serves: a session that names its charger by serial number
create index chargers_serial on core.chargers (partner_id, serial_number) where serial_number is not null;
-- serves: foreign keys. Last, as the keys of core.charging_sessions
alter table core.chargers add constraint chargers_owner_key unique (partner_id, id, owner_id);

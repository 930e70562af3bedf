-- The database as the migrations leave it: to read, and to see in a diff what a migration changes. Never edited, never run.
-- Written by `npm run schema`.


create schema api;
comment on schema api is 'What edge functions may run. Owned by api_owner, which owns no table and obeys row-level security.';
grant create, usage on schema api to api_owner;
grant usage on schema api to edge;

create schema core;
comment on schema core is 'Tables. Every tenant table carries partner_id and is isolated by row-level security.';
grant usage on schema core to api_owner;

create schema ops;
comment on schema ops is 'What the operator may run. Crosses tenants on purpose; every change writes an audit row.';
grant usage on schema ops to operator;

create schema private;
comment on schema private is 'Helpers. Not callable by a login role.';
grant usage on schema private to api_owner;

create table core.accounts (
  partner_id uuid not null,
  id uuid default gen_random_uuid() not null,
  client_id uuid,
  user_id uuid,
  access_channel text default 'cpo_api'::text not null,
  type text not null,
  display_name text,
  payout_handler text not null,
  cpo_external_ref text,
  company jsonb,
  iban_ciphertext text,
  iban_key_id text,
  iban_last4 text,
  created_at timestamp with time zone default private.now() not null,
  constraint accounts_pkey PRIMARY KEY (partner_id, id),
  constraint accounts_cpo_external_ref_key UNIQUE (client_id, cpo_external_ref),
  constraint accounts_client_id_fkey FOREIGN KEY (client_id) REFERENCES core.oauth_clients(id),
  constraint accounts_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES core.partners(id),
  constraint accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE RESTRICT,
  constraint accounts_access_channel_known CHECK (access_channel = ANY (ARRAY['cpo_api'::text, 'user'::text])),
  constraint accounts_iban_whole CHECK (num_nulls(iban_ciphertext, iban_key_id, iban_last4) = ANY (ARRAY[0, 3])),
  constraint accounts_lengths CHECK (length(display_name) <= 120 AND length(cpo_external_ref) <= 120),
  constraint accounts_owner CHECK (
CASE access_channel
    WHEN 'cpo_api'::text THEN client_id IS NOT NULL AND user_id IS NULL
    ELSE client_id IS NULL
END),
  constraint accounts_payout_handler_known CHECK (payout_handler = ANY (ARRAY['service_pays_customer'::text, 'via_cpo_invoicing'::text])),
  constraint accounts_type_known CHECK (type = ANY (ARRAY['particulier'::text, 'zakelijk'::text, 'vve'::text]))
);
comment on table core.accounts is 'A customer: of a CPO client (client_id), or a person with a login (user_id) in the service''s own tenant. iban_ciphertext is AES-256-GCM made before it reaches the database, under the key iban_key_id; SQL knows presence and last four. Personal data.';
CREATE INDEX accounts_newest ON core.accounts USING btree (client_id, created_at DESC, id DESC);
CREATE INDEX accounts_user ON core.accounts USING btree (user_id) WHERE user_id IS NOT NULL;
alter table core.accounts enable row level security;
create policy "a CPO client reaches only the accounts it created" on core.accounts as restrictive to api_owner
  using ((( SELECT private.client_id() AS client_id)) IS NULL OR client_id = (( SELECT private.client_id() AS client_id)));
create policy "a person reaches only their own accounts" on core.accounts as restrictive to api_owner
  using ((( SELECT private.user_id() AS user_id)) IS NULL OR user_id = (( SELECT private.user_id() AS user_id)));
create policy "a tenant reaches its own rows" on core.accounts to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select, update on core.accounts to api_owner;

create table core.attributions (
  partner_id uuid not null,
  user_id uuid not null,
  source text not null,
  external_ref text,
  attached_month date not null,
  created_at timestamp with time zone default private.now() not null,
  constraint attributions_pkey PRIMARY KEY (partner_id, user_id),
  constraint attributions_user_id_key UNIQUE (user_id),
  constraint attributions_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES core.partners(id),
  constraint attributions_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE,
  constraint attributions_attached_month_is_month CHECK (attached_month = date_trunc('month'::text, attached_month::timestamp with time zone)),
  constraint attributions_not_to_the_house CHECK (partner_id <> '00000000-0000-4000-8000-000000000000'::uuid),
  constraint attributions_source_known CHECK (source = ANY (ARRAY['partner_upload'::text, 'partner_invite'::text, 'referral_link'::text, 'referral_code'::text, 'oauth_consent'::text, 'manual'::text]))
);
comment on table core.attributions is 'Which partner brought a person: at most one, never overwritten. Only partner_upload and partner_invite disclose who it is. Ends with the login or when the person stops sharing.';
alter table core.attributions enable row level security;
create policy "a tenant reaches its own rows" on core.attributions to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant select on core.attributions to api_owner;

create table core.audit_log (
  id bigint generated always as identity not null,
  at timestamp with time zone default private.now() not null,
  actor text not null,
  action text not null,
  partner_id uuid,
  subject_id uuid,
  details jsonb default '{}'::jsonb not null,
  request_id text,
  constraint audit_log_pkey PRIMARY KEY (id)
);
comment on table core.audit_log is 'One row per change somebody may have to account for. No personal data and no secrets in details. Append-only, kept seven years.';
CREATE INDEX audit_log_subject ON core.audit_log USING btree (subject_id, id);
alter table core.audit_log enable row level security;
create policy "api functions append, and read nothing" on core.audit_log for insert to api_owner
  with check (NOT partner_id IS DISTINCT FROM (( SELECT private.partner_id() AS partner_id)));
grant insert on core.audit_log to api_owner;

create table core.charger_brands (
  brand text not null,
  constraint charger_brands_pkey PRIMARY KEY (brand)
);
comment on table core.charger_brands is 'One row per make of charger, as the maker writes it. Reference data.';
alter table core.charger_brands enable row level security;
create policy "api functions read the catalogue" on core.charger_brands for select to api_owner
  using (true);
grant select on core.charger_brands to api_owner;

create table core.charger_model_patterns (
  brand text not null,
  model_pattern text not null,
  meter_type_pattern text default '^'::text not null,
  model text not null,
  precedence smallint default 1 not null,
  constraint charger_model_patterns_pkey PRIMARY KEY (brand, model_pattern, meter_type_pattern),
  constraint charger_model_patterns_model_fkey FOREIGN KEY (brand, model) REFERENCES core.charger_models(brand, model) ON UPDATE CASCADE,
  constraint charger_model_patterns_anchored_check CHECK (model_pattern ~~ '^%'::text AND meter_type_pattern ~~ '^%'::text)
);
comment on table core.charger_model_patterns is 'How the models of a brand name themselves in chargePointModel, as private.charger_key() writes it. Reference data.';
comment on column core.charger_model_patterns.meter_type_pattern is 'What meterType must say; the default accepts any and none.';
comment on column core.charger_model_patterns.precedence is 'Lower is more specific and is tried first.';
alter table core.charger_model_patterns enable row level security;
create policy "api functions read the catalogue" on core.charger_model_patterns for select to api_owner
  using (true);
grant select on core.charger_model_patterns to api_owner;

create table core.charger_models (
  id uuid not null,
  brand text not null,
  model text not null,
  mid_meter boolean,
  mid_evidence text not null,
  mid_source text,
  listed boolean generated always as (COALESCE(mid_meter, mid_evidence = 'variant'::text)) stored not null,
  constraint charger_models_pkey PRIMARY KEY (id),
  constraint charger_models_name_key UNIQUE (brand, model),
  constraint charger_models_brand_fkey FOREIGN KEY (brand) REFERENCES core.charger_brands(brand),
  constraint charger_models_mid_evidence_check CHECK (mid_evidence = ANY (ARRAY['certain'::text, 'variant'::text, 'unknown'::text])),
  constraint charger_models_mid_meter_check CHECK ((mid_meter IS NOT NULL) = (mid_evidence = 'certain'::text)),
  constraint charger_models_mid_source_check CHECK ((mid_source IS NULL) = (mid_evidence = 'unknown'::text))
);
comment on table core.charger_models is 'One row per model or family of chargers. Reference data; ids never change, registered chargers point at them.';
comment on column core.charger_models.mid_meter is 'Whether it measures with a MID meter; null where the name does not settle it. The mid_eligible of a charger of this model.';
comment on column core.charger_models.mid_evidence is 'certain; variant: sold with and without, the row stands for the one with; unknown: not established, and never offered.';
comment on column core.charger_models.mid_source is 'What mid_meter or the variant rests on.';
comment on column core.charger_models.listed is 'Whether GET /v1/catalog/chargers shows it and the resolver suggests it.';
alter table core.charger_models enable row level security;
create policy "api functions read the catalogue" on core.charger_models for select to api_owner
  using (true);
grant select on core.charger_models to api_owner;

create table core.charger_vendor_aliases (
  vendor text not null,
  brand text not null,
  names_brand boolean default true not null,
  constraint charger_vendor_aliases_pkey PRIMARY KEY (vendor, brand),
  constraint charger_vendor_aliases_brand_fkey FOREIGN KEY (brand) REFERENCES core.charger_brands(brand)
);
comment on table core.charger_vendor_aliases is 'The chargePointVendor strings of each brand, as private.vendor_key() writes them. Reference data.';
comment on column core.charger_vendor_aliases.names_brand is 'False where several makers send the string: it then stands for the brand only together with one of its model patterns.';
CREATE UNIQUE INDEX charger_vendor_aliases_one_brand ON core.charger_vendor_aliases USING btree (vendor) WHERE names_brand;
alter table core.charger_vendor_aliases enable row level security;
create policy "api functions read the catalogue" on core.charger_vendor_aliases for select to api_owner
  using (true);
grant select on core.charger_vendor_aliases to api_owner;

create table core.chargers (
  partner_id uuid not null,
  id uuid default gen_random_uuid() not null,
  account_id uuid,
  connection_id uuid,
  user_id uuid,
  catalog_charger_id uuid,
  brand text,
  serial_number text,
  ocpp_vendor text,
  ocpp_model text,
  ocpp_meter_type text,
  mid_eligible boolean,
  status text default 'active'::text not null,
  created_at timestamp with time zone default private.now() not null,
  constraint chargers_pkey PRIMARY KEY (partner_id, id),
  constraint chargers_account_fkey FOREIGN KEY (partner_id, account_id) REFERENCES core.accounts(partner_id, id),
  constraint chargers_catalog_charger_id_fkey FOREIGN KEY (catalog_charger_id) REFERENCES core.charger_models(id),
  constraint chargers_connection_fkey FOREIGN KEY (partner_id, connection_id) REFERENCES core.connections(partner_id, id),
  constraint chargers_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE RESTRICT,
  constraint chargers_owner CHECK (user_id IS NOT NULL OR num_nulls(account_id, connection_id, catalog_charger_id, brand) = 0),
  constraint chargers_serial_number_shape CHECK (serial_number ~ '^[^[:space:]a-z]{1,64}$'::text),
  constraint chargers_status_known CHECK (status = ANY (ARRAY['active'::text, 'removed'::text]))
);
comment on table core.chargers is 'A charger of an account, bound to one of its connections; or of a person, who may have no account yet. serial_number is upper-case without spaces, and with its brand active on one account only, across all tenants.';
comment on column core.chargers.mid_eligible is 'Null while the evidence of a MID meter is still to be judged: it opens no gate.';
CREATE INDEX chargers_account ON core.chargers USING btree (partner_id, account_id) WHERE status = 'active'::text;
CREATE UNIQUE INDEX chargers_active_serial ON core.chargers USING btree (brand, serial_number) WHERE status = 'active'::text;
CREATE INDEX chargers_connection ON core.chargers USING btree (partner_id, connection_id) WHERE status = 'active'::text AND mid_eligible;
CREATE INDEX chargers_unconfirmed ON core.chargers USING btree (created_at, id) WHERE status = 'active'::text AND mid_eligible IS NULL;
CREATE INDEX chargers_user ON core.chargers USING btree (user_id, created_at) WHERE status = 'active'::text AND user_id IS NOT NULL;
alter table core.chargers enable row level security;
create policy "a person reaches only their own chargers" on core.chargers as restrictive to api_owner
  using ((( SELECT private.user_id() AS user_id)) IS NULL OR user_id = (( SELECT private.user_id() AS user_id)));
create policy "a tenant reaches its own rows" on core.chargers to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select, update on core.chargers to api_owner;

create table core.connections (
  partner_id uuid not null,
  id uuid default gen_random_uuid() not null,
  account_id uuid not null,
  location_id uuid not null,
  ean_code text not null,
  ean_exclusive boolean default true not null,
  ean_validation_status text,
  ean_checked_at timestamp with time zone,
  status text default 'active'::text not null,
  registration_status text default 'concept'::text not null,
  submitted_at timestamp with time zone,
  created_at timestamp with time zone default private.now() not null,
  constraint connections_pkey PRIMARY KEY (partner_id, id),
  constraint connections_account_fkey FOREIGN KEY (partner_id, account_id) REFERENCES core.accounts(partner_id, id),
  constraint connections_location_fkey FOREIGN KEY (partner_id, location_id) REFERENCES core.locations(partner_id, id),
  constraint connections_ean_code_shape CHECK (ean_code ~ '^[0-9]{18}$'::text),
  constraint connections_ean_validation_status_known CHECK (ean_validation_status = ANY (ARRAY['pending'::text, 'matched'::text, 'unverified'::text, 'mismatch'::text, 'not_found'::text, 'manual'::text])),
  constraint connections_registration_status_known CHECK (registration_status = ANY (ARRAY['concept'::text, 'ingediend'::text, 'goedgekeurd'::text, 'afgekeurd'::text])),
  constraint connections_status_known CHECK (status = ANY (ARRAY['active'::text, 'archived'::text]))
);
comment on table core.connections is 'An EAN at an address, registered for an account. At most one active connection holds an EAN, across all tenants. Personal data.';
comment on column core.connections.ean_exclusive is 'False only for the sandbox''s test values, which every integrator may use at once.';
CREATE INDEX connections_account ON core.connections USING btree (partner_id, account_id, created_at);
CREATE UNIQUE INDEX connections_active_ean ON core.connections USING btree (ean_code) WHERE status = 'active'::text AND ean_exclusive;
CREATE INDEX connections_location ON core.connections USING btree (partner_id, location_id);
CREATE INDEX connections_submitted ON core.connections USING btree (submitted_at, id) WHERE registration_status = 'ingediend'::text AND status = 'active'::text;
CREATE INDEX connections_unverified ON core.connections USING btree (ean_checked_at) WHERE status = 'active'::text AND ean_validation_status = 'unverified'::text;
alter table core.connections enable row level security;
create policy "a tenant reaches its own rows" on core.connections to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select, update on core.connections to api_owner;

create table core.delivered_months (
  partner_id uuid not null,
  connection_id uuid not null,
  period date not null,
  total_kwh numeric(12,3) not null,
  session_count integer not null,
  source text not null,
  status text not null,
  delivery_id uuid not null,
  received_at timestamp with time zone not null,
  constraint delivered_months_pkey PRIMARY KEY (partner_id, connection_id, period),
  constraint delivered_months_connection_fkey FOREIGN KEY (partner_id, connection_id) REFERENCES core.connections(partner_id, id),
  constraint delivered_months_delivery_fkey FOREIGN KEY (partner_id, delivery_id) REFERENCES core.deliveries(partner_id, id),
  constraint delivered_months_period_is_month CHECK (period = date_trunc('month'::text, period::timestamp with time zone)),
  constraint delivered_months_session_count_positive CHECK (session_count >= 0),
  constraint delivered_months_status_known CHECK (status = ANY (ARRAY['staged'::text, 'outside_mandate'::text, 'submitted'::text, 'registered'::text, 'rejected'::text])),
  constraint delivered_months_total_kwh_range CHECK (total_kwh >= 0::numeric AND total_kwh <= 1000000::numeric)
);
comment on table core.delivered_months is 'The kWh of one connection in one month. submitted and registered are locked: registered as ERE, or about to be. Kept seven years.';
alter table core.delivered_months enable row level security;
create policy "a tenant reaches its own rows" on core.delivered_months to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select, update on core.delivered_months to api_owner;

create table core.deliveries (
  partner_id uuid not null,
  id uuid default gen_random_uuid() not null,
  connection_id uuid not null,
  client_id uuid not null,
  request_id text not null,
  body text not null,
  body_sha256 text not null,
  received_at timestamp with time zone default private.now() not null,
  constraint deliveries_pkey PRIMARY KEY (partner_id, id),
  constraint deliveries_connection_fkey FOREIGN KEY (partner_id, connection_id) REFERENCES core.connections(partner_id, id)
);
comment on table core.deliveries is 'A call of sessions:batch as it came in, for the regulator''s audit. Append-only, kept seven years.';
CREATE INDEX deliveries_connection ON core.deliveries USING btree (partner_id, connection_id, received_at);
alter table core.deliveries enable row level security;
create policy "a tenant reaches its own rows" on core.deliveries to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select on core.deliveries to api_owner;

create table core.ean_checks (
  id bigint generated always as identity not null,
  partner_id uuid not null,
  connection_id uuid,
  ean_code text not null,
  postal_code text not null,
  house_number integer not null,
  house_number_addition text,
  source text not null,
  outcome text not null,
  reason text,
  checked_at timestamp with time zone default private.now() not null,
  constraint ean_checks_pkey PRIMARY KEY (id),
  constraint ean_checks_outcome_known CHECK (outcome = ANY (ARRAY['matched'::text, 'mismatch'::text, 'unknown_address'::text, 'unavailable'::text]))
);
comment on table core.ean_checks is 'Every question put to the EAN register and what it answered, refused creations included. Personal data; kept for audit.';
CREATE INDEX ean_checks_connection ON core.ean_checks USING btree (partner_id, connection_id, id);
alter table core.ean_checks enable row level security;
create policy "a tenant reaches its own rows" on core.ean_checks to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select on core.ean_checks to api_owner;

create table core.ean_register_points (
  ean_code text not null,
  postal_code text not null,
  house_number integer not null,
  house_number_addition text,
  street text not null,
  city text not null,
  constraint ean_register_points_pkey PRIMARY KEY (ean_code),
  constraint ean_register_points_ean_code_shape CHECK (ean_code ~ '^[0-9]{18}$'::text)
);
comment on table core.ean_register_points is 'A register of our own, for hosts that do not ask the public one (EAN_REGISTER=table). Metering points, no persons.';
CREATE INDEX ean_register_points_address ON core.ean_register_points USING btree (postal_code, house_number);
alter table core.ean_register_points enable row level security;
create policy "every tenant reads the register" on core.ean_register_points for select to api_owner
  using (true);
grant select on core.ean_register_points to api_owner;

create table core.locations (
  partner_id uuid not null,
  id uuid default gen_random_uuid() not null,
  postal_code text not null,
  house_number integer not null,
  house_number_addition text,
  street text,
  city text,
  created_at timestamp with time zone default private.now() not null,
  constraint locations_pkey PRIMARY KEY (partner_id, id),
  constraint locations_address_key UNIQUE NULLS NOT DISTINCT (partner_id, postal_code, house_number, house_number_addition),
  constraint locations_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES core.partners(id),
  constraint locations_house_number_positive CHECK (house_number >= 1 AND house_number <= 99999),
  constraint locations_postal_code_shape CHECK (postal_code ~ '^[1-9][0-9]{3}[A-Z]{2}$'::text)
);
comment on table core.locations is 'An address, shared by the tenant''s connections there. Personal data; deleted with the last connection that refers to it.';
alter table core.locations enable row level security;
create policy "a tenant reaches its own rows" on core.locations to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant delete, insert, select, update on core.locations to api_owner;

create table core.mail_outbox (
  id uuid default gen_random_uuid() not null,
  partner_id uuid not null,
  cause text not null,
  template text not null,
  locale text not null,
  recipient text not null,
  subject text not null,
  html text not null,
  text text not null,
  links text[] default '{}'::text[] not null,
  status text not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone default private.now() not null,
  last_error text,
  created_at timestamp with time zone default private.now() not null,
  done_at timestamp with time zone,
  constraint mail_outbox_pkey PRIMARY KEY (id),
  constraint mail_outbox_cause_key UNIQUE (cause),
  constraint mail_outbox_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES core.partners(id),
  constraint mail_outbox_status_known CHECK (status = ANY (ARRAY['queued'::text, 'sent'::text, 'captured'::text, 'failed'::text]))
);
comment on table core.mail_outbox is 'Every mail, as composed. Never twice for one cause. On the sandbox it is captured and never sent. Personal data and live links in it: the body is wiped once sent, the row purged after 90 days.';
CREATE INDEX mail_outbox_newest ON core.mail_outbox USING btree (created_at DESC, id DESC);
CREATE INDEX mail_outbox_partner ON core.mail_outbox USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX mail_outbox_queued ON core.mail_outbox USING btree (next_attempt_at) WHERE status = 'queued'::text;
alter table core.mail_outbox enable row level security;
create policy "a tenant reaches its own rows" on core.mail_outbox to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select on core.mail_outbox to api_owner;

create table core.mandate_links (
  partner_id uuid not null,
  id uuid default gen_random_uuid() not null,
  connection_id uuid not null,
  token_hash bytea not null,
  locale text not null,
  validity_years integer not null,
  return_url text,
  expires_at timestamp with time zone not null,
  voided_at timestamp with time zone,
  used_at timestamp with time zone,
  code_hash bytea,
  code_expires_at timestamp with time zone,
  code_attempts integer default 0 not null,
  created_at timestamp with time zone default private.now() not null,
  constraint mandate_links_pkey PRIMARY KEY (partner_id, id),
  constraint mandate_links_token_hash_key UNIQUE (token_hash),
  constraint mandate_links_connection_fkey FOREIGN KEY (partner_id, connection_id) REFERENCES core.connections(partner_id, id),
  constraint mandate_links_locale_known CHECK (locale = ANY (ARRAY['nl'::text, 'en'::text])),
  constraint mandate_links_validity_known CHECK (validity_years = ANY (ARRAY[1, 3, 5]))
);
comment on table core.mandate_links is 'A link a signatory signs through: good for 14 days, one signature, and until a newer one is issued. token_hash is the SHA-256 of 256 random bits; code_hash of the one-time code with that token.';
CREATE INDEX mandate_links_open ON core.mandate_links USING btree (partner_id, connection_id) WHERE voided_at IS NULL AND used_at IS NULL;
alter table core.mandate_links enable row level security;
create policy "a tenant reaches its own rows" on core.mandate_links to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select, update on core.mandate_links to api_owner;

create table core.mandates (
  partner_id uuid not null,
  id uuid default gen_random_uuid() not null,
  connection_id uuid not null,
  link_id uuid not null,
  status text not null,
  valid_from date,
  valid_until date,
  signed_name text,
  signed_at timestamp with time zone,
  document text,
  document_sha256 text,
  code_confirmed boolean default false not null,
  code_sent_to text,
  address text,
  user_agent text,
  ended_at timestamp with time zone,
  ended_reason text,
  created_at timestamp with time zone default private.now() not null,
  constraint mandates_pkey PRIMARY KEY (partner_id, id),
  constraint mandates_link_key UNIQUE (partner_id, link_id),
  constraint mandates_connection_fkey FOREIGN KEY (partner_id, connection_id) REFERENCES core.connections(partner_id, id),
  constraint mandates_link_fkey FOREIGN KEY (partner_id, link_id) REFERENCES core.mandate_links(partner_id, id),
  constraint mandates_signed_whole CHECK (status = 'declined'::text OR num_nulls(valid_from, valid_until, signed_name, signed_at, document, document_sha256) = 0),
  constraint mandates_status_known CHECK (status = ANY (ARRAY['signed'::text, 'revoked'::text, 'expired'::text, 'declined'::text]))
);
comment on table core.mandates is 'What a signatory decided, with the evidence: the text as shown, its SHA-256, the typed name, the code proof, network address and user agent. Personal data; append-only but for its end; kept seven years after it.';
CREATE INDEX mandates_connection ON core.mandates USING btree (partner_id, connection_id, created_at DESC);
CREATE INDEX mandates_ending ON core.mandates USING btree (valid_until) WHERE status = 'signed'::text;
alter table core.mandates enable row level security;
create policy "a tenant reaches its own rows" on core.mandates to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select, update on core.mandates to api_owner;

create table core.oauth_clients (
  id uuid default gen_random_uuid() not null,
  client_id text not null,
  partner_id uuid,
  name text not null,
  grant_types text[] default '{client_credentials}'::text[] not null,
  secret_hash bytea not null,
  secret_rotated_at timestamp with time zone default private.now() not null,
  scopes text[] default '{}'::text[] not null,
  return_url text,
  tokens_valid_from timestamp with time zone default '-infinity'::timestamp with time zone not null,
  disabled_at timestamp with time zone,
  created_at timestamp with time zone default private.now() not null,
  redirect_uris text[] default '{}'::text[] not null,
  constraint oauth_clients_pkey PRIMARY KEY (id),
  constraint oauth_clients_client_id_key UNIQUE (client_id),
  constraint oauth_clients_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES core.partners(id),
  constraint oauth_clients_grant_types_known CHECK (grant_types <@ '{client_credentials,authorization_code,refresh_token}'::text[]),
  constraint oauth_clients_return_url_length CHECK (length(return_url) <= 500),
  constraint oauth_clients_scopes_known CHECK (scopes <@ ARRAY['cpo:accounts:read'::text, 'cpo:accounts:write'::text, 'cpo:mandates:write'::text, 'cpo:chargers:write'::text, 'cpo:sessions:write'::text, 'chargers:read'::text, 'chargers:write'::text, 'sessions:read'::text, 'energy:read'::text, 'profile:read'::text, 'partners:read'::text, 'partners:write'::text]),
  constraint oauth_clients_secret_is_sha256 CHECK (length(secret_hash) = 32)
);
comment on table core.oauth_clients is 'A registered OAuth client. secret_hash is the SHA-256 of 32 random bytes; the secret is shown once and never stored. Never deleted: disabled.';
comment on column core.oauth_clients.partner_id is 'Null until the operator links the client; a client without partner is refused with client_not_linked.';
comment on column core.oauth_clients.tokens_valid_from is 'Access tokens issued earlier are refused: how an operator ends the tokens a leaked secret bought.';
comment on column core.oauth_clients.redirect_uris is 'Compared letter for letter (RFC 9700 section 2.1).';
CREATE INDEX oauth_clients_partner_id ON core.oauth_clients USING btree (partner_id);
alter table core.oauth_clients enable row level security;
create policy "a client sees itself" on core.oauth_clients for select to api_owner
  using (id = (( SELECT private.client_id() AS client_id)));
grant select on core.oauth_clients to api_owner;

create table core.oauth_codes (
  code_hash bytea not null,
  grant_id uuid not null,
  redirect_uri text not null,
  code_challenge text not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint oauth_codes_pkey PRIMARY KEY (code_hash),
  constraint oauth_codes_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES core.oauth_grants(id) ON DELETE CASCADE
);
comment on table core.oauth_codes is 'An authorization code as its SHA-256: ten minutes, single use, bound to client, redirect URI and PKCE challenge. Kept after use, to notice a second one; purged after a day.';
alter table core.oauth_codes enable row level security;

create table core.oauth_grants (
  id uuid default gen_random_uuid() not null,
  user_id uuid not null,
  client_id uuid not null,
  scopes text[] not null,
  created_at timestamp with time zone default private.now() not null,
  revoked_at timestamp with time zone,
  constraint oauth_grants_pkey PRIMARY KEY (id),
  constraint oauth_grants_client_id_fkey FOREIGN KEY (client_id) REFERENCES core.oauth_clients(id),
  constraint oauth_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE
);
comment on table core.oauth_grants is 'What one authorization code began: the family of access and refresh tokens that came of it. Revoking it ends them all at once.';
CREATE INDEX oauth_grants_user ON core.oauth_grants USING btree (user_id, created_at);
alter table core.oauth_grants enable row level security;
create policy "a person sees their own grants" on core.oauth_grants for select to api_owner
  using (user_id = (( SELECT private.user_id() AS user_id)));
grant select on core.oauth_grants to api_owner;

create table core.oauth_refresh_tokens (
  token_hash bytea not null,
  grant_id uuid not null,
  generation integer not null,
  expires_at timestamp with time zone not null,
  rotated_at timestamp with time zone,
  created_at timestamp with time zone default private.now() not null,
  constraint oauth_refresh_tokens_pkey PRIMARY KEY (token_hash),
  constraint oauth_refresh_tokens_generation_key UNIQUE (grant_id, generation),
  constraint oauth_refresh_tokens_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES core.oauth_grants(id) ON DELETE CASCADE
);
comment on table core.oauth_refresh_tokens is 'A refresh token as its SHA-256: thirty days, one successor. Kept after rotation, to notice reuse; purged when expired.';
alter table core.oauth_refresh_tokens enable row level security;

create table core.partners (
  id uuid default gen_random_uuid() not null,
  name text not null,
  slug text not null,
  is_active boolean default true not null,
  created_at timestamp with time zone default private.now() not null,
  constraint partners_pkey PRIMARY KEY (id),
  constraint partners_slug_key UNIQUE (slug),
  constraint partners_house_is_active CHECK (is_active OR id <> '00000000-0000-4000-8000-000000000000'::uuid),
  constraint partners_name_length CHECK (length(name) >= 1 AND length(name) <= 120),
  constraint partners_slug_shape CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text AND length(slug) <= 60)
);
comment on table core.partners is 'A tenant: a charge-point operator, installer or other business. Kept as long as its customers'' records are.';
alter table core.partners enable row level security;
create policy "a tenant sees itself" on core.partners for select to api_owner
  using (id = (( SELECT private.partner_id() AS partner_id)));
grant select on core.partners to api_owner;

create table core.personal_tokens (
  id uuid default gen_random_uuid() not null,
  user_id uuid not null,
  name text not null,
  token_hash bytea not null,
  last4 text not null,
  scopes text[] not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone default private.now() not null,
  constraint personal_tokens_pkey PRIMARY KEY (id),
  constraint personal_tokens_token_hash_key UNIQUE (token_hash),
  constraint personal_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE,
  constraint personal_tokens_name_length CHECK (length(name) >= 1 AND length(name) <= 100),
  constraint personal_tokens_scopes_known CHECK (scopes <@ ARRAY['chargers:read'::text, 'chargers:write'::text, 'sessions:read'::text, 'energy:read'::text, 'profile:read'::text])
);
comment on table core.personal_tokens is 'A token a person made in the dashboard, as its SHA-256; shown once. Never carries partners:*.';
CREATE INDEX personal_tokens_user ON core.personal_tokens USING btree (user_id, created_at DESC);
alter table core.personal_tokens enable row level security;
create policy "a person reaches their own tokens" on core.personal_tokens to api_owner
  using (user_id = (( SELECT private.user_id() AS user_id)))
  with check (user_id = (( SELECT private.user_id() AS user_id)));
grant insert, select, update on core.personal_tokens to api_owner;

create table core.rate_limit_overrides (
  subject text not null,
  bucket text not null,
  quota integer not null,
  constraint rate_limit_overrides_pkey PRIMARY KEY (subject, bucket),
  constraint rate_limit_overrides_bucket_fkey FOREIGN KEY (bucket) REFERENCES core.rate_limits(bucket),
  constraint rate_limit_overrides_positive CHECK (quota > 0)
);
comment on table core.rate_limit_overrides is 'A quota of one subject (client:<uuid>) that differs from the bucket''s.';
alter table core.rate_limit_overrides enable row level security;

create unlogged table core.rate_limit_state (
  subject text not null,
  bucket text not null,
  full_at timestamp with time zone not null,
  constraint rate_limit_state_pkey PRIMARY KEY (subject, bucket)
);
comment on table core.rate_limit_state is 'When a subject''s bucket is full again (the generic cell rate algorithm). Addresses appear hashed. Rows in the past are swept.';
CREATE INDEX rate_limit_state_full_at ON core.rate_limit_state USING btree (full_at);
alter table core.rate_limit_state enable row level security;

create table core.rate_limits (
  bucket text not null,
  quota integer not null,
  window_seconds integer default 60 not null,
  constraint rate_limits_pkey PRIMARY KEY (bucket),
  constraint rate_limits_positive CHECK (quota > 0 AND window_seconds > 0)
);
comment on table core.rate_limits is 'Requests a subject may make per window, refilled continuously. Changed by the operator.';
alter table core.rate_limits enable row level security;

create table core.replaced_months (
  id bigint generated always as identity not null,
  partner_id uuid not null,
  connection_id uuid not null,
  period date not null,
  total_kwh numeric(12,3) not null,
  session_count integer not null,
  delivery_id uuid not null,
  received_at timestamp with time zone not null,
  replaced_at timestamp with time zone default private.now() not null,
  constraint replaced_months_pkey PRIMARY KEY (id),
  constraint replaced_months_connection_fkey FOREIGN KEY (partner_id, connection_id) REFERENCES core.connections(partner_id, id)
);
comment on table core.replaced_months is 'Each total that a later delivery replaced by another. Append-only, kept seven years.';
CREATE INDEX replaced_months_month ON core.replaced_months USING btree (partner_id, connection_id, period);
alter table core.replaced_months enable row level security;
create policy "a tenant reaches its own rows" on core.replaced_months to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select on core.replaced_months to api_owner;

create table core.revoked_access_tokens (
  id text not null,
  expires_at timestamp with time zone not null,
  constraint revoked_access_tokens_pkey PRIMARY KEY (id)
);
comment on table core.revoked_access_tokens is 'Access tokens (jti) revoked on their own before their hour was over; purged when it is.';
CREATE INDEX revoked_access_tokens_expires_at ON core.revoked_access_tokens USING btree (expires_at);
alter table core.revoked_access_tokens enable row level security;

create table core.signatories (
  partner_id uuid not null,
  account_id uuid not null,
  full_name text not null,
  email text,
  phone text,
  constraint signatories_pkey PRIMARY KEY (partner_id, account_id),
  constraint signatories_account_fkey FOREIGN KEY (partner_id, account_id) REFERENCES core.accounts(partner_id, id),
  constraint signatories_email_shape CHECK (length(email) <= 254 AND email = lower(email)),
  constraint signatories_full_name_length CHECK (length(full_name) >= 2 AND length(full_name) <= 120)
);
comment on table core.signatories is 'The natural person who signs for an account. Personal data, kept as long as the mandate''s evidence must be.';
alter table core.signatories enable row level security;
create policy "a tenant reaches its own rows" on core.signatories to api_owner
  using (partner_id = (( SELECT private.partner_id() AS partner_id)))
  with check (partner_id = (( SELECT private.partner_id() AS partner_id)));
grant insert, select, update on core.signatories to api_owner;

create view core.connection_gates with (security_invoker=true) as
 SELECT c.partner_id,
    c.account_id,
    c.id AS connection_id,
    c.created_at,
    m.valid_from AS mandate_valid_from,
    m.mandate_status = 'signed'::text AS mandate_signed,
    COALESCE(c.ean_validation_status = ANY (ARRAY['matched'::text, 'manual'::text]), false) AS ean_validated,
    (EXISTS ( SELECT
           FROM core.chargers h
          WHERE h.partner_id = c.partner_id AND h.connection_id = c.id AND h.status = 'active'::text AND h.mid_eligible)) AS mid_charger_registered,
    a.iban_ciphertext IS NOT NULL AS iban_present
   FROM core.connections c
     JOIN core.accounts a ON a.partner_id = c.partner_id AND a.id = c.account_id
     JOIN core.connection_mandates m ON m.partner_id = c.partner_id AND m.connection_id = c.id
  WHERE c.status = 'active'::text;
comment on view core.connection_gates is 'The four gates of every active connection: signed mandate, validated EAN, registered MID charger, IBAN. Nobody else computes eligibility.';
grant select on core.connection_gates to api_owner;

create view core.connection_mandates with (security_invoker=true) as
 SELECT c.partner_id,
    c.id AS connection_id,
        CASE
            WHEN m.id IS NULL THEN 'pending'::text
            WHEN m.status = 'signed'::text AND m.valid_until < private.today() THEN 'expired'::text
            ELSE m.status
        END AS mandate_status,
    m.valid_from,
    m.valid_until,
    m.signed_at
   FROM core.connections c
     LEFT JOIN LATERAL ( SELECT m_1.partner_id,
            m_1.id,
            m_1.connection_id,
            m_1.link_id,
            m_1.status,
            m_1.valid_from,
            m_1.valid_until,
            m_1.signed_name,
            m_1.signed_at,
            m_1.document,
            m_1.document_sha256,
            m_1.code_confirmed,
            m_1.code_sent_to,
            m_1.address,
            m_1.user_agent,
            m_1.ended_at,
            m_1.ended_reason,
            m_1.created_at
           FROM core.mandates m_1
          WHERE m_1.partner_id = c.partner_id AND m_1.connection_id = c.id
          ORDER BY m_1.created_at DESC
         LIMIT 1) m ON true;
comment on view core.connection_mandates is 'Where a connection stands with its mandate: its latest decision, read against the calendar, so that the year''s end needs no job to be on time.';
grant select on core.connection_mandates to api_owner;

create type private.batch_item as (
  place integer,
  period_sent text,
  period date,
  total_kwh numeric,
  session_count numeric,
  reason text
);

create type private.charger_resolution as (
  resolved boolean,
  vendor text,
  model text,
  catalog_charger_id uuid,
  brand text,
  catalog_model text,
  mid_meter boolean,
  detail text,
  suggestions json
);

CREATE OR REPLACE FUNCTION api.admit(credential jsonb, demand jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return case credential ->> 'kind'
    when 'cpo' then private.admit_cpo(credential, demand)
    when 'user' then private.admit_user(credential, demand)
    when 'personal_token' then private.admit_user(credential, demand)
    when 'session' then private.admit_session(credential, demand)
    else private.refusal('missing_or_invalid_token')
  end;
end $function$;
comment on function api.admit(jsonb,jsonb) is 'The first of a request''s two statements: credential still good, partner active, scope held, rate limit debited, in that order. credential {kind, …}, demand {kind, scope, bucket} to {caller, rate}, or {wrong_kind} for a good credential of another kind. Refusals are answers: the debit must stay.';
alter function api.admit(jsonb,jsonb) owner to api_owner;
grant execute on function api.admit(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.claim_mail(caller jsonb, batch jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform private.act_as(caller, 'worker');
  return private.claim_mail((batch ->> 'size')::int);
end $function$;
comment on function api.claim_mail(jsonb,jsonb) is 'The next mails to send: {size} to [{id, recipient, subject, html, text}]. Each is claimed for five minutes, then offered again.';
alter function api.claim_mail(jsonb,jsonb) owner to api_owner;
grant execute on function api.claim_mail(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.count_waiting_mail(caller jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform private.act_as(caller, 'worker');
  return private.count_waiting_mail();
end $function$;
comment on function api.count_waiting_mail(jsonb) is 'How many mails wait to be sent, as {waiting}: for a worker that has no mail server, so that it can say so.';
alter function api.count_waiting_mail(jsonb) owner to api_owner;
grant execute on function api.count_waiting_mail(jsonb) to edge;

CREATE OR REPLACE FUNCTION api.create_account(caller jsonb, input jsonb, register jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;
comment on function api.create_account(jsonb,jsonb,jsonb) is 'POST /v1/accounts. register is the EAN register''s answer, or null: then {ask_register: address} comes back where one is needed, and nothing was stored.';
alter function api.create_account(jsonb,jsonb,jsonb) owner to api_owner;
grant execute on function api.create_account(jsonb,jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.decline_mandate(caller jsonb, request jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  link core.mandate_links;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    return json_build_object('outcome', 'not_open');
  end if;
  insert into core.mandates (partner_id, connection_id, link_id, status, address, user_agent)
  values (link.partner_id, link.connection_id, link.id, 'declined', left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  return json_build_object('outcome', 'declined');
end $function$;
comment on function api.decline_mandate(jsonb,jsonb) is 'Declines to sign: {token_hash, address, user_agent}. Outcome declined|not_open.';
alter function api.decline_mandate(jsonb,jsonb) owner to api_owner;
grant execute on function api.decline_mandate(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.due_ean_checks(caller jsonb, batch jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform private.act_as(caller, 'worker');
  return private.due_ean_checks((batch ->> 'size')::int);
end $function$;
comment on function api.due_ean_checks(jsonb,jsonb) is 'The next connections to re-check: {size} to [{partner_id, connection_id, ean_code, postal_code, house_number, house_number_addition}].';
alter function api.due_ean_checks(jsonb,jsonb) owner to api_owner;
grant execute on function api.due_ean_checks(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.grant_client_credentials(caller jsonb, request jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  who       constant text := left(request ->> 'client_id', 200);
  client    core.oauth_clients := private.client_by_client_id(who);
  -- an unknown client_id shares one subject an address, so that guessing names does not grow the table
  subject   constant text := coalesce('client:' || client.id, 'unknown');
  failures  constant text := subject || '@' || (request ->> 'address_hash');
  wanted    text[];
  rate      jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.debit(failures, 'token_failures', 0);
  if (rate ->> 'remaining')::int < 1 then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  if client.id is null or client.disabled_at is not null or client.secret_hash <> decode(request ->> 'secret_hash', 'hex') then
    rate := private.debit(failures, 'token_failures');
    -- guesses sent at once were all let in by the look above; only as many as are allowed learn anything
    return private.refusal(case when (rate ->> 'allowed')::boolean then 'invalid_client' else 'too_many_requests' end,
                           json_build_object('rate', rate));
  end if;

  -- only the client itself spends its own requests: a stranger who knows its name cannot lock it out
  rate := private.debit(subject, 'token');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  elsif not 'client_credentials' = any (client.grant_types) then
    return private.refusal('unauthorized_client', json_build_object('rate', rate));
  end if;

  wanted := array(select s.word from string_to_table(request ->> 'scope', ' ') as s (word) where s.word <> '');
  if not wanted <@ client.scopes then
    return private.refusal('invalid_scope', json_build_object('rate', rate));
  end if;
  if wanted = '{}' then
    wanted := client.scopes;
  end if;
  return json_build_object(
    'client_id', client.client_id,
    'scope', (select coalesce(string_agg(s, ' '), '') from unnest(client.scopes) s where s = any (wanted)),
    'rate', rate);
end $function$;
comment on function api.grant_client_credentials(jsonb,jsonb) is 'Authenticates a client for the client-credentials grant (RFC 6749 section 4.4): {client_id, secret_hash, scope, address_hash} to {client_id, scope, rate}. Refusals are answers, because a failed attempt must be counted.';
alter function api.grant_client_credentials(jsonb,jsonb) owner to api_owner;
grant execute on function api.grant_client_credentials(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.ingest_months(caller jsonb, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  tenant     uuid;
  account    uuid;
  connection uuid;
  delivery   uuid;
  answer     json;
begin
  perform private.act_as(caller, 'cpo');
  tenant := private.partner_id();
  account := private.find_account(input);
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  -- one batch, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = tenant and c.id = connection for no key update;

  insert into core.deliveries (partner_id, connection_id, client_id, request_id, body, body_sha256)
  values (tenant, connection, private.client_id(), caller ->> 'request_id', input ->> 'body', input ->> 'body_sha256')
  returning id into delivery;

  with judged as materialized (
    select b.*, coalesce(d.status in ('submitted', 'registered'), false) as locked,
           d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery, d.received_at as old_received_at,
           case when b.reason is null then private.month_status(connection, b.period) end as new_status
      from private.read_batch(input -> 'months') b
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = connection and d.period = b.period and b.reason is null
  ), kept as (
    insert into core.replaced_months (partner_id, connection_id, period, total_kwh, session_count, delivery_id, received_at)
    select tenant, connection, j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at
      from judged j
     where j.reason is null and not j.locked and (j.old_kwh, j.old_count) is distinct from (j.total_kwh, j.session_count::int)
       and j.old_kwh is not null
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, connection, j.period, j.total_kwh, j.session_count::int, input ->> 'source', j.new_status, delivery, private.now()
      from judged j where j.reason is null and not j.locked
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where d.status not in ('submitted', 'registered')
  ), results as (
    select j.place, j.period_sent as period, j.reason,
           case when j.reason is not null then 'invalid'
                when j.locked then 'locked'
                when j.new_status = 'outside_mandate' then 'outside_mandate'
                else 'ingested' end as status
      from judged j
  )
  select json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'accepted', count(*) filter (where r.status = 'ingested'),
    'outside_mandate', count(*) filter (where r.status = 'outside_mandate'),
    'locked', count(*) filter (where r.status = 'locked'),
    'invalid', count(*) filter (where r.status = 'invalid'),
    'results', json_agg(case when r.reason is null then json_build_object('period', r.period, 'status', r.status)
                             else json_build_object('period', r.period, 'status', r.status, 'reason', r.reason) end order by r.place))
  into answer from results r;
  return answer;
end $function$;
comment on function api.ingest_months(jsonb,jsonb) is 'POST /v1/sessions:batch: {account_id, connection_id, source, months, body, body_sha256}. One set-based statement; a bad item is a result, never an exception.';
alter function api.ingest_months(jsonb,jsonb) owner to api_owner;
grant execute on function api.ingest_months(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.issue_mandate_link(caller jsonb, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  account    uuid;
  connection uuid;
  registered text;
  signatory  core.signatories;
  link       core.mandate_links;
  status     text;
  send_email constant boolean := (input ->> 'send_email')::boolean;
begin
  perform private.act_as(caller, 'cpo');
  select c.return_url into registered from core.oauth_clients c where c.id = private.client_id();
  if input ->> 'return_url' is not null and not private.return_url_allowed(input ->> 'return_url', registered) then
    perform private.refuse('return_url_not_allowed', json_build_object('message',
      'return_url must be the URL registered for this client, followed by /, ? or nothing, without a fragment.'));
  end if;
  account := private.find_account(input);
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  -- one link, signature or correction at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  select m.mandate_status into status
    from core.connection_mandates m where m.partner_id = private.partner_id() and m.connection_id = connection;
  if status = 'signed' then
    perform private.refuse('mandate_already_signed');
  end if;
  select * into signatory from core.signatories s where s.partner_id = private.partner_id() and s.account_id = account;
  if send_email and signatory.email is null then
    perform private.refuse('signatory_email_missing');
  end if;

  perform private.void_mandate_links(connection);
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, decode(input ->> 'token_hash', 'hex'), input ->> 'locale', (input ->> 'validity_years')::int,
          coalesce(input ->> 'return_url', registered), private.now() + interval '1209600 seconds')
  returning * into link;
  if send_email then
    perform private.enqueue_mail(input -> 'mail', signatory.email, 'mandate_link:' || link.id,
      json_build_object('full_name', signatory.full_name,
                        'partner_name', (select p.name from core.partners p where p.id = link.partner_id))::jsonb);
  end if;
  perform private.audit('mandate_link.issued', connection);
  return json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'mandate_link', input ->> 'mandate_link',
    'expires_at', private.iso(link.expires_at),
    'expires_in', 1209600,
    'mandate_status', status,
    'email_sent', send_email);
end $function$;
comment on function api.issue_mandate_link(jsonb,jsonb) is 'POST /v1/mandate-links: {account_id, cpo_external_ref, connection_id, token_hash, mandate_link, locale, validity_years, return_url, send_email, mail}. Voids the older link.';
alter function api.issue_mandate_link(jsonb,jsonb) owner to api_owner;
grant execute on function api.issue_mandate_link(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.list_accounts(caller jsonb, query jsonb)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  page_limit  constant int    := (query ->> 'limit')::int;
  page_offset constant bigint := (query ->> 'offset')::bigint;
  reference   constant text   := query ->> 'cpo_external_ref';
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select a.* from core.accounts a
       where a.client_id = private.client_id() and (reference is null or a.cpo_external_ref = reference)
       order by a.created_at desc, a.id desc
       limit page_limit + 1 offset page_offset
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
      'offset', page_offset,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown a);
end $function$;
comment on function api.list_accounts(jsonb,jsonb) is 'GET /v1/accounts: {limit, offset, cpo_external_ref} to a page of the client''s accounts, newest first.';
alter function api.list_accounts(jsonb,jsonb) owner to api_owner;
grant execute on function api.list_accounts(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.list_catalog_chargers(caller jsonb, query jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  wanted  text := private.catalog_search_key(coalesce(query ->> 'search', ''));
  size    int  := (query ->> 'limit')::int;
  answer  json;
begin
  perform private.act_as(caller, 'cpo');
  with page as (
    select m, row_number() over (order by lower(m.brand) collate "C", lower(m.model) collate "C") as place
      from core.charger_models m
     where m.listed and position(wanted in private.catalog_search_key(m.brand || ' ' || m.model)) > 0
     order by place
     limit size + 1
  )
  select json_build_object(
           'models',   coalesce(json_agg(private.catalog_charger(m) order by place) filter (where place <= size), '[]'),
           'count',    count(*) filter (where place <= size),
           'has_more', count(*) > size)
    into answer
    from page;
  return answer;
end $function$;
comment on function api.list_catalog_chargers(jsonb,jsonb) is 'GET /v1/catalog/chargers: query {search, limit}. The search is a substring of brand, of model, or of both in a row ("alfen eve").';
alter function api.list_catalog_chargers(jsonb,jsonb) owner to api_owner;
grant execute on function api.list_catalog_chargers(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.list_ere_positions(caller jsonb, query jsonb)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  page_limit  constant int    := (query ->> 'limit')::int;
  page_offset constant bigint := (query ->> 'offset')::bigint;
  reference   constant text   := query ->> 'cpo_external_ref';
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select a.* from core.accounts a
       where a.client_id = private.client_id() and (reference is null or a.cpo_external_ref = reference)
       order by a.created_at desc, a.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by created_at desc, id desc limit page_limit
    )
    select json_build_object(
      'positions', coalesce(json_agg(json_build_object(
        'account_id', a.id,
        'cpo_external_ref', a.cpo_external_ref,
        'payout_handler', a.payout_handler,
        'ere_eligible', g.eligible,
        'mandate_valid_from', g.mandate_valid_from,
        'checklist', g.gates,
        'delivered_months', d.months,
        'total_kwh_delivered', d.total_kwh,
        'ere', null) order by a.created_at desc, a.id desc), '[]'),
      'limit', page_limit,
      'offset', page_offset,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown a
    cross join lateral private.account_gates(a.partner_id, a.id) g
    cross join lateral (
      select coalesce(json_agg(json_build_object(
               'period', d.period, 'total_kwh', d.total_kwh, 'session_count', d.session_count, 'status', d.status,
               'received_at', private.iso(d.received_at), 'connection_id', d.connection_id) order by d.period, d.connection_id), '[]') as months,
             coalesce(sum(d.total_kwh) filter (where d.status in ('staged', 'submitted', 'registered')), 0) as total_kwh
        from core.connections c
        join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
       where c.partner_id = a.partner_id and c.account_id = a.id) d);
end $function$;
comment on function api.list_ere_positions(jsonb,jsonb) is 'GET /v1/ere-positions: {limit, offset, cpo_external_ref} to a page of positions, newest account first. ere is null until the operator publishes figures for the year.';
alter function api.list_ere_positions(jsonb,jsonb) owner to api_owner;
grant execute on function api.list_ere_positions(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.open_mandate_link(caller jsonb, request jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  rate  constant jsonb := private.debit('address:' || (request ->> 'address_hash'), 'page');
  link  core.mandate_links;
  state text;
begin
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  link := private.enter_link(caller, request);
  state := private.link_state(link);
  return json_build_object(
    'state', state,
    'locale', link.locale,
    'code_sent', coalesce(link.code_expires_at > private.now(), false),
    'partner_name', case when state in ('open', 'signed', 'declined') then (select p.name from core.partners p where p.id = link.partner_id) end,
    'return_url', case when state in ('open', 'signed', 'declined') then link.return_url end,
    'facts', case when state = 'open' then private.mandate_facts(link) end,
    'signed', case when state = 'signed' then (
      select json_build_object('status', case when m.status = 'signed' and m.valid_until < private.today() then 'expired' else m.status end,
                               'document', m.document, 'document_sha256', m.document_sha256, 'signed_name', m.signed_name,
                               'signed_at', private.iso(m.signed_at), 'code_sent_to', m.code_sent_to,
                               'valid_from', m.valid_from, 'valid_until', m.valid_until)
        from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id) end);
end $function$;
comment on function api.open_mandate_link(jsonb,jsonb) is 'What a link opens: {token_hash, address_hash} to {state: open|signed|declined|voided|expired|unknown, locale, code_sent, partner_name, return_url, facts, signed}. Names, facts and the signed text only where the state allows.';
alter function api.open_mandate_link(jsonb,jsonb) owner to api_owner;
grant execute on function api.open_mandate_link(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.record_ean_recheck(caller jsonb, due jsonb, register jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  connection core.connections;
  checked    record;
  status     text;
begin
  perform private.act_as(caller, 'worker'), private.act_for_partner((due ->> 'partner_id')::uuid);
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (due ->> 'connection_id')::uuid for update;
  -- corrected, archived or settled by an operator meanwhile: that result stands
  if connection.ean_code is distinct from due ->> 'ean_code' or connection.ean_validation_status <> 'unverified' then
    return json_build_object('ean_validation_status', connection.ean_validation_status);
  end if;
  select * into checked
    from private.check_ean(connection.ean_code, due ->> 'postal_code', (due ->> 'house_number')::int, due ->> 'house_number_addition', register);
  status := case checked.outcome when 'matched' then 'matched' when 'mismatch' then 'mismatch'
                                 when 'unknown_address' then 'not_found' else 'unverified' end;
  update core.connections c set ean_validation_status = status, ean_checked_at = private.now()
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.record_ean_check(connection.id, connection.ean_code, due ->> 'postal_code', (due ->> 'house_number')::int,
    due ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
  perform private.advance_registration(connection.account_id);
  perform private.audit('connection.rechecked', connection.id, jsonb_build_object('ean_validation_status', status));
  return json_build_object('ean_validation_status', status);
end $function$;
comment on function api.record_ean_recheck(jsonb,jsonb,jsonb) is 'The register''s answer for a due connection: matched, mismatch, not_found, or unverified for another week.';
alter function api.record_ean_recheck(jsonb,jsonb,jsonb) owner to api_owner;
grant execute on function api.record_ean_recheck(jsonb,jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.register_charger(caller jsonb, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
  perform private.advance_registration(account);
  perform private.audit('charger.registered', charger.id);
  return private.charger_answer(charger, false);
end $function$;
comment on function api.register_charger(jsonb,jsonb) is 'POST /v1/chargers: {account_id, connection_id, catalog_charger_id | ocpp_vendor, ocpp_model, ocpp_meter_type, serial_number}.';
alter function api.register_charger(jsonb,jsonb) owner to api_owner;
grant execute on function api.register_charger(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.repeat_account(caller jsonb, input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  account uuid;
begin
  perform private.act_as(caller, 'cpo');
  account := private.known_account(input ->> 'cpo_external_ref');
  return case when account is not null then private.repeat_account(account, input -> 'iban') end;
end $function$;
comment on function api.repeat_account(jsonb,jsonb) is 'POST /v1/accounts when the rest of the body cannot be used: {cpo_external_ref, iban} to the account''s answer, or null when the reference is new.';
alter function api.repeat_account(jsonb,jsonb) owner to api_owner;
grant execute on function api.repeat_account(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.resolve_catalog_charger(caller jsonb, query jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform private.act_as(caller, 'cpo');
  return row_to_json(private.resolve_charger(query ->> 'vendor', query ->> 'model', query ->> 'meter_type'));
end $function$;
comment on function api.resolve_catalog_charger(jsonb,jsonb) is 'GET /v1/catalog/chargers/resolve: query {vendor, model} and, where the caller has it, {meter_type}.';
alter function api.resolve_catalog_charger(jsonb,jsonb) owner to api_owner;
grant execute on function api.resolve_catalog_charger(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.run_due_jobs(caller jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object(
    'mandates_expired', private.expire_mandates(),
    'mail_purged', private.purge_mail(),
    'rate_limits_swept', private.sweep_rate_limits());
end $function$;
comment on function api.run_due_jobs(jsonb) is 'Everything that is due, in one transaction: counts by job. Safe to call at any time, from several callers at once.';
alter function api.run_due_jobs(jsonb) owner to api_owner;
grant execute on function api.run_due_jobs(jsonb) to edge;

CREATE OR REPLACE FUNCTION api.send_mandate_code(caller jsonb, request jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  link      core.mandate_links;
  recipient text;
  rate      jsonb;
begin
  link := private.enter_link(caller, request);
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if private.link_state(link) <> 'open' then
    return json_build_object('outcome', 'not_open');
  end if;
  recipient := private.mandate_facts(link) ->> 'email';
  if recipient is null then
    return json_build_object('outcome', 'no_email');
  end if;
  rate := private.debit('mandate_link:' || link.id, 'mandate_code');
  if not (rate ->> 'allowed')::boolean then
    return json_build_object('outcome', 'too_many_codes', 'retry_after', rate -> 'retry_after');
  end if;
  update core.mandate_links l
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.now() + interval '10 minutes', code_attempts = 0
   where l.partner_id = link.partner_id and l.id = link.id;
  perform private.enqueue_mail(request -> 'mail', recipient, 'mandate_code:' || link.id || ':' || (request ->> 'code_hash'));
  return json_build_object('outcome', 'sent');
end $function$;
comment on function api.send_mandate_code(jsonb,jsonb) is 'Mails a one-time code, good for ten minutes and five attempts; ten codes a day: {token_hash, code_hash, mail} to {outcome: sent|no_email|too_many_codes|not_open}.';
alter function api.send_mandate_code(jsonb,jsonb) owner to api_owner;
grant execute on function api.send_mandate_code(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.settle_mail(caller jsonb, results jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform private.act_as(caller, 'worker');
  perform private.settle_mail(r.id, r.failure, coalesce(r.permanent, false))
     from jsonb_to_recordset(results) as r (id uuid, failure text, permanent boolean);
  return json_build_object('ok', true);
end $function$;
comment on function api.settle_mail(jsonb,jsonb) is 'What became of claimed mails: [{id, failure, permanent}], failure null when sent. A temporary one is tried again with back-off, twelve times over 17 hours.';
alter function api.settle_mail(jsonb,jsonb) owner to api_owner;
grant execute on function api.settle_mail(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.sign_mandate(caller jsonb, request jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  link    core.mandate_links;
  facts   jsonb;
  refused text;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    return json_build_object('outcome', 'not_open');
  end if;
  facts := private.mandate_facts(link);
  if facts is distinct from request -> 'facts' then
    return json_build_object('outcome', 'changed');
  end if;
  if facts ->> 'email' is not null then
    refused := private.code_outcome(link, request ->> 'code_hash');
    if refused is not null then
      return json_build_object('outcome', refused);
    end if;
  end if;

  insert into core.mandates
    (partner_id, connection_id, link_id, status, valid_from, valid_until, signed_name, signed_at, document, document_sha256,
     code_confirmed, code_sent_to, address, user_agent)
  values
    (link.partner_id, link.connection_id, link.id, 'signed', (facts ->> 'valid_from')::date, (facts ->> 'valid_until')::date,
     request ->> 'signed_name', private.now(), request ->> 'document', request ->> 'document_sha256',
     facts ->> 'email' is not null, facts ->> 'email', left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.judge_months(link.connection_id);
  perform private.advance_registration(c.account_id) from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id;
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id);
  end if;
  perform private.audit('mandate.signed', link.connection_id, jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
  return json_build_object('outcome', 'signed');
end $function$;
comment on function api.sign_mandate(jsonb,jsonb) is 'Signs: {token_hash, facts, signed_name, code_hash, document, document_sha256, address, user_agent, mail}. Outcome signed|changed|wrong_code|code_expired|too_many_attempts|not_open; facts must still be what was shown.';
alter function api.sign_mandate(jsonb,jsonb) owner to api_owner;
grant execute on function api.sign_mandate(jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION api.update_connection(caller jsonb, input jsonb, register jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
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
end $function$;
comment on function api.update_connection(jsonb,jsonb,jsonb) is 'POST /v1/connections:update: {criteria, connection, acknowledge_mandate_lapses}. Order: found, ambiguous, no-op, ean_in_use, ean_address_mismatch, acknowledgement, write.';
alter function api.update_connection(jsonb,jsonb,jsonb) owner to api_owner;
grant execute on function api.update_connection(jsonb,jsonb,jsonb) to edge;

CREATE OR REPLACE FUNCTION ops.charger_confirm_mid(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  charger core.chargers;
  certain boolean;
  wanted  constant boolean := not coalesce((input ->> 'no_mid')::boolean, false);
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = private.as_uuid(input ->> 'charger') for update;
  if not found then
    perform private.refuse('charger_not_found', json_build_object('charger', input ->> 'charger'));
  end if;
  perform private.act_for_partner(charger.partner_id);
  changed := charger.mid_eligible is distinct from wanted;
  select m.mid_meter into certain from core.charger_models m where m.id = charger.catalog_charger_id;
  if changed and certain is not null then
    perform private.refuse('mid_is_certain', json_build_object('mid_meter', certain));
  elsif changed then
    update core.chargers h set mid_eligible = wanted
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
    perform private.audit('charger.mid_confirmed', charger.id,
                          jsonb_build_object('mid_eligible', wanted, 'evidence', left(input ->> 'evidence', 200)));
    perform private.advance_registration(charger.account_id);
  end if;
  return json_build_object('changed', changed, 'charger', private.charger_row(charger));
end $function$;
comment on function ops.charger_confirm_mid(jsonb) is 'Judges the evidence of a MID meter where the catalogue leaves it open: {charger, no_mid?, evidence?} to {changed, charger}.';
grant execute on function ops.charger_confirm_mid(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.charger_list(input jsonb)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select json_build_object('chargers', coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]'))
    from (select * from core.chargers h
           where h.status = 'active' and h.mid_eligible is null
           order by h.created_at, h.id limit coalesce((input ->> 'limit')::int, 50)) h
$function$;
comment on function ops.charger_list(jsonb) is 'Chargers whose MID evidence is still to be judged, oldest first: {limit?} to {chargers}.';
grant execute on function ops.charger_list(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.client_create(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  client core.oauth_clients;
begin
  perform private.act_as_operator(input);
  insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes, return_url)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.partner_named(input ->> 'partner')).id end,
          private.operator_name(input ->> 'name'),
          decode(input ->> 'secret_hash', 'hex'),
          case when input ->> 'scopes' is null then private.cpo_scopes() else private.read_scopes(input -> 'scopes') end,
          private.read_return_url(input ->> 'return_url'))
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning * into client;
  if client.id is null then
    perform private.refuse('client_id_taken', json_build_object('client_id', input ->> 'client_id'));
  end if;
  perform private.audit('client.created', client.id, jsonb_build_object('scopes', client.scopes));
  return json_build_object('client', private.client_row(client));
end $function$;
comment on function ops.client_create(jsonb) is 'Provisions a CPO client: {partner?, name, scopes?, return_url?, client_id, secret_hash} to {client}. secret_hash is the SHA-256 in hex; without scopes it gets all; without partner it waits for client_link.';
grant execute on function ops.client_create(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.client_disable(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  client  core.oauth_clients;
  changed boolean;
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  changed := client.disabled_at is null;
  if changed then
    update core.oauth_clients c set disabled_at = private.now() where c.id = client.id returning * into client;
    perform private.audit('client.disabled', client.id);
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $function$;
comment on function ops.client_disable(jsonb) is 'Ends a client for good: its secret and its tokens stop at once: {client} to {changed, client}.';
grant execute on function ops.client_disable(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.client_link(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  client  core.oauth_clients;
  partner core.partners;
  changed boolean;
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  partner := private.partner_named(input ->> 'partner');
  changed := client.partner_id is distinct from partner.id;
  if changed then
    -- accounts stay with the tenant they were created in: the client would lose them
    if exists (select from core.accounts a where a.client_id = client.id) then
      perform private.refuse('client_has_accounts', json_build_object('client', client.client_id));
    end if;
    update core.oauth_clients c set partner_id = partner.id where c.id = client.id returning * into client;
    perform private.audit('client.linked', client.id);
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $function$;
comment on function ops.client_link(jsonb) is 'Binds a client to a partner: {client, partner} to {changed, client}. Refused once the client has created accounts under another.';
grant execute on function ops.client_link(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.client_list(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  partner uuid;
begin
  if input ->> 'partner' is not null then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    select json_build_object('clients', coalesce(json_agg(private.client_row(c) order by c.created_at desc, c.id), '[]'))
      from core.oauth_clients c where partner is null or c.partner_id = partner);
end $function$;
comment on function ops.client_list(jsonb) is 'Clients, newest first, disabled ones included: {partner?} to {clients}. Never a secret.';
grant execute on function ops.client_list(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.client_rotate_secret(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  client core.oauth_clients;
  revoke constant boolean := coalesce((input ->> 'revoke_tokens')::boolean, false);
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  if client.disabled_at is not null then
    perform private.refuse('client_disabled', json_build_object('client', client.client_id));
  end if;
  update core.oauth_clients c
     set secret_hash = decode(input ->> 'secret_hash', 'hex'),
         secret_rotated_at = private.now(),
         tokens_valid_from = case when revoke then private.now() else c.tokens_valid_from end
   where c.id = client.id returning * into client;
  perform private.audit('client.secret_rotated', client.id, jsonb_build_object('revoke_tokens', revoke));
  return json_build_object('client', private.client_row(client));
end $function$;
comment on function ops.client_rotate_secret(jsonb) is 'Replaces the secret; the old one is dead at once: {client, secret_hash, revoke_tokens?} to {client}. revoke_tokens also ends every token issued before.';
grant execute on function ops.client_rotate_secret(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.client_set_scopes(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  client  core.oauth_clients;
  wanted  constant text[] := private.read_scopes(input -> 'scopes');
  changed boolean;
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  changed := not (client.scopes <@ wanted and client.scopes @> wanted);
  if changed then
    perform private.audit('client.scopes_set', client.id, jsonb_build_object('before', client.scopes, 'after', wanted));
    update core.oauth_clients c set scopes = wanted where c.id = client.id returning * into client;
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $function$;
comment on function ops.client_set_scopes(jsonb) is 'Replaces the scopes of a client: {client, scopes} to {changed, client}. A scope taken away stops in issued tokens too.';
grant execute on function ops.client_set_scopes(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.connection_add(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  account    core.accounts;
  connection core.connections;
begin
  perform private.act_as_operator(input);
  account := private.account_named(input ->> 'account');
  -- the register is asked by the weekly re-check, which finds this connection due as soon as its mandate is signed
  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_validation_status, ean_checked_at)
  values (account.partner_id, account.id, private.location_for(input), input ->> 'ean_code', 'unverified', '-infinity')
  on conflict (ean_code) where status = 'active' and ean_exclusive do nothing
  returning * into connection;
  if found then
    perform private.audit('connection.added', connection.id);
    return private.connection_answer(connection, true);
  end if;
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.status = 'active' and c.ean_code = input ->> 'ean_code';
  if not found then
    perform private.refuse('ean_in_use', json_build_object('ean_code', input ->> 'ean_code'));
  end if;
  return private.connection_answer(connection, false);
end $function$;
comment on function ops.connection_add(jsonb) is 'Gives an account one more connection, unverified: {account, ean_code, postal_code, house_number, house_number_addition?, street?, city?} to {changed, connection}.';
grant execute on function ops.connection_add(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.connection_archive(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  connection core.connections;
begin
  perform private.act_as_operator(input);
  connection := private.connection_named(input ->> 'connection');
  if connection.status = 'archived' then
    return private.connection_answer(connection, false);
  end if;
  if private.has_signed_mandate(connection) then
    perform private.end_mandate(connection.id, 'revoked', 'connection_archived');
  end if;
  perform private.void_mandate_links(connection.id);
  -- else a charger that moves along could never be registered on the next connection
  update core.chargers h set status = 'removed'
   where h.partner_id = connection.partner_id and h.connection_id = connection.id and h.status = 'active';
  update core.connections c set status = 'archived'
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.archived', connection.id);
  return private.connection_answer(connection, true);
end $function$;
comment on function ops.connection_archive(jsonb) is 'Retires a connection: {connection} to {changed, connection}. Its EAN and chargers are free again, a signed mandate is revoked, open links are void; it stays listed.';
grant execute on function ops.connection_archive(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.connection_list(input jsonb)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select json_build_object('connections', coalesce(
           json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id), '[]'))
    from private.connections_named(input ->> 'connection') c
$function$;
comment on function ops.connection_list(jsonb) is 'Connections, archived ones included, by connection id, account id, EAN or cpo_external_ref: {connection} to {connections}.';
grant execute on function ops.connection_list(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.connection_set_ean(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  connection core.connections;
  wanted     constant text := input ->> 'status';
begin
  perform private.act_as_operator(input);
  if wanted is null or wanted not in ('manual', 'unverified') then
    perform private.refuse('invalid_ean_status');
  end if;
  connection := private.active_connection_named(input ->> 'connection');
  if connection.ean_validation_status is not distinct from wanted then
    return private.connection_answer(connection, false);
  elsif wanted = 'unverified' and connection.ean_validation_status is distinct from 'manual' then
    -- what the register said is not the operator's to take back
    perform private.refuse('ean_not_manual', json_build_object('ean_validation_status', connection.ean_validation_status));
  end if;
  update core.connections c set ean_validation_status = wanted
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.ean_status_set', connection.id,
                        jsonb_build_object('before', connection.ean_validation_status, 'after', wanted));
  perform private.advance_registration(connection.account_id);
  return private.connection_answer(connection, true);
end $function$;
comment on function ops.connection_set_ean(jsonb) is 'Vouches for an EAN (manual), or takes that back (unverified): {connection, status} to {changed, connection}. Submits the registration when this was the last gate.';
grant execute on function ops.connection_set_ean(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.mail_list(input jsonb)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select json_build_object('mails', coalesce(json_agg(private.mail_row(m) order by m.created_at desc, m.id desc), '[]'))
    from private.newest_mails(input, coalesce((input ->> 'limit')::int, 20)) m
$function$;
comment on function ops.mail_list(jsonb) is 'Mail that waits, was sent or was captured, newest first, without its text: {to?, partner?, limit?} to {mails}.';
grant execute on function ops.mail_list(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.mail_show(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  mail core.mail_outbox;
begin
  perform private.act_as_operator(input);
  if input ->> 'id' is null then
    select * into mail from private.newest_mails(input, 1);
  else
    select * into mail from core.mail_outbox m where m.id = private.as_uuid(input ->> 'id');
  end if;
  if mail.id is null then
    perform private.refuse('mail_not_found');
  end if;
  -- a mail may hold a code or a link that lets its reader act as the recipient
  perform private.act_for_partner(mail.partner_id), private.audit('mail.shown', mail.id);
  return json_build_object('mail', private.mail_row(mail), 'text', mail.text, 'links', mail.links);
end $function$;
comment on function ops.mail_show(jsonb) is 'One mail with its text and links: {id}, or the newest of {to?, partner?}, to {mail, text, links}. Leaves an audit row, for it reads what was meant for the recipient.';
grant execute on function ops.mail_show(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.mandate_revoke(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  connection core.connections;
  status     text;
begin
  perform private.act_as_operator(input);
  connection := private.connection_named(input ->> 'connection');
  select m.mandate_status into status from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  if status = 'revoked' then
    return private.connection_answer(connection, false);
  elsif status <> 'signed' then
    perform private.refuse('mandate_not_signed', json_build_object('mandate_status', status));
  end if;
  perform private.end_mandate(connection.id, 'revoked', 'operator');
  return private.connection_answer(connection, true);
end $function$;
comment on function ops.mandate_revoke(jsonb) is 'Revokes the signed mandate of a connection: {connection} to {changed, connection}. Open months are judged again; locked ones and the registration stay.';
grant execute on function ops.mandate_revoke(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.month_lock(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  month core.delivered_months;
begin
  perform private.act_as_operator(input);
  month := private.delivered_month_named(input);
  if month.status not in ('staged', 'registered') then
    perform private.refuse('month_not_staged', json_build_object('status', month.status));
  end if;
  return private.set_month_status(month, 'registered', 'month.locked');
end $function$;
comment on function ops.month_lock(jsonb) is 'Marks a staged month as registered, after which deliveries no longer change it: {connection, period} to {changed, month}.';
grant execute on function ops.month_lock(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.month_unlock(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  month core.delivered_months;
begin
  perform private.act_as_operator(input);
  month := private.delivered_month_named(input);
  return private.set_month_status(
    month, case month.status when 'registered' then private.month_status(month.connection_id, month.period) else month.status end,
    'month.unlocked');
end $function$;
comment on function ops.month_unlock(jsonb) is 'Opens a registered month again, as staged or outside_mandate, whichever it now is: {connection, period} to {changed, month}.';
grant execute on function ops.month_unlock(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.partner_activate(input jsonb)
 RETURNS json
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ select private.set_partner_active(input, true) $function$;
comment on function ops.partner_activate(jsonb) is 'Lets a partner''s credentials in again: {partner} to {changed, partner}.';
grant execute on function ops.partner_activate(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.partner_create(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  name    constant text := private.operator_name(input ->> 'name');
  -- accents fall off their letters: Énergie is energie
  slug    constant text := coalesce(input ->> 'slug', btrim(left(btrim(regexp_replace(regexp_replace(
    lower(normalize(name, nfkd)), '[\u0300-\u036f]', '', 'g'), '[^a-z0-9]+', '-', 'g'), '-'), 60), '-'));
  partner core.partners;
begin
  perform private.act_as_operator(input);
  -- an id must never be read as somebody's slug
  if slug !~ '^[a-z0-9]+(-[a-z0-9]+)*$' or length(slug) > 60 or private.as_uuid(slug) is not null then
    perform private.refuse('invalid_slug');
  end if;
  insert into core.partners (name, slug) values (name, slug)
  on conflict on constraint partners_slug_key do nothing
  returning * into partner;
  if partner.id is null then
    perform private.refuse('slug_taken', json_build_object('slug', slug));
  end if;
  perform private.act_for_partner(partner.id), private.audit('partner.created', partner.id);
  return json_build_object('partner', private.partner_row(partner));
end $function$;
comment on function ops.partner_create(jsonb) is 'Makes a partner, active at once: {name, slug?} to {partner}. The slug comes from the name where none is given.';
grant execute on function ops.partner_create(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.partner_deactivate(input jsonb)
 RETURNS json
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$ select private.set_partner_active(input, false) $function$;
comment on function ops.partner_deactivate(jsonb) is 'Refuses a partner''s credentials from now on; its data stays: {partner} to {changed, partner}.';
grant execute on function ops.partner_deactivate(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.partner_list(input jsonb)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select json_build_object('partners', coalesce(json_agg(private.partner_row(p) order by p.slug), '[]')) from core.partners p
$function$;
comment on function ops.partner_list(jsonb) is 'Every partner, by slug: {} to {partners}.';
grant execute on function ops.partner_list(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.rate_limit_list(input jsonb)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select json_build_object('rate_limits', coalesce(json_agg(private.rate_limit_row(r.bucket, r.client) order by r.bucket, r.client nulls first), '[]'))
    from (select l.bucket, null::uuid as client from core.rate_limits l
          union all
          select o.bucket, private.as_uuid(substr(o.subject, 8)) from core.rate_limit_overrides o where o.subject like 'client:%') r
$function$;
comment on function ops.rate_limit_list(jsonb) is 'Every bucket''s quota, and the clients that have their own: {} to {rate_limits}.';
grant execute on function ops.rate_limit_list(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.rate_limit_reset(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  named   constant text := input ->> 'bucket';
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, true);
  client := (private.client_named(input ->> 'client')).id;
  delete from core.rate_limit_overrides o where o.subject = 'client:' || client and o.bucket = named;
  changed := found;
  if changed then
    perform private.audit('rate_limit.reset', client, jsonb_build_object('bucket', named));
  end if;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $function$;
comment on function ops.rate_limit_reset(jsonb) is 'Puts a client back to the bucket''s own quota: {bucket, client} to {changed, rate_limit}.';
grant execute on function ops.rate_limit_reset(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.rate_limit_set(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  named   constant text := input ->> 'bucket';
  wanted  constant numeric := (input ->> 'quota')::numeric;
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, input ->> 'client' is not null);
  -- beyond a million the time between two requests comes near the clock's microsecond
  if wanted is null or wanted not between 1 and 1000000 or wanted <> trunc(wanted) then
    perform private.refuse('invalid_quota');
  end if;
  if input ->> 'client' is null then
    update core.rate_limits l set quota = wanted where l.bucket = named and l.quota <> wanted;
  else
    client := (private.client_named(input ->> 'client')).id;
    insert into core.rate_limit_overrides as o (subject, bucket, quota) values ('client:' || client, named, wanted)
    on conflict on constraint rate_limit_overrides_pkey do update set quota = excluded.quota where o.quota <> excluded.quota;
  end if;
  changed := found;
  if changed then
    perform private.audit('rate_limit.set', client, jsonb_build_object('bucket', named, 'quota', wanted));
  end if;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $function$;
comment on function ops.rate_limit_set(jsonb) is 'Sets how many requests a bucket holds, for everybody or for one client: {bucket, quota, client?} to {changed, rate_limit}. In force at once.';
grant execute on function ops.rate_limit_set(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.registration_list(input jsonb)
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select json_build_object('connections', coalesce(
           json_agg(private.connection_row(c.partner_id, c.id) order by c.submitted_at, c.id), '[]'))
    from (select * from core.connections c
           where c.registration_status = 'ingediend' and c.status = 'active'
           order by c.submitted_at, c.id limit coalesce((input ->> 'limit')::int, 50)) c
$function$;
comment on function ops.registration_list(jsonb) is 'Registrations that wait for review, oldest first: {limit?} to {connections}.';
grant execute on function ops.registration_list(jsonb) to operator;

CREATE OR REPLACE FUNCTION ops.registration_review(input jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  connection core.connections;
  verdict    constant text := input ->> 'verdict';
  closed     text[];
begin
  perform private.act_as_operator(input);
  if verdict is null or verdict not in ('goedgekeurd', 'afgekeurd') then
    perform private.refuse('invalid_verdict');
  end if;
  connection := private.active_connection_named(input ->> 'connection');
  if connection.registration_status = verdict then
    return private.connection_answer(connection, false);
  elsif connection.registration_status <> 'ingediend' then
    perform private.refuse('registration_not_submitted', json_build_object('registration_status', connection.registration_status));
  end if;
  -- a gate may have closed since the registration was submitted; a missing IBAN is no ground
  select array_remove(array[case when not g.mandate_signed then 'mandate_signed' end,
                            case when not g.ean_validated then 'ean_validated' end,
                            case when not g.mid_charger_registered then 'mid_charger_registered' end], null)
    into closed from core.connection_gates g where g.partner_id = connection.partner_id and g.connection_id = connection.id;
  if verdict = 'goedgekeurd' and cardinality(closed) > 0 then
    perform private.refuse('gates_closed', json_build_object('gates', closed));
  end if;
  update core.connections c set registration_status = verdict
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('registration.reviewed', connection.id, jsonb_build_object('verdict', verdict));
  return private.connection_answer(connection, true);
end $function$;
comment on function ops.registration_review(jsonb) is 'Judges a submitted registration: {connection, verdict: goedgekeurd|afgekeurd} to {changed, connection}. goedgekeurd needs mandate, EAN and MID charger.';
grant execute on function ops.registration_review(jsonb) to operator;

CREATE OR REPLACE FUNCTION private.account_answer(account uuid, idempotent boolean)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$;
grant execute on function private.account_answer(uuid,boolean) to api_owner;

CREATE OR REPLACE FUNCTION private.account_gates(partner uuid, account uuid, OUT gates json, OUT eligible boolean, OUT mandate_valid_from date)
 RETURNS record
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  -- of several connections the one that is furthest speaks for the account, so that eligible is exactly "all four hold"
  select json_build_object('mandate_signed', coalesce(g.mandate_signed, false),
                           'ean_validated', coalesce(g.ean_validated, false),
                           'mid_charger_registered', coalesce(g.mid_charger_registered, false),
                           'iban_present', coalesce(g.iban_present, a.iban_ciphertext is not null)),
         coalesce(g.mandate_signed and g.ean_validated and g.mid_charger_registered and g.iban_present, false),
         case when g.mandate_signed then g.mandate_valid_from end
    from core.accounts a
    left join lateral (
      select * from core.connection_gates g
       where g.partner_id = a.partner_id and g.account_id = a.id
       order by g.mandate_signed::int + g.ean_validated::int + g.mid_charger_registered::int desc, g.created_at, g.connection_id
       limit 1) g on true
   where a.partner_id = partner and a.id = account
$function$;
comment on function private.account_gates(uuid,uuid) is 'The checklist of an account, whether it is ERE-eligible, and from when its mandate holds.';
grant execute on function private.account_gates(uuid,uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.account_named(named text)
 RETURNS core.accounts
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  candidates core.accounts[] := array(
    select a from core.accounts a
     where a.partner_id = any (array(select p.id from core.partners p)) and a.id = private.as_uuid(named)
    union
    select a from core.accounts a
     where a.client_id = any (array(select k.id from core.oauth_clients k)) and a.cpo_external_ref = named);
begin
  if cardinality(candidates) = 0 then
    perform private.refuse('account_not_found', json_build_object('account', named));
  elsif cardinality(candidates) > 1 then
    perform private.refuse('account_ambiguous', json_build_object('account', named));
  end if;
  perform private.act_for_partner((candidates[1]).partner_id);
  return candidates[1];
end $function$;
comment on function private.account_named(text) is 'The account of an id or a cpo_external_ref, its partner made the tenant of this transaction.';

CREATE OR REPLACE FUNCTION private.act_as(caller jsonb, VARIADIC kinds text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if (caller ->> 'kind') = any (kinds) is not true then
    raise exception 'caller kind % may not run this function', coalesce(caller ->> 'kind', 'none')
      using errcode = 'insufficient_privilege';
  end if;
  perform set_config('app.caller_kind', coalesce(caller ->> 'kind', ''), true),
          set_config('app.partner_id',  coalesce(caller ->> 'partner_id', ''), true),
          set_config('app.client_id',   coalesce(caller ->> 'client_id', ''), true),
          set_config('app.user_id',     coalesce(caller ->> 'user_id', ''), true),
          set_config('app.host',        coalesce(caller ->> 'host', ''), true),
          set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $function$;
comment on function private.act_as(jsonb,text[]) is 'First line of every api function: the second lock behind the scope check, and the tenant for row-level security, local to the transaction.';
grant execute on function private.act_as(jsonb,text[]) to api_owner;

CREATE OR REPLACE FUNCTION private.act_as_operator(input jsonb)
 RETURNS void
 LANGUAGE sql
 SET search_path TO ''
AS $function$
  -- who typed the command is what the command line says: the login is shared
  select set_config('app.caller_kind', concat_ws(':', 'operator', nullif(left(input ->> 'operator', 64), '')), true),
         set_config('app.partner_id', '', true),
         set_config('app.client_id', '', true),
         set_config('app.request_id', '', true)
$function$;
comment on function private.act_as_operator(jsonb) is 'First line of every ops function that changes or shows something personal: {operator} is the person the audit row names.';

CREATE OR REPLACE FUNCTION private.act_for_partner(partner uuid)
 RETURNS void
 LANGUAGE sql
 SET search_path TO ''
AS $function$ select set_config('app.partner_id', coalesce(partner::text, ''), true) $function$;
comment on function private.act_for_partner(uuid) is 'Narrows the transaction to the tenant a link or a job was found to belong to.';
grant execute on function private.act_for_partner(uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.active_connection_named(named text)
 RETURNS core.connections
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  connection constant core.connections := private.connection_named(named);
begin
  if connection.status = 'archived' then
    perform private.refuse('connection_archived', json_build_object('connection', connection.id));
  end if;
  return connection;
end $function$;

CREATE OR REPLACE FUNCTION private.active_partner(partner uuid)
 RETURNS uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ select p.id from core.partners p where p.id = active_partner.partner and p.is_active $function$;
comment on function private.active_partner(uuid) is 'The partner if it is active, else null; definer because admission runs before a tenant is set.';
grant execute on function private.active_partner(uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.admit_cpo(credential jsonb, demand jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  client  core.oauth_clients := private.client_by_client_id(credential ->> 'client_id');
  scope   constant text := demand ->> 'scope';
  rate    jsonb;
begin
  if client.id is null or client.disabled_at is not null
     or to_timestamp((credential ->> 'issued_at')::bigint) < client.tokens_valid_from then
    return private.refusal('missing_or_invalid_token');
  elsif demand ->> 'kind' <> 'cpo' then
    return json_build_object('wrong_kind', true);
  elsif private.active_partner(client.partner_id) is null then
    return private.refusal('client_not_linked');
  elsif scope is not null and not (scope = any (client.scopes) and credential -> 'scopes' ? scope) then
    return private.refusal('insufficient_scope', json_build_object('required_scope', scope));
  end if;

  rate := private.debit('client:' || client.id, demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'cpo', 'client_id', client.id, 'partner_id', client.partner_id),
    'rate', rate);
end $function$;
comment on function private.admit_cpo(jsonb,jsonb) is 'A client-credentials token, its signature already verified. A scope holds only while token and client both have it.';
grant execute on function private.admit_cpo(jsonb,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.admit_session(credential jsonb, demand jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  rate jsonb;
begin
  if (private.user_profile((credential ->> 'user_id')::uuid)).created_at is null then
    return private.refusal('missing_or_invalid_token');  -- the login is gone; its session JWT lives on for a while
  elsif demand ->> 'kind' <> 'session' then
    return json_build_object('wrong_kind', true);
  end if;
  rate := private.debit('user:' || (credential ->> 'user_id'), demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'session', 'user_id', credential ->> 'user_id', 'partner_id', private.house()),
    'rate', rate);
end $function$;
comment on function private.admit_session(jsonb,jsonb) is 'A person signed in with Supabase Auth, its session JWT already verified.';
grant execute on function private.admit_session(jsonb,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.admit_user(credential jsonb, demand jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  person record;
  rate   jsonb;
begin
  select * into person from private.user_scopes(credential);
  if person.user_id is null then
    return private.refusal('missing_or_invalid_token');
  elsif demand ->> 'kind' <> 'user' then
    return json_build_object('wrong_kind', true);
  elsif demand ->> 'scope' is not null and not (demand ->> 'scope') = any (person.scopes) then
    return private.refusal('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  end if;
  -- limits are kept per client and person, or per person for their own tokens
  rate := private.debit('user:' || person.user_id || coalesce(':' || person.client_id, ''), demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'user', 'user_id', person.user_id, 'client_id', person.client_id, 'partner_id', private.house()),
    'rate', rate);
end $function$;
comment on function private.admit_user(jsonb,jsonb) is 'A personal token, or the access token of an application acting for a person.';
grant execute on function private.admit_user(jsonb,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.advance_registration(account uuid)
 RETURNS void
 LANGUAGE sql
 SET search_path TO ''
AS $function$
  update core.connections c
     set registration_status = 'ingediend', submitted_at = private.now()
    from core.connection_gates g
   where g.account_id = account and g.partner_id = c.partner_id and g.connection_id = c.id
     and c.registration_status = 'concept'
     and g.mandate_signed and g.ean_validated and g.mid_charger_registered and g.iban_present
$function$;
comment on function private.advance_registration(uuid) is 'Submits the registration of a connection by itself once all four gates hold. Called after anything that can open a gate.';
grant execute on function private.advance_registration(uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.as_uuid(value text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select case when value ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then value::uuid end $function$;
comment on function private.as_uuid(text) is 'The text as an id, or null where it is none: what a person typed may be a name.';

CREATE OR REPLACE FUNCTION private.attribute_user(person uuid, partner uuid, source text)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with attributed as (
    insert into core.attributions (partner_id, user_id, source, attached_month)
    select p.id, person, attribute_user.source, date_trunc('month', private.today())::date
      from core.partners p where p.id = partner and p.is_active
    on conflict (user_id) do nothing
    returning 1)
  select exists (select from attributed)
$function$;
comment on function private.attribute_user(uuid,uuid,text) is 'Attributes a person to an active partner unless somebody has them already; says whether it did. Definer, because it looks across tenants.';
grant execute on function private.attribute_user(uuid,uuid,text) to api_owner;

CREATE OR REPLACE FUNCTION private.audit(action text, subject uuid DEFAULT NULL::uuid, details jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE sql
 SET search_path TO ''
AS $function$
  insert into core.audit_log (actor, action, partner_id, subject_id, details, request_id)
  values (
    concat_ws(':', coalesce(nullif(current_setting('app.caller_kind', true), ''), 'unknown'),
                   coalesce(nullif(current_setting('app.user_id', true), ''), nullif(current_setting('app.client_id', true), ''))),
    action, private.partner_id(), subject, details, nullif(current_setting('app.request_id', true), ''))
$function$;
comment on function private.audit(text,uuid,jsonb) is 'Appends to the audit log in the same transaction as the change.';
grant execute on function private.audit(text,uuid,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.bucket_named(bucket text, of_a_client boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  buckets text[] := array(
    select l.bucket from core.rate_limits l
     -- the others count addresses, links and people
     where not of_a_client or l.bucket = 'token' or l.bucket like 'cpo\_%' order by l.bucket);
begin
  if bucket is null or not bucket = any (buckets) then
    perform private.refuse('unknown_bucket', json_build_object('bucket', bucket, 'buckets', buckets));
  end if;
end $function$;

CREATE OR REPLACE FUNCTION private.catalog_charger(entry core.charger_models)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select json_build_object('catalog_charger_id', entry.id, 'brand', entry.brand, 'model', entry.model) $function$;
comment on function private.catalog_charger(core.charger_models) is 'A catalog model as every answer shows it (§2).';
grant execute on function private.catalog_charger(core.charger_models) to api_owner;

CREATE OR REPLACE FUNCTION private.catalog_search_key(words text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select private.charger_key(translate(words, '%_,()', '     ')) $function$;
comment on function private.catalog_search_key(text) is 'Both sides of the catalogue search: what the specification blanks in the search is blanked in the names too, so that a name finds itself.';
grant execute on function private.catalog_search_key(text) to api_owner;

CREATE OR REPLACE FUNCTION private.charger_answer(charger core.chargers, idempotent boolean)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object(
    'ok', true,
    'idempotent', idempotent,
    'charger_id', charger.id,
    'catalog', private.catalog_charger(m),
    'mid_eligible', charger.mid_eligible,
    'account_ere_eligible', (private.account_gates(charger.partner_id, charger.account_id)).eligible)
  from core.charger_models m where m.id = charger.catalog_charger_id
$function$;
grant execute on function private.charger_answer(core.chargers,boolean) to api_owner;

CREATE OR REPLACE FUNCTION private.charger_key(reported text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$
  -- collate "C": the same letters and spaces on every deployment, whatever its locale; NFKC has made the others plain
  select trim(regexp_replace(lower(normalize(reported, nfkc) collate "C"), '\s+', ' ', 'g'))
$function$;
comment on function private.charger_key(text) is 'A string of a BootNotification as the patterns expect it.';
grant execute on function private.charger_key(text) to api_owner;

CREATE OR REPLACE FUNCTION private.charger_row(charger core.chargers)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object(
    'charger_id', charger.id,
    'account_id', charger.account_id,
    'connection_id', charger.connection_id,
    'partner_slug', (select p.slug from core.partners p where p.id = charger.partner_id),
    'brand', m.brand,
    'model', m.model,
    'serial_number', charger.serial_number,
    'mid_eligible', charger.mid_eligible,
    'status', charger.status,
    'created_at', private.iso(charger.created_at))
  from core.charger_models m where m.id = charger.catalog_charger_id
$function$;

CREATE OR REPLACE FUNCTION private.check_ean(ean text, postal_code text, house_number integer, addition text, register jsonb, OUT outcome text, OUT street text, OUT city text, OUT source text, OUT reason text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  points jsonb := register -> 'points';
begin
  source := register ->> 'source';
  reason := register ->> 'reason';
  if source = 'table' then
    select jsonb_agg(to_jsonb(p) order by p.ean_code) into points
      from core.ean_register_points p
     where p.postal_code = check_ean.postal_code and p.house_number = check_ean.house_number
       and p.house_number_addition is not distinct from addition;
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
end $function$;
comment on function private.check_ean(text,text,integer,text,jsonb) is 'Judges an EAN by the register''s answer for its address: {source, outcome, points, reason}, or {source: "table"} to look it up here.';
grant execute on function private.check_ean(text,text,integer,text,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.choose_model(input jsonb)
 RETURNS core.charger_models
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;
comment on function private.choose_model(jsonb) is 'The catalogue model of {catalog_charger_id} or {ocpp_vendor, ocpp_model, ocpp_meter_type}; the id wins when both are sent.';
grant execute on function private.choose_model(jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.claim_mail(size integer)
 RETURNS json
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with claimed as (
    update core.mail_outbox m
       set attempts = m.attempts + 1, next_attempt_at = private.now() + interval '5 minutes'
     where m.id in (select q.id from core.mail_outbox q
                     where q.status = 'queued' and q.next_attempt_at <= private.now()
                     order by q.next_attempt_at limit size for update skip locked)
    returning m.*)
  select coalesce(json_agg(json_build_object('id', id, 'recipient', recipient, 'subject', subject, 'html', html, 'text', text)
                           order by created_at), '[]')
    from claimed
$function$;
comment on function private.claim_mail(integer) is 'Definer: the worker sends the mail of every tenant.';
grant execute on function private.claim_mail(integer) to api_owner;

CREATE OR REPLACE FUNCTION private.client_by_client_id(client_id text)
 RETURNS core.oauth_clients
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ select c from core.oauth_clients c where c.client_id = client_by_client_id.client_id $function$;
comment on function private.client_by_client_id(text) is 'Looks a client up before its tenant is known; definer for that reason alone.';
grant execute on function private.client_by_client_id(text) to api_owner;

CREATE OR REPLACE FUNCTION private.client_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$ select nullif(current_setting('app.client_id', true), '')::uuid $function$;
comment on function private.client_id() is 'The CPO client of this transaction, or null.';
grant execute on function private.client_id() to api_owner;

CREATE OR REPLACE FUNCTION private.client_named(named text)
 RETURNS core.oauth_clients
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  client core.oauth_clients;
begin
  select * into client from core.oauth_clients c where c.id = private.as_uuid(named) or c.client_id = named for update;
  if not found then
    perform private.refuse('client_not_found', json_build_object('client', named));
  end if;
  perform private.act_for_partner(client.partner_id);
  return client;
end $function$;
comment on function private.client_named(text) is 'The client of an id or a client_id, locked, and its partner made the tenant of this transaction.';

CREATE OR REPLACE FUNCTION private.client_row(client core.oauth_clients)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object(
    'id', client.id,
    'client_id', client.client_id,
    'name', client.name,
    'partner_id', client.partner_id,
    'partner_slug', (select p.slug from core.partners p where p.id = client.partner_id),
    'scopes', client.scopes,
    'return_url', client.return_url,
    'secret_rotated_at', private.iso(client.secret_rotated_at),
    'tokens_valid_from', private.iso(nullif(client.tokens_valid_from, '-infinity')),
    'disabled_at', private.iso(client.disabled_at),
    'created_at', private.iso(client.created_at))
$function$;
comment on function private.client_row(core.oauth_clients) is 'A client as the operator sees it: everything but the secret''s hash.';

CREATE OR REPLACE FUNCTION private.code_outcome(link core.mandate_links, code_hash text)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if link.code_hash is null or link.code_expires_at <= private.now() then
    return 'code_expired';
  elsif link.code_attempts >= 5 then
    return 'too_many_attempts';
  elsif link.code_hash is distinct from decode(code_hash, 'hex') then
    update core.mandate_links l set code_attempts = l.code_attempts + 1 where l.partner_id = link.partner_id and l.id = link.id;
    return 'wrong_code';
  end if;
  return null;
end $function$;
comment on function private.code_outcome(core.mandate_links,text) is 'Why a one-time code is refused, or null; a wrong one is counted.';
grant execute on function private.code_outcome(core.mandate_links,text) to api_owner;

CREATE OR REPLACE FUNCTION private.connection_answer(connection core.connections, changed boolean)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object('changed', changed, 'connection', private.connection_row(connection.partner_id, connection.id))
$function$;

CREATE OR REPLACE FUNCTION private.connection_named(named text)
 RETURNS core.connections
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  candidates core.connections[] := array(
    select c from private.connections_named(named) c where c.status = 'active' or c.id = private.as_uuid(named));
  connection core.connections;
begin
  if cardinality(candidates) = 0 then
    perform private.refuse('connection_not_found', json_build_object('connection', named));
  elsif cardinality(candidates) > 1 then
    perform private.refuse('connection_ambiguous', json_build_object('connection', named));
  end if;
  perform private.act_for_partner((candidates[1]).partner_id);
  select * into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (candidates[1]).id for update;
  return connection;
end $function$;
comment on function private.connection_named(text) is 'The one active connection that is meant, or an archived one by its own id; locked, and its partner made the tenant of this transaction.';

CREATE OR REPLACE FUNCTION private.connection_row(partner uuid, connection uuid)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object(
    'connection_id', c.id,
    'account_id', c.account_id,
    'cpo_external_ref', a.cpo_external_ref,
    'partner_slug', p.slug,
    'ean_code', c.ean_code,
    'address', concat_ws(' ', l.postal_code, l.house_number, l.house_number_addition),
    'status', c.status,
    'registration_status', c.registration_status,
    'submitted_at', private.iso(c.submitted_at),
    'ean_validation_status', c.ean_validation_status,
    'mandate_status', m.mandate_status,
    'mandate_valid_from', m.valid_from,
    'mandate_valid_until', m.valid_until,
    'checklist', case when g.connection_id is not null then json_build_object(
      'mandate_signed', g.mandate_signed, 'ean_validated', g.ean_validated,
      'mid_charger_registered', g.mid_charger_registered, 'iban_present', g.iban_present) end)
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.partners p on p.id = c.partner_id
  join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
  join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
  left join core.connection_gates g on g.partner_id = c.partner_id and g.connection_id = c.id
  where c.partner_id = partner and c.id = connection
$function$;
comment on function private.connection_row(uuid,uuid) is 'A connection as the operator sees it; its checklist is null once archived.';

CREATE OR REPLACE FUNCTION private.connections_named(named text)
 RETURNS SETOF core.connections
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  -- the keys lead with the tenant; naming every tenant lets them serve a look across all
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.id = private.as_uuid(named)
  union
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.account_id = private.as_uuid(named)
  union
  -- no index holds the EANs of archived connections: read them all, but only for what looks like an EAN
  select c.* from core.connections c where named ~ '^[0-9]{18}$' and c.ean_code = named
  union
  select c.*
    from core.accounts a join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
   where a.client_id = any (array(select k.id from core.oauth_clients k)) and a.cpo_external_ref = named
$function$;
comment on function private.connections_named(text) is 'Connections by connection id, account id, EAN or cpo_external_ref: whatever the operator has at hand.';

CREATE OR REPLACE FUNCTION private.count_waiting_mail()
 RETURNS json
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ select json_build_object('waiting', count(*)) from core.mail_outbox where status = 'queued' $function$;
comment on function private.count_waiting_mail() is 'Definer: the worker sends the mail of every tenant.';
grant execute on function private.count_waiting_mail() to api_owner;

CREATE OR REPLACE FUNCTION private.cpo_scopes()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select array['cpo:accounts:read', 'cpo:accounts:write', 'cpo:mandates:write', 'cpo:chargers:write', 'cpo:sessions:write'] $function$;
comment on function private.cpo_scopes() is 'The scopes of a CPO client, in the specification''s order.';

CREATE OR REPLACE FUNCTION private.debit(subject text, bucket text, cost integer DEFAULT 1)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  at       constant timestamptz := private.now();
  policy   record;
  step     interval;
  full_at  timestamptz;
  allowed  boolean := true;
  slack    numeric;
begin
  select coalesce(o.quota, l.quota) as quota, make_interval(secs => l.window_seconds) as span, l.window_seconds
    into strict policy
    from core.rate_limits l
    left join core.rate_limit_overrides o on o.bucket = l.bucket and o.subject = debit.subject
   where l.bucket = debit.bucket;
  -- rounded down to whole microseconds: rounded up, the last request of a quota would not fit into its window
  step := greatest(floor(policy.window_seconds * 1e6 / policy.quota), 1) * interval '1 microsecond';

  insert into core.rate_limit_state as s (subject, bucket, full_at)
  values (debit.subject, debit.bucket, at + step * cost)
  on conflict on constraint rate_limit_state_pkey do update
     set full_at = greatest(s.full_at, at) + step * cost
   where greatest(s.full_at, at) + step * cost <= at + policy.span
  returning s.full_at into full_at;

  if not found then
    allowed := false;
    select s.full_at into full_at from core.rate_limit_state s where s.subject = debit.subject and s.bucket = debit.bucket;
  end if;

  slack := extract(epoch from at + policy.span - full_at);
  return jsonb_build_object(
    'allowed', allowed,
    'bucket', debit.bucket,
    'quota', policy.quota,
    'window', policy.window_seconds,
    'remaining', least(greatest(floor(slack / extract(epoch from step)), 0), policy.quota)::int,
    'reset', greatest(ceil(extract(epoch from full_at - at)), 0)::int,
    'retry_after', greatest(ceil(extract(epoch from step) - slack), case when allowed then 0 else 1 end)::int);
end $function$;
comment on function private.debit(text,text,integer) is 'Takes from a subject''s bucket and says what is left. Definer, because limits belong to no tenant. A cost of 0 only looks.';
grant execute on function private.debit(text,text,integer) to api_owner;

CREATE OR REPLACE FUNCTION private.delivered_month_named(input jsonb)
 RETURNS core.delivered_months
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  connection core.connections;
  month      core.delivered_months;
begin
  if coalesce(input ->> 'period', '') !~ '^[12][0-9]{3}-(0[1-9]|1[0-2])(-01)?$' then
    perform private.refuse('invalid_period');
  end if;
  connection := private.connection_named(input ->> 'connection');
  select * into month from core.delivered_months d
   where d.partner_id = connection.partner_id and d.connection_id = connection.id
     and d.period = to_date(left(input ->> 'period', 7), 'YYYY-MM')
     for update;
  if not found then
    perform private.refuse('month_not_found', json_build_object('period', left(input ->> 'period', 7)));
  end if;
  return month;
end $function$;
comment on function private.delivered_month_named(jsonb) is 'The delivered month of {connection, period}, locked together with its connection.';

CREATE OR REPLACE FUNCTION private.drop_unused_location(location uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from core.locations l
   where l.partner_id = private.partner_id() and l.id = location
     and not exists (select from core.connections c where c.partner_id = l.partner_id and c.location_id = l.id);
exception when foreign_key_violation then
  null;  -- a connection moved in at the same moment
end $function$;
comment on function private.drop_unused_location(uuid) is 'Deletes an address, personal data, that no connection is left at.';
grant execute on function private.drop_unused_location(uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.due_ean_checks(size integer)
 RETURNS json
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  -- claimed for an hour by moving the last check; the result moves it again
  with claimed as (
    update core.connections c
       set ean_checked_at = private.now() - interval '7 days' + interval '1 hour'
     where (c.partner_id, c.id) in (
       select u.partner_id, u.id
         from core.connections u
         join core.mandates m on m.partner_id = u.partner_id and m.connection_id = u.id and m.status = 'signed'
        where u.status = 'active' and u.ean_validation_status = 'unverified' and u.ean_checked_at <= private.now() - interval '7 days'
        order by u.ean_checked_at limit size for update of u skip locked)
    returning c.*)
  select coalesce(json_agg(json_build_object(
           'partner_id', c.partner_id, 'connection_id', c.id, 'ean_code', c.ean_code, 'postal_code', l.postal_code,
           'house_number', l.house_number, 'house_number_addition', l.house_number_addition)), '[]')
    from claimed c join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
$function$;
comment on function private.due_ean_checks(integer) is 'Signed connections whose EAN has been unverified for a week. Definer: every tenant at once.';
grant execute on function private.due_ean_checks(integer) to api_owner;

CREATE OR REPLACE FUNCTION private.ean_taken(ean text, except_connection uuid DEFAULT NULL::uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select private.is_sandbox() and ean = '871687000000000054'
      or not private.is_test_ean(ean) and exists (
           select from core.connections c
            where c.ean_code = ean_taken.ean and c.status = 'active' and c.ean_exclusive
              and c.id is distinct from except_connection)
$function$;
comment on function private.ean_taken(text,uuid) is 'Whether another active connection holds the EAN. Definer, because it looks across tenants; it says that, never whose.';
grant execute on function private.ean_taken(text,uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.end_mandate(connection uuid, new_status text, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update core.mandates m
     set status = new_status, ended_at = private.now(), ended_reason = reason
   where m.connection_id = connection and m.status = 'signed'
     and m.valid_until >= private.today();  -- one that ran out keeps covering its years, whether the job has noted its end or not
  perform private.judge_months(connection);
  perform private.audit('mandate.' || new_status, connection, jsonb_build_object('reason', reason));
end $function$;
comment on function private.end_mandate(uuid,text,text) is 'Ends the signed mandate of a connection; months it covered are judged again.';
grant execute on function private.end_mandate(uuid,text,text) to api_owner;

CREATE OR REPLACE FUNCTION private.enqueue_mail(mail jsonb, recipient text, cause text, fields jsonb DEFAULT '{}'::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  subject text := mail ->> 'subject';
  html    text := mail ->> 'html';
  body    text := mail ->> 'text';
  field   record;
begin
  for field in select '{{' || f.key || '}}' as mark, coalesce(f.value, '') as value from jsonb_each_text(fields) as f loop
    subject := replace(subject, field.mark, field.value);
    body := replace(body, field.mark, field.value);
    html := replace(html, field.mark, private.escape_html(field.value));
  end loop;
  insert into core.mail_outbox (partner_id, cause, template, locale, recipient, subject, html, text, links, status, done_at)
  values (private.partner_id(), enqueue_mail.cause, mail ->> 'template', mail ->> 'locale', enqueue_mail.recipient, subject, html, body,
          array(select jsonb_array_elements_text(mail -> 'links')),
          case when private.is_sandbox() then 'captured' else 'queued' end,
          case when private.is_sandbox() then private.now() end)
  on conflict on constraint mail_outbox_cause_key do nothing;
end $function$;
comment on function private.enqueue_mail(jsonb,text,text,jsonb) is 'Puts a composed mail {template, locale, subject, html, text, links} in the outbox. {{name}} marks are filled from fields: what only the database knows when the mail is composed.';
grant execute on function private.enqueue_mail(jsonb,text,text,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.enter_link(caller jsonb, request jsonb)
 RETURNS core.mandate_links
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  link core.mandate_links;
begin
  perform private.act_as(caller, 'anyone');
  link := private.link_by_token(request ->> 'token_hash');
  perform private.act_for_partner(link.partner_id), set_config('app.caller_kind', 'signatory', true);
  return link;
end $function$;
comment on function private.enter_link(jsonb,jsonb) is 'Makes the bearer of a link the caller, within the link''s tenant.';
grant execute on function private.enter_link(jsonb,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.escape_html(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;') $function$;
grant execute on function private.escape_html(text) to api_owner;

CREATE OR REPLACE FUNCTION private.expire_mandates()
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with ended as (
    update core.mandates m set status = 'expired', ended_at = private.now(), ended_reason = 'last_year_over'
     where m.status = 'signed' and m.valid_until < private.today()
    returning 1)
  select count(*) from ended
$function$;
comment on function private.expire_mandates() is 'Writes down what connection_mandates already reads from the calendar. Months inside the mandate stay covered. Definer: every tenant at once.';
grant execute on function private.expire_mandates() to api_owner;

CREATE OR REPLACE FUNCTION private.expose(signature regprocedure)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to edge', signature);
  execute format('alter function %s owner to api_owner', signature);
end $function$;
comment on function private.expose(regprocedure) is 'Stands beside each api function: hands it to api_owner, so that row-level security holds inside it, and lets edge run it.';

CREATE OR REPLACE FUNCTION private.expose_ops(signature regprocedure)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to operator', signature);
end $function$;
comment on function private.expose_ops(regprocedure) is 'Stands beside each ops function: lets the operator''s login run it, and nobody else.';

CREATE OR REPLACE FUNCTION private.find_account(criteria jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  account uuid;
begin
  select a.id into account from core.accounts a
   where (criteria ->> 'account_id' is null or a.id = (criteria ->> 'account_id')::uuid)
     and (criteria ->> 'cpo_external_ref' is null or a.client_id = private.client_id() and a.cpo_external_ref = criteria ->> 'cpo_external_ref');
  if not found then
    perform private.refuse('account_not_found');
  end if;
  return account;
end $function$;
comment on function private.find_account(jsonb) is 'The account that agrees with every id given: {account_id, cpo_external_ref}, at least one of them.';
grant execute on function private.find_account(jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.find_connection(criteria jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;
comment on function private.find_connection(jsonb) is 'The one active connection that agrees with every id given: {connection_id, account_id, cpo_external_ref}, at least one of them.';
grant execute on function private.find_connection(jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.first_delivery_month()
 RETURNS date
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select date '2026-01-01' $function$;
comment on function private.first_delivery_month() is 'Deliveries count from 2026-01.';
grant execute on function private.first_delivery_month() to api_owner;

CREATE OR REPLACE FUNCTION private.has_signed_mandate(connection core.connections)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select m.mandate_status = 'signed' from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id
$function$;

CREATE OR REPLACE FUNCTION private.house()
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select uuid '00000000-0000-4000-8000-000000000000' $function$;
comment on function private.house() is 'The service''s own tenant. What a person owns lives here, whoever brought them: attribution may come later, or end, without moving a row.';
grant execute on function private.house() to api_owner;

CREATE OR REPLACE FUNCTION private.is_sandbox()
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$ select coalesce(current_setting('app.host', true), '') = 'sandbox' $function$;
comment on function private.is_sandbox() is 'Whether this transaction runs for the sandbox host.';
grant execute on function private.is_sandbox() to api_owner;

CREATE OR REPLACE FUNCTION private.is_test_ean(ean text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$ select private.is_sandbox() and ean ~ '^8716870000000000(16|23|30|47|54|61)$' $function$;
comment on function private.is_test_ean(text) is 'The six EANs with which an integrator picks the outcome of the check on the sandbox.';
grant execute on function private.is_test_ean(text) to api_owner;

CREATE OR REPLACE FUNCTION private.iso(moment timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $function$;
comment on function private.iso(timestamp with time zone) is 'A moment as the API writes it: UTC, no fraction, Z.';
grant execute on function private.iso(timestamp with time zone) to api_owner;

CREATE OR REPLACE FUNCTION private.isolate(tenant_table regclass, privileges text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  execute format('alter table %s enable row level security', tenant_table);
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = (select private.partner_id())) '
                 'with check (partner_id = (select private.partner_id()))', tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
end $function$;
comment on function private.isolate(regclass,text) is 'Stands beside each tenant table: row-level security by partner_id, and what the api functions may do with the rows.';

CREATE OR REPLACE FUNCTION private.judge_months(connection uuid)
 RETURNS void
 LANGUAGE sql
 SET search_path TO ''
AS $function$
  update core.delivered_months d
     set status = private.month_status(connection, d.period)
   where d.partner_id = private.partner_id() and d.connection_id = connection
     and d.status in ('staged', 'outside_mandate')
     and d.status <> private.month_status(connection, d.period)
$function$;
comment on function private.judge_months(uuid) is 'Judges a connection''s open months again, after a signature or its end. Locked months stay as they are.';
grant execute on function private.judge_months(uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.known_account(cpo_external_ref text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select a.id from core.accounts a
   where a.client_id = private.client_id() and a.cpo_external_ref = known_account.cpo_external_ref
$function$;
grant execute on function private.known_account(text) to api_owner;

CREATE OR REPLACE FUNCTION private.link_by_token(token_hash text)
 RETURNS core.mandate_links
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ select l from core.mandate_links l where l.token_hash = decode(link_by_token.token_hash, 'hex') $function$;
comment on function private.link_by_token(text) is 'Finds a link before its tenant is known; definer for that reason alone. The token is the credential.';
grant execute on function private.link_by_token(text) to api_owner;

CREATE OR REPLACE FUNCTION private.link_state(link core.mandate_links)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select case
    when link.id is null then 'unknown'
    when link.used_at is not null then coalesce(
      (select case m.status when 'declined' then 'declined' else 'signed' end
         from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id), 'voided')
    when link.voided_at is not null then 'voided'
    when link.expires_at <= private.now() then 'expired'
    else 'open' end
$function$;
grant execute on function private.link_state(core.mandate_links) to api_owner;

CREATE OR REPLACE FUNCTION private.location_for(address jsonb)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$;
comment on function private.location_for(jsonb) is 'The tenant''s row for an address: {postal_code, house_number, house_number_addition, street, city}.';
grant execute on function private.location_for(jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.lock_link(link core.mandate_links)
 RETURNS core.mandate_links
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- connection first, as connections:update does, so that the two cannot wait for each other
  perform from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id for update;
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  return link;
end $function$;
grant execute on function private.lock_link(core.mandate_links) to api_owner;

CREATE OR REPLACE FUNCTION private.mail_row(mail core.mail_outbox)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object(
    'id', mail.id,
    'partner_slug', (select p.slug from core.partners p where p.id = mail.partner_id),
    'created_at', private.iso(mail.created_at),
    'status', mail.status,
    'recipient', mail.recipient,
    'subject', mail.subject,
    'template', mail.template,
    'attempts', mail.attempts,
    'last_error', mail.last_error,
    'done_at', private.iso(mail.done_at))
$function$;

CREATE OR REPLACE FUNCTION private.mandate_facts(link core.mandate_links)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select jsonb_build_object(
    'partner_name', p.name,
    'type', a.type,
    'company_name', case when a.type <> 'particulier' then coalesce(a.company ->> 'name', a.display_name) end,
    'kvk', case when a.type <> 'particulier' then a.company ->> 'kvk' end,
    'full_name', s.full_name,
    'email', s.email,
    'ean_code', c.ean_code,
    'street', l.street,
    'house_number', l.house_number,
    'house_number_addition', l.house_number_addition,
    'postal_code', l.postal_code,
    'city', l.city,
    'valid_from', make_date(extract(year from private.today())::int, 1, 1),
    'valid_until', make_date(extract(year from private.today())::int + link.validity_years - 1, 12, 31))
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
  join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
  join core.partners p on p.id = c.partner_id
  where c.partner_id = link.partner_id and c.id = link.connection_id
$function$;
comment on function private.mandate_facts(core.mandate_links) is 'Everything the mandate''s text is composed of, and where its code goes: the same facts give the same text.';
grant execute on function private.mandate_facts(core.mandate_links) to api_owner;

CREATE OR REPLACE FUNCTION private.month_status(connection uuid, period date)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select case
    when count(*) filter (where m.status <> 'declined') = 0 then 'staged'  -- nobody has signed yet: kept until somebody does
    when period >= private.first_delivery_month()
         and bool_or(m.status in ('signed', 'expired') and period between m.valid_from and m.valid_until) then 'staged'
    else 'outside_mandate' end
  from core.mandates m
  where m.partner_id = private.partner_id() and m.connection_id = connection
$function$;
comment on function private.month_status(uuid,date) is 'Whether a month lies inside a mandate of its connection: staged, or outside_mandate.';
grant execute on function private.month_status(uuid,date) to api_owner;

CREATE OR REPLACE FUNCTION private.newest_mails(input jsonb, size integer)
 RETURNS SETOF core.mail_outbox
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  partner uuid;
  wanted  constant text := lower(input ->> 'to');
begin
  if input ->> 'partner' is not null then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return query
    select * from core.mail_outbox m
     where (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted)
     order by m.created_at desc, m.id desc limit size;
end $function$;
comment on function private.newest_mails(jsonb,integer) is 'The newest mails of {to?, partner?}.';

CREATE OR REPLACE FUNCTION private.now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$ select pg_catalog.now() $function$;
comment on function private.now() is 'The only clock of the rules. Tests replace this one function in their own copy of the database to travel in time.';
grant execute on function private.now() to api_owner;

CREATE OR REPLACE FUNCTION private.operator_name(value text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  if coalesce(length(btrim(value)), 0) not between 1 and 120 or value ~ '[[:cntrl:]]' then
    perform private.refuse('invalid_name');
  end if;
  return btrim(value);
end $function$;
comment on function private.operator_name(text) is 'A name of 1 to 120 characters on one line, trimmed.';

CREATE OR REPLACE FUNCTION private.partner_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$ select nullif(current_setting('app.partner_id', true), '')::uuid $function$;
comment on function private.partner_id() is 'The tenant of this transaction; null matches no row.';
grant execute on function private.partner_id() to api_owner;

CREATE OR REPLACE FUNCTION private.partner_named(named text)
 RETURNS core.partners
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  partner core.partners;
begin
  select * into partner from core.partners p where p.id = private.as_uuid(named) or p.slug = named;
  if not found then
    perform private.refuse('partner_not_found', json_build_object('partner', named));
  end if;
  perform private.act_for_partner(partner.id);
  return partner;
end $function$;
comment on function private.partner_named(text) is 'The partner of an id or a slug, made the tenant of this transaction.';

CREATE OR REPLACE FUNCTION private.partner_row(partner core.partners)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object('id', partner.id, 'name', partner.name, 'slug', partner.slug, 'is_active', partner.is_active,
                           'created_at', private.iso(partner.created_at))
$function$;

CREATE OR REPLACE FUNCTION private.pick_connection(account uuid, wanted uuid, otherwise_first boolean)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  active uuid[] := array(
    select c.id from core.connections c
     where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' and (wanted is null or c.id = wanted)
     order by c.created_at, c.id);
begin
  if cardinality(active) = 0 then
    perform private.refuse('no_connection');
  elsif cardinality(active) > 1 and not otherwise_first then
    perform private.refuse('ambiguous_connection');
  end if;
  return active[1];
end $function$;
comment on function private.pick_connection(uuid,uuid,boolean) is 'The active connection of an account: the one wanted, the only one, or the first where otherwise_first says that will do.';
grant execute on function private.pick_connection(uuid,uuid,boolean) to api_owner;

CREATE OR REPLACE FUNCTION private.purge_mail()
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with purged as (delete from core.mail_outbox m where m.created_at < private.now() - interval '90 days' and m.status <> 'queued' returning 1)
  select count(*) from purged
$function$;
comment on function private.purge_mail() is 'Deletes mail older than 90 days. Definer: every tenant at once.';
grant execute on function private.purge_mail() to api_owner;

CREATE OR REPLACE FUNCTION private.rate_limit_row(bucket text, client uuid)
 RETURNS json
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select json_build_object(
    'bucket', l.bucket,
    'client_id', (select c.client_id from core.oauth_clients c where c.id = client),
    'quota', coalesce(o.quota, l.quota),
    'window_seconds', l.window_seconds,
    'is_default', o.quota is null)
  from core.rate_limits l
  left join core.rate_limit_overrides o on o.bucket = l.bucket and o.subject = 'client:' || client
  where l.bucket = rate_limit_row.bucket
$function$;

CREATE OR REPLACE FUNCTION private.read_batch(months jsonb)
 RETURNS SETOF private.batch_item
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with sent as (
    select m.place,
           m.item ->> 'period' as period_sent,
           case when jsonb_typeof(m.item -> 'period') = 'string' and m.item ->> 'period' ~ '^[12][0-9]{3}-(0[1-9]|1[0-2])(-01)?$'
                then to_date(left(m.item ->> 'period', 7), 'YYYY-MM') end as period,
           case when jsonb_typeof(m.item -> 'total_kwh') = 'number' and (m.item ->> 'total_kwh')::numeric between 0 and 1000000
                then round((m.item ->> 'total_kwh')::numeric, 3) end as total_kwh,
           case when coalesce(jsonb_typeof(m.item -> 'session_count'), 'null') = 'null' then 0
                when jsonb_typeof(m.item -> 'session_count') = 'number' and (m.item ->> 'session_count')::numeric between 0 and 1000000
                then (m.item ->> 'session_count')::numeric end as session_count
      from jsonb_array_elements(months) with ordinality as m (item, place)
  )
  select place::int, period_sent, period, total_kwh, session_count,
         case when period is null then 'bad_period'
              when count(*) over (partition by period) > 1 then 'duplicate_in_batch'
              when period > private.today() then 'future_period'
              when total_kwh is null then 'bad_kwh'
              when session_count is null or session_count <> trunc(session_count) then 'bad_session_count' end
    from sent
$function$;
comment on function private.read_batch(jsonb) is 'The items of a batch in their order, each read on its own: reason is null, bad_period, duplicate_in_batch, future_period, bad_kwh or bad_session_count. kWh, three decimals.';
grant execute on function private.read_batch(jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.read_return_url(url text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  -- return URLs continue with / or ?, so a slash at the end would allow none
  wanted constant text := rtrim(url, '/');
begin
  if length(wanted) > 500 or wanted !~ '^(https://[^/?#@[:space:][:cntrl:]]+|http://(localhost|127\.0\.0\.1)(:[0-9]+)?)(/[^?#[:space:][:cntrl:]]*)?$' then
    perform private.refuse('invalid_return_url');
  end if;
  return wanted;
end $function$;
comment on function private.read_return_url(text) is 'The root of a client''s return URLs: https, or http on this machine; no credentials, query or fragment. Null stays null.';

CREATE OR REPLACE FUNCTION private.read_scopes(scopes jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
begin
  if cardinality(wanted) = 0 or not wanted <@ private.cpo_scopes() then
    perform private.refuse('unknown_scope', json_build_object('scopes', private.cpo_scopes()));
  end if;
  return array(select s from unnest(private.cpo_scopes()) s where s = any (wanted));
end $function$;
comment on function private.read_scopes(jsonb) is 'A list of at least one scope, each once, in the order of cpo_scopes.';

CREATE OR REPLACE FUNCTION private.record_ean_check(connection uuid, ean text, postal_code text, house_number integer, addition text, source text, outcome text, reason text)
 RETURNS void
 LANGUAGE sql
 SET search_path TO ''
AS $function$
  insert into core.ean_checks
    (partner_id, connection_id, ean_code, postal_code, house_number, house_number_addition, source, outcome, reason)
  values (private.partner_id(), connection, ean, postal_code, house_number, addition, source, outcome, reason)
$function$;
grant execute on function private.record_ean_check(uuid,text,text,integer,text,text,text,text) to api_owner;

CREATE OR REPLACE FUNCTION private.refusal(code text, detail json DEFAULT '{}'::json)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select json_build_object('refused', code, 'with', detail) $function$;
comment on function private.refusal(text,json) is 'The same refusal as an answer, for where something written in this transaction must stay (an attempt, a recorded check).';
grant execute on function private.refusal(text,json) to api_owner;

CREATE OR REPLACE FUNCTION private.refuse(code text, detail json DEFAULT '{}'::json)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  raise exception using errcode = 'RULE1', message = code, detail = detail::text;
end $function$;
comment on function private.refuse(text,json) is 'Ends the transaction with an error of the API. code is a key of the error table; detail holds the extra fields of the answer.';
grant execute on function private.refuse(text,json) to api_owner;

CREATE OR REPLACE FUNCTION private.repeat_account(account uuid, iban jsonb)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if jsonb_typeof(iban) = 'object' then
    perform private.store_iban(account, iban);
  end if;
  return private.account_answer(account, true);
end $function$;
comment on function private.repeat_account(uuid,jsonb) is 'A repeat by cpo_external_ref: stores a new IBAN if one was sent and ignores the rest (specification section 4.1).';
grant execute on function private.repeat_account(uuid,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.resolve_charger(vendor text, model text, meter_type text DEFAULT NULL::text)
 RETURNS private.charger_resolution
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  answer      private.charger_resolution;
  family      record;
  vendor_key  text;
  model_key   text;
  meter_key   text := private.charger_key(coalesce(left(meter_type, 120), ''));
begin
  answer.vendor := left(trim(coalesce(vendor, '')), 120);
  answer.model  := left(trim(coalesce(model, '')), 120);
  vendor_key    := private.vendor_key(answer.vendor);
  model_key     := private.charger_key(answer.model);

  select m.id, m.brand, m.model, m.mid_meter, m.mid_evidence, meter_key ~ p.meter_type_pattern as meter_fits
    into family
    from core.charger_vendor_aliases a
    join core.charger_model_patterns p on p.brand = a.brand and model_key ~ p.model_pattern
    join core.charger_models m on m.brand = p.brand and m.model = p.model
   where a.vendor = vendor_key
   order by meter_fits desc, p.precedence, p.brand, p.model_pattern, p.meter_type_pattern
   limit 1;

  answer.resolved := coalesce(family.meter_fits and family.mid_meter is not null, false);
  answer.brand    := coalesce(family.brand,
    (select a.brand from core.charger_vendor_aliases a where a.vendor = vendor_key and a.names_brand));
  if answer.resolved then
    answer.catalog_charger_id := family.id;
    answer.catalog_model      := family.model;
    answer.mid_meter          := family.mid_meter;
    answer.suggestions        := '[]';
  else
    select coalesce(json_agg(private.catalog_charger(m) order by lower(m.model) collate "C"), '[]')
      into answer.suggestions
      from core.charger_models m
     where m.brand = answer.brand and m.listed;
  end if;

  answer.detail := case
    when answer.mid_meter     then format('The %s %s has a MID meter.', family.brand, family.model)
    when not answer.mid_meter then format('The %s %s has no MID meter: what it charges does not count for ERE.', family.brand, family.model)
    when not family.meter_fits then
      format('%s sells this model with and without a MID meter; only its meterType tells which.', family.brand)
    when family.mid_evidence = 'variant' then
      format('This model is sold with and without a MID meter. If this one has it, choose "%s" by its catalog_charger_id.', family.model)
    when family.mid_evidence = 'unknown' then
      format('Whether the %s %s has a MID meter is not established.', family.brand, family.model)
    when answer.brand is null then 'No brand in the catalog is known by this vendor and model.'
    when json_array_length(answer.suggestions) = 0 then
      format('No %s model is known by this name, and none with a MID meter is in the catalog.', answer.brand)
    else format('No %s model is known by this name. If it is one of the suggestions, choose it by its catalog_charger_id.', answer.brand)
  end;
  return answer;
end $function$;
comment on function private.resolve_charger(text,text,text) is 'Which model a charger is, from its BootNotification (chargePointVendor, chargePointModel, meterType). The only resolver: API and gateways ask it. Never raises; takes 120 characters of each.';
grant execute on function private.resolve_charger(text,text,text) to api_owner;

CREATE OR REPLACE FUNCTION private.return_url_allowed(return_url text, registered text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$
  select coalesce(
    starts_with(return_url, registered) and substr(return_url, length(registered) + 1, 1) in ('', '/', '?')
    and position('#' in return_url) = 0, false)
$function$;
comment on function private.return_url_allowed(text,text) is 'Whether a return URL is the registered one followed by /, ? or nothing, without a fragment.';
grant execute on function private.return_url_allowed(text,text) to api_owner;

CREATE OR REPLACE FUNCTION private.set_month_status(month core.delivered_months, wanted text, action text)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  before constant text := month.status;
begin
  if wanted <> before then
    update core.delivered_months d set status = wanted
     where d.partner_id = month.partner_id and d.connection_id = month.connection_id and d.period = month.period
    returning * into month;
    perform private.audit(action, month.connection_id, jsonb_build_object('period', month.period, 'before', before, 'after', wanted));
  end if;
  return json_build_object(
    'changed', wanted <> before,
    'month', json_build_object('connection_id', month.connection_id, 'period', month.period, 'total_kwh', month.total_kwh,
                               'session_count', month.session_count, 'status', month.status,
                               'received_at', private.iso(month.received_at)));
end $function$;

CREATE OR REPLACE FUNCTION private.set_partner_active(input jsonb, wanted boolean)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  partner core.partners;
  changed boolean;
begin
  perform private.act_as_operator(input);
  partner := private.partner_named(input ->> 'partner');
  if partner.id = private.house() and not wanted then
    perform private.refuse('house_stays_active');
  end if;
  update core.partners p set is_active = wanted where p.id = partner.id and p.is_active <> wanted;
  changed := found;
  if changed then
    partner.is_active := wanted;
    perform private.audit(case when wanted then 'partner.activated' else 'partner.deactivated' end, partner.id);
  end if;
  return json_build_object('changed', changed, 'partner', private.partner_row(partner));
end $function$;

CREATE OR REPLACE FUNCTION private.settle_mail(mail uuid, failure text, permanent boolean)
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
         html = case when failure is null then '' else m.html end,
         text = case when failure is null then '' else m.text end,
         links = case when failure is null then '{}' else m.links end
   where m.id = mail and m.status = 'queued'
$function$;
comment on function private.settle_mail(uuid,text,boolean) is 'Wipes what was sent: it held live links and codes. Definer: the worker sends the mail of every tenant.';
grant execute on function private.settle_mail(uuid,text,boolean) to api_owner;

CREATE OR REPLACE FUNCTION private.store_iban(account uuid, iban jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update core.accounts
     set iban_ciphertext = iban ->> 'ciphertext', iban_key_id = iban ->> 'key_id', iban_last4 = iban ->> 'last4'
   where id = account;
  perform private.audit('account.iban_stored', account);
  perform private.advance_registration(account);
end $function$;
comment on function private.store_iban(uuid,jsonb) is 'Stores an encrypted IBAN: {ciphertext, key_id, last4}.';
grant execute on function private.store_iban(uuid,jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.sweep_rate_limits()
 RETURNS bigint
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with swept as (delete from core.rate_limit_state where full_at < private.now() returning 1)
  select count(*) from swept
$function$;
comment on function private.sweep_rate_limits() is 'Deletes buckets that are full again: same as never used.';
grant execute on function private.sweep_rate_limits() to api_owner;

CREATE OR REPLACE FUNCTION private.today()
 RETURNS date
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$ select (private.now() at time zone 'Europe/Amsterdam')::date $function$;
comment on function private.today() is 'The calendar day in the Netherlands: borders of months, years and mandates are Dutch.';
grant execute on function private.today() to api_owner;

CREATE OR REPLACE FUNCTION private.user_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$ select nullif(current_setting('app.user_id', true), '')::uuid $function$;
comment on function private.user_id() is 'The person this transaction acts for, or null.';
grant execute on function private.user_id() to api_owner;

CREATE OR REPLACE FUNCTION private.user_profile(person uuid, OUT email text, OUT name text, OUT created_at timestamp with time zone)
 RETURNS record
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select u.email, coalesce(u.raw_user_meta_data ->> 'full_name', u.raw_user_meta_data ->> 'name'), u.created_at
    from auth.users u where u.id = person
$function$;
comment on function private.user_profile(uuid) is 'E-mail, name and age of a login, all null when it is gone. Definer, because logins belong to Supabase Auth; we keep no copy.';
grant execute on function private.user_profile(uuid) to api_owner;

CREATE OR REPLACE FUNCTION private.user_scopes(credential jsonb, OUT user_id uuid, OUT client_id uuid, OUT scopes text[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if credential ->> 'kind' = 'personal_token' then
    -- last use to the minute: worth showing, not worth a write a request
    update core.personal_tokens t set last_used_at = private.now()
     where t.token_hash = decode(credential ->> 'token_hash', 'hex') and t.revoked_at is null
       and (t.last_used_at is null or t.last_used_at < private.now() - interval '1 minute');
    select t.user_id, t.scopes into user_scopes.user_id, user_scopes.scopes
      from core.personal_tokens t
     where t.token_hash = decode(credential ->> 'token_hash', 'hex')
       and t.revoked_at is null and (t.expires_at is null or t.expires_at > private.now());
  else
    select g.user_id, c.id, array(select unnest(c.scopes) intersect select jsonb_array_elements_text(credential -> 'scopes'))
      into user_scopes.user_id, user_scopes.client_id, user_scopes.scopes
      from core.oauth_grants g
      join core.oauth_clients c on c.id = g.client_id
     where g.id = (credential ->> 'grant_id')::uuid and g.revoked_at is null
       and g.user_id = (credential ->> 'user_id')::uuid and c.client_id = credential ->> 'client_id'
       and c.disabled_at is null and to_timestamp((credential ->> 'issued_at')::bigint) >= c.tokens_valid_from
       and not exists (select from core.revoked_access_tokens r where r.id = credential ->> 'token_id');
  end if;
end $function$;
comment on function private.user_scopes(jsonb) is 'Whose token this is and what it may do, all null when it is no longer good. A scope holds only while token and client both have it. Definer: admission runs before there is a person.';
grant execute on function private.user_scopes(jsonb) to api_owner;

CREATE OR REPLACE FUNCTION private.vendor_key(reported text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$
  select regexp_replace(private.charger_key(reported),
    '[ ,]+(b\.?v\.?|n\.?v\.?|gmbh( ?&? ?co\.? ?kg)?|kg|ag|asa?|a/s|ab|oy|s\.?a\.?s?\.?|s\.?l\.?u?\.?|s\.?r\.?l\.?|s\.?p\.?a\.?|'
    'se|(co\.?,? ?)?ltd\.?|limited|inc\.?|corp\.?|llc|plc)$', '')
$function$;
comment on function private.vendor_key(text) is 'A chargePointVendor as the aliases expect it: without the legal form of the company.';
grant execute on function private.vendor_key(text) to api_owner;

CREATE OR REPLACE FUNCTION private.void_mandate_links(connection uuid)
 RETURNS void
 LANGUAGE sql
 SET search_path TO ''
AS $function$
  update core.mandate_links l set voided_at = private.now()
   where l.connection_id = connection and l.voided_at is null and l.used_at is null
$function$;
grant execute on function private.void_mandate_links(uuid) to api_owner;

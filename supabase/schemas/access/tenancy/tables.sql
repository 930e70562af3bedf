create table core.partners (
  id                uuid          not null default gen_random_uuid(),
  name              text          not null,
  slug              text          not null,
  is_active         boolean       not null default true,
  created_at        timestamptz   not null default private.now(),
  referral_code     text,
  return_url        text,
  default_fee_pct   numeric(5, 2) not null default 20,
  partner_share_pct numeric(5, 2) not null default 25,
  company           jsonb         not null default '{}',
  iban_ciphertext   text,
  iban_key_id       text,
  iban_last4        text,
  iban_holder       text,
  iban_changed_at   timestamptz   not null default private.now(),
  vat_regime        text,
  branding          jsonb         not null default '{}',
  charger_brands    text[]        not null default '{}',
  locale            text,
  mandate_years     int,
  constraint partners_pkey primary key (id),
  constraint partners_slug_key unique (slug),
  constraint partners_slug_shape check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 60),
  constraint partners_name_length check (length(name) between 1 and 120),
  constraint partners_house_is_active check (is_active or id <> '00000000-0000-4000-8000-000000000000'),
  constraint partners_house_has_no_settings check (id <> '00000000-0000-4000-8000-000000000000'
                                                   or num_nonnulls(referral_code, return_url, iban_last4,
                                                                   vat_regime) = 0
    and company = '{}' and branding = '{}' and charger_brands = '{}' and default_fee_pct = 20 and partner_share_pct = 25
        and num_nonnulls(locale, mandate_years) = 0),
  constraint partners_locale_known check (locale in ('nl', 'en')),
  constraint partners_mandate_years_known check (mandate_years in (1, 3, 5)),
  constraint partners_referral_code_key unique (referral_code),
  constraint partners_referral_code_shape check (referral_code ~ '^[A-Z0-9]{4,20}$'),
  constraint partners_vat_regime_known check (vat_regime in ('none', 'small_business', 'regular', 'reverse_charge')),
  constraint partners_return_url_length check (length(return_url) <= 500),
  constraint partners_percentages check (default_fee_pct between 0 and 100 and partner_share_pct between 0 and 100),
  constraint partners_color_is_one check (branding ->> 'primary_color' ~ '^#[0-9A-Fa-f]{6}$'),
  constraint partners_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4, iban_holder) in (0, 4))
);
comment on table core.partners is
  'A tenant: a charge-point operator, installer or other business. Kept as long as its customers'' records.';
comment on column core.partners.return_url is
  'Registered by the operator or in the portal. Sign-in links may lead back only to it and below it.';
comment on column core.partners.branding is
  'display_name, logo_url, primary_color, reply_to: how pages and mail to its customers look. '
  'packages/shared/src/domain/brand.ts says how the color is used on light and on dark.';
comment on column core.partners.vat_regime is
  'How VAT is charged on its share. none: no business for VAT. small_business: exempt, the Dutch KOR. regular. '
  'reverse_charge: a business in another country. Set by the operator. Null while nobody has asked; no invoice is '
  'written until then.';
comment on column core.partners.iban_changed_at is
  'When the IBAN was stored or changed: money waits 48 hours before it goes there.';
comment on column core.partners.charger_brands is
  'Brands whose cloud the partner has linked to the service: a draft may have a charger of these only. Set by the '
  'operator.';
comment on column core.partners.locale is
  'The language for customers whose own is not known. Null: pages speak the browser''s, mail Dutch. Set by the '
  'operator.';
comment on column core.partners.mandate_years is
  'For how many calendar years its customers sign; null if they choose. Set by the operator.';

create policy "a tenant sees itself" on core.partners
  for select to api_owner using (id = (select private.partner_id()));
create policy "a tenant changes itself" on core.partners for update to api_owner
  using (id = (select private.partner_id())) with check (id = (select private.partner_id()));
grant select on core.partners to api_owner;
grant update (company, iban_ciphertext, iban_key_id, iban_last4, iban_holder, branding, return_url)
    on core.partners to api_owner;

-- The service's own tenant, for which nobody acts. What a person owns lives here: attribution may begin or end without
-- moving a row.
create function private.people_tenant() returns uuid
language sql immutable parallel safe
return uuid '00000000-0000-4000-8000-000000000000';

insert into core.partners (id, name, slug) values (private.people_tenant(), 'De dienst zelf', 'service');

create table core.partner_logos (
  partner_id  uuid        not null,
  hash        bytea       not null,
  png         bytea       not null,
  width       int         not null,
  height      int         not null,
  created_at  timestamptz not null default private.now(),
  replaced_at timestamptz,
  constraint partner_logos_pkey primary key (partner_id, hash),
  constraint partner_logos_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint partner_logos_hash_is_of_png check (hash = sha256(png)),
  constraint partner_logos_size check (length(png) <= 307200 and width between 1 and 200 and height between 1 and 48)
);
comment on table core.partner_logos is
  'The logo of a partner, and the last ten that it replaced, kept 90 days for mail that shows them.';
comment on column core.partner_logos.width is 'How wide it is shown, in CSS pixels; height likewise.';
-- serves: the logo that is shown now
create unique index partner_logos_shown on core.partner_logos (partner_id) where replaced_at is null;
-- serves: the picture at an address
create index partner_logos_hash on core.partner_logos (hash);
select private.enable_tenant_policy('core.partner_logos', 'select, insert, update, delete');

create table core.partner_managers (
  partner_id uuid        not null,
  user_id    uuid        not null,
  created_at timestamptz not null default private.now(),
  constraint partner_managers_pkey primary key (partner_id, user_id),
  constraint partner_managers_user_id_key unique (user_id),
  constraint partner_managers_not_of_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint partner_managers_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint partner_managers_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade
);
comment on table core.partner_managers is
  'Who manages a partner in the portal: a person manages one partner. They are invited, or added by the operator.';
select private.enable_tenant_policy('core.partner_managers', 'select, delete');
select private.enable_owner_policy('core.partner_managers', 'user_id');

create table core.partner_keys (
  partner_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  key_hash      bytea       not null,
  prefix        text        not null,
  last4         text        not null,
  created_at    timestamptz not null default private.now(),
  last_used_at  timestamptz,
  revoked_at    timestamptz,
  grant_id      uuid,
  secret_number bigint,
  constraint partner_keys_application_whole check (num_nulls(grant_id, secret_number) in (0, 2)),
  constraint partner_keys_pkey primary key (partner_id, id),
  constraint partner_keys_key_hash_key unique (key_hash),
  constraint partner_keys_not_of_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint partner_keys_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.partner_keys is
  'Partner API keys as their SHA-256, shown once. One active key a partner. Revoked ones stay for the audit.';
comment on column core.partner_keys.grant_id is
  'The grant of the application that minted it, and the application''s secret then: private.key_stands ends it with '
  'them. Null: the partner''s own key.';
-- serves: one active key a partner
create unique index partner_keys_active on core.partner_keys (partner_id) where revoked_at is null;
select private.enable_tenant_policy('core.partner_keys', 'select, insert, update');

-- The scopes of a CPO client (client), an application for a person (user) or a personal_token, in the specification's
-- order.
create function private.scopes_of(holder text) returns text[]
language sql immutable
as $$
  select case holder
    when 'client' then array['cpo:accounts:read', 'cpo:accounts:write', 'cpo:mandates:write', 'cpo:chargers:write',
                             'cpo:sessions:write', 'cpo:webhooks']
    when 'personal_token' then own.data
    when 'user' then own.data || array['partners:read', 'partners:write'] end
    from (select array['chargers:read', 'chargers:write', 'sessions:read', 'energy:read', 'profile:read'] as data) own
$$;

create table core.oauth_clients (
  id                 uuid        not null default gen_random_uuid(),
  client_id          text        not null,
  partner_id         uuid,
  name               text        not null,
  grant_types        text[]      not null default '{client_credentials}',
  secret_hash        bytea       not null,
  secret_rotated_at  timestamptz not null default private.now(),
  scopes             text[]      not null default '{}',
  return_url         text,
  secret_number      bigint      not null default 1,
  tokens_from_secret bigint      not null default 1,
  last_used_at       timestamptz,
  disabled_at        timestamptz,
  created_at         timestamptz not null default private.now(),
  redirect_uris      text[]      not null default '{}',
  operated_by        text,
  constraint oauth_clients_pkey primary key (id),
  constraint oauth_clients_client_id_key unique (client_id),
  constraint oauth_clients_partner_key unique (partner_id, id),
  constraint oauth_clients_not_of_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint oauth_clients_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint oauth_clients_grant_types_known check (grant_types <@ '{client_credentials,authorization_code,'
                                                                   'refresh_token}'),
  constraint oauth_clients_scopes_known check (scopes <@ (private.scopes_of('client') || private.scopes_of('user'))),
  constraint oauth_clients_secret_is_sha256 check (length(secret_hash) = 32),
  constraint oauth_clients_return_url_length check (length(return_url) <= 500),
  constraint oauth_clients_operated_by_length check (length(operated_by) between 1 and 120)
);
comment on table core.oauth_clients is
  'A registered OAuth client. secret_hash is the SHA-256 of 32 random bytes; the secret is shown once and never '
  'stored. Never deleted: disabled.';
comment on column core.oauth_clients.last_used_at is
  'When a request with a client-credentials token of it was last admitted, to the minute; null before the first.';
comment on column core.oauth_clients.partner_id is
  'Null until the operator links the client; a client without partner is refused with client_not_linked.';
comment on column core.oauth_clients.secret_number is
  'Grows with each secret of the client. An access token names the secret that bought it.';
comment on column core.oauth_clients.tokens_from_secret is
  'Access tokens of earlier secrets are refused, whatever the clocks say. So a leaked secret''s tokens end.';
comment on column core.oauth_clients.redirect_uris is 'Compared letter for letter (RFC 9700 section 2.1).';
comment on column core.oauth_clients.operated_by is
  'Who runs the application, as the consent page names them; null: its partner.';
create policy "a client sees itself" on core.oauth_clients
  for select to api_owner using (id = (select private.client_id()));
grant select on core.oauth_clients to api_owner;

create table core.attributions (
  partner_id     uuid        not null,
  user_id        uuid        not null,
  source         text        not null,
  external_ref   text,
  attached_month date        not null,
  created_at     timestamptz not null default private.now(),
  constraint attributions_pkey primary key (partner_id, user_id),
  constraint attributions_user_id_key unique (user_id),
  constraint attributions_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint attributions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint attributions_not_to_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint attributions_source_known
    check (source in ('partner_upload', 'partner_invite', 'referral_link', 'referral_code', 'oauth_consent', 'manual')),
  constraint attributions_attached_month_is_month check (attached_month = date_trunc('month', attached_month))
);
comment on table core.attributions is
  'Which partner brought a person: at most one, never overwritten. Only partner_upload and partner_invite disclose who '
  'it is. Ends with the login or when the person stops sharing.';
select private.enable_tenant_policy('core.attributions', 'select');
select private.enable_owner_policy('core.attributions', 'user_id');
-- serves: the customers of a partner, newest first
create index attributions_newest on core.attributions (partner_id, created_at desc, user_id desc);
-- serves: the customers of a month, in the partner's portal
create index attributions_by_month on core.attributions (partner_id, attached_month, created_at desc, user_id desc);
-- serves: a customer by the beginning of the partner's own reference
create index attributions_reference on core.attributions (partner_id, lower(external_ref) text_pattern_ops)
    where external_ref is not null;

create table core.ended_attributions (
  partner_id     uuid        not null,
  user_id        uuid        not null,
  attached_month date        not null,
  last_month     date        not null,
  ended_at       timestamptz not null default private.now(),
  constraint ended_attributions_pkey primary key (partner_id, user_id, attached_month),
  constraint ended_attributions_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint ended_attributions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint ended_attributions_months check (attached_month <= last_month)
);
comment on table core.ended_attributions is
  'The partner that brought a person until they stopped sharing. These months still count for the partner, also if '
  'they are booked later. It discloses nothing. Ends with the login.';
-- serves: the partner of a month that is booked, and the deletion of a login
create index ended_attributions_user on core.ended_attributions (user_id);
select private.enable_tenant_policy('core.ended_attributions', 'select');
select private.enable_owner_policy('core.ended_attributions', 'user_id');

create table core.manager_invitations (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  email           text        not null,
  token_hash      bytea       not null,
  invited_by      uuid,
  created_at      timestamptz not null default private.now(),
  expires_at      timestamptz not null default private.now() + interval '7 days',
  used_at         timestamptz,
  withdrawn_at    timestamptz,
  constraint manager_invitations_pkey primary key (partner_id, id),
  constraint manager_invitations_token_hash_key unique (token_hash),
  constraint manager_invitations_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.manager_invitations is
  'Who was invited to manage a partner, by the SHA-256 of a mailed link''s secret: seven days, one use. Personal data; '
  'deleted 30 days after it expired.';
comment on column core.manager_invitations.invited_by is
  'The manager who invited; null for the operator. It ends when they go: somebody who is removed must not come back by '
  'it.';
-- serves: the open invitation of an address
create unique index manager_invitations_open on core.manager_invitations (partner_id, email)
    where used_at is null and withdrawn_at is null;
-- serves: the clean-up
create index manager_invitations_expiry on core.manager_invitations (expires_at);
select private.enable_tenant_policy('core.manager_invitations', 'select, insert, update');

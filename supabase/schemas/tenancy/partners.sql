-- Partners: the tenants, and the service's own tenant among them, the house.

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
  constraint partners_house_has_no_settings check (id <> '00000000-0000-4000-8000-000000000000' or num_nonnulls(referral_code, return_url, iban_last4, vat_regime) = 0
    and company = '{}' and branding = '{}' and charger_brands = '{}' and default_fee_pct = 20 and partner_share_pct = 25 and num_nonnulls(locale, mandate_years) = 0),
  constraint partners_locale_known check (locale in ('nl', 'en')),
  constraint partners_mandate_years_known check (mandate_years in (1, 3, 5)),
  constraint partners_referral_code_key unique (referral_code),
  constraint partners_referral_code_shape check (referral_code ~ '^[A-Z0-9]{4,20}$'),
  constraint partners_vat_regime_known check (vat_regime in ('none', 'small_business', 'regular', 'reverse_charge')),
  constraint partners_return_url_length check (length(return_url) <= 500),
  constraint partners_percentages check (default_fee_pct between 0 and 100 and partner_share_pct between 0 and 100),
  constraint partners_accents_are_colors check (
    concat(branding ->> 'light') ~ '^(#[0-9a-f]{6})?$' and concat(branding ->> 'dark') ~ '^(#[0-9a-f]{6})?$'),
  constraint partners_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4, iban_holder) in (0, 4))
);
comment on table core.partners is 'A tenant: a charge-point operator, installer or other business. Kept as long as its customers'' records are.';
comment on column core.partners.return_url is 'Registered by the operator or in the portal; sign-in links may lead back to it and below it, nowhere else.';
comment on column core.partners.branding is 'display_name, logo_url, primary_color, reply_to: how pages and mail to its customers look. light and dark are the colour where it can be read on such a ground, else null: packages/shared/src/domain/brand.ts judges it when it is chosen.';
comment on column core.partners.vat_regime is
  'How VAT is charged on its share: none (no business for VAT), small_business (exempt, the Dutch KOR), regular, reverse_charge (by a business in another country). Set by the operator; null while nobody has asked, and no invoice is written until then.';
comment on column core.partners.iban_changed_at is 'When the account number came, or became another one: money waits 48 hours before it goes there.';
comment on column core.partners.charger_brands is 'Brands whose cloud the partner has linked to the service: a draft may come with a charger of these only. Set by the operator.';
comment on column core.partners.locale is 'The language its customers are spoken to in, null where theirs is not known: pages then speak the browser''s, mail Dutch. Set by the operator.';
comment on column core.partners.mandate_years is 'For how many calendar years its customers sign; null where they choose. Set by the operator.';

create function private.note_iban_change() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  new.iban_changed_at := private.now();
  return new;
end $$;
comment on function private.note_iban_change() is 'Notes when an account number changes, whoever changes it. One that is encrypted anew counts as another.';
grant execute on function private.note_iban_change() to api_owner;

create trigger note_iban_change before update of iban_ciphertext on core.partners for each row
  when (new.iban_ciphertext is distinct from old.iban_ciphertext) execute function private.note_iban_change();

alter table core.partners enable row level security;
create policy "a tenant sees itself" on core.partners
  for select to api_owner using (id = (select private.partner_id()));
create policy "a tenant changes itself" on core.partners for update to api_owner
  using (id = (select private.partner_id())) with check (id = (select private.partner_id()));
grant select on core.partners to api_owner;
grant update (company, iban_ciphertext, iban_key_id, iban_last4, iban_holder, branding, return_url) on core.partners to api_owner;

create function private.is_host_name(host text) returns boolean
language sql immutable parallel safe
-- collate "C": a range of letters is of ASCII alone
return length(host) <= 253
   and (host collate "C" ~ '^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$'
        and host collate "C" !~ '(^|\.)[0-9]+$'
        or host collate "C" ~ '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(?!$)|$)){4}$');
comment on function private.is_host_name(text) is
  'Whether a text is a host as addresses have it: a name of letters, digits and hyphens (RFC 1123, IDNA in its ASCII form), or an IPv4 address.';
grant execute on function private.is_host_name(text) to api_owner;

create function private.return_root(url text) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  -- return URLs continue with / or ?, so a slash at the end would allow none
  wanted constant text := rtrim(url, '/');
begin
  return case when length(wanted) <= 500
               and wanted ~ '^(https://[^/?#@:[:space:][:cntrl:]]+(:[0-9]{1,5})?|http://(localhost|127\.0\.0\.1)(:[0-9]{1,5})?)(/[^?#[:space:][:cntrl:]]*)?$'
               and private.is_host_name(substring(wanted from '^https?://([^/:]+)')) then wanted end;
end $$;
comment on function private.return_root(text) is
  'The root of the return URLs of a partner or a client: https, or http on this machine; a host as private.is_host_name takes it; no credentials, query or fragment. Null for what is none.';
grant execute on function private.return_root(text) to api_owner;

create function private.house() returns uuid
language sql immutable parallel safe
return uuid '00000000-0000-4000-8000-000000000000';
comment on function private.house() is
  'The service''s own tenant. What a person owns lives here, whoever brought them: attribution may come later, or end, without moving a row. Nobody acts for it: it has no clients, keys, managers or settings.';
grant execute on function private.house() to api_owner;

insert into core.partners (id, name, slug) values (private.house(), 'De dienst zelf', 'service');

create function private.active_partner(partner uuid) returns uuid
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select p.id from core.partners p where p.id = active_partner.partner and p.is_active);
end $$;
comment on function private.active_partner(uuid) is
  'The partner if it is active, else null; definer because admission runs before a tenant is set.';
grant execute on function private.active_partner(uuid) to api_owner;

create function private.partner_display_name(partner core.partners) returns text
language plpgsql stable
set search_path = ''
as $$ begin return coalesce(partner.branding ->> 'display_name', partner.name); end $$;
grant execute on function private.partner_display_name(core.partners) to api_owner;

create function private.partner_brand(partner core.partners) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'name', private.partner_display_name(partner),
    'reply_to', nullif(partner.branding ->> 'reply_to', ''),
    'light', partner.branding ->> 'light',
    'dark', partner.branding ->> 'dark',
    'logo', (select jsonb_build_object('hash', encode(l.hash, 'hex'), 'width', l.width, 'height', l.height)
               from core.partner_logos l where l.partner_id = partner.id and l.replaced_at is null));
end $$;
comment on function private.partner_brand(core.partners) is
  'How pages and mail name a partner: {name, reply_to, light, dark, logo}; a colour only where it can be read, else null; logo {hash, width, height}, or null.';
grant execute on function private.partner_brand(core.partners) to api_owner;

-- The operator on partners: create, list, activate, settings, managers, the first key.

-- private.act_as_operator, and the partner that {partner} names by id or slug. It becomes the tenant of the
-- transaction.
create function private.partner_named(input jsonb) returns core.partners
language plpgsql
as $$
declare
  named   constant text := input ->> 'partner';
  partner core.partners;
begin
  perform private.act_as_operator(input);
  select * into partner from core.partners p where p.id = private.as_uuid(named) or p.slug = named;
  perform private.refuse_if('partner_not_found', not found, json_build_object('partner', named));
  perform private.set_tenant(partner.id);
  return partner;
end $$;

-- The partner that {partner?} names, which becomes the tenant of the transaction; null for all.
create function private.chosen_partner(input jsonb) returns uuid
language plpgsql
as $$
begin
  return case when input ->> 'partner' is not null then (private.partner_named(input)).id end;
end $$;

-- private.partner_named, but refuses the people's tenant, for which nobody acts.
create function private.business_named(input jsonb) returns core.partners
language plpgsql
as $$
declare
  partner constant core.partners := private.partner_named(input);
begin
  perform private.refuse_if('house_has_no_clients', partner.id = private.people_tenant());
  return partner;
end $$;

create function private.partner_row(partner core.partners) returns json
language sql stable
as $$
  select json_build_object('id', partner.id, 'name', partner.name, 'slug', partner.slug, 'is_active', partner.is_active,
                           'created_at', private.iso(partner.created_at))
$$;

create function ops.partner_create(input jsonb) returns json
language plpgsql security definer
as $$
declare
  name    constant text := private.operator_name(input ->> 'name');
  -- letters lose their accents: Énergie becomes energie
  slug    constant text := coalesce(input ->> 'slug', btrim(left(btrim(regexp_replace(regexp_replace(
    lower(normalize(name, nfkd)), '[\u0300-\u036f]', '', 'g'), '[^a-z0-9]+', '-', 'g'), '-'), 60), '-'));
  partner core.partners;
begin
  perform private.act_as_operator(input);
  -- an id must never be read as somebody's slug
  perform private.refuse_if('invalid_slug', slug !~ '^[a-z0-9]+(-[a-z0-9]+)*$' or length(slug) > 60
                            or private.as_uuid(slug) is not null);
  insert into core.partners (name, slug) values (name, slug)
  on conflict on constraint partners_slug_key do nothing
  returning * into partner;
  perform private.refuse_if('slug_taken', partner.id is null, json_build_object('slug', slug));
  perform private.set_tenant(partner.id), private.audit('partner.created', partner.id);
  return json_build_object('partner', private.partner_row(partner));
end $$;
comment on function ops.partner_create(jsonb) is
  'Makes a partner, active at once: {name, slug?} to {partner}. The name gives the slug by default.';

create function ops.partner_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('partners', coalesce(json_agg(private.partner_row(p) order by p.slug), '[]'))
   from core.partners p
$$;
comment on function ops.partner_list(jsonb) is 'Every partner, by slug: {} to {partners}.';

create function private.set_partner_active(input jsonb, wanted boolean) returns json
language plpgsql
as $$
declare
  changed boolean;
  partner core.partners := private.partner_named(input);
begin
  perform private.refuse_if('house_stays_active', partner.id = private.people_tenant() and not wanted);
  update core.partners p set is_active = wanted where p.id = partner.id and p.is_active <> wanted;
  changed := found;
  if changed then
    partner.is_active := wanted;
    perform private.audit(case when wanted then 'partner.activated' else 'partner.deactivated' end, partner.id);
  end if;
  return json_build_object('changed', changed, 'partner', private.partner_row(partner));
end $$;

create function ops.partner_activate(input jsonb) returns json
language sql security definer
as $$ select private.set_partner_active(input, true) $$;
comment on function ops.partner_activate(jsonb) is
  'Lets a partner''s credentials in again: {partner} to {changed, partner}.';

create function ops.partner_deactivate(input jsonb) returns json
language sql security definer
as $$ select private.set_partner_active(input, false) $$;
comment on function ops.partner_deactivate(jsonb) is
  'Refuses a partner''s credentials from now on; its data stays: {partner} to {changed, partner}.';

-- private.return_root, refused if that is null. Null stays null.
create function private.read_return_url(url text) returns text
language plpgsql immutable
as $$
begin
  perform private.refuse_if('invalid_return_url', url is not null and private.return_root(url) is null);
  return private.return_root(url);
end $$;

-- A partner as the operator's partner set shows it.
create function private.partner_settings(partner core.partners) returns json
language sql stable
as $$
  select json_build_object(
    'id', partner.id, 'slug', partner.slug, 'name', partner.name, 'is_active', partner.is_active, 'return_url',
        partner.return_url,
    'referral_code', partner.referral_code, 'default_fee_pct', partner.default_fee_pct, 'partner_share_pct',
        partner.partner_share_pct,
    'charger_brands', partner.charger_brands, 'locale', partner.locale, 'mandate_years', partner.mandate_years,
    'vat_regime', partner.vat_regime)
$$;

create function ops.partner_set(input jsonb) returns json
language plpgsql security definer
as $$
declare
  after  core.partners;
  before constant core.partners := private.business_named(input);
begin
  begin
    update core.partners p
       set return_url        = coalesce(private.read_return_url(input ->> 'return_url'), p.return_url),
           referral_code     = coalesce(upper(input ->> 'referral_code'), p.referral_code),
           default_fee_pct   = coalesce((input ->> 'fee_pct')::numeric, p.default_fee_pct),
           partner_share_pct = coalesce((input ->> 'share_pct')::numeric, p.partner_share_pct),
           vat_regime        = coalesce(input ->> 'vat_regime', p.vat_regime),
           locale            = case when input ? 'locale' then nullif(input ->> 'locale', 'any') else p.locale end,
           mandate_years     = case when input ? 'mandate_years' then nullif(input ->> 'mandate_years', 'any')::int
                                    else p.mandate_years end,
           charger_brands    = case when jsonb_typeof(input -> 'charger_brands') = 'array' then array(
                                 select b.brand from core.charger_brands b
                                   join jsonb_array_elements_text(input -> 'charger_brands') w (brand)
                                     on lower(w.brand) = lower(b.brand) order by 1) else p.charger_brands end
     where p.id = before.id
    returning * into after;
  exception
    when check_violation or numeric_value_out_of_range or invalid_text_representation then
      perform private.refuse('invalid_partner_setting');
    when unique_violation then
      perform private.refuse('referral_code_taken',
                             json_build_object('referral_code', upper(input ->> 'referral_code')));
  end;
  perform private.refuse_if('unknown_charger_brand',
                            cardinality(after.charger_brands) < coalesce(jsonb_array_length(input -> 'charger_brands'),
                                                                         0));
  perform private.audit('partner.settings_changed', after.id) where after is distinct from before;
  return json_build_object('changed', after is distinct from before, 'partner', private.partner_settings(after));
end $$;
comment on function ops.partner_set(jsonb) is
  'Sets what is given: {partner, return_url?, referral_code?, fee_pct?, share_pct?, charger_brands?, locale?, '
  'mandate_years?, vat_regime?} to {changed, partner}.';

create function ops.partner_add_manager(input jsonb) returns json
language plpgsql security definer
as $$
declare
  person  uuid;
  reserved record;
  partner constant core.partners := private.business_named(input);
begin
  select u.id into person from auth.users u where u.email = lower(input ->> 'user');
  perform private.refuse_if('user_not_found', not found, json_build_object('user', input ->> 'user'));
  perform private.refuse_if('login_not_proved',
                            not exists (select from auth.users u
                                        where u.id = person and private.login_proved(u, partner.id)),
    json_build_object('user', input ->> 'user'));
  select * into reserved from private.reserve_manager(person, partner.id);
  perform private.refuse_if('manages_another_partner', reserved.manages <> partner.id,
                            json_build_object('user', input ->> 'user'));
  if reserved.added then
    perform private.audit('partner.manager_added', person);
    perform private.mail_managers('joined', lower(input ->> 'user'), null, array[lower(input ->> 'user')]);
  end if;
  return json_build_object('changed', reserved.added,
                           'manager', json_build_object('user_id', person, 'partner_id', partner.id,
                                                        'partner_slug', partner.slug));
end $$;
comment on function ops.partner_add_manager(jsonb) is
  'Lets a person with a login manage a partner, and tells the others: {partner, user} to {changed, manager}. A person '
  'manages one. Refused if no code of ours proved the address: a stranger may have made that login.';

create function ops.partner_invite(input jsonb) returns json
language plpgsql security definer
as $$
declare
  address constant text := lower(input ->> 'email');
  invited boolean;
  partner constant core.partners := private.business_named(input);
begin
  invited := private.invite_manager(address, input, null);
  perform private.refuse_if('too_many_invitations', invited is null);
  return json_build_object('changed', invited,
                           'invitation', json_build_object('email', address, 'partner_id', partner.id,
                                                           'partner_slug', partner.slug));
end $$;
comment on function ops.partner_invite(jsonb) is
  'Mails somebody an invitation to manage a partner, which makes their login: {partner, email, token_hash, mail} to '
  '{changed, invitation}. Not changed if they manage it already.';

create function ops.partner_mint_key(input jsonb) returns json
language plpgsql security definer
as $$
declare
  minted  jsonb;
  partner constant core.partners := private.business_named(input);
begin
  perform private.refuse_if('host_not_set', private.host() is null);
  perform private.refuse_if('key_of_another_host',
                            input ->> 'prefix' <> (select d.key_prefix || case d.host when 'sandbox' then '_test_'
                            else '_live_' end from core.deployment d),
    json_build_object('host', private.host()));
  perform from core.partners p where p.id = partner.id for no key update;
  minted := private.store_partner_key(input, coalesce((input ->> 'rotate')::boolean, false));
  perform private.refuse_if('api_key_exists', minted is null);
  return json_build_object('key', minted || jsonb_build_object('partner_id', partner.id, 'partner_slug', partner.slug));
end $$;
comment on function ops.partner_mint_key(jsonb) is
  'The first API key of a partner, or its successor: {partner, rotate?, key_hash, prefix, last4} to {key}. The prefix '
  'must name this deployment and host.';

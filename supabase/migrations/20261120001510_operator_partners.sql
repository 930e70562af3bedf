-- What the operator does for a partner's own surface: where sign-in links lead back to, who manages it, its first key.

create function private.partner_settings(partner core.partners) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', partner.id, 'slug', partner.slug, 'name', partner.name, 'is_active', partner.is_active, 'return_url', partner.return_url,
    'referral_code', partner.referral_code, 'default_fee_pct', partner.default_fee_pct, 'partner_share_pct', partner.partner_share_pct,
    'charger_brands', partner.charger_brands)
$$;
comment on function private.partner_settings(core.partners) is 'A partner as the operator''s partner set shows it.';

create function ops.partner_set(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  before core.partners;
  after  core.partners;
begin
  perform private.act_as_operator(input);
  before := private.partner_named(input ->> 'partner');
  begin
    update core.partners p
       set return_url        = coalesce(private.read_return_url(input ->> 'return_url'), p.return_url),
           referral_code     = coalesce(upper(input ->> 'referral_code'), p.referral_code),
           default_fee_pct   = coalesce((input ->> 'fee_pct')::numeric, p.default_fee_pct),
           partner_share_pct = coalesce((input ->> 'share_pct')::numeric, p.partner_share_pct),
           charger_brands    = case when jsonb_typeof(input -> 'charger_brands') = 'array' then array(
                                 select b.brand from core.charger_brands b join jsonb_array_elements_text(input -> 'charger_brands') w (brand)
                                     on lower(w.brand) = lower(b.brand) order by 1) else p.charger_brands end
     where p.id = before.id
    returning * into after;
  exception
    when check_violation or numeric_value_out_of_range or invalid_text_representation then
      perform private.refuse('invalid_partner_setting');
    when unique_violation then
      perform private.refuse('referral_code_taken', json_build_object('referral_code', upper(input ->> 'referral_code')));
  end;
  if cardinality(after.charger_brands) < coalesce(jsonb_array_length(input -> 'charger_brands'), 0) then
    perform private.refuse('unknown_charger_brand');
  end if;
  if after is distinct from before then
    perform private.audit('partner.settings_changed', after.id);
  end if;
  return json_build_object('changed', after is distinct from before, 'partner', private.partner_settings(after));
end $$;
comment on function ops.partner_set(jsonb) is
  'Sets what is given: {partner, return_url?, referral_code?, fee_pct?, share_pct?, charger_brands?} to {changed, partner}.';
select private.expose_ops('ops.partner_set(jsonb)');

create function ops.partner_add_manager(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  partner core.partners;
  person  uuid;
  managed uuid;
  added   boolean;
begin
  perform private.act_as_operator(input);
  partner := private.partner_named(input ->> 'partner');
  select u.id into person from auth.users u where u.email = lower(input ->> 'user');
  if not found then
    perform private.refuse('user_not_found', json_build_object('user', input ->> 'user'));
  end if;
  insert into core.partner_managers (partner_id, user_id) values (partner.id, person) on conflict do nothing;
  added := found;
  select m.partner_id into managed from core.partner_managers m where m.user_id = person;
  if managed <> partner.id then
    perform private.refuse('manages_another_partner', json_build_object('user', input ->> 'user'));
  end if;
  if added then
    perform private.audit('partner.manager_added', person);
  end if;
  return json_build_object('changed', added, 'manager', json_build_object('user_id', person, 'partner_id', partner.id, 'partner_slug', partner.slug));
end $$;
comment on function ops.partner_add_manager(jsonb) is 'Lets a person with a login manage a partner: {partner, user} to {changed, manager}. A person manages one.';
select private.expose_ops('ops.partner_add_manager(jsonb)');

create function private.store_partner_key(key jsonb, rotate boolean) returns json
language plpgsql
set search_path = ''
as $$
declare
  minted core.partner_keys;
begin
  if rotate then
    update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
  end if;
  insert into core.partner_keys (partner_id, key_hash, prefix, last4)
  values (private.partner_id(), decode(key ->> 'key_hash', 'hex'), key ->> 'prefix', key ->> 'last4')
  on conflict (partner_id) where revoked_at is null do nothing
  returning * into minted;
  if minted.id is null then
    return null;
  end if;
  perform private.audit('partner.key_minted', minted.id, jsonb_build_object('rotated', rotate));
  return json_build_object('prefix', minted.prefix, 'last4', minted.last4, 'created_at', private.iso(minted.created_at));
end $$;
comment on function private.store_partner_key(jsonb, boolean) is
  'Stores a new key of the tenant: {key_hash, prefix, last4}. Null while one is active, unless rotate ends that one at once.';
grant execute on function private.store_partner_key(jsonb, boolean) to api_owner;

create function ops.partner_mint_key(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  partner core.partners;
  minted  jsonb;
begin
  perform private.act_as_operator(input);
  partner := private.partner_named(input ->> 'partner');
  perform from core.partners p where p.id = partner.id for no key update;
  minted := private.store_partner_key(input, coalesce((input ->> 'rotate')::boolean, false));
  if minted is null then
    perform private.refuse('api_key_exists');
  end if;
  return json_build_object('key', minted || jsonb_build_object('partner_id', partner.id, 'partner_slug', partner.slug));
end $$;
comment on function ops.partner_mint_key(jsonb) is 'The first API key of a partner, or its successor: {partner, rotate?, key_hash, prefix, last4} to {key}.';
select private.expose_ops('ops.partner_mint_key(jsonb)');

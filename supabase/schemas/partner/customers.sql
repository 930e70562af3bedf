-- GET /partner/customers.

create function private.customer_ref(person uuid, partner uuid, key text) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return 'cus_' || left(encode(private.claim_mac('customer:' || partner || ':' || person, key), 'hex'), 32); end $$;
comment on function private.customer_ref(uuid, uuid, text) is
  'How a partner knows a customer: always the same, different for every partner, and without meaning to anybody else.';
grant execute on function private.customer_ref(uuid, uuid, text) to api_owner;

create function private.customer_page(partner core.partners, disclosing boolean, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  house constant uuid := private.house();
  size  constant int  := (query ->> 'size')::int;
  key   constant text := query ->> 'key';
begin
  return (
    with page as materialized (
      select a.* from core.attributions a
       where a.partner_id = partner.id
         and (query ->> 'after' is null
              or (a.created_at, a.user_id) < ((query #>> '{after,at}')::timestamptz, (query #>> '{after,id}')::uuid))
       order by a.created_at desc, a.user_id desc limit size + 1
    ), shown as (
      select * from page order by created_at desc, user_id desc limit size
    ), customers as (
      select a.created_at, a.user_id,
             private.customer_ref(a.user_id, a.partner_id, key) as customer_ref,
             -- what the partner typed itself may name the person, so an application does not get to see it
             case when disclosing then a.external_ref end as external_ref,
             a.attached_month, a.source,
             disclosing and a.source in ('partner_upload', 'partner_invite') as disclosed,
             coalesce(b.type, 'particulier') as type,
             s.full_name, s.email, s.phone,
             l.postal_code, l.street, l.house_number, l.house_number_addition, l.city,
             c.registration_status,
             coalesce(c.mandate_signed, false) as is_active,
             h.brand, m.model, h.connection_type, h.mid_eligible, coalesce(h.charger_count, 0) as charger_count
        from shown a
        left join lateral (
          select b.* from core.accounts b where b.partner_id = house and b.user_id = a.user_id order by b.created_at, b.id limit 1) b on true
        left join core.signatories s on s.partner_id = house and s.account_id = b.id
        -- of several connections the one that is furthest
        left join lateral (
          select c.*, d.mandate_status = 'signed' as mandate_signed
            from core.connections c
            join core.connection_mandates d on d.partner_id = c.partner_id and d.connection_id = c.id
           where c.partner_id = house and c.account_id = b.id and c.status = 'active'
           order by d.mandate_status = 'signed' desc, c.created_at, c.id limit 1) c on true
        left join core.locations l on l.partner_id = house and l.id = c.location_id
        left join lateral (
          select h.*, count(*) over () as charger_count from core.chargers h
           where h.partner_id = house and h.user_id = a.user_id and h.status = 'active'
           order by h.created_at desc, h.id limit 1) h on true
        left join core.charger_models m on m.id = h.catalog_charger_id
    )
    select json_build_object(
      'more_after', (select case when count(*) > size then (
                 select json_build_object('at', k.created_at, 'id', k.user_id) from shown k order by k.created_at, k.user_id limit 1) end from page),
      'customers', coalesce(json_agg(
        case when k.disclosed then json_build_object(
          'customer_ref', k.customer_ref, 'external_ref', k.external_ref,
          'naam', k.full_name, 'email', k.email, 'phone', k.phone,
          'postal_code', k.postal_code, 'street', k.street, 'house_number', concat_ws(' ', k.house_number, k.house_number_addition),
          'city', k.city, 'registration_status', k.registration_status,
          'attached_month', k.attached_month, 'is_active', k.is_active,
          'effective_fee_pct', partner.default_fee_pct, 'partner_share_pct', partner.partner_share_pct, 'source', k.source, 'type', k.type,
          'charger_brand', k.brand, 'charger_model', k.model, 'charger_connection_type', k.connection_type,
          'charger_mid_eligible', k.mid_eligible, 'charger_count', k.charger_count, 'has_charger', k.charger_count > 0,
          'brand_asked_at', null)
        else json_build_object(
          'customer_ref', k.customer_ref, 'external_ref', k.external_ref, 'city', k.city,
          'attached_month', k.attached_month, 'is_active', k.is_active,
          'effective_fee_pct', partner.default_fee_pct, 'partner_share_pct', partner.partner_share_pct, 'source', k.source, 'type', k.type,
          'charger_brand', k.brand, 'charger_model', k.model, 'charger_connection_type', k.connection_type,
          'charger_mid_eligible', k.mid_eligible, 'charger_count', k.charger_count, 'has_charger', k.charger_count > 0,
          'brand_asked_at', null)
        end order by k.created_at desc, k.user_id desc), '[]'))
    from customers k);
end $$;
comment on function private.customer_page(core.partners, boolean, jsonb) is
  'A page of the people a partner brought: {size, after, key} to {more_after, customers}. Definer, because people own what they have in the house: this is the one place that crosses over, and it discloses who they are only where the partner itself uploaded or invited them.';
grant execute on function private.customer_page(core.partners, boolean, jsonb) to api_owner;

create function private.own_partner() returns core.partners
language plpgsql stable
set search_path = ''
as $$
declare
  partner core.partners;
begin
  select * into partner from core.partners p where p.id = private.partner_id();
  return partner;
end $$;
comment on function private.own_partner() is 'The tenant of this transaction, as row-level security lets it see itself.';
grant execute on function private.own_partner() to api_owner;

create function api.list_customers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.customer_page(private.own_partner(), private.manager_id() is null, query);
end $$;
comment on function api.list_customers(jsonb, jsonb) is
  'GET /partner/customers, one stretch of it: {size, after, key} to {more_after, customers}, newest first. For a person (manager_id) everybody is pseudonymised.';
select private.expose('api.list_customers(jsonb, jsonb)');

-- GET /partner/customers.

create function private.customer_borders(partner uuid, size int) returns jsonb
language sql stable security definer
as $$
  -- the last customer is no border: nobody comes after it
  select coalesce(jsonb_agg(jsonb_build_object('at', k.created_at, 'id', k.user_id) order by k.place), '[]')
    from (select a.created_at, a.user_id, row_number() over newest as place, lead(a.user_id) over newest as next
            from core.attributions a where a.partner_id = partner window newest as (order by a.created_at desc,
                a.user_id desc)) k
   where k.place % size = 0 and k.next is not null
$$;
comment on function private.customer_borders(uuid, int) is
  'The last customer of each stretch of size, except the last stretch: [{at, id}], newest first. Definer, as '
  'private.customer_page.';

create function private.customer_page(partner core.partners, disclosing boolean, query jsonb) returns json
language plpgsql stable security definer
-- else a plan that was made while tables were small looks for each customer through all of them once they have grown
set plan_cache_mode = 'force_custom_plan'
-- Table by table, each joined once to the whole stretch: looking into six of them for each customer took 34 us.
as $$
declare
  people_tenant constant uuid := private.people_tenant();
  key   constant bytea := private.customer_key(partner.id, query ->> 'key');
  -- of the partner's portal: these alone, and of them whoever it looks for
  ids       constant uuid[]  := case
                                     when query ? 'ids' then array(select i::uuid
                                                                   from jsonb_array_elements_text(query -> 'ids') i)
                                                                   end;
  looks_for constant jsonb   := coalesce(query -> 'for', '{}');
  is_active constant boolean := (looks_for ->> 'is_active')::boolean;
  words     constant tsquery := private.search_query(looks_for ->> 'text');
  paid_back constant uuid[]  := case when looks_for ->> 'needs' = 'payment'
                                     then private.accounts_paid_back(partner.id) end;
  after core.attributions;
  until core.attributions;
begin
  after.created_at := coalesce((query #>> '{after,at}')::timestamptz, 'infinity');
  after.user_id    := coalesce((query #>> '{after,id}')::uuid, private.people_tenant());
  until.created_at := coalesce((query #>> '{until,at}')::timestamptz, '-infinity');
  until.user_id    := coalesce((query #>> '{until,id}')::uuid, private.people_tenant());
  return (
    with shown as (
      select a.* from core.attributions a
       where a.partner_id = partner.id and (ids is null or a.user_id = any (ids))
         and (a.created_at, a.user_id) < (after.created_at, after.user_id)
             and (a.created_at, a.user_id) >= (until.created_at, until.user_id)
    ), charger as (
      -- the newest, and how many there are
      select distinct on (h.user_id) h.user_id, h.brand, m.model, h.connection_type, h.mid_eligible,
             count(*) over (partition by h.user_id order by h.created_at desc, h.id rows between unbounded preceding
                            and unbounded following) as charger_count
        from shown k
        join core.chargers h on h.partner_id = people_tenant and h.user_id = k.user_id and h.status = 'active'
        left join core.charger_models m on m.id = h.catalog_charger_id
       order by h.user_id, h.created_at desc, h.id
    ), customers as (
      -- the oldest account, and its connection with a signed mandate, or else its oldest connection
      (select distinct on (k.created_at, k.user_id) k.created_at, k.user_id, k.external_ref, k.attached_month, k.source,
             b.type, s.full_name, s.email, s.phone, s.mail_failed_at, s.mail_failed_reason,
             l.postal_code, l.street, l.house_number, l.house_number_addition, l.city, c.registration_status,
                 c.mandate_status,
             h.brand, h.model, h.connection_type, h.mid_eligible, coalesce(h.charger_count, 0) as charger_count,
             disclosing and k.source in ('partner_upload', 'partner_invite') as is_disclosed,
             null as ean_validation_status, null::boolean as iban_checksum_ok
        from shown k
        left join core.accounts b on b.partner_id = people_tenant and b.user_id = k.user_id
        left join core.signatories s on s.partner_id = people_tenant and s.account_id = b.id
        left join core.connection_mandates c on c.partner_id = people_tenant and c.account_id = b.id
            and c.status = 'active'
        left join core.locations l on l.partner_id = people_tenant and l.id = c.location_id
        left join charger h on h.user_id = k.user_id
       order by k.created_at desc, k.user_id desc, b.created_at, b.id, c.mandate_status = 'signed' desc, c.created_at,
           c.connection_id)
      union all
      -- accounts of its clients, which are its own customers
      (select distinct on (a.created_at, a.id) a.created_at, a.id, a.cpo_external_ref,
             date_trunc('month', private.dutch_day(a.created_at))::date, 'cpo_api', a.type,
             coalesce(a.display_name, a.company ->> 'name', s.full_name), s.email, s.phone, s.mail_failed_at,
             s.mail_failed_reason,
             l.postal_code, l.street, l.house_number, l.house_number_addition, l.city, c.registration_status,
                 c.mandate_status,
             h.brand, h.model, h.connection_type, h.mid_eligible, coalesce(h.charger_count, 0), true,
             c.ean_validation_status, a.iban_checksum_ok
        from core.accounts a
        left join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
        left join core.connection_mandates c on c.partner_id = a.partner_id and c.account_id = a.id
            and c.status = 'active'
        left join core.locations l on l.partner_id = a.partner_id and l.id = c.location_id
        left join lateral (
          select h.brand, m.model, h.connection_type, h.mid_eligible, count(*) over () as charger_count
            from core.chargers h left join core.charger_models m on m.id = h.catalog_charger_id
           where h.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'
           order by h.created_at desc, h.id limit 1) h on true
       where disclosing and ids is not null and a.partner_id = partner.id and a.id = any (ids)
         and (looks_for ->> 'text' is null
              or private.search_words(a.display_name, a.cpo_external_ref, a.company ->> 'name', s.full_name, s.email,
                                      private.phone_end(s.phone)) @@ words
              or starts_with(lower(a.cpo_external_ref), lower(looks_for ->> 'text')))
       order by a.created_at desc, a.id desc, c.mandate_status = 'signed' desc, c.created_at, c.connection_id)
    ), found as (
      select k.*, case when query ? 'limit' then count(*) over () end as found from customers k
       -- by nothing that the row does not show
       where (is_active is null or coalesce(k.mandate_status = 'signed', false) = is_active)
         and (looks_for ->> 'source' is null or k.source = looks_for ->> 'source')
         and (looks_for ->> 'city' is null or starts_with(lower(k.city), lower(looks_for ->> 'city')))
         and (looks_for ->> 'registration' is null or k.is_disclosed
              and k.registration_status = looks_for ->> 'registration')
         and (looks_for ->> 'mail' is null or k.is_disclosed and k.mail_failed_at is not null)
         and case looks_for ->> 'charger' when 'with' then k.charger_count > 0
                                          when 'without' then k.charger_count = 0
                                          when 'without_mid' then k.charger_count > 0 and k.mid_eligible is not true
                                              else true end
         and (looks_for ->> 'needs' is null or k.source = 'cpo_api' and case looks_for ->> 'needs'
                when 'signature' then k.mandate_status = 'pending'
                when 'ean' then k.mandate_status is not null
                    and k.ean_validation_status in ('mismatch', 'not_found')
                when 'iban' then not k.iban_checksum_ok
                when 'payment' then k.user_id = any (paid_back)
                when 'months' then exists (
                  select from core.connections n
                    join core.delivered_months d on d.partner_id = n.partner_id and d.connection_id = n.id
                        and d.status = 'rejected'
                   where n.partner_id = partner.id and n.account_id = k.user_id and n.status = 'active') end)
         and (looks_for ->> 'text' is null or k.source = 'cpo_api'
              or k.is_disclosed and private.search_words(k.full_name, k.email, private.phone_end(k.phone)) @@ words
              or disclosing and starts_with(lower(k.external_ref), lower(looks_for ->> 'text')))
       order by k.created_at desc, k.user_id desc limit (query ->> 'limit')::int
    ), listed as (
      select coalesce(max(k.found), 0) as found,
             coalesce(json_agg(case when k.is_disclosed then row_to_json(disclosed) else row_to_json(pseudonymous) end
                               order by k.created_at desc, k.user_id desc), '[]') as customers
      from found k
      cross join lateral (
        select case when k.source = 'cpo_api' then k.user_id::text else private.customer_ref(k.user_id, key) end
                 as customer_ref,
               -- what the partner typed itself may name the person, so an application does not get to see it
               case when disclosing then k.external_ref end as external_ref,
               coalesce(k.mandate_status = 'signed', false) as is_active, coalesce(k.type, 'particulier') as type) r
      cross join lateral (
        select r.customer_ref, r.external_ref, k.full_name as naam, k.email, k.phone, k.postal_code, k.street,
               concat_ws(' ', k.house_number, k.house_number_addition) as house_number, k.city, k.registration_status,
               private.iso(k.mail_failed_at) as mail_failed_at, k.mail_failed_reason, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger,
                   null as brand_asked_at) disclosed
      cross join lateral (
        select r.customer_ref, r.external_ref, k.city, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger,
                   null as brand_asked_at) pseudonymous
    )
    select case when query ? 'limit' then row_to_json(l) else l.customers end from listed l);
end $$;
comment on function private.customer_page(core.partners, boolean, jsonb) is
  'A stretch of the people a partner brought, {after, until, key} to [customer, …]: after one border, up to the other, '
  'included. Or {ids, for, limit, key}: the first that match {text, city, is_active, source, charger, registration, '
  'mail, needs} of these people and accounts of its clients, to {found, customers}; found counts all that match. An '
  'account has the source cpo_api, and its id as customer_ref. Definer, because people own what they '
  'have in the people''s tenant. Only this function crosses over, and it names only people whom the '
  'partner itself uploaded or invited.';

create function api.list_customers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  partner core.partners;
  borders jsonb := '[]';
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  if coalesce(jsonb_typeof(query -> 'after'), 'null') = 'null' then
    borders := private.customer_borders(partner.id, (query ->> 'size')::int);
    query := query || jsonb_build_object('until', borders -> 0);
  end if;
  return json_build_object('borders', borders, 'customers', private.customer_page(partner, private.is_partner_itself(),
      query));
end $$;
comment on function api.list_customers(jsonb, jsonb) is
  'GET /partner/customers, in stretches: {size, key} to the first one and the borders of the others, {after, until, '
  'key} to another. Answers {borders, customers}, newest first. An application that a person let in sees pseudonyms.';

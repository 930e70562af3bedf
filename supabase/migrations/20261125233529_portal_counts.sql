begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."customers_counted"(uuid, uuid);

DROP FUNCTION "private"."customers_in_need"(core.partners, boolean, text);

CREATE OR REPLACE FUNCTION api.export_own_data (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  house  constant uuid := private.house();
  person uuid;
begin
  perform private.act_as(caller, 'session');
  person := private.user_id();
  return json_build_object(
    'exported_at', private.iso(private.now()),
    'login', (select json_build_object('email', p.email, 'name', p.name, 'created_at', private.iso(p.created_at)) from private.user_profile(person) p),
    'accounts', (select coalesce(json_agg(json_build_object(
        'account_id', a.id, 'type', a.type, 'display_name', a.display_name, 'company', a.company, 'iban_last4', a.iban_last4,
        'payout_handler', a.payout_handler, 'created_at', private.iso(a.created_at),
        'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email, 'phone', s.phone)
                        from core.signatories s where s.partner_id = house and s.account_id = a.id),
        'connections', (select coalesce(json_agg(json_build_object(
              'connection_id', c.id, 'ean_code', c.ean_code, 'ean_validation_status', c.ean_validation_status, 'status', c.status,
              'registration_status', c.registration_status, 'street', l.street, 'house_number', l.house_number,
              'house_number_addition', l.house_number_addition, 'postal_code', l.postal_code, 'city', l.city,
              'mandates', (select coalesce(json_agg(private.shown_mandate(m) || jsonb_build_object('address', m.address, 'user_agent', m.user_agent)
                                                    order by m.created_at), '[]')
                             from core.mandates m where m.partner_id = house and m.connection_id = c.id),
              'months', (select coalesce(json_agg(json_build_object('month', to_char(d.period, 'YYYY-MM'), 'kwh', d.total_kwh, 'status', d.status) order by d.period), '[]')
                           from core.delivered_months d where d.partner_id = house and d.connection_id = c.id)) order by c.created_at), '[]')
            from core.connections c join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
           where c.partner_id = house and c.account_id = a.id),
        'payouts', (select coalesce(json_agg(json_build_object('paid_at', private.iso(p.paid_at), 'amount_eur', p.amount, 'iban_last4', p.iban_last4) order by p.arrival), '[]')
                      from core.payout_lines p where p.partner_id = house and p.account_id = a.id and p.status = 'paid')) order by a.created_at), '[]')
      from core.accounts a where a.partner_id = house and a.user_id = person),
    'chargers', (select coalesce(json_agg(json_build_object(
        'charger_id', h.id, 'name', private.charger_name(h), 'brand', h.brand, 'serial_number', h.serial_number, 'ocpp_identity', h.ocpp_identity,
        'mid_eligible', h.mid_eligible, 'status', h.status, 'created_at', private.iso(h.created_at)) order by h.created_at), '[]')
      from core.chargers h where h.partner_id = house and h.user_id = person),
    'charging_sessions', (select coalesce(json_agg(json_build_object(
        'charger_id', s.charger_id, 'started_at', private.iso(s.started_at), 'ended_at', private.iso(s.ended_at), 'kwh', s.wh / 1000.0,
        'meter_id', s.meter_id, 'meter_start_kwh', s.meter_start_wh / 1000.0, 'meter_end_kwh', s.meter_end_wh / 1000.0, 'source', s.source,
        'status', s.status, 'flags', s.flags) order by s.started_at), '[]')
      from core.charging_sessions s where s.owner_id = person),
    'partner', private.own_brand(),
    'applications', private.own_applications(),
    'tokens', private.own_tokens());
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_customers (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  looks_for jsonb        := jsonb_strip_nulls(query -> 'for');
  size      constant int := (query ->> 'limit')::int;
  partner   core.partners;
  key       constant text := query ->> 'key';
  after     uuid;
  examined  int;
  ids       uuid[];
  page      json;
  found     json;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  after := private.customer_named(query ->> 'after', partner.id, key);
  ids := array[private.customer_named(looks_for ->> 'text', partner.id, key)];
  if ids[1] is not null then
    looks_for := looks_for - 'text';
  else
    examined := case when looks_for - 'month' = '{}' then size + 1 else private.customers_examined() end;
    ids := private.customer_candidates(partner.id, looks_for, after, examined);
  end if;
  page := private.customer_page(partner, private.is_partner_itself(),
                                jsonb_build_object('ids', ids, 'for', looks_for, 'limit', size + 1, 'key', query -> 'key'));
  found := page -> 'customers';
  return json_build_object(
    'who', private.portal_who(),
    'counted', case when jsonb_strip_nulls(query -> 'for') - 'month' = '{}'
                    then private.customers_counted(partner.id, after, (looks_for ->> 'month')::date) end,
    'found', page -> 'found',
    'searched_all', cardinality(ids) is distinct from examined,
    'customers', (select coalesce(json_agg(f.customer order by f.place), '[]')
                    from json_array_elements(found) with ordinality as f (customer, place) where f.place <= size),
    'more_after', case when json_array_length(found) > size then found -> (size - 1) ->> 'customer_ref'
                 when cardinality(ids) = examined then private.customer_ref(ids[examined], private.customer_key(partner.id, key)) end);
end $function$;

CREATE OR REPLACE FUNCTION private.customer_page (
  partner    core.partners,
  disclosing boolean,
  query      jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  house constant uuid := private.house();
  key   constant bytea := private.customer_key(partner.id, query ->> 'key');
  -- of the partner's portal: these alone, and of them whoever it looks for
  ids       constant uuid[]  := case when query ? 'ids' then array(select i::uuid from jsonb_array_elements_text(query -> 'ids') i) end;
  looks_for constant jsonb   := coalesce(query -> 'for', '{}');
  is_active constant boolean := (looks_for ->> 'is_active')::boolean;
  words     constant tsquery := private.search_query(looks_for ->> 'text');
  after core.attributions;
  until core.attributions;
begin
  after.created_at := coalesce((query #>> '{after,at}')::timestamptz, 'infinity');
  after.user_id    := coalesce((query #>> '{after,id}')::uuid, private.house());
  until.created_at := coalesce((query #>> '{until,at}')::timestamptz, '-infinity');
  until.user_id    := coalesce((query #>> '{until,id}')::uuid, private.house());
  return (
    with shown as materialized (
      select a.* from core.attributions a
       where a.partner_id = partner.id and (ids is null or a.user_id = any (ids))
         and (a.created_at, a.user_id) < (after.created_at, after.user_id) and (a.created_at, a.user_id) >= (until.created_at, until.user_id)
    ), charger as (
      -- the newest, and how many there are
      select distinct on (h.user_id) h.user_id, h.brand, m.model, h.connection_type, h.mid_eligible,
             count(*) over (partition by h.user_id order by h.created_at desc, h.id rows between unbounded preceding and unbounded following) as charger_count
        from shown k
        join core.chargers h on h.partner_id = house and h.user_id = k.user_id and h.status = 'active'
        left join core.charger_models m on m.id = h.catalog_charger_id
       order by h.user_id, h.created_at desc, h.id
    ), customers as (
      -- the oldest account, and its connection with a signed mandate, or else its oldest connection
      select distinct on (k.created_at, k.user_id) k.*, b.type, s.full_name, s.email, s.phone,
             l.postal_code, l.street, l.house_number, l.house_number_addition, l.city, c.registration_status, c.mandate_status,
             h.brand, h.model, h.connection_type, h.mid_eligible, coalesce(h.charger_count, 0) as charger_count,
             disclosing and k.source in ('partner_upload', 'partner_invite') as is_disclosed
        from shown k
        left join core.accounts b on b.partner_id = house and b.user_id = k.user_id
        left join core.signatories s on s.partner_id = house and s.account_id = b.id
        left join core.connection_mandates c on c.partner_id = house and c.account_id = b.id and c.status = 'active'
        left join core.locations l on l.partner_id = house and l.id = c.location_id
        left join charger h on h.user_id = k.user_id
       order by k.created_at desc, k.user_id desc, b.created_at, b.id, c.mandate_status = 'signed' desc, c.created_at, c.connection_id
    ), found as (
      select k.*, case when query ? 'limit' then count(*) over () end as found from customers k
       -- by nothing that the row does not show
       where (is_active is null or coalesce(k.mandate_status = 'signed', false) = is_active)
         and (looks_for ->> 'source' is null or k.source = looks_for ->> 'source')
         and (looks_for ->> 'city' is null or starts_with(lower(k.city), lower(looks_for ->> 'city')))
         and (looks_for ->> 'registration' is null or k.is_disclosed and k.registration_status = looks_for ->> 'registration')
         and case looks_for ->> 'charger' when 'with' then k.charger_count > 0
                                          when 'without' then k.charger_count = 0
                                          when 'without_mid' then k.charger_count > 0 and k.mid_eligible is not true else true end
         and (looks_for ->> 'text' is null
              or k.is_disclosed and private.search_words(k.full_name, k.email, private.phone_end(k.phone)) @@ words
              or disclosing and starts_with(lower(k.external_ref), lower(looks_for ->> 'text')))
       order by k.created_at desc, k.user_id desc limit (query ->> 'limit')::int
    ), listed as (
      select coalesce(max(k.found), 0) as found,
             coalesce(json_agg(case when k.is_disclosed then row_to_json(disclosed) else row_to_json(pseudonymous) end
                               order by k.created_at desc, k.user_id desc), '[]') as customers
      from found k
      cross join lateral (
        select private.customer_ref(k.user_id, key) as customer_ref,
               -- what the partner typed itself may name the person, so an application does not get to see it
               case when disclosing then k.external_ref end as external_ref,
               coalesce(k.mandate_status = 'signed', false) as is_active, coalesce(k.type, 'particulier') as type) r
      cross join lateral (
        select r.customer_ref, r.external_ref, k.full_name as naam, k.email, k.phone, k.postal_code, k.street,
               concat_ws(' ', k.house_number, k.house_number_addition) as house_number, k.city, k.registration_status, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger, null as brand_asked_at) disclosed
      cross join lateral (
        select r.customer_ref, r.external_ref, k.city, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger, null as brand_asked_at) pseudonymous
    )
    select case when query ? 'limit' then row_to_json(l) else l.customers end from listed l);
end $function$;

CREATE OR REPLACE FUNCTION private.customers_counted (
  partner uuid,
  after   uuid,
  month   date
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select jsonb_build_object('total', count(*), 'before', count(*) filter (where (a.created_at, a.user_id) >= (l.created_at, l.user_id)))
    from core.attributions a
    left join core.attributions l on l.partner_id = customers_counted.partner and l.user_id = after
   where a.partner_id = customers_counted.partner and (month is null or a.attached_month = month)
$function$;

CREATE OR REPLACE FUNCTION private.customers_in_need (
  partner    core.partners,
  disclosing boolean,
  key        text
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  house constant uuid := private.house();
  needs record;
begin
  -- of most customers only what is counted is read: their whole rows took four times as long
  with newest as materialized (
    select a.user_id, disclosing and a.source in ('partner_upload', 'partner_invite') as is_disclosed
      from core.attributions a where a.partner_id = partner.id
     order by a.created_at desc, a.user_id desc limit private.customers_examined()
  )
  select count(*) as examined,
         count(*) filter (where h.user_id is null) as without_charger,
         count(*) filter (where h.user_id is not null and h.mid_eligible is not true) as without_mid,
         coalesce(array_agg(n.user_id) filter (where n.is_disclosed and exists (
           select from core.accounts b
             join core.connections c on c.partner_id = b.partner_id and c.account_id = b.id
            where b.partner_id = house and b.user_id = n.user_id and c.status = 'active' and c.registration_status = 'afgekeurd')), '{}') as rejected
    into needs
    from newest n
    left join lateral (select h.user_id, h.mid_eligible from core.chargers h
                        where h.partner_id = house and h.user_id = n.user_id and h.status = 'active'
                        order by h.created_at desc, h.id limit 1) h on true;
  return json_build_object(
    'examined', needs.examined, 'all', needs.examined < private.customers_examined(),
    'without_charger', needs.without_charger, 'without_mid', needs.without_mid,
    -- of several connections the list shows one
    'rejected', case when needs.rejected = '{}' then 0 else json_array_length(private.customer_page(partner, disclosing, jsonb_build_object(
                  'ids', needs.rejected, 'for', jsonb_build_object('registration', 'afgekeurd'), 'key', key))) end);
end $function$;

COMMENT ON FUNCTION "api"."read_portal_customers"(jsonb, jsonb) IS 'A page of a partner''s customers, newest first: {for: {text, city, is_active, source, charger, month, registration}, after, limit, key} to {who, counted, found, searched_all, customers, more_after}, customers as GET /partner/customers, counted as private.customers_counted if nothing but a month is looked for. found counts those after the customer after, among private.customers_examined() of them; searched_all: there are no others. Send more_after as after for the next page; null is the end. A page may have fewer than its limit before that.';

COMMENT ON FUNCTION "private"."customer_page"(core.partners, boolean, jsonb) IS 'A stretch of the people a partner brought, {after, until, key} to [customer, …]: after one border, up to the other, included. Or {ids, for, limit, key}: the first of these people that match {text, city, is_active, source, charger, registration}, to {found, customers}; found counts all that match. Definer, because people own what they have in the house. Only this function crosses over, and it names only people whom the partner itself uploaded or invited.';

COMMENT ON FUNCTION "private"."customers_counted"(uuid, uuid, date) IS 'How many customers a partner has, of a month if one is given, and how many of them a list that goes on after one has shown: {total, before}. Definer, because people own what they have in the house. It discloses counts.';

COMMENT ON FUNCTION "private"."customers_in_need"(core.partners, boolean, text) IS 'How many of a partner''s newest customers lack what, as far as it may see: {examined, all, without_charger, without_mid, rejected}. all: there are no others. Definer, because people own what they have in the house. It discloses counts.';

REVOKE ALL ON FUNCTION "private"."customers_counted"(uuid, uuid, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."customers_counted"(uuid, uuid, date) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."customers_counted"(uuid, uuid, date) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."customers_counted"(uuid, uuid, date) TO "postgres";

REVOKE ALL ON FUNCTION "private"."customers_in_need"(core.partners, boolean, text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."customers_in_need"(core.partners, boolean, text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."customers_in_need"(core.partners, boolean, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."customers_in_need"(core.partners, boolean, text) TO "postgres";

commit;

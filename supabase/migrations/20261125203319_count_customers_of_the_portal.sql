begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
  examined  int;
  ids       uuid[];
  found     json;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  ids := array[private.customer_named(looks_for ->> 'text', partner.id, key)];
  if ids[1] is not null then
    looks_for := looks_for - 'text';
  else
    examined := case when looks_for - 'month' = '{}' then size + 1 else private.customers_examined() end;
    ids := private.customer_candidates(partner.id, looks_for, private.customer_named(query ->> 'after', partner.id, key), examined);
  end if;
  found := private.customer_page(partner, private.is_partner_itself(),
                                 jsonb_build_object('ids', ids, 'for', looks_for, 'limit', size + 1, 'key', query -> 'key'));
  return json_build_object(
    'who', private.portal_who(),
    'counted', case when jsonb_strip_nulls(query -> 'for') = '{}' then private.customers_counted(partner.id, private.customer_named(query ->> 'after', partner.id, key)) end,
    'customers', (select coalesce(json_agg(f.customer order by f.place), '[]')
                    from json_array_elements(found) with ordinality as f (customer, place) where f.place <= size),
    'more_after', case when json_array_length(found) > size then found -> (size - 1) ->> 'customer_ref'
                 when cardinality(ids) = examined then private.customer_ref(ids[examined], private.customer_key(partner.id, key)) end);
end $function$;

CREATE OR REPLACE FUNCTION private.customers_counted (
  partner uuid,
  after   uuid
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
   where a.partner_id = customers_counted.partner
$function$;

COMMENT ON FUNCTION "api"."read_portal_customers"(jsonb, jsonb) IS 'A page of a partner''s customers, newest first: {for: {text, city, is_active, source, charger, month, registration}, after, limit, key} to {who, counted, customers, more_after}, customers as GET /partner/customers, counted as private.customers_counted if nothing is looked for. Send more_after as after for the next page; null is the end. A page may have fewer than its limit before that.';

COMMENT ON FUNCTION "private"."customers_counted"(uuid, uuid) IS 'How many customers a partner has, and how many of them a list that goes on after one has shown: {total, before}. Definer, because people own what they have in the house. It discloses counts.';

REVOKE ALL ON FUNCTION "private"."customers_counted"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."customers_counted"(uuid, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."customers_counted"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."customers_counted"(uuid, uuid) TO "postgres";

commit;

-- The customers of a partner in its portal: the search, and one of them.

-- How many customers a page of the portal reads, of however many: what is rare is searched in parts.
create function private.customers_examined() returns int
language sql immutable
return 2000;

create function private.customer_candidates(partner uuid, looks_for jsonb, after uuid, size int) returns uuid[]
language plpgsql stable security definer
as $$
declare
  -- more than these are no less work to look up than the newest are to read
  most   constant int  := 1000;
  typed  constant text := looks_for ->> 'text';
  month  constant date := (looks_for ->> 'month')::date;
  words  constant tsquery := private.search_query(typed);
  begins constant text := replace(replace(replace(lower(typed), '\', '\\'), '%', '\%'), '_', '\_') || '%';
  named  uuid[];
  last   core.attributions;
begin
  select * into last from core.attributions a where a.partner_id = customer_candidates.partner and a.user_id = after;
  if length(array_to_string(private.words_of(typed), '')) >= 3 then
    named := array(
      -- cut off before it is joined, so that a common word costs no more than it has to
      (select b.user_id
         from (select s.account_id from core.signatories s
                where s.partner_id = private.people_tenant() and private.search_words(s.full_name, s.email,
                    private.phone_end(s.phone)) @@ words limit most + 1) s
         join core.accounts b on b.partner_id = private.people_tenant() and b.id = s.account_id)
      union all
      (select a.user_id from core.attributions a
        where a.partner_id = customer_candidates.partner and lower(a.external_ref) like begins limit most + 1));
    if cardinality(named) > most then
      named := null;
    end if;
  end if;
  return array(
    select a.user_id from core.attributions a
     where a.partner_id = customer_candidates.partner
       and (named is null or a.user_id = any (named))
       and (month is null or a.attached_month = month)
       and (last.user_id is null or (a.created_at, a.user_id) < (last.created_at, last.user_id))
     order by a.created_at desc, a.user_id desc limit size);
end $$;
comment on function private.customer_candidates(uuid, jsonb, uuid, int) is
  'The next people a partner brought, at most size, newest first, to search for {text, month}. By their words if few '
  'people have them, else all. Definer, because people own what they have in the people''s tenant. It discloses '
  'nothing: private.customer_page decides who is found by what.';

create function private.customers_counted(partner uuid, after uuid, month date) returns jsonb
language sql stable security definer
as $$
  select jsonb_build_object('total', count(*),
                            'before', count(*) filter (where (a.created_at, a.user_id) >= (l.created_at, l.user_id)))
    from core.attributions a
    left join core.attributions l on l.partner_id = customers_counted.partner and l.user_id = after
   where a.partner_id = customers_counted.partner and (month is null or a.attached_month = month)
$$;
comment on function private.customers_counted(uuid, uuid, date) is
  'How many customers a partner has, of a month if one is given, and how many of them a list that goes on after one '
  'has shown: {total, before}. Definer, because people own what they have in the people''s tenant. It discloses '
  'counts.';

create function api.read_portal_customers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
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
                                jsonb_build_object('ids', ids, 'for', looks_for, 'limit', size + 1,
                                                   'key', query -> 'key'));
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
                 when cardinality(ids) = examined then private.customer_ref(ids[examined],
                                                                            private.customer_key(partner.id, key)) end);
end $$;
comment on function api.read_portal_customers(jsonb, jsonb) is
  'A page of a partner''s customers, newest first: {for: {text, city, is_active, source, charger, month, '
  'registration}, after, limit, key} to {who, counted, found, searched_all, customers, more_after}, customers as GET '
  '/partner/customers, counted as private.customers_counted if nothing but a month is looked for. found counts those '
  'after the customer after, among private.customers_examined() of them; searched_all: there are no others. Send '
  'more_after as after for the next page; null is the end. A page may have fewer than its limit before that.';

create function api.read_portal_customer(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  partner  core.partners;
  person   uuid;
  customer jsonb;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  person := private.customer_named(query ->> 'customer_ref', partner.id, query ->> 'key');
  customer := private.customer_page(partner, private.is_partner_itself(),
                                    jsonb_build_object('ids', array[person], 'key', query -> 'key'))::jsonb -> 0;
  perform private.refuse_if('customer_not_found', customer is null);
  return json_build_object(
    'who', private.portal_who(),
    'customer', customer,
    -- a draft names the person, so it is shown with one who is disclosed
    'draft', case when customer ? 'email' then (
      select json_build_object('draft_id', d.id, 'status', d.status, 'created_at', private.iso(d.created_at),
                               'invited_at', private.iso(d.invited_at), 'claimed_at', private.iso(d.claimed_at))
        from core.drafts d where d.partner_id = partner.id and d.user_id = person order by d.created_at desc,
            d.id limit 1) end);
end $$;
comment on function api.read_portal_customer(jsonb, jsonb) is
  'One customer of a partner: {customer_ref, key} to {who, customer, draft}, customer as in GET /partner/customers, '
  'draft {draft_id, status, created_at, invited_at, claimed_at} or null. Refused with customer_not_found for anybody '
  'else.';

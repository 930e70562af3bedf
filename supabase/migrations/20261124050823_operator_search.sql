begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."found_accounts"(text, integer);

CREATE OR REPLACE FUNCTION ops.account_show (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  account core.accounts;
begin
  perform private.act_as_operator(input);
  account := private.account_meant(input ->> 'account');
  perform private.audit('account.shown', account.id);
  return private.account_story(account);
end $function$;

CREATE OR REPLACE FUNCTION ops.booking_open (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant uuid := private.chosen_partner(input);
  run     constant uuid := gen_random_uuid();
  wanted  date;
  chosen  uuid[];
  opened  core.bookings[] := '{}';
  tenant  uuid;
begin
  perform private.act_as_operator(input);
  wanted := private.read_quarter(input ->> 'quarter');
  if wanted > private.today() then
    perform private.refuse('quarter_not_begun', json_build_object('quarter', input ->> 'quarter'));
  end if;
  -- whoever has something that could be booked, and whoever has a booking open already
  chosen := array(
    select p.id from core.partners p
     where (partner is null or p.id = partner)
       and (exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status = 'open')
            or exists (select from core.delivered_months d
                        where d.partner_id = p.id and d.period >= wanted and d.period < (wanted + interval '3 months')::date
                          and d.status = 'staged'))
     order by p.id);
  foreach tenant in array chosen loop
    perform private.act_for_partner(tenant);
    opened := opened || private.open_booking(tenant, wanted, run);
  end loop;
  return json_build_object(
    'changed', exists (select from unnest(opened) b where b.run_id = run),
    'bookings', (select coalesce(json_agg(private.booking_row(b) order by p.slug), '[]') from unnest(opened) b join core.partners p on p.id = b.partner_id));
end $function$;

CREATE OR REPLACE FUNCTION ops.customer_find (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  typed     constant text := btrim(input ->> 'text');
  -- of more than these, which come first by name cannot be said without reading them all
  most      constant int  := 1000;
  size      constant int  := least(coalesce((input ->> 'limit')::int, 20), most);
  customers jsonb;
  found_all bigint;
  customer  jsonb;
begin
  perform private.act_as_operator(input);
  if length(array_to_string(private.words_of(typed), '')) < 3 then
    perform private.refuse('text_too_short');
  end if;
  with matched as (
    select 'account' as kind, f.partner_id, f.account_id as id, coalesce(s.full_name, a.display_name) as name, s.email, a.cpo_external_ref as reference,
           null::text[] as eans, null as status, f.exact
      from private.found_accounts(typed, most + 1) f
      join core.accounts a on a.partner_id = f.partner_id and a.id = f.account_id
      left join core.signatories s on s.partner_id = f.partner_id and s.account_id = f.account_id
    union all
    select 'draft', d.partner_id, d.id, coalesce(d.contact_name, d.name, d.company_name), d.email, d.external_ref,
           array_remove(array[d.ean], null), private.draft_status(d),
           coalesce(d.email = lower(typed) or d.external_ref = typed or d.ean = regexp_replace(typed, '[\s.-]', '', 'g') or d.id = private.as_uuid(typed), false)
      from private.found_drafts(typed, most + 1) d
  ), page as (
    select m.*, row_number() over (order by m.exact desc, lower(m.name) nulls last, m.kind, m.id) as place, count(*) over () as found_all from matched m
     order by place limit size
  )
  select coalesce(jsonb_agg(jsonb_build_object(
           'kind', p.kind, 'id', p.id, 'partner_id', p.partner_id, 'partner_slug', r.slug, 'name', p.name, 'email', p.email, 'reference', p.reference,
           'eans', case p.kind when 'draft' then to_jsonb(p.eans) else (
              select coalesce(jsonb_agg(c.ean_code order by c.status, c.created_at, c.id), '[]') from core.connections c
               where c.partner_id = p.partner_id and c.account_id = p.id) end,
           'status', case p.kind when 'draft' then p.status else (
              select m.mandate_status from core.connection_mandates m where m.partner_id = p.partner_id and m.account_id = p.id
               order by m.status, m.created_at limit 1) end) order by p.place), '[]'), coalesce(max(p.found_all), 0)
    into customers, found_all
    from page p join core.partners r on r.id = p.partner_id;
  for customer in select c.customer from jsonb_array_elements(customers) as c (customer) loop
    perform private.act_for_partner((customer ->> 'partner_id')::uuid), private.audit('customer.found', (customer ->> 'id')::uuid);
  end loop;
  return json_build_object('customers', customers, 'more', found_all > jsonb_array_length(customers));
end $function$;

CREATE OR REPLACE FUNCTION private.account_meant (
  named text
)
  RETURNS core.accounts
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  candidates uuid[] := array(
    select c.account_id from private.connections_named(regexp_replace(named, '[ .]', '', 'g')) c where named ~ '^[0-9 .]{18,}$'
    union
    select s.account_id from core.signatories s where s.email = lower(btrim(named))
    union
    select a.id from auth.users u join core.accounts a on a.user_id = u.id where u.email = lower(btrim(named)));
begin
  if cardinality(candidates) > 1 then
    perform private.refuse('account_several', json_build_object('account', named, 'accounts', candidates));
  end if;
  return private.account_named(coalesce(candidates[1]::text, named));
end $function$;

CREATE OR REPLACE FUNCTION private.found_accounts (
  typed text,
  size  integer
)
  RETURNS TABLE (
    partner_id uuid,
    account_id uuid,
    exact      boolean
  )
  LANGUAGE plpgsql
  STABLE
  ROWS 20
  SET search_path TO ''
  AS $function$
declare
  partners constant uuid[]  := array(select p.id from core.partners p);
  -- an EAN, a telephone number and a postal code are typed in groups
  joined   constant text    := upper(regexp_replace(typed, '[\s.-]', '', 'g'));
  address  constant text[]  := regexp_match(joined, '^([1-9][0-9]{3}[A-Z]{2})([0-9]{1,5})');
  dialled  constant text    := case when joined ~ '^[+]?[0-9]{10,14}$' then private.phone_end(joined) end;
  query    constant tsquery := private.search_query(typed);
begin
  return query
    select f.partner_id, f.account_id, bool_or(f.exact) from (
      (select s.partner_id, s.account_id, false as exact from core.signatories s
        where private.search_words(s.full_name, s.email, private.phone_end(s.phone)) @@ (query || coalesce(quote_literal(dialled)::tsquery, query))
        limit size)
      union all
      (select a.partner_id, a.id, false from core.accounts a
        where private.search_words(a.display_name, a.cpo_external_ref, a.company ->> 'name') @@ query limit size)
      union all
      select s.partner_id, s.account_id, true from core.signatories s where s.email = lower(typed)
      union all
      select a.partner_id, a.id, true from auth.users u join core.accounts a on a.user_id = u.id where u.email = lower(typed)
      union all
      select a.partner_id, a.id, true from core.accounts a where a.partner_id = any (partners) and a.id = private.as_uuid(typed)
      union all
      select c.partner_id, c.account_id, true from private.connections_named(typed) c
      union all
      select c.partner_id, c.account_id, true from private.connections_named(joined) c
      union all
      -- the payment reference of a statement; a payment to a CPO finds every customer it is for
      (select p.partner_id, p.account_id, true
         from core.payout_lines l join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
        where l.partner_id = any (partners) and l.id = private.line_id_of(joined) and p.account_id is not null limit size)
      union all
      (select c.partner_id, c.account_id, false
         from core.locations l join core.connections c on c.partner_id = l.partner_id and c.location_id = l.id
        where l.partner_id = any (partners) and l.postal_code = address[1] and l.house_number = address[2]::int limit size)) f
    group by f.partner_id, f.account_id order by 3 desc limit size;
end $function$;

CREATE OR REPLACE FUNCTION private.found_drafts (
  typed text,
  size  integer
)
  RETURNS SETOF core.drafts
  LANGUAGE plpgsql
  STABLE
  ROWS 20
  SET search_path TO ''
  AS $function$
declare
  joined  constant text    := regexp_replace(typed, '[\s.-]', '', 'g');
  address constant text    := (regexp_match(lower(joined), '^[1-9][0-9]{3}[a-z]{2}[0-9]{1,5}'))[1];
  dialled constant text    := case when joined ~ '^[+]?[0-9]{10,14}$' then private.phone_end(joined) end;
  query   constant tsquery := private.search_query(typed);
begin
  return query
    (select d.* from core.drafts d
      where d.status <> 'active'
        and private.search_words(d.name, d.contact_name, d.company_name, d.email, d.external_ref, d.ean, d.postal_code, d.postal_code || d.house_number,
                                 private.phone_end(d.phone))
            @@ (query || coalesce(quote_literal(address)::tsquery, query) || coalesce(quote_literal(dialled)::tsquery, query)
                      || case when joined ~ '^[0-9]{18}$' then quote_literal(joined)::tsquery else query end)
      limit size)
    union
    select d.* from core.drafts d where d.id = private.as_uuid(typed) and d.status <> 'active'
    union
    -- an exact match counts beside the limit of the others
    select d.* from core.drafts d where d.email = lower(typed) and d.status in ('invited', 'claimed');
end $function$;

COMMENT ON FUNCTION "ops"."account_show"(jsonb) IS 'One account, by its id, cpo_external_ref, EAN or e-mail address: {account} to {account, signatory, connections, mandates, chargers, months, told}. Leaves an audit row.';

COMMENT ON FUNCTION "ops"."booking_open"(jsonb) IS 'Opens a booking of a quarter, for each partner that has months for it, or for one of them: {quarter, partner?} to {changed, bookings}. Answers a booking that is already open. After a submitted booking it opens a supplementary one.';

COMMENT ON FUNCTION "ops"."customer_find"(jsonb) IS 'Accounts, and drafts that are none yet: {text, limit?} to {customers, more}. Matches the beginning of each word of name, e-mail address or reference. Also matches an id, EAN, telephone number, payment reference, or postal code with house number. Exact matches come first, then by name. Needs three letters or digits. Leaves an audit row for each customer.';

COMMENT ON FUNCTION "private"."found_accounts"(text, integer) IS 'At most size accounts. Matches words of the signatory or account, telephone number, id, EAN, reference, payment reference, or postal code with house number. exact: matched by a whole e-mail address, an id, EAN, reference or payment reference. Exact matches come first, the others in no order.';

COMMENT ON FUNCTION "private"."found_drafts"(text, integer) IS 'Drafts that are no account yet, in no order. At most size of them match words, telephone number, EAN, or postal code with house number; the others match by id or whole e-mail address.';

REVOKE ALL ON FUNCTION "private"."found_accounts"(text, integer) FROM PUBLIC;

commit;

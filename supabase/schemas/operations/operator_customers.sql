-- The operator on customers: find, show. Each look-up leaves an audit row.

-- At most size accounts, in no order but exact matches first: by a whole e-mail address, id, EAN, reference or payment
-- reference. The others match words of the signatory or account, a telephone number, or postal code with house number.
create function private.found_accounts(typed text, size int) returns table (partner_id uuid,
                                                                            account_id uuid, exact boolean)
language plpgsql stable rows 20
as $$
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
        where private.search_words(s.full_name, s.email, private.phone_end(s.phone)) @@ (query
            || coalesce(quote_literal(dialled)::tsquery, query))
        limit size)
      union all
      (select a.partner_id, a.id, false from core.accounts a
        where private.search_words(a.display_name, a.cpo_external_ref, a.company ->> 'name') @@ query limit size)
      union all
      select s.partner_id, s.account_id, true from core.signatories s where s.email = lower(typed)
      union all
      select a.partner_id, a.id, true from auth.users u join core.accounts a on a.user_id = u.id
       where u.email = lower(typed)
      union all
      select a.partner_id, a.id, true from core.accounts a where a.partner_id = any (partners)
          and a.id = private.as_uuid(typed)
      union all
      select c.partner_id, c.account_id, true from private.connections_named(typed) c
      union all
      select c.partner_id, c.account_id, true from private.connections_named(joined) c
      union all
      -- the reference of a payment, on a statement or at the bank; a payment to a CPO finds every customer it is for
      (select p.partner_id, p.account_id, true
         from (select l.partner_id, l.id from core.payout_lines l where l.partner_id = any (partners)
               and l.id = private.line_id_of(joined)
               union all
               select l.partner_id, l.id from core.payout_lines l where private.payment_reference(l.id) = joined) l
         join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
        where p.account_id is not null limit size)
      union all
      (select c.partner_id, c.account_id, false
         from core.locations l join core.connections c on c.partner_id = l.partner_id and c.location_id = l.id
        where l.partner_id = any (partners) and l.postal_code = address[1]
            and l.house_number = address[2]::int limit size)) f
    group by f.partner_id, f.account_id order by 3 desc limit size;
end $$;

-- Drafts that are no account yet, in no order: at most size by words, telephone number, EAN or address, and all by id
-- or e-mail address.
create function private.found_drafts(typed text, size int) returns setof core.drafts
language plpgsql stable rows 20
as $$
declare
  joined  constant text    := regexp_replace(typed, '[\s.-]', '', 'g');
  address constant text    := (regexp_match(lower(joined), '^[1-9][0-9]{3}[a-z]{2}[0-9]{1,5}'))[1];
  dialled constant text    := case when joined ~ '^[+]?[0-9]{10,14}$' then private.phone_end(joined) end;
  query   constant tsquery := private.search_query(typed);
begin
  return query
    (select d.* from core.drafts d
      where d.status <> 'active'
        and private.search_words(d.name, d.contact_name, d.company_name, d.email, d.external_ref, d.ean, d.postal_code,
                                 d.postal_code || d.house_number,
                                 private.phone_end(d.phone))
            @@ (query || coalesce(quote_literal(address)::tsquery, query)
                || coalesce(quote_literal(dialled)::tsquery, query)
                      || case when joined ~ '^[0-9]{18}$' then quote_literal(joined)::tsquery else query end)
      limit size)
    union
    select d.* from core.drafts d where d.id = private.as_uuid(typed) and d.status <> 'active'
    union
    -- an exact match counts beside the limit of the others
    select d.* from core.drafts d where d.email = lower(typed) and d.status in ('invited', 'claimed');
end $$;

create function ops.customer_find(input jsonb) returns json
language plpgsql security definer
as $$
declare
  typed     constant text := btrim(input ->> 'text');
  -- to sort by name we read all matches, so we stop at this many
  most      constant int  := 1000;
  size      constant int  := least(coalesce((input ->> 'limit')::int, 20), most);
  customers jsonb;
  found_all bigint;
  customer  jsonb;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('text_too_short', length(array_to_string(private.words_of(typed), '')) < 3);
  with matched as (
    select 'account' as kind, f.partner_id, f.account_id as id, coalesce(s.full_name, a.display_name) as name, s.email,
        a.cpo_external_ref as reference,
           null::text[] as eans, null as status, f.exact
      from private.found_accounts(typed, most + 1) f
      join core.accounts a on a.partner_id = f.partner_id and a.id = f.account_id
      left join core.signatories s on s.partner_id = f.partner_id and s.account_id = f.account_id
    union all
    select 'draft', d.partner_id, d.id, coalesce(d.contact_name, d.name, d.company_name), d.email, d.external_ref,
           array_remove(array[d.ean], null), private.draft_status(d),
           coalesce(d.email = lower(typed) or d.external_ref = typed or d.ean = regexp_replace(typed, '[\s.-]', '', 'g')
                    or d.id = private.as_uuid(typed), false)
      from private.found_drafts(typed, most + 1) d
  ), page as (
    select m.*, row_number() over (order by m.exact desc, lower(m.name) nulls last, m.kind, m.id) as place,
        count(*) over () as found_all from matched m
     order by place limit size
  )
  select coalesce(jsonb_agg(jsonb_build_object(
           'kind', p.kind, 'id', p.id, 'partner_id', p.partner_id, 'partner_slug', r.slug, 'name', p.name, 'email',
               p.email, 'reference', p.reference,
           'eans', case p.kind when 'draft' then to_jsonb(p.eans) else (
              select coalesce(jsonb_agg(c.ean_code order by c.status, c.created_at, c.id), '[]') from core.connections c
               where c.partner_id = p.partner_id and c.account_id = p.id) end,
           'status', case p.kind when 'draft' then p.status else (
              select m.mandate_status from core.connection_mandates m where m.partner_id = p.partner_id
                  and m.account_id = p.id
               order by m.status, m.created_at limit 1) end) order by p.place), '[]'), coalesce(max(p.found_all), 0)
    into customers, found_all
    from page p join core.partners r on r.id = p.partner_id;
  perform private.refuse_if('iban_not_searchable', found_all = 0 and private.as_uuid(typed) is null
                            and upper(regexp_replace(typed, '[\s.-]', '', 'g')) ~ '^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$');
  for customer in select c.customer from jsonb_array_elements(customers) as c (customer) loop
    perform private.set_tenant((customer ->> 'partner_id')::uuid),
        private.audit('customer.found', (customer ->> 'id')::uuid);
  end loop;
  return json_build_object('customers', customers, 'more', found_all > jsonb_array_length(customers));
end $$;
comment on function ops.customer_find(jsonb) is
  'Accounts, and drafts that are none yet: {text, limit?} to {customers, more}. Matches the beginning of each word of '
  'name, e-mail address or reference. Also matches an id, EAN, telephone number, payment reference, or postal code '
  'with house number. Exact matches come first, then by name. Needs three letters or digits; an IBAN '
  'is not found. Leaves an audit row for each customer.';

create function ops.account_show(input jsonb) returns json
language plpgsql security definer
as $$
declare
  account constant core.accounts := private.account_meant(input);
begin
  perform private.audit('account.shown', account.id);
  return json_build_object(
    'account', json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'access_channel', account.access_channel, 'type', account.type,
      'display_name', account.display_name, 'company', account.company, 'payout_handler', account.payout_handler,
      'iban_last4', account.iban_last4, 'iban_checksum_ok', account.iban_checksum_ok, 'bank_name', account.bank_name,
      'iban_holder', account.iban_holder, 'iban_asked_by', account.iban_asked ->> 'by',
      'balance_eur',
          private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'brought_by', (select p.slug from core.attributions t join core.partners p on p.id = t.partner_id
                     where t.user_id = account.user_id),
      'created_at', private.iso(account.created_at)),
    'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email, 'phone', s.phone,
                                       'mail_failed_at', private.iso(s.mail_failed_at),
                                       'mail_failed_reason', s.mail_failed_reason)
                    from core.signatories s where s.partner_id = account.partner_id and s.account_id = account.id),
    'connections', (select coalesce(json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id),
                                    '[]')
                      from core.connections c where c.partner_id = account.partner_id and c.account_id = account.id),
    'mandates', (select coalesce(json_agg(json_build_object(
                          'connection_id', c.id, 'status', m.status, 'renewal', m.renewal, 'valid_from', m.valid_from,
                              'valid_until', m.valid_until,
                          'covered_until', m.covered_until, 'fee_pct', m.fee_pct, 'signed_name', m.signed_name,
                              'signed_at', private.iso(m.signed_at),
                          'code_confirmed', m.code_confirmed, 'ended_at', private.iso(m.ended_at), 'ended_reason',
                              m.ended_reason)
                          order by m.created_at, m.id), '[]')
                   from core.connections c join core.mandates m on m.partner_id = c.partner_id
                       and m.connection_id = c.id
                  where c.partner_id = account.partner_id and c.account_id = account.id),
    'chargers', (select coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]')
                   from core.chargers h where h.partner_id = account.partner_id and h.account_id = account.id),
    'months', (select coalesce(json_agg(json_build_object('year', g.year, 'status', g.status, 'months', g.months,
                                                          'kwh', g.kwh) order by g.year, g.status), '[]')
                 from (select extract(year from d.period)::int as year, d.status, count(*) as months,
                       sum(d.total_kwh) as kwh
                         from core.connections c join core.delivered_months d on d.partner_id = c.partner_id
                             and d.connection_id = c.id
                        where c.partner_id = account.partner_id and c.account_id = account.id group by 1, 2) g),
    'sessions', (select coalesce(json_agg(json_build_object(
                          'charging_session_id', r.id, 'charger_id', r.charger_id, 'source', r.source, 'started_at',
                              private.iso(r.started_at),
                          'ended_at', private.iso(r.ended_at), 'kwh', r.wh / 1000.0, 'meter_start_kwh',
                              r.meter_start_wh / 1000.0,
                          'meter_end_kwh', r.meter_end_wh / 1000.0, 'flags', r.flags) order by r.started_at desc, r.id),
                              '[]')
                   from (select s.*
                           from core.chargers h join core.charging_sessions s on s.partner_id = h.partner_id
                               and s.charger_id = h.id
                          where h.partner_id = account.partner_id and h.account_id = account.id
                              order by s.started_at desc, s.id limit 50) r),
    'told', (select coalesce(json_agg(json_build_object('kind', n.kind, 'created_at', private.iso(n.created_at),
                                                        'waits', n.due_at is not null) order by n.created_at, n.id),
                                                        '[]')
               from core.notices n where n.partner_id = account.partner_id and n.account_id = account.id));
end $$;
comment on function ops.account_show(jsonb) is
  'One account, by its id, cpo_external_ref, EAN or e-mail address: {account} to {account, signatory, connections, '
  'mandates, chargers, months, sessions, told}, months summed by year and status, the newest 50 sessions. Leaves an '
  'audit row.';

create function ops.payout_overview(input jsonb) returns json
language plpgsql security definer
as $$
declare
  account constant core.accounts := private.account_named(input);
begin
  perform private.audit('account.overview_read', account.id);
  return json_build_object('overview', private.yearly_overview(account, (input ->> 'year')::int));
end $$;
comment on function ops.payout_overview(jsonb) is
  'A customer''s year: {account, year} to {overview}. It shows a person''s data, so it leaves an audit row.';

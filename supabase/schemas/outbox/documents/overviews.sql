-- A customer's year: sales and payments. For the operator, and as a document for the customer.

-- The sales and payments of a customer in a calendar year; the fee includes its VAT. Only definers call it: the batch
-- is the service's.
create function private.yearly_overview(account core.accounts, year int) returns json
language plpgsql stable
as $$
begin
  return (
    with sold as (
      -- sold in that year, or taken back in it
      select k.at, b.quarter, s.price, a.ere / r.ere_per_kwh * k.sign as kwh, a.ere * k.sign as ere,
          a.gross * k.sign as gross, a.fee * k.sign as fee, a.net * k.sign as net
        from core.allocations a
        join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
        join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
        join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
        left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
        cross join lateral (values (s.sold_on, 1), (private.dutch_day(v.reversed_at), -1)) k (at, sign)
       where a.partner_id = account.partner_id and a.account_id = account.id
           and extract(year from k.at) = yearly_overview.year
    ), payment as (
      select private.dutch_day(l.paid_at) as at, p.amount, l.account_id is null as to_partner, l.iban_last4, l.id
        from core.payout_parts p
        join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
       where p.ledger_partner_id = account.partner_id and p.payee_id = account.id and p.kind = 'customer'
         and extract(year from private.dutch_day(l.paid_at)) = yearly_overview.year
    )
    select json_build_object(
      'account_id', account.id, 'year', yearly_overview.year, 'currency', 'EUR', 'kwh_sold',
          round(coalesce(sum(s.kwh), 0), 3),
      'ere_sold', coalesce(sum(s.ere), 0), 'gross_eur', coalesce(sum(s.gross), 0), 'fee_eur', coalesce(sum(s.fee), 0),
          'net_eur', coalesce(sum(s.net), 0),
      'paid_eur', (select coalesce(sum(p.amount), 0) from payment p),
      'sales', (select coalesce(json_agg(json_build_object(
                  'sold_on', q.at, 'quarter', private.quarter_name(q.quarter), 'price_per_ere_eur', q.price, 'kwh',
                      round(q.kwh, 3), 'ere', q.ere, 'gross_eur', q.gross,
                  'fee_eur', q.fee, 'net_eur', q.net) order by q.at, q.quarter, q.price, q.ere < 0), '[]')
                  from (select o.at, o.quarter, o.price, sum(o.kwh) as kwh, sum(o.ere) as ere, sum(o.gross) as gross,
                        sum(o.fee) as fee, sum(o.net) as net
                          from sold o group by o.at, o.quarter, o.price, sign(o.ere)) q),
      'payments', (select coalesce(json_agg(json_build_object(
                     'paid_on', p.at, 'amount_eur', p.amount, 'to',
                         case when p.to_partner then 'cpo' else 'customer' end, 'iban', '**** ' || p.iban_last4,
                     'reference', private.payment_reference(p.id))
                     order by p.at), '[]') from payment p))
      from sold s);
end $$;

create function private.overview_content(account core.accounts, year int) returns json
language plpgsql stable security definer
as $$
begin
  return (
    select json_build_object(
      'locale', private.customer_locale(account),
      'customer', private.customer_name(account),
      'logo', private.document_logo(account),
      'cpo', case when account.payout_handler = 'via_cpo_invoicing' then (
        select coalesce(p.company ->> 'name', p.name) from core.partners p where p.id = account.partner_id) end,
      'overview', private.yearly_overview(account, year)));
end $$;
comment on function private.overview_content(core.accounts, int) is
  'What the document of a customer''s year says: {locale, customer, logo, cpo, overview}; cpo only if it settles with '
  'them. Definer, as private.yearly_overview.';

create function private.overview_years(account core.accounts) returns setof int
language sql stable security definer
as $$
  select y.year from (
    select extract(year from k.at)::int as year
      from core.allocations a
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
     cross join lateral (values (s.sold_on), (private.dutch_day(v.reversed_at))) k (at)
     where a.partner_id = account.partner_id and a.account_id = account.id and k.at is not null
    union
    select extract(year from private.dutch_day(l.paid_at))::int
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
     where p.ledger_partner_id = account.partner_id and p.payee_id = account.id and p.kind = 'customer') y
   -- of a year that retention may delete, a part may be gone
   where y.year between extract(year from private.today()) - 6 and extract(year from private.today()) - 1
$$;
comment on function private.overview_years(core.accounts) is
  'The past years in which a customer had a sale, a reversal or a payment. Definer, as private.yearly_overview.';

-- private.kept_document of a past year, written at the first request, and again if it would say something else.
create function private.overview_document(account core.accounts, year int) returns json
language plpgsql
as $$
declare
  said     text;
  document core.documents;
begin
  perform private.refuse_if('statement_not_found',
                            account.id is null or year not in (select private.overview_years(account)));
  said := encode(sha256(convert_to(private.overview_content(account, year)::text, 'UTF8')), 'hex');
  insert into core.documents (partner_id, account_id, owner_id, year, year_sha256)
  values (account.partner_id, account.id, account.owner_id, overview_document.year, said)
  on conflict on constraint documents_year_key do update
    set year_sha256 = excluded.year_sha256, pdf = null, sha256 = null, rendered_at = null,
        created_at = excluded.created_at, due_at = excluded.due_at
    where documents.year_sha256 <> excluded.year_sha256;
  select * into document from core.documents d
   where d.partner_id = account.partner_id and d.account_id = account.id and d.year = overview_document.year;
  if document.pdf is null then
    return private.refusal('document_not_ready');  -- that it was asked for stays
  end if;
  return private.kept_document(document, concat_ws('-', 'overview', year, left(account.id::text, 8)));
end $$;

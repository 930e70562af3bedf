begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.document_logo (
  partner uuid
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select json_build_object('name', private.partner_display_name(p), 'png', replace(encode(l.png, 'base64'), E'\n', ''), 'width', l.width, 'height', l.height)
      from core.partner_logos l join core.partners p on p.id = l.partner_id
     where l.partner_id = partner and l.replaced_at is null);
end $function$;

CREATE OR REPLACE FUNCTION private.overview_content (
  account core.accounts,
  year    integer
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return (
    select json_build_object(
      'locale', private.customer_locale(account),
      'customer', private.customer_name(account),
      'logo', private.document_logo(account.partner_id),
      'cpo', case when account.payout_handler = 'via_cpo_invoicing' then (
        select coalesce(p.company ->> 'name', p.name) from core.partners p where p.id = account.partner_id) end,
      'overview', private.yearly_overview(account, year)));
end $function$;

CREATE OR REPLACE FUNCTION private.statement_content (
  document core.documents
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with line as materialized (
    select l.partner_id, l.id, p.id as part_id, p.account_id, p.amount, l.account_id is null as to_partner, l.paid_at, l.iban_last4
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.partner_id = document.partner_id and p.kind = 'customer' and p.account_id = document.account_id
       and (p.line_id = document.line_id or p.id = document.part_id)
  ), months as materialized (
    select r.ean_code, r.period, round(sum(a.ere) / r.ere_per_kwh, 3) as kwh, sum(a.ere) as ere, s.price, sum(a.gross) as gross, sum(a.fee) as fee, sum(a.net) as net
      from line l
      join core.payout_entries e on e.partner_id = l.partner_id and e.part_id = l.part_id and e.sold
      join core.allocations a on a.partner_id = e.ledger_partner_id and a.id = e.allocation_id
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     group by r.id, r.ean_code, r.period, r.ere_per_kwh, s.price
  ), total as (
    select coalesce(sum(m.kwh), 0.000) as kwh, coalesce(sum(m.ere), 0.000000) as ere, coalesce(sum(m.gross), 0.00) as gross,
           coalesce(sum(m.fee), 0.00) as fee, coalesce(sum(m.net), 0.00) as net
      from months m
  )
  select json_build_object(
           'locale', private.customer_locale(a),
           'customer', private.customer_name(a),
           'logo', private.document_logo(a.partner_id),
           'reference', private.payment_reference(l.id),
           'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date,
           'iban_last4', case when not l.to_partner then l.iban_last4 end,
           'paid_to', case when l.to_partner then (select coalesce(t.company ->> 'name', t.name) from core.partners t where t.id = l.partner_id) end,
           'rows', (select coalesce(json_agg(json_build_object(
                             'period', to_char(m.period, 'YYYY-MM'), 'ean_code', m.ean_code, 'kwh', m.kwh::text, 'ere', m.ere::text, 'price', m.price::text,
                             'gross', m.gross::text, 'fee', m.fee::text, 'net', m.net::text) order by m.ean_code, m.period, m.price), '[]') from months m),
           'totals', json_build_object('kwh', t.kwh::text, 'ere', t.ere::text, 'gross', t.gross::text, 'fee', t.fee::text, 'net', t.net::text),
           'other', (l.amount - t.net)::text,
           'amount', l.amount::text)
    from line l
    cross join total t
    join core.accounts a on a.partner_id = l.partner_id and a.id = l.account_id
$function$;

COMMENT ON FUNCTION "private"."document_logo"(uuid) IS 'The logo of a partner as a document shows it: {name, png (base64), width, height}, null if there is none.';

COMMENT ON FUNCTION "private"."overview_content"(core.accounts, integer) IS 'What the document of a customer''s year says: {locale, customer, logo, cpo, overview}; cpo only if it settles with them. Definer, as private.yearly_overview.';

COMMENT ON FUNCTION "private"."statement_content"(core.documents) IS 'What the statement of a payout line says, or of a customer''s part of a payment to a CPO. It has who was paid, when, and where to (the end of an IBAN, or the name of the CPO). Each month and price of an ERE has kWh, ERE, gross, fee and net, as core.payout_entries has them since the line was prepared. Exact decimals, as text. other is the amount that no month explains: a reversed sale that was paid before.';

REVOKE ALL ON FUNCTION "private"."document_logo"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."document_logo"(uuid) TO "api_owner";



commit;

-- What documents about money say: statements, of what a customer was paid and for what, and invoices.

-- Requests the statements of paid lines: for each customer, and each customer's part of a CPO's payment.
create function private.request_statements(lines core.payout_lines[]) returns void
language sql
as $$
  insert into core.documents (partner_id, account_id, owner_id, line_id)
  select l.partner_id, l.account_id, l.owner_id, l.id from unnest(lines) l where l.account_id is not null
  on conflict on constraint documents_line_key do nothing;
  insert into core.documents (partner_id, account_id, owner_id, part_id)
  select p.partner_id, p.account_id, p.owner_id, p.id
    from unnest(lines) l
    join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id and p.kind = 'customer'
   where l.account_id is null
  on conflict on constraint documents_part_key do nothing
$$;

-- Deletes the statements of paid lines that came back. Their months are on the statements of the lines that pay them.
create function private.withdraw_statements(lines core.payout_lines[]) returns void
language sql
as $$
  delete from core.documents d using unnest(lines) l where d.partner_id = l.partner_id and d.line_id = l.id;
  delete from core.documents d
   using unnest(lines) l join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
   where d.partner_id = p.partner_id and d.part_id = p.id
$$;

-- The language in which a customer signed last.
create function private.customer_locale(account core.accounts) returns text
language plpgsql stable
as $$
begin
  return coalesce((
    select m.locale from core.mandates m join core.connections c on c.partner_id = m.partner_id
        and c.id = m.connection_id
     where c.partner_id = account.partner_id and c.account_id = account.id and m.locale is not null
         order by m.created_at desc limit 1), 'nl');
end $$;

-- Who is paid: the signatory, or the name of a business.
create function private.customer_name(account core.accounts) returns text
language plpgsql stable
as $$
begin
  return (select case when account.type = 'particulier' then s.full_name
                      else coalesce(account.company ->> 'name', account.display_name, s.full_name) end
            from core.signatories s where s.partner_id = account.partner_id and s.account_id = account.id);
end $$;

-- The logo above a customer's documents: {name, png (base64), width, height}. The partner that brought them has it
-- there, else their CPO.
create function private.document_logo(account core.accounts) returns json
language plpgsql stable
as $$ begin return (
    select json_build_object('name', private.partner_display_name(p),
                             'png', replace(encode(l.png, 'base64'), E'\n', ''), 'width', l.width, 'height', l.height)
      from core.partner_logos l join core.partners p on p.id = l.partner_id
     where l.partner_id = coalesce((select t.partner_id from core.attributions t where t.user_id = account.user_id),
                                   account.partner_id) and l.replaced_at is null); end $$;

-- What the statement of a payout line says, or of a customer's part of a payment to a CPO. Months and prices are those
-- of core.payout_entries, fixed when the line was prepared. Exact decimals, as text. other is what no month explains: a
-- reversed sale that was paid before.
create function private.statement_content(document core.documents) returns json
language sql stable
as $$
  with line as (
    select l.partner_id, l.id, p.id as part_id, p.account_id, p.amount, l.account_id is null as to_partner,
        l.paid_at, l.iban_last4
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.partner_id = document.partner_id and p.kind = 'customer' and p.account_id = document.account_id
       and (p.line_id = document.line_id or p.id = document.part_id)
  ), months as (
    select r.ean_code, r.period, round(sum(a.ere) / r.ere_per_kwh, 3) as kwh, sum(a.ere) as ere, s.price,
        sum(a.gross) as gross, sum(a.fee) as fee, sum(a.net) as net
      from line l
      join core.payout_entries e on e.partner_id = l.partner_id and e.part_id = l.part_id and e.sold
      join core.allocations a on a.partner_id = e.ledger_partner_id and a.id = e.allocation_id
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     group by r.id, r.ean_code, r.period, r.ere_per_kwh, s.price
  ), total as (
    select coalesce(sum(m.kwh), 0.000) as kwh, coalesce(sum(m.ere), 0.000000) as ere,
        coalesce(sum(m.gross), 0.00) as gross,
           coalesce(sum(m.fee), 0.00) as fee, coalesce(sum(m.net), 0.00) as net
      from months m
  )
  select json_build_object(
           'locale', private.customer_locale(a),
           'customer', private.customer_name(a),
           'logo', private.document_logo(a),
           'reference', private.payment_reference(l.id),
           'paid_on', private.dutch_day(l.paid_at),
           'iban_last4', case when not l.to_partner then l.iban_last4 end,
           'paid_to', case when l.to_partner then (select coalesce(t.company ->> 'name', t.name) from core.partners t
                                                   where t.id = l.partner_id) end,
           'rows', (select coalesce(json_agg(json_build_object(
                             'period', to_char(m.period, 'YYYY-MM'), 'ean_code', m.ean_code, 'kwh', m.kwh::text, 'ere',
                                 m.ere::text, 'price', m.price::text,
                             'gross', m.gross::text, 'fee', m.fee::text, 'net', m.net::text) order by m.ean_code,
                                 m.period, m.price), '[]') from months m),
           'totals', json_build_object('kwh', t.kwh::text, 'ere', t.ere::text, 'gross', t.gross::text,
                                       'fee', t.fee::text, 'net', t.net::text),
           'other', (l.amount - t.net)::text,
           'amount', l.amount::text)
    from line l
    cross join total t
    join core.accounts a on a.partner_id = l.partner_id and a.id = l.account_id
$$;

-- What an invoice says: number, day, quarter, supplier, VAT, and what it charges by month of delivery. Exact decimals,
-- as text.
create function private.invoice_content(document core.documents) returns json
language sql stable
as $$
  select json_build_object(
           'locale', coalesce(p.locale, 'nl'), 'number', private.invoice_number(i), 'issued_on', i.issued_on, 'quarter',
               private.quarter_name(i.quarter),
           'corrects', (select json_build_object('number', private.invoice_number(c), 'issued_on', c.issued_on)
                          from core.invoices c where c.partner_id = i.partner_id and c.id = i.corrects),
           'supplier', i.company || jsonb_build_object('name', i.name),
           'vat_regime', i.vat_regime, 'vat_rate', i.vat_rate::text, 'net', i.net::text, 'vat', i.vat::text, 'total',
               (i.net + i.vat)::text,
           'months', (select coalesce(json_agg(json_build_object('period', m ->> 'period',
                                                                 'customers', (m ->> 'customers')::int,
                                                                 'ere', m ->> 'ere',
                                                                 'fee', m ->> 'fee_eur', 'share',
                                                                     m ->> 'share_eur')), '[]')
                        from jsonb_array_elements(i.months) m))
    from core.invoices i
    join core.partners p on p.id = i.partner_id
   where i.partner_id = document.partner_id and i.id = document.invoice_id
$$;

-- Invoices as documents: what they say.

-- What an invoice says: number, day, quarter, supplier, VAT, and what it charges by month of delivery. Exact decimals, as text.
create function private.invoice_content(document core.documents) returns json
language sql stable
as $$
  select json_build_object(
           'locale', coalesce(p.locale, 'nl'), 'number', private.invoice_number(i), 'issued_on', i.issued_on, 'quarter', private.quarter_name(i.quarter),
           'corrects', (select json_build_object('number', private.invoice_number(c), 'issued_on', c.issued_on)
                          from core.invoices c where c.partner_id = i.partner_id and c.id = i.corrects),
           'supplier', i.company || jsonb_build_object('name', i.name),
           'vat_regime', i.vat_regime, 'vat_rate', i.vat_rate::text, 'net', i.net::text, 'vat', i.vat::text, 'total', (i.net + i.vat)::text,
           'months', (select coalesce(json_agg(json_build_object('period', m ->> 'period', 'customers', (m ->> 'customers')::int, 'ere', m ->> 'ere',
                                                                 'fee', m ->> 'fee_eur', 'share', m ->> 'share_eur')), '[]')
                        from json_array_elements(private.invoice_months(i)) m))
    from core.invoices i
    join core.partners p on p.id = i.partner_id
   where i.partner_id = document.partner_id and i.id = document.invoice_id
$$;

-- Reading documents about money: a partner's invoices, and a CPO client's settlements of its customers.

-- The invoices in the name of the tenant of this transaction, newest first, as GET /partner/invoices.
create function private.partner_invoices() returns json
language sql stable
as $$
  select coalesce(json_agg(json_build_object(
           'number', private.invoice_number(i), 'period', private.quarter_name(i.quarter), 'issued_on', i.issued_on,
           'corrects', private.invoice_number(c), 'vat_regime', i.vat_regime, 'vat_rate', i.vat_rate,
           'net_eur', i.net, 'vat_eur', i.vat, 'total_eur', i.net + i.vat) order by i.year desc, i.number desc), '[]')
    from core.invoices i
    left join core.invoices c on c.partner_id = i.partner_id and c.id = i.corrects
   where i.partner_id = private.partner_id()
$$;

create function api.list_invoices(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('invoices', private.partner_invoices());
end $$;
comment on function api.list_invoices(jsonb) is 'GET /partner/invoices: {invoices}, newest first.';

create function api.read_invoice(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
declare
  document core.documents;
begin
  perform private.act_as(caller, 'partner');
  select d.* into document
    from core.documents d
    join core.invoices i on i.partner_id = d.partner_id and i.id = d.invoice_id
   where d.partner_id = private.partner_id() and d.invoice_id is not null
       and private.invoice_number(i) = request ->> 'number';
  perform private.refuse_if('invoice_not_found', document.id is null);
  return private.kept_document(document, 'invoice-' || (request ->> 'number'));
end $$;
comment on function api.read_invoice(jsonb, jsonb) is
  'GET /partner/invoices/{invoice_number}: {number} to private.kept_document.';

-- private.kept_document of a customer's part of a payment to the CPO. Refused with settlement_not_found if the
-- transaction may read none.
create function private.settlement_document(part uuid) returns json
language plpgsql stable
as $$
declare
  document core.documents;
begin
  select d.* into document from core.documents d where d.partner_id = private.partner_id() and d.part_id = part;
  perform private.refuse_if('settlement_not_found', document.id is null);
  return private.kept_document(document, concat_ws('-', 'settlement', private.dutch_day(document.created_at),
                                                   left(document.account_id::text, 8)));
end $$;

create function api.read_settlement(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'cpo');
  return private.settlement_document((request ->> 'settlement_id')::uuid);
end $$;
comment on function api.read_settlement(jsonb, jsonb) is
  'GET /v1/settlements/{settlement_id}: {settlement_id} to private.kept_document. Refused with settlement_not_found '
  'until the payment is made.';

create function api.read_portal_settlement(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.settlement_document((request ->> 'settlement_id')::uuid);
end $$;
comment on function api.read_portal_settlement(jsonb, jsonb) is
  'A settlement of any client of a partner, for its pages: as api.read_settlement.';

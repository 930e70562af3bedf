-- Documents that people keep: asked for in the transaction of what they show, rendered once by the function `documents`, and only read after that.

create function private.request_invoice_document(invoice core.invoices) returns void
language sql
set search_path = ''
as $$
  insert into core.documents (partner_id, invoice_id) values (invoice.partner_id, invoice.id)
$$;
comment on function private.request_invoice_document(core.invoices) is 'Has an invoice rendered as a document.';

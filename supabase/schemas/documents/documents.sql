-- Documents that people keep. The transaction of the change requests one, the function `documents` renders it once, and after that it is
-- only read.

create function private.request_invoice_document(invoice core.invoices) returns void
language sql
as $$
  insert into core.documents (partner_id, invoice_id) values (invoice.partner_id, invoice.id)
$$;
comment on function private.request_invoice_document(core.invoices) is 'Requests the document of an invoice.';

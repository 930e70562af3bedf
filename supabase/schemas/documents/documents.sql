-- Documents that people keep: asked for in the transaction of what they show, rendered once by the function `documents`, and only read after that.

create function private.request_mandate_document(link core.mandate_links) returns void
language sql
set search_path = ''
as $$
  insert into core.documents (partner_id, account_id, owner_id, mandate_id)
  select m.partner_id, c.account_id, c.owner_id, m.id
    from core.mandates m
    join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
   where m.partner_id = link.partner_id and m.link_id = link.id and m.document is not null
  on conflict on constraint documents_mandate_key do nothing
$$;
comment on function private.request_mandate_document(core.mandate_links) is 'Has what was signed by a link rendered as a document.';
grant execute on function private.request_mandate_document(core.mandate_links) to api_owner;

create function private.request_invoice_document(invoice core.invoices) returns void
language sql
set search_path = ''
as $$
  insert into core.documents (partner_id, invoice_id) values (invoice.partner_id, invoice.id)
$$;
comment on function private.request_invoice_document(core.invoices) is 'Has an invoice rendered as a document.';

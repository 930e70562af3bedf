-- Documents that people keep: requested by the transaction of the change, composed once by the function `documents`,
-- then only read.

create function private.lease_documents(size int) returns json
language sql security definer
as $$
  with leased as (
    update core.documents d set due_at = private.now() + interval '5 minutes'
     where (d.partner_id, d.id) in (
       select w.partner_id, w.id from core.documents w
        where w.pdf is null and w.due_at <= private.now()
        order by w.due_at limit size for update skip locked)
    returning d.*)
  select coalesce(json_agg(json_build_object(
           'partner_id', d.partner_id, 'id', d.id, 'kind',
               case when d.mandate_id is not null then 'mandate' when d.invoice_id is not null then 'invoice'
                                                                        when d.year is not null then 'overview'
                                                                            else 'statement' end, 'created_at',
                                                                            private.iso(d.created_at),
           'content', case
             when d.line_id is not null or d.part_id is not null then private.statement_content(d)
             when d.year is not null then (select private.overview_content(a, d.year) from core.accounts a
                                           where a.partner_id = d.partner_id and a.id = d.account_id)
             when d.invoice_id is not null then private.invoice_content(d)
             else (select json_build_object('document', m.document, 'document_sha256', m.document_sha256,
                                            'signed_name', m.signed_name,
                                            'signed_at', private.iso(m.signed_at), 'code_sent_to', m.code_sent_to,
                                                'valid_from', m.valid_from,
                                            'valid_until', m.valid_until, 'mandate_id', m.id, 'connection_id',
                                                m.connection_id)
                     from core.mandates m where m.partner_id = d.partner_id and m.id = d.mandate_id) end)
                         order by d.created_at, d.id), '[]')
    from leased d
$$;
comment on function private.lease_documents(int) is 'Definer, because it leases documents of every tenant.';

create function api.lease_documents(caller jsonb, batch jsonb) returns json
language sql security definer
as $$ select private.act_as(caller, 'worker'); select private.lease_documents((batch ->> 'size')::int); $$;
comment on function api.lease_documents(jsonb, jsonb) is
  'The next documents to render: {size} to [{partner_id, id, kind, created_at, content}]. Each is leased for five '
  'minutes, then offered again.';
grant execute on function api.lease_documents(jsonb, jsonb) to edge_slow;

create function api.store_document(caller jsonb, rendered jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker'), private.set_tenant((rendered ->> 'partner_id')::uuid);
  update core.documents d
     set pdf = decode(rendered ->> 'pdf', 'base64'), sha256 = rendered ->> 'sha256', rendered_at = private.now()
   where d.partner_id = private.partner_id() and d.id = (rendered ->> 'id')::uuid and d.pdf is null;
  return json_build_object('stored', found);
end $$;
comment on function api.store_document(jsonb, jsonb) is
  'Keeps a rendered document: {partner_id, id, pdf (base64), sha256} to {stored}. stored is false if one was kept '
  'before, which stays.';
grant execute on function api.store_document(jsonb, jsonb) to edge_slow;

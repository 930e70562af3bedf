-- Reading documents: a CPO client reads the mandates of its accounts, and a signatory their own.

-- A document: {pdf (base64), sha256, name}, the name without its ending. Refused with document_not_ready until it is
-- rendered.
create function private.kept_document(document core.documents, name text) returns json
language plpgsql stable
as $$
begin
  perform private.refuse_if('document_not_ready', document.pdf is null);
  return json_build_object('pdf', translate(encode(document.pdf, 'base64'), E'\n', ''), 'sha256', document.sha256,
                           'name', name);
end $$;

-- private.kept_document of a mandate of the tenant, named by its years and id. Refused with mandate_not_found if there
-- is none.
create function private.mandate_document(mandate uuid) returns json
language plpgsql stable
as $$
declare
  name text;
begin
  select concat_ws('-', 'mandate', to_char(m.valid_from, 'YYYY'),
                   nullif(to_char(m.valid_until, 'YYYY'), to_char(m.valid_from, 'YYYY')), left(m.id::text, 8)) into name
    from core.mandates m where m.partner_id = private.partner_id() and m.id = mandate;
  perform private.refuse_if('mandate_not_found', name is null);
  return private.kept_document((
    select d from core.documents d where d.partner_id = private.partner_id() and d.mandate_id = mandate), name);
end $$;

create function api.read_connection_mandate(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
declare
  connection uuid;
begin
  perform private.act_as(caller, 'cpo');
  select c.id into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (request ->> 'connection_id')::uuid;
  perform private.refuse_if('connection_not_found', connection is null);
  -- the mandate that covers today, else the one signed last
  return private.mandate_document((
    select m.id from core.mandates m
     where m.partner_id = private.partner_id() and m.connection_id = connection and m.document is not null
     order by m.status = 'signed' and private.today() between m.valid_from and m.valid_until desc,
         m.created_at desc limit 1));
end $$;
comment on function api.read_connection_mandate(jsonb, jsonb) is
  'GET /v1/connections/{connection_id}/mandate: {connection_id} to private.mandate_document.';

create function api.read_link_mandate(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
as $$
declare
  link core.mandate_links;
begin
  link := private.enter_link(caller, request);
  return private.mandate_document((
    select m.id from core.mandates m
     where m.partner_id = link.partner_id and m.link_id = link.id and m.document is not null
         and private.link_state(link) = 'signed'));
end $$;
comment on function api.read_link_mandate(jsonb, jsonb) is
  'The document signed by a mandate link: {token_hash} to private.mandate_document. Its page counts the visit.';

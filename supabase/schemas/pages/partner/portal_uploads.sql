-- Files of months or sessions in the portal: a manager of the partner chooses a CPO client, looks, and confirms.

-- From here on the transaction acts for a client of the partner: it owns what is stored. The page offers no other
-- client.
create function private.act_for_client(client uuid) returns void
language plpgsql
as $$
begin
  if not exists (select from private.uploading_clients() c where c.id = client) then
    raise exception 'not a client of this partner' using errcode = 'insufficient_privilege';
  end if;
  perform set_config('app.client_id', client::text, true), set_config('app.owner_id', client::text, true),
      set_config('app.sees_whole_tenant', '', true);
end $$;

create function private.uploading_clients() returns setof core.oauth_clients
language sql stable security definer
as $$
  select * from core.oauth_clients c
   where c.partner_id = private.partner_id() and c.disabled_at is null and 'cpo:sessions:write' = any (c.scopes)
   order by c.created_at, c.id
$$;
comment on function private.uploading_clients() is
  'The clients of the partner that may deliver months and sessions. Definer, because clients are read at admission '
  'only.';

create function api.read_portal_uploads(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  kept   core.imports;
  upload core.uploads;
begin
  perform private.act_as(caller, 'partner');
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (query ->> 'id')::uuid and i.expires_at > private.now();
  select * into upload from core.uploads u where u.partner_id = private.partner_id() and u.id = (query ->> 'id')::uuid;
  return json_build_object(
    'who', private.portal_who(),
    'clients', (select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name)), '[]')
                from private.uploading_clients() c),
    'sealed', case when kept.id is not null then json_build_object('ciphertext', kept.ciphertext, 'key_id', kept.key_id)
                   end,
    'judged', case when kept.outcomes <> '[]' then kept.outcomes end,
    'upload', case when upload.id is not null then private.upload_answer(upload)
                   || jsonb_build_object('file_name', upload.file_name) end);
end $$;
comment on function api.read_portal_uploads(jsonb, jsonb) is
  'The pages on which a partner uploads months or sessions: {id} to {who, clients: [{id, name}], sealed, judged, '
  'upload}. sealed is the file as api.keep_import keeps it, judged the results of its first look, upload what was '
  'stored by that id.';

create function api.portal_upload(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  answer jsonb;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  perform private.act_for_client((input ->> 'client')::uuid);
  answer := private.store_upload(input);
  if answer ? 'refused' then
    return answer;
  end if;
  -- judging stores the rows and undoes it, with the client's lock: so only the first look and the confirmation do
  update core.imports i set outcomes = answer -> 'results'
   where (input ->> 'dry_run')::boolean and not answer ? 'idempotent' and i.partner_id = private.partner_id()
       and i.id = (input ->> 'upload_id')::uuid;
  perform private.audit('upload.stored', (input ->> 'upload_id')::uuid,
                        jsonb_build_object('kind', input -> 'kind', 'rows', input -> 'rows'))
    where not ((input ->> 'dry_run')::boolean or answer ? 'idempotent');
  return answer;
end $$;
comment on function api.portal_upload(jsonb, jsonb) is
  'Stores a file of a client of the partner, or judges it only and keeps its results with the file: {client} and what '
  'api.deliver_upload takes, to its answer. By a manager.';
grant execute on function api.portal_upload(jsonb, jsonb) to edge_slow;

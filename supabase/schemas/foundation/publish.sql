-- Publishing: what stands beside each table and each function that a login role may reach.

create function private.expose(signature regprocedure) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to edge', signature);
  execute format('alter function %s owner to api_owner', signature);
end $$;
comment on function private.expose(regprocedure) is
  'Stands beside each api function: hands it to api_owner, so that row-level security holds inside it, and lets edge run it.';

create function private.expose_ops(signature regprocedure) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to operator', signature);
end $$;
comment on function private.expose_ops(regprocedure) is 'Stands beside each ops function: lets the operator''s login run it, and nobody else.';

create function private.isolate(tenant_table regclass, privileges text) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('alter table %s enable row level security', tenant_table);
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = (select private.partner_id())) '
                 'with check (partner_id = (select private.partner_id()))', tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
end $$;
comment on function private.isolate(regclass, text) is
  'Stands beside each tenant table: row-level security by partner_id, and what the api functions may do with the rows.';

-- Publishing: what stands beside each table and function that a login role may reach.

create function private.expose(signature regprocedure, login name default 'edge') returns void
language plpgsql
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to %I', signature, login);
  execute format('alter function %s owner to api_owner', signature);
end $$;
comment on function private.expose(regprocedure, name) is
  'Stands beside each api function: makes api_owner its owner, so that row-level security holds inside it. Lets edge run it, or edge_slow if it takes long.';

create function private.expose_ops(signature regprocedure) returns void
language plpgsql
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to operator', signature);
end $$;
comment on function private.expose_ops(regprocedure) is 'Stands beside each ops function: lets only the operator''s login run it.';

create function private.isolate(tenant_table regclass, privileges text) returns void
language plpgsql
as $$
begin
  execute format('alter table %s enable row level security', tenant_table);
  -- not as a sub-select: inlined, it is a condition of the index, looked up once a scan, and the planner sees that joined tables have it alike
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = private.partner_id()) with check (partner_id = private.partner_id())', tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
end $$;
comment on function private.isolate(regclass, text) is
  'Stands beside each tenant table: row-level security by partner_id, and what the api functions may do with the rows.';

create function private.keep_to_owner(tenant_table regclass, owner_column name default 'owner_id') returns void
language plpgsql
as $$
begin
  execute format('create policy "an owner reaches only their own rows" on %1$s as restrictive to api_owner '
                 -- Where the reach is null every row is like itself. As a sub-select, because it is asked of every row, and once, because each
                 -- costs a plan of its own. A case, of which the planner expects half the rows: of a comparison it would expect one
                 -- in two hundred, and join ten thousand with nested loops.
                 'using (case when coalesce((select private.reach()), %2$I) is not distinct from %2$I then true else false end)',
                 tenant_table, owner_column);
end $$;
comment on function private.keep_to_owner(regclass, name) is
  'Stands beside each table whose rows belong to a person or a CPO client: either reaches only their own. Other callers reach nothing, unless their breadth is the tenant.';

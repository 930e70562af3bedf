-- Publishing: what stands beside each table that a login role may reach. What every table and function gets: last.sql.

-- An owner reaches only their own rows, other callers none, unless they see the whole tenant. Stands beside a column
-- not named owner_id.
create function private.enable_owner_policy(tenant_table regclass, owner_column name) returns void
language plpgsql
as $$
begin
  execute format('create policy "an owner reaches only their own rows" on %1$s as restrictive to api_owner '
                 -- If the reach is null, every row equals itself. It is a sub-select, so that it is evaluated once and
                 -- not for every row; there is one, because each costs a plan. It is a case, because the planner then
                 -- expects half the rows. For a comparison it would expect one in two hundred, and join ten thousand
                 -- rows with nested loops.
                 'using (case when coalesce((select private.visible_owner()), %2$I) is not distinct from %2$I then '
                 'true else false end)',
                 tenant_table, owner_column);
end $$;

-- Stands beside each tenant table: row-level security by partner_id and owner_id, and what the api functions may do
-- with the rows.
create function private.enable_tenant_policy(tenant_table regclass, privileges text) returns void
language plpgsql
as $$
begin
  execute format('alter table %s enable row level security', tenant_table);
  -- not as a sub-select: inlined, it is an index condition that is evaluated once a scan, and the planner sees that
  -- joined tables share it
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = private.partner_id()) with check (partner_id = private.partner_id())',
                     tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
  if exists (select from pg_catalog.pg_attribute a where a.attrelid = tenant_table and a.attname = 'owner_id'
             and not a.attisdropped) then
    perform private.enable_owner_policy(tenant_table, 'owner_id');
  end if;
end $$;

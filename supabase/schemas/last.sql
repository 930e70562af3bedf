-- The last file: what every table and function gets by its schema, so that none is without it.
--
--   core     row-level security, so that a table without a policy is reached by nobody
--   all      an empty search_path, but for bodies that were parsed when the function was made: they name what they use
--            by identity, and
--            the planner writes them into the query, which a setting would forbid
--   api      api_owner owns them, so that row-level security holds inside them; edge runs them, or edge_slow where that
--            is granted beside one
--   ops      operator runs them
--   private  api_owner runs them. Most run with the rights of their caller and let it do nothing more. `security
--            definer` says that api
--            functions cross tenants with this one; a test allows it only where they, or a trigger, need it.
do $$
declare
  kept regclass;
  made record;
begin
  for kept in select c.oid from pg_catalog.pg_class c where c.relnamespace = 'core'::regnamespace
      and c.relkind in ('r', 'p') and not c.relrowsecurity loop
    execute format('alter table %s enable row level security', kept);
  end loop;
  for made in
    select p.oid::regprocedure as signature, n.nspname as schema, p.prosqlbody is not null as parsed,
           has_function_privilege('edge_slow', p.oid, 'execute') as slow
      from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('api', 'ops', 'private')
  loop
    if not made.parsed then
      execute format('alter function %s reset search_path set search_path = ''''', made.signature);
    end if;
    execute format('revoke all on function %s from public', made.signature);
    if made.schema = 'api' then
      execute format('grant execute on function %s to %I', made.signature,
                     case when made.slow then 'edge_slow' else 'edge' end);
      execute format('alter function %s owner to api_owner', made.signature);
    elsif made.schema = 'ops' then
      execute format('grant execute on function %s to operator', made.signature);
    else
      execute format('grant execute on function %s to api_owner', made.signature);
    end if;
  end loop;
end $$;

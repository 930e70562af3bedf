begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;

-- Every private function that runs with its caller's rights may be run by api_owner, which it lets do nothing more. The settings of a function
-- are kept in the order in which supabase/schemas/every_function.sql sets them.
do $$
declare
  made record;
begin
  for made in
    select p.oid::regprocedure as signature, p.pronamespace = 'private'::regnamespace and not p.prosecdef as of_caller,
           cardinality(p.proconfig) > 1 as has_settings
      from pg_catalog.pg_proc p where p.pronamespace in ('api'::regnamespace, 'ops'::regnamespace, 'private'::regnamespace)
  loop
    if made.has_settings then
      execute format('alter function %s reset search_path set search_path = ''''', made.signature);
    end if;
    if made.of_caller then
      execute format('grant execute on function %s to api_owner', made.signature);
    end if;
  end loop;
end $$;

commit;

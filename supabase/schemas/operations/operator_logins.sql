-- Logins of operators, one a person. The owner of the database makes them; the role operator may not.

create function private.login_row(role name) returns json
language sql stable
as $$
  select json_build_object('login', substr(r.rolname, length('operator_') + 1), 'role', r.rolname,
                           'enabled', r.rolcanlogin)
    from pg_catalog.pg_roles r where r.rolname = role
$$;

-- Makes the login of one operator: {name, verifier} to {login}, by its SCRAM-SHA-256 verifier. Not a definer: only the
-- owner makes roles.
create function private.login_create(input jsonb) returns json
language plpgsql
as $$
declare
  role    constant name := 'operator_' || (input ->> 'name');
  setting text;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('invalid_login', coalesce(input ->> 'name', '') !~ '^[a-z][a-z0-9]{0,30}$');
  perform private.refuse_if('login_taken', exists (select from pg_catalog.pg_roles r where r.rolname = role),
    json_build_object('login', input ->> 'name'));
  execute format('create role %I login password %L', role, input ->> 'verifier');
  execute format('grant operator to %I with inherit true, set false', role);
  -- how long a statement may take is not inherited
  for setting in
    select unnest(s.setconfig) from pg_catalog.pg_db_role_setting s where s.setrole = 'operator'::regrole
        and s.setdatabase = 0
  loop
    begin
      execute format('alter role %I set %I = %L', role, split_part(setting, '=', 1), split_part(setting, '=', 2));
    exception when insufficient_privilege then
      null;  -- the platform set it, and the owner may not: docs/deploy.md
    end;
  end loop;
  perform private.audit('operator.login_created', null, jsonb_build_object('role', role));
  return json_build_object('login', private.login_row(role));
end $$;

-- Ends a login of an operator: {name} to {changed, login}. The role stays, so that no other person gets its name.
create function private.login_disable(input jsonb) returns json
language plpgsql
as $$
declare
  role    constant name := 'operator_' || (input ->> 'name');
  enabled boolean;
begin
  perform private.act_as_operator(input);
  select r.rolcanlogin into enabled from pg_catalog.pg_roles r where r.rolname = role;
  perform private.refuse_if('login_not_found', not found, json_build_object('login', input ->> 'name'));
  if enabled then
    execute format('alter role %I nologin', role);
    perform private.audit('operator.login_disabled', null, jsonb_build_object('role', role));
  end if;
  return json_build_object('changed', enabled, 'login', private.login_row(role));
end $$;

create function ops.login_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('logins', coalesce(json_agg(private.login_row(r.rolname) order by r.rolname), '[]'))
    from pg_catalog.pg_roles r where r.rolname ~ '^operator_[a-z]'
$$;
comment on function ops.login_list(jsonb) is 'Every operator''s login, by name: {} to {logins}.';

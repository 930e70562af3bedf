-- The operator on the host that the database belongs to.

create function ops.host_show(input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  deployment core.deployment;
begin
  select * into deployment from core.deployment;
  perform private.refuse_if('host_not_set', not found);
  return json_build_object('host', json_build_object('host', deployment.host, 'key_prefix', deployment.key_prefix,
                                                     'set_at', private.iso(deployment.set_at)));
end $$;
comment on function ops.host_show(jsonb) is 'The host of this database: {} to {host}.';

create function ops.host_set(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted  constant text := input ->> 'host';
  changed boolean;
begin
  perform private.act_as_operator(input);
  insert into core.deployment (host, key_prefix) values (wanted, coalesce(input ->> 'key_prefix', 'ere'))
    on conflict on constraint deployment_pkey do nothing;
  changed := found;
  if not changed and private.host() <> wanted then
    -- a mistake is undone as long as nobody is here
    if exists (select from core.partners p where p.id <> private.people_tenant())
        or exists (select from core.oauth_clients)
       or exists (select from core.accounts) or exists (select from core.chargers)
           or exists (select from core.personal_tokens) then
      perform private.refuse('host_is_set', json_build_object('host', private.host()));
    end if;
    update core.deployment set host = wanted, set_at = private.now();
    changed := true;
  end if;
  update core.deployment d set key_prefix = input ->> 'key_prefix' where d.key_prefix <> input ->> 'key_prefix';
  changed := changed or found;
  if changed then
    perform private.audit('host.set', null,
                          jsonb_build_object('host', wanted,
                                             'key_prefix', (select d.key_prefix from core.deployment d)));
  end if;
  return (ops.host_show(input)::jsonb || jsonb_build_object('changed', changed))::json;
end $$;
comment on function ops.host_set(jsonb) is
  'Sets the host of this database, and the prefix of its keys: {host, key_prefix?} to {changed, host}. Another host is '
  'refused once there are partners, clients or customers.';

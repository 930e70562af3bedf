-- The operator on connections: list, add, set the EAN, archive.

-- Connections by connection id, account id, EAN or cpo_external_ref.
create function private.connections_named(named text) returns setof core.connections
language sql stable
as $$
  -- the indexes begin with the tenant; naming every tenant lets them serve a search across tenants
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.id = private.as_uuid(named)
  union
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.account_id = private.as_uuid(named)
  union
  select c.* from core.connections c where c.status = 'active' and c.ean_exclusive and c.ean_code = named
  union
  select c.* from core.connections c where c.status = 'archived' and c.ean_code = named
  union
  -- no index holds the sandbox's test EANs, which many have
  select c.* from core.connections c where private.is_test_ean(named) and c.ean_code = named
  union
  select c.*
    from core.oauth_clients k
    join core.accounts a on a.partner_id = k.partner_id and a.client_id = k.id and a.cpo_external_ref = named
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
$$;

-- private.act_as_operator, and the one active connection that {connection} names, or an archived one by its id; locked.
-- Its tenant is entered.
create function private.connection_named(input jsonb) returns core.connections
language plpgsql
as $$
declare
  named      constant text := input ->> 'connection';
  candidates core.connections[] := array(
    select c from private.connections_named(named) c where c.status = 'active' or c.id = private.as_uuid(named));
  connection core.connections;
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('connection_not_found', cardinality(candidates) = 0,
                            json_build_object('connection', named));
  perform private.refuse_if('connection_ambiguous', cardinality(candidates) > 1,
                            json_build_object('connection', named));
  perform private.set_tenant((candidates[1]).partner_id);
  -- chargers before connections, as private.store_sessions
  perform from core.chargers h where h.partner_id = private.partner_id() and h.connection_id = (candidates[1]).id
    order by h.id for no key update;
  select * into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (candidates[1]).id for update;
  return connection;
end $$;

create function private.active_connection_named(input jsonb) returns core.connections
language plpgsql
as $$
declare
  connection constant core.connections := private.connection_named(input);
begin
  perform private.refuse_if('connection_archived', connection.status = 'archived',
                            json_build_object('connection', connection.id));
  return connection;
end $$;

-- A connection as the operator sees it; its checklist is null once archived.
create function private.connection_row(partner uuid, connection uuid) returns json
language sql stable
as $$
  select json_build_object(
    'connection_id', c.id,
    'account_id', c.account_id,
    'cpo_external_ref', a.cpo_external_ref,
    'partner_slug', p.slug,
    'ean_code', c.ean_code,
    'address', concat_ws(' ', l.postal_code, l.house_number, l.house_number_addition),
    'status', c.status,
    'registration_status', c.registration_status,
    'submitted_at', private.iso(c.submitted_at),
    'ean_validation_status', c.ean_validation_status,
    'mandate_status', m.mandate_status,
    'mandate_valid_from', m.valid_from,
    'mandate_valid_until', m.valid_until,
    'mandate_renewed_until', m.renewed_until,
    'checklist', g.checklist)
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.partners p on p.id = c.partner_id
  join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
  join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
  left join core.connection_gates g on g.partner_id = c.partner_id and g.connection_id = c.id
  where c.partner_id = partner and c.id = connection
$$;

create function private.connection_answer(connection core.connections, changed boolean) returns json
language sql stable
as $$
  select json_build_object('changed', changed, 'connection', private.connection_row(connection.partner_id,
      connection.id))
$$;

create function ops.connection_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('connections', coalesce(
           json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id), '[]'))
    from private.connections_named(input ->> 'connection') c
$$;
comment on function ops.connection_list(jsonb) is
  'Connections, archived ones included, by connection id, account id, EAN or cpo_external_ref: {connection} to '
  '{connections}.';

-- private.act_as_operator, and the account that {account} names by id or cpo_external_ref, whose partner becomes the
-- tenant.
create function private.account_named(input jsonb) returns core.accounts
language plpgsql
as $$
declare
  named      constant text := input ->> 'account';
  candidates core.accounts[] := array(
    select a from core.accounts a
     where a.partner_id = any (array(select p.id from core.partners p)) and a.id = private.as_uuid(named)
    union
    select a
      from core.oauth_clients k
      join core.accounts a on a.partner_id = k.partner_id and a.client_id = k.id and a.cpo_external_ref = named);
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('account_not_found', cardinality(candidates) = 0, json_build_object('account', named));
  perform private.refuse_if('account_ambiguous', cardinality(candidates) > 1, json_build_object('account', named));
  perform private.set_tenant((candidates[1]).partner_id);
  return candidates[1];
end $$;

create function ops.connection_add(input jsonb) returns json
language plpgsql security definer
as $$
declare
  connection core.connections;
  account    constant core.accounts := private.account_named(input);
begin
  -- of parallel calls for one account the later ones wait here, and then find the connection
  perform from core.accounts a where a.partner_id = account.partner_id and a.id = account.id for no key update;
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.status = 'active'
       and c.ean_code = input ->> 'ean_code';
  if found then
    return private.connection_answer(connection, false);
  end if;
  perform private.refuse_if('ean_in_use', not private.reserve_ean(input ->> 'ean_code'),
                            json_build_object('ean_code', input ->> 'ean_code'));
  -- the EAN register is asked by the weekly re-check, which finds this connection due as soon as its mandate is signed
  insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_exclusive,
                                ean_validation_status, ean_checked_at)
  values (account.partner_id, account.id, account.owner_id, private.location_for(input), input ->> 'ean_code',
          not private.is_test_ean(input ->> 'ean_code'),
          'unverified', '-infinity')
  returning * into connection;
  perform private.audit('connection.added', connection.id);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.connection_add(jsonb) is
  'Adds an unverified connection to an account: {account, ean_code, postal_code, house_number, house_number_addition?, '
  'street?, city?} to {changed, connection}.';

create function ops.connection_set_ean_status(input jsonb) returns json
language plpgsql security definer
as $$
declare
  connection core.connections;
  wanted     constant text := input ->> 'status';
begin
  perform private.refuse_if('invalid_ean_status', wanted is null or wanted not in ('manual', 'unverified'));
  connection := private.active_connection_named(input);
  if connection.ean_validation_status is not distinct from wanted then
    return private.connection_answer(connection, false);
  elsif wanted = 'unverified' and connection.ean_validation_status is distinct from 'manual' then
    -- an operator cannot take back what the EAN register answered
    perform private.refuse('ean_not_manual',
                           json_build_object('ean_validation_status', connection.ean_validation_status));
  end if;
  update core.connections c set ean_validation_status = wanted
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.ean_status_set', connection.id,
                        jsonb_build_object('before', connection.ean_validation_status, 'after', wanted));
  perform private.emit('ean.status_changed', connection.account_id, connection.id,
                       jsonb_build_object('connection_id', connection.id, 'ean_validation_status', wanted));
  perform private.advance_registration(connection.account_id, wanted = 'manual');
  return private.connection_answer(connection, true);
end $$;
comment on function ops.connection_set_ean_status(jsonb) is
  'Vouches for an EAN (manual), or takes that back (unverified): {connection, status} to {changed, connection}. '
  'Submits the registration if this was the last gate.';

create function ops.connection_archive(input jsonb) returns json
language plpgsql security definer
as $$
declare
  connection constant core.connections := private.connection_named(input);
begin
  if connection.status = 'archived' then
    return private.connection_answer(connection, false);
  end if;
  perform private.end_mandate(connection.id, 'revoked', 'connection_archived') from core.connection_mandates m
    where m.partner_id = connection.partner_id and m.connection_id = connection.id and m.mandate_status = 'signed';
  perform private.void_mandate_links(connection.id);
  -- otherwise a charger could not be registered again on another connection
  update core.chargers h set status = 'removed', removed_at = private.now()
   where h.partner_id = connection.partner_id and h.connection_id = connection.id and h.status = 'active';
  perform private.end_charger_names(array(
    select h.id from core.chargers h where h.partner_id = connection.partner_id and h.connection_id = connection.id));
  update core.connections c set status = 'archived'
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.archived', connection.id);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.connection_archive(jsonb) is
  'Archives a connection: {connection} to {changed, connection}. Revokes a signed mandate, voids open links, and frees '
  'the EAN and chargers. It stays listed.';

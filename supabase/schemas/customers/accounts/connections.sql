-- Connections: an EAN at an address, and the results of its checks against the EAN register. Connections whose
-- addresses agree share one.

create function private.ean_taken(ean text, except_connection uuid default null) returns boolean
language sql stable security definer
as $$
  select private.is_sandbox() and ean = '871687000000000054'
      or not private.is_test_ean(ean) and exists (
           select from core.connections c
            where c.ean_code = ean_taken.ean and c.status = 'active' and c.ean_exclusive
              and c.id is distinct from except_connection)
$$;
comment on function private.ean_taken(text, uuid) is
  'Whether another active connection holds the EAN. Definer, because it looks across tenants; the answer names none.';

create function private.reserve_ean(ean text, for_connection uuid default null) returns boolean
language plpgsql
as $$
begin
  -- the test values are everybody's at once
  perform private.lock('ean', ean) where not private.is_test_ean(ean);
  return not private.ean_taken(ean, for_connection);
end $$;
comment on function private.reserve_ean(text, uuid) is
  'Whether an EAN is free for this connection, or for a new one. Reserves it until the transaction ends: other callers '
  'wait. Call this before storing the EAN of an active connection.';

create function private.record_ean_check(
  connection uuid, ean text, postal_code text, house_number int, addition text, source text, outcome text,
      reason text) returns void
language sql
as $$
  insert into core.ean_checks
    (partner_id, connection_id, owner_id, ean_code, postal_code, house_number, house_number_addition, source,
     outcome, reason)
  values (private.partner_id(), connection,
          -- without a connection the check belongs to the caller
          coalesce((select c.owner_id from core.connections c where c.partner_id = private.partner_id()
                    and c.id = connection), private.owner_id()),
          ean, postal_code, house_number, addition, source, outcome, reason)
$$;

-- The one active connection that matches this id, account and cpo_external_ref; any may be null, not all.
create function private.find_connection(id uuid, account uuid, reference text) returns uuid
language plpgsql
as $$
declare
  found_ids uuid[];
begin
  -- by way of the account, whose row-level security checks the client as well as the tenant
  select array_agg(c.id order by c.created_at, c.id) into found_ids
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where (account is null or a.id = account)
     and (reference is null or a.client_id = private.client_id() and a.cpo_external_ref = reference)
     and (find_connection.id is null or c.id = find_connection.id);
  perform private.refuse_if('connection_not_found', found_ids is null);
  perform private.refuse_if('ambiguous_connection', cardinality(found_ids) > 1);
  return found_ids[1];
end $$;

-- The active connection of an account: the wanted one, the only one, or with otherwise_first the first of several.
create function private.pick_connection(account uuid, wanted uuid, otherwise_first boolean) returns uuid
language plpgsql
as $$
declare
  active uuid[] := array(
    select c.id from core.connections c
     where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active'
         and (wanted is null or c.id = wanted)
     order by c.created_at, c.id);
begin
  if wanted is not null and not exists (
       select from core.connections c where c.partner_id = private.partner_id() and c.account_id = account
           and c.id = wanted) then
    perform private.refuse('no_connection',
                           json_build_object('detail',
            'The account has no connection with this connection_id; leave it out, or send one of GET /v1/accounts.'));
  elsif cardinality(active) = 0 and wanted is not null then
    perform private.refuse('no_connection',
                           json_build_object('detail',
            'The connection is archived; leave connection_id out, or send that of an active one.'));
  elsif cardinality(active) = 0 then
    perform private.refuse('no_connection');
  elsif cardinality(active) > 1 and not otherwise_first then
    perform private.refuse('ambiguous_connection');
  end if;
  return active[1];
end $$;

-- The tenant's row for an address: {postal_code, house_number, house_number_addition, street, city}.
create function private.location_for(address jsonb) returns uuid
language plpgsql
as $$
declare
  location uuid;
begin
  insert into core.locations (partner_id, postal_code, house_number, house_number_addition, street, city)
  values (private.partner_id(), address ->> 'postal_code', (address ->> 'house_number')::int,
          address ->> 'house_number_addition', address ->> 'street', address ->> 'city')
  -- changes nothing, but answers the row that is there, and locks it against its deletion until a connection refers to
  -- it
  on conflict on constraint locations_address_key do update set city = excluded.city
  returning id into location;
  return location;
end $$;

-- Deletes an address (personal data) that no connection refers to.
create function private.drop_unused_location(location uuid) returns void
language plpgsql
as $$
begin
  delete from core.locations l
   where l.partner_id = private.partner_id() and l.id = location
     and not exists (select from core.connections c where c.partner_id = l.partner_id and c.location_id = l.id);
exception when foreign_key_violation then
  null;  -- another connection began to use it at the same moment
end $$;

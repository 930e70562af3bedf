-- Reading on a replica: packages/shared/src/foundation/replica.ts.

-- Waits up to a quarter of a second until this replica has replayed so much of the log. False if the replica was
-- promoted.
create function private.has_replayed(flushed pg_lsn) returns boolean
language plpgsql
as $$
begin
  for attempt in 1 .. 100 loop
    exit when not pg_is_in_recovery();
    if pg_last_wal_replay_lsn() >= flushed then
      return true;
    end if;
    perform pg_sleep(0.0025);
  end loop;
  return false;
end $$;

create function api.read_replica(caller jsonb, place jsonb, query jsonb) returns json
-- volatile, so that the list reads by a snapshot that is newer than the wait
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'cpo', 'partner');
  if not private.has_replayed((place ->> 'flushed')::pg_lsn) then
    return null;
  end if;
  case place ->> 'list'
    when 'list_accounts' then return api.list_accounts(caller, query);
    when 'list_ere_positions' then return api.list_ere_positions(caller, query);
    when 'list_customers' then return api.list_customers(caller, query);
    when 'read_portal_customers' then return api.read_portal_customers(caller, query);
    when 'read_portal_drafts' then return api.read_portal_drafts(caller, query);
    when 'read_portal_payouts' then return api.read_portal_payouts(caller);
  end case;
end $$;
comment on function api.read_replica(jsonb, jsonb, jsonb) is
  'One list on a replica, for a caller whom the primary admitted: {list, flushed} and the query of that list to its '
  'answer. flushed is the position of the primary''s log at the admission; whatever was answered before is in front of '
  'it. Null if the replica has not replayed so much within a quarter of a second, or is none.';

create function ops.replica_ready(input jsonb) returns json
language plpgsql security definer
as $$
begin
  return json_build_object('ready', private.has_replayed((input ->> 'flushed')::pg_lsn));
end $$;
comment on function ops.replica_ready(jsonb) is
  'Whether this replica has what the primary had on disk: {flushed} to {ready}. Read in another transaction.';

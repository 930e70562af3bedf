-- While a partner moves, triggers guard every table of its rows, in both databases. They are there only then: nobody else pays for them.
-- The command that moves the partner runs without triggers (session_replication_role).

-- Held by whoever writes a row of the partner, shared; alone by whoever changes the phase of its move, who so waits for those writers.
create function private.move_lock(partner uuid) returns bigint
language sql immutable
as $$ select hashtextextended('move ' || partner, 0) $$;

create function private.guard_move() returns trigger
language plpgsql security definer
as $$
declare
  ignored text := pg_advisory_xact_lock_shared(private.move_lock(tg_argv[0]::uuid));
  phase   text;
begin
  -- by a snapshot of its own, taken after the lock
  select m.phase into phase from core.partner_moves m where m.tenant_id = tg_argv[0]::uuid;
  if phase = 'arriving' and current_setting('app.caller_kind', true) = 'worker' then
    return null;  -- jobs leave out what is not whole yet
  elsif phase in ('held', 'left', 'arriving') then
    raise exception 'the partner % moves to another database', tg_argv[0] using errcode = 'lock_not_available';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
comment on function private.guard_move() is
  'Refuses writes to rows of a partner that moves; the API answers 503 with Retry-After. Definer, because nobody else reads core.partner_moves.';

-- Sets or takes away the guard of one table: {partner_id, table, on}. Each table has a transaction of its own, so that no writer waits for
-- more than one.
create function private.move_guard(input jsonb) returns json
language plpgsql
as $$
declare
  partner constant uuid := input ->> 'partner_id';
  name    constant text := input ->> 'table';
  id      constant text := case name when 'partners' then 'id' else 'partner_id' end;
  way     record;
begin
  -- quotas have an audit row, which is guarded; the rest of these tables is not the partner's
  if not exists (select from pg_catalog.pg_attribute a where a.attrelid = format('core.%I', name)::regclass and a.attname = id) then
    return '{}';
  end if;
  for way in select * from (values ('write', 'insert or update', 'new'), ('delete', format('delete or update of %I', id), 'old')) w (name, events, record) loop
    if (input ->> 'on')::boolean then
      execute format('create or replace trigger %I before %s on core.%I for each row when (%s.%I = %L) execute function private.guard_move(%L)',
                     format('move_%s_%s', way.name, partner), way.events, name, way.record, id, partner, partner);
    else
      execute format('drop trigger if exists %I on core.%I', format('move_%s_%s', way.name, partner), name);
    end if;
  end loop;
  return '{}';
end $$;

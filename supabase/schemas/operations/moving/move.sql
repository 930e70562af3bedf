-- A partner moves to another database. packages/operator/src/partner_move.ts runs these functions in both, with the rights of the owner of
-- the database; each takes {partner_id, …}. The database that it leaves is here, the other one is there.

-- What keeps a partner here: people whom it brought, and payments on their way to the bank.
create function private.refuse_move(partner core.partners) returns void
language plpgsql
as $$
declare
  people constant bigint :=
    (select count(*) from core.attributions a where a.partner_id = partner.id)
    + (select count(*) from core.ended_attributions a where a.partner_id = partner.id)
    + (select count(*) from core.drafts d where d.partner_id = partner.id and d.user_id is not null)
    + (select count(*) from core.oauth_consents o join core.oauth_clients c on c.id = o.client_id where c.partner_id = partner.id)
    + (select count(*) from core.oauth_grants g join core.oauth_clients c on c.id = g.client_id where c.partner_id = partner.id)
    -- its share of people who are gone
    + (select count(*) from core.ledger_accounts a where a.partner_id = private.house() and a.owner = partner.id);
begin
  perform private.refuse_if('partner_has_people', people > 0, json_build_object('partner', partner.slug, 'people', people));
  perform private.refuse_if('partner_is_being_paid', exists (
    select from core.payout_lines l join core.payout_batches b on b.id = l.batch_id
     where l.partner_id = partner.id and b.status in ('prepared', 'approved', 'exported')), json_build_object('partner', partner.slug));
end $$;

-- Begins a move in the database that the partner leaves. A repeat finds the same move.
-- {partner} to {partner_id, slug, move_id, phase, host, migrations}.
create function private.move_begin(input jsonb) returns json
language plpgsql
as $$
declare
  named   constant text := input ->> 'partner';
  move    core.partner_moves;
  partner core.partners;
begin
  select * into move from core.partner_moves m
   where (m.tenant_id = private.as_uuid(named) or m.slug = named) and m.phase in ('leaving', 'held', 'left')
     -- another partner may have the slug since
     and not exists (select from core.partners p where p.slug = named and p.id <> m.tenant_id);
  if not found then
    partner := private.business_named(input);
    perform private.refuse_move(partner);
    perform private.audit('partner.move_begun', partner.id);
    insert into core.partner_moves as m (tenant_id, move_id, slug, phase) values (partner.id, gen_random_uuid(), partner.slug, 'leaving')
    on conflict on constraint partner_moves_pkey do update
      set move_id = excluded.move_id, slug = excluded.slug, phase = excluded.phase, begun_at = excluded.begun_at, changed_at = excluded.changed_at
    returning * into move;
  end if;
  -- as long as this connection lives
  perform private.refuse_if('partner_is_moving', not pg_try_advisory_lock(private.move_lock(move.move_id)), json_build_object('partner', move.slug));
  return json_build_object('partner_id', move.tenant_id, 'slug', move.slug, 'move_id', move.move_id, 'phase', move.phase, 'host', private.host(),
    'migrations', (select json_agg(m.version order by m.version) from supabase_migrations.schema_migrations m));
end $$;

-- Begins the move there, or finds it: what move_begin answered, to {phase}.
create function private.move_arrive(input jsonb) returns json
language plpgsql
as $$
declare
  move core.partner_moves;
begin
  select * into move from core.partner_moves m where m.tenant_id = (input ->> 'partner_id')::uuid and m.move_id = (input ->> 'move_id')::uuid;
  if not found then
    perform private.refuse_if('move_to_other_host', private.host() <> input ->> 'host', json_build_object('host', private.host()));
    perform private.refuse_if('move_to_other_version', input -> 'migrations' is distinct from
      (select jsonb_agg(m.version order by m.version) from supabase_migrations.schema_migrations m));
    perform private.refuse_if('move_to_taken', input ->> 'phase' = 'left' or exists (
      select from core.partners p where p.id = (input ->> 'partner_id')::uuid or p.slug = input ->> 'slug'), json_build_object('partner', input -> 'slug'));
    insert into core.partner_moves as m (tenant_id, move_id, slug, phase)
    values ((input ->> 'partner_id')::uuid, (input ->> 'move_id')::uuid, input ->> 'slug', 'arriving')
    on conflict on constraint partner_moves_pkey do update
      set move_id = excluded.move_id, slug = excluded.slug, phase = excluded.phase, begun_at = excluded.begun_at, changed_at = excluded.changed_at
      where m.phase in ('left', 'arriving')
    returning * into move;
    perform private.refuse_if('move_to_taken', not found, json_build_object('partner', input -> 'slug'));
  end if;
  return json_build_object('phase', move.phase);
end $$;

-- The tables of a partner: {parts: [{name, kind}]}, each after those it refers to.
create function private.move_tables(input jsonb) returns json
language sql stable
as $$ select json_build_object('parts', json_agg(json_build_object('name', t.name, 'kind', t.kind) order by t.place)) from private.partner_tables() t $$;

-- Digests of the partner's rows, the same in both databases if the rows are: {tables?} to {moment, tables: {name: {bucket: [rows, sum of hashes]}}}.
-- A bucket is a hash of the key, so that a difference is found without sending all rows. What was committed before moment is in them.
create function private.move_digests(input jsonb) returns json
language plpgsql
set timezone = 'UTC' set datestyle = 'ISO, YMD' set bytea_output = 'hex' set extra_float_digits = 1
as $$
declare
  moment  constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  part    record;
  buckets json;
  tables  jsonb := '{}';
begin
  for part in select * from private.partner_tables() t where t.kind = 'own' and coalesce(input -> 'tables' ? t.name, true) loop
    execute format(
      'select json_object_agg(b, json_build_array(n, h)) from (
         select hashtextextended(row(%s)::text, 0) & 1023 as b, count(*) as n, sum(hashtextextended(row(%s)::text, 1))::text as h
           from core.%I t where %s group by 1) d',
      private.listed(part.key, 't.%I'), private.listed(part.columns, 't.%I'), part.name, part.condition)
      into buckets using (input ->> 'partner_id')::uuid;
    tables := tables || jsonb_build_object(part.name, coalesce(buckets, '{}'));
  end loop;
  return json_build_object('moment', moment::text, 'tables', tables);
end $$;

-- What was written since the moment of digests: {since, tables?} to {name: [rows, [key]]}. rows counts the rows of the table. Each key is of a row
-- that may have been written since. A deleted row is only missing in the count.
create function private.move_written(input jsonb) returns json
language plpgsql
as $$
declare
  part    record;
  written json;
  tables  jsonb := '{}';
begin
  for part in select * from private.partner_tables() t where coalesce(input -> 'tables' ? t.name, t.kind = 'own') loop
    execute format(
      'select json_build_array(count(*), coalesce(json_agg(json_build_array(%s)) filter (where age(t.xmin) <= age($2)), ''[]'')) from core.%I t where %s',
      private.listed(part.key, 't.%I::text'), part.name, part.condition)
      into written using (input ->> 'partner_id')::uuid, (input ->> 'since')::xid8::xid;
    tables := tables || jsonb_build_object(part.name, written);
  end loop;
  return tables::json;
end $$;

-- Of rows that are the service's own, secrets stay: the file for the bank has payments of others.
create function private.moved_columns(kind text, columns name[], secrets name[]) returns name[]
language sql immutable
as $$ select case kind when 'cited' then array(select unnest(columns) except select unnest(secrets) order by 1) else columns end $$;

-- The keys in some buckets, each with the hash of its row: {table, buckets} to {keys: [[key, hash]]}.
create function private.move_keys(input jsonb) returns json
language plpgsql
set timezone = 'UTC' set datestyle = 'ISO, YMD' set bytea_output = 'hex' set extra_float_digits = 1
as $$
declare
  part   record;
  answer json;
begin
  select * into part from private.partner_tables() t where t.name = input ->> 'table';
  execute format(
    'select json_agg(json_build_array(json_build_array(%s), hashtextextended(row(%s)::text, 1)::text)) from core.%I t
      where %s and hashtextextended(row(%s)::text, 0) & 1023 = any ($2)',
    private.listed(part.key, 't.%I::text'), private.listed(part.columns, 't.%I'), part.name, part.condition, private.listed(part.key, 't.%I'))
    into answer using (input ->> 'partner_id')::uuid, array(select jsonb_array_elements_text(input -> 'buckets')::bigint);
  return json_build_object('keys', coalesce(answer, '[]'));
end $$;

-- Rows in the order of their key, or those of some keys: {table, after, size} or {table, keys} to {rows, last, data}. data is text, so that
-- nobody in between reads a number.
create function private.move_read(input jsonb) returns json
language plpgsql
set timezone = 'UTC' set extra_float_digits = 1
as $$
declare
  part   record;
  answer json;
begin
  select * into part from private.partner_tables() t where t.name = input ->> 'table';
  execute format(
    'with page as materialized (
       select row_number() over (order by %1$s) as n, to_jsonb(array[%2$s]) as key, (select row_to_json(r) from (select %3$s) r) as row
         from core.%4$I t where %5$s and %6$s order by %1$s limit $3)
     select json_build_object(''rows'', count(*), ''last'', (array_agg(key order by n desc))[1], ''data'', json_agg(row order by n)::text) from page',
    private.listed(part.key, 't.%I'), private.listed(part.key, 't.%I::text'),
    private.listed(private.moved_columns(part.kind, part.columns, part.secrets), 't.%I'), part.name, part.condition,
    case when input ? 'keys' then private.among_keys(part.name, part.key)
         else format('($2 is null or (%s) > (%s))', private.listed(part.key, 't.%I'), private.typed_key(part.name, part.key, '$2')) end)
    into answer using (input ->> 'partner_id')::uuid, coalesce(input -> 'keys', nullif(input -> 'after', 'null')), (input ->> 'size')::int;
  return answer;
end $$;

-- SQL: whether the key of t is in the JSON array $2.
create function private.among_keys(name name, key name[]) returns text
language sql stable
as $$ select format('(%s) in (select %s from jsonb_array_elements($2) e)', private.listed(key, 't.%I'), private.typed_key(name, key, 'e')) $$;

-- Deletes rows there that the last pass found changed or gone: {table, keys}.
create function private.move_drop(input jsonb) returns json
language plpgsql
as $$
declare
  part record;
begin
  select * into part from private.partner_tables() t where t.name = input ->> 'table' and t.kind = 'own';
  execute format('delete from core.%I t where %s and %s', part.name, part.condition, private.among_keys(part.name, part.key))
    using (input ->> 'partner_id')::uuid, input -> 'keys';
  return '{}';
end $$;

-- Stores rows there: {table, data}.
create function private.move_write(input jsonb) returns json
language plpgsql
set timezone = 'UTC'
as $$
declare
  part    record;
  columns text;
begin
  select * into part from private.partner_tables() t where t.name = input ->> 'table';
  columns := private.listed(private.moved_columns(part.kind, part.columns, part.secrets), '%I');
  execute format(
    'insert into core.%1$I (%2$s%3$s) overriding system value select %2$s%4$s from json_populate_recordset(null::core.%1$I, $1) t on conflict (%5$s) do nothing',
    part.name, columns,
    -- a batch without its file keeps its steps
    case when part.name = 'payout_batches' then ', file_ciphertext, file_key_id' end,
    case when part.name = 'payout_batches' then ', case when t.exported_at is not null then '''' end, case when t.exported_at is not null then '''' end' end,
    private.listed(part.key, '%I'))
    using (input ->> 'data')::json;
  return '{}';
end $$;

-- Stops the writes of the partner here, or lets them go on: {hold}. It waits until running writes have ended.
create function private.move_hold(input jsonb) returns json
language plpgsql
as $$
declare
  partner core.partners;
  ignored text := pg_advisory_xact_lock(private.move_lock((input ->> 'partner_id')::uuid));
begin
  select * into partner from core.partners p where p.id = (input ->> 'partner_id')::uuid;
  if (input ->> 'hold')::boolean then
    perform private.refuse_move(partner);
  end if;
  update core.partner_moves m set phase = case when (input ->> 'hold')::boolean then 'held' else 'leaving' end, changed_at = private.now()
   where m.tenant_id = partner.id and m.phase in ('leaving', 'held');
  return '{}';
end $$;

-- Keys of rows there that lead to no shared row, which may be missing there: {loose: [constraint]}. Other keys lead to rows that came too.
create function private.move_loose(input jsonb) returns json
language plpgsql
as $$
declare
  key   record;
  found boolean;
  loose text[] := '{}';
begin
  for key in
    select k.conname, p.name, p.condition, k.confrelid::regclass as referred,
           (select string_agg(format('t.%I is not null', a.attname), ' and ') from pg_catalog.pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.conkey)) as given,
           (select string_agg(format('r.%I = t.%I', b.attname, a.attname), ' and ') from unnest(k.conkey, k.confkey) u (own, other)
              join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.own
              join pg_catalog.pg_attribute b on b.attrelid = k.confrelid and b.attnum = u.other) as pairs
      from private.partner_tables() p
      join pg_catalog.pg_constraint k on k.conrelid = format('core.%I', p.name)::regclass and k.contype = 'f'
     where p.kind = 'own' and k.confrelid <> all (array(
       select format('core.%I', o.name)::regclass::oid from private.partner_tables() o where o.kind <> 'people'))
  loop
    execute format('select exists (select from core.%I t where %s and %s and not exists (select from %s r where %s))',
                   key.name, key.condition, key.given, key.referred, key.pairs) into found using (input ->> 'partner_id')::uuid;
    if found then
      loose := loose || key.conname::text;
    end if;
  end loop;
  return json_build_object('loose', loose);
end $$;

-- The moment of the move: from here on the partner is there. {partner_id, rows}. Sequences there go on after the numbers that came.
create function private.move_arrived(input jsonb) returns json
language plpgsql
as $$
declare
  partner constant uuid := input ->> 'partner_id';
  ignored text := pg_advisory_xact_lock(private.move_lock(partner));
  counted record;
  most    bigint;
begin
  for counted in
    select p.name, p.condition, a.attname, pg_catalog.pg_get_serial_sequence('core.' || quote_ident(p.name), a.attname)::regclass as sequence
      from private.partner_tables() p
      join pg_catalog.pg_attribute a on a.attrelid = format('core.%I', p.name)::regclass and a.attidentity <> ''
     where p.kind = 'own'
  loop
    execute format('select max(t.%I) from core.%I t where %s', counted.attname, counted.name, counted.condition) into most using partner;
    -- a margin, because others take numbers meanwhile
    if most is not null and most >= coalesce(pg_catalog.pg_sequence_last_value(counted.sequence), 0) then
      perform setval(counted.sequence, most + 1000);
    end if;
  end loop;
  update core.partner_moves m set phase = 'arrived', changed_at = private.now() where m.tenant_id = partner and m.phase = 'arriving';
  perform private.act_as_operator(input), private.act_for_partner(partner);
  perform private.audit('partner.moved_here', partner, jsonb_build_object('rows', input -> 'rows'));
  return '{}';
end $$;

-- The partner is there, and nobody is let in here any more: {partner_id}. Audited in the house, with where its chains were.
create function private.move_left(input jsonb) returns json
language plpgsql
as $$
declare
  partner constant uuid := input ->> 'partner_id';
begin
  perform private.act_as_operator(input);
  update core.partner_moves m set phase = 'left', changed_at = private.now() where m.tenant_id = partner and m.phase = 'held';
  if found then
    update core.partners p set is_active = false where p.id = partner;
    perform private.audit('partner.moved_away', partner, jsonb_build_object('chains', (
      select jsonb_agg(jsonb_build_object('log', c.log, 'position', c.position, 'hash', encode(c.hash, 'hex')) order by c.log)
        from core.audit_chains c where c.partner_id = partner)));
  end if;
  return '{}';
end $$;

-- Deletes size rows of the partner: here once it left, there if the move is undone. {table, size} to {rows}. Of what it cited, only batches
-- that are of nobody else.
create function private.move_clear(input jsonb) returns json
language plpgsql
as $$
declare
  partner constant uuid := input ->> 'partner_id';
  here    constant boolean := exists (select from core.partner_moves m where m.tenant_id = partner and m.phase = 'left');
  part    record;
  deleted int := 0;
begin
  perform private.refuse_if('move_not_over', not here and not exists (
    select from core.partner_moves m where m.tenant_id = partner and m.phase = 'arriving'));
  select * into part from private.partner_tables() t where t.name = input ->> 'table';
  if part.kind <> 'cited' then
    execute format('delete from core.%1$I t where (%2$s) in (select %2$s from core.%1$I t where %3$s limit $2)', part.name, private.listed(part.key, 't.%I'), part.condition)
      using partner, (input ->> 'size')::int;
    get diagnostics deleted = row_count;
  elsif part.name = 'payout_batches' and not here then
    delete from core.payout_batches b
     where b.id in (select l.batch_id from core.payout_lines l where l.partner_id = partner)
       and not exists (select from core.payout_lines l where l.batch_id = b.id and l.partner_id <> partner);
  end if;
  return json_build_object('rows', deleted);
end $$;

-- Ends a move that is undone, in either database. Nothing of it is left there then.
create function private.move_undo(input jsonb) returns json
language plpgsql
as $$
declare
  partner constant uuid := input ->> 'partner_id';
  ignored text := pg_advisory_xact_lock(private.move_lock(partner));
  ended   text;
begin
  delete from core.partner_moves m where m.tenant_id = partner and m.phase in ('leaving', 'held', 'arriving') returning m.phase into ended;
  if ended <> 'arriving' then
    perform private.act_as_operator(input), private.act_for_partner(partner);
    perform private.audit('partner.move_undone', partner);
  end if;
  return '{}';
end $$;

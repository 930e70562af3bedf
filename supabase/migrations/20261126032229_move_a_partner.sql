begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE TABLE "core"."partner_moves" (
  "tenant_id"  uuid                     NOT NULL,
  "move_id"    uuid                     NOT NULL,
  "slug"       text                     NOT NULL,
  "phase"      text                     NOT NULL,
  CONSTRAINT "partner_moves_phase_known" CHECK ((phase = ANY (ARRAY['leaving'::text, 'held'::text, 'left'::text, 'arriving'::text, 'arrived'::text]))),
  CONSTRAINT "partner_moves_pkey" PRIMARY KEY (tenant_id),
  "begun_at"   timestamp with time zone NOT NULL DEFAULT private.now(),
  "changed_at" timestamp with time zone NOT NULL DEFAULT private.now()
);

ALTER TABLE "core"."partner_moves"
  ENABLE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION ops.audit_verify_seals (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return (
    with seal as (
      select s.*, private.seal_hash(s.day, s.heads, lag(s.hash) over (order by s.day)) as made from core.audit_seals s
    ), wrong as (
      select s.day, null::text as partner_slug, null::text as log, null::bigint as position from seal s where s.hash <> s.made
      union all
      select s.day, p.slug, h.log, h.position
        from seal s
       cross join lateral jsonb_to_recordset(s.heads) h (partner_id uuid, log text, position bigint, hash text)
        left join core.partners p on p.id = h.partner_id
        left join core.audit_chains c on c.partner_id = h.partner_id and c.log = h.log
        left join core.audit_links l on l.partner_id = h.partner_id and l.log = h.log and l.position = h.position
       where h.position > coalesce(c.checkpoint_position, 0) and encode(l.hash, 'hex') is distinct from h.hash
         -- a chain that moved to another database is verified there
         and not exists (select from core.partner_moves m where m.tenant_id = h.partner_id and m.phase = 'left')
    )
    select json_build_object(
      'seals', count(*), 'is_there', coalesce(bool_or(s.hash = decode(input ->> 'expect', 'hex')), false),
      'last', (select json_build_object('day', l.day, 'hash', encode(l.hash, 'hex')) from seal l order by l.day desc limit 1),
      'wrong', (select json_build_object('day', w.day, 'partner_slug', w.partner_slug, 'log', w.log, 'position', w.position)
                  from wrong w order by w.day, w.partner_slug nulls first, w.log limit 1))
      from seal s);
end $function$;

CREATE OR REPLACE FUNCTION ops.partner_export_rows (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET "TimeZone" TO 'UTC'
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.business_named(input);
  part    record;
  answer  json;
begin
  -- the audit row of the beginning stands for all pages
  perform private.refuse_if('export_not_begun', not exists (
    select from core.audit_log a
     where a.partner_id = partner.id and a.id = (input ->> 'export')::bigint and a.action = 'partner.exported' and a.at > private.now() - interval '1 day'));
  select * into part from private.partner_tables() t where t.name = input ->> 'table' and t.kind = 'own';
  perform private.refuse_if('no_table_of_partner', not found, json_build_object('table', input ->> 'table'));
  execute format(
    'with page as materialized (
       select row_number() over (order by %1$s) as n, to_jsonb(array[%2$s]) as key, (select to_jsonb(r) from (select %3$s) r) as row
         from core.%4$I t where %5$s and ($2 is null or (%1$s) > (%6$s)) order by %1$s limit $3)
     select json_build_object(''rows'', count(*), ''last'', (array_agg(key order by n desc))[1], ''lines'', string_agg(row::text || chr(10), '''' order by n)) from page',
    private.listed(part.key, 't.%I'), private.listed(part.key, 't.%I::text'),
    (select string_agg(case when c = any (part.secrets) then format('case when t.%1$I is not null then ''withheld'' end as %1$I', c) else format('t.%I', c) end, ', ' order by c)
       from unnest(part.columns) c),
    part.name, part.condition, private.typed_key(part.name, part.key, '$2'))
    into answer using partner.id, nullif(input -> 'after', 'null'), (input ->> 'size')::int;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION private.among_keys (
  name name,
  key  name[]
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$ select format('(%s) in (select %s from jsonb_array_elements($2) e)', private.listed(key, 't.%I'), private.typed_key(name, key, 'e')) $function$;

CREATE OR REPLACE FUNCTION private.guard_move()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.listed (
  columns name[],
  pattern text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select string_agg(format(pattern, c), ', ' order by n) from unnest(columns) with ordinality u (c, n) $function$;

CREATE OR REPLACE FUNCTION private.move_arrive (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_arrived (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_begin (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_clear (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_digests (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET "TimeZone" TO 'UTC'
  SET "DateStyle" TO 'ISO, YMD'
  SET bytea_output TO 'hex'
  SET extra_float_digits TO '1'
  SET search_path TO ''
  AS $function$
declare
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
  return json_build_object('tables', tables);
end $function$;

CREATE OR REPLACE FUNCTION private.move_drop (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  part record;
begin
  select * into part from private.partner_tables() t where t.name = input ->> 'table' and t.kind = 'own';
  execute format('delete from core.%I t where %s and %s', part.name, part.condition, private.among_keys(part.name, part.key))
    using (input ->> 'partner_id')::uuid, input -> 'keys';
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION private.move_guard (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  partner constant uuid := input ->> 'partner_id';
  name    constant text := input ->> 'table';
  id      constant text := case name when 'partners' then 'id' else 'partner_id' end;
  way     record;
begin
  for way in select * from (values ('write', 'insert or update', 'new'), ('delete', 'delete', 'old')) w (name, events, record) loop
    if (input ->> 'on')::boolean then
      execute format('create or replace trigger %I before %s on core.%I for each row when (%s.%I = %L) execute function private.guard_move(%L)',
                     format('move_%s_%s', way.name, partner), way.events, name, way.record, id, partner, partner);
    else
      execute format('drop trigger if exists %I on core.%I', format('move_%s_%s', way.name, partner), name);
    end if;
  end loop;
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION private.move_hold (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_keys (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET "TimeZone" TO 'UTC'
  SET "DateStyle" TO 'ISO, YMD'
  SET bytea_output TO 'hex'
  SET extra_float_digits TO '1'
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_left (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_lock (
  partner uuid
)
  RETURNS bigint
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select hashtextextended('move ' || partner, 0) $function$;

CREATE OR REPLACE FUNCTION private.move_loose (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
       select format('core.%I', o.name)::regclass::oid from private.partner_tables() o where o.kind = 'own'))
  loop
    execute format('select exists (select from core.%I t where %s and %s and not exists (select from %s r where %s))',
                   key.name, key.condition, key.given, key.referred, key.pairs) into found using (input ->> 'partner_id')::uuid;
    if found then
      loose := loose || key.conname::text;
    end if;
  end loop;
  return json_build_object('loose', loose);
end $function$;

CREATE OR REPLACE FUNCTION private.move_read (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET "TimeZone" TO 'UTC'
  SET extra_float_digits TO '1'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_tables (
  input jsonb
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$ select json_build_object('parts', json_agg(json_build_object('name', t.name, 'kind', t.kind) order by t.place)) from private.partner_tables() t $function$;

CREATE OR REPLACE FUNCTION private.move_undo (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.move_write (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET "TimeZone" TO 'UTC'
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.moved_columns (
  kind    text,
  columns name[],
  secrets name[]
)
  RETURNS name[]
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$ select case kind when 'cited' then array(select unnest(columns) except select unnest(secrets) order by 1) else columns end $function$;

CREATE OR REPLACE FUNCTION private.partner_tables()
  RETURNS TABLE (
    place     integer,
    name      name,
    kind      text,
    condition text,
    key       name[],
    columns   name[],
    secrets   name[]
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  with recursive held as (
    select c.oid, c.relname, coalesce(x.condition, 't.partner_id = $1') as condition,
           case when x.kind is not null then x.kind
                when exists (select from pg_catalog.pg_constraint k
                               join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1] and a.attnotnull
                              where k.conrelid = c.oid and k.contype = 'f' and k.confrelid = 'auth.users'::regclass) then 'people'
                else 'own' end as kind
      from pg_catalog.pg_class c
      left join (values
        ('partners', 'own', 't.id = $1'),
        ('rate_limit_overrides', 'own', $c$t.subject = any (array(select 'client:' || c.id from core.oauth_clients c where c.partner_id = $1))$c$),
        ('payout_batches', 'cited', 't.id = any (array(select l.batch_id from core.payout_lines l where l.partner_id = $1))'),
        -- who opted out: it is not known of whose mail
        ('suppressions', 'cited', 'true')) x (name, kind, condition) on x.name = c.relname
     where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       -- counted, so that it is looked up by the table and not in all of them
       and (x.name is not null
            or (select count(*) from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'partner_id' and not a.attisdropped) > 0)
  ), refers as materialized (
    select distinct k.conrelid, k.confrelid
      from pg_catalog.pg_constraint k join held a on a.oid = k.conrelid join held b on b.oid = k.confrelid
     where k.contype = 'f' and k.conrelid <> k.confrelid
  ), depth as (
    select h.oid, 0 as depth from held h
    union
    select r.conrelid, d.depth + 1 from depth d join refers r on r.confrelid = d.oid where d.depth < 30  -- a circle would not end
  )
  select row_number() over (order by (select max(d.depth) from depth d where d.oid = h.oid), h.relname)::int, h.relname, h.kind, h.condition,
         (select array_agg(a.attname order by array_position(i.indkey::int2[], a.attnum))
            from pg_catalog.pg_index i join pg_catalog.pg_attribute a on a.attrelid = h.oid and a.attnum = any (i.indkey::int2[])
           where i.indrelid = h.oid and i.indisprimary),
         array_agg(a.attname order by a.attname),
         -- what opens something, or would with a key of ours; and which login a person has
         coalesce(array_agg(a.attname order by a.attname) filter (where h.relname || '.' || a.attname ~
           '_ciphertext$|_key_id$|\.((previous_|registration_)?token|key|secret|ocpp_password)_hash$|\.(user_id|invited_by)$|^draft_links\.used_by$|^mail_outbox\.content$'), '{}')
    from held h
   cross join lateral (
     select a.attname from pg_catalog.pg_attribute a
      where a.attrelid = h.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' offset 0) a
   group by h.oid, h.relname, h.kind, h.condition
$function$;

CREATE OR REPLACE FUNCTION private.refuse_move (
  partner core.partners
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION private.typed_key (
  name   name,
  key    name[],
  source text
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select string_agg(format('(%s ->> %s)::%s', source, n - 1, format_type(a.atttypid, null)), ', ' order by n)
    from unnest(key) with ordinality u (k, n)
    join pg_catalog.pg_attribute a on a.attrelid = format('core.%I', name)::regclass and a.attname = k
$function$;

COMMENT ON FUNCTION "private"."guard_move"() IS 'Refuses writes to rows of a partner that moves; the API answers 503 with Retry-After. Definer, because nobody else reads core.partner_moves.';

COMMENT ON TABLE "core"."partner_moves" IS 'A partner that moves between databases; a move has one move_id in both. Here leaving, held and left; there arriving and arrived. The row stays, so that nothing of a partner that left is written here again.';

REVOKE ALL ON FUNCTION "private"."among_keys"(name, name[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."among_keys"(name, name[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."guard_move"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."guard_move"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."listed"(name[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."listed"(name[], text) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_arrive"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_arrive"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_arrived"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_arrived"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_begin"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_begin"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_clear"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_clear"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_digests"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_digests"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_drop"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_drop"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_guard"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_guard"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_hold"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_hold"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_keys"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_keys"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_left"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_left"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_lock"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_lock"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_loose"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_loose"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_read"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_read"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_tables"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_tables"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_undo"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_undo"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."move_write"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."move_write"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."moved_columns"(text, name[], name[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."moved_columns"(text, name[], name[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."refuse_move"(core.partners) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."refuse_move"(core.partners) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."typed_key"(name, name[], text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."typed_key"(name, name[], text) TO "api_owner";

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
end $function$;

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
       select format('core.%I', o.name)::regclass::oid from private.partner_tables() o where o.kind <> 'people'))
  loop
    execute format('select exists (select from core.%I t where %s and %s and not exists (select from %s r where %s))',
                   key.name, key.condition, key.given, key.referred, key.pairs) into found using (input ->> 'partner_id')::uuid;
    if found then
      loose := loose || key.conname::text;
    end if;
  end loop;
  return json_build_object('loose', loose);
end $function$;

CREATE OR REPLACE FUNCTION private.move_written (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
end $function$;

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
        -- none when a move begins; left behind, they would refer to no client
        ('oauth_consents', 'people', 't.client_id = any (array(select c.id from core.oauth_clients c where c.partner_id = $1))'),
        ('oauth_grants', 'people', 't.client_id = any (array(select c.id from core.oauth_clients c where c.partner_id = $1))'),
        ('oauth_codes', 'people', 't.grant_id = any (array(select g.id from core.oauth_grants g join core.oauth_clients c on c.id = g.client_id where c.partner_id = $1))'),
        ('oauth_refresh_tokens', 'people', 't.grant_id = any (array(select g.id from core.oauth_grants g join core.oauth_clients c on c.id = g.client_id where c.partner_id = $1))'),
        -- nobody there may pay what is on its way to the bank here
        ('payout_batches', 'cited', $c$t.status in ('settled', 'cancelled') and t.id = any (array(select l.batch_id from core.payout_lines l where l.partner_id = $1))$c$),
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

commit;

begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION ops.partner_export (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  partner constant core.partners := private.business_named(input);
begin
  perform private.audit('partner.exported', partner.id);
  return json_build_object(
    'export', currval(pg_catalog.pg_get_serial_sequence('core.audit_log', 'id')), 'partner', private.partner_row(partner),
    'host', private.host(), 'exported_at', private.iso(private.now()),
    'tables', (select json_agg(json_build_object('table', t.name, 'withheld', t.secrets) order by t.place)
                 from private.partner_tables() t where t.kind = 'own'));
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
    (select string_agg(format('t.%I', k), ', ' order by n) from unnest(part.key) with ordinality as u (k, n)),
    (select string_agg(format('t.%I::text', k), ', ' order by n) from unnest(part.key) with ordinality as u (k, n)),
    (select string_agg(case when c = any (part.secrets) then format('case when t.%1$I is not null then ''withheld'' end as %1$I', c) else format('t.%I', c) end, ', ' order by c)
       from unnest(part.columns) c),
    part.name, part.condition,
    (select string_agg(format('($2 ->> %s)::%s', n - 1, format_type(a.atttypid, null)), ', ' order by n)
       from unnest(part.key) with ordinality as u (k, n)
       join pg_catalog.pg_attribute a on a.attrelid = format('core.%I', part.name)::regclass and a.attname = k))
    into answer using partner.id, nullif(input -> 'after', 'null'), (input ->> 'size')::int;
  return answer;
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
        ('payout_batches', 'cited', 't.id = any (array(select l.batch_id from core.payout_lines l where l.partner_id = $1))'),
        -- who opted out: it is not known of whose mail
        ('suppressions', 'cited', 'true')) x (name, kind, condition) on x.name = c.relname
     where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and (x.name is not null
            or exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'partner_id' and not a.attisdropped))
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
    join pg_catalog.pg_attribute a on a.attrelid = h.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   group by h.oid, h.relname, h.kind, h.condition
$function$;

COMMENT ON FUNCTION "ops"."partner_export"(jsonb) IS 'Begins an export of all rows of a partner: {partner} to {export, partner, host, exported_at, tables: [{table, withheld}]}. Leaves the audit row.';

COMMENT ON FUNCTION "ops"."partner_export_rows"(jsonb) IS 'The next rows of an export, in the order of their key: {partner, export, table, after?, size} to {rows, last, lines}. lines has a JSON object a line. A withheld value that is not null is the word withheld. All pages are read in one snapshot.';

REVOKE ALL ON FUNCTION "ops"."partner_export"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."partner_export"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "ops"."partner_export_rows"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "ops"."partner_export_rows"(jsonb) TO "operator";

REVOKE ALL ON FUNCTION "private"."partner_tables"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."partner_tables"() TO "api_owner";

commit;

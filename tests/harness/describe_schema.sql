-- Writes down what the migrations have made, object by object: schemas, then tables, views and types, then functions.
-- Each row is one block of text, in the order it is to be read.

with
ours as (
  select oid, nspname from pg_namespace where nspname in ('core', 'api', 'ops', 'private')
),
blocks (place, name, content) as (
  -- schemas
  select 1, n.nspname::text,
         concat_ws(E'\n', format('create schema %I;', n.nspname),
           format('comment on schema %I is ', n.nspname) || quote_literal(obj_description(n.oid, 'pg_namespace')) || ';',
           (select string_agg(format('grant %s on schema %I to %s;', g.privileges, n.nspname, g.grantee), E'\n' order by g.grantee)
              from (select x.grantee::regrole::text as grantee, lower(string_agg(x.privilege_type, ', ' order by x.privilege_type)) as privileges
                      from pg_namespace s, aclexplode(s.nspacl) x where s.oid = n.oid and x.grantee <> s.nspowner group by 1) g))
    from ours n

  union all
  -- tables: columns and constraints, comments, indexes, row-level security, grants
  select 2, c.oid::regclass::text,
         concat_ws(E'\n', format(E'create %stable %s (\n%s\n);', case c.relpersistence when 'u' then 'unlogged ' else '' end, c.oid::regclass,
             concat_ws(E',\n',
               (select string_agg(concat_ws(' ', '  ' || quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
                          case when a.attgenerated = 's' then format('generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid, true))
                               when a.attidentity = 'a' then 'generated always as identity'
                               when d.adbin is not null then 'default ' || pg_get_expr(d.adbin, d.adrelid, true) end,
                          case when a.attnotnull then 'not null' end), E',\n' order by a.attnum)
                  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
                 where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
               (select string_agg(format('  constraint %I %s', k.conname, pg_get_constraintdef(k.oid, true)), E',\n'
                          order by position(k.contype::text in 'pufc'), k.conname)
                  from pg_constraint k where k.conrelid = c.oid))),
           format('comment on table %s is ', c.oid::regclass) || quote_literal(obj_description(c.oid, 'pg_class')) || ';',
           (select string_agg(format('comment on column %s.%I is %L;', c.oid::regclass, a.attname, col_description(c.oid, a.attnum)), E'\n' order by a.attnum)
              from pg_attribute a where a.attrelid = c.oid and col_description(c.oid, a.attnum) is not null),
           (select string_agg(pg_get_indexdef(i.indexrelid, 0, true) || ';', E'\n' order by i.indexrelid::regclass::text)
              from pg_index i where i.indrelid = c.oid
               and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))),
           case when c.relrowsecurity then format('alter table %s enable row level security;', c.oid::regclass) end,
           (select string_agg(concat(format('create policy %I on %s', p.polname, c.oid::regclass),
                      case when not p.polpermissive then ' as restrictive' end,
                      case p.polcmd when 'r' then ' for select' when 'a' then ' for insert' when 'w' then ' for update' when 'd' then ' for delete' end,
                      ' to ' || (select string_agg(r::regrole::text, ', ' order by r::regrole::text) from unnest(p.polroles) r),
                      E'\n  using (' || pg_get_expr(p.polqual, c.oid, true) || ')', E'\n  with check (' || pg_get_expr(p.polwithcheck, c.oid, true) || ')', ';'), E'\n' order by p.polname)
              from pg_policy p where p.polrelid = c.oid),
           (select string_agg(format('grant %s on %s to %s;', g.privileges, c.oid::regclass, g.grantee), E'\n' order by g.grantee)
              from (select x.grantee::regrole::text as grantee, lower(string_agg(x.privilege_type, ', ' order by x.privilege_type)) as privileges
                      from aclexplode(c.relacl) x where x.grantee <> c.relowner group by 1) g),
           (select string_agg(pg_get_triggerdef(t.oid) || ';', E'\n' order by t.tgname) from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal))
    from pg_class c where c.relnamespace in (select oid from ours) and c.relkind in ('r', 'p')

  union all
  -- views
  select 3, c.oid::regclass::text,
         concat_ws(E'\n', format('create view %s%s as', c.oid::regclass, ' with (' || array_to_string(c.reloptions, ', ') || ')'), pg_get_viewdef(c.oid, true),
           format('comment on view %s is ', c.oid::regclass) || quote_literal(obj_description(c.oid, 'pg_class')) || ';',
           (select string_agg(format('grant %s on %s to %s;', lower(x.privilege_type), c.oid::regclass, x.grantee::regrole), E'\n' order by 1)
              from aclexplode(c.relacl) x where x.grantee <> c.relowner))
    from pg_class c where c.relnamespace in (select oid from ours) and c.relkind = 'v'

  union all
  -- types
  select 4, t.oid::regtype::text,
         format(E'create type %s as (\n%s\n);', t.oid::regtype,
           (select string_agg(format('  %I %s', a.attname, format_type(a.atttypid, a.atttypmod)), E',\n' order by a.attnum)
              from pg_attribute a where a.attrelid = t.typrelid and not a.attisdropped))
    from pg_type t join pg_class c on c.oid = t.typrelid
   where t.typnamespace in (select oid from ours) and c.relkind = 'c'

  union all
  -- functions
  select 5, p.oid::regprocedure::text,
         concat_ws(E'\n', rtrim(pg_get_functiondef(p.oid), E'\n') || ';',
           format('comment on function %s is ', p.oid::regprocedure) || quote_literal(obj_description(p.oid, 'pg_proc')) || ';',
           case when p.proowner <> n.nspowner then format('alter function %s owner to %s;', p.oid::regprocedure, p.proowner::regrole) end,
           (select string_agg(format('grant execute on function %s to %s;', p.oid::regprocedure, g.grantee), E'\n' order by g.grantee)
              from (select case x.grantee when 0 then 'public' else x.grantee::regrole::text end as grantee
                      from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x where x.grantee <> p.proowner) g))
    from pg_proc p join ours on ours.oid = p.pronamespace join pg_namespace n on n.oid = p.pronamespace
)
select content from blocks order by place, name collate "C"

-- Lists the facts of a database, one a row: each object, its owner, its grants and its comment. Two databases with the
-- same facts are the same. Objects of the platform are left out. So is the position of a column, because a migration
-- can only add a column at the end.

with
ours as (
  select oid from pg_namespace
   where nspname !~ '^pg_' and nspname not in ('information_schema', 'auth', 'extensions', 'supabase_migrations')
),
relations as (
  select * from pg_class where relnamespace in (select oid from ours)
),
objects (class, id, part, owner, acl, definition) as (
  select 'pg_namespace'::regclass, oid, 0, nspowner, coalesce(nspacl, acldefault('n', nspowner)), ''
    from pg_namespace where oid in (select oid from ours)

  union all
  -- tables, views, sequences
  select 'pg_class'::regclass, c.oid, 0, relowner,
         coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner)),
         concat_ws(' ', relkind, relpersistence, relreplident, reloptions,
           case when relrowsecurity then 'row security' end, case when relforcerowsecurity then 'forced' end,
           case when relkind in ('v', 'm') then pg_get_viewdef(c.oid, true) end, q.*::text,
           'partition by ' || pg_get_partkeydef(c.oid),
           'partition of ' || (select i.inhparent::regclass::text from pg_inherits i where i.inhrelid = c.oid) || ' ' || pg_get_expr(relpartbound, c.oid))
    from relations c left join lateral (
           select seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle
             from pg_sequence where seqrelid = c.oid) q on relkind = 'S'
   where relkind not in ('c', 'i', 'I')

  union all
  -- columns, and the attributes of a composite type, whose order counts
  select 'pg_class'::regclass, c.oid, attnum, null, attacl,
         concat_ws(' ', case when relkind = 'c' then attnum end, format_type(atttypid, atttypmod), case when attnotnull then 'not null' end,
           'identity ' || nullif(attidentity::text, ''), 'generated ' || nullif(attgenerated::text, ''), 'default ' || pg_get_expr(adbin, adrelid),
           'collation ' || nullif(attcollation, 0)::regcollation::text, attstorage, attcompression, attstattarget, attoptions)
    from relations c
    join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = c.oid and adnum = attnum
   where relkind not in ('i', 'I', 'S')

  union all
  select 'pg_constraint'::regclass, oid, 0, null, null, pg_get_constraintdef(oid)
    from pg_constraint where connamespace in (select oid from ours)

  union all
  select 'pg_class'::regclass, c.oid, 0, null, null,
         concat_ws(' ', pg_get_indexdef(c.oid), case when not indisvalid then 'invalid' end, case when indisclustered then 'clustered' end,
           case when indisreplident then 'identity' end)
    from relations c join pg_index on indexrelid = c.oid

  union all
  select 'pg_trigger'::regclass, oid, 0, null, null, concat_ws(' ', tgenabled, pg_get_triggerdef(oid))
    from pg_trigger where not tgisinternal

  union all
  select 'pg_policy'::regclass, oid, 0, null, null,
         concat_ws(' ', polcmd, case when polpermissive then 'permissive' else 'restrictive' end,
           array(select case role when 0 then 'public' else role::regrole::text end from unnest(polroles) role order by 1),
           'using ' || pg_get_expr(polqual, polrelid), 'with check ' || pg_get_expr(polwithcheck, polrelid))
    from pg_policy

  union all
  select 'pg_rewrite'::regclass, r.oid, 0, null, null, concat_ws(' ', ev_enabled, pg_get_ruledef(r.oid))
    from pg_rewrite r join relations c on c.oid = ev_class where rulename <> '_RETURN'

  union all
  select 'pg_statistic_ext'::regclass, oid, 0, stxowner, null, pg_get_statisticsobjdef(oid)
    from pg_statistic_ext where stxnamespace in (select oid from ours)

  union all
  -- language, arguments, body, attributes and settings are all in the definition
  select 'pg_proc'::regclass, oid, 0, proowner, coalesce(proacl, acldefault('f', proowner)),
         case when prokind = 'a' then 'aggregate' else pg_get_functiondef(oid) end
    from pg_proc where pronamespace in (select oid from ours)

  union all
  select 'pg_type'::regclass, t.oid, 0, typowner, coalesce(typacl, acldefault('T', typowner)),
         concat_ws(' ', typtype, array(select enumlabel from pg_enum where enumtypid = t.oid order by enumsortorder),
           'over ' || nullif(typbasetype, 0)::regtype::text, case when typnotnull then 'not null' end, 'default ' || typdefault)
    from pg_type t
   where typnamespace in (select oid from ours) and typelem = 0
     and (typrelid = 0 or exists (select from relations c where c.oid = typrelid and relkind = 'c'))

  union all
  select 'pg_default_acl'::regclass, oid, 0, null, defaclacl, '' from pg_default_acl

  union all
  select 'pg_extension'::regclass, oid, 0, extowner, null, concat_ws(' ', extversion, extnamespace::regnamespace) from pg_extension

  union all
  select 'pg_event_trigger'::regclass, oid, 0, evtowner, null, concat_ws(' ', evtenabled, evtevent, evtfoid::regproc, evttags)
    from pg_event_trigger

  union all
  -- roles belong to the server; two databases of one server share them
  select 'pg_authid'::regclass, r.oid, 0, null, null,
         concat_ws(' ', case when rolcanlogin then 'login' end, case when rolinherit then 'inherit' end, case when rolsuper then 'superuser' end,
           case when rolcreaterole then 'createrole' end, case when rolcreatedb then 'createdb' end, case when rolbypassrls then 'bypassrls' end,
           case when rolreplication then 'replication' end, rolconnlimit, rolconfig,
           array(select format('in %s: admin %s, inherit %s, set %s', roleid::regrole, admin_option, inherit_option, set_option)
                   from pg_auth_members where member = r.oid order by 1))
    from pg_roles r where rolname !~ '^pg_'

  union all
  -- whatever else somebody may put into a schema
  select classid, objid, 0, null, null, ''
    from pg_depend
   where refclassid = 'pg_namespace'::regclass and refobjid in (select oid from ours)
     and classid not in ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_constraint'::regclass,
                         'pg_statistic_ext'::regclass, 'pg_default_acl'::regclass)
),
named as (
  select o.*, concat_ws(' ', i.type, i.identity) as name
    from objects o, pg_identify_object(o.class, o.id, o.part) i
)
select name as key, definition as value from named
union all
select 'owner of ' || name, owner::regrole::text from named where owner is not null
union all
select format('grant to %s on %s', case x.grantee when 0 then 'public' else x.grantee::regrole::text end, name),
       string_agg(concat(lower(privilege_type), case when is_grantable then ' with grant option' end, ' by ', grantor::regrole), ', ' order by privilege_type, grantor::regrole::text)
  from named, aclexplode(acl) x group by x.grantee, name
union all
select 'comment on ' || name, coalesce(d.description, s.description)
  from named
  left join pg_description d on (d.classoid, d.objoid, d.objsubid) = (class, id, part)
  left join pg_shdescription s on (s.classoid, s.objoid) = (class, id)
 where coalesce(d.description, s.description) is not null

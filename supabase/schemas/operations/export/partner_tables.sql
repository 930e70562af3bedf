-- What belongs to a partner, read from the catalogue of Postgres.

-- The tables that hold rows of a partner, each after those it refers to. condition is SQL on a row t; $1 is the
-- partner. A table with partner_id is listed without a word here, unless its rows need a login: a person is not part of
-- a tenant. tests/sql/partner_tables.test.ts lists the tables that are missing here, with their reasons.
create function private.partner_tables()
  returns table (place int, name name, condition text, key name[], columns name[], secrets name[])
language sql stable
as $$
  with recursive held as (
    select c.oid, c.relname, coalesce(x.condition, 't.partner_id = $1') as condition
      from pg_catalog.pg_class c
      left join (values
        ('partners', 't.id = $1'),
        ('rate_limit_overrides',
         $c$t.subject = any (array(select 'client:' || c.id from core.oauth_clients c where c.partner_id = $1))$c$)
      ) x (name, condition) on x.name = c.relname
     where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       -- counted, so that it is looked up by the table and not in all of them
       and (x.name is not null
            or (select count(*) from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname = 'partner_id'
                and not a.attisdropped) > 0)
       and not exists (select from pg_catalog.pg_constraint k
                         join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
                             and a.attnotnull
                        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid = 'auth.users'::regclass)
  ), refers as (
    select distinct k.conrelid, k.confrelid
      from pg_catalog.pg_constraint k join held a on a.oid = k.conrelid join held b on b.oid = k.confrelid
     where k.contype = 'f' and k.conrelid <> k.confrelid
  ), depth as (
    select h.oid, 0 as depth from held h
    union
    -- a circle would not end
    select r.conrelid, d.depth + 1 from depth d join refers r on r.confrelid = d.oid where d.depth < 30
  )
  select row_number() over (order by (select max(d.depth) from depth d where d.oid = h.oid), h.relname)::int,
      h.relname, h.condition,
         (select array_agg(a.attname order by array_position(i.indkey::int2[], a.attnum))
            from pg_catalog.pg_index i join pg_catalog.pg_attribute a on a.attrelid = h.oid
                and a.attnum = any (i.indkey::int2[])
           where i.indrelid = h.oid and i.indisprimary),
         array_agg(a.attname order by a.attname),
         -- what opens something, or would with a key of ours; and which login a person has
         coalesce(array_agg(a.attname order by a.attname) filter (where h.relname || '.' || a.attname ~
           '_ciphertext$|_key_id$|\.((previous_|registration_)?token|key|secret|ocpp_password|ocpp_mirror)_hash$|'
           '\.(user_id|invited_by)$|^draft_links\.used_by$|^mail_outbox\.content$'), '{}')
    from held h
   cross join lateral (
     select a.attname from pg_catalog.pg_attribute a
      where a.attrelid = h.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        -- a card is for its owner's eyes
        and a.attname <> 'id_tag') a
   group by h.oid, h.relname, h.condition
$$;

-- SQL: columns in a list, each by a pattern such as t.%I.
create function private.listed(columns name[], pattern text) returns text
language sql immutable
as $$ select string_agg(format(pattern, c), ', ' order by n) from unnest(columns) with ordinality u (c, n) $$;

-- SQL: the columns of a key, read from a JSON array of texts.
create function private.typed_key(name name, key name[], source text) returns text
language sql stable
as $$
  select string_agg(format('(%s ->> %s)::%s', source, n - 1, format_type(a.atttypid, null)), ', ' order by n)
    from unnest(key) with ordinality u (k, n)
    join pg_catalog.pg_attribute a on a.attrelid = format('core.%I', name)::regclass and a.attname = k
$$;

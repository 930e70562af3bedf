-- Tables that only grow have a partition for each Dutch year. A row of a year without one goes to the default partition
-- until it has one.

-- Makes a year's partition and moves that year's rows into it; returns whether it made one. Fails with
-- lock_not_available, waits for none.
create function private.make_year_partition(parent regclass, year int) returns boolean
language plpgsql
as $$
declare
  name      constant text := (select c.relname || '_' || year from pg_catalog.pg_class c where c.oid = parent);
  aside     constant text := (select c.relname || '_default' from pg_catalog.pg_class c where c.oid = parent);
  moment    constant text := (
    select a.attname from pg_catalog.pg_partitioned_table p
      join pg_catalog.pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0]
          where p.partrelid = parent);
  columns   constant text := (
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_catalog.pg_attribute a
     where a.attrelid = parent and a.attnum > 0 and not a.attisdropped and a.attgenerated = '');
  since     constant timestamptz := private.dutch_midnight(make_date(year, 1, 1));
  until     constant timestamptz := private.dutch_midnight(make_date(year + 1, 1, 1));
begin
  if to_regclass('core.' || quote_ident(name)) is not null then
    return false;
  end if;
  -- one call at a time makes it; who writes to the table is not kept waiting, unless it is to the default partition
  execute format('lock table only %s in share update exclusive mode nowait', parent);
  if to_regclass('core.' || quote_ident(name)) is not null then
    return false;
  end if;
  execute format('lock table core.%I in access exclusive mode nowait', aside);
  -- made beside the table and then attached: `create table … partition of` would lock the whole table
  execute format('create table core.%I (like %s including defaults including generated including constraints '
                 'including storage)', name, parent);
  execute format('comment on table core.%I is %L', name, format('%s of %s.', parent, year));
  execute format('alter table core.%I enable row level security', name);
  execute format('with moved as (delete from core.%1$I where %2$I >= %3$L and %2$I < %4$L returning %5$s) insert into '
                 'core.%6$I (%5$s) select %5$s from moved',
                 aside, moment, since, until, columns, name);
  execute format('alter table %s attach partition core.%I for values from (%L) to (%L)', parent, name, since, until);
  return true;
end $$;

create function private.make_due_partitions() returns int
language plpgsql security definer
as $$
declare
  due  record;
  made int := 0;
begin
  for due in
    select p.partrelid::regclass as parent, extract(year from private.today())::int + ahead as year
      from pg_catalog.pg_partitioned_table p
      join pg_catalog.pg_class c on c.oid = p.partrelid and c.relnamespace = 'core'::regnamespace
     cross join generate_series(0, 1) as ahead
     where p.partstrat = 'r'
     order by c.relname, ahead
  loop
    begin
      made := made + private.make_year_partition(due.parent, due.year)::int;
    exception when lock_not_available then
      null;  -- somebody reads the default partition, as a dump does: the next run tries again, and has a year
    end;
  end loop;
  return made;
end $$;
comment on function private.make_due_partitions() is
  'Makes the partitions of this year and the next in every table that has one for each year. Definer, because tables '
  'belong to their owner.';

-- Stands beside each table that is made `partition by range` of the moment of its rows. Makes a default partition,
-- which loses nothing. Its partitions have no policies and grants, so that nobody reaches them but through the table.
create function private.partition_by_year(parent regclass) returns void
language plpgsql
as $$
declare
  aside constant text := (select c.relname || '_default' from pg_catalog.pg_class c where c.oid = parent);
begin
  execute format('create table core.%I partition of %s default', aside, parent);
  execute format('comment on table core.%I is %L', aside, format('%s of years that have no partition.', parent));
  execute format('alter table core.%I enable row level security', aside);
  perform private.make_due_partitions();
end $$;

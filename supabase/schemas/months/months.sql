-- Delivered months: one total a connection and month, with the raw deliveries and every replaced value kept for audit.

-- Replaces a foreign key (partner_id, delivery_id). It is checked once for each delivery that a statement names: row by row that took a
-- quarter of a batch of 240 months. Nobody else sees a delivery before its months, so nothing is deleted between the two checks.

create function private.require_delivery() returns trigger
language plpgsql security definer
as $$
begin
  if exists (
    select from (select distinct w.partner_id, w.delivery_id from written w where w.delivery_id is not null) named
     where not exists (select from core.deliveries d where d.partner_id = named.partner_id and d.id = named.delivery_id)) then
    raise exception 'the delivery that a month refers to is not there' using errcode = 'foreign_key_violation', table = 'delivered_months';
  end if;
  return null;
end $$;
comment on function private.require_delivery() is
  'Refuses months whose delivery is missing in their tenant. Definer, because, like a foreign key, it looks past row-level security.';
create trigger require_delivery_inserted after insert on core.delivered_months
  referencing new table as written for each statement execute function private.require_delivery();
create trigger require_delivery_updated after update on core.delivered_months
  referencing new table as written for each statement execute function private.require_delivery();

create function private.keep_delivery() returns trigger
language plpgsql security definer
as $$
begin
  if exists (select from deleted d join core.delivered_months m on m.partner_id = d.partner_id and m.delivery_id = d.id) then
    raise exception 'months refer to a delivery, which is kept' using errcode = 'foreign_key_violation', table = 'deliveries';
  end if;
  return null;
end $$;
comment on function private.keep_delivery() is
  'Refuses to delete a delivery that months refer to. Nothing changes its key. Definer, because, like a foreign key, it looks past row-level security.';
create trigger keep_delivery after delete on core.deliveries
  referencing old table as deleted for each statement execute function private.keep_delivery();

-- Deliveries count from 2026-01.
create function private.first_delivery_month() returns date
language sql immutable
return date '2026-01-01';

-- Whether a month lies inside a mandate of its connection: staged, or outside_mandate.
create function private.judge_month(coverage core.connection_coverage, period date) returns text
language sql immutable
return case when (coverage).decided is not true then 'staged'  -- nobody has signed yet: kept until somebody does
            when period >= private.first_delivery_month() and period <@ (coverage).covered then 'staged'
            else 'outside_mandate' end;

-- What the mandates of a connection cover; all null if nobody was asked.
create function private.coverage_of(connection uuid) returns core.connection_coverage
language plpgsql stable
as $$
begin
  return (select k from core.connection_coverage k where k.partner_id = private.partner_id() and k.connection_id = coverage_of.connection);
end $$;

-- private.judge_month for a single month; it reads the coverage itself.
create function private.month_status(connection uuid, period date) returns text
language plpgsql stable
as $$ begin return private.judge_month(private.coverage_of(connection), period); end $$;

-- Judges a connection's open months again, after a signature or its end. Locked months stay as they are.
create function private.judge_months(connection uuid) returns void
language plpgsql
as $$
declare
  coverage constant core.connection_coverage := private.coverage_of(connection);
begin
  update core.delivered_months d
     set status = private.judge_month(coverage, d.period)
   where d.partner_id = private.partner_id() and d.connection_id = connection
     and d.status in ('staged', 'outside_mandate')
     and d.status <> private.judge_month(coverage, d.period);
end $$;

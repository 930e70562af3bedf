-- Delivered months: one total a connection and month, with the raw deliveries and every replaced value kept for audit.

create type core.replaced_total as (
  period        date,
  total_kwh     numeric(12, 3),
  session_count int,
  delivery_id   uuid,
  received_at   timestamptz);
comment on type core.replaced_total is 'What a month held before: by which delivery, null where it was the sum of charging sessions, and since when.';

create table core.deliveries (
  partner_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  connection_id uuid        not null,
  owner_id      uuid        not null default private.owner_id(),
  client_id     uuid        not null,
  request_id    text        not null,
  body          text        not null,
  body_sha256   text        not null,
  received_at   timestamptz not null default private.now(),
  replaced      core.replaced_total[],
  constraint deliveries_pkey primary key (partner_id, id),
  constraint deliveries_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id)
);
comment on table core.deliveries is 'A call of sessions:batch as it came in, for the regulator''s audit. Append-only, kept seven years.';
comment on column core.deliveries.replaced is
  'Each total that it replaced by another; null where none. Part of the row, because rows of their own, with their indexes and keys, cost a batch a sixth of its time. core.replaced_months shows one a row.';
-- serves: the deliveries of a connection
create index deliveries_connection on core.deliveries (partner_id, connection_id, received_at);
select private.isolate('core.deliveries', 'select, insert');
select private.keep_to_owner('core.deliveries');

create table core.delivered_months (
  partner_id    uuid           not null,
  connection_id uuid           not null,
  owner_id      uuid           not null default private.owner_id(),
  period        date           not null,
  total_kwh     numeric(12, 3) not null,
  session_count int            not null,
  source        text           not null,
  status        text           not null,
  locked        boolean        not null generated always as (status in ('submitted', 'registered')) stored,
  accepted_kwh  numeric(12, 3),
  delivery_id   uuid,
  received_at   timestamptz    not null,
  constraint delivered_months_pkey primary key (partner_id, connection_id, period),
  constraint delivered_months_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint delivered_months_period_is_month check (period = date_trunc('month', period)),
  constraint delivered_months_total_kwh_range check (total_kwh between 0 and 1000000),
  constraint delivered_months_session_count_positive check (session_count >= 0),
  constraint delivered_months_status_known check (status in ('staged', 'outside_mandate', 'submitted', 'registered', 'rejected'))
);
-- serves: the months of a quarter, for a booking
create index delivered_months_period on core.delivered_months (partner_id, period);
comment on table core.delivered_months is
  'The kWh of one connection in one month. Kept seven years.';
comment on column core.delivered_months.locked is 'Registered as ERE, or about to be: no delivery changes it any more.';
comment on column core.delivered_months.accepted_kwh is 'What the register accepted, as core.credits says: here too, so that a position need not look it up. Null until then.';
comment on column core.delivered_months.delivery_id is 'Null where the month is the sum of charging sessions that came in one by one.';
select private.isolate('core.delivered_months', 'select, insert, update');
select private.keep_to_owner('core.delivered_months');

-- What a foreign key (partner_id, delivery_id) would hold, but asked once for each delivery that a statement names: row by row the check
-- took a quarter of a batch of 240 months. Nobody else sees a delivery before the months that came in by it, so that nothing is
-- deleted between the two checks.

create function private.require_delivery() returns trigger
language plpgsql security definer
set search_path = ''
as $$
begin
  if exists (
    select from (select distinct w.partner_id, w.delivery_id from written w where w.delivery_id is not null) named
     where not exists (select from core.deliveries d where d.partner_id = named.partner_id and d.id = named.delivery_id)) then
    raise exception 'the delivery that a month refers to is not there' using errcode = 'foreign_key_violation', table = 'delivered_months';
  end if;
  return null;
end $$;
comment on function private.require_delivery() is 'Refuses months that refer to a delivery of their tenant that is not there. Definer, because, like a foreign key, it looks past row-level security.';
create trigger require_delivery_inserted after insert on core.delivered_months
  referencing new table as written for each statement execute function private.require_delivery();
create trigger require_delivery_updated after update on core.delivered_months
  referencing new table as written for each statement execute function private.require_delivery();

create function private.keep_delivery() returns trigger
language plpgsql security definer
set search_path = ''
as $$
begin
  if exists (select from deleted d join core.delivered_months m on m.partner_id = d.partner_id and m.delivery_id = d.id) then
    raise exception 'months refer to a delivery, which is kept' using errcode = 'foreign_key_violation', table = 'deliveries';
  end if;
  return null;
end $$;
comment on function private.keep_delivery() is 'Refuses to delete a delivery that months refer to. Nothing changes the key of one. Definer, because, like a foreign key, it looks past row-level security.';
create trigger keep_delivery after delete on core.deliveries
  referencing old table as deleted for each statement execute function private.keep_delivery();

create view core.replaced_months with (security_invoker = true) as
select d.partner_id, d.connection_id, r.period, r.total_kwh, r.session_count, r.delivery_id, r.received_at, d.id as replaced_by, d.received_at as replaced_at
  from core.deliveries d
  cross join unnest(d.replaced) r;
comment on view core.replaced_months is 'Each total that a later delivery replaced by another: which delivery brought it, and which replaced it.';

create function private.first_delivery_month() returns date
language sql immutable
return date '2026-01-01';
comment on function private.first_delivery_month() is 'Deliveries count from 2026-01.';
grant execute on function private.first_delivery_month() to api_owner;

create view core.connection_coverage with (security_invoker = true) as
select m.partner_id,
       m.connection_id,
       bool_or(m.status <> 'declined') as decided,
       range_agg(daterange(m.valid_from, m.covered_until, '[]')) filter (where m.covered_until >= m.valid_from) as covered
  from core.mandates m
 group by m.partner_id, m.connection_id;
comment on view core.connection_coverage is
  'Whether anybody decided about a mandate of a connection, and the days that its mandates cover. Read once for all months of a connection; no row where nobody was asked.';
grant select on core.connection_coverage to api_owner;

create function private.judge_month(coverage core.connection_coverage, period date) returns text
language sql immutable
return case when (coverage).decided is not true then 'staged'  -- nobody has signed yet: kept until somebody does
            when period >= private.first_delivery_month() and period <@ (coverage).covered then 'staged'
            else 'outside_mandate' end;
comment on function private.judge_month(core.connection_coverage, date) is 'Whether a month lies inside a mandate of its connection: staged, or outside_mandate.';
grant execute on function private.judge_month(core.connection_coverage, date) to api_owner;

create function private.coverage_of(connection uuid) returns core.connection_coverage
language plpgsql stable
set search_path = ''
as $$
declare
  coverage core.connection_coverage;
begin
  select * into coverage from core.connection_coverage k where k.partner_id = private.partner_id() and k.connection_id = coverage_of.connection;
  return coverage;
end $$;
comment on function private.coverage_of(uuid) is 'What the mandates of a connection cover; all null where nobody was asked.';
grant execute on function private.coverage_of(uuid) to api_owner;

create function private.month_status(connection uuid, period date) returns text
language plpgsql stable
set search_path = ''
as $$ begin return private.judge_month(private.coverage_of(connection), period); end $$;
comment on function private.month_status(uuid, date) is 'judge_month for a single month, of which nobody has read the coverage.';
grant execute on function private.month_status(uuid, date) to api_owner;

create function private.judge_months(connection uuid) returns void
language plpgsql
set search_path = ''
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
comment on function private.judge_months(uuid) is 'Judges a connection''s open months again, after a signature or its end. Locked months stay as they are.';
grant execute on function private.judge_months(uuid) to api_owner;

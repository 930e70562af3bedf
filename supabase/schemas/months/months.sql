-- Delivered months: one total a connection and month, with the raw deliveries and every replaced value kept for audit.

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
  return (select k from core.connection_coverage k where k.partner_id = private.partner_id()
          and k.connection_id = coverage_of.connection);
end $$;

-- private.judge_month for a single month; it reads the coverage itself.
create function private.month_status(connection uuid, period date) returns text
language plpgsql stable
as $$
declare
  coverage constant core.connection_coverage := private.coverage_of(connection);
begin
  return private.judge_month(coverage, period);  -- of a variable the planner writes its body into the query
end $$;

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

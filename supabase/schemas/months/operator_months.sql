-- The operator on months: lock and unlock.

create function private.delivered_month_named(input jsonb) returns core.delivered_months
language plpgsql
set search_path = ''
as $$
declare
  connection core.connections;
  month      core.delivered_months;
begin
  if coalesce(input ->> 'period', '') !~ '^[12][0-9]{3}-(0[1-9]|1[0-2])(-01)?$' then
    perform private.refuse('invalid_period');
  end if;
  connection := private.connection_named(input ->> 'connection');
  select * into month from core.delivered_months d
   where d.partner_id = connection.partner_id and d.connection_id = connection.id
     and d.period = to_date(left(input ->> 'period', 7), 'YYYY-MM')
     for update;
  if not found then
    perform private.refuse('month_not_found', json_build_object('period', left(input ->> 'period', 7)));
  end if;
  return month;
end $$;
comment on function private.delivered_month_named(jsonb) is 'The delivered month of {connection, period}, locked together with its connection.';

create function private.set_month_status(month core.delivered_months, wanted text, action text) returns json
language plpgsql
set search_path = ''
as $$
declare
  before constant text := month.status;
begin
  if wanted <> before then
    update core.delivered_months d set status = wanted
     where d.partner_id = month.partner_id and d.connection_id = month.connection_id and d.period = month.period
    returning * into month;
    perform private.audit(action, month.connection_id, jsonb_build_object('period', month.period, 'before', before, 'after', wanted));
  end if;
  return json_build_object(
    'changed', wanted <> before,
    'month', json_build_object('connection_id', month.connection_id, 'period', month.period, 'total_kwh', month.total_kwh,
                               'session_count', month.session_count, 'status', month.status,
                               'received_at', private.iso(month.received_at)));
end $$;

create function ops.month_lock(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  month core.delivered_months;
begin
  perform private.act_as_operator(input);
  month := private.delivered_month_named(input);
  if month.status not in ('staged', 'registered') then
    perform private.refuse('month_not_staged', json_build_object('status', month.status));
  end if;
  return private.set_month_status(month, 'registered', 'month.locked');
end $$;
comment on function ops.month_lock(jsonb) is
  'Marks a staged month as registered, after which deliveries no longer change it: {connection, period} to {changed, month}.';
select private.expose_ops('ops.month_lock(jsonb)');

create function ops.month_unlock(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  month core.delivered_months;
begin
  perform private.act_as_operator(input);
  month := private.delivered_month_named(input);
  return private.set_month_status(
    month, case month.status when 'registered' then private.month_status(month.connection_id, month.period) else month.status end,
    'month.unlocked');
end $$;
comment on function ops.month_unlock(jsonb) is
  'Opens a registered month again, as staged or outside_mandate, whichever it now is: {connection, period} to {changed, month}.';
select private.expose_ops('ops.month_unlock(jsonb)');

-- POST /v1/sessions:batch.

-- Finds the active connection for a delivery, the wanted one or the first. Locks it: one batch, signature or booking at
-- a time.
create function private.lock_for_delivery(account uuid, wanted uuid) returns uuid
language plpgsql
as $$
declare
  connection uuid;
begin
  -- the owner of an account also owns its connections, so we need not read the account
  select c.id into connection
    from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active'
       and (wanted is null or c.id = wanted)
   order by c.created_at, c.id limit 1
     for no key update;
  if not found then
    -- these raise the API's own error
    perform private.find_account(account);
    connection := private.pick_connection(account, wanted, true);
    perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for no key update;
  end if;
  return connection;
end $$;

-- What the counted sessions of the MID chargers of a connection come to in a month.
create function private.charged_in_month(connection uuid, period date) returns table (kwh numeric, sessions int)
language plpgsql stable strict
as $$
begin
  return query
  select round(coalesce(sum(s.wh), 0) / 1000.0, 3), count(s.wh)::int
    from core.charging_sessions s
    join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
   where s.partner_id = private.partner_id() and s.connection_id = connection and s.month = period and s.counted
       and s.flags = '{}';
end $$;

create function api.ingest_months(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  delivery   constant uuid := gen_random_uuid();
  source     constant text := input ->> 'source';
  today      constant date := private.today();
  tenant     uuid;
  owner      uuid;
  connection uuid;
  verdicts   json;
  changes    json;
  beyond     json;
begin
  perform private.act_as(caller, 'cpo');
  tenant := private.partner_id();
  owner := private.owner_id();
  connection := private.lock_for_delivery((input ->> 'account_id')::uuid, (input ->> 'connection_id')::uuid);

  with judged as (
    select m.period, m.handed, m.total_kwh, m.session_count,
           d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery,
               d.received_at as old_received_at,
           case when m.period > today then 'future_period'
                when m.total_kwh is null then 'bad_kwh'
                when m.session_count is null then 'bad_session_count'
                when d.locked then 'locked'
                else private.judge_month(k, m.period) end as verdict
      from (select t.period, t.handed, coalesce(t.total_kwh, s.kwh) as total_kwh,
            coalesce(t.session_count, s.sessions) as session_count
              from unnest((input ->> 'periods')::date[], (input ->> 'total_kwh')::numeric(12, 3)[],
                          (input ->> 'session_count')::int[],
                          (input ->> 'from_sessions')::boolean[]) as t (period, total_kwh, session_count, handed)
              left join lateral private.charged_in_month(connection, case when t.handed then t.period end) s on true) m
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = connection
          and d.period = m.period
      left join core.connection_coverage k on k.partner_id = tenant and k.connection_id = connection
  ), delivered as (
    insert into core.deliveries (partner_id, id, connection_id, owner_id, client_id, request_id, body,
                                 body_sha256, replaced)
    select tenant, delivery, connection, owner, private.client_id(), caller ->> 'request_id', input ->> 'body',
        input ->> 'body_sha256',
           array_agg((j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at)::core.replaced_total)
      from judged j
     where j.verdict in ('staged', 'outside_mandate') and j.old_kwh is not null
         and (j.old_kwh, j.old_count) <> (j.total_kwh, j.session_count)
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, connection, owner, j.period, j.total_kwh, j.session_count,
        case when j.handed then 'sessions' else source end, j.verdict,
           case when j.handed then null else delivery end, private.now()
      from judged j where j.verdict in ('staged', 'outside_mandate')
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where not d.locked
  )
  select json_object_agg(j.period, case j.verdict when 'staged' then 'ingested' else j.verdict end),
         json_object_agg(j.period, case when j.old_kwh is null then 'created'
                                        when (j.old_kwh, j.old_count) = (j.total_kwh, j.session_count) then 'unchanged'
                                        else 'changed' end)
           filter (where j.verdict in ('staged', 'outside_mandate')),
         json_agg(j.period) filter (where j.total_kwh > w.kw * private.hours_of(j.period))
    into verdicts, changes, beyond
    from judged j left join core.connection_power w on w.partner_id = tenant and w.connection_id = connection;
  return json_build_object('connection_id', connection, 'verdicts', verdicts, 'changes', changes,
                           'beyond_power', beyond);
end $$;
comment on function api.ingest_months(jsonb, jsonb) is
  'POST /v1/sessions:batch: {account_id, connection_id, source, periods, total_kwh, session_count, from_sessions, '
  'body, body_sha256} to {connection_id, verdicts: {period: verdict}, changes: {period: created, changed or '
  'unchanged}, beyond_power: [period]}, changes of stored months, and beyond_power of more kWh than the connection''s '
  'chargers can give, null if none is. Four arrays as Postgres writes them, an entry each month. The first days are '
  'distinct; kWh and sessions are null if invalid, or if the month is handed back to its charging sessions '
  '(from_sessions). A verdict is ingested, outside_mandate, locked, future_period, bad_kwh or '
  'bad_session_count. A bad item is a result, never an exception. One set-based statement.';

-- POST /v1/sessions:batch.

create type private.batch_item as (
  place         int,
  period_sent   text,
  period        date,
  total_kwh     numeric,
  session_count numeric,
  reason        text);

create function private.read_batch(months jsonb) returns setof private.batch_item
language sql stable
begin atomic
  -- read once: written into the rest, each of these expressions would be evaluated four times over
  with sent as materialized (
    select m.place,
           m.period as period_sent,
           case when m.period ~ '^[12][0-9]{3}-(0[1-9]|1[0-2])(-01)?$' then to_date(left(m.period, 7), 'YYYY-MM') end as period,
           case when jsonb_typeof(m.total_kwh) = 'number' and m.total_kwh::numeric between 0 and 1000000 then round(m.total_kwh::numeric, 3) end as total_kwh,
           case when coalesce(jsonb_typeof(m.session_count), 'null') = 'null' then 0
                when jsonb_typeof(m.session_count) = 'number' and m.session_count::numeric between 0 and 1000000 then m.session_count::numeric end as session_count
      from rows from (jsonb_to_recordset(months) as (period text, total_kwh jsonb, session_count jsonb)) with ordinality as m (period, total_kwh, session_count, place)
  )
  select place::int, period_sent, period, total_kwh, session_count,
         case when period is null then 'bad_period'
              when count(*) over (partition by period) > 1 then 'duplicate_in_batch'
              when period > private.today() then 'future_period'
              when total_kwh is null then 'bad_kwh'
              when session_count is null or session_count <> trunc(session_count) then 'bad_session_count' end
    from sent;
end;
comment on function private.read_batch(jsonb) is
  'The items of a batch in their order, each read on its own: reason is null, bad_period, duplicate_in_batch, future_period, bad_kwh or bad_session_count. kWh, three decimals.';
grant execute on function private.read_batch(jsonb) to api_owner;

create function private.lock_for_delivery(account uuid, wanted uuid) returns uuid
language plpgsql
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  connection uuid;
begin
  select c.id into connection
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active' and (wanted is null or c.id = wanted)
   where a.partner_id = private.partner_id() and a.id = account
   order by c.created_at, c.id limit 1
     for no key update of c;
  if not found then
    -- these know why not, in the words of the API
    perform private.find_account(json_build_object('account_id', account)::jsonb);
    connection := private.pick_connection(account, wanted, true);
    perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for no key update;
  end if;
  return connection;
end $$;
comment on function private.lock_for_delivery(uuid, uuid) is
  'The active connection of an account that months are delivered for, the one wanted or the first, locked: one batch, signature or booking at a time.';
grant execute on function private.lock_for_delivery(uuid, uuid) to api_owner;

create function api.ingest_months(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  delivery   constant uuid := gen_random_uuid();
  account    constant uuid := (input ->> 'account_id')::uuid;
  tenant     uuid;
  owner      uuid;
  connection uuid;
  coverage   core.connection_coverage;
  answer     json;
begin
  perform private.act_as(caller, 'cpo');
  tenant := private.partner_id();
  owner := private.owner_id();
  connection := private.lock_for_delivery(account, (input ->> 'connection_id')::uuid);
  coverage := private.coverage_of(connection);

  with delivered as (
    insert into core.deliveries (partner_id, id, connection_id, owner_id, client_id, request_id, body, body_sha256)
    values (tenant, delivery, connection, owner, private.client_id(), caller ->> 'request_id', input ->> 'body', input ->> 'body_sha256')
  ), judged as materialized (
    select b.*, coalesce(d.locked, false) as locked,
           d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery, d.received_at as old_received_at,
           private.judge_month(coverage, b.period) as new_status
      from private.read_batch(input -> 'months') b
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = connection and d.period = b.period and b.reason is null
  ), kept as (
    insert into core.replaced_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, delivery_id, received_at)
    select tenant, connection, owner, j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at
      from judged j
     where j.reason is null and not j.locked and (j.old_kwh, j.old_count) is distinct from (j.total_kwh, j.session_count::int)
       and j.old_kwh is not null
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, connection, owner, j.period, j.total_kwh, j.session_count::int, input ->> 'source', j.new_status, delivery, private.now()
      from judged j where j.reason is null and not j.locked
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where not d.locked
  ), results as (
    select j.place, j.period_sent as period, j.reason,
           case when j.reason is not null then 'invalid'
                when j.locked then 'locked'
                when j.new_status = 'outside_mandate' then 'outside_mandate'
                else 'ingested' end as status
      from judged j
  )
  select json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'accepted', count(*) filter (where r.status = 'ingested'),
    'outside_mandate', count(*) filter (where r.status = 'outside_mandate'),
    'locked', count(*) filter (where r.status = 'locked'),
    'invalid', count(*) filter (where r.status = 'invalid'),
    'results', json_agg(case when r.reason is null then row_to_json(stored) else row_to_json(invalid) end order by r.place))
  into answer
  from results r
  cross join lateral (select r.period, r.status) stored
  cross join lateral (select r.period, r.status, r.reason) invalid;
  return answer;
end $$;
comment on function api.ingest_months(jsonb, jsonb) is
  'POST /v1/sessions:batch: {account_id, connection_id, source, months, body, body_sha256}. One set-based statement; a bad item is a result, never an exception.';
select private.expose('api.ingest_months(jsonb, jsonb)');

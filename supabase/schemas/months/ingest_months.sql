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
set search_path = ''
as $$
  with sent as (
    select m.place,
           m.item ->> 'period' as period_sent,
           case when jsonb_typeof(m.item -> 'period') = 'string' and m.item ->> 'period' ~ '^[12][0-9]{3}-(0[1-9]|1[0-2])(-01)?$'
                then to_date(left(m.item ->> 'period', 7), 'YYYY-MM') end as period,
           case when jsonb_typeof(m.item -> 'total_kwh') = 'number' and (m.item ->> 'total_kwh')::numeric between 0 and 1000000
                then round((m.item ->> 'total_kwh')::numeric, 3) end as total_kwh,
           case when coalesce(jsonb_typeof(m.item -> 'session_count'), 'null') = 'null' then 0
                when jsonb_typeof(m.item -> 'session_count') = 'number' and (m.item ->> 'session_count')::numeric between 0 and 1000000
                then (m.item ->> 'session_count')::numeric end as session_count
      from jsonb_array_elements(months) with ordinality as m (item, place)
  )
  select place::int, period_sent, period, total_kwh, session_count,
         case when period is null then 'bad_period'
              when count(*) over (partition by period) > 1 then 'duplicate_in_batch'
              when period > private.today() then 'future_period'
              when total_kwh is null then 'bad_kwh'
              when session_count is null or session_count <> trunc(session_count) then 'bad_session_count' end
    from sent
$$;
comment on function private.read_batch(jsonb) is
  'The items of a batch in their order, each read on its own: reason is null, bad_period, duplicate_in_batch, future_period, bad_kwh or bad_session_count. kWh, three decimals.';
grant execute on function private.read_batch(jsonb) to api_owner;

create function api.ingest_months(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  tenant     uuid;
  owner      uuid;
  account    uuid;
  connection uuid;
  delivery   uuid;
  answer     json;
begin
  perform private.act_as(caller, 'cpo');
  tenant := private.partner_id();
  owner := private.owner_id();
  account := private.find_account(input);
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  -- one batch, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = tenant and c.id = connection for no key update;

  insert into core.deliveries (partner_id, connection_id, client_id, request_id, body, body_sha256)
  values (tenant, connection, private.client_id(), current_setting('app.request_id'), input ->> 'body', input ->> 'body_sha256')
  returning id into delivery;

  with judged as materialized (
    select b.*, coalesce(d.locked, false) as locked,
           d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery, d.received_at as old_received_at,
           case when b.reason is null then private.month_status(connection, b.period) end as new_status
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
    'results', json_agg(case when r.reason is null then json_build_object('period', r.period, 'status', r.status)
                             else json_build_object('period', r.period, 'status', r.status, 'reason', r.reason) end order by r.place))
  into answer from results r;
  return answer;
end $$;
comment on function api.ingest_months(jsonb, jsonb) is
  'POST /v1/sessions:batch: {account_id, connection_id, source, months, body, body_sha256}. One set-based statement; a bad item is a result, never an exception.';
select private.expose('api.ingest_months(jsonb, jsonb)');

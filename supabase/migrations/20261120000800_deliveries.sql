-- Delivered months: one total per connection and month, with the raw deliveries and every replaced value kept for audit.

create table core.delivered_months (
  partner_id    uuid           not null,
  connection_id uuid           not null,
  period        date           not null,
  total_kwh     numeric(12, 3) not null,
  session_count int            not null,
  source        text           not null,
  status        text           not null,
  delivery_id   uuid,
  received_at   timestamptz    not null,
  constraint delivered_months_pkey primary key (partner_id, connection_id, period),
  constraint delivered_months_connection_fkey foreign key (partner_id, connection_id) references core.connections (partner_id, id),
  constraint delivered_months_period_is_month check (period = date_trunc('month', period)),
  constraint delivered_months_total_kwh_range check (total_kwh between 0 and 1000000),
  constraint delivered_months_session_count_positive check (session_count >= 0),
  constraint delivered_months_status_known check (status in ('staged', 'outside_mandate', 'submitted', 'registered', 'rejected'))
);
comment on table core.delivered_months is
  'The kWh of one connection in one month. submitted and registered are locked: registered as ERE, or about to be. Kept seven years.';
comment on column core.delivered_months.delivery_id is 'Null where the month is the sum of charging sessions that came in one by one.';
select private.isolate('core.delivered_months', 'select, insert, update');

create table core.deliveries (
  partner_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  connection_id uuid        not null,
  client_id     uuid        not null,
  request_id    text        not null,
  body          text        not null,
  body_sha256   text        not null,
  received_at   timestamptz not null default private.now(),
  constraint deliveries_pkey primary key (partner_id, id),
  constraint deliveries_connection_fkey foreign key (partner_id, connection_id) references core.connections (partner_id, id)
);
comment on table core.deliveries is 'A call of sessions:batch as it came in, for the regulator''s audit. Append-only, kept seven years.';
-- serves: the deliveries of a connection
create index deliveries_connection on core.deliveries (partner_id, connection_id, received_at);
select private.isolate('core.deliveries', 'select, insert');

alter table core.delivered_months add constraint delivered_months_delivery_fkey
  foreign key (partner_id, delivery_id) references core.deliveries (partner_id, id);

create table core.replaced_months (
  id            bigint generated always as identity,
  partner_id    uuid           not null,
  connection_id uuid           not null,
  period        date           not null,
  total_kwh     numeric(12, 3) not null,
  session_count int            not null,
  delivery_id   uuid,
  received_at   timestamptz    not null,
  replaced_at   timestamptz    not null default private.now(),
  constraint replaced_months_pkey primary key (id),
  constraint replaced_months_connection_fkey foreign key (partner_id, connection_id) references core.connections (partner_id, id)
);
comment on table core.replaced_months is 'Each total that a later delivery replaced by another. Append-only, kept seven years.';
-- serves: the history of one month
create index replaced_months_month on core.replaced_months (partner_id, connection_id, period);
select private.isolate('core.replaced_months', 'select, insert');

-- What a month counts for --------------------------------------------------------------------------------------------

create function private.first_delivery_month() returns date
language plpgsql immutable
set search_path = ''
as $$ begin return date '2026-01-01'; end $$;
comment on function private.first_delivery_month() is 'Deliveries count from 2026-01.';

create function private.month_status(connection uuid, period date) returns text
language plpgsql stable
set search_path = ''
as $$
begin
  return (select case
      when count(*) filter (where m.status <> 'declined') = 0 then 'staged'  -- nobody has signed yet: kept until somebody does
      when period >= private.first_delivery_month()
           and bool_or(m.status in ('signed', 'expired') and period between m.valid_from and m.valid_until) then 'staged'
      else 'outside_mandate' end
    from core.mandates m
    where m.partner_id = private.partner_id() and m.connection_id = connection);
end $$;
comment on function private.month_status(uuid, date) is 'Whether a month lies inside a mandate of its connection: staged, or outside_mandate.';

create function private.judge_months(connection uuid) returns void
language sql
set search_path = ''
as $$
  update core.delivered_months d
     set status = private.month_status(connection, d.period)
   where d.partner_id = private.partner_id() and d.connection_id = connection
     and d.status in ('staged', 'outside_mandate')
     and d.status <> private.month_status(connection, d.period)
$$;
comment on function private.judge_months(uuid) is 'Judges a connection''s open months again, after a signature or its end. Locked months stay as they are.';

grant execute on function private.first_delivery_month(), private.month_status(uuid, date), private.judge_months(uuid) to api_owner;

-- POST /v1/sessions:batch --------------------------------------------------------------------------------------------

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
  account    uuid;
  connection uuid;
  delivery   uuid;
  answer     json;
begin
  perform private.act_as(caller, 'cpo');
  tenant := private.partner_id();
  account := private.find_account(input);
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  -- one batch, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = tenant and c.id = connection for no key update;

  insert into core.deliveries (partner_id, connection_id, client_id, request_id, body, body_sha256)
  values (tenant, connection, private.client_id(), caller ->> 'request_id', input ->> 'body', input ->> 'body_sha256')
  returning id into delivery;

  with judged as materialized (
    select b.*, coalesce(d.status in ('submitted', 'registered'), false) as locked,
           d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery, d.received_at as old_received_at,
           case when b.reason is null then private.month_status(connection, b.period) end as new_status
      from private.read_batch(input -> 'months') b
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = connection and d.period = b.period and b.reason is null
  ), kept as (
    insert into core.replaced_months (partner_id, connection_id, period, total_kwh, session_count, delivery_id, received_at)
    select tenant, connection, j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at
      from judged j
     where j.reason is null and not j.locked and (j.old_kwh, j.old_count) is distinct from (j.total_kwh, j.session_count::int)
       and j.old_kwh is not null
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, connection, j.period, j.total_kwh, j.session_count::int, input ->> 'source', j.new_status, delivery, private.now()
      from judged j where j.reason is null and not j.locked
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where d.status not in ('submitted', 'registered')
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

-- GET /v1/ere-positions ----------------------------------------------------------------------------------------------

create function api.list_ere_positions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  page_limit constant int := (query ->> 'limit')::int;
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select * from private.account_page(query)
    ), shown as (
      select * from page order by created_at desc, id desc limit page_limit
    )
    select json_build_object(
      'positions', coalesce(json_agg(json_build_object(
        'account_id', a.id,
        'cpo_external_ref', a.cpo_external_ref,
        'payout_handler', a.payout_handler,
        'ere_eligible', g.ere_eligible,
        'mandate_valid_from', g.mandate_valid_from,
        'checklist', g.checklist,
        'delivered_months', d.months,
        'total_kwh_delivered', d.total_kwh,
        'ere', null) order by a.created_at desc, a.id desc), '[]'),
      'limit', page_limit,
      'offset', (query ->> 'offset')::bigint,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown a
    join core.account_gates g on g.partner_id = a.partner_id and g.account_id = a.id
    cross join lateral (
      select coalesce(json_agg(json_build_object(
               'period', d.period, 'total_kwh', d.total_kwh, 'session_count', d.session_count, 'status', d.status,
               'received_at', private.iso(d.received_at), 'connection_id', d.connection_id) order by d.period, d.connection_id), '[]') as months,
             coalesce(sum(d.total_kwh) filter (where d.status in ('staged', 'submitted', 'registered')), 0) as total_kwh
        from core.connections c
        join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
       where c.partner_id = a.partner_id and c.account_id = a.id) d);
end $$;
comment on function api.list_ere_positions(jsonb, jsonb) is
  'GET /v1/ere-positions: {limit, offset, cpo_external_ref} to a page of positions, newest account first. ere is null until the operator publishes figures for the year.';
select private.expose('api.list_ere_positions(jsonb, jsonb)');

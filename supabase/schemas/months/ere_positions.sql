-- GET /v1/ere-positions.

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
             coalesce(sum(d.total_kwh) filter (where d.status = 'staged' or d.locked), 0) as total_kwh
        from core.connections c
        join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
       where c.partner_id = a.partner_id and c.account_id = a.id) d);
end $$;
comment on function api.list_ere_positions(jsonb, jsonb) is
  'GET /v1/ere-positions: {limit, offset, cpo_external_ref} to a page of positions, newest account first. ere is null until the operator publishes figures for the year.';
select private.expose('api.list_ere_positions(jsonb, jsonb)');

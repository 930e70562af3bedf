-- GET /v1/ere-positions.

create function private.month_json(month core.delivered_months) returns text
language sql stable
-- by hand, because row_to_json looks up type and name of every column again for each row; none of these has a character to escape
return concat('{"period":"', month.period, '","total_kwh":', month.total_kwh, ',"session_count":', month.session_count,
              ',"status":"', month.status, '","received_at":"', private.iso(month.received_at),
              '","connection_id":"', month.connection_id, '","accepted_kwh":', coalesce(month.accepted_kwh::text, 'null'), '}');
comment on function private.month_json(core.delivered_months) is 'A delivered month as the API shows it.';
grant execute on function private.month_json(core.delivered_months) to api_owner;

create view core.ere_positions with (security_invoker = true) as
select g.partner_id, g.account_id, g.client_id, g.cpo_external_ref, g.payout_handler, g.created_at, g.ere_eligible, g.mandate_valid_from, g.checklist,
       concat('[', d.months, ']')::json as delivered_months, coalesce(d.total_kwh, 0) as total_kwh_delivered
  from core.account_gates g
  cross join lateral (
    select string_agg(private.month_json(d), ',' order by d.period, d.connection_id) as months,
           sum(d.total_kwh) filter (where d.status = 'staged' or d.locked) as total_kwh
      from core.connections c
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
     where c.partner_id = g.partner_id and c.account_id = g.account_id) d;
comment on view core.ere_positions is 'The position of an account as the API shows it, but for its ere.';
grant select on core.ere_positions to api_owner;

create function api.list_ere_positions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
-- planned once: a plan made for the values at hand is no better, and looks cheaper than it is by what planning costs
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  years     int[];
  found     uuid[];
  positions json;
begin
  perform private.act_as(caller, 'cpo');
  years := array(
    select f.delivery_year from core.figures f
     where f.partner_id = private.partner_id() and f.delivery_year = coalesce((query ->> 'delivery_year')::int, f.delivery_year)
     order by f.delivery_year desc);
  if query ->> 'cpo_external_ref' is null then
    found := private.account_page(query);
    positions := (
      select json_agg(row_to_json(r) order by p.created_at desc, p.account_id desc)
        from core.ere_positions p
        left join lateral private.position_ere(p.partner_id, p.account_id, years) e on true
        cross join lateral (
          select p.account_id, p.cpo_external_ref, p.payout_handler, p.ere_eligible, p.mandate_valid_from, p.checklist, p.delivered_months,
                 p.total_kwh_delivered, e.ere) r
       where p.partner_id = private.partner_id() and p.account_id = any (found[:(query ->> 'limit')::int]));
  else
    -- what integrators ask for most, without looking the account up first: 20 us of 280
    select array_agg(p.account_id), json_agg(row_to_json(r)) into found, positions
      from core.ere_positions p
      left join lateral private.position_ere(p.partner_id, p.account_id, years) e on true
      cross join lateral (
        select p.account_id, p.cpo_external_ref, p.payout_handler, p.ere_eligible, p.mandate_valid_from, p.checklist, p.delivered_months,
               p.total_kwh_delivered, e.ere) r
     where p.client_id = private.client_id() and p.cpo_external_ref = query ->> 'cpo_external_ref' and (query ->> 'offset')::bigint = 0;
  end if;
  return private.page_answer('positions', positions, found, query);
end $$;
comment on function api.list_ere_positions(jsonb, jsonb) is
  'GET /v1/ere-positions: {limit, offset, cpo_external_ref, delivery_year} to a page of positions, newest account first. ere is null until figures are published, of the year asked for where one is.';
select private.expose('api.list_ere_positions(jsonb, jsonb)');

-- GET /v1/ere-positions.

create function api.list_ere_positions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
-- Planned once: a plan made for the values at hand is no better, and its planning costs more than it shows.
set plan_cache_mode = 'force_generic_plan'
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
  'GET /v1/ere-positions: {limit, offset, cpo_external_ref, delivery_year} to a page of positions, newest account first. ere is null until figures are published, for the requested year if one is.';

-- The operator on figures: publish a year.

create function private.figures_row(figures core.figures) returns json
language sql stable
as $$
  select json_build_object(
    'partner_slug', (select p.slug from core.partners p where p.id = figures.partner_id), 'delivery_year',
        figures.delivery_year,
    'renewable_share', f.renewable_share, 'ere_per_kwh', f.ere_per_kwh,
    'price_per_ere_eur', figures.price, 'published_at', private.iso(figures.published_at))
  from core.ere_factors f where f.delivery_year = figures.delivery_year
$$;

create function ops.figures_publish(input jsonb) returns json
language plpgsql security definer
as $$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  chosen uuid;
  tenant uuid;
  made   boolean := false;
begin
  perform private.act_as_operator(input);
  chosen := private.chosen_partner(input);
  perform private.refuse_if('factor_missing', not exists (select from core.ere_factors f where f.delivery_year = year),
    json_build_object('delivery_year', year));
  for tenant in select p.id from core.partners p where chosen is null or p.id = chosen order by p.id loop
    perform private.set_tenant(tenant);
    if private.publish_figures(tenant, year) then
      made := true;
      perform private.audit('figures.published', tenant, jsonb_build_object('delivery_year', year));
    end if;
  end loop;
  return json_build_object('changed', made, 'figures', (
    select json_agg(private.figures_row(g) order by p.slug)
      from core.figures g join core.partners p on p.id = g.partner_id
     where g.delivery_year = year and (chosen is null or g.partner_id = chosen)));
end $$;
comment on function ops.figures_publish(jsonb) is
  'Publishes what a year yields, for one partner''s accounts or everybody''s: {delivery_year, partner?} to {changed, '
  'figures}.';

create function ops.figures_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('figures', coalesce(json_agg(private.figures_row(g) order by g.delivery_year desc, p.slug),
                                               '[]'))
    from core.figures g join core.partners p on p.id = g.partner_id
$$;
comment on function ops.figures_list(jsonb) is 'The published years, each with its average price: {} to {figures}.';

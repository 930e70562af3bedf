-- The resolver finds the model for a charger's BootNotification. The API and every gateway use it.

-- Which model a charger is, by its BootNotification. Never raises; reads 120 characters of each.
create function private.resolve_charger(vendor text, model text, meter_type text default null)
returns private.charger_resolution
language plpgsql stable
as $$
declare
  answer      private.charger_resolution;
  family      record;
  vendor_key  text;
  model_key   text;
  meter_key   text := private.charger_key(coalesce(left(meter_type, 120), ''));
begin
  answer.vendor := left(trim(coalesce(vendor, '')), 120);
  answer.model  := left(trim(coalesce(model, '')), 120);
  vendor_key    := private.vendor_key(answer.vendor);
  model_key     := private.charger_key(answer.model);

  select m.id, m.brand, m.model, m.mid_meter, m.mid_evidence, meter_key ~ p.meter_type_pattern as meter_fits
    into family
    from core.charger_vendor_aliases a
    join core.charger_model_patterns p on p.brand = a.brand and model_key ~ p.model_pattern
    join core.charger_models m on m.brand = p.brand and m.model = p.model
   where a.vendor = vendor_key
   order by meter_fits desc, p.precedence, p.brand, p.model_pattern, p.meter_type_pattern
   limit 1;

  answer.resolved := coalesce(family.meter_fits and family.mid_meter is not null, false);
  answer.brand    := coalesce(family.brand,
    (select a.brand from core.charger_vendor_aliases a where a.vendor = vendor_key and a.names_brand));
  if answer.resolved then
    answer.catalog_charger_id := family.id;
    answer.catalog_model      := family.model;
    answer.mid_meter          := family.mid_meter;
    answer.suggestions        := '[]';
  else
    select coalesce(json_agg(private.catalog_charger(m) order by lower(m.model) collate "C"), '[]')
      into answer.suggestions
      from core.charger_models m
     where m.brand = answer.brand and m.listed;
  end if;

  answer.detail := case
    when answer.mid_meter     then format('The %s %s has a MID meter.', family.brand, family.model)
    when not answer.mid_meter then format('The %s %s has no MID meter: what it charges does not count for ERE.',
                                          family.brand, family.model)
    when not family.meter_fits then
      format('%s sells this model with and without a MID meter; only its meterType tells which.', family.brand)
    when family.mid_evidence = 'variant' then
      format('This model is sold with and without a MID meter. If this one has it, choose "%s" by its '
             'catalog_charger_id.', family.model)
    when family.mid_evidence = 'unknown' then
      format('Whether the %s %s has a MID meter is not established.', family.brand, family.model)
    when answer.brand is null then 'No brand in the catalog is known by this vendor and model. '
                                    'Search GET /v1/catalog/chargers, or ask the operator to add it.'
    when json_array_length(answer.suggestions) = 0 then
      format('No %s model is known by this name, and none with a MID meter is in the catalog.', answer.brand)
    else format('No %s model is known by this name. If it is one of the suggestions, choose it by its '
                'catalog_charger_id.', answer.brand)
  end;
  return answer;
end $$;

create function api.get_charger_resolution(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'cpo');
  return row_to_json(private.resolve_charger(query ->> 'vendor', query ->> 'model', query ->> 'meter_type'));
end $$;
comment on function api.get_charger_resolution(jsonb, jsonb) is
  'GET /v1/catalog/chargers/resolve: query {vendor, model} and, where the caller has it, {meter_type}.';

-- The operator on chargers: list, confirm a MID meter.

create function private.charger_row(charger core.chargers) returns json
language sql stable
as $$
  select json_build_object(
    'charger_id', charger.id,
    'account_id', charger.account_id,
    'connection_id', charger.connection_id,
    'partner_slug', (select p.slug from core.partners p where p.id = charger.partner_id),
    'brand', m.brand,
    'model', m.model,
    'serial_number', charger.serial_number,
    'mid_eligible', charger.mid_eligible,
    'status', charger.status,
    'created_at', private.iso(charger.created_at))
  -- a person's charger has no model before it reports one
  from (values (charger.catalog_charger_id)) of_charger (id) left join core.charger_models m on m.id = of_charger.id
$$;

create function ops.charger_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('chargers', coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]'))
    from (select * from core.chargers h
           where h.status = 'active' and h.mid_eligible is null
           order by h.created_at, h.id limit coalesce((input ->> 'limit')::int, 50)) h
$$;
comment on function ops.charger_list(jsonb) is
  'Chargers whose MID evidence the operator must judge, oldest first: {limit?} to {chargers}.';

create function ops.charger_confirm_mid(input jsonb) returns json
language plpgsql security definer
as $$
declare
  charger core.chargers;
  certain boolean;
  wanted  constant boolean := not coalesce((input ->> 'no_mid')::boolean, false);
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p))
       and h.id = private.as_uuid(input ->> 'charger') for no key update;
  perform private.refuse_if('charger_not_found', not found, json_build_object('charger', input ->> 'charger'));
  perform private.set_tenant(charger.partner_id);
  changed := charger.mid_eligible is distinct from wanted;
  select m.mid_meter into certain from core.charger_models m where m.id = charger.catalog_charger_id;
  if changed and certain is not null then
    perform private.refuse('mid_is_certain', json_build_object('mid_meter', certain));
  elsif changed then
    update core.chargers h set mid_eligible = wanted
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
    perform private.audit('charger.mid_confirmed', charger.id,
                          jsonb_build_object('mid_eligible', wanted, 'evidence', left(input ->> 'evidence', 200)));
    perform private.emit_charger('charger.mid_confirmed', charger),
        private.advance_registration(charger.account_id, wanted);
  end if;
  return json_build_object('changed', changed, 'charger', private.charger_row(charger));
end $$;
comment on function ops.charger_confirm_mid(jsonb) is
  'Judges the evidence of a MID meter if the catalogue leaves it open: {charger, no_mid?, evidence?} to {changed, '
  'charger}.';

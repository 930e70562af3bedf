-- The OCPP gateway asks whether a charger may connect, and tells what it is.

-- Stores once what a charger's BootNotification says: the model, and whether its meter is MID. Its earlier sessions count from then on.
create function private.identify_charger(charger core.chargers, boot jsonb) returns void
language plpgsql
as $$
declare
  resolved constant private.charger_resolution :=
    private.resolve_charger(boot ->> 'ocpp_vendor', boot ->> 'ocpp_model', boot ->> 'ocpp_meter_type');
begin
  update core.chargers h
     set catalog_charger_id = m.id, brand = m.brand, mid_eligible = m.mid_meter, ocpp_vendor = boot ->> 'ocpp_vendor',
         ocpp_model = boot ->> 'ocpp_model', ocpp_meter_type = boot ->> 'ocpp_meter_type'
    from core.charger_models m
   where resolved.resolved and m.id = resolved.catalog_charger_id
     and h.partner_id = charger.partner_id and h.id = charger.id and h.catalog_charger_id is null
  returning h.* into charger;
  if found then
    perform private.audit('charger.identified', charger.id);
    perform private.emit_charger('charger.mid_confirmed', charger) where charger.mid_eligible is not null;
    perform private.advance_registration(charger.account_id, true);
  end if;
end $$;

create function api.admit_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  charger core.chargers := private.charger_by_identity(input ->> 'identity');
begin
  perform private.act_as(caller, 'worker');
  if charger.id is null or charger.ocpp_password_hash <> decode(input ->> 'password_hash', 'hex') then
    return json_build_object('ok', false);
  end if;
  perform private.act_for_partner(charger.partner_id);
  update core.chargers h set last_seen_at = private.now() where h.partner_id = charger.partner_id and h.id = charger.id;
  if charger.catalog_charger_id is null and input ->> 'ocpp_vendor' is not null and input ->> 'ocpp_model' is not null then
    perform private.identify_charger(charger, input);
  end if;
  return json_build_object('ok', true, 'charger_id', charger.id);
end $$;
comment on function api.admit_charger(jsonb, jsonb) is
  'The gateway calls this when a charger connects, boots or sends a heartbeat: {identity, password_hash, ocpp_vendor, ocpp_model, ocpp_meter_type} to {ok, charger_id}. Notes that it was heard of, and its model if unknown.';

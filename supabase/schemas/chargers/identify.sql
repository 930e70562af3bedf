-- A charger tells what it is.

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

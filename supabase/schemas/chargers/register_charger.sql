-- POST /v1/chargers.

create function private.charger_answer(charger core.chargers, idempotent boolean) returns json
language sql stable
as $$
  select json_build_object(
    'ok', true,
    'idempotent', idempotent,
    'charger_id', charger.id,
    'catalog', private.catalog_charger(m),
    'mid_eligible', charger.mid_eligible,
    'account_ere_eligible', (select g.ere_eligible from core.account_gates g
                              where g.partner_id = charger.partner_id and g.account_id = charger.account_id))
  from core.charger_models m where m.id = charger.catalog_charger_id
$$;

-- The catalogue model of {catalog_charger_id} or {ocpp_vendor, ocpp_model, ocpp_meter_type}; the id wins if both are
-- sent.
create function private.choose_model(input jsonb) returns core.charger_models
language plpgsql
as $$
declare
  chosen   core.charger_models;
  resolved private.charger_resolution;
begin
  if input ->> 'catalog_charger_id' is not null then
    select * into chosen from core.charger_models m
     where m.id = (input ->> 'catalog_charger_id')::uuid and (m.mid_meter is not null or m.listed);
    perform private.refuse_if('catalog_unresolved', not found, json_build_object('suggestions', '[]'::json));
  else
    resolved := private.resolve_charger(input ->> 'ocpp_vendor', input ->> 'ocpp_model', input ->> 'ocpp_meter_type');
    perform private.refuse_if('catalog_unresolved', not resolved.resolved,
      json_build_object('detail', resolved.detail, 'suggestions', resolved.suggestions));
    select * into chosen from core.charger_models m where m.id = resolved.catalog_charger_id;
  end if;
  return chosen;
end $$;

-- The active charger of an account with a serial number, or null: the idempotency key.
create function private.known_charger(account uuid, serial text) returns core.chargers
language plpgsql stable
as $$
begin
  -- through the account, where row-level security holds the client as well as the tenant
  return (select h from core.accounts a join core.chargers h on h.partner_id = a.partner_id and h.account_id = a.id
           where a.id = account and h.serial_number = serial and h.status = 'active');
end $$;

create function api.get_known_charger(caller jsonb, input jsonb) returns json
language plpgsql stable security definer
as $$
declare
  charger core.chargers;
begin
  perform private.act_as(caller, 'cpo');
  charger := private.known_charger((input ->> 'account_id')::uuid, input ->> 'serial_number');
  return case when charger.id is not null then private.charger_answer(charger, true) end;
end $$;
comment on function api.get_known_charger(jsonb, jsonb) is
  'A repeat of POST /v1/chargers with an otherwise invalid body: {account_id, serial_number} to the charger''s answer, '
  'null if it is new.';

create function api.register_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  serial     constant text := input ->> 'serial_number';
  account    uuid;
  connection uuid;
  model      core.charger_models;
  charger    core.chargers;
  active     int;
  former     tstzrange;
begin
  perform private.act_as(caller, 'cpo');
  perform private.hold_names(private.client_id());
  account := private.find_account((input ->> 'account_id')::uuid, input ->> 'cpo_external_ref');
  -- of parallel registrations of one charger the later ones wait here, and then find it
  perform private.lock_chargers(account, null);
  charger := private.known_charger(account, serial);
  if charger.id is not null then
    return private.charger_answer(charger, true);
  end if;
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  model := private.choose_model(input);
  if serial is null then
    select h.* into charger from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active'
       and h.serial_number is null and h.catalog_charger_id = model.id;
    if found then
      return private.charger_answer(charger, true);
    end if;
  end if;
  active := private.require_charger_room(account, null);
  perform private.refuse_if('serial_number_required', active > 0 and serial is null);
  perform private.refuse_if('charger_claimed', not private.reserve_serial_number(model.brand, serial));
  charger.brand := model.brand;
  charger.serial_number := serial;
  charger.account_id := account;
  former := private.succeed_charger(charger);

  insert into core.chargers
    (partner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, ocpp_vendor, ocpp_model,
     ocpp_meter_type, mid_eligible, power_kw, counts_from, counts_before)
  values
    (private.partner_id(), account, connection, model.id, model.brand, serial, input ->> 'ocpp_vendor',
     input ->> 'ocpp_model',
     input ->> 'ocpp_meter_type', model.mid_meter, (input ->> 'power_kw')::numeric,
     upper(former), lower(former))
  returning * into charger;
  perform private.advance_registration(account, true);
  perform private.audit('charger.registered', charger.id);
  perform private.store_parked(charger.owner_id, private.name_charger(charger, input));
  return private.charger_answer(charger, false);
end $$;
comment on function api.register_charger(jsonb, jsonb) is
  'POST /v1/chargers: {account_id, connection_id, catalog_charger_id | ocpp_vendor, ocpp_model, ocpp_meter_type, '
  'serial_number, external_ref, power_kw, evses}. Stores parked sessions that name it.';

-- Chargers, of accounts and of people.

-- The owner's name for a charger, else its brand and model.
create function private.charger_name(charger core.chargers) returns text
language sql stable
as $$
  select coalesce(charger.nickname,
    (select concat_ws(' ', m.brand, m.model) from core.charger_models m where m.id = charger.catalog_charger_id),
        charger.ocpp_identity, 'Charger')
$$;

create function private.charger_by_credentials(identity text, hash bytea) returns core.chargers
language plpgsql stable security definer
as $$
declare
  charger core.chargers;
begin
  if identity is null then
    select * into charger from core.chargers h where h.ocpp_mirror_hash = hash and h.status = 'active' limit 1;
  else
    select * into charger from core.chargers h
     where h.ocpp_identity = identity and h.ocpp_password_hash = hash and h.status = 'active' limit 1;
  end if;
  return charger;
end $$;
comment on function private.charger_by_credentials(text, bytea) is
  'Finds a charger by identity and password, or without identity by the secret of a mirror''s address, before its '
  'tenant is known; definer only for that.';

create function private.note_refused_password(identity text) returns void
language plpgsql security definer
as $$
begin
  -- in order, so that two reports cannot wait for each other
  perform from core.chargers h
    where h.ocpp_identity = identity and h.status = 'active'
      and coalesce(h.ocpp_refused_at, '-infinity') < private.now() - interval '1 minute'
    order by h.id for no key update;
  update core.chargers h set ocpp_refused_at = private.now()
   where h.ocpp_identity = identity and h.status = 'active'
     and coalesce(h.ocpp_refused_at, '-infinity') < private.now() - interval '1 minute';
end $$;
comment on function private.note_refused_password(text) is
  'Tells all who have a charger of this identity that a connection gave a wrong password. Definer, because nobody '
  'knows whose charger it is.';

create function private.charger_taken(brand text, serial_number text, but uuid default null,
                                      only_own boolean default false) returns boolean
language plpgsql stable security definer
as $$
begin
  return exists (select from core.chargers h
                  where h.brand = charger_taken.brand and h.serial_number = charger_taken.serial_number
                      and h.status = 'active' and h.id is distinct from but)
      -- it connected, and said so itself
      or not only_own and exists (
           select from core.chargers h
            where h.brand = charger_taken.brand and h.booted_as = charger_taken.serial_number
              and h.status = 'active' and h.id is distinct from but and h.counts_from is distinct from 'infinity')
      or not only_own and exists (
           -- an array, else all chargers of the brand are read
           select from unnest(array(select h from core.chargers h
                                     where h.booted_before @> array[charger_taken.serial_number])) h
            where h.brand = charger_taken.brand and h.status = 'active' and h.id is distinct from but);
end $$;
comment on function private.charger_taken(text, text, uuid, boolean) is
  'Whether another charger than this one is active on some account, by its serial number or, unless only_own, as what '
  'it booted. Definer, because it looks across tenants; the answer names none.';

-- The serial numbers by which a charger is known: its own, and what it booted as.
create function private.charger_numbers(charger core.chargers) returns text[]
language sql immutable
return array_remove(array[charger.serial_number, charger.booted_as] || charger.booted_before, null);

create function private.registrations_of(charger core.chargers) returns setof core.chargers
language plpgsql stable rows 2 security definer
as $$
declare
  numbers constant text[] := private.charger_numbers(charger);
begin
  return query
  -- arrays, else all chargers of the brand are read
  select distinct on (h.id) h.*
    from unnest(array(select h from core.chargers h where h.brand = charger.brand and h.serial_number = any (numbers))
                || array(select h from core.chargers h
                          where h.brand = charger.brand and h.booted_as = charger.serial_number)
                || array(select h from core.chargers h where h.booted_before @> array[charger.serial_number])
                || array(select h from core.chargers h
                          where h.account_id = charger.account_id
                            and '{}' in (numbers, private.charger_numbers(h))
                            -- a clock may go back between the two
                            and (h.removed_at - interval '5 minutes' <= coalesce(charger.created_at, h.removed_at)
                                 or charger.removed_at - interval '5 minutes' <= h.created_at))) h
   where h.brand = charger.brand and h.id is distinct from charger.id
   order by h.id;
end $$;
comment on function private.registrations_of(core.chargers) is
  'The other registrations that may be the same physical charger, which need not be stored yet. They have its brand. '
  'The serial number of one is the other''s number, or what the other booted as. Two that only booted as one number '
  'say nothing. Where one has no number, an account had both in turn. Definer, because these may be of any tenant: '
  'never tell whose.';

create function private.reserve_serial_number(brand text, serial_number text, but uuid default null,
                                              only_own boolean default false) returns boolean
language plpgsql
as $$
begin
  if serial_number is null then
    return true;
  end if;
  perform private.lock('serial_number', brand || ' ' || serial_number);
  return not private.charger_taken(brand, serial_number, but, only_own);
end $$;
comment on function private.reserve_serial_number(text, text, uuid, boolean) is
  'Whether a serial number of a brand is free for a charger. Reserves it until the transaction ends: other callers '
  'wait. Call this before storing an active charger. A charger that has it already is named in but. only_own: numbers '
  'that others only booted as are free.';

-- Until the transaction ends nobody else adds a charger for this person, or this account. Called before any lock on a
-- connection.
create function private.lock_chargers(account uuid, person uuid) returns void
language plpgsql
as $$
begin
  if person is null then
    perform from core.accounts a where a.partner_id = private.partner_id() and a.id = account for no key update;
  else
    -- a person may have chargers and no account yet
    perform private.lock('chargers', person::text);
  end if;
end $$;

-- Refuses an eleventh active charger of a person, or without person, of a CPO client's account. Else returns how many
-- there are.
create function private.require_charger_room(account uuid, person uuid) returns int
language plpgsql
as $$
declare
  active int;
begin
  perform private.lock_chargers(account, person);
  if person is null then
    select count(*) into active from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active';
  else
    select count(*) into active from core.chargers h where h.user_id = person and h.status = 'active';
  end if;
  perform private.refuse_if('charger_limit_reached', active >= 10);
  return active;
end $$;

create function private.emit_charger(type text, charger core.chargers) returns void
language plpgsql security definer
as $$
declare
  about constant jsonb := jsonb_build_object('charger_id', charger.id, 'connection_id', charger.connection_id,
                                             'mid_eligible', charger.mid_eligible);
begin
  if charger.account_id is not null then
    perform private.emit_of(charger.partner_id, emit_charger.type, charger.account_id, charger.id, about);
  else
    perform private.append_event(t.partner_id, t.partner_id, emit_charger.type, charger.id,
                                 about - 'charger_id' - 'connection_id', t.user_id)
       from core.attributions t where t.user_id = charger.user_id;
  end if;
end $$;
comment on function private.emit_charger(text, core.chargers) is
  'Writes an event of a charger, also of a person without an account. Definer, because a person''s partner is another '
  'tenant.';

-- Adds a charger to the acting person's account: {catalog_charger_id, serial_number, power_kw?}; null without a model.
create function private.add_own_charger(account uuid, connection uuid, chosen jsonb,
                                        details jsonb default '{}') returns uuid
language plpgsql
as $$
declare
  model   core.charger_models;
  charger core.chargers;
  former  tstzrange;
begin
  select * into model from core.charger_models m where m.id = (chosen ->> 'catalog_charger_id')::uuid;
  if not found then
    return null;
  elsif not private.reserve_serial_number(model.brand, chosen ->> 'serial_number') then
    perform private.refuse('charger_claimed');
  end if;
  charger.brand := model.brand;
  charger.serial_number := chosen ->> 'serial_number';
  charger.account_id := account;
  former := private.succeed_charger(charger);
  insert into core.chargers (partner_id, account_id, connection_id, user_id, catalog_charger_id, brand, serial_number,
                             mid_eligible, nickname, power_kw, counts_from, counts_before)
  values (private.partner_id(), account, connection, private.user_id(), model.id, model.brand,
          chosen ->> 'serial_number', model.mid_meter, left(model.brand || ' ' || model.model, 100),
          (chosen ->> 'power_kw')::numeric, upper(former), lower(former))
  returning * into charger;
  perform private.audit('charger.registered', charger.id, details), private.emit_charger('charger.registered', charger);
  return charger.id;
end $$;

-- Stores once what a charger's BootNotification says: the model, and whether its meter is MID. Its earlier sessions
-- count from then on.
create function private.identify_charger(charger core.chargers, boot jsonb) returns void
language plpgsql
as $$
declare
  resolved constant private.charger_resolution :=
    private.resolve_charger(boot ->> 'ocpp_vendor', boot ->> 'ocpp_model', boot ->> 'ocpp_meter_type');
  model  core.charger_models;
  former tstzrange;
begin
  select m.* into model from core.charger_models m where resolved.resolved and m.id = resolved.catalog_charger_id;
  if found and charger.catalog_charger_id is null then
    charger.brand := model.brand;
    -- of its account; of a number that it told, the caller finds whose that was. Chargers are locked before connections
    if charger.counts_from is null and charger.booted_as is null then
      former := private.succeed_charger(charger);
    end if;
    update core.chargers h
       set catalog_charger_id = model.id, brand = model.brand, mid_eligible = model.mid_meter,
           ocpp_vendor = boot ->> 'ocpp_vendor', ocpp_model = boot ->> 'ocpp_model',
           ocpp_meter_type = boot ->> 'ocpp_meter_type', counts_from = coalesce(upper(former), h.counts_from),
           counts_before = coalesce(lower(former), h.counts_before)
     where h.partner_id = charger.partner_id and h.id = charger.id
    returning h.* into charger;
    perform private.audit('charger.identified', charger.id);
    perform private.emit_charger('charger.mid_confirmed', charger) where charger.mid_eligible is not null;
    perform private.advance_registration(charger.account_id, true);
  end if;
end $$;

-- Locations: addresses, shared by the connections whose addresses agree in every part.

-- The tenant's row for an address: {postal_code, house_number, house_number_addition, street, city}.
create function private.location_for(address jsonb) returns uuid
language plpgsql
as $$
declare
  location uuid;
begin
  insert into core.locations (partner_id, postal_code, house_number, house_number_addition, street, city)
  values (private.partner_id(), address ->> 'postal_code', (address ->> 'house_number')::int,
          address ->> 'house_number_addition', address ->> 'street', address ->> 'city')
  -- changes nothing, but answers the row that is there, and locks it against its deletion until a connection refers to it
  on conflict on constraint locations_address_key do update set city = excluded.city
  returning id into location;
  return location;
end $$;

-- Deletes an address (personal data) that no connection refers to.
create function private.drop_unused_location(location uuid) returns void
language plpgsql
as $$
begin
  delete from core.locations l
   where l.partner_id = private.partner_id() and l.id = location
     and not exists (select from core.connections c where c.partner_id = l.partner_id and c.location_id = l.id);
exception when foreign_key_violation then
  null;  -- another connection began to use it at the same moment
end $$;

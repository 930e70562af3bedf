-- Locations: addresses, shared by the connections whose addresses agree in every part.

create table core.locations (
  partner_id            uuid not null,
  id                    uuid not null default gen_random_uuid(),
  postal_code           text not null,
  house_number          int  not null,
  house_number_addition text,
  street                text,
  city                  text,
  created_at            timestamptz not null default private.now(),
  constraint locations_pkey primary key (partner_id, id),
  constraint locations_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint locations_address_key unique nulls not distinct (partner_id, postal_code, house_number, house_number_addition, street, city),
  constraint locations_postal_code_shape check (postal_code ~ '^[1-9][0-9]{3}[A-Z]{2}$'),
  constraint locations_house_number_positive check (house_number between 1 and 99999)
);
comment on table core.locations is
  'An address, shared by the tenant''s connections that agree in every part of it, street and city included, and never rewritten: who corrects an address moves to another row. Personal data; deleted with the last connection that refers to it.';
select private.isolate('core.locations', 'select, insert, update, delete');

create function private.location_for(address jsonb) returns uuid
language plpgsql
set search_path = ''
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
comment on function private.location_for(jsonb) is
  'The tenant''s row for an address: {postal_code, house_number, house_number_addition, street, city}.';
grant execute on function private.location_for(jsonb) to api_owner;

create function private.drop_unused_location(location uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  delete from core.locations l
   where l.partner_id = private.partner_id() and l.id = location
     and not exists (select from core.connections c where c.partner_id = l.partner_id and c.location_id = l.id);
exception when foreign_key_violation then
  null;  -- another connection began to use it at the same moment
end $$;
comment on function private.drop_unused_location(uuid) is 'Deletes an address, personal data, that no connection is left at.';
grant execute on function private.drop_unused_location(uuid) to api_owner;

create table core.ean_register_points (
  ean_code              text not null,
  postal_code           text not null,
  house_number          int  not null,
  house_number_addition text,
  street                text not null,
  city                  text not null,
  constraint ean_register_points_pkey primary key (ean_code),
  constraint ean_register_points_ean_code_shape check (ean_code ~ '^[0-9]{18}$')
);
comment on table core.ean_register_points is
  'An EAN register of our own, for hosts that do not ask the public one (EAN_REGISTER=table). Metering points, no '
  'persons.';
-- serves: the metering points of an address
create index ean_register_points_address on core.ean_register_points (postal_code, house_number);
create policy "every tenant reads the EAN register" on core.ean_register_points for select to api_owner using (true);
grant select on core.ean_register_points to api_owner;

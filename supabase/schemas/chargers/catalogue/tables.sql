create table core.charger_brands (
  brand text,
  constraint charger_brands_pkey primary key (brand)
);
comment on table core.charger_brands is 'One row per make of charger, as the maker writes it. Reference data.';
create policy "api functions read the catalogue" on core.charger_brands for select to api_owner using (true);
grant select on core.charger_brands to api_owner;

create table core.charger_models (
  id            uuid,
  brand         text    not null,
  model         text    not null,
  mid_meter     boolean,
  mid_evidence  text    not null,
  mid_source    text,
  listed        boolean not null generated always as (coalesce(mid_meter, mid_evidence = 'variant')) stored,
  constraint charger_models_pkey primary key (id),
  constraint charger_models_name_key unique (brand, model),
  constraint charger_models_brand_fkey foreign key (brand) references core.charger_brands,
  constraint charger_models_mid_evidence_check check (mid_evidence in ('certain', 'variant', 'unknown')),
  constraint charger_models_mid_meter_check check ((mid_meter is not null) = (mid_evidence = 'certain')),
  constraint charger_models_mid_source_check check ((mid_source is null) = (mid_evidence = 'unknown'))
);
comment on table core.charger_models is
  'One row per model or family of chargers. Reference data; ids never change, because registered chargers refer to '
  'them.';
comment on column core.charger_models.mid_meter is
  'Whether it has a MID meter; null if the name does not settle it. Chargers of this model have it as mid_eligible.';
comment on column core.charger_models.mid_evidence is
  'certain. variant: sold with and without a MID meter; the row means the one with. unknown: not established, and '
  'never offered.';
comment on column core.charger_models.listed is
  'Whether GET /v1/catalog/chargers shows it and the resolver suggests it.';
create policy "api functions read the catalogue" on core.charger_models for select to api_owner using (true);
grant select on core.charger_models to api_owner;

create table core.charger_vendor_aliases (
  vendor       text,
  brand        text,
  names_brand  boolean not null default true,
  constraint charger_vendor_aliases_pkey primary key (vendor, brand),
  constraint charger_vendor_aliases_brand_fkey foreign key (brand) references core.charger_brands
);
comment on table core.charger_vendor_aliases is
  'The chargePointVendor strings of each brand, as private.vendor_key() writes them. Reference data.';
comment on column core.charger_vendor_aliases.names_brand is
  'False if several makers send the string. It then means the brand only together with one of its model patterns.';
create unique index charger_vendor_aliases_one_brand on core.charger_vendor_aliases (vendor) where names_brand;
create policy "api functions read the catalogue" on core.charger_vendor_aliases for select to api_owner using (true);
grant select on core.charger_vendor_aliases to api_owner;

create table core.charger_model_patterns (
  brand               text,
  model_pattern       text,
  meter_type_pattern  text     default '^',
  model               text     not null,
  precedence          smallint not null default 1,
  constraint charger_model_patterns_pkey primary key (brand, model_pattern, meter_type_pattern),
  constraint charger_model_patterns_model_fkey foreign key (brand, model)
    references core.charger_models (brand, model) on update cascade,
  constraint charger_model_patterns_anchored_check check (model_pattern like '^%' and meter_type_pattern like '^%')
);
comment on table core.charger_model_patterns is
  'How the models of a brand name themselves in chargePointModel, as private.charger_key() writes it. Reference data.';
comment on column core.charger_model_patterns.meter_type_pattern is
  'What meterType must match; the default accepts anything.';
comment on column core.charger_model_patterns.precedence is 'Lower is more specific and is tried first.';
create policy "api functions read the catalogue" on core.charger_model_patterns for select to api_owner using (true);
grant select on core.charger_model_patterns to api_owner;

create type private.charger_resolution as (
  resolved            boolean,
  vendor              text,
  model               text,
  catalog_charger_id  uuid,
  brand               text,
  catalog_model       text,
  mid_meter           boolean,
  detail              text,
  suggestions         json
);
comment on type private.charger_resolution is
  'The answer of GET /v1/catalog/chargers/resolve, field by field. Unresolved: no model and no mid_meter, but the '
  'brand if it is known.';

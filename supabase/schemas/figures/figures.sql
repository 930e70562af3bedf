-- Figures: what a delivery year is said to yield, once the operator says so.

create table core.figures (
  partner_id    uuid        not null,
  delivery_year int         not null,
  published_at  timestamptz not null default private.now(),
  constraint figures_pkey primary key (partner_id, delivery_year),
  constraint figures_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint figures_factor_fkey foreign key (delivery_year) references core.ere_factors (delivery_year)
);
comment on table core.figures is
  'A delivery year whose figures are published to a tenant: from then on positions say what it yields. Kept for good.';
select private.isolate('core.figures', 'select');

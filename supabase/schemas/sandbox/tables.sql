create table core.virtual_chargers (
  partner_id        uuid          not null,
  id                uuid          not null default gen_random_uuid(),
  charger_id        uuid          not null,
  owner_id          uuid          not null default private.owner_id(),
  wh_per_session    int           not null,
  sessions_per_week numeric(4, 2) not null,
  power_kw          numeric(4, 2) not null,
  since             date          not null,
  synced_at         timestamptz,
  created_at        timestamptz   not null default private.now(),
  constraint virtual_chargers_pkey primary key (partner_id, id),
  constraint virtual_chargers_charger_key unique (partner_id, charger_id),
  constraint virtual_chargers_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id),
  constraint virtual_chargers_wh_range check (wh_per_session between 100 and 100000),
  constraint virtual_chargers_sessions_range check (sessions_per_week between 0 and 50),
  constraint virtual_chargers_power_range check (power_kw between 1 and 50),
  constraint virtual_chargers_fit_a_week check (wh_per_session * sessions_per_week <= 168000 * power_kw)
);
comment on table core.virtual_chargers is
  'What a virtual charger of the sandbox charges, and up to when that was collected, like a maker''s cloud. Empty in '
  'production.';
-- serves: the collection that is due
create index virtual_chargers_due on core.virtual_chargers (synced_at);
select private.enable_tenant_policy('core.virtual_chargers', 'select, insert, update');

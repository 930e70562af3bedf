-- Locks that belong to no row. All of them are taken here. Rows are locked after them in this order: an account;
-- chargers; connections; the row of core.kept_evidence. Several of a kind are locked in the order of their ids. Only a
-- serial number may be locked after its charger. Whoever changes several chargers first locks the connections of all
-- their sessions.

create type private.lock_kind as enum (
  -- only tried: who runs a job, for a client if it has one
  'job',
  -- a run of retention
  'retention',
  -- the imports of a partner; one of four places for long ones, in a lock table of 3,840 entries; each e-mail address
  -- of an import
  'imports', 'long_imports', 'address',
  -- who pays out. Shared: who takes back a sale, and the sandbox, which then takes the lock of its partner. Before any
  -- row is locked.
  'payouts', 'sandbox_payouts',
  -- the cpo_external_ref of a client's new account; an EAN
  'account', 'ean',
  -- the uploads of a client; the names of its chargers. Shared: who stores sessions by these names.
  'uploads', 'charger_names',
  -- the chargers of a person, before any connection is locked; a brand and serial number
  'chargers', 'serial_number',
  -- the tokens of a person
  'tokens',
  -- a tenant and the reference of a sale; a tenant and the quarter of a booking; a tenant and what a year of it sums to
  'sale', 'booking', 'year',
  -- the invoices of a partner
  'invoices',
  -- only tried: who seals the audit log; who counts the dashboard of a partner for its first reader, or that of anybody
  'audit_seal', 'dashboard', 'dashboards'
);
comment on type private.lock_kind is
  'What private.lock locks. A transaction takes kinds in this order, and of one kind the people''s tenant '
  'before a partner, so that no two wait for each other.';

-- Until the transaction ends nobody else has the lock of this kind and key. Shared: others may share it.
create function private.lock(kind private.lock_kind, key text default '', shared boolean default false) returns void
language sql
return case when shared then pg_advisory_xact_lock_shared(hashtextextended(kind || ' ' || key, 0))
            else pg_advisory_xact_lock(hashtextextended(kind || ' ' || key, 0)) end;

-- Takes a lock if nobody has it. Otherwise it answers false and does not wait.
create function private.try_lock(kind private.lock_kind, key text default '') returns boolean
language sql
return pg_try_advisory_xact_lock(hashtextextended(kind || ' ' || key, 0));

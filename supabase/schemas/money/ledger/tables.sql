create table core.ledger_accounts (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  unit       text        not null,
  kind       text        not null,
  owner      uuid        not null,
  opened_at  timestamptz not null default private.now(),
  constraint ledger_accounts_pkey primary key (partner_id, id),
  constraint ledger_accounts_unit_key unique (partner_id, id, unit),
  constraint ledger_accounts_owner_key unique (partner_id, owner, kind, unit),
  constraint ledger_accounts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint ledger_accounts_kind_known check ((unit, kind) in (
    -- a customer's; then a booking's
    ('kWh', 'delivered'), ('kWh', 'submitted'), ('kWh', 'registered'), ('kWh', 'written_off'),
    -- a booking's
    ('ERE', 'register'), ('ERE', 'unsold'), ('ERE', 'sold'), ('ERE', 'difference'),
    -- of a sale; of a customer; of a partner; of the service, with the id of the people's tenant
    ('EUR', 'buyer'), ('EUR', 'customer'), ('EUR', 'partner'), ('EUR', 'service'),
    -- a payee's: what is on its way to their bank, and what arrived there
    ('EUR', 'payout'), ('EUR', 'bank'),
    -- a partner's VAT on its share; the service's claim to get that back from the tax authority
    ('EUR', 'vat'), ('EUR', 'input_vat'),
    -- the tenant's: the other side of balances whose entries, or subjects, retention deleted
    ('kWh', 'closed'), ('ERE', 'closed'), ('EUR', 'closed')))
);
comment on table core.ledger_accounts is
  'An account of the ledger: a unit, a kind, and an owner (an account, booking, sale or partner). Its balance is what '
  'was credited less what was debited. No personal data; kept as long as its entries.';
select private.enable_tenant_policy('core.ledger_accounts', 'select');

create table core.ledger_entries (
  partner_id uuid           not null,
  id         bigint         not null generated always as identity,
  debit      uuid           not null,
  credit     uuid           not null,
  unit       text           not null,
  amount     numeric(20, 6) not null,
  -- what it is for, such as row:<id>:submitted; collated by its bytes, so that an index finds the causes of one thing
  cause      text           collate "C" not null,
  at         timestamptz    not null default private.now(),
  constraint ledger_entries_pkey primary key (partner_id, id),
  constraint ledger_entries_cause_key unique (partner_id, cause),
  constraint ledger_entries_debit_fkey foreign key (partner_id, debit, unit)
      references core.ledger_accounts (partner_id, id, unit),
  constraint ledger_entries_credit_fkey foreign key (partner_id, credit, unit)
      references core.ledger_accounts (partner_id, id, unit),
  constraint ledger_entries_sides_differ check (debit <> credit),
  constraint ledger_entries_amount_positive check (amount > 0),
  constraint ledger_entries_amount_scale check (amount = round(amount,
                                                               case unit when 'EUR' then 2
                                                                    when 'kWh' then 3 else 6 end))
);
comment on table core.ledger_entries is
  'An amount that moved from the account debit to the account credit. One row is both sides, so an unbalanced entry '
  'cannot exist. Append-only; a correction is a reversal. No personal data; kept seven years.';
comment on column core.ledger_entries.cause is 'Unique in a tenant: a repeated step writes nothing.';
-- serve: the balance of one account, each a scan of one range
create index ledger_entries_debit on core.ledger_entries (partner_id, debit) include (amount);
create index ledger_entries_credit on core.ledger_entries (partner_id, credit) include (amount);
select private.enable_tenant_policy('core.ledger_entries', 'select');

create view core.ledger_balances with (security_invoker = true) as
select a.partner_id, a.id as account_id, a.unit, a.kind, a.owner, a.opened_at, coalesce(s.balance, 0) as balance
  from core.ledger_accounts a
  left join (
    select e.partner_id, e.account_id, sum(e.amount) as balance
      from (select partner_id, credit as account_id, amount from core.ledger_entries
            union all
            select partner_id, debit, -amount from core.ledger_entries) e
     group by e.partner_id, e.account_id) s on s.partner_id = a.partner_id and s.account_id = a.id;
comment on view core.ledger_balances is
  'All balances, for reading many of them. For one account private.balance is quicker.';
grant select on core.ledger_balances to api_owner;

-- A step writes thousands of rows, and the next one reads them before any statistics know of them. So these tables, and
-- those of bookings and sales, are looked up by key, row by row (lateral, with offset 0), where a plan would read them
-- whole. tests/sql/plans.test.ts has each place, and what it reads.
create type private.posting as (
  cause        text,
  unit         text,
  amount       numeric,
  debit_kind   text,
  debit_owner  uuid,
  credit_kind  text,
  credit_owner uuid);

create table core.ledger_checks (
  partner_id uuid        not null,
  begun_at   timestamptz not null default private.now(),
  checked_at timestamptz,
  wrong      bigint      not null default 0,
  constraint ledger_checks_pkey primary key (partner_id),
  constraint ledger_checks_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.ledger_checks is
  'When a tenant''s books were last checked, and how many things disagreed. An unfinished check leaves the last '
  'result. No personal data.';
select private.enable_tenant_policy('core.ledger_checks', 'select');

create type private.check_result as (what text, expected numeric, found numeric, wrong bigint, example text);
comment on type private.check_result is
  'One thing that ledger check compares: what should be, what is, how many things disagree, and the first of them.';

-- The tables of the OCPP gateway: who is connected, and what chargers sent about each transaction.

create table core.ocpp_links (
  partner_id   uuid        not null,
  charger_id   uuid        not null,
  owner_id     uuid        not null default private.owner_id(),
  generation   bigint      not null,
  protocol     text,
  connected_at timestamptz not null,
  boot         jsonb,
  booted_at    timestamptz,
  valid_from   bigint      not null default 1,
  foreign_ids  boolean     not null default false,
  waiting      jsonb       not null default '[]',
  freed        jsonb       not null default '{}',
  idle         jsonb       not null default '{}',
  mirror       jsonb       not null default '{}',
  by_mirror    boolean     not null default false,
  constraint ocpp_links_pkey primary key (partner_id, charger_id),
  constraint ocpp_links_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id) on delete cascade,
  constraint ocpp_links_protocol_known check (protocol in ('ocpp1.6', 'ocpp2.0.1'))
);
comment on table core.ocpp_links is
  'The connections of a charger to the OCPP gateway. Kept as long as the charger; chargers.last_seen_at says when it '
  'was last heard of.';
comment on column core.ocpp_links.generation is
  'Grows with each connection and each new password. Several may be open: the charger''s own, and mirrors.';
comment on column core.ocpp_links.valid_from is
  'The first generation since the password was last renewed. Messages of an older one are refused.';
comment on column core.ocpp_links.foreign_ids is
  'The transaction ids that the charger sends are another back office''s: it used one rightly, and none of ours since.';
comment on column core.ocpp_links.waiting is
  'Stops that fit no transaction, or more than one: a later message may say which. Before them values that name our id '
  'of another connector''s charge, which has none yet. Each oldest first, eight at most of both.';
comment on column core.ocpp_links.mirror is
  'Another charger at the mirror''s address, until that is renewed: {serial, at, since, lines: {<generation>: '
  'boolean}}. serial: what it booted as, at that time. since: the first connection that told so; later ones are of '
  'another. lines: what else is known, whether each is of another: the latest 20 that booted since.';
comment on column core.ocpp_links.by_mirror is 'Whether its last connection was a mirror''s.';
comment on column core.ocpp_links.idle is
  'Per connector the last reading outside a transaction whose id says nothing: {<connector>: {at, wh}}.';
comment on column core.ocpp_links.freed is
  'Per connector when it last reported Finishing or Available: {<connector>: {at, status}}.';
comment on column core.ocpp_links.boot is
  'Its last BootNotification: {vendor, model, meter_type, serial_number, meter_serial_number, firmware}.';
select private.enable_tenant_policy('core.ocpp_links', 'select, insert, update');

-- No index begins with the tenant, as of core.charging_sessions.
create table core.ocpp_transactions (
  partner_id     uuid        not null,
  charger_id     uuid        not null,
  id             int         not null generated always as identity,
  owner_id       uuid        not null default private.owner_id(),
  source_id      text        collate "C",
  connector      int,
  id_tag         text,
  source_started_at timestamptz,
  started_at     timestamptz,
  first_at       timestamptz not null,
  meter_start_wh bigint,
  begin_at       timestamptz,
  begin_wh       bigint,
  last_at        timestamptz,
  last_wh        bigint,
  ended_at       timestamptz,
  end_wh         bigint,
  clock          text        not null,
  created_at     timestamptz not null default private.now(),
  end_guessed    boolean     not null default false,
  rise_at        timestamptz,
  rise_wh        bigint,
  final_wh       bigint,
  own_values     boolean     not null default false,
  foreign_ids    text[]      not null default '{}',
  is_over        boolean     not null default false,
  constraint ocpp_transactions_pkey primary key (id, charger_id, partner_id),
  constraint ocpp_transactions_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id) on delete cascade,
  constraint ocpp_transactions_clock_known check (clock in ('charger', 'arrival', 'wrong'))
);
comment on table core.ocpp_transactions is
  'What a charger told of one transaction by OCPP. Its charging session is computed from this row each time, so '
  'messages may come twice and in any order. Readings are in Wh. Kept as long as charging sessions.';
comment on column core.ocpp_transactions.id is
  'The transactionId of OCPP 1.6: an integer that no two chargers have, and that is never used again. Its session has '
  'the external id 1.6:<id>.';
comment on column core.ocpp_transactions.source_id is
  'The transactionId that a charger of OCPP 2.0.1 gave; null for 1.6.';
comment on column core.ocpp_transactions.id_tag is
  'The card, for the owner to see while the car charges. Dropped at the end, at the next start of the connector, and '
  'by private.forget_silent_cards.';
comment on column core.ocpp_transactions.source_started_at is
  'The start by the clock of a 1.6 charger, by which a repeated StartTransaction is recognized.';
comment on column core.ocpp_transactions.first_at is 'The earliest message.';
comment on column core.ocpp_transactions.last_wh is
  'The largest reading: a register only grows, so a sample that drops is a fault.';
comment on column core.ocpp_transactions.clock is
  'arrival: the charger''s clock was wrong, and the time of arrival stands for it. wrong: nobody knows the time.';
comment on column core.ocpp_transactions.end_guessed is
  'Ended by a stop that named another transaction. The stop that names this one counts instead.';
comment on column core.ocpp_transactions.rise_wh is
  'The earliest reading above 0 that is of no Transaction.Begin or End.';
comment on column core.ocpp_transactions.final_wh is 'The largest Transaction.End. end_wh is what the stop says.';
comment on column core.ocpp_transactions.own_values is
  'Has values that name it. Values without a transaction then do not join it.';
comment on column core.ocpp_transactions.foreign_ids is
  'What other back offices call it, where a mirror sends us a copy: the last eight.';
comment on column core.ocpp_transactions.is_over is
  'It has no stop, and ended all the same: another began at its connector, or 48 hours passed. Its last reading is its '
  'end until a stop comes.';
-- serves: the transaction of a connector at a time
create index ocpp_transactions_connector on core.ocpp_transactions (charger_id, connector, first_at, id);
-- serves: what names a transaction of OCPP 2.0.1, and those whose station used its id again
create unique index ocpp_transactions_source_id on core.ocpp_transactions (source_id, charger_id, partner_id)
    where source_id is not null;
-- serves: transactions of which nobody knows the time
create index ocpp_transactions_wrong on core.ocpp_transactions (charger_id, connector) where clock = 'wrong';
-- serves: a stop that comes again
create index ocpp_transactions_ended on core.ocpp_transactions (charger_id, ended_at);
-- serves: transactions that have no stop, of a charger
create index ocpp_transactions_open on core.ocpp_transactions (charger_id, first_at) where ended_at is null;
-- serves: what may run at a connector, and the cards
create index ocpp_transactions_running on core.ocpp_transactions (charger_id, connector)
    where ended_at is null and not is_over;
-- serves: charges without news
create index ocpp_transactions_silent on core.ocpp_transactions (greatest(last_at, created_at))
    where ended_at is null and not is_over;
select private.enable_tenant_policy('core.ocpp_transactions', 'select, insert, update');

-- Charging sessions, and the totals of each charger and month. A session belongs whole to the Dutch month in which it
-- started: it is what the meter said, and stays in its month while the car charges. A split over midnight would be an
-- estimate.

-- Every key has the tenant and the charger in it, so that the table can be partitioned by the hash of the charger. No
-- index begins with the tenant: where nothing is analyzed, the tenant alone would seem to find one row. For the same
-- reason a session is looked up by its id alone, never beside its charger.
create table core.charging_sessions (
  partner_id    uuid        not null,
  charger_id    uuid        not null,
  id            uuid        not null,
  arrival       bigint      not null generated always as identity,
  connection_id uuid,
  owner_id      uuid        not null default private.owner_id(),
  source        text        not null,
  external_id   text        not null,
  connector     int         not null default 1,
  evse_assumed  boolean     not null default false,
  started_at    timestamptz not null,
  ended_at      timestamptz,
  busy_from     timestamptz not null,
  wh            bigint      not null,
  status        text        not null,
  names         text[]      not null default '{}',
  flags         text[]      not null default '{}',
  received_at   timestamptz not null,
  month         date        not null generated always as (date_trunc('month',
          started_at at time zone 'Europe/Amsterdam')::date) stored,
  counted       boolean     not null generated always as (ended_at is not null and flags <@ '{after_lock}') stored,
  meter_id       text,
  meter_start_wh bigint,
  meter_end_wh   bigint,
  booked_as      bigint,
  constraint charging_sessions_pkey primary key (id, charger_id, partner_id),
  constraint charging_sessions_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id),
  constraint charging_sessions_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id),
  constraint charging_sessions_status_known check (status in ('active', 'charging', 'completed')),
  constraint charging_sessions_completed_has_end check ((status = 'completed') = (ended_at is not null)),
  constraint charging_sessions_flags_known check (
    flags <@ '{negative,ends_before_start,wrong_clock,too_long,beyond_power,beyond_capacity,overlapping,after_lock,'
             'withdrawn,duplicate,no_end,meter_disagrees,abroad,other_registration}')
);
comment on table core.charging_sessions is
  'One charge of one car, as its source last told it. Implausible ones are flagged and kept, and no total counts them. '
  'Personal data; kept seven years.';
comment on column core.charging_sessions.id is 'private.session_id of charger, source and external_id.';
comment on column core.charging_sessions.arrival is
  'The order in which sessions came in: the first of two that overlap stands.';
comment on column core.charging_sessions.external_id is
  'The source''s own id of the session, unique for a charger and source. A file without ids is known by EVSE and '
  'start: 1@2026-03-10T18:00:00Z.';
comment on column core.charging_sessions.connector is
  'The EVSE of the charger, from 1. One EVSE charges one car at a time.';
comment on column core.charging_sessions.evse_assumed is
  'The source told no number: 1 stands for an EVSE that it did not name, a number from 3 for one that a file names by '
  'a word without one. It may be any EVSE whose number was told.';
comment on column core.charging_sessions.busy_from is
  'Since when it needs its EVSE: started_at, or earlier if the charger takes longer for this energy; a day before the '
  'end at most. So the same hour is not used twice by sessions without a duration.';
comment on column core.charging_sessions.names is
  'By what its client called the charger when it told of this session, each as kind:value: such a name cannot be moved '
  'to another charger for this moment.';
comment on column core.charging_sessions.meter_start_wh is
  'The reading of the meter (meter_id, if the source names it) at the start, meter_end_wh at the end. Null if the '
  'source did not say.';
comment on column core.charging_sessions.connection_id is
  'The connection of the charger when the session came in, else the first one it was bound to afterwards.';
comment on column core.charging_sessions.booked_as is
  'The row of core.replaced_charging_sessions that a booking has: what the session was when it first changed, was '
  'flagged, or its meter was doubted, after the lock of that month. Null once the month opens, and of what changed '
  'before the lock.';
comment on column core.charging_sessions.flags is
  'after_lock: it came, changed, or its meter was confirmed, after its month was locked. The energy counts and the '
  'booked ERE stays. Every other flag keeps it out of all totals. withdrawn: its source took it back. duplicate: '
  'another source or id told the same charge first. other_registration: the charger was another registration''s at '
  'the start. beyond_capacity: more than its charger or its connection can give.';
-- serves: overlaps, and the total of a charger's month
create index charging_sessions_charger on core.charging_sessions (charger_id, started_at);
-- serves: overlaps with what began long before
create index charging_sessions_long on core.charging_sessions (charger_id, started_at)
    where ended_at - started_at > interval '24 hours';
-- serves: overlaps with what needs its EVSE before it began
create index charging_sessions_short on core.charging_sessions (charger_id, started_at) where busy_from < started_at;
-- serves: GET /sessions, newest first; of one charger too, because a person has ten at most
create index charging_sessions_owner on core.charging_sessions (owner_id, started_at desc, id desc);
-- serves: the delivered month of a connection
create index charging_sessions_connection on core.charging_sessions (connection_id, month);
-- serves: the session that is going on at a charger
create index charging_sessions_open on core.charging_sessions (charger_id) where ended_at is null;
-- serves: charges over OCPP that ended without any reading
create index charging_sessions_lost on core.charging_sessions (started_at)
    where source = 'ocpp' and status = 'active' and not 'no_end' = any (flags);
-- serves: what came too late for a booking
create index charging_sessions_after_lock on core.charging_sessions (partner_id, month)
    where 'after_lock' = any (flags);
-- serves: which flags new sessions got
create index charging_sessions_flagged on core.charging_sessions (received_at) where flags <> '{}';
-- serves: taking back by the source's id
create index charging_sessions_external_id on core.charging_sessions (external_id);
select private.enable_tenant_policy('core.charging_sessions', 'select, insert, update');

create table core.replaced_charging_sessions (
  partner_id   uuid        not null,
  charger_id   uuid        not null,
  id           bigint      generated always as identity,
  session_id   uuid        not null,
  owner_id     uuid        not null default private.owner_id(),
  month        date        not null,
  connector    int         not null,
  evse_assumed boolean     not null,
  started_at   timestamptz not null,
  ended_at     timestamptz not null,
  wh           bigint      not null,
  flags        text[]      not null,
  received_at  timestamptz not null,
  replaced_at  timestamptz not null default private.now(),
  constraint replaced_charging_sessions_pkey primary key (partner_id, charger_id, id),
  constraint replaced_charging_sessions_session_fkey foreign key (partner_id, charger_id, session_id)
      references core.charging_sessions (partner_id, charger_id, id),
  -- a session has the owner of its charger, and so do its former values
  constraint replaced_charging_sessions_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id)
);
comment on table core.replaced_charging_sessions is
  'What a completed session was before it changed, also where only a flag or a reading did. Append-only, kept seven '
  'years.';
-- serves: the history of one session
create index replaced_charging_sessions_session on core.replaced_charging_sessions (session_id);
-- serves: what is booked at a charger, and was corrected since
create index replaced_charging_sessions_charger on core.replaced_charging_sessions (charger_id, started_at);
select private.enable_tenant_policy('core.replaced_charging_sessions', 'select, insert');

create table core.charger_months (
  partner_id uuid   not null,
  charger_id uuid   not null,
  month      date   not null,
  owner_id   uuid   not null default private.owner_id(),
  wh         bigint not null,
  sessions   int    not null,
  constraint charger_months_pkey primary key (partner_id, charger_id, month),
  constraint charger_months_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id),
  constraint charger_months_month_is_month check (month = date_trunc('month', month))
);
comment on table core.charger_months is
  'The counted sessions of one charger and month, added up: always the sum of core.charging_sessions, so that no '
  'reader adds. Kept as long as the sessions.';
-- serves: GET /energy
create index charger_months_owner on core.charger_months (owner_id, month);
select private.enable_tenant_policy('core.charger_months', 'select, insert, update');

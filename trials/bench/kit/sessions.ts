// What the benches of charging sessions share: a floor's tables, and sessions that were there before.

/** Tables like those of sessions, with their checks, indexes and foreign keys, without row-level security. */
export const LIKE_SESSIONS = `
  create table bench.sessions (like core.charging_sessions including all, unique (partner_id, charger_id, id),
    foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id),
    foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id));
  create table bench.evidence (like core.charging_evidence including all,
    foreign key (partner_id, charger_id, session_id) references bench.sessions (partner_id, charger_id, id),
    foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id));
  create table bench.changes (like core.charging_changes including all);`;

/** Sessions of 2019: a plan of a table that was analyzed while empty is that of no service. */
export const SESSIONS_BEFORE = `
  insert into core.charging_sessions (partner_id, charger_id, id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
  select h.partner_id, h.id, gen_random_uuid(), h.owner_id, 'api', n::text, b.at, b.at, b.at + interval '1 hour', 5000, 'completed', now()
    from (select * from core.chargers order by id limit 2000) h
   cross join generate_series(1, 10) n cross join lateral (select '2019-01-01Z'::timestamptz + n * interval '1 day' as at) b`;

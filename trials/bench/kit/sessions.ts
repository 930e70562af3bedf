// What the benches of charging sessions share: a floor's tables and rows, and sessions that were there before.

/** Tables like those of sessions, with their checks, indexes and foreign keys, without row-level security. */
export const LIKE_SESSIONS = `
  create table bench.sessions (like core.charging_sessions including all, unique (partner_id, charger_id, id),
    foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id),
    foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id));
  create table bench.evidence (like core.charging_evidence including all,
    foreign key (partner_id, charger_id, session_id) references bench.sessions (partner_id, charger_id, id),
    foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id));
  create table bench.changes (like core.charging_changes including all);
  create table bench.charger_months (like core.charger_months including all,
    foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id));
  create table bench.delivered_months (like core.delivered_months including all,
    foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id));
  create table bench.kept_evidence (like core.kept_evidence including all);
  create table bench.rate_limit_state (like core.rate_limit_state including all);
  create table bench.chargers (like core.chargers including all);
  insert into bench.chargers select * from core.chargers;`;

/**
 * Of a floor, the rows that a request leaves beside sessions and evidence, from its `session` (partner_id, owner_id, charger_id,
 * connection_id, started_at, ended_at, wh): the months, when the charger was heard of, and the bytes that were kept of its `source`.
 */
export const rowsBeside = (schema: "bench" | "core", source: "owner_id" | "charger_id") => `
  total as (
    insert into ${schema}.charger_months as m (partner_id, charger_id, month, owner_id, wh, sessions)
    select partner_id, charger_id, date_trunc('month', started_at), owner_id, sum(wh), count(*) from session group by 1, 2, 3, 4
    on conflict (partner_id, charger_id, month) do update set wh = m.wh + excluded.wh, sessions = m.sessions + excluded.sessions),
  delivered as (
    insert into ${schema}.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
    select partner_id, connection_id, owner_id, date_trunc('month', started_at), sum(wh) / 1000, count(*), 'sessions', 'outside_mandate', now()
      from session where connection_id is not null group by 1, 2, 3, 4
    on conflict (partner_id, connection_id, period) do update
       set total_kwh = d.total_kwh + excluded.total_kwh, session_count = d.session_count + excluded.session_count, received_at = now()),
  heard as (
    update ${schema}.chargers h set last_seen_at = now()
      from (select distinct partner_id, charger_id from session) s where h.partner_id = s.partner_id and h.id = s.charger_id),
  kept as (
    insert into ${schema}.kept_evidence as k (partner_id, source_id, owner_id, kind, day, bytes)
    select partner_id, ${source}, owner_id, 'client', current_date, count(*) * 1000 from session group by 1, 2, 3
    on conflict (partner_id, source_id) do update set bytes = k.bytes + excluded.bytes)`;

/** The debit of its limit. */
export const debit = (schema: "bench" | "core") => `
  debited as (
    insert into ${schema}.rate_limit_state (subject, bucket, full_at) select distinct 'bench ' || owner_id, 'bench', now() from session
    on conflict (subject, bucket) do update set full_at = excluded.full_at)`;

/** Sessions of 2019: a plan of a table that was analyzed while empty is that of no service. */
export const SESSIONS_BEFORE = `
  insert into core.charging_sessions (partner_id, charger_id, id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
  select h.partner_id, h.id, gen_random_uuid(), h.owner_id, 'api', n::text, b.at, b.at, b.at + interval '1 hour', 5000, 'completed', now()
    from (select * from core.chargers order by id limit 2000) h
   cross join generate_series(1, 10) n cross join lateral (select '2019-01-01Z'::timestamptz + n * interval '1 day' as at) b`;

// Chargers and what they charged.

import type pg from "pg";
import type { User } from "./people.ts";
import type { World } from "./world.ts";

/** A charger model with a MID meter that the resolver knows. */
export const MID_CHARGER = { ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023" };

/** A charger of a person on their connection, 11 kW and MID unless told. */
export async function addCharger(
  world: World,
  user: User,
  fields: { nickname?: string; mid_eligible?: boolean | null; power_kw?: number; connection_id?: string | null } = {},
): Promise<string> {
  const { nickname = "Oprit", mid_eligible = true, power_kw = 11, connection_id = user.connection_id } = fields;
  const { id } = await world.row(
    `insert into core.chargers (partner_id, account_id, connection_id, owner_id, user_id, nickname, connection_type, power_kw, mid_eligible)
     values (private.people_tenant(), $1, $2, $3, $3, $4, 'ocpp', $5, $6) returning id`,
    user.account_id,
    connection_id,
    user.id,
    nickname,
    power_kw,
    mid_eligible,
  );
  return id;
}

export type SessionItem = {
  charger_id: string;
  external_id: string;
  started_at: string;
  ended_at?: string | null;
  wh: number;
  source?: string;
  connector?: number;
  status?: string;
  meter_wh?: number;
};
export type Ingested = { status: string; reason?: string; session_id?: string; flags?: string[] };

/** Stores sessions of chargers of one tenant, as every door does in the end, and gives the result of each. */
export async function ingest(world: World, ...sessions: SessionItem[]): Promise<Ingested[]> {
  const { results } = await world.row(
    `with acting as materialized (
       select private.set_tenant(coalesce((select partner_id from core.chargers where id::text = any ($2) limit 1), private.people_tenant())))
     select (select json_agg(json_strip_nulls(json_build_object('place', r.place, 'status', r.status, 'reason', r.reason,
               'session_id', r.session_id, 'flags', r.flags))) from private.store_sessions($1) r) as results from acting`,
    JSON.stringify(sessions.map((session) => ({ source: "ocpp", ...session }))),
    sessions.map(({ charger_id }) => charger_id),
  );
  return results
    .sort((a: { place: number }, b: { place: number }) => a.place - b.place)
    .map(({ place: _, ...result }: Ingested & { place: number }) => result);
}

/** A row of each table that charging data of a CPO client leaves beside its sessions. */
export async function giveChargingIn(db: Pick<pg.Pool, "query">, charger_id: string) {
  await db.query(
    `with charger as (select partner_id, id, owner_id from core.chargers where id = $1),
     name as (insert into core.charger_names (partner_id, owner_id, kind, value, charger_id)
       select partner_id, owner_id, 'external_ref', 'PAAL-1', id from charger),
     evidence as (insert into core.charging_evidence (partner_id, charger_id, owner_id, source, external_id, document, document_sha256)
       select partner_id, id, owner_id, 'api', '1', '{}', sha256('{}') from charger),
     kept as (insert into core.kept_evidence (partner_id, source_id, owner_id, kind, day, bytes)
       select partner_id, id, owner_id, 'charger', private.today(), 1 from charger on conflict do nothing),
     parked as (insert into core.parked_charging (partner_id, owner_id, source, known_as, external_id, names, item, reason)
       select partner_id, owner_id, 'api', '2', '2', '{external_ref:PAAL-2}', '{}', 'unknown_charger' from charger),
     link as (insert into core.ocpp_links (partner_id, charger_id, owner_id, generation, connected_at)
       select partner_id, id, owner_id, 1, private.now() from charger),
     transaction as (insert into core.ocpp_transactions (partner_id, charger_id, owner_id, first_at, clock)
       select partner_id, id, owner_id, private.now(), 'charger' from charger),
     platform as (insert into core.ocpi_connections (partner_id, owner_id, status)
       select partner_id, owner_id, 'unregistered' from charger on conflict do nothing),
     cdr as (insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, status, document, document_sha256)
       select partner_id, owner_id, 'NL-TNM', id::text, sha256('x'), 'taken', '{"cdr_location": {}}', sha256('x') from charger),
     head as (insert into core.charging_heads (partner_id, owner_id) select partner_id, owner_id from charger)
     insert into core.uploads (partner_id, owner_id, sha256, said, kind, rows, columns, read, counts, results)
     select partner_id, owner_id, sha256('x'), '{}', 'months', 1, '[]', '{}', '{}', '[]' from charger`,
    [charger_id],
  );
}

// Chargers and what they charged.

import { expect } from "vitest";
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
     values (private.house(), $1, $2, $3, $3, $4, 'ocpp', $5, $6) returning id`,
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

/** Brings sessions in as the gateway does, and gives the result of each. */
export async function ingest(world: World, ...sessions: SessionItem[]): Promise<Ingested[]> {
  const items = sessions.map((session) => ({ source: "ocpp", ...session }));
  const answer = await world.post("/worker/sessions", { sessions: items }, world.environment.config.GATEWAY_SECRET);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.results;
}

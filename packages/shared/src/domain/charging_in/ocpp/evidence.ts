/** The words of a charger that are kept with the session they began, ended or signed. */

import { type Kept, keep } from "../kept.ts";
import { isObject } from "./lenient.ts";
import type { Happening, Protocol } from "./read.ts";

const SAMPLED = {
  value: true,
  context: true,
  format: true,
  measurand: true,
  phase: true,
  location: true,
  unit: true,
  unitOfMeasure: { unit: true, multiplier: true },
  signedMeterValue: { signedMeterData: true, signingMethod: true, encodingMethod: true, publicKey: true },
} as const;
const SAMPLES = { timestamp: true, sampledValue: SAMPLED, value: SAMPLED } as const;

/** Of the messages about transactions: no card, and nothing that the specifications do not know, such as a card's vendor data. */
const KEPT = {
  connectorId: true,
  evseId: true,
  transactionId: true,
  timestamp: true,
  meterStart: true,
  meterStop: true,
  reason: true,
  reservationId: true,
  transactionData: SAMPLES,
  meterValue: SAMPLES,
  eventType: true,
  triggerReason: true,
  seqNo: true,
  offline: true,
  numberOfPhasesUsed: true,
  cableMaxCurrent: true,
  evse: { id: true, connectorId: true },
  transactionInfo: {
    transactionId: true,
    chargingState: true,
    timeSpentCharging: true,
    stoppedReason: true,
    remoteStartId: true,
  },
} as const satisfies Kept;

/** A value without text that PostgreSQL cannot store. */
export function keepable(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed().replaceAll("\u0000", "\ufffd");
  if (Array.isArray(value)) return value.map(keepable);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [String(keepable(name)), keepable(each)]));
}

export type Evidence = { document: object; sent_sha256: string; signed?: string[] };

/** The evidence of what happened; null for a running value, which only moves the session that is going on. */
export function evidenceOf(
  protocol: Protocol,
  { action, payload, sent_sha256 }: { action: string; payload: unknown; sent_sha256: string },
  happened: Happening,
): Evidence | null {
  if (happened.kind === "boot" || happened.kind === "status") return null;
  const readings = "readings" in happened ? happened.readings : happened.kind === "values" ? happened : null;
  const signed = readings?.signed ?? [];
  const isRunning =
    (happened.kind === "values" && !happened.begin && !happened.end) ||
    (happened.kind === "event" && happened.type === "Updated" && !readings?.begin && !readings?.end);
  if (isRunning && signed.length === 0) return null;
  return {
    document: { protocol, action, payload: keep(payload, KEPT) ?? null },
    sent_sha256,
    ...(signed.length > 0 ? { signed } : {}),
  };
}

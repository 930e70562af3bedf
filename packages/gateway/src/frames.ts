/** The frames of OCPP-J: `[2, id, action, payload]`, `[3, id, payload]`, `[4, id, code, description, details]`. */

import type { Protocol } from "./handshake.ts";

/** Some chargers write it as a number, and want the number back. */
export type Id = string | number;
export type Frame =
  | { type: "call"; id: Id; action: string; payload: unknown }
  | { type: "result" | "error"; id: Id; payload: unknown }
  /** It says nothing: a sign of life that is no frame, or an answer to a call that we never sent. */
  | { type: "nothing" }
  | { type: "invalid" };

/** Why a connection is closed: RFC 6455 section 7.4.1, and the registry of codes it began. */
export const CLOSE = { policy: 1008, restart: 1012, tryAgain: 1013 } as const;

/** Levels of a frame, itself among them. A payload has one less, as the edge function takes it. */
const DEEPEST = 50;
/** OCPP-J says 36 (section 4.1.4 of 1.6 and of 2.0.1). Some chargers send more, and only get it back. */
const LONGEST_ID = 256;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((each) => isDeeper(each, levels - 1));
}

const isId = (id: unknown): id is Id =>
  typeof id === "string" ? id !== "" && id.length <= LONGEST_ID : Number.isSafeInteger(id);

/** JSON allows no control characters inside texts, and no byte order mark; some chargers send them. */
const clean = (text: string) => text.replace(/[\u{FEFF}\p{Cc}]/gu, (sign) => (/[\t\r\n]/.test(sign) ? " " : ""));

export function readFrame(text: string): Frame {
  // such as __pong__
  if (text.length <= 64 && !/[[{"]/.test(text)) return { type: "nothing" };
  let frame: unknown;
  try {
    frame = JSON.parse(clean(text));
  } catch {
    return { type: "invalid" };
  }
  if (!Array.isArray(frame) || isDeeper(frame, DEEPEST)) return { type: "invalid" };
  const [written, id, third, fourth] = frame;
  // some write the kind of message as text
  const type = typeof written === "string" && /^\d$/.test(written) ? Number(written) : written;
  if (!isId(id)) return { type: type === 3 || type === 4 ? "nothing" : "invalid" };
  if (type === 2 && typeof third === "string") return { type: "call", id, action: third, payload: fourth ?? {} };
  if (type === 3) return { type: "result", id, payload: third };
  if (type === 4) return { type: "error", id, payload: { code: third } };
  return { type: "invalid" };
}

export const writeCall = (id: string, action: string, payload: object) => JSON.stringify([2, id, action, payload]);

export type CallAnswer = { payload: object } | { error: { code: string; description: string } };

export const writeAnswer = (id: Id, answer: CallAnswer) =>
  JSON.stringify(
    "payload" in answer
      ? [3, id, answer.payload]
      : [4, id, answer.error.code, answer.error.description.slice(0, 255), {}],
  );

/** The answer to a frame that is none; OCPP-J 2.0.1 section 4.2.3 gives it the id -1. */
export const writeInvalid = (protocol: Protocol) =>
  JSON.stringify([4, "-1", protocol === "ocpp1.6" ? "FormationViolation" : "RpcFrameworkError", "", {}]);

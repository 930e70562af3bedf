/** Judges the request with which a charger opens its connection, before anything is parsed by others. */

import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { networkOf } from "../../shared/src/values/network.ts";
import type { AddressSource } from "./settings.ts";

export type Protocol = "ocpp1.6" | "ocpp2.0.1";
const PROTOCOLS: readonly Protocol[] = ["ocpp1.6", "ocpp2.0.1"];

export type Handshake = {
  /** Null for a mirror, which the secret of its address admits, whatever identity follows. */
  identity: string | null;
  /** 16 to 40 hexadecimal digits, lower case, if it can be right; the function refuses any other. */
  password: string;
  protocol: Protocol;
  /** As the charger wrote it, which it wants back; null if it offered none. */
  offered: string | null;
};

export type Refusal = { status: number; reason: string };

const pathOf = (target: string) => target.split(/[?#]/, 1)[0] ?? "";

/** The secret of a mirror's address, `…/m/<secret>`; what follows, with a slash or not, is the station's. Else null. */
export const mirrorOf = (target: string) =>
  /(?:^|\/)m\/([0-9a-f]{40})/i.exec(pathOf(target))?.[1]?.toLowerCase() ?? null;

/** It may be a secret in the wrong place; identities are logged. */
const SECRET = /[0-9a-f]{40}/i;
/** The address of a mirror of which signs are missing. */
const CUT_MIRROR = /(?:^|\/)m\/[0-9a-f]{16}/i;

/** The last segment of the path that is not empty, decoded; null if there is none, or it is no identity of ours. */
export function identityOf(target: string): string | null {
  const last = pathOf(target)
    .split("/")
    .findLast((segment) => segment !== "");
  if (last === undefined || CUT_MIRROR.test(pathOf(target))) return null;
  try {
    const identity = decodeURIComponent(last);
    return /^[A-Za-z0-9*_=:+|@. -]{1,64}$/.test(identity) && !SECRET.test(identity) ? identity : null;
  } catch {
    return null;
  }
}

/** The first protocol of the charger's list that we speak; without a list OCPP 1.6, until a message is of 2.0.1. Null if it speaks only others. */
export function protocolOf(header: string | undefined): Pick<Handshake, "protocol" | "offered"> | null {
  const list = (header ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  if (list.length === 0) return { protocol: "ocpp1.6", offered: null };
  for (const offered of list) {
    const protocol = PROTOCOLS.find((name) => name === offered.toLowerCase());
    if (protocol) return { protocol, offered };
  }
  return null;
}

/**
 * The password is 16 to 40 hexadecimal digits in any case, or the bytes they stand for: the AuthorizationKey of the
 * security whitepaper of OCPP 1.6 is written as hexadecimal digits and sent as bytes.
 */
function passwordOf(secret: Buffer): string {
  const text = secret.toString("latin1").toLowerCase();
  // the owner of a charger is told of a wrong password, whatever it looks like
  const isBytes = !/^[0-9a-f]{16,40}$/.test(text) && secret.length >= 8 && secret.length <= 20;
  return isBytes ? secret.toString("hex") : text.slice(0, 200);
}

/**
 * The password of an identity: by HTTP Basic, whose user is that identity; else `?auth=` of the address, for chargers
 * with nothing but an address field. Empty if there is none: the charger's owner is told, as of a wrong one.
 */
export function passwordFor(identity: string, header: string | undefined, target: string): string {
  const encoded = /^Basic[: \t]+([A-Za-z0-9+/_=-]+)$/i.exec(header ?? "")?.[1];
  const bytes = Buffer.from(encoded ?? "", "base64");
  // an identity may have a colon
  const user = Buffer.from(`${identity}:`);
  if (bytes.subarray(0, user.length).equals(user)) return passwordOf(bytes.subarray(user.length));
  const query = target.split("#", 1)[0]?.split("?").slice(1).join("?");
  // some programs add an identity to the end of any address
  const [auth = ""] = new URLSearchParams(query).get("auth")?.split("/", 1) ?? [];
  return encoded ? "" : passwordOf(Buffer.from(auth, "latin1"));
}

export function judge(request: IncomingMessage): Handshake | Refusal {
  const target = request.url ?? "";
  const secret = mirrorOf(target);
  const identity = secret ? null : identityOf(target);
  if (!secret && !identity) return { status: 400, reason: "path" };
  const protocol = protocolOf(request.headers["sec-websocket-protocol"]);
  if (!protocol) return { status: 400, reason: "protocol" };
  const password = secret ?? passwordFor(identity ?? "", request.headers.authorization, target);
  return { ...protocol, identity, password };
}

/** The network that limits are counted by. `socket` is the address of the peer, or what PROXY said. */
export function addressOf(request: IncomingMessage, socket: string, source: AddressSource): string {
  if (typeof source === "string") return networkOf(socket);
  const header = request.headers[source.header];
  const entries = (Array.isArray(header) ? header.join(",") : (header ?? "")).split(",").map((part) => part.trim());
  const address = entries.at(-(source.entry ?? 1)) ?? "";
  return networkOf(isIP(address) ? address : socket);
}

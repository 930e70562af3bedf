/** Judges the request with which a charger opens its connection, before anything is parsed by others. */

import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { networkOf } from "../../shared/src/values/network.ts";
import type { AddressSource } from "./settings.ts";

export type Protocol = "ocpp1.6" | "ocpp2.0.1";
const PROTOCOLS: readonly Protocol[] = ["ocpp1.6", "ocpp2.0.1"];

export type Handshake = {
  identity: string;
  /** 16 to 40 hexadecimal digits, lower case, if it can be right; the function refuses any other. */
  password: string;
  protocol: Protocol;
  /** As the charger wrote it, which it wants back; null if it offered none. */
  offered: string | null;
};

export type Refusal = { status: number; reason: string };

/** The last segment of the path that is not empty, decoded; null if there is none, or it is no identity of ours. */
export function identityOf(target: string): string | null {
  const path = target.split(/[?#]/, 1)[0] ?? "";
  const last = path.split("/").findLast((segment) => segment !== "");
  if (last === undefined) return null;
  try {
    const identity = decodeURIComponent(last);
    return /^[A-Za-z0-9_-]{1,64}$/.test(identity) ? identity : null;
  } catch {
    return null;
  }
}

/** The first protocol of the charger's list that we speak; without a list OCPP 1.6. Null if it speaks only others. */
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
 * User and password of HTTP Basic. The password is 16 to 40 hexadecimal digits in any case, or the bytes they stand for:
 * the AuthorizationKey of the security whitepaper of OCPP 1.6 is written as hexadecimal digits and sent as bytes.
 */
export function credentialsOf(header: string | undefined): Pick<Handshake, "identity" | "password"> | null {
  const encoded = /^Basic[: \t]+([A-Za-z0-9+/_=-]+)$/i.exec(header ?? "")?.[1];
  if (!encoded) return null;
  const bytes = Buffer.from(encoded, "base64");
  const colon = bytes.indexOf(":");
  if (colon < 1) return null;
  const identity = bytes.subarray(0, colon).toString("latin1");
  const secret = bytes.subarray(colon + 1);
  const text = secret.toString("latin1").toLowerCase();
  // the owner of a charger is told of a wrong password, whatever it looks like
  const isBytes = !/^[0-9a-f]{16,40}$/.test(text) && secret.length >= 8 && secret.length <= 20;
  return { identity, password: isBytes ? secret.toString("hex") : text.slice(0, 200) };
}

const UNKNOWN: Refusal = { status: 401, reason: "unauthorized" };

export function judge(request: IncomingMessage): Handshake | Refusal {
  const identity = identityOf(request.url ?? "");
  if (!identity) return { status: 400, reason: "path" };
  const protocol = protocolOf(request.headers["sec-websocket-protocol"]);
  if (!protocol) return { status: 400, reason: "protocol" };
  // an unknown identity and a wrong password are refused alike
  const credentials = credentialsOf(request.headers.authorization);
  if (!credentials || credentials.identity !== identity) return UNKNOWN;
  return { ...protocol, ...credentials };
}

/** The network that limits are counted by. `socket` is the address of the peer, or what PROXY said. */
export function addressOf(request: IncomingMessage, socket: string, source: AddressSource): string {
  if (typeof source === "string") return networkOf(socket);
  const header = request.headers[source.header];
  const entries = (Array.isArray(header) ? header.join(",") : (header ?? "")).split(",").map((part) => part.trim());
  const address = entries.at(-(source.entry ?? 1)) ?? "";
  return networkOf(isIP(address) ? address : socket);
}

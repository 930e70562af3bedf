/** Reads the PROXY protocol, versions 1 and 2, with which a TCP balancer tells whose connection it passes on. */

import type { Socket } from "node:net";

const V2 = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
/** The longest header: version 1 has 107 bytes, version 2 as many as we read of its extensions. */
const LONGEST = 1024;
const PATIENCE_MS = 5_000;

export type ProxyHeader = { length: number; address: string | null };

/** The header at the start of a connection; "more" if it is not whole yet, null if it is none. */
export function readProxyHeader(bytes: Buffer): ProxyHeader | "more" | null {
  if (bytes.subarray(0, 12).equals(V2.subarray(0, Math.min(12, bytes.length)))) return readV2(bytes);
  const begin = bytes.subarray(0, 6).toString("latin1");
  if (begin !== "PROXY ".slice(0, begin.length)) return null;
  const end = bytes.indexOf("\r\n");
  if (end < 0) return bytes.length < 108 ? "more" : null;
  const match = /^PROXY (TCP4|TCP6|UNKNOWN)(?: ([0-9a-fA-F.:]+) )?/.exec(bytes.subarray(0, end).toString("latin1"));
  return match && { length: end + 2, address: match[1] === "UNKNOWN" ? null : (match[2] ?? null) };
}

function readV2(bytes: Buffer): ProxyHeader | "more" | null {
  if (bytes.length < 16) return "more";
  const length = 16 + bytes.readUInt16BE(14);
  if (length > LONGEST) return null;
  if (bytes.length < length) return "more";
  // a check of the balancer itself ("LOCAL") names nobody
  if (bytes[12] === 0x20) return { length, address: null };
  if (bytes[12] !== 0x21) return null;
  const family = (bytes[13] ?? 0) >> 4;
  if (family === 1 && length >= 28) return { length, address: bytes.subarray(16, 20).join(".") };
  if (family !== 2 || length < 52) return { length, address: null };
  const groups = Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(16 + 2 * n).toString(16));
  return { length, address: groups.join(":") };
}

/** Takes the header off a new connection and hands the rest on. A connection without one is ended. */
export function takeProxyHeader(socket: Socket, then: (address: string | null) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  const late = setTimeout(() => socket.destroy(), PATIENCE_MS);
  const done = () => {
    clearTimeout(late);
    socket.off("data", take);
    socket.off("close", done);
    socket.off("error", ignore);
  };
  const ignore = () => {};
  const take = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    const header = readProxyHeader(bytes);
    if (header === "more") return;
    socket.pause();
    done();
    if (!header) {
      socket.destroy();
      return;
    }
    if (bytes.length > header.length) socket.unshift(bytes.subarray(header.length));
    then(header.address);
  };
  socket.on("data", take);
  socket.on("close", done);
  socket.on("error", ignore);
}

// The gateway's container has this file and no other of ours, so it imports none.

import { isIPv4, isIPv6 } from "node:net";

/** An address in its canonical spelling, or null. IPv4 within IPv6 (::ffff:192.0.2.1) is IPv4. */
export function canonical(address: string): string | null {
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return null;
  const spelled = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
  if (!spelled) return null; // a zone, which no client on the internet has
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (!mapped) return spelled;
  const [high = 0, low = 0] = mapped.slice(1).map((part) => Number.parseInt(part, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/**
 * The unit that counts as one client: an IPv4 address, or a 64-bit IPv6 network, because one subscriber has all of
 * it. What is no address counts by itself.
 */
export function networkOf(address: string): string {
  const spelled = canonical(address) ?? address;
  if (!isIPv6(spelled)) return spelled;
  const [front = "", back] = spelled.split("::");
  const left = front.split(":").filter(Boolean);
  const right = (back ?? "").split(":").filter(Boolean);
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return `${[...left, ...zeros, ...right].slice(0, 4).join(":")}::/64`;
}

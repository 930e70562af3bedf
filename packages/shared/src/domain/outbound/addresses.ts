// Which network addresses are public. Loaded when there is something to send.

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** The block of IPv6 that is given out to networks (IANA); whatever else leads somewhere leads into somebody's own. */
const GLOBAL = ipaddr.IPv6.parse("2000::");

/**
 * Whether an address is public. Every range with a special purpose is refused: loopback, private, link-local, shared
 * (100.64.0.0/10), documentation, multicast. So is every IPv6 address that stands for an IPv4 address (mapped, NAT64,
 * 6to4, Teredo), because that may be any of these.
 */
export function isPublicAddress(text: string): boolean {
  // the library also reads 127.1 and the like
  if (!isIP(text) || !ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(GLOBAL, 3);
}

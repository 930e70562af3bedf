// Where we may send a request. A URL is judged by its text when it is stored and before each request, and by its addresses when it is sent.

import { isIP } from "node:net";
import { domainToUnicode } from "node:url";
import type { Configuration } from "#shared/foundation/configuration.ts";

export type Host = Pick<Configuration, "API_HOST" | "WEBHOOK_ALLOW_LOOPBACK">;

export const MAX_URL = 500;

/** Names that are nobody's on the public net (RFC 6761, 6762, 8375 and common use). */
const PRIVATE_NAMES =
  /\.(local|localhost|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|test|invalid|onion)$/;

/** The loopback of a developer's machine, where configuration allows it: `http://127.0.0.1:port` and `localhost`. */
function isLoopback({ protocol, hostname, port }: URL): boolean {
  return protocol === "http:" && port !== "" && (hostname === "127.0.0.1" || hostname === "localhost");
}

/** Whether this one name may lead to the machine itself. */
export const allowsLoopback = (url: URL, { API_HOST, WEBHOOK_ALLOW_LOOPBACK }: Host) =>
  API_HOST === "sandbox" && WEBHOOK_ALLOW_LOOPBACK === "true" && isLoopback(url);

/**
 * Whether this can be a public name: labels of letters, digits and hyphens (RFC 1123, 3696). No label begins or ends
 * with a hyphen, and the last is not a number. In newer versions of Node a URL may have a punycode label that means
 * nothing.
 */
const isName = (hostname: string) =>
  hostname.length <= 253 &&
  (!hostname.includes("xn--") || !/(?:^|\.)xn--/.test(domainToUnicode(hostname))) &&
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(hostname);

/** Why nothing is sent to a URL, as a sentence, or null where it may be. It is stored as `new URL(text).href`: one address, one spelling. */
export function refusedUrl(text: string, config: Host): string | null {
  if (text.length > MAX_URL) return `The URL is longer than ${MAX_URL} characters.`;
  if (/[\s\u0000-\u001f\u007f\\]/.test(text))
    return "The URL has a space, a backslash or a control character in it; encode it.";
  if (!URL.canParse(text)) return "This is no URL.";
  const url = new URL(text);
  if (url.href.length > MAX_URL) return `Encoded, the URL is longer than ${MAX_URL} characters.`;
  const { protocol, username, password, hostname, port } = url;
  if (username || password || text.split(/[/?#]/)[2]?.includes("@"))
    return "The URL must not carry a user name or password.";
  if (text.includes("#")) return "The URL must not have a fragment.";
  if (allowsLoopback(url, config)) return null;
  if (protocol !== "https:") return "The URL must begin with https://.";
  // a host in another notation of an address is an address by now
  if (isIP(hostname) || hostname.startsWith("[")) return "The URL must name a host, not an address.";
  if (hostname.endsWith(".")) return "The host must not end in a dot.";
  if (!hostname.includes(".") || PRIVATE_NAMES.test(`.${hostname}`)) return "The host must be a public name.";
  if (!isName(hostname))
    return "The host cannot be a name: labels of 1 to 63 letters, digits and hyphens, 253 characters in all.";
  const number = Number(port || 443);
  const free = config.API_HOST === "sandbox" && number >= 1024;
  if (number !== 443 && !free)
    return config.API_HOST === "sandbox" ? "The port must be 443, or 1024 to 65535." : "The port must be 443.";
  return null;
}

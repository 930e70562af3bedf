/**
 * The root of return URLs as it was typed, its host in the ASCII form that browsers send (IDNA: `bücher.example` is
 * `xn--bcher-kva.example`). What is no address stays as it is, and private.return_root refuses it.
 */
export function inAsciiHost(typed: string): string {
  const [, scheme = "", host = "", rest = ""] = /^(https?:\/\/)([^/?#@]*)(.*)$/s.exec(typed) ?? [];
  if (/^\p{ASCII}*$/u.test(host) || !URL.canParse(scheme + host)) return typed;
  return scheme + new URL(scheme + host).host + rest;
}

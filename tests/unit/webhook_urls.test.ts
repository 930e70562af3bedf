// Where a webhook may be sent, by the text of its URL and by the address that its name leads to.

import { describe, expect, test } from "vitest";
import { isPublicAddress } from "#shared/domain/outbound/addresses.ts";
import { refusedUrl } from "#shared/domain/outbound/url.ts";

const SANDBOX = { API_HOST: "sandbox", WEBHOOK_ALLOW_LOOPBACK: "false" } as const;
const PRODUCTION = { API_HOST: "production", WEBHOOK_ALLOW_LOOPBACK: "false" } as const;
const LOCAL = { API_HOST: "sandbox", WEBHOOK_ALLOW_LOOPBACK: "true" } as const;

describe("§6 the URL of an endpoint", () => {
  const ALLOWED = [
    "https://laadpunt-zuid.example.com/events",
    "https://laadpunt-zuid.example.com:443/a?b=c",
    "https://xn--bcher-kva.example.com",
    "https://bücher.example.com/",
    `https://a.example.com/${"x".repeat(470)}`,
    `https://${"a".repeat(63)}.nl/`,
    `https://${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(58)}.nl/`,
    "https://a.1b/",
    "https://1.example.com/",
    "https://a--b.example.com/",
    "https://例え.テスト/",
  ];
  test("is https, of a public host", () => {
    for (const url of ALLOWED) expect([refusedUrl(url, SANDBOX), refusedUrl(url, PRODUCTION)]).toEqual([null, null]);
  });

  const REFUSED = [
    "http://laadpunt.example.com/",
    "ftp://laadpunt.example.com/",
    "javascript:alert(1)",
    "laadpunt.example.com",
    "//laadpunt.example.com",
    "",
    "https://",
    "https://127.0.0.1",
    "https://0x7f.1",
    "https://2130706433",
    "https://0177.0.0.1",
    "https://127.1",
    "https://[::1]",
    "https://[::ffff:10.0.0.1]",
    "https://[::7f00:1]",
    "https://[2606:4700::1]/",
    "https://93.184.216.34/",
    "https://user@laadpunt.example.com",
    "https://user:password@laadpunt.example.com",
    "https://@laadpunt.example.com",
    "https://:@laadpunt.example.com",
    "https://laadpunt.example.com:22/",
    "https://laadpunt.example.com:80",
    "https://laadpunt.example.com:0",
    "https://laadpunt.example.com:99999",
    "https://laadpunt.example.com./",
    "https://localhost/",
    "https://localhost.",
    "https://intranet/",
    "https://printer.local",
    "https://metadata.google.internal",
    "https://router.lan",
    "https://nas.home.arpa",
    "https://a.localhost",
    "https://laadpunt.example.com/#part",
    "https://laadpunt.example.com/#",
    " https://laadpunt.example.com",
    "https://laadpunt.example.com/a b",
    "https://laadpunt.example.com\\@evil.example",
    "https://laad\npunt.example.com",
    "https://laadpunt.example.com/\u0000",
    `https://a.example.com/${"x".repeat(500)}`,
    `https://a.example.com/${"é".repeat(100)}`,
    "https://１２７.０.０.１/",
    "https://①②⑦.0.0.1/",
    "https://.",
    "https://.nl/",
    "https://.example.com/",
    "https://a..b/",
    "https://a..example.com/",
    "https://-a.nl/",
    "https://a-.nl/",
    "https://a.-nl/",
    "https://a.nl-/",
    "https://nl/",
    "https://*.example.com/",
    "https://laad_punt.example.com/",
    "https://_.nl/",
    "https://laad%5fpunt.example.com/",
    "https://laad!punt.example.com/",
    "https://a.b.123/",
    "https://example.1/",
    "https://xn--a.nl/",
    "https://xn--.nl/",
    "https://xn--zzzzzzzzzz99999.nl/",
    `https://${"a".repeat(64)}.nl/`,
    `https://${"é".repeat(70)}.nl/`,
    `https://${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(63)}.nl/`,
  ];
  test("is refused, with the reason, where it is another protocol, an address in whatever notation, a private name, has a user, a port, a fragment or a dot at its end", () => {
    for (const url of REFUSED)
      for (const host of [SANDBOX, PRODUCTION, LOCAL]) expect(refusedUrl(url, host), url).toMatch(/^[A-Z].+\.$/);
  });

  test("on the sandbox the port may also be 1024 to 65535; on production it is 443", () => {
    expect(refusedUrl("https://laadpunt.example.com:8443", SANDBOX)).toBe(null);
    expect(refusedUrl("https://laadpunt.example.com:8443", PRODUCTION)).toBe("The port must be 443.");
    expect(refusedUrl("https://laadpunt.example.com:1023", SANDBOX)).toBe("The port must be 443, or 1024 to 65535.");
  });

  test("the machine itself may be one where configuration says so, on the sandbox, and by these two names alone", () => {
    for (const url of ["http://127.0.0.1:8080/events", "http://localhost:3000/"]) {
      expect([refusedUrl(url, LOCAL), refusedUrl(url, SANDBOX) === null]).toEqual([null, false]);
      expect(refusedUrl(url, { API_HOST: "production", WEBHOOK_ALLOW_LOOPBACK: "true" })).not.toBe(null);
    }
    for (const url of [
      "http://127.0.0.1/",
      "http://127.0.0.2:80",
      "http://[::1]:8080",
      "http://10.0.0.1:8080",
      "http://localhost.:3000",
      "https://127.0.0.1:8080",
      "http://user@127.0.0.1:8080",
    ])
      expect(refusedUrl(url, LOCAL), url).not.toBe(null);
  });
});

describe("§6 the address of a receiver", () => {
  const PUBLIC = ["93.184.216.34", "1.1.1.1", "172.15.255.255", "2606:4700:4700::1111", "2a00:1450:400e::1"];
  test("is public where it is given out to a network", () => {
    for (const address of PUBLIC) expect(isPublicAddress(address), address).toBe(true);
  });

  const PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:93.184.216.34",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001:0:a00:1::1",
    "2001:db8::1",
    "2002:a00:1::1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "4000::1",
    "fe80::1%eth0",
    "localhost",
    "",
    "1.2.3",
  ];
  test("is not public in any range with a purpose of its own, nor where it stands for an address of IPv4", () => {
    for (const address of PRIVATE) expect(isPublicAddress(address), address).toBe(false);
  });
});

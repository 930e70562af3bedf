// Whose word is taken for where a request comes from.

import { describe, expect, test } from "vitest";
import { readConfiguration } from "#shared/foundation/configuration.ts";
import { clientAddress, findAddress } from "#shared/http/client_address.ts";
import { networkOf } from "#shared/values/network.ts";
import { variables } from "../harness/environment.ts";

const config = (CLIENT_ADDRESS: string) => readConfiguration(variables({ CLIENT_ADDRESS }));
const found = (setting: string, headers: Record<string, string>) =>
  findAddress(new Request("http://api.test", { headers }), config(setting));

describe("contract §9 the client's address", () => {
  test("contract §9 there is no default: a deployment that does not say where it is says which variable is missing", () => {
    const { CLIENT_ADDRESS: _, ...without } = variables();
    for (const given of [without, variables({ CLIENT_ADDRESS: "" }), variables({ CLIENT_ADDRESS: "X Forwarded" })])
      expect(() => readConfiguration(given)).toThrow(/CLIENT_ADDRESS/);
    expect(() => config("x-forwarded-for:0")).toThrow(/CLIENT_ADDRESS/);
  });

  test("contract §9 entries are counted from the right, where proxies of ours write", () => {
    const headers = { "x-forwarded-for": "192.0.2.1, 198.51.100.2 ,203.0.113.3" };
    expect(found("x-forwarded-for:1", headers)).toBe("203.0.113.3");
    expect(found("x-forwarded-for:2", headers)).toBe("198.51.100.2");
    expect(found("x-forwarded-for:4", headers)).toBeNull();
  });

  test("contract §9 a header of the platform's own holds one address: a list in it is none", () => {
    expect(found("cf-connecting-ip", { "cf-connecting-ip": "192.0.2.1" })).toBe("192.0.2.1");
    expect(found("cf-connecting-ip", { "cf-connecting-ip": "192.0.2.1, 192.0.2.2" })).toBeNull();
    expect(found("cf-connecting-ip", { "x-forwarded-for": "192.0.2.1" })).toBeNull();
  });

  test.each(["", "unknown", "192.0.2.1:4711", "192.0.2.999", "fe80::1%eth0", "2001:db8::g", "[::1]", "localhost"])(
    "contract §9 %j is no address, and nothing else is taken instead: 503, naming the variable in the log",
    (value) => {
      const request = new Request("http://api.test", {
        headers: { "x-forwarded-for": value, "x-real-ip": "192.0.2.1" },
      });
      const refusal = expect(() => clientAddress(request, config("x-forwarded-for:1")));
      refusal.toThrow(expect.objectContaining({ code: "service_unavailable" }));
      refusal.toThrow(
        expect.objectContaining({
          cause: expect.objectContaining({ message: expect.stringMatching(/^CLIENT_ADDRESS: /) }),
        }),
      );
    },
  );

  test.each([
    ["192.0.2.1", "192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"],
    ["2001:DB8:0:1:aaaa::1", "2001:db8:0:1:aaaa::1", "2001:db8:0:1::/64"],
    ["2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"],
    ["2001:db8::1", "2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "::1", "0:0:0:0::/64"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0", "1:2:3:4::/64"],
  ])("contract §9 %s is %s, counted as %s", (sent, address, network) => {
    expect(found("x-forwarded-for:1", { "x-forwarded-for": sent })).toBe(address);
    expect(networkOf(address)).toBe(network);
    // the gateway has it as it was sent
    expect(networkOf(sent)).toBe(network);
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, rowCounts, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

/** What the world registers for its partners' clients. */
const REGISTERED = "https://partner-a.example/klaar";
const issue = (body: unknown) => world.post("/v1/mandate-links", body, token);
const linkRow = (link: string) =>
  world.row(
    "select return_url from core.mandate_links where token_hash = decode($1, 'hex')",
    hashSecret(link.split("/").pop() ?? ""),
  );

/** Refused with this body, and nothing stored: no link, no mail. */
async function refused(body: unknown, status: number, error: object) {
  const before = await rowCounts(world, "mandate_links", "mail_outbox");
  const answer = await issue(body);
  expect([answer.status, answer.body]).toEqual([status, { ...error, request_id: expect.anything() }]);
  expect(await rowCounts(world, "mandate_links", "mail_outbox")).toEqual(before);
}

describe("contract §2 return_url is the registered URL followed by /, ? or nothing, without a fragment", () => {
  let account_id: string;
  beforeAll(async () => {
    account_id = (await createAccount(world)).account_id;
  });

  test.each([
    REGISTERED,
    `${REGISTERED}/`,
    `${REGISTERED}/klant/12?van=ere`,
    `${REGISTERED}?state=a%20b&next=/`,
    `${REGISTERED}?${"x".repeat(499 - REGISTERED.length)}`,
  ])("contract §2 the return_url %s is allowed", async (return_url) => {
    const { status, body } = await issue({ account_id, return_url });
    expect(status).toBe(200);
    expect((await linkRow(body.mandate_link)).return_url).toBe(return_url);
  });

  test.each([undefined, null, ""])(
    "contract §2 a return_url of %j stands for the registered one",
    async (return_url) => {
      const { body } = await issue({ account_id, return_url });
      expect((await linkRow(body.mandate_link)).return_url).toBe(REGISTERED);
    },
  );

  test.each([
    ["another host that begins alike", `${REGISTERED}.evil.example`],
    ["userinfo", `${REGISTERED}@evil.example`],
    ["a port", `${REGISTERED}:8443`],
    ["a longer word", `${REGISTERED}evil`],
    ["an encoded slash", `${REGISTERED}%2fevil`],
    ["a backslash", `${REGISTERED}\\evil`],
    ["a fragment", `${REGISTERED}#part`],
    ["a fragment after a query", `${REGISTERED}?a=b#part`],
    ["a shorter path", "https://partner-a.example/"],
    ["the registered one as a query", `https://evil.example/?${REGISTERED}`],
    ["plain http", REGISTERED.replace("https", "http")],
    ["another case", REGISTERED.toUpperCase()],
    ["another partner's", "https://partner-b.example/klaar"],
    ["a script", "javascript:alert(1)"],
    ["a space before it", ` ${REGISTERED}`],
    ["a space after it", `${REGISTERED} `],
    ["relative", "/klaar"],
    ["SQL", "'; drop table core.mandate_links; --"],
    ["a pattern", "https://partner-_.example/%"],
  ])("contract §2 a return_url with %s is return_url_not_allowed", (_name, return_url) =>
    refused({ account_id, return_url }, 400, {
      error: "return_url_not_allowed",
      detail: expect.any(String),
      message: expect.stringContaining("registered"),
    }),
  );

  test.each([
    ["501 characters", `${REGISTERED}?${"x".repeat(500 - REGISTERED.length)}`],
    ["NUL", `${REGISTERED}/\u0000a`],
    ["a line break", `${REGISTERED}/\na`],
    ["half a character", `${REGISTERED}/\ud83d`],
    ["a number", 5],
    ["a list", [REGISTERED]],
  ])("contract §1 a return_url with %s is invalid_request", (_name, return_url) =>
    refused({ account_id, return_url }, 400, {
      error: "invalid_request",
      detail: expect.stringContaining("return_url: "),
      issues: [{ path: "return_url", message: expect.any(String) }],
    }),
  );

  test("contract §2 a client without a registered URL is allowed none, and needs none", async () => {
    const client = await world.addClient(world.partnerA.id);
    const own = await createAccount(world, { id: world.partnerA.id, client });
    const post = async (return_url?: string) =>
      world.post("/v1/mandate-links", { account_id: own.account_id, return_url }, await client.token());
    expect((await post(REGISTERED)).body.error).toBe("return_url_not_allowed");
    expect((await linkRow((await post()).body.mandate_link)).return_url).toBeNull();
  });
});

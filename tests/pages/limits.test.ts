// Time, limits and a database that is away: each changes the world it runs in, so each has one of its own.

import { afterEach, expect, test } from "vitest";
import { connect } from "#shared/foundation/db.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Draft, newBrowser, newDraft, newSignInLink } from "./claimant.ts";
import { issueLink, pageClient, readMandate, readyToSign } from "./signatory.ts";

let world: World;
afterEach(() => world.close());

test("§8 a link works for 14 days to the second, a code for ten minutes", async () => {
  world = await createWorld();
  const ask = pageClient(world);
  await world.freeze("2026-03-01T12:00:00Z");
  const issued = await issueLink(world);
  await world.freeze("2026-03-15T11:49:00Z");
  const form = await readyToSign(world, ask, issued);
  await world.freeze("2026-03-15T11:59:00Z");
  const late = await ask(`${issued.link}/sign`, { form });
  expect(late.status).toBe(422);
  expect(late.text).toContain("Deze code werkt niet meer");
  expect((await ask(`${issued.link}/sign?seen=${form.seen}`)).text).toContain("Mail mij de code");
  await world.freeze("2026-03-15T11:59:59Z");
  expect((await ask(issued.link)).status).toBe(200);
  await world.freeze("2026-03-15T12:00:00Z");
  const expired = await ask(issued.link);
  expect(expired.status).toBe(404);
  expect(expired.text).toContain("Deze link is verlopen");
});

test("§2 a mandate read before New Year is read again after it: its years have changed", async () => {
  world = await createWorld();
  const ask = pageClient(world);
  await world.freeze("2026-12-31T22:59:00Z"); // 23:59 in the Netherlands
  const issued = await issueLink(world, {}, { validity_years: 5 });
  const form = await readyToSign(world, ask, issued);
  expect((await ask(`${issued.link}/document`)).text).toContain("1 januari 2026");
  await world.freeze("2026-12-31T23:00:00Z");
  expect((await ask(`${issued.link}/sign`, { form })).status).toBe(409);
  const seen = await readMandate(ask, issued.link);
  expect((await ask(`${issued.link}/sign`, { form: { ...form, seen } })).status).toBe(303);
  const page = await ask(issued.link);
  expect(page.text).toContain("1 januari 2027");
  expect(page.text).toContain("31 december 2031");
  expect(page.text).toContain("Uw machtiging is ondertekend op 1 januari 2027.");
  await world.freeze("2031-12-31T23:00:00Z");
  expect((await ask(issued.link)).text).toContain("Deze machtiging is afgelopen");
});

test("§8 the sixty-first page within a minute is refused kindly, for that address alone", async () => {
  world = await createWorld();
  const ask = pageClient(world);
  await world.freeze("2026-03-01T12:00:00Z");
  const { link } = await issueLink(world);
  const from = (address: string) => ask(link, { headers: { "x-forwarded-for": `203.0.113.1, ${address}` } });
  for (let visit = 0; visit < 60; visit++) expect((await from("198.51.100.1")).status).toBe(200);
  const refused = await from("198.51.100.1");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.text).toContain("<h1>Even geduld</h1>");
  expect((await from("198.51.100.2")).status).toBe(200);
});

test.each([
  ["a guess at the code of a claim", (draft: Draft) => `${draft.link}/proof`, { form: { code: "000000" } }, 422],
  ["opening a sign-in link", (_draft: Draft, link: string) => link, {}, 200],
])(
  "§8 %s is a visit like any other: the sixty-first within a minute is refused",
  async (_what, pageOf, sent, status) => {
    world = await createWorld({ now: "2026-03-01T12:00:00Z" });
    const draft = await newDraft(world, { expires_at: "2026-04-01" });
    const page = pageOf(draft, await newSignInLink(world, draft));
    const ask = newBrowser(world);
    for (let visit = 0; visit < 60; visit++) expect((await ask(page, sent)).status).toBe(status);
    expect((await ask(page, sent)).status).toBe(429);
  },
);

test.each([
  ["is away", () => "postgresql://edge:edge@127.0.0.1:1/none", "ECONNREFUSED"],
  ["refuses the login", () => world.database.url("edge").replace(":edge@", ":another@"), "28P01"],
])("§7 a database that %s: a kind page, Retry-After, the cause in the log only", async (_what, url, cause) => {
  world = await createWorld();
  const { link } = await issueLink(world);
  const environment = { ...world.environment, db: connect(url()) };
  const ask = pageClient({ ...world, environment });
  const answer = await ask(link, { headers: { "accept-language": "en" } });
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toBe("5");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.text).toContain("<h1>Something went wrong on our side</h1>");
  expect(answer.text).toContain(answer.headers.get("x-request-id"));
  expect(answer.text).not.toContain(cause);
  expect(JSON.stringify(world.log.at(-1))).toContain(cause);
});

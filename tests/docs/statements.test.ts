// What guides state beside their commands: each sentence here stands in its guide, and is true.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { cpoOf } from "../cpo-v1/cpo.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
});
afterAll(() => world.close());
const { token, positionOf } = cpoOf(() => world);

function expectStated(guide: string, sentence: string): void {
  const text = readFileSync(join(ROOT, "docs/guides", `${guide}.md`), "utf8").replace(/\s+/g, " ");
  expect(text, guide).toContain(sentence);
}

/** A new account with a charger that nobody has signed for, and a session of last month. */
async function unsigned() {
  const account = await createAccount(world);
  const { account_id } = account;
  const serial_number = `SN-${account_id}`;
  await world.post("/v1/chargers", { account_id, ...MID_CHARGER, serial_number }, await token());
  const now = world.environment.now();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
  const [started_at, ended_at] = [`${month}-01T02:00:00Z`, `${month}-01T03:00:00Z`];
  const session = { session_id: "S-1", serial_number, kwh: 7.5, meter_start_kwh: 1, meter_end_kwh: 8.5 };
  const sessions = [{ ...session, started_at, ended_at }];
  return { account, month, answer: await world.post("/v1/charging-sessions", { sessions }, await token()) };
}

test("§3 whoever tries one example after another gets no ean_in_use: an EAN belongs to one reference", () => {
  const guides = readdirSync(join(ROOT, "docs/guides")).map((name) => `docs/guides/${name}`);
  const files = ["README.md", "packages/client/README.md", "examples/python/ere.py", "examples/cpo/customers.json"];
  const references = new Map<string, Set<string>>();
  for (const file of [...files, ...guides]) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const named =
      /\b(?:cpo_external_ref|ref)\W{1,6}([A-Z]+-\d+)"[^}]*?(?:\}[^}]*?){0,2}\bean(?:_code)?\W{1,6}(\d{18})/g;
    for (const [, reference = "", ean = ""] of text.matchAll(named))
      references.set(ean, (references.get(ean) ?? new Set()).add(reference));
  }
  expect([...references.values()].map((all) => [...all])).toEqual(
    expect.arrayContaining([["KL-1001"], ["KL-1002"], ["PY-1"], ["KL-2001"], ["KL-2002"]]),
  );
  expect([...references].filter(([, all]) => all.size > 1)).toEqual([]);
});

test("§4.1 sessions.md: before the signature a session is counted, and its month waits", async () => {
  expectStated("sessions", "Before the customer has signed, `counted` is true, and the month waits for the signature.");
  const { account, month, answer } = await unsigned();
  expect(answer.body.results).toMatchObject([{ status: "created", counted: true }]);
  const position = await positionOf(account);
  expect(position).toMatchObject({ ere_eligible: false, checklist: { mandate_signed: false } });
  expect(position.delivered_months).toMatchObject([{ period: `${month}-01`, total_kwh: 7.5 }]);
});

test("§4.1 months.md: the second total of a month replaces the first, and before the signature it waits", async () => {
  expectStated(
    "months",
    "If you send the same month twice, the second total replaces the first, until the month is booked.",
  );
  expectStated("months", "Until somebody signs, every month is `ingested` and waits.");
  const account = await createAccount(world);
  for (const total_kwh of [10, 12.5]) {
    const months = [{ period: "2026-03", total_kwh }];
    const answer = await world.post("/v1/sessions:batch", { account_id: account.account_id, months }, await token());
    expect(answer.body.results).toMatchObject([{ status: "ingested" }]);
  }
  expect((await positionOf(account)).delivered_months).toMatchObject([{ period: "2026-03-01", total_kwh: 12.5 }]);
});

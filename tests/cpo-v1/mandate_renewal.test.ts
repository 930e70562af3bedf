// Signing for the years after: who may, from when, for how long, and what becomes of it.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { attempt } from "#shared/foundation/attempt.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, newEan } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Account, cpoOf } from "./cpo.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(() => world.travel("2026-06-15T12:00:00Z"));

const { token, connectionOf, positionOf, deliver, monthsOf } = cpoOf(() => world);
const countedOf = async ({ connection_id }: Account) =>
  (
    await world.database.admin.query(
      "select to_char(period, 'YYYY-MM') as period from core.counted_months where connection_id = $1 order by 1",
      [connection_id],
    )
  ).rows.map(({ period }) => period);
const runJobs = () => runDueJobs(world);
const issue = async ({ account_id }: Account, fields = {}) =>
  world.post("/v1/mandate-links", { account_id, ...fields }, await token());
const revoke = ({ connection_id }: Account, fields = {}) =>
  world.row("select ops.mandate_revoke($1)", { connection: connection_id, ...fields });

const anyone = { kind: "anyone", host: "sandbox", request_id: "test" };
const tokenHash = (link: string) => hashSecret(link.split("/").pop() ?? "");
const open = async (link: string) =>
  JSON.parse(
    await world.environment.db.call("open_mandate_link", anyone, { token_hash: tokenHash(link), address_hash: "test" }),
  );
const decline = (link: string) =>
  world.environment.db.call("decline_mandate", anyone, { token_hash: tokenHash(link), address: "a", user_agent: "u" });

/** An account whose mandate, of one year, was signed in the middle of that year. */
async function signedFor2026(): Promise<Account> {
  const account = await createAccount(world);
  await signMandate(world, account.account_id);
  expect(await connectionOf(account)).toMatchObject({ mandate_valid_until: "2026-12-31", mandate_renewed_until: null });
  return account;
}

test.each([
  ["2026-10-31T22:59:59Z", 409, "the last second of October in the Netherlands, in winter time"],
  ["2026-10-31T23:00:00Z", 200, "1 November, midnight"],
  ["2026-12-31T22:59:59Z", 200, "the last second of the year"],
])("contract §2 at %s a link for the next years answers %i: %s", async (moment, status) => {
  const account = await signedFor2026();
  await world.travel(moment);
  const answer = await issue(account);
  expect(answer.status).toBe(status);
  if (status === 409) expect(answer.body.error).toBe("mandate_already_signed");
  else expect(answer.body.mandate_status, "it holds until the year is over").toBe("signed");
});

test.each([
  [1, "2027-12-31"],
  [3, "2029-12-31"],
  [5, "2031-12-31"],
])(
  "contract §2 a renewal for %i years begins on 1 January after, lasts until %s, and changes nothing before",
  async (years, until) => {
    const account = await signedFor2026();
    await world.travel("2026-11-20T12:00:00Z");
    await signMandate(world, account.account_id, world.partnerA, years);
    const now = { mandate_status: "signed", mandate_valid_from: "2026-01-01", mandate_valid_until: "2026-12-31" };
    expect(await connectionOf(account)).toMatchObject({
      ...now,
      mandate_renewed_until: until,
      mandate_signed_at: "2026-06-15T12:00:00Z",
    });
    expect((await positionOf(account)).mandate_valid_from).toBe("2026-01-01");

    await world.travel("2026-12-31T22:59:59Z");
    expect(await connectionOf(account)).toMatchObject(now);
    await world.travel("2026-12-31T23:00:00Z");
    const then = {
      mandate_status: "signed",
      mandate_valid_from: "2027-01-01",
      mandate_valid_until: until,
      mandate_renewed_until: null,
      mandate_signed_at: "2026-11-20T12:00:00Z",
    };
    expect(await connectionOf(account), "before any job has run").toMatchObject(then);
    expect((await runJobs()).mandates_expired).toBeGreaterThan(0);
    expect(await connectionOf(account)).toMatchObject(then);
    expect(await positionOf(account)).toMatchObject({
      mandate_valid_from: "2027-01-01",
      checklist: { mandate_signed: true },
    });
    expect(await deliver(account, "2026-12", "2027-01")).toEqual(["ingested", "ingested"]);
  },
);

test("contract §2 only the years that are signed for count as signed: nobody renews twice, whatever they ask for", async () => {
  const account = await signedFor2026();
  await world.travel("2026-11-20T12:00:00Z");
  await signMandate(world, account.account_id);
  for (const validity_years of [1, 3, 5, null])
    expect(await issue(account, { validity_years })).toMatchObject({
      status: 409,
      body: { error: "mandate_already_signed" },
    });
  await world.travel("2027-11-01T12:00:00Z");
  expect((await issue(account)).status, "a year later it may be renewed again").toBe(200);
});

test("contract §2 who signs by one link voids the other; two who sign at once renew it once", async () => {
  const account = await signedFor2026();
  await world.travel("2026-11-20T12:00:00Z");
  const first = (await issue(account)).body.mandate_link;
  const second = (await issue(account)).body.mandate_link;
  expect((await open(first)).state, "a newer link voids the older").toBe("voided");
  await world.row(
    "update core.mandate_links set voided_at = null where token_hash = decode($1, 'hex')",
    tokenHash(first),
  );
  const sign = async (link: string) => {
    const { facts, periods } = await open(link);
    const code_hash = hashSecret(link);
    const mail = { template: "mandate_code", locale: "nl", content: { full_name: "S", partner_name: "P", code: "1" } };
    await world.environment.db.call("send_mandate_code", anyone, { token_hash: tokenHash(link), code_hash, mail });
    const request = {
      token_hash: tokenHash(link),
      code_hash,
      key: claimKey(world.environment),
      mail,
      signed_name: "S",
      document: "d",
      document_sha256: "h",
    };
    return () =>
      attempt(world.environment.db.call("sign_mandate", anyone, { ...request, facts: { ...facts, ...periods[0] } }), [
        "link_not_open",
        "mandate_changed",
      ]);
  };
  const both = [await sign(first), await sign(second)];
  const answers = await Promise.all(both.map((run) => run()));
  expect(answers.filter(({ refused }) => refused)).toHaveLength(1);
  expect([(await open(first)).state, (await open(second)).state].sort()).toEqual(["signed", "voided"]);
  expect(await connectionOf(account)).toMatchObject({ mandate_renewed_until: "2027-12-31" });
});

test("contract §2 a declined renewal changes nothing, neither now nor when the year is over", async () => {
  const account = await signedFor2026();
  await world.travel("2026-11-20T12:00:00Z");
  const before = await connectionOf(account);
  await decline((await issue(account)).body.mandate_link);
  expect(await connectionOf(account)).toEqual(before);
  expect((await issue(account)).status, "and they may still change their mind").toBe(200);
  await world.travel("2027-01-01T12:00:00Z");
  expect((await connectionOf(account)).mandate_status).toBe("expired");
});

test("contract §2 a first mandate that is declined says so, and so does one after a mandate has ended", async () => {
  const account = await createAccount(world);
  await decline((await issue(account)).body.mandate_link);
  expect((await connectionOf(account)).mandate_status).toBe("declined");
  const other = await signedFor2026();
  await world.travel("2027-02-01T12:00:00Z");
  await decline((await issue(other)).body.mandate_link);
  expect((await connectionOf(other)).mandate_status).toBe("declined");
});

describe("contract §2 the end of a mandate that was renewed", () => {
  async function renewed(): Promise<Account> {
    await world.travel("2026-06-15T12:00:00Z");
    const account = await signedFor2026();
    await deliver(account, "2026-04", "2026-05", "2026-06");
    await world.travel("2026-11-20T12:00:00Z");
    await deliver(account, "2026-10", "2026-11");
    await signMandate(world, account.account_id, world.partnerA, 3);
    return account;
  }

  test("the operator's revocation ends both, and covers nothing any more", async () => {
    const account = await renewed();
    await revoke(account);
    expect(await connectionOf(account)).toMatchObject({
      mandate_status: "revoked",
      mandate_valid_from: "2026-01-01",
      mandate_valid_until: "2026-12-31",
      mandate_renewed_until: null,
    });
    expect(await countedOf(account)).toEqual([]);
    await world.travel("2027-01-15T12:00:00Z");
    expect((await connectionOf(account)).mandate_status).toBe("revoked");
    expect(await deliver(account, "2027-01")).toEqual(["outside_mandate"]);
    expect((await issue(account)).status, "they can sign again").toBe(200);
  });

  test("the customer's withdrawal ends both, and leaves the whole months before it", async () => {
    const account = await renewed();
    await revoke(account, { asked_by_customer: true });
    expect(await connectionOf(account)).toMatchObject({ mandate_status: "revoked", mandate_renewed_until: null });
    const kept = ["2026-04", "2026-05", "2026-06", "2026-10"];
    expect(await monthsOf(account)).toEqual({
      ...Object.fromEntries(kept.map((period) => [period, "staged"])),
      "2026-11": "outside_mandate",
    });
    expect(await countedOf(account)).toEqual(kept);
    expect(await deliver(account, "2026-09", "2026-11"), "what comes later is judged alike").toEqual([
      "ingested",
      "outside_mandate",
    ]);
  });

  test("a correction of the EAN ends both, and what was signed for the old one covers nothing", async () => {
    const account = await renewed();
    await revoke(account, { asked_by_customer: true });
    const body = { account_id: account.account_id, connection: { ean_code: newEan() } };
    expect((await world.post("/v1/connections:update", body, await token())).status, "months still count by it").toBe(
      409,
    );
    expect(
      (await world.post("/v1/connections:update", { ...body, acknowledge_mandate_lapses: true }, await token())).status,
    ).toBe(200);
    expect(await countedOf(account)).toEqual([]);

    const other = await renewed();
    const correction = { account_id: other.account_id, connection: { ean_code: newEan() } };
    const answer = await world.post(
      "/v1/connections:update",
      { ...correction, acknowledge_mandate_lapses: true },
      await token(),
    );
    expect(answer.body).toMatchObject({ mandate_revoked: true, mandate_status: "revoked" });
    expect(await connectionOf(other)).toMatchObject({ mandate_renewed_until: null });
    expect(await countedOf(other)).toEqual([]);
  });
});

test.each([
  ["2026-06-30T21:59:59Z", ["2026-04", "2026-05"], "the last second of June in the Netherlands, in summer time"],
  ["2026-06-30T22:00:00Z", ["2026-04", "2026-05", "2026-06"], "1 July, midnight"],
  ["2026-10-31T23:00:00Z", ["2026-04", "2026-05", "2026-06"], "1 November, midnight in winter time"],
])("contract §2 withdrawn at %s, %j stay covered: %s", async (moment, kept) => {
  const account = await signedFor2026();
  await deliver(account, "2026-04", "2026-05", "2026-06");
  await world.travel(moment);
  await revoke(account, { asked_by_customer: true });
  expect(await countedOf(account)).toEqual(kept);
});

test("contract §2 withdrawn in its first month, a mandate covers nothing; in the January after, the year before stays", async () => {
  await world.travel("2026-01-20T12:00:00Z");
  const account = await createAccount(world);
  await signMandate(world, account.account_id);
  await deliver(account, "2026-01");
  await revoke(account, { asked_by_customer: true });
  expect(await countedOf(account)).toEqual([]);

  const other = await createAccount(world);
  await signMandate(world, other.account_id, world.partnerA, 3);
  await world.travel("2027-01-10T12:00:00Z");
  await deliver(other, "2026-12", "2027-01");
  await revoke(other, { asked_by_customer: true });
  expect(await countedOf(other)).toEqual(["2026-12"]);
});

describe("contract §2 for how many years", () => {
  const periodsOf = async (link: string) =>
    (await open(link)).periods.map(({ validity_years, valid_until }: Record<string, unknown>) => [
      validity_years,
      valid_until,
    ]);

  test("left out, the signatory chooses; given, nothing else is offered", async () => {
    const account = await createAccount(world);
    expect(await periodsOf((await issue(account)).body.mandate_link)).toEqual([
      [1, "2026-12-31"],
      [3, "2028-12-31"],
      [5, "2030-12-31"],
    ]);
    expect(await periodsOf((await issue(account, { validity_years: 3 })).body.mandate_link)).toEqual([
      [3, "2028-12-31"],
    ]);
  });

  test("in November and December a year is not over in weeks", async () => {
    await world.travel("2026-11-20T12:00:00Z");
    const account = await createAccount(world);
    expect(await periodsOf((await issue(account)).body.mandate_link)).toEqual([
      [1, "2027-12-31"],
      [3, "2028-12-31"],
      [5, "2030-12-31"],
    ]);
  });

  test("what the operator fixed for a partner holds where the CPO says nothing", async () => {
    const set = (mandate_years: number | null) =>
      world.row("update core.partners set mandate_years = $2 where id = $1", world.partnerA.id, mandate_years);
    await set(5);
    try {
      const account = await createAccount(world);
      expect(await periodsOf((await issue(account)).body.mandate_link)).toEqual([[5, "2030-12-31"]]);
      expect(await periodsOf((await issue(account, { validity_years: 1 })).body.mandate_link)).toEqual([
        [1, "2026-12-31"],
      ]);
    } finally {
      await set(null);
    }
  });

  test.each([
    ["another number of years than was fixed", { validity_years: 5, valid_until: "2030-12-31" }],
    ["a longer period than the years make", { validity_years: 3, valid_until: "2035-12-31" }],
    ["no number of years", { validity_years: undefined }],
    ["another fee", { fee_pct: 1 }],
  ])("a signature of %s is refused, and nothing is stored", async (_what, forged) => {
    const account = await createAccount(world);
    const link = (await issue(account, { validity_years: 3 })).body.mandate_link;
    const { facts, periods } = await open(link);
    const signing = world.environment.db.call("sign_mandate", anyone, {
      token_hash: tokenHash(link),
      facts: { ...facts, ...periods[0], ...forged },
      signed_name: "S",
      document: "d",
      document_sha256: "h",
    });
    expect((await attempt(signing, ["mandate_changed"])).refused?.code).toBe("mandate_changed");
    expect((await connectionOf(account)).mandate_status).toBe("pending");
  });

  test("the fee that was read is the fee that is agreed to: changed meanwhile, it is read again", async () => {
    const account = await createAccount(world);
    const link = (await issue(account)).body.mandate_link;
    const { facts, periods } = await open(link);
    expect(facts.fee_pct).toBe(20);
    await world.row("update core.partners set default_fee_pct = 25 where id = $1", world.partnerA.id);
    try {
      const signing = world.environment.db.call("sign_mandate", anyone, {
        token_hash: tokenHash(link),
        facts: { ...facts, ...periods[0] },
        signed_name: "S",
        document: "d",
        document_sha256: "h",
      });
      expect((await attempt(signing, ["mandate_changed"])).refused?.code).toBe("mandate_changed");
    } finally {
      await world.row("update core.partners set default_fee_pct = 20 where id = $1", world.partnerA.id);
    }
  });
});

// One quarter through its steps, as `operator quarter` shows them: where each partner stands, and what to type next.

import { afterAll, beforeAll, expect, test } from "vitest";
import { sealIban } from "#shared/values/iban.ts";
import { showQuarter } from "../../packages/operator/src/quarter.ts";
import { onScreen } from "../../packages/operator/src/text.ts";
import { operate } from "../operator/operator.ts";
import { createPayoutWorld, type PayoutWorld } from "./payout_world.ts";

let world: PayoutWorld;
beforeAll(async () => {
  world = await createPayoutWorld();
});
afterAll(() => world.close());

const read = async (...words: string[]) =>
  (await operate(["quarter", ...words], { OPERATOR_DATABASE_URL: world.database.url("operator") })).out;
const states = async (quarter = "2026-Q2") => (await world.done(`quarter ${quarter}`)).partners;

test("contract §8 quarter shows each step of a quarter, and the next command, which can be typed as it is", async () => {
  expect(await read("2026-Q2")).toBe(
    "2026-Q2: over. 0 partners with months or bookings, 3 without.\n\nNothing to type now.\n",
  );
  await world.customer({ "2026-04": 100, "2026-05": 200 });
  await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
  const iban = sealIban(world.environment, world.partnerA.id, "NL20INGB0001234567");
  await world.row(
    "update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = 'Partner A' where id = $1",
    world.partnerA.id,
    iban.ciphertext,
    iban.key_id,
    iban.last4,
  );
  await world.row("update core.partners set iban_changed_at = '2026-01-01'");
  const typed = async (step: string, state: object, command: string) => {
    expect(await states()).toMatchObject([{ partner_slug: "partner-a", next: { step }, ...state }]);
    const said = await read("2026-Q2");
    expect(said).toMatch(
      /^2026-Q2: over\. 1 partner with months or bookings, 2 without\.\n\npartner_slug +next +months/,
    );
    expect(said).toContain(`Next\n  npm run -s operator -- ${command}\n`);
  };
  await typed("open", { months: 2, kwh: 300, to_book: 2, open: 0 }, "booking open 2026-Q2");
  // told before anything is sold
  await world.row("update core.accounts set iban_checksum_ok = false");
  expect(await read("2026-Q2")).toMatch(/Cannot be paid\n.*iban_invalid +account show .*: its checksum is wrong/s);
  await world.row("update core.accounts set iban_checksum_ok = true");
  await world.done("booking open 2026-Q2");
  await typed("submit", { open: 1, submitted_kwh: 0 }, "booking submit 2026-Q2");
  await world.done("booking submit 2026-Q2");
  const named = "2026-Q2 --partner partner-a";
  await typed(
    "export",
    { to_book: 0, left_out: 0, open: 0, submitted_kwh: 300 },
    `booking export ${named} --out partner-a-2026-Q2.csv`,
  );
  await world.done(`booking export ${named} --out ${world.folder}/q2.csv`);
  await typed("credit", { credited_ere: 0 }, `booking credit ${named} --file <granted.csv>`);
  await world.done(`booking credit ${named}`);
  const sell = `sale record ${named} --ere`;
  await typed(
    "sell",
    { submitted_kwh: 0, credited_ere: 99.8082, sold_ere: 0 },
    `${sell} 99.8082 --price <euro> --buyer <name> --reference <reference>`,
  );
  await world.done(`${sell} 50 --price 0.42 --buyer B --reference Q-1`);
  await typed(
    "sell",
    { sold_ere: 50, gross_eur: 21, due_eur: 17.85 },
    `${sell} 49.8082 --price <euro> --buyer <name> --reference <reference>`,
  );
  await world.done(`${sell} 49.8082 --price 0.42 --buyer B --reference Q-2`);
  await typed("publish", { sold_ere: 99.8082, figures: false }, "figures publish 2026");
  await world.done("figures publish 2026");
  await typed("pay", { figures: true, paid_eur: 0 }, "payout prepare");
  const changed = async (at: string) => {
    await world.row(`update core.accounts set iban_changed_at = ${at}`);
    await world.row(`update core.partners set iban_changed_at = ${at}`);
  };
  await changed("private.now()");
  const nobody = await read("2026-Q2");
  expect(nobody).toMatch(
    /Next\n.* invoice issue 2026-Q2\n\nNobody can be paid now: `payout prepare` says why\.\n\nCannot be paid\n(.*iban_changed .* payout prepare after \d{4}-.*\n?)/s,
  );
  await changed("'2026-01-01'");
  const { batch_id } = (await world.anna("payout prepare --minimum 0")).json.batch;
  await typed("approve", { paid_eur: 0 }, `payout approve ${batch_id}`);
  await world.bram(["payout", "approve", batch_id, "--yes"]);
  await typed("send", {}, `payout export ${batch_id} --out 2026-Q2.xml`);
  await world.anna(["payout", "export", batch_id, "--out", `${world.folder}/q2.xml`]);
  await typed("settle", { paid_eur: 0 }, "payout answer --file <file of the bank>");
  await world.anna(["payout", "settle", batch_id]);
  const [{ due_eur, paid_eur }] = await states();
  expect(paid_eur).toEqual(due_eur);
  // of a partner that cannot be invoiced yet, the command says what is missing
  await typed("invoice", {}, "invoice issue 2026-Q2");
  expect((await world.done("invoice issue 2026-Q2")).left_out).toMatchObject([{ reason: "vat_regime_missing" }]);
  await typed("invoice", {}, "invoice issue 2026-Q2");
  await world.row(
    'update core.partners set vat_regime = \'none\', company = \'{"street": "Kade", "city": "Breda"}\' where id = $1',
    world.partnerA.id,
  );
  await world.done("invoice issue 2026-Q2");
  expect(await states()).toMatchObject([{ next: { step: "done" } }]);
  expect(await read("2026-Q2")).toMatch(/Nothing to type now\.\n$/);
});

test("contract §8 quarter has a line for each partner on a screen of 120 characters", () => {
  const partner = { partner_slug: "laadpunten-zuid", next: { step: "publish" }, months: 1234, kwh: 1234567.891 };
  const ere = { to_book: 0, left_out: 12, credited_ere: 410716.9012, sold_ere: 410716.9012 };
  const shown = { ...partner, ...ere, due_eur: 137568.12, paid_eur: 137568.12, figures: true };
  const answer = { quarter: "2026-Q2", over: true, last_day: "2026-06-30", partners: [shown], without: 0 };
  const [, table = ""] = onScreen({ width: 120 }, () => showQuarter(answer)).split("\n\n");
  expect(table.split("\n")).toHaveLength(2);
});

test.each([
  ["export", "booking export 2026-Q2 --all --to out"],
  ["credit", "booking credit --file <granted.csv>"],
  ["sell", "sale record 2026-Q2 --all --price <euro> --buyer <name> --reference <reference>"],
])("contract §8 quarter types the step %s once for all partners, and for one by its name", (step, command) => {
  const partners = ["zuid", "west", "oost"].map((partner_slug) => ({ partner_slug, next: { step, ere: 1 } }));
  const answer = { quarter: "2026-Q2", over: true, without: 0 };
  expect(showQuarter({ ...answer, partners })).toMatch(new RegExp(`\n\nNext\n {2}npm run -s operator -- ${command}$`));
  expect(showQuarter({ ...answer, partners: partners.slice(1, 2) })).toMatch(/2026-Q2 --partner west/);
});

test("contract §8 quarter says who completes a refusal, and sends nobody to a customer's commands for a partner", () => {
  const payee = { payee: "0b0d1e00", partner_slug: "zuid", is_partner: true, amount_eur: 5, until: null };
  const unpayable = ["iban_missing", "name_unreadable"].map((reason) => ({ ...payee, reason }));
  const next = { step: "settle", batch: "b-1", rejecting: true };
  const shown = showQuarter({ quarter: "2026-Q2", over: true, partners: [{ partner_slug: "zuid", next }], unpayable });
  expect(shown).toContain("operator -- payout reject b-1 --reason <why>");
  expect(shown.match(/partner show zuid: they give/g)).toHaveLength(2);
  expect(shown).not.toMatch(/account show|payout name/);
});

test("contract §8 quarter names one command where several partners wait for the same, and counts what is below the minimum", () => {
  const partners = ["noord", "zuid", "west"].map((partner_slug, n) => ({
    partner_slug,
    next: { step: n < 2 ? "export" : "sell", ere: 3 },
  }));
  const payee = { payee: "0b0d1e00", partner_slug: "zuid", is_partner: false, amount_eur: 1.25, until: null };
  const unpayable = Array.from({ length: 60 }, () => ({ ...payee, reason: "below_minimum" }));
  const barred = { ...payee, reason: "iban_failed" };
  const shown = showQuarter({ quarter: "2026-Q2", over: true, partners, unpayable: [...unpayable, barred] });
  expect(shown.match(/operator -- .*/g)).toEqual([
    "operator -- booking export 2026-Q2 --all --to out",
    "operator -- sale record 2026-Q2 --partner west --ere 3 --price <euro> --buyer <name> --reference <reference>",
  ]);
  expect(shown).toMatch(/Cannot be paid\n.*\n.*iban_failed/);
  expect(shown).toContain(
    "Below the minimum: 60 payees, € 75.00 in all. It waits for more; payout prepare --minimum 0 pays who can be paid now.",
  );
});

test("contract §8 quarter names a booking by its id where a quarter has several, and shows months that cannot be booked", async () => {
  await world.customer({ "2026-06": 50 });
  await world.done("booking open 2026-Q2");
  await world.done("booking submit 2026-Q2");
  const { bookings } = await world.done("booking list 2026-Q2 --partner partner-a");
  const second = bookings.find(({ number }: { number: number }) => number === 2);
  expect(await read("2026-Q2")).toContain(`booking export ${second.booking_id} --out partner-a-2026-Q2.csv`);

  const { connection_id } = await world.customer({ "2026-05": 10 }, world.partnerB);
  await world.done(`mandate revoke ${connection_id}`);
  expect(await states()).toMatchObject([
    { partner_slug: "partner-a", next: { step: "export" } },
    { partner_slug: "partner-b", left_out: 1, next: { step: "preview" } },
  ]);
  expect(await read("2026-Q2", "--partner", "partner-b")).toMatch(/booking preview 2026-Q2 --partner partner-b\n$/);
});

test("contract §8 quarter names the invoices while all that is owed is below the minimum, and says that nobody can be paid after that", async () => {
  await world.customer({ "2026-04": 100 }, world.partnerB);
  await world.row(
    'update core.partners set vat_regime = \'none\', company = \'{"street": "Kade", "city": "Breda"}\' where id = $1',
    world.partnerB.id,
  );
  const named = "2026-Q2 --partner partner-b";
  for (const command of [
    ...["booking open", "booking submit", "booking credit"].map((step) => `${step} ${named}`),
    `sale record ${named} --ere 33.2694 --price 0.1 --buyer B --reference small`,
  ])
    await world.done(command);
  const next = async () => (await world.done(`quarter ${named}`)).partners[0].next.step;
  expect(await next()).toBe("invoice");
  expect(await read("2026-Q2", "--partner", "partner-b")).toMatch(
    /Next\n.* invoice issue 2026-Q2\n\nNobody can be paid now: .*\n\nBelow the minimum: 2 payees/s,
  );
  await world.done(`invoice issue ${named}`);
  expect(await next()).toBe("pay");
  expect(await read("2026-Q2", "--partner", "partner-b")).toMatch(
    /Nothing to type now\.\n\nNobody can be paid now: .*\n\nBelow the minimum: 2 payees/s,
  );
});

test("contract §8 quarter says when a quarter is over that runs, and of one partner that it has nothing", async () => {
  expect(await read("2026-Q3")).toMatch(
    /^2026-Q3: runs until 2026-09-30, and its bookings can be submitted after that\. 0 partners/,
  );
  await world.customer({ "2026-07": 10 }, world.partnerB);
  expect(await states("2026-Q3")).toMatchObject([{ partner_slug: "partner-b", to_book: 1, next: { step: "wait" } }]);
  expect((await world.done("quarter 2026-Q3 --partner partner-a")).partners).toMatchObject([
    { partner_slug: "partner-a", months: 0, next: { step: "deliver" } },
  ]);
});

test.each([
  ["2026-q2", "A quarter is written 2026-Q2, from 2026-Q1 on."],
  ["2026-Q5", "A quarter is written 2026-Q2, from 2026-Q1 on."],
  ["2025-Q4", "A quarter is written 2026-Q2, from 2026-Q1 on."],
  ["zomer", "A quarter is written 2026-Q2, from 2026-Q1 on."],
  ["2026-Q4", "2026-Q4 has not begun; nothing is delivered for it yet."],
  ["2031-Q1", "2031-Q1 has not begun; nothing is delivered for it yet."],
])("contract §8 quarter %s is refused in a sentence", (quarter, sentence) =>
  world.refused(`quarter ${quarter}`, sentence),
);

test.each([
  "booking preview 2031-Q1",
  "booking open 2031-Q1",
  "booking submit 2031-Q1",
  "booking withdraw 2031-Q1 --partner partner-a",
  "booking list 2031-Q1",
  "booking export 2031-Q1 --all --to out",
  "booking export 2031-Q1 --out x.csv",
  "booking credit 2031-Q1",
  "sale record 2031-Q1 --ere 1 --price 1 --buyer B --reference R",
  "sale record 2031-Q1 --all --price 1 --buyer B --reference R",
  "invoice issue 2031-Q1 --all",
])("contract §8 a quarter that has not begun is refused as such, whatever the command: %s", (command) =>
  world.refused(command, "2031-Q1 has not begun; nothing is delivered for it yet."),
);

// A quarter from kWh to euro as a person at the command line reads it: tables, sentences, and the same as JSON.

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../packages/local/src/checkout.ts";
import { placeOf, writePrivate } from "../../packages/operator/src/private_file.ts";
import { operate } from "../operator/operator.ts";
import type { Customer } from "./ere_world.ts";
import { createPayoutWorld, type PayoutWorld } from "./payout_world.ts";

let world: PayoutWorld;
beforeAll(async () => {
  world = await createPayoutWorld();
});
afterAll(() => world.close());

const keys = () => ({
  IBAN_KEYS: JSON.stringify(world.environment.config.IBAN_KEYS),
  PAYOUT_ACCOUNT_NAME: "ERE Service B.V.",
  PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567",
});
const type = (command: string | string[], login: "operator" | "operator_anna" | "operator_bram" = "operator") =>
  operate(typeof command === "string" ? command.split(" ") : command, {
    OPERATOR_DATABASE_URL: world.database.url(login),
    ...keys(),
  });
/** What it printed for a person; it succeeded and had nothing to complain about. */
async function read(command: string | string[], login?: "operator_anna" | "operator_bram"): Promise<string> {
  const { code, out, err } = await type(command, login);
  expect([command, code, err]).toEqual([command, 0, expect.not.stringContaining("error")]);
  return out;
}
const columns = (...names: string[]) => new RegExp(`^${names.join(" +")}`, "m");

test("contract §8 each step of a quarter, as a person reads it and as JSON", async () => {
  await world.customer({ "2026-04": 100, "2026-05": 200 });
  await world.customer();
  await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
  const csv = join(world.folder, "preview.csv");

  expect(await read("factor list")).toMatch(
    columns("delivery_year", "renewable_share", "ere_per_kwh", "bookable_until"),
  );
  expect(await read("factor set 2027 --share 0.52")).toMatch(/^Factor set\.\n {2}delivery_year +2027\n/);
  expect(await read("factor set 2027 --share 0.52")).toMatch(/^Nothing to change: it was so already\./);
  const preview = await read(`booking preview 2026-Q2 --csv ${csv}`);
  expect(preview).toMatch(/^Implausible, but included: 0 months\n {2}none\n\nTaken in\n/);
  expect(preview).toContain("2026-Q2: 2 months, 300 kWh, 99.8082 ERE would be booked.");
  expect(readFileSync(csv, "utf8").split("\r\n")).toHaveLength(4);

  expect(await read("booking open 2026-Q2")).toMatch(
    /^Opened\. The months are taken in when it is submitted\.\nrun_id +booking_id +quarter/,
  );
  expect(await read("booking open 2026-Q2")).toMatch(/^Nothing to open: these are already open\.\n/);
  const took = await read("booking submit 2026-Q2");
  expect(took).toMatch(/^Submitted\. Its months are locked\. Export it for the register\.\n\n/);
  expect(took).toMatch(columns("booking_id", "quarter", "number", "partner_slug", "status"));
  expect(took).not.toContain("Nothing to change");
  expect(await read("booking submit 2026-Q2")).toContain("Nothing to change: no month was added.");
  const out = join(world.folder, "register.csv");
  expect(await read(`booking export 2026-Q2 --out ${out}`)).toMatch(
    /^Written\. [^\n]*\n[\s\S]* {2}sha256 +[0-9a-f]{64}\n {2}file +\//,
  );
  expect(await read("booking credit 2026-Q2")).toMatch(/^Credited\.\n/);
  expect(await read("booking list")).toMatch(/2026-Q2 +1 +partner-a +submitted +2 +300 /);

  const selling = "sale record 2026-Q2 --ere 50 --price 0.42 --buyer B --reference V-1";
  expect(await read(selling)).toMatch(/^Sale recorded\.\n[\s\S]* {2}gross_eur +21\.00\n/);
  expect(await read(selling)).toMatch(/^Nothing to change: it was so already\./);
  expect(await read("sale list")).toMatch(/^reference +quarter[^\n]*\nV-1 /);
  expect(await read("sale show V-1")).toMatch(
    /^V-1 sold 50 ERE of partner-a, 2026-Q2, to B for € 21\.00\.\n\n {2}sale_id [\s\S]*\n\nrow_id +ean_code +period +ere +gross_eur/,
  );
  expect(await read("figures publish 2026")).toMatch(/^Published\.\npartner_slug +delivery_year/);
  expect(await read("figures publish 2026")).toMatch(/^Nothing to change: they are already published\.\n/);
  expect(await read("figures list")).toMatch(/partner-a +2026 +0\.332694 +0\.42 /);

  const prepared = await read("payout prepare", "operator_anna");
  expect(prepared).toMatch(
    /^Batch \S+ is prepared: 1 payment, € 16\.80 in all\.\nNext, another operator: payout approve /,
  );
  expect(prepared).not.toContain("minimum_eur");
  const batch = /^Batch ([0-9a-f-]{36})/.exec(prepared)?.[1] ?? "";
  expect(await read("payout prepare", "operator_anna")).toMatch(/^Nobody can be paid now\./);
  expect(await read(`payout show ${batch}`)).toMatch(
    columns("line_id", "reference", "payee", "partner_slug", "name", "iban"),
  );
  expect(await read(`payout approve ${batch} --yes`, "operator_bram")).toMatch(
    / is approved: [^\n]*\nNext: payout export /,
  );
  const file = join(world.folder, "bank.xml");
  expect(await read(`payout export ${batch} --out ${file}`, "operator_anna")).toMatch(
    /^Written to \/[^\n]*bank\.xml\. Send it to the bank\.\n[^\n]* is exported/,
  );
  expect(await read("payout list")).toMatch(/ exported +1 +16\.80 /);
  expect(await read(`payout settle ${batch}`, "operator_anna")).toMatch(/^1 line paid, 0 failed\.\n/);
  expect(await read(`payout settle ${batch}`, "operator_anna")).toMatch(/^Nothing to change: it was so already\.\n/);
  // the ten characters on the statement, or the bank's EndToEndId: the id of the line without its dashes
  expect(await read(`payout show ${batch}`)).toMatch(
    /^Batch \S+ is settled: 1 payment, € 16\.80 in all, 1 paid and 0 failed\.\n\n/,
  );
  expect(await read(`payout show ${batch} --verbose`)).toMatch(/\n {2}minimum_eur +5\.00\n/);
  const [line] = JSON.parse(await read(`payout show ${batch} --json`)).lines;
  expect(await read(`account show ${line.payee}`)).toMatch(
    /^Sanne de Vries, of partner-a, has 1 connection, a signed mandate and a balance of € 0\.00\.\n\n/,
  );
  expect(await read("partner show partner-a")).toMatch(
    /^partner-a is active, with 2 accounts and 0 customers it brought\.\n\n/,
  );
  expect(await read(`payout overview ${line.payee} 2026`)).toMatch(
    /^In 2026 € 16\.80 was sold for this customer after the fee, and € 16\.80 was paid\.\n\n/,
  );
  expect(line.reference).toMatch(/^[34679ACDEFGHJKMNPQRTWXY]{10}$/);
  expect(readFileSync(file, "utf8")).toContain(`<Ustrd>ERE 2026-08-15 ${line.reference}</Ustrd>`);
  const typed = [line.reference, line.line_id.replaceAll("-", "")].flatMap((reference) => [
    reference,
    reference.toUpperCase(),
    reference.toLowerCase(),
    reference.replace(/(.{4})(?=.)/g, "$1 "),
  ]);
  for (const text of typed)
    expect(JSON.parse(await read(["customer", "find", text, "--json"])).customers).toMatchObject([{ id: line.payee }]);
  expect(await read("ledger check")).toMatch(/^Everything agrees\.\n\ncheck +found\n/);

  for (const command of [
    "factor list",
    "booking preview 2026-Q2",
    "booking list",
    "sale list",
    "sale show V-1",
    "figures list",
    "payout list",
    `payout show ${batch}`,
    "ledger check",
  ])
    expect(JSON.parse(await read(`${command} --json`))).toBeTypeOf("object");
});

test("contract §8 payout prepare says why somebody is left out, and what to do", async () => {
  const [customer] = await world.sold([100], { partner: world.partnerB });
  await world.setIban(customer as Customer, "DE89370400440532013000", 1);
  expect(await read("payout prepare", "operator_anna")).toContain(
    "\niban_changed: the IBAN was given or changed less than 48 hours ago, and we wait in case somebody else did it; run payout prepare again after that.\n",
  );
  await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
});

test("contract §8 a booking that finds nothing says where to read why", async () => {
  const { connection_id } = await world.customer({ "2026-01": 10 }, world.partnerB);
  await read("booking open 2026-Q1 --partner partner-b");
  await world.done(`mandate revoke ${connection_id}`);
  expect(await read("booking submit 2026-Q1 --partner partner-b")).toContain(
    "partner-b has no month that can be booked, so its booking stays open; booking preview 2026-Q1 --partner partner-b says why.",
  );
});

test("contract §8 a booking is opened only where a month waits for it, and nothing is said to be open where nothing is", async () => {
  for (const command of ["booking open 2026-Q3 --partner partner-b", "booking open 2026-Q3"])
    expect(await read(command)).toBe(
      "Nothing to open: no month of this quarter waits to be booked. booking preview shows the reasons.\n",
    );
  expect(JSON.parse(await read("booking list --status open --partner partner-b --json")).bookings).not.toContainEqual(
    expect.objectContaining({ quarter: "2026-Q3" }),
  );
});

test("contract §8 a decimal comma is refused, and a point asked for", async () => {
  const { code, err } = await type(
    "sale record 2026-Q2 --partner partner-a --ere 1 --price 0,42 --buyer B --reference K",
  );
  expect([code, err]).toEqual([1, expect.stringContaining("Decimals, six at most, have a point: 0.42.")]);
});

test("contract §8 payout approve names whom it pays before it asks, and asks nothing about what is approved", async () => {
  await world.sold([100, 33.33], { partner: world.partnerB });
  const prepared = await read("payout prepare", "operator_anna");
  const batch = /^Batch ([0-9a-f-]{36})/.exec(prepared)?.[1] ?? "";
  const approve = (options: string[], confirm: ((question: string) => Promise<boolean>) | null) =>
    operate(
      ["payout", "approve", batch, ...options],
      { OPERATOR_DATABASE_URL: world.database.url("operator_bram") },
      { confirm },
    );
  let asked = 0;
  const preparer = await operate(
    ["payout", "approve", batch],
    { OPERATOR_DATABASE_URL: world.database.url("operator_anna") },
    { confirm: async () => Boolean(++asked) },
  );
  expect([preparer.code, preparer.err, asked], "four eyes, before anybody is asked").toEqual([
    1,
    `error: operator_anna prepared the batch ${batch}, so somebody else has to approve it.\n`,
    0,
  ]);
  const refused = await approve([], async () => false);
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(
    /^operator_anna prepared \d payments?, € [\d.]+ in all:\nname +iban +amount_eur +partner_slug\n/,
  );
  expect(refused.err).toMatch(/\*{4} 4300 +80\.00 +partner-b\n/);
  expect(refused.err).toMatch(/\*{4} 4300 +26\.67 +partner-b\n/);
  expect((await approve(["--json"], null)).err).toContain("Nobody is here to be asked: add --yes.");
  const done = await approve(["--yes", "--json"], null);
  expect([done.code, done.err, done.json.changed]).toEqual([0, "", true]);
  // nothing is left to ask about
  const again = await approve([], null);
  expect([again.code, again.err, again.out]).toEqual([0, "", expect.stringMatching(/^Nothing to change/)]);
  await read(`payout cancel ${batch} --reason done --yes`, "operator_anna");
});

test("contract §8 a file without a folder goes to ./out, which is closed to others; git ignores it, and such files at the root", () => {
  const cwd = process.cwd();
  const root = mkdtempSync(join(world.folder, "checkout-"));
  process.chdir(root);
  try {
    expect(["q.csv", "out", "out/q.csv", "./q.csv", "../q.csv", "/srv/q.csv", "."].map(placeOf)).toEqual([
      ...["out/q.csv", "out", "out/q.csv", "./q.csv", "../q.csv", "/srv/q.csv", "."],
    ]);
    writePrivate(placeOf("q.csv"), "ean");
    expect([statSync("out").mode & 0o777, statSync("out/q.csv").mode & 0o777]).toEqual([0o700, 0o600]);
  } finally {
    process.chdir(cwd);
  }
  const ignored = (path: string) => spawnSync("git", ["check-ignore", "-q", path], { cwd: ROOT }).status === 0;
  for (const path of ["out/any.pdf", "q.csv", "bank.xml", "evidence.zip"])
    expect([path, ignored(path)]).toEqual([path, true]);
  for (const path of ["docs/q.csv", "tests/ere/bank.xml", "packages/out/q.ts", "openapi.json"])
    expect([path, ignored(path)]).toEqual([path, false]);
});

test("contract §8 a file that cannot be written is said before anything is done for it; one for the bank is closed to others", async () => {
  await world.sold([100], { partner: world.partnerB });
  const prepared = await read("payout prepare", "operator_anna");
  const batch = /^Batch ([0-9a-f-]{36})/.exec(prepared)?.[1] ?? "";
  await read(`payout approve ${batch} --yes`, "operator_bram");
  const folder = join(world.folder, "folder");
  mkdirSync(folder);
  for (const out of [join(world.folder, "nowhere", "bank.xml"), folder]) {
    const { code, err } = await type(`payout export ${batch} --out ${out}`, "operator_anna");
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(`^error: ${out} cannot be written \\((ENOENT|EISDIR)\\)\\.\n$`),
    ]);
  }
  expect(await read(`payout show ${batch}`)).toMatch(/ is approved: /);
  const there = join(world.folder, "there.xml");
  writeFileSync(there, "of yesterday");
  chmodSync(there, 0o644);
  await read(`payout export ${batch} --out ${there}`, "operator_anna");
  expect(statSync(there).mode & 0o777).toBe(0o600);
  expect(readFileSync(there, "utf8")).toMatch(/^<\?xml/);
});

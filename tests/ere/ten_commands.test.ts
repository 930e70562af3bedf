// A quarter of many partners by ten commands, typed. QUARTER_PARTNERS says how many; 3 if it is not set.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Papa from "papaparse";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operate } from "../operator/operator.ts";
import { bankEntry, camt } from "./bank_files.ts";
import { createPayoutWorld, type PayoutWorld, type Run } from "./payout_world.ts";

const PARTNERS = Number(process.env.QUARTER_PARTNERS ?? 3);

let world: PayoutWorld;
beforeAll(async () => {
  world = await createPayoutWorld();
});
afterAll(() => world.close());

test("contract §8 a quarter of all partners takes ten commands; files, credits, sales and invoices go to the right one", async () => {
  const partners = [world.partnerA, world.partnerB];
  while (partners.length < PARTNERS) partners.push(await world.addPartner());
  for (const [n, partner] of partners.entries()) await world.customer({ "2026-04": 100 + n }, partner);
  await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
  await world.row(
    `update core.partners set vat_regime = 'none', company = '{"name": "P", "street": "Kade", "city": "Breda"}' where slug <> 'service'`,
  );
  const typed = async (run: Run, command: string[]) => {
    const { code, err, json } = await run(command);
    expect([command.slice(0, 2), code, err]).toEqual([command.slice(0, 2), 0, expect.not.stringContaining("error")]);
    return { ...json, err };
  };
  const early = ["sale", "record", "2026-Q2", "--all", "--price", "1", "--buyer", "B", "--reference", "BR-0", "--yes"];
  const { out } = await operate(early, { OPERATOR_DATABASE_URL: world.database.url("operator") });
  expect(out, "before anything is credited").toMatch(/^Nothing to sell: no booking/);
  const folder = join(world.folder, "out");
  await typed(world.run, ["booking", "open", "2026-Q2"]);
  await typed(world.run, ["booking", "submit", "2026-Q2"]);
  const exported = await typed(world.run, ["booking", "export", "2026-Q2", "--all", "--to", folder]);
  expect(exported.err, "a table before it asks").toMatch(/partner_slug +number +rows/);
  const names = readdirSync(folder);
  expect(names).toHaveLength(partners.length);
  expect(names).toContain("partner-a-2026-Q2.csv");
  for (const name of names) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);

  // what the register grants, of all in one file: the first partner gets less
  const granted = names.flatMap(
    (name) =>
      Papa.parse<Record<string, string>>(readFileSync(join(folder, name), "utf8").trim(), { header: true }).data,
  );
  const file = join(world.folder, "granted.csv");
  const lines = granted.map(({ row_id, kwh }) => (kwh === "100.000" ? `${row_id},90,a part` : `${row_id},${kwh},`));
  writeFileSync(file, ["row_id,accepted_kwh,reason", ...lines, "0b0d1e00-0000-4000-8000-00000000000a,1,"].join("\n"));
  await world.refused(["booking", "credit", "--file", file], /Line \d+.*is not a row of this booking/);
  // of one booking a row is wrong: nothing of any is credited
  const wrong = lines.map((line, n) => (n === lines.length - 1 ? `${granted[n]?.row_id},999999,` : line));
  writeFileSync(file, ["row_id,accepted_kwh,reason", ...wrong].join("\n"));
  const before = await world.row("select count(*)::int as credits from core.credits");
  const { code, err } = await world.run(["booking", "credit", "--file", file]);
  expect([code, err]).toEqual([1, expect.stringMatching(/more kWh than were submitted\. Nothing was credited\.\n$/)]);
  expect(await world.row("select count(*)::int as credits from core.credits")).toEqual(before);
  writeFileSync(file, ["row_id,accepted_kwh,reason", ...lines].join("\n"));
  const credited = await typed(world.run, ["booking", "credit", "--file", file]);
  expect([credited.changed, credited.bookings.length]).toEqual([true, partners.length]);
  // what is answered is not sent to the register again
  const again = await world.run(["booking", "export", "2026-Q2", "--all", "--to", folder]);
  expect([again.code, again.err]).toEqual([
    1,
    expect.stringContaining("No booking of 2026-Q2 waits for the register."),
  ]);
  expect((await world.done(["booking", "credit", "--file", file])).changed).toBe(false);
  expect((await world.done("booking list 2026-Q2 --partner partner-a")).bookings).toMatchObject([{ accepted_kwh: 90 }]);

  const sale = ["sale", "record", "2026-Q2", "--all", "--price", "0.333333", "--buyer", "B", "--reference", "BR-1"];
  await world.refused([...sale, "--ere", "1"], "takes no --ere");
  await world.refused(["sale", "record", "2026-Q2", "--price", "1", "--buyer", "B", "--reference", "x"], "Give --ere");
  const sold = await typed(world.run, sale);
  const cents = sold.sales.map(({ gross_eur }: { gross_eur: number }) => Math.round(gross_eur * 100));
  expect(sold.sales).toHaveLength(partners.length);
  expect(sold.gross_eur).toBe(cents.reduce((sum: number, each: number) => sum + each, 0) / 100);
  expect(sold.err).toContain(`invoice the buyer € ${sold.gross_eur.toFixed(2)}`);
  expect(await typed(world.run, sale)).toMatchObject({ changed: false, gross_eur: sold.gross_eur });
  await typed(world.run, ["figures", "publish", "2026"]);
  // reversed in part of the run: a repeat invoices what stands, and names what the reference cannot sell
  const reversed = sold.sales[0];
  await typed(world.run, [
    ...["sale", "reverse", "BR-1", "--partner", reversed.partner_slug, "--reason", "withdrew", "--yes"],
  ]);
  const standing = sold.gross_eur - reversed.gross_eur;
  const repeated = await typed(world.run, sale);
  expect([repeated.changed, repeated.gross_eur]).toEqual([false, Number(standing.toFixed(2))]);
  expect(repeated.unsold).toMatchObject([{ partner_slug: reversed.partner_slug, unsold_ere: reversed.ere }]);
  expect(repeated.err).toContain(`invoice the buyer € ${standing.toFixed(2)}`);
  expect(repeated.err).toContain("the reference is taken");
  expect(await typed(world.run, sale.with(-1, "BR-1b"))).toMatchObject({
    changed: true,
    sales: [{ partner_slug: reversed.partner_slug, gross_eur: reversed.gross_eur }],
    unsold: [],
  });

  const { batch } = await typed(world.anna, ["payout", "prepare", "--minimum", "0"]);
  await typed(world.bram, ["payout", "approve", batch.batch_id, "--yes"]);
  await typed(world.anna, ["payout", "export", batch.batch_id, "--out", join(world.folder, "q2.xml")]);
  const message = "camt.053.001.08";
  const entry = bankEntry(message, { amount: batch.amount_eur.toFixed(2), batch: batch.batch_id.replaceAll("-", "") });
  writeFileSync(join(world.folder, "camt.xml"), camt(message, [entry]));
  expect(await typed(world.anna, ["payout", "answer", "--file", join(world.folder, "camt.xml")])).toMatchObject({
    said: [{ outcome: "paid" }],
  });
  const issued = await typed(world.run, ["invoice", "issue", "2026-Q2", "--all"]);
  expect(issued.invoices).toHaveLength(partners.length);
  expect(issued.err, "with the numbers they will have").toContain("2026-0001");
  await world.agrees();
}, 600_000);

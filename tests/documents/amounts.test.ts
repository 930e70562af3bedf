// What the PDFs of a customer say in euro, against the ledger: payments that came back, sales taken back, and what was settled.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createPayoutWorld, type PayoutWorld } from "../ere/payout_world.ts";
import { readPdf } from "../harness/pdf.ts";

let world: PayoutWorld;
beforeAll(async () => {
  world = await createPayoutWorld();
});
afterAll(() => world.close());

/** The euros of a PDF in cents, in the order in which they are read. */
async function centsOf(pdf: Uint8Array): Promise<number[]> {
  const { cells } = await readPdf(pdf);
  const text = cells
    .map((cell) => cell.text)
    .join(" ")
    .replace(/\s+/g, " ");
  return [...text.matchAll(/(\u2212 )?€ ([\d.]+,\d{2,6})/g)].map(
    ([, minus, euro = ""]) => (minus ? -1 : 1) * Math.round(Number(euro.replaceAll(".", "").replace(",", ".")) * 100),
  );
}

const render = () => world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });

test("contract §3 statements and the overview of a year are to the cent what the ledger has", async () => {
  const [customer] = await world.sold([33.33]);
  if (!customer) throw new Error("nobody was sold for");
  const { account_id } = customer;
  const pay = async () => {
    const { batch_id } = await world.exported();
    expect((await world.anna(["payout", "settle", batch_id])).code).toBe(0);
    return batch_id;
  };
  const inLedger = async (kind: string) => Math.round(((await world.balances(kind))[account_id] ?? 0) * 100);
  /** The amount, the net of the months and what was settled, of each statement; the oldest first. */
  const statements = async () => {
    await render();
    const { rows } = await world.database.admin.query(
      `select d.pdf, l.amount, private.statement_content(d) as content from core.documents d
         join core.payout_lines l on l.partner_id = d.partner_id and l.id = d.line_id where d.account_id = $1 order by l.arrival`,
      [account_id],
    );
    return Promise.all(
      rows.map(async ({ pdf, content }) => {
        const cents = await centsOf(pdf);
        // each month has price, gross, fee and net; their sum has no price
        expect(cents.length, JSON.stringify(cents)).toBe(
          1 + content.rows.length * 4 + 3 + (Number(content.other) === 0 ? 0 : 1),
        );
        const months = cents.slice(1, 1 + content.rows.length * 4).filter((_, place) => place % 4 === 3);
        const total = cents[content.rows.length * 4 + 3] ?? Number.NaN;
        expect(
          months.reduce((sum, each) => sum + each, 0),
          JSON.stringify(cents),
        ).toBe(total);
        return { amount: cents[0] ?? Number.NaN, total, other: cents[content.rows.length * 4 + 4] ?? 0 };
      }),
    );
  };
  /** Every statement comes to its amount, and all of them to what arrived at the bank. */
  const agree = async (expected: [amount: number, total: number, other: number][]) => {
    const shown = await statements();
    expect(shown.map(({ amount, total, other }) => [amount, total, other])).toEqual(expected);
    for (const { amount, total, other } of shown) expect(total + other).toBe(amount);
    expect(shown.reduce((sum, { amount }) => sum + amount, 0)).toBe(await inLedger("bank"));
    await world.agrees();
  };

  const first = await pay();
  await world.sell(customer, 66.67, "2026-05");
  await pay();
  await agree([
    [2667, 2667, 0],
    [5334, 5334, 0],
  ]);

  const [line] = await world.linesOf(first);
  expect((await world.anna(["payout", "settle", "--failed", line?.line_id ?? ""])).err).toBe("");
  await agree([[5334, 5334, 0]]);

  await world.setIban(customer, "NL20INGB0001234567");
  await pay();
  await agree([
    [5334, 5334, 0],
    [2667, 2667, 0],
  ]);

  await world.done(["sale", "reverse", "V-1", "--reason", "the buyer withdrew", "--recover", "--yes"]);
  await world.sell(customer, 100.01, "2026-06");
  await pay();
  await agree([
    [5334, 5334, 0],
    [2667, 2667, 0],
    [5334, 8001, -2667],
  ]);

  // a sale that the next payments keep back, and of which some is still owed
  await world.done(["sale", "reverse", "V-2", "--reason", "the buyer withdrew", "--recover", "--yes"]);
  await world.travel("2027-01-10T12:00:00Z");
  const { pdf } = await overview(account_id);
  const cents = await centsOf(pdf);
  const [paid, net] = cents;
  expect(paid, "what arrived").toBe(await inLedger("bank"));
  expect(net, "what was sold, less what was taken back").toBe((await inLedger("bank")) + (await inLedger("customer")));
  // 33.33, 66.67 and 100.01, of which the first two were taken back, each with price, gross, fee and net; then the sum
  const table = cents.slice(2, 2 + 5 * 4 + 3);
  const nets = table.slice(0, 20).filter((_, place) => place % 4 === 3);
  expect(nets.toSorted((one, other) => one - other)).toEqual([-5334, -2667, 2667, 5334, 8001]);
  expect(table.at(-1)).toBe(net);
  expect(cents.slice(25)).toEqual([5334, 2667, 5334, 13335]);
});

/** The overview of 2026, which is written once somebody asks for it. */
async function overview(account_id: string): Promise<{ pdf: Uint8Array }> {
  await world.row("select private.overview_document(a, 2026) from core.accounts a where a.id = $1", account_id);
  await render();
  return world.row("select pdf from core.documents where account_id = $1 and year = 2026", account_id);
}

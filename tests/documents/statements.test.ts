import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPayoutWorld, type PayoutWorld } from "../ere/payout_world.ts";
import { readPdf } from "../harness/pdf.ts";
import type { World } from "../harness/world.ts";
import { mailedCode, newBrowser, prove, signedClaim } from "../pages/claimant.ts";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";

const render = (world: World) =>
  world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });

/** What an account's statements say, the oldest first. */
async function statementsOf(world: World, account_id: string) {
  const { rows } = await world.database.admin.query(
    `select private.statement_content(d) as content, d.pdf from core.documents d
       join core.payout_lines l on l.partner_id = d.partner_id and l.id = d.line_id
      where d.account_id = $1 order by l.arrival`,
    [account_id],
  );
  return rows as { content: Record<string, unknown> & { rows: Record<string, string>[] }; pdf: Buffer | null }[];
}

describe("contract §3 statements", () => {
  let world: PayoutWorld;
  beforeAll(async () => {
    world = await createPayoutWorld();
  });
  afterAll(() => world.close());

  const pay = async () => {
    const { batch_id } = await world.exported();
    const settled = await world.anna(["payout", "settle", batch_id]);
    expect([settled.code, settled.err]).toEqual([0, ""]);
    return batch_id;
  };

  /** The months, the rest and the amount of each. */
  const linesOn = async (account_id: string) =>
    (await statementsOf(world, account_id)).map(({ content }) => [
      content.rows.map(({ period, net }) => `${period} ${net}`),
      content.other,
      content.amount,
    ]);

  test("each payout to a customer has one, of what it paid and nothing else; the rows come to the amount", async () => {
    const [customer] = await world.sold([10]);
    if (!customer) throw new Error("nobody was paid");
    expect(await statementsOf(world, customer.account_id)).toEqual([]);
    await pay();
    await world.sell(customer, 20, "2026-05");
    await world.sell(customer, 30, "2026-06");
    await pay();
    const [first, second] = await statementsOf(world, customer.account_id);
    const month = { ean_code: customer.ean_code, kwh: "3.006", ere: "1.000000" };
    expect(first?.content).toEqual({
      locale: "nl",
      customer: "Sanne de Vries",
      logo: null,
      reference: expect.stringMatching(/^[34679ACDEFGHJKMNPQRTWXY]{10}$/),
      paid_on: "2026-08-15",
      iban_last4: "4300",
      paid_to: null,
      rows: [{ ...month, period: "2026-04", price: "10.000000", gross: "10.00", fee: "2.00", net: "8.00" }],
      totals: { kwh: "3.006", ere: "1.000000", gross: "10.00", fee: "2.00", net: "8.00" },
      other: "0.00",
      amount: "8.00",
    });
    expect(second?.content).toMatchObject({
      rows: [
        { period: "2026-05", net: "16.00" },
        { period: "2026-06", net: "24.00" },
      ],
      totals: { kwh: "6.012", gross: "50.00", fee: "10.00", net: "40.00" },
      other: "0.00",
      amount: "40.00",
    });

    expect(await render(world)).toMatchObject({ body: { ok: true } });
    const [{ pdf } = { pdf: null }] = await statementsOf(world, customer.account_id);
    const { text, tagged } = await readPdf(pdf as Buffer);
    expect(tagged).toBe(true);
    for (const said of [
      "Sanne de Vries",
      "€ 8,00",
      "april 2026",
      "3,0",
      "rekening die eindigt op 4300",
      "Teststraat 1, 1234 AB Teststad",
      "KvK-nummer 12345678",
      "Per ERE",
      "€ 10,00",
    ])
      expect(text).toContain(said);
  });

  test("a month that was sold at two prices has a row for each, also where one payment pays both", async () => {
    const [customer] = await world.sold([10], { period: "2026-02" });
    if (!customer) throw new Error("nobody was paid");
    const sale = "sale record 2026-Q1 --partner partner-a --ere 1 --buyer B --reference";
    await world.done(`${sale} second --price 20.5`);
    await pay();
    await world.done(`${sale} third --price 30`);
    await pay();
    const [first, second] = await statementsOf(world, customer.account_id);
    const month = { period: "2026-02", kwh: "3.006", ere: "1.000000" };
    expect(first?.content).toMatchObject({
      rows: [
        { ...month, price: "10.000000", gross: "10.00", fee: "2.00", net: "8.00" },
        { ...month, price: "20.500000", gross: "20.50", fee: "4.10", net: "16.40" },
      ],
      totals: { kwh: "6.012", ere: "2.000000", gross: "30.50", fee: "6.10", net: "24.40" },
      other: "0.00",
      amount: "24.40",
    });
    expect(second?.content).toMatchObject({ rows: [{ ...month, price: "30.000000", net: "24.00" }], amount: "24.00" });
    await render(world);
    const [{ pdf } = { pdf: null }] = await statementsOf(world, customer.account_id);
    const { text } = await readPdf(pdf as Buffer);
    expect(text.match(/februari 2026/g)).toHaveLength(2);
    for (const said of ["€ 10,00", "€ 20,50", "€ 24,40"]) expect(text).toContain(said);
    await world.agrees();
  });

  test("of two payments of which the bank makes the later one first, each has its own months", async () => {
    const [customer] = await world.sold([10]);
    if (!customer) throw new Error("nobody was paid");
    const { batch_id: earlier } = await world.exported();
    await world.sell(customer, 20, "2026-05");
    const { batch_id: later } = await world.exported();
    await world.anna(["payout", "settle", later]);
    const periods = async () =>
      (await statementsOf(world, customer.account_id)).map(({ content }) => [
        content.rows.map(({ period }) => period),
        content.other,
      ]);
    expect(await periods()).toEqual([[["2026-05"], "0.00"]]);
    await world.anna(["payout", "settle", earlier]);
    expect(await periods()).toEqual([
      [["2026-04"], "0.00"],
      [["2026-05"], "0.00"],
    ]);
  });

  test("what retention deleted, of sales or of payments, moves no month to another statement", async () => {
    const [customer] = await world.sold([10], { period: "2026-01" });
    if (!customer) throw new Error("nobody was paid");
    await pay();
    await world.sell(customer, 20, "2026-04");
    const last = async () =>
      (await statementsOf(world, customer.account_id))
        .map(({ content }) => [content.rows.map(({ period }) => period), content.other])
        .at(-1);
    const states = async () =>
      (
        await world.database.admin.query(
          "select amount::float, state from private.payments($1, 'customer', $2) order by amount",
          [world.partnerA.id, customer.account_id],
        )
      ).rows;
    // the months of the first quarter go, and what paid them is younger
    await world.row("select private.forget_bookings('2026-04-01', 1000)");
    expect(await states()).toEqual([{ amount: 16, state: "pending" }]);
    await pay();
    expect(await last()).toEqual([["2026-04"], "0.00"]);
    expect(await states()).toEqual([{ amount: 16, state: "paid" }]);
    // then every payment that there was, and months that they paid stay
    await world.sell(customer, 5, "2026-05");
    await world.row("update core.payout_batches set settled_at = '2026-06-01' where status = 'settled'");
    await world.row("update core.payout_lines set paid_at = '2026-06-01' where status = 'paid'");
    await world.row("select private.forget_payouts('2026-07-01', 1000)");
    expect(await states()).toEqual([{ amount: 4, state: "pending" }, expect.objectContaining({ amount: 16 })]);
    await world.sell(customer, 10, "2026-06");
    await pay();
    expect(await last()).toEqual([["2026-05", "2026-06"], "0.00"]);
    await world.agrees();
  });

  test("a payment that came back has none any more, and its months are on that of the next one", async () => {
    const [customer] = await world.sold([10]);
    if (!customer) throw new Error("nobody was paid");
    const batch_id = await pay();
    await render(world);
    const [line] = await world.linesOf(batch_id);
    const failed = await world.anna(["payout", "settle", "--failed", line?.line_id ?? ""]);
    expect(failed.err).toBe("");
    expect(await statementsOf(world, customer.account_id)).toEqual([]);

    await world.setIban(customer, "NL20INGB0001234567");
    await world.sell(customer, 20, "2026-05");
    await pay();
    const statements = await statementsOf(world, customer.account_id);
    expect(statements.map(({ content }) => content)).toMatchObject([
      { iban_last4: "4567", amount: "24.00", other: "0.00", rows: [{ period: "2026-04" }, { period: "2026-05" }] },
    ]);
  });

  test("an older payment that comes back after a newer one: each month is on the statement of the line that paid it", async () => {
    const [customer] = await world.sold([50]);
    if (!customer) throw new Error("nobody was paid");
    const first = await pay();
    await world.sell(customer, 100, "2026-05");
    await pay();
    const [line] = await world.linesOf(first);
    expect((await world.anna(["payout", "settle", "--failed", line?.line_id ?? ""])).err).toBe("");
    await world.setIban(customer, "NL20INGB0001234567");
    await pay();
    expect(await linesOn(customer.account_id)).toEqual([
      [["2026-05 80.00"], "0.00", "80.00"],
      [["2026-04 40.00"], "0.00", "40.00"],
    ]);
    await world.agrees();
  });

  test("a sale that was taken back, and whose payment came back after the next one kept it, is given back on no month", async () => {
    const [customer] = await world.sold([50]);
    if (!customer) throw new Error("nobody was paid");
    const first = await pay();
    const { reference } = await world.row(
      "select s.reference from core.sales s join core.allocations a on a.sale_id = s.id where a.account_id = $1",
      customer.account_id,
    );
    await world.done(["sale", "reverse", reference, "--reason", "sold twice", "--recover", "--yes"]);
    await world.sell(customer, 100, "2026-05");
    await pay(); // 80 less 40
    const [line] = await world.linesOf(first);
    expect((await world.anna(["payout", "settle", "--failed", line?.line_id ?? ""])).err).toBe("");
    await world.setIban(customer, "NL20INGB0001234567");
    await pay();
    expect(await linesOn(customer.account_id)).toEqual([
      [["2026-05 80.00"], "-40.00", "40.00"],
      [[], "40.00", "40.00"],
    ]);
    await world.agrees();
  });

  test("a sale that was taken back after it was paid stays on its statement, and is settled on the next", async () => {
    const [customer] = await world.sold([10]);
    if (!customer) throw new Error("nobody was paid");
    await pay();
    const before = (await statementsOf(world, customer.account_id))[0]?.content;
    const { id: sale } = await world.row(
      "select s.id from core.sales s join core.allocations a on a.sale_id = s.id where a.account_id = $1",
      customer.account_id,
    );
    await world.travel("2026-08-16T12:00:00Z");
    await world.done(["sale", "reverse", sale, "--reason", "sold twice", "--recover", "--yes"]);
    expect((await statementsOf(world, customer.account_id))[0]?.content).toEqual(before);
    await world.sell(customer, 30, "2026-05");
    await pay();
    const second = (await statementsOf(world, customer.account_id))[1]?.content;
    expect(second).toMatchObject({ amount: "16.00", totals: { net: "24.00" }, other: "-8.00" });
  });
});

describe("contract §3 the page of a claim", () => {
  let world: SandboxWorld;
  beforeAll(async () => {
    world = await createSandboxWorld({ limits: "lifted" });
  });
  afterAll(() => world.close());

  /** A customer who was paid, in a browser that proved the address. */
  async function paid() {
    const { draft_id, email, claim_url } = await world.draft();
    const { status, body } = await world.claim(draft_id, { submit: true });
    expect(status).toBe(200);
    expect((await world.play(body.account_id, "review", { outcome: "goedgekeurd" })).status).toBe(200);
    const settled = await world.send("/sandbox/v1/settle", {
      method: "POST",
      token: world.keyA,
      body: { quarter: "2026-Q2" },
    });
    expect(settled.status, JSON.stringify(settled.body)).toBe(200);
    await render(world);
    const ask = newBrowser(world);
    const draft = { id: draft_id, email, link: claim_url };
    expect((await prove(world, ask, draft)).status, await mailedCode(world, draft)).toBe(303);
    return { ask, draft, account_id: body.account_id as string };
  }

  test("lists what was paid, each with its statement, for nobody else", async () => {
    const { ask, draft, account_id } = await paid();
    const page = await ask(draft.link);
    const [, statement = ""] = /href="([^"]*\/statement\/[0-9a-f-]{36})[?"]/.exec(page.text) ?? [];
    expect(page.text).toContain("Wat u kreeg");
    const read = await ask(statement);
    expect([read.status, read.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect(read.headers.get("content-disposition")).toMatch(
      /^inline; filename="statement-2026-11-20-[3-9A-Y]{10}\.pdf"$/,
    );
    const [{ pdf } = { pdf: null }] = await statementsOf(world, account_id);
    const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(pdf as Buffer));
    expect(read.headers.get("repr-digest")).toBe(`sha-256=:${Buffer.from(digest).toString("base64")}:`);

    // a browser that proved nothing, and the browser of another claim
    expect((await newBrowser(world)(statement)).status).toBe(303);
    const other = await signedClaim(world);
    expect((await other.ask(statement)).status).toBe(303);
    const line = statement.split("/").at(-1);
    const theirs = await other.ask(`${other.draft.link}/statement/${line}`);
    expect([theirs.status, theirs.headers.get("content-type")]).not.toContain("application/pdf");
  });

  test("has the signed mandate as a document too, which is not there before it is rendered", async () => {
    const { draft, ask } = await signedClaim(world);
    expect((await ask(draft.link)).text).toContain("Bewaar als pdf");
    const early = await ask(`${draft.link}/pdf`);
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "5"]);
    await render(world);
    const there = await ask(`${draft.link}/pdf`);
    expect([there.status, there.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect((await newBrowser(world)(`${draft.link}/pdf`)).status).toBe(303);
  });

  test("a reset takes documents away with what they are of", async () => {
    const { account_id } = await paid();
    const held = await world.rows(
      "select line_id is null as of_mandate from core.documents where account_id = $1 order by 1",
      account_id,
    );
    expect(held).toEqual([{ of_mandate: false }, { of_mandate: true }]);
    expect((await world.reset()).status).toBe(200);
    expect(await world.rows("select id from core.documents where account_id = $1", account_id)).toEqual([]);
  });
});

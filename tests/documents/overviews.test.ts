import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readPdf } from "../harness/pdf.ts";
import { newBrowser } from "../pages/claimant.ts";
import { browserOf, type Customer, createCustomerWorld, mijn, newCustomer, paidCustomer } from "../pages/customer.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";

describe("contract §3 a customer's year as a document", () => {
  let world: SandboxWorld;
  let paid: Customer;
  let other: Customer;
  beforeAll(async () => {
    world = await createCustomerWorld();
    paid = await paidCustomer(world);
    other = await newCustomer(world);
  });
  afterAll(() => world.close());

  const render = () => world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
  const at = (account_id: string, year: number) => mijn(world, `/overview/${account_id}/${year}`);

  test("is there once the year is over, says what was sold and paid in it, and is written again where that changed", async () => {
    const early = await browserOf(world, paid);
    expect((await early(mijn(world, "/earnings"))).text, "the year goes on").not.toContain("Jaaroverzicht 2026");
    expect((await early(at(paid.account_id, 2026))).status).toBe(404);
    await world.travel("2027-01-10T12:00:00Z");
    const ask = await browserOf(world, paid);
    expect((await ask(mijn(world, "/earnings"))).text).toContain("Jaaroverzicht 2026");
    const first = await ask(at(paid.account_id, 2026));
    expect([first.status, first.headers.get("retry-after")], "it is written when it is asked for").toEqual([503, "5"]);
    await render();
    const read = async () => {
      const answer = await ask(at(paid.account_id, 2026));
      expect(answer.headers.get("content-type"), answer.text).toBe("application/pdf");
      const { pdf } = await world.row(
        "select pdf from core.documents where account_id = $1 and year = 2026",
        paid.account_id,
      );
      return readPdf(pdf);
    };
    const written = await read();
    expect(written.title).toBe("Jaaroverzicht 2026");
    const { amount } = await world.row("select amount from core.payout_lines where account_id = $1", paid.account_id);
    const text = written.tags.flatMap(function all(tag): string[] {
      return [tag.text, ...tag.children.flatMap(all)];
    });
    expect(text.join(" ").replace(/\s/g, "")).toContain(`€${String(amount).replace(".", ",")}`);
    const { reference, kwh } = await world.row(
      `select (select private.payment_reference(id) from core.payout_lines where account_id = $1) as reference,
              (select round(sum(m.total_kwh), 2)::float as kwh from core.delivered_months m join core.connections c on c.id = m.connection_id
                where c.account_id = $1 and m.period between '2026-04-01' and '2026-06-01')`,
      paid.account_id,
    );
    const shown = new Intl.NumberFormat("nl-NL", { maximumFractionDigits: 0 }).format(kwh);
    for (const part of [reference, shown]) expect(text.join("")).toContain(part);

    // a sale of that year is noted later: its rows are of a sandbox, so by hand
    await world.row(
      "update core.sales set sold_on = '2026-01-02' where id in (select sale_id from core.allocations where account_id = $1)",
      paid.account_id,
    );
    expect((await ask(at(paid.account_id, 2026))).status, "it says something else by now").toBe(503);
    await render();
    await read();
    expect(
      await world.rows("select id from core.documents where account_id = $1 and year = 2026", paid.account_id),
    ).toHaveLength(1);

    // seven whole years later it need not be kept
    for (const [border, kept] of [
      ["2026-01-01", 1],
      ["2027-01-01", 0],
    ] as const) {
      await world.row("select private.forget_payouts($1, 1000)", border);
      expect(await world.rows("select id from core.documents where year = 2026"), border).toHaveLength(kept);
    }
  });

  test("has the logo of the partner that brought the customer, as a statement has, until they stop sharing", async () => {
    await world.row(
      "insert into core.partner_logos (partner_id, png, hash, width, height) values ($1, 'png', sha256('png'), 40, 20) returning 1",
      world.partnerA.id,
    );
    const logos = () =>
      world.row(
        `select private.statement_content(d) -> 'logo' ->> 'name' as statement, private.overview_content(a, 2026) -> 'logo' ->> 'name' as overview
           from core.accounts a join core.documents d on d.account_id = a.id and d.line_id is not null where a.id = $1`,
        paid.account_id,
      );
    const { name } = await world.row(
      "select private.partner_display_name(p) as name from core.partners p where p.id = $1",
      world.partnerA.id,
    );
    expect(await logos()).toEqual({ statement: name, overview: name });
    await world.row("select private.stop_sharing($1, $2)", paid.user_id, world.partnerA.id);
    expect(await logos()).toEqual({ statement: null, overview: null });
  });

  test("is the customer's own: nobody else's, and of no year in which there was nothing", async () => {
    await world.travel("2027-01-10T12:00:00Z");
    const ask = await browserOf(world, other);
    for (const [account_id, year] of [
      [paid.account_id, 2026],
      [other.account_id, 2026],
      [other.account_id, 2025],
      [other.account_id, 2098],
    ] as const)
      expect((await ask(at(account_id, year))).status).toBe(404);
    expect((await newBrowser(world)(at(paid.account_id, 2026))).location).toContain("/mijn/sign-in");
  });
});

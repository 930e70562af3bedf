// What accounts of a partner's CPO clients need and earn, on its pages: counted, each where it is dealt with, and what was paid.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, newEan } from "../harness/people.ts";
import { later, type SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, heading } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
let stranger: Browser;
let token: string;
/** Settled through the CPO: 100 kWh of April were credited and paid, May was rejected; both came by a file. */
let via: Account;

type Account = Awaited<ReturnType<typeof createAccount>> & { ean: string };

async function newAccount(name: string, fields: object = {}): Promise<Account> {
  const ean = newEan();
  const account = await createAccount(world, world.partnerA, {
    display_name: name,
    connection: { ean_code: ean, postal_code: "3818 LH", house_number: "8", street: "Dorpsstraat", city: "Amersfoort" },
    ...fields,
  });
  return { ...account, ean };
}
/** With a charger, a mandate and an approved registration. */
async function complete({ account_id, connection_id }: Account): Promise<void> {
  await world.post("/v1/chargers", { account_id, ...MID_CHARGER, serial_number: account_id }, token);
  await signMandate(world, account_id, world.partnerA);
  await world.row(
    "update core.connections set registration_status = 'goedgekeurd' where id = $1 returning 1",
    connection_id,
  );
}
const settle = (body: object) =>
  world.send("/sandbox/v1/settle", { method: "POST", token: world.keyA, body: { quarter: "2026-Q2", ...body } });

beforeAll(async () => {
  world = await createCustomerWorld();
  token = await world.partnerA.client.token();
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
  await world.row(
    `update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '4300', iban_holder = 'x', vat_regime = 'none',
       company = '{"street": "Kade", "city": "Breda"}' where id = $1 returning 1`,
    world.partnerA.id,
  );
  via = await newAccount("Vera Via", { payout_handler: "via_cpo_invoicing" });
  await complete(via);
  const file = await world.send("/v1/uploads", {
    method: "POST",
    token,
    raw: `cpo_external_ref;period;total_kwh\n${via.account.cpo_external_ref};2026-04;100\n${via.account.cpo_external_ref};2026-05;50\n`,
    headers: { "content-type": "text/csv" },
  });
  expect(file.status, JSON.stringify(file.body)).toBe(200);
  const { status, body } = await settle({ reject: ["2026-05"] });
  expect(status, JSON.stringify(body)).toBe(200);
});
afterAll(() => world.close());

const words = (text: string) =>
  text
    .replace(/<[^>]+>/g, " ")
    .replaceAll("\u00a0", " ")
    .replace(/\s+/g, " ");

/** What needs attention: its words, whether it is marked as serious, and where it leads. */
async function attention(browser: Browser = ask) {
  const { text } = await browser(portal(world));
  const [list = ""] = /<section aria-labelledby="attention">.*?<\/section>/s.exec(text) ?? [];
  return [...list.matchAll(/<li><a href="([^"]*)"><span class="what"><strong>([^<]*)<(.*?)<\/li>/gs)].map(
    ([, href = "", said, rest = ""]) => ({
      said,
      grave: rest.includes("houdt geld tegen"),
      href: href
        .replace("/pages/portal", "")
        .replaceAll("&amp;", "&")
        .replace(/[?&]lang=../, "")
        .replace(/^([^?&]*)&/, "$1?"),
    }),
  );
}
const namesIn = (text: string) =>
  [...text.matchAll(/role="rowheader"><a href="[^"]*customers\/[-_0-9a-z]{36}[^>]*>(?:<code>)?([^<]*)/g)].map(
    ([, n]) => n,
  );
const follow = async (said: RegExp) => {
  const line = (await attention()).find((each) => said.test(each.said ?? ""));
  expect(line, String(said)).toBeDefined();
  return { ...line, names: namesIn((await ask(portal(world, line?.href.split("#")[0]))).text) };
};

describe("contract §3 what a CPO is paid, on its pages", () => {
  test("each payment with what is in it; and for each customer what GET /v1/settlements answers", async () => {
    const { settlements } = (await world.get("/v1/settlements", token)).body;
    expect(settlements).toMatchObject([{ account_id: via.account_id, amount_eur: 10.65, status: "paid" }]);
    const [{ payment_reference }] = settlements;
    const { reference } = await world.row(
      "select private.payment_reference(private.line_id_of($1)) as reference",
      payment_reference,
    );
    const { text } = await ask(portal(world, "/payouts"));
    // 33.2694 ERE at € 0.40 are € 13.31, of which 20 % is the fee, and a quarter of that the partner's
    expect(words(text)).toMatch(/Betalingen aan u.*€ 11,31 € 0,66 € 0,00 € 10,65/);
    expect(text).toContain(`/payouts/settlements?lang=nl&amp;payment=${payment_reference}`);
    for (const query of ["", `?payment=${payment_reference}`, `?payment=${reference}`]) {
      const page = await ask(portal(world, `/payouts/settlements${query}`));
      expect([page.status, heading(page.text)]).toEqual([200, "Voor uw klanten"]);
      expect(words(page.text)).toMatch(/Vera Via KL-\S+ € 10,65/);
      expect(page.text).toContain(`/customers/${via.account_id}`);
      expect(page.text).toContain(reference);
      const csv = (await ask(portal(world, `/payouts/settlements.csv${query}`))).text;
      expect(csv.split("\r\n")[1]).toContain(`"Vera Via";"${via.account.cpo_external_ref}";10,65;"Betaald"`);
    }
    const none = "0".repeat(32);
    const [, pdf = ""] =
      /href="([^"]*\/payouts\/settlements\/[-0-9a-f]{36}[^"]*)"/.exec(
        (await ask(portal(world, "/payouts/settlements"))).text,
      ) ?? [];
    expect(pdf).toContain(settlements[0].settlement_id);
    await world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
    const { status, headers } = await ask(pdf);
    expect([status, headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect((await stranger(pdf)).status, "nobody else's").toBe(404);
    const unknown = portal(world, "/payouts/settlements/00000000-0000-4000-8000-000000000000");
    expect((await ask(unknown)).status).toBe(404);

    expect((await ask(portal(world, `/payouts/settlements?payment=${none}`))).text).toContain("Bij dit kenmerk");
    expect((await ask(portal(world, "/payouts/settlements?lang=en"))).text).toContain("For your customers");
  });

  test("beside the invoices it says why what is invoiced is another amount", async () => {
    const said = async () => (await ask(portal(world, "/payouts"))).text.includes("Daarom verschillen de bedragen.");
    expect(await said(), "without an invoice").toBe(false);
    await world.row(
      "select private.issue_invoices(t, '2026-04-01', 'test') from core.partners t where id = $1",
      world.partnerA.id,
    );
    expect(await said()).toBe(true);
  });

  test("attack: another partner reads nothing of it, whatever reference it names", async () => {
    const { payment_reference } = (await world.get("/v1/settlements", token)).body.settlements[0];
    for (const page of ["/payouts", "/payouts/settlements", `/payouts/settlements?payment=${payment_reference}`]) {
      const { text } = await stranger(portal(world, page));
      expect(text).not.toMatch(/Vera|10,65|11,31/);
    }
    expect((await stranger(portal(world, `/payouts/settlements.csv?payment=${payment_reference}`))).text).not.toContain(
      "Vera",
    );
    expect((await ask(portal(world, "/payouts/settlements?payment=' or 1=1"))).status).toBe(200);
  });

  test("the page of an account has its EAN, what the year yields, and the file that brought each month", async () => {
    const { text } = await ask(portal(world, `/customers/${via.account_id}`));
    const said = words(text);
    expect(said).toMatch(new RegExp(`Aansluiting \\(EAN\\) ${via.ean} hoort bij dit adres`));
    const [{ ere }] = (await world.get(`/v1/ere-positions?cpo_external_ref=${via.account.cpo_external_ref}`, token))
      .body.positions;
    expect(ere).toMatchObject({ delivery_year: 2026, kwh_counted: 100, gross_eur: 13.31, net_eur: 10.65 });
    expect(said).toMatch(
      /Wat 2026 oplevert kWh die meetellen 100,0 kWh ERE, geschat 33,27 waarvan 33,27 gecrediteerd en 33,27 verkocht .*€ 13,31 .*€ 10,65 na 20% kosten/,
    );
    expect(said).toContain("U rekent zelf af met deze klant");
    expect(said).toContain("Een maand is afgewezen door het register.");
    expect(said, "and why").toMatch(/mei 2026 50,0 Afgewezen .{0,12}Het register zegt: “rejected in a rehearsal”/);
    const { id } = await world.row("select id from core.uploads where partner_id = $1", world.partnerA.id);
    expect(text).toMatch(new RegExp(`/uploads/${id}[^>]*>bestand</a> upload <code>${id}</code>`));
    expect((await stranger(portal(world, `/customers/${via.account_id}`))).status).toBe(404);
    const fresh = await newAccount("Nora Nieuw");
    await world.post(
      "/v1/sessions:batch",
      { account_id: fresh.account_id, months: [{ period: "2026-10", total_kwh: 7 }] },
      token,
    );
    const other = words((await ask(portal(world, `/customers/${fresh.account_id}?lang=nl`))).text);
    expect(other).toMatch(/verzoek [-0-9a-f]{36}/);
    expect(other).toContain("Wij betalen deze klant zelf.");
  });
});

describe("§4.2 what needs attention of its accounts and clients leads to exactly those", () => {
  test("a rejected month, first and as serious, until it is delivered again", async () => {
    const line = await follow(/maand afgewezen/);
    expect(line).toMatchObject({
      said: "Van 1 klant uit uw software is een maand afgewezen. Lever die opnieuw",
      grave: true,
      href: "/customers?needs=months",
      names: ["Vera Via"],
    });
    const months = [{ period: "2026-05", total_kwh: 50 }];
    await world.post("/v1/sessions:batch", { account_id: via.account_id, months }, token);
    expect((await attention()).some(({ said }) => said?.includes("afgewezen"))).toBe(false);
    expect(namesIn((await ask(portal(world, "/customers?needs=months"))).text)).toEqual([]);
  });

  test("an account number that is wrong, as serious; its page says how to mend it", async () => {
    const wrong = await newAccount("Ingrid Iban", { iban: "NL92ABNA0417164300" });
    const line = await follow(/rekeningnummer niet/);
    expect(line).toMatchObject({ grave: true, href: "/customers?needs=iban", names: ["Ingrid Iban"] });
    expect((await ask(portal(world, `/customers/${wrong.account_id}`))).text).toContain("POST /v1/accounts");
    await complete(wrong);
  });

  test("who has not signed, and whose EAN is not of the address", async () => {
    const open = await newAccount("Evert Ean");
    await complete(open);
    await world.row(
      "update core.connections set ean_validation_status = 'mismatch' where id = $1 returning 1",
      open.connection_id,
    );
    expect(await follow(/handtekening/)).toMatchObject({
      said: "Bij 1 klant uit uw software wacht de machtiging op een handtekening",
      grave: false,
      names: ["Nora Nieuw"],
    });
    expect(await follow(/\(EAN\)/)).toMatchObject({ href: "/customers?needs=ean", names: ["Evert Ean"] });
    expect((await ask(portal(world, `/customers/${open.account_id}`))).text).toContain("hoort niet bij dit adres");
  });

  test("webhooks of a client that fail or are off, and sessions that wait for a charger, on the client's page", async () => {
    const { client } = world.partnerA;
    for (const [status, failing] of [
      ["disabled", null],
      ["enabled", later(-60)],
    ])
      await world.row(
        `insert into core.webhook_endpoints (partner_id, id, owner_id, url, status, disabled_reason, secret_ciphertext, secret_key_id, delivered_to, failing_since)
         values ($1, gen_random_uuid(), $2, 'https://client.example/' || $3, $3, case when $3 = 'disabled' then 'gone' end, 'x', 'x', 0, $4) returning 1`,
        world.partnerA.id,
        client.id,
        status,
        failing,
      );
    const sessions = ["a", "b"].map((session_id) => ({
      session_id,
      external_ref: "PAAL-12",
      started_at: "2026-11-01T10:00:00Z",
      ended_at: "2026-11-01T11:00:00Z",
      kwh: 7,
    }));
    const parked = await world.post("/v1/charging-sessions", { sessions }, token);
    expect([parked.status, parked.body.parked], JSON.stringify(parked.body)).toEqual([200, 2]);
    const page = `/settings/clients/${client.id}`;
    const lines = (await attention()).filter(({ href }) => href.startsWith(page));
    expect(lines.map(({ said, href }) => [said, href])).toEqual([
      ["Test client: 1 webhook staat uit", `${page}#webhooks`],
      ["Test client: 1 webhook geeft fouten", `${page}#webhooks`],
      ["Test client: 2 laadbeurten wachten op een laadpaal die wij niet kennen", `${page}#parked`],
    ]);
    const list = (await ask(portal(world, "/settings/clients"))).text;
    expect(list, "the list leads to what its chip says").toContain(`${page}?lang=nl#webhooks`);
    const { text } = await ask(portal(world, page));
    expect(words(text)).toMatch(/Laadbeurten die wachten op een laadpaal .* PAAL-12 external_ref 2/);
    const webhooks = (await ask(portal(world, "/settings/webhooks"))).text;
    expect(words(webhooks)).toMatch(/Webhooks van uw API-clients .*Test client 1 aan, 1 uit/);
    expect(webhooks).toContain(`${page}?lang=nl#webhooks`);
    expect((await attention(stranger)).map(({ href }) => href)).not.toContain(page);
  });

  test("the last payment to the partner that failed, and what to do by what the bank said", async () => {
    const failed = (reason: string, effect: string) =>
      world.row(
        "update core.payout_lines set status = 'failed', paid_at = null, failed_at = private.now(), iban_last4 = '4300', failed_reason = $2, failed_effect = $3 where payee_id = $1 returning 1",
        world.partnerA.id,
        reason,
        effect,
      );
    expect((await attention()).some(({ said }) => said?.includes("betaling aan u"))).toBe(false);
    await failed("MS03", "none");
    expect((await attention())[0]).toMatchObject({ grave: true, href: "/payouts" });
    await failed("AC04", "account");
    expect((await attention())[0]).toEqual({
      said: "Onze laatste betaling aan u is mislukt. Controleer uw rekeningnummer",
      grave: true,
      href: "/settings/account",
    });
  });

  test("counts end at a thousand, and the list finds all of up to a thousand among any number of accounts", async () => {
    const { partnerA } = world;
    await world.row(
      `insert into core.accounts (partner_id, client_id, type, display_name, payout_handler, created_at, iban_checksum_ok)
       select $1, $2, 'particulier', 'Klant ' || n, 'via_cpo_invoicing', private.now() + make_interval(secs => n), true
         from generate_series(1, 3000) n returning 1`,
      partnerA.id,
      partnerA.client.id,
    );
    // three thousand are newer
    expect(namesIn((await ask(portal(world, "/customers?needs=iban"))).text)).toEqual(["Ingrid Iban"]);
    await world.row(
      "update core.accounts set iban_checksum_ok = false where partner_id = $1 and display_name like 'Klant %' returning 1",
      partnerA.id,
    );
    expect((await attention()).find(({ href }) => href.includes("iban"))?.said).toMatch(/^Van 1\.000 of meer klanten/);
  });
});

// The first of a customer's own pages: what they got and may expect, and how far they are, by whom.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { quarterNames } from "../../supabase/functions/pages/mijn/money.ts";
import type { MijnFrame } from "../../supabase/functions/pages/mijn/request.ts";
import { giveBooking } from "../harness/booked.ts";
import { createAccount } from "../harness/people.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { newBrowser } from "./claimant.ts";
import { browserOf, type Customer, createCustomerWorld, mijn, newCustomer, paidCustomer, signIn } from "./customer.ts";
import { newAddress, signedCustomer } from "./signatory_customer.ts";

let world: SandboxWorld;
let paid: Customer;
beforeAll(async () => {
  world = await createCustomerWorld();
  paid = await paidCustomer(world);
});
afterAll(() => world.close());

/** The text of a page, without tags and with plain spaces. */
const main = (page: string) =>
  (/<main[^>]*>([\s\S]*)<\/main>/.exec(page)?.[1] ?? "")
    .replace(/<[^>]+>/g, " ")
    .replaceAll("&#39;", "'")
    .replace(/\s+/g, " ");
const overviewOf = async (customer: Customer, query = "") =>
  (await (await browserOf(world, customer))(mijn(world, query))).text;
/** The steps of the timeline, each with its state. */
const steps = (page: string) =>
  [...page.matchAll(/<li class="(done|now|yours|later|ended)"[^>]*><strong>([^<]*)/g)].map(
    ([, state, name]) => `${name}: ${state}`,
  );
/** A personal token of a customer. */
async function tokenOf({ user_id }: Customer): Promise<string> {
  const token = `${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`;
  await world.row(
    `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
     values ($1, 'Home', decode($2, 'hex'), $3, '{energy:read}') returning 1`,
    user_id,
    hashSecret(token),
    token.slice(-4),
  );
  return token;
}
/** What ERE brought on average, for the customers of the service. */
const publish = (price: string | null) =>
  world.row(
    `insert into core.figures (partner_id, delivery_year, price) select private.people_tenant(), 2026, $1::numeric
     on conflict on constraint figures_pkey do update set price = excluded.price returning 1`,
    price,
  );

describe("contract §6 the first page says what a customer got, and what is still to come", () => {
  test("paid this year in large, the estimate apart, and the quarters in three kinds that add up", async () => {
    await publish("0.42");
    const page = await overviewOf(paid);
    const text = main(page);
    const { amount, quarters } = await world.row(
      `select (select sum(p.amount)::text from core.payout_parts p join core.payout_lines l on l.id = p.line_id and l.status = 'paid'
                where p.account_id = $1) as amount,
              (select count(distinct date_trunc('quarter', m.period))::int from core.counted_months m
                 join core.connections c on c.id = m.connection_id where c.account_id = $1) as quarters`,
      paid.account_id,
    );
    expect(page).toMatch(new RegExp(`class="amount"><strong>€.${amount.replace(".", ",")}</strong> kreeg u in 2026`));
    const { kwh } = await world.row(
      "select array_agg(round(wh / 1000)::int order by month desc) as kwh from core.charger_months where owner_id = $1",
      paid.user_id,
    );
    expect(text).toMatch(/Nog verwacht ± € [\d,]+ een schatting Geladen in november/);
    expect(text).toContain(`november ${kwh[0]} kWh tot nu toe; ${kwh[1]} kWh in heel oktober Geladen in 2026 `);
    const euros = (pattern: RegExp) =>
      [...text.matchAll(pattern)].reduce((total, [, euro = ""]) => total + Number(euro.replace(",", ".")), 0);
    const expected = euros(/Nog verwacht ± € ([\d,]+)/g);
    const values = [...page.matchAll(/data-value="([^"]*)"/g)].map(([, value = ""]) => value.replaceAll("\u00a0", " "));
    const estimated = values.reduce((total, value) => {
      const euro = /€ ([\d,]+) geschat/.exec(value)?.[1] ?? "0";
      return total + Number(euro.replace(",", "."));
    }, 0);
    expect(values).toHaveLength(4);
    expect(values.filter((value) => !value.endsWith(" 0 kWh"))).toHaveLength(quarters);
    expect(estimated, "what the bars estimate is what is expected").toBeCloseTo(expected, 2);
    expect(values[1]).toContain(`€ ${amount.replace(".", ",")} betaald`);
    expect(main(await overviewOf(paid, "?lang=en")), "in English").toContain(`€${amount} paid to you in 2026`);
  });

  test("what was paid in an earlier year is told as such, and its page lists only its own payments", async () => {
    await world.row(
      "update core.payout_lines set paid_at = '2025-12-30T12:00:00Z' where account_id = $1 returning 1",
      paid.account_id,
    );
    // one browser: of codes that are mailed at once, the newest holds
    const ask = await browserOf(world, paid);
    const [page, now, before] = await Promise.all(
      ["", "/earnings", "/earnings?year=2025"].map(async (path) => (await ask(mijn(world, path))).text),
    );
    await world.row(
      "update core.payout_lines set paid_at = private.now() where account_id = $1 returning 1",
      paid.account_id,
    );
    expect(main(page ?? "")).toContain("kreeg u tot nu toe");
    expect(main(now ?? "")).toContain("In 2026 is niets uitbetaald.");
    expect(main(before ?? "")).toMatch(/30 december 2025 .*betaald pdf/);
  });

  test("the page of money begins with what the year brings; its quarters and its total have the same estimate", async () => {
    await publish("0.42");
    const ask = await browserOf(world, paid);
    const read = async (query: string) => (await ask(mijn(world, query))).text.replaceAll("\u00a0", " ");
    const [start, page] = [main(await read("")), main(await read("/earnings"))];
    const [, estimate = ""] = /Nog verwacht ± (€ [\d,]+)/.exec(start) ?? [];
    const [, whole = "", got = ""] =
      /Geld in 2026 ± (€ [\d,]+) krijgt u voor wat u in 2026 laadde (€ [\d,]+) betaald, /.exec(page) ?? [];
    const cents = (euro: string) => Number(euro.replace(/\D/g, ""));
    expect(page).toContain(`${got} betaald, ${estimate} geschat Per kwartaal`);
    expect(cents(whole)).toBe(cents(got) + cents(estimate));
    const [, rows = "", total] = /Per kwartaal (.*) Totaal [^€]*(± € [\d,]+)/.exec(page) ?? [];
    const estimates = [...rows.matchAll(/± (€ [\d,]+) geschat/g)].map(([, euro = ""]) => cents(euro));
    expect(estimates.reduce((all, each) => all + each, 0)).toBe(cents(estimate));
    expect(total).toBe(`± ${whole}`);
    expect(page, "the rows may add up to a little more, or less").toContain("Wij ronden elk kwartaal af, ");
    expect(page).toMatch(/komt u in 2026 uit op ongeveer € \d+ \([\d.]+ ERE\)/);
    const {
      paid: settled,
      payable,
      unsold,
      ...position
    } = (await world.get("/ere-position", await tokenOf(paid))).body;
    const inCents = (euro: number) => Math.round(euro * 100);
    expect(inCents(settled.net_eur + payable.net_eur), "a program reads what the page shows").toBe(cents(got));
    expect(inCents(unsold.ytd_forecast_net_eur)).toBe(cents(estimate));
    expect(inCents(position.ytd_expected_eur)).toBe(cents(whole));
    expect(page).toContain(`komt u in 2026 uit op ongeveer € ${Math.round(position.total_expected_eur)} (`);
    const { months, total_ere_credits } = (await world.get("/energy", await tokenOf(paid))).body;
    const sum = (name: "kwh" | "sessions") =>
      months
        .filter(({ month }: { month: string }) => month.startsWith("2026-"))
        .reduce((all: number, each: Record<typeof name, number>) => all + each[name], 0);
    const written = (value: number, digits: number) =>
      value.toLocaleString("nl", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    // months are rounded each, the total once, and no ERE are of before 2026
    const row = [written(sum("kwh"), 0), written(sum("sessions"), 0), written(total_ere_credits, 2)];
    expect(main(await read("/charging")), "and the same kWh").toContain(`Totaal ${row.join(" ")} `);
    const before = main(await read("/earnings?year=2025"));
    expect(before, "nothing counts before 2026").not.toContain("voor wat u in 2025");
    expect([before.includes("0,00 ERE"), before.includes("Er telt voor 2025 niets mee")], "no zeroes").toEqual([
      false,
      true,
    ]);
    await publish(null);
    const unknown = main(await read("/earnings"));
    await publish("0.42");
    expect(unknown).toContain(`${got} betaald, de rest is nog niet bekend`);
    expect(unknown).toMatch(/komt u in 2026 uit op ongeveer [\d.]+ ERE\./);
  });

  test("nobody is shown a large zero: what is to come is large until something was paid", async () => {
    await publish("0.42");
    await world.row(
      "update core.payout_lines set status = 'cancelled' where account_id = $1 returning 1",
      paid.account_id,
    );
    const page = await overviewOf(paid);
    await world.row("update core.payout_lines set status = 'paid' where account_id = $1 returning 1", paid.account_id);
    expect(main(page)).toMatch(
      /± € [\d,]+ krijgt u nog, voor wat u tot nu toe laadde Volgende betaling ± € [\d,]+ .* Betaald tot nu toe € 0,00/,
    );
  });

  test("the next payment has its quarter, when it comes and where to; a hold and an unknown account are said", async () => {
    await publish("0.42");
    const next = async (query = "") =>
      / (?:Volgende betaling|Next payment) (.*?) (?:Nog verwacht|Betaald tot|Still|Paid)/.exec(
        main(await overviewOf(paid, query)),
      )?.[1];
    expect(await next()).toMatch(
      /^± € [\d,]+ voor het 1e kwartaal 2026 Wanneer Wij boeken dit kwartaal in .* Naar de rekening die eindigt op \d{4}$/,
    );
    expect(await next("?lang=en")).toMatch(
      /^± €[\d.]+ for Q1 2026 When We book this quarter .* To the account that ends in \d{4}$/,
    );
    const lines = (status: string) =>
      world.row("update core.payout_lines set status = $2 where account_id = $1 returning 1", paid.account_id, status);
    const batch = (set: string, ...values: unknown[]) =>
      world.row(
        `update core.payout_batches set ${set}
          where id = (select batch_id from core.payout_lines where account_id = $1) returning 1`,
        paid.account_id,
        ...values,
      );
    const { changed, ...was } = await world.row(
      `select b.status, b.exported_at, b.settled_at, a.iban_changed_at as changed from core.accounts a
         join core.payout_lines l on l.account_id = a.id join core.payout_batches b on b.id = l.batch_id where a.id = $1`,
      paid.account_id,
    );
    const account = (changed_at: string) =>
      world.row(
        "update core.accounts set iban_changed_at = $2::timestamptz where id = $1 returning 1",
        paid.account_id,
        changed_at,
      );
    await lines("pending");
    await batch("status = 'approved', exported_at = null, settled_at = null");
    expect(await next()).toMatch(
      /^€ [\d,]+ voor het 2e kwartaal 2026 Wanneer Na \d+ november 2026 om [\d:]+: uw rekeningnummer is kort geleden ingevuld of gewijzigd\./,
    );
    await account("2026-01-01");
    expect(await next()).toContain("Wanneer De ERE zijn verkocht. ");
    await account(changed.toISOString());
    await lines("paid");
    await batch("status = $2, exported_at = $3, settled_at = $4", was.status, was.exported_at, was.settled_at);
    expect(await next(), "as it was").toContain("voor het 1e kwartaal 2026");
  });

  test("who signed at two CPOs is told the fee and price of each; figure, bars and sums agree to the cent", async () => {
    const email = newAddress();
    const months = { "2026-01": 100, "2026-07": 300 };
    await world.row("update core.partners set default_fee_pct = 15 where id = $1 returning 1", world.partnerB.id);
    await signedCustomer(world, { email, months });
    await signedCustomer(world, { email, months, partner: world.partnerB });
    await world.row(
      `insert into core.figures (partner_id, delivery_year, price) values ($1, 2026, 0.5), ($2, 2026, 0.3)
       on conflict on constraint figures_pkey do update set price = excluded.price returning 1`,
      world.partnerA.id,
      world.partnerB.id,
    );
    const ask = newBrowser(world);
    await signIn(world, ask, email);
    const page = (await ask(mijn(world))).text.replaceAll("\u00a0", " ");
    // 33.2694 ERE x 0.50 = 16.63 - 3.32 and x 0.30 = 9.98 - 1.49; 99.8082 ERE x 0.50 = 49.90 - 9.98 and x 0.30 = 29.94 - 4.49
    expect(main(page)).toContain("± € 87,17 krijgt u nog");
    expect(main(page)).toContain("Volgende betaling ± € 21,80 voor het 1e kwartaal 2026 Wanneer ");
    for (const bar of ["€ 21,80 geschat, 200 kWh", "€ 65,37 geschat, 600 kWh"]) expect(page).toContain(bar);
    expect(main(page)).toMatch(/133,08 ERE [^.]*€ 0,50, .* 20% .* ongeveer € 53,23 over/);
    expect(main(page)).toMatch(/133,08 ERE [^.]*€ 0,30, .* 15% .* ongeveer € 33,94 over/);
    const fees = main((await ask(mijn(world, "/earnings"))).text);
    for (const fee of [
      "Zonneveld Laadpalen: Teststraat 8, 3818 LH Utrecht: 20%",
      "partner-b: Teststraat 8, 3818 LH Utrecht: 15%",
    ])
      expect(fees).toContain(fee);

    const now = world.environment.now().toISOString();
    await world.travel("2028-02-10T12:00:00Z");
    const later = newBrowser(world);
    await signIn(world, later, email);
    const text = main((await later(mijn(world))).text.replaceAll("\u00a0", " "));
    await world.travel(now);
    expect(text, "what stands beside the plot is what the figure has").toContain("± € 87,17 krijgt u nog");
    expect(text).toContain("Van vóór 2027 krijgt u nog ± € 87,17.");
    expect(text).toMatch(/Vóór 2027 266,16 ERE – – € 87,17 800/);
  });

  test("kWh of a year whose factor is not set yet are told apart, with the reason", async () => {
    await publish("0.42");
    const { email, connection_id } = await signedCustomer(world, {
      months: { "2026-01": 100, "2026-02": 100, "2026-04": 100 },
    });
    await world.row(
      `update core.delivered_months set period = '2027-01-01' where connection_id = $1 and period = '2026-02-01'
       returning 1`,
      connection_id,
    );
    const factors = await world.database.admin.query(
      "delete from core.ere_factors where delivery_year = 2027 returning *",
    );
    const now = world.environment.now().toISOString();
    await world.travel("2027-02-10T12:00:00Z");
    const ask = newBrowser(world);
    await signIn(world, ask, email);
    const text = main((await ask(mijn(world))).text);
    await world.travel(now);
    for (const { delivery_year, ...factor } of factors.rows)
      await world.row(
        `insert into core.ere_factors select * from jsonb_populate_record(null::core.ere_factors, $1) returning 1`,
        { delivery_year, ...factor },
      );
    expect(text).toContain(
      "Van januari 2027 telt 100 kWh niet mee. Hoeveel ERE een kWh in dat jaar oplevert, staat nog niet vast.",
    );
    expect(text, "the sum is not all of it").toContain("de rest is nog niet bekend");
    expect(text, "no quarter that did not begin").toMatch(/K4 '26.* K1 '27(?!.* K2 '27)/);
  });

  test("where no price is known there is no amount, and that is said", async () => {
    await publish(null);
    const text = main(await overviewOf(paid));
    expect(text).toContain("Nog verwacht nog niet bekend");
    expect(text).toContain("Volgende betaling voor het 1e kwartaal 2026 ");
    expect(text).not.toContain("schatting Geladen");
  });

  test("where the CPO settles it says so: paid to them, on the bars too", async () => {
    const customer = await signedCustomer(world, {
      fields: { payout_handler: "via_cpo_invoicing" },
      months: { "2026-01": 100 },
    });
    await giveBooking(world.database.admin, customer.connection_id);
    await world.row(
      "update core.payout_lines set status = 'paid', paid_at = private.now() where account_id = $1 returning 1",
      customer.account_id,
    );
    const ask = newBrowser(world);
    await signIn(world, ask, customer.email);
    const text = main((await ask(mijn(world))).text);
    expect(text).toMatch(/€ 1,02 is in 2026 betaald aan uw laadpaalbeheerder .+, die met u afrekent/);
    expect(text).not.toContain("kreeg u");

    const fields = { payout_handler: "via_cpo_invoicing" };
    const other = await signedCustomer(world, { email: customer.email, fields, partner: world.partnerB });
    await signIn(world, ask, customer.email);
    const two = main((await ask(mijn(world))).text);
    expect(two).toContain("€ 1,02 is in 2026 betaald aan uw laadpaalbeheerders, die met u afrekenen");
    const earned = main((await ask(mijn(world, "/earnings?lang=en"))).text);
    expect(earned).toContain("What we paid your charge-point operators for you in 2026");
    await world.row(
      "update core.accounts set payout_handler = 'service_pays_customer' where id = $1 returning 1",
      other.account_id,
    );
    expect(main((await ask(mijn(world, "?lang=nl"))).text)).toContain("€ 1,02 is in 2026 betaald Volgende betaling");
    expect(main((await ask(mijn(world, "/earnings?lang=en"))).text)).toContain("What we paid in 2026");
  });
});

describe("contract §6 how far a customer is, with the next step and who must do it", () => {
  test("who was paid: every step with its day, and nothing to do", async () => {
    const page = await overviewOf(paid);
    expect(steps(page)).toEqual(
      [
        "Getekend",
        "Goedgekeurd",
        "Laadpaal geregistreerd",
        "Eerste kWh",
        ...["Ingeboekt", "Verkocht", "Betaald"].map((name) => `${name}: 2e kwartaal 2026`),
      ].map((name) => `${name}: done`),
    );
    expect(main(page)).toContain("Getekend 20 november 2026 Goedgekeurd 20 november 2026");
    for (const [step, verb] of [
      ["Ingeboekt", "ingeboekt"],
      ["Verkocht", "verkocht"],
      ["Betaald", "betaald"],
    ])
      expect(main(page)).toMatch(
        new RegExp(`${step}: 2e kwartaal 2026 laatst op [^.]* 2 andere kwartalen zijn nog niet ${verb}\\.`),
      );
    expect(main(await overviewOf(paid, "/earnings"))).toContain("1e kwartaal nog niet verkocht");
    expect(main(page)).toContain("U hoeft niets te doen.");
  });

  test("who signed without account number and charger: both are theirs to give, each with its button", async () => {
    await publish("0.42");
    const page = await overviewOf(await newCustomer(world));
    expect(main(page), "before anything was charged").toMatch(
      /^ Dag \S+ ± € 279 per jaar voor u, bij 2\.500 kWh Dit is een schatting/,
    );
    expect(steps(page).slice(0, 4)).toEqual([
      "Getekend: done",
      "Goedkeuring: yours",
      "Laadpaal registreren: yours",
      "Eerste kWh: later",
    ]);
    expect([...page.matchAll(/name="page" value="([^"]*)"/g)].map(([, value]) => value)).toEqual([
      "/payout",
      "/charger",
    ]);
    expect(main(page)).toContain("Nu aan u");
    expect(main(page)).not.toContain("niets van u nodig");
  });

  test("a charger that never connected is named, with what to do", async () => {
    const customer = await newCustomer(world);
    await world.row(
      `insert into core.chargers (partner_id, account_id, connection_id, user_id, owner_id, nickname, connection_type, ocpp_identity, ocpp_password_hash)
       select c.partner_id, c.account_id, c.id, $2, c.owner_id, 'Oprit', 'ocpp', 'stil-' || left(c.id::text, 8), sha256('x')
         from core.connections c where c.account_id = $1 returning 1`,
      customer.account_id,
      customer.user_id,
    );
    const text = main(await overviewOf(customer));
    expect(text).toContain("Wij horen nog niets van Oprit.");
    expect(text).toContain("Verbind uw laadpaal");
  });

  test("a registration that is reviewed is for the service to do; a month after that, the first kWh", async () => {
    const { draft_id, email } = await world.draft();
    const { body } = await world.claim(draft_id, { submit: true });
    const customer = {
      email,
      draft_id,
      ...(await world.row("select user_id, account_id from core.drafts where id = $1", draft_id)),
    } as Customer;
    const page = await overviewOf(customer);
    expect(steps(page)[1]).toBe("Goedkeuring: now");
    expect(main(page)).toContain("Nu aan ons Wij beoordelen uw registratie.");
    await world.play(body.account_id, "review", { outcome: "afgekeurd" });
    const rejected = await overviewOf(customer);
    expect(steps(rejected)[1]).toBe("Goedkeuring: yours");
    expect(main(rejected)).toContain("Uw registratie is afgekeurd.");
    await world.row("update core.chargers set mid_eligible = null where account_id = $1 returning 1", body.account_id);
    const unknown = await overviewOf(customer);
    expect(steps(unknown)[1], "nobody is sent away with what the service finds out").toBe("Goedkeuring: now");
    expect(main(unknown)).toContain("Nu aan ons Uw registratie is afgekeurd, want wij weten nog niet");
  });

  test("after a withdrawal it says so, and not that nothing is needed or that a charger was just connected", async () => {
    const customer = await newCustomer(world);
    await world.row(
      `update core.mandates m set status = 'revoked', ended_at = private.now(), ended_reason = 'customer'
         from core.connections c where c.id = m.connection_id and c.account_id = $1 returning 1`,
      customer.account_id,
    );
    const page = await overviewOf(customer);
    expect(steps(page)).toEqual(["Machtiging ingetrokken: ended"]);
    expect(main(page)).toContain("Machtiging ingetrokken 20 november 2026");
    expect(main(page)).toContain("Wilt u weer meedoen?");
    for (const wrong of ["niets te doen", "gekoppeld", "Nu aan u"]) expect(main(page)).not.toContain(wrong);
  });

  test("kWh that do not count are told by charger, with the reason and what to do", async () => {
    const customer = await paidCustomer(world);
    await world.row(
      `with shed as (
         insert into core.chargers (partner_id, account_id, connection_id, user_id, owner_id, nickname, mid_eligible)
         select c.partner_id, c.account_id, c.id, $2, c.owner_id, 'Schuur', false from core.connections c where c.account_id = $1 returning *)
       insert into core.charger_months (partner_id, charger_id, month, owner_id, wh, sessions)
       select partner_id, id, '2026-05-01', owner_id, 737000, 9 from shed returning 1`,
      customer.account_id,
      customer.user_id,
    );
    for (const path of ["", "/charging", "/earnings"]) {
      const text = main(await overviewOf(customer, path));
      expect(text, path).toContain("De 737 kWh van Schuur tellen niet mee. Deze laadpaal heeft geen MID-meter");
      expect(text, path).toContain("Vraag uw installateur");
    }
    expect(main(await overviewOf(customer, "/charging?year=2025"))).not.toContain("Schuur");
    expect(main(await overviewOf(paid)), "nobody else's").not.toContain("Schuur");
    // its meter is known as MID only after the month was booked
    await world.row(
      "update core.chargers set mid_eligible = true where account_id = $1 and nickname = 'Schuur' returning 1",
      customer.account_id,
    );
    for (const path of ["", "/charging", "/earnings"]) {
      const text = main(await overviewOf(customer, path));
      expect(text, path).toContain("Van mei 2026 telt 737 kWh niet mee. Wij hadden die maand al ingeboekt");
      expect(text, path).not.toContain("Schuur");
    }
  });

  test("a charger whose meter is no longer MID keeps what is booked: only open months do not count", async () => {
    const customer = await paidCustomer(world);
    const { id, kwh } = await world.row(
      `update core.chargers h set mid_eligible = false where h.account_id = $1
       returning h.id, (select sum(m.wh) from core.charger_months m where m.charger_id = h.id)::float / 1000 as kwh`,
      customer.account_id,
    );
    const { booked } = await world.row(
      `select sum(d.total_kwh)::float as booked from core.delivered_months d join core.connections c on c.id = d.connection_id
        where c.account_id = $1 and d.locked`,
      customer.account_id,
    );
    expect(id).toBeTruthy();
    expect(booked).toBeGreaterThan(0);
    const said = /De ([\d.,]+) kWh van/.exec(main(await overviewOf(customer)))?.[1] ?? "none";
    expect(Number(said.replace(".", "").replace(",", "."))).toBeCloseTo(kwh - booked, 0);
  });

  test("of many accounts only those that wait for the person are shown, and how many others there are", async () => {
    const email = newAddress();
    const person = { full_name: "Willem Bakker", email, phone: null };
    for (let count = 0; count < 6; count += 1) await signedCustomer(world, { email });
    await createAccount(world, world.partnerA, { person, iban: undefined });
    const ask = newBrowser(world);
    await signIn(world, ask, email);
    const page = (await ask(mijn(world))).text;
    expect(page.match(/class="timeline"/g) ?? []).toHaveLength(0);
    expect(main(page)).toContain("Bij uw andere 6 aansluitingen hoeft u nu niets te doen.");
  });
});

/** The rows of the next payment; empty where there is none. */
const nextOf = (page: string) => main(`<main>${/<dl class="next">[\s\S]*?<\/dl>/.exec(page)?.[0] ?? ""}</main>`).trim();
/** Makes the service owe an account so much more, in the ledger alone. */
const owe = (account_id: string, eur: number) =>
  world.row(
    `select private.post(a.partner_id, array[row('test ' || gen_random_uuid(), 'EUR', abs($2::numeric),
              case when $2 > 0 then 'buyer' else 'customer' end, a.id,
              case when $2 > 0 then 'customer' else 'buyer' end, a.id)::private.posting])
       from core.accounts a where a.id = $1`,
    account_id,
    eur,
  );
/** A CPO's customer of whom 3 ERE of January are sold for € 1.02, which a payment was made of. */
async function soldCustomer(fields: Record<string, unknown> = {}, months = { "2026-01": 100 }) {
  const customer = await signedCustomer(world, { fields, months });
  await giveBooking(world.database.admin, customer.connection_id);
  const ask = newBrowser(world);
  await signIn(world, ask, customer.email);
  const line = (set: string) =>
    world.row(`update core.payout_lines set ${set} where account_id = $1 returning iban_last4`, customer.account_id);
  const read = async (query = "?lang=nl") => (await ask(mijn(world, query))).text;
  return { ...customer, line, read };
}

describe("contract §6 money that does not come is not promised", () => {
  test("after a payment came back the person is told what to do, and no account is named as where it goes", async () => {
    const { account_id, line, read } = await soldCustomer();
    const { iban_last4 } = await world.row("select iban_last4 from core.accounts where id = $1", account_id);
    const fail = (effect: string) =>
      line(
        `status = 'failed', paid_at = null, failed_at = private.now(), failed_reason = 'AC04', failed_effect = '${effect}', iban_last4 = '${iban_last4}'`,
      );
    await world.row("update core.accounts set iban_changed_at = '2026-01-01' where id = $1 returning 1", account_id);
    await owe(account_id, 1.02);
    await fail("account");
    const page = await read();
    const why = `Onze betaling kwam terug: de bank kan niets afleveren op de rekening die eindigt op ${iban_last4}.`;
    expect(nextOf(page)).toContain(`Wanneer ${why}`);
    expect(nextOf(page)).not.toMatch(/Naar|krijgt een mail/);
    expect(page).toMatch(/<dl class="next">[\s\S]*href="[^"]*\/earnings[^"]*">Geef een ander rekeningnummer door/);
    expect(steps(page).at(-1)).toMatch(/: yours$/);
    expect(main(page)).toContain(`Nu aan u ${why}`);
    expect(main(page)).not.toMatch(/Alles is geregeld|Wij maken het geld over/);
    expect(page).toMatch(new RegExp(`<a class="link" href="[^"]*/account/${account_id}[^"]*">Geef een ander`));
    await fail("holder");
    const holder = await read();
    expect(nextOf(holder)).toContain("Wij betalen pas weer als wij met u overlegd hebben. Mail ons");
    expect(holder).toMatch(/<dl class="next">[\s\S]*href="mailto:[^"]*">Mail ons/);
    expect(nextOf(holder)).not.toContain("Naar");
    await fail("none");
    expect(nextOf(await read()), "goes with the next payment").toContain("Naar de rekening die eindigt op");
  });

  test("a debt that takes all that comes leaves no next payment; one that takes a part does", async () => {
    await publish("0.42");
    await owe(paid.account_id, -5000);
    const page = await overviewOf(paid);
    expect(main(page)).toContain("Daarom gaat € 5.000,00 van de volgende betaling af.");
    expect(main(page)).toContain("Nog verwacht € 0,00");
    expect(nextOf(page)).toBe("");
    await owe(paid.account_id, 4999);
    expect(nextOf(await overviewOf(paid))).toContain("Volgende betaling ± €");
    await owe(paid.account_id, 1);
  });

  test("whose CPO is paid is promised no mail about a payment to them", async () => {
    const { line, read } = await soldCustomer({ payout_handler: "via_cpo_invoicing" });
    await line("status = 'pending'");
    const next = nextOf(await read());
    expect(next).toMatch(/Wanneer Wij betalen .+, dat met u afrekent\. Naar/);
    expect(next).not.toContain("mail");
  });

  test("less than the minimum waits for more, also while the account number is new", async () => {
    const { line, read } = await soldCustomer();
    await line("status = 'pending'");
    expect(nextOf(await read())).toContain("Wanneer Zodra er € 5,00 of meer voor u klaarstaat.");
  });

  test("quarters of one payment are named by year", () => {
    const named = (locale: "nl" | "en", ...firsts: string[]) => quarterNames({ locale } as MijnFrame, firsts);
    expect(named("nl", "2026-07-01", "2026-10-01")).toBe("het 3e en 4e kwartaal 2026");
    expect(named("nl", "2026-10-01", "2027-01-01")).toBe("het 4e kwartaal 2026 en het 1e kwartaal 2027");
    expect(named("en", "2026-07-01", "2026-10-01")).toBe("Q3 and Q4 2026");
  });

  test("one quarter is no drawn column, and has no legend", async () => {
    const { line, read } = await soldCustomer();
    await line("status = 'pending'");
    const page = await read();
    expect(page).toContain('id="by-quarter"');
    expect(page).not.toContain('class="kinds"');
    expect(await overviewOf(paid), "of several it has").toContain('class="kinds"');
  });
});

// The customers of a partner on its own pages: who is found by what, nothing more than the API discloses, and nobody else's.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addCustomer, newEmail, SECRETS } from "../partner/partner_world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, heading, newBrowser, type PageAnswer } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  await addCustomer(world, world.partnerA, "partner_upload", {
    ...SECRETS,
    full_name: "Anna Zoekmij",
    email: "anna@zoekmij.nl",
    postal_code: "1234AB",
    external_ref: "KLANT-7",
    created_at: "2026-11-03T10:00:00Z",
  });
  await addCustomer(world, world.partnerA, "referral_link", {
    ...SECRETS,
    full_name: "Bert Verborgen",
    email: "bert@verborgen.nl",
    postal_code: "9876ZY",
    external_ref: "=1+1",
    created_at: "2026-11-02T10:00:00Z",
  });
  await addCustomer(world, world.partnerB, "partner_upload", { full_name: "Carla Elders", email: "carla@elders.nl" });
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
});
afterAll(() => world.close());

const path = (query: Record<string, string>) => portal(world, `/customers?${new URLSearchParams(query)}`);
/** The names, or references, of the customers in the table. */
const listed = (text: string) =>
  [...text.matchAll(/customers\/cus_[0-9a-f]{32}[^>]*>(?:<code>)?([^<]*)/g)].map((m) => m[1]);
/** Where a link of these words leads. */
const onwardOf = (text: string, label: string) =>
  new RegExp(`href="([^"]*)">${label}<`).exec(text)?.[1]?.replaceAll("&amp;", "&");
const refOf = async (naam: string | undefined, key = world.keyA): Promise<string> => {
  const { body } = await world.get("/partner/customers", key);
  return body.customers.find((each: { naam?: string }) => each.naam === naam).customer_ref;
};

describe("§4.2 the customers of a partner on its pages", () => {
  test("are listed newest first, by name where the partner may know it, and by reference alone where it may not", async () => {
    const { status, text } = await ask(portal(world, "/customers"));
    expect([status, heading(text)]).toEqual([200, "Klanten"]);
    const hidden = await refOf(undefined);
    expect(listed(text)).toEqual(["Anna Zoekmij", `${hidden.slice(0, 12)}…`]);
    for (const secret of ["Bert", "bert@verborgen.nl", "9876ZY", "Carla", "carla@elders.nl"])
      expect(text).not.toContain(secret);
  });

  test.each([
    [{ q: "zoekm" }, ["Anna Zoekmij"]],
    [{ q: "ZOEKMIJ anna" }, ["Anna Zoekmij"]],
    [{ q: "anna@zoekmij.nl" }, ["Anna Zoekmij"]],
    [{ q: "klant-7" }, ["Anna Zoekmij"]],
    [{ q: "an" }, ["Anna Zoekmij"]],
    [{ q: "=1+1" }, 1],
    [{ q: "verborgen" }, 0],
    [{ q: "bert@verborgen.nl" }, 0],
    [{ q: "carla" }, 0],
    [{ q: "9876ZY" }, 0],
    [{ q: "%" }, 0],
    [{ q: "_" }, 0],
    [{ q: "'; drop table core.drafts; --" }, 0],
    [{ q: "\u0000" }, 2],
    [{ q: "x".repeat(300) }, 0],
    [{ city: "amers" }, 2],
    [{ city: "%" }, 0],
    [{ city: "Utrecht" }, 0],
    [{ source: "referral_link" }, 1],
    [{ source: "oauth_consent" }, 0],
    [{ source: "nonsense" }, 2],
    [{ active: "yes" }, 2],
    [{ active: "no" }, 0],
    [{ charger: "with" }, 2],
    [{ charger: "without" }, 0],
    [{ charger: "without_mid" }, 0],
    // what the hidden one's registration is, is not to be learnt by looking for it
    [{ registration: "afgekeurd" }, ["Anna Zoekmij"]],
    [{ month: "2026-10" }, 2],
    [{ month: "2026-11" }, 0],
    [{ month: "2026-13" }, 2],
    [{ after: "cus_nonsense" }, 2],
    [{ after: `cus_${"0".repeat(32)}` }, 2],
  ] as [Record<string, string>, string[] | number][])("%j finds %j", async (query, expected) => {
    const { status, text } = await ask(path(query));
    expect(status).toBe(200);
    expect(typeof expected === "number" ? listed(text).length : listed(text)).toEqual(expected);
  });

  test("at half past midnight on New Year's Day in the Netherlands, January can be chosen", async () => {
    const { now } = world.environment;
    world.environment.now = () => new Date("2026-12-31T23:30:00Z");
    const { text } = await ask(path({})).finally(() => {
      world.environment.now = now;
    });
    const months = [...text.matchAll(/<option value="(\d{4}-\d{2})"/g)].map(([, month]) => month);
    expect([months.length, months[0], months.at(-1)]).toEqual([60, "2027-01", "2022-02"]);
  });

  test("a customer is found by the reference that the API gives, a hidden one too, and another partner's by none", async () => {
    const found = (await ask(path({ q: await refOf(undefined) }))).text;
    expect(listed(found)).toHaveLength(1);
    expect(found).toContain("1 tot en met 1 van 1<");
    expect(listed((await ask(path({ q: await refOf("Carla Elders", world.keyB) }))).text)).toHaveLength(0);
  });

  test("a page goes on behind its last customer, and neither repeats nor skips one", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Veel', 'veel') returning id");
    await world.row(
      `with people as (insert into auth.users (id, email) select gen_random_uuid(), 'v' || n || '@veel.nl' from generate_series(1, 120) n returning id)
       insert into core.attributions (partner_id, user_id, source, external_ref, attached_month, created_at)
       select $1, id, 'partner_upload', 'R-' || row_number() over (), '2026-11-01', now() - make_interval(secs => (row_number() over ())::int / 3) from people`,
      id,
    );
    const browser = await portalBrowser(world, await newManager(world, { id }));
    const seen: string[] = [];
    const ranges: (string | undefined)[] = [];
    let next: string | undefined = portal(world, "/customers?city=");
    let pages = 0;
    while (next) {
      const { text }: PageAnswer = await browser(next);
      ranges.push(/role="status">([^<]*)</.exec(text)?.[1]);
      seen.push(...[...text.matchAll(/R-\d+/g)].map(([ref]) => ref));
      next = onwardOf(text, "Volgende");
      pages += 1;
    }
    expect([pages, seen.length, new Set(seen).size]).toEqual([5, 120, 120]);
    expect(ranges).toEqual(
      ["1 tot en met 25", "26 tot en met 50", "51 tot en met 75", "76 tot en met 100", "101 tot en met 120"].map(
        (range) => `${range} van 120`,
      ),
    );
    const { text } = await browser(portal(world, "/customers.csv"));
    expect(text.match(/R-\d+/g)).toEqual(seen);
    // what is looked for is counted as well
    for (const filter of ["source=partner_upload", "charger=without&q=R-", "month=2026-11"]) {
      const first = (await browser(portal(world, `/customers?${filter}`))).text;
      expect(first).toContain(ranges[0]);
      expect((await browser(onwardOf(first, "Volgende") ?? "")).text).toContain(ranges[1]);
    }
    await world.row(
      `with people as (insert into auth.users (id, email) select gen_random_uuid(), 'w' || n || '@veel.nl' from generate_series(1, 2000) n returning id)
       insert into core.attributions (partner_id, user_id, source, attached_month, created_at) select $1, id, 'manual', '2026-11-01', now() + interval '1 minute' from people returning 1`,
      id,
    );
    const some = (await browser(portal(world, "/customers?source=manual"))).text;
    expect(some).toContain("1 tot en met 25 van ten minste 2.000");
  });

  test.each(["%00", "%ed%a0%80", "cus_1", "cus_00000000000000000000000000000000"])(
    "to go on behind %s, whom no reference means, is to begin",
    async (after) => {
      const { status, text } = await ask(portal(world, `/customers?after=${after}`));
      expect([status, listed(text)]).toEqual([200, listed((await ask(portal(world, "/customers"))).text)]);
    },
  );

  test("what is rare is looked for in parts: a part says that there are more customers to look through", async () => {
    const { id } = await world.row(
      "insert into core.partners (name, slug) values ('Zeer veel', 'zeer-veel') returning id",
    );
    await world.row(
      `with people as (insert into auth.users (id, email) select gen_random_uuid(), 'z' || n || '@veel.nl' from generate_series(1, 2001) n returning id)
       insert into core.attributions (partner_id, user_id, source, external_ref, attached_month, created_at)
       select $1, id, case when row_number() over () = 2001 then 'manual' else 'partner_upload' end, null, '2026-11-01', now() - make_interval(secs => (row_number() over ())::int) from people`,
      id,
    );
    const browser = await portalBrowser(world, await newManager(world, { id }));
    const first = await browser(portal(world, "/customers?source=manual"));
    expect(listed(first.text)).toHaveLength(0);
    expect(first.text).toContain("Onder de klanten die tot nu toe zijn doorzocht, is er geen die hierbij past.");
    const next = onwardOf(first.text, "Zoek verder onder oudere klanten") ?? "";
    expect(listed((await browser(next)).text)).toHaveLength(1);
    // a file looks through all of them
    expect((await browser(portal(world, "/customers.csv?source=manual"))).text.match(/cus_/g)).toHaveLength(1);
  });

  test("the file has what the API discloses, as Dutch Excel opens it, and no formula", async () => {
    const { status, headers, text } = await ask(portal(world, "/customers.csv"));
    expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(headers.get("content-disposition")).toBe('attachment; filename="klanten.csv"');
    const [head = "", first = "", second = "", ...rest] = text.split("\r\n");
    expect(rest).toEqual([""]);
    expect(head.split(";").slice(0, 5)).toEqual([
      '"Klantcode"',
      '"Uw referentie"',
      '"Naam"',
      '"E-mailadres"',
      '"Telefoon"',
    ]);
    expect(first).toContain(';"KLANT-7";"Anna Zoekmij";"anna@zoekmij.nl";"\'+31699999999";');
    expect(second).toContain(';"\'=1+1";;;;;;;"Amersfoort";');
    expect(text).not.toMatch(/Bert|verborgen|Carla/);
    const english = (await ask(portal(world, "/customers.csv?lang=en&q=anna"))).text;
    expect(english.split("\r\n")).toHaveLength(3);
    expect(english).toContain('"Customer code","Your reference","Name"');
  });

  test("one customer's page tells what the API tells, and of a hidden one no more than that", async () => {
    const { status, text } = await ask(portal(world, `/customers/${await refOf("Anna Zoekmij")}`));
    expect([status, heading(text)]).toEqual([200, "Anna Zoekmij"]);
    for (const shown of ["anna@zoekmij.nl", "KLANT-7", "Afgekeurd", "oktober 2026", "Getekend", "1234 AB"])
      expect(text).toContain(shown);
    const hidden = await ask(portal(world, `/customers/${await refOf(undefined)}`));
    expect([hidden.status, heading(hidden.text)]).toEqual([200, "Een klant"]);
    for (const secret of [
      "Bert",
      "bert@",
      "Geheimstraat",
      "9876ZY",
      "9876 ZY",
      "31699999999",
      "Afgekeurd",
      "afgekeurd",
    ])
      expect(hidden.text).not.toContain(secret);
  });

  test("a customer of a draft is shown when they were signed up and came", async () => {
    await world.customer({ naam: "Dirk Aangemeld", email: newEmail() });
    const { text } = await ask(portal(world, `/customers/${await refOf("Dirk Aangemeld")}`));
    expect(text).toContain("Aangemeld op");
    expect(text).toContain("20 november 2026");
  });

  test("another partner's customer, one that was made up, and one that has left are all unknown", async () => {
    const foreign = await refOf("Carla Elders", world.keyB);
    for (const ref of [foreign, `cus_${"0".repeat(32)}`, "cus_1", "anna"])
      expect((await ask(portal(world, `/customers/${ref}`))).status).toBe(404);
    const other = await portalBrowser(world, await newManager(world, world.partnerB));
    const own = await refOf("Anna Zoekmij");
    expect((await other(portal(world, `/customers/${own}`))).status).toBe(404);
    expect(listed((await other(portal(world, "/customers"))).text)).toEqual(["Carla Elders"]);
    expect((await other(portal(world, "/customers.csv"))).text).not.toContain("Anna");
  });

  test("nobody who is not signed in sees any of it", async () => {
    const stranger = newBrowser(world);
    for (const page of ["/customers", "/customers.csv", `/customers/${await refOf("Anna Zoekmij")}`]) {
      const { status, location } = await stranger(portal(world, page));
      expect([status, location]).toEqual([303, expect.stringContaining("/portal/sign-in")]);
    }
  });
});

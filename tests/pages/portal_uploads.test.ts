// A partner delivers months and charging sessions by file: looked at first, then stored for one of its CPO clients.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readUpload } from "#shared/domain/charging_in/file/read_upload.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { createAccount } from "../harness/people.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { workbookOf } from "../unit/sheet/workbook.ts";
import { type Browser, formToken } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
let stranger: Browser;
let reference: string;
let connection_id: string;
let account_id: string;
beforeAll(async () => {
  world = await createCustomerWorld();
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
  const account = await createAccount(world);
  ({ connection_id, account_id } = account);
  reference = "KL-77";
  await world.row("update core.accounts set cpo_external_ref = $1 where id = $2", reference, account.account_id);
});
afterAll(() => world.close());

const tokenOf = async (browser: Browser, page: string) => formToken((await browser(portal(world, page))).text);
async function upload(
  file: BlobPart,
  fields: Record<string, string> = {},
  browser = ask,
  page = "/uploads",
  name = "maanden.csv",
) {
  const form = new FormData();
  form.set("form_token", await tokenOf(browser, page));
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", new File([file], name));
  return browser(portal(world, `${page}?lang=nl`), { form });
}
const pageOf = (location: string | null | undefined) => `/uploads/${location?.split("/uploads/")[1]?.split("?")[0]}`;
const stored = async () =>
  (
    await world.database.admin.query(
      "select to_char(period, 'YYYY-MM') as month, total_kwh::float8 as kwh from core.delivered_months where connection_id = $1 order by 1",
      [connection_id],
    )
  ).rows;
const months = (...rows: string[]) => ["Klantnummer;Maand;kWh;Opmerking", ...rows].join("\r\n");

describe("§4.1 a file of months", () => {
  test("§4.1 it is looked at, mended and stored; once more it is the same; who stored it is in the audit log", async () => {
    const file = months(`${reference};mrt 2026;312,5;x`, "KL-niemand;mrt 2026;1,5;", `${reference};ooit;1,5;<b>`);
    const { status, location } = await upload(file);
    expect(status).toBe(303);
    const page = pageOf(location);
    const { text } = await ask(portal(world, `${page}?lang=nl`));
    expect(text).toContain("Van 3 regels worden er 1 opgeslagen. Er is nog niets opgeslagen.");
    expect(text).toContain("Wij kennen deze klant niet.");
    expect(text).toContain("Maand is niet te lezen.");
    expect(text).toContain("Deze kolommen slaan wij over: Opmerking.");
    expect(await stored()).toEqual([]);
    // what the first look found is kept: another look judges nothing
    const refer = (from: string, to: string) =>
      world.row("update core.accounts set cpo_external_ref = $2 where cpo_external_ref = $1 returning 1", from, to);
    await refer(reference, "KL-78");
    const second = await ask(portal(world, `${page}?lang=nl`));
    await refer("KL-78", reference);
    expect(second.text).toContain("Van 3 regels worden er 1 opgeslagen.");
    const bad = await ask(portal(world, `${page}?lang=nl&show=bad`));
    expect(bad.text).toContain("KL-niemand");
    expect(bad.text.slice(bad.text.indexOf('id="rows"'))).not.toContain("312,5");
    const mend = await ask(portal(world, `${page}/mend.csv?lang=nl`));
    expect(mend.headers.get("content-disposition")).toContain("verbeteren.csv");
    expect(mend.text).toContain("KL-niemand");
    expect(mend.text).not.toContain("312,5");

    // nobody else's, and no customers; nor are customers such a file
    expect((await stranger(portal(world, page))).status).toBe(404);
    const kept = await upload(
      "naam;email\r\nJan Jansen;jan@example.nl",
      { consent: "yes", mail: "no" },
      ask,
      "/import",
    );
    const customers = kept.location?.split("/import")[1]?.split("?")[0];
    expect((await ask(portal(world, `/import${customers}`))).status).toBe(200);
    for (const typed of [page.replace("/uploads", "/import"), `/uploads${customers}`]) {
      expect((await ask(portal(world, typed))).status).toBe(404);
      expect((await ask(portal(world, `${typed}/mend.csv`))).status).toBe(404);
      expect((await ask(portal(world, typed), { form: { form_token: await tokenOf(ask, "/uploads") } })).status).toBe(
        404,
      );
    }

    const confirm = async () => ask(portal(world, page), { form: { form_token: await tokenOf(ask, "/uploads") } });
    // two clicks at once
    const clicks = await Promise.all([confirm(), confirm()]);
    expect(clicks.map((click) => click.status)).toEqual([303, 303]);
    expect(await stored()).toEqual([{ month: "2026-03", kwh: 312.5 }]);
    const done = await ask(portal(world, `${page}?lang=nl`));
    expect(done.text).toContain("Van 3 regels zijn er 1 opgeslagen.");
    expect((await stranger(portal(world, page))).status).toBe(404);
    const { uploads, people } = await world.row(
      "select count(*)::int as uploads, count(user_id)::int as people from core.uploads where file_name = 'maanden.csv'",
    );
    expect([uploads, people]).toEqual([1, 1]);
    expect(
      await world.row("select details ->> 'kind' as kind from core.audit_log where action = 'upload.stored'"),
    ).toEqual({ kind: "months" });

    // the same file again leads to what was stored: a row of it still cannot be
    expect(done.text).not.toContain("bewaarden de uitkomst van elke regel niet");
    const again = await ask(portal(world, `${pageOf((await upload(file)).location)}?lang=nl`));
    expect(pageOf(again.location)).toBe(page);
    const { pathname, search } = new URL(again.location ?? "", "https://x");
    expect((await ask(`${pathname}${search}`)).text).toContain("Dit bestand was al opgeslagen. Er is niets veranderd.");
  });

  test("§4.1 of a file over the quota of the day the page says why it shows no rows", async () => {
    const { id } = await world.row("select id from core.uploads where file_name = 'maanden.csv'");
    await world.row(
      `update core.uploads set read = read || '{"evidence_over_quota": true}', results = '[]', columns = '[]'
        where id = $1 returning 1`,
      id,
    );
    const { text } = await ask(portal(world, `/uploads/${id}?lang=nl`));
    expect(text).toContain("bewaarden de uitkomst van elke regel niet");
    expect((await ask(portal(world, `/uploads/${id}?lang=en`))).text).toContain("we did not keep the outcome");
  });

  test("§4.1 three clicks at once store it once, also where a session waits for its charger", async () => {
    const page = pageOf(
      (await upload("sessie;laadpaal;start;eind;kWh\nw1;KL-wacht;10-03-2026 18:00;10-03-2026 19:00;5")).location,
    );
    const form_token = await tokenOf(ask, "/uploads");
    const clicks = await Promise.all([1, 2, 3].map(() => ask(portal(world, page), { form: { form_token } })));
    expect(clicks.map((click) => click.status)).toEqual([303, 303, 303]);
    expect(
      await world.row("select count(*)::int as uploads from core.uploads where results -> 0 ->> 'session_id' = 'w1'"),
    ).toEqual({ uploads: 1 });
  });

  test("§4.1 while another file of the client is stored, nobody waits for it: it is to be confirmed again, or looked at later", async () => {
    const file = (month: string) => upload(`klantnummer;maand;kWh\n${reference};${month};77`);
    const [looked, fresh] = [pageOf((await file("2026-04")).location), pageOf((await file("2026-05")).location)];
    expect((await ask(portal(world, looked))).status).toBe(200);
    const form_token = await tokenOf(ask, "/uploads");
    const holder = await world.database.admin.connect();
    try {
      await holder.query("begin");
      await holder.query("select private.lock('uploads', $1)", [world.partnerA.client.id]);
      const again = await ask(portal(world, `${looked}?lang=nl`), { form: { form_token } });
      expect(again.text).toContain("Bevestig het nog eens");
      const later = await ask(portal(world, fresh));
      expect([later.status, later.headers.get("retry-after")]).toEqual([429, "5"]);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    expect((await ask(portal(world, fresh))).status).toBe(200);
    expect((await ask(portal(world, looked), { form: { form_token } })).status).toBe(303);
    expect(await stored()).toContainEqual({ month: "2026-04", kwh: 77 });
  });

  test("§4.1 it says what is wrong with it, in both languages; nothing is kept", async () => {
    const refusal = async (file: string) => {
      const { status, text } = await upload(file);
      expect(status).toBe(422);
      return text;
    };
    expect(await refusal("naam;bedrag\nSanne;5\n")).toMatch(
      /Er is geen kolom voor .+\. Deze kolommen kennen wij niet: naam, bedrag\. De namen van de kolommen moeten in een van de eerste 20 regels staan/,
    );
    expect(await refusal(months(`${reference};mrt 2026;1.234`))).toContain("staat 1.234");
    expect(await refusal(months())).toContain("Onder de kolommen staan geen regels");
    expect(await refusal(`klantnummer;maand;kwh${";x".repeat(498)}\n1;2026-03;1`)).toContain("meer dan 500 kolommen");
    const formula = pageOf((await upload(months("=1+1;mrt 2026;1,5;@x"))).location);
    expect((await ask(portal(world, `${formula}/mend.csv?lang=nl`))).text).toContain(`"'=1+1";"mrt 2026";"1,5";"'@x";`);
    expect(await refusal("")).toContain("Dit bestand is leeg");
    expect((await upload("", {}, ask, "/uploads", "")).text).toContain("Kies een bestand");
    await world.post(
      "/v1/chargers",
      { account_id, ...MID_CHARGER, serial_number: "ACE9", external_ref: "PAAL-9", evses: [] },
      await world.partnerA.client.token(),
    );
    const sessions =
      "laadpaal;start;eind;kwh\nPAAL-9;2-3-2026 9:00;2-3-2026 8:00;5\nPAAL-8;2-3-2026 8:00;2-3-2026 9:00;6";
    const impossible = pageOf((await upload(sessions)).location);
    const shown = (await ask(portal(world, `${impossible}?lang=nl`))).text;
    expect(shown).toContain("Telt niet mee: het einde ligt voor het begin.");
    expect(shown).toContain("Van 2 regels worden er 1 opgeslagen. Er is nog niets opgeslagen. 1 regel wacht tot");
    expect(shown).toContain("Lever 2 regels aan");
    expect(shown).toContain("Mail ons dan de naam, en van welke klant de laadpaal is.");
    const toMend = (await ask(portal(world, `${impossible}/mend.csv?lang=nl`))).text;
    expect(toMend).toContain('"PAAL-9";');
    expect(toMend).not.toContain("PAAL-8");
    expect((await upload(months(`${reference};mrt 2026;1.234`), { decimal: "." })).location).toContain("/uploads/");
    expect((await ask(portal(world, "/uploads?lang=en"))).text).toContain("Deliver charging data");
  });

  test("§4.1 what was read is shown above the rows, before it counts", async () => {
    const file = [
      "Rapport;;;;",
      "Laadpaal;Start;Eind;Totaal;Energie (kWh)",
      "KL-lees;31-03-2026 18:00;31-03-2026 20:00;6,45;18,42",
      "KL-lees;01-04-2026 18:00;01-04-2026 20:00;2,98;1.208,5",
      "Totaal;;;9,43;1.226,92",
    ];
    const { text } = await ask(portal(world, `${pageOf((await upload(file.join("\n"))).location)}?lang=nl`));
    for (const said of [
      "De leesbare regels zijn 2 sessies van 31 maart 2026 tot en met 1 april 2026.",
      "De eerste regel is van 31 maart 2026.",
      "De namen van de kolommen staan in regel 2.",
      "Energie (kWh)",
      "maart 2026",
      "1.208,5",
      "Een totaal of kopjes: dat tellen wij niet mee",
      "Van 3 regels worden er 0 opgeslagen. Er is nog niets opgeslagen. 2 regels wachten",
    ])
      expect(text).toContain(said);
    expect(text.indexOf("Dit hebben wij gelezen")).toBeLessThan(text.indexOf('id="rows"'));
  });

  test("§4.1 the kWh are told by what becomes of them: what nobody stores is in no sum of what is stored", async () => {
    const [waits, none] = ["KL-wacht;2-4-2026 18:00;2-4-2026 20:00;3", "KL-niemand;apr 2026;1,5"];
    const words = async (page: string) =>
      (await ask(portal(world, `${page}?lang=nl`))).text
        .replace(/<[^>]+>/g, " ")
        .replaceAll("\u00a0", " ")
        .replace(/\s+/g, " ");
    const page = pageOf(
      (await upload(["Klantnummer;Maand;kWh", `${reference};apr 2026;312,5`, none].join("\n"))).location,
    );
    expect(await words(page)).toContain(
      "Maand kWh die worden opgeslagen kWh die niet worden opgeslagen april 2026 312,5 1,5",
    );
    await ask(portal(world, page), { form: { form_token: await tokenOf(ask, "/uploads") } });
    expect(await words(page)).toContain("Maand kWh opgeslagen kWh niet opgeslagen april 2026 312,5 1,5");
    const parked = pageOf((await upload(["Laadpaal;Start;Eind;kWh", waits].join("\n"))).location);
    expect(await words(parked)).toContain(
      "Maand kWh die worden opgeslagen kWh die wachten op de laadpaal april 2026 0 3",
    );
  });

  test("§4.1 a month of more kWh than the chargers can give is stored, and named", async () => {
    const { account_id, account } = await createAccount(world);
    const token = await world.partnerA.client.token();
    await world.post("/v1/chargers", { account_id, ...MID_CHARGER, serial_number: "VEEL-1" }, token);
    const file = (kwh: string) => months(`${account.cpo_external_ref};feb 2026;${kwh};`);
    const page = async (kwh: string) => (await ask(portal(world, pageOf((await upload(file(kwh))).location)))).text;
    const said = "Dit is meer dan de laadpalen in een maand kunnen geven.";
    // 50 kW for 672 hours
    expect(await page("33601,5")).toContain(said);
    expect(await page("33600,0")).not.toContain(said);
    const { results } = (
      await world.send("/v1/uploads?dry_run=true", {
        method: "POST",
        token,
        raw: file("312500,5"),
        headers: { "content-type": "text/csv" },
      })
    ).body;
    expect(results).toMatchObject([{ status: "ingested", flags: ["beyond_power"] }]);
  });

  test("§4.1 where the file does not say, the page asks: for the order of a date, written out, and for the kWh", async () => {
    const file = "Charger,Start,End,Energy (kWh),Delivered (kWh)\nKL-vraag,3/4/2026 18:00,3/4/2026 20:00,18.42,20";
    expect((await upload(file)).text).toContain(
      "Deze kolommen kunnen allemaal de kWh zijn, en ze verschillen: Energy (kWh), Delivered (kWh).",
    );
    const asked = (await upload(file, { columns: "Energy (kWh)" })).text;
    expect(asked).toContain("staat 3/4/2026 18:00. Is dat 3 april 2026 of 4 maart 2026?");
    expect(asked).toContain('value="Energy (kWh)"');
    const page = pageOf((await upload(file, { columns: "Energy (kWh)", dates: "mdy" })).location);
    expect((await ask(portal(world, `${page}?lang=nl`))).text).toContain("De eerste regel is van 4 maart 2026.");
  });

  test("§4.1 rows to mend from Excel, uploaded again in either language, have the same energy and names", async () => {
    for (const written of ["3,5", "3.5", "3"]) {
      const text = (value: string) => `<c t="str"><v>${value}</v></c>`;
      const row = (name: string, kwh: string) => `<row>${text(name)}${text("mrt 2026")}${kwh}</row>`;
      const number = (value: string) => `<c><v>${value}</v></c>`;
      const file = workbookOf({
        rows: [
          `<row>${["Klantnummer", "Maand", "kWh"].map(text).join("")}</row>`,
          row("-77", number("7.125")),
          row("00x", text(written)),
          row("@x", number("1234")),
          row("12.5", number("0.3")),
        ].join(""),
      });
      const told = async (bytes: Uint8Array) =>
        (await readUpload(bytes)).items.map((item) => [item.cpo_external_ref, item.total_kwh]);
      expect(await told(file)).toHaveLength(4);
      const page = pageOf((await upload(Buffer.from(file))).location);
      for (const lang of ["nl", "en"]) {
        const { bytes = new Uint8Array() } = await ask(portal(world, `${page}/mend.csv?lang=${lang}`));
        expect(await told(bytes), `${written} ${lang}`).toEqual(await told(file));
      }
    }
  });

  test.each([
    ["nl", "maanden", "months"],
    ["nl", "sessies", "sessions"],
    ["en", "months", "months"],
    ["en", "sessions", "sessions"],
  ])("§4.1 its examples in %s are read as they are, the same from CSV and Excel: %s", async (lang, name, kind) => {
    const page = await ask(portal(world, `/uploads?lang=${lang}`));
    const read = async (type: string) => {
      expect(page.text).toContain(`/uploads/example/${name}.${type}?`);
      const { headers, bytes = new Uint8Array() } = await ask(portal(world, `/uploads/example/${name}.${type}`));
      expect(headers.get("content-disposition")).toBe(`attachment; filename="${name}.${type}"`);
      const { table: _, read, ...told } = await readUpload(bytes);
      // only a workbook has sheets
      return { ...told, read: { ...read, sheet: null } };
    };
    const told = await read("csv");
    expect(told).toMatchObject({ kind, rows: 2, rejected: [] });
    expect(told.columns.filter(({ field }) => field === null)).toEqual([]);
    expect(told.items[0]).toMatchObject(
      kind === "months"
        ? { period: "2026-03-01", total_kwh: 312.5 }
        : { started_at: "2026-03-10T17:00:00Z", wh: 18_420 },
    );
    expect(await read("xlsx")).toEqual(told);
  });
});

test("§4.1 of several clients one is chosen; another partner's is refused; a partner without one is told", async () => {
  const second = await world.addClient(world.partnerA.id);
  const file = months(`${reference};apr 2026;1,5`);
  expect((await upload(file)).text).toContain("Kies voor welke koppeling");
  expect((await upload(file, { client: world.partnerB.client.id })).text).toContain("Kies voor welke koppeling");
  // the other client does not know this customer
  const page = pageOf((await upload(file, { client: second.id })).location);
  expect((await ask(portal(world, `${page}?lang=nl`))).text).toContain("Wij kennen deze klant niet.");
  // its client was disabled before they confirmed
  await world.row("update core.oauth_clients set disabled_at = now() where id = $1 returning 1", second.id);
  expect((await ask(portal(world, page))).status).toBe(404);
  const confirmed = await ask(portal(world, page), { form: { form_token: await tokenOf(ask, "/uploads") } });
  expect(confirmed.status).toBe(404);
  const partner = await world.addPartner();
  await world.row("update core.oauth_clients set disabled_at = now() where partner_id = $1 returning 1", partner.id);
  const alone = await portalBrowser(world, await newManager(world, partner));
  expect((await alone(portal(world, "/uploads?lang=nl"))).text).toContain("die heeft u nog niet");
});

// The guides as their readers use them: every command as it is written, against a stack of its own; every page in a browser; and a
// request sent from the reference.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { Template } from "@huggingface/jinja";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "#local/checkout.ts";
import { signMandate } from "#local/customer.ts";
import { freePort } from "#local/postgres.ts";
import { type RunningStack, startStack } from "#local/runner.ts";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { CPO_SCOPES } from "#shared/values/scopes.ts";
import { PAGES } from "../../packages/docs/src/chapters.ts";
import { HEADERS } from "../../packages/docs/src/headers.ts";
import { buildSite } from "../../packages/docs/src/site.ts";
import { EVERY_LOOK, look, noBrowser, onPage, overflowOf, serveHttp } from "../harness/browser.ts";
import { prepareSandbox } from "../harness/prepared.ts";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "ere-guides-"));
let running: RunningStack;
/** What the blocks marked `sh settings` set, and a reader fills in. */
let settings: Record<string, string>;

beforeAll(async () => {
  await prepareSandbox(join(folder, "data"));
  running = await startStack({ host: "sandbox", port: await freePort(), data_dir: join(folder, "data"), fresh: false });
  const { base_url, demo } = running.stack;
  settings = {
    API: base_url,
    CLIENT_ID: demo.cpo.client_id,
    CLIENT_SECRET: demo.cpo.client_secret,
    PARTNER_KEY: demo.partner.api_key,
    PERSONAL_TOKEN: demo.personal_token,
  };
});
afterAll(async () => {
  await running?.stop();
  rmSync(folder, { recursive: true, force: true });
});

type Block = { guide: string; command: string; shown: string[] };

/** The commands of a guide up to a heading, or all of them, in their order: its `sh` blocks, each with the answers that are shown below it. */
function blocksOf(guide: string, until?: string): Block[] {
  const [page = ""] = readFileSync(join(ROOT, "docs/guides", `${guide}.md`), "utf8").split(until ?? "\0");
  const blocks: Block[] = [];
  for (const [, kind, code = ""] of page.matchAll(/^```(sh|json answer|text answer)\n(.*?)^```$/gms)) {
    if (kind === "sh") blocks.push({ guide, command: code, shown: [] });
    else blocks.at(-1)?.shown.push(code.trim());
  }
  return blocks;
}

const commandsOf = (guide: string, until?: string) =>
  blocksOf(guide, until)
    .map(({ command }) => command)
    .join("\n");

/** What the commands wrote. The first that fails ends them, and the test. */
async function bash(commands: string): Promise<string> {
  const { stdout } = await run("bash", ["-euo", "pipefail", "-c", commands], {
    cwd: folder,
    env: { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, ...settings },
  });
  return stdout;
}

const answersOf = (output: string) =>
  output
    .trim()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));

/** What is another one each time: the address, ids, and the digits of times, codes and figures. */
const masked = (text: string) =>
  text
    .replaceAll(settings.API ?? "", "http://127.0.0.1:54321")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}/g, "<id>")
    .replace(/\d+/g, "0");

/** Where an answer differs from what a guide shows of it. `…` stands for whatever follows: characters, items or fields. */
function differences(shown: unknown, real: unknown, at = "answer"): string[] {
  if (shown === "…") return [];
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
  if (Array.isArray(shown) && Array.isArray(real)) {
    const items = shown.at(-1) === "…" ? shown.slice(0, -1) : shown;
    if (items === shown ? real.length !== items.length : real.length < items.length)
      return [`${at} has ${real.length} items`];
    return items.flatMap((item, n) => differences(item, real[n], `${at}[${n}]`));
  }
  if (isObject(shown) && isObject(real)) {
    const { "…": rest, ...fields } = shown;
    const hidden = rest === undefined ? Object.keys(real).filter((name) => !(name in fields)) : [];
    return [
      ...hidden.map((name) => `${at}.${name} is not shown`),
      ...Object.entries(fields).flatMap(([name, value]) => differences(value, real[name], `${at}.${name}`)),
    ];
  }
  if (typeof shown === "number" && typeof real === "number") return [];
  if (typeof shown === "string" && typeof real === "string") {
    const [start = "", ...more] = masked(shown).split("…");
    if (more.length > 0 ? masked(real).startsWith(start) : masked(real) === start) return [];
  } else if (shown === real) return [];
  return [`${at} is ${JSON.stringify(real)}, and ${JSON.stringify(shown)} is shown`];
}

const NEXT = "=== the next block";

/** Runs commands one block after the other, in one shell. What each wrote, refusals too. */
async function outputsOf(blocks: readonly Block[]): Promise<string[]> {
  const output = await bash(`exec 2>&1\n${blocks.map(({ command }) => `echo "${NEXT}"\n${command}`).join("\n")}`);
  return output.split(`${NEXT}\n`).slice(1);
}

/** What a guide shows below a command is what the command writes. */
function expectShown({ guide, command, shown }: Block, output: string): void {
  const lines = output.trim().split("\n");
  const faults = shown.flatMap((text, n) => {
    const real = lines[n] ?? "";
    if (!text.startsWith("{")) return masked(real) === masked(text) ? [] : [`${real} is not ${text}`];
    return real.startsWith("{") ? differences(JSON.parse(text), JSON.parse(real)) : [`${real} is no answer`];
  });
  expect(faults, `${guide}.md, below ${command}`).toEqual([]);
}

/** Runs a guide, and holds every answer that it shows to what the API answers. All answers, in their order. */
// biome-ignore lint/suspicious/noExplicitAny: each test names the fields it reads
async function follow(blocks: readonly Block[]): Promise<any[]> {
  const outputs = await outputsOf(blocks);
  for (const [n, block] of blocks.entries()) expectShown(block, outputs[n] ?? "");
  return answersOf(outputs.join("\n"));
}

test("§1 first_call.md, first_euro.md: the main job in six calls, and what follows, by curl, exactly as written", async () => {
  const { API = "", CLIENT_ID = "", CLIENT_SECRET = "" } = settings;
  const unsigned = blocksOf("first_call");
  const blocks = [...unsigned, ...blocksOf("first_euro")];
  const first = await outputsOf(unsigned);
  const [link = ""] = /http:[^"\s]+\/pages\/mandate\/[\w-]+/.exec(first.join("")) ?? [];
  const mailbox = blocks.findIndex(({ command }) => command.includes("/sandbox/v1/mail"));
  expect(first[mailbox]?.trim()).toBe("[]"); // nobody has asked for a code yet
  const [, , , charger, months, before] = answersOf(first.join("\n"));
  expect(charger).toMatchObject({ ok: true, mid_eligible: true });
  expect(months).toMatchObject({ accepted: 1, results: [{ status: "ingested" }] });
  expect(before.positions[0].checklist).toMatchObject({ mandate_signed: false, iban_present: true });

  // the page is asked for a code, and the mailbox has it
  const page = await (await fetch(link)).text();
  const seen = /seen=([^"&]+)/.exec(page)?.[1] ?? "";
  await fetch(`${link}/code`, {
    method: "POST",
    body: new URLSearchParams({ seen }),
    headers: { origin: new URL(link).origin },
  });
  const [asked = ""] = (await outputsOf(blocks.slice(mailbox, mailbox + 1))).slice(-1);
  await signMandate(link, { name: "Sanne de Vries", email: "sanne@example.nl" }, running.stack.operator_database_url);
  const again = await outputsOf(blocks);
  // a reader signs before the charger, so what comes after is shown as it is then; what is made once is shown as it is made
  const made = first.slice(0, mailbox);
  for (const [n, block] of blocks.entries()) {
    const output = n === mailbox ? asked : (made[n] ?? again[n] ?? "");
    expectShown(block, output.replace('"idempotent":true', '"idempotent":false'));
  }

  const answers = answersOf(again.join("\n"));
  const [after, , review, settled, euros, log, settlements] = answers.slice(-7);
  expect(after.positions[0]).toMatchObject({
    ere_eligible: true,
    checklist: { mandate_signed: true, ean_validated: true, mid_charger_registered: true, iban_present: true },
    total_kwh_delivered: 312.5,
  });
  expect(again.join("")).toContain("\n200 application/pdf\n");
  expect(review).toMatchObject({ ok: true, to: "goedgekeurd" });
  expect(settled).toMatchObject({ ok: true, accounts: 2, left_out: [] }); // with the demo's customer
  expect(euros.positions[0].delivered_months).toMatchObject([{ status: "registered" }]);
  expect(euros.positions[0].ere).toMatchObject({ delivery_year: 2026, ere_per_kwh: 0.332694 });
  expect(euros.positions[0].ere.net_eur).toBeGreaterThan(0);
  expect(log.events[0].type).toBe("account.created");
  expect(settlements.settlements).toEqual([]);

  // what the other guides take from this one
  const form = { grant_type: "client_credentials", client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const token = await fetch(`${API}/oauth-token`, { method: "POST", body: new URLSearchParams(form) });
  settings.TOKEN = ((await token.json()) as { access_token: string }).access_token;
  settings.ACCOUNT = after.positions[0].account_id;
});

test("§7 first_call.md: who copies it with a secret that is wrong is shown the refusal", async () => {
  const commands = commandsOf("first_call", "**An account**");
  expect(await bash(`{ CLIENT_SECRET=wrong\n${commands}\n} 2>&1`)).toContain('"error":"invalid_client"');
});

test("§4.2 customers.md: bring customers, by curl, exactly as written", async () => {
  const [imported, dry_run, drafts, customers] = await follow(blocksOf("customers"));
  const [{ claim_url }] = imported.created;
  expect((await fetch(claim_url)).status).toBe(200);
  expect(dry_run).toMatchObject({
    ...{ dry_run: true, added: 1, created: [{ row: 1, sheet_row: 2, draft_id: null }] },
    rejected: [{ row: 2, sheet_row: 3, reason: "invalid" }],
  });
  expect(drafts.drafts).toMatchObject([{ external_ref: "K-1", status: "invited", naam: "Eva Jansen", claim_url }]);
  // the demo's, who has signed
  expect(customers.customers).toMatchObject([{ external_ref: "K-0001", registration_status: "goedgekeurd" }]);
});

test("§8 idempotency.md, §3 months.md, §1 eligibility.md, §4.1 sessions.md, ocpi.md: by curl, exactly as written", async () => {
  const [one, two] = await follow(blocksOf("idempotency"));
  expect([one.idempotent, two.idempotent]).toEqual([false, true]);
  expect(two.account_id).toBe(one.account_id);

  const [months] = await follow(blocksOf("months"));
  expect(months.results.map(({ status, reason }: Record<string, string>) => [status, reason])).toEqual([
    ["locked", undefined], // the first guide settled it
    ["outside_mandate", undefined],
    ["invalid", "bad_period"],
  ]);

  const [resolved] = await follow(blocksOf("eligibility"));
  expect(resolved).toMatchObject({ resolved: true });

  const [registered, delivered, withdrawn, page] = await follow(blocksOf("sessions"));
  expect(registered.ok).toBe(true);
  expect(delivered).toMatchObject({ created: 1, parked: 1, invalid: 1 });
  expect(withdrawn).toMatchObject({ withdrawn: 2 });
  expect(page).toMatchObject({ sessions: [], has_more: false });

  const [connection] = await follow(blocksOf("ocpi"));
  expect(connection).toMatchObject({ versions_url: `${settings.API}/ocpi/versions`, status: "none" });
});

test("§4.4 oauth.md, ocpp.md: the metadata, a person's own token and a charger of theirs, by curl, exactly as written", async () => {
  const [metadata, energy] = await follow(blocksOf("oauth"));
  expect(metadata).toMatchObject({ issuer: settings.API, code_challenge_methods_supported: ["S256"] });
  expect(energy.months.length).toBeGreaterThan(0);
  const [charger] = await follow(blocksOf("ocpp"));
  expect(charger.ocpp.endpoint).toContain(`/${charger.ocpp.identity}`);
});

/** What Home Assistant is told to show: its configuration, with the templates of each address. */
type Shown = { unique_id: string; value_template: string; availability: string; unit_of_measurement?: string };
type Rest = { resource: string; headers: Record<string, string>; sensor: Shown[]; binary_sensor?: Shown[] };

/** The value of a sensor as Home Assistant makes it of an answer; null while the sensor is unavailable. */
function stateOf({ value_template, availability }: Shown, value_json: unknown): string | null {
  const render = (template: string) => new Template(template).render({ value_json });
  return /^true$/i.test(render(availability)) ? render(value_template) : null;
}

test("§4.4 home_automation.md: by curl as written, and Home Assistant shows what the API answers", async () => {
  const [chargers, energy, position] = await follow(blocksOf("home_automation"));
  const page = String(buildSite().get("home_automation.md"));
  const file = readFileSync(join(ROOT, "examples/home_assistant/ere.yaml"), "utf8");
  expect(/^```yaml\n(.*?)^```$/ms.exec(page)?.[1], "the guide has the file").toBe(file);

  const secret = { tag: "!secret", resolve: (name: string) => `secret ${name}` };
  const { rest }: { rest: Rest[] } = parse(file, { customTags: [secret] });
  const answers: Record<string, unknown> = { "/chargers": chargers, "/energy": energy, "/ere-position": position };
  const states: Record<string, string | null> = {};
  for (const { resource, headers, sensor, binary_sensor = [] } of rest) {
    expect(headers).toEqual({ Authorization: "secret ere_token" });
    for (const shown of [...sensor, ...binary_sensor]) {
      const state = stateOf(shown, answers[new URL(resource).pathname]);
      if (shown.unit_of_measurement) expect(Number.parseFloat(state ?? ""), shown.unique_id).toBe(Number(state));
      // a refusal has none of these fields
      expect(stateOf(shown, { error: "too_many_requests" }), shown.unique_id).toBeNull();
      states[shown.unique_id] = state;
    }
  }
  expect(states).toEqual({
    ere_is_charging: expect.stringMatching(/^false$/i),
    ere_charger_status: chargers.chargers[0].status,
    ere_session_energy: "0",
    ere_session_card: "-",
    ere_total_energy: String(energy.total_kwh),
    ere_total: String(energy.total_ere_credits),
    ere_paid: String(position.paid.net_eur),
    ere_payable: String(position.payable.net_eur),
    ere_ytd_expected: String(position.ytd_expected_eur),
    ere_total_expected: String(position.total_expected_eur),
    ere_unsold: String(position.unsold.ytd_ere),
    ere_this_quarter: String(position.quarters.at(-1).ere),
  });
  // nobody connected a charger, a car charges, and no price is known
  const one = (unique_id: string) => rest.flatMap((each) => each.sensor).find((each) => each.unique_id === unique_id);
  const state = (unique_id: string, answer: unknown) => stateOf(one(unique_id) as Shown, answer);
  expect(state("ere_charger_status", { chargers: [] })).toBeNull();
  const charging = { chargers: [{ current_session: { kwh_so_far: 4.2, id_tag: "04A3" } }] };
  expect([state("ere_session_energy", charging), state("ere_session_card", charging)]).toEqual(["4.2", "04A3"]);
  expect(state("ere_total_expected", { total_expected_eur: null })).toBeNull();
});

test("§4.3 rehearse.md: up to the first euro, by curl, exactly as written", async () => {
  const headers = { Authorization: `Bearer ${settings.PARTNER_KEY}` };
  const before = await (await fetch(`${settings.API}/partner/dashboard`, { headers })).json();
  const answers = await follow(blocksOf("rehearse"));
  const [
    imported,
    mailbox,
    claimed,
    again,
    review,
    sync,
    dashboard,
    drafts,
    customers,
    ,
    withdrawn,
    fixtures,
    settled,
  ] = answers;
  const [reset, ...played] = answers.slice(-5);
  expect(imported).toMatchObject({ added: 1, rejected: [] });
  const [mail] = mailbox.mail;
  expect(mail).toMatchObject({ to: "mila@example.nl", template: "claim" });
  expect(mail.links[0]).toBe(imported.created[0].claim_url);
  expect(claimed).toMatchObject({ draft_status: "active", steps: { claim: "done", submit: "done" } });
  expect(again).toMatchObject({
    draft_status: "active",
    registration_status: "ingediend",
    steps: { claim: "already_done", activate: "already_done", iban: "already_done", submit: "already_done" },
    charger: { mid: true },
  });
  expect(review).toMatchObject({ ok: true, from: "ingediend", to: "goedgekeurd" });
  expect(sync).toEqual({ ok: true, sessions_created: 0, error: null });
  expect(drafts.drafts).toMatchObject([{ external_ref: "R-1", status: "active" }]);
  const mila = customers.customers.find(({ external_ref }: { external_ref: string }) => external_ref === "R-1");
  expect(mila).toMatchObject({ naam: "Mila Bakker", source: "partner_upload", registration_status: "goedgekeurd" });
  expect(dashboard.chargers_total - before.chargers_total).toBe(1);
  // beside what the demo's customer charged; from the month in which she came, so nothing yet in its first days
  const charged = Math.round((dashboard.kwh_total - before.kwh_total) * 100) / 100;
  const day = new Intl.DateTimeFormat("en", { day: "numeric", timeZone: "Europe/Amsterdam" }).format(new Date());
  if (Number(day) > 4) expect(charged).toBeGreaterThan(0);
  expect(charged % 20).toBe(0);
  expect(withdrawn).toMatchObject({ ok: true });
  expect(fixtures.fixtures.map(({ state, ok }: { state: string; ok: boolean }) => [state, ok])).toEqual(
    ["eligible", "rejected", "no_mandate", "ean_unverified", "no_mid_charger", "no_iban"].map((state) => [state, true]),
  );
  expect(settled).toMatchObject({ ok: true, quarter: `${thisYear()}-Q1` });
  expect(settled.net_eur).toBeGreaterThan(0);
  expect(reset).toMatchObject({ ok: true, customers_deleted: 8 });
  expect(played.map(({ mandate_status }) => mandate_status)).toEqual(["revoked", "signed", "expired", "signed"]);
  // her link leads nowhere now, and kindly
  expect((await fetch(mail.links[0])).status).toBe(404);
});

test("§9.5 every guide with commands is run here", () => {
  const RUN = [
    "customers",
    "eligibility",
    "first_call",
    "first_euro",
    "home_automation",
    "idempotency",
    "months",
    "oauth",
    "ocpi",
    "ocpp",
    "rehearse",
    "sessions",
  ];
  const guides = readdirSync(join(ROOT, "docs/guides")).map((name) => name.replace(".md", ""));
  expect(guides.filter((guide) => commandsOf(guide) !== "").sort()).toEqual(RUN.sort());
});

test("§7 a path that nobody answers names the documentation, and / leads there", async () => {
  const { API = "" } = settings;
  const missing = await fetch(`${API}/v2/accounts`);
  expect([missing.status, ((await missing.json()) as { detail: string }).detail]).toEqual([
    404,
    "No route answers this method and path; see GET /docs.",
  ]);
  for (const path of ["/", "/docs", "/functions/v1/docs"]) {
    const page = await fetch(API + path);
    expect([page.status, page.url, page.headers.get("content-type")]).toEqual([
      200,
      `${API}/docs/`,
      "text/html; charset=utf-8",
    ]);
  }
  const llms = await fetch(`${API}/llms.txt`);
  expect([llms.status, llms.url]).toEqual([200, `${API}/docs/llms.txt`]);
  expect(await llms.text()).toMatch(/^# ERE API/);
  expect((await fetch(`${API}/docs/../secrets.json`)).status).toBe(404);
  for (const path of ["%2e%2e%2fsecrets.json", "nothing.html", ".client", "guides/first_call.md", "a/b/c", "docs/"]) {
    const lost = await fetch(`${API}/docs/${path}`);
    expect([lost.status, lost.headers.get("content-type")], path).toEqual([404, "text/html; charset=utf-8"]);
    const [, target = ""] = / href="([^"]*index\.html)"/.exec(await lost.text()) ?? [];
    expect(new URL(target, lost.url).href).toBe(`${API}/docs/index.html`);
  }
});

test("§8 no file of the documentation can be shown in a frame", async () => {
  for (const name of ["", "first_call.html", "reference.html", "llms.txt", "openapi.json"]) {
    const { status, headers } = await fetch(`${settings.API}/docs/${name}`);
    const sent = Object.keys(HEADERS).map((header) => [header, headers.get(header)]);
    expect([status, Object.fromEntries(sent)], name).toEqual([200, HEADERS]);
  }
});

if (noBrowser) console.warn(`The documentation is not looked at in a browser: ${noBrowser}`);

describe.skipIf(noBrowser)("§9.5 the documentation in a browser", () => {
  test.each(PAGES.map(({ name }) => name))(
    "%s: nothing sticks out, axe finds nothing, and a command that is longer than a phone is wide wraps",
    (name) =>
      onPage({ locale: "en", bypassCSP: true }, async (page) => {
        // axe is a script, which the policy of the page forbids
        await page.goto(`${settings.API}/docs/${name}.html`);
        await look(page, `docs-${name}`, "en");
        await page.setViewportSize({ width: 390, height: 844 });
        const wide = await page.evaluate(() =>
          [document.documentElement, ...document.querySelectorAll("pre, pre code")]
            .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
            .map(({ textContent }) => textContent?.slice(0, 60)),
        );
        expect(wide).toEqual([]);
      }),
  );

  test("on a phone and by keyboard alone: to the text, and through the menu to another page", () =>
    onPage({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false, locale: "en" }, async (page) => {
      await page.goto(`${settings.API}/docs/`);
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForURL(`${settings.API}/docs/#content`);
      await page.goto(`${settings.API}/docs/`);
      await page.getByText("All pages").focus();
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: "Errors", exact: true }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Errors" }).waitFor();
    }));

  test("commands name the address that the page was read from, and are copied whole", () =>
    onPage({ locale: "en", permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
      const readFrom = settings.API?.replace("127.0.0.1", "localhost") ?? "";
      await page.goto(`${readFrom}/docs/first_call.html`);
      const block = page.locator("pre", { hasText: "export API=" });
      expect(await block.textContent()).toContain(`export API=${readFrom}\n`);
      const button = page.getByRole("button", { name: "Copy" }).first();
      await button.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Copied" }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await block.locator("code").textContent());
    }));

  test("search finds a section and an operation by keyboard, says how many there are, and axe finds nothing in it", () =>
    onPage({ locale: "en", bypassCSP: true }, async (page) => {
      await page.goto(`${settings.API}/docs/`);
      await page.keyboard.press("Control+k");
      await page.keyboard.type("ean_in_use");
      const status = page.getByRole("search").getByRole("status");
      await expect.poll(() => status.textContent()).toMatch(/^\d+ sections/);
      await look(page, "docs-search", "en");
      await page.keyboard.press("Escape");
      expect(await status.textContent()).toBe("");

      await page.keyboard.type("eligibility gates");
      await page.getByRole("search").getByRole("link").first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Eligibility" }).waitFor();

      await page.getByLabel("Search").fill("acknowledge_mandate_lapses");
      const results = page.getByRole("search").getByRole("link");
      await results.first().waitFor();
      const hrefs = await results.evaluateAll((links) => links.map((link) => link.getAttribute("href")));
      expect(hrefs).toContain("reference.html#tag/cpo-v1/POST/v1/connections:update");
      // as somebody asks
      for (const [question, where, word] of [
        ["When do I get paid?", "ere.html", "paid"],
        ["the same month twice", "months.html", "same"],
        ["python", "index.html", "python"],
      ] as const) {
        await page.getByLabel("Search").fill(question);
        const found = () =>
          results.evaluateAll((links) => links.map((link) => link.getAttribute("href")?.split("#")[0]));
        await expect.poll(found).toContain(where);
        const marks = await page.getByRole("search").locator("mark").allTextContents();
        expect(marks.map((mark) => mark.toLowerCase())).toContain(word);
      }
      await page.getByLabel("Search").fill("qqqq");
      await expect.poll(() => status.textContent()).toBe("Nothing has these words.");
    }));

  test("search finds what was typed before its script was there, and says nothing of what was deleted before its index was", () =>
    onPage({ locale: "en" }, async (page) => {
      const held = new Map<string, () => void>();
      const hold = (name: string) =>
        page.route(`**/docs/${name}`, async (route) => {
          await new Promise<void>((resolve) => held.set(name, resolve));
          await route.continue();
        });
      await hold("guide.js");
      await hold("search.json");
      await page.goto(`${settings.API}/docs/`, { waitUntil: "commit" });
      await page.getByLabel("Search").fill("eligibility");
      await expect.poll(() => held.has("guide.js")).toBe(true);
      held.get("guide.js")?.();
      await expect.poll(() => held.has("search.json")).toBe(true);
      await page.getByLabel("Search").fill("");
      await page.getByLabel("Search").fill("ean_in_use");
      const answered = page.waitForResponse("**/docs/search.json");
      held.get("search.json")?.();
      await answered;
      const results = page.getByRole("search").getByRole("link");
      await results.first().waitFor();
      expect(await results.allTextContents()).toEqual(expect.arrayContaining([expect.stringContaining("ean_in_use")]));
    }));

  test("without scripts the search is not there, and commands name the address of npm start", () =>
    onPage({ javaScriptEnabled: false, locale: "en" }, async (page) => {
      await page.goto(`${settings.API}/docs/first_call.html`);
      expect(await page.getByRole("search").isVisible()).toBe(false);
      expect(await page.getByRole("main").textContent()).toContain(`export API=${settings.API}\n`);
    }));

  /**
   * What a page logs as an error. Scalar also warns of six schemas ("document validation errors") which it takes as they are in a
   * smaller document; redocly, spectral and prism find nothing in them.
   */
  const faultsOf = (page: Page): string[] => {
    const faults: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(error.message));
    return faults;
  };
  /** What axe finds in Scalar's own buttons, tabs and lists, whatever our document says; a new kind is ours to look at. */
  const SCALARS_OWN = [
    "aria-allowed-attr",
    "aria-allowed-role",
    "aria-input-field-name",
    "aria-required-children",
    "button-name",
    "label-content-name-mismatch",
    "landmark-no-duplicate-banner", // on a phone it brings one of its own
    "landmark-unique",
    "nested-interactive",
    "scrollable-region-focusable",
  ];

  /**
   * Has the reference draw the first operation of each method and function, or `only` those of a path. All 18,000 elements take a
   * quarter of a minute to draw, and axe a minute: Scalar makes the same of every operation, and `npm run trial -- accessibility`
   * draws them all.
   */
  const drawFew = (page: Page, only?: string) =>
    EVERY_LOOK ||
    page.route("**/openapi.json", async (route) => {
      const answer = await route.fetch();
      const document = await answer.json();
      const seen = new Set<string>();
      for (const [path, methods] of Object.entries<Record<string, { tags?: string[] }>>(document.paths))
        for (const [method, operation] of Object.entries(methods)) {
          const kind = `${method} ${operation.tags}`;
          if (path !== (only ?? "/v1/accounts") && (only || seen.has(kind))) delete methods[method];
          seen.add(kind);
        }
      await route.fulfill({ response: answer, json: document });
    });
  /** What moves is drawn sixty times a second, which is half of the work. */
  const STILL = { locale: "en", reducedMotion: "reduce" } as const;

  test("the reference on a phone and on a desk: nothing sticks out, axe finds nothing but in what Scalar makes, and nothing is logged as wrong", () =>
    onPage({ ...STILL, bypassCSP: true }, async (page) => {
      const faults = faultsOf(page);
      await drawFew(page);
      await page.goto(`${settings.API}/docs/reference.html#tag/cpo-v1/GET/v1/accounts`);
      await page
        .getByRole("button", { name: /Test Request.*get \/v1\/accounts/i })
        .first()
        .waitFor();
      // what stands above the operation is drawn after it
      await page.locator("h1").first().waitFor({ state: "attached" });
      await look(page, "docs-reference", "en", { but: SCALARS_OWN });
      expect(faults).toEqual([]);
    }));

  test.each([
    ["beside the API", false],
    ["at an address of its own", true],
  ])(
    "the reference %s sends a request that the API answers, and nothing leaves for anybody else",
    async (_where, apart) => {
      const { API = "", CLIENT_ID = "", CLIENT_SECRET = "" } = settings;
      const host = await serveHttp();
      const site = buildSite({ api: API });
      host.answer = ({ url }) => {
        const name = new URL(url).pathname.slice(1);
        const types = { html: "text/html", js: "text/javascript", css: "text/css", json: "application/json" };
        const type = types[name.split(".").at(-1) as keyof typeof types];
        return new Response(new Uint8Array(Buffer.from(site.get(name) ?? "")), {
          headers: { "content-type": `${type}; charset=utf-8` },
        });
      };
      const home = apart ? host.url : `${API}/docs`;
      await onPage({ ...STILL, viewport: { width: 1280, height: 844 } }, async (page, context) => {
        const origins = new Set<string>();
        context.on("request", (request) => {
          if (/^https?:/.test(request.url())) origins.add(new URL(request.url()).origin);
        });
        const faults = faultsOf(page);
        // its request is sent, and the test above looks at the others
        await drawFew(page, "/v1/accounts");
        await page.goto(`${home}/reference.html#tag/cpo-v1/GET/v1/accounts`);
        await page
          .getByRole("button", { name: /Test Request.*get \/v1\/accounts/i })
          .first()
          .click();
        // beside the API of npm start the demo's are there already
        const typed = apart ? { "Client ID": CLIENT_ID, "Client Secret": CLIENT_SECRET } : {};
        for (const [label, value] of Object.entries(typed)) {
          const field = page.locator("label", { hasText: label }).filter({ visible: true }).last();
          await page.locator(`#${await field.getAttribute("for")}`).click();
          await page.keyboard.insertText(value);
        }
        const token = page.waitForResponse(`${API}/oauth-token`);
        await page.getByRole("button", { name: "Authorize" }).filter({ visible: true }).last().click();
        expect(await (await token).json()).toMatchObject({ scope: Object.keys(CPO_SCOPES).join(" ") });
        // Scalar takes a moment to put the token into the request
        const send = async () => {
          const asked = page.waitForResponse(
            (response) => response.url().startsWith(`${API}/v1/accounts`) && response.request().method() === "GET",
          );
          await page.getByRole("button", { name: /^Send/ }).filter({ visible: true }).last().click();
          const answer = await asked;
          return [answer.status(), Object.keys(await answer.json())];
        };
        await expect.poll(send).toEqual([200, expect.arrayContaining(["accounts"])]);
        // of another origin the page reads the headers that the API names
        const headers = await page.evaluate(async (api) => {
          const answer = await fetch(`${api}/v1/accounts`);
          return [answer.headers.get("www-authenticate"), answer.headers.get("x-request-id")?.length];
        }, API);
        expect(headers).toEqual(['Bearer error="invalid_token"', 36]);
        expect([...origins].sort()).toEqual([...new Set([new URL(home).origin, API])].sort());
        const letters = (selector: string) =>
          page
            .locator(selector)
            .first()
            .evaluate((element) => getComputedStyle(element).fontFamily);
        expect(await letters(".scalar-app p"), "in the letters of the pages").toBe(await letters("body"));
        expect(await page.evaluate(() => document.fonts.check('16px "Public Sans"'))).toBe(true);
        expect(
          await page.evaluate(() => [...document.fonts].map(({ family, status }) => [family, status])),
        ).toContainEqual(["Public Sans", "loaded"]);
        expect(faults.filter((fault) => !/status of 401/.test(fault))).toEqual([]);
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 844 });
          expect(await overflowOf(page), `nothing sticks out at ${width}`).toBeLessThanOrEqual(0);
        }
      }).finally(() => host.close());
    },
  );
});

// README's first account, the commands of docs/tour.md and npm run demo, as a newcomer runs them, against a stack of their own.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../packages/local/src/checkout.ts";
import { signMandate } from "../../packages/local/src/customer.ts";
import { freePort } from "../../packages/local/src/postgres.ts";
import { type RunningStack, startStack } from "../../packages/local/src/runner.ts";

const run = promisify(execFile);

let folder: string;
let running: RunningStack;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ere-story-"));
  running = await startStack({ host: "sandbox", port: await freePort(), data_dir: join(folder, "data"), fresh: false });
}, 60_000);
afterAll(async () => {
  await running?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The commands of a page between a sentence and the end of the code block that follows it. */
function commandsAfter(sentence: string, page = "docs/tour.md"): string {
  const [, after] = readFileSync(join(ROOT, page), "utf8").split(sentence);
  const commands = after && /```sh\n(.*?)```/s.exec(after)?.[1];
  if (!commands) throw new Error(`${page} has no commands after "${sentence}"`);
  return commands;
}

/** The tour's first block: what it sets at its head, the later ones use. */
const MAIN_JOB = commandsAfter("the main job in six calls");

/** The checkout as a newcomer has it, beside the stack.json of this stack. */
function newcomer(name: string): (script: string) => Promise<{ stdout: string }> {
  const checkout = join(folder, name);
  mkdirSync(join(checkout, ".local"), { recursive: true });
  writeFileSync(join(checkout, ".local/stack.json"), JSON.stringify(running.stack));
  for (const entry of ["package.json", "packages", "node_modules"])
    symlinkSync(join(ROOT, entry), join(checkout, entry));
  return (script) =>
    run("bash", ["-euo", "pipefail", "-c", script], {
      cwd: checkout,
      env: {
        ...process.env,
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
        OPERATOR_DATABASE_URL: running.stack.operator_database_url,
      },
    });
}

/** Lines that later commands build on: what they set, and nothing that is sent. */
const setUp = (commands: string) =>
  commands
    .split("\n")
    .filter((line) => /^(get|field)\(\)|^API=/.test(line))
    .join("\n");

test("§1 README: a first account, by curl, exactly as written", { timeout: 60_000 }, async () => {
  const bash = newcomer("first-account");
  const { stdout } = await bash(commandsAfter("your first account", "README.md"));
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, ean_validation_status: "matched", iban_stored: true });
});

test("§1 docs/tour.md: the main job in six calls, by curl, exactly as written", { timeout: 60_000 }, async () => {
  const bash = newcomer("main-job");
  const first = await bash(MAIN_JOB);
  const link = /http:\S+\/pages\/mandate\/\w+/.exec(first.stdout)?.[0] ?? "";
  expect(first.stdout).toMatch(/"mandate_signed" ?: ?false/);
  const customer = { name: "Sanne de Vries", email: "sanne@example.nl" };
  await signMandate(link, customer, running.stack.operator_database_url);

  const last = MAIN_JOB.split("\n").filter(
    (line) => /^(get|API|field|TOKEN)\b|^curl/.test(line) || line.includes("() {"),
  );
  const { stdout } = await bash(last.join("\n"));
  expect(JSON.parse(stdout).positions[0]).toMatchObject({
    ere_eligible: true,
    checklist: { mandate_signed: true, ean_validated: true, mid_charger_registered: true, iban_present: true },
    total_kwh_delivered: 312.5,
  });

  const document = await bash(`${last.slice(0, -1).join("\n")}\n${commandsAfter("Once the customer has signed")}`);
  expect(document.stdout).toBe("200 application/pdf\n");

  const { account_id } = JSON.parse(stdout).positions[0];
  const money = await bash(
    `${last.slice(0, -1).join("\n")}\nACCOUNT=${account_id}\n${commandsAfter("### From months to euros")}`,
  );
  const [review, settled, after, log, settlements] = money.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(review).toMatchObject({ ok: true, to: "goedgekeurd" });
  expect(settled).toMatchObject({ ok: true, accounts: 1, left_out: [] });
  expect(after.positions[0].delivered_months).toMatchObject([{ status: "registered" }]);
  expect(after.positions[0].ere.net_eur).toBeGreaterThan(0);
  expect(log.events[0].type).toBe("account.created");
  expect(settlements.settlements).toEqual([]);
});

test("§4.4 docs/tour.md: a person's own charging, by curl, exactly as written", { timeout: 60_000 }, async () => {
  const bash = newcomer("own-charging");
  const { stdout } = await bash(`${setUp(MAIN_JOB)}\n${commandsAfter("## A person's own charging")}`);
  const { total_sessions, months } = JSON.parse(stdout);
  expect(total_sessions).toBeGreaterThan(0);
  expect(months.length).toBeGreaterThan(0);
});

test("§4.2 docs/tour.md: bring customers, by curl, exactly as written", { timeout: 60_000 }, async () => {
  const bash = newcomer("customers");
  const { stdout } = await bash(`${setUp(MAIN_JOB)}\n${commandsAfter("## Bring customers")}`);
  const [claim_url = ""] = /http:\S+\/pages\/claim\/\S+/.exec(stdout) ?? [];
  expect((await fetch(claim_url)).status).toBe(200);
  const [drafts, customers] = stdout.trim().split(/(?=\{ ?"customers")/);
  expect(JSON.parse(drafts?.slice(drafts.indexOf('{"drafts"')) ?? "").drafts).toMatchObject([
    { external_ref: "K-1", status: "invited", naam: "Eva Jansen", claim_url },
  ]);
  expect(JSON.parse(customers ?? "")).toEqual({ customers: [] });
});

test("§4.3 docs/tour.md: rehearse an integration, by curl, exactly as written", { timeout: 60_000 }, async () => {
  const bash = newcomer("rehearsal");
  const { stdout } = await bash(`${setUp(MAIN_JOB)}\n${commandsAfter("## Rehearse an integration")}`);
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const [imported, mailbox, again, review, sync, drafts, customers, dashboard, withdrawn, fixtures, settled, reset] =
    answers;
  expect(answers).toHaveLength(12);
  expect(imported).toMatchObject({ added: 1, rejected: [] });
  const [mail] = mailbox.mail;
  expect(mail).toMatchObject({ to: "mila@example.nl", template: "claim" });
  expect(mail.links[0]).toBe(imported.created[0].claim_url);
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
  expect(dashboard.kwh_total).toBeGreaterThan(0);
  expect(dashboard.kwh_total % 20).toBe(0);
  expect(withdrawn).toMatchObject({ ok: true });
  expect(fixtures.fixtures.map(({ state, ok }: { state: string; ok: boolean }) => [state, ok])).toEqual(
    ["eligible", "rejected", "no_mandate", "ean_unverified", "no_mid_charger", "no_iban"].map((state) => [state, true]),
  );
  // Mila, and the fixture of which everything is in order
  expect(settled).toMatchObject({ ok: true, quarter: "2026-Q2", accounts: 2 });
  expect(settled.net_eur).toBeGreaterThan(0);
  expect(reset.ok).toBe(true);
  expect(reset.customers_deleted).toBe(7);
  // her link leads nowhere now, and kindly
  expect((await fetch(mail.links[0])).status).toBe(404);
});

test("contract §9 docs/deploy.md: the check of the client's address, exactly as written", {
  timeout: 60_000,
}, async () => {
  const bash = newcomer("address");
  const { functions } = JSON.parse(readFileSync(join(folder, "data/secrets.json"), "utf8"));
  const set = `BASE_URL=${running.stack.base_url} WORKER_SECRET=${functions.WORKER_SECRET}\n`;
  const asked = await bash(set + commandsAfter("## Check the client's address", "docs/deploy.md"));
  expect(JSON.parse(asked.stdout)).toMatchObject({ client_address: "127.0.0.1" });

  const guesses = commandsAfter("under twelve addresses that are not yours", "docs/deploy.md");
  const here = guesses.replace(/^API=.*$/m, `API=${running.stack.functions_url}`);
  expect(here).not.toBe(guesses);
  const guessed = await bash(here);
  expect(guessed.stdout.trim().split(" ")).toEqual([...Array(10).fill("401"), "429", "429"]);
});

test("§1 npm run demo: the whole story told against a stack of its own, signing included", {
  timeout: 60_000,
}, async () => {
  const demo = join(ROOT, "packages/local/src/demo.ts");
  const { stdout } = await run(process.execPath, [demo, "--stack", join(folder, "data/stack.json")]);
  expect(stdout).toContain("Four gates are open");
  expect(stdout, "an event arrives at a receiver").toContain('"type": "account.eligibility_changed"');
  // 599.625 kWh x 0.332694 = 199.491639 ERE at 0.40 euro; of each month the fee of a fifth is cut to the cent
  expect(stdout).toMatch(/599\.625 kWh → 199\.49 ERE → € 79\.80[\s\S]*gets € 63\.85 after a fee of 20 %/);
  expect(stdout).toContain("Done.");
  expect(stdout).not.toContain(running.stack.demo.cpo.client_secret);
});

test("§1 npm run demo says what it takes: --help ends with 0, what it does not know with 2", async () => {
  const demo = join(ROOT, "packages/local/src/demo.ts");
  const help = await run(process.execPath, [demo, "--help"]);
  expect(help.stdout).toContain("npm run demo -- [options]");
  await expect(run(process.execPath, [demo, "--fast"])).rejects.toMatchObject({
    code: 2,
    stderr: `Unknown option '--fast'\n\n${help.stdout}`,
  });
});

test("§1 npm run demo ends with four open gates on the production host too, where no mail server is set", {
  timeout: 60_000,
}, async () => {
  const data_dir = join(folder, "production");
  const production = await startStack({ host: "production", port: await freePort(), data_dir, fresh: false });
  try {
    const demo = join(ROOT, "packages/local/src/demo.ts");
    const { stdout } = await run(process.execPath, [demo, "--stack", join(data_dir, "stack.json")]);
    expect(stdout).toMatch(/Vouch for the EAN[\s\S]*operator -- connection set-ean-status [0-9a-f-]{36} manual/);
    expect(stdout).toMatch(/No mail server is set[\s\S]*operator -- mail list --to sanne@example\.nl --show/);
    expect(stdout).toMatch(/Four gates are open[\s\S]*"ere_eligible": true[\s\S]*Done\./);
  } finally {
    await production.stop();
  }
});

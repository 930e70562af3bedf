// examples/cpo as somebody runs it who copied it: beside the packed client, against a stack of its own, with real webhooks.

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { operate, signMandate } from "#local/customer.ts";
import { partnerApi } from "#local/demo_api.ts";
import { freePort } from "#local/postgres.ts";
import { type RunningStack, startStack } from "#local/runner.ts";
import { writeXlsx } from "#shared/domain/sheet/write_xlsx.ts";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { readKeyRing } from "#shared/foundation/configuration.ts";
import { createClient, orThrow } from "../../packages/client/src/index.ts";
import { prepareSandbox } from "../harness/prepared.ts";
import { installClient, node20, run } from "./installed.ts";

const folder = mkdtempSync(join(tmpdir(), "ere-example-"));
const at = (...path: string[]) => join(folder, "cpo", ...path);
const secret = newWebhookSecret();
/** The oldest that it is for, where this machine has it. */
const node = (await node20()) ?? process.execPath;
let running: RunningStack;
let variables: Record<string, string>;
let receiver: ChildProcess | undefined;

beforeAll(async () => {
  await prepareSandbox(join(folder, "data"));
  running = await startStack({ host: "sandbox", port: await freePort(), data_dir: join(folder, "data"), fresh: false });
  cpSync(join(ROOT, "examples/cpo"), at(), { recursive: true, filter: (path) => !path.includes("node_modules") });
  const manifest = readFileSync(at("package.json"));
  await installClient(at());
  writeFileSync(at("package.json"), manifest);
  const { base_url, demo } = running.stack;
  variables = {
    BASE_URL: base_url,
    CLIENT_ID: demo.cpo.client_id,
    CLIENT_SECRET: demo.cpo.client_secret,
    WEBHOOK_SECRET: secret,
    PORT: String(await freePort()),
  };
});
afterAll(async () => {
  receiver?.kill("SIGKILL");
  await running?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({ PATH: process.env.PATH, ...variables });

/** What one of its programs wrote, and its exit code. */
async function program(file: string, ...args: string[]) {
  const ended = run(node, [file, ...args], { cwd: at(), env: environment() });
  return ended.then(
    ({ stdout }) => ({ code: 0, lines: stdout.trim().split("\n") }),
    ({ code, stdout, stderr }) => ({ code, lines: `${stdout}${stderr}`.trim().split("\n") }),
  );
}

async function startReceiver(): Promise<void> {
  receiver = spawn(node, ["receive.js"], { cwd: at(), env: environment(), stdio: ["ignore", "pipe", 2] });
  await new Promise((resolve) => receiver?.stdout?.once("data", resolve));
}

/** Kills it, as a machine does that stops. */
async function stopReceiver(): Promise<void> {
  receiver?.kill("SIGKILL");
  await new Promise((resolve) => receiver?.once("close", resolve));
}

const stored = (): { cursor: string | null; statuses: Record<string, string> } | null =>
  existsSync(at("state.json")) ? JSON.parse(readFileSync(at("state.json"), "utf8")) : null;

/** An endpoint of the client, as `operator webhook add` makes it. */
async function addEndpoint(): Promise<void> {
  const { operator_database_url, operator_environment, demo } = running.stack;
  const keys = { config: { IBAN_KEYS: readKeyRing(operator_environment.IBAN_KEYS ?? "") } };
  const id = newWebhookId();
  const url = `http://127.0.0.1:${variables.PORT}/`;
  const sealed = sealWebhookSecret(keys, id, secret);
  await operate(operator_database_url, "webhook_add", { client: demo.cpo.client_id, id, url, secret: sealed });
}

test("§9.5 the example compiles against the packed client, whose version it names", async () => {
  const manifestOf = (file: string) => JSON.parse(readFileSync(at(file), "utf8"));
  const { version } = manifestOf("node_modules/@ere-api/client/package.json");
  expect(manifestOf("package.json").dependencies).toEqual({ "@ere-api/client": version });
  for (const name of ["@types/node", "undici-types"])
    cpSync(join(ROOT, "node_modules", name), at("node_modules", name), { recursive: true });
  const options = ["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--checkJs", "--allowJs"];
  const target = ["--module", "nodenext", "--target", "es2022", "--types", "node"];
  const files = ["deliver.js", "receive.js", "positions.js"];
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const compiled = run(process.execPath, [compiler, ...options, ...target, ...files], { cwd: at() });
  expect(await compiled.catch(({ stdout }) => ({ stdout }))).toMatchObject({ stdout: "" });
});

test("§3 §6 the example delivers, hears of what happens, and goes on after it was killed", async () => {
  const ask = partnerApi(running.stack);
  // the demo's events are in the log: the first run begins behind them
  await startReceiver();
  await expect.poll(() => stored()?.cursor).toEqual(expect.any(String));
  await stopReceiver();
  const first = await program("deliver.js");
  expect(first).toEqual({ code: 0, lines: ["KL-2001 delivered", "KL-2002 delivered"] });
  expect(await program("deliver.js")).toEqual(first);

  await startReceiver();
  await addEndpoint();
  // the accounts were made while it was away: it reads the log when it starts
  type Mails = { mail: { template: string; links: string[] }[] };
  const invited = async (email: string) =>
    (await ask<Mails>(`/sandbox/v1/mail?to=${email}`)).mail.filter(({ template }) => template.startsWith("mandate"));
  await expect.poll(() => invited("sanne@example.nl")).toHaveLength(1);
  await expect.poll(() => invited("tom@example.nl")).toHaveLength(1);
  await expect.poll(() => stored()?.cursor).toEqual(expect.any(String));

  const [mail] = await invited("sanne@example.nl");
  const link = mail?.links.find((each) => each.includes("/mandate/")) ?? "";
  const sanne = { name: "Sanne de Vries", email: "sanne@example.nl" };
  await signMandate(link, sanne, running.stack.operator_database_url);
  await expect.poll(() => stored()?.statuses).toEqual({ "KL-2001": "mandate signed" });

  const forged = await fetch(`http://127.0.0.1:${variables.PORT}/`, { method: "POST", body: "{}" });
  expect(forged.status).toBe(400);

  await stopReceiver();
  const { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = variables;
  const query = { cpo_external_ref: "KL-2001" };
  const found = await createClient({ baseUrl, clientId, clientSecret }).GET("/v1/accounts", { params: { query } });
  await ask(`/sandbox/v1/customers/${orThrow(found).accounts[0]?.account_id}/review`, { outcome: "goedgekeurd" });
  await startReceiver();
  await expect.poll(() => stored()?.statuses).toEqual({ "KL-2001": "registration goedgekeurd" });
  expect(await invited("tom@example.nl")).toHaveLength(1);

  const positions = await program("positions.js");
  expect(positions.lines.sort()).toEqual([
    expect.stringMatching(/^KL-2001; eligible; /),
    expect.stringMatching(/^KL-2002; waits for mandate_signed; /),
  ]);
});

test("§8 what is wrong with one customer or month is said, and stops no other; without a connection it can run again", async () => {
  const [sanne, tom] = JSON.parse(readFileSync(at("customers.json"), "utf8"));
  const months = [...tom.months, { period: "2026-13", total_kwh: 1, session_count: 1 }];
  const wrong = { ...sanne, ref: "KL-2003", ean: "871687000000000030" };
  // the account of another customer, by a reference that was used before
  const reused = { ...tom, ref: sanne.ref };
  writeFileSync(at("wrong.json"), JSON.stringify([wrong, { ...tom, months }, sanne, reused]));
  const { code, lines } = await program("deliver.js", "wrong.json");
  expect([code, lines.sort()]).toEqual([
    1,
    [
      "KL-2001 delivered",
      "KL-2001 nothing delivered: the account with this reference has another EAN",
      expect.stringMatching(/^KL-2002 2026-13 /),
      expect.stringMatching(/^KL-2003 ean_address_mismatch: /),
    ],
  ]);
  variables = { ...variables, BASE_URL: "http://127.0.0.1:1" };
  expect(await program("deliver.js")).toMatchObject({ code: 1 });
});

test("§4.1 a file is delivered as text, bytes, a Blob or a stream, and again after a lost answer; 30 MB is refused by name", async () => {
  const { BASE_URL: _, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = variables;
  let lost = 0;
  const flaky: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!new URL((input as Request).url).pathname.endsWith("/uploads") || lost > 0) return response;
    lost += 1;
    throw new TypeError("the answer was lost");
  };
  const baseUrl = running.stack.base_url;
  const api = createClient({ baseUrl, clientId, clientSecret, fetch: flaky });
  const deliver = async (body: string | Uint8Array | Blob | ReadableStream<Uint8Array>) =>
    orThrow(await api.POST("/v1/uploads", { body }));
  const csv = (day: number) => `Laadpaal;Start;Eind;kWh\nPAAL-9;${day}-02-2026 18:00;${day}-02-2026 19:30;7,5\n`;

  // both times the first answer is lost
  const again = await deliver(csv(1));
  expect([lost, again.counts.parked]).toEqual([1, 1]);
  lost = 0;
  const streamed = await deliver(new Blob([csv(2)]).stream());
  expect([lost, streamed.counts.parked]).toEqual([1, 1]);
  expect(await deliver(new Blob([csv(3)], { type: "text/csv" }))).toMatchObject({ kind: "sessions", sheet: null });
  const rows = [
    ["Laadpaal", "Start", "Eind", "kWh"],
    ["PAAL-9", "04-02-2026 18:00", "04-02-2026 19:30", "7,5"],
  ];
  expect(await deliver(new Uint8Array(writeXlsx(rows)))).toMatchObject({ counts: { parked: 1 }, sheet: "1" });

  // by the service, which takes months of 1 MB, and by the client itself
  for (const megabytes of [5, 30]) {
    const large = await api.POST("/v1/uploads", { body: new Uint8Array(megabytes * 1024 * 1024) });
    expect([large.response.status, large.error?.error]).toEqual([413, "payload_too_large"]);
  }
});

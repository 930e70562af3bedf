// Other ways to call the API: clients that are generated from openapi.json, and Python and Go without a library.

import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { freePort } from "#local/postgres.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { run } from "./installed.ts";

const folder = mkdtempSync(join(tmpdir(), "ere-languages-"));
const at = (...path: string[]) => join(folder, ...path);
const guide = readFileSync(join(ROOT, "docs/events.md"), "utf8");
const shown = (language: string) => new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "ms").exec(guide)?.[1] ?? "";
const example = readFileSync(join(ROOT, "examples/python/ere.py"), "utf8");

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Whether this machine has a language. */
async function has(program: string, ...args: string[]): Promise<boolean> {
  const found = await run(program, args).then(
    () => true,
    () => false,
  );
  if (!found) console.warn(`${program} is not on this machine: its example was not run`);
  return found;
}

describe("§9.5 generated clients", () => {
  const typescript = join(ROOT, "packages/client/node_modules/typescript");
  const compilerOptions = {
    ...{ noEmit: true, strict: true, module: "preserve", moduleResolution: "bundler", target: "es2022" },
    ...{ types: [], skipDefaultLibCheck: true },
  };

  /** hey-api in a folder where it finds the TypeScript that it can use, which is older than ours. */
  function installHeyApi(): string {
    const modules = join(ROOT, "node_modules");
    mkdirSync(at("node_modules/@hey-api"), { recursive: true });
    const names = readdirSync(modules).filter((name) => !/^[.@]|^typescript$/.test(name));
    const scoped = readdirSync(join(modules, "@hey-api")).map((name) => `@hey-api/${name}`);
    for (const name of [...names, ...scoped.filter((each) => each !== "@hey-api/openapi-ts")])
      symlinkSync(join(modules, name), at("node_modules", name));
    symlinkSync(typescript, at("node_modules/typescript"));
    const own = "@hey-api/openapi-ts";
    cpSync(join(modules, own), at("node_modules", own), { recursive: true });
    return at("node_modules", own, "bin/run.js");
  }

  test("§9.5 openapi-typescript writes types", async () => {
    const program = join(ROOT, "packages/client/node_modules/openapi-typescript/bin/cli.js");
    await run(process.execPath, [program, join(ROOT, "openapi.json"), "-o", at("schema.ts")]);
    const use = `import type { components } from "./schema";
export const created: components["schemas"]["CreatedAccount"]["ok"] = Boolean(1);
export const house_number: components["schemas"]["ConnectionInput"]["house_number"] = "12a";`;
    writeFileSync(at("use_types.ts"), use);
  });

  test("§9.5 hey-api writes a client", async () => {
    const program = installHeyApi();
    const options = ["-i", join(ROOT, "openapi.json"), "-o", at("hey"), "-c", "@hey-api/client-fetch"];
    await run(process.execPath, [program, ...options], { cwd: folder });
    const use = `import { addCustomers, deliverUpload, listAccounts } from "./hey";
export async function use() {
  const { data } = await listAccounts({ query: { limit: 1 } });
  await deliverUpload({ body: new Blob(["maand;kWh"]) });
  const added = await addCustomers({ body: { consent: true, rows: [{ email: "sanne@example.nl", naam: "Sanne" }] } });
  return [data?.accounts[0]?.account_id, added.data?.created[0]?.claim_url];
}`;
    writeFileSync(at("use_hey.ts"), use);
  });

  test("§9.5 compile with what uses them", async () => {
    // in one go, which reads the compiler's own library once
    writeFileSync(at("tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use_types.ts", "use_hey.ts"] }));
    const compiled = run(process.execPath, [join(typescript, "bin/tsc"), "-p", folder]);
    expect(await compiled.catch(({ stdout }) => ({ stdout }))).toMatchObject({ stdout: "" });
  });
});

const secret = `whsec_${randomBytes(24).toString("base64")}`;

/** The headers of a webhook of some seconds ago. */
function signed(body: string, { age = 0, key = secret }: { age?: number; key?: string } = {}) {
  const [id, timestamp] = ["evt_1", String(Math.floor(Date.now() / 1000) - age)];
  const hmac = createHmac("sha256", Buffer.from(key.slice("whsec_".length), "base64"));
  const signature = hmac.update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,AAAA v1,${signature}` };
}

const BODY = JSON.stringify({ type: "mandate.signed", data: { name: "Zoë" } });
const other = `whsec_${randomBytes(24).toString("base64")}`;
/** Signed when they are asked for: the time counts. */
const casesNow = (): [name: string, body: string, headers: Record<string, string>, isOurs: boolean][] => [
  ["ours", BODY, signed(BODY), true],
  ["another body", `${BODY} `, signed(BODY), false],
  ["another secret", BODY, signed(BODY, { key: other }), false],
  ["six minutes old", BODY, signed(BODY, { age: 360 }), false],
  ["six minutes ahead", BODY, signed(BODY, { age: -360 }), false],
  ["no headers", BODY, {}, false],
  ["a time that is none", BODY, { ...signed(BODY), "webhook-timestamp": "soon" }, false],
];

test("§6 the guide shows the verification that the Python example has, in fifteen lines, and as many in Go", () => {
  const python = shown("python");
  const [, body = ""] = /^(def verify[\s\S]*)/m.exec(python) ?? [];
  expect(example).toContain(body.trim());
  expect(body.trim().split("\n").length).toBeLessThanOrEqual(15);
  const go = shown("go");
  expect(go.trim().split("\n").length).toBeLessThanOrEqual(15);
});

test("§6 Go verifies a webhook without a library", async () => {
  if (!(await has("go", "version"))) return;
  const imports = ["crypto/hmac", "crypto/sha256", "encoding/base64", "errors", "fmt", "math", "net/http", "os"];
  const program = `package main

import (${[...imports, "strconv", "strings", "time"].map((name) => `"${name}"`).join("; ")})

${shown("go")}
func main() {
	header := http.Header{}
	for _, each := range os.Args[3:] {
		name, value, _ := strings.Cut(each, "=")
		header.Set(name, value)
	}
	fmt.Print(verify(header, []byte(os.Args[2]), os.Args[1]) == nil)
}
`;
  writeFileSync(at("verify.go"), program);
  await run("go", ["build", "-o", at("verify"), at("verify.go")], { cwd: folder });
  for (const [name, body, headers, isOurs] of casesNow()) {
    const said = Object.entries(headers).map(([key, value]) => `${key}=${value}`);
    expect((await run(at("verify"), [secret, body, ...said])).stdout, name).toBe(String(isOurs));
  }
});

describe("§9.5 Python with nothing but its standard library", () => {
  let world: OAuth;
  let receiver: ChildProcess | undefined;
  beforeAll(async () => {
    world = await createOAuthWorld({ limits: "lifted" });
  });
  afterAll(async () => {
    receiver?.kill("SIGKILL");
    await world?.close();
  });
  const program = join(ROOT, "examples/python/ere.py");

  test("§3 §4.1 a token, an account, a file of months and the positions, twice the same", async () => {
    if (!(await has("python3", "--version"))) return;
    const { client_id, secret: client_secret } = await world.addClient(world.partnerA.id);
    const env = { ...process.env, BASE_URL: world.url, CLIENT_ID: client_id, CLIENT_SECRET: client_secret };
    const { stdout } = await run("python3", [program], { env });
    const gates =
      "{'mandate_signed': False, 'ean_validated': True, 'mid_charger_registered': False, 'iban_present': True}";
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^[0-9a-f-]{36} pending$/),
      "months 312.5 ['ingested']",
      expect.stringMatching(/^PY-1 312\.5 \{/),
      "",
    ]);
    expect(stdout).toContain(gates);
    expect((await run("python3", [program], { env })).stdout).toBe(stdout);
    const refused = run("python3", [program], { env: { ...env, CLIENT_SECRET: "wrong" } });
    await expect(refused).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("invalid_client") });
  });

  test("§6 it takes webhooks that are ours, and no other", async () => {
    if (!(await has("python3", "--version"))) return;
    const PORT = String(await freePort());
    receiver = spawn("python3", [program, "receive"], {
      env: { ...process.env, PORT, WEBHOOK_SECRET: secret },
      stdio: "ignore",
    });
    const send = async (body: string, headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${PORT}/`, { method: "POST", headers, body })).status;
    await expect.poll(() => send("{}", {}).catch(() => null)).toBe(400);
    for (const [name, body, headers, isOurs] of casesNow())
      expect(await send(body, headers), name).toBe(isOurs ? 204 : 400);
  });
});

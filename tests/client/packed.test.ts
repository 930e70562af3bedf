// The client as integrators get it: packed, installed, and run by each runtime that it is for; and every call of the documentation,
// compiled against it.

import { createHmac, randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { writeXlsx } from "#shared/domain/sheet/write_xlsx.ts";
import { createClient, orThrow } from "../../packages/client/src/index.ts";
import { createAccount } from "../harness/people.ts";
import { consentVisit, onward } from "../oauth/consent_visit.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { draftRow, giveKey, giveManager } from "../partner/partner_world.ts";
import { installClient, node20, run } from "./installed.ts";

const folder = mkdtempSync(join(tmpdir(), "ere-client-"));
const at = (...path: string[]) => join(folder, ...path);
const resolve = createRequire(import.meta.url).resolve;

/** Calls that an integration makes: of a CPO client, and of a partner's key. */
const PROGRAM = `
import { createClient, events, orThrow, paginate } from "@ere-api/client";

const { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, KEY: token, EMAIL: email } =
  "Deno" in globalThis ? Deno.env.toObject() : process.env;
const client = createClient({ baseUrl, clientId, clientSecret });
const references = [];
for await (const account of paginate(client, "/v1/accounts", { limit: 1 })) references.push(account.cpo_external_ref);
const types = [];
for await (const page of events(client, { limit: 2 })) types.push(...page.events.map(({ type }) => type));
const refused = await client.POST("/v1/mandate-links", { body: { account_id: "00000000-0000-4000-8000-000000000000" } });
const partner = createClient({ baseUrl, token });
const row = { naam: "Eva Jansen", email, postcode: "3818 LH", huisnummer: 16 };
const { added } = orThrow(await partner.POST("/partner/customers", { body: { consent: true, send_invite: false, ...row } }));
console.log(JSON.stringify({ references, types, refused: refused.error.error, added }));
`;

let world: OAuth;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  await installClient(folder);
  writeFileSync(at("main.mjs"), PROGRAM);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world?.close();
});

test("§9.5 the package holds what is run, its types, its README and its licence, and nothing else", () => {
  const { dependencies, engines, bin } = JSON.parse(
    readFileSync(at("node_modules/@ere-api/client/package.json"), "utf8"),
  );
  expect([Object.keys(dependencies), engines]).toEqual([["openapi-fetch"], { node: ">=20" }]);
  expect(readFileSync(at("node_modules/@ere-api/client", bin["ere-client"]), "utf8")).toMatch(
    /^#!\/usr\/bin\/env node\n/,
  );
  const files = readdirSync(at("node_modules/@ere-api/client"), { recursive: true, encoding: "utf8" });
  expect(files.filter((file) => !file.startsWith("dist/")).sort()).toEqual([
    "LICENSE",
    "README.md",
    "dist",
    "package.json",
  ]);
  const compiled = files.filter(
    (file) => file.startsWith("dist/") && !/^dist\/(?:cli|cjs|cjs\/package\.json)$/.test(file),
  );
  expect(compiled.every((file) => /\.(?:d\.ts|js)$/.test(file))).toBe(true);
  // the types of the API are most of the package
  expect(readFileSync(at("node_modules/@ere-api/client/dist/cjs/schema.d.ts"), "utf8").split("\n")).toHaveLength(2);
});

const RUNTIMES: [name: string, version: RegExp, program: () => Promise<string | null>, args: string[]][] = [
  ["Node 20", /^v20\./, node20, []],
  ["Node 24", /^v24\./, async () => process.execPath, []],
  [
    "Deno 2.1.4",
    /^deno 2\.1\.4/,
    async () => resolve("deno/bin.cjs"),
    ["run", "--allow-net", "--allow-env", "--allow-read", "--node-modules-dir=manual"],
  ],
  [
    "Bun",
    /^1\./,
    () =>
      run("bun", ["--version"]).then(
        () => "bun",
        () => null,
      ),
    [],
  ],
];

/** How a runtime is started; null where this machine does not have it. The workflow of CI installs Node 20. */
async function start([name, version, find, args]: (typeof RUNTIMES)[number]) {
  const found = await find();
  if (found === null) {
    console.warn(`${name} is not on this machine: the client was not run on it`);
    return null;
  }
  const command = found.endsWith(".cjs") ? [process.execPath, found] : [found];
  const [program = "", ...before] = command;
  expect((await run(program, [...before, "--version"])).stdout).toMatch(version);
  return async (file: string, variables: Record<string, string>) => {
    const { stdout } = await run(program, [...before, ...args, file], {
      cwd: folder,
      env: { ...process.env, ...variables },
    });
    return JSON.parse(stdout);
  };
}

describe("§9.5 a CPO client and a partner's key, by the packed client", () => {
  test.each(RUNTIMES)("§9.5 on %s", async (...runtime) => {
    const execute = await start(runtime);
    if (!execute) return;
    const client = await world.addClient(world.partnerA.id);
    const made = [];
    for (let n = 0; n < 3; n += 1) made.push(await createAccount(world, { ...world.partnerA, client }));
    const answer = await execute("main.mjs", {
      BASE_URL: world.url,
      CLIENT_ID: client.client_id,
      CLIENT_SECRET: client.secret,
      KEY: await giveKey(world, (await world.addPartner()).id),
      EMAIL: draftRow().email,
    });
    expect(answer).toEqual({
      references: made.map(({ account }) => account.cpo_external_ref).reverse(),
      types: Array(3).fill("account.created"),
      refused: "account_not_found",
      added: 1,
    });
  });
});

/** Runs the examples in the README's order, as a reader does, and says what each wrote; then calls what they export. */
const READER = `
const written = [];
console.log = console.error = (...words) => written.push(words);
const { README, WEBHOOK } = process.env;
const wrote = {};
const exported = {};
for (const file of README.split(" ")) {
  written.length = 0;
  Object.assign(exported, await import("./" + file));
  wrote[file] = [...written];
  process.env.ACCOUNT_ID ??= written[0]?.[0];
}
const { headers, body } = JSON.parse(WEBHOOK);
const received = [];
for (const text of [body, body + " "])
  received.push((await exported.receive(new Request("https://me.example", { method: "POST", headers, body: text }))).status);
process.stdout.write(JSON.stringify({ wrote: Object.values(wrote), received, pending: await exported.begin() }));
`;

/** What the person's application does once they are back. */
const CALLBACK = `
const { finish, clientOf } = await import("./" + process.env.README);
const tokens = await finish(process.env.CAME_BACK_AT, JSON.parse(process.env.PENDING));
let kept = 0;
const client = clientOf({ ...tokens, refreshAt: 0 }, async () => { kept += 1; });
const { response } = await client.GET("/energy");
process.stdout.write(JSON.stringify({ status: response.status, kept, scope: tokens.scope }));
`;

describe("§9.5 the examples of the client's README, as a reader runs them", () => {
  const REDIRECT = "https://app.example/callback";
  const secret = `whsec_${randomBytes(24).toString("base64")}`;
  const files: string[] = [];
  let variables: Record<string, string>;
  let app: Awaited<ReturnType<OAuth["app"]>>;
  let person: Awaited<ReturnType<OAuth["person"]>>;
  beforeAll(async () => {
    // as a reader's own tools would: the types are left out
    const { default: typescript } = await import(
      pathToFileURL(createRequire(join(ROOT, "packages/client/package.json")).resolve("typescript")).href
    );
    const readme = readFileSync(join(ROOT, "packages/client/README.md"), "utf8");
    for (const [, code = ""] of readme.matchAll(/^```ts\n(.*?)^```$/gms)) {
      const file = code.includes("export const client") ? "client.mjs" : `readme_${files.length}.mjs`;
      const { ESNext: module } = typescript.ModuleKind;
      const compilerOptions = { module, target: typescript.ScriptTarget.ES2022, verbatimModuleSyntax: true };
      writeFileSync(at(file), typescript.transpileModule(code, { compilerOptions }).outputText);
      if (file !== "client.mjs") files.push(file);
    }
    const months = [
      ["KL-1001", "2026-06", "250"],
      ["KL-1001", "2026-07", "veel"],
    ];
    writeFileSync(at("months.xlsx"), new Uint8Array(writeXlsx([["klantnummer", "maand", "kWh"], ...months])));
    const charge = ["PAAL-17", "15-12-2025 18:00", "15-12-2025 19:30", "7,5"];
    writeFileSync(at("sessies.xlsx"), new Uint8Array(writeXlsx([["Laadpaal", "Start", "Eind", "kWh"], charge])));
    const [, guide = ""] =
      /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(ROOT, "docs/guides/sessions.md"), "utf8")) ?? [];
    writeFileSync(at("guide.mjs"), guide);
    files.push("guide.mjs");
    writeFileSync(at("reader.mjs"), READER);
    writeFileSync(at("callback.mjs"), CALLBACK);
    const client = await world.addClient(world.partnerA.id);
    app = await world.app({ scopes: ["energy:read"], redirect_uris: [REDIRECT] });
    person = await world.person();
    variables = {
      README: files.join(" "),
      BASE_URL: world.url,
      CLIENT_ID: client.client_id,
      CLIENT_SECRET: client.secret,
      PARTNER_KEY: await giveKey(world, (await world.addPartner()).id),
      WEBHOOK_SECRET: secret,
      APP_ID: app.client_id,
      APP_SECRET: app.client_secret,
    };
  });

  const webhook = () => {
    const [id, seconds] = ["evt_1", String(Math.floor(Date.now() / 1000))];
    const body = JSON.stringify({ type: "registration.approved", data: { registration_status: "goedgekeurd" } });
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
    const headers = { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": `v1,${signature}` };
    return JSON.stringify({ headers, body });
  };

  test.each(RUNTIMES)("§9.5 on %s", async (...runtime) => {
    const execute = await start(runtime);
    if (!execute) return;
    const { wrote, received, pending } = await execute("reader.mjs", { ...variables, WEBHOOK: webhook() });
    const [first, batch, refused, customers, uploads, csv, delivered, pages, log] = wrote;
    expect(first).toEqual([[expect.stringMatching(/^[0-9a-f-]{36}$/), "pending"]]);
    expect(batch).toEqual([["2026-03", "ingested"]]);
    expect(refused).toEqual([[404, "account_not_found", expect.any(String), expect.stringMatching(/^[0-9a-f-]{36}$/)]]);
    const [created, rejected] = customers[0];
    expect(created.length + rejected.length).toBe(1);
    expect(uploads).toEqual([
      ["months", 1],
      [1, "ingested", null],
      [2, "invalid", "bad_kwh"],
    ]);
    expect(csv[0][0]).toContain("settlement_id");
    expect(delivered).toEqual([["delivered"]]);
    expect(pages).toEqual([["KL-1001", expect.objectContaining({ mandate_signed: false })]]);
    expect(log).toEqual([[expect.any(String)]]);
    expect(wrote.at(-1)).toEqual([["sessions", expect.objectContaining({ parked: 1 })]]);
    expect(received).toEqual([204, 400]);

    const asked = Object.fromEntries(new URL(pending.url).searchParams);
    const visit = consentVisit(world, app, asked as never);
    await visit.show();
    await visit.signIn(person);
    const answer = onward(await visit.allow(await visit.show()));
    const acted = await execute("callback.mjs", {
      ...variables,
      README: files.at(-2) ?? "",
      CAME_BACK_AT: answer.href,
      PENDING: JSON.stringify(pending),
    });
    expect(acted).toEqual({ status: 200, kept: 1, scope: "energy:read" });
  });
});

/** A program that gets the client as CommonJS, with its types. */
const COMMON = `
import { ApiError, type components, createClient, orThrow, paginate } from "@ere-api/client";

const { BASE_URL: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const client = createClient({ baseUrl, clientId, clientSecret });
async function main() {
  const kinds: components["schemas"]["CreatedAccount"]["ean_validation_status"][] = [];
  for await (const { cpo_external_ref } of paginate(client, "/v1/accounts")) cpo_external_ref?.toUpperCase();
  // @ts-expect-error: the answer has no such field
  orThrow(await client.GET("/v1/accounts")).nothing;
  // @ts-expect-error: a number is no file
  const wrong = () => client.POST("/v1/uploads", { body: 12 });
  const error = await client.POST("/v1/uploads", { body: "a file without headings" }).then(orThrow).catch((said) => said);
  console.log(JSON.stringify([error instanceof ApiError, error.code, kinds, typeof wrong]));
}
void main();
`;

/** Every call of README and docs, a file each. */
function writeCalls(): string[] {
  const pages = [
    "README.md",
    "packages/client/README.md",
    ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`),
  ];
  const calls = pages
    .filter((page) => page.endsWith(".md"))
    .flatMap((page) => {
      const blocks = readFileSync(join(ROOT, page), "utf8").matchAll(/^```ts\n(.*?)^```$/gms);
      return [...blocks].map(([, code = ""], index) => ({ name: `${page.replace(/\W/g, "_")}_${index}.ts`, code }));
    })
    .filter(({ code }) => /from "(?:@ere-api\/client|\.\/client\.mjs)"/.test(code));
  for (const { name, code } of calls) {
    writeFileSync(at(name), code);
    if (code.includes("export const client")) writeFileSync(at("client.mts"), code);
  }
  return calls.map(({ name }) => name);
}

describe("§9.5 compiled against the packed client", () => {
  const OURS = join(ROOT, "node_modules/typescript/bin/tsc");
  const OLDER = join(ROOT, "packages/client/node_modules/typescript/bin/tsc");
  let calls: string[];
  /** What the older compiler says of the calls and of COMMON: both in one go, which reads the types once. */
  let older: Promise<unknown>;

  const compile = (compiler: string, ...args: string[]) => {
    // without what comes with the compiler itself
    const options = ["--strict", "--noUncheckedIndexedAccess", "--types", "node", "--skipDefaultLibCheck"];
    return run(process.execPath, [compiler, ...options, "--target", "es2022", ...args], { cwd: folder }).catch(
      ({ stdout }) => {
        throw new Error(stdout);
      },
    );
  };

  beforeAll(() => {
    for (const name of ["@types/node", "undici-types"])
      cpSync(join(ROOT, "node_modules", name), at("node_modules", name), { recursive: true });
    for (const name of ["common.cts", "module.mts"]) writeFileSync(at(name), COMMON);
    calls = writeCalls();
    older = compile(OLDER, "--module", "node16", "--outDir", "compiled", "common.cts", "module.mts", ...calls);
    // awaited by each test
    older.catch(() => {});
  });

  test("§9.5 CommonJS has the client and its types, and so have ES modules, also by the older rules of TypeScript", async () => {
    const client = await world.addClient(world.partnerA.id);
    const environment = { BASE_URL: world.url, CLIENT_ID: client.client_id, CLIENT_SECRET: client.secret };
    await older;
    expect(readFileSync(at("compiled/common.cjs"), "utf8")).toContain('require("@ere-api/client")');
    // the rules of a project that has only "module": "commonjs" do not know "exports"
    writeFileSync(at("older.ts"), COMMON);
    await compile(OLDER, "--module", "commonjs", "--moduleResolution", "node10", "older.ts");
    for (const runtime of RUNTIMES.slice(0, 2)) {
      const execute = await start(runtime);
      if (!execute) continue;
      for (const file of ["compiled/common.cjs", "compiled/module.mjs"])
        expect(await execute(file, environment)).toEqual([true, "unreadable_file", [], "function"]);
    }
  });

  test("§9.5 every call of README and docs compiles, by an integrator's older compiler too", async () => {
    expect(calls.length).toBeGreaterThanOrEqual(7);
    await compile(OURS, "--module", "nodenext", "--noEmit", ...calls);
    await older;
  });
});

test("§4.2 a list of customers is sent as a form, from bytes or a Blob, and as JSON from text", async () => {
  const api = createClient({ baseUrl: world.url, token: await giveManager(world, world.partnerA) });
  const csv = () => `email,naam\n${draftRow().email},Eva Jansen\n`;
  const workbook = () =>
    new Uint8Array(
      writeXlsx([
        ["email", "naam"],
        [draftRow().email, "Eva Jansen"],
      ]),
    );
  for (const file of [new TextEncoder().encode(csv()), workbook(), new Blob([csv()], { type: "text/csv" })]) {
    const { added } = orThrow(
      await api.POST("/partner/uploads", { body: { file, consent: true, send_invite: false } }),
    );
    expect(added).toBe(1);
  }
  const body = { csv: csv(), consent: true, send_invite: false };
  expect(orThrow(await api.POST("/partner/uploads", { body })).added).toBe(1);
  expect((await api.POST("/partner/uploads", { body: { file: workbook(), consent: false } })).error?.error).toBe(
    "consent_required",
  );
});

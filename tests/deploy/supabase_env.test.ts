// npm run supabase:env: what it writes is what `supabase start` takes. Docker is not needed here: the CLI reads the configuration and
// runs the seed, and Deno runs the functions from the files that the CLI mounts, with the file of variables that it loads.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auth } from "#local/auth.ts";
import { ROOT } from "#local/checkout.ts";
import { runSupabase } from "#local/migrate.ts";
import { BUNDLES } from "../../packages/tools/src/bundle.ts";
import { addToEnv, EnvFileError, readEnv } from "../../packages/tools/src/deploy/env_file.ts";
import { INSIDE, writeSupabaseEnv } from "../../packages/tools/src/deploy/supabase_env.ts";
import { bundledCheckout } from "../harness/bundles.ts";
import { bootFunction, forgetCompiled, type Running } from "../harness/deno.ts";
import { newTokenKey } from "../harness/environment.ts";
import { enableExtensions, startDatabase } from "../harness/project.ts";
import { operate } from "../operator/operator.ts";

const folders: string[] = [];
/** A checkout with nothing in it but what a test puts there. */
function checkout(): { root: string; functions: string; operator: string; seed: string } {
  const root = `${mkdtempSync(join(tmpdir(), "ere-stack-"))}/`;
  folders.push(root);
  return {
    root,
    functions: `${root}supabase/functions/.env`,
    operator: `${root}.env.supabase`,
    seed: `${root}supabase/seed_local.sql`,
  };
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const passwordOf = (url = "") => decodeURIComponent(new URL(url).password);

describe("the files", () => {
  test("are made for their owner alone, and the seed holds no password", () => {
    const { root, ...files } = checkout();
    expect(writeSupabaseEnv(root)).toHaveLength(3);
    for (const file of Object.values(files)) expect(statSync(file).mode & 0o777).toBe(0o600);
    const variables = { ...readEnv(files.functions), ...readEnv(files.operator) };
    const seed = readFileSync(files.seed, "utf8");
    for (const name of ["EDGE_DATABASE_URL", "EDGE_SLOW_DATABASE_URL", "OPERATOR_DATABASE_URL"])
      expect(seed).not.toContain(passwordOf(variables[name]));
    expect(seed.match(/SCRAM-SHA-256\$/g)).toHaveLength(3);
  });

  test("stay as they are when it is run again, but for the seed, which is for the same passwords", () => {
    const { root, functions, operator, seed } = checkout();
    writeSupabaseEnv(root);
    const before = [functions, operator].map((file) => readFileSync(file, "utf8"));
    const said = writeSupabaseEnv(root);
    expect([functions, operator].map((file) => readFileSync(file, "utf8"))).toEqual(before);
    expect(said.join("\n")).toMatch(/\.env {2}is complete; nothing was changed/);
    expect(existsSync(seed)).toBe(true);
  });

  test("get what they lack, and what was set by hand stays", () => {
    const { root, functions } = checkout();
    addToEnv(functions, { SERVICE_NAME: "Mijn dienst", WORKER_SECRET: "x".repeat(32) }, "by hand");
    writeFileSync(functions, `${readFileSync(functions, "utf8")}TOKEN_KEYS=\n`);
    const said = writeSupabaseEnv(root).join("\n");
    expect(said).toContain("TOKEN_KEYS");
    expect(said).not.toContain("WORKER_SECRET");
    expect(readEnv(functions)).toMatchObject({ SERVICE_NAME: "Mijn dienst", WORKER_SECRET: "x".repeat(32) });
    expect(readFileSync(functions, "utf8").match(/^TOKEN_KEYS=/gm)).toHaveLength(1);
  });

  test.each([
    ["a copy of .env.example", readFileSync(`${ROOT}.env.example`, "utf8"), /EDGE_DATABASE_URL that is not at db:5432/],
    ["no file of variables", "EDGE_DATABASE_URL\n", /line 1: is no comment/],
    ["a file that no function can read", "WORKER_SECRET=short\n", /functions\/\.env: .*WORKER_SECRET/],
  ])("nothing is written where %s is in the way", (_, content, reason) => {
    const { root, functions, operator, seed } = checkout();
    mkdirSync(dirname(functions), { recursive: true });
    writeFileSync(functions, content);
    expect(() => writeSupabaseEnv(root)).toThrow(EnvFileError);
    expect(() => writeSupabaseEnv(root)).toThrow(reason);
    expect([readFileSync(functions, "utf8"), existsSync(operator), existsSync(seed)]).toEqual([content, false, false]);
  });

  test("are not written by who asks what it does, or says what it does not know", () => {
    const before = existsSync(`${ROOT}.env.supabase`);
    const run = (argument: string) =>
      spawnSync(process.execPath, [`${ROOT}packages/tools/src/deploy/supabase_env.ts`, argument], { encoding: "utf8" });
    const [help, unknown] = [run("--help"), run("--wrong")];
    expect([help.status, help.stdout]).toEqual([0, expect.stringContaining("npm run supabase:env")]);
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining("Unknown: --wrong")]);
    expect(existsSync(`${ROOT}.env.supabase`)).toBe(before);
  });

  test("are committed by nobody", () => {
    const ignored = readFileSync(`${ROOT}.gitignore`, "utf8").split("\n");
    expect(ignored).toEqual(expect.arrayContaining([".env", ".env.*", "supabase/seed_local.sql"]));
  });
});

describe("a stack", () => {
  let database: Awaited<ReturnType<typeof startDatabase>>;
  const files = checkout();
  let functions: Record<string, string>;
  let operatorUrl: string;
  const url = (role: string, password: string) =>
    `postgresql://${role}:${password}@127.0.0.1:${database.port}/${database.name}`;
  /** As the CLI runs migrations and seeds. */
  const asPostgres = async (statement: string) => {
    const client = new pg.Client({ connectionString: url("postgres", "postgres") });
    const warnings: string[] = [];
    client.on("notice", ({ message = "" }) => warnings.push(message));
    await client.connect();
    await client.query(statement).finally(() => client.end());
    return warnings;
  };
  const enters = async (connectionString: string) => {
    const client = new pg.Client({ connectionString });
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  };
  const passwords = () => ({
    edge: passwordOf(functions.EDGE_DATABASE_URL),
    edge_slow: passwordOf(functions.EDGE_SLOW_DATABASE_URL),
    operator: passwordOf(readEnv(files.operator).OPERATOR_DATABASE_URL),
  });

  beforeAll(async () => {
    database = await startDatabase();
    for (const part of ["config.toml", "migrations", "seed.sql"])
      cpSync(`${ROOT}supabase/${part}`, `${files.root}supabase/${part}`, { recursive: true });
    writeSupabaseEnv(files.root);
    functions = readEnv(files.functions);
    operatorUrl = url("operator", passwords().operator);
  });
  afterAll(() => database?.stop());

  test("that is no local one of the CLI gets neither passwords nor a host, also where it is seeded by mistake", async () => {
    await runSupabase(["db", "push", `--remote=${url("postgres", "postgres")}`, "--yes", "--include-seed"], files.root);
    const { rows } = await database.admin.query(
      "select (select count(*) from core.ean_register_points)::int as points, private.host() as host",
    );
    expect(rows, "the rest of the seed was run").toEqual([{ points: 6, host: null }]);
    for (const [role, password] of Object.entries(passwords())) expect(await enters(url(role, password))).toBe(false);
    expect(await asPostgres(readFileSync(files.seed, "utf8"))).toEqual([expect.stringContaining("no local stack")]);
  });

  test("of the CLI gets them by the seed, run once or twice; without pg_cron it says that nothing is scheduled", async () => {
    const known = /distinct from '([^']+)'/.exec(readFileSync(files.seed, "utf8"))?.[1] ?? "";
    await database.admin.query(
      `alter database ${database.name} set "app.settings.jwt_secret" to ${pg.escapeLiteral(known)}`,
    );
    for (const _ of ["once", "twice"])
      expect(await asPostgres(readFileSync(files.seed, "utf8"))).toEqual([expect.stringContaining("is not scheduled")]);
    for (const [role, password] of Object.entries(passwords()))
      expect([role, await enters(url(role, password))]).toEqual([role, true]);
    expect((await operate(["host", "show", "--json"], { OPERATOR_DATABASE_URL: operatorUrl })).json).toMatchObject({
      host: { host: "sandbox" },
    });
  });

  test("has the worker and the documents called every ten seconds, inside the CLI's network, with the worker's secret", async () => {
    await enableExtensions(database.admin);
    for (const _ of ["once", "twice"]) expect(await asPostgres(readFileSync(files.seed, "utf8"))).toEqual([]);
    const { rows: jobs } = await database.admin.query(
      "select jobname, schedule, command from cron.job order by jobname",
    );
    expect(jobs).toMatchObject([
      { jobname: "cron_record", schedule: "23 3 * * *" },
      { jobname: "documents", schedule: "10 seconds" },
      { jobname: "worker", schedule: "10 seconds" },
    ]);
    await database.admin.query(
      `insert into cron.job_run_details (status, start_time, end_time)
       select 'succeeded', now() - age, case when age > interval '1 day' then now() - age end
         from unnest('{4 days,73 hours,71 hours,1 hour}'::interval[]) age`,
    );
    for (const { command } of jobs) await database.admin.query(command);
    const { rows: record } = await database.admin.query("select runid::int from cron.job_run_details order by runid");
    expect(record, "field E3 three days of runs are kept").toEqual([{ runid: 3 }, { runid: 4 }]);
    const { rows } = await database.admin.query("select url, headers from net.requests order by url");
    const headers = { Authorization: `Bearer ${functions.WORKER_SECRET}` };
    expect(rows).toEqual([
      { url: `${INSIDE.api}/functions/v1/documents/run`, headers },
      { url: `${INSIDE.api}/functions/v1/worker/run`, headers },
    ]);
  });

  describe("with the functions from the files that the CLI mounts", () => {
    /** What the stack's Auth says of itself, which is not where functions reach it. */
    const SAYS = "http://127.0.0.1:54321";
    let issuer: ReturnType<typeof auth>;
    let gateway: Server;
    const running: Running[] = [];

    beforeAll(async () => {
      issuer = auth({
        url: SAYS,
        database_url: database.admin.options.connectionString ?? "",
        key: { ...newTokenKey("stack"), alg: "ES256", use: "sig" },
        publishable_key: functions.PUBLISHABLE_KEY ?? "",
        secret_key: "sb_secret_test",
      });
      gateway = createServer(async (incoming, outgoing) => {
        const body = incoming.method === "GET" ? null : await buffer(incoming);
        const request = new Request(`http://kong${incoming.url}`, {
          ...{ method: incoming.method ?? "GET", headers: incoming.headers as Record<string, string>, body },
        });
        const response = await issuer.app.fetch(request);
        outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
      });
      await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
    });
    afterAll(async () => {
      await Promise.all(running.map((each) => each.stop()));
      await new Promise((resolve) => gateway?.close(resolve));
      await issuer?.close();
      forgetCompiled();
    });

    const kong = () => `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;

    /** In its container: the bundles, and nothing else. */
    async function serve(slug: string): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
      const { folder: place } = await bundledCheckout();
      folders.push(place);
      const inside = Object.fromEntries(
        Object.entries(functions).map(([name, value]) => [
          name,
          // there is no network of the CLI here
          value.replace(`@${INSIDE.database}/postgres`, `@127.0.0.1:${database.port}/${database.name}`),
        ]),
      );
      const variables = { ...inside, SUPABASE_URL: kong() };
      const function_ = await bootFunction(place, `${BUNDLES}/${slug}/index.js`, variables);
      running.push(function_);
      return (path, init = {}) =>
        fetch(function_.url + path, { ...init, headers: { "x-forwarded-for": "192.0.2.1", ...init.headers } });
    }

    test("a client that the operator made gets a token, and its accounts", async () => {
      const env = { OPERATOR_DATABASE_URL: operatorUrl };
      await operate(["partner", "create", "Laadpunt", "--json"], env);
      const { json } = await operate(["client", "create", "backoffice", "--partner", "laadpunt", "--json"], env);
      const [token, accounts] = await Promise.all([serve("oauth-token"), serve("cpo-v1")]);
      const form = {
        grant_type: "client_credentials",
        client_id: json.client.client_id,
        client_secret: json.client_secret,
      };
      const granted = await token("/oauth-token", { method: "POST", body: new URLSearchParams(form) });
      expect(granted.status).toBe(200);
      const { access_token } = await granted.json();
      const listed = await accounts("/v1/accounts", { headers: { Authorization: `Bearer ${access_token}` } });
      expect([listed.status, await listed.json()]).toMatchObject([200, { accounts: [], count: 0 }]);
    });

    test("a person who signed in is let in, though the session names an address that leads nowhere from there", async () => {
      const credentials = { email: "eva@example.nl", password: "geheim-en-lang" };
      const headers = { apikey: functions.PUBLISHABLE_KEY ?? "", "content-type": "application/json" };
      const signed = await fetch(`${kong()}/auth/v1/signup`, {
        method: "POST",
        headers,
        body: JSON.stringify(credentials),
      });
      const { access_token } = await signed.json();
      const personal = await serve("personal");
      const read = (bearer: string) => personal("/tokens", { headers: { Authorization: `Bearer ${bearer}` } });
      expect((await read(access_token)).status).toBe(200);
      expect((await read(`${access_token}x`)).status).toBe(401);
    });
  });
});

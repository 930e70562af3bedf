// npm run deploy:new, from nothing to a first request: the real Supabase CLI, a real database, the functions that were uploaded with the
// secrets that were set. What stands in is the platform: its Management API, pg_cron, pg_net and the vault.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addToEnv, readEnv } from "../../packages/tools/src/deploy/env_file.ts";
import { QUESTIONS } from "../../packages/tools/src/deploy/questions.ts";
import { run } from "../../packages/tools/src/deploy/run.ts";
import { STEPS } from "../../packages/tools/src/deploy/steps.ts";
import { deployedFunctions } from "../../packages/tools/src/functions.ts";
import { bundledCheckout } from "../harness/bundles.ts";
import { forgetCompiled } from "../harness/deno.ts";
import { type Project, startProject } from "../harness/project.ts";
import { deployOn, PATIENCE_MS, SERVICE, secretsIn, type Walked } from "./deployment.ts";

const SLUGS = deployedFunctions().map(({ slug }) => slug);

let project: Project;
const folder = mkdtempSync(join(tmpdir(), "ere-secrets-"));
const file = (name: string, host = "sandbox") => join(folder, host, `${name}.env`);
beforeAll(async () => {
  project = await startProject();
});
afterAll(async () => {
  await project?.stop();
  rmSync(folder, { recursive: true });
  forgetCompiled();
});

const deploy = (argv: string[], replies?: string[]) => deployOn(project, argv, replies);

describe("without what it needs", () => {
  test.each([
    [["sandbox"], /--secrets <folder> is missing/],
    [["staging", "--secrets", folder], /sandbox or production, not "staging"/],
    [["sandbox", "--secrets", folder, "--force"], /--force/],
    [["sandbox", "--secrets", folder], /Nobody is here to be asked: add --yes/],
  ])("%j is not understood", async (argv, reason) => {
    expect(await deploy(argv)).toMatchObject({ code: 2, said: expect.stringMatching(reason) });
  });

  test("no access token is said before anything is done", async () => {
    const platform = { api_url: "", project_url: () => "", cli: {}, checkout: bundledCheckout, pause: async () => {} };
    const said: string[] = [];
    expect(await run(["--secrets", folder, "--yes"], { say: (text) => said.push(text), platform })).toBe(2);
    expect(said.join()).toContain("SUPABASE_ACCESS_TOKEN is not set");
  });

  test("help says each step and each question", async () => {
    const { code, said } = await deploy(["--help"]);
    expect(code).toBe(0);
    for (const { title } of STEPS) expect(said).toContain(title);
    for (const { name } of QUESTIONS) expect(said).toContain(name);
  });

  test("answers that are missing or wrong are named, all at once, and nothing is made", async () => {
    addToEnv(file("answers", "production"), { REGION: "Frankfurt", SERVICE_KVK: "123" }, "");
    const { code, said } = await deploy(["production", "--secrets", folder, "--yes"]);
    expect(code).toBe(1);
    for (const reason of ["ORGANIZATION is missing", "REGION is not", "SERVICE_KVK is not 8 digits", "SERVICE_NAME is"])
      expect(said).toContain(reason);
    expect(project.api.created).toEqual([]);
  });
});

describe("a walk from zero", { timeout: PATIENCE_MS }, () => {
  let stopped: Walked;
  let complete: Walked;
  const walk = ["sandbox", "--secrets", folder];
  const said = () => stopped.said + complete.said;

  beforeAll(async () => {
    project.api.failNext("POST /secrets");
    // what is asked: project, organization, its name, region, address, prefix, partner; and whether to make the project
    const typed = ["", "no such thing", "test", "", "eu-central-1", "", "", "Laadpunt Zuid", "yes"];
    stopped = await deploy(walk, typed);
    complete = await deploy([...walk, "--yes"]);
  }, PATIENCE_MS);

  test("makes the project after a yes, with a password of its own", () => {
    const { DATABASE_PASSWORD, PROJECT_REF } = readEnv(file("answers"));
    expect(project.api.created).toEqual([
      { name: "ere-sandbox", organization_slug: "test", region: "eu-central-1", db_pass: DATABASE_PASSWORD },
    ]);
    expect([PROJECT_REF, DATABASE_PASSWORD?.length]).toEqual([project.api.project, 43]);
  });

  test("stops where something fails, says which step it was and what to do, and goes on there", () => {
    expect(stopped.code).toBe(1);
    expect(stopped.said).toMatch(/9\/15 {2}Secrets of the functions\n\nsupabase secrets set failed/);
    expect(stopped.said).toMatch(/run the same command again: it goes on here\.$/);
    expect(complete.code, complete.said).toBe(0);
    // what the first walk did is found, and stays
    const migrations = readdirSync(new URL("../../supabase/migrations", import.meta.url)).length;
    for (const found of [`all ${migrations} are applied`, "each lets its login in", "complete"])
      expect(complete.said).toContain(found);
  });

  test("goes no further where the database was made by other migrations", async () => {
    const history = "supabase_migrations.schema_migrations";
    await project.admin.query(`update ${history} set statements[2] = statements[2] || ' -- older'`);
    const { code, said: refused } = await deploy([...walk, "--yes"]);
    await project.admin.query(`update ${history} set statements[2] = left(statements[2], -length(' -- older'))`);
    expect(code).toBe(1);
    expect(refused).toContain("_baseline.sql has changed since. Nothing was changed.");
    expect(refused).not.toContain("are applied");
  });

  test("keeps what is secret in files that only their owner may read, and says none of it", () => {
    for (const name of ["answers", "functions", "operator", "first_partner"])
      expect(statSync(file(name)).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "sandbox")).mode & 0o777).toBe(0o700);
    const secrets = secretsIn(join(folder, "sandbox"));
    expect(secrets.length).toBeGreaterThan(12);
    for (const secret of secrets) expect(said()).not.toContain(secret);
  });

  test("sets the functions' secrets as the file has them, and publishes every function", () => {
    expect(Object.fromEntries(project.api.secrets)).toEqual(readEnv(file("functions")));
    expect([...project.api.published.keys()].sort()).toEqual([...SLUGS].sort());
    expect(project.api.unknown).toEqual([]);
  });

  test("says what was bought for the project, and what was not", () => {
    expect(said()).toContain("point-in-time recovery: no, custom domain: yes, log drain: no, read replica: no");
  });

  test("tells the database which host it is, and schedules the worker and the documents with the secret from the vault", async () => {
    const { rows } = await project.admin.query("select host from core.deployment");
    expect(rows).toEqual([{ host: "sandbox" }]);
    const { rows: jobs } = await project.admin.query(
      "select jobname, schedule, command from cron.job order by jobname",
    );
    expect(jobs.map(({ jobname, schedule }) => [jobname, schedule])).toEqual([
      ["cron_record", "23 3 * * *"],
      ["documents", "10 seconds"],
      ["worker", "10 seconds"],
    ]);
    const { WORKER_SECRET } = readEnv(file("functions"));
    for (const { command } of jobs) expect(command).not.toContain(WORKER_SECRET);
    // as pg_cron runs them, and pg_net sends them
    await project.admin.query("truncate net.requests");
    for (const { command } of jobs) await project.admin.query(command);
    const { rows: requests } = await project.admin.query("select url, headers from net.requests order by url");
    expect(requests.map(({ url }) => new URL(url).pathname)).toEqual([
      "/functions/v1/documents/run",
      "/functions/v1/worker/run",
    ]);
    for (const { url, headers } of requests) {
      const sent = { ...headers, "Content-Type": "application/json" };
      const response = await fetch(url, { method: "POST", headers: sent, body: "{}" });
      expect([url, response.status]).toEqual([url, 200]);
    }
  });

  test("makes the first partner, whose client and key are let in", async () => {
    const { CLIENT_ID = "", CLIENT_SECRET = "", PARTNER_KEY } = readEnv(file("first_partner"));
    const form = { grant_type: "client_credentials", client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
    const root = `${project.url}/functions/v1`;
    const token = await fetch(`${root}/oauth-token`, { method: "POST", body: new URLSearchParams(form) });
    expect(token.status).toBe(200);
    const drafts = await fetch(`${root}/partner/drafts`, { headers: { Authorization: `Bearer ${PARTNER_KEY}` } });
    expect(drafts.status).toBe(200);
  });

  test("strangers may not sign up at Supabase Auth, addresses are confirmed, and e-mail stays on", async () => {
    const { auth } = project.api;
    expect(auth).toMatchObject({ disable_signup: true, mailer_autoconfirm: false, external_email_enabled: true });
    const toml = readFileSync(new URL("../../supabase/config.toml", import.meta.url), "utf8");
    const block = (name: string) => toml.split(/^(?=\[)/m).find((each) => each.startsWith(`[${name}]`)) ?? "";
    expect(block("auth")).toContain("enable_signup = false");
    expect(block("auth.email")).toContain("enable_confirmations = true");
    expect(block("auth.email"), "it would turn e-mail off").not.toMatch(/^enable_signup/m);

    auth.external_email_enabled = false;
    const off = await deploy([...walk, "--yes"]);
    auth.external_email_enabled = true;
    expect([off.code, off.said]).toEqual([1, expect.stringContaining("has e-mail switched off")]);
    await project.admin.query("revoke delete on auth.identities from postgres");
    const refused = await deploy([...walk, "--yes"]);
    await project.admin.query("grant delete on auth.identities to postgres");
    expect([refused.code, refused.said]).toEqual([1, expect.stringContaining("rows of identities in the schema auth")]);
  });

  test("walked again changes nothing, and makes nothing twice", async () => {
    const before = ["answers", "functions", "operator", "first_partner"].map((name) =>
      readFileSync(file(name), "utf8"),
    );
    const again = await deploy([...walk, "--yes"]);
    expect(again.code, again.said).toBe(0);
    const changed = again.said.split("\n").filter((line) => line.includes("to undo"));
    // these are sent again, as they are
    expect(changed).toEqual([expect.stringContaining("secrets unset"), expect.stringContaining("functions delete")]);
    expect(
      ["answers", "functions", "operator", "first_partner"].map((name) => readFileSync(file(name), "utf8")),
    ).toEqual(before);
    expect(project.api.created).toHaveLength(1);
    const { rows } = await project.admin.query("select count(*)::int as n from core.oauth_clients");
    expect(rows).toEqual([{ n: 1 }]);
  });

  test("another answer about what tokens rest on is not taken silently", async () => {
    const kept = readFileSync(file("answers"), "utf8");
    addToEnv(file("answers"), { PUBLIC_URL: "https://api.example.nl" }, "");
    const moved = await deploy([...walk, "--yes"]);
    writeFileSync(file("answers"), kept);
    expect(moved.code).toBe(1);
    expect(moved.said).toContain(
      `says BASE_URL=${project.url}/functions/v1, and the answers say https://api.example.nl`,
    );
  });

  test("a project that was paused is not waited for", async () => {
    project.api.becomes("INACTIVE");
    const paused = await deploy([...walk, "--yes"]);
    project.api.becomes(null);
    expect([paused.code, paused.said]).toEqual([1, expect.stringContaining(`${project.api.project} is INACTIVE`)]);
  });

  test("a client's address that the client can choose is found out, before anybody guesses under it", async () => {
    const kept = readFileSync(file("functions"), "utf8");
    const change = (from: string, to: string) => writeFileSync(file("functions"), kept.replace(from, to));
    change("x-forwarded-for:1", "x-forwarded-for:2");
    const forged = await deploy([...walk, "--yes"]);
    writeFileSync(file("functions"), kept);
    expect(forged.code).toBe(1);
    expect(forged.said).toContain("By CLIENT_ADDRESS=x-forwarded-for:2");
    expect(forged.said).toContain("take 192.0.2.1 for this machine's");
  });

  test("attack: production is never deployed into the database of the sandbox, and nothing there is changed by trying", async () => {
    const { PROJECT_REF = "", DATABASE_PASSWORD = "" } = readEnv(file("answers"));
    const elsewhere = join(folder, "mistaken");
    addToEnv(join(elsewhere, "production/answers.env"), { ...SERVICE, PROJECT_REF, DATABASE_PASSWORD }, "");
    const { code, said } = await deploy(["production", "--secrets", elsewhere, "--yes"]);
    expect([code, said]).toEqual([1, expect.stringContaining(`The database of ${PROJECT_REF} is the sandbox host's.`)]);
    const client = new pg.Client({ connectionString: readEnv(file("functions")).EDGE_DATABASE_URL });
    await client.connect().finally(() => client.end());
  });
});

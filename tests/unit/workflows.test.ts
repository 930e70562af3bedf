// What .github/workflows do: read as GitHub reads them. The checks, and the last step of a deployment, are run.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "#local/checkout.ts";
import { requiredFor } from "#shared/foundation/configuration.ts";

type Step = {
  name?: string;
  uses?: string;
  run?: string;
  if?: string;
  with?: Record<string, string>;
  env?: Record<string, string>;
};
type Job = { needs?: string | string[]; uses?: string; if?: string; environment?: string; steps?: Step[] };
type Workflow = {
  on: { push?: object };
  permissions: object;
  concurrency: object;
  env?: object;
  jobs: Record<string, Job>;
};

const read = (path: string) => parse(readFileSync(`${ROOT}.github/${path}`, "utf8"));
const deploy: Workflow = read("workflows/deploy.yml");
const { steps: hostSteps }: { steps: Step[] } = read("actions/deploy_host/action.yml").runs;
const needsOf = (job: string) => [deploy.jobs[job]?.needs ?? []].flat();
const HOSTS = ["sandbox", "production"];

describe("a push to main", () => {
  test("runs all checks, then deploys the sandbox, then production; each waits for the one before", () => {
    expect(deploy.on.push).toEqual({ branches: ["main"] });
    expect(Object.keys(deploy.jobs)).toEqual(["check", "changed", "sandbox", "production"]);
    expect(deploy.jobs.check).toEqual({ uses: "./.github/workflows/ci.yml" });
    expect(needsOf("changed")).toEqual(["check"]);
    expect(needsOf("sandbox")).toEqual(["changed"]);
    expect(needsOf("production")).toEqual(["changed", "sandbox"]);
    // `if: always()` would run a job after a failure
    for (const job of Object.values(deploy.jobs)) expect(job).not.toHaveProperty("if");
    expect(JSON.stringify(deploy)).not.toContain("continue-on-error");
  });

  test("never runs two deployments at once, and ends none halfway", () => {
    expect(deploy.concurrency).toEqual({ group: "deploy", "cancel-in-progress": false });
  });
});

describe("the checks", () => {
  const ci = read("workflows/ci.yml");

  test("are one script, for CI, for .ci/run and for npm run check; CI runs it in four parts, each with its time limit", () => {
    const { check } = ci.jobs;
    expect(check.steps.at(-1).run).toMatch(/^\.ci\/run \$\{\{ matrix\.shard \}\}$/);
    expect(check.strategy).toEqual({ "fail-fast": false, matrix: { shard: ["1/4", "2/4", "3/4", "4/4"] } });
    for (const job of Object.values<{ "timeout-minutes": number }>(ci.jobs))
      expect(job["timeout-minutes"]).toBeLessThanOrEqual(15);
    expect(JSON.stringify(ci)).not.toMatch(/continue-on-error|"if":/);
    expect(JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")).scripts.check).toBe(".ci/check");
    expect(readFileSync(`${ROOT}.ci/run`, "utf8").trim()).toMatch(/\nexec \.ci\/check "\$@"$/);
  });

  /** Runs a script of .ci with programs that only note how they were called; `broken` of them fail. */
  function dry(script: string, args: readonly string[], broken: RegExp = /^$/, present: readonly string[] = []) {
    const folder = mkdtempSync(join(tmpdir(), "ere-ci-"));
    const note = '#!/bin/bash\nline="$(basename "$0") $*"; echo "$line"\n';
    const fail = `[[ ! $line =~ ${broken.source} ]]\n`;
    for (const name of ["npm", "apt-get", ...present]) writeFileSync(join(folder, name), note + fail, { mode: 0o755 });
    // root, with nothing else installed than what the scripts are written in
    writeFileSync(join(folder, "id"), "#!/bin/bash\necho 0\n", { mode: 0o755 });
    for (const name of ["bash", "basename", "dirname", "env", "mktemp", "rm", "tail"])
      symlinkSync(spawnSync("which", [name], { encoding: "utf8" }).stdout.trim(), join(folder, name));
    const { status, stdout } = spawnSync(`${ROOT}.ci/${script}`, args, { env: { PATH: folder }, encoding: "utf8" });
    return { status, said: stdout.trim().split("\n") };
  }

  test("look at everything, also after a failure, and end with the tests", () => {
    const everything = ["npm run lint --silent", "npm run types --silent", "npm test --silent --"];
    expect(dry("check", [])).toEqual({ status: 0, said: everything });
    for (const broken of [/lint/, /types/, /test/])
      expect(dry("check", [], broken)).toEqual({ status: 1, said: everything });
  });

  test("in parts run each test once, and lint and types once", () => {
    const [lint, types, tests] = dry("check", ["1/4"]).said;
    expect([lint, types, tests]).toEqual([
      "npm run lint --silent",
      "npm run types --silent",
      "npm test --silent -- --shard=1/4",
    ]);
    expect(dry("check", ["4/4"]).said).toEqual(["npm test --silent -- --shard=4/4"]);
  });

  test("on a bare machine begin with what they need; packages that cannot be had stop nothing", () => {
    const bare = dry("run", ["2/4"], /chromium-headless-shell/);
    expect(bare).toEqual({ status: 0, said: ["npm ci --no-audit --no-fund", "npm test --silent -- --shard=2/4"] });
    const { said, status } = dry("run", ["2/4"], /apt-get/);
    expect([status, said[0], said.at(-1)]).toEqual([
      0,
      "Chromium, qpdf and poppler-utils could not be installed:",
      "npm test --silent -- --shard=2/4",
    ]);
    expect(dry("run", ["2/4"], /npm.ci/).status).not.toBe(0);
  });
});

describe("a host", () => {
  test("is deployed by the same steps: a look at its variables, migrations, functions, then whether every function answers", () => {
    const [sandbox, production] = HOSTS.map((host) => deploy.jobs[host]?.steps);
    expect(sandbox).toEqual(production);
    expect(sandbox?.at(-1)?.uses).toBe("./.github/actions/deploy_host");
    const named = hostSteps.flatMap(({ name }) => (name ? [name] : []));
    expect(named).toEqual([
      "See that every variable is set",
      "Migrate",
      "Deploy",
      "See that every function answers, and that the host is ready",
    ]);
    // a push that changes no function still migrates, and still asks every function
    expect(hostSteps.filter((step) => step.if).map(({ name }) => name)).toEqual(["Deploy"]);
    expect(JSON.stringify(hostSteps)).not.toContain("continue-on-error");
  });

  test("has the secrets of its own environment, by name, and hands each to the steps that need it", () => {
    for (const [name, job] of Object.entries(deploy.jobs)) {
      expect([name, job.environment]).toEqual([name, HOSTS.includes(name) ? name : undefined]);
      const used = [...JSON.stringify(job).matchAll(/secrets\.(\w+)/g)].map(([, secret]) => secret);
      expect([name, used]).toEqual([
        name,
        HOSTS.includes(name) ? ["SUPABASE_ACCESS_TOKEN", "SUPABASE_DB_PASSWORD"] : [],
      ]);
      expect(job, "a job that inherits gets every secret of the repository").not.toHaveProperty("secrets");
    }
    const given = (input: string) =>
      hostSteps.filter((step) => JSON.stringify(step).includes(`inputs.${input}`)).map(({ name }) => name);
    expect(given("access_token")).toEqual(["See that every variable is set", "Migrate", "Deploy"]);
    expect(given("db_password")).toEqual(["Migrate"]);
    // in a command an expression is replaced before the shell reads it: a value could be a command
    for (const { run = "" } of hostSteps) expect(run).not.toContain("${{");
  });

  /** The step that looks at the variables, in a job of this name, with a CLI that lists these. */
  function look(job: string, names: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), "ere-workflow-"));
    const listed = JSON.stringify(names.map((name) => ({ name, value: "digest" })));
    writeFileSync(join(folder, "npx"), `#!/bin/bash\necho '${listed}'\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}`, PROJECT: "abc", GITHUB_JOB: job };
    const { run = "" } = hostSteps.find(({ name }) => name === "See that every variable is set") ?? {};
    const script = ["--noprofile", "--norc", "-eo", "pipefail", "-c", run];
    const { status, stderr } = spawnSync("bash", script, { cwd: ROOT, env, encoding: "utf8" });
    return { status, missing: stderr.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [] };
  }

  test("is not migrated while it lacks a variable, which is named; production must say who the service is", () => {
    const set = HOSTS.map((host) => requiredFor(host).filter((name) => name !== "SUPABASE_URL"));
    const [sandbox = [], production = []] = set;
    expect(look("sandbox", sandbox)).toEqual({ status: 0, missing: [] });
    expect(look("sandbox", sandbox.slice(1))).toEqual({ status: 1, missing: sandbox.slice(0, 1) });
    expect(look("production", sandbox)).toEqual({ status: 1, missing: expect.arrayContaining(["SERVICE_NAME"]) });
    expect(look("production", production)).toEqual({ status: 0, missing: [] });
  });

  /** The last step, with a curl that answers for every function but these. */
  function see(silent: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), "ere-workflow-"));
    const lines = ["#!/bin/bash", 'echo "$*"', ...silent.map((name) => `[[ "$*" != */${name} ]] || exit 22`)];
    writeFileSync(join(folder, "curl"), `${lines.join("\n")}\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}`, PROJECT: "abc" };
    const script = ["--noprofile", "--norc", "-eo", "pipefail", "-c", hostSteps.at(-1)?.run ?? ""];
    const { status, stdout } = spawnSync("bash", script, { cwd: ROOT, env, encoding: "utf8" });
    return { status, asked: stdout.match(/https:\S+/g) ?? [] };
  }

  test("passes when every function answers, and fails when one does not", () => {
    const functions = readdirSync(`${ROOT}supabase/functions`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    const { status, asked } = see([]);
    expect(status).toBe(0);
    expect(asked.toSorted()).toEqual(
      [...functions.map((name) => `${name}/health`), "worker/health/ready"]
        .map((path) => `https://abc.supabase.co/functions/v1/${path}`)
        .sort(),
    );
    expect(see(["worker/health"]).status).not.toBe(0);
    expect(see(["worker/health/ready"]).status, "the database, or a job").not.toBe(0);
  });
});

test("every action of others is pinned to a commit, and a workflow may only read", () => {
  const files = readdirSync(`${ROOT}.github`, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".yml"),
  );
  const used = files.flatMap((name) =>
    [...JSON.stringify(read(name)).matchAll(/"uses":"([^"]+)"/g)].map(([, uses]) => uses),
  );
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((uses) => !/^\.\/|@[0-9a-f]{40}$/.test(uses ?? ""))).toEqual([]);
  for (const name of files.filter((each) => each.startsWith("workflows/")))
    expect(Object.values(read(name).permissions)).not.toContain("write");
});

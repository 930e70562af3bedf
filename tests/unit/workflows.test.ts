// What .github/workflows/deploy.yml does: read as GitHub reads it, and its last step run.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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
    expect(read("workflows/ci.yml").jobs.check.steps.at(-1)).toEqual({ run: "npm run check" });
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

describe("a host", () => {
  test("is deployed by the same steps: a look at its variables, migrations, functions, then whether every function answers", () => {
    const [sandbox, production] = HOSTS.map((host) => deploy.jobs[host]?.steps);
    expect(sandbox).toEqual(production);
    expect(sandbox?.at(-1)?.uses).toBe("./.github/actions/deploy_host");
    const named = hostSteps.flatMap(({ name }) => (name ? [name] : []));
    expect(named).toEqual(["See that every variable is set", "Migrate", "Deploy", "See that every function answers"]);
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
    const lines = ["#!/bin/bash", 'echo "$*"', ...silent.map((name) => `[[ "$*" != */${name}/health ]] || exit 22`)];
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
      functions.map((name) => `https://abc.supabase.co/functions/v1/${name}/health`).sort(),
    );
    expect(see(["worker"]).status).not.toBe(0);
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

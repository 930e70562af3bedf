// docs/operations.md is read when something is on fire: what it tells to type has to be there.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "#local/checkout.ts";
import { pathsOf } from "#shared/http/serve.ts";
import { HELP } from "../../packages/gateway/src/metrics.ts";
import { COMMANDS } from "../../packages/operator/src/commands.ts";
import { run } from "../../packages/operator/src/run.ts";
import { PROBE } from "../../packages/tools/src/probe/probe.ts";
import { METRICS } from "../../supabase/functions/worker/metrics.ts";
import { ENDPOINTS_OF, SERVED } from "../harness/answers.ts";
import { createWorld, type World } from "../harness/world.ts";

const page = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
const yaml = (file: string) => parse(readFileSync(join(ROOT, "docs", file), "utf8"));
/** What is code: blocks, and spans in the text. */
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\``, "gms"))].map(([, , text = ""]) => text);
const code = [
  ...blocks("sh"),
  ...[...page.replace(/^ *```.*?^ *```/gms, "").matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span),
];
const found = (pattern: RegExp) => [
  ...new Set(code.flatMap((text) => [...text.matchAll(pattern)].map(([, what = ""]) => what))),
];

describe("commands", () => {
  const names = COMMANDS.map(({ name }) => name);

  test("of the operator are commands that there are, with the options that they have", async () => {
    const typed = code.flatMap((text) => [...text.matchAll(/operator -- (.+)/g)].map(([, line = ""]) => line.trim()));
    expect(typed.length).toBeGreaterThan(15);
    for (const line of typed) {
      const name = names.find((each) => line === each || line.startsWith(`${each} `));
      expect(name, line).toBeDefined();
      const options = [...line.matchAll(/--[a-z-]+/g)].map(([option]) => option);
      let help = "";
      await run(["help", ...`${name}`.split(" ")], {
        out: (text) => {
          help += text;
        },
        err: () => {},
        env: {},
        operator: "test",
        local: () => undefined,
      });
      for (const option of options) expect(help, line).toContain(option);
    }
  });

  test("of the operator that the tables only name are commands too", () => {
    const nouns = [...new Set(names.map((name) => name.split(" ")[0]))].join("|");
    const named = found(new RegExp(`^((?:${nouns}) [a-z][a-z-]+)`, "g"));
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
  });

  test("of the Supabase CLI are commands that it has, and of npm and node scripts that are here", () => {
    const cli = join(ROOT, "node_modules/supabase/dist/supabase.js");
    const commands = found(/npx supabase ([a-z]+ [a-z]+)/g);
    expect(commands.length).toBeGreaterThan(2);
    for (const command of commands) {
      const help = execFileSync(process.execPath, [cli, ...command.split(" "), "--help"], { encoding: "utf8" });
      expect(help).toContain(`supabase ${command}`);
    }
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    for (const script of found(/npm run (?:-s )?([a-z:]+)/g)) expect(scripts).toHaveProperty(script);
    for (const file of found(/node ([\w/.]+)/g)) expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
  });

  test("of curl ask for addresses that a function answers", () => {
    const answered = [
      "/health",
      "/health/ready",
      ...SERVED.flatMap((surface) =>
        (ENDPOINTS_OF.get(surface.slug) ?? []).flatMap(({ path }) => pathsOf(surface, path)),
      ),
    ];
    const asked = found(/\$BASE_URL(\/[\w/-]+)/g);
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((path) => !answered.includes(path))).toEqual([]);
  });
});

describe("SQL", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());

  test("of the page runs, but for what only a hosted database has", async () => {
    const spans = code.filter((text) => /^(select|alter role|revoke) /.test(text) && text.includes(" from "));
    const statements = [...blocks("sql").flatMap((text) => text.split(";")), ...spans]
      .map((text) => text.trim())
      .filter(Boolean);
    expect(statements.length).toBeGreaterThan(8);
    for (const statement of statements.filter((text) => !/\b(cron|net|vault)\./.test(text))) {
      // said of a role or of this database, and taken back
      await world.database.admin.query("begin");
      await world.database.admin.query(
        statement.replace(
          "database postgres",
          `database ${(await world.row("select current_database() as name")).name}`,
        ),
      );
      await world.database.admin.query("rollback");
    }
  });
});

describe("metrics and alerts", () => {
  const ofGateway = Object.keys(HELP).filter((name) => name.startsWith("ocpp_"));
  const metrics = [...Object.keys(METRICS).map((name) => `ere_${name}`), ...ofGateway];
  // of the platform, by supabase.com/docs/guides/telemetry/metrics and github.com/supabase/supabase-grafana
  const ofPlatform = [
    ...["node_filesystem_avail_bytes", "node_filesystem_size_bytes", "pg_stat_database_num_backends"],
    ...["max_connections_connection_count", "physical_replication_lag_physical_replication_lag_seconds"],
  ];
  const ofLog = ["ere_requests_total", "ere_request_ms_bucket"];
  const known = [...metrics, ...Object.keys(PROBE), ...ofLog, ...ofPlatform];
  type Rule = {
    alert: string;
    expr: string;
    for?: string;
    labels: { severity: string };
    annotations: { summary: string; runbook_url: string };
  };
  const alerts = (yaml("alerts.yml").groups as { rules: Rule[] }[]).flatMap(({ rules }) => rules);

  test("no figure has a label that Prometheus gives itself: an alert that names it would never fire", () => {
    const labels = Object.values(METRICS).map(({ label }) => label);
    expect(labels.filter((label) => ["job", "instance"].includes(String(label)))).toEqual([]);
    expect(
      [...page.matchAll(/^\| `(?:ere|ocpp)_.*?\| (.*) \|$/gm)].filter(([, label]) =>
        /`(?:job|instance)`/.test(label ?? ""),
      ),
    ).toEqual([]);
  });

  test("the page has a row for every figure, and for none that is gone", () => {
    const listed = [...page.matchAll(/^\| (`(?:ere|ocpp)_.*?) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    expect(listed.sort()).toEqual(metrics.sort());
  });

  test.each(alerts)(
    "the alert $alert is an expression of Prometheus, about figures and labels that there are",
    ({ expr, for: lasts = "1m" }) => {
      const wrong: string[] = [];
      const named: string[] = [];
      parser.parse(expr).iterate({
        enter: ({ type, from, to }) => {
          if (type.isError) wrong.push(expr.slice(from, to + 5));
          if (type.name === "Identifier") named.push(expr.slice(from, to));
        },
      });
      // figures named by a pattern
      for (const [, pattern = ""] of expr.matchAll(/__name__=~"([^"]+)"/g))
        named.push(...known.filter((name) => new RegExp(`^(?:${pattern})$`).test(name)));
      expect(wrong).toEqual([]);
      expect(lasts).toMatch(/^\d+[mh]$/);
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((name) => !known.includes(name))).toEqual([]);
      for (const [, name = "", label = ""] of expr.matchAll(/ere_(\w+)\{(\w+)=/g))
        if (METRICS[name]) expect(METRICS[name].label).toBe(label);
    },
  );

  test("an alert that takes a new counter whole says nothing after a gap, when each counter is new", () => {
    const whole = alerts.filter(({ expr }) => /unless ere_\w+ offset/.test(expr));
    expect(whole.map(({ alert }) => alert)).toEqual(["FunctionFails"]);
    for (const { expr } of whole)
      expect(expr).toMatch(/\(ere_\w+\{.*\} unless (ere_\w+ offset \w+)\s+and on \(\) count\(\1\)\)/);
  });

  test.each(alerts)("the alert $alert says how urgent it is, what is wrong, and where its runbook is", (rule) => {
    const { alert, labels, annotations } = rule;
    expect(["critical", "warning"]).toContain(labels.severity);
    expect(annotations.summary.length).toBeGreaterThan(10);
    expect(annotations.runbook_url).toBe(`{{ $externalLabels.docs }}/operations.md#${alert.toLowerCase()}`);
  });

  test("Vector counts what the log says of requests, under the names that the alerts ask for", async () => {
    const { transforms, sinks } = yaml("front/vector.yaml");
    const world = await createWorld();
    await world.get("/v1/accounts", "wrong");
    const line = world.log.find(({ event }) => event === "request") as Record<string, unknown>;
    await world.close();
    const fields = [...transforms.request.source.matchAll(/\bline\.(\w+)/g)].map(([, name]) => name);
    expect(fields).toEqual(["event", "function", "status", "ms", "one_in"]);
    expect(Object.keys(line)).toEqual(expect.arrayContaining(fields.filter((name) => name !== "one_in")));
    const names = transforms.figures.metrics.map((each: Record<string, string>) =>
      [each.namespace, each.name, ...(each.type === "histogram" ? ["bucket"] : [])].join("_"),
    );
    expect(names).toEqual(ofLog);
    expect(sinks.prometheus.buckets).toContain(2000);
  });

  test("every alert has its runbook, and every runbook its alert", () => {
    const section = page.slice(page.indexOf("\n## Alerts"), page.indexOf("\n## Rotate a key"));
    expect([...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)).toEqual(alerts.map(({ alert }) => alert));
    expect(alerts.length).toBeGreaterThan(20);
  });
});

// docs/operations.md is read when something is on fire: what it tells to type has to be there.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { pathsOf } from "#shared/http/serve.ts";
import { HELP } from "../../packages/gateway/src/metrics.ts";
import { COMMANDS } from "../../packages/operator/src/commands.ts";
import { run } from "../../packages/operator/src/run.ts";
import { METRICS } from "../../supabase/functions/worker/metrics.ts";
import { ENDPOINTS_OF, SERVED } from "../harness/answers.ts";
import { createWorld, type World } from "../harness/world.ts";

const page = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
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

  test("of the page for psql runs, in order; what it copies is read", async () => {
    const lines = blocks("psql").flatMap((text) => text.trim().split(/\n\s*/));
    expect(lines.length).toBeGreaterThan(4);
    await world.database.admin.query("begin");
    for (const line of lines) {
      const [, from] = /^\\copy (\(.*\)|\S+) (?:to|from) '[\w.]+'/.exec(line) ?? [];
      const statement = from ? `select * from ${from} t` : line;
      await world.database.admin.query(statement.replace("<moment>", "2026-01-01"));
    }
    await world.database.admin.query("rollback");
  });
});

describe("metrics and alerts", () => {
  const ofGateway = Object.keys(HELP).filter((name) => name.startsWith("ocpp_"));
  const metrics = [...Object.keys(METRICS).map((name) => `ere_${name}`), ...ofGateway];
  const alerts = [...page.matchAll(/- alert: (\w+)\n +expr: (.+)/g)].map(([, name = "", expr = ""]) => ({
    name,
    expr,
  }));

  test("the page has a row for every figure, and for none that is gone", () => {
    const listed = [...page.matchAll(/^\| (`(?:ere|ocpp)_.*?) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    expect(listed.sort()).toEqual(metrics.sort());
  });

  test.each(alerts)(
    "the alert $name is an expression of Prometheus, about figures and labels that there are",
    ({ expr }) => {
      const wrong: string[] = [];
      const named: string[] = [];
      parser.parse(expr).iterate({
        enter: ({ type, from, to }) => {
          if (type.isError) wrong.push(expr.slice(from, to + 5));
          if (type.name === "Identifier" && /^(?:ere|ocpp)_/.test(expr.slice(from, to)))
            named.push(expr.slice(from, to));
        },
      });
      expect(wrong).toEqual([]);
      expect(named.length).toBeGreaterThan(0);
      expect(named.filter((name) => !metrics.includes(name))).toEqual([]);
      for (const [, name = "", label = ""] of expr.matchAll(/ere_(\w+)\{(\w+)=/g))
        expect(METRICS[name]?.label).toBe(label);
    },
  );

  test("every alert has its runbook, and every runbook its alert", () => {
    const section = page.slice(page.indexOf("\n## Alerts"), page.indexOf("\n## Rotate a key"));
    expect([...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)).toEqual(alerts.map(({ name }) => name));
    expect(alerts.length).toBeGreaterThan(8);
  });
});

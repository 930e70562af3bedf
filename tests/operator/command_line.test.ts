import { spawn } from "node:child_process";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { COMMANDS } from "../../packages/operator/src/commands.ts";
import { type Open, openClient } from "../../packages/operator/src/database.ts";
import type { LocalStack } from "../../packages/operator/src/run.ts";
import { cloneDatabase, type Database } from "../harness/database.ts";
import { auditOf, operate, type Ran } from "./operator.ts";

let database: Database;
let env: Record<string, string>;
let silence: Promise<Ran>;

async function listen(take: (socket: Socket) => void) {
  const server = createServer(take);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

beforeAll(async () => {
  database = await cloneDatabase();
  env = { OPERATOR_DATABASE_URL: database.url("operator") };
  // takes as long as the patience with a server that says nothing: it waits while the other tests run
  const silent = await listen(() => {});
  const url = `postgresql://operator@127.0.0.1:${silent.port}/x`;
  silence = operate(["partner", "list", "--database-url", url]).finally(() => silent.server.close());
});
afterAll(() => database.drop());

const STACK: LocalStack = {
  database_url: "",
  operator_database_url: "",
  operator_logins: {},
  operator_environment: { IBAN_KEYS: "", PAYOUT_ACCOUNT_NAME: "", PAYOUT_ACCOUNT_IBAN: "" },
};

const words = (text: string) => [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");

describe("contract §8 help", () => {
  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    "contract §8 help %s says what the command does, with an example",
    async (name, command) => {
      const help = await operate(["help", ...name.split(" ")]);
      expect([help.code, help.err]).toEqual([0, ""]);
      expect(help.out).toContain(command.summary.slice(0, 30));
      expect(help.out).toContain("--json");
      expect(help.out).toContain(`Example:\n  npm run -s operator -- ${command.example}`);
      expect(await operate([...name.split(" "), "--help"])).toEqual(help);
    },
  );

  test.each(COMMANDS.map((command) => [command.example, command] as const))(
    "contract §8 the example of the help is understood: %s",
    async (example, command) => {
      expect(example.startsWith(`${command.name}`)).toBe(true);
      const { code, err } = await operate(words(example), env);
      expect([code, err], "it may be refused on an empty database, never misunderstood").toEqual([
        err ? 1 : 0,
        expect.not.stringMatching(/See: npm run/),
      ]);
    },
  );

  test("contract §8 help alone lists every noun, help of a noun its verbs", async () => {
    const all = await operate(["help"]);
    expect(all.code).toBe(0);
    for (const noun of new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? ""))) {
      expect(all.out).toContain(noun);
      const help = await operate(["help", noun]);
      expect(help.code).toBe(0);
      for (const { name, summary } of COMMANDS.filter(({ name }) => name.startsWith(`${noun} `))) {
        expect(help.out).toContain(`  ${name.split(" ")[1]}`);
        expect(help.out).toContain(summary.slice(0, 20));
      }
    }
  });

  test("contract §8 help works wherever it is typed: in front, after the noun, after the verb; and makes nothing", async () => {
    const [noun, verb] = [await operate(["help", "partner"]), await operate(["help", "partner", "create"])];
    expect(await operate(["partner", "help"], env)).toEqual(noun);
    for (const argv of [
      ["partner", "help", "create"],
      ["partner", "create", "help"],
      ["partner", "create", "help", "--json"],
    ])
      expect(await operate(argv, env), argv.join(" ")).toEqual(verb);
    for (const name of new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? "")))
      expect([name, (await operate([name, "help"], env)).code]).toEqual([name, 0]);
    const { rows } = await database.admin.query("select slug from core.partners where slug like '%help%'");
    expect(rows).toEqual([]);
  });

  test("contract §8 help says which options are required, and what the exit codes mean", async () => {
    const { out } = await operate(["help", "app", "create"]);
    expect(out.replace(/\s+/g, " ")).toMatch(
      /--operated-by <who> [^-]*\(required\) --redirect-uris <uri\.\.\.> [^-]*\(required\) --scopes/,
    );
    expect(out).not.toMatch(/--partner[^\n]*\(required\)|--json[^\n]*\(required\)/);
    expect((await operate(["help"])).out).toContain("Exit code: 0 done, 1 refused or failed, 2 not understood.");
  });

  test("contract §8 every ops function has a command, and every command its function", async () => {
    const { rows } = await database.admin.query(
      "select p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'ops' order by 1",
    );
    const run = COMMANDS.filter(({ owner }) => !owner).flatMap(({ ops, perform }) => [
      ...(typeof ops === "string" ? [ops] : [ops({}), ops({ show: true })]),
      ...(perform?.also ?? []),
    ]);
    // a command may ask something that another one shows
    expect(rows.map(({ name }) => name)).toEqual([...new Set(run)].sort());
  });
});

describe("contract §8 exit codes and errors", () => {
  test.each([
    [[]],
    [["nonsense"]],
    [["help", "nonsense"]],
    [["help", "partner", "nonsense"]],
    [["partner"]],
    [["partner", "nonsense"]],
    [["partner", "create"]],
    [["partner", "create", "one", "two"]],
    [["partner", "list", "--nonsense"]],
    [["client", "set-scopes", "x", "cpo:everything"]],
    [["client", "create", "x", "--scopes", "cpo:accounts:read", "admin"]],
    [["connection", "set-ean-status", "x"]],
    [["connection", "set-ean-status", "x", "matched"]],
    [["connection", "set-ean", "x", "manual"]],
    [["partner", "mint-key", "x", "--host", "production"]],
    [["host", "set", "staging"]],
    [["partner", "help", "nonsense"]],
    [["connection", "add", "x", "12", "--postal-code", "1234AB", "--house-number", "1"]],
    [["connection", "add", "x", "871687120000000016", "--postal-code", "AB1234", "--house-number", "1"]],
    [["connection", "add", "x", "871687120000000016", "--postal-code", "1234AB"]],
    [["registration", "review", "x", "misschien"]],
    [["rate-limit", "set", "cpo_read", "0"]],
    [["rate-limit", "set", "cpo_read", "1.5"]],
    [["rate-limit", "set", "cpo_read", "1000001"]],
    [["mail", "list", "--limit", "1001"]],
    [["mail", "list", "--limit", "many"]],
  ])("contract §8 the words %j are not understood: exit code 2, standard error, nothing changed", async (argv) => {
    const ran = await operate(argv, env);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toMatch(/^error: |^Usage: /);
  });

  test("contract §8 what takes long says every ten seconds that it is at work", async () => {
    const other = await database.admin.connect();
    await other.query("begin");
    await other.query("lock table core.partners in access exclusive mode");
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
    try {
      const running = operate(["partner", "list"], env);
      const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      while ((await database.admin.query(waiting)).rowCount === 0) await new Promise((done) => setTimeout(done, 20));
      vi.advanceTimersByTime(25_000);
      await other.query("rollback");
      const { code, err } = await running;
      expect([code, err]).toEqual([0, "partner list: at work for 10 seconds\npartner list: at work for 20 seconds\n"]);
    } finally {
      vi.useRealTimers();
      other.release();
    }
  });

  test("contract §8 a refusal is 1 and one sentence, with --json too", async () => {
    for (const more of [[], ["--json"]]) {
      expect(await operate(["partner", "activate", "nobody", ...more], env)).toMatchObject({
        code: 1,
        out: "",
        err: 'error: No partner has the id or slug "nobody"; see partner list.\n',
      });
    }
  });

  test("contract §8 a command ends the connection that it opened, also after a refusal", async () => {
    let ended = 0;
    const open: Open = (url) =>
      openClient(url).once("end", () => {
        ended += 1;
      });
    expect((await operate(["partner", "list"], env, { open })).code).toBe(0);
    expect(ended).toBe(1);
    expect((await operate(["partner", "activate", "nobody"], env, { open })).code).toBe(1);
    expect(ended).toBe(2);
  });

  test("contract §8 a table for people, the same answer as JSON for scripts", async () => {
    await operate(["partner", "create", "Zuid", "--slug", "zuid"], env);
    const { out } = await operate(["partner", "list"], env);
    expect(out).toMatch(/^id +slug +name +is_active +created_at\n/);
    expect(out).toMatch(/^[0-9a-f-]{36} +zuid +Zuid +yes +2\S+Z$/m);
    const { json } = await operate(["partner", "list", "--json"], env);
    expect(json.partners).toContainEqual(expect.objectContaining({ slug: "zuid", name: "Zuid", is_active: true }));
    expect((await operate(["mail", "list"], env)).out).toBe("No mails.\n");
    const screen = { width: 40, color: true };
    const narrow = (await operate(["partner", "list"], env, { screen })).out;
    expect(narrow).toMatch(/^\u001b\[1mid\u001b\[0m\n\u001b\[1m {4}slug +name/);
    expect((await operate(["partner", "list", "--json"], env, { screen })).json).toEqual(json);
    const off = await operate(["partner", "deactivate", "zuid"], env);
    expect(off.out).toMatch(/^Partner deactivated\.\n {2}id +[0-9a-f-]{36}\n/);
    expect(off.out).toMatch(/^ {2}is_active +no$/m);
    expect((await operate(["partner", "deactivate", "zuid"], env)).out).toMatch(/^Nothing to change/);
  });

  describe("what is lost at once is asked about first", () => {
    const ends = COMMANDS.filter(({ ends }) => ends);

    test("contract §8 these are the commands that ask", () => {
      expect(ends.map(({ name }) => name).sort()).toEqual([
        "app disable",
        "app rotate-secret",
        "app set-scopes",
        "booking credit",
        "booking export",
        "booking reverse-credit",
        "booking withdraw",
        "client disable",
        "client rotate-secret",
        "client set-scopes",
        "connection archive",
        "invoice issue",
        "login disable",
        "mail resend",
        "mandate revoke",
        "ocpi disable",
        "partner deactivate",
        "partner mint-key",
        "payout approve",
        "payout cancel",
        "payout reject",
        "payout resume",
        "registration review",
        "restore apply",
        "retention run",
        "sale record",
        "sale reverse",
        "token revoke",
        "webhook revoke",
        "webhook rotate",
      ]);
    });

    test("contract §8 a yes does it, anything else changes nothing: 1", async () => {
      await operate(["partner", "create", "Weg", "--slug", "weg"], env);
      const active = async () => {
        const { json } = await operate(["partner", "list", "--json"], env);
        return json.partners.find(({ slug }: { slug: string }) => slug === "weg").is_active;
      };
      const asked: string[] = [];
      const say = (answer: boolean) => async (question: string) => {
        asked.push(question);
        return answer;
      };
      const no = await operate(["partner", "deactivate", "weg", "--json"], env, { confirm: say(false) });
      expect([no.code, no.out, no.err, await active()]).toEqual([1, "", "error: Nothing was changed.\n", true]);
      expect((await operate(["partner", "deactivate", "weg"], env, { confirm: say(true) })).code).toBe(0);
      expect(await active()).toBe(false);
      expect(asked).toHaveLength(2);
      expect(asked[0]).toMatch(/^Partner weg will lose all access/);
    });

    test.each(ends.map((command) => [command.example, command] as const))(
      "contract §8 where nobody is there to be asked, %s is refused without --yes: 1, and says so",
      async (example, { ends: question, looks }) => {
        if (/ goedgekeurd$|mint-key| \+/.test(example)) return; // which end nothing
        if (looks) return; // of what does not exist there is nothing to ask
        const ran = await operate(words(example), env, { confirm: null });
        expect([ran.code, ran.out]).toEqual([1, ""]);
        expect(ran.err).toMatch(
          /^error: [^\n]* will [^\n]* Nobody is here to be asked: add --yes\. Nothing was changed\.\n$/,
        );
        expect(question).toBeDefined();
        const done = await operate([...words(example), "--yes"], env, { confirm: null });
        expect(done.err).not.toContain("--yes");
      },
    );

    test.each([
      [["partner", "mint-key", "weg", "--rotate"], 1],
      [["registration", "review", "x", "afgekeurd"], 1],
      [["partner", "mint-key", "zuid"], 0],
      [["registration", "review", "x", "goedgekeurd"], 0],
    ])("contract §8 %j asks %i times", async (argv, times) => {
      const { err } = await operate(argv, env, { confirm: null });
      expect(err.includes("--yes")).toBe(times === 1);
    });
  });

  test("contract §8 a code in a mail is not in the list; --show shows it, and leaves an audit row", async () => {
    await database.admin.query(
      `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
       select id, 'code', 'claim_code', 'nl', 'code@example.nl', '{"code": "123456", "purpose": "iban", "partner_name": "Laadpunt"}', 'captured'
         from core.partners limit 1`,
    );
    for (const more of [[], ["--json"]]) {
      const { out } = await operate(["mail", "list", "--to", "code@example.nl", ...more], env);
      expect(out).toContain("claim_code");
      expect(out).not.toContain("123456");
    }
    const { json } = await operate(["mail", "list", "--to", "code@example.nl", "--json"], env);
    const [{ id }] = json.mails;
    const audit = await auditOf(database.admin, async () => {
      const { out } = await operate(["mail", "list", "--show", id], env);
      expect(out).toMatch(/subject +123456 /);
      expect(out).toContain("\n    123456\n");
    });
    expect(audit.map(({ action, subject_id }) => [action, subject_id])).toEqual([["mail.shown", id]]);
  });

  test("contract §8 a mail that this release cannot write is shown without text; links begin with PAGES_URL, whatever it ends with", async () => {
    const put = async (template: string, content: object) => {
      const { rows } = await database.admin.query(
        `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
         select id, $1, $1, 'nl', 'show@example.nl', $2, 'captured' from core.partners limit 1 returning id`,
        [template, content],
      );
      return rows[0].id as string;
    };
    const show = async (id: string, more: object) =>
      (await operate(["mail", "list", "--show", id, "--json"], { ...env, ...more })).json;
    const other = await put("of_another_release", {});
    expect(await show(other, {})).toMatchObject({ mail: { template: "of_another_release", subject: "" }, text: "" });
    const told = await put("managers_changed", { change: "left", partner_name: "A", person: "x@example.nl", by: null });
    for (const [PAGES_URL, link] of [
      ["https://pages.example/", "https://pages.example/portal/settings/colleagues?lang=nl"],
      ["", "PAGES_URL/portal/settings/colleagues?lang=nl"],
    ])
      expect((await show(told, { PAGES_URL })).links).toEqual([link]);
  });

  test("contract §8 a person sees the secret once, under its own line", async () => {
    const { out } = await operate(["client", "create", "Mens"], env);
    expect(out).toMatch(
      /^Client created\. Its secret is shown only once.*\n\n {2}client_secret {2}cs_[0-9A-Za-z]{43}\n$/s,
    );
    expect((await operate(["client", "list"], env)).out).not.toMatch(/cs_/);
  });

  test("contract §8 text from outside cannot steer the terminal", async () => {
    await database.admin.query(
      `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
       select id, 'esc', 'claim', 'nl', 'a@example.nl', jsonb_build_object('full_name', 'Sanne', 'claim_url', 'https://x.example/',
              'unsubscribe_url', 'https://x.example/', 'offer', '{"ere_per_kwh": null}'::jsonb, 'brand', jsonb_build_object('name', E'\\x1b[2Jhoi\\u009b1m'),
              'message', E'een\\n\\x1b]0;x\\x07twee'), 'captured' from core.partners limit 1`,
    );
    const shown = await operate(["mail", "list", "--show"], env);
    expect(shown.out).toMatch(/subject .*\\u001b\[2Jhoi\\u009b1m/);
    expect(shown.out).toMatch(/een\n *\\u001b\]0;x\\u0007twee”\n/);
    expect((await operate(["mail", "list"], env)).out + shown.out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test("contract §8 what is not seen in a terminal is shown as its number, in tables, JSON and messages; joiners stay", async () => {
    const HIDDEN = /[\u0080-\u009f\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\u{e0000}-\u{e007f}]/u;
    const signs = "\u202eslafi\u2066x\u2069\u200b\u2060\ufeff\u009b1m";
    const unseen = "\u2028\u206a\u3164\u{e0041}";
    const family = "👩\u200d👧 نمی\u200cخواهم";
    await database.admin.query("update core.partners set name = $1", [`a${signs} ${family}${unseen}`]);
    const texts = [await operate(["partner", "list"], env), await operate(["partner", "list", "--json"], env)];
    for (const { out } of texts) {
      expect(out).not.toMatch(HIDDEN);
      expect(out).toContain("a\\u202eslafi\\u2066x\\u2069\\u200b\\u2060\\ufeff\\u009b1m");
      expect(out).toContain(`${family}\\u2028\\u206a\\u3164\\udb40\\udc41`);
    }
    expect(JSON.parse(texts[1]?.out ?? "").partners[0].name).toBe(`a${signs} ${family}${unseen}`);
    const refused = await operate(["partner", "show", `x${signs}`], env);
    expect([refused.code, HIDDEN.test(refused.err + refused.out)]).toEqual([1, false]);
    for (const sign of signs.replace(/[a-z]|1m/g, "")) {
      if (sign === "\u009b") continue;
      const { code, err } = await operate(["partner", "create", `a${sign}b`], env);
      expect([code, err], `U+${sign.charCodeAt(0).toString(16)}`).toEqual([1, expect.stringContaining("A name is")]);
    }
  });
});

describe("contract §8 which database", () => {
  test("contract §8 --database-url wins over OPERATOR_DATABASE_URL, which wins over the local stack", async () => {
    const good = database.url("operator");
    const bad = "postgresql://operator:hush@127.0.0.1:1/none";
    const stack = (operator_database_url: string) => ({ ...STACK, operator_database_url });
    expect(
      (
        await operate(
          ["partner", "list", "--database-url", good],
          { OPERATOR_DATABASE_URL: bad },
          { local: stack(bad) },
        )
      ).code,
    ).toBe(0);
    expect((await operate(["partner", "list"], { OPERATOR_DATABASE_URL: good }, { local: stack(bad) })).code).toBe(0);
    expect((await operate(["partner", "list"], {}, { local: stack(good) })).code).toBe(0);
  });

  test("contract §8 none named: says how to name one", async () => {
    expect(await operate(["partner", "list"])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/^error: No database is named .* give --database-url\.\n$/),
    });
  });

  test("contract §8 OPERATOR_STACK that no stack runs at: says what it is", async () => {
    expect(await operate(["partner", "list"], { OPERATOR_STACK: "gone/stack.json" })).toMatchObject({
      ...{ code: 1, out: "" },
      err: "error: No running stack wrote gone/stack.json; OPERATOR_STACK is the path of a stack.json.\n",
    });
  });

  test("contract §8 each way a database cannot be used has its own sentence, without the password", async () => {
    const url = new URL(database.url("operator"));
    const change = (fields: Partial<Record<"password" | "pathname" | "port" | "protocol", string>>) =>
      Object.assign(new URL(url), fields).href;
    const cases: [string, RegExp][] = [
      [change({ password: "hush" }), /refuses the password of operator/],
      [change({ pathname: "/nowhere" }), /There is no such database: 127\.0\.0\.1:\d+\/nowhere/],
      [change({ port: "1" }), /No database answers at 127\.0\.0\.1:1\/.* \(ECONNREFUSED\)/],
      ["nonsense", /is no URL such as/],
      ["https://operator:hush@example.com/x", /is no URL such as/],
      [database.url("edge"), /edge may not run operator functions .*Connect as the role operator/],
      [change({ pathname: "/postgres" }), /lacks this command\. Apply the migrations/],
    ];
    for (const [address, text] of cases) {
      const ran = await operate(["partner", "list", "--database-url", address]);
      expect([ran.code, ran.out]).toEqual([1, ""]);
      expect(ran.err).toMatch(text);
      expect(ran.err).toMatch(/^error: [^\n]+\.\n$/);
      expect(ran.err).not.toContain("hush");
    }
  });

  test("contract §8 a server that takes the connection and says nothing is given up on", async () => {
    expect(await silence).toMatchObject({ code: 1, err: expect.stringMatching(/No database answers at 127/) });
  });

  test("contract §8 a connection cut before the answer: says that the outcome is to be looked up", async () => {
    const { hostname, port } = new URL(database.url("operator"));
    const cut = await listen((near) => {
      const far = connect(Number(port), hostname);
      near.pipe(far).pipe(near);
      near.on("data", (data) => data.includes("ops.partner_list") && near.destroy());
      near.on("close", () => far.destroy());
    });
    const url = Object.assign(new URL(database.url("operator")), { port: String(cut.port) }).href;
    const ran = await operate(["partner", "list", "--database-url", url]);
    cut.server.close();
    expect([ran.code, ran.out]).toEqual([1, ""]);
    expect(ran.err).toMatch(
      /^error: The connection to the database .* broke before it answered .* whether the change was made\.\n$/,
    );
  });

  test("contract §8 a database that is shut down under a command: says that nothing was changed", async () => {
    const blocker = new pg.Client({ connectionString: database.url("postgres") });
    await blocker.connect();
    await blocker.query("begin; lock table core.partners");
    const running = operate(["partner", "create", "Late"], env);
    const killed = async () =>
      (
        await database.admin.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name = 'operator' and wait_event_type = 'Lock'`,
        )
      ).rowCount;
    while (!(await killed()));
    const ran = await running;
    await blocker.end();
    expect([ran.code, ran.out]).toEqual([1, ""]);
    expect(ran.err).toMatch(/^error: The database refused \(57P01: .*Nothing was changed\.\n$/);
    expect((await operate(["partner", "list", "--json"], env)).out).not.toContain("Late");
  });
});

describe("contract §8 as a process", () => {
  const main = fileURLToPath(new URL("../../packages/operator/src/main.ts", import.meta.url));
  const start = (argv: string[], variables: Record<string, string>) =>
    new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
      const child = spawn(process.execPath, [main, ...argv], { env: { PATH: process.env.PATH, ...variables } });
      const printed = { out: "", err: "" };
      child.stdout.on("data", (data) => {
        printed.out += data;
      });
      child.stderr.on("data", (data) => {
        printed.err += data;
      });
      child.on("close", (code) => resolve({ code, ...printed }));
    });

  test("contract §8 0 with JSON on standard output, 1 and 2 with a sentence on standard error; the audit row names the person", async () => {
    const [made, refused, unasked, misunderstood] = await Promise.all([
      start(["partner", "create", "Proces", "--json"], env),
      start(["client", "disable", "nobody", "--yes"], env),
      start(["client", "disable", "nobody"], env),
      start(["partner", "nonsense"], {}),
    ]);
    expect(made).toMatchObject({ code: 0, err: "" });
    const { partner } = JSON.parse(made.out);
    expect(refused).toEqual({ code: 1, out: "", err: expect.stringMatching(/^error: No client has/) });
    expect(unasked).toEqual({ code: 1, out: "", err: expect.stringMatching(/add --yes\. Nothing was changed\.\n$/) });
    expect(misunderstood).toEqual({ code: 2, out: "", err: expect.stringMatching(/^error: unknown command/) });
    const { rows } = await database.admin.query("select actor from core.audit_log where subject_id = $1", [partner.id]);
    const { userInfo } = await import("node:os");
    expect(rows).toEqual([{ actor: `operator:${userInfo().username}` }]);
  });

  test("contract §8 a reader that has enough, as `| head`, makes no command fail", async () => {
    const child = spawn(process.execPath, [main, "help", "invoice", "issue"], { env: { PATH: process.env.PATH } });
    child.stdout.destroy();
    let said = "";
    child.stderr.on("data", (data) => {
      said += data;
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect([code, said]).toEqual([0, ""]);
  });
});

describe("contract §8 logins of operators", () => {
  const owner = () => ({ OWNER_DATABASE_URL: database.url("postgres") });
  const name = `t${Math.random().toString(36).slice(2, 10)}`;
  // roles belong to the server, not to this file's database
  afterAll(() => database.admin.query(`drop role if exists operator_${name}`));

  test("contract §8 only the owner of the database makes one; its password is shown once, and it may do what an operator may", async () => {
    expect(await operate(["login", "create", name], env)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error: operator may not do this .* connect as the owner of the database/),
    });
    let made: Ran | undefined;
    // the platform said of the role what the owner may not say
    await database.admin.query("alter role operator set log_executor_stats = off");
    const audit = await auditOf(database.admin, async () => {
      made = await operate(["login", "create", name, "--json"], owner());
    }).finally(() => database.admin.query("alter role operator reset log_executor_stats"));
    expect(made).toMatchObject({ code: 0, err: "" });
    const { login, password } = made?.json ?? {};
    expect(login).toEqual({ login: name, role: `operator_${name}`, enabled: true });
    expect(audit).toEqual([]); // which is of what operators did
    const { rows } = await database.admin.query(
      "select actor, details from core.audit_log where action = 'operator.login_created'",
    );
    expect(rows).toEqual([{ actor: "postgres:tester", details: { role: `operator_${name}` } }]);

    const url = Object.assign(new URL(database.url("operator")), { username: `operator_${name}`, password }).href;
    const acting = await auditOf(database.admin, async () => {
      expect((await operate(["partner", "create", "Door wie"], { OPERATOR_DATABASE_URL: url })).code).toBe(0);
    });
    expect(acting.map(({ actor }) => actor)).toEqual([`operator_${name}:tester`]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of [
      "select * from core.accounts",
      "set role operator",
      "create role x",
      "select private.login_create('{}')",
    ])
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: "42501" });
    expect((await client.query("show statement_timeout")).rows).toEqual([{ statement_timeout: "10min" }]);
    await client.end();
  });

  test("contract §8 a name is small letters and digits, and never given twice; a login that is disabled is not let in", async () => {
    for (const wrong of ["Eva", "eva-1", "1eva", "", "e".repeat(32), 'e"; drop role operator'])
      expect((await operate(["login", "create", wrong], owner())).err).toMatch(
        /A login name has at most 31 lower-case letters/,
      );
    expect((await operate(["login", "create", name], owner())).err).toMatch(/The login .* exists already/);
    expect((await operate(["login", "disable", name, "--json"], owner())).json).toMatchObject({
      changed: true,
      login: { login: name, enabled: false },
    });
    expect((await operate(["login", "disable", name, "--json"], owner())).json.changed).toBe(false);
    expect((await operate(["login", "disable", "nobody"], owner())).err).toMatch(/No operator has the login nobody/);
    const { json } = await operate(["login", "list", "--json"], env);
    expect(json.logins).toContainEqual({ login: name, role: `operator_${name}`, enabled: false });
    expect((await operate(["login", "create", name], owner())).err).toMatch(/The login .* exists already/);
  });

  test("contract §8 on the local stack --as, or OPERATOR_NAME, picks a login; elsewhere the URL has it", async () => {
    const local = {
      ...STACK,
      operator_database_url: database.url("operator"),
      operator_logins: { anna: database.url("operator_anna"), bram: database.url("operator_bram") },
    };
    const actors = async (argv: string[], variables: Record<string, string>) =>
      (
        await auditOf(database.admin, async () => {
          expect((await operate(argv, variables, { local })).err).toBe("");
        })
      ).map(({ actor }) => actor);
    const create = (name: string, ...more: string[]) => ["partner", "create", name, ...more];
    expect(await actors(create("L 1"), {})).toEqual(["operator:tester"]);
    expect(await actors(create("L 2", "--as", "anna"), { OPERATOR_NAME: "bram" })).toEqual(["operator_anna:tester"]);
    expect(await actors(create("L 3"), { OPERATOR_NAME: "bram" })).toEqual(["operator_bram:tester"]);
    expect((await operate(create("L 4", "--as", "eva"), {}, { local })).err).toMatch(
      /has no login eva; it has anna, bram\./,
    );
    expect((await operate(create("L 4", "--as", "anna"), env, { local })).err).toMatch(
      /--as picks a login of the local stack/,
    );
  });
});

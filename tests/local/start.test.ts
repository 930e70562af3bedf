import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connected, obstacleAt, startPostgres } from "#local/postgres.ts";
import { identify } from "#local/processes.ts";
import { sayObstacle } from "#local/runner.ts";
import type { Stack } from "#local/stack.ts";
import { PASSWORDS } from "../harness/template.ts";
import { gone, place, run, signIn, signUp, token } from "./running_stack.ts";

type Place = Awaited<ReturnType<typeof place>>;

describe("one data folder over several starts", () => {
  let here: Place;
  let stack: Stack;
  let running: ReturnType<typeof run>;
  let issued: string;

  /** Of a stack that does not run and never did: the role that migrates still has the password of the template. */
  async function inFolder(statement: string) {
    const { passwords } = JSON.parse(readFileSync(join(here.data_dir, "secrets.json"), "utf8"));
    const server = await startPostgres({
      folder: join(here.data_dir, "postgres"),
      password: passwords.supabase_admin,
      durable: true,
      log_file: join(here.data_dir, "postgres.log"),
    });
    try {
      const client = await connected(server.url("postgres", "postgres", PASSWORDS.postgres));
      return (await client.query(statement).finally(() => client.end())).rows;
    } finally {
      await server.stop();
    }
  }

  let refused: ReturnType<typeof run>;
  let found: { demo: number }[];
  beforeAll(async () => {
    here = await place({ prepared: "migrated" });
    writeFileSync(join(here.data_dir, "notes.txt"), "mine");
    await inFolder(
      `select ops.host_set('{"operator": "test", "host": "production"}');
       update supabase_migrations.schema_migrations set statements[2] = statements[2] || ' -- older'`,
    );
    refused = run(...here.args);
    await refused.exit;
    found = await inFolder("select count(*)::int as demo from core.partners where slug = 'demo'");
    ({ stack, run: running } = await here.start("--fresh"));
    issued = ((await (await token(stack)).json()) as { access_token: string }).access_token;
    await signUp(stack, "first@example.com");
  });
  afterAll(() => here.remove());

  test("a data folder of another baseline is left as it is: npm start says so, and offers --fresh", async () => {
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain("made by other migrations than those in supabase/migrations: ");
    expect(refused.output()).toContain("_baseline.sql has changed since. Nothing was changed.");
    expect(refused.output()).toContain(`${here.data_dir}, or throw its data away: npm start -- --fresh`);
    expect(found).toEqual([{ demo: 0 }]);
  });

  test("--fresh makes it the other host's, leaves alone what is not its own, brings everything up and prints what a newcomer needs", async () => {
    expect(readFileSync(join(here.data_dir, "notes.txt"), "utf8")).toBe("mine");
    expect(running.output()).toMatch(/schema +migrated by the Supabase CLI/);
    expect(stack).toMatchObject({
      host: "sandbox",
      base_url: `http://127.0.0.1:${here.port}`,
      functions_url: `http://127.0.0.1:${here.port}/functions/v1`,
      auth_url: `http://127.0.0.1:${here.port}`,
    });
    expect(statSync(join(here.data_dir, "stack.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(here.data_dir, "secrets.json")).mode & 0o777).toBe(0o600);
    expect((await token(stack)).status).toBe(200);
    expect((await signIn(stack, "first@example.com")).status).toBe(200);
    const { cpo, partner, user, personal_token, oauth_app } = stack.demo;
    await expect.poll(() => running.output()).toContain(cpo.client_secret);
    for (const said of [
      partner.api_key,
      user.password,
      personal_token,
      oauth_app.client_secret,
      oauth_app.redirect_uri,
    ])
      expect(running.output()).toContain(said);
    expect(running.output()).toContain("curl -s");
  });

  test("what it prints to open in a browser opens: a draft that can be claimed, and the pages of customer and partner", async () => {
    const said = (label: string) => new RegExp(`${label} +(http\\S+)`).exec(running.output())?.[1] ?? "";
    const heading = async (link: string) => /<h1>([^<]*)/.exec(await (await fetch(link)).text())?.[1];
    expect(await heading(said("to claim, as a customer"))).toBe("Geld voor uw laadstroom");
    expect(await heading(said("a customer's own pages"))).toBe("Log in");
    expect(await heading(said("a partner's portal"))).toBe("Log in");
    expect((await fetch(said("the API's documentation"))).status).toBe(200);
    const headers = { Authorization: `Bearer ${stack.demo.partner.api_key}` };
    const dashboard = await (await fetch(`${stack.base_url}/partner/dashboard`, { headers })).json();
    expect(dashboard).toMatchObject({ customers_total: 1, chargers_total: 2 });
    // a year of charging; what was charged before 2026 earned no ERE
    expect((dashboard as { months: object[] }).months.length).toBeGreaterThanOrEqual(10);
  });

  test("the demo's customer has been through it all: ERE, euros, payments with their statements, and the partner's share", async () => {
    const { demo } = stack;
    const ask = (path: string, init: RequestInit = {}) => fetch(stack.base_url + path, { redirect: "manual", ...init });
    const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
    const { payouts } = (await (await ask("/partner/payouts", bearer(demo.partner.api_key))).json()) as {
      payouts: { period: string; status: string; partner_share_eur: number; vat_eur: number; invoice_number: string }[];
    };
    expect(payouts).toHaveLength(3);
    for (const { status, partner_share_eur, vat_eur, invoice_number } of payouts) {
      expect([status, partner_share_eur > 0, vat_eur > 0]).toEqual(["paid", true, true]);
      expect(invoice_number).toMatch(/^\d{4}-000\d$/);
    }

    const cookies = (answer: Response) => answer.headers.getSetCookie().map((set) => set.split(";")[0]);
    const form = await ask("/pages/mijn/sign-in");
    const [, form_token = ""] = /name="form_token" value="([^"]+)"/.exec(await form.text()) ?? [];
    const signedIn = await ask("/pages/mijn/sign-in", {
      method: "POST",
      headers: { cookie: cookies(form).join("; "), "sec-fetch-site": "same-origin" },
      body: new URLSearchParams({ form_token, ...demo.user }),
    });
    const headers = { cookie: [...cookies(form), ...cookies(signedIn)].join("; ") };
    const overview = await (await ask("/pages/mijn", { headers })).text();
    expect(overview).toContain("Ingeboekt");
    expect(overview, "its second charger has no MID meter").toContain("Deze laadpaal heeft geen MID-meter");
    const earnings = await (await ask("/pages/mijn/earnings", { headers })).text();
    const statements = [...earnings.matchAll(/href="([^"]*\/statement\/[^"]+)"/g)].map(([, link = ""]) => link);
    expect(statements).toHaveLength(payouts.length);
    expect(earnings).toMatch(/€\s\d+,\d\d/);
    // a job renders what was paid
    await expect
      .poll(async () => (await ask(statements[0] ?? "", { headers })).headers.get("content-type"))
      .toBe("application/pdf");
  });

  test("the specification's paths and the hosted form reach the same function, an unknown path nobody", async () => {
    const empty = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
    const own = await fetch(`${stack.auth_url}/oauth-token`, empty);
    const hosted = await fetch(`${stack.functions_url}/oauth-token`, empty);
    expect([own.status, hosted.status]).toEqual([400, 400]);
    const unknown = await fetch(`${stack.base_url}/nothing/here`);
    expect(unknown.status).toBe(404);
    // what reaches no function is answered as a function answers what it does not know
    const ofFunction = await fetch(`${stack.base_url}/v1/nothing-here`);
    const { request_id, ...said } = (await unknown.json()) as Record<string, unknown>;
    const doc_url = expect.stringMatching(/\/errors\.html#not_found$/);
    expect(said).toEqual({ error: "Not found", detail: expect.stringMatching(/\w/), doc_url });
    expect(request_id).toBe(unknown.headers.get("X-Request-Id"));
    expect(await ofFunction.json()).toMatchObject(said);
    const names = ({ headers }: Response) =>
      [...headers.keys()].filter((name) => !/^access-control-|^vary$/.test(name));
    expect(names(unknown)).toEqual(names(ofFunction));
    expect(unknown.headers.get("X-Content-Type-Options")).toBe("nosniff");
  });

  test.each(["/nothing/here", "/v1/accounts", "/oauth-token", "/pages/claim/x"])(
    "TRACE %s is not found, too",
    async (path) => {
      // fetch does not send it
      const { status, headers, body } = await new Promise<{
        status?: number;
        headers: IncomingHttpHeaders;
        body: string;
      }>((resolve, reject) => {
        const sent = request(new URL(path, stack.base_url), { method: "TRACE" }, async (answer) =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }),
        );
        sent.once("error", reject).end();
      });
      expect(status).toBe(404);
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(JSON.parse(body)).toMatchObject({ error: "Not found", request_id: headers["x-request-id"] });
    },
  );

  test("attack: whatever stands in the first line and in Host, the answer is one of ours and never a bare 500", async () => {
    const raw = (line: string, host: string): Promise<string> =>
      new Promise((resolve, reject) => {
        let said = "";
        const socket = connect(here.port, "127.0.0.1");
        socket.on("data", (chunk) => (said += chunk));
        socket.on("close", () => resolve(said));
        socket.on("error", reject);
        socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      });
    expect(await raw("OPTIONS *", "127.0.0.1")).toMatch(
      /^HTTP\/1.1 204 .*\r\nallow: GET, HEAD, POST, DELETE, OPTIONS\r\n/is,
    );
    for (const [line, host] of [
      ["GET *", "127.0.0.1"],
      ["TRACE *", "127.0.0.1"],
      ["GET nothing", "127.0.0.1"],
      ["GET //evil.example/v1", "127.0.0.1"],
      ["GET //", "127.0.0.1"],
      ["GET http://other.example/nothing", "127.0.0.1"],
      ["GET https://127.0.0.1:99999/", "127.0.0.1"],
      ["GET /v1/accounts", "a b"],
      ["OPTIONS /v1/accounts", "a b"],
      // names of methods differ by case
      ["get /v1/accounts", "127.0.0.1"],
      ["Head /docs/", "127.0.0.1"],
      ["trace /pages/mijn", "127.0.0.1"],
      ["FOO /auth/v1/user", "127.0.0.1"],
    ] as const) {
      const said = await raw(line, host);
      expect(said, `${line} at ${host}`).toMatch(/^HTTP\/1.1 404 /);
      expect(said).toContain('"error":"Not found"');
    }
    expect(await raw("GET http://other.example/v1/accounts", "127.0.0.1"), "its path is what counts").toMatch(
      /^HTTP\/1.1 401 /,
    );
  });

  test("a second stack in the same folder is refused and disturbs nothing", async () => {
    const second = run("--port", "1", "--data-dir", here.data_dir);
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain(`in use by the stack at ${stack.base_url}`);
    expect((await token(stack)).status).toBe(200);
  });

  /** Says whose data it is, and changes nothing. */
  async function refuses({ args, data_dir }: Place, host: string, of: string) {
    const refused = run(...args, "--host", host);
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain(`The data folder ${data_dir} is of the ${of} host`);
    expect(refused.output()).toMatch(/--data-dir.*--fresh/s);
  }

  test("two stacks with other ports, folders and hosts run side by side, and the folder of production is not the sandbox's", async () => {
    const there = await place({ prepared: "migrated" });
    try {
      const other = await there.start("--host", "production", "--auth-signup", "off");
      expect(other.stack.host).toBe("production");
      expect((await token(other.stack)).status).toBe(200);
      expect((await token(stack)).status).toBe(200);
      const headers = { Authorization: `Bearer ${other.stack.demo.partner.api_key}` };
      expect((await fetch(`${other.stack.base_url}/partner/me`, { headers })).status).toBe(200);
      expect((await fetch(`${other.stack.base_url}/sandbox/v1/mail`, { headers })).status).toBe(404);
      expect((await signIn(other.stack, "first@example.com")).status).toBe(400);
      expect((await signUp(other.stack, "first@example.com")).status, "closed, as hosted").toBe(422);
      other.run.child.kill("SIGINT");
      expect(await other.run.exit).toBe(0);
      await refuses(there, "sandbox", "production");
    } finally {
      await there.remove();
    }
    expect((await token(stack)).status).toBe(200);
  });

  test("SIGTERM ends everything and takes stack.json away", async () => {
    const { functions, postmaster } = here.processes();
    expect([functions, postmaster].every((pid) => pid && identify(pid))).toBe(true);
    running.child.kill("SIGTERM");
    expect(await running.exit).toBe(0);
    expect(await gone(functions, postmaster)).toBe(true);
    expect(existsSync(join(here.data_dir, "stack.json"))).toBe(false);
    expect(existsSync(join(here.data_dir, "running.json"))).toBe(false);
    expect(readFileSync(join(here.data_dir, "postgres.log"), "utf8").trimEnd()).toMatch(
      /database system is shut down$/,
    );
  });

  test("a warm start makes and migrates nothing again, keeps the data and accepts the old token", async () => {
    const { demo } = stack;
    running.child.kill("SIGTERM");
    await running.exit;
    ({ stack, run: running } = await here.start());
    const answer = await fetch(`${stack.base_url}/v1/accounts`, { headers: { Authorization: `Bearer ${issued}` } });
    expect(answer.status).toBe(200);
    expect((await signIn(stack, "first@example.com")).status).toBe(200);
    expect(stack.demo).toEqual(demo);
    const me = await fetch(`${stack.base_url}/partner/me`, {
      headers: { Authorization: `Bearer ${demo.partner.api_key}` },
    });
    expect(((await me.json()) as { partner: object }).partner).toMatchObject({ id: demo.partner.id, slug: "demo" });
    expect(running.output()).toMatch(/schema +up to date/);
  });

  test("a data folder of the sandbox is refused to production", async () => {
    running.child.kill("SIGTERM");
    await running.exit;
    await refuses(here, "production", "sandbox");
  });
});

describe("what is wrong is said, with what to do next", () => {
  const folder = mkdtempSync(join(tmpdir(), "ere-start-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("a taken port is named, with how to choose another", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => blocker.once("listening", resolve));
    const { port } = blocker.address() as { port: number };
    const refused = run("--port", String(port), "--data-dir", join(folder, "port"));
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain(`Port ${port} is taken`);
    expect(refused.output()).toContain("--port");
    blocker.close();
  });

  test("a port that the system keeps for itself", async () => {
    expect(sayObstacle("EACCES", 80)).toMatch(/^No permission to listen on port 80.*--port 54321$/s);
    // where this machine keeps ports for its administrator, and the tests are not that
    const obstacle = await obstacleAt(80);
    if (obstacle === null) return;
    const refused = run("--port", "80", "--data-dir", join(folder, "low"));
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain(sayObstacle(obstacle, 80));
  });

  test("data of another Postgres is left as it is", async () => {
    mkdirSync(join(folder, "old/postgres"), { recursive: true });
    writeFileSync(join(folder, "old/postgres/PG_VERSION"), "16\n");
    const refused = run("--port", "45001", "--data-dir", join(folder, "old"));
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toMatch(/is of PostgreSQL 16; this project runs 17\..*--fresh/s);
  });

  test("a file where the data folder should be is not overwritten", async () => {
    writeFileSync(join(folder, "file"), "");
    const refused = run("--port", "45002", "--data-dir", join(folder, "file"));
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain("a file where a folder is needed");
  });

  test.each([
    ["--colour", "Unknown option '--colour'"],
    ["--host=staging", "--host is sandbox or production"],
    ["--port=0x10", "--port is a number"],
    ["--port=65536", "--port is a number"],
    ["--auth-signup=no", "--auth-signup is on or off"],
    ["stray", "stray"],
  ])("the option %s is explained", async (flag, said) => {
    const refused = run(flag);
    expect(await refused.exit).toBe(2);
    expect(refused.output()).toContain(said);
    expect(refused.output()).toContain("--data-dir <folder>");
  });

  test("--help says what there is", async () => {
    const help = run("--help");
    expect(await help.exit).toBe(0);
    expect(help.output()).toContain("--fresh");
  });
});

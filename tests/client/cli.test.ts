// `npx --no-install ere-client`, from the packed client: what it sends on, what it survives, and the events that it makes the sandbox produce.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { typesOf } from "#shared/domain/events.ts";
import { type Receiver, startReceiver, status } from "../events/receiver.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { codeOf, createOAuthWorld, exchange, newVerifier, type OAuth } from "../oauth/oauth_world.ts";
import { giveKey } from "../partner/partner_world.ts";
import { installClient, node20 } from "./installed.ts";

const folder = mkdtempSync(join(tmpdir(), "ere-cli-"));
/** The file that npm links as `ere-client`. */
let program: string;
/** The oldest Node that the package is for, where this machine has it. */
let node: string;
let world: OAuth;
let receiver: Receiver;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  await installClient(folder);
  const home = join(folder, "node_modules/@ere-api/client");
  program = join(home, JSON.parse(readFileSync(join(home, "package.json"), "utf8")).bin["ere-client"]);
  node = (await node20()) ?? process.execPath;
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await receiver?.close();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world?.close();
});

type Variables = Record<string, string>;

function start(args: string[], variables: Variables) {
  const child = spawn(node, [program, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, BASE_URL: world.url, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, exit, out: () => out, err: () => err };
}

async function ended(args: string[], variables: Variables = {}) {
  const { exit, out, err } = start(args, variables);
  return { code: await exit, out: out(), err: err() };
}

// biome-ignore lint/suspicious/noExplicitAny: a test names the fields it reads
const linesOf = (text: string): any[] =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** A second client of partner A, with a log of its own. */
async function newClient(): Promise<{ partner: Partner; variables: Variables }> {
  const client = await world.addClient(world.partnerA.id);
  const variables = { CLIENT_ID: client.client_id, CLIENT_SECRET: client.secret };
  return { partner: { ...world.partnerA, client }, variables };
}

/** What stands between the command and the API, and may fail. */
async function startFront() {
  let mode: "works" | "gone" | "limited" = "works";
  const server: Server = createServer((request, response) => {
    if (mode === "gone") return request.socket.destroy();
    if (mode === "limited") {
      const headers = { "retry-after": "600", "content-type": "application/json" };
      return response.writeHead(429, headers).end('{"error": "rate_limited"}');
    }
    const onward = send(world.url + request.url, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    become: (next: typeof mode) => {
      mode = next;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("§6 ere-client listen", () => {
  async function listening(args: string[], variables: Variables) {
    receiver = await startReceiver();
    const listener = start(["listen", "--forward-to", receiver.url, "--json", ...args], variables);
    const lines = () => linesOf(listener.out());
    await expect.poll(() => listener.out() + listener.err()).toContain("\n");
    return { ...listener, lines, of: (kind: string) => lines().filter((line) => line.kind === kind) };
  }
  const made = () => receiver.received.map(({ body }) => body.data.account_id);

  test("posts what is new, in order, as a webhook would, and ends with Ctrl-C at a cursor to go on from", async () => {
    const { partner, variables } = await newClient();
    await createAccount(world, partner);
    const { lines, child, exit, of } = await listening([], variables);
    const [{ secret }] = lines();
    const accounts = [await createAccount(world, partner), await createAccount(world, partner)];
    await expect.poll(() => of("delivered").length).toBe(2);
    expect(made()).toEqual(accounts.map(({ account_id }) => account_id));
    for (const { headers, text } of receiver.received) {
      const { type, sequence, data, timestamp } = new Webhook(secret).verify(
        text,
        headers,
      ) as (typeof receiver.received)[0]["body"];
      const logged = await world.get(`/v1/events/${headers["webhook-id"]}`, await partner.client.token());
      expect(logged.body).toMatchObject({ type, sequence, data, created_at: timestamp });
      expect(Object.keys(JSON.parse(text))).toEqual(["type", "timestamp", "sequence", "data"]);
    }
    child.kill("SIGINT");
    expect(await exit).toBe(0);
    const [{ after }] = of("stopped");
    const later = await createAccount(world, partner);
    await receiver.close();
    const again = await listening(["--after", after], { ...variables, WEBHOOK_SECRET: secret });
    await expect.poll(made).toEqual([later.account_id]);
    expect(again.lines()[0].secret).toBe(secret);
  });

  test("sends an event until the receiver takes it, and the next one only then", async () => {
    const { partner, variables } = await newClient();
    const { of } = await listening([], variables);
    receiver.answer = status(302, { location: "http://127.0.0.1:1/" });
    const first = await createAccount(world, partner);
    const second = await createAccount(world, partner);
    await expect
      .poll(() => of("failed").map((line) => [line.status, line.attempt, line.retry_in_ms]))
      .toContainEqual([302, 1, 1000]);
    await receiver.close();
    const refused = { status: null, error: "ECONNREFUSED", attempt: 2, retry_in_ms: 2000 };
    await expect.poll(() => of("failed").at(-1)).toMatchObject(refused);
    const { port } = receiver;
    const [{ id }] = of("failed");
    receiver = await startReceiver(port);
    await expect.poll(() => made()).toEqual([first.account_id, second.account_id]);
    expect(receiver.received[0]?.id).toBe(id);
    await expect.poll(() => of("delivered").map(({ attempt }) => attempt)).toEqual([3, 1]);
  });

  test("survives a lost connection, a rate limit and a cursor of long ago", async () => {
    const { partner, variables } = await newClient();
    const old = await createAccount(world, partner);
    const { next_cursor } = (await world.get("/v1/events?limit=1", await partner.client.token())).body;
    await createAccount(world, partner);
    await world.get("/v1/events", await partner.client.token());
    await world.row(
      "update core.events set created_at = created_at - interval '91 days' where partner_id = $1 and owner_id = $2",
      partner.id,
      partner.client.id,
    );
    const front = await startFront();
    const { of } = await listening(["--after", next_cursor], { ...variables, BASE_URL: front.url });
    await expect.poll(() => of("cursor_expired")).toHaveLength(1);
    front.become("gone");
    await expect
      .poll(() => of("waiting").map(({ error }) => error))
      .toContainEqual(expect.stringContaining("no answer"));
    front.become("limited");
    await expect
      .poll(() => of("waiting").map(({ error }) => error))
      .toContainEqual(expect.stringContaining("rate_limited"));
    const news = await createAccount(world, partner);
    front.become("works");
    await expect.poll(made).toEqual([news.account_id]);
    expect(made()).not.toContain(old.account_id);
    front.close();
  });

  test.each([
    ["no receiver", [], {}, 2, /--forward-to is missing/],
    ["a receiver that is no URL", ["--forward-to", "127.0.0.1:3000"], {}, 2, /no http or https URL/],
    ["no credential", ["--forward-to", "http://127.0.0.1:3000"], {}, 2, /PARTNER_KEY is missing/],
    ["a log that there is not", ["--forward-to", "http://127.0.0.1:3000", "--log", "x"], {}, 2, /client or partner/],
    ["an option that there is not", ["--forward", "x"], {}, 2, /Unknown option '--forward'/],
    ["a secret as an argument", ["--partner-key", "ere_test_x"], {}, 2, /Unknown option '--partner-key'/],
    [
      "a key that is wrong",
      ["--forward-to", "http://127.0.0.1:3000"],
      { PARTNER_KEY: "ere_test_wrong" },
      1,
      /Check the credential/,
    ],
    [
      "a secret that is none",
      ["--forward-to", "http://127.0.0.1:3000"],
      { PARTNER_KEY: "x", WEBHOOK_SECRET: "%" },
      1,
      /whsec_/,
    ],
  ] as const)("refuses %s", async (_, args, variables, code, said) => {
    const answer = await ended(["listen", ...args], variables);
    expect([answer.code, answer.out]).toEqual([code, ""]);
    expect(answer.err).toMatch(said);
  });
});

/** By a person who manages partner A, because a key may not. */
async function givePayoutIban() {
  const person = await world.person();
  await world.row(
    "insert into core.partner_managers (partner_id, user_id) values ($1, $2)",
    world.partnerA.id,
    person.id,
  );
  const scope = "partners:write";
  const app = await world.app({ scopes: [scope] });
  const verifier = newVerifier();
  const code = await codeOf(world, person, app, verifier, { scope });
  const { access_token } = (await exchange(world, app, code, verifier)).body;
  const body = { iban: "NL91ABNA0417164300", account_holder: "Laadpunt Zuid" };
  expect((await world.post("/partner/payout-iban", body, access_token)).status).toBe(200);
}

describe("§4.3 ere-client trigger", () => {
  let known: { log: "client" | "partner"; type: string; why: string | null }[];
  beforeAll(async () => {
    known = linesOf((await ended(["trigger", "--list", "--json"])).out);
  });

  test("knows every type of both logs", () => {
    for (const log of ["client", "partner"] as const)
      expect(
        known
          .filter((line) => line.log === log)
          .map(({ type }) => type)
          .sort(),
      ).toEqual([...typesOf(log)].sort());
    expect(known.filter(({ why }) => why === null)).toHaveLength(26);
  });

  test("makes each type that it offers, and says why not of another", async () => {
    const { variables } = await newClient();
    const PARTNER_KEY = await giveKey(world, world.partnerA.id);
    const unpaid = await ended(["trigger", "payout.paid", "--log", "client"], { ...variables, PARTNER_KEY });
    expect([unpaid.code, unpaid.err]).toEqual([1, expect.stringContaining("POST /partner/payout-iban")]);
    await givePayoutIban();
    const make = async ({ log, type, why }: (typeof known)[number]) => {
      const { code, out, err } = await ended(["trigger", type, "--log", log, "--json"], { ...variables, PARTNER_KEY });
      expect([type, code, err.includes(why ?? "\0")], err).toEqual([type, why ? 2 : 0, why !== null]);
      expect(
        linesOf(out)
          .map((event) => event.type)
          .includes(type),
      ).toBe(why === null);
    };
    const lane = async (each: typeof known) => {
      for (const one of each) await make(one);
    };
    // what is not offered is refused by one rule: the first of each log stands for the others. The logs know nothing of each other
    const tried = (log: string) => {
      const own = known.filter((each) => each.log === log);
      return [...own.filter(({ why }) => why === null), ...own.filter(({ why }) => why !== null).slice(0, 1)];
    };
    await Promise.all(["partner", "client"].map((log) => lane(tried(log))));
  });

  test("makes nothing on production", async () => {
    const production = await createOAuthWorld({ host: "production" });
    const { client_id, secret } = await production.addClient(production.partnerA.id);
    const PARTNER_KEY = await giveKey(production, production.partnerA.id);
    const variables = { BASE_URL: production.url, PARTNER_KEY, CLIENT_ID: client_id, CLIENT_SECRET: secret };
    const { code, out, err } = await ended(["trigger", "account.created"], variables);
    expect([code, out, err]).toEqual([1, "", "trigger works on the sandbox only. Check BASE_URL.\n"]);
    expect(await production.row("select count(*)::int as made from core.accounts")).toEqual({ made: 0 });
    await production.close();
  });

  test.each([
    ["nothing", [], {}, 2, /name a type/],
    ["a type that there is not", ["mandate.sealed"], {}, 2, /there is no type mandate\.sealed; trigger --list/],
    ["a client's type without a client", ["account.created"], {}, 2, /set CLIENT_ID and CLIENT_SECRET/],
    ["a partner's type with a client", ["draft.active", "--client-id", "x"], {}, 2, /add --log partner/],
    ["no key", ["draft.active"], {}, 2, /PARTNER_KEY is missing/],
    [
      "a host that does not answer",
      ["draft.active"],
      { PARTNER_KEY: "x", BASE_URL: "http://127.0.0.1:1" },
      1,
      /no answer/,
    ],
  ] as const)("refuses %s", async (_, args, variables, code, said) => {
    const answer = await ended(["trigger", ...args], variables);
    expect([answer.code, answer.out]).toEqual([code, ""]);
    expect(answer.err).toMatch(said);
  });
});

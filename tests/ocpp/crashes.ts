// Kills the gateway, the functions and PostgreSQL of a stack at random moments, while chargers charge. Then it compares the sessions with
// what the chargers' own meters say. Run by hand: node tests/ocpp/crashes.ts [kills] [chargers] [freeze]
// With freeze a part stands still for 25 s instead, as on a machine that is out of memory or moved.
//
// A part is killed every 6 s, so each of the three ends 3 times in a minute: npm start gives up on one that ends 5 times.

import { execFileSync } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "#local/postgres.ts";
import { startStack } from "#local/runner.ts";
import { readJson } from "#local/stack.ts";
import { Charger, PASSWORD } from "../harness/ocpp.ts";

const KILLS = Number(process.argv[2] ?? 200);
const CHARGERS = Number(process.argv[3] ?? 30);
const FROZEN_MS = process.argv[4] === "freeze" ? 25_000 : null;
const KILL_EVERY_MS = 6_000;
const HOUR = 3_600_000;

type Told = { external: string; started_at: string; wh: number };
type Simulated = { id: string; identity: string; told: Told[]; protocol: "ocpp1.6" | "ocpp2.0.1" };

const folder = mkdtempSync(join(tmpdir(), "ere-crashes-"));
const data_dir = join(folder, "data");
const running = await startStack({ host: "sandbox", port: await freePort(), data_dir, fresh: false }, (topic, text) =>
  console.log(topic, text),
);
// without a stack the run would prove nothing
running.broken.then((error) => {
  console.error(error.message);
  process.exit(1);
});
const { ocpp_url, database_url, demo } = running.stack;

const connected = async () => {
  const client = new pg.Client(database_url);
  client.on("error", () => {});
  await client.connect();
  return client;
};
const setUp = await connected();
const { rows } = await setUp.query<{ id: string; identity: string }>(
  `insert into core.chargers (partner_id, owner_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash, power_kw)
   select private.people_tenant(), u.id, u.id, 'Crash ' || n, 'ocpp', 'crash-' || n, $3, 22
     from auth.users u, generate_series(1, $2::int) n where u.email = $1
   returning id, ocpp_identity as identity`,
  [demo.user.email, CHARGERS, createHash("sha256").update(PASSWORD).digest()],
);
await setUp.end();

const chargers = rows.map(
  ({ id, identity }, n): Simulated => ({ id, identity, told: [], protocol: n % 2 ? "ocpp2.0.1" : "ocpp1.6" }),
);
let isOver = false;
let reconnected = 0;

/** Charges until the end. Every message is sent again, unchanged, until it is answered. */
async function charge({ identity, protocol, told }: Simulated): Promise<void> {
  let link: Charger | null = null;
  const say = async (action: string, payload: object): Promise<{ transactionId: number }> => {
    for (;;) {
      while (!link) {
        link = await Charger.connect(ocpp_url, identity, { protocols: [protocol] }).catch(() => null);
        if (link) reconnected += 1;
        else await sleep(100 + randomInt(300));
      }
      const answer: unknown[] | null = await link.call(action, payload);
      if (answer?.[0] === 3) return answer[2] as { transactionId: number };
      if (answer) throw new Error(`${action} was answered ${JSON.stringify(answer)}`);
      link = null;
    }
  };
  let register = randomInt(1_000_000);
  // whole seconds: that is how sessions are stored
  let time = Math.floor(Date.now() / 1_000) * 1_000 - 500 * 24 * HOUR;
  for (let n = 0; !isOver; n += 1) {
    const wh = randomInt(1_000, 20_000);
    const [started_at, middle, ended_at] = [0, 0.5, 1].map((hours) => new Date(time + hours * HOUR).toISOString());
    if (protocol === "ocpp1.6") {
      const start = { connectorId: 1, idTag: "X", meterStart: register, timestamp: started_at };
      const { transactionId } = await say("StartTransaction", start);
      const meterValue = [{ timestamp: middle, sampledValue: [{ value: String(register + Math.floor(wh / 2)) }] }];
      await say("MeterValues", { connectorId: 1, transactionId, meterValue });
      await say("StopTransaction", { transactionId, meterStop: register + wh, timestamp: ended_at });
    } else {
      const event = (eventType: string, timestamp = "", value = 0) =>
        say("TransactionEvent", {
          ...{ eventType, timestamp, seqNo: 0, triggerReason: "Trigger", evse: { id: 1 } },
          transactionInfo: { transactionId: `t${n}` },
          meterValue: [
            {
              timestamp,
              sampledValue: [{ value, context: eventType === "Ended" ? "Transaction.End" : "Sample.Periodic" }],
            },
          ],
        });
      await event("Started", started_at, register);
      await event("Updated", middle, register + Math.floor(wh / 2));
      await event("Ended", ended_at, register + wh);
    }
    told.push({ external: `${n}`, started_at: started_at ?? "", wh });
    register += wh;
    time += 1.5 * HOUR;
    await sleep(randomInt(50, 400));
  }
  await (link as Charger | null)?.close();
}

const pidOf = {
  gateway: () => readJson<{ gateway: { pid: number } }>(join(data_dir, "running.json"))?.gateway.pid,
  functions: () => readJson<{ functions: { pid: number } }>(join(data_dir, "running.json"))?.functions.pid,
  postgres: () => Number(readFileSync(join(data_dir, "postgres/postmaster.pid"), "utf8").split("\n")[0]),
};
type Part = keyof typeof pidOf;
const killed: Record<Part, number> = { gateway: 0, functions: 0, postgres: 0 };

/** Its process, and of PostgreSQL those of its connections too. */
function processesOf(part: Part): number[] {
  const pid = pidOf[part]() ?? Number.NaN;
  if (part !== "postgres") return [pid];
  const children = execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
  return [pid, ...children.trim().split(/\s+/).map(Number)];
}

function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // a connection of PostgreSQL that has ended
    }
  }
}

const charging = chargers.map(charge);
await sleep(3_000);
for (let n = 0; n < KILLS; n += 1) {
  const part = (Object.keys(pidOf) as Part[])[n % 3] as Part;
  await sleep(randomInt(0, 1_000));
  try {
    if (FROZEN_MS === null) process.kill(pidOf[part]() ?? Number.NaN, "SIGKILL");
    else {
      const pids = processesOf(part);
      signal(pids, "SIGSTOP");
      await sleep(FROZEN_MS);
      signal(pids, "SIGCONT");
    }
    killed[part] += 1;
  } catch {
    // it is just being started again
  }
  await sleep(KILL_EVERY_MS - 500);
}
isOver = true;
await Promise.all(charging);

const read = await connected();
const { rows: stored } = await read.query<{
  charger_id: string;
  started_at: Date;
  wh: string;
  flags: string[];
  ended: boolean;
}>(
  "select charger_id, started_at, wh, flags, ended_at is not null as ended from core.charging_sessions where charger_id = any ($1)",
  [chargers.map(({ id }) => id)],
);
await read.end();
const key = (charger: string, started: string) => `${charger} ${started}`;
const found = new Map<string, typeof stored>();
for (const row of stored) {
  const at = key(row.charger_id, row.started_at.toISOString());
  found.set(at, [...(found.get(at) ?? []), row]);
}
const sessions = chargers.flatMap(({ id, told }) => told.map((each) => ({ id, ...each })));
const of = ({ id, started_at }: (typeof sessions)[number]) => found.get(key(id, started_at)) ?? [];
console.log({
  killed,
  connections: reconnected,
  sessions: sessions.length,
  lost: sessions.filter((each) => of(each).length === 0).length,
  doubled: sessions.filter((each) => of(each).length > 1).length + (stored.length - [...found.keys()].length),
  invented: stored.length - sessions.length,
  wrong: sessions.filter((each) =>
    of(each).some(({ wh, ended, flags }) => Number(wh) !== each.wh || !ended || flags.length > 0),
  ).length,
  kwh_of_meters: sessions.reduce((sum, { wh }) => sum + wh, 0) / 1000,
  kwh_stored: stored.reduce((sum, { wh }) => sum + Number(wh), 0) / 1000,
});
await running.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(0);

import { randomUUID } from "node:crypto";
import parse from "parse-prometheus-text-format";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { METRICS } from "../../supabase/functions/worker/metrics.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld({ now: "2026-11-22T12:00:00Z" });
});
afterAll(() => world.close());

const secret = () => world.environment.config.METRICS_SECRET;
const run = (path = "/worker/run") =>
  world.send(path, { method: "POST", token: world.environment.config.WORKER_SECRET });

async function scrape() {
  const { status, body, headers } = await world.get("/worker/metrics", secret());
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  const families = parse(body);
  /** The value of one series, by its name without our prefix and the value of its label. */
  const value = (name: string, label?: string) => {
    const family = families.find((each) => each.name === `ere_${name}`);
    return family?.metrics.find(({ labels }) => label === undefined || Object.values(labels ?? {})[0] === label)?.value;
  };
  return { text: body as string, families, value };
}

describe("contract §1 GET /worker/metrics", () => {
  test("contract §1 is refused without the worker's secret", async () => {
    expect((await world.get("/worker/metrics")).status).toBe(401);
    expect((await world.get("/worker/metrics", world.partnerA.client.secret)).status).toBe(401);
  });

  test("contract §1 is text that a Prometheus parser reads: every figure with its help and type, and no two alike", async () => {
    await run();
    await run("/documents/run");
    const { text, families } = await scrape();
    expect(families.map(({ name, type, help }) => [name, type, help])).toEqual(
      Object.entries(METRICS).map(([name, { help }]) => [`ere_${name}`, "GAUGE", help]),
    );
    for (const { name, metrics } of families) expect([name, metrics.length > 0]).toEqual([name, true]);
    const samples = text.split("\n").filter((line) => line && !line.startsWith("#"));
    for (const sample of samples)
      expect(sample).toMatch(/^ere_[a-z_]+(\{[a-z_]+="[a-z_\d]+"\})? (-?\d+(\.\d+)?(e[-+]\d+)?|\+Inf)$/);
    expect(new Set(samples.map((sample) => sample.split(" ")[0])).size).toBe(samples.length);
    expect(text.endsWith("\n")).toBe(true);
  });

  test("contract §1 has a line of its own for each figure of the database, and none that the database does not give", async () => {
    const { rows } = await world.database.admin.query("select distinct name from private.metrics()");
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(METRICS).sort());
  });

  test("contract §1 a job that never ran has no end in sight; one that ran has its age, result and duration", async () => {
    await world.database.admin.query("truncate core.job_runs");
    expect((await scrape()).value("job_age_seconds", "worker")).toBe("+Inf");
    await world.row(
      "insert into core.job_runs (job, ok, ms, finished_at) values ('worker', false, 1500, private.now() - interval '7 seconds')",
    );
    const { value } = await scrape();
    expect([
      value("job_age_seconds", "worker"),
      value("job_ok", "worker"),
      value("job_duration_seconds", "worker"),
    ]).toEqual(["7", "0", "1.5"]);
    expect(value("job_age_seconds", "documents")).toBe("+Inf");
  });

  test("contract §1 says what waits and for how long, and what failed", async () => {
    const mail = (status: string, ago: string) =>
      world.row(
        `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status, next_attempt_at)
         values ($1, $2, 'mandate_link', 'nl', 'sanne@example.com', '{"link": "Geheim"}', $3, private.now() - $4::interval)`,
        world.partnerA.id,
        randomUUID(),
        status,
        ago,
      );
    for (const [status, ago] of [
      ["queued", "90 seconds"],
      ["queued", "5 seconds"],
      ["queued", "-60 seconds"],
      ["nobody", "1 hour"],
      ["failed", "0"],
    ] as const)
      await mail(status, ago);
    const { connection_id } = await createAccount(world);
    await world.row(
      `insert into core.ean_checks (partner_id, connection_id, owner_id, ean_code, postal_code, house_number, source, outcome, checked_at)
       select partner_id, id, owner_id, '871687110000000018', '3818LH', 8, 'http', 'unavailable', private.now() - n * interval '40 minutes'
         from core.connections, generate_series(0, 3) n where partner_id = $1 and id = $2`,
      world.partnerA.id,
      connection_id,
    );
    const { value } = await scrape();
    expect([value("mail_due"), value("mail_oldest_due_seconds"), value("mail_failed")]).toEqual(["2", "90", "1"]);
    expect(value("register_failures")).toBe("2");
    await world.database.admin.query("truncate core.mail_outbox");
  });

  test("contract §1 says how long events wait for an endpoint that takes them, and how many endpoints do not", async () => {
    const { id } = world.partnerB;
    const endpoint = (failures: number) =>
      world.row(
        `insert into core.webhook_endpoints (partner_id, id, owner_id, url, secret_ciphertext, secret_key_id, delivered_to, failures)
         values ($1, gen_random_uuid(), $1, 'https://receiver.example.com/', 'x', 'x', 0, $2)`,
        id,
        failures,
      );
    const event = (ago: string, sequence: number | null) =>
      world.row(
        `insert into core.events (partner_id, owner_id, type, sequence, created_at) values ($1, $1, 'account.created', $2, private.now() - $3::interval)`,
        id,
        sequence,
        ago,
      );
    await endpoint(5);
    await event("1 minute", null);
    const failing = await scrape();
    expect([failing.value("webhooks_oldest_due_seconds"), failing.value("webhooks_failing")]).toEqual(["0", "1"]);
    await endpoint(0);
    expect((await scrape()).value("webhooks_oldest_due_seconds")).toBe("60");
    await event("2 minutes", 1);
    expect((await scrape()).value("webhooks_oldest_due_seconds")).toBe("120");
    await world.database.admin.query("delete from core.webhook_endpoints; delete from core.events");
  });

  test("contract §1 counts sessions that are parked, and those of a day that have a flag", async () => {
    const { charger_id } = await world.row("select gen_random_uuid() as charger_id");
    const { account_id, connection_id } = await createAccount(world);
    await world.row(
      "insert into core.chargers (partner_id, id, account_id, connection_id, owner_id, catalog_charger_id, brand) " +
        "select a.partner_id, $2, a.id, $3, a.owner_id, m.id, m.brand from core.accounts a, core.charger_models m where a.id = $1 limit 1",
      account_id,
      charger_id,
      connection_id,
    );
    await world.row(
      `insert into core.charging_sessions (partner_id, charger_id, id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, flags, received_at)
       select h.partner_id, h.id, gen_random_uuid(), h.owner_id, 'api', f.n, private.now(), private.now(), private.now(), 0, 'completed', f.flags, private.now() - f.ago
         from core.chargers h, (values ('1', '{}'::text[], interval '0'), ('2', '{negative,no_end}', '0'), ('3', '{no_end}', '23 hours'),
                                       ('4', '{no_end}', '25 hours')) f (n, flags, ago)
        where h.id = $1`,
      charger_id,
    );
    await world.row(
      `insert into core.parked_charging (partner_id, owner_id, source, known_as, external_id, party, names, item, reason)
       select partner_id, owner_id, 'api', n::text, n::text, '', '{external_ref:X}', '{}', 'unknown_charger' from core.chargers, generate_series(1, 3) n where id = $1`,
      charger_id,
    );
    const { value } = await scrape();
    expect(["no_end", "negative", "duplicate"].map((flag) => value("charging_flagged", flag))).toEqual(["2", "1", "0"]);
    expect(value("charging_parked")).toBe("3");
  });

  test("contract §1 counts months by status", async () => {
    const { connection_id } = await createAccount(world);
    await world.row(
      `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
       select partner_id, id, owner_id, date '2026-01-01' + n * interval '1 month', 1, 1, 'session_delivery', case when n < 3 then 'staged' else 'rejected' end, private.now()
         from core.connections, generate_series(0, 4) n where partner_id = $1 and id = $2`,
      world.partnerA.id,
      connection_id,
    );
    const { value } = await scrape();
    expect(["staged", "rejected", "submitted"].map((status) => value("months", status))).toEqual(["3", "2", "0"]);
  });

  test("contract §1 names nobody: no partner, client, address, EAN or id is in it", async () => {
    const { text } = await scrape();
    const { id, client } = world.partnerA;
    for (const personal of [id, "partner-a", client.client_id, "sanne", "@", "8716"])
      expect(text).not.toContain(personal);
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
  });
});

describe("contract §3 the books of each tenant are checked once a day", () => {
  const due = () => world.row("select count(*)::int as n from core.ledger_checks where checked_at is not null");

  test("contract §3 one tenant in a run, until each had its turn; the next day again", async () => {
    await world.database.admin.query("truncate core.ledger_checks");
    const { n: tenants } = await world.row("select count(*)::int as n from core.partners");
    for (let turn = 1; turn <= tenants; turn++) {
      expect((await run()).body.ledger).toEqual({ checked: 1, wrong: 0, failed: 0 });
      expect((await due()).n).toBe(turn);
    }
    expect((await run()).body.ledger).toEqual({ checked: 0, wrong: 0, failed: 0 });
    await world.freeze("2026-11-23T12:00:01Z");
    expect((await run()).body.ledger.checked).toBe(1);
    expect((await scrape()).value("ledger_check_age_seconds")).toBe("86401");
  });

  test("contract §3 what does not agree is counted, logged, and makes the run not ok", async () => {
    const { connection_id } = await createAccount(world);
    // locked, with no booking that it is in
    await world.row(
      `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
       select partner_id, id, owner_id, '2026-01-01', 5, 1, 'session_delivery', 'submitted', private.now() from core.connections where partner_id = $1 and id = $2`,
      world.partnerA.id,
      connection_id,
    );
    await world.row(
      "update core.ledger_checks set begun_at = private.now() - interval '2 days' where partner_id = $1",
      world.partnerA.id,
    );
    const { body } = await run();
    expect(body).toMatchObject({ ok: false, ledger: { checked: 1, wrong: 1, failed: 0 } });
    expect((await scrape()).value("ledger_wrong")).toBe("1");
    expect((await scrape()).value("job_ok", "worker")).toBe("0");
    expect(world.log).toContainEqual(expect.objectContaining({ event: "ledger_wrong", level: "error", wrong: 1 }));
  });

  test("contract §3 runs that overlap check a tenant once", async () => {
    await world.database.admin.query("truncate core.ledger_checks");
    const { n: tenants } = await world.row("select count(*)::int as n from core.partners");
    const checked: number[] = [];
    for (let round = 0; round < tenants; round++)
      checked.push(...(await Promise.all([run(), run(), run()])).map(({ body }) => body.ledger.checked));
    expect(checked.reduce((sum, one) => sum + one, 0)).toBe(tenants);
  });
});

describe("contract §1 core.job_runs", () => {
  test("contract §1 is swept: a week is kept, and no more than a hundred thousand", async () => {
    await world.database.admin.query("truncate core.job_runs restart identity");
    await world.row(
      "insert into core.job_runs (job, ok, ms, finished_at) select 'worker', true, 1, private.now() - n * interval '1 day' from generate_series(0, 9) n",
    );
    await run();
    expect(await world.row("select count(*)::int as n from core.job_runs")).toEqual({ n: 9 });
    await world.row("insert into core.job_runs (job, ok, ms) select 'worker', true, 1 from generate_series(1, 100010)");
    await run();
    expect(await world.row("select count(*)::int as n from core.job_runs")).toEqual({ n: 100_001 });
  });
});

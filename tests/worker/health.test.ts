import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connect } from "#shared/foundation/db.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { serve } from "#shared/http/serve.ts";
import { SERVED } from "../harness/answers.ts";
import { asProduction, createWorld, statementsOf, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld({ now: "2026-11-22T12:00:00Z" });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.database.admin.query("truncate core.job_runs");
});

/** As a process of its own, which remembers nothing. */
const fresh = (other: Partial<Environment> = {}): Environment => ({ ...world.environment, ...other });
/** Who may read what is wrong. */
const monitor = () => ({ authorization: `Bearer ${world.environment.config.METRICS_SECRET}` });
const ask = async (path: string, environment = fresh(), slug = "worker", headers: HeadersInit = monitor()) => {
  const surface = SERVED.find((each) => each.slug === slug);
  if (!surface) throw new Error(`no function ${slug}`);
  const request = new Request(`http://api.test${path}`, { headers });
  const answer = await serve(surface, environment).fetch(request);
  return { status: answer.status, body: await answer.json(), headers: answer.headers };
};
const ran = (ago: string) =>
  world.row(
    "insert into core.job_runs (job, ok, ms, finished_at) values ('worker', true, 5, private.now() - $1::interval)",
    ago,
  );

describe("contract §1 /health", () => {
  test.each(SERVED.map(({ slug }) => slug))("contract §1 %s says that it runs, and asks nobody", async (slug) => {
    const names = await statementsOf(world, async () => {
      expect(await ask(`/${slug}/health`, fresh(), slug)).toMatchObject({
        status: 200,
        body: { ok: true, function: slug },
      });
    });
    expect(names).toEqual([]);
  });

  test("contract §1 at the root one of the functions answers", async () => {
    expect(await ask("/health")).toMatchObject({ status: 200, body: { ok: true, function: "worker" } });
    await ran("10 seconds");
    expect(await ask("/health/ready")).toMatchObject({ status: 200, body: { ok: true } });
  });
});

describe("contract §1 /health/ready", () => {
  test("contract §1 says of the database its version and of the worker when it last came to its end", async () => {
    await ran("299 seconds");
    const { status, body, headers } = await ask("/cpo-v1/health/ready", fresh(), "cpo-v1");
    expect([status, body]).toEqual([
      200,
      { ok: true, function: "cpo-v1", failing: [], schema_version: expect.anything(), worker_age_seconds: 299 },
    ]);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test.each([
    ["nobody", {}],
    ["a CPO", { authorization: "Bearer nothing" }],
  ])("contract §1 attack: %s reads whether it is ready, and nothing more", async (_who, headers) => {
    const seen = () => ask("/worker/health/ready", fresh(), "worker", headers);
    expect(await seen()).toMatchObject({ status: 503, body: { ok: false, function: "worker" } });
    expect(Object.keys((await seen()).body)).toEqual(["ok", "function"]);
    await ran("1 second");
    expect((await seen()).body).toEqual({ ok: true, function: "worker" });
  });

  test.each([
    ["five minutes late", "301 seconds", 301],
    ["that never ran", null, null],
  ])("contract §1 a worker %s is named with 503", async (_what, ago, age) => {
    if (ago) await ran(ago);
    const { status, body } = await ask("/worker/health/ready");
    expect([status, body]).toMatchObject([503, { ok: false, failing: ["worker"], worker_age_seconds: age }]);
    expect(world.log.at(-1)).toMatchObject({ level: "error", event: "request", status: 503 });
  });

  test("contract §1 a job that failed three times in a row is named with 503; one of a client alone makes nothing unready", async () => {
    await ran("1 second");
    const fails = (owner: string, failures: number) =>
      world.row(
        `insert into core.failing_jobs (job, client_id, failures, sqlstate, retry_at) values ('parked_stored', ${owner}, $1, '22012', private.now())
         on conflict (job, client_id) do update set failures = excluded.failures`,
        failures,
      );
    await fails("gen_random_uuid()", 9);
    await fails("private.no_client()", 2);
    expect(await ask("/worker/health/ready")).toMatchObject({ status: 200 });
    await fails("private.no_client()", 3);
    const { status, body } = await ask("/worker/health/ready");
    expect([status, body.failing]).toEqual([503, ["jobs"]]);
    const { rows } = await world.database.admin.query(
      "select label, value::int from private.metrics() where name = 'jobs_failing' order by 1",
    );
    expect(rows).toEqual([
      { label: "client", value: 1 },
      { label: "service", value: 1 },
    ]);
    await world.row("delete from core.failing_jobs");
  });

  test("contract §1 a database that is away is named with 503, and its name and login are not", async () => {
    const away = connect("postgresql://edge:geheim@127.0.0.1:1/weg");
    const { status, body } = await ask("/worker/health/ready", fresh({ db: away }));
    expect([status, body]).toEqual([
      503,
      { ok: false, function: "worker", failing: ["database"], schema_version: null, worker_age_seconds: null },
    ]);
    expect(JSON.stringify(world.log.at(-1))).not.toMatch(/geheim|weg/);
    expect(world.log.at(-1)).toMatchObject({ error: "service_unavailable", cause: { code: "ECONNREFUSED" } });
  });

  test("contract §1 a function of the other host has no database here", async () => {
    await ran("1 second");
    const { environment } = world;
    const other: Environment = { ...environment, config: { ...environment.config, API_HOST: "production" } };
    expect(await ask("/worker/health/ready", other)).toMatchObject({ status: 503, body: { failing: ["database"] } });
    await asProduction(world, async (own) => {
      expect(await ask("/worker/health/ready", own)).toMatchObject({ status: 200 });
    });
  });

  test("contract §1 the database is asked once a second, however many ask, and whether they ask at once or one by one", async () => {
    await ran("1 second");
    const environment = fresh();
    const names = await statementsOf(world, async () => {
      Object.assign(environment, { db: world.environment.db });
      await Promise.all(Array.from({ length: 50 }, () => ask("/worker/health/ready", environment)));
      await ask("/worker/health/ready", environment);
      expect(world.log.at(-1)).toMatchObject({ status: 200 });
    });
    expect(names).toEqual(["read_health"]);
    const later = await statementsOf(world, async () => {
      Object.assign(environment, { db: world.environment.db });
      await world.freeze("2026-11-22T12:06:00Z");
      expect(await ask("/worker/health/ready", environment)).toMatchObject({ status: 503 });
      await world.freeze("2026-11-22T12:00:00Z");
    });
    expect(later).toEqual(["read_health"]);
  });
});

// The flow against what `npm start` runs: functions on Deno, the local Auth issuer, the demo's person and application.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "#local/postgres.ts";
import { type RunningStack, startStack } from "#local/runner.ts";
import { fuzz } from "../../trials/fuzz/run.ts";
import { prepareSandbox } from "../harness/prepared.ts";
import { application } from "./application.ts";

let data_dir: string;
let running: RunningStack;
beforeAll(async () => {
  data_dir = mkdtempSync(join(tmpdir(), "ere-oauth-"));
  await prepareSandbox(data_dir);
  running = await startStack({ host: "sandbox", port: await freePort(), data_dir, fresh: false });
});
afterAll(async () => {
  await running?.stop();
  rmSync(data_dir, { recursive: true, force: true });
});

test("§4.5 oauth4webapi runs the whole flow, refresh and revocation against npm start", async () => {
  const { auth_url, demo } = running.stack;
  const app = await application(auth_url, demo.oauth_app);
  const first = await app.redeem(await app.callback(demo.user, "chargers:read sessions:read"));
  expect(await app.get("/chargers", first.access_token)).toBe(200);
  expect(await app.get("/energy", first.access_token), "a scope that was not asked for").toBe(403);
  expect(await app.get("/v1/accounts", first.access_token)).toBe(403);

  const second = await app.refresh(first.refresh_token);
  await app.revoke(first.access_token);
  expect(await app.get("/chargers", first.access_token)).toBe(401);
  expect(await app.get("/chargers", second.access_token)).toBe(200);
  await app.revoke(second.refresh_token);
  expect(await app.get("/chargers", second.access_token)).toBe(401);
  await expect(app.refresh(second.refresh_token)).rejects.toMatchObject({ error: "invalid_grant" });
});

test("§4.5 signing in by a mailed code, against npm start", async () => {
  const { auth_url, demo, database_url } = running.stack;
  const app = await application(auth_url, demo.oauth_app);
  const database = new pg.Client({ connectionString: database_url });
  await database.connect();
  try {
    const callback = await app.callback(demo.user, "chargers:read", async (visit) => {
      expect((await visit.mailCode(demo.user.email)).status).toBe(303);
      const { rows } = await database.query(
        "select content ->> 'code' as code from core.mail_outbox where template = 'sign_in'",
      );
      return visit.enterCode(rows[0].code);
    });
    const { access_token } = await app.redeem(callback);
    expect(await app.get("/chargers", access_token)).toBe(200);
  } finally {
    await database.end();
  }
});

test("contract §1 whatever is sent to npm start, a declared answer comes back", async () => {
  const { stack } = running;
  const db = new pg.Pool({ connectionString: stack.database_url, max: 1 });
  db.on("error", () => {}); // idle connections end with the database
  try {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const { faults, statuses } = await fuzz(stack, db, { requests: 400, seed, at_once: 4 });
    expect(faults, `npm run trial -- fuzz --seed ${seed}`).toEqual([]);
    expect(Object.keys(statuses)).toEqual(expect.arrayContaining(["200", "400", "401", "403", "404"]));
  } finally {
    await db.end();
  }
});

// What asks a deployment from outside each minute, and its figures.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import parse from "parse-prometheus-text-format";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { serve } from "#shared/http/serve.ts";
import { lastBackup, PROBE, probe, toText } from "../../packages/tools/src/probe/probe.ts";
import { SERVED } from "../harness/answers.ts";
import { serveHttp } from "../harness/browser.ts";
import { createWorld, rowCounts, type World } from "../harness/world.ts";

let world: World;
let http: Awaited<ReturnType<typeof serveHttp>>;
let env: Record<string, string>;
const SLUGS = ["cpo-v1", "worker"];
beforeAll(async () => {
  http = await serveHttp();
  world = await createWorld({ variables: { BASE_URL: http.url, AUTH_URL: http.url } });
  const functions = new Map(SERVED.map((surface) => [surface.slug, serve(surface, world.environment)]));
  http.answer = (request) => {
    const [, first = ""] = new URL(request.url).pathname.split("/");
    return functions.get(first === "v1" ? "cpo-v1" : first)?.fetch(request) ?? new Response(null, { status: 404 });
  };
  const { client_id, secret } = world.partnerA.client;
  env = { BASE_URL: http.url, AUTH_URL: http.url, PROBE_CLIENT_ID: client_id, PROBE_CLIENT_SECRET: secret };
});
afterAll(async () => {
  await http?.close();
  await world?.close();
});

type Figure = Awaited<ReturnType<typeof probe>>[number];
const okOf = (figures: Figure[]) =>
  Object.fromEntries(
    figures.filter(({ name }) => name === "ere_probe_ok").map(({ label, value }) => [label?.[1], value]),
  );

test("§6 the probe gets a token, reads accounts and positions, and asks the health of each function; it stores nothing", async () => {
  const before = await rowCounts(world, "accounts", "audit_log", "events");
  const figures = await probe(env, SLUGS);
  expect(okOf(figures)).toEqual({ token: 1, accounts: 1, position: 1, "cpo-v1": 1, worker: 1 });
  for (const { name, value } of figures) expect([name, value]).toEqual([name, expect.any(Number)]);
  expect(await rowCounts(world, "accounts", "audit_log", "events")).toEqual(before);
  const read = parse(toText(figures)) as { name: string; type: string }[];
  expect(read.map(({ name }) => name).sort()).toEqual(Object.keys(PROBE).sort());
  expect(figures.map(({ name }) => name)).not.toContain("ere_backup_time_seconds");
});

test("§6 a step that is refused or away is 0, and the others are asked all the same", async () => {
  expect(okOf(await probe({ ...env, PROBE_CLIENT_SECRET: "wrong" }, [...SLUGS, "gone"]))).toEqual({
    ...{ token: 0, accounts: 0, position: 0 },
    ...{ "cpo-v1": 1, worker: 1, gone: 0 },
  });
  const away = { ...env, BASE_URL: "https://127.0.0.1:9", AUTH_URL: "https://127.0.0.1:9" };
  const figures = await probe(away, ["cpo-v1"]);
  expect(okOf(figures)).toEqual({ token: 0, accounts: 0, position: 0, "cpo-v1": 0 });
  expect(figures.filter(({ name }) => name === "ere_certificate_seconds")).toEqual([]);
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
test.skipIf(!hasOpenssl)(
  "§6 a certificate is told with how long it is valid, also one that nobody trusts",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "probe-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "10", "-subj", "/CN=localhost"];
    expect(spawnSync("openssl", [...made, "-keyout", key, "-out", cert]).status).toBe(0);
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const host = `localhost:${(server.address() as AddressInfo).port}`;
    try {
      const figures = await probe({ ...env, PAGES_URL: `https://${host}` }, []);
      const told = figures.filter(({ name }) => name === "ere_certificate_seconds");
      expect(told).toEqual([{ name: "ere_certificate_seconds", label: ["host", host], value: expect.any(Number) }]);
      expect((told[0]?.value ?? 0) / 86_400).toBeCloseTo(10, 1);
    } finally {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test("§6 the time of the last backup is what the platform tells; without a backup it is as old as can be", async () => {
  const asked: string[] = [];
  const platform = await serveHttp();
  const timeBy = async (answer: object, status = 200) => {
    platform.answer = (request) => {
      asked.push(`${new URL(request.url).pathname} ${request.headers.get("authorization")}`);
      return Response.json(answer, { status });
    };
    return lastBackup({ SUPABASE_ACCESS_TOKEN: "sbp_x", PROJECT_REF: "abc", SUPABASE_API_URL: platform.url });
  };
  const hour = (n: number) => new Date(Date.now() - n * 3_600_000).toISOString();
  const backups = [
    { status: "FAILED", inserted_at: hour(1) },
    { status: "COMPLETED", inserted_at: hour(5) },
    { status: "COMPLETED", inserted_at: hour(29) },
  ];
  const told = (value: number) => [{ name: "ere_backup_time_seconds", value }];
  expect(await timeBy({ backups, physical_backup_data: {} })).toEqual(
    told(Date.parse(backups[1]?.inserted_at ?? "") / 1000),
  );
  const latest_physical_backup_date_unix = Math.round(Date.now() / 1000) - 120;
  expect(await timeBy({ backups: [], physical_backup_data: { latest_physical_backup_date_unix } })).toEqual(
    told(latest_physical_backup_date_unix),
  );
  expect(await timeBy({ backups: null, physical_backup_data: null })).toEqual(told(0));
  expect(await timeBy({}, 403), "no answer is no time").toBeUndefined();
  expect(new Set(asked)).toEqual(new Set(["/v1/projects/abc/database/backups Bearer sbp_x"]));
  await platform.close();
});

test("§6 npm run probe names what is not set, and leaves no half-written file; what is not known replaces nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "probe-"));
  try {
    const file = join(folder, "ere.prom");
    const run = (variables: Record<string, string>, ...more: string[]) =>
      spawnSync(process.execPath, ["packages/tools/src/probe/main.ts", "--to", file, ...more], {
        cwd: ROOT,
        env: { PATH: process.env.PATH, ...variables } as NodeJS.ProcessEnv,
        encoding: "utf8",
      });
    const { status, stderr } = run({ BASE_URL: "http://127.0.0.1:9" });
    expect([status, stderr]).toEqual([2, "Set these variables: AUTH_URL, PROBE_CLIENT_ID, PROBE_CLIENT_SECRET.\n"]);
    expect(run({ ...env, BASE_URL: "http://127.0.0.1:9", AUTH_URL: "http://127.0.0.1:9" }).status).toBe(0);
    expect(readdirSync(folder)).toEqual(["ere.prom"]);
    const text = readFileSync(file, "utf8");
    expect(text).toContain('ere_probe_ok{step="token"} 0');
    expect(run(env, "--backup")).toMatchObject({
      status: 2,
      stderr: "Set these variables: PROJECT_REF, SUPABASE_ACCESS_TOKEN.\n",
    });
    const platform = { PROJECT_REF: "abc", SUPABASE_ACCESS_TOKEN: "sbp_x", SUPABASE_API_URL: "http://127.0.0.1:9" };
    expect(run(platform, "--backup")).toMatchObject({
      status: 1,
      stderr: "The platform does not say when the last backup was made. Nothing was written.\n",
    });
    expect(readFileSync(file, "utf8")).toBe(text);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connected } from "#local/postgres.ts";
import { identify } from "#local/processes.ts";
import type { Stack } from "#local/stack.ts";
import { gone, place, type run, signIn, signUp, token } from "./running_stack.ts";

function parent(pid: number | undefined): number {
  const { stdout } = spawnSync("sh", ["-c", `cut -d' ' -f4 /proc/${pid}/stat || ps -o ppid= -p ${pid}`], {
    encoding: "utf8",
  });
  return kept(Number(stdout));
}

/** 0 would mean the whole process group of the tests. */
function kept(pid: number | undefined): number {
  if (!pid) throw new Error("no such process");
  return pid;
}

describe("a stack of which parts are killed", () => {
  let here: Awaited<ReturnType<typeof place>>;
  let stack: Stack;
  let running: ReturnType<typeof run>;

  beforeAll(async () => {
    here = await place({ prepared: "sandbox" });
    ({ stack, run: running } = await here.start());
    expect((await signUp(stack, "first@example.com")).status).toBe(200);
  });
  afterAll(() => here.remove());

  /** As the superuser of this stack's Postgres. */
  async function asSuperuser(use: (client: pg.Client) => Promise<void>): Promise<void> {
    const secrets = JSON.parse(readFileSync(join(here.data_dir, "secrets.json"), "utf8"));
    const url = new URL(stack.database_url);
    url.username = "supabase_admin";
    url.password = encodeURIComponent(secrets.passwords.supabase_admin);
    const client = await connected(url.href);
    await use(client).finally(() => client.end());
  }

  test("killed hard all at once while it writes, it loses nothing that was acknowledged", async () => {
    const acknowledged: string[] = [];
    const writer = (async () => {
      for (let n = 0; ; n += 1) {
        const email = `n${n}@example.com`;
        if ((await signUp(stack, email)).status !== 200) return;
        acknowledged.push(email);
      }
    })().catch(() => {});
    await expect.poll(() => acknowledged.length).toBeGreaterThan(3);
    const { runner, functions, postmaster } = here.processes();
    for (const pid of [postmaster, functions, runner]) if (pid) process.kill(pid, "SIGKILL");
    await writer;
    ({ stack, run: running } = await here.start());
    for (const email of acknowledged) expect((await signIn(stack, email)).status, email).toBe(200);
  });

  test("when only the runner is killed, nothing stays behind, and the next start need not wait", async () => {
    const { runner, functions, postmaster } = here.processes();
    process.kill(kept(runner), "SIGKILL");
    ({ stack, run: running } = await here.start());
    expect(running.output()).toContain("did not end cleanly");
    expect(await gone(functions, postmaster)).toBe(true);
    expect((await token(stack)).status).toBe(200);
  });

  test("a Postgres that nobody watches any more is found and ended", async () => {
    const { runner, postmaster } = here.processes();
    const guard = parent(parent(postmaster));
    for (const pid of [guard, kept(runner)]) process.kill(pid, "SIGKILL");
    await expect.poll(() => identify(guard)).toBeNull();
    expect(identify(kept(postmaster))).not.toBeNull();
    ({ stack, run: running } = await here.start());
    expect(await gone(postmaster)).toBe(true);
    expect((await signIn(stack, "first@example.com")).status).toBe(200);
  });

  test("a lock file whose number now belongs to a stranger is no wedge, and the stranger lives", async () => {
    running.child.kill("SIGTERM");
    await running.exit;
    writeFileSync(join(here.data_dir, "postgres/postmaster.pid"), `${process.pid}\n`);
    writeFileSync(
      join(here.data_dir, "running.json"),
      JSON.stringify({ runner: { pid: process.pid, started: "0" }, functions: { pid: process.pid, started: "0" } }),
    );
    ({ stack, run: running } = await here.start("--replica"));
    expect((await token(stack)).status).toBe(200);
  });

  test("attack: 30 connections to Postgres lost under requests end no process, and what was asked meanwhile is answered", async () => {
    const { functions } = here.processes();
    const { access_token } = (await (await token(stack)).json()) as { access_token: string };
    const headers = { Authorization: `Bearer ${access_token}` };
    const asks = [
      () => fetch(`${stack.base_url}/v1/accounts`, { headers }),
      () => fetch(`${stack.base_url}/pages/mandate/${"a".repeat(43)}`),
      () => signIn(stack, "first@example.com"),
    ];
    let killing = true;
    const seen = new Set<number>();
    const asking = Array.from({ length: 12 }, async (_, n) => {
      while (killing) seen.add((await (asks[n % asks.length] ?? signIn)(stack, "")).status);
    });
    await asSuperuser(async (client) => {
      for (let killed = 0; killed < 30; ) {
        const { rows } = await client.query(
          `select count(pg_terminate_backend(pid))::int as count from
             (select pid from pg_stat_activity where usename in ('edge', 'supabase_auth_admin') order by random() limit 1) b`,
        );
        killed += rows[0].count;
        await sleep(Math.random() * 40);
      }
    });
    killing = false;
    await Promise.all(asking);
    expect(here.processes().functions).toBe(functions);
    expect((await signIn(stack, "first@example.com")).status).toBe(200);
    // of the local issuer a lost connection is a 500, as of Supabase Auth
    expect([...seen].filter((status) => ![200, 404, 429, 500, 503].includes(status))).toEqual([]);
  });

  test("a part that is killed is started again, with a line that says so", async () => {
    const runner = kept(here.processes().runner);
    for (const part of ["functions", "postmaster", "replica"] as const) {
      const before = kept(here.processes()[part]);
      const lines = running.output().split("runs again").length;
      const begun = performance.now();
      process.kill(before, "SIGKILL");
      const restarted = () => running.output().split("runs again").length > lines;
      await expect.poll(restarted).toBe(true);
      expect(running.output()).toMatch(/ended unexpectedly; starting again \(the log is .*\.log\)/);
      expect(here.processes()[part]).not.toBe(before);
      // as long as a start of the same machine takes, and not a wait beside it
      process.stdout.write(`${part} again after ${Math.round(performance.now() - begun)} ms\n`);
      expect((await signIn(stack, "first@example.com")).status).toBe(200);
      expect((await token(stack)).status).toBe(200);
    }
    expect(here.processes().runner).toBe(runner);
  });

  test("--replica follows the database, whatever was killed, and long lists are read there", async () => {
    const { access_token } = (await (await token(stack)).json()) as { access_token: string };
    const read = async () => {
      const list = await fetch(`${stack.base_url}/v1/accounts`, {
        headers: { Authorization: `Bearer ${access_token}` },
      });
      const [line] = readFileSync(join(here.data_dir, "functions.log"), "utf8")
        .split("\n")
        .filter((each) => each.includes(list.headers.get("x-request-id") ?? "none"));
      return [list.status, JSON.parse(line ?? "{}").read_on];
    };
    await expect.poll(read).toEqual([200, "replica"]);
  });

  test("a stop does not wait for a server that recovers", async () => {
    const postmaster = kept(here.processes().postmaster);
    await asSuperuser(async (client) => {
      await client.query(
        "create table public.much as select repeat(md5(g::text), 30) from generate_series(1, 100000) g",
      );
      const { rows } = await client.query("select pg_backend_pid() as pid");
      process.kill(kept(rows[0].pid), "SIGKILL");
    });
    // recovery that takes for ever
    const recovering = () => {
      const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
      return Number(new RegExp(`^ *(\\d+) +${postmaster} postgres: startup`, "m").exec(stdout)?.[1] ?? 0);
    };
    await expect.poll(recovering, { interval: 5 }).toBeGreaterThan(0);
    process.kill(kept(recovering()), "SIGSTOP");
    const begun = performance.now();
    running.child.kill("SIGTERM");
    expect(await running.exit).toBe(0);
    // it was 30 s until Postgres was told not to end in order; now 5, and as many until Postgres itself loses patience
    expect(performance.now() - begun).toBeLessThan(25_000);
    ({ stack, run: running } = await here.start());
    expect((await signIn(stack, "first@example.com")).status).toBe(200);
  });

  test("a part that ends five times in a minute is given up: the rest is stopped and the exit says why", async () => {
    for (let time = 1; time <= 5; time += 1) {
      const lines = running.output().split("runs again").length;
      process.kill(kept(here.processes().functions), "SIGKILL");
      const restarted = () => running.output().split("runs again").length > lines;
      if (time < 5) await expect.poll(restarted).toBe(true);
    }
    expect(await running.exit).toBe(1);
    expect(running.output()).toContain("The functions process ended unexpectedly, 5 times in a minute. The log is ");
    expect(existsSync(join(here.data_dir, "postgres/postmaster.pid"))).toBe(false);
  });
});

// Three compressed days under every kind of write. The last day is compared with the day before: the first one warms up.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readJson } from "#local/stack.ts";
import { childrenOf } from "../bench/kit/processor.ts";
import { memoryOf } from "../kit/stack.ts";
import { type Load, type LoadOptions, underLoad } from "../load/load.ts";

const DAYS = 3;
const SAMPLE_MS = 2_000;
/** A writer's rest at noon and at midnight. */
const [BUSY_MS, QUIET_MS] = [20, 1_500];

/** Tables with a row for each client, charger or rate limit, or for what waits: they do not grow with what is written. */
const STEADY = [
  "rate_limit_state",
  "webhook_retries",
  "webhook_endpoints",
  "event_heads",
  "charging_heads",
  "ocpp_links",
  "audit_chains",
  "account_counts",
  "dashboards",
];

type Limits = { more: number; times: number };
/** How much more a figure of the last day may be: its highest, of the day before's. */
const FLAT: Record<"memory" | "connections" | "table", Limits> = {
  memory: { more: 16, times: 1.05 },
  connections: { more: 2, times: 1 },
  table: { more: 256, times: 1.25 },
};
/** Highest that is good on any day. */
const MOST = { wait: 3, lag: 60 };

export type Row = { figure: string; unit: string; days: number[]; good: boolean };

export function soak({ minutes, ...options }: Pick<LoadOptions, "host" | "seed"> & { minutes: number }) {
  const day_ms = (minutes * 60_000) / DAYS;
  let begun = performance.now();
  const rest = () => {
    const hour = ((performance.now() - begun) / day_ms) % 1;
    return QUIET_MS + (BUSY_MS - QUIET_MS) * Math.sin(Math.PI * hour) ** 2;
  };
  return underLoad({ ...options, rest }, async (load) => {
    begun = performance.now();
    const days: Record<string, number>[] = [];
    for (;;) {
      const day = Math.floor((performance.now() - begun) / day_ms);
      if (day >= DAYS) break;
      days[day] ??= {};
      const highest = days[day];
      for (const [figure, value] of Object.entries(await sample(load)))
        highest[figure] = Math.max(highest[figure] ?? 0, value);
      await sleep(SAMPLE_MS);
    }
    return { minutes, figures: judge(days) };
  });
}

/** Each figure now, its unit in brackets. */
async function sample({ trial }: Load): Promise<Record<string, number>> {
  const { functions, gateway, postgres } = trial.processes();
  const figures: Record<string, number> = {
    "memory of the functions (MiB)": memoryOf(functions),
    "memory of the gateway (MiB)": memoryOf(gateway),
    "memory of Postgres (MiB)": ownMemory(postgres),
  };
  const { rows: roles } = await trial.db.query<{ role: string; count: number; wait: number }>(
    `select usename as role, count(*)::int as count,
            coalesce(max(extract(epoch from clock_timestamp() - state_change)) filter (where wait_event_type = 'Lock'), 0)::float as wait
       from pg_stat_activity where usename in ('edge', 'edge_slow', 'supabase_auth_admin') group by 1`,
  );
  for (const { role, count, wait } of roles) {
    figures[`connections of ${role}`] = count;
    figures["longest wait for a lock (s)"] = Math.max(figures["longest wait for a lock (s)"] ?? 0, wait);
  }
  const { rows: tables } = await trial.db.query<{ name: string; kib: number }>(
    "select relname as name, pg_total_relation_size(oid)::float / 1024 as kib from pg_class where relnamespace = 'core'::regnamespace and relname = any ($1)",
    [STEADY],
  );
  for (const { name, kib } of tables) figures[`table ${name} (KiB)`] = kib;
  const { rows: bloat } = await trial.db.query<{ percent: number }>(
    "select coalesce(100 * sum(n_dead_tup) / nullif(sum(n_dead_tup + n_live_tup), 0), 0)::float as percent from pg_stat_user_tables where schemaname = 'core'",
  );
  figures["dead rows (%)"] = bloat[0]?.percent ?? 0;
  const secret = readJson<{ functions: { METRICS_SECRET: string } }>(join(trial.data_dir, "secrets.json"));
  const metrics = await fetch(`${trial.stack.functions_url}/worker/metrics`, {
    headers: { authorization: `Bearer ${secret?.functions.METRICS_SECRET}` },
  }).then((response) => response.text());
  for (const [, name = "", value] of metrics.matchAll(
    /^ere_((?:mail|webhooks|notices|documents)_oldest_due_seconds|job_age_seconds\{job="\w+"\}) ([\d.]+)$/gm,
  ))
    figures[`lag: ${name.replace("_seconds", "").replaceAll("_", " ")} (s)`] = Number(value);
  return figures;
}

/** Of a server and its backends, without the buffers that they share, in MiB. */
function ownMemory(postmaster: number): number {
  let kib = 0;
  for (const pid of [postmaster, ...childrenOf(postmaster)])
    try {
      const [, own = "0"] = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      kib += Number(own);
    } catch {
      // it has just ended
    }
  return kib / 1024;
}

function judge(days: readonly Record<string, number>[]): Row[] {
  const [, before = {}, last = {}] = days;
  const isFlat = (figure: string, { more, times }: Limits) =>
    (last[figure] ?? 0) <= (before[figure] ?? 0) * times + more;
  const isGood = (figure: string) => {
    if (figure.startsWith("memory")) return isFlat(figure, FLAT.memory);
    if (figure.startsWith("connections")) return isFlat(figure, FLAT.connections);
    if (figure.startsWith("table")) return isFlat(figure, FLAT.table);
    if (figure.startsWith("dead")) return isFlat(figure, { more: 5, times: 1 });
    return (last[figure] ?? 0) <= (figure.startsWith("lag") ? MOST.lag : MOST.wait);
  };
  return Object.keys(last).map((figure) => ({
    figure: figure.replace(/ \(\S+\)$/, ""),
    unit: /\((\S+)\)$/.exec(figure)?.[1] ?? "",
    days: days.map((day) => Math.round((day[figure] ?? 0) * 10) / 10),
    good: isGood(figure),
  }));
}

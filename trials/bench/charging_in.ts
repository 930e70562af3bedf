// Charging sessions that a CPO client delivers: a thousand as JSON, five thousand rows as a file.

import { readFileSync } from "node:fs";
import type { Bench } from "./kit/bench.ts";
import { alone, type Finding, rateAgainst } from "./kit/findings.ts";
import { type Outgoing, openConnection, wire } from "./kit/load.ts";
import { type Figures, repeated, takeTurns } from "./kit/measure.ts";
import { bearer, hasCharger, liftLimits, seed, serialOf, tokensOf } from "./kit/seed.ts";
import { debit, rowsBeside } from "./kit/sessions.ts";
import { withStack } from "./kit/stack.ts";

const ITEMS = 1_000;
const ROWS = 5_000;
/** Sessions of a charger in one delivery. */
const EACH = 10;

/** The floor, of chargers that nobody delivers to: into the tables themselves, with their indexes and keys, past row-level security. */
const insertOf = (upload: string) => `
  with told as materialized (
    select gen_random_uuid() as id, r.* from jsonb_to_recordset($3::jsonb) as r (session_id text, serial_number text, started_at timestamptz, ended_at timestamptz, kwh numeric)
  ), meant as materialized (
    select t.*, h.id as charger_id, h.connection_id from told t join core.chargers h on h.partner_id = $1 and h.serial_number = t.serial_number
  ), session as (
    insert into core.charging_sessions (partner_id, charger_id, id, connection_id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
    select $1, charger_id, id, connection_id, $2, 'api', session_id, started_at, started_at, ended_at, kwh * 1000, 'completed', now() from meant
    returning partner_id, owner_id, charger_id, connection_id, id, started_at, wh
  ), changed as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id) select $1, $2, charger_id, id from meant
  ), ${rowsBeside("core", "owner_id")}, ${debit("core")} ${upload}
  insert into core.charging_evidence (partner_id, charger_id, session_id, owner_id, source, external_id, document, document_sha256)
  select $1, charger_id, id, $2, 'api', session_id, to_jsonb(m), sha256(to_jsonb(m)::text::bytea) from meant m`;

const INSERT = insertOf("");
const INSERT_FILE = insertOf(`, uploaded as (
    insert into core.uploads (partner_id, owner_id, sha256, said, kind, rows, counts, columns, read, results)
    select $1, $2, sha256(''), '{}', 'sessions', count(*), '{}', '{}', '{}',
           jsonb_agg(jsonb_build_object('row', 1, 'sheet_row', 1, 'session_id', id, 'charging_session_id', id, 'status', 'created', 'flags', array[]::text[])) from session)`);

/** What a database is like that nobody analyzed. */
const FORGET = `
  delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = 'core'::regnamespace);
  update pg_class set relpages = 0, reltuples = case relkind when 'i' then 0 else -1 end, relallvisible = 0
   where relnamespace = 'core'::regnamespace and relkind in ('r', 'i')`;

export type Told = { session_id: string; serial_number: string; started_at: string; ended_at: string; kwh: number };

export const charging_in: Bench = {
  about:
    "1,000 charging sessions in a request, and files of 5,000 rows, beside one bare insert of the rows that they leave",
  defaults: { accounts: 7_000, rounds: 5, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const { clients, accounts } = await seed(stack.admin, 1, options.accounts);
      const [client] = clients;
      if (!client) throw new Error("the bench has no client");
      await liftLimits(stack.admin);
      const [token] = await tokensOf(stack, clients);
      const chargers = accounts.filter(hasCharger).map(serialOf);
      const others = chargers.slice(ROWS / EACH);
      const ours = await stack.serve("cpo-v1");
      const connection = await openConnection(ours.url);
      const idle = peakMemory(ours.pid);

      let told = 0;
      /** Sessions that nobody told before: each charger charges an hour, three times a day. */
      const next = (count: number, from = chargers): Told[] => {
        const begun = told;
        told += EACH;
        return Array.from({ length: count }, (_, place) => {
          const slot = begun + Math.floor((place * EACH) / count);
          const start = Date.UTC(2011, 0, 1) + slot * 8 * 3_600_000;
          return {
            session_id: `${slot}-${place}`,
            serial_number: from[place % (count / EACH)] ?? "",
            started_at: new Date(start).toISOString(),
            ended_at: new Date(start + 3_600_000).toISOString(),
            kwh: 7.5,
          };
        });
      };
      const send = async (request: Outgoing, done: (answer: Answer) => number | undefined, all: number) => {
        const { status, body } = await connection.send(wire({ method: "POST", headers: bearer(token), ...request }));
        const stored = status === 200 ? done(JSON.parse(body.toString())) : 0;
        if (stored !== all)
          throw new Error(`${request.path} stored ${stored}: ${status} ${body.toString().slice(0, 400)}`);
      };
      const inserting = (count: number, insert: string) =>
        repeated(stack, null, () =>
          stack.admin.query(insert, [client.partner_id, client.id, JSON.stringify(next(count, others))]),
        );
      // a new database, of which the planner knows nothing; the process has read a file before
      await stack.admin.query(FORGET);
      await send({ path: "/v1/uploads", body: sessionFile(next(10)) }, ({ counts }) => counts?.created, 10);
      const files: number[] = [];
      for (let file = 0; file < 5; file += 1) {
        const begun = performance.now();
        await send({ path: "/v1/uploads", body: sessionFile(next(ROWS)) }, ({ counts }) => counts?.created, ROWS);
        files.push(performance.now() - begun);
      }
      // sessions of before, which the planner knows of
      for (let file = 0; file < 4; file += 1)
        await stack.admin.query(INSERT, [client.partner_id, client.id, JSON.stringify(next(ROWS, others))]);
      await stack.admin.query("analyze core.charging_sessions, core.charging_evidence");
      let months = 0;
      const turns = await takeTurns(
        {
          json: repeated(stack, ours, () =>
            send({ path: "/v1/charging-sessions", body: { sessions: next(ITEMS) } }, ({ created }) => created, ITEMS),
          ),
          file: repeated(stack, ours, () =>
            send({ path: "/v1/uploads", body: sessionFile(next(ROWS)) }, ({ counts }) => counts?.created, ROWS),
          ),
          months: repeated(stack, ours, () => {
            months += 1;
            const file = [
              "klantnummer;maand;kWh",
              ...accounts.slice(0, ROWS).map(({ reference }) => `${reference};2012-01;${months},5`),
            ];
            const done = ({ counts }: Answer) => (counts?.ingested ?? 0) + (counts?.outside_mandate ?? 0);
            return send({ path: "/v1/uploads", body: file.join("\n") }, done, ROWS);
          }),
          bare_json: inserting(ITEMS, INSERT),
          bare_file: inserting(ROWS, INSERT_FILE),
        },
        options,
      );
      connection.close();
      const grown = peakMemory(ours.pid) - idle;
      const findings: Finding[] = [
        rateAgainst(
          "POST /v1/charging-sessions, 1,000 sessions",
          "sessions/s",
          turns.json,
          bare(turns.bare_json),
          { at_least: 0.25 },
          ITEMS,
        ),
        rateAgainst(
          "POST /v1/uploads, a CSV of 5,000 sessions",
          "rows/s",
          turns.file,
          bare(turns.bare_file),
          { at_least: 0.25 },
          ROWS,
        ),
        alone(
          `five CSVs of 5,000 sessions in a row into a new database (${files.map(Math.round).join(", ")} ms): the slowest of the fastest`,
          "times",
          Math.max(...files) / Math.min(...files),
          { at_most: 1.3 },
        ),
        alone("POST /v1/uploads, a CSV of 5,000 months of as many connections", "ms", turns.months.p50_ms, null),
        alone("the function's memory above idle, after all of it", "MiB", grown, { at_most: 128 }),
      ];
      if (turns.file.served_us !== null)
        findings.push(
          alone("processor time of the function, for a CSV of 5,000 sessions", "ms", turns.file.served_us / 1000, {
            at_most: 2000,
          }),
        );
      return findings;
    }),
};

type Answer = { created?: number; counts?: Record<string, number> };

const bare = (figures: Figures) => ({
  what: "one bare insert of the rows that they leave",
  figures,
});

export const sessionFile = (sessions: readonly Told[]): string =>
  [
    "sessie;serienummer;start;eind;kWh",
    ...sessions.map(
      (each) =>
        `${each.session_id};${each.serial_number};${each.started_at};${each.ended_at};${String(each.kwh).replace(".", ",")}`,
    ),
  ].join("\n");

/** The most memory that a process has held, in MiB; 0 where it cannot be told. */
function peakMemory(pid: number): number {
  try {
    const [, kilobytes = "0"] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) / 1024;
  } catch {
    return 0;
  }
}

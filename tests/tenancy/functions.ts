// The api functions, run as the database roles run them for callers who were admitted, with somebody else's identifiers in every field.

import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Db } from "#shared/foundation/db.ts";
import type { World } from "../harness/world.ts";
import type { Kind } from "./identifiers.ts";
import { type Rows, rowsOf, tableOf, without } from "./rows.ts";

/** Somebody who was admitted, as SQL is told. */
export type Admitted = { name: string; caller: Record<string, string> };

type Api = { name: string; login: "edge" | "edge_slow"; takes: number };

/** Requests with somebody's identifiers, as the functions sent them: by the name of the api function. */
export type Recorded = Map<string, (object | null)[][]>;

const MOST_RECORDED = 4;

/** Notes from now on what is asked of each api function, if it has one of these identifiers: one request for each form of it. */
export function record({ environment }: World, values: readonly string[]): Recorded {
  const recorded: Recorded = new Map();
  const forms = new Set<string>();
  const note = (name: string, input: (object | null)[]) => {
    const text = JSON.stringify(input);
    const named = values.filter((value) => text.includes(value));
    if (named.length === 0) return;
    const form = `${name} ${named.reduce((said, value) => said.replaceAll(value, "…"), text).replace(/"[^"…]*"(?!\s*:)|\d+/g, "")}`;
    const known = recorded.get(`api.${name}`) ?? [];
    if (forms.has(form) || known.length === MOST_RECORDED) return;
    forms.add(form);
    recorded.set(`api.${name}`, [...known, input]);
  };
  const noting = (one: Db): Db => ({
    ...one,
    withDeadlineFrom: (begun) => noting(one.withDeadlineFrom(begun)),
    call(name, ...args) {
      note(name, args.slice(1));
      return one.call(name, ...args);
    },
    open(name, ticket, ...args) {
      note(name, args);
      return one.open(name, ticket, ...args);
    },
  });
  Object.assign(environment, { db: noting(environment.db), slowDb: noting(environment.slowDb) });
  return recorded;
}

/** Fields that a function reads as something else than a text. */
const OTHERS: Readonly<Record<string, unknown>> = {
  limit: 100,
  offset: 0,
  after: null,
  from: null,
  to: null,
  search: "",
  address_hash: "00",
  validity_years: 1,
  months: [],
  sessions: [],
  rows: [],
  types: [],
  locale: "nl",
  now: true,
};

/** Kinds that a field such as account_id, account or id can be, beside the table of its name. */
const NAMED: Readonly<Record<string, string>> = {
  batch: "payout_batches.id",
  charging_session: "charging_sessions.id",
  document: "documents.id",
  event: "events.id",
  invoice: "invoices.id",
  line: "payout_lines.id",
  mandate: "mandates.id",
  payout: "payout_lines.id",
  settlement: "payout_parts.id",
  token: "personal_tokens.id",
  invitation: "manager_invitations.id",
  user: "users.id",
  manager: "users.id",
  webhook: "webhook_endpoints.id",
  endpoint: "webhook_endpoints.id",
  email: "drafts.email",
  ean: "connections.ean_code",
  session_id: "charging_sessions.external_id",
  number: "invoices.number",
};

const nobodys = (value: string) =>
  /^[0-9a-f]{8}-/.test(value) ? randomUUID() : value.replace(/\d/g, (digit) => String((Number(digit) + 5) % 10));

/** A request with every field that any function reads: an identifier where the field can be one. */
function requestOf(fields: readonly string[], kinds: ReadonlyMap<string, Kind>): Record<string, unknown> {
  const identifierOf = (field: string) => {
    const base = field.replace(/_ids?$/, "");
    const names = [
      NAMED[field],
      NAMED[base],
      `${base}s.id`,
      `accounts.${field}`,
      `chargers.${field}`,
      `connections.${field}`,
    ];
    return names.map((name) => kinds.get(name ?? "")?.values[0]).find(Boolean);
  };
  const named = fields.map((field) => [field, field in OTHERS ? OTHERS[field] : identifierOf(field)] as const);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined));
}

type Attack = {
  admin: pg.Pool;
  callers: readonly Admitted[];
  /** Of ownAnswers(). */
  answers: ReadonlyMap<string, string>;
  kinds: readonly Kind[];
  mine: Rows;
  traces: ReadonlyMap<string, string>;
  recorded: Recorded;
  /** Whether every function is also asked with an identifier in every field. */
  every: boolean;
};

/** Refusals by which somebody learns that a thing is taken, never by whom. */
const TAKEN = /ean_in_use|charger_claimed|ocpp_identity_taken|existing_user/;

async function functionsOf(admin: pg.Pool): Promise<Api[]> {
  const { rows } = await admin.query<Api>(
    `select p.oid::regproc::text as name, case when has_function_privilege('edge', p.oid, 'execute') then 'edge' else 'edge_slow' end as login,
            pronargs::int as takes
       from pg_proc p where p.pronamespace = 'api'::regnamespace and p.proname not in ('admit', 'charge', 'enter') order by 1`,
  );
  return rows;
}

/** What a function answers, or its refusal, and which of these rows it changed. All that it wrote is undone. */
async function ask(
  session: pg.PoolClient,
  { name, login, takes }: Api,
  { caller }: Admitted,
  input: (object | null)[],
  mine: Rows,
) {
  await session.query(`begin; set local role ${login}`);
  try {
    const given = [{ ...caller, host: "sandbox", request_id: "tenancy" }, ...input].slice(0, takes);
    const statement = `select ${name}(${given.map((_, at) => `$${at + 1}`)})::text as answer`;
    const { rows } = await session.query(statement, given);
    await session.query("reset role");
    const { rows: wrote } = await session.query<{ name: string }>(
      `select distinct coalesce(i.inhparent, s.relid)::regclass::text as name
         from pg_stat_xact_user_tables s left join pg_inherits i on i.inhrelid = s.relid
        where s.schemaname in ('core', 'auth') and s.n_tup_upd + s.n_tup_del > 0`,
    );
    const names = wrote.map(({ name }) => name);
    const before = new Set([...mine].filter((row) => names.includes(tableOf(row))));
    const changed = before.size > 0 ? [...without(before, await rowsOf(session, names))] : [];
    return { outcome: String(rows[0].answer), changed };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { outcome: `${code} ${message}`, changed: [] };
  } finally {
    await session.query("rollback");
  }
}

/** What each function that admits them answers callers who name nothing: what is theirs. Nobody else's rows may change it. */
export async function ownAnswers(
  admin: pg.Pool,
  callers: readonly Admitted[],
  earlier?: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const session = await admin.connect();
  for (const each of await functionsOf(admin))
    for (const admitted of callers) {
      const what = `${each.name} by ${admitted.name}`;
      if (earlier && !earlier.has(what)) continue;
      const { outcome } = await ask(session, each, admitted, [OTHERS], new Set());
      // what was made at one moment has no order
      if (!outcome.startsWith("42501"))
        answers.set(
          what,
          shapeOf(outcome)
            .split(/[,[\]{}]/)
            .map((part) => part.trim())
            .toSorted()
            .join(),
        );
    }
  session.release();
  return answers;
}

/** @returns what was wrong, one line each, and the functions that admitted somebody. */
export async function attackFunctions({ admin, callers, answers, kinds, mine, traces, recorded, every }: Attack) {
  const { rows: named } = await admin.query<{ field: string }>(
    `select distinct f[1] as field from pg_proc p, regexp_matches(p.prosrc, '->>?\\s*''([a-z][a-z0-9_]*)''', 'g') f
      where p.pronamespace in ('api'::regnamespace, 'private'::regnamespace) and f[1] not in ('id', 'kind', 'host') order by 1`,
  );
  const fields = named.map(({ field }) => field);
  const base = requestOf(fields, new Map(kinds.map((kind) => [kind.name, kind])));
  const values = new Map(kinds.flatMap((kind) => kind.values.map((value) => [value, nobodys(value)] as const)));
  const blank = (text: string) =>
    [...values].reduce((said, [value, other]) => said.replaceAll(value, "…").replaceAll(other, "…"), text);
  const ofNobody = (input: unknown) =>
    JSON.parse([...values].reduce((said, [value, other]) => said.replaceAll(value, other), JSON.stringify(input)));
  const ids = kinds.filter(({ isId, values }) => isId && values.length > 0);
  const texts = kinds.flatMap(({ isId, values }) => (isId ? [] : values));
  const general = ids.map(({ values: [id] }) => [{ ...base, id }]);

  const faults = new Set<string>();
  const admits = new Set<string>();
  const session = await admin.connect();
  for (const each of await functionsOf(admin))
    for (const admitted of callers) {
      const what = `${each.name} by ${admitted.name}`;
      if (!answers.has(what)) continue; // takes no such caller
      admits.add(each.name);
      const known = recorded.get(each.name) ?? [];
      for (const input of every ? [...known, ...general] : known.length > 0 ? known : general.slice(0, 1)) {
        const nobody = (await ask(session, each, admitted, ofNobody(input), mine)).outcome;
        const said = JSON.stringify(input);
        const { outcome, changed } = await ask(session, each, admitted, input, mine);
        for (const row of changed) faults.add(`${what}: changes ${row.slice(0, 200)}`);
        for (const [trace, table] of traces)
          if (outcome.includes(trace) && !said.toLowerCase().includes(trace.toLowerCase()))
            faults.add(`${what}: shows ${trace} of ${table}`);
        const [shape, missing] = [shapeOf(blank(outcome)), shapeOf(blank(nobody))];
        // a name of somebody's may be a name of one's own: the requests before gave it to something
        const isNamed = texts.some((text) => said.includes(text));
        if (!isNamed && !TAKEN.test(outcome) && shape !== missing)
          faults.add(`${what}: ${shape.slice(0, 300)}, not ${missing.slice(0, 300)}, for ${said.slice(0, 200)}`);
        if (each.takes < 2) break;
      }
    }
  session.release();
  return { faults: [...faults], admits };
}

/** An outcome without ids and times that are made anew each time. */
const shapeOf = (text: string) =>
  text
    .replace(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, "id")
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.+Z]*/g, "time")
    .replace(/"(full_in|sequence|next_cursor)" : ("[^"]*"|\d+)/g, "$1");

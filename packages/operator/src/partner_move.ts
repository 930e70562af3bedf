// Moves all rows of a partner to another database: copies and compares them under load, in passes; holds the partner's writes while it
// copies what was written since the last pass; and deletes them here. Killed at any moment, it can be run again, or undone until the
// partner has arrived.

import { setTimeout as sleep } from "node:timers/promises";
import type { Input, Machine } from "./command.ts";
import { isLocked, OperatorError, type OpsAnswer, type Session } from "./database.ts";

/** Bytes that one answer of the database should have. */
const PAGE = 2_000_000;
/** Keys of a table that are compared at once. */
const KEYS = 20_000;
/** While writes wait, at most so many rows should be left to copy. */
const FEW = 500;
const PASSES = 8;
const HELD_SECONDS = 30;
/** The last: as long as it is not there, nobody is let in there. */
const LAST = "partners";

type Move = { partner_id: string; slug: string; move_id: string; phase: string };
type Part = { name: string; kind: "own" | "people" | "cited" };
type Bucket = [rows: number, hash: string];
type Digests = Record<string, Record<string, Bucket>>;
type Compared = { moment: string; tables: Digests };
type Written = Record<string, [rows: number, keys: Key[]]>;
type Key = string[];
type Side = { call: (name: string, input?: Input) => Promise<OpsAnswer>; query: Session["query"] };
type Sides = { here: Side; there: Side; parts: Part[] };

export async function movePartner(
  { partner, undo }: Input,
  { connect, env, readLine, say }: Machine,
): Promise<OpsAnswer> {
  const to = env.MOVE_TO_DATABASE_URL || (await readLine("URL of the database to move to, with its owner: "));
  return connect((source) =>
    connect(async (target) => {
      const settings = "set statement_timeout = 0; set lock_timeout = '10s'";
      await source.query(settings);
      // without triggers and checks of foreign keys: rows come in any order, and are counted and told already
      await target.query(`${settings}; set session_replication_role = replica`);
      const begun = (await source.call("move_begin", { partner })) as Move & Input;
      const { phase } = await target.call("move_arrive", begun);
      const { parts } = (await source.call("move_tables", {})) as { parts: Part[] };
      const side = ({ call, query }: Session): Side => ({
        call: (name, input) => call(name, { partner_id: begun.partner_id, ...input }),
        query,
      });
      const sides = { here: side(source), there: side(target), parts };
      if (undo) return undoMove(begun, phase, sides);
      const held = phase === "arriving" ? await copy(begun, sides, say) : {};
      return { ...(await leave(sides, say)), ...held, partner: begun.slug };
    }, to),
  );
}

/** Until the partner is there. */
async function copy({ phase }: Move, sides: Sides, say: Machine["say"]): Promise<OpsAnswer> {
  const { here, there, parts } = sides;
  let since: string | null = null;
  if (phase !== "held") {
    await guard(there, parts, true);
    await guard(here, parts, true);
    let rows = 0;
    for (const { name } of parts.filter((part) => part.kind === "own" && part.name !== LAST)) {
      const copied = await copyTable(name, sides);
      // without statistics the next passes, and the partner's first requests, would have wrong plans
      if (copied > 0) await there.query(`analyze core.${name}`);
      rows += copied;
    }
    say(`${rows} rows copied\n`);
    for (let pass = 1, left = FEW + 1; left > FEW && pass <= PASSES; pass += 1) {
      const [mine, theirs] = await Promise.all([digestsOf(here), digestsOf(there)]);
      since = mine.moment;
      left = await settle(mine.tables, theirs.tables, sides, LAST);
      say(`pass ${pass}: ${left} rows had changed\n`);
    }
    await requireReferences(there);
  }
  // what rows cite goes after them: undoing finds it by them
  const cited = parts.filter(({ kind }) => kind === "cited").map(({ name }) => name);
  const { moment } = await digestsOf(here, []);
  for (const name of cited) await copyTable(name, sides);
  const began = performance.now();
  let arriving = false;
  await here.call("move_hold", { hold: true });
  try {
    // batches that were settled since, and people who opted out
    for (const [table, [, keys]] of Object.entries(await writtenIn(here, moment, cited)))
      await store(table, keys, sides);
    await copyTable(LAST, sides);
    const mine = await writtenIn(here, since);
    for (const [table, [, keys]] of Object.entries(mine)) await drop(table, keys, sides);
    // without a pass before, every table is compared
    const theirs = since ? await writtenIn(there, null) : {};
    let changed = [LAST];
    for (const [table, [count, keys]] of Object.entries(mine)) {
      // a row is gone here and still there: before others are stored, because a new one may have its name
      if (theirs[table]?.[0] !== count - keys.length) changed.push(table);
      else await store(table, keys, sides);
    }
    while (changed.length > 0) {
      if (performance.now() - began > HELD_SECONDS * 1000)
        throw new OperatorError(
          `It took longer than ${HELD_SECONDS} seconds while writes waited. Nothing has moved; run it again.`,
        );
      const [mine, theirs] = await Promise.all([digestsOf(here, changed), digestsOf(there, changed)]);
      await settle(mine.tables, theirs.tables, sides);
      changed = changed.filter((table) => differing(mine.tables[table], theirs.tables[table]).length > 0);
    }
    await requireReferences(there);
    const rows = Object.values(mine).reduce((sum, [count]) => sum + count, 0);
    arriving = true;
    await there.call("move_arrived", { rows });
    return { held_ms: Math.round(performance.now() - began), rows };
  } catch (error) {
    // whether it has arrived is then not known: it stays held here until the command is run again
    if (!arriving) await here.call("move_hold", { hold: false }).catch(() => {});
    throw error;
  }
}

/** The partner is there: ends the move here. */
async function leave({ here, there, parts }: Sides, say: Machine["say"]): Promise<OpsAnswer> {
  await here.query("set session_replication_role = replica");
  await here.call("move_left");
  await clear(here, parts);
  say("nothing is left here\n");
  await guard(there, parts, false);
  await guard(here, parts, false);
  return { moved: true };
}

async function undoMove({ slug, phase }: Move, phaseThere: unknown, { here, there, parts }: Sides): Promise<OpsAnswer> {
  if (phaseThere !== "arriving" || phase === "left")
    throw new OperatorError(`${slug} has arrived there. Run partner move again without --undo to end the move.`);
  await clear(there, parts);
  // here first: as long as it is held here, it may not be forgotten there
  await here.call("move_undo");
  await there.call("move_undo");
  await guard(here, parts, false);
  await guard(there, parts, false);
  return { moved: false, partner: slug };
}

/** A lock of one table at a time, and never waited for long: writers of all partners queue behind it. */
async function guard({ call, query }: Side, parts: Part[], on: boolean): Promise<void> {
  await query("set lock_timeout = '200ms'");
  for (const { name } of parts) {
    for (let tries = 1; ; tries += 1) {
      try {
        await call("move_guard", { table: name, on });
        break;
      } catch (error) {
        if (!isLocked(error) || tries === 300) throw error;
        await sleep(100);
      }
    }
  }
  await query("set lock_timeout = '10s'");
}

/** Every row of a table that is not there yet. */
async function copyTable(table: string, { here, there }: Sides): Promise<number> {
  let copied = 0;
  for (let size = 200, after: Key | null = null; ; ) {
    const page = await here.call("move_read", { table, after, size });
    if (Number(page.rows) > 0) await there.call("move_write", { table, data: page.data });
    copied += Number(page.rows);
    if (Number(page.rows) < size) return copied;
    after = page.last as Key;
    size = sized(size, String(page.data).length);
  }
}

const sized = (size: number, bytes: number) => Math.min(Math.max(Math.round((size * PAGE) / bytes), 5), 10_000);

const digestsOf = async ({ call }: Side, tables?: string[]): Promise<Compared> =>
  (await call("move_digests", { tables })) as Compared;

const writtenIn = async ({ call }: Side, since: string | null, tables?: string[]): Promise<Written> =>
  (await call("move_written", { since, tables })) as Written;

function differing(mine: Digests[string] = {}, theirs: Digests[string] = {}): string[] {
  const buckets = new Set([...Object.keys(mine), ...Object.keys(theirs)]);
  return [...buckets].filter((bucket) => String(mine[bucket]) !== String(theirs[bucket]));
}

/** Makes the rows there those of here, where digests differ. Returns how many differed. */
async function settle(mine: Digests, theirs: Digests, sides: Sides, but?: string): Promise<number> {
  let differed = 0;
  for (const table of Object.keys(mine)) {
    if (table === but) continue;
    const buckets = differing(mine[table], theirs[table]);
    for (let from = 0; from < buckets.length; ) {
      const some: string[] = [];
      for (let rows = 0; from < buckets.length && (rows < KEYS || some.length === 0); from += 1) {
        const bucket = buckets[from] as string;
        some.push(bucket);
        rows += Math.max(mine[table]?.[bucket]?.[0] ?? 0, theirs[table]?.[bucket]?.[0] ?? 0);
      }
      differed += await settleBuckets(table, some, sides);
    }
  }
  return differed;
}

/** The rows of some buckets: deletes there what is changed or gone, and then stores what is changed or new. */
async function settleBuckets(table: string, buckets: string[], sides: Sides): Promise<number> {
  const [mine, other] = (await Promise.all(
    [sides.here, sides.there].map(async ({ call }) => {
      const { keys } = (await call("move_keys", { table, buckets })) as { keys: [Key, string][] };
      return new Map(keys.map(([key, hash]) => [JSON.stringify(key), hash]));
    }),
  )) as [Map<string, string>, Map<string, string>];
  const wrong = [...other].filter(([key, hash]) => mine.get(key) !== hash).map(([key]) => JSON.parse(key) as Key);
  const wanted = [...mine].filter(([key, hash]) => other.get(key) !== hash).map(([key]) => JSON.parse(key) as Key);
  await drop(table, wrong, sides);
  await store(table, wanted, sides);
  return new Set([...wrong, ...wanted].map((key) => JSON.stringify(key))).size;
}

async function drop(table: string, keys: Key[], { there }: Sides): Promise<void> {
  for (let at = 0; at < keys.length; at += 1_000)
    await there.call("move_drop", { table, keys: keys.slice(at, at + 1_000) });
}

async function store(table: string, keys: Key[], { here, there }: Sides): Promise<void> {
  for (let at = 0, size = 200; at < keys.length; ) {
    const page = await here.call("move_read", { table, keys: keys.slice(at, at + size), size });
    at += size;
    // a row may be gone meanwhile
    if (!page.data) continue;
    await there.call("move_write", { table, data: page.data });
    size = sized(size, String(page.data).length);
  }
}

/** Rows came without checks. What is the same everywhere, such as the catalogue, may be missing there. */
async function requireReferences({ call }: Side): Promise<void> {
  const { loose } = (await call("move_loose")) as { loose: string[] };
  if (loose.length > 0)
    throw new OperatorError(
      `Rows refer to what is not in that database (${loose.join(", ")}): the catalogue, factors or limits differ. Nothing has moved.`,
    );
}

/** What is found by other rows goes before them. */
async function clear({ call }: Side, parts: Part[]): Promise<void> {
  const found = parts.filter(({ name, kind }) => kind === "cited" || name === "rate_limit_overrides");
  for (const { name } of [...found, ...parts.filter((part) => !found.includes(part)).toReversed()]) {
    const size = 10_000;
    while (Number((await call("move_clear", { table: name, size })).rows) === size);
  }
}

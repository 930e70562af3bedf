// Restores a database to the moment before a wrong deed, by the steps of docs/operations.md.

import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { operate } from "#local/customer.ts";
import { partnerApi } from "#local/demo_api.ts";
import { baseCopy, freePort, startPostgres } from "#local/postgres.ts";
import { loadSecrets } from "#local/secrets.ts";
import type { Stack } from "#local/stack.ts";
import { credentialsOf } from "../kit/credentials.ts";
import { randomOf } from "../kit/random.ts";
import { type Trial, withStack } from "../kit/stack.ts";
import { bookings, operatorCommand } from "../load/books.ts";
import { receiveWebhooks } from "../load/heard.ts";
import { openJournal } from "../load/journal.ts";
import { keepWriting, liftLimits, toSeconds } from "../load/load.ts";
import { type Bookable, imports, signatures } from "../load/people.ts";
import { accountOf, months, sessions, type Writer, type Writing } from "../load/writers.ts";
import { agrees, type Check, type Checking, checking, type Rehearsal } from "./office.ts";

/** How long is written before the base copy, between it and the moment, and from the moment to the wrong deed. */
const SPELL_MS = 8_000;
const PATIENCE_MS = 30_000;

/** A request across the moment, with when it was sent and acknowledged by the clock of Date. */
type Told = { reference: string; sent: number; acknowledged?: number };

export async function restore({ seed, say = () => {} }: Rehearsal) {
  const kept = mkdtempSync(join(tmpdir(), "ere-restore-"));
  chmodSync(kept, 0o711);
  const archive = join(kept, "archive");
  const port = await freePort();
  try {
    const before = await withStack((trial) => damage(trial, { seed, kept, say }), {
      port,
      prepare: (data_dir) => keepLog(data_dir, archive),
    });
    const { checks, check }: { checks: Check[]; check: Checking } = checking(say);
    const begun = performance.now();
    let restored_s = 0;
    await withStack((trial) => judgeServing(trial, before, check), {
      port,
      prepare: async (data_dir) => {
        await recover(data_dir, kept, before, check);
        restored_s = toSeconds(performance.now() - begun);
      },
    });
    before.receiver.close();
    const checked_s = toSeconds(performance.now() - begun);
    for (const { promise, first } of before.journal.broken()) check(promise, first, false);
    const { copies } = before.receiver.received();
    return { seed, moment: before.moment, restored_s, checked_s, webhooks_again: copies, checks };
  } finally {
    rmSync(kept, { recursive: true, force: true });
  }
}

/** Lets the server copy each finished segment of its log into the archive. */
async function keepLog(data_dir: string, archive: string): Promise<void> {
  const folder = join(data_dir, "postgres");
  const server = await startPostgres({
    ...{ folder, durable: true, log_file: join(data_dir, "postgres.log") },
    password: loadSecrets(data_dir).passwords.supabase_admin,
  });
  mkdirSync(archive, { mode: 0o700 });
  giveTo(folder, archive);
  await server.query("alter system set archive_mode = on");
  await server.query(`alter system set archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`);
  await server.stop();
}

function giveTo(folder: string, path: string): void {
  const { uid, gid } = statSync(folder);
  chownSync(path, uid, gid);
}

type Before = Awaited<ReturnType<typeof damage>>;

/** Writes, copies, goes on writing, and does what has to be undone. */
async function damage(trial: Trial, { seed, kept, say }: { seed: number; kept: string; say: (line: string) => void }) {
  const { stack, db, data_dir } = trial;
  const journal = await openJournal(stack.base_url);
  await liftLimits(trial);
  const credentials = await credentialsOf(stack);
  const receiver = await receiveWebhooks(stack, journal, randomOf(seed + 1_000), isSameButNumber);
  let isOver = false;
  const writing = (id: number): Writing => ({
    ...{ trial, journal, credentials, id },
    random: randomOf(seed + id),
    over: () => isOver,
  });
  const bookable: Bookable[] = [];
  const making = [
    (each: Writing) => months(each),
    (each: Writing) => sessions(each),
    (each: Writing) => imports(each),
    (each: Writing) => signatures(each, undefined, bookable),
    (each: Writing) => bookings(each, bookable),
  ];
  const writers: Writer[] = [];
  for (const [n, make] of making.entries()) writers.push(await make(writing(n + 1)));
  const rest = () => 150;
  const written = writers.map((writer, n) => keepWriting(writer, writing(n + 1), rest));
  // these go on over the moment
  const told: Told[] = [];
  let isEnded = false;
  const across = (async () => {
    while (!isEnded) {
      const body = accountOf(`r-${told.length}`);
      const mine: Told = { reference: body.cpo_external_ref, sent: Date.now() };
      told.push(mine);
      const answer = await journal.send("accounts", "createAccount", { token: credentials.cpo, body });
      if (answer?.status === 200) mine.acknowledged = Date.now();
      await sleep(30);
    }
  })();

  await sleep(SPELL_MS);
  const base = join(kept, "base");
  mkdirSync(base, { mode: 0o700 });
  await baseCopy({ folder: join(data_dir, "postgres"), url: () => superuserOf(stack, data_dir) }, base);
  copyFileSync(join(data_dir, "secrets.json"), join(kept, "secrets.json"));
  say(`base copy after ${told.length} accounts`);
  await sleep(SPELL_MS);

  isOver = true;
  await Promise.all(written);
  const booking = writers.at(-1) as Writer;
  const unsubscribe_url = await invited(stack);
  await leaveUnpaid(booking, db);
  const approved = await approvedBatch(stack);
  await leaveUnpaid(booking, db);
  const before = (await eventsAfter(stack, credentials.cpo ?? "", "")).cursor;
  await sleep(500);
  const { rows } = await db.query("select clock_timestamp()::text as moment");
  const moment: string = rows[0].moment;
  say(
    `the moment: ${moment}, ${told.length} accounts, ${JSON.stringify(Object.fromEntries(writers.map((each) => [each.kind, each.told()])))}`,
  );
  await sleep(1_000);

  const deeds = await db.query(
    "with gone as (delete from core.delivered_months returning 1) select count(*)::int as months from gone",
  );
  // the bank gets a batch that was approved before the moment, and one that was prepared after it
  const files = { approved: join(kept, "approved.xml"), lost: join(kept, "lost.xml") };
  await exportBatch(stack, approved, files.approved);
  const lost_batch = await approvedBatch(stack);
  await exportBatch(stack, lost_batch, files.lost);
  const ended = await endThings(stack, db, unsubscribe_url);
  const rotated = await operatorCommand(stack, ["client", "rotate-secret", stack.demo.cpo.client_id, "--yes"]);
  const secret: string = JSON.parse(rotated.out).client_secret;
  const { token: late_token } = await tokenWith(stack, secret);
  await sleep(SPELL_MS / 2);
  isEnded = true;
  await across;
  const after = (await eventsAfter(stack, credentials.cpo ?? "", "")).cursor;
  const saved = join(kept, "saved");
  const { opt_outs } = await command(
    stack,
    ["restore", "save", "--since", new Date(moment).toISOString(), "--to", saved],
    "anna",
  );
  const { rows: lost } = await db.query("select count(*)::int as events from core.events where created_at > $1", [
    moment,
  ]);
  say(
    `the deed: ${deeds.rows[0].months} months deleted, a secret replaced; ${lost[0].events} events told since the moment`,
  );
  return {
    ...{
      stack,
      journal,
      receiver,
      writers,
      told,
      moment,
      secret,
      late_token,
      ...{ files, batches: { approved, lost: lost_batch }, ended, saved, opt_outs: Number(opt_outs) },
      credentials,
    },
    cursors: { before, after },
  };
}

/** Sells until a sale is left that no batch pays, to IBANs that may be paid to. */
async function leaveUnpaid(booking: Writer, db: pg.Pool): Promise<void> {
  for (let sold = 0; sold !== 1; ) {
    const { done } = booking.told();
    await booking.once();
    sold = booking.told().done - done;
  }
  await db.query("update core.accounts set iban_changed_at = private.now() - interval '3 days'");
}

/** Runs a command of the runbook, which has to succeed. */
// biome-ignore lint/suspicious/noExplicitAny: a caller names the fields it reads
async function command(stack: Stack, argv: string[], login?: "anna" | "bram"): Promise<any> {
  const { code, out, err } = await operatorCommand(stack, argv, login);
  if (code !== 0) throw new Error(`${argv.join(" ")}: ${err}`);
  return JSON.parse(out);
}

/** A batch of everybody who can be paid, approved: its id. */
async function approvedBatch(stack: Stack): Promise<string> {
  const id: string = (await command(stack, ["payout", "prepare"], "anna")).batch.batch_id;
  await command(stack, ["payout", "approve", id], "bram");
  return id;
}

const exportBatch = (stack: Stack, id: string, file: string) =>
  command(stack, ["payout", "export", id, "--out", file], "anna");

/** Somebody whom the partner invited: the link in the mail to get no more of it. */
async function invited(stack: Stack): Promise<string> {
  const email = "restore@voorbeeld.nl";
  await partnerApi(stack)("/partner/customers", { consent: true, send_invite: true, naam: "Noor Bakker", email });
  const mail = await operate(stack.operator_database_url, "mail_show", { to: email });
  return (mail as { content: { unsubscribe_url: string } }).content.unsubscribe_url;
}

/** What protects somebody, and is done after the moment. */
async function endThings(stack: Stack, db: pg.Pool, unsubscribe_url: string) {
  await fetch(unsubscribe_url, { method: "POST", body: new URLSearchParams({ "List-Unsubscribe": "One-Click" }) });
  const { tokens } = await command(stack, ["token", "list", "--user", stack.demo.user.email]);
  const token: string = tokens.find((each: { kind: string }) => each.kind.startsWith("personal"))?.id;
  const { rows } = await db.query(
    "select connection_id from core.connection_mandates where mandate_status = 'signed' limit 1",
  );
  const connection: string = rows[0].connection_id;
  await command(stack, ["token", "revoke", token]);
  await command(stack, ["mandate", "revoke", connection, "--asked-by-customer"]);
  await command(stack, ["partner", "mint-key", "demo", "--rotate"]);
  return { token, connection };
}

/** An event that had no number in the log yet gets another number on the restored host. */
function isSameButNumber(one: string, other: string): boolean {
  const unnumbered = (body: string) => JSON.stringify({ ...JSON.parse(body), sequence: 0 });
  return unnumbered(one) === unnumbered(other);
}

async function tokenWith({ auth_url, demo }: Stack, client_secret: string): Promise<{ status: number; token: string }> {
  const ask = () =>
    fetch(`${auth_url}/oauth-token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ grant_type: "client_credentials", client_id: demo.cpo.client_id, client_secret }),
    });
  let answer = await ask();
  // a busy machine answers 503, and clients retry
  for (let tries = 0; answer.status === 503 && tries < 20; tries += 1) {
    await sleep(500);
    answer = await ask();
  }
  return { status: answer.status, token: (await answer.json()).access_token ?? "" };
}

function superuserOf({ database_url }: Stack, data_dir: string): string {
  const url = new URL(database_url);
  url.username = "supabase_admin";
  url.password = encodeURIComponent(loadSecrets(data_dir).passwords.supabase_admin);
  return url.href;
}

/** The events of the client's log behind a cursor, and the cursor behind the last. */
async function eventsAfter({ base_url }: Stack, token: string, cursor: string) {
  const events: { account_id?: string }[] = [];
  for (let after = cursor; ; ) {
    const answer = await fetch(`${base_url}/v1/events?after=${after}&limit=100`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const page = await answer.json();
    if (!answer.ok) return { events, cursor: after, refused: JSON.stringify(page) };
    events.push(...page.events);
    after = page.next_cursor;
    if (!page.has_more) return { events, cursor: after };
  }
}

/** Restores into a new folder, does what a host must before it serves, and compares. */
async function recover(data_dir: string, kept: string, before: Before, check: Checking): Promise<void> {
  const { moment, told, writers } = before;
  const folder = join(data_dir, "postgres");
  copyFileSync(join(kept, "secrets.json"), join(data_dir, "secrets.json"));
  chmodSync(data_dir, 0o711);
  renameSync(join(kept, "base"), folder);
  const settings = {
    archive_mode: "off",
    restore_command: `cp ${join(kept, "archive")}/%f %p`,
    recovery_target_time: moment,
    recovery_target_action: "promote",
  };
  for (const [name, value] of Object.entries(settings))
    appendFileSync(join(folder, "postgresql.auto.conf"), `${name} = '${value}'\n`);
  writeFileSync(join(folder, "recovery.signal"), "", { mode: 0o600 });
  giveTo(folder, join(folder, "recovery.signal"));
  const { passwords } = loadSecrets(data_dir);
  const server = await startPostgres({
    ...{ folder, durable: true, log_file: join(data_dir, "postgres.log") },
    password: passwords.supabase_admin,
  });
  const db = new pg.Pool({ connectionString: server.url("postgres", "postgres", passwords.postgres), max: 2 });
  try {
    const until = performance.now() + PATIENCE_MS;
    const recovering = async () => (await db.query("select pg_is_in_recovery() as is")).rows[0].is;
    while (await recovering()) {
      if (performance.now() > until) throw new Error("The server did not reach the moment.");
      await sleep(100);
    }
    const at = Date.parse(moment);
    const { rows } = await db.query(
      "select cpo_external_ref as reference from core.accounts where cpo_external_ref like 'r-%'",
    );
    const stored = new Set(rows.map(({ reference }) => reference));
    const acknowledged = told.filter((each) => (each.acknowledged ?? Infinity) < at);
    const lost = acknowledged.filter(({ reference }) => !stored.has(reference));
    check(
      "accounts acknowledged before the moment, lost",
      `${lost.length} of ${acknowledged.length}`,
      lost.length === 0,
    );
    const late = told.filter(({ sent }) => sent > at);
    const there = late.filter(({ reference }) => stored.has(reference));
    check(
      "accounts sent after the moment, there",
      `${there.length} of ${late.length}`,
      there.length === 0 && late.length > 0,
    );
    const { rows: tables } = await db.query<{ name: string }>(
      "select table_name as name from information_schema.columns where table_schema = 'core' and column_name = 'created_at' and table_name in (select relname from pg_class where relkind in ('r', 'p'))",
    );
    let newer = 0;
    for (const { name } of tables)
      newer += (await db.query(`select count(*)::int as n from core.${name} where created_at > $1`, [moment])).rows[0]
        .n;
    check(`rows of ${tables.length} tables made after the moment`, newer, newer === 0);

    const known = before.journal.broken().length;
    for (const writer of writers) await writer.check(db);
    const writes = writers.reduce((sum, each) => sum + each.told().done, 0);
    const wrong = before.journal.broken().length - known;
    check(
      "months, sessions, drafts, mandates, sales and payments that differ",
      `${wrong} kinds, of ${writes} writes`,
      wrong === 0,
    );
    const restored: Stack = {
      ...before.stack,
      operator_database_url: server.url("postgres", "operator", passwords.operator),
      operator_logins: {
        anna: server.url("postgres", "operator_anna", passwords.operator_anna),
        bram: server.url("postgres", "operator_bram", passwords.operator_bram),
      },
    };
    await agrees(restored, "restored", check);
    await repeatEnds(restored, db, before, check);
    await takeIn(restored, before, check);
  } finally {
    await db.end();
    await server.stop();
  }
}

/** Step 6: what ended after the moment is live again, until it is ended again. */
async function repeatEnds(
  stack: Stack,
  db: pg.Pool,
  { saved, opt_outs, ended }: Before,
  check: Checking,
): Promise<void> {
  const state = async () => {
    const { rows } = await db.query<{ opted_out: number; token: boolean; mandate: string }>(
      `select (select count(*) from core.suppressions)::int as opted_out,
              (select revoked_at is null from core.personal_tokens where id = $1) as token,
              (select mandate_status from core.connection_mandates where connection_id = $2) as mandate`,
      [ended.token, ended.connection],
    );
    return JSON.stringify(rows[0]);
  };
  const opted_out = opt_outs;
  const live = JSON.stringify({ opted_out: opted_out - 1, token: true, mandate: "signed" });
  const again = await state();
  check("an opt-out, a token and a mandate that ended after the moment", again, again === live);
  const { by_hand } = await command(stack, ["restore", "apply", saved, "--yes"], "anna");
  const left = by_hand.map(({ action }: { action: string }) => action).sort();
  const listed = ["client.secret_rotated", "partner.key_minted", "payout.exported", "payout.exported"];
  check("what restore apply leaves to people", left.join(" "), left.join() === listed.join());
  await command(stack, ["partner", "mint-key", "demo", "--rotate"]);
  const wanted = JSON.stringify({ opted_out, token: false, mandate: "revoked" });
  const now = await state();
  check("once they are ended again", now, now === wanted);
}

/** Step 5: nobody is paid twice. */
async function takeIn(stack: Stack, { batches, files, saved }: Before, check: Checking): Promise<void> {
  const refused = async (argv: string[]) =>
    /was restored or moved/.test((await operatorCommand(stack, argv, "anna")).err);
  const waits = [
    await refused(["payout", "prepare"]),
    await refused(["payout", "export", batches.approved, "--out", `${files.approved}.2`]),
    await refused(["payout", "cancel", batches.approved, "--reason", "x"]),
  ];
  check("payouts wait: prepare, export, cancel", waits, waits.every(Boolean));
  await command(stack, ["payout", "adopt", files.approved], "anna");
  await command(stack, ["payout", "adopt", files.lost], "anna");
  await command(stack, ["payout", "approve", batches.lost], "bram");
  await command(stack, ["payout", "adopt", files.lost], "anna");
  for (const [name, id] of Object.entries(batches)) {
    const file = files[name as keyof typeof files];
    const out = `${file}.again`;
    await command(stack, ["payout", "export", id, "--again", "--reason", "compared", "--out", out], "anna");
    const isSame = readFileSync(out, "utf8") === readFileSync(file, "utf8");
    check(`the batch that was ${name}: its file is the bank's`, isSame, isSame);
    const isSaved = readFileSync(join(saved, `${id}.xml`), "utf8") === readFileSync(file, "utf8");
    check(`the batch that was ${name}: restore save has its file`, isSaved, isSaved);
  }
  await command(stack, ["payout", "resume", "--reason", "rehearsed"], "anna");
  for (const id of Object.values(batches)) await command(stack, ["payout", "settle", id], "anna");
  const rest = (await command(stack, ["payout", "prepare"], "anna")).batch;
  check("settled, who is paid again", JSON.stringify(rest), !rest);
}

/** What integrators meet on the restored host. */
async function judgeServing({ stack, db }: Trial, before: Before, check: Checking): Promise<void> {
  const ready = async () => (await fetch(`${stack.functions_url}/health/ready`)).status;
  const until = performance.now() + PATIENCE_MS;
  let status = await ready();
  while (status !== 200 && performance.now() < until) {
    await sleep(200);
    status = await ready();
  }
  check("/health/ready", status, status === 200);

  const { client_id, client_secret } = stack.demo.cpo;
  const asked = await tokenWith(stack, client_secret);
  check("the secret that was replaced after the moment", asked.status, asked.status === 200);
  const probe = async (token: string) =>
    (await fetch(`${stack.base_url}/v1/events`, { headers: { authorization: `Bearer ${token}` } })).status;
  const valid = await probe(before.late_token);
  check("a token got after the moment", valid, valid === 200);
  const rotated = await operatorCommand(stack, ["client", "rotate-secret", client_id, "--revoke-tokens", "--yes"]);
  const secret: string = JSON.parse(rotated.out).client_secret;
  for (const [name, each] of [
    ["replaced", client_secret],
    ["made after the moment", before.secret],
  ] as const) {
    const { status } = await tokenWith(stack, each);
    check(`once it is replaced again, the secret ${name}`, status, status === 401);
  }
  const ended = await probe(before.late_token);
  check("once it is replaced again, a token got after the moment", ended, ended === 401);

  const held = [
    ["a personal token that was ended after the moment", before.credentials.personal_token ?? "", "/chargers"],
    ["the partner's key that was replaced after the moment", stack.demo.partner.api_key, "/partner/me"],
  ] as const;
  for (const [name, bearer, path] of held) {
    const { status } = await fetch(stack.base_url + path, { headers: { authorization: `Bearer ${bearer}` } });
    check(`once it is ended again, ${name}`, status, status === 401);
  }

  const known = before.receiver.received().events;
  const journal = await openJournal(stack.base_url);
  // a token's time of issue is in whole seconds
  await sleep(1_000);
  const { token } = await tokenWith(stack, secret);
  const made = await journal.send("accounts", "createAccount", { token, body: accountOf("after") });
  check("a new account", made?.status, made?.status === 200);
  for (const [name, cursor] of Object.entries(before.cursors)) {
    const { events, refused } = await eventsAfter(stack, token, cursor);
    const found = events.some((each) => each.account_id === made?.body.account_id);
    check(`its event, by a cursor got ${name} the moment`, refused ?? (found ? "there" : "missing"), found);
  }
  const patience = performance.now() + PATIENCE_MS;
  while (before.receiver.received().events === known && performance.now() < patience) {
    await db.query(
      "update core.webhook_endpoints set probe_at = least(probe_at, now()), lease_until = least(lease_until, now())",
    );
    await sleep(500);
  }
  const { events } = before.receiver.received();
  check("its webhook", events - known, events > known);
  await agrees(stack, "serving", check);
}

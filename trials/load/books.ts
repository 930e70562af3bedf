// The operator's writes: from an approved registration to a paid batch, by the commands that people type.

import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stack } from "#local/stack.ts";
import { run } from "../../packages/operator/src/run.ts";
import type { Outcome } from "./journal.ts";
import type { Bookable } from "./people.ts";
import { counted, pastMonths, type Writer, type Writing } from "./writers.ts";

/** What a command says if it did not reach the database, or lost it. */
const AWAY =
  /No database answers|broke before it answered|was locked by another command|The database refused \((?:08|53|57)/;

/** Runs a command of the operator's, as somebody who says yes. */
export async function operatorCommand(stack: Stack, argv: string[], login?: "anna" | "bram") {
  const OPERATOR_DATABASE_URL = login ? stack.operator_logins[login] : stack.operator_database_url;
  const printed = { out: "", err: "" };
  const code = await run([...argv, "--json"], {
    out: (text) => {
      printed.out += text;
    },
    err: (text) => {
      printed.err += text;
    },
    env: { ...stack.operator_environment, OPERATOR_DATABASE_URL },
    operator: "faults",
    local: () => undefined,
    confirm: async () => true,
  });
  return { code, ...printed };
}

/** Books a month of each customer who signed, credits and sells it, and pays the customer. */
export async function bookings(
  { trial: { stack, data_dir, db }, journal, random, credentials, over }: Writing,
  bookable: Bookable[],
): Promise<Writer> {
  const told: { reference: string; outcome: Outcome }[] = [];
  const paid: { batch_id: string; outcome: Outcome }[] = [];
  const months = pastMonths().slice(0, -1);
  const waiting: (Bookable & { period: string })[] = [];

  /** Runs a command until it succeeds or is refused; null where it is over before. A refusal of a repeat may be about what the attempt before did. */
  // biome-ignore lint/suspicious/noExplicitAny: a caller names the fields it reads
  const command = async (argv: string[], login?: "anna" | "bram"): Promise<any> => {
    for (let attempt = 1; ; attempt += 1) {
      const at = performance.now();
      const printed = await operatorCommand(stack, argv, login);
      const { code } = printed;
      const isAway = AWAY.test(printed.err);
      journal.note("bookings", at, code === 0 ? 200 : isAway ? 503 : 409);
      if (code === 0) return JSON.parse(printed.out);
      if (!isAway) {
        if (attempt === 1) journal.complain(`bookings: ${argv.slice(0, 2).join(" ")} is refused`, printed.err);
        return null;
      }
      if (over()) return null;
      await sleep(200 + random.below(300));
    }
  };

  return {
    kind: "bookings",
    told: () => counted([...told, ...paid]),
    async once() {
      const next = bookable.shift();
      if (next) {
        await command(["registration", "review", next.connection_id, "goedgekeurd"]);
        waiting.push(...months.map((period) => ({ ...next, period })));
      }
      const month = waiting.splice(random.below(waiting.length || 1), 1)[0];
      if (!month) {
        await command(["booking", "list"]);
        await sleep(200);
        return;
      }
      const { account_id, period } = month;
      const delivered = await journal.write(random, over, () =>
        journal.send("bookings", "deliverMonths", {
          token: credentials.cpo,
          body: { account_id, months: [{ period, total_kwh: 100, session_count: 8 }] },
        }),
      );
      if (delivered.outcome === "open") return;
      const quarter = `${period.slice(0, 4)}-Q${Math.ceil(Number(period.slice(5)) / 3)}`;
      const opened = await command(["booking", "open", quarter, "--partner", "demo"]);
      const booking = opened?.bookings?.[0]?.booking_id;
      if (!booking) return;
      await command(["booking", "submit", booking]);
      await command(["booking", "credit", booking]);
      const sale = { reference: `sale-${randomBytes(6).toString("hex")}`, outcome: "open" as Outcome };
      told.push(sale);
      const terms = ["--ere", "10", "--price", "1.5", "--buyer", "Brandstof N.V.", "--reference", sale.reference];
      if (await command(["sale", "record", booking, ...terms])) sale.outcome = "done";
      if (told.length % 3 === 0) await pay();
    },
    async check(database) {
      const { rows: sales } = await database.query<{
        reference: string;
        count: number;
        gross: number;
        allocated: number;
      }>(
        `select s.reference, count(*)::int as count, sum(s.gross)::float as gross,
                sum((select sum(a.gross) from core.allocations a where a.partner_id = s.partner_id and a.sale_id = s.id))::float as allocated
           from core.sales s where s.reference like 'sale-%' group by 1`,
      );
      const stored = new Map(sales.map((row) => [row.reference, row]));
      for (const { reference, outcome } of told) {
        const found = stored.get(reference);
        if (outcome === "done" && !found) journal.complain("bookings: an acknowledged sale is lost", reference);
        if (found && (found.count !== 1 || found.gross !== 15 || found.allocated !== 15))
          journal.complain("bookings: a sale is stored in part, or twice", JSON.stringify(found));
      }
      for (const { batch_id, outcome } of paid) {
        const { rows } = await database.query<{ status: string; pending: number }>(
          `select b.status, (select count(*) from core.payout_lines l where l.batch_id = b.id and l.status <> 'paid')::int as pending
             from core.payout_batches b where b.id = $1`,
          [batch_id],
        );
        if (outcome === "done" && (rows[0]?.status !== "settled" || rows[0].pending > 0))
          journal.complain("bookings: an acknowledged payment is lost", `${batch_id}: ${JSON.stringify(rows[0])}`);
      }
    },
  };

  async function pay(): Promise<void> {
    // an IBAN is paid to after 48 hours
    await db
      .query(
        "update core.accounts set iban_changed_at = private.now() - interval '3 days' where iban_changed_at > private.now() - interval '2 days'",
      )
      .catch(() => {});
    const prepared = await command(["payout", "prepare"], "anna");
    const batch_id = prepared?.batch?.batch_id;
    if (!batch_id) return;
    const payment = { batch_id, outcome: "open" as Outcome };
    paid.push(payment);
    await command(["payout", "approve", batch_id, "--yes"], "bram");
    const file = join(data_dir, `${batch_id}.xml`);
    await command(["payout", "export", batch_id, "--out", file], "anna");
    rmSync(file, { force: true });
    if (await command(["payout", "settle", batch_id], "anna")) payment.outcome = "done";
  }
}

// What rehearsals about money begin with: customers whose months can be booked, and the operator who works on them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Stack } from "#local/stack.ts";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { credentialsOf } from "../kit/credentials.ts";
import { randomOf } from "../kit/random.ts";
import type { Trial } from "../kit/stack.ts";
import { operatorCommand } from "../load/books.ts";
import { openJournal } from "../load/journal.ts";
import { liftLimits } from "../load/load.ts";
import { type Bookable, signatures } from "../load/people.ts";

export type Check = { what: string; found: string; holds: boolean };
export type Checking = (what: string, found: unknown, holds: boolean) => void;
export type Rehearsal = { seed: number; say?: (line: string) => void };
export type Customer = Bookable & { ean: string; charger_id: string };

/** Notes what holds, and says it. */
export function checking(say: (line: string) => void): { checks: Check[]; check: Checking } {
  const checks: Check[] = [];
  return {
    checks,
    check: (what, found, holds) => {
      checks.push({ what, found: String(found), holds });
      say(`${holds ? "  holds " : "  BROKEN"}  ${what}: ${found}`);
    },
  };
}

/** The books agree, and nobody changed a row without the service. */
export async function agrees(stack: Stack, when: string, check: Checking): Promise<void> {
  for (const command of ["ledger check", "audit verify"]) {
    const { code, out, err } = await operatorCommand(stack, command.split(" "));
    check(`${when}: ${command}`, code === 0 ? "ok" : out + err, code === 0);
  }
}

/** Every price, so that money shows the kWh it is for. */
const PRICE = "1.5";

export type Office = Awaited<ReturnType<typeof openOffice>>;

export async function openOffice(trial: Trial, { seed }: { seed: number }) {
  const { stack, db, data_dir } = trial;
  await liftLimits(trial);
  const journal = await openJournal(stack.base_url);
  const credentials = await credentialsOf(stack);
  const writing = { trial, journal, credentials, id: 1, random: randomOf(seed), over: () => false };
  let files = 0;
  let sales = 0;

  /** Runs a command that has to succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: a caller names the fields it reads
  const run = async (command: string, login?: "anna" | "bram"): Promise<any> => {
    // words in quotes are one
    const argv = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
    const { code, out, err } = await operatorCommand(stack, argv, login);
    if (code !== 0) throw new Error(`${command}: ${err}`);
    return JSON.parse(out);
  };
  const file = (name: string) => join(data_dir, `${++files}-${name}`);

  const office = {
    ...{ stack, db, journal, run, file, token: credentials.cpo ?? "" },
    /** Customers of the client with a charger, a signed mandate and an approved registration. */
    async customers(count: number): Promise<Customer[]> {
      const found: Bookable[] = [];
      const signing = await signatures(writing, undefined, found);
      while (found.length < count) await signing.once();
      const { rows } = await db.query<Customer>(
        `select c.account_id, c.id as connection_id, c.ean_code as ean, h.id as charger_id
           from core.connections c join core.chargers h on h.connection_id = c.id where c.id = any ($1)`,
        [found.map(({ connection_id }) => connection_id)],
      );
      for (const { connection_id } of rows) await run(`registration review ${connection_id} goedgekeurd`);
      await db.query("update core.accounts set iban_changed_at = private.now() - interval '3 days'");
      return rows;
    },
    /** The client delivers a month's total. */
    async deliver({ account_id }: Customer, period: string, total_kwh: number): Promise<string> {
      const body = { account_id, months: [{ period, total_kwh, session_count: 8 }] };
      const answer = await journal.send("months", "deliverMonths", { token: office.token, body });
      return answer?.body.results?.[0]?.status ?? String(answer?.status);
    },
    /** Opens and submits a booking of what may be booked: its id. */
    async book(quarter: string): Promise<string> {
      const { bookings } = await run(`booking open ${quarter} --partner demo`);
      const id: string = bookings[0].booking_id;
      await run(`booking submit ${id}`);
      return id;
    },
    /** Sells all that is credited and unsold: the sale's reference. */
    async sell(booking: string): Promise<string> {
      const { bookings } = await run(`booking list ${booking}`);
      const { ere, sold_ere } = bookings[0];
      const reference = `V-${++sales}`;
      const unsold = (ere - sold_ere).toFixed(6);
      await run(`sale record ${booking} --ere ${unsold} --price ${PRICE} --buyer Brandstof --reference ${reference}`);
      return reference;
    },
    /** Pays everybody who can be paid, through the bank. */
    async pay(): Promise<void> {
      const { batch } = await run("payout prepare", "anna");
      if (!batch) return;
      await run(`payout approve ${batch.batch_id}`, "bram");
      await run(`payout export ${batch.batch_id} --out ${file("bank.xml")}`, "anna");
      await run(`payout settle ${batch.batch_id}`, "anna");
    },
    /** The row of a customer in the file for the register. */
    async rowOf(booking: string, { ean }: Customer): Promise<string> {
      const out = file("register.csv");
      await run(`booking export ${booking} --out ${out}`);
      const row = readFileSync(out, "utf8")
        .split("\r\n")
        .find((line) => line.split(",").some((field) => field === ean));
      return row?.split(",")[0] ?? "";
    },
    /** What a customer was paid, and what the balance is: euro. */
    async money({ account_id }: Customer): Promise<{ paid: number; balance: number }> {
      const { account } = await run(`account show ${account_id}`);
      const { overview } = await run(`payout overview ${account_id} ${thisYear()}`);
      return { paid: overview.paid_eur, balance: account.balance_eur };
    },
    agrees: (when: string, check: Checking) => agrees(stack, when, check),
  };
  return office;
}

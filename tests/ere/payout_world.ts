// What stories about payouts begin with: customers with a balance, and two operators.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { sealIban } from "#shared/values/iban.ts";
import type { Partner } from "../harness/people.ts";
import { operatorOf, type Ran } from "../operator/operator.ts";
import { type Customer, createEreWorld, type EreWorld } from "./ere_world.ts";

export type Run = (command: string | string[], line?: string) => Promise<Ran>;

export type PayoutWorld = EreWorld & {
  /** Two operators, who have the keys of IBANs. */
  anna: Run;
  bram: Run;
  /** Books, credits and sells 1 ERE of a customer for each of these amounts, which is the gross; the service keeps 20 % of it. */
  sold: (
    euros: number[],
    options?: { partner?: Partner; fields?: Record<string, unknown>; period?: string },
  ) => Promise<Customer[]>;
  /** Sells an ERE of one more month of a customer. */
  sell: (customer: Customer, euro: number, period: string, partner?: Partner) => Promise<void>;
  /** Prepares, approves and exports a batch, and gives the file. */
  exported: (options?: string) => Promise<{ batch_id: string; xml: string }>;
  /** The lines of a batch. */
  linesOf: (batch_id: string) => Promise<Line[]>;
  /** Another IBAN, given so many hours ago. */
  setIban: (customer: Customer, iban: string, hours?: number) => Promise<void>;
  /** What is in the ledger of a kind, by owner. */
  balances: (kind: string) => Promise<Record<string, number>>;
  folder: string;
};

type Line = { line_id: string; payee: string; name: string; iban: string; amount_eur: number; status: string };

/** It is August 2026, and whoever has an IBAN has had it for long. */
export async function createPayoutWorld(): Promise<PayoutWorld> {
  const world = await createEreWorld();
  const folder = mkdtempSync(join(tmpdir(), "ere-payouts-"));
  const env = {
    IBAN_KEYS: JSON.stringify(world.environment.config.IBAN_KEYS),
    PAYOUT_ACCOUNT_NAME: "ERE Service B.V.",
    PAYOUT_ACCOUNT_IBAN: "NL20 INGB 0001 2345 67",
  };
  const [anna, bram] = (["operator_anna", "operator_bram"] as const).map((login) =>
    operatorOf(world.database, login, env),
  ) as [Run, Run];
  let sales = 0;
  let files = 0;

  const sell: PayoutWorld["sell"] = async (customer, euro, period, partner = world.partnerA) => {
    const quarter = `${period.slice(0, 4)}-Q${Math.ceil(Number(period.slice(5)) / 3)}`;
    await world.deliver(customer, { [period]: 10 }, partner); // 3.326940 ERE
    const { bookings } = await world.done(`booking open ${quarter} --partner ${partner.id}`);
    await world.done(`booking submit ${bookings[0].booking_id}`);
    await world.done(`booking credit ${bookings[0].booking_id}`);
    sales += 1;
    const sale = `sale record ${bookings[0].booking_id} --ere 1 --price ${euro} --buyer B --reference V-${sales}`;
    await world.done(sale);
  };

  return {
    ...world,
    folder,
    anna,
    bram,
    sell,
    async sold(euros, { partner = world.partnerA, fields = {}, period = "2026-04" } = {}) {
      const customers: Customer[] = [];
      for (const euro of euros) {
        const customer = await world.customer({}, partner, fields);
        await sell(customer, euro, period, partner);
        customers.push(customer);
      }
      // who is there has been there for long
      await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
      return customers;
    },
    async exported(options = "") {
      files += 1;
      const out = join(folder, `${files}.xml`);
      const prepared = await anna(`payout prepare ${options}`.trim());
      expect([prepared.code, prepared.err]).toEqual([0, ""]);
      const { batch_id } = prepared.json.batch;
      expect((await bram(["payout", "approve", batch_id, "--yes"])).code).toBe(0);
      const { code, err } = await anna(["payout", "export", batch_id, "--out", out]);
      expect([code, err]).toEqual([0, ""]);
      return { batch_id, xml: readFileSync(out, "utf8") };
    },
    async linesOf(batch_id) {
      return (await world.done(`payout show ${batch_id} --limit 1000`)).lines;
    },
    async setIban({ account_id }, iban, hours = 1000) {
      const { partner_id } = await world.row("select partner_id from core.accounts where id = $1", account_id);
      const { ciphertext, key_id, last4 } = sealIban(world.environment, partner_id, iban);
      await world.row(
        "update core.accounts set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4 where id = $1",
        account_id,
        ciphertext,
        key_id,
        last4,
      );
      await world.row(
        "update core.accounts set iban_changed_at = private.now() - make_interval(hours => $2) where id = $1",
        account_id,
        hours,
      );
    },
    async balances(kind) {
      const { rows } = await world.database.admin.query(
        "select owner, sum(balance)::float as balance from core.ledger_balances where kind = $1 and balance <> 0 group by owner order by owner",
        [kind],
      );
      return Object.fromEntries(rows.map(({ owner, balance }) => [owner, balance]));
    },
    async close() {
      rmSync(folder, { recursive: true });
      await world.close();
    },
  };
}

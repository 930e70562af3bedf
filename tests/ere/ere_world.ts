// What stories about bookings begin with: customers whose months can be booked, and an operator.

import { expect } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, newEan, type Partner } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { operatorOf, type Ran } from "../operator/operator.ts";

export type Customer = { account_id: string; connection_id: string; ean_code: string };

export type EreWorld = World & {
  /** A CPO's customer with all four gates open and an approved registration, and the months that were delivered; `fields` of the account. */
  customer: (months?: Record<string, number>, partner?: Partner, fields?: Record<string, unknown>) => Promise<Customer>;
  /** Delivers months, with a session for every ten kWh, and says what became of each. */
  deliver: (customer: Customer, months: Record<string, number>, partner?: Partner) => Promise<string[]>;
  /** Runs a command that succeeds, and gives its JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields it reads
  done: (command: string | string[]) => Promise<any>;
  /** Runs a command that is refused with this sentence. */
  refused: (command: string | string[], sentence: string | RegExp) => Promise<void>;
  run: (command: string | string[]) => Promise<Ran>;
  /** The status of each delivered month of a customer. */
  statuses: (customer: Customer) => Promise<Record<string, string>>;
  /** Everything in the ledger agrees with everything else. */
  agrees: () => Promise<void>;
};

/** A world in which it is August 2026: two quarters are over. */
export async function createEreWorld(): Promise<EreWorld> {
  const world = await createWorld({ now: "2026-08-15T12:00:00Z", limits: "lifted" });
  const run = operatorOf(world.database);

  const deliver: EreWorld["deliver"] = async ({ account_id }, months, partner = world.partnerA) => {
    const items = Object.entries(months).map(([period, total_kwh]) => ({
      period,
      total_kwh,
      session_count: Math.ceil(total_kwh / 10),
    }));
    const { body } = await world.post(
      "/v1/sessions:batch",
      { account_id, months: items },
      await partner.client.token(),
    );
    return body.results.map(({ status }: { status: string }) => status);
  };
  const done: EreWorld["done"] = async (command) => {
    const { code, err, json } = await run(command);
    expect([code, err]).toEqual([0, expect.not.stringContaining("error")]);
    return json;
  };

  return {
    ...world,
    deliver,
    run,
    done,
    async customer(months = {}, partner = world.partnerA, fields = {}) {
      const ean_code = newEan();
      const { account_id, connection_id } = await createAccount(world, partner, {
        connection: { ean_code, postal_code: "3818 LH", house_number: "8", street: "Dorpsstraat", city: "Amersfoort" },
        ...fields,
      });
      const charger = { account_id, ...MID_CHARGER, serial_number: `S${ean_code}` };
      expect((await world.post("/v1/chargers", charger, await partner.client.token())).status).toBe(200);
      await signMandate(world, account_id, partner);
      await done(`registration review ${connection_id} goedgekeurd`);
      const customer = { account_id, connection_id, ean_code };
      if (Object.keys(months).length > 0) await deliver(customer, months, partner);
      return customer;
    },
    async refused(command, sentence) {
      const { code, err, out } = await run(command);
      expect(err).toMatch(sentence);
      expect(err).toMatch(/^error: [^\n]+\.\n$/);
      expect([code, out]).toEqual([1, ""]);
    },
    async statuses({ connection_id }) {
      const { months } = await world.row(
        "select json_object_agg(to_char(period, 'YYYY-MM'), status order by period) as months from core.delivered_months where connection_id = $1",
        connection_id,
      );
      return months ?? {};
    },
    async agrees() {
      const { code, err, json } = await run("ledger check");
      expect([code, err, json?.ok, json?.wrong]).toEqual([0, "", true, []]);
    },
  };
}

/** The rows of a booking by EAN and month, as they stand. */
export async function rowsOf(world: World, booking_id: string) {
  const { rows } = await world.database.admin.query(
    `select r.id, r.account_id, r.ean_code, to_char(r.period, 'YYYY-MM') as period, r.status, r.kwh::text, c.accepted_kwh::text, c.ere::text
       from core.booking_rows r left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
      where r.booking_id = $1 order by r.ean_code, r.period`,
    [booking_id],
  );
  return rows as {
    id: string;
    account_id: string;
    ean_code: string;
    period: string;
    status: string;
    kwh: string;
    accepted_kwh: string | null;
    ere: string | null;
  }[];
}

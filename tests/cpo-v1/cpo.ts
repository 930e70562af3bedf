// What a CPO sees of an account of its own, and delivers for it, by HTTP as partner A's client.

import type { createAccount } from "../harness/people.ts";
import type { World } from "../harness/world.ts";

export type Account = Awaited<ReturnType<typeof createAccount>>;

/** @param world is read when something is asked: tests make it in beforeAll. */
export function cpoOf(world: () => World) {
  const token = () => world().partnerA.client.token();
  const find = async (list: string, { account }: Account) =>
    (await world().get(`/v1/${list}?cpo_external_ref=${account.cpo_external_ref}`, await token())).body;
  const positionOf = async (account: Account) => (await find("ere-positions", account)).positions[0];
  return {
    token,
    positionOf,
    connectionOf: async (account: Account) => (await find("accounts", account)).accounts[0].connections[0],
    /** Delivers 10 kWh for each of these months. @returns what became of each. */
    deliver: async ({ account_id }: Account, ...periods: string[]): Promise<string[]> => {
      const months = periods.map((period) => ({ period, total_kwh: 10 }));
      const { body } = await world().post("/v1/sessions:batch", { account_id, months }, await token());
      return body.results.map(({ status }: { status: string }) => status);
    },
    /** The status of each month delivered, by YYYY-MM. */
    monthsOf: async (account: Account): Promise<Record<string, string>> =>
      Object.fromEntries(
        (await positionOf(account)).delivered_months.map(({ period, status }: { period: string; status: string }) => [
          period.slice(0, 7),
          status,
        ]),
      ),
  };
}

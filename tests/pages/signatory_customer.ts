// A CPO's customer whose signatory comes back: a signed account by the API, and months that were delivered.

import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import type { World } from "../harness/world.ts";

export type SignedCustomer = { email: string; account_id: string; connection_id: string; partner: Partner };

export const newAddress = (): string => `tekenaar-${randomBytes(5).toString("hex")}@example.nl`;

/** Signed by the address, with a charger and an approved registration; `fields` of the account. */
export async function signedCustomer(
  world: World,
  {
    email = newAddress(),
    partner = world.partnerA,
    months = {},
    fields = {},
  }: { email?: string; partner?: Partner; months?: Record<string, number>; fields?: Record<string, unknown> } = {},
): Promise<SignedCustomer> {
  const person = { full_name: "Willem Bakker", email, phone: "0612345678" };
  const { account_id, connection_id } = await createAccount(world, partner, { person, ...fields });
  await signMandate(world, account_id, partner);
  if (Object.keys(months).length > 0) {
    const items = Object.entries(months).map(([period, total_kwh]) => ({ period, total_kwh, session_count: 8 }));
    const { status, body } = await world.post(
      "/v1/sessions:batch",
      { account_id, months: items },
      await partner.client.token(),
    );
    expect(status, JSON.stringify(body)).toBe(200);
  }
  return { email, account_id, connection_id, partner };
}

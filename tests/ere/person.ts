// A person with a charger, whose charging can be booked.

import { addCharger, ingest } from "../harness/chargers.ts";
import { giveMandate } from "../harness/mandate.ts";
import type { User } from "../harness/people.ts";
import type { World } from "../harness/world.ts";

export type Charging = User & { charge: (period: string, wh: number) => Promise<void> };

/** Charges in the months one asks for, 10 hours at a time. */
export async function addChargingPerson(world: World): Promise<Charging> {
  const user = await world.addUser();
  await giveMandate(world, user);
  const charger_id = await addCharger(world, user);
  await world.row(
    "update core.accounts set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '1' where id = $1",
    user.account_id,
  );
  await world.row(
    "insert into core.signatories (partner_id, account_id, owner_id, full_name) select partner_id, id, owner_id, 'Sanne de Vries' from core.accounts where id = $1",
    user.account_id,
  );
  await world.row("update core.connections set registration_status = 'goedgekeurd' where id = $1", user.connection_id);
  return {
    ...user,
    async charge(period, wh) {
      const [started_at, ended_at] = [`${period}-10T10:00:00Z`, `${period}-10T20:00:00Z`];
      await ingest(world, { charger_id, external_id: period, started_at, ended_at, wh });
    },
  };
}

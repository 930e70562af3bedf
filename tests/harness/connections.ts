// Connections, beside those that accounts are made with.

import { newEan } from "./people.ts";
import type { World } from "./world.ts";

/** Another active connection of an account at the same address, as an operator adds it; the newest unless told. */
export async function addConnection(
  world: World,
  account_id: string,
  fields: { ean_validation_status?: string; created_at?: string } = {},
): Promise<string> {
  const { id } = await world.row(
    `insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status, created_at)
     select partner_id, account_id, owner_id, location_id, $2, $3, coalesce($4::timestamptz, created_at + interval '1 day')
       from core.connections where account_id = $1 order by created_at desc limit 1 returning id`,
    account_id,
    newEan(),
    fields.ean_validation_status ?? "matched",
    fields.created_at,
  );
  return id;
}

/** What a connection has become. */
export const connectionState = (world: World, connection_id: string) =>
  world.row(
    `select c.ean_code, c.ean_validation_status, c.registration_status, l.postal_code, l.house_number, l.house_number_addition,
            l.street, l.city, m.mandate_status
       from core.connections c
       join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
       join core.connection_mandates m on m.connection_id = c.id
      where c.id = $1`,
    connection_id,
  );

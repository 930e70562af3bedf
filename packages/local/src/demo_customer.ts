// Gives the demo's person a past year on the sandbox. The demo's partner brought them a year ago. They claimed, signed
// and gave an IBAN, and were approved. Two chargers have charged for a year, and the last three quarters were booked,
// sold and paid. The functions of a rehearsal do all of it (docs/guides/rehearse.md). Only the past dates and sessions
// are written to the database directly.

import type pg from "pg";
import { operate } from "./customer.ts";
import { partnerApi } from "./demo_api.ts";
import { PARTNER } from "./demo_data.ts";
import { connected } from "./postgres.ts";
import type { Stack } from "./stack.ts";

const REFERENCE = "K-0001";
const ADDRESS = {
  ean: "871687110000000070",
  postal_code: "3818LH",
  house_number: "12",
  street: "Stationsplein",
  city: "Amersfoort",
};
const IBAN = "NL91ABNA0417164300";
/** One whose kWh earn ERE, and one without a MID meter, whose kWh are energy only. */
const CHARGERS = [
  {
    nickname: "Oprit",
    brand: "Alfen",
    model: "Eve Single Pro-line 3-phase",
    power_kw: 11,
    hour: 19,
    every: 2,
    wh: 14_000,
  },
  { nickname: "Schuur", brand: "Easee", model: "Home", power_kw: 7.4, hour: 9, every: 5, wh: 9_000 },
];
/** The first year of delivery. */
const FIRST_YEAR = 2026;
const DAY = 86_400_000;

type Customer = { user_id: string; account_id: string; partner_id: string };
type Quarter = readonly [year: number, quarter: number];

/** Takes every step, where the last was not taken: each changes nothing a second time. Who has an account by no claim is left as they are. */
export async function ensureCustomer(
  stack: Pick<Stack, "base_url" | "operator_database_url" | "demo">,
  adminUrl: string,
): Promise<void> {
  const client = await connected(adminUrl);
  try {
    const partner_id = stack.demo.partner.id;
    const { rows } = await client.query<{ id: string; name: string; month: string; done: boolean }>(
      `select u.id, p.name, to_char(private.today(), 'YYYY-MM') as month,
              exists (select from core.invoices i where i.partner_id = $2)
              or exists (select from core.accounts a where a.user_id = u.id and not exists (select from core.drafts d where d.account_id = a.id)) as done
         from auth.users u cross join lateral private.user_profile(u.id) p where u.email = $1`,
      [stack.demo.user.email, partner_id],
    );
    const [person] = rows;
    if (!person || person.done) return;
    const ask = partnerApi(stack);
    const { drafts } = await ask<{ drafts: unknown[] }>(`/partner/drafts?external_ref=${REFERENCE}`);
    if (drafts.length === 0) {
      const row = { naam: person.name, email: stack.demo.user.email, external_ref: REFERENCE, ...ADDRESS };
      await ask("/partner/customers", { consent: true, send_invite: false, type: "particulier", ...row });
    }
    const { account_id } = await ask<{ account_id: string }>(`/sandbox/v1/drafts/${REFERENCE}/claim`, { iban: IBAN });
    const quarters = settledQuarters(person.month);
    const operator = (name: string, input: object) => operate(stack.operator_database_url, name, input);
    const registration = await giveHistory(client, { user_id: person.id, account_id, partner_id }, quarters);
    if (registration === "ingediend")
      await ask(`/sandbox/v1/customers/${account_id}/review`, { outcome: "goedgekeurd" });
    const settle = ([year, quarter]: Quarter) => ask("/sandbox/v1/settle", { quarter: `${year}-Q${quarter}` });
    for (const quarter of quarters) await settle(quarter);
    for (const [year, quarter] of quarters) {
      await operator("figures_publish", { delivery_year: year });
      await operator("invoice_issue", { quarter: `${year}-Q${quarter}`, partner: PARTNER.slug });
    }
    const last = quarters.at(-1);
    if (last) await settle(last); // once more: an invoice is paid its VAT
  } finally {
    await client.end();
  }
}

/** The three quarters before a month (YYYY-MM), oldest first: the past year has every day of them. None before the first year of delivery. */
function settledQuarters(month: string): Quarter[] {
  const [year = 0, number = 1] = month.split("-").map(Number);
  const running = year * 4 + Math.floor((number - 1) / 3);
  return [3, 2, 1]
    .map((ago): Quarter => [Math.floor((running - ago) / 4), ((running - ago) % 4) + 1])
    .filter(([year]) => year >= FIRST_YEAR);
}

/**
 * Writes what takes a year, in one transaction: the dates of the customer, the mandate and the IBAN, and the charging
 * sessions.
 */
async function giveHistory(
  client: pg.Client,
  { user_id, account_id, partner_id }: Customer,
  quarters: readonly Quarter[],
): Promise<string | undefined> {
  const readConnection = () =>
    client.query<{ connection_id: string; registration_status: string; chargers: boolean }>(
      `select c.id as connection_id, c.registration_status, exists (select from core.chargers h where h.account_id = $1) as chargers
         from core.connections c where c.account_id = $1`,
      [account_id],
    );
  await client.query("begin");
  try {
    const [before] = (await readConnection()).rows;
    if (before && !before.chargers) {
      await client.query(
        "update core.attributions set attached_month = date_trunc('month', private.today()) - interval '12 months' where user_id = $1",
        [user_id],
      );
      await client.query(
        `with account as (update core.accounts set iban_changed_at = private.now() - interval '1 year' where id = $1)
         update core.partners set iban_changed_at = private.now() - interval '1 year' where id = $2`,
        [account_id, partner_id],
      );
      const [oldest] = quarters;
      if (oldest) {
        await client.query(
          "update core.mandates set valid_from = least(valid_from, make_date($2, 1, 1)) where connection_id = $1",
          [before.connection_id, oldest[0]],
        );
      }
      for (const charger of CHARGERS) await addCharger(client, user_id, before.connection_id, charger);
      await client.query("select private.set_tenant(private.people_tenant()), private.advance_registration($1)", [
        account_id,
      ]);
    }
    const [after] = (await readConnection()).rows;
    await client.query("commit");
    return after?.registration_status;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/** Sessions come in as they do from the gateway, up to yesterday. */
async function addCharger(
  client: pg.Client,
  user_id: string,
  connection_id: string,
  charger: (typeof CHARGERS)[number],
): Promise<void> {
  const { nickname, brand, model, power_kw, hour, every, wh } = charger;
  const { rows } = await client.query<{ id: string }>(
    `insert into core.chargers
       (partner_id, account_id, connection_id, owner_id, user_id, catalog_charger_id, brand, mid_eligible, nickname, connection_type, power_kw, created_at)
     select c.partner_id, c.account_id, c.id, c.owner_id, $1, m.id, m.brand, m.mid_meter, $3, 'ocpp', $6, clock_timestamp()
       from core.connections c, core.charger_models m where c.id = $2 and m.brand = $4 and m.model = $5 returning id`,
    [user_id, connection_id, nickname, brand, model, power_kw],
  );
  const today = Math.floor(Date.now() / DAY) * DAY;
  const iso = (moment: number) => new Date(moment).toISOString();
  const sessions = Array.from({ length: Math.floor(365 / every) }, (_, n) => {
    const started_at = today - (n + 1) * every * DAY + hour * 3_600_000 + ((n * 17) % 60) * 60_000;
    const charged = wh + ((n * 631) % 5000); // no two alike, and the same on every machine
    const ended_at = started_at + (charged / power_kw) * 3600;
    return {
      charger_id: rows[0]?.id,
      source: "demo",
      external_id: iso(started_at).slice(0, 10),
      started_at: iso(started_at),
      ended_at: iso(ended_at),
      wh: charged,
    };
  });
  await client.query(
    `with acting as materialized (select private.set_tenant(private.people_tenant()))
     select r.status from acting cross join lateral private.store_sessions($1) r`,
    [JSON.stringify(sessions)],
  );
}

// A rule that several places speak of is one rule: they agree.

import { afterAll, beforeAll, expect, test } from "vitest";
import { newPartnerKey } from "#shared/auth/tokens.ts";
import { STEP_NAMES } from "#shared/domain/claim/model.ts";
import { GATES } from "#shared/values/gates.ts";
import { CPO_SCOPES, PERSONAL_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";
import { addCharger, ingest } from "../harness/chargers.ts";
import { giveMandate } from "../harness/mandate.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

test("§5 the scopes that SQL knows are those of the API, in the same order", async () => {
  const { client, personal_token, user } = await world.row(
    "select private.scopes_of('client') as client, private.scopes_of('personal_token') as personal_token, private.scopes_of('user') as user",
  );
  expect({ client, personal_token, user }).toEqual({
    client: Object.keys(CPO_SCOPES),
    personal_token: PERSONAL_SCOPES,
    user: Object.keys(USER_SCOPES),
  });
});

test("§2 the gates that SQL judges are those of the API, in the same order and needed for the same", async () => {
  const { rows } = await world.database.admin.query(
    "select name, needed_for from private.gates(null, null, false, false)",
  );
  expect(rows).toEqual(Object.entries(GATES).map(([name, { needed_for }]) => ({ name, needed_for })));
});

test("§4 Dutch midnight, the end of a quarter and the 48 hours of a new IBAN are one function each", async () => {
  const { rows } = await world.database.admin.query(`
    select p.oid::regproc::text as name from pg_proc p
     where p.pronamespace::regnamespace::text in ('core', 'api', 'ops', 'private')
       and coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) ~* 'Europe/Amsterdam|[''"(]3 mons|3 months|changed_at [^,]*48'
     order by 1`);
  expect(rows.map(({ name }) => name)).toEqual([
    // as a bank writes a moment, without a zone
    "ops.payout_export",
    ...["dutch_day", "dutch_midnight", "iban_held_until", "next_quarter", "today"].map((name) => `private.${name}`),
  ]);
});

test("contract §4 the steps of a claim are the same in SQL and on the pages, in the same order", async () => {
  expect(await world.row("select private.claim_steps() as steps")).toEqual({ steps: STEP_NAMES });
});

test("§5 no client and no token is stored with another scope", async () => {
  const person = await world.addUser();
  await person.token(...PERSONAL_SCOPES);
  await expect(person.token("partners:read")).rejects.toThrow("personal_tokens_scopes_known");
  await expect(world.addClient(null, { scopes: ["cpo:everything"] })).rejects.toThrow("oauth_clients_scopes_known");
  await world.addClient(null, { scopes: [...Object.keys(CPO_SCOPES), ...Object.keys(USER_SCOPES)] });
});

test("§4 a month counts toward ERE in every answer or in none: sessions, energy, position and the partner's dashboard", async () => {
  await world.freeze("2026-08-15T12:00:00Z");
  const { api_key, stored } = newPartnerKey(world.environment.config);
  await world.row(
    "insert into core.partner_keys (partner_id, key_hash, prefix, last4) values ($1, decode($2, 'hex'), $3, $4)",
    world.partnerA.id,
    stored.key_hash,
    stored.prefix,
    stored.last4,
  );
  const person = await world.addUser();
  const token = await person.token();
  await world.row(
    "insert into core.attributions (partner_id, user_id, source, attached_month) values ($1, $2, 'manual', '2026-01-01')",
    world.partnerA.id,
    person.id,
  );
  const charger_id = await addCharger(world, person);
  const inMonth = (month: number, wh: number) => ({
    charger_id,
    external_id: String(month),
    started_at: `2026-0${month}-10T12:00:00Z`,
    ended_at: `2026-0${month}-10T13:00:00Z`,
    wh,
  });

  /** ERE by month as each of the four tells it; a month without any is left out. */
  async function tellings() {
    const get = async (path: string, bearer = token) => (await world.get(path, bearer)).body;
    const { sessions } = await get("/sessions");
    const byMonth = (months: { month: string; ere_credits: number }[]) =>
      Object.fromEntries(months.filter((each) => each.ere_credits > 0).map((each) => [each.month, each.ere_credits]));
    type Session = { started_at: string; ere_credits: number | null };
    return {
      sessions: byMonth(
        sessions.map((each: Session) => ({ month: each.started_at.slice(0, 7), ere_credits: each.ere_credits ?? 0 })),
      ),
      energy: byMonth((await get("/energy")).months),
      dashboard: byMonth((await get("/partner/dashboard", api_key)).months),
      position: (await get("/ere-position")).quarters.reduce(
        (sum: number, { ere_credits }: { ere_credits: number }) => Math.round((sum + ere_credits) * 100) / 100,
        0,
      ) as number,
    };
  }
  const agreed = (months: Record<string, number>, position: number) => ({
    ...{ sessions: months, energy: months, dashboard: months },
    position,
  });

  // one charge a month, of 10 kWh: worth 3.33 ERE
  await ingest(world, ...[1, 3, 5, 7].map((month) => inMonth(month, 10_000)));
  expect(await tellings(), "nobody has signed").toEqual(agreed({}, 0));

  await giveMandate(world, person, "2026-01-01", "2026-06-30");
  expect(await tellings(), "signed until July").toEqual(
    agreed({ "2026-01": 3.33, "2026-03": 3.33, "2026-05": 3.33 }, 9.98),
  );

  await world.row(
    "update core.delivered_months set status = 'registered' where connection_id = $1 and period = '2026-03-01'",
    person.connection_id,
  );
  await world.row("update core.mandates set status = 'revoked' where connection_id = $1", person.connection_id);
  expect(await tellings(), "revoked, after March was booked").toEqual(agreed({ "2026-03": 3.33 }, 3.33));
});

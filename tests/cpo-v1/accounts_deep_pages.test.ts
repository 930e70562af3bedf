import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

// Far down the list a page jumps by the hours of core.account_counts: what it shows must be what counting would have shown.

let world: World;
let token: string;
/** The ids of 2,600 accounts, newest first, as the database sorts them. */
let ids: string[];
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
  const other = await world.addClient(world.partnerA.id);
  // hours of very different size, one of them empty, many accounts of one instant, and as many of another client in between
  const made = await world.database.admin.query(
    `with account as (
       insert into core.accounts (partner_id, client_id, type, payout_handler, created_at)
       select c.partner_id, c.id, 'particulier', 'service_pays_customer',
            timestamptz '2026-03-01T00:00:00Z' + case when n <= 700 then interval '0' when n <= 701 then interval '1 hour'
              when n <= 1900 then interval '3 hours' + (n % 7) * interval '10 minutes' else interval '4 hours' + (n - 1900) * interval '1 minute' end
         from core.oauth_clients c, generate_series(1, 2600) n where c.client_id in ($1, $2) returning *)
     insert into core.signatories (partner_id, account_id, owner_id, full_name) select partner_id, id, client_id, 'Sanne de Vries' from account`,
    [world.partnerA.client.client_id, other.client_id],
  );
  expect(made.rowCount).toBe(5200);
  ids = await newest();
  expect(ids).toHaveLength(2600);
});
afterAll(() => world.close());

async function newest(): Promise<string[]> {
  const { rows } = await world.database.admin.query<{ id: string }>(
    `select a.id from core.accounts a join core.oauth_clients c on c.id = a.client_id
      where c.client_id = $1 order by a.created_at desc, a.id desc`,
    [world.partnerA.client.client_id],
  );
  return rows.map(({ id }) => id);
}

const page = async (path: string, offset: number, limit = 20) => {
  const { status, body } = await world.get(`${path}?limit=${limit}&offset=${offset}`, token);
  expect(status).toBe(200);
  const rows: { account_id: string }[] = body.accounts ?? body.positions;
  return { ids: rows.map(({ account_id }) => account_id), count: body.count, has_more: body.has_more };
};

test.each(["/v1/accounts", "/v1/ere-positions"])("contract §1 %s shows the same at any offset", async (path) => {
  // around the thousandth, around each border of an hour, and around the end
  const borders = [0, 700, 999, 1000, 1001, 1898, 1899, 1900, 2579, 2580, 2581, 2599, 2600, 2601, 5000];
  const hours = [1920, 2580].flatMap((border) => [border - 1, border, border + 1]);
  for (const offset of [...borders, ...hours])
    expect([offset, await page(path, offset)]).toEqual([
      offset,
      {
        ids: ids.slice(offset, offset + 20),
        count: Math.max(Math.min(20, 2600 - offset), 0),
        has_more: offset + 20 < 2600,
      },
    ]);
});

test("contract §1 pages of 200 neither repeat nor skip, down to the oldest", async () => {
  const seen: string[] = [];
  for (let offset = 0; offset < 2600; offset += 200) seen.push(...(await page("/v1/accounts", offset, 200)).ids);
  expect(seen).toEqual(ids);
});

test("contract §1 it stays so when an account is made, and when accounts are gone", async () => {
  await createAccount(world);
  await world.database.admin.query("delete from core.signatories where account_id = any ($1)", [ids.slice(1300, 1400)]);
  await world.database.admin.query("delete from core.accounts where id = any ($1)", [ids.slice(1300, 1400)]);
  const left = await newest();
  expect(left).toHaveLength(2501);
  for (const offset of [1000, 1299, 1300, 1301, 1800, 2480, 2500, 2501])
    expect([offset, (await page("/v1/accounts", offset)).ids]).toEqual([offset, left.slice(offset, offset + 20)]);
});

test("contract §1 ten accounts at once are all counted", async () => {
  const counted = async () => {
    const { n } = await world.row(
      "select sum(k.accounts)::int as n from core.account_counts k join core.oauth_clients c on c.id = k.owner_id where c.client_id = $1",
      world.partnerA.client.client_id,
    );
    return n as number;
  };
  const before = await counted();
  await Promise.all(Array.from({ length: 10 }, () => createAccount(world)));
  expect(await counted()).toBe(before + 10);
});

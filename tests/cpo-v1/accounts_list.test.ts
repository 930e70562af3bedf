import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let token: string;
/** The ids of seven accounts, newest first; the middle three were created in one instant. */
let ids: string[];
let references: string[];
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  const created: { account_id: string; account: { cpo_external_ref: string } }[] = [];
  for (const second of [0, 1, 2, 2, 2, 3, 4]) {
    await world.freeze(`2026-11-20T12:00:0${second}Z`);
    created.push(await createAccount(world));
  }
  token = await world.partnerA.client.token();
  await createAccount(world, world.partnerB);
  await createAccount(world, { id: world.partnerA.id, client: await world.addClient(world.partnerA.id) });
  const [a, b, ...rest] = created;
  const newest = [...rest.slice(3).reverse(), ...rest.slice(0, 3), b, a];
  references = newest.map((one) => one?.account.cpo_external_ref ?? "");
  ids = newest.map((one) => one?.account_id ?? "");
  // among equals the id decides
  ids.splice(2, 3, ...ids.slice(2, 5).sort().reverse());
});
afterAll(() => world.close());

const list = async (query: string) => {
  const { status, body } = await world.get(`/v1/accounts${query}`, token);
  expect(status).toBe(200);
  return { ...body, ids: body.accounts.map((account: { id: string }) => account.id) };
};

describe("§4.1 GET /v1/accounts lists the client's own accounts, newest first", () => {
  test("§4.1 it gives all of them, in a total order", async () => {
    const page = await list("");
    expect(page).toMatchObject({ ids, limit: 50, offset: 0, count: 7, has_more: false });
  });

  test.each([1, 2, 3, 5, 6, 7, 8])("contract §1 pages of %i neither repeat nor skip", async (limit) => {
    const seen: string[] = [];
    for (let offset = 0; offset < 7; offset += limit) {
      const page = await list(`?limit=${limit}&offset=${offset}`);
      expect(page.count).toBe(Math.min(limit, 7 - offset));
      expect(page.has_more).toBe(offset + limit < 7);
      seen.push(...page.ids);
    }
    expect(seen).toEqual(ids);
  });

  test("contract §1 a page beyond the end is empty", async () => {
    expect(await list("?offset=7")).toMatchObject({ ids: [], count: 0, has_more: false, offset: 7 });
    expect(await list("?offset=9007199254740991")).toMatchObject({ ids: [], count: 0, has_more: false });
  });

  test("contract §9 rows added while paging may repeat a row, never skip one", async () => {
    const first = await list("?limit=4");
    await world.freeze("2026-11-20T12:00:10Z");
    const { account_id } = await createAccount(world);
    const second = await list("?limit=4&offset=4");
    expect(new Set([...first.ids, ...second.ids])).toEqual(new Set(ids));
    await world.row(
      `with c as (delete from core.connections where account_id = $1), s as (delete from core.signatories where account_id = $1)
       delete from core.accounts where id = $1`,
      account_id,
    );
  });

  test("§2 archived connections are listed too, in the order they were made", async () => {
    const [id] = ids;
    await world.row(
      `insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, status, created_at)
       select partner_id, account_id, owner_id, location_id, '871687199999999999', 'archived', created_at - interval '1 day'
         from core.connections where account_id = $1`,
      id,
    );
    const { body } = await world.get("/v1/accounts?limit=1", token);
    expect(body.accounts[0].connections.map((one: { status: string }) => one.status)).toEqual(["archived", "active"]);
    expect(body.accounts[0].connections[0].ean_validation_status).toBeNull();
  });
});

describe("§8 limit and offset are read leniently and never give 400", () => {
  test.each([
    ["", 50],
    ["?limit=", 50],
    ["?limit=0", 50],
    ["?limit=abc", 50],
    ["?limit=NaN", 50],
    ["?limit=1,5", 50],
    ["?limit=%00", 50],
    ["?limit[]=3", 50],
    ["?limit=-1", 1],
    ["?limit=-999999999999999999999", 1],
    ["?limit=1", 1],
    ["?limit=3.9", 3],
    ["?limit=200", 200],
    ["?limit=201", 200],
    ["?limit=1e308", 200],
  ])("§8 %s reads as a limit of %i", async (query, limit) => {
    expect((await list(query)).limit).toBe(limit);
  });

  test.each([
    ["?offset=", 0],
    ["?offset=-1", 0],
    ["?offset=abc", 0],
    ["?offset=NaN", 0],
    ["?offset=0", 0],
    ["?offset=2", 2],
    ["?offset=2.9", 2],
    ["?offset=99999999999999999999999", Number.MAX_SAFE_INTEGER],
  ])("§8 %s reads as an offset of %i", async (query, offset) => {
    expect((await list(query)).offset).toBe(offset);
  });
});

describe("§4.1 cpo_external_ref returns only that account", () => {
  test("§4.1 it is trimmed, and no other page field changes", async () => {
    const page = await list(`?cpo_external_ref=%20${references[1]}%20&limit=5`);
    expect(page).toMatchObject({ count: 1, has_more: false, limit: 5, offset: 0 });
    expect(page.accounts[0].cpo_external_ref).toBe(references[1]);
  });

  test.each([
    ["an unknown one", () => "nobody"],
    ["another case", () => references[0]?.toLowerCase() ?? ""],
    ["a pattern", () => "KL-%"],
    ["a NUL inside a known one", () => references[0]?.replace("-", "%00-") ?? ""],
    ["only a NUL", () => "%00"],
  ])("§4.1 a reference that is %s finds nothing", async (_name, reference) => {
    expect(await list(`?cpo_external_ref=${reference()}`)).toMatchObject({ ids: [], count: 0, has_more: false });
  });

  test("§4.1 an empty reference is none", async () => {
    expect((await list("?cpo_external_ref=%20&limit=200")).count).toBe(7);
  });
});

// GET /partner/customers: who is disclosed, who is not, and that nothing else tells (specification section 4.2).

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimKey } from "#shared/domain/claim/links.ts";
import { addCustomer, createPartnerWorld, type PartnerWorld, SECRETS } from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
  for (const [index, source] of [...DISCLOSING, ...HIDING].entries())
    await addCustomer(world, world.partnerA, source, { ...SECRETS, ...unique(index), external_ref: `REF-${source}` });
});
afterAll(() => world.close());

const DISCLOSING = ["partner_upload", "partner_invite"];
const HIDING = ["referral_link", "referral_code", "oauth_consent", "manual"];
const IDENTITY = ["naam", "email", "phone", "postal_code", "street", "house_number", "registration_status"];

/** Values nobody else has, so that finding one is finding this person. */
const unique = (index: number) => ({
  full_name: `Geheim ${index}x`,
  email: `geheim${index}x@persoon.nl`,
  phone: `+3169999999${index}`,
  postal_code: `999${index}ZZ`,
  street: `Geheimstraat${index}`,
  house_number: 7000 + index,
  addition: `Q${index}`,
});

const list = async (token = world.keyA) =>
  (await world.get("/partner/customers", token)).body.customers as Record<string, unknown>[];

describe("§4.2 disclosure", () => {
  test.each(DISCLOSING)("§4.2 %s shows who it is", async (source) => {
    const customer = (await list()).find((each) => each.source === source);
    const index = DISCLOSING.indexOf(source);
    expect(customer).toEqual({
      customer_ref: expect.stringMatching(/^cus_[0-9a-f]{32}$/),
      external_ref: `REF-${source}`,
      naam: unique(index).full_name,
      email: unique(index).email,
      phone: unique(index).phone,
      postal_code: unique(index).postal_code,
      street: unique(index).street,
      house_number: `${unique(index).house_number} ${unique(index).addition}`,
      registration_status: "afgekeurd",
      mail_failed_at: null,
      mail_failed_reason: null,
      city: "Amersfoort",
      attached_month: "2026-10-01",
      is_active: true,
      effective_fee_pct: 20,
      partner_share_pct: 25,
      source,
      type: "particulier",
      charger_brand: "Alfen",
      charger_model: expect.any(String),
      charger_connection_type: "ocpp",
      charger_mid_eligible: true,
      charger_count: 1,
      has_charger: true,
      brand_asked_at: null,
    });
  });

  test.each(HIDING)("§4.2 %s has none of the seven identity keys, and no value of them anywhere", async (source) => {
    const customer = (await list()).find((each) => each.source === source);
    expect(customer).toBeDefined();
    for (const key of IDENTITY) expect(customer).not.toHaveProperty(key);
    // the opaque reference is hex of a keyed hash, which may hold any four digits by chance; that it reveals nothing is proved below
    const { customer_ref, ...rest } = customer ?? {};
    expect(customer_ref).toMatch(/^cus_[0-9a-f]{32}$/);
    const text = JSON.stringify(rest);
    for (const value of Object.values(unique([...DISCLOSING, ...HIDING].indexOf(source))))
      expect(text).not.toContain(String(value));
    expect(text).not.toContain("afgekeurd");
  });

  test("no column of the person's own rows is in a hidden row: each is changed in turn, and the answer stays", async () => {
    const id = await addCustomer(world, world.partnerB, "referral_link", unique(8));
    const before = await list(world.keyB);
    const hidden: [string, string][] = [
      [
        "core.signatories set full_name = 'Ander', email = 'ander@persoon.nl', phone = '+31600000000' where account_id",
        "account",
      ],
      [
        "core.accounts set display_name = 'Ander', iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '9999', company = '{\"name\": \"Ander\"}' where id",
        "account",
      ],
      [
        "core.connections set registration_status = 'goedgekeurd', ean_code = '999999999999999999', ean_validation_status = 'manual' where account_id",
        "account",
      ],
      [
        "core.locations set postal_code = '1111AA', house_number = 1, house_number_addition = null, street = 'Ander' where id",
        "location",
      ],
      [
        "core.chargers set serial_number = 'X1', nickname = 'Bij Ander', ocpp_identity = null, last_seen_at = now() where account_id",
        "account",
      ],
      [
        "auth.users set email = 'ander@persoon.nl', phone = '+31600000000', raw_user_meta_data = '{\"name\": \"Ander\"}', created_at = '2020-01-01' where id",
        "person",
      ],
    ];
    const { account, location } = await world.row(
      "select a.id as account, c.location_id as location from core.accounts a join core.connections c on c.account_id = a.id where a.user_id = $1",
      id,
    );
    for (const [change, of] of hidden) {
      await world.row(`update ${change} = $1`, { account, location, person: id }[of]);
      expect([change, await list(world.keyB)]).toEqual([change, before]);
    }
  });

  test("§4.5 to an application everybody is pseudonymised, the two disclosing sources as well", async () => {
    const customers = await list(await world.manager(world.partnerA, "partners:read"));
    expect(customers).toHaveLength(6);
    for (const customer of customers) {
      for (const key of IDENTITY) expect(customer).not.toHaveProperty(key);
      expect(customer.external_ref).toBeNull();
    }
    expect(JSON.stringify(customers)).not.toMatch(/geheim|REF-|9999999/i);
    expect(customers.map(({ customer_ref }) => customer_ref)).toEqual(
      (await list()).map(({ customer_ref }) => customer_ref),
    );
  });

  test("contract §4 customer_ref is stable, another for every partner, and holds no id", async () => {
    const [first] = await list();
    expect((await list())[0]?.customer_ref).toBe(first?.customer_ref);
    const { id, owner } = await world.row(
      "select user_id as id, partner_id as owner from core.attributions where partner_id = $1 order by created_at desc, user_id desc limit 1",
      world.partnerA.id,
    );
    expect(String(first?.customer_ref)).not.toContain(id.slice(0, 8));
    await world.row("update core.attributions set partner_id = $2 where user_id = $1", id, world.partnerB.id);
    const moved = (await list(world.keyB)).map(({ customer_ref }) => customer_ref);
    expect(moved).not.toContain(first?.customer_ref);
    await world.row("update core.attributions set partner_id = $2 where user_id = $1", id, owner);
  });

  test("another partner sees none of them, and neither do its filters: there are none", async () => {
    const texts = JSON.stringify(await list(world.keyB));
    for (let index = 0; index < 6; index++) expect(texts).not.toContain(unique(index).full_name);
    for (const query of ["?email=geheim0x@persoon.nl", "?naam=Geheim", "?source=manual", "?sort=naam", "?limit=1"])
      expect((await world.get(`/partner/customers${query}`, world.keyA)).body.customers).toHaveLength(6);
  });
});

describe("§4.2 order and size", () => {
  test("§4.2 newest profile first, by attribution alone: neither name, address nor age of the login moves a row", async () => {
    const { partnerB } = world;
    const made = [
      await addCustomer(world, partnerB, "manual", { full_name: "Aa", created_at: "2026-11-01T00:00:00Z" }),
      await addCustomer(world, partnerB, "manual", { full_name: "Zz", created_at: "2026-11-03T00:00:00Z" }),
      await addCustomer(world, partnerB, "partner_upload", { full_name: "Mm", created_at: "2026-11-02T00:00:00Z" }),
    ];
    const order = async () => (await list(world.keyB)).map(({ customer_ref }) => customer_ref);
    const before = await order();
    for (const [index, id] of made.entries())
      await world.row(
        "update auth.users set created_at = $2, email = $3 where id = $1",
        id,
        `200${index}-01-01`,
        `${9 - index}@x.nl`,
      );
    expect(await order()).toEqual(before);
    const inTime = (await list(world.keyB)).filter(({ source }) => source === "partner_upload" || source === "manual");
    expect(inTime.map(({ source }) => source)).toEqual(["manual", "partner_upload", "manual"]);
  });

  test("a customer who has only a login yet is in the list, with nothing to show", async () => {
    const id = crypto.randomUUID();
    await world.row("insert into auth.users (id, email) values ($1, $2)", id, `${id}@voorbeeld.nl`);
    await world.row("select private.reserve_customer($1, $2, 'partner_upload')", id, world.partnerB.id);
    expect((await list(world.keyB))[0]).toMatchObject({
      naam: null,
      is_active: false,
      has_charger: false,
      charger_count: 0,
      city: null,
    });
  });

  test.each([4_999, 5_000, 5_001, 15_000, 15_500])(
    "the list is streamed in stretches: %i customers arrive once each, in order, and parse as one JSON",
    async (count) => {
      const { id } = await world.row(
        "insert into core.partners (name, slug) values ($1, $1) returning id",
        `veel-${count}`,
      );
      // three in each second, so that the id decides among them, at a border too
      await world.row(
        `with people as (insert into auth.users (id, email) select gen_random_uuid(), 'p' || n || '@' || $2 || '.nl' from generate_series(1, $3::int) n returning id)
         insert into core.attributions (partner_id, user_id, source, external_ref, attached_month, created_at)
         select $1, id, 'partner_upload', id, '2026-11-01', now() - make_interval(secs => (row_number() over ())::int / 3) from people`,
        id,
        String(count),
        count,
      );
      const { rows } = await world.database.admin.query(
        "select user_id::text as id from core.attributions where partner_id = $1 order by created_at desc, user_id desc",
        [id],
      );
      const customers = await list(await world.key({ ...world.partnerA, id }));
      expect(customers.map(({ external_ref }) => external_ref)).toEqual(rows.map((row) => row.id));
    },
  );

  test("whatever the size of a stretch, and however many accounts, connections and chargers somebody has, everybody is there once", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Meer', 'meer') returning id");
    const partner = { ...world.partnerA, id };
    for (let index = 0; index < 7; index++)
      await addCustomer(world, partner, "partner_upload", {
        external_ref: String(index),
        created_at: `2026-11-0${1 + Math.floor(index / 2)}T00:00:00Z`,
        house_number: 100 + index,
      });
    // a second account, which does not count; connections of which the third is signed, and one that is archived; more chargers
    await world.row(
      `with account as (
         insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler, created_at)
         select private.people_tenant(), user_id, 'user', 'vve', 'service_pays_customer', now() + interval '1 day' from core.attributions where partner_id = $1),
       own as (select b.* from core.accounts b join core.attributions a on a.user_id = b.user_id where a.partner_id = $1),
       connection as (
         insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, registration_status, status, created_at)
         select o.partner_id, o.id, o.user_id, l.id, lpad((abs(hashtextextended(o.id::text || n, 0)) % 1000000000000000000)::text, 18, '0'),
                'concept', case when n = 3 then 'archived' else 'active' end, now() - make_interval(days => n)
           from own o, generate_series(1, 3) n, (select id from core.locations where partner_id = private.people_tenant() limit 1) l)
       insert into core.chargers (partner_id, account_id, owner_id, user_id, nickname, connection_type, status, removed_at, created_at)
       select o.partner_id, o.id, o.user_id, o.user_id, 'n' || n, case n when 1 then 'easee' else 'zaptec' end, case when n = 3 then 'removed' else 'active' end, case when n = 3 then now() end,
              now() + make_interval(days => n)
         from own o, generate_series(1, 3) n`,
      id,
    );
    const whole = await list(await world.key(partner));
    expect(whole.map(({ external_ref }) => external_ref).sort()).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
    for (const customer of whole)
      expect(customer).toMatchObject({
        house_number: `${100 + Number(customer.external_ref)} ${SECRETS.addition}`,
        registration_status: "afgekeurd",
        is_active: true,
        type: "particulier",
        charger_connection_type: "zaptec",
        charger_count: 3,
        has_charger: true,
      });
    const key = claimKey(world.environment);
    const caller = { kind: "partner", partner_id: id, host: world.environment.config.API_HOST, request_id: "test" };
    const stretch = async (query: object) =>
      JSON.parse(await world.environment.db.call("list_customers", caller, { key, ...query }));
    for (const size of [1, 2, 3, 6, 7, 8]) {
      const { borders, customers } = await stretch({ size });
      expect(borders).toHaveLength(Math.ceil(7 / size) - 1);
      for (const [index, after] of borders.entries())
        customers.push(...(await stretch({ after, until: borders[index + 1] ?? null })).customers);
      expect([size, customers]).toEqual([size, whole]);
    }
  });

  test("a partner without customers has an empty list", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Geen', 'geen') returning id");
    expect(await list(await world.key({ ...world.partnerA, id }))).toEqual([]);
  });
});

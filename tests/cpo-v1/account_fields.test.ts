import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountBody, newEan } from "../harness/people.ts";
import { createWorld, rowCounts, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

const stored = () => rowCounts(world, "accounts", "signatories", "connections", "locations", "ean_checks");

/** An account's body with the field at `path` ("connection.city") set. */
function bodyWith(path: string, value: unknown): Record<string, unknown> {
  const [outer = "", inner] = path.split(".");
  const body = accountBody();
  return { ...body, [outer]: inner ? { ...(body[outer] as object), [inner]: value } : value };
}

async function create(path: string, value: unknown) {
  const { status, body } = await world.post("/v1/accounts", bodyWith(path, value), token);
  expect(status, JSON.stringify(body)).toBe(200);
  return world.row(
    `select c.ean_code, l.*, s.full_name, s.email, s.phone, a.company, a.display_name
       from core.connections c
       join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
       join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
       join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
      where c.id = $1`,
    body.connection_id,
  );
}

/** Refused as a broken field rule, at that field, in words; nothing stored. */
async function refuse(path: string, value: unknown) {
  const before = await stored();
  const { status, body } = await world.post("/v1/accounts", bodyWith(path, value), token);
  expect([status, body.error], JSON.stringify(body)).toEqual([400, "invalid_request"]);
  expect(body.issues[0]).toEqual({ path, message: expect.stringMatching(/^(?!Invalid input$).+/) });
  expect(body.detail).toBe(`${path}: ${body.issues[0].message}`);
  expect(await stored()).toEqual(before);
}

describe("contract §2 a connection's EAN is 18 digits, spaces and dots removed", () => {
  const ean = newEan();
  test.each([
    ["spaces", ean.replace(/(\d{6})/g, "$1 ")],
    ["dots", newEan().replace(/^../, "$&.")],
    ["a wrong GS1 check digit", "871687000000123450"],
  ])("contract §2 an EAN with %s is taken", async (_name, sent) => {
    expect((await create("connection.ean_code", sent)).ean_code).toBe(sent.replace(/\D/g, ""));
  });
  test.each([
    ["17 digits", "8".repeat(17)],
    ["19 digits", "8".repeat(19)],
    ["letters", "87168700000000001A"],
    ["digits of another script", "٨".repeat(18)],
    ["a number", 871687],
    ["null", null],
    ["absent", undefined],
    ["empty", ""],
  ])("contract §2 an EAN of %s is refused", (_name, sent) => refuse("connection.ean_code", sent));
});

describe("contract §2 a postal code is 1234AB, space and case forgiven", () => {
  test.each(["1234AB", "1234 AB", " 1234ab ", "1234\u00a0Ab"])(
    "contract §2 the postal code %j is taken",
    async (sent) => {
      expect((await create("connection.postal_code", sent)).postal_code).toBe("1234AB");
    },
  );
  test.each(["0234AB", "123AB", "1234A", "1234ABC", "B-1000", "１２３４AB", "", null, undefined, 1234])(
    "contract §2 the postal code %j is refused",
    (sent) => refuse("connection.postal_code", sent),
  );
});

describe("contract §2 a house number is split into number and addition", () => {
  test.each<[unknown, number, string | null]>([
    [12, 12, null],
    ["12", 12, null],
    [" 12 ", 12, null],
    ["12a", 12, "A"],
    ["12 A", 12, "A"],
    ["12-A", 12, "A"],
    ["12-2", 12, "2"],
    ["12 - 2", 12, "2"],
    ["12 bis", 12, "BIS"],
    ["12A-2", 12, "A 2"],
    ["12 hoog III", 12, "HOOG III"],
    ["99999", 99_999, null],
  ])("contract §2 the house number %j is taken", async (sent, house_number, house_number_addition) => {
    expect(await create("connection.house_number", sent)).toMatchObject({ house_number, house_number_addition });
  });
  test.each([0, -1, 12.5, 100_000, 1e308, "0", "012", "123456", "12-", "12/2", "a12", "", null, undefined, true, {}])(
    "contract §2 the house number %j is refused",
    (sent) => refuse("connection.house_number", sent),
  );
  test.each<[unknown, string | null]>([
    ["a", "A"],
    [" -2 ", "2"],
    ["", null],
    [null, null],
    ["-", null],
    ["é/3", "É/3"],
  ])("contract §2 an addition may come in a field of its own: %j", async (sent, house_number_addition) => {
    expect(await create("connection.house_number_addition", sent)).toMatchObject({
      house_number: 8,
      house_number_addition,
    });
  });
  test("contract §2 an addition of 11 characters is refused", () =>
    refuse("connection.house_number_addition", "abcdefghijk"));
});

describe("contract §2 the person who signs", () => {
  test.each(["Jo", "  Zoë 't Hart-Ångström  ", "陳大文", "😀".repeat(120), "Robert'); drop table core.accounts;--"])(
    "contract §2 the full_name %j is taken, and trimmed",
    async (sent) => {
      expect((await create("person.full_name", sent)).full_name).toBe(sent.trim());
    },
  );
  test.each(["J", " J ", "😀", "", "x".repeat(121), "😀".repeat(121), null, undefined, 12, {}])(
    "contract §2 the full_name %j is refused",
    (sent) => refuse("person.full_name", sent),
  );
  test.each<[unknown, string | null]>([
    [" Sanne@Example.NL ", "sanne@example.nl"],
    ["s.de-vries+laad@mail.example.nl", "s.de-vries+laad@mail.example.nl"],
    [null, null],
    ["", null],
    [undefined, null],
  ])("contract §2 the email %j is taken, and lower-cased", async (sent, email) => {
    expect((await create("person.email", sent)).email).toBe(email);
  });
  test.each(["sanne", "sanne@", "@example.nl", "a b@example.nl", "a@b@example.nl", `${"x".repeat(250)}@a.nl`, 5, []])(
    "contract §2 the email %j is refused",
    (sent) => refuse("person.email", sent),
  );
  test.each<[unknown, string | null]>([
    ["0612345678", "+31612345678"],
    [" 06-12 34 56 78 ", "+31612345678"],
    ["0031 6 12345678", "+31612345678"],
    ["+31 (0)6 12345678", "+31612345678"],
    ["020-1234567", "+31201234567"],
    ["+32 470 12 34 56", "+32470123456"],
    ["+1 (415) 555-2671", "+14155552671"],
    [null, null],
    ["", null],
  ])("contract §2 the phone %j is taken, and stored as E.164", async (sent, phone) => {
    expect((await create("person.phone", sent)).phone).toBe(phone);
  });
  test.each([
    "12",
    "bel mij",
    "bel 0612345678",
    "0612345678; drop table core.accounts",
    "0612345678".repeat(5),
    612345678,
  ])("contract §2 the phone %j is refused", (sent) => refuse("person.phone", sent));
  test.each<[string, unknown]>([
    ["company.kvk", "1234567"],
    ["company.kvk", "1234567a"],
    ["company.vat", "NL"],
    ["company.name", "x".repeat(121)],
    ["type", "bedrijf"],
    ["payout_handler", "cash"],
    ["display_name", 3],
    ["cpo_external_ref", { $gt: "" }],
  ])("§4.1 %s is refused as %j", (path, sent) => refuse(path, sent));
});

// Every string of the body, and what no string may carry. A trailing newline is trimmed, so the bad character stands inside.
const STRINGS = [
  "type",
  "display_name",
  "cpo_external_ref",
  "payout_handler",
  "company.name",
  "company.kvk",
  "company.vat",
  "person.full_name",
  "person.email",
  "person.phone",
  "connection.ean_code",
  "connection.street",
  "connection.house_number",
  "connection.house_number_addition",
  "connection.postal_code",
  "connection.city",
];
describe.each([
  ["NUL", "1234\u0000AB"],
  ["a lone high surrogate", "1234\ud83dAB"],
  ["a lone low surrogate", "1234\udd0cAB"],
  ["an escape character", "1234\u001bAB"],
])("contract §1 what the database could not store is refused, not an error of ours: %s", (_name, bad) => {
  test.each(STRINGS)("contract §1 it is refused in %s", (path) => refuse(path, bad));
  test("contract §1 it is refused in iban", async () => {
    const before = await stored();
    const { status, body } = await world.post("/v1/accounts", bodyWith("iban", `NL91ABNA041716${bad}`), token);
    expect([status, body.error]).toEqual([400, "invalid_iban"]);
    expect(await stored()).toEqual(before);
  });
});

describe("contract §1 SQL in a string is text", () => {
  const SQL = "'); drop table core.accounts; --";
  test.each<[string, string]>([
    ["display_name", "display_name"],
    ["person.full_name", "full_name"],
    ["connection.street", "street"],
    ["connection.city", "city"],
  ])("contract §1 %s keeps it as it is", async (path, column) => {
    expect((await create(path, SQL))[column]).toBe(SQL);
  });
  test.each(STRINGS.filter((path) => /ean|postal|house_number$|email|phone|kvk|type|handler/.test(path)))(
    "contract §1 %s refuses it by its own rule",
    (path) => refuse(path, SQL),
  );
  test("contract §1 in the query string it finds nothing", async () => {
    const { body } = await world.get(
      `/v1/accounts?cpo_external_ref=${encodeURIComponent(SQL)}&limit=${SQL}&offset=${SQL}`,
      token,
    );
    expect(body).toEqual({ accounts: [], limit: 50, offset: 0, count: 0, has_more: false });
  });
});

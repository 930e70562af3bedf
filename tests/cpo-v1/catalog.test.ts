// The two catalogue routes. Which charger is which model is proved in tests/sql/catalog.test.ts.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let token: string;
let total: number;
beforeAll(async () => {
  world = await createWorld();
  token = await world.partnerA.client.token("");
  total = (await world.row("select count(*)::int from core.charger_models where listed")).count;
});
afterAll(() => world.close());

const ask = async (path: string, query: Record<string, string>) =>
  world.get(`/v1/catalog/chargers${path}?${new URLSearchParams(query)}`, token);
const list = async (query: Record<string, string> = {}) => (await ask("", query)).body;
const resolve = (query: Record<string, string>) => ask("/resolve", query);
type Model = { brand: string; model: string };
const names = (models: Model[]) => models.map(({ brand, model }) => `${brand} ${model}`);

describe("§4.1 GET /v1/catalog/chargers", () => {
  test("§4.1 lists models with a MID meter, and families that have one, by brand and model", async () => {
    const { models, count, has_more } = await list();
    expect([models.length, count, has_more]).toEqual([Math.min(total, 100), Math.min(total, 100), total > 100]);
    const { rows } = await world.database.admin.query(
      `select id as catalog_charger_id, brand, model from core.charger_models where mid_meter or mid_evidence = 'variant'
        order by lower(brand) collate "C", lower(model) collate "C" limit 100`,
    );
    expect(models).toEqual(rows);
  });

  const searches: [string, string, (name: string) => boolean][] = [
    ["a brand", "alfen", (name) => name.startsWith("Alfen ")],
    ["in any case", "ALFEN", (name) => name.startsWith("Alfen ")],
    ["a part of a model", "pro-line", (name) => name.includes("Pro-line")],
    ["spaces around it", "  zaptec  ", (name) => name.startsWith("Zaptec ")],
    ["nothing", "", () => true],
    ["only what is replaced with spaces", "%_,()", () => true],
    ["a pattern for anything, which is none", "a%n", () => false],
    ["a pattern for one character, which is none", "alf_n", () => false],
    ["no model", "no such charger", () => false],
    ["SQL", "' or true --", () => false],
    ["NUL", "alfen\u0000", () => false],
  ];
  test.each(searches)("§4.1 search finds %s: %j", async (_what, search, expected) => {
    const all = names((await list({ limit: "200" })).models);
    expect(names((await list({ search, limit: "200" })).models)).toEqual(all.filter(expected));
  });

  test("§4.1 characters of a pattern become spaces: a name with parentheses finds itself", async () => {
    expect(names((await list({ search: "terra ac (mid variant)" })).models)).toEqual(["ABB Terra AC (MID variant)"]);
    expect(names((await list({ search: "terra_ac" })).models)).toEqual(["ABB Terra AC (MID variant)"]);
  });

  test("§8 search keeps its first 80 characters", async () => {
    expect((await list({ search: `alfen${" ".repeat(75)}no such charger` })).count).toBeGreaterThan(0);
    expect((await list({ search: `${"x".repeat(80)}` })).count).toBe(0);
  });

  const sizes: [string, number][] = [
    ["", 100],
    ["0", 100],
    ["x", 100],
    ["-1", 1],
    ["1", 1],
    ["3", 3],
    ["200", 200],
    ["201", 200],
    ["1e999", 200],
  ];
  test.each(sizes)("§8 limit=%j gives at most %i", async (limit, size) => {
    const { models, count, has_more } = await list({ limit });
    expect([models.length, count, has_more]).toEqual([Math.min(size, total), Math.min(size, total), total > size]);
  });
});

describe("§4.1 GET /v1/catalog/chargers/resolve", () => {
  test("§4.1 a known pair is answered with its model and its meter", async () => {
    const { status, body } = await resolve({ vendor: " Alfen BV ", model: "NG910-60023" });
    expect([status, body]).toEqual([
      200,
      {
        resolved: true,
        vendor: "Alfen BV",
        model: "NG910-60023",
        catalog_charger_id: expect.any(String),
        brand: "Alfen",
        catalog_model: "Eve Single Pro-line 3-phase",
        mid_meter: true,
        detail: expect.any(String),
        suggestions: [],
      },
    ]);
  });

  test("§4.1 an unknown pair is a normal 200 with the brand's MID models, each of the catalogue", async () => {
    const { status, body } = await resolve({ vendor: "Alfen BV", model: "NG999-99999" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      resolved: false,
      brand: "Alfen",
      catalog_charger_id: null,
      catalog_model: null,
      mid_meter: null,
    });
    expect(body.suggestions).toEqual((await list({ search: "alfen " })).models);
  });

  test("§4.1 a vendor nobody knows has no brand and no suggestions", async () => {
    expect((await resolve({ vendor: "Nobody", model: "x" })).body).toMatchObject({
      resolved: false,
      brand: null,
      suggestions: [],
    });
  });

  test("contract §2 a known model without a MID meter is resolved, mid_meter false", async () => {
    expect((await resolve({ vendor: "Zaptec", model: "Go" })).body).toMatchObject({
      resolved: true,
      mid_meter: false,
      catalog_model: "Go",
    });
    expect((await resolve({ vendor: "Zaptec", model: "Go 2" })).body).toMatchObject({
      resolved: true,
      mid_meter: true,
      catalog_model: "Go 2",
    });
  });

  const missing: [string, Record<string, string>][] = [
    ["neither", {}],
    ["no model", { vendor: "Alfen BV" }],
    ["no vendor", { model: "NG910-60023" }],
    ["an empty vendor", { vendor: "", model: "NG910-60023" }],
    ["a model of spaces", { vendor: "Alfen BV", model: "   " }],
    ["a model of NUL", { vendor: "Alfen BV", model: "\u0000" }],
  ];
  test.each(missing)("§4.1 a question with %s is refused with 400 vendor_and_model_required", async (_what, query) => {
    const { status, body } = await resolve(query);
    expect([status, body.error]).toEqual([400, "vendor_and_model_required"]);
  });

  test("§8 vendor and model keep their first 120 characters", async () => {
    const { body } = await resolve({ vendor: "v".repeat(121), model: `${"⚡".repeat(119)}mm` });
    expect([body.vendor, body.model]).toEqual(["v".repeat(120), `${"⚡".repeat(119)}m`]);
  });
});

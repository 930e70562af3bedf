import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyText } from "../harness/any_text.ts";
import { cloneDatabase, type Database } from "../harness/database.ts";

type Model = { catalog_charger_id: string; brand: string; model: string };
type Resolution = {
  resolved: boolean;
  vendor: string;
  model: string;
  catalog_charger_id: string | null;
  brand: string | null;
  catalog_model: string | null;
  mid_meter: boolean | null;
  detail: string;
  suggestions: Model[];
};
type Page = { models: Model[]; count: number; has_more: boolean };

const cpo = { kind: "cpo", partner_id: null, client_id: null, host: "sandbox", request_id: "catalog-test" };
let database: Database;
let edge: pg.Pool;

beforeAll(async () => {
  database = await cloneDatabase();
  edge = new pg.Pool({ connectionString: database.url("edge"), max: 1 });
  edge.on("error", () => {}); // idle connections end with the database
});
afterAll(async () => {
  await edge.end();
  await database.drop();
});

async function call<Answer>(name: string, caller: object, query: object): Promise<Answer> {
  const { rows } = await edge.query(`select api.${name}($1, $2)::text as answer`, [caller, query]);
  return JSON.parse(rows[0].answer);
}

const resolve = (vendor: string, model: string, meter_type?: string) =>
  call<Resolution>("get_charger_resolution", cpo, { vendor, model, meter_type });

const list = (search = "", limit = 200) => call<Page>("list_catalog_chargers", cpo, { search, limit });

const names = (models: Model[]) => models.map(({ brand, model }) => `${brand} ${model}`);

/** One word of what the resolver made of it, so that a table of chargers can be read. */
function verdict(answer: Resolution): string {
  if (answer.resolved) return `${answer.mid_meter ? "MID" : "no MID"}: ${answer.brand} ${answer.catalog_model}`;
  return `open: ${answer.brand}`;
}

const spell = (prefix: string, endings: string) => endings.split(" ").map((ending) => prefix + ending);

describe("§4.1 resolve: every charger of the source list", () => {
  const known: [vendor: string, models: string[], verdict: string, meter_type?: string][] = [
    ["Alfen BV", spell("NG900-605", "03 05 07"), "MID: Alfen Eve Single S-line 1-phase"],
    ["Alfen BV", spell("NG910-605", "03 05 07"), "MID: Alfen Eve Single S-line 1-phase"],
    ["Alfen BV", spell("NG910-605", "23 25 27 53 55 57 73 83 97"), "MID: Alfen Eve Single S-line 3-phase"],
    ["Alfen BV", spell("NG910-600", "03 05 07"), "MID: Alfen Eve Single Pro-line 1-phase"],
    ["Alfen BV", spell("NG910-600", "23 25 27"), "MID: Alfen Eve Single Pro-line 3-phase"],
    ["Alfen BV", spell("NG910-601", "23 27"), "MID: Alfen Eve Single Pro-line DE"],
    ["Alfen ICU", spell("NG920-610", "01 02 11 12 21 22 31 32"), "MID: Alfen Eve Double Pro-line"],
    ["Alfen", spell("NG920-611", "01 02"), "MID: Alfen Eve Double Pro-line DE"],
    ["Alfen", spell("NG920-612", "05 06 15 16"), "MID: Alfen Eve Double Pro-line FR"],
    ["Zaptec", ["Go 2", "Go2", "Zaptec Go 2", "ZAPTEC GO2"], "MID: Zaptec Go 2"],
    ["Zaptec", ["Pro", "Zaptec Pro"], "MID: Zaptec Pro"],
    ["Easee", ["Charge Max", "Easee Charge Max"], "MID: Easee Charge Max"],
    ["Easee ASA", ["Charge Pro"], "MID: Easee Charge Pro"],
    ["Etrel", ["INCH Duo"], "MID: Etrel INCH Duo"],
    ["Ratio Electric", ["Solar MID 4G", "Ratio Solar MID"], "MID: Ratio Solar MID 4G"],
    ["Enphase Energy", ["IQ-EVSE-EU-3032"], "MID: Enphase IQ EV Charger 2 (EU)"],
    ["Schneider Electric", ["EVlink Pro AC"], "MID: Schneider Electric EVlink Pro AC", "Embedded MID meter"],

    ["Zaptec", ["Go", "Zaptec Go", "ZAPTEC GO"], "no MID: Zaptec Go"],
    ["Easee", ["Home", "Easee Home"], "no MID: Easee Home"],
    ["Easee", ["Charge", "Easee Charge"], "no MID: Easee Charge"],
    ["Easee", ["Charge Lite"], "no MID: Easee Charge Lite"],
    ["Easee", ["Charge Up"], "no MID: Easee Charge Up"],
    ["Easee", ["Charge Core"], "no MID: Easee Charge Core"],
    ["Easee", ["Easee One"], "no MID: Easee One"],
    [
      "Wall Box Chargers",
      ["PLP1-0-2-4", "Pulsar Plus", "Wallbox Pulsar Plus", " pulsar  PLUS "],
      "no MID: Wallbox Pulsar Plus",
    ],
    ["Wall Box Chargers", ["PLP2-0-2-2", "Pulsar Max"], "no MID: Wallbox Pulsar Max"],
    ["Wallbox", ["PPR1-0-2-4", "Pulsar Pro"], "no MID: Wallbox Pulsar Pro"],
    ["Wallbox", ["Commander 2", "Wallbox Commander"], "no MID: Wallbox Commander / Commander 2"],
    ["Wallbox", ["CPB1-S-2-4"], "no MID: Wallbox Copper SB", "Internal NON compliant"],
    ["KEBA AG", ["KC-P30-EC220112-000-DE"], "no MID: KEBA P30 Deutschland Edition"],
    ["Ratio", ["Start", "Ratio Start"], "no MID: Ratio Start"],
    ["Ratio", ["Solar", "Solar RFID"], "no MID: Ratio Solar RFID"],
    ["go-e GmbH", ["go-eCharger_V3", "go-eCharger_V4"], "no MID: go-e Charger HOME / Gemini"],
    ["Fronius", ["Wattpilot Go 22 J"], "no MID: Fronius Wattpilot Home / Go / Flex"],
    ["Tesla", ["Wall Connector", "Tesla Wall Connector Gen 3"], "no MID: Tesla Wall Connector Gen 2 / 3"],
  ];
  test.each(known)("§4.1 resolve: %s %j is %s", async (vendor, models, expected, meter_type) => {
    for (const model of models) expect(verdict(await resolve(vendor, model, meter_type))).toBe(expected);
  });

  const open: [vendor: string, model: string, brand: string, detail: RegExp][] = [
    ["ABB", "CDT_TACW22", "ABB", /choose "Terra AC \(MID variant\)"/],
    ["ABB", "CDT_TACW11::1.8.21", "ABB", /choose "Terra AC \(MID variant\)"/],
    ["EV-BOX", "Elvi-1-32", "EVBox", /choose "Elvi \(MID variant\)"/],
    ["KEBA", "KC-P30-EC2401B2-M0R", "KEBA", /choose "KeContact P30 x-series \(MID variant\)"/],
    ["Schneider Electric", "MONOBLOCK", "Schneider Electric", /choose "EVlink Smart Wallbox \(MID variant\)"/],
    ["Schneider Electric", "EVlink Smart Wallbox", "Schneider Electric", /choose "EVlink Smart/],
    ["go-e", "go-eCharger_V5", "go-e", /choose "Charger PRO \(MID variant\)"/],
    ["Mennekes", "AMTRON 4You 500", "Mennekes", /choose "AMTRON 4You/],
    ["Mennekes", "AMTRON 4Business 700", "Mennekes", /choose "AMTRON 4Business/],
    ["Webasto", "EVC04-AC22T", "Webasto", /choose "Unite \(MID variant\)"/],
    ["Autel", "MaxiCharger AC Wallbox", "Autel", /choose "MaxiCharger AC \(MID variant\)"/],
    ["Vestel", "EVC04-AC22T", "Vestel", /choose "EVC04/],
    ["Wallbox", "CPB1-S-2-4", "Wallbox", /only its meterType tells/],
    ["Schneider Electric", "EVlink Pro AC", "Schneider Electric", /only its meterType tells/],
    ["Alfen BV", "NG920-52506", "Alfen", /NG920\) has a MID meter is not established/],
    ["Alfen ICU", "ICU Eve Mini", "Alfen", /not established/],
    ["EVBox", "G3-M5320E", "EVBox", /BusinessLine G3 .* not established/],
    ["EVBox", "G4E-WBO-M5320E", "EVBox", /BusinessLine G4 .* not established/],
    ["EVBox", "Liviqo", "EVBox", /not established/],
    ["KEBA", "KC-P30-ES240030-E0R", "KEBA", /c \/ a \/ b \/ e-series .* not established/],
    ["KEBA", "KC-P40-16EU0", "KEBA", /P40 .* not established/],
    ["Etrel", "G-HB1V5CY20-A14", "Etrel", /INCH Home .* not established/],
    ["Ratio", "io6 Pro", "Ratio", /not established/],
    ["Prodrive Technologies", "WLAC1-H11R0WE0ICR00", "Peblar", /not established/],
    ["Smappee", "EV Wall", "Smappee", /not established/],
    ["Schneider Electric", "Schneider Charge", "Schneider Electric", /not established/],
    ["Bender GmbH Co. KG", "CC612", "Mennekes", /Charge Control .* not established/],
    ["Webasto", "WB_NEXT_EVSE_EU_32A", "Webasto", /not established/],
    ["V2C", "Trydan", "V2C", /not established/],
    ["Volt Time", "Source 2", "Volt Time", /not established/],
    ["The New Motion", "Lolo 4", "Shell Recharge", /not established/],
    ["Hager", "witty park 2", "Hager", /not established/],
    ["ABL", "eMH3", "ABL", /not established/],
    ["Huawei", "ACChargePoint", "Huawei", /not established/],
    ["", "ACChargePoint", "Huawei", /not established/],
    ["Phoenix Contact GmbH & Co. KG", "EV-CC-AC1-M3-CBC-RCM-ETH-3G", "Phoenix Contact", /not established/],
    ["CTEK", "Chargestorm Connected 3", "CTEK", /not established/],
    ["Charge Amps", "Halo", "Charge Amps", /not established/],
    ["Garo", "Entity Pro", "Garo", /not established/],
    ["EN+", "Caro", "EN+", /not established/],
    ["Sungrow", "AC011E-01", "Sungrow", /not established/],
    ["Growatt", "THOR 11AS-S", "Growatt", /not established/],
    ["LMS", "EVC2.2", "LMS", /not established/],
    ["Alfen", "Eve Single PLUS", "Alfen", /No Alfen model is known by this name\. If it is/],
    ["go-e", "Charger CORE", "go-e", /No go-e model is known by this name\. If it is/],
    ["Etrel", "G-D", "Etrel", /No Etrel model is known by this name\. If it is/],
    ["Wallbox", "Pulsar Plus 2", "Wallbox", /No Wallbox model is known by this name\. If it is/],
    ["Wallbox", "CMX2-0-2-4", "Wallbox", /No Wallbox model is known by this name\. If it is/],
    ["Ecotap", "Homebox", "Ecotap", /none with a MID meter is in the catalog/],
    ["FoxESS", "A011KP1", "FoxESS", /none with a MID meter is in the catalog/],
    ["SolarEdge", "ONE", "SolarEdge", /none with a MID meter is in the catalog/],
    ["myenergi", "Zappi", "myenergi", /none with a MID meter is in the catalog/],
  ];
  test.each(open)("§4.1 resolve: %s %s stays open", async (vendor, model, brand, detail) => {
    const answer = await resolve(vendor, model);
    expect(verdict(answer)).toBe(`open: ${brand}`);
    expect(answer).toMatchObject({ catalog_charger_id: null, catalog_model: null, mid_meter: null });
    expect(answer.detail).toMatch(detail);
    expect(answer.suggestions).toEqual((await list()).models.filter((listed) => listed.brand === brand));
  });
});

describe("§4.1 resolve: the answer", () => {
  test("§4.1 resolve: has the keys of the specification in its order, and what was asked, trimmed", async () => {
    const answer = await resolve("  Zaptec AS ", " Go 2 ");
    expect(Object.entries(answer)).toEqual([
      ["resolved", true],
      ["vendor", "Zaptec AS"],
      ["model", "Go 2"],
      ["catalog_charger_id", "e6282b3d-559f-4212-8239-b2dace220824"],
      ["brand", "Zaptec"],
      ["catalog_model", "Go 2"],
      ["mid_meter", true],
      ["detail", "The Zaptec Go 2 has a MID meter."],
      ["suggestions", []],
    ]);
  });

  test("§4.1 resolve: what resolves with a MID meter is in the list under the same id, what has none is not", async () => {
    const { models } = await list();
    const go2 = await resolve("zaptec", "go 2");
    const go = await resolve("zaptec", "go");
    expect(models).toContainEqual({ catalog_charger_id: go2.catalog_charger_id, brand: "Zaptec", model: "Go 2" });
    expect(go.catalog_charger_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(models.map((model) => model.catalog_charger_id)).not.toContain(go.catalog_charger_id);
  });

  test("§4.1 resolve: an unknown model of a known brand is answered with the brand's MID models by model", async () => {
    const answer = await resolve("Easee", "Charge Ultra");
    expect(verdict(answer)).toBe("open: Easee");
    expect(names(answer.suggestions)).toEqual(["Easee Charge Max", "Easee Charge Pro"]);
  });

  test.each([
    ["Acme", "Go 2"],
    ["Acme Zaptec", "Go 2"],
    ["", ""],
    ["", "Go 2"],
    ["GmbH", "Go 2"],
    ["%", "%"],
    [".*", ".*"],
  ])("§4.1 resolve: the unknown vendor %j has no brand and no suggestions", async (vendor, model) => {
    expect(await resolve(vendor, model)).toMatchObject({ resolved: false, brand: null, suggestions: [] });
  });
});

describe("§4.1 resolve: names that are close", () => {
  test.each([
    ["Go", "no MID: Zaptec Go"],
    ["Go 2", "MID: Zaptec Go 2"],
    ["Go 3", "open: Zaptec"],
    ["Go 22", "open: Zaptec"],
    ["Go 2 Plus", "open: Zaptec"],
    ["Go-2", "open: Zaptec"],
    ["Gop", "open: Zaptec"],
    ["My Go 2", "open: Zaptec"],
    ["Go\n2\nx", "open: Zaptec"],
    ["x\nGo 2", "open: Zaptec"],
  ])("§4.1 resolve: Zaptec %j is %s", async (model, expected) => {
    expect(verdict(await resolve("Zaptec", model))).toBe(expected);
  });

  test.each([
    ["Copper SB", "Wallbox", "CPB1-S-2-4", "External MID", "open: Wallbox"],
    ["Copper SB", "Wallbox", "CPB1-S-2-4", "INTERNAL  non compliant ", "no MID: Wallbox Copper SB"],
    ["EVlink", "Schneider Electric", "EVlink Pro AC", "Embedded meter", "open: Schneider Electric"],
    ["EVlink", "Schneider Electric", "EVlink Pro AC", "No Embedded MID meter", "open: Schneider Electric"],
    ["Go", "Zaptec", "Go", "Embedded MID meter", "no MID: Zaptec Go"],
  ])("§4.1 resolve: the meterType decides only where the model needs it: %s, %s %s, %j", async (_, ...row) => {
    const [vendor, model, meter_type, expected] = row;
    expect(verdict(await resolve(vendor, model, meter_type))).toBe(expected);
  });

  test("§4.1 resolve: a declared external MID meter points to the variant, which evidence has to confirm", async () => {
    const answer = await resolve("Wallbox", "CPB1-S-2-4", "External MID");
    expect(answer.detail).toContain('choose "Copper SB (MID variant)"');
    expect(names(answer.suggestions)).toEqual(["Wallbox Copper SB (MID variant)"]);
  });

  test.each([
    ["go-e", "Wattpilot Home 11 J", "no MID: Fronius Wattpilot Home / Go / Flex"],
    ["go-e", "go-eCharger_V4", "no MID: go-e Charger HOME / Gemini"],
    ["go-e", "other", "open: go-e"],
    ["Fronius", "go-eCharger_V4", "open: Fronius"],
    ["Bender", "AMTRON 4You 500", "open: Mennekes"],
    ["Bender", "other", "open: null"],
    ["Webasto", "EVC04", "open: Webasto"],
    ["Vestel", "EVC04", "open: Vestel"],
    ["", "ACChargePoint", "open: Huawei"],
    ["", "other", "open: null"],
  ])("§4.1 resolve: a vendor string of two makers: %j %j is %s", async (vendor, model, expected) => {
    expect(verdict(await resolve(vendor, model))).toBe(expected);
  });
});

describe("§4.1 resolve: normal forms", () => {
  test.each([
    ["ＺＡＰＴＥＣ", "Ｇｏ　２"],
    ["zApTeC", "GO 2"],
    ["  Zaptec\t", " Go \t 2\n"],
    ["Zaptec\u00a0AS", "Go\u00a02"],
    ["Zaptec", "Go\u2003 2"],
    ["Zaptec", "Go ²"],
    ["Zaptec", "Go  2"],
  ])("§4.1 resolve: %j %j is the Zaptec Go 2", async (vendor, model) => {
    expect(verdict(await resolve(vendor, model))).toBe("MID: Zaptec Go 2");
  });

  test.each(
    spell(
      "Zaptec ",
      "AS ASA BV B.V. b.v NV N.V. AG GmbH SA S.A. SAS S.L. SL S.L.U. Inc Inc. Ltd Ltd. LLC Corp. SE AB Oy A/S S.p.A.",
    ).concat(["Zaptec GmbH & Co. KG", "Zaptec GmbH Co. KG", "Zaptec GmbH&Co.KG", "Zaptec, Inc.", "Zaptec Co., Ltd."]),
  )("§4.1 resolve: the legal form of %j does not count", async (vendor) => {
    expect(verdict(await resolve(vendor, "Go 2"))).toBe("MID: Zaptec Go 2");
  });

  test.each(["Zaptecas", "Zaptec-AS", "AS Zaptec", "Zap tec"])("§4.1 resolve: %j is another vendor", async (vendor) => {
    expect((await resolve(vendor, "Go 2")).brand).toBeNull();
  });

  test("§8 vendor and model: what stands after 120 characters is not read", async () => {
    const answer = await resolve("v".repeat(100_000), "m".repeat(100_000));
    expect([answer.vendor, answer.model]).toEqual(["v".repeat(120), "m".repeat(120)]);
  });

  test("§4.1 resolve: aliases and patterns are stored in their normal form, so that none is dead", async () => {
    const { rows } = await database.admin.query(
      `select vendor as dead from core.charger_vendor_aliases where vendor <> private.vendor_key(vendor)
       union all
       select p.model_pattern from core.charger_model_patterns p
        where p.model_pattern <> lower(p.model_pattern)
           or not exists (select from core.charger_vendor_aliases a where a.brand = p.brand)`,
    );
    expect(rows).toEqual([]);
  });

  test("§4.1 resolve: any strings are answered, within the shape", async () => {
    const part = fc.oneof(
      anyText({ maxLength: 200 }),
      fc.string({ unit: fc.constantFrom(..."aeginoz 2-()|.*+?[]\\^$%_,&'\"\u00a0\ufdfa"), maxLength: 200 }),
      fc.constantFrom("Zaptec", "Wallbox", "go-e", "KEBA", "Alfen BV", "Go 2", "CPB1-", "KC-P30-", "NG910-60023"),
    );
    // jsonb has no NUL; the endpoint takes it out before
    const text = fc.array(part, { maxLength: 3 }).map((parts) => parts.join("").replaceAll("\0", ""));
    await fc.assert(
      fc.asyncProperty(text, text, fc.option(text, { nil: undefined }), async (vendor, model, meter_type) => {
        const answer = await resolve(vendor, model, meter_type);
        expect(Object.keys(answer)).toHaveLength(9);
        expect(answer.detail).toMatch(/^[A-Z].*\.$/);
        expect(typeof answer.mid_meter).toBe(answer.resolved ? "boolean" : "object");
        expect(answer.catalog_charger_id !== null).toBe(answer.resolved);
        expect(answer.catalog_model !== null).toBe(answer.resolved);
        expect(answer.suggestions.every((suggestion) => suggestion.brand === answer.brand)).toBe(true);
        if (answer.resolved) expect(answer.suggestions).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

describe("§4.1 catalog: the list", () => {
  test("§2 catalog: every model with a MID meter and each family's MID variant once, by brand and model", async () => {
    expect(names((await list()).models)).toEqual([
      "ABB Terra AC (MID variant)",
      "Alfen Eve Double Pro-line",
      "Alfen Eve Double Pro-line DE",
      "Alfen Eve Double Pro-line FR",
      "Alfen Eve Single Pro-line 1-phase",
      "Alfen Eve Single Pro-line 3-phase",
      "Alfen Eve Single Pro-line DE",
      "Alfen Eve Single S-line 1-phase",
      "Alfen Eve Single S-line 3-phase",
      "Autel MaxiCharger AC (MID variant)",
      "Easee Charge Max",
      "Easee Charge Pro",
      "Enphase IQ EV Charger 2 (EU)",
      "Etrel INCH Duo",
      "EVBox Elvi (MID variant)",
      "go-e Charger PRO (MID variant)",
      "KEBA KeContact P30 x-series (MID variant)",
      "Mennekes AMTRON 4Business 600/700 (MID variant)",
      "Mennekes AMTRON 4You 400/500 (MID variant)",
      "Ratio Solar MID 4G",
      "Schneider Electric EVlink Pro AC",
      "Schneider Electric EVlink Smart Wallbox (MID variant)",
      "Vestel EVC04 Home Smart / Connect Plus (MID variant)",
      "Wallbox Copper SB (MID variant)",
      "Webasto Unite (MID variant)",
      "Zaptec Go 2",
      "Zaptec Pro",
    ]);
  });

  test("§2 catalog: only a variant is listed without certainty, and it says so", async () => {
    const { rows } = await database.admin.query(
      "select model, mid_evidence, mid_meter from core.charger_models where listed and mid_meter is not true",
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) {
      expect(row).toMatchObject({ mid_evidence: "variant", mid_meter: null });
      expect(row.model).toMatch(/ \(MID variant\)$/);
    }
  });

  test.each([
    ["zaptec", ["Zaptec Go 2", "Zaptec Pro"]],
    ["ZAP", ["Zaptec Go 2", "Zaptec Pro"]],
    ["s-line", ["Alfen Eve Single S-line 1-phase", "Alfen Eve Single S-line 3-phase"]],
    ["alfen eve double pro-line d", ["Alfen Eve Double Pro-line DE"]],
    ["  zaptec   go  ", ["Zaptec Go 2"]],
    ["Terra AC (MID variant)", ["ABB Terra AC (MID variant)"]],
    ["Terra AC  MID variant ", ["ABB Terra AC (MID variant)"]],
    ["600/700", ["Mennekes AMTRON 4Business 600/700 (MID variant)"]],
    ["ｚａｐｔｅｃ ｐｒｏ", ["Zaptec Pro"]],
    ["eve alfen", []],
    ["zap%", ["Zaptec Go 2", "Zaptec Pro"]],
    ["z%c", []],
    ["g_ 2", []],
    ["zapte.", []],
    ["zap\\", []],
    ["' or true --", []],
    ["Deutschland", []],
  ])("§4.1 catalog: the search %j finds %j", async (search, expected) => {
    expect(names((await list(search)).models)).toEqual(expected);
  });

  test.each(["", "   ", "%", "_", "%_,()"])("§4.1 catalog: the search %j is blank and finds all", async (search) => {
    expect(await list(search)).toEqual(await list());
  });

  test("§4.1 catalog: limit cuts the list, count counts what is shown, has_more says whether there is more", async () => {
    const all = await list();
    const total = all.models.length;
    expect(all).toMatchObject({ count: total, has_more: false });
    expect(await list("", 1)).toEqual({ models: all.models.slice(0, 1), count: 1, has_more: true });
    expect(await list("", total - 1)).toEqual({ models: all.models.slice(0, -1), count: total - 1, has_more: true });
    expect(await list("", total)).toEqual(all);
    expect(await list("nothing like it", 1)).toEqual({ models: [], count: 0, has_more: false });
  });

  test("§4.1 catalog: keys stand in the specification's order", async () => {
    const answer = await list("go 2", 5);
    expect(Object.keys(answer)).toEqual(["models", "count", "has_more"]);
    expect(answer.models.map((model) => Object.keys(model))).toEqual([["catalog_charger_id", "brand", "model"]]);
  });
});

describe("§4.1 catalog: who may read it", () => {
  test.each(["personal", "partner", "user", ""])("§4.1 catalog: a caller of kind %j is refused", async (kind) => {
    for (const name of ["list_catalog_chargers", "get_charger_resolution"])
      await expect(call(name, { ...cpo, kind }, { vendor: "Zaptec", model: "Go", limit: 1 })).rejects.toMatchObject({
        code: "42501",
      });
  });

  test.each(["select * from core.charger_models", "select private.resolve_charger('Zaptec', 'Go')"])(
    "§4.1 catalog: the edge role may not run %s",
    async (statement) => {
      await expect(edge.query(statement)).rejects.toMatchObject({ code: "42501" });
    },
  );

  test("§4.1 catalog: api functions cannot change it", async () => {
    await expect(
      database.admin.query("set local role api_owner; delete from core.charger_models"),
    ).rejects.toMatchObject({ code: "42501" });
  });
});

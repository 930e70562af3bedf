// What a person reads of an answer, on a terminal and in a file.

import { describe, expect, test } from "vitest";
import { fields, onScreen, table } from "../../packages/operator/src/text.ts";

const ROWS = [
  {
    id: "0b0d1e00-0000-4000-8000-000000000001",
    slug: "laadpunt-zuid",
    kwh: 3,
    amount_eur: 1200.5,
    status: "paid",
    reason: null,
  },
  {
    id: "0b0d1e00-0000-4000-8000-000000000002",
    slug: "noord",
    kwh: 12345,
    amount_eur: 7,
    status: "failed",
    reason: null,
  },
];
const COLUMNS = ["id", "slug", "kwh", "amount_eur", "status", "reason"];
const drawn = (width?: number, color = false) =>
  onScreen({ ...(width !== undefined && { width }), color }, () => table(ROWS, COLUMNS)).split("\n");

describe("contract §8 a table on a terminal", () => {
  test("contract §8 numbers stand to the right, under their heading, and texts to the left", () => {
    expect(drawn()).toEqual([
      "id                                    slug             kwh  amount_eur  status  reason",
      "0b0d1e00-0000-4000-8000-000000000001  laadpunt-zuid      3     1200.50  paid    -",
      "0b0d1e00-0000-4000-8000-000000000002  noord          12345        7.00  failed  -",
    ]);
  });

  test("contract §8 the points of numbers stand below each other, and without room columns of zeros go", () => {
    const rows = [
      { kwh: 3, ere: 1.25, failed: 0 },
      { kwh: 12.345, ere: 10, failed: 0 },
    ];
    const drawn = (width: number) => onScreen({ width }, () => table(rows, ["kwh", "ere", "failed"])).split("\n");
    expect(drawn(80)).toEqual(["   kwh    ere  failed", " 3       1.25       0", "12.345  10          0"]);
    expect(drawn(15)).toEqual(["   kwh    ere", " 3       1.25", "12.345  10"]);
  });

  test("contract §8 without room, columns without a value go, and the last ones go on below; nothing else is left out", () => {
    expect(drawn(80)).toEqual([
      "id                                    slug             kwh  amount_eur  status",
      "0b0d1e00-0000-4000-8000-000000000001  laadpunt-zuid      3     1200.50  paid",
      "0b0d1e00-0000-4000-8000-000000000002  noord          12345        7.00  failed",
    ]);
    expect(drawn(53)).toEqual([
      "id                                    slug",
      "      kwh  amount_eur  status",
      "",
      "0b0d1e00-0000-4000-8000-000000000001  laadpunt-zuid",
      "        3     1200.50  paid",
      "",
      "0b0d1e00-0000-4000-8000-000000000002  noord",
      "    12345        7.00  failed",
    ]);
  });

  test("contract §8 sums stand below more than one row, to the last decimal, and say of how many rows they are", () => {
    const rows = [
      { slug: "zuid", kwh: 0.1, price: 0.4, eur: 10.1 },
      { slug: "noord", kwh: 0.2, price: 0.4, eur: null },
    ];
    const shown = (some: typeof rows) => onScreen({}, () => table(some, ["slug", "kwh", "price"], ["kwh"])).split("\n");
    expect(shown(rows)).toEqual([
      "slug      kwh  price",
      "zuid      0.1    0.4",
      "noord     0.2    0.4",
      "sum of 2  0.3",
    ]);
    expect(shown(rows.slice(0, 1))).toEqual(["slug  kwh  price", "zuid  0.1    0.4"]);
    const money = onScreen({}, () =>
      table(
        rows.map(({ eur }) => ({ eur_eur: eur })),
        ["eur_eur"],
        ["eur_eur"],
      ),
    );
    expect(money.split("\n").at(-1)?.trim()).toBe("10.10");
  });

  test("contract §8 a sentence is broken at spaces on a narrow terminal, and a command to copy is not", () => {
    const command = `Next: payout export ${"x".repeat(30)} --out file.xml`;
    const said = onScreen({ width: 30 }, () => `Two words, and some more of them here.\n${command}`);
    expect(said.split("\n")).toEqual(["Two words, and some more of", "them here.", command]);
  });

  test("contract §8 of a row of several lines the last are left out where they say nothing", () => {
    const rows = [
      { id: "a".repeat(20), note: null },
      { id: "b".repeat(20), note: "seen" },
    ];
    expect(onScreen({ width: 24 }, () => table(rows, ["id", "note"])).split("\n")).toEqual([
      ...["id", "    note", ""],
      ...["a".repeat(20), ""],
      ...["b".repeat(20), "    seen"],
    ]);
  });

  test.each([20, 40, 60, 80, 100, 200])("contract §8 no line is wider than a terminal of %i characters", (width) => {
    const long = [{ name: "een lange naam met vele woorden ".repeat(5), url: "https://example.nl/".repeat(6), n: 5 }];
    const said = onScreen(
      { width },
      () => `${table([...ROWS, ...long], [...COLUMNS, "name", "url", "n"])}\n${fields({ note: long[0]?.name })}`,
    );
    for (const line of said.split("\n")) expect(line.length).toBeLessThanOrEqual(width);
    expect(said.replace(/\s/g, "")).toContain("https://example.nl/".repeat(6));
    expect(said.replace(/\s+/g, " ")).toMatch(/(een lange naam met vele woorden ){5}/);
  });

  test("contract §8 colors only where the screen takes them, and never those that a text brings along", () => {
    expect(drawn(200).join("")).not.toContain("\u001b");
    const [head, paid, failed] = drawn(200, true);
    expect(head).toMatch(/^\u001b\[1mid .*\u001b\[0m$/);
    expect(paid).toContain("  \u001b[32mpaid\u001b[0m    -");
    expect(failed).toContain("  \u001b[31mfailed\u001b[0m  -");
    // the name of a field is no outcome
    const told = onScreen({ color: true }, () => fields({ failed: 0, status: "paid" }));
    expect(told).toBe("  failed  0\n  status  \u001b[32mpaid\u001b[0m");
    const evil = onScreen({ color: true }, () => `${table([{ name: "\u001b[31mevil" }], ["name"])}\n\u001b[2J`);
    expect(evil).toBe("\u001b[1mname\u001b[0m\n\\u001b[31mevil\n\\u001b[2J");
  });
});

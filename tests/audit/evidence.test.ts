// One zip for the verifier: everything that a booking rests on, and nothing left out in silence.

import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Customer, createEreWorld, type EreWorld } from "../ere/ere_world.ts";
import { addChargingPerson } from "../ere/person.ts";

let world: EreWorld;
let booking_id: string;
let customers: Customer[];
const folder = mkdtempSync(join(tmpdir(), "ere-evidence-"));
beforeAll(async () => {
  world = await createEreWorld();
  customers = [await world.customer({ "2026-04": 100, "2026-05": 200 }), await world.customer({ "2026-04": 300 })];
  await world.deliver(customers[0] as Customer, { "2026-04": 110 }); // replaces
  await world.done(`booking open 2026-Q2 --partner ${world.partnerA.id}`);
  ({ booking_id } = (await world.done("booking submit 2026-Q2")).results[0].booking);
  await world.done(`booking credit ${booking_id}`);
  await world.row("select private.chain_audit(1000)");
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await world.close();
});

const path = (name: string) => join(folder, name);
const write = (name: string, ...more: string[]) =>
  world.run(["audit", "evidence", booking_id, "--out", path(name), ...more]);
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const render = () => world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
const lines = (bytes: Uint8Array | undefined) =>
  strFromU8(bytes ?? new Uint8Array())
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

test("contract §3 a mandate whose PDF is not rendered yet is named, in the manifest too, and the exit code says so", async () => {
  const { code, json } = await write("early.zip");
  expect([code, json.missing_pdfs.length]).toEqual([1, 2]);
  const manifest = JSON.parse(strFromU8(unzipSync(readFileSync(path("early.zip")))["manifest.json"] as Uint8Array));
  expect(manifest.missing_pdfs).toEqual(json.missing_pdfs);
  const table = await world.run(`audit evidence ${booking_id} --out ${path("table.zip")}`);
  expect(table.json.missing_pdfs).toHaveLength(2);
});

test("contract §3 the evidence of a booking has its export, PDFs, deliveries, meters and audit trail, each with its SHA-256", async () => {
  while ((await render()).body.rendered > 0);
  const { code, json } = await write("all.zip");
  expect([code, json.missing_pdfs]).toEqual([0, []]);
  expect(statSync(path("all.zip")).mode & 0o777).toBe(0o600);
  const files = unzipSync(readFileSync(path("all.zip")));
  const manifest = JSON.parse(strFromU8(files["manifest.json"] as Uint8Array));
  expect(Object.keys(files).sort()).toEqual(
    ["manifest.json", ...manifest.files.map(({ name }: { name: string }) => name)].sort(),
  );
  for (const { name, bytes, sha256: said } of manifest.files)
    expect([name, files[name]?.length, sha256(files[name] as Uint8Array)]).toEqual([name, bytes, said]);
  expect(json.manifest_sha256).toBe(sha256(files["manifest.json"] as Uint8Array));

  await world.done(`booking export ${booking_id} --out ${path("export.csv")}`);
  expect(strFromU8(files["export.csv"] as Uint8Array)).toBe(readFileSync(path("export.csv"), "utf8"));
  const rows = lines(files["rows.jsonl"]);
  expect(rows.map(({ period, kwh, accepted_kwh }) => [period, kwh, accepted_kwh]).sort()).toEqual([
    ["2026-04", 110, 110],
    ["2026-04", 300, 300],
    ["2026-05", 200, 200],
  ]);
  for (const { mandate_id, document, document_sha256, pdf_sha256 } of lines(files["mandates.jsonl"])) {
    expect(sha256(Buffer.from(document))).toBe(document_sha256);
    expect(sha256(files[`mandates/${mandate_id}.pdf`] as Uint8Array)).toBe(pdf_sha256);
  }
  const deliveries = lines(files["deliveries.jsonl"]);
  expect(new Set(deliveries.map(({ delivery_id }) => delivery_id))).toEqual(
    new Set(rows.map(({ delivery_id }) => delivery_id)),
  );
  for (const { body, body_sha256 } of deliveries) expect(sha256(Buffer.from(body))).toBe(body_sha256);
  const meters = lines(files["connections.jsonl"]);
  expect(meters.map(({ connection_id }) => connection_id).sort()).toEqual(
    customers.map(({ connection_id }) => connection_id).sort(),
  );
  expect(meters[0].chargers[0]).toMatchObject({
    mid_eligible: true,
    mid_evidence: expect.any(String),
    mid_source: expect.any(String),
  });
  expect(meters.flatMap(({ replaced_months }) => replaced_months)).toMatchObject([
    { period: "2026-04", total_kwh: 100 },
  ]);
  const actions = lines(files["audit.jsonl"]).flatMap(({ rows }) =>
    rows.map(({ action }: { action: string }) => action),
  );
  expect(actions).toEqual(expect.arrayContaining(["account.created", "mandate.signed", "booking.submitted"]));
});

test("contract §3 twice it is the same bytes, and a file that is there is not overwritten unless that is said", async () => {
  expect((await write("again.zip")).code).toBe(0);
  expect((await write("twice.zip")).code).toBe(0);
  expect(sha256(readFileSync(path("twice.zip")))).toBe(sha256(readFileSync(path("again.zip"))));
  writeFileSync(path("mine.zip"), "mine");
  const refused = await write("mine.zip");
  expect([refused.code, refused.err]).toEqual([
    1,
    `error: ${path("mine.zip")} exists already; name another file, or add --overwrite.\n`,
  ]);
  expect(readFileSync(path("mine.zip"), "utf8")).toBe("mine");
  expect((await write("mine.zip", "--overwrite")).code).toBe(0);
  const nowhere = await write("no/such/folder.zip");
  expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringMatching(/cannot be written \(ENOENT\)/)]);
  expect(existsSync(path("mine.zip.part"))).toBe(false);
});

test("contract §3 of a person the charging sessions are the delivery", async () => {
  const person = await addChargingPerson(world);
  await person.charge("2026-04", 40_000);
  await world.done("booking open 2026-Q2 --partner service");
  const { results } = await world.done("booking submit 2026-Q2 --partner service");
  const out = path("person.zip");
  await world.run(["audit", "evidence", results[0].booking.booking_id, "--out", out]);
  const files = unzipSync(readFileSync(out));
  expect(lines(files["deliveries.jsonl"])).toEqual([]);
  expect(lines(files["connections.jsonl"])[0].charging_sessions).toMatchObject([{ wh: 40_000, flags: [] }]);
});

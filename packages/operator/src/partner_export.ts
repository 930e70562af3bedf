// Writes all rows of a partner into a folder: a file for each table, with a JSON object a line, and manifest.json.

import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Input, Machine } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { placeOf } from "./private_file.ts";

/** Raised by one if a reader would have to change. */
const FORMAT = "ere-partner-export/1";
/** Bytes that one answer of the database should have. */
const PAGE = 1_000_000;

type Begun = { export: number; tables: { table: string; withheld: string[] }[] };
type Page = { rows: number; last: string[] | null; lines: string | null };
type Call = Machine["call"];

export async function exportPartner({ partner, to }: Input, { call, connect, say }: Machine): Promise<OpsAnswer> {
  const folder = placeOf(to);
  // a refused command leaves no folder behind
  makeFolder(folder, false);
  const { tables, export: id, ...about } = (await call("partner_export", { partner })) as Begun & OpsAnswer;
  makeFolder(folder, true);
  const written = await connect(async (database) => {
    // one moment for all pages
    await database.query("begin isolation level repeatable read read only");
    const files = [];
    for (const { table, withheld } of tables) {
      const { rows, sha256 } = await writeTable(join(folder, `${table}.ndjson`), database.call, {
        partner,
        export: id,
        table,
      });
      if (rows > PAGE / 100) say(`${table}: ${rows} rows\n`);
      files.push({ table, file: `${table}.ndjson`, rows, sha256, withheld });
    }
    await database.query("commit");
    return files;
  });
  // the last file: a folder without it is not whole
  const manifest = `${JSON.stringify({ format: FORMAT, ...about, tables: written }, null, 2)}\n`;
  writeFileSync(join(folder, "manifest.json"), manifest, { mode: 0o600, flag: "wx" });
  return {
    folder,
    rows: written.reduce((sum, { rows }) => sum + rows, 0),
    manifest_sha256: createHash("sha256").update(manifest).digest("hex"),
    tables: written,
  };
}

/** A new or empty folder that only the operator can read. */
function makeFolder(folder: string, make: boolean): void {
  try {
    if (existsSync(folder) && readdirSync(folder).length > 0) throw Object.assign(new Error(), { code: "ENOTEMPTY" });
    if (!existsSync(folder)) accessSync(dirname(folder), constants.W_OK);
    if (make) mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new OperatorError(`${folder} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** Page by page, so that memory does not grow with the table. */
async function writeTable(path: string, read: Call, input: Input): Promise<{ rows: number; sha256: string }> {
  const hash = createHash("sha256");
  const file = await open(path, "wx", 0o600);
  let rows = 0;
  try {
    for (let size = 100, after: string[] | null = null; ; ) {
      const page = (await read("partner_export_rows", { ...input, after, size })) as Page;
      if (!page.lines) return { rows, sha256: hash.digest("hex") };
      hash.update(page.lines);
      await file.write(page.lines);
      rows += page.rows;
      if (page.rows < size) return { rows, sha256: hash.digest("hex") };
      after = page.last;
      // a document may have a hundred kilobytes, a link of the audit log two hundred bytes
      size = Math.min(Math.max(Math.round((size * PAGE) / page.lines.length), 5), 5_000);
    }
  } finally {
    await file.close();
  }
}

// The evidence for a booking as one zip, for the verifier. It is written while it is read, so memory holds at most one
// page.

import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { Zip, ZipDeflate, ZipPassThrough } from "fflate";
import type { Input, Machine, Row } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { placeOf } from "./private_file.ts";

/** Lines of each part per read; a PDF has up to 100 kB. */
const PARTS = { rows: 500, mandates: 200, deliveries: 200, connections: 100, audit: 500 };
const PDFS = 50;
/** Limits of zip without ZIP64, in entries and bytes. Some room is left for the last entries. */
const MOST_FILES = 65_000;
const MOST_BYTES = 4_000_000_000;

type Written = { name: string; bytes: number; sha256: string };
type Page = { lines: Row[]; last: string | null };

/** A zip streamed to a file. The same content gives the same bytes on any day. */
class Archive {
  readonly files: Written[] = [];
  #bytes = 0;
  #zip: Zip;

  constructor(file: number) {
    this.#zip = new Zip((error, chunk) => {
      if (error) throw error;
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
      this.#bytes += chunk.length;
    });
  }

  /** Writes a file in several pieces. PDFs are stored uncompressed, because they are compressed already. */
  async add(name: string, pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    if (this.files.length >= MOST_FILES || this.#bytes > MOST_BYTES) {
      throw new OperatorError(
        `The evidence does not fit into one zip (${MOST_FILES} files, 4 GB). Nothing was written.`,
      );
    }
    const entry = name.endsWith(".pdf") ? new ZipPassThrough(name) : new ZipDeflate(name, { level: 6 });
    entry.mtime = new Date(1980, 0, 1);
    this.#zip.add(entry);
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const piece of pieces) {
      hash.update(piece);
      bytes += piece.length;
      entry.push(piece);
    }
    entry.push(new Uint8Array(0), true);
    this.files.push({ name, bytes, sha256: hash.digest("hex") });
  }

  end(): void {
    this.#zip.end();
  }
}

const text = (value: string) => new TextEncoder().encode(value);

/** Writes the evidence of a booking into a file: completely, or not at all. */
export async function writeEvidence({ out, overwrite, ...input }: Input, machine: Machine): Promise<OpsAnswer> {
  const { call, connect, env, say } = machine;
  const path = placeOf(out);
  if (existsSync(path) && !overwrite) {
    throw new OperatorError(`${path} exists already; name another file, or add --overwrite.`);
  }
  const { flushed, ...opened } = await call("evidence_open", input);
  const replica = env.OPERATOR_REPLICA_DATABASE_URL;
  if (!replica) return write(path, opened, call, say);
  const { ready } = await connect((session) => session.call("replica_ready", { flushed }), replica).catch(() => ({
    ready: false,
  }));
  if (ready) return connect((session) => write(path, opened, session.call, say), replica);
  say("The replica is away or behind, so the primary is read.\n");
  return write(path, opened, call, say);
}

async function write(
  path: string,
  { csv, ...booking }: OpsAnswer,
  call: Machine["call"],
  say: Machine["say"],
): Promise<OpsAnswer> {
  const { partner_id, booking_id, rows } = booking as { partner_id: string; booking_id: string; rows: number };
  const missing: string[] = [];
  async function* pages(part: string, size: number): AsyncGenerator<Row[]> {
    for (let after: string | null = null, read = 0; ; ) {
      const { lines, last }: Page = (await call("evidence_page", {
        partner_id,
        booking_id,
        part,
        after,
        size,
      })) as Page;
      if (last === null) return;
      after = last;
      read += lines.length;
      if (rows > 1000) say(`${part}: ${read}\n`);
      yield lines;
    }
  }
  async function* lines(part: string, size: number) {
    for await (const page of pages(part, size)) yield text(page.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  const aside = `${path}.part`;
  const file = openFor(aside);
  try {
    const archive = new Archive(file);
    await archive.add("export.csv", [text(String(csv))]);
    for (const [part, size] of Object.entries(PARTS)) await archive.add(`${part}.jsonl`, lines(part, size));
    for await (const page of pages("pdfs", PDFS)) {
      for (const { mandate_id, pdf } of page as { mandate_id: string; pdf: string | null }[]) {
        if (pdf === null) missing.push(mandate_id);
        else await archive.add(`mandates/${mandate_id}.pdf`, [Buffer.from(pdf, "base64")]);
      }
    }
    const files = [...archive.files];
    const manifest = { booking, files, missing_pdfs: missing };
    await archive.add("manifest.json", [text(`${JSON.stringify(manifest, null, 2)}\n`)]);
    archive.end();
    renameSync(aside, path);
    const sha256 = archive.files.at(-1)?.sha256;
    return { ...booking, file: path, files: files.length + 1, manifest_sha256: sha256, missing_pdfs: missing };
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

function openFor(path: string): number {
  try {
    return openSync(path, "w", 0o600);
  } catch (error) {
    throw new OperatorError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
  }
}

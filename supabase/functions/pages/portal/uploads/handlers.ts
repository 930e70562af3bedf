import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import { KINDS } from "#shared/domain/charging_in/file/columns.ts";
import type { ReadUpload, UploadFault } from "#shared/domain/charging_in/file/read_upload.ts";
import { cut, storable } from "#shared/values/text.ts";
import { type Cell, toCsv } from "../../kit/csv.ts";
import { csvFile, workbook } from "../../kit/download.ts";
import type { PageAnswer } from "../../kit/visit.ts";
import { rowsAsked } from "../file_rows.ts";
import { portalPage } from "../frame.ts";
import { fileOf, openKept, sealKept } from "../import/kept.ts";
import type { Who } from "../model.ts";
import { type PortalVisit, signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import type { Kept, Shown, Upload } from "./model.ts";
import { formPage, gonePage, isToMend, PAGE, resultPage, said } from "./views.ts";

/** Rows of each kind, as somebody types them in English. */
const MONTHS = [
  ["KL-1001", "2026-03", "24", "312.5"],
  ["KL-1002", "2026-03", "9", "88.25"],
];
const SESSIONS = [
  ["S-1", "PAAL-17", "2026-03-10 18:00", "2026-03-10 20:10", "18.42", "4012.10", "4030.52"],
  ["S-2", "PAAL-17", "2026-03-11 18:00", "2026-03-11 19:00", "7.5", "4030.52", "4038.02"],
];
const inDutch = (rows: string[][]) =>
  rows.map((row) => row.map((cell) => cell.replace(/^(....)-(..)-(..) /, "$3-$2-$1 ").replace(".", ",")));

/** Files to download, by their names. */
const EXAMPLES: Record<string, { locale: "nl" | "en"; rows: string[][] }> = {
  maanden: { locale: "nl", rows: [["klantnummer", "maand", "sessies", "kWh"], ...inDutch(MONTHS)] },
  sessies: {
    locale: "nl",
    rows: [["sessie", "laadpaal", "start", "eind", "kWh", "meterstand begin", "meterstand eind"], ...inDutch(SESSIONS)],
  },
  months: { locale: "en", rows: [["customer number", "month", "sessions", "kWh"], ...MONTHS] },
  sessions: {
    locale: "en",
    rows: [["session", "charger", "start", "end", "kWh", "meter start", "meter end"], ...SESSIONS],
  },
};

const showUploads = signedIn(async (visit) => {
  const shown = await visit.own<Shown>("read_portal_uploads", { id: null });
  const news = visit.news();
  return visit.pageOf(formPage(visit.frame, shown, news), news);
});

const bringUpload = signedIn(async (visit) => {
  const { clients } = await visit.own<Shown>("read_portal_uploads", { id: null });
  const { uploads: words } = WORDS[visit.locale];
  const { form } = visit;
  const asked = form.get("client");
  const client = clients.length === 1 ? clients[0] : clients.find(({ id }) => id === asked);
  const kind = KINDS.find((each) => each === form.get("kind")) ?? "";
  const decimal = ([",", "."] as const).find((each) => each === form.get("decimal")) ?? "";
  const refuse = (message: string) => visit.refuse(PAGE, { file: message });
  const file = fileOf(visit);
  if (typeof file === "string") return refuse(file);
  if (!client) return visit.refuse(PAGE, { client: words.errors.client });
  const bytes = new Uint8Array(await file.arrayBuffer());
  const kept: Kept = {
    file: Buffer.from(bytes).toString("base64"),
    file_name: storable(cut(file.name, 200)),
    client: client.id,
    kind,
    decimal,
  };
  const { read, fault } = await readAs(bytes, kept);
  if (fault) {
    visit.logOutcome(fault.code);
    return refuse(whyNot(visit, fault));
  }
  const id = randomUUID();
  await visit.own("keep_import", { id, row_count: read.rows, ...sealKept(visit, id, kept) });
  return visit.go(`${PAGE}/${id}`);
});

type Read = { read: ReadUpload; fault: null } | { read: null; fault: UploadFault };

/** Reads a kept file again. */
const readKept = (kept: Kept) =>
  readAs(
    Uint8Array.from(atob(kept.file), (letter) => letter.charCodeAt(0)),
    kept,
  );

async function readAs(bytes: Uint8Array, { kind, decimal }: Kept): Promise<Read> {
  const { readUpload, UploadFault } = await import("#shared/domain/charging_in/file/read_upload.ts");
  try {
    return { read: await readUpload(bytes, { kind: kind || undefined, decimal: decimal || undefined }), fault: null };
  } catch (error) {
    if (!(error instanceof UploadFault)) throw error;
    return { read: null, fault: error };
  }
}

function whyNot({ locale }: PortalVisit, { code, wrong, fields, columns }: UploadFault): string {
  const { uploads, bring } = WORDS[locale];
  const { errors } = uploads;
  const about = fields as { column?: string; sheet_row?: number; value?: string };
  if (code === "unknown_columns")
    return columns.lacks.length === 0
      ? errors.both_kinds
      : errors.unknown_columns(
          columns.lacks.map((need) => uploads.needs[need]).join(", "),
          columns.unread.join(", ").slice(0, 300),
        );
  if (code === "ambiguous_decimals")
    return errors.ambiguous_decimals(about.column ?? "", String(about.sheet_row), about.value ?? "");
  if (wrong === "too_many_rows" || wrong === "no_rows") return errors[wrong];
  return bring.file.errors[wrong ?? "other"];
}

type Found = { shown: Shown; kept: Kept | null; id: string };

async function find(visit: PortalVisit): Promise<Found> {
  const id = visit.c.req.param("id") ?? "";
  const shown = await visit.own<Shown>("read_portal_uploads", { id });
  const kept = shown.sealed && openKept<Kept>(visit, id, "file", shown.sealed);
  // its client may have been disabled since
  const may = shown.clients.some((client) => client.id === kept?.client);
  return { shown, kept: may ? kept : null, id };
}

/** Judges a file that is kept, or stores it. As slow as what programs may send. */
function deliver(visit: PortalVisit, id: string, kept: Kept, read: ReadUpload, dry_run: boolean): Promise<Upload> {
  const { table: _, ...told } = read;
  return visit.own<Upload>("portal_upload", {
    ...told,
    upload_id: id,
    client: kept.client,
    sha256: createHash("sha256").update(Buffer.from(kept.file, "base64")).digest("hex"),
    decimal: kept.decimal || null,
    file_name: kept.file_name,
    dry_run,
  });
}

type Looked = Found & { upload: Upload; read: ReadUpload | null };

/** What was stored of a file, or else what would be, as of the first look. Null where it is somebody else's, or no longer kept. */
async function look(visit: PortalVisit): Promise<{ who: Who; looked: Looked | null; stored_as?: string }> {
  const found = await find(visit);
  const { shown, kept, id } = found;
  const { who } = shown;
  const { read } = kept ? await readKept(kept) : { read: null };
  if (shown.upload) return { who, looked: { ...found, upload: shown.upload, read } };
  if (!kept || !read) return { who, looked: null };
  let results = shown.judged;
  if (!results) {
    const answer = await deliver(visit, id, kept, read, true);
    if (answer.upload_id) return { who, looked: null, stored_as: answer.upload_id };
    results = answer.results;
  }
  const { kind, rows, columns } = read;
  return { who, looked: { ...found, upload: { upload_id: null, kind, rows, columns, results }, read } };
}

const showUpload = signedIn(async (visit) => {
  const { who, looked, stored_as } = await look(visit);
  if (stored_as) return visit.told(`${PAGE}/${stored_as}`, "known");
  if (!looked) return gone(visit, who);
  const { upload, read, id } = looked;
  const news = visit.news();
  return visit.pageOf(resultPage(visit.frame, who, { id, upload, read }, rowsAsked(visit), news), news);
});

const confirmUpload = signedIn(async (visit) => {
  const { shown, kept, id } = await find(visit);
  if (shown.upload) return visit.go(`${PAGE}/${id}`);
  const { read } = kept ? await readKept(kept) : { read: null };
  if (!kept || !read) return gone(visit, shown.who);
  const storing = deliver(visit, id, kept, read, false);
  const { answer, refused } = await visit.attempt(storing, ["service_unavailable"]);
  if (refused) return visit.told(`${PAGE}/${id}`, "busy");
  // the same file was stored meanwhile, under the id of then
  return visit.go(`${PAGE}/${answer.upload_id}`);
});

/** The rows that are not stored, or cannot be true, as they stand in the file, and why: to mend and to upload again. */
const downloadBadRows = signedIn(async (visit) => {
  const { who, looked } = await look(visit);
  if (!looked?.read) return gone(visit, who);
  const { upload, read, kept } = looked;
  const words = WORDS[visit.locale].uploads;
  const headers = read.columns.map(({ header }) => header);
  const { rowsAsText } = await import("#shared/domain/charging_in/file/mend.ts");
  const textsOf = rowsAsText(read, kept?.decimal || null, visit.locale === "nl" ? "," : ".");
  const rows = upload.results
    .filter(isToMend)
    .map((result): Cell[] => [...textsOf(result.row), said(words, result).join(" ")]);
  return csvFile(
    visit,
    visit.locale === "nl" ? "verbeteren" : "to-mend",
    toCsv(visit.locale, [[...headers, words.mend_why], ...rows]),
  );
});

const downloadExample = signedIn(async (visit) => {
  // only who is signed in, as on all these pages
  await visit.admit();
  const [name = "", type] = (visit.c.req.param("file") ?? "").split(".");
  const { locale, rows } = EXAMPLES[name] as (typeof EXAMPLES)[string];
  if (type === "csv") return csvFile(visit, name, toCsv(locale, rows));
  return workbook(visit, name, rows);
});

function gone(visit: PortalVisit, who: Who): PageAnswer {
  visit.logOutcome("gone");
  return visit.page(portalPage(visit.frame, PAGE, who, gonePage(visit.frame)), 404);
}

/** The pages on which a partner delivers months and sessions by file. */
export const uploadPages = { showUploads, bringUpload, showUpload, confirmUpload, downloadBadRows, downloadExample };

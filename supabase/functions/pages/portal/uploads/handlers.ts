import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import { KINDS } from "#shared/domain/charging_in/file/headings.ts";
import { choicesOf, type Said } from "#shared/domain/charging_in/file/layout.ts";
import { oneAtATime } from "#shared/domain/charging_in/file/one_at_a_time.ts";
import type { ReadUpload, UploadFault } from "#shared/domain/charging_in/file/read_upload.ts";
import { ORDERS } from "#shared/domain/sheet/times.ts";
import type { ErrorFields } from "#shared/foundation/error_fields.ts";
import { cut, storable } from "#shared/values/text.ts";
import { type Cell, toCsv } from "../../kit/csv.ts";
import { csvFile, workbook } from "../../kit/download.ts";
import type { PageAnswer } from "../../kit/page_request.ts";
import { rowsAsked } from "../file_rows.ts";
import { portalPage } from "../frame.ts";
import { fileOf, openKept, sealKept } from "../import/kept.ts";
import type { Who } from "../model.ts";
import { type PortalRequest, signedIn } from "../request.ts";
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

const showUploads = signedIn(async (request) => {
  const shown = await request.own("read_portal_uploads", { id: null });
  const news = request.news();
  return request.pageOf(formPage(request.frame, shown, news), news);
});

const bringUpload = signedIn(async (request) => {
  const { clients } = await request.own("read_portal_uploads", { id: null });
  const { uploads: words } = WORDS[request.locale];
  const { form } = request;
  const asked = form.get("client");
  const client = clients.length === 1 ? clients[0] : clients.find(({ id }) => id === asked);
  const kind = KINDS.find((each) => each === form.get("kind")) ?? "";
  const decimal = ([",", "."] as const).find((each) => each === form.get("decimal")) ?? "";
  const dates = ORDERS.find((each) => each === form.get("dates")) ?? "";
  const columns = storable(cut(String(form.get("columns") ?? "").trim(), 120));
  const refuse = (message: string) => request.refuse(PAGE, { file: message });
  const file = fileOf(request);
  if (typeof file === "string") return refuse(file);
  if (!client) return request.refuse(PAGE, { client: words.errors.client });
  const bytes = new Uint8Array(await file.arrayBuffer());
  const kept: Kept = {
    file: Buffer.from(bytes).toString("base64"),
    file_name: storable(cut(file.name, 200)),
    client: client.id,
    kind,
    decimal,
    dates,
    columns,
  };
  const { read, fault } = await readAs(bytes, kept);
  if (fault) {
    request.logOutcome(fault.code);
    return refuse(whyNot(request, fault));
  }
  const id = randomUUID();
  await request.own("keep_import", { id, row_count: read.rows, ...sealKept(request, id, kept) });
  return request.go(`${PAGE}/${id}`);
});

type Read = { read: ReadUpload; fault: null } | { read: null; fault: UploadFault };

/** Reads a kept file again. */
const readKept = (kept: Kept) =>
  readAs(
    Uint8Array.from(atob(kept.file), (letter) => letter.charCodeAt(0)),
    kept,
  );

/** What the form said about a file. */
const saidOf = ({ kind, decimal, dates, columns }: Kept): Said => ({
  kind: kind || undefined,
  decimal: decimal || undefined,
  dates: dates || undefined,
  columns: columns || undefined,
});

async function readAs(bytes: Uint8Array, kept: Kept): Promise<Read> {
  const { readUpload, UploadFault } = await import("#shared/domain/charging_in/file/read_upload.ts");
  try {
    return { read: await readUpload(bytes, saidOf(kept)), fault: null };
  } catch (error) {
    if (!(error instanceof UploadFault)) throw error;
    return { read: null, fault: error };
  }
}

function whyNot({ locale }: PortalRequest, { code, wrong, fields, columns }: UploadFault): string {
  const { uploads, bring } = WORDS[locale];
  const { errors } = uploads;
  const about: ErrorFields = fields;
  const { column = "", value = "", columns: differ = [], units = [] } = about;
  const row = String(about.sheet_row ?? "");
  if (code === "unknown_columns")
    return columns.lacks.length === 0
      ? errors.both_kinds
      : errors.unknown_columns(
          columns.lacks.map((need) => uploads.needs[need]).join(", "),
          columns.unread.join(", ").slice(0, 300),
          row,
        );
  if (code === "ambiguous_decimals") return errors.ambiguous_decimals(column, row, value);
  if (code === "ambiguous_columns") return errors.ambiguous_columns(differ.join(", "));
  if (code === "ambiguous_units") return errors.ambiguous_units(column, units.join(", "));
  if (code === "unknown_zone") return errors.unknown_zone(column, row, value);
  if (code === "ambiguous_dates") {
    const date = (written: string | undefined) => written && dateInWords(locale, written);
    return errors.ambiguous_dates(column, row, value, date(about.dmy), date(about.mdy));
  }
  if (wrong === "too_many_rows" || wrong === "no_rows") return errors[wrong];
  return bring.file.errors[wrong ?? "other"];
}

/** A date in English words, in the reader's language. */
const dateInWords = (locale: "nl" | "en", written: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone: "UTC" }).format(Date.parse(`${written} UTC`));

type Found = { shown: Shown; kept: Kept | null; id: string };

async function find(request: PortalRequest): Promise<Found> {
  const id = request.c.req.param("id") ?? "";
  const shown = await request.own("read_portal_uploads", { id });
  const kept = shown.sealed && openKept<Kept>(request, id, "file", shown.sealed);
  // its client may have been disabled since
  const may = shown.clients.some((client) => client.id === kept?.client);
  return { shown, kept: may ? kept : null, id };
}

/** Judges a file that is kept, or stores it. As slow as what programs may send. */
function deliver(request: PortalRequest, id: string, kept: Kept, read: ReadUpload, dry_run: boolean): Promise<Upload> {
  const { table: _, ...told } = read;
  return oneAtATime(kept.client, id, () =>
    request.own("portal_upload", {
      ...told,
      upload_id: id,
      client: kept.client,
      sha256: createHash("sha256").update(Buffer.from(kept.file, "base64")).digest("hex"),
      said: choicesOf(saidOf(kept)),
      file_name: kept.file_name,
      dry_run,
    }),
  );
}

type Looked = Found & { upload: Upload; read: ReadUpload | null };

/** What was stored of a file, or else what would be, as of the first look. Null where it is somebody else's, or no longer kept. */
async function look(request: PortalRequest): Promise<{ who: Who; looked: Looked | null; stored_as?: string }> {
  const found = await find(request);
  const { shown, kept, id } = found;
  const { who } = shown;
  const { read } = kept ? await readKept(kept) : { read: null };
  if (shown.upload) return { who, looked: { ...found, upload: shown.upload, read } };
  if (!kept || !read) return { who, looked: null };
  let results = shown.judged;
  if (!results) {
    const answer = await deliver(request, id, kept, read, true);
    if (answer.upload_id) return { who, looked: null, stored_as: answer.upload_id };
    results = answer.results;
  }
  const { kind, rows, columns } = read;
  // SQL may have found that ids come again
  const ids = new Map(read.items.map(({ place, external_id }) => [place, external_id]));
  const ids_ignored =
    read.read.ids_ignored ||
    results.some(({ row, session_id }) => ids.get(row) !== undefined && ids.get(row) !== session_id);
  const counts: Record<string, number> = {};
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1;
  const upload = { upload_id: null, kind, rows, columns, counts, results, ...read.read, ids_ignored };
  return { who, looked: { ...found, upload, read } };
}

const showUpload = signedIn(async (request) => {
  const { who, looked, stored_as } = await look(request);
  if (stored_as) return request.told(`${PAGE}/${stored_as}`, "known");
  if (!looked) return gone(request, who);
  const { upload, read, id } = looked;
  const news = request.news();
  return request.pageOf(resultPage(request.frame, who, { id, upload, read }, rowsAsked(request), news), news);
});

const confirmUpload = signedIn(async (request) => {
  const { shown, kept, id } = await find(request);
  if (shown.upload) return request.go(`${PAGE}/${id}`);
  const { read } = kept ? await readKept(kept) : { read: null };
  if (!kept || !read) return gone(request, shown.who);
  const storing = deliver(request, id, kept, read, false);
  const { answer, refused } = await request.attempt(storing, ["service_unavailable", "too_many_requests"]);
  if (refused) return request.told(`${PAGE}/${id}`, "busy");
  // the same file was stored meanwhile, under the id of then
  return request.go(`${PAGE}/${answer.upload_id}`);
});

/** The rows that are not stored, or cannot be true, as they stand in the file, and why: to mend and to upload again. */
const downloadBadRows = signedIn(async (request) => {
  const { who, looked } = await look(request);
  if (!looked?.read) return gone(request, who);
  const { upload, read, kept } = looked;
  const words = WORDS[request.locale].uploads;
  const headers = read.columns.map(({ header }) => header);
  const { rowsAsText } = await import("#shared/domain/charging_in/file/mend.ts");
  const textsOf = rowsAsText(read, kept?.decimal || null, request.locale === "nl" ? "," : ".");
  const rows = upload.results
    .filter(isToMend)
    .map((result): Cell[] => [...textsOf(result.row), said(request.locale, result).join(" ")]);
  return csvFile(
    request,
    request.locale === "nl" ? "verbeteren" : "to-mend",
    toCsv(request.locale, [[...headers, words.mend_why], ...rows]),
  );
});

const downloadExample = signedIn(async (request) => {
  // only who is signed in, as on all these pages
  await request.admit();
  const [name = "", type] = (request.c.req.param("file") ?? "").split(".");
  const { locale, rows } = EXAMPLES[name] as (typeof EXAMPLES)[string];
  if (type === "csv") return csvFile(request, name, toCsv(locale, rows));
  return workbook(request, name, rows);
});

function gone(request: PortalRequest, who: Who): PageAnswer {
  request.logOutcome("gone");
  return request.page(portalPage(request.frame, PAGE, who, gonePage(request.frame)), 404);
}

/** The pages on which a partner delivers months and sessions by file. */
export const handlers = { showUploads, bringUpload, showUpload, confirmUpload, downloadBadRows, downloadExample };

/** The first bytes of a zip archive, which an Excel workbook is. */
const ZIP = [0x50, 0x4b];
const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** Text or bytes as a file that says what it is; a Blob says it itself. */
function fileOf(content: string | Uint8Array<ArrayBuffer> | Blob): Blob {
  if (content instanceof Blob) return content;
  const isWorkbook = typeof content !== "string" && ZIP.every((byte, index) => content[index] === byte);
  return new Blob([content], { type: isWorkbook ? XLSX : "text/csv" });
}

const isFile = (value: unknown): value is Uint8Array<ArrayBuffer> | Blob =>
  value instanceof Blob || value instanceof Uint8Array;

function formOf(fields: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (isFile(value)) form.set(name, fileOf(value), "file");
    else if (value !== undefined) form.set(name, String(value));
  return form;
}

/**
 * A body as `fetch` sends it: text, bytes and files as they are, an object that has a file as a form, and any other
 * object as JSON.
 */
export function serialize(body: unknown, headers?: Headers): BodyInit {
  if (typeof body === "string" || isFile(body)) return fileOf(body);
  if ([FormData, URLSearchParams, ReadableStream].some((kind) => body instanceof kind)) return body as BodyInit;
  const fields = (body ?? {}) as Record<string, unknown>;
  if (headers?.get("content-type")?.startsWith("application/x-www-form-urlencoded"))
    return new URLSearchParams(fields as Record<string, string>);
  return Object.values(fields).some(isFile) ? formOf(fields) : JSON.stringify(body);
}

/** openapi-fetch says JSON of every body. What is no text then says its own type, unless the call has a header for it. */
export class BodyRequest extends Request {
  constructor(url: RequestInfo | URL, init?: RequestInit) {
    const headers = new Headers(init?.headers);
    const isOther = typeof init?.body !== "string" && headers.get("content-type") === "application/json";
    if (isOther) headers.delete("content-type");
    // Node takes no stream without it
    super(url, { ...init, headers, ...{ duplex: "half" } });
  }
}

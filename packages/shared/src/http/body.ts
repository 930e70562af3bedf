import { ApiError } from "#shared/foundation/errors.ts";
import { isDeeper } from "#shared/values/json.ts";

/** The largest body in bytes, unless a route sets its own. */
export const MAX_BODY = 1024 * 1024;

/** Time limit for a whole body. A slower sender would hold a connection and memory. */
export const BODY_MS = 30_000;

/**
 * Bytes per read, unless the body says that it is smaller. We reuse our own buffer: Deno would allocate as much for
 * every read, and collect all garbage for each 8 MB, which was every 64 requests.
 */
const CHUNK = 64 * 1024;

/**
 * Passes on at most `max` bytes of a body as they arrive, whatever Content-Length says, and within BODY_MS. `take` must
 * not keep a chunk, because the next read overwrites it. `last` is true if no more can come.
 * @throws {ApiError} `payload_too_large`, `request_timeout`
 */
async function consume(request: Request, max: number, take: (chunk: Uint8Array, last: boolean) => void): Promise<void> {
  const declared = Number(request.headers.get("content-length"));
  if (declared > max) throw tooLarge(max);
  if (!request.body) return;
  const source = sourceOf(request.body, declared > 0 ? Math.min(declared, CHUNK) : CHUNK);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    // ends the waiting read; a race with the timer would leak memory per chunk, and a body may have a million
    source.cancel().catch(() => {});
  }, BODY_MS);
  let size = 0;
  try {
    for (;;) {
      const chunk = await source.read();
      if (late) throw new ApiError("request_timeout");
      if (!chunk) return;
      size += chunk.byteLength;
      if (size > max) throw tooLarge(max);
      // the server enforces Content-Length (RFC 9112 section 6.3), so we need not read the end
      const last = size === declared;
      take(chunk, last);
      if (last) return;
    }
  } finally {
    clearTimeout(timer);
    // do not wait: a client that sends no more does not end the body either
    source.cancel().catch(() => {});
  }
}

const tooLarge = (max: number) =>
  new ApiError("payload_too_large", { detail: `The body may have ${Math.floor(max / 1024)} KiB at most. Send less.` });

/** `read` gives the next chunk, or undefined at the end. */
type Source = { read(): Promise<Uint8Array | undefined>; cancel(): Promise<void> };

/** Reads into one buffer if the stream can, as the server's stream does. */
function sourceOf(body: ReadableStream<Uint8Array>, size: number): Source {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    const plain = body.getReader();
    return { read: async () => (await plain.read()).value, cancel: () => plain.cancel() };
  }
  let memory = new Uint8Array(size);
  return {
    async read() {
      const { done, value } = await reader.read(memory);
      if (done || !value) return undefined;
      memory = new Uint8Array(value.buffer);
      return value;
    },
    cancel: () => reader.cancel(),
  };
}

/**
 * The text of a body.
 * @throws {ApiError} `payload_too_large`, `request_timeout`, and `invalid_json` if it is not UTF-8
 */
export async function readText(request: Request, max: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  let ended = false;
  try {
    await consume(request, max, (chunk, last) => {
      text += decoder.decode(chunk, { stream: !last });
      ended = last;
    });
    return ended ? text : text + decoder.decode();
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError("invalid_json");
  }
}

/**
 * The value of a JSON text, with or without a byte order mark, of at most so many levels.
 * @throws {ApiError} `invalid_json`, also if it is nested deeper
 */
export function parseJson(text: string, levels?: number): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new ApiError("invalid_json");
  }
  if (levels !== undefined && isDeeper(value, levels))
    throw new ApiError("invalid_json", { detail: `Nest JSON at most ${levels} levels deep.` });
  return value;
}

/**
 * The bytes of a body.
 * @throws {ApiError} `payload_too_large`, `request_timeout`
 */
export async function readBytes(request: Request, max: number): Promise<Uint8Array> {
  const chunks: BlobPart[] = [];
  await consume(request, max, (chunk) => chunks.push(chunk.slice()));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/**
 * A multipart form, with the files in it.
 * @throws {ApiError} `payload_too_large`, `request_timeout`, `invalid_request`.
 */
export async function readFormData(request: Request, max: number): Promise<FormData> {
  const chunks: BlobPart[] = [];
  await consume(request, max, (chunk) => chunks.push(chunk.slice()));
  const headers = { "content-type": request.headers.get("content-type") ?? "" };
  try {
    return await new Response(new Blob(chunks), { headers }).formData();
  } catch (error) {
    throw new ApiError("invalid_request", { issues: [{ path: "", message: "is no multipart/form-data" }] }, error);
  }
}

/**
 * The fields of a multipart form, with files as their bytes.
 * @throws {ApiError} `payload_too_large`, `request_timeout`, `invalid_request`
 */
export async function readMultipart(request: Request, max: number): Promise<Record<string, string | Uint8Array>> {
  const fields: Record<string, string | Uint8Array> = {};
  for (const [name, value] of await readFormData(request, max))
    fields[name] ??= typeof value === "string" ? value : new Uint8Array(await value.arrayBuffer());
  return fields;
}

/**
 * Reads and drops the rest of a body. Otherwise a client that is still sending would see a broken connection instead
 * of the refusal.
 */
export async function dropBody(request: Request, max: number): Promise<void> {
  if (!request.body || request.bodyUsed) return;
  try {
    await consume(request, max, () => {});
  } catch {
    // too large, too slow, or gone: the response is the same
  }
}

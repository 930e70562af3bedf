import { ApiError } from "#shared/foundation/errors.ts";

/** The largest body, in bytes, where a route does not say otherwise. */
export const MAX_BODY = 1024 * 1024;

/** How long a body may take to arrive whole. Who sends slower holds a connection and a place in memory for nothing. */
export const BODY_MS = 30_000;

/** Parameters of a form; the specification's largest has eight. */
const MAX_PARAMETERS = 20;

/**
 * Read at a time, of a body that does not say that it is smaller. Into memory of our own: Deno would make as much anew for every read,
 * two for the smallest body, and for each 8 MB of it collect all garbage, which was every 64 requests.
 */
const CHUNK = 64 * 1024;

/**
 * Hands on the bytes of a body as they come, at most `max` of them, whatever Content-Length says, and within BODY_MS. `take` may keep
 * nothing of a chunk: the next one is read into the same memory. `last` is true where it is known that no more will come.
 * @throws {ApiError} `payload_too_large`, `request_timeout`.
 */
async function consume(request: Request, max: number, take: (chunk: Uint8Array, last: boolean) => void): Promise<void> {
  const declared = Number(request.headers.get("content-length"));
  if (declared > max) throw new ApiError("payload_too_large");
  if (!request.body) return;
  const source = sourceOf(request.body, declared > 0 ? Math.min(declared, CHUNK) : CHUNK);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    // ends the read that waits. A race with the timer would keep something of every chunk, of which a body may have a million
    source.cancel().catch(() => {});
  }, BODY_MS);
  let size = 0;
  try {
    for (;;) {
      const chunk = await source.read();
      if (late) throw new ApiError("request_timeout");
      if (!chunk) return;
      size += chunk.byteLength;
      if (size > max) throw new ApiError("payload_too_large");
      // the server lets through no more and no less than was declared (RFC 9112 section 6.3), so that the end need not be asked for
      const last = size === declared;
      take(chunk, last);
      if (last) return;
    }
  } finally {
    clearTimeout(timer);
    // not waited for: a client that sends nothing more does not end it either
    source.cancel().catch(() => {});
  }
}

/** `read` gives the next chunk, or undefined at the end. */
type Source = { read(): Promise<Uint8Array | undefined>; cancel(): Promise<void> };

/** Reads into one piece of memory where the stream can, which that of a server does. */
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
 * @throws {ApiError} `payload_too_large`, `request_timeout`, and `invalid_json` for what is not UTF-8.
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
 * The fields of a multipart form, files as their text: what is not UTF-8 in them reads as U+FFFD.
 * @throws {ApiError} `payload_too_large`, `request_timeout`, `invalid_request`.
 */
export async function readMultipart(request: Request, max: number): Promise<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const [name, value] of await readFormData(request, max))
    fields[name] ??= typeof value === "string" ? value : await value.text();
  return fields;
}

/**
 * The parameters of a form, none of them twice (RFC 6749 section 3.2).
 * @throws {ApiError} `invalid_request`.
 */
export function readParameters(text: string): Record<string, string> {
  const form = new URLSearchParams(text);
  if (form.size > MAX_PARAMETERS) throw wrong("", `has more than ${MAX_PARAMETERS} parameters`);
  const parameters = new Map<string, string>();
  for (const [name, value] of form) {
    if (parameters.has(name)) throw wrong(name, "must not be repeated");
    parameters.set(name, value);
  }
  return Object.fromEntries(parameters);
}

function wrong(path: string, message: string): ApiError {
  return new ApiError("invalid_request", { issues: [{ path, message }] });
}

/**
 * Reads what nobody has read of a body, and drops it. A client that is still sending when it is refused would otherwise see a
 * connection that breaks off, and never the refusal.
 */
export async function dropBody(request: Request, max: number): Promise<void> {
  if (!request.body || request.bodyUsed) return;
  try {
    await consume(request, max, () => {});
  } catch {
    // too much, too slow, or gone: the answer stands
  }
}

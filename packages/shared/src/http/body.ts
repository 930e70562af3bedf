import { ApiError } from "#shared/foundation/errors.ts";

/** The largest body, in bytes, where a route does not say otherwise. */
export const MAX_BODY = 1024 * 1024;

/** How long a body may take to arrive whole. Who sends slower holds a connection and a place in memory for nothing. */
export const BODY_MS = 30_000;

/** Parameters of a form; the specification's largest has eight. */
const MAX_PARAMETERS = 20;

/**
 * The bytes of a body, at most `max` of them, whatever Content-Length says, and within BODY_MS.
 * @throws {ApiError} `payload_too_large`, `request_timeout`.
 */
async function* chunksOf(request: Request, max: number) {
  if (Number(request.headers.get("content-length")) > max) throw new ApiError("payload_too_large");
  const reader = request.body?.getReader();
  if (!reader) return;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    // ends the read that waits. A race with the timer would keep something of every chunk, of which a body may have a million
    reader.cancel().catch(() => {});
  }, BODY_MS);
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw new ApiError("request_timeout");
      if (done) return;
      size += value.byteLength;
      if (size > max) throw new ApiError("payload_too_large");
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // not waited for: a client that sends nothing more does not end it either
    reader.cancel().catch(() => {});
  }
}

/**
 * The text of a body.
 * @throws {ApiError} `payload_too_large`, `request_timeout`, and `invalid_json` for what is not UTF-8.
 */
export async function readText(request: Request, max: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  try {
    for await (const chunk of chunksOf(request, max)) text += decoder.decode(chunk, { stream: true });
    return text + decoder.decode();
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError("invalid_json");
  }
}

/**
 * The fields of a multipart form, files as their text: what is not UTF-8 in them reads as U+FFFD.
 * @throws {ApiError} `payload_too_large`, `request_timeout`, `invalid_request`.
 */
export async function readMultipart(request: Request, max: number): Promise<Record<string, string>> {
  const chunks: BlobPart[] = [];
  for await (const chunk of chunksOf(request, max)) chunks.push(chunk);
  const headers = { "content-type": request.headers.get("content-type") ?? "" };
  try {
    const form = await new Response(new Blob(chunks), { headers }).formData();
    const fields: Record<string, string> = {};
    for (const [name, value] of form) fields[name] ??= typeof value === "string" ? value : await value.text();
    return fields;
  } catch (error) {
    throw new ApiError("invalid_request", { issues: [{ path: "", message: "is no multipart/form-data" }] }, error);
  }
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
    for await (const _ of chunksOf(request, max));
  } catch {
    // too much, too slow, or gone: the answer stands
  }
}

// What the endpoints share that OAuth clients call: how they send parameters, and who they are.

import { Buffer } from "node:buffer";
import { ApiError } from "#shared/foundation/errors.ts";
import { parseJson, readText } from "./body.ts";

/** Parameters of a form; the specification's largest has eight. */
const MAX_PARAMETERS = 20;

const wrong = (path: string, message: string) => new ApiError("invalid_request", { issues: [{ path, message }] });

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

/**
 * A form or JSON.
 * @throws {ApiError} `invalid_request` where it is neither, the word of RFC 6749; and as readText().
 */
async function read(request: Request, max: number): Promise<unknown> {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers.get("content-type") ?? "");
  try {
    const text = await readText(request, max);
    return isForm ? readParameters(text) : parseJson(text);
  } catch (error) {
    if ((error as Partial<ApiError>).code !== "invalid_json") throw error;
    throw wrong("", "must be a form (application/x-www-form-urlencoded) or one JSON object, in UTF-8");
  }
}

const isBasic = ({ headers }: Request) => /^basic\b/i.test(headers.get("authorization") ?? "");

/** For `endpoint()`: how such an endpoint reads its body, and challenges a client (RFC 6749 section 5.2). */
export const OAUTH_CLIENT = {
  accepts: ["form"],
  read,
  challenge: (request: Request, { code }: ApiError) =>
    code === "invalid_client" && isBasic(request) ? 'Basic realm="oauth"' : null,
} as const;

type Sent = { client_id?: string | undefined; client_secret?: string | undefined };

/**
 * Id and secret of the client that sends a request: in its body, or by HTTP Basic (RFC 6749 section 2.3.1), where both
 * are encoded as in a form. Null where Basic cannot be read or is not taken, or the body has a secret or another client
 * too: a client uses one way to authenticate.
 */
export function clientOf(request: Request, body: Sent, takesBasic = true): Required<Sent> | null {
  const { client_id, client_secret } = body;
  if (!isBasic(request)) return { client_id, client_secret };
  const sent = /^basic +([\w+/-]+={0,2})$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const [, ...basic] = /^([^:]*):(.*)$/.exec(Buffer.from(sent, "base64").toString("latin1")) ?? [];
  try {
    const [id = "", secret = ""] = basic.map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    const isOnlyWay = takesBasic && !client_secret && (!client_id || client_id === id);
    return isOnlyWay && /^[\x20-\x7e]+$/.test(id + secret) ? { client_id: id, client_secret: secret } : null;
  } catch {
    return null;
  }
}

import { Buffer } from "node:buffer";

type Sent = { client_id?: string | undefined; client_secret?: string | undefined };

/** Whether a request authenticates its client by HTTP Basic, well or not. */
export const isBasic = ({ headers }: Request): boolean => /^basic\b/i.test(headers.get("authorization") ?? "");

/**
 * Id and secret of the client that sends a request: in its body, or by HTTP Basic (RFC 6749 section 2.3.1), where both
 * are encoded as in a form. Null where Basic cannot be read, or the body has a secret or another client too: a client
 * uses one way to authenticate.
 */
export function clientOf(request: Request, { client_id, client_secret }: Sent): Required<Sent> | null {
  if (!isBasic(request)) return { client_id, client_secret };
  const sent = /^basic +([\w+/-]+={0,2})$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
  const [, ...basic] = /^([^:]*):(.*)$/.exec(Buffer.from(sent, "base64").toString("latin1")) ?? [];
  try {
    const [id = "", secret = ""] = basic.map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    const isOneWay = !client_secret && (!client_id || client_id === id);
    return isOneWay && /^[\x20-\x7e]+$/.test(id + secret) ? { client_id: id, client_secret: secret } : null;
  } catch {
    return null;
  }
}

import { Buffer } from "node:buffer";
import type { Flow, Handler } from "../kit/page_request.ts";
import type {} from "./model.ts";

const SQL = ["read_logo"] as const;

/** A browser may keep it forever: the address is the hash of the content. */
const HEADERS = {
  "Content-Type": "image/png",
  "Cache-Control": "public, max-age=31536000, immutable",
  "Content-Security-Policy": "default-src 'none'; sandbox",
};

/**
 * The logo of a partner, for its pages and mail. Everybody who knows the address may see it. What cannot be an address
 * is not looked up.
 */
const show: Handler<(typeof SQL)[number]> = async (request) => {
  const { c } = request;
  const [, hash] = /^([0-9a-f]{64})\.png$/.exec(c.req.param("file") ?? "") ?? [];
  if (!hash) return c.body(null, 404);
  const etag = `"${hash}"`;
  // not modified
  if (c.req.header("if-none-match") === etag) return c.body(null, 304, { ...HEADERS, ETag: etag });
  const { png } = await request.call("read_logo", { hash });
  if (png === null) return c.body(null, 404);
  return c.body(Buffer.from(png, "base64"), 200, { ...HEADERS, ETag: etag });
};

export const logo: Flow = {
  id: "the logos of partners",
  sql: [...SQL],
  routes: [{ method: "GET", path: "/logo/:file", run: show }],
};

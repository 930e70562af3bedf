// All edge functions in one Deno process behind one port, at the paths they have hosted and at the specification's own.
// Started by main.ts, which holds the other end of standard input: when the runner is gone, however it went, so is this.

import { functionFor } from "#shared/http/routes.ts";
import { type Surface, serve } from "#shared/http/serve.ts";
import { HEADERS } from "../../docs/src/headers.ts";
import { auth } from "./auth.ts";

const HOSTED = "/functions/v1";

type Handler = { fetch(request: Request): Response | Promise<Response> };

function variable(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const functions = new Map<string, Handler>();
const folder = new URL("../../../supabase/functions/", import.meta.url);
for await (const entry of Deno.readDir(folder)) {
  if (!entry.isDirectory) continue;
  const { surface }: { surface: Surface } = await import(new URL(`${entry.name}/app.ts`, folder).href);
  functions.set(entry.name, serve(surface));
}

const issuer = auth({
  url: variable("SUPABASE_URL"),
  database_url: variable("AUTH_DATABASE_URL"),
  key: JSON.parse(variable("AUTH_KEY")),
  publishable_key: variable("PUBLISHABLE_KEY"),
  secret_key: variable("SECRET_KEY"),
  signup: variable("AUTH_SIGNUP") === "on",
});

// The documentation, which npm start wrote: on a real host any web server has it.
const docs = variable("DOCS_FOLDER");
const DOCS_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  tgz: "application/gzip",
  txt: "text/plain; charset=utf-8",
  woff2: "font/woff2",
};

/** A file of the documentation, or the page that says there is none; null where the path is somebody else's. */
async function documentation({ method, url }: Request): Promise<Response | null> {
  if (method !== "GET" && method !== "HEAD") return null;
  const { pathname } = new URL(url);
  if (pathname === "/" || pathname === "/docs")
    return new Response(null, { status: 302, headers: { Location: "/docs/" } });
  // the function of that name has its own health, as hosted
  if (!pathname.startsWith("/docs/") || pathname.startsWith("/docs/health")) return null;
  const file = pathname.slice("/docs/".length) || "index.html";
  const type = DOCS_TYPES[file.slice(file.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  // no file of it begins with a dot, and none is in a folder
  const content = /^\w[\w.-]*$/.test(file) ? await Deno.readFile(`${docs}/${file}`).catch(() => null) : null;
  if (content) return new Response(content, { headers: { "Content-Type": type, ...HEADERS } });
  const up = "../".repeat(file.split("/").length - 1);
  const page = await Deno.readTextFile(`${docs}/404.html`);
  return new Response(page.replace(/ (href|src)="(?=\w+\.)/g, ` $1="${up}`), {
    status: 404,
    headers: { "Content-Type": String(DOCS_TYPES.html), ...HEADERS },
  });
}

/** Answers what reaches no function, as a function answers what it does not know. */
const nobody: Handler = serve({ slug: "npm-start", prefix: "", endpoints: {} });
/** Of others the Fetch standard makes no Request, or one of another method: `get` becomes GET, which may have no body. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The target and the Host make no valid URL. Of these only `OPTIONS *` means something: RFC 9110 section 9.3.7. */
function oddTarget({ method, url }: Request): Response | Promise<Response> {
  if (method === "OPTIONS" && url === "*")
    return new Response(null, { status: 204, headers: { Allow: "GET, HEAD, POST, DELETE, OPTIONS" } });
  return nobody.fetch(new Request("http://127.0.0.1/"));
}

/** Who answers, and the path it sees: a hosted function sees its slug first, never `/functions/v1`. */
function route(path: string): { handler: Handler | undefined; path: string } {
  if (path.startsWith("/auth/v1/")) return { handler: issuer.app, path };
  const seen = path.startsWith(`${HOSTED}/`) ? path.slice(HOSTED.length) : path;
  const slug = seen.split("/")[1] ?? "";
  return { handler: functions.get(slug) ?? functions.get(functionFor(seen) ?? ""), path: seen };
}

const server = Deno.serve(
  {
    hostname: "127.0.0.1",
    port: Number(variable("PORT")),
    onListen: () => console.log("listening"),
  },
  async (request, { remoteAddr }) => {
    if (!URL.canParse(request.url)) return oddTarget(request);
    const page = await documentation(request);
    if (page) return page;
    const url = new URL(request.url);
    const { handler, path } = route(url.pathname);
    if (!handler || !METHODS.has(request.method)) return nobody.fetch(request);
    url.pathname = path;
    const forwarded = new Request(url, request);
    // the gateway's word, never the client's: rate limits per address stand on it
    forwarded.headers.set("x-forwarded-for", remoteAddr.hostname);
    return handler.fetch(forwarded);
  },
);

for await (const _ of Deno.stdin.readable); // until the runner lets go
await server.shutdown();
Deno.exit(0);

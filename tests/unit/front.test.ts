// The fronts of docs/front lead every path of the specification to a function that is deployed and answers it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { ROUTES } from "#shared/http/routes.ts";
import worker from "../../docs/front/worker.js";
import { HEADERS } from "../../packages/docs/src/headers.ts";
import { deployedFunctions } from "../../packages/tools/src/functions.ts";

const folders = new Map(deployedFunctions().map(({ slug, folder }) => [slug, folder]));
afterEach(() => vi.unstubAllGlobals());

test.each(Object.entries(ROUTES))(
  "the worker leads %s to %s, with its query, method and body",
  async (prefix, folder) => {
    const sent: Request[] = [];
    vi.stubGlobal("fetch", (request: Request) => sent.push(request) && new Response());
    const body = "{}";
    worker.fetch(new Request(`https://api.example.nl${prefix}?a=1`, { method: "POST", body }), {
      PROJECT: "x.supabase.co",
    });
    const [request] = sent as [Request];
    const { host, pathname, search } = new URL(request.url);
    expect([host, search, request.method, await request.text()]).toEqual(["x.supabase.co", "?a=1", "POST", body]);
    const [, functions, version, slug = "", ...rest] = pathname.split("/");
    expect([functions, version, folders.get(slug)]).toEqual(["functions", "v1", folder]);
    expect(`/${[slug, ...rest].join("/")}`.endsWith(prefix)).toBe(true);
  },
);

test("§8 the front of the documentation sends the headers that forbid frames", () => {
  const caddy = readFileSync(join(ROOT, "docs/front/docs.Caddyfile"), "utf8");
  const sent = [...caddy.matchAll(/^\theader (\S+) "([^"]*)"$/gm)].map(([, name = "", value]) => [name, value]);
  expect(Object.fromEntries(sent)).toEqual(HEADERS);
  const deploy = readFileSync(join(ROOT, "docs/deploy.md"), "utf8");
  for (const [name, value] of Object.entries(HEADERS)) expect(deploy).toContain(`| \`${name}\` | \`${value}\` |`);
});

test("Caddy leads the same paths elsewhere, and the rest as it is", () => {
  const caddy = readFileSync(join(ROOT, "docs/front/Caddyfile"), "utf8");
  const rewrites = Object.fromEntries(
    [...caddy.matchAll(/^\trewrite (\S+) (\S+)$/gm)].map(([, from = "", to]) => [from, to]),
  );
  const code = readFileSync(join(ROOT, "docs/front/worker.js"), "utf8");
  const elsewhere = Object.fromEntries(
    [...code.matchAll(/^ {2}"(\S+)": "(\S+)",$/gm)].map(([, from = "", to]) => [from, to]),
  );
  expect(rewrites).toEqual({ ...elsewhere, "*": "/functions/v1{uri}" });
});

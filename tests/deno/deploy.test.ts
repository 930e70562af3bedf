import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { wireText } from "#shared/foundation/errors.ts";
import { functionFor, ROUTES } from "#shared/http/routes.ts";
import { endpointsOf, pathsOf, type Surface } from "#shared/http/surface.ts";
import { denoProgram, ROOT } from "../../packages/local/src/checkout.ts";
import { functionsTouchedBy } from "../../packages/tools/src/changed_functions.ts";
import { deployedFunctions, modulesOf } from "../../packages/tools/src/functions.ts";
import { FONT_MODULES } from "../../packages/tools/src/write_fonts.ts";
import { bootFunction, denoGraph, forgetCompiled, type Running } from "../harness/deno.ts";
import { variables } from "../harness/environment.ts";
import { type ManagementApi, startManagementApi, unpack } from "../harness/management_api.ts";
import { signMandate } from "../harness/mandate.ts";
import { readPdf } from "../harness/pdf.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

const FUNCTIONS = deployedFunctions();
const SLUGS = FUNCTIONS.map(({ slug }) => slug);
const FOLDERS = readdirSync(`${ROOT}supabase/functions`, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const readJson = (path: string) => JSON.parse(readFileSync(ROOT + path, "utf8"));
/** What lies behind the alias `#shared/`. A mapped folder goes up whole, with every function. */
const SHARED = readdirSync(`${ROOT}packages/shared/src`, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));

/** The folder that a slug runs, be it the function itself or an alias. */
const folderOf = (slug: string) =>
  FUNCTIONS.find((each) => each.slug === slug)
    ?.entrypoint.split("/")
    .at(-2) ?? slug;

const folder = mkdtempSync(join(tmpdir(), "ere-deploy-"));
let api: ManagementApi;
let said: string;
beforeAll(async () => {
  api = await startManagementApi();
  said = await deploy(api);
});
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

/** From a copy, because the CLI writes down which project it talked to, and later commands would follow that. */
async function deploy({ project, profile, environment }: ManagementApi, ...slugs: string[]): Promise<string> {
  const checkout = join(folder, "checkout");
  for (const path of ["deno.json", "openapi.json", "package.json", "packages", "supabase", "tests"])
    cpSync(ROOT + path, join(checkout, path), { recursive: true, filter: (name) => !name.endsWith("/node_modules") });
  const args = [
    "functions",
    "deploy",
    ...slugs,
    "--use-api",
    "--jobs",
    "4",
    `--remote=${project}`,
    "--profile",
    profile,
  ];
  const cli = spawn(
    process.execPath,
    [`${ROOT}node_modules/supabase/dist/supabase.js`, ...args, "--yes", "--agent", "no", "--workdir", checkout],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...environment, SUPABASE_TELEMETRY_DISABLED: "1", NO_COLOR: "1" },
    },
  );
  const [output, errors] = await Promise.all([text(cli.stdout), text(cli.stderr), once(cli, "close")]);
  if (cli.exitCode !== 0) throw new Error(`supabase functions deploy ended with ${cli.exitCode}:\n${output}${errors}`);
  return output + errors;
}

function upload(slug: string) {
  const found = api.uploads.get(slug);
  if (!found) throw new Error(`${slug} was not uploaded:\n${said}`);
  return found;
}

/** What Deno makes of an upload in a folder with nothing else: the packages that run, and which of them our files import. */
function packagesOf(slug: string, change = (import_map: string) => import_map) {
  const { metadata, files } = upload(slug);
  const place = mkdtempSync(join(folder, "packages-"));
  unpack(upload(slug), place);
  writeFileSync(join(place, metadata.import_map_path), change(`${files.get(metadata.import_map_path)}`));
  const graph = denoGraph(place, metadata.entrypoint_path, metadata.import_map_path);
  // packages of types are not loaded where the function runs
  const runs = ({ name }: { name: string }) => !/^(@types\/|undici-types$)/.test(name);
  return {
    npmPackages: Object.values(graph.npmPackages)
      .map(({ name, version }) => ({ name, version }))
      .filter(runs),
    imported: new Set(graph.modules.flatMap(({ npmPackage }) => npmPackage?.replace(/(?<=.)@.*$/, "") ?? [])),
  };
}

describe("supabase/config.toml", () => {
  test("has a block for every folder under supabase/functions, and none for a folder that is gone", () => {
    expect(SLUGS).toEqual(expect.arrayContaining(FOLDERS));
    expect(FUNCTIONS.filter(({ entrypoint }) => !existsSync(ROOT + entrypoint))).toEqual([]);
  });

  test.each(FUNCTIONS)("$slug leaves tokens to us and names the import map", ({ settings }) => {
    expect(settings).toMatchObject({ verify_jwt: "false", import_map: "../deno.json" });
  });

  test("gives each route of the specification a slug of its own, or an alias of its function", () => {
    // a slug holds letters, digits, - and _: out of reach, and answered at /docs/openapi.json and /oauth-token/.well-known/…
    const reachable = Object.keys(ROUTES).filter((prefix) => /^\/[\w-]+$/.test(prefix));
    expect(Object.fromEntries(reachable.map((prefix) => [prefix, folderOf(prefix.slice(1))]))).toEqual(
      Object.fromEntries(reachable.map((prefix) => [prefix, ROUTES[prefix]])),
    );
    expect(Object.keys(ROUTES).filter((prefix) => !reachable.includes(prefix))).toEqual([
      "/.well-known/oauth-authorization-server",
      "/openapi.json",
    ]);
    expect(SLUGS.filter((slug) => !FOLDERS.includes(slug) && !functionFor(`/${slug}`))).toEqual([]);
  });
});

describe("deno.json", () => {
  test("maps every dependency of package.json to the same exact version, and nothing else", () => {
    const { imports } = readJson("deno.json") as { imports: Record<string, string> };
    const { dependencies } = readJson("package.json") as { dependencies: Record<string, string> };
    const expected = Object.entries(dependencies).flatMap(([name, version]) => [
      [name, `npm:${name}@${version}`],
      // a trailing slash maps what lies inside the package
      ...(`${name}/` in imports ? [[`${name}/`, `npm:/${name}@${version}/`]] : []),
    ]);
    expect(imports).toEqual({ ...Object.fromEntries(expected), "#shared/": "./packages/shared/src/" });
    for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test("leads #shared/ where package.json leads it, which no other package.json takes over", () => {
    expect(readJson("package.json").imports).toEqual({ "#shared/*": "./packages/shared/src/*" });
    // Node asks the nearest package.json for a name that begins with #, and does not look further up
    const nested = ["packages", "supabase", "tests"]
      .flatMap((name) => readdirSync(ROOT + name, { recursive: true, encoding: "utf8" }))
      .filter((path) => basename(path) === "package.json" && !path.includes("node_modules/"));
    // the client is a package of its own, and asks for no name of ours
    expect(nested).toEqual(["client/package.json"]);
    const client = `${ROOT}packages/client/src`;
    for (const name of readdirSync(client)) expect(readFileSync(join(client, name), "utf8")).not.toMatch(/from "#/);
  });
});

describe("supabase functions deploy", () => {
  test("publishes every function without a word of warning", () => {
    // the CLI calls it a success when it cannot find what a file imports
    expect(said).not.toMatch(/^(warn|error)|failed/im);
    expect([...api.published.keys()].sort()).toEqual([...SLUGS].sort());
    expect(api.unknown).toEqual([]);
  });

  test.each(SLUGS)("publishes %s open to our own tokens, with the import map", (slug) => {
    const metadata = { verify_jwt: false, import_map_path: "deno.json" };
    expect(upload(slug).metadata).toMatchObject({ ...metadata, name: slug });
    expect(api.published.get(slug)).toMatchObject(metadata);
  });

  test.each(FUNCTIONS)("uploads of $slug its own files, the shared ones, and nothing else", ({ slug, entrypoint }) => {
    const files = [...upload(slug).files.keys()].sort();
    expect(files).toEqual([...new Set(["deno.json", ...modulesOf(entrypoint), ...SHARED])].sort());
    const foreign = files.filter((file) => /^(tests|packages\/(?!shared\/src\/)|supabase\/functions)\b/.test(file));
    expect(foreign.filter((file) => !file.startsWith(`supabase/functions/${folderOf(slug)}/`))).toEqual([]);
    // the platform takes 5 MB with the packages; our own part is text that a person wrote, but for the description of the API and
    // the letters of documents and pages. The pages are the largest: those of customers and those of partners, who bring customers there too, in two languages
    const made = ["openapi.json", ...Object.keys(FONT_MODULES)];
    const written = [...upload(slug).files].filter(([path]) => !made.includes(path));
    const size = written.reduce((total, [, content]) => total + content.length, 0);
    expect(size).toBeLessThan(1_000_000);
  });

  test.each(FOLDERS)("leaves the platform no version of a package of %s to choose", (slug) => {
    const { npmPackages, imported } = packagesOf(slug);
    type Locked = {
      version: string;
      dependencies?: Record<string, string>;
      optionalDependencies?: Record<string, string>;
    };
    const locked = Object.entries<Locked>(readJson("package-lock.json").packages);
    for (const { name, version } of npmPackages) {
      const [, lock] =
        locked.find(([path, each]) => path.endsWith(`node_modules/${name}`) && each.version === version) ?? [];
      expect(lock, `${name}@${version} is what package-lock.json has`).toBeDefined();
      const ranges: Record<string, string> = { ...lock?.dependencies, ...lock?.optionalDependencies };
      const open = Object.keys(ranges).filter((each) => !/^\d+\.\d+\.\d+$/.test(ranges[each] ?? ""));
      expect([...imported], `${name} takes a range of these: dependencies of ours, imported before it`).toEqual(
        expect.arrayContaining(open),
      );
    }
  });

  test.each([
    ["worker", "split2", "4.1.0"],
    ["pages", "postgres-date", "1.0.5"],
  ])("the packages of %s have the version of %s that the import map says, here %s", (slug, name, version) => {
    const { npmPackages } = packagesOf(slug, (map) =>
      map.replace(new RegExp(`npm:${name}@[\\d.]+`), `npm:${name}@${version}`),
    );
    expect(npmPackages.filter((each) => each.name === name)).toEqual([{ name, version }]);
  });
});

describe("a push deploys the functions it touches", () => {
  test("a deployment of one function publishes no other", async () => {
    const hosted = await startManagementApi();
    await deploy(hosted, "worker");
    await hosted.close();
    expect([...hosted.published.keys()]).toEqual(["worker"]);
  });

  test.each([
    ["supabase/functions/cpo-v1/months.ts", ["cpo-v1", "v1"]],
    ["packages/shared/src/values/iban.ts", ["cpo-v1", "partner", "sandbox", "pages", "worker", "v1", "health"]],
    ["packages/shared/src/http/surface.ts", SLUGS],
    ["deno.json", SLUGS],
    ["supabase/config.toml", SLUGS],
    ["README.md", []],
    ["supabase/schemas/foundation/clock.sql", []],
  ])("a change of %s deploys %j", (file, slugs) => {
    expect(functionsTouchedBy(new Set([file]))).toEqual(slugs);
  });
});

describe("what was uploaded, in an empty folder on Deno 2.1.4", () => {
  let world: World;
  let settings: Record<string, string>;
  const running = new Map<string, Running>();

  beforeAll(async () => {
    world = await createWorld();
    settings = variables({
      EDGE_DATABASE_URL: world.database.url("edge"),
      EDGE_SLOW_DATABASE_URL: world.database.url("edge_slow"),
    });
    for (const { slug } of FUNCTIONS) {
      const { metadata } = upload(slug);
      unpack(upload(slug), join(folder, slug));
      // one after another: the first may have to fetch packages
      running.set(
        slug,
        await bootFunction(join(folder, slug), metadata.entrypoint_path, metadata.import_map_path, settings),
      );
    }
  }, 120_000); // a cold cache fetches 20 MB
  afterAll(async () => {
    await Promise.all([...running.values()].map((each) => each.stop()));
    forgetCompiled();
    await world?.close();
  });

  const send = (slug: string, path: string, init?: RequestInit) => fetch(`${running.get(slug)?.url}${path}`, init);
  const post = (slug: string, path: string, body: object) =>
    send(slug, path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", "x-forwarded-for": "192.0.2.1" },
    });

  test("is that version", () => {
    expect(execFileSync(denoProgram(), ["--version"], { encoding: "utf8" })).toMatch(/^deno 2\.1\.4 /);
  });

  test.each(FOLDERS)("%s is healthy", async (slug) => {
    const response = await send(slug, `/${slug}/health`);
    expect([response.status, await response.json()]).toEqual([200, { ok: true, function: slug }]);
  });

  test.each(SLUGS)("%s refuses a request without a token at each of its paths, in JSON", async (slug) => {
    const { surface }: { surface: Surface } = await import(`${ROOT}supabase/functions/${folderOf(slug)}/app.ts`);
    const guarded = (await endpointsOf(surface)).filter(({ caller }) => caller.kind !== "anyone");
    for (const endpoint of guarded) {
      for (const path of pathsOf(surface, endpoint.path)) {
        const response = await send(slug, path, { method: endpoint.method });
        expect([path, response.status]).toEqual([path, 401]);
        expect(await response.json()).toMatchObject({ error: wireText("missing_or_invalid_token") });
      }
    }
    if (guarded.length === 0) expect((await send(slug, `/${slug}/no-such-path`)).status).toBe(404);
  });

  test("oauth-token refuses an unknown client", async () => {
    const unknown = { grant_type: "client_credentials", client_id: "cpo_nobody", client_secret: "nothing" };
    const response = await post("oauth-token", "/oauth-token", unknown);
    expect([response.status, (await response.json()).error]).toEqual([401, "invalid_client"]);
  });

  test("a token from oauth-token opens cpo-v1, under its own slug and under the specification's path", async () => {
    const { client_id, secret } = world.partnerA.client;
    const request = { grant_type: "client_credentials", client_id, client_secret: secret };
    const granted = await post("oauth-token", "/oauth-token", request);
    expect(granted.status).toBe(200);
    const { access_token } = await granted.json();
    for (const [slug, path] of [
      ["cpo-v1", "/cpo-v1/accounts"],
      ["v1", "/v1/accounts"],
    ] as const) {
      const response = await send(slug, path, { headers: { authorization: `Bearer ${access_token}` } });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ accounts: [], count: 0 });
    }
  });

  test("documents renders what was signed: without a file that is not its own, and with the letters it brought", async () => {
    const { account_id, connection_id } = await createAccount(world);
    await signMandate(world, account_id);
    const headers = { authorization: `Bearer ${settings.WORKER_SECRET}` };
    const response = await send("documents", "/documents/run", { method: "POST", headers });
    expect([response.status, await response.json()]).toEqual([200, { ok: true, rendered: 1, failed: 0 }]);
    const { client_id, secret } = world.partnerA.client;
    const request = { grant_type: "client_credentials", client_id, client_secret: secret };
    const { access_token } = await (await post("oauth-token", "/oauth-token", request)).json();
    const path = `/v1/connections/${connection_id}/mandate`;
    const read = await send("v1", path, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect([read.status, read.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    const { tagged, text } = await readPdf(new Uint8Array(await read.arrayBuffer()));
    expect(tagged).toBe(true);
    expect(text).toContain("Sanne de Vries");
  });

  test("the document is at docs, where a slug cannot hold its dot", async () => {
    const response = await send("docs", "/docs/openapi.json");
    expect(response.status).toBe(200);
    const { paths } = readJson("openapi.json");
    expect(await response.json()).toMatchObject({ paths, servers: [{ url: settings.BASE_URL }] });
  });

  test("a function that is not configured says so, and in its log which variables", async () => {
    const bare = await bootFunction(join(folder, "v1"), "supabase/functions/cpo-v1/index.ts", "deno.json", {});
    const response = await fetch(`${bare.url}/v1/accounts`);
    await bare.stop();
    expect([response.status, (await response.json()).error]).toEqual([503, wireText("service_unavailable")]);
    expect(bare.said()).toMatch(/"ConfigurationError".*BASE_URL.*TOKEN_KEYS/);
  });
});

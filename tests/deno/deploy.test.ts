import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { denoProgram, ROOT } from "#local/checkout.ts";
import { wireText } from "#shared/foundation/errors.ts";
import { functionFor, ROUTES } from "#shared/http/routes.ts";
import { endpointsOf, pathsOf, type Surface } from "#shared/http/serve.ts";
import { BUNDLES } from "../../packages/tools/src/bundle.ts";
import { functionsTouchedBy } from "../../packages/tools/src/changed_functions.ts";
import { deployedFunctions } from "../../packages/tools/src/functions.ts";
import { named } from "../../packages/tools/src/stack.ts";
import { bundledCheckout } from "../harness/bundles.ts";
import { bootFunction, forgetCompiled, type Running } from "../harness/deno.ts";
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
/** The folder that a slug runs, be it the function itself or an alias. */
const folderOf = (slug: string) => FUNCTIONS.find((each) => each.slug === slug)?.folder ?? slug;

const folder = mkdtempSync(join(tmpdir(), "ere-deploy-"));
/** What a deployment of this checkout uploads. */
const bundles = bundledCheckout();
let api: ManagementApi;
let said: string;
beforeAll(async () => {
  api = await startManagementApi();
  said = await deploy(api);
});
afterAll(async () => {
  await api.close();
  (await bundles).remove();
  rmSync(folder, { recursive: true });
});

async function deploy({ project, profile, environment }: ManagementApi, ...slugs: string[]): Promise<string> {
  const copy = await bundledCheckout();
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
    [`${ROOT}node_modules/supabase/dist/supabase.js`, ...args, "--yes", "--agent", "no", "--workdir", copy.folder],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...environment, SUPABASE_TELEMETRY_DISABLED: "1", NO_COLOR: "1" },
    },
  );
  const [output, errors] = await Promise.all([text(cli.stdout), text(cli.stderr), once(cli, "close")]);
  copy.remove();
  if (cli.exitCode !== 0) throw new Error(`supabase functions deploy ended with ${cli.exitCode}:\n${output}${errors}`);
  return output + errors;
}

function upload(slug: string) {
  const found = api.uploads.get(slug);
  if (!found) throw new Error(`${slug} was not uploaded:\n${said}`);
  return found;
}

describe("supabase/config.toml", () => {
  test("has a block for every folder under supabase/functions, and none for a folder that is gone", () => {
    expect(SLUGS).toEqual(expect.arrayContaining(FOLDERS));
    expect(FUNCTIONS.filter(({ folder }) => !FOLDERS.includes(folder))).toEqual([]);
  });

  test.each(FUNCTIONS)("$slug leaves tokens to us and is deployed as its bundle", ({ folder, settings }) => {
    expect(settings).toEqual({ verify_jwt: "false", entrypoint: `./bundles/${folder}/index.js` });
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
      "/llms.txt",
    ]);
    expect(SLUGS.filter((slug) => !FOLDERS.includes(slug) && !functionFor(`/${slug}`))).toEqual([]);
  });
});

describe("dependencies", () => {
  const { dependencies } = readJson("package.json") as { dependencies: Record<string, string> };

  test("have exact versions, and each is imported by a file of ours", () => {
    for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    const files = ["packages", "supabase/functions"].flatMap((name) =>
      readdirSync(ROOT + name, { recursive: true, encoding: "utf8" })
        .filter((path) => /\.[jt]s$/.test(path) && !/(^|\/)(node_modules|dist)\//.test(path))
        .map((path) => readFileSync(join(ROOT, name, path), "utf8")),
    );
    const imported = new Set(
      files.flatMap((source) =>
        [...source.matchAll(/(?:from|import\() ?"((?:@[^/"]+\/)?[^/".#][^/"]*)/g)].map(([, name = ""]) => name),
      ),
    );
    expect(Object.keys(dependencies).filter((name) => !imported.has(name))).toEqual([]);
  });

  test("#shared/ leads Deno where package.json leads Node, which no other package.json takes over", () => {
    expect(readJson("package.json").imports).toEqual({
      "#shared/*": "./packages/shared/src/*",
      // no function knows it, so Deno need not
      "#local/*": "./packages/local/src/*",
    });
    expect(readJson("deno.json").imports).toEqual({ "#shared/": "./packages/shared/src/" });
    // Node asks the nearest package.json for a name that begins with #, and does not look further up
    const nested = ["packages", "supabase", "tests"]
      .flatMap((name) => readdirSync(ROOT + name, { recursive: true, encoding: "utf8" }))
      .filter((path) => basename(path) === "package.json" && !path.includes("node_modules/"));
    // these are packages of their own, and ask for no name of ours
    expect(nested.sort()).toEqual(["client/package.json", "gateway/package.json"]);
    for (const folder of ["client", "gateway"].map((name) => `${ROOT}packages/${name}/src`)) {
      const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
      expect(files.length).toBeGreaterThan(5);
      for (const name of files) expect(readFileSync(join(folder, name), "utf8")).not.toMatch(/from "#/);
    }
  });
});

describe("supabase functions deploy", () => {
  test("publishes every function without a word of warning", () => {
    // the CLI calls it a success when it cannot find what a file imports
    expect(said).not.toMatch(/^(warn|error)|failed/im);
    expect([...api.published.keys()].sort()).toEqual([...SLUGS].sort());
    expect(api.unknown).toEqual([]);
  });

  test.each(SLUGS)("publishes %s open to our own tokens", (slug) => {
    const metadata = { verify_jwt: false };
    expect(upload(slug).metadata).toMatchObject({ ...metadata, name: slug });
    expect(api.published.get(slug)).toMatchObject(metadata);
  });

  test.each(FUNCTIONS)("uploads of $slug its whole bundle, and nothing else", async ({ slug, folder: name }) => {
    const copy = await bundles;
    const built = readdirSync(join(copy.folder, BUNDLES, name)).filter((file) => !file.endsWith(".map"));
    expect([...upload(slug).files.keys()].sort()).toEqual(built.map((file) => `${BUNDLES}/${name}/${file}`).sort());
    for (const [path, content] of upload(slug).files)
      expect([path, content.equals(readFileSync(join(copy.folder, path)))]).toEqual([path, true]);
    expect(upload(slug).metadata.entrypoint_path).toBe(`${BUNDLES}/${name}/index.js`);
    // the platform takes 5 MB
    const size = [...upload(slug).files.values()].reduce((total, content) => total + content.length, 0);
    expect(size).toBeLessThan(3_000_000);
  });

  test.each(FOLDERS)(
    "leaves the platform nothing of %s to resolve: its files import each other and what Node has",
    (slug) => {
      const files = upload(slug).files;
      for (const [path, content] of files) {
        const imported = [
          ...`${content}`.matchAll(/^(?:import|export) (?:[^"';]* from )?"([^"]+)"|\bimport\("([^"]+)"\)/gm),
        ];
        const open = imported
          .map(([, early, late]) => early ?? late ?? "")
          .filter((name) => !name.startsWith("node:") && !files.has(join(path, "..", name)));
        // pg names it for another runtime, in a branch that is not taken here
        expect(open.filter((name) => name !== "cloudflare:sockets")).toEqual([]);
      }
    },
  );
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
    [
      "packages/shared/src/values/sealed.ts",
      ["cpo-v1", "partner", "sandbox", "pages", "ocpi", "worker", "v1", "health"],
    ],
    ["packages/shared/src/http/serve.ts", SLUGS],
    ["package-lock.json", SLUGS],
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
  /** What Supabase Auth is asked. */
  const asked: unknown[] = [];
  const supabase = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(400, { "content-type": "application/json" });
    response.end('{"code":400,"error_code":"invalid_credentials","msg":"Invalid login credentials"}');
  });

  beforeAll(async () => {
    world = await createWorld();
    await once(supabase.listen(0, "127.0.0.1"), "listening");
    settings = variables({
      SUPABASE_URL: `http://127.0.0.1:${(supabase.address() as AddressInfo).port}`,
      PUBLISHABLE_KEY: "sb_publishable_test",
      EDGE_DATABASE_URL: world.database.url("edge"),
      EDGE_SLOW_DATABASE_URL: world.database.url("edge_slow"),
    });
    for (const slug of FOLDERS) {
      unpack(upload(slug), join(folder, slug));
      running.set(slug, await bootFunction(join(folder, slug), upload(slug).metadata.entrypoint_path, settings));
    }
  });
  afterAll(async () => {
    await Promise.all([...running.values()].map((each) => each.stop()));
    supabase.close();
    forgetCompiled();
    await world?.close();
  });

  /** An alias is the same program, byte for byte. */
  const send = (slug: string, path: string, init?: RequestInit) =>
    fetch(`${running.get(folderOf(slug))?.url}${path}`, init);
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
    if (guarded.length === 0) expect((await send(slug, `/${slug}/no-such/path`)).status).toBe(404);
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
    const read = await send("v1", path, { headers: { authorization: `Bearer ${access_token}` } });
    expect([read.status, read.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    const { tagged, text } = await readPdf(new Uint8Array(await read.arrayBuffer()));
    expect(tagged).toBe(true);
    expect(text).toContain("Sanne de Vries");
  });

  test("pages asks Supabase Auth by its own client, which is loaded then", async () => {
    const path = "/pages/mijn/sign-in";
    const headers = { "x-forwarded-for": "192.0.2.1" };
    const shown = await send("pages", path, { headers });
    const form_token = /name="form_token" value="([^"]+)"/.exec(await shown.text())?.[1] ?? "";
    const cookie = shown.headers
      .getSetCookie()
      .map((each) => each.split(";", 1)[0])
      .join("; ");
    const body = new URLSearchParams({ form_token, email: "sanne@example.nl", password: "a guess" });
    const answer = await send("pages", path, {
      method: "POST",
      body,
      headers: { ...headers, cookie },
      redirect: "manual",
    });
    const said = () => running.get("pages")?.said();
    expect(asked, said()).toEqual(["/auth/v1/token?grant_type=password"]);
    expect(answer.status, said()).toBeLessThan(500);
    await vi.waitFor(() => expect(said()).toContain('"outcome":"wrong"'));
  });

  test("the document is at docs, where a slug cannot hold its dot", async () => {
    const response = await send("docs", "/docs/openapi.json");
    expect(response.status).toBe(200);
    const { paths } = readJson("openapi.json");
    expect(await response.json()).toMatchObject({ paths, servers: [{ url: settings.BASE_URL }] });
  });

  test("a function that is not configured says so, and in its log which variables", async () => {
    const bare = await bootFunction(join(folder, "cpo-v1"), upload("cpo-v1").metadata.entrypoint_path, {});
    const response = await fetch(`${bare.url}/v1/accounts`);
    await bare.stop();
    expect([response.status, (await response.json()).error]).toEqual([503, wireText("service_unavailable")]);
    expect(bare.said()).toMatch(/"ConfigurationError".*BASE_URL.*TOKEN_KEYS/);
  });

  test("a failure in the log leads to our files and lines", async () => {
    const nowhere = { ...settings, EDGE_DATABASE_URL: "postgresql://edge:edge@127.0.0.1:1/nowhere" };
    const entrypoint = upload("oauth-token").metadata.entrypoint_path;
    const alone = await bootFunction(join(folder, "oauth-token"), entrypoint, nowhere);
    const body = new URLSearchParams({ grant_type: "client_credentials", client_id: "cpo_x", client_secret: "x" });
    const response = await fetch(`${alone.url}/oauth-token`, {
      method: "POST",
      body,
      headers: { "x-forwarded-for": "192.0.2.1" },
    });
    await vi.waitFor(() => expect(alone.said()).toContain('"stack"'));
    await alone.stop();
    expect(response.status).toBe(503);
    const root = `${(await bundles).folder}/`;
    expect(named(alone.said(), root)).toMatch(/"stack":\["at node_modules\/pg-pool\/index\.js:\d+:\d+"/);
    // a place of our own: the constructor of a refusal
    const file = `${BUNDLES}/oauth-token/index.js`;
    const built = readFileSync(root + file, "utf8").split("\n");
    const line = built.findIndex((each) => each.includes("ApiError = class")) + 2;
    expect(named(`at new ApiError (file:///var/tmp/${file}:${line}:2)`, root)).toMatch(
      /^at new ApiError \(packages\/shared\/src\/foundation\/errors\.ts:\d+:\d+\)$/,
    );
  });
});

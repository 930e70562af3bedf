// The part of Supabase's Management API that `supabase functions deploy --use-api`, `secrets` and `npm run deploy:new` talk to. It
// keeps what was uploaded, so that a test can look at it and run it. What the CLI sends was recorded from CLI 3.1.0.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";

type Upload = {
  slug: string;
  metadata: { name: string; entrypoint_path: string; import_map_path: string; verify_jwt: boolean };
  /** Path from the root of the repository to content. */
  files: ReadonlyMap<string, Buffer>;
};

/** What the API lists of a function that is live. */
type Published = { slug: string; verify_jwt: boolean; entrypoint_path: string; import_map_path: string };

export type ManagementApi = {
  url: string;
  project: string;
  /** What the CLI needs to find this server in place of the hosted one. */
  environment: Record<string, string>;
  profile: string;
  uploads: ReadonlyMap<string, Upload>;
  /** Live only once the CLI has published what it uploaded. */
  published: ReadonlyMap<string, Published>;
  /** What the functions read from their environment. */
  secrets: ReadonlyMap<string, string>;
  /** What each project was asked to be. */
  created: readonly Record<string, unknown>[];
  /** What its Supabase Auth is told. */
  auth: Record<string, unknown>;
  /** From now on the project is this, such as `INACTIVE`; null: what it is by itself. */
  becomes(status: string | null): void;
  /** Answers the next request for this, such as `POST /secrets`, with 500. */
  failNext(route: string): void;
  /** Requests that this server does not know, which it answers with 404. */
  unknown: readonly string[];
  close(): Promise<void>;
};

/** The database of a project that is yet to be made: where it will be, and what gives it the password that was asked for. */
type ComingDatabase = { host: string; port: number; name: string; setPassword(password: string): Promise<void> };

/** @param database without one the project is there already, and has none. */
export async function startManagementApi(database?: ComingDatabase): Promise<ManagementApi> {
  const project = "abcdefghijklmnopqrst";
  const token = `sbp_${"0123456789".repeat(4)}`;
  const uploads = new Map<string, Upload>();
  const published = new Map<string, Published>();
  const unknown: string[] = [];
  const secrets = new Map<string, string>();
  const created: Record<string, unknown>[] = [];
  const failing = new Set<string>();
  // as a project is that was just made
  const auth: Record<string, unknown> = {
    disable_signup: false,
    mailer_autoconfirm: true,
    external_email_enabled: true,
    site_url: "http://localhost:3000",
  };
  let looks = 0;
  let status: string | null = null;

  const described = () => ({
    ...{ id: project, ref: project, name: created[0]?.name ?? "test", region: "eu-central-1" },
    ...{ organization_id: "test", organization_slug: "test", created_at: "2026-01-01T00:00:00Z" },
    // a project that was just made is asked after more than once
    status: status ?? (database && looks < 2 ? "COMING_UP" : "ACTIVE_HEALTHY"),
    database: { host: "db.localhost", version: "17", postgres_engine: "17", release_channel: "ga" },
  });
  const isThere = () => !database || created.length > 0;

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const route = `${request.method} ${url.pathname}`;
    if (request.headers.get("authorization") !== `Bearer ${token}`) return new Response(null, { status: 401 });
    if (failing.delete(route.replace(`/v1/projects/${project}`, ""))) return new Response(null, { status: 500 });
    switch (route) {
      case "GET /v1/projects":
        return Response.json(isThere() ? [described()] : []);
      case "POST /v1/projects":
        created.push((await request.json()) as Record<string, unknown>);
        await database?.setPassword(String(created.at(-1)?.db_pass));
        return Response.json(described(), { status: 201 });
      case `GET /v1/projects/${project}`:
        looks += 1;
        return Response.json(described());
      case `GET /v1/projects/${project}/config/database/pooler`:
        return Response.json([
          {
            ...{ identifier: project, database_type: "PRIMARY", is_using_scram_auth: true, pool_mode: "transaction" },
            ...{ db_user: "postgres", db_host: database?.host, db_port: database?.port, db_name: database?.name },
          },
        ]);
      case `GET /v1/projects/${project}/billing/addons`:
        return Response.json({ selected_addons: [{ type: "custom_domain", variant: { id: "cd_default" } }] });
      case `GET /v1/projects/${project}/config/auth`:
        return Response.json(auth);
      case `PATCH /v1/projects/${project}/config/auth`:
        Object.assign(auth, await request.json());
        return Response.json(auth);
      case `GET /v1/projects/${project}/api-keys`:
        return Response.json([
          { name: "anon", type: "legacy", api_key: "eyJ" },
          { name: "default", type: "publishable", api_key: "sb_publishable_test" },
        ]);
      case `GET /v1/projects/${project}/secrets`:
        return Response.json(
          [...secrets].map(([name, value]) => ({ name, value, updated_at: "2026-01-01T00:00:00Z" })),
        );
      case `POST /v1/projects/${project}/secrets`:
        for (const { name, value } of (await request.json()) as { name: string; value: string }[])
          secrets.set(name, value);
        return new Response(null, { status: 201 });
      // asked for where config.toml leaves something open, which then stays as it is deployed
      case `GET /v1/projects/${project}/functions`:
        return Response.json([...published.values()]);
      case `POST /v1/projects/${project}/functions/deploy`: {
        const upload = await readUpload(url.searchParams.get("slug") ?? "", await request.formData());
        uploads.set(upload.slug, upload);
        const described = describe(upload, uploads.size);
        // of several functions each is uploaded first, and then all are published at once
        if (url.searchParams.get("bundleOnly") !== "true") published.set(upload.slug, described);
        return Response.json(described, { status: 201 });
      }
      case `PUT /v1/projects/${project}/functions`: {
        const functions = (await request.json()) as Published[];
        for (const each of functions) published.set(each.slug, each);
        return Response.json({ functions });
      }
    }
    unknown.push(route);
    return Response.json({ message: `not known here: ${route}` }, { status: 404 });
  }

  const server = createServer(async (incoming, outgoing) => {
    const body = ["GET", "HEAD"].includes(incoming.method ?? "") ? null : await buffer(incoming);
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method ?? "GET",
      headers: incoming.headers as Record<string, string>,
      body,
    });
    const response = await answer(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (!address || typeof address === "string") throw new Error("the server has no port");
  const folder = mkdtempSync(join(tmpdir(), "ere-management-"));
  const profile = join(folder, "profile.yaml");
  const url = `http://127.0.0.1:${address.port}`;
  writeFileSync(
    profile,
    [
      "name: test",
      ...["api_url", "dashboard_url", "docs_url"].map((key) => `${key}: ${url}`),
      ...["project_host", "pooler_host"].map((key) => `${key}: localhost`),
    ].join("\n"),
  );
  return {
    url,
    project,
    secrets,
    created,
    auth,
    becomes: (given) => {
      status = given;
    },
    failNext: (route) => failing.add(route),
    environment: { SUPABASE_ACCESS_TOKEN: token },
    profile,
    uploads,
    published,
    unknown,
    async close() {
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

/** Puts an upload into a folder, as the platform does into an empty one before it bundles. What another upload has put there stays. */
export function unpack(upload: Upload, folder: string): void {
  for (const [path, content] of upload.files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    if (!existsSync(join(folder, path))) writeFileSync(join(folder, path), content);
  }
}

async function readUpload(slug: string, form: FormData): Promise<Upload> {
  const metadata = form.get("metadata");
  const files = new Map<string, Buffer>();
  for (const file of form.getAll("file")) {
    if (typeof file === "string") throw new Error("a file without a name");
    files.set(file.name, Buffer.from(await file.arrayBuffer()));
  }
  return { slug, metadata: JSON.parse(metadata instanceof Blob ? await metadata.text() : String(metadata)), files };
}

function describe({ slug, metadata, files }: Upload, number: number) {
  const bundle = createHash("sha256");
  for (const content of files.values()) bundle.update(content);
  return {
    ...metadata,
    id: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
    slug,
    status: "ACTIVE",
    version: 1,
    created_at: 0,
    updated_at: 0,
    import_map: true,
    ezbr_sha256: bundle.digest("hex"),
  };
}

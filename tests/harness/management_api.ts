// The part of Supabase's Management API that `supabase functions deploy --use-api` talks to. It keeps what was uploaded, so
// that a test can look at it and run it. What the CLI sends was recorded from CLI 3.1.0.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";

export type Upload = {
  slug: string;
  metadata: { name: string; entrypoint_path: string; import_map_path: string; verify_jwt: boolean };
  /** Path from the root of the repository to content. */
  files: ReadonlyMap<string, Buffer>;
};

/** What the API lists of a function that is live. */
type Published = { slug: string; verify_jwt: boolean; entrypoint_path: string; import_map_path: string };

export type ManagementApi = {
  project: string;
  /** What the CLI needs to find this server in place of the hosted one. */
  environment: Record<string, string>;
  profile: string;
  uploads: ReadonlyMap<string, Upload>;
  /** Live only once the CLI has published what it uploaded. */
  published: ReadonlyMap<string, Published>;
  /** Requests that this server does not know, which it answers with 404. */
  unknown: readonly string[];
  close(): Promise<void>;
};

export async function startManagementApi(): Promise<ManagementApi> {
  const project = "abcdefghijklmnopqrst";
  const token = `sbp_${"0123456789".repeat(4)}`;
  const uploads = new Map<string, Upload>();
  const published = new Map<string, Published>();
  const unknown: string[] = [];

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const route = `${request.method} ${url.pathname}`;
    if (request.headers.get("authorization") !== `Bearer ${token}`) return new Response(null, { status: 401 });
    switch (route) {
      case `GET /v1/projects/${project}`:
        return Response.json({
          ...{ id: project, ref: project, name: "test", region: "eu-central-1", status: "ACTIVE_HEALTHY" },
          ...{ organization_id: "test", organization_slug: "test", created_at: "2026-01-01T00:00:00Z" },
          database: { host: "db.localhost", version: "17", postgres_engine: "17", release_channel: "ga" },
        });
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
    project,
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

/** Puts an upload into an empty folder, as the platform does before it bundles. */
export function unpack(upload: Upload, folder: string): void {
  for (const [path, content] of upload.files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
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

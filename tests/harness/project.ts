// A hosted project as a deployment meets it: a database of its own, and the functions that were published, run with the secrets that
// were set.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import pg from "pg";
import { bootstrap } from "#local/migrate.ts";
import { bootFunctions, type Running } from "./deno.ts";
import { type ManagementApi, startManagementApi, unpack } from "./management_api.ts";
import { PASSWORDS, startTestServer } from "./template.ts";

const EXTENSIONS = readFileSync(new URL("platform_extensions.sql", import.meta.url), "utf8");

/** A server of its own: passwords of roles belong to the server, and the other tests have theirs. */
export async function startDatabase(): Promise<{ port: number; name: string; admin: pg.Pool; stop(): Promise<void> }> {
  const server = await startTestServer();
  const name = "project";
  await server.query(`create database ${name}`);
  await bootstrap(server.url(name), PASSWORDS.postgres);
  const admin = new pg.Pool({ connectionString: server.url(name), max: 2 });
  admin.on("error", () => {});
  return {
    port: server.port,
    name,
    admin,
    async stop() {
      await admin.end();
      await server.stop();
    },
  };
}

export async function enableExtensions(admin: pg.Pool): Promise<void> {
  await admin.query(EXTENSIONS);
}

/** What cannot be a slug, as in docs/front. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "/openapi.json": "/docs/openapi.json",
  "/.well-known/oauth-authorization-server": "/oauth-token/.well-known/oauth-authorization-server",
};

export type Project = {
  api: ManagementApi;
  admin: pg.Pool;
  /** In place of `https://<ref>.supabase.co`, and of a front for it. */
  url: string;
  stop(): Promise<void>;
};

/** A platform on which no project was made yet. The one that will be made has its address and database already. */
export async function startProject(): Promise<Project> {
  const database = await startDatabase();
  await enableExtensions(database.admin);
  const api = await startManagementApi({
    host: "127.0.0.1",
    port: database.port,
    name: database.name,
    async setPassword(password) {
      await database.admin.query(`alter role postgres password ${pg.escapeLiteral(password)}`);
    },
  });
  const folder = mkdtempSync(join(tmpdir(), "ere-project-"));
  let running: { deployed: string; program: Promise<Running> } | undefined;
  let url = "";

  /**
   * What was published, begun again after it or its secrets have changed: as hosted. One process for all; that each upload is complete
   * by itself is for tests/deno/deploy.test.ts.
   */
  const functions = (): Promise<Running> => {
    const uploads = [...api.uploads.values()].filter(({ slug }) => api.published.has(slug));
    const deployed = JSON.stringify([uploads.map(({ slug }) => slug), ...api.secrets]);
    if (running?.deployed === deployed) return running.program;
    void running?.program.then((program) => program.stop());
    for (const upload of uploads) unpack(upload, folder);
    const entrypoints = Object.fromEntries(uploads.map(({ slug, metadata }) => [slug, metadata.entrypoint_path]));
    const variables = { ...Object.fromEntries(api.secrets), SUPABASE_URL: url };
    const program = bootFunctions(folder, entrypoints, variables);
    running = { deployed, program };
    return program;
  };

  const server = createServer(async (incoming, outgoing) => {
    const asked = incoming.url ?? "";
    if (asked === "/auth/v1/.well-known/jwks.json") return void outgoing.end(JSON.stringify({ keys: [{}] }));
    // everything else is a front, which leads the specification's paths there
    const hosted = asked.startsWith("/functions/v1/") ? asked : `/functions/v1${ELSEWHERE[asked] ?? asked}`;
    const [slug = "", ...rest] = hosted.slice("/functions/v1/".length).split("/");
    if (!api.published.has(slug.replace(/\?.*/, ""))) return void outgoing.writeHead(404).end('{"code":"NOT_FOUND"}');
    const path = `/${[slug, ...rest].join("/")}`;
    const headers = new Headers(incoming.headers as Record<string, string>);
    // as every proxy does: who connected is added to what the client says
    const forwarded = [headers.get("x-forwarded-for"), incoming.socket.remoteAddress].filter(Boolean).join(", ");
    headers.set("x-forwarded-for", forwarded);
    headers.delete("connection");
    const body = ["GET", "HEAD"].includes(incoming.method ?? "") ? null : await buffer(incoming);
    try {
      const answer = await fetch((await functions()).url + path, { method: incoming.method ?? "GET", headers, body });
      outgoing.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
      outgoing.end(Buffer.from(await answer.arrayBuffer()));
    } catch (error) {
      outgoing.writeHead(502).end(JSON.stringify({ code: "BOOT_ERROR", message: String(error) }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    api,
    admin: database.admin,
    url,
    async stop() {
      await (await running?.program)?.stop();
      await new Promise((resolve) => server.close(resolve));
      await api.close();
      await database.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

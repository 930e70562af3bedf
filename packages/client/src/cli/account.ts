import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { ApiClient } from "../api_client.ts";
import type { EventLog } from "../events.ts";
import { type ClientOptions, createClient } from "../index.ts";

/** A command that was not understood, or lacks something: exit code 2. */
export class UsageError extends Error {}

/** What both commands take to call the API. */
export const ACCESS_OPTIONS = {
  "base-url": { type: "string" },
  "auth-url": { type: "string" },
  "client-id": { type: "string" },
  log: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

export type Access = { "base-url"?: string; "auth-url"?: string; "client-id"?: string; log?: string };

/** Asks on the terminal, without showing what is typed. A secret is no argument, because other users see those with `ps`. */
function ask(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  return new Promise((resolve, reject) => {
    terminal.once("close", () => reject(new UsageError("nothing was typed")));
    terminal.question("", (typed) => {
      process.stderr.write("\n");
      resolve(typed.trim());
      terminal.close();
    });
  });
}

async function secret(name: "CLIENT_SECRET" | "PARTNER_KEY"): Promise<string> {
  const value = process.env[name] || (process.stdin.isTTY ? await ask(`${name}: `) : "");
  if (!value) throw new UsageError(`${name} is missing: set it in the environment`);
  return value;
}

function urls(access: Access) {
  const baseUrl = access["base-url"] ?? process.env.BASE_URL;
  if (!baseUrl) throw new UsageError("--base-url is missing: give the host, or set BASE_URL");
  if (!URL.canParse(baseUrl)) throw new UsageError(`--base-url is no URL: ${baseUrl}`);
  return { baseUrl, authUrl: access["auth-url"] ?? process.env.AUTH_URL };
}

/** The log that a command is about: the client's where a client is named, unless `--log` says otherwise. */
export function logOf(access: Access): EventLog {
  const named = access["client-id"] ?? process.env.CLIENT_ID;
  const log = access.log ?? (named ? "client" : "partner");
  if (log === "partner") return "/partner/events";
  if (log !== "client") throw new UsageError("--log is client or partner");
  if (!named) throw new UsageError("--log client needs --client-id");
  return "/v1/events";
}

/** A client with the partner's key. */
export const asPartner = async (access: Access, more: Partial<ClientOptions> = {}): Promise<ApiClient> =>
  createClient({ ...more, baseUrl: urls(access).baseUrl, token: await secret("PARTNER_KEY") } as ClientOptions);

/** A client with the id and secret of a CPO client. */
export const asCpo = async (access: Access, more: Partial<ClientOptions> = {}): Promise<ApiClient> =>
  createClient({
    ...more,
    ...urls(access),
    clientId: access["client-id"] ?? process.env.CLIENT_ID,
    clientSecret: await secret("CLIENT_SECRET"),
  } as ClientOptions);

/** A client that reads this log. */
export const readerOf = (log: EventLog, access: Access, more?: Partial<ClientOptions>): Promise<ApiClient> =>
  log === "/v1/events" ? asCpo(access, more) : asPartner(access, more);

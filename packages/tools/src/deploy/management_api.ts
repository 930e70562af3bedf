// The part of Supabase's Management API that a first deployment needs, beside what the Supabase CLI asks of it.

import * as z from "zod";

/** Something a person has to put right; `message` says what is wrong and what to do next, and holds nothing secret. */
export class DeployError extends Error {}

const Project = z.object({
  ref: z.string(),
  name: z.string(),
  organization_slug: z.string().optional(),
  status: z.string(),
});
type Project = z.output<typeof Project>;

const Pooler = z.object({
  database_type: z.string(),
  db_host: z.string(),
  db_port: z.number(),
  db_name: z.string(),
  db_user: z.string(),
});
export type Pooler = z.output<typeof Pooler>;

const AuthSettings = z.object({
  disable_signup: z.boolean(),
  mailer_autoconfirm: z.boolean(),
  external_email_enabled: z.boolean(),
});
type AuthSettings = z.output<typeof AuthSettings>;

const Addons = z.object({ selected_addons: z.array(z.object({ type: z.string() })) });

const ApiKey = z.object({ name: z.string(), type: z.string().nullish(), api_key: z.string().nullish() });

const Refusal = z.object({ message: z.string() });

/** No request here takes long: the API answers at once and makes the project in the background. */
const PATIENCE_MS = 30_000;

export class ManagementApi {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  projects(): Promise<Project[]> {
    return this.#ask("GET", "/v1/projects", z.array(Project));
  }

  project(ref: string): Promise<Project> {
    return this.#ask("GET", `/v1/projects/${ref}`, Project);
  }

  createProject(wanted: {
    name: string;
    organization_slug: string;
    region: string;
    db_pass: string;
  }): Promise<Project> {
    return this.#ask("POST", "/v1/projects", Project, wanted);
  }

  #poolers(ref: string): Promise<Pooler[]> {
    return this.#ask("GET", `/v1/projects/${ref}/config/database/pooler`, z.array(Pooler));
  }

  /** What was bought for a project: `pitr`, `custom_domain`, `log_drain` and the like, and `read_replica`. */
  async bought(ref: string): Promise<string[]> {
    const { selected_addons } = await this.#ask("GET", `/v1/projects/${ref}/billing/addons`, Addons);
    const replicas = (await this.#poolers(ref)).filter(({ database_type }) => database_type === "READ_REPLICA");
    return [...selected_addons.map(({ type }) => type), ...replicas.map(() => "read_replica")];
  }

  /** How the database is reached through the pooler, which answers by IPv4 too. */
  async pooler(ref: string): Promise<Pooler> {
    const poolers = await this.#poolers(ref);
    const primary = poolers.find(({ database_type }) => database_type === "PRIMARY");
    if (!primary) throw new DeployError(`The project ${ref} has no pooler for its database.`);
    return primary;
  }

  authSettings(ref: string): Promise<AuthSettings> {
    return this.#ask("GET", `/v1/projects/${ref}/config/auth`, AuthSettings);
  }

  changeAuth(ref: string, wanted: Partial<AuthSettings>): Promise<AuthSettings> {
    return this.#ask("PATCH", `/v1/projects/${ref}/config/auth`, AuthSettings, wanted);
  }

  /** The key that browsers may have; null where the project has none of the new kind. */
  async publishableKey(ref: string): Promise<string | null> {
    const keys = await this.#ask("GET", `/v1/projects/${ref}/api-keys?reveal=true`, z.array(ApiKey));
    return keys.find(({ type }) => type === "publishable")?.api_key ?? null;
  }

  /** @throws {DeployError} what the API answered, or that it did not. */
  async #ask<T>(method: "GET" | "POST" | "PATCH", path: string, answer: z.ZodType<T>, body?: object): Promise<T> {
    const what = `${method} ${path.replace(/\?.*/, "")}`;
    const response = await fetch(this.#url + path, {
      method,
      headers: { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: Error) => {
      throw new DeployError(`${this.#url} does not answer (${what}): ${error.message}`);
    });
    const content: unknown = await response.json().catch(() => null);
    if (response.status === 401) throw new DeployError("The Management API refuses SUPABASE_ACCESS_TOKEN.");
    if (!response.ok) {
      const said = Refusal.safeParse(content).data?.message ?? "";
      throw new DeployError(`The Management API answers ${response.status} to ${what}. ${said}`.trim());
    }
    const read = answer.safeParse(content);
    if (!read.success) throw new DeployError(`The Management API answers something else than expected to ${what}.`);
    return read.data;
  }
}

// One look at a deployment from outside, as a CPO client of its own sees it. It reads, and writes nothing there.

import { isIP } from "node:net";
import { connect } from "node:tls";

/** Every figure, and what it says. */
export const PROBE = {
  ere_probe_ok: "Whether the step answered 200: token, accounts, position, or the health of a function",
  ere_probe_seconds: "How long the step took",
  ere_probe_time_seconds: "When the probe last ran",
  ere_certificate_seconds: "How long the certificate of the host is valid",
  ere_backup_time_seconds: "When the last backup was made, by the platform's Management API",
} as const;

type Env = Record<string, string | undefined>;
type Sample = { name: keyof typeof PROBE; label?: [string, string]; value: number };

/** Longer than any answer takes; a step that hangs delays no other run. */
const PATIENCE_MS = 10_000;
const API = "https://api.supabase.com";

export async function probe(env: Env, functions: readonly string[]): Promise<Sample[]> {
  const { BASE_URL = "", AUTH_URL = "", PAGES_URL, PROBE_CLIENT_ID, PROBE_CLIENT_SECRET } = env;
  const samples: Sample[] = [];
  const step = async (name: string, url: string, init: RequestInit = {}): Promise<unknown> => {
    const began = performance.now();
    const answer = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS) })
      .then(async (response) => ({ ok: response.status === 200, body: await response.json() }))
      .catch(() => ({ ok: false, body: {} }));
    samples.push(
      { name: "ere_probe_ok", label: ["step", name], value: Number(answer.ok) },
      { name: "ere_probe_seconds", label: ["step", name], value: (performance.now() - began) / 1000 },
    );
    return answer.body;
  };
  const grant = { grant_type: "client_credentials", client_id: PROBE_CLIENT_ID, client_secret: PROBE_CLIENT_SECRET };
  const headers = { "Content-Type": "application/json" };
  const token = await step("token", `${AUTH_URL}/oauth-token`, {
    method: "POST",
    headers,
    body: JSON.stringify(grant),
  });
  const as = { headers: { Authorization: `Bearer ${(token as { access_token?: string }).access_token ?? ""}` } };
  await step("accounts", `${BASE_URL}/v1/accounts?limit=1`, as);
  await step("position", `${BASE_URL}/v1/ere-positions?limit=1`, as);
  await Promise.all(functions.map((slug) => step(slug, `${BASE_URL}/${slug}/health`)));

  const hosts = new Set(
    [BASE_URL, AUTH_URL, PAGES_URL].flatMap((url) =>
      url && new URL(url).protocol === "https:" ? [new URL(url).host] : [],
    ),
  );
  for (const host of hosts) {
    const seconds = await certificateOf(host);
    // a host that cannot be asked has no figure; its steps failed
    if (seconds !== undefined) samples.push({ name: "ere_certificate_seconds", label: ["host", host], value: seconds });
  }
  return [...samples, { name: "ere_probe_time_seconds", value: Date.now() / 1000 }];
}

function certificateOf(host: string): Promise<number | undefined> {
  const { hostname, port } = new URL(`https://${host}`);
  return new Promise((done) => {
    // a certificate that nobody trusts any more has an end too
    const socket = connect({
      host: hostname,
      port: Number(port || 443),
      servername: isIP(hostname) ? "" : hostname,
      rejectUnauthorized: false,
    });
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.once("secureConnect", () => {
      done((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / 1000);
      socket.destroy();
    });
    socket.once("error", () => done(undefined));
    socket.once("close", () => done(undefined));
  });
}

type Backups = {
  backups?: { status: string; inserted_at: string }[] | null;
  physical_backup_data?: { latest_physical_backup_date_unix?: number } | null;
};

/** When the last backup was made, in Unix seconds; 0 if there is none. Undefined if the platform does not say. */
export async function lastBackup(env: Env): Promise<Sample[] | undefined> {
  const { SUPABASE_ACCESS_TOKEN, PROJECT_REF, SUPABASE_API_URL = API } = env;
  const answer = await fetch(`${SUPABASE_API_URL}/v1/projects/${PROJECT_REF}/database/backups`, {
    headers: { Authorization: `Bearer ${SUPABASE_ACCESS_TOKEN}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).then(
    async (response) => (response.ok ? ((await response.json()) as Backups) : undefined),
    () => undefined,
  );
  if (!answer) return undefined;
  const made = (answer.backups ?? [])
    .filter(({ status }) => status === "COMPLETED")
    .map(({ inserted_at }) => Date.parse(inserted_at) / 1000);
  const latest = Math.max(0, answer.physical_backup_data?.latest_physical_backup_date_unix ?? 0, ...made);
  return [{ name: "ere_backup_time_seconds", value: latest }];
}

/** Prometheus text exposition format, version 0.0.4. */
export function toText(samples: readonly Sample[]): string {
  const lines = Object.entries(PROBE).flatMap(([name, help]) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...samples
      .filter((sample) => sample.name === name)
      .map(({ label, value }) => `${name}${label ? `{${label[0]}="${label[1]}"}` : ""} ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}

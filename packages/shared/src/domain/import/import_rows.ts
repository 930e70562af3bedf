import { claimLinks } from "#shared/domain/claim/links.ts";
import type { Call, Json } from "#shared/foundation/answers.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { loadNumberingPlans } from "#shared/values/phone.ts";
import type {} from "./answers.ts";
import type { Imported } from "./imported.ts";
import { type DraftLookup, lookUp } from "./look_up.ts";
import { COUNTERS, type Import, type ImportSql, MAX_ROWS } from "./model.ts";
import { type DraftRow, readRow } from "./rows.ts";

/** Reads each row by itself, the first of them as row 1. */
export async function readRows(
  environment: Environment,
  { rows, source, sheet_rows }: Pick<Import, "rows" | "source" | "sheet_rows">,
): Promise<DraftRow[]> {
  await loadNumberingPlans();
  const rules = { named: source !== "invite", reserved: reservedDomains(environment) };
  return rows.map((row, index) => {
    const read = readRow(row, index + 1, rules);
    return sheet_rows ? { ...read, sheet_row: sheet_rows[index] ?? null } : read;
  });
}

/** What SQL is given to judge rows that were read, and, where it is no dry run, to make drafts of them. */
export function importInput(
  environment: Environment,
  rows: readonly DraftRow[],
  { source, send_invite, message, dry_run = false, consent = false }: Omit<Import, "rows">,
) {
  return {
    source,
    send_invite,
    dry_run,
    consent,
    rows,
    over_request_limit: 0,
    counters: COUNTERS,
    links: claimLinks(environment),
    message: message || null,
  };
}

/** Makes drafts of rows: reads each by itself, lets one statement judge and store them all, looks EANs up where asked to. */
export async function importRows(
  environment: Environment,
  call: Call<ImportSql>,
  asked: Import,
): Promise<Json<unknown> | Imported> {
  const { rows, source, more = 0 } = asked;
  const read = await readRows(environment, { ...asked, rows: rows.slice(0, MAX_ROWS) });
  const answer = await call("import_drafts", {
    ...importInput(environment, read, asked),
    over_request_limit: Math.max(rows.length - MAX_ROWS, 0) + more,
  });
  if (source !== "api") return answer;
  const imported = JSON.parse(answer);
  if (imported.dry_run) return answer;
  const waiting = lookupsOf(read, imported);
  if (waiting.length === 0) return answer;
  const results = await lookUp(environment, waiting);
  const recorded = JSON.parse(await call("record_draft_lookups", results));
  const byDraft = new Map(recorded.flatMap((each) => (each ? [[each.draft_id, each]] : [])));
  for (const created of imported.created) Object.assign(created, byDraft.get(created.draft_id ?? ""));
  return imported;
}

/** The addresses to look up, in the order of the rows: of the drafts that wait for it. */
function lookupsOf(rows: readonly DraftRow[], { created, rejected }: Imported): DraftLookup[] {
  const refused = new Set(rejected.map(({ row }) => row));
  // an e-mail address makes one draft at most, of the one row of it that was not rejected
  const byEmail = new Map(rows.filter(({ place }) => !refused.has(place)).map((row) => [row.email, row]));
  return created.flatMap(({ draft_id, email, ean_status }) => {
    const { postal_code, house_number, house_number_addition = null } = byEmail.get(email) ?? {};
    return draft_id && ean_status === "pending" && postal_code && house_number
      ? [{ draft_id, postal_code, house_number, house_number_addition }]
      : [];
  });
}

/** Domains that no customer has: those of RFC 2606, and the service's own. The sandbox takes them: nothing is sent there. */
const reservedDomains = oncePerEnvironment(({ config }: Environment): ((domain: string) => boolean) => {
  if (config.API_HOST === "sandbox") return () => false;
  const reserved = [
    "test",
    "example",
    "invalid",
    "localhost",
    "example.com",
    "example.net",
    "example.org",
    ...ownDomains(config),
  ];
  return (domain) => reserved.some((each) => domain === each || domain.endsWith(`.${each}`));
});

function ownDomains({ MAIL_FROM, SUPPORT_EMAIL, BASE_URL }: Configuration): string[] {
  const domains = [MAIL_FROM, SUPPORT_EMAIL].flatMap((address) => /@([^@>\s]+)>?\s*$/.exec(address)?.[1] ?? []);
  return [...domains.map((domain) => domain.toLowerCase()), new URL(BASE_URL).hostname];
}

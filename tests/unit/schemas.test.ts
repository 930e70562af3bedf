// What the schema files say, where no behaviour shows that it is said everywhere.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { errorsOf } from "#shared/http/endpoint.ts";
import { SENTENCES } from "../../packages/operator/src/refusals.ts";
import { PORTAL_SQL } from "../../supabase/functions/pages/portal/sql.ts";
import { WORDS as PORTAL } from "../../supabase/functions/pages/portal/words.ts";
import { ENDPOINTS_OF } from "../harness/answers.ts";

const folder = fileURLToPath(new URL("../../supabase/schemas/", import.meta.url));
const sql = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".sql"))
  .map((name) => readFileSync(folder + name, "utf8").replace(/--.*$/gm, ""))
  .join("\n");
/** Each function with its schema, and its text: up to the end of its quoted body, of the expression that it returns, or of `begin atomic`. */
const functions = [...sql.matchAll(/^create function ([\w.]+)(\(.*?(?:\$\$|^return [^;]*|^end);)$/gms)].map(
  ([, name = "", text = ""]) => ({ name, text }),
);
const texts = new Map<string, string>();
for (const { name, text } of functions) texts.set(name, [texts.get(name), text].filter(Boolean).join("\n"));
const textOf = (name: string) => texts.get(name) ?? "";
const refusalsOf = (name: string) =>
  [...textOf(name).matchAll(/private\.refus(?:e|e_if|al)\('(\w+)'/g)].map(([, code = ""]) => code);
/** A function, and every helper that it calls, however deep. */
function reachedFrom(name: string, seen = new Set<string>()): Set<string> {
  seen.add(name);
  for (const [called] of textOf(name).matchAll(/\b(?:private|api)\.\w+(?=\()/g))
    if (!seen.has(called)) reachedFrom(called, seen);
  return seen;
}

test("every function is found", () => {
  expect(functions.length).toBe(sql.match(/^create function /gm)?.length);
});

test("a private function runs with its owner's rights only where an api function, or a trigger, needs that", () => {
  const definers = new Set(
    functions.filter(({ text }) => /security definer/.test(text.split("$$")[0] ?? "")).map(({ name }) => name),
  );
  const seen = new Set<string>();
  // as api_owner runs it: through helpers with the rights of their caller, up to the first definer
  const walk = (name: string) => {
    for (const [called] of textOf(name).matchAll(/\b(?:private|api)\.\w+/g)) {
      if (seen.has(called)) continue;
      seen.add(called);
      if (!definers.has(called)) walk(called);
    }
  };
  for (const { name } of functions) if (name.startsWith("api.")) walk(name);
  const needless = functions
    .filter(({ name, text }) => name.startsWith("private.") && definers.has(name) && !text.includes("returns trigger"))
    .map(({ name }) => name)
    .filter((name) => !seen.has(name));
  expect(needless).toEqual([]);
});

test("time is told by private.now() only", () => {
  const clocks =
    /\b(?:current_date|current_time|current_timestamp|localtime|localtimestamp|clock_timestamp|statement_timestamp|transaction_timestamp)\b|(?<!private\.)\bnow\(/;
  expect(sql.split("\n").filter((line) => clocks.test(line.replace("create function private.now()", "")))).toEqual([
    expect.stringContaining("return pg_catalog.now();"),
  ]);
});

/** What no two tenants may have at once, by what stores it, and the function that takes it: the keys are in tests/sql/keys.test.ts. */
const TAKEN: [stored: RegExp, by: string][] = [
  [/insert into core\.connections\b|\bset ean_code\b/, "private.reserve_ean"],
  [/insert into core\.chargers\b(?=.*\bserial_number\b)/s, "private.reserve_serial_number"],
  [/insert into core\.attributions\b/, "private.reserve_customer"],
  [/insert into core\.partner_managers\b/, "private.reserve_manager"],
  [/insert into core\.drafts\b/, "private.reserve_draft_id"],
  [/insert into core\.drafts\b/, "private.reserve_addresses"],
  [/insert into core\.booking_rows\b/, "private.reserve_months"],
  [/insert into core\.(?:mandate_links|draft_links|partner_keys|personal_tokens)\b/, "private.reserve_token_hash"],
];

test("whoever stores what no two tenants may have takes it through the one function that does", () => {
  const roots = functions
    .filter(({ name }) => /^(?:api|ops)\./.test(name))
    .map(({ name }) => ({ root: name, reached: reachedFrom(name) }));
  const without = TAKEN.flatMap(([stored, by]) =>
    roots
      .filter(({ reached }) => [...reached].some((name) => stored.test(textOf(name))) && !reached.has(by))
      .map(({ root }) => `${root}: ${by}`),
  );
  expect(without).toEqual([]);
});

/**
 * What a helper says to others only: who revokes asks for no grant, these take the first of several connections, and a virtual charger
 * has a serial number made for it; what is settled is all that was credited, and what is worth no cent is not sold. Of a token its
 * scopes decide, and when a person signed in is asked in their pages alone. A client manages its endpoints itself, and is no person of
 * a partner.
 */
const NEVER_THERE = [
  // a pull that it stops is noted at its connection; what is read again waits for its next day
  "runWorker: parked_limit",
  "runWorker: parked_limit",
  "revoke: unauthorized_client",
  ...["registerCharger", "deliverMonths", "claimSandboxDraft", "connectVirtualCharger", "createSandboxFixtures"].map(
    (id) => `${id}: ambiguous_connection`,
  ),
  "connectVirtualCharger: charger_claimed",
  // a new charger has its names from now on, and no session of another began later
  ...["registerCharger: name_in_use", "registerCharger: name_in_use"],
  ...["granted_below_sold", "not_enough_ere", "worth_nothing"].map((code) => `settleSandboxQuarter: ${code}`),
  ...["setPartnerPayoutIban", "mintPartnerApiKey"].map((id) => `${id}: recent_sign_in_required`),
  ...["create", "update", "rotate"].flatMap((verb) =>
    ["", "Client"].map((whose) => `${verb}${whose}Webhook: recent_sign_in_required`),
  ),
  ...["create", "update", "rotate", "enable", "disable", "replay", "test", "revoke"].map(
    (verb) => `${verb}ClientWebhook: no_partner_linked`,
  ),
];

test("what an api function, or a helper of it, refuses with is declared by every endpoint that runs it", () => {
  const undeclared = [...ENDPOINTS_OF.values()].flat().flatMap((endpoint) => {
    const declared: ReadonlySet<string> = new Set(errorsOf(endpoint));
    return endpoint.sql
      .flatMap((name) => [...reachedFrom(`api.${name}`)].flatMap(refusalsOf))
      .filter((code) => !declared.has(code))
      .map((code) => `${endpoint.id}: ${code}`);
  });
  expect(undeclared.sort()).toEqual(NEVER_THERE.toSorted());
});

/**
 * These change nothing of the partner's. The dashboard is counted when it is read. A file that somebody looks at is kept for an hour,
 * and is in the log once it is imported. A test is among the attempts. An event is numbered when it is read. A visit to an invitation
 * is counted, and its code is mailed to a person who is nobody yet.
 */
const LEAVES_NOTHING = [
  ...["show_portal_start", "keep_import", "show_event", "ping_webhook"],
  ...["open_invitation", "send_invitation_code"],
];

test("whatever a partner's pages change leaves an audit row, of a kind that their log has words for", () => {
  const auditsOf = (name: string) =>
    [...reachedFrom(`api.${name}`)].flatMap((each) =>
      [...textOf(each).matchAll(/private\.audit\('([\w.]+)'/g)].map(([, action = ""]) => action),
    );
  const writes = PORTAL_SQL.filter((name) => !/\bstable\b/.test(textOf(`api.${name}`)));
  expect(writes.length).toBeGreaterThan(3);
  expect(writes.filter((name) => auditsOf(name).length === 0)).toEqual(LEAVES_NOTHING);
  for (const words of Object.values(PORTAL)) {
    const known = Object.keys(words.settings.log.actions);
    expect([...new Set(writes.flatMap(auditsOf))].filter((action) => !known.includes(action)).sort()).toEqual(
      IN_PEOPLES_TENANT,
    );
  }
});

/** What becomes of the login of who was invited is in the house's log: a partner's would tell that the address had one. */
const IN_PEOPLES_TENANT = ["login.replaced", "login.secured", "oauth.grant_ended"];

/** What the operator and a managing person do by the same functions. */
const SHARED = ["webhook_named", "add_webhook", "ping_webhook", "replay_webhook", "place_in_log", "start_of"].map(
  (name) => `private.${name}`,
);

test("every refusal of an ops function, and of the helpers of ops alone, has a sentence for the operator", () => {
  const names = functions.map(({ name }) => name);
  // the sandbox settles a quarter with the operator's own functions
  const apis = names.filter((name) => name.startsWith("api.") && name !== "api.settle_sandbox");
  const reached = new Set(apis.flatMap((name) => [...reachedFrom(name)]));
  const codes = names
    .filter(
      (name) => name.startsWith("ops.") || SHARED.includes(name) || (name.startsWith("private.") && !reached.has(name)),
    )
    .flatMap(refusalsOf);
  expect([...new Set(codes)].sort()).toEqual(Object.keys(SENTENCES).sort());
  for (const say of Object.values(SENTENCES)) expect(say({})).toMatch(/^[^\n]+\.$/);
});

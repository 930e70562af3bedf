// The rooms of supabase/schemas have an order: a room names only tables and functions of rooms before it. UPWARD has the exceptions.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOMS = [
  "foundation",
  "access",
  "customers",
  "chargers",
  "sessions",
  "sources",
  "months",
  "money",
  "outbox",
  "pages",
  "operations",
  "sandbox",
];

/** Why a room names something of a later one. `from` null: every room may. */
const UPWARD: { because: string; from: string[] | null; to: string[] }[] = [
  { because: "each change writes its audit row in the same transaction", from: null, to: ["private.audit"] },
  {
    because: "each change writes its event in the same transaction",
    from: null,
    to: [
      ...["private.append_event", "private.emit", "private.emit_all", "private.emit_draft", "private.emit_of"],
      "private.occurrence",
    ],
  },
  {
    because: "each change stores its mail in the same transaction, within the limits of the address",
    from: null,
    to: [
      ...["core.mail_outbox", "core.notices", "private.enqueue_mail", "private.enqueue_mails", "private.notify"],
      ...["private.mail_rate", "private.mail_subject", "private.mails_that_fit", "private.own_code_fits"],
      "private.sign_in_mail",
    ],
  },
  {
    because: "each change requests its document in the same transaction",
    from: ["customers", "money"],
    to: ["core.documents", "private.request_statements", "private.withdraw_statements"],
  },
  {
    because: "the first line of every api function knows whose rows are people's",
    from: ["foundation"],
    to: ["private.people_tenant"],
  },
  { because: "a platform has its credential in the table of its source", from: ["access"], to: ["private.admit_ocpi"] },
  { because: "the words of a CDR stand beside the CDRs", from: ["sessions"], to: ["core.ocpi_cdrs"] },
  {
    because: "a login, and the link of a client, depend on what they own",
    from: ["access"],
    to: ["core.accounts", "core.chargers", "private.own_drafts", "private.signed_accounts", "private.signs"],
  },
  { because: "the operator sets which brands a partner offers", from: ["access"], to: ["core.charger_brands"] },
  {
    because: "an import and a claim register a charger with the account, and a gate asks for one",
    from: ["customers"],
    to: [
      ...["core.charger_brands", "core.charger_models", "core.charger_vendor_aliases", "core.chargers"],
      ...["private.add_own_charger", "private.charger_key", "private.charger_name", "private.charger_taken"],
      ...["private.lock_chargers", "private.require_charger_room", "private.vendor_key"],
    ],
  },
  {
    because: "a mandate, a connection and a registration decide which months count",
    from: ["customers"],
    to: ["core.counted_months", "core.delivered_months", "core.ere_factors", "private.judge_months"],
  },
  {
    because: "an offer estimates by the last price, and an account and a claim show their payments",
    from: ["customers"],
    to: ["core.figures", "core.payout_lines", "private.paid_back_on"],
  },
  {
    because:
      "a charger that gets a name takes the sessions that were parked under it, and follows former registrations",
    from: ["customers", "chargers"],
    to: [
      ...["private.end_charger_names", "private.store_parked", "private.hold_names", "private.name_charger"],
      "private.succeed_charger",
    ],
  },
  {
    because: "sessions end in the total of their month",
    from: ["sessions", "sources"],
    to: [
      ...["core.connection_coverage", "core.delivered_months", "core.deliveries", "core.replaced_total"],
      ...["private.coverage_of", "private.judge_month"],
    ],
  },
  {
    because: "the log of sessions is kept as the log of events",
    from: ["sessions"],
    to: ["private.events_at_once", "private.events_kept_since"],
  },
  {
    because: "the check of the books compares what pages show, and what the operator did",
    from: ["money"],
    to: ["core.audit_log", "private.check_partner_sums"],
  },
  { because: "the operator and a partner read what was done", from: ["sources", "pages"], to: ["core.audit_log"] },
  {
    because: "the worker also does the work of the sandbox, and retention deletes its rows",
    from: ["operations"],
    to: ["core.virtual_chargers", "private.review_due_registrations", "private.sync_virtual_chargers"],
  },
];

const folder = fileURLToPath(new URL("../../supabase/schemas/", import.meta.url));
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".sql") && file !== "last.sql")
  .map((file) => ({
    file,
    rank: ROOMS.indexOf(file.split("/")[0] ?? ""),
    lines: readFileSync(folder + file, "utf8").split("\n"),
    sql: readFileSync(folder + file, "utf8")
      .replace(/--.*$/gm, "")
      .replace(/^comment on [^;']*\bis\s+(?:'(?:[^']|'')*'\s*)+;/gm, ""),
  }));

/** The first room that makes each table, view, type and function. */
const home = new Map<string, number>();
for (const { rank, sql } of files)
  for (const [, name = ""] of sql.matchAll(/^create (?:unlogged )?(?:table|view|type|function) (\w+\.\w+)/gm))
    home.set(name, Math.min(rank, home.get(name) ?? rank));

const upward = files.flatMap(({ file, rank, sql }) =>
  [...new Set(sql.match(/\b(?:core|private|api|ops)\.\w+/g))]
    .filter((name) => (home.get(name) ?? 0) > rank)
    .map((name) => ({ file, from: ROOMS[rank] ?? "", name })),
);
const exception = (from: string, name: string) =>
  UPWARD.find((each) => each.to.includes(name) && (each.from?.includes(from) ?? true));

test("every schema file is in one of the twelve rooms", () => {
  expect(files.filter(({ rank }) => rank < 0).map(({ file }) => file)).toEqual([]);
  expect(home.size).toBeGreaterThan(700);
});

test("a room names tables and functions of earlier rooms only", () => {
  const wrong = upward.filter(({ from, name }) => !exception(from, name));
  expect(wrong.map(({ file, name }) => `${file} names ${name}, which is in ${ROOMS[home.get(name) ?? 0]}`)).toEqual([]);
});

test("every exception is needed", () => {
  const used = new Set(upward.map(({ from, name }) => `${exception(from, name)?.because}: ${name}`));
  const listed = UPWARD.flatMap(({ because, to }) => to.map((name) => `${because}: ${name}`));
  expect(listed.filter((each) => !used.has(each))).toEqual([]);
});

test("no line of a schema file is over 120 characters", () => {
  const long = files.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) => (line.length > 120 ? [`${file}:${index + 1}`] : [])),
  );
  expect(long).toEqual([]);
});

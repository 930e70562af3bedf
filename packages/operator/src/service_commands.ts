// Daily work: find a customer, show their state, list what failed, count what waits.

import { Argument, Option } from "commander";
import { type Command, count, limit, list, partner, type Row, titled } from "./command.ts";
import type { OpsAnswer } from "./database.ts";
import { euro, fields } from "./text.ts";

function showAccount({
  account,
  signatory,
  connections,
  mandates,
  chargers,
  months,
  sessions,
  told,
}: OpsAnswer): string {
  const { display_name, partner_slug, balance_eur } = account as Row;
  const { full_name } = (signatory ?? {}) as Row;
  const signed = (mandates as Row[]).some(({ status }) => status === "signed");
  return [
    `${full_name ?? display_name ?? "This account"}, of ${partner_slug}, has ${count((connections as Row[]).length, "connection")}, ` +
      `${signed ? "a" : "no"} signed mandate and a balance of ${euro(balance_eur)}.`,
    fields({ ...(account as Row), ...(signatory as Row | null) }),
    titled(
      "Connections",
      connections,
      "connection_id ean_code address status registration_status ean_validation_status mandate_status mandate_valid_until mandate_renewed_until checklist",
    ),
    titled(
      "Mandates",
      mandates,
      "status renewal valid_from valid_until covered_until fee_pct signed_name signed_at code_confirmed ended_at ended_reason",
    ),
    titled("Chargers", chargers, "charger_id brand model serial_number mid_eligible status created_at"),
    titled("Months", months, "year status months kwh", "months kwh"),
    titled(
      "Charging sessions, the newest 50",
      sessions,
      "charging_session_id started_at ended_at kwh source meter_start_kwh meter_end_kwh flags",
    ),
    titled("Notices they were sent", told, "created_at kind waits"),
  ].join("\n\n");
}

function showPartner({ partner, counts, company, branding, payout, managers, key, clients }: OpsAnswer): string {
  const { name, is_active } = partner as Row;
  const { cpo_accounts, customers } = counts as Row;
  return [
    `${name} is ${is_active ? "active" : "not active"}, with ${count(cpo_accounts, "account")} and ${count(customers, "customer")} it brought.`,
    fields({ ...(partner as Row), ...(counts as Row), company, branding, payout, key }),
    titled("Managers", managers, "email user_id"),
    titled("Clients", clients, "client_id name scopes secret_rotated_at disabled_at"),
  ].join("\n\n");
}

function showFound({ customers, more }: OpsAnswer): string {
  const found = list("customers", "kind id partner_slug name email reference eans status")({ customers });
  return more ? `${found}\n\nThere are more: type more of what is known, or raise --limit.` : found;
}

function showEans({ connections, drafts }: OpsAnswer): string {
  return [
    titled("Connections", connections, "id partner_slug ean_code address status outcome reason checked_at"),
    titled("Drafts", drafts, "id partner_slug ean_code address status checked_at"),
  ].join("\n\n");
}

function showStats({ at, waits, holds, sold }: OpsAnswer): string {
  const exactly = (rows: unknown, not: string, sign: (count: unknown) => string) =>
    (rows as Row[]).map(({ what, count, [not]: inexact }) => ({ what, count: inexact ? sign(count) : count }));
  return [
    titled(
      `Waits, at ${at}`,
      exactly(waits, "or_more", (count) => `more than ${count}`),
      "what count",
    ),
    titled(
      "Is there",
      exactly(holds, "about", (count) => `about ${count}`),
      "what count",
    ),
    titled("Was sold", sold, "delivery_year sales ere gross_eur", "sales ere gross_eur"),
  ].join("\n\n");
}

export const SERVICE_COMMANDS: Command[] = [
  {
    name: "customer find",
    summary: "Find accounts and unclaimed drafts",
    details:
      "Searches the beginning of each word of a name, e-mail address or reference. Or give an id, an EAN, a " +
      "telephone number, the reference of a payment, or postal code and house number. An IBAN is stored " +
      "encrypted, so it finds nothing. Exact matches come first. Needs at least three letters or digits. Leaves an audit row for each result.",
    example: 'customer find "sanne vries"',
    takes: [new Argument("<text>", "what is known"), limit(20)],
    ops: "customer_find",
    view: showFound,
  },
  {
    name: "account show",
    summary: "Show everything about an account: signatory, connections, mandates, chargers, months, mail",
    details: "Leaves an audit row.",
    example: "account show KLANT-1001",
    takes: [new Argument("<account>", "account id, cpo_external_ref, EAN or e-mail address")],
    ops: "account_show",
    view: showAccount,
  },
  {
    name: "partner show",
    summary: "Show a partner: settings, managers, clients, how many customers and drafts",
    details: "Leaves an audit row.",
    example: "partner show laadpunt-zuid",
    takes: [partner()],
    ops: "partner_show",
    view: showPartner,
  },
  {
    name: "draft list",
    summary: "List drafts, newest first",
    details: "Leaves an audit row.",
    example: "draft list --partner laadpunt-zuid --status claimed",
    takes: [
      new Option("--partner <partner>", "only drafts of this partner (id or slug)"),
      new Option("--status <status>", "only drafts with this status").choices([
        "invited",
        "claimed",
        "expired",
        "conflict",
        "active",
      ]),
      limit(20),
    ],
    ops: "draft_list",
    view: list("drafts", "draft_id partner_slug status email name external_ref ean_status open_step created_at"),
  },
  {
    name: "ean list",
    summary: "List EANs that the EAN register has not confirmed, of connections and of open drafts",
    details:
      "The EAN checked longest ago comes first. If an EAN is right, confirm it with connection set-ean-status. " +
      "Leaves an audit row.",
    example: "ean list --failed",
    takes: [
      new Option("--failed", "only EANs that the register denied, did not know, or could not be asked about"),
      limit(50),
    ],
    ops: "ean_list",
    view: showEans,
  },
  {
    name: "stats",
    summary: "Count what exists and what waits, and show what was sold",
    details:
      "Takes as long for a million accounts as for ten: counts above ten thousand are estimates. No personal data.",
    example: "stats",
    ops: "stats",
    view: showStats,
  },
];

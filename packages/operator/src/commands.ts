// Every command as data: its arguments, its ops function, and its output for a person.

import { Argument, Option } from "commander";
import * as z from "zod";
import { KEY_PREFIX } from "#shared/foundation/configuration.ts";
import { eanCode, email, houseNumber, postalCode, trimmedTo } from "#shared/values/fields.ts";
import { inAsciiHost } from "#shared/values/return_root.ts";
import { CPO_SCOPES } from "#shared/values/scopes.ts";
import { APP_COMMANDS } from "./app_commands.ts";
import { AUDIT_COMMANDS } from "./audit_commands.ts";
import { about, type Command, changed, limit, list, partner, type Row, read, titled, whole } from "./command.ts";
import { ERE_COMMANDS } from "./ere_commands.ts";
import { EXPORT_COMMANDS } from "./export_commands.ts";
import { invite } from "./invite.ts";
import { INVOICE_COMMANDS } from "./invoice_commands.ts";
import { LOGIN_COMMANDS } from "./login_commands.ts";
import { MAIL_COMMANDS } from "./mail_commands.ts";
import { OCPI_COMMANDS } from "./ocpi_commands.ts";
import { PAYOUT_COMMANDS } from "./payout_commands.ts";
import { RESTORE_COMMANDS } from "./restore_commands.ts";
import { RETENTION_COMMANDS } from "./retention_commands.ts";
import { SERVICE_COMMANDS } from "./service_commands.ts";
import { fields } from "./text.ts";
import { WEBHOOK_COMMANDS } from "./webhook_commands.ts";

const client = () => new Argument("<client>", "client_id (or id) of the client");
const connection = () =>
  new Argument(
    "<connection>",
    "connection id; or the account id, EAN or cpo_external_ref, if only one connection matches",
  );
const scopes = Object.keys(CPO_SCOPES);

const CONNECTION_COLUMNS =
  "connection_id account_id cpo_external_ref partner_slug ean_code status registration_status ean_validation_status mandate_status";

export const COMMANDS: Command[] = [
  {
    name: "host show",
    summary: "Show which host the database belongs to",
    example: "host show",
    ops: "host_show",
    view: changed("host", "The host of this database."),
  },
  {
    name: "host set",
    summary: "Set which host the database belongs to, once, before its first partner",
    details:
      "The database refuses functions with another API_HOST. This cannot be changed: another host needs its own " +
      "database.",
    example: "host set production",
    takes: [
      new Argument("<host>", "which host this is").choices(["sandbox", "production"]),
      new Option(
        "--key-prefix <letters>",
        "prefix of keys, the same as KEY_PREFIX of the functions; ere if omitted",
      ).argParser(read(z.string().regex(KEY_PREFIX, "must be 2 to 12 lower-case letters"))),
    ],
    ops: "host_set",
    view: changed("host", "Host set."),
  },
  {
    name: "partner create",
    summary: "Create a partner (a tenant); it is active at once",
    example: 'partner create "Laadpunt Zuid" --slug laadpunt-zuid',
    takes: [
      new Argument("<name>", "its name, up to 120 characters"),
      new Option("--slug <slug>", "short name in lower case and dashes; derived from the name if omitted"),
    ],
    ops: "partner_create",
    view: changed("partner", "Partner created."),
  },
  {
    name: "partner list",
    summary: "List all partners",
    example: "partner list",
    ops: "partner_list",
    view: list("partners", "id slug name is_active created_at"),
  },
  {
    name: "partner activate",
    summary: "Accept the credentials of a partner again",
    example: "partner activate laadpunt-zuid",
    takes: [partner()],
    ops: "partner_activate",
    view: changed("partner", "Partner activated."),
  },
  {
    name: "partner deactivate",
    summary: "Refuse the credentials of a partner from now on",
    details: "Requests of its clients return client_not_linked. Nothing is deleted; partner activate undoes it.",
    example: "partner deactivate laadpunt-zuid",
    takes: [partner()],
    ends: about("partner", "will lose all access: its key, its clients and its managers are refused"),
    ops: "partner_deactivate",
    view: changed("partner", "Partner deactivated."),
  },
  {
    name: "partner set",
    summary:
      "Set what only the operator may set: return URL, referral code, percentages, linked brands, language, years",
    details: "Changes only the options you give. Sign-in links lead back to the return URL or below it.",
    example: "partner set laadpunt-zuid --return-url https://laadpunt.example/klaar",
    takes: [
      partner(),
      new Option("--return-url <url>", "where customers return to after a sign-in link").argParser(inAsciiHost),
      new Option("--referral-code <code>", "4 to 20 letters and digits"),
      new Option("--fee-pct <number>", "fee on a customer's share, 0 to 100"),
      new Option("--share-pct <number>", "the partner's share of that fee, 0 to 100"),
      new Option("--vat-regime <regime>", "how VAT is charged on that share").choices([
        "none",
        "small_business",
        "regular",
        "reverse_charge",
      ]),
      new Option(
        "--charger-brands <brand...>",
        "brands whose cloud the partner has linked; its drafts may bring chargers of these brands",
      ),
      new Option(
        "--locale <language>",
        "language of its customers' pages and mail; any: the browser's language, and Dutch mail",
      ).choices(["nl", "en", "any"]),
      new Option("--mandate-years <years>", "for how many years its customers sign; any: the customer chooses").choices(
        ["1", "3", "5", "any"],
      ),
    ],
    ops: "partner_set",
    view: changed("partner", "Partner set."),
  },
  {
    name: "partner add-manager",
    summary: "Let a person with a login manage a partner",
    details:
      "Sends no code to check the address. Use partner invite for a person without a login, or to let them prove " +
      "their address. The other managers are mailed.",
    example: "partner add-manager laadpunt-zuid --user eva@laadpunt.example",
    takes: [partner(), new Option("--user <email>", "e-mail address of the login").makeOptionMandatory()],
    ops: "partner_add_manager",
    view: changed("manager", "Manager added."),
  },
  {
    name: "partner invite",
    summary: "Mail an invitation to manage a partner; accepting it creates a login",
    details:
      "The link works once, for seven days. Needs PAGES_URL, SERVICE_NAME and SUPPORT_EMAIL, as the functions have " +
      "them.",
    example: "partner invite laadpunt-zuid eva@laadpunt.example",
    takes: [
      partner(),
      new Argument("<email>", "the address to invite").argParser(read(email())),
      new Option("--locale <locale>", "the language of the mail").choices(["nl", "en"]).default("nl"),
    ],
    ops: "partner_invite",
    perform: { also: [], run: invite },
    view: changed("invitation", "Invitation mailed."),
  },
  {
    name: "partner mint-key",
    summary: "Create the API key of a partner; it is shown once",
    details:
      "The key works on the host of this database (host show). A partner has one active key; with --rotate the old " +
      "one stops working at once.",
    example: "partner mint-key laadpunt-zuid",
    takes: [partner(), new Option("--rotate", "replace the active key")],
    ends: (input) =>
      input.rotate
        ? about("partner", "will be refused with its current key as soon as the new one exists")(input)
        : undefined,
    ops: "partner_mint_key",
    makes: "key",
    view: changed("key", "Key created. It is shown only once; we store its hash."),
  },
  {
    name: "client create",
    summary: "Create a CPO client; its secret is shown once",
    details: "Without --partner it gets tokens, but /v1 returns client_not_linked until client link.",
    example:
      'client create "Laadpunt Zuid backoffice" --partner laadpunt-zuid --return-url https://laadpunt.example/klaar',
    takes: [
      new Argument("<name>", "its name, up to 120 characters"),
      new Option("--partner <partner>", "id or slug of the partner it acts for"),
      new Option(
        "--return-url <url>",
        "where signatories return to; return URLs of its mandate links begin with it",
      ).argParser(inAsciiHost),
      new Option("--scopes <scope...>", "its scopes; all but cpo:webhooks if omitted").choices(scopes),
    ],
    ops: "client_create",
    makes: "client",
    view: changed("client", "Client created. Its secret is shown only once; we store its hash."),
  },
  {
    name: "client list",
    summary: "List clients, newest first, disabled ones included",
    example: "client list --partner laadpunt-zuid",
    takes: [new Option("--partner <partner>", "only the clients of this partner (id or slug)")],
    ops: "client_list",
    view: list("clients", "client_id name partner_slug scopes secret_rotated_at last_used_at disabled_at"),
  },
  {
    name: "client rotate-secret",
    summary: "Replace the secret of a client; the old one stops working at once",
    details: "Access tokens issued earlier work for up to an hour, unless --revoke-tokens ends them too.",
    example: "client rotate-secret cpo_4fGh2kLm --revoke-tokens",
    takes: [client(), new Option("--revoke-tokens", "also end every token issued earlier")],
    ends: about("client", "will get no more tokens with its current secret"),
    ops: "client_rotate_secret",
    makes: "secret",
    view: changed("client", "Secret replaced. The new one is shown only once; we store its hash."),
  },
  {
    name: "client disable",
    summary: "End a client for good: its secret and its tokens stop working at once",
    example: "client disable cpo_4fGh2kLm",
    takes: [client()],
    ends: about("client", "will stop working for good"),
    ops: "client_disable",
    view: changed("client", "Client disabled."),
  },
  {
    name: "client set-scopes",
    summary: "Replace the scopes of a client, or add some",
    details:
      "With + before every scope they are added, and the others stay. A removed scope also stops in tokens already " +
      "issued. An added scope comes with the next token.",
    example: "client set-scopes cpo_4fGh2kLm +cpo:webhooks",
    takes: [
      client(),
      new Argument("<scopes...>", "all its scopes from now on, or each with + to add it").choices([
        ...scopes,
        ...scopes.map((scope) => `+${scope}`),
      ]),
    ],
    ends: (input) =>
      (input.scopes as string[]).every((scope) => scope.startsWith("+"))
        ? undefined
        : about("client", "will keep only the scopes named here")(input),
    ops: "client_set_scopes",
    view: changed("client", "Scopes set."),
  },
  {
    name: "client link",
    summary: "Link a client to a partner",
    details: "Refused once the client has created accounts: they belong to its partner.",
    example: "client link cpo_4fGh2kLm laadpunt-zuid",
    takes: [client(), partner()],
    ops: "client_link",
    view: changed("client", "Client linked."),
  },
  {
    name: "connection list",
    summary: "Show the connections behind an id, EAN or reference, archived ones included",
    example: "connection list KLANT-1001",
    takes: [new Argument("<connection>", "connection id, account id, EAN or cpo_external_ref")],
    ops: "connection_list",
    view: list("connections", CONNECTION_COLUMNS),
  },
  {
    name: "connection add",
    summary: "Add a connection to an account",
    details:
      "It starts as concept and unverified. We ask the EAN register once its mandate is signed. To confirm the EAN " +
      "earlier, use connection set-ean-status.",
    example: "connection add KLANT-1001 871687120000000016 --postal-code 1234AB --house-number 12a",
    takes: [
      new Argument("<account>", "account id or cpo_external_ref"),
      new Argument("<ean_code>", "EAN of the connection, 18 digits").argParser(read(eanCode())),
      new Option("--postal-code <code>", "such as 1234AB").argParser(read(postalCode())).makeOptionMandatory(),
      new Option("--house-number <number>", "with its addition, such as 12, 12a or 12-2")
        .argParser(read(houseNumber()))
        .makeOptionMandatory(),
      new Option("--street <street>", "street").argParser(read(trimmedTo(120))),
      new Option("--city <city>", "city").argParser(read(trimmedTo(120))),
    ],
    ops: "connection_add",
    prepare: ({ house_number, ...input }) => {
      const { number, addition } = house_number as { number: number; addition: string | null };
      return { ...input, house_number: number, house_number_addition: addition };
    },
    view: changed("connection", "Connection added."),
  },
  {
    name: "connection set-ean-status",
    summary: "Confirm by hand an EAN that the EAN register cannot confirm, or undo that",
    details:
      "manual opens the gate ean_validated, and submits the registration if that was the last closed gate. " +
      "unverified undoes a manual.",
    example: "connection set-ean-status 871687120000000016 manual",
    takes: [connection(), new Argument("<status>", "its new status").choices(["manual", "unverified"])],
    ops: "connection_set_ean_status",
    view: changed("connection", "EAN status set."),
  },
  {
    name: "connection archive",
    summary: "Archive a connection: its EAN and its chargers can be registered elsewhere",
    details: "Revokes a signed mandate and voids open mandate links. The connection and its months stay listed.",
    example: "connection archive 871687120000000016",
    takes: [connection()],
    ends: about("connection", "will be archived for good, and its signed mandate revoked"),
    ops: "connection_archive",
    view: changed("connection", "Connection archived."),
  },
  {
    name: "mandate revoke",
    summary: "Revoke the signed mandate of a connection",
    details:
      "The gate mandate_signed closes and open months become outside_mandate; a signed renewal ends too. Locked " +
      "months and registration_status stay the same. The signatory is mailed.",
    example: "mandate revoke KLANT-1001",
    takes: [
      connection(),
      new Option("--asked-by-customer", "the customer withdrew it: whole months before today's month stay covered"),
    ],
    ends: about("connection", "will lose its signed mandate; only the customer can sign again"),
    ops: "mandate_revoke",
    view: changed("connection", "Mandate revoked."),
  },
  {
    name: "registration list",
    summary: "List registrations that wait for review, oldest first",
    example: "registration list --limit 10",
    takes: [limit(50)],
    ops: "registration_list",
    view: list("connections", `submitted_at ${CONNECTION_COLUMNS}`, {
      none: "No registration waits for review.",
      next: "registration review <connection> goedgekeurd",
    }),
  },
  {
    name: "registration review",
    summary: "Review a registration that is ingediend",
    details: "goedgekeurd needs a signed mandate, a validated EAN and a MID charger; an IBAN is not needed.",
    example: "registration review KLANT-1001 goedgekeurd",
    takes: [connection(), new Argument("<verdict>", "the outcome").choices(["goedgekeurd", "afgekeurd"])],
    ends: ({ connection, verdict }) =>
      verdict === "afgekeurd" ? `The registration of ${connection} will be rejected for good.` : undefined,
    ops: "registration_review",
    view: changed("connection", "Registration reviewed."),
  },
  {
    name: "charger list",
    summary: "List chargers whose MID meter is not confirmed yet, oldest first",
    example: "charger list",
    takes: [limit(50)],
    ops: "charger_list",
    view: list("chargers", "charger_id account_id partner_slug brand model serial_number created_at", {
      none: "The MID meter of every charger is judged.",
      next: "charger confirm-mid <charger> --evidence <text>",
    }),
  },
  {
    name: "charger confirm-mid",
    summary: "Record from evidence that a charger has a MID meter, or has none",
    details:
      "For models sold with and without a MID meter. Confirming may open the last gate, which submits the " +
      "registration.",
    example: 'charger confirm-mid 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11 --evidence "type plate, ticket 4711"',
    takes: [
      new Argument("<charger>", "charger id"),
      new Option("--no-mid", "the evidence says that it has no MID meter"),
      new Option("--evidence <text>", "where the evidence is kept, for the audit log; no personal data"),
    ],
    ops: "charger_confirm_mid",
    prepare: ({ mid, ...input }) => ({ ...input, no_mid: mid === false }),
    view: changed("charger", "Charger judged."),
  },
  {
    name: "charger release",
    summary: "Remove a charger whose serial number is another one's, so that its owner can register it",
    details:
      "Its kWh count nowhere from then on; only months that are locked stay. A later registration of its number counts " +
      "again what it did not count because of this one.",
    example: 'charger release 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11 --reason "owner showed the type plate, ticket 4711"',
    takes: [
      new Argument("<charger>", "charger id"),
      new Option("--reason <text>", "why, for the audit log; no personal data").makeOptionMandatory(),
    ],
    ops: "charger_release",
    view: changed("charger", "Charger removed."),
  },
  {
    name: "charger story",
    summary: "Show a charger: its connection, last boot, readings, transactions by OCPP, and who changed it",
    details:
      "called: what another back office calls the transaction. ended_by: stop; guess: a stop without its id; last value: " +
      "no stop came. A mirror that loses or mixes messages shows many of the last two, and stops that end nothing. " +
      "generation grows with each connection and each new password. another_serial_number: what another charger booted " +
      "as at its mirror's address, last at another_at; that one's kWh do not count.",
    example: "charger story 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11",
    takes: [new Argument("<charger>", "charger id"), limit(20)],
    ops: "charger_story",
    view: ({ charger, link, waiting, transactions, changes }) =>
      [
        fields(charger as Row),
        link ? `Connection\n${fields(link as Row)}` : "It never connected to the OCPP gateway.",
        titled(
          "Transactions, newest first",
          transactions,
          "transaction called evse_no started_at ended_at ended_by start_wh last_wh end_wh counted_wh flags clock",
        ),
        titled("Stops that end nothing, newest first", waiting, "transaction at meter_wh"),
        titled("Changes", changes, "at what by"),
      ].join("\n\n"),
  },
  {
    name: "charger conflicts",
    summary: "List chargers that may be registered twice, latest first",
    details:
      "booted_as: the charger told the serial number of another, so its sessions do not count. other_brand: two " +
      "chargers have one serial number under two brands, and both count. booted_alike: two chargers with numbers of " +
      "their own told the same other one, and both count. If one is wrong, charger release removes it.",
    example: "charger conflicts",
    takes: [limit(50)],
    ops: "charger_conflicts",
    view: list("conflicts", "charger_id brand serial_number reason held_by since", {
      none: "No charger may be registered twice.",
      next: "charger story <charger>",
    }),
  },
  {
    name: "charging parked",
    summary: "List the names of chargers that sessions wait for, most sessions first",
    example: "charging parked --partner laadpunt",
    takes: [new Option("--partner <partner>", "only of this partner (id or slug)"), limit(50)],
    ops: "charging_parked",
    view: list("parked", "partner_slug client_id reason name sessions oldest", {
      none: "No session waits for a charger.",
      sums: "sessions",
    }),
  },
  {
    name: "charging flagged",
    summary: "List sessions of the last 31 days that a flag keeps out of every total, newest first",
    example: "charging flagged",
    takes: [new Option("--partner <partner>", "only of this partner (id or slug)"), limit(50)],
    ops: "charging_flagged",
    view: list("flagged", "charging_session_id partner_slug charger_id source started_at kwh flags", {
      none: "No session of the last 31 days is flagged.",
      next: "charging show <session>",
      sums: "kwh",
    }),
  },
  {
    name: "charging show",
    summary: "Show a charging session with its readings and what its sources said",
    details: "Signed meter values are left out; audit evidence writes them.",
    example: "charging show 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11",
    takes: [new Argument("<session>", "charging session id")],
    ops: "charging_show",
    view: ({ session }) => {
      const { tellings, ...row } = session as Row;
      const columns =
        "received_at source request_id upload_id meter_start_wh meter_end_wh sent_sha256 evidence_over_quota";
      return `${fields(row)}\n\n${titled("What its sources said", tellings, columns)}`;
    },
  },
  {
    name: "evidence-limit list",
    summary: "List how much we keep of what a source tells in a day, and how many sources told more today",
    example: "evidence-limit list",
    ops: "evidence_limit_list",
    view: list("evidence_limits", "kind mebibytes_a_day exceeded_today"),
  },
  {
    name: "evidence-limit set",
    summary: "Set how much we keep of what each client, or each OCPP charger, tells in a day",
    details:
      "Applies at once. Above it, sessions are stored with the hash of what was sent, and sessions of unknown chargers " +
      "are refused.",
    example: "evidence-limit set client 128",
    takes: [
      new Argument("<kind>", "whose limit it is").choices(["client", "charger"]),
      new Argument("<mebibytes>", "MiB a day").argParser(whole(1_048_576)),
    ],
    ops: "evidence_limit_set",
    view: changed("evidence_limit", "Limit set."),
  },
  {
    name: "rate-limit list",
    summary: "List the quota of every bucket, and of clients with their own quota",
    example: "rate-limit list",
    ops: "rate_limit_list",
    view: list("rate_limits", "bucket client_id quota window_seconds"),
  },
  {
    name: "rate-limit set",
    summary: "Set how many requests a bucket holds, for everybody or for one client",
    details: "Applies at once. Without --client it changes the default, for everybody without a quota of their own.",
    example: "rate-limit set cpo_sessions 240 --client cpo_4fGh2kLm",
    takes: [
      new Argument("<bucket>", "a bucket of rate-limit list"),
      new Argument("<quota>", "requests per window").argParser(whole(1_000_000)),
      new Option("--client <client>", "client_id (or id) of the client"),
    ],
    ops: "rate_limit_set",
    view: changed("rate_limit", "Rate limit set."),
  },
  {
    name: "rate-limit reset",
    summary: "Give a client the default quota again",
    example: "rate-limit reset cpo_sessions cpo_4fGh2kLm",
    takes: [new Argument("<bucket>", "a bucket of rate-limit list"), client()],
    ops: "rate_limit_reset",
    view: changed("rate_limit", "The client has the default quota again."),
  },
  ...MAIL_COMMANDS,
  ...EXPORT_COMMANDS,
  ...SERVICE_COMMANDS,
  ...APP_COMMANDS,
  ...LOGIN_COMMANDS,
  ...ERE_COMMANDS,
  ...PAYOUT_COMMANDS,
  ...WEBHOOK_COMMANDS,
  ...OCPI_COMMANDS,
  ...INVOICE_COMMANDS,
  ...AUDIT_COMMANDS,
  ...RESTORE_COMMANDS,
  ...RETENTION_COMMANDS,
];

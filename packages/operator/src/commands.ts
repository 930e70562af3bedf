// Every command as data: what it takes, which ops function it runs, how a person reads the answer.

import { Argument, Option } from "commander";
import * as z from "zod";
import { KEY_PREFIX } from "#shared/foundation/configuration.ts";
import { eanCode, email, houseNumber, postalCode, trimmedTo } from "#shared/values/fields.ts";
import { inAsciiHost } from "#shared/values/return_root.ts";
import { CPO_SCOPES } from "#shared/values/scopes.ts";
import { APP_COMMANDS } from "./app_commands.ts";
import { AUDIT_COMMANDS } from "./audit_commands.ts";
import { about, type Command, changed, limit, list, partner, type Row, read, whole } from "./command.ts";
import { ERE_COMMANDS } from "./ere_commands.ts";
import { addManager, invite } from "./invite.ts";
import { INVOICE_COMMANDS } from "./invoice_commands.ts";
import { LOGIN_COMMANDS } from "./login_commands.ts";
import { PAYOUT_COMMANDS } from "./payout_commands.ts";
import { RETENTION_COMMANDS } from "./retention_commands.ts";
import { SERVICE_COMMANDS } from "./service_commands.ts";
import { fields, plain } from "./text.ts";
import { WEBHOOK_COMMANDS } from "./webhook_commands.ts";

const client = () => new Argument("<client>", "client_id (or id) of the client");
const connection = () =>
  new Argument("<connection>", "connection id; or the account id, EAN or cpo_external_ref, where that means one");
const scopes = Object.keys(CPO_SCOPES);

const CONNECTION_COLUMNS =
  "connection_id account_id cpo_external_ref partner_slug ean_code status registration_status ean_validation_status mandate_status";
const MAIL_COLUMNS = "id created_at status partner_slug recipient subject";

export const COMMANDS: Command[] = [
  {
    name: "host show",
    summary: "Say which host the database belongs to",
    example: "host show",
    ops: "host_show",
    view: changed("host", "The host of this database."),
  },
  {
    name: "host set",
    summary: "Say once which host the database belongs to, before its first partner",
    details:
      "Functions with another API_HOST than this are refused by the database. It stays: another host has a database of its own.",
    example: "host set production",
    takes: [
      new Argument("<host>", "which host this is").choices(["sandbox", "production"]),
      new Option(
        "--key-prefix <letters>",
        "what keys begin with, as KEY_PREFIX of the functions; ere unless set",
      ).argParser(read(z.string().regex(KEY_PREFIX, "must be 2 to 12 lower-case letters"))),
    ],
    ops: "host_set",
    view: changed("host", "Host set."),
  },
  {
    name: "partner create",
    summary: "Make a partner (a tenant); it is active at once",
    example: 'partner create "Laadpunt Zuid" --slug laadpunt-zuid',
    takes: [
      new Argument("<name>", "what it is called, up to 120 characters"),
      new Option("--slug <slug>", "short name in lower case and dashes; made from the name where absent"),
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
    summary: "Let the credentials of a partner in again",
    example: "partner activate laadpunt-zuid",
    takes: [partner()],
    ops: "partner_activate",
    view: changed("partner", "Partner activated."),
  },
  {
    name: "partner deactivate",
    summary: "Refuse the credentials of a partner from now on",
    details: "Its clients' requests answer client_not_linked. Nothing is deleted; partner activate undoes it.",
    example: "partner deactivate laadpunt-zuid",
    takes: [partner()],
    ends: about("partner", "will be able to do nothing any more: its key, its clients and its managers are refused"),
    ops: "partner_deactivate",
    view: changed("partner", "Partner deactivated."),
  },
  {
    name: "partner set",
    summary: "Set what only the operator may: return URL, referral code, percentages, linked brands, language, years",
    details: "Only what is given changes. Sign-in links lead back to the return URL or below it, nowhere else.",
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
        "brands whose cloud the partner has linked; drafts may bring those chargers",
      ),
      new Option(
        "--locale <language>",
        "the language of its customers' pages and mail; any: that of their browser, and Dutch mail",
      ).choices(["nl", "en", "any"]),
      new Option("--mandate-years <years>", "for how many years its customers sign; any: they choose").choices([
        "1",
        "3",
        "5",
        "any",
      ]),
    ],
    ops: "partner_set",
    view: changed("partner", "Partner set."),
  },
  {
    name: "partner add-manager",
    summary: "Let a person with a login manage a partner",
    details:
      "Nobody is asked for a code: for who proves the address themselves, and for who has no login yet, there is partner invite. The others who manage it are mailed. Takes PAGES_URL, SERVICE_NAME and SUPPORT_EMAIL as the functions have them.",
    example: "partner add-manager laadpunt-zuid --user eva@laadpunt.example",
    takes: [partner(), new Option("--user <email>", "the address of the login").makeOptionMandatory()],
    ops: "partner_add_manager",
    perform: { also: [], run: addManager },
    view: changed("manager", "Manager added."),
  },
  {
    name: "partner invite",
    summary: "Mail somebody an invitation to manage a partner, which makes their login",
    details:
      "The link works for seven days, once. Takes PAGES_URL, SERVICE_NAME and SUPPORT_EMAIL as the functions have them.",
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
    summary: "Make the API key of a partner; it is shown once",
    details:
      "The key is for the host that the database belongs to (host show). One is active at a time; with --rotate the old one stops working at once.",
    example: "partner mint-key laadpunt-zuid",
    takes: [partner(), new Option("--rotate", "replace the active key")],
    ends: (input) =>
      input.rotate
        ? about("partner", "will be refused with the key it has, from the moment there is a new one")(input)
        : undefined,
    ops: "partner_mint_key",
    makes: "key",
    view: changed("key", "Key made. It is shown this once; only a hash of it is stored."),
  },
  {
    name: "client create",
    summary: "Provision a CPO client; its secret is shown once",
    details: "Without --partner it gets tokens, but /v1 answers client_not_linked until client link.",
    example:
      'client create "Laadpunt Zuid backoffice" --partner laadpunt-zuid --return-url https://laadpunt.example/klaar',
    takes: [
      new Argument("<name>", "what it is called, up to 120 characters"),
      new Option("--partner <partner>", "id or slug of the partner it acts for"),
      new Option(
        "--return-url <url>",
        "where signatories return to; return URLs of its mandate links start with it",
      ).argParser(inAsciiHost),
      new Option("--scopes <scope...>", "what it may do; all but cpo:webhooks where absent").choices(scopes),
    ],
    ops: "client_create",
    makes: "client",
    view: changed("client", "Client created. Its secret is shown this once; only a hash of it is stored."),
  },
  {
    name: "client list",
    summary: "List clients, newest first, disabled ones included",
    example: "client list --partner laadpunt-zuid",
    takes: [new Option("--partner <partner>", "only the clients of this partner (id or slug)")],
    ops: "client_list",
    view: list("clients", "client_id name partner_slug scopes secret_rotated_at disabled_at"),
  },
  {
    name: "client rotate-secret",
    summary: "Replace the secret of a client; the old one is dead at once",
    details: "Access tokens that were issued before live on for up to an hour, unless --revoke-tokens ends them too.",
    example: "client rotate-secret cpo_4fGh2kLm --revoke-tokens",
    takes: [client(), new Option("--revoke-tokens", "end every token issued before as well")],
    ends: about("client", "will get no token any more with the secret it has"),
    ops: "client_rotate_secret",
    makes: "secret",
    view: changed("client", "Secret replaced. The new one is shown this once; only a hash of it is stored."),
  },
  {
    name: "client disable",
    summary: "End a client for good: its secret and its tokens stop at once",
    example: "client disable cpo_4fGh2kLm",
    takes: [client()],
    ends: about("client", "will stop working for good"),
    ops: "client_disable",
    view: changed("client", "Client disabled."),
  },
  {
    name: "client set-scopes",
    summary: "Replace what a client may do",
    details: "A scope that is taken away stops in tokens already issued; one that is added comes with the next token.",
    example: "client set-scopes cpo_4fGh2kLm cpo:accounts:read cpo:sessions:write",
    takes: [client(), new Argument("<scopes...>", "all it may do from now on").choices(scopes)],
    ends: about("client", "will be allowed nothing any more but what is named here"),
    ops: "client_set_scopes",
    view: changed("client", "Scopes set."),
  },
  {
    name: "client link",
    summary: "Bind a client to a partner",
    details: "Refused once the client has created accounts: they belong to the partner it had.",
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
    summary: "Give an account one more connection",
    details:
      "It starts as concept and unverified. The EAN register is asked in the re-check once its mandate is signed; connection set-ean-status vouches for the EAN sooner.",
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
    summary: "Vouch for an EAN that the EAN register cannot confirm, or take that back",
    details:
      "manual opens the gate ean_validated, and submits the registration when it was the last one; unverified takes a manual back.",
    example: "connection set-ean-status 871687120000000016 manual",
    takes: [connection(), new Argument("<status>", "what it is from now on").choices(["manual", "unverified"])],
    ops: "connection_set_ean_status",
    view: changed("connection", "EAN status set."),
  },
  {
    name: "connection archive",
    summary: "Retire a connection: its EAN and its chargers can be registered elsewhere",
    details: "Revokes a signed mandate and voids open mandate links. The connection and its months stay listed.",
    example: "connection archive 871687120000000016",
    takes: [connection()],
    ends: about("connection", "will be retired for good, and a signed mandate of it revoked"),
    ops: "connection_archive",
    view: changed("connection", "Connection archived."),
  },
  {
    name: "mandate revoke",
    summary: "Revoke the signed mandate of a connection",
    details:
      "The gate mandate_signed closes and open months become outside_mandate; a renewal that is signed ends too. Locked months and registration_status stay. The signatory is mailed.",
    example: "mandate revoke KLANT-1001",
    takes: [
      connection(),
      new Option("--asked-by-customer", "the customer withdrew it: the whole months before today's stay covered"),
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
    view: list("connections", `submitted_at ${CONNECTION_COLUMNS}`),
  },
  {
    name: "registration review",
    summary: "Judge a registration that is ingediend",
    details: "goedgekeurd needs a signed mandate, a validated EAN and a MID charger; a missing IBAN is no ground.",
    example: "registration review KLANT-1001 goedgekeurd",
    takes: [connection(), new Argument("<verdict>", "the outcome").choices(["goedgekeurd", "afgekeurd"])],
    ends: ({ connection, verdict }) =>
      verdict === "afgekeurd" ? `The registration of ${connection} will be rejected for good.` : undefined,
    ops: "registration_review",
    view: changed("connection", "Registration reviewed."),
  },
  {
    name: "charger list",
    summary: "List chargers whose MID meter is still to be confirmed, oldest first",
    example: "charger list",
    takes: [limit(50)],
    ops: "charger_list",
    view: list("chargers", "charger_id account_id partner_slug brand model serial_number created_at"),
  },
  {
    name: "charger confirm-mid",
    summary: "Confirm from evidence that a charger has a MID meter, or that it has none",
    details: "For models sold with and without one. Confirming may open the last gate, which submits the registration.",
    example: 'charger confirm-mid 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11 --evidence "type plate, ticket 4711"',
    takes: [
      new Argument("<charger>", "charger id"),
      new Option("--no-mid", "the evidence says that it has none"),
      new Option("--evidence <text>", "where the evidence is kept, for the audit log; no personal data"),
    ],
    ops: "charger_confirm_mid",
    prepare: ({ mid, ...input }) => ({ ...input, no_mid: mid === false }),
    view: changed("charger", "Charger judged."),
  },
  {
    name: "rate-limit list",
    summary: "List the quota of every bucket, and of the clients that have their own",
    example: "rate-limit list",
    ops: "rate_limit_list",
    view: list("rate_limits", "bucket client_id quota window_seconds"),
  },
  {
    name: "rate-limit set",
    summary: "Set how many requests a bucket holds, for everybody or for one client",
    details: "In force at once. Without --client it changes the quota of everybody who has none of their own.",
    example: "rate-limit set cpo_sessions 240 --client cpo_4fGh2kLm",
    takes: [
      new Argument("<bucket>", "a bucket of rate-limit list"),
      new Argument("<quota>", "requests per window").argParser(whole(1_000_000)),
      new Option("--client <client>", "client_id (or id) of the one client it is for"),
    ],
    ops: "rate_limit_set",
    view: changed("rate_limit", "Rate limit set."),
  },
  {
    name: "rate-limit reset",
    summary: "Put a client back to the quota of everybody",
    example: "rate-limit reset cpo_sessions cpo_4fGh2kLm",
    takes: [new Argument("<bucket>", "a bucket of rate-limit list"), client()],
    ops: "rate_limit_reset",
    view: changed("rate_limit", "Back to the quota of everybody."),
  },
  {
    name: "mail list",
    summary: "List mail that was captured, sent or waits, newest first; or read one",
    details:
      "--show prints the text with its links and leaves an audit row. What its address had too much of that day is dropped, and has no text. On the sandbox this is where a code is found; in the list it is masked.",
    example: "mail list --to jan@example.nl --show",
    takes: [
      new Option("--to <email>", "only mail to this address"),
      new Option("--partner <partner>", "only mail of this partner (id or slug)"),
      new Option("--failed", "only mail that failed for good, or waits after a failure"),
      limit(20),
      new Option("--show [id]", "print this mail, or the newest one"),
    ],
    ops: ({ show }) => (show === undefined ? "mail_list" : "mail_show"),
    prepare: ({ show, ...input }) => (typeof show === "string" ? { id: show } : input),
    view: (answer) =>
      "text" in answer
        ? `${fields(answer.mail as Row)}\n\n${plain(String(answer.text))}`
        : list("mails", `${MAIL_COLUMNS} attempts last_error`)(answer),
  },
  {
    name: "mail resend",
    summary: "Have a mail that failed sent by the next run of the worker",
    details:
      "Also one that waits more than five minutes for its next attempt. Not one that was sent, whose text is wiped; nor one whose code or link has expired or was replaced, or whose reader has opted out.",
    example: "mail resend 5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11",
    takes: [new Argument("<id>", "the mail, from mail list --failed")],
    ops: "mail_resend",
    view: changed("mail", "It goes with the next run of the worker."),
  },
  ...SERVICE_COMMANDS,
  ...APP_COMMANDS,
  ...LOGIN_COMMANDS,
  ...ERE_COMMANDS,
  ...PAYOUT_COMMANDS,
  ...WEBHOOK_COMMANDS,
  ...INVOICE_COMMANDS,
  ...AUDIT_COMMANDS,
  ...RETENTION_COMMANDS,
];

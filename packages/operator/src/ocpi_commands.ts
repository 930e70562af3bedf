// OCPI connections: how the platform of a CPO client registers, and what it may send.

import { Argument, InvalidArgumentError, Option } from "commander";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import {
  agreedWith,
  credentialsOf,
  type Self,
  sealTheirToken,
  TheirCredentials,
  versionsUrl,
} from "#shared/domain/charging_in/ocpi/credentials.ts";
import { Platform, PlatformFault } from "#shared/domain/charging_in/ocpi/platform.ts";
import { type Host, refusedUrl } from "#shared/domain/outbound/url.ts";
import { calendarDate } from "#shared/values/models.ts";
import { type Command, changed, type Input, limit, list, type Machine } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { readKeys } from "./payouts.ts";

const client = () => new Option("--client <client>", "client_id (or id) of the CPO client").makeOptionMandatory();

/** @throws {OperatorError} naming what the functions have and this command has not. */
function readSelf({ BASE_URL, OCPI_PARTY, SERVICE_NAME }: Machine["env"]): Self {
  if (BASE_URL && OCPI_PARTY && SERVICE_NAME)
    return { BASE_URL: BASE_URL.replace(/\/+$/, ""), OCPI_PARTY, SERVICE_NAME };
  throw new OperatorError(
    "Platforms are told who we are: set BASE_URL, OCPI_PARTY and SERVICE_NAME to the values that the functions have.",
  );
}

async function hostOf({ call, env }: Machine): Promise<Host> {
  const { host } = (await call("host_show", {})).host as { host: Host["API_HOST"] };
  return { API_HOST: host, WEBHOOK_ALLOW_LOOPBACK: env.WEBHOOK_ALLOW_LOOPBACK === "true" ? "true" : "false" };
}

async function add(input: Input, { call, env }: Machine): Promise<OpsAnswer> {
  const self = readSelf(env);
  const token = newSecret();
  const { owner_id: _, origins: __, ...answer } = await call("ocpi_add", { ...input, token_hash: hashSecret(token) });
  return { ...answer, versions_url: versionsUrl(self), token };
}

/** Both tokens are ours to name: theirs opens their platform, ours is sent there and stored as its hash. */
async function register(input: Input, machine: Machine): Promise<OpsAnswer> {
  const { call, env } = machine;
  const self = readSelf(env);
  const keys = readKeys(env);
  const host = await hostOf(machine);
  const refused = refusedUrl(String(input.url), host);
  if (refused) throw new OperatorError(refused);
  const theirs = (await machine.readLine("Token of the platform: ")).trim();
  if (!/^[\x21-\x7e]{1,64}$/.test(theirs)) throw new OperatorError("A token is 1 to 64 printable characters.");
  const token = newSecret();
  const token_hash = hashSecret(token);
  const { owner_id, origins } = await call("ocpi_add", { client: input.client, token_hash });
  try {
    const asked = new Platform(String(input.url), origins as string[], theirs, host);
    const { credentials_url } = await asked.discover();
    const { data } = await asked.send("POST", credentials_url, { body: credentialsOf(self, token) });
    const given = TheirCredentials.safeParse(data).data;
    if (!given) throw new PlatformFault("no_credentials");
    // what it lets us see may depend on the token, and the answer names its own URL
    const platform = new Platform(given.url, origins as string[], given.token, host);
    const found = await platform.discover();
    return await call("ocpi_settle", {
      client: input.client,
      token_hash,
      ...agreedWith(given, found, platform.plain),
      their_token: sealTheirToken(keys, String(owner_id), given.token),
    });
  } catch (error) {
    if (!(error instanceof PlatformFault)) throw error;
    throw new OperatorError(
      `The platform did not register us: ${error.reason}${error.saw ? ` (${error.saw})` : ""}. The connection stays invited; run the command again, or add.`,
    );
  }
}

const party = () =>
  new Argument("<party>", "country and party id, such as NL-TNM").argParser((value) => {
    if (/^[A-Za-z]{2}-[A-Za-z0-9]{3}$/.test(value)) return value.toUpperCase();
    throw new InvalidArgumentError("It must be a country and a party id, such as NL-TNM.");
  });

const day = (value: string) => {
  if (calendarDate().safeParse(value).success) return value;
  throw new InvalidArgumentError("It must be a date such as 2026-03-01.");
};

async function allowOrigin(input: Input, machine: Machine): Promise<OpsAnswer> {
  const refused = refusedUrl(String(input.origin), await hostOf(machine));
  if (refused) throw new OperatorError(refused);
  return machine.call("ocpi_origin", { ...input, origin: new URL(String(input.origin)).origin });
}

export const OCPI_COMMANDS: Command[] = [
  {
    name: "ocpi add",
    summary: "Invite the OCPI platform of a client: prints our versions URL and a token, once",
    details:
      "Needs BASE_URL, OCPI_PARTY and SERVICE_NAME. The token registers once, within 30 days. The platform must send " +
      "all CDRs, not only those of our tokens.",
    example: "ocpi add --client cpo_4fGh2kLm",
    takes: [client()],
    ops: "ocpi_add",
    perform: { also: [], run: add },
    view: (answer) =>
      `${changed("connection", "Give these to the CPO. The token is shown only once; we store its hash.")(answer)}\n\n` +
      `  versions  ${answer.versions_url}\n  token     ${answer.token}`,
  },
  {
    name: "ocpi register",
    summary: "Register with the OCPI platform of a client, with a token that the CPO gave us",
    details:
      "Reads that token from standard input. Needs IBAN_KEYS, which encrypt it, and BASE_URL, OCPI_PARTY and " +
      "SERVICE_NAME.",
    example: "ocpi register --client cpo_4fGh2kLm --url https://ocpi.laadpunt.example/versions",
    takes: [client(), new Option("--url <url>", "versions URL of the platform").makeOptionMandatory()],
    ops: "ocpi_settle",
    perform: { also: ["ocpi_add", "host_show"], run: register },
    view: changed("connection", "Registered. The worker reads its CDRs now."),
  },
  {
    name: "ocpi list",
    summary: "List OCPI connections: parties, what came, and why a pull fails",
    example: "ocpi list --partner laadpunt",
    takes: [new Option("--partner <partner>", "only of this partner (id or slug)")],
    ops: "ocpi_list",
    view: list(
      "connections",
      "partner_slug client_id status parties pushed_at pulled_to cdrs_taken cdrs_refused last_refusal failing_since last_error last_error_detail hint",
    ),
  },
  {
    name: "ocpi unread",
    summary: "List CDRs that we could not read: what is wrong with them, and with --json their words",
    details:
      "They are read again each day. The same id that can be read replaces one. After 400 days they are deleted.",
    example: "ocpi unread --partner laadpunt",
    takes: [new Option("--partner <partner>", "only of this partner (id or slug)"), limit(50)],
    ops: "ocpi_unread",
    view: list("unread", "partner_slug client_id cdr refused received_at"),
  },
  {
    name: "ocpi pull",
    summary: "Have the worker read the CDRs of a platform in its next run",
    details: "A CDR that we have already changes nothing.",
    example: "ocpi pull --client cpo_4fGh2kLm --from 2026-01-01",
    takes: [client(), new Option("--from <date>", "begin earlier, with this Dutch day").argParser(day)],
    ops: "ocpi_pull",
    view: changed("connection", "The worker reads its CDRs now."),
  },
  {
    name: "ocpi party",
    summary: "Take CDRs of one more party, behind the hub of a client, or take no more of it",
    details: "Parties of the platform's own CPO roles need not be added. CDRs of a removed party stay.",
    example: "ocpi party add NL-TNM --client cpo_4fGh2kLm",
    takes: [new Argument("<action>", "add or remove").choices(["add", "remove"]), party(), client()],
    ops: "ocpi_party",
    prepare: ({ action, ...input }) => ({ ...input, remove: action === "remove" }),
    view: changed("connection", "Done."),
  },
  {
    name: "ocpi origin",
    summary: "Let our requests, with the platform's token, go to one more origin, or no more to it",
    details:
      "The origin of the versions URL needs no adding. A platform whose CDRs lie at a removed origin is read no more.",
    example: "ocpi origin add https://cdrs.laadpunt.example --client cpo_4fGh2kLm",
    takes: [
      new Argument("<action>", "add or remove").choices(["add", "remove"]),
      new Argument("<origin>", "https, of a public host"),
      client(),
    ],
    ops: "ocpi_origin",
    prepare: ({ action, ...input }) => ({ ...input, remove: action === "remove" }),
    perform: { also: ["host_show"], run: allowOrigin },
    view: changed("connection", "Done."),
  },
  {
    name: "ocpi disable",
    summary: "End the tokens of both sides; CDRs stay",
    example: "ocpi disable --client cpo_4fGh2kLm",
    takes: [client()],
    ops: "ocpi_disable",
    ends: ({ client }) => `The platform of client ${client} will send no more CDRs until it registers again.`,
    view: changed("connection", "Disabled. Use ocpi add to open it again."),
  },
];

import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import {
  email,
  filter,
  iban,
  instant,
  limit,
  lineOf,
  offset,
  orNull,
  signatoryName,
  trimmedTo,
} from "#shared/values/fields.ts";
import { compareIbans, sealIban } from "#shared/values/iban.ts";
import {
  AccountType,
  calendarDate,
  EanValidationStatus,
  MandateStatus,
  PayoutHandler,
  pageFields,
  RegistrationStatus,
} from "#shared/values/models.ts";
import { loadNumberingPlans, phone } from "#shared/values/phone.ts";
import { ConnectionInput } from "./connection_input.ts";
import { ASKING_EAN_REGISTER, knownAnswer } from "./ean_register.ts";

/** What both answers say of an account. */
const accountFields = {
  type: AccountType,
  display_name: z.string().nullable().meta({ description: "A name to show for the account" }),
  payout_handler: PayoutHandler,
  cpo_external_ref: z.string().nullable().meta({ description: "The caller's own customer number" }),
  created_at: instant().meta({ description: "When it was made" }),
};

const Connection = z
  .object({
    connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
    ean_code: z.string().meta({ description: "EAN of the connection, 18 digits", example: "871687000000000016" }),
    status: z
      .enum(["active", "archived"])
      .meta({ description: "active; archived: it has ended, and its EAN is free for another" }),
    registration_status: RegistrationStatus,
    ean_validation_status: EanValidationStatus,
    mandate_status: MandateStatus,
    mandate_valid_from: calendarDate()
      .nullable()
      .meta({ description: "First day of the years the mandate covers; null where there is none" }),
    mandate_valid_until: calendarDate()
      .nullable()
      .meta({ description: "Last day of the years the mandate covers; null where there is none" }),
    mandate_renewed_until: calendarDate().nullable().meta({
      description:
        "The last day of the years after mandate_valid_until that are signed for already; null where none are",
    }),
    mandate_signed_at: instant().nullable().meta({ description: "When the mandate was signed; null where it is not" }),
  })
  .meta({ id: "Connection" });

const Account = z
  .object({
    id: z.guid().meta({ description: "Its id, for good" }),
    account_id: z.guid().meta({ description: "The same as id: the name other routes take it under" }),
    ...accountFields,
    access_channel: z.string().meta({ description: "How the account came to be", example: "cpo_api" }),
    signatory: z
      .object({
        full_name: z.string().meta({ description: "First and last name" }),
        email: z.string().nullable().meta({ description: "E-mail address" }),
      })
      .meta({ description: "Who signs, or signed, the mandate" }),
    connections: z.array(Connection).meta({ description: "The account's connections, archived ones too" }),
  })
  .meta({ id: "Account" });

export const listAccounts = endpoint(
  {
    id: "listAccounts",
    summary: "List the accounts created through this API, newest first",
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["list_accounts"],
    query: z.object({
      limit: limit(50),
      offset: offset(),
      cpo_external_ref: filter(120).meta({ description: "Only the account with this reference" }),
    }),
    response: z
      .object({ accounts: z.array(Account).meta({ description: "This page of accounts" }), ...pageFields })
      .meta({ id: "AccountPage" }),
    errors: [],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_accounts", query),
);

const Person = z
  .object({
    full_name: signatoryName().meta({ description: "First and last name" }),
    email: orNull(email()).meta({ description: "E-mail address" }),
    phone: orNull(phone()).meta({ description: "Telephone number, Dutch or with its country code" }),
  })
  .meta({ id: "Person", description: "The natural person who signs the mandate" });

const Company = z
  .object({
    name: orNull(lineOf(1, 120)).meta({ description: "The company's name" }),
    kvk: orNull(z.string().regex(/^\d{8}$/, "must be 8 digits")).meta({ description: "KVK number, 8 digits" }),
    vat: orNull(lineOf(4, 20)).meta({ description: "VAT number" }),
  })
  .meta({ id: "Company", description: "For zakelijk and vve: what the mandate says of the company" });

const reference = () => trimmedTo(120);

const CreateAccount = z
  .object({
    type: AccountType.default("particulier"),
    display_name: orNull(trimmedTo(120)).meta({ description: "A name to show for the account" }),
    cpo_external_ref: orNull(reference()).meta({
      description: "Idempotency key: a repeat returns the account it made. Trimmed to 120.",
    }),
    payout_handler: PayoutHandler.default("service_pays_customer"),
    iban: z
      .unknown()
      .optional()
      .meta({
        override: { type: ["string", "null"] },
        description:
          "Whitespace removed and upper-cased, then 15 to 34 letters and digits. Omit, or send null or an empty string, to add it later by a repeat. Never returned.",
        example: "NL91ABNA0417164300",
      }),
    company: Company.nullish()
      .transform((value) => value ?? null)
      .meta({ description: "What the mandate says of the company; for zakelijk and vve" }),
    person: Person,
    connection: ConnectionInput,
  })
  .meta({ id: "CreateAccount" });

/** The IBAN of a body: null when none was sent, undefined when it is none. */
function readIban(sent: unknown): string | null | undefined {
  if (sent === undefined || sent === null || (typeof sent === "string" && sent.trim() === "")) return null;
  return iban().safeParse(sent).data;
}

export const createAccount = endpoint(
  {
    id: "createAccount",
    summary: "Create a concept account for one connection",
    description:
      "The account has no mandate yet and does not count. A repeat with the same `cpo_external_ref` returns the existing account " +
      "with its current `mandate_status`, stores a new `iban` if one is sent, and ignores the rest of the body. Every account needs " +
      "an IBAN to become ERE-eligible, whatever its `payout_handler`. An EAN the register knows at another address is refused; a " +
      "register that is silent or does not know the address gives `unverified` and never fails the call.",
    caller: { kind: "cpo", scope: "cpo:accounts:write" },
    idempotent: "cpo_external_ref",
    limit: "cpo_write",
    sql: ["create_account", "repeat_account"],
    next: { ...ASKING_EAN_REGISTER, same_iban: compareIbans },
    body: CreateAccount,
    prepare: loadNumberingPlans,
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        idempotent: z.boolean().meta({ description: "True when the account existed already" }),
        account_id: z.guid().meta({ description: "The account" }),
        connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
        location_id: z.guid().meta({ description: "The address, shared by connections at one address" }),
        ean_validation_status: EanValidationStatus,
        iban_stored: z.boolean().meta({ description: "Whether the account has an IBAN now" }),
        mandate_status: MandateStatus,
        account: z
          .object({ id: z.guid().meta({ description: "Its id, for good" }), ...accountFields })
          .meta({ description: "The account, as it stands" }),
      })
      .meta({ id: "CreatedAccount" }),
    errors: ["invalid_iban", "ean_in_use", "ean_address_mismatch"],
    failure: "account_create_failed",
    // a known reference is recognised before the rest of the body is judged; only the IBAN is
    salvage: async (raw, { call, tenant, environment, fail }) => {
      const sent = raw as { cpo_external_ref?: unknown; iban?: unknown } | null;
      const known = reference().safeParse(sent?.cpo_external_ref);
      if (!known.data) return null;
      const clear = readIban(sent?.iban);
      const sealed = clear ? sealIban(environment, await tenant(), clear) : null;
      const answer = await call("repeat_account", { cpo_external_ref: known.data, iban: sealed });
      if (answer === "null") return null;
      return clear === undefined ? fail("invalid_iban") : answer;
    },
  },
  async ({ body, call, tenant, environment, fail }) => {
    const clear = readIban(body.iban);
    if (clear === undefined) return fail("invalid_iban");
    const sealed = clear === null ? null : sealIban(environment, await tenant(), clear);
    return call("create_account", { ...body, iban: sealed, ean_register: knownAnswer(environment, body.connection) });
  },
);

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
import { mailFailed } from "#shared/values/mail_failure.ts";
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
import { knownAnswer, NEEDS_EAN_REGISTER } from "./ean_register.ts";

/** The account fields that both responses share. */
const accountFields = {
  type: AccountType,
  display_name: z.string().nullable().meta({ description: "A name to show for the account" }),
  payout_handler: PayoutHandler,
  cpo_external_ref: z.string().nullable().meta({ description: "The caller's own customer number" }),
  created_at: instant().meta({ description: "When the account was created" }),
};

const ibanChecksumOk = () =>
  z
    .boolean()
    .nullable()
    .meta({
      description:
        "Whether the check digits of the stored IBAN are right; null without an IBAN. A wrong IBAN is stored as it was " +
        "sent, and nothing can be paid to it: send the right one with a repeat",
    });

const Connection = z
  .object({
    connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
    ean_code: z.string().meta({ description: "EAN of the connection, 18 digits", example: "871687000000000016" }),
    status: z.enum(["active", "archived"]).meta({
      description: "active or archived; an archived connection has ended, and another account may use its EAN",
    }),
    registration_status: RegistrationStatus,
    ean_validation_status: EanValidationStatus,
    mandate_status: MandateStatus,
    mandate_valid_from: calendarDate()
      .nullable()
      .meta({ description: "First day of the years the mandate covers; null if there is none" }),
    mandate_valid_until: calendarDate()
      .nullable()
      .meta({ description: "Last day of the years the mandate covers; null if there is none" }),
    mandate_renewed_until: calendarDate().nullable().meta({
      description: "Last day of the following years that are already signed for; null if there are none",
    }),
    mandate_signed_at: instant().nullable().meta({ description: "When the mandate was signed; null if it is not" }),
  })
  .meta({ id: "Connection" });

const Account = z
  .object({
    id: z.guid().meta({ description: "The account's id; it never changes" }),
    account_id: z.guid().meta({ description: "Same as id, under the name that other routes use" }),
    ...accountFields,
    access_channel: z.string().meta({ description: "How the account was created", example: "cpo_api" }),
    iban_checksum_ok: ibanChecksumOk(),
    payment_returned_on: calendarDate()
      .nullable()
      .meta({
        description:
          "The day on which we read that the bank refused or sent back our last payment to this customer, because the " +
          "IBAN cannot be paid. Send another IBAN with a repeat of POST /v1/accounts: then it is null. Null too if you " +
          "pay the customer yourself",
      }),
    signatory: z
      .object({
        full_name: z.string().meta({ description: "First and last name" }),
        email: z.string().nullable().meta({ description: "E-mail address" }),
        ...mailFailed(),
      })
      .meta({ description: "Who signs, or signed, the mandate" }),
    connections: z.array(Connection).meta({ description: "All connections of the account, including archived ones" }),
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
      cpo_external_ref: filter(120).meta({ description: "Return only the account with this reference" }),
    }),
    response: z
      .object({ accounts: z.array(Account).meta({ description: "This page of accounts" }), ...pageFields })
      .meta({ id: "AccountPage" }),
    errors: [],
    failure: "list_failed",
  },
  ({ query, call, list }) => (query.cpo_external_ref ? call : list)("list_accounts", query),
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
  .meta({
    id: "Company",
    description:
      "The company details that appear in the mandate. The account is created without them, but a mandate link of a " +
      "zakelijk or vve account needs company.name or display_name: 422 company_required",
  });

const reference = () => trimmedTo(120);

const CreateAccount = z
  .object({
    type: AccountType.default("particulier"),
    display_name: orNull(trimmedTo(120)).meta({
      description: "A name to show for the account. Trimmed to 120 characters.",
    }),
    cpo_external_ref: orNull(reference()).meta({
      description: "Idempotency key: a repeat returns the account it created. Trimmed to 120 characters.",
    }),
    payout_handler: PayoutHandler.default("service_pays_customer"),
    iban: z
      .unknown()
      .optional()
      .meta({
        override: { type: ["string", "null"] },
        description:
          "Spaces are removed and letters upper-cased; then 15 to 34 letters and digits. Omit it, or send null or " +
          "an empty string, to add it later with a repeat. Never returned.",
        example: "NL91ABNA0417164300",
      }),
    company: Company.nullish()
      .transform((value) => value ?? null)
      .meta({
        description: "Company details that appear in the mandate; needed for a mandate link of zakelijk and vve",
      }),
    person: Person,
    connection: ConnectionInput,
  })
  .meta({ id: "CreateAccount" });

/** The IBAN of a body: null if none was sent, undefined if it is invalid. */
function readIban(sent: unknown): string | null | undefined {
  if (sent === undefined || sent === null || (typeof sent === "string" && sent.trim() === "")) return null;
  return iban().safeParse(sent).data;
}

export const createAccount = endpoint(
  {
    id: "createAccount",
    summary: "Create a concept account for one connection",
    description:
      "The new account has no mandate and does not count yet. A repeat with the same `cpo_external_ref` returns the " +
      "existing account with its current `mandate_status`. The repeat stores a new `iban` if it has one, and " +
      "ignores the rest of the body. Every account needs an IBAN to become ERE-eligible, whatever its " +
      "`payout_handler`. The call refuses an EAN that the EAN register knows at another address. If the EAN " +
      "register does not respond or does not know the address, the EAN is `unverified` and the call succeeds.",
    caller: { kind: "cpo", scope: "cpo:accounts:write" },
    idempotent: "cpo_external_ref",
    limit: "cpo_write",
    sql: ["create_account", "repeat_account"],
    needs: { ...NEEDS_EAN_REGISTER, same_iban: compareIbans },
    body: CreateAccount,
    prepare: loadNumberingPlans,
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        idempotent: z.boolean().meta({ description: "True if the account already existed" }),
        account_id: z.guid().meta({ description: "The account" }),
        connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
        location_id: z.guid().meta({ description: "The address, shared by connections at one address" }),
        ean_validation_status: EanValidationStatus,
        iban_stored: z.boolean().meta({ description: "Whether the account now has an IBAN" }),
        iban_checksum_ok: ibanChecksumOk(),
        mandate_status: MandateStatus,
        account: z
          .object({ id: z.guid().meta({ description: "The account's id; it never changes" }), ...accountFields })
          .meta({ description: "The current account" }),
      })
      .meta({ id: "CreatedAccount" }),
    errors: ["invalid_iban", "ean_in_use", "ean_address_mismatch"],
    failure: "account_create_failed",
    // recognize a known reference before judging the rest of the body; only the IBAN is judged
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

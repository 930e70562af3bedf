import { hashAddress, hashSecret, newCode, newSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { codeToMail, signatureOf } from "#shared/domain/mandate_text/signature.ts";
import { attempt } from "#shared/foundation/attempt.ts";
import { callFor } from "#shared/foundation/call.ts";
import type { Caller } from "#shared/foundation/caller.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { orNull, uuid } from "#shared/values/fields.ts";
import { calendarDate, MandateStatus } from "#shared/values/models.ts";
import type { PreparedSignature } from "./answers.ts";
import { CALLER, named } from "./caller.ts";

/** What the signing page runs, and the signatory's own page to withdraw. */
const SQL = [
  "open_mandate_link",
  "send_mandate_code",
  "sign_mandate",
  "decline_mandate",
  "send_withdrawal_code",
  "withdraw_signed_mandate",
] as const;

const connection_id = orNull(uuid()).meta({ description: "Required when the account has several active connections" });

const PlayedMandate = z
  .object({
    ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
    account_id: z.guid().meta({ description: "The account" }),
    connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
    mandate_status: MandateStatus,
    mandate_valid_from: calendarDate().nullable().meta({
      description: "First day of the years the mandate covers; null if there is none",
    }),
    mandate_valid_until: calendarDate().nullable().meta({
      description: "Last day of the years the mandate covers; null if there is none",
    }),
  })
  .meta({ id: "PlayedMandate" });

const TOO_MANY =
  "This account is not on the signatory's own pages: the address signed for more than 100 accounts, or was changed.";

type Played = { token: string; outcome: "signed" | "declined" | "revoked"; address: string };
/** Why a step found nothing to do: somebody did something else with the mandate, or changed what it says. */
const MOVED = ["link_not_open", "mandate_changed", "code_expired"] as const;
/** How often it is begun again then; what it begins with says why it cannot be done. */
const ATTEMPTS = 8;

/** Does what the signatory does, as the pages do. False if somebody moved the mandate meanwhile. */
async function play(
  environment: Environment,
  { request_id }: Caller,
  { connection_id, email, locale }: PreparedSignature,
  { token, outcome, address }: Played,
): Promise<boolean> {
  const { config } = environment;
  const base = { host: config.API_HOST, request_id };
  const run = callFor({ id: "a signature", sql: SQL }, environment, { kind: "anyone", ...base });
  const token_hash = hashSecret(token);
  const code = newCode();
  const moved = async (act: Promise<unknown>) => (await attempt(act, MOVED)).refused !== null;

  if (outcome === "revoked") {
    const own = callFor({ id: "a withdrawal", sql: SQL }, environment, {
      kind: "signatory",
      signatory: email as string,
      ...base,
    });
    const code_hash = hashSecret(`${token}:${code}`);
    const mail = aboutMail(config, "claim_code", locale, { code, purpose: "revoke" });
    const about = { connection_id, token_hash, code_hash };
    const sent = await attempt(own("send_withdrawal_code", { ...about, mail }), [...MOVED, "account_not_found"]);
    // the own pages show a hundred accounts of an address
    if (sent.refused?.code === "account_not_found") throw new ApiError("customer_not_found", { detail: TOO_MANY });
    if (sent.refused) return false;
    return !(await moved(own("withdraw_signed_mandate", { ...about, key: claimKey(environment) })));
  }
  // each request counts as another visitor, because the limit of the partner's key counts requests already
  const address_hash = hashAddress(environment, `sandbox:${request_id}`);
  const evidence = { address, user_agent: "sandbox" };
  if (outcome === "declined") return !(await moved(run("decline_mandate", { token_hash, ...evidence })));
  const { facts, periods } = JSON.parse(await run("open_mandate_link", { token_hash, address_hash }));
  const [period] = periods ?? []; // the shortest, which the page preselects too
  if (!facts || !period) return false;
  const read = { ...facts, ...period };
  if (email !== null) {
    const mailed = { token_hash, ...codeToMail(config, token, read, locale, code) };
    if (await moved(run("send_mandate_code", mailed))) return false;
  }
  const signature = signatureOf(environment, token, read, locale, { signed_name: facts.full_name, code, ...evidence });
  return !(await moved(run("sign_mandate", { token_hash, ...signature })));
}

export const signCustomer = endpoint(
  {
    id: "signSandboxCustomer",
    summary: "Sign, decline or withdraw the mandate of a CPO's customer",
    description:
      "`id` is the account id of an account made through the CPO API. The helper does what the customer does on the " +
      "pages, by the mailed code, and leaves the same evidence and events. `signed` and `declined` need no mandate " +
      "link of yours: an open one keeps working until somebody signs. `revoked` is the customer who withdraws the " +
      "mandate on the own pages. After it, or after `declined`, the customer can sign again.",
    params: { id: "The account id of an account of the CPO API" },
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["prepare_signature", "read_played_mandate"],
    body: z
      .object({
        outcome: z.enum(["signed", "declined", "revoked"]).meta({ description: "What the customer does" }),
        years: orNull(z.union([z.literal(1), z.literal(3), z.literal(5)])).meta({
          description: "For how many calendar years the customer signs; if omitted, 1 or what is set for the partner",
        }),
        connection_id,
      })
      .meta({ id: "SignSandboxCustomer" }),
    response: PlayedMandate,
    errors: [
      "customer_not_found",
      "no_connection",
      "ambiguous_connection",
      "mandate_already_signed",
      "mandate_not_signed",
      "signatory_email_missing",
    ],
    failure: "sandbox_step_failed",
  },
  async ({ body, param, call, environment, admitted, address }) => {
    const { outcome } = body;
    const customer = { id: named(param), key: claimKey(environment), ...body };
    const caller = await admitted();
    for (let turn = 0; turn < ATTEMPTS; turn += 1) {
      const token = newSecret();
      const prepared = JSON.parse(await call("prepare_signature", { ...customer, token_hash: hashSecret(token) }));
      if (await play(environment, caller, prepared, { token, outcome, address }))
        return call("read_played_mandate", { connection_id: prepared.connection_id });
    }
    throw new ApiError("sandbox_step_failed", {}, new Error(`somebody moved the mandate ${ATTEMPTS} times`));
  },
);

export const expireMandate = endpoint(
  {
    id: "expireSandboxMandate",
    summary: "Let the last year of a customer's mandate be over",
    description:
      "`id` is a customer_ref or an account id, also of an account created through the CPO API. The signed years move " +
      "into the past, so that the last one is last year. Then the mandate ends as on 1 January: the status is " +
      "`expired`, the customer is mailed, and you get `mandate.expired`. Months of this year that are not booked " +
      "become `outside_mandate`. The customer can sign again.",
    params: { id: "A customer_ref or an account id" },
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["expire_sandbox_mandate"],
    body: z.object({ connection_id }).meta({ id: "ExpireSandboxMandate" }),
    bodyOptional: true,
    response: PlayedMandate,
    errors: ["customer_not_found", "no_connection", "ambiguous_connection", "mandate_not_signed"],
    failure: "sandbox_step_failed",
  },
  ({ body, param, call, environment }) =>
    call("expire_sandbox_mandate", { id: named(param), key: claimKey(environment), ...body }),
);

import { newPartnerKey } from "#shared/auth/tokens.ts";
import { ACCOUNT_HOLDER, BRANDING, COMPANY, payoutAccount } from "#shared/domain/partner_settings.ts";
import { Branding, Company, PayoutAccount } from "#shared/endpoints/responses/partner.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";
import { compareIbans } from "#shared/values/iban.ts";

/** A managing person changes these, never an API key (docs/decisions.md §4). */
const MANAGER = { kind: "partner", scope: "partners:write", key: false } as const;

export const setCompany = endpoint(
  {
    id: "setPartnerCompany",
    summary: "Change the partner's company data",
    description: "A field you send replaces the stored value, null clears it, and an omitted field stays.",
    caller: MANAGER,
    idempotent: true,
    limit: "partner_write",
    sql: ["set_partner_company"],
    body: z.object(COMPANY).meta({ id: "SetPartnerCompany" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        company: Company.meta({ description: "The partner's company data" }),
      })
      .meta({ id: "StoredPartnerCompany" }),
    errors: [],
    failure: "partner_update_failed",
  },
  ({ body, call }) => call("set_partner_company", body),
);

export const setBranding = endpoint(
  {
    id: "setPartnerBranding",
    summary: "Change how pages and mail to the partner's customers look",
    description: "A field you send replaces the stored value, null clears it, and an omitted field stays.",
    caller: MANAGER,
    idempotent: true,
    limit: "partner_write",
    sql: ["set_partner_branding"],
    body: z.object(BRANDING).meta({ id: "SetPartnerBranding" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        branding: Branding,
      })
      .meta({ id: "StoredPartnerBranding" }),
    errors: [],
    failure: "partner_update_failed",
  },
  ({ body, call }) => call("set_partner_branding", body),
);

export const setPayoutIban = endpoint(
  {
    id: "setPartnerPayoutIban",
    summary: "Change the IBAN the partner's share is paid to",
    description:
      "We check the checksum. Everyone who manages the partner gets a mail, and we pay nothing to the new IBAN for " +
      "48 hours. Sending the stored IBAN again changes nothing. The IBAN is never returned.",
    caller: MANAGER,
    idempotent: true,
    limit: "partner_write",
    sql: ["set_partner_iban"],
    needs: { same_iban: compareIbans },
    body: z
      .object({
        iban: z
          .unknown()
          .meta({ override: { type: "string" }, description: "Of any country", example: "NL91ABNA0417164300" }),
        account_holder: ACCOUNT_HOLDER.meta({ description: "Name of the account holder" }),
      })
      .meta({ id: "SetPartnerPayoutIban" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        payout: PayoutAccount.meta({ description: "Where we pay the partner's share" }),
      })
      .meta({ id: "StoredPartnerPayout" }),
    errors: ["invalid_iban"],
    failure: "partner_update_failed",
  },
  async ({ body, call, tenant, environment, fail }) => {
    const account = await payoutAccount(environment, body, tenant);
    if (!account)
      return fail("invalid_iban", {
        detail: "This is not an IBAN: its length or checksum is wrong. Nothing was changed.",
      });
    return call("set_partner_iban", account);
  },
);

export const MintedKey = z
  .object({
    ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
    api_key: z.string().meta({ description: "Returned once; we store only its hash" }),
    prefix: z.string().meta({ description: "Prefix of every key of this partner" }),
    last4: z.string().meta({ description: "The last four characters, to tell keys apart" }),
    created_at: instant().meta({ description: "When it was created" }),
  })
  .meta({ id: "MintedPartnerApiKey" });

export const mintApiKey = endpoint(
  {
    id: "mintPartnerApiKey",
    summary: "Create the partner's API key; it is shown once",
    description:
      "A partner has one active key. With `rotate: true` the current key stops working at once. A key that an " +
      "application creates sees customers as the application does, by pseudonym. It ends with the application's " +
      "access. Everybody who manages the partner gets a mail.",
    caller: MANAGER,
    limit: "partner_write",
    sql: ["mint_partner_key"],
    body: z
      .object({
        rotate: z.boolean().default(false).meta({ description: "Replace the active key, which stops working at once" }),
      })
      .meta({ id: "MintPartnerApiKey" }),
    response: MintedKey,
    errors: ["api_key_exists"],
    failure: "partner_update_failed",
  },
  async ({ body, call, environment: { config } }) => {
    const { api_key, stored } = newPartnerKey(config);
    const minted = JSON.parse(await call("mint_partner_key", { ...body, ...stored }));
    return { ok: true, api_key, ...minted };
  },
);

export const revokeApiKey = endpoint(
  {
    id: "revokePartnerApiKey",
    summary: "Revoke the partner's API key at once",
    caller: MANAGER,
    limit: "partner_write",
    sql: ["revoke_partner_key"],
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        revoked: z.boolean().meta({ description: "False if no key was active" }),
      })
      .meta({ id: "RevokedPartnerApiKey" }),
    errors: [],
    failure: "partner_update_failed",
  },
  ({ call }) => call("revoke_partner_key"),
);

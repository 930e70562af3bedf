import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { mailKey } from "#shared/domain/mail/about.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant, orNull, returnUrl, trimmedTo, uuid } from "#shared/values/fields.ts";
import { LOCALES } from "#shared/values/locale.ts";
import { MandateStatus } from "#shared/values/models.ts";

const ReturnUrl = returnUrl().meta({
  description:
    "Where the page leads back to: the URL registered for the client, followed by /, ? or nothing. No fragment",
});

export const issueMandateLink = endpoint(
  {
    id: "issueMandateLink",
    summary: "Issue a link to the page where the signatory signs the mandate",
    description:
      "A newer link voids the older one. The link expires after 14 days, can be opened any number of times, and can " +
      "be signed once. Issuing a link does not change `mandate_status`. Send the link to the signatory yourself, or " +
      "let us mail it with `send_email: true`. To renew a mandate, issue a link from 1 November of its last year on; " +
      "the renewal begins on 1 January. Before 1 November, or if the next years are already signed for, the call " +
      "returns 409 `mandate_already_signed`.",
    caller: { kind: "cpo", scope: "cpo:mandates:write" },
    limit: "cpo_write",
    sql: ["issue_mandate_link"],
    body: z
      .object({
        account_id: orNull(uuid()).meta({ description: "The account" }),
        cpo_external_ref: orNull(trimmedTo(120)).meta({ description: "Your own customer number" }),
        connection_id: orNull(uuid()).meta({ description: "Required when the account has several active connections" }),
        return_url: orNull(ReturnUrl),
        locale: orNull(z.enum(LOCALES)).meta({
          description:
            "Language of the page and the mail. If omitted: the partner's language (set by the operator). If that " +
            "is not set: the browser's language for the page, Dutch for the mail",
        }),
        validity_years: orNull(z.literal([1, 3, 5])).meta({
          description:
            "Number of whole calendar years. If omitted, the signatory chooses while signing (1 is preselected), " +
            "unless the operator set it for the partner",
        }),
        send_email: z.boolean().default(false).meta({ description: "Mail the link to the signatory" }),
      })
      .refine(({ account_id, cpo_external_ref }) => account_id || cpo_external_ref, {
        message: "send account_id or cpo_external_ref",
        path: ["account_id"],
      })
      .meta({ id: "IssueMandateLink" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        account_id: z.guid().meta({ description: "The account" }),
        connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
        mandate_link: z.url().meta({ description: "Returned once; we store only its hash" }),
        expires_at: instant().meta({ description: "When the link expires" }),
        expires_in: z.int().meta({ description: "Seconds", example: 1209600 }),
        mandate_status: MandateStatus,
        email_sent: z.boolean().meta({ description: "Whether we mailed the link" }),
        mail_limit: z.boolean().meta({
          description: "True if the mail was not sent because the address or the connection reached its daily limit",
        }),
      })
      .meta({ id: "MandateLink" }),
    errors: [
      "account_not_found",
      "no_connection",
      "ambiguous_connection",
      "mandate_already_signed",
      "return_url_not_allowed",
      "company_required",
      "signatory_email_missing",
    ],
    failure: "mandate_link_failed",
  },
  ({ body, call, environment: { config } }) => {
    const token = newSecret();
    const link = `${config.PAGES_URL}/mandate/${token}`;
    return call("issue_mandate_link", {
      ...body,
      token_hash: hashSecret(token),
      mandate_link: link,
      key: mailKey(config),
    });
  },
);

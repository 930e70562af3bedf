import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { composeMandateLink } from "#shared/domain/mail/mail.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant, orNull, returnUrl, trimmedTo, uuid } from "#shared/values/fields.ts";
import { LOCALES } from "#shared/values/locale.ts";
import { MandateStatus } from "#shared/values/models.ts";

const ReturnUrl = returnUrl().meta({
  description:
    "Where the page leads back to: the URL registered for the client, followed by /, ? or nothing; no fragment",
});

export const issueMandateLink = endpoint(
  {
    id: "issueMandateLink",
    summary: "Issue a link to the page where the signatory signs the mandate",
    description:
      "A newer link voids the older one. While a mandate holds a link can be issued from 1 November of its last year on: for a renewal, which begins on " +
      "1 January after it. Before that, and once the years after it are signed for: 409 `mandate_already_signed`. A first mandate begins on 1 January of the " +
      "year of signing; one for 1 year that is signed in November or December lasts until the end of the next year. Opening it is free, signing is single use, and it expires after 14 days. Issuing a link does not change `mandate_status`. " +
      "Pass the link on yourself, or have it mailed with `send_email: true`.",
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
            "Language of the page and the mail. Left out, they speak that of the partner (set by the operator), else the page that of the reader's browser, and the mail Dutch",
        }),
        validity_years: orNull(z.union([z.literal(1), z.literal(3), z.literal(5)])).meta({
          description:
            "For how many whole calendar years. Left out, the signatory chooses while signing (1 is preselected), unless the partner fixed it (set by the operator)",
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
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        account_id: z.guid().meta({ description: "The account" }),
        connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
        mandate_link: z.url().meta({ description: "Shown once; only its hash is stored" }),
        expires_at: instant().meta({ description: "When the link expires" }),
        expires_in: z.int().meta({ description: "Seconds", example: 1209600 }),
        mandate_status: MandateStatus,
        email_sent: z.boolean().meta({ description: "Whether a mail was written" }),
        mail_limit: z.boolean().meta({
          description: "True where the mail was not sent because the address, or the connection, had enough mail today",
        }),
      })
      .meta({ id: "MandateLink" }),
    errors: [
      "account_not_found",
      "no_connection",
      "ambiguous_connection",
      "mandate_already_signed",
      "return_url_not_allowed",
      "signatory_email_missing",
    ],
    failure: "mandate_link_failed",
  },
  ({ body, call, environment: { config } }) => {
    const token = newSecret();
    const link = `${config.PAGES_URL}/mandate/${token}`;
    const mails = body.send_email
      ? {
          nl: composeMandateLink({ config, locale: "nl", link }),
          en: composeMandateLink({ config, locale: "en", link }),
        }
      : null;
    return call("issue_mandate_link", { ...body, token_hash: hashSecret(token), mandate_link: link, mails });
  },
);

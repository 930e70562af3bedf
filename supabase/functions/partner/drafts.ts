import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { claimLinks, signInLink } from "#shared/domain/claim/links.ts";
import { composeSignIn } from "#shared/domain/mail/mail.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, orNull, requiring, returnUrl, trimmedTo, typedEmail, uuid } from "#shared/values/fields.ts";
import { AccountType } from "#shared/values/models.ts";

export const EanStatus = z
  .enum(["pending", "resolved", "ambiguous", "not_found", "provided", "no_address", "failed"])
  .meta({
    id: "DraftEanStatus",
    description:
      "pending: not looked up yet; resolved: one metering point at the address; ambiguous: several, the customer chooses; not_found: none; provided: the row had the EAN; failed: no answer, tried again for a day",
  });

const DraftStatus = z.enum(["invited", "claimed", "expired", "conflict", "active"]).meta({
  id: "DraftStatus",
  description:
    "invited: nobody claimed it yet; claimed: the customer has begun; active: they have signed, and it is an account; expired: not claimed in 60 days; conflict: the address or the EAN is registered with us in another way",
});

const Draft = z
  .object({
    draft_id: z.guid().meta({ description: "The draft" }),
    status: DraftStatus,
    type: AccountType,
    naam: z
      .string()
      .nullable()
      .meta({ description: "The customer's name; null for a person once the draft was claimed" }),
    email: z
      .string()
      .nullable()
      .meta({ description: "Null, like naam and external_ref, for a person once the draft was claimed" }),
    external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
    city: z.string().nullable().meta({ description: "Town" }),
    ean_status: EanStatus,
    ean_candidates: z.int().meta({ description: "Metering points found at the address" }),
    claim_url: z
      .url()
      .nullable()
      .meta({ description: "Null unless the draft can be claimed, and for a person once it was claimed" }),
    batch_id: z.guid().meta({ description: "The request that made it" }),
    created_at: instant().meta({ description: "When it was made" }),
    invited_at: instant().nullable().meta({ description: "Null where send_invite was false" }),
    claimed_at: instant().nullable().meta({ description: "When the customer claimed it; null until then" }),
    expires_at: instant().meta({ description: "Until when it can be claimed" }),
  })
  .meta({ id: "Draft" });

export const listDrafts = endpoint(
  {
    id: "listDrafts",
    summary: "List the partner's drafts, newest first",
    description:
      "With a user token a claimed or active draft has no `naam`, `email`, `external_ref` and `claim_url`, and is not found by its reference: it is a " +
      "customer, and of customers a person sees no more here than in `GET /partner/customers`.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_drafts"],
    query: z.object({
      external_ref: filter(120).meta({ description: "Only drafts with this reference" }),
      status: orNull(DraftStatus).meta({
        override: ({ jsonSchema }: { jsonSchema: { anyOf?: unknown; $ref?: string } }) => {
          delete jsonSchema.anyOf;
          jsonSchema.$ref = "#/components/schemas/DraftStatus";
        },
        description: "Only drafts in this status",
      }),
    }),
    response: z.object({ drafts: z.array(Draft).meta({ description: "The drafts" }) }).meta({ id: "Drafts" }),
    errors: ["invalid_request"],
    failure: "drafts_list_failed",
  },
  ({ query, call, environment }) => call("list_drafts", { ...query, links: claimLinks(environment) }),
);

export const withdrawDraft = endpoint(
  {
    id: "withdrawDraft",
    summary: "Withdraw a draft",
    description:
      "Removes the draft: its claim link and any sign-in link stop working, reminders stop, and the e-mail address becomes free. A login " +
      "that a claimed draft made stays, unlinked from the partner. An active draft is refused.",
    caller: { kind: "partner", scope: "partners:write", key: true },
    idempotent: true,
    limit: "partner_write",
    sql: ["withdraw_draft"],
    body: z
      .object({
        draft_id: z
          .unknown()
          .optional()
          .meta({ description: "The draft", override: { type: "string", format: "uuid" } }),
      })
      .meta({ id: "WithdrawDraft", override: requiring("draft_id") }),
    response: z
      .object({ ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }) })
      .meta({ id: "WithdrawnDraft" }),
    errors: ["draft_id_required", "draft_not_found", "draft_active"],
    failure: "draft_withdraw_failed",
  },
  ({ body, call, fail }) => {
    if (body.draft_id === undefined || body.draft_id === null || body.draft_id === "")
      return fail("draft_id_required", { code: "draft_id_required" });
    const draft_id = uuid().safeParse(body.draft_id).data;
    return draft_id ? call("withdraw_draft", { draft_id }) : fail("draft_not_found", { code: "draft_not_found" });
  },
);

export const issueAuthLink = endpoint(
  {
    id: "issueAuthLink",
    summary: "Mint a single-use sign-in link that opens the claim of one draft",
    description:
      "Works once, for 300 seconds, and until a newer one is minted. Send `draft_id` or `email`; both must denote one draft. Of several " +
      "drafts for an e-mail the newest that can be claimed is meant. An active draft gets a link only while its account is empty (no connection yet). " +
      "Pass the link on yourself, or have it mailed with `send_email: true`.",
    caller: { kind: "partner", scope: "partners:write", key: true },
    limit: "partner_write",
    sql: ["issue_auth_link"],
    body: z
      .object({
        draft_id: orNull(trimmedTo(120)).meta({ description: "The draft" }),
        email: orNull(trimmedTo(320)).meta({ description: "The draft's address, trimmed and lower-cased" }),
        return_url: orNull(returnUrl()).meta({
          description:
            "The return URL registered for the partner, followed by /, ? or nothing; no fragment. The registered URL where absent.",
        }),
        send_email: z.boolean().default(false).meta({
          description:
            "Mail the link to the customer, in the partner's name; never to who opted out of mail, and on production ten times a day at most",
        }),
      })
      .meta({ id: "IssueAuthLink" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        auth_url: z.url().meta({ description: "Shown once; only its hash is stored" }),
        expires_in: z.int().meta({ description: "Seconds", example: 300 }),
        resume: z.boolean().meta({ description: "Whether the customer has a login already" }),
        return_url: z.string().nullable().meta({ description: "Where the page leads back to" }),
        email_sent: z.boolean().meta({ description: "Whether a mail was written" }),
        mail_limit: z
          .boolean()
          .meta({ description: "True where the mail was not sent because the address had enough mail today" }),
      })
      .meta({ id: "AuthLink" }),
    errors: ["draft_id_required", "draft_not_found", "draft_not_claimable", "return_url_not_allowed"],
    failure: "auth_link_failed",
  },
  ({ body, call, environment, fail }) => {
    if (!body.draft_id && !body.email) return fail("draft_id_required");
    const draft_id = body.draft_id === null ? null : uuid().safeParse(body.draft_id).data;
    const email = body.email === null ? null : typedEmail().safeParse(body.email).data;
    if (draft_id === undefined || email === undefined) return fail("draft_not_found");
    const token = newSecret();
    const link = signInLink(environment, token);
    const { config } = environment;
    return call("issue_auth_link", {
      draft_id,
      email,
      return_url: body.return_url,
      token_hash: hashSecret(token),
      auth_url: link,
      mails: body.send_email
        ? { nl: composeSignIn({ config, locale: "nl", link }), en: composeSignIn({ config, locale: "en", link }) }
        : null,
      links: claimLinks(environment),
    });
  },
);

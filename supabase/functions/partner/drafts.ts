import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { claimLinks, signInLink } from "#shared/domain/claim/links.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { DraftEanStatus } from "#shared/values/draft_ean_status.ts";
import { filter, instant, orNull, requiring, returnUrl, trimmedTo, typedEmail, uuid } from "#shared/values/fields.ts";
import { mailFailed } from "#shared/values/mail_failure.ts";
import { AccountType } from "#shared/values/models.ts";

const DraftStatus = z.enum(["invited", "claimed", "expired", "conflict", "active"]).meta({
  id: "DraftStatus",
  description:
    "invited: not claimed yet; claimed: the customer has started; active: they have signed, and have an account; " +
    "expired: not claimed in 60 days; conflict: the address or the EAN is already registered with us in another way",
});

const Draft = z
  .object({
    draft_id: z.guid().meta({ description: "The draft" }),
    status: DraftStatus,
    type: AccountType,
    naam: z
      .string()
      .nullable()
      .meta({ description: "The customer's name; null for a person (user token) once the draft was claimed" }),
    email: z
      .string()
      .nullable()
      .meta({
        description:
          "The customer's e-mail address; null for a person (user token) once the draft was claimed, as are naam and " +
          "external_ref",
      }),
    external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
    city: z.string().nullable().meta({ description: "Town" }),
    ean_status: DraftEanStatus,
    ean_candidates: z.int().meta({ description: "Number of metering points found at the address" }),
    claim_url: z
      .url()
      .nullable()
      .meta({ description: "Null if the draft cannot be claimed; null for a person (user token) once it was claimed" }),
    batch_id: z.guid().meta({ description: "The request that created it" }),
    created_at: instant().meta({ description: "When it was created" }),
    invited_at: instant().nullable().meta({ description: "Null if send_invite was false" }),
    claimed_at: instant().nullable().meta({ description: "When the customer claimed it; null until then" }),
    expires_at: instant().meta({ description: "Until when it can be claimed" }),
    ...mailFailed(),
  })
  .meta({ id: "Draft" });

export const listDrafts = endpoint(
  {
    id: "listDrafts",
    summary: "List the partner's drafts, newest first",
    description:
      "With a user token, a claimed or active draft has no `naam`, `email`, `external_ref` and `claim_url`, and " +
      "cannot be found by its reference. The draft is a customer by then, and here a person sees no more of a " +
      "customer than in `GET /partner/customers`.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_drafts"],
    query: z.object({
      external_ref: filter(120).meta({ description: "Return only drafts with this reference" }),
      status: orNull(DraftStatus).meta({
        override: ({ jsonSchema }: { jsonSchema: { anyOf?: unknown; $ref?: string } }) => {
          delete jsonSchema.anyOf;
          jsonSchema.$ref = "#/components/schemas/DraftStatus";
        },
        description: "Return only drafts in this status",
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
      "Removes the draft: its claim link and any sign-in link stop working, reminders stop, and the e-mail address " +
      "can be used again. If a claimed draft created a login, the login stays, but is no longer linked to the " +
      "partner. The call refuses an active draft.",
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
      .object({ ok: z.literal(true).meta({ description: "Always true: the request succeeded" }) })
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
    summary: "Create a single-use sign-in link that opens the claim of one draft",
    description:
      "The link works once, within 300 seconds. A newer link ends it. Send `draft_id` or `email`; if you " +
      "send both, they must belong to one draft. If several drafts have the e-mail, the call takes the newest that " +
      "can be claimed. An active draft gets a link only while its account is empty (no connection yet). Send the " +
      "link to the customer yourself, or let us mail it with `send_email: true`.",
    caller: { kind: "partner", scope: "partners:write", key: true },
    limit: "partner_write",
    sql: ["issue_auth_link"],
    body: z
      .object({
        draft_id: orNull(trimmedTo(120)).meta({ description: "The draft" }),
        email: orNull(trimmedTo(320)).meta({ description: "The draft's address, trimmed and lower-cased" }),
        return_url: orNull(returnUrl()).meta({
          description:
            "The return URL registered for the partner. Only /… or ?… may follow it, and no fragment. If omitted, the " +
            "registered URL.",
        }),
        send_email: z
          .boolean()
          .default(false)
          .meta({
            description:
              "Mail the link to the customer, in the partner's name. We never mail a customer who opted out; on " +
              "production at most ten times a day",
          }),
      })
      .meta({ id: "IssueAuthLink" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        auth_url: z.url().meta({ description: "Returned once; we store only its hash" }),
        expires_in: z.int().meta({ description: "Seconds", example: 300 }),
        resume: z.boolean().meta({ description: "Whether the customer already has a login" }),
        return_url: z.string().nullable().meta({ description: "Where the page leads back to" }),
        email_sent: z.boolean().meta({ description: "Whether we mailed the link" }),
        mail_limit: z
          .boolean()
          .meta({ description: "True if the mail was not sent because the address reached its daily limit" }),
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
    return call("issue_auth_link", {
      draft_id,
      email,
      return_url: body.return_url,
      token_hash: hashSecret(token),
      auth_url: signInLink(environment, token),
      send_email: body.send_email,
      links: claimLinks(environment),
    });
  },
);

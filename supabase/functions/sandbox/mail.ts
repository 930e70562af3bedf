import { readMail } from "#shared/domain/mail/mail.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, limit } from "#shared/values/fields.ts";
import { CALLER } from "./caller.ts";

const CapturedMail = z
  .object({
    id: z.guid().meta({ description: "Its id; it never changes" }),
    captured_at: instant().meta({ description: "When it was written" }),
    to: z.string().meta({ description: "The recipient" }),
    from: z.string().meta({ description: "The sender" }),
    subject: z.string().meta({ description: "Its subject" }),
    template: z.string().meta({ description: "The kind of mail", example: "claim" }),
    links: z.array(z.url()).meta({ description: "The links in it; they work on the pages" }),
    html: z.string().meta({ description: "Its text as HTML" }),
    text: z.string().meta({ description: "Its text" }),
  })
  .meta({ id: "CapturedMail" });

export const listMail = endpoint(
  {
    id: "listCapturedMail",
    summary: "Read the mail that the sandbox stored instead of sending, newest first",
    description:
      "Every mail written on the partner's behalf, including mandates of its CPO accounts and the sign-in codes of " +
      "its customers. A code or link is shown only if nobody else uses its address. So no other tenant may have an " +
      "account, signature, customer, manager or open invitation with it. And every login with it must have been " +
      "created for the partner. Kept for 90 days.",
    caller: CALLER,
    limit: "sandbox",
    sql: ["list_captured_mail"],
    query: z.object({
      to: filter(320).meta({ description: "Return only mail to this address" }),
      limit: limit(20),
    }),
    response: z
      .object({ mail: z.array(CapturedMail).meta({ description: "The mails, newest first" }) })
      .meta({ id: "CapturedMails" }),
    errors: [],
    failure: "list_failed",
  },
  async ({ query, call, environment: { config } }) => {
    const to = query.to?.toLowerCase() ?? null;
    const { mail } = JSON.parse(await call("list_captured_mail", { ...query, to, from: config.MAIL_FROM }));
    return {
      mail: mail.map(({ id, captured_at, to, from, ...stored }) => {
        const { subject, links, html, text } = readMail(config, stored);
        return { id, captured_at, to, from, subject, template: stored.template, links, html, text };
      }),
    };
  },
);

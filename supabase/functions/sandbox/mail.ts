import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, limit } from "#shared/values/fields.ts";
import { CALLER } from "./caller.ts";

const CapturedMail = z
  .object({
    id: z.guid().meta({ description: "Its id, for good" }),
    captured_at: instant().meta({ description: "When it was written" }),
    to: z.string().meta({ description: "Whom it is for" }),
    from: z.string().meta({ description: "Whom it is from" }),
    subject: z.string().meta({ description: "Its subject" }),
    template: z.string().meta({ description: "Which mail it is", example: "claim" }),
    links: z.array(z.url()).meta({ description: "The links in it, as they work on the pages" }),
    html: z.string().meta({ description: "Its text as HTML" }),
    text: z.string().meta({ description: "Its text" }),
  })
  .meta({ id: "CapturedMail" });

export const listMail = endpoint(
  {
    id: "listCapturedMail",
    summary: "Read the mail that the sandbox kept instead of sending it, newest first",
    description:
      "Every mail written on the partner's behalf, mandates of its CPO accounts included, and the codes with which its customers sign in. A code or link is shown only while its address is nobody else's: no login that was not made for the partner, and no account, signature, customer, manager or open invitation of another tenant. Kept for 90 days.",
    caller: CALLER,
    limit: "sandbox",
    sql: ["list_captured_mail"],
    query: z.object({
      to: filter(320).meta({ description: "Only mail to this address" }),
      limit: limit(20),
    }),
    response: z
      .object({ mail: z.array(CapturedMail).meta({ description: "The mails, newest first" }) })
      .meta({ id: "CapturedMails" }),
    errors: [],
    failure: "list_failed",
  },
  ({ query, call, environment }) =>
    call("list_captured_mail", { ...query, to: query.to?.toLowerCase() ?? null, from: environment.config.MAIL_FROM }),
);

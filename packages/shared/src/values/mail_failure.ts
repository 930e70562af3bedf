import { z } from "#shared/foundation/zod.ts";
import { instant } from "./fields.ts";

export const MailFailure = z.enum(["unknown_address", "mailbox_full", "refused", "given_up"]).meta({
  id: "MailFailure",
  description:
    "unknown_address: there is no such address; mailbox_full: their mailbox is full; refused: their mail server refused " +
    "the mail; given_up: no mail server took it, however often it was tried",
});
export type MailFailure = z.output<typeof MailFailure>;

/** Of a person whom we mail. */
export const mailFailed = () => ({
  mail_failed_at: instant().nullable().meta({
    description:
      "When a mail to them was refused, came back or was given up; null while mail arrives, and with a new address",
  }),
  mail_failed_reason: MailFailure.nullable().meta({ description: "Why it failed; null while mail arrives" }),
});

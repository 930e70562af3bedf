import * as z from "zod";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { composeManagerInvitation, managersChanged } from "#shared/domain/mail/mail.ts";
import type { Locale } from "#shared/values/locale.ts";
import type { Input, Machine } from "./command.ts";
import { type Answer, OperatorError } from "./database.ts";

/** What the mail takes of the functions' configuration. */
const Sender = z.object({
  SERVICE_NAME: z.string().trim().min(1).max(80),
  SUPPORT_EMAIL: z.email(),
  PAGES_URL: z.url().transform((url) => url.replace(/\/$/, "")),
});

function senderOf({ env }: Machine): z.infer<typeof Sender> {
  const sender = Sender.safeParse(env);
  if (!sender.success)
    throw new OperatorError(`${String(sender.error.issues[0]?.path[0])} is not set, or cannot be read.`);
  return sender.data;
}

/** Mails an invitation to manage a partner; the link is in the mail alone. */
export async function invite({ locale, ...input }: Input, machine: Machine): Promise<Answer> {
  const config = senderOf(machine);
  const token = newSecret();
  const link = `${config.PAGES_URL}/portal/invitation/${token}`;
  const mail = composeManagerInvitation({ config, locale: locale as Locale, link });
  const told = managersChanged(config, "invited");
  return machine.call("partner_invite", { ...input, token_hash: hashSecret(token), mail, told });
}

/** Lets a person with a login manage a partner, and mails those who do already. */
export async function addManager(input: Input, machine: Machine): Promise<Answer> {
  return machine.call("partner_add_manager", { ...input, told: managersChanged(senderOf(machine), "joined") });
}

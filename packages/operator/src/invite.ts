import * as z from "zod";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { composeManagerInvitation } from "#shared/domain/mail/mail.ts";
import type { Locale } from "#shared/values/locale.ts";
import type { Input, Machine } from "./command.ts";
import { type Answer, OperatorError } from "./database.ts";

/** What the mail takes of the functions' configuration. */
const Sender = z.object({
  SERVICE_NAME: z.string().trim().min(1).max(80),
  SUPPORT_EMAIL: z.email(),
  PAGES_URL: z.url().transform((url) => url.replace(/\/$/, "")),
});

/** Mails an invitation to manage a partner; the link is in the mail alone. */
export async function invite({ locale, ...input }: Input, { call, env }: Machine): Promise<Answer> {
  const sender = Sender.safeParse(env);
  if (!sender.success)
    throw new OperatorError(`${String(sender.error.issues[0]?.path[0])} is not set, or cannot be read.`);
  const token = newSecret();
  const link = `${sender.data.PAGES_URL}/portal/invitation/${token}`;
  const mail = composeManagerInvitation({ config: sender.data, locale: locale as Locale, link });
  return call("partner_invite", { ...input, token_hash: hashSecret(token), mail });
}

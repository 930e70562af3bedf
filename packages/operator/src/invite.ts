import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import type { Input, Machine } from "./command.ts";
import type { OpsAnswer } from "./database.ts";
import { serviceOf } from "./mail.ts";

/** Mails an invitation to manage a partner; only the mail has the link. */
export async function invite({ locale, ...input }: Input, machine: Machine): Promise<OpsAnswer> {
  const token = newSecret();
  const link = `${serviceOf(machine).PAGES_URL}/portal/invitation/${token}`;
  const mail = { template: "manager_invitation", locale, content: { link } };
  return machine.call("partner_invite", { ...input, token_hash: hashSecret(token), mail });
}

import * as z from "zod";
import { readMail, type StoredMail } from "#shared/domain/mail/mail.ts";
import type { Input, Machine, Row } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";

/** What mail takes of the functions' configuration. */
const Service = z.object({
  SERVICE_NAME: z.string().trim().min(1).max(80),
  SUPPORT_EMAIL: z.email(),
  PAGES_URL: z.url().transform((url) => url.replace(/\/$/, "")),
});

export function serviceOf({ env }: Machine): z.infer<typeof Service> {
  const service = Service.safeParse(env);
  if (service.success) return service.data;
  throw new OperatorError(`${String(service.error.issues[0]?.path[0])} is not set, or cannot be read.`);
}

/** The same, where this machine does not know how the service is called. */
const Unnamed = z.object({
  SERVICE_NAME: Service.shape.SERVICE_NAME.catch("SERVICE_NAME"),
  SUPPORT_EMAIL: Service.shape.SUPPORT_EMAIL.catch("SUPPORT_EMAIL"),
  PAGES_URL: Service.shape.PAGES_URL.catch("PAGES_URL"),
});

/** Lists mail; with `show` one mail with its text and links, which are empty once it was sent. */
export async function listMail({ show, ...input }: Input, machine: Machine): Promise<OpsAnswer> {
  if (show === undefined) return machine.call("mail_list", input);
  const { mail, locale, content } = await machine.call("mail_show", typeof show === "string" ? { id: show } : input);
  const { template, status } = mail as Row & Pick<StoredMail, "template">;
  const gone = status === "sent" || status === "dropped";
  const { subject, text, links } = gone
    ? { subject: "", text: "", links: [] }
    : readMail(Unnamed.parse(machine.env), { template, locale, content } as StoredMail);
  return { mail: { ...(mail as Row), subject }, text, links };
}

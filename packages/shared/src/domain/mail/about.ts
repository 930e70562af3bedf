import { linkKeys } from "#shared/auth/keys.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";
import type { Locale } from "#shared/values/locale.ts";
import type { Contents, Template } from "./mail.ts";

type Config = Pick<Configuration, "LINK_KEYS">;

/** A mail as private.enqueue_mail takes it: what the caller knows of its content, and the key that its recipient is counted by. */
export function aboutMail<T extends Template>(
  config: Config,
  template: T,
  locale: Locale,
  content: Partial<Contents[T]>,
) {
  return { template, locale, content, key: mailKey(config) };
}

/** What SQL hashes the recipient with, to count mails by. */
export const mailKey = (config: Config): string => linkKeys({ config }, "mail limits")[0].toString("hex");

import { hashSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { Locale } from "#shared/values/locale.ts";
import { composeDocument, type Facts } from "./mandate_text.ts";

/**
 * What is sent to SQL to sign behind a mandate link: the page sends it for people, the sandbox for integrators. A code is
 * hashed with the token, which the database does not hold, so that its million values cannot be tried out there.
 */
const hashCode = (token: string, code: string) => hashSecret(`${token}:${code}`);

/** The text that is signed, whose facts the signatory read. */
export function documentOf(config: Configuration, facts: Facts, locale: Locale): string {
  return composeDocument(facts, { name: config.SERVICE_NAME, email: config.SUPPORT_EMAIL }, locale);
}

/** For api.send_mandate_code. */
export function codeToMail(
  config: Configuration,
  token: string,
  { full_name, partner_name }: Pick<Facts, "full_name" | "partner_name">,
  locale: Locale,
  code: string,
) {
  return {
    code_hash: hashCode(token, code),
    mail: aboutMail(config, "mandate_code", locale, { code, full_name, partner_name }),
  };
}

/** For api.sign_mandate. `address` and `user_agent` say from where: evidence. */
export function signatureOf(
  environment: Environment,
  token: string,
  facts: Facts,
  locale: Locale,
  { code, ...signed }: { signed_name: string; code: string; address: string; user_agent: string | null },
) {
  const { config } = environment;
  const { full_name, partner_name } = facts;
  const document = documentOf(config, facts, locale);
  const link = `${config.PAGES_URL}/mandate/${token}`;
  return {
    facts,
    ...signed,
    code_hash: hashCode(token, code),
    key: claimKey(environment),
    document,
    document_sha256: hashSecret(document),
    mail: aboutMail(config, "mandate_signed", locale, { link, full_name, partner_name, document }),
  };
}

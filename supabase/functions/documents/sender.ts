import type { Configuration } from "#shared/foundation/configuration.ts";
import type { Locale } from "#shared/values/locale.ts";
import type { Content, Logo } from "./pdf.ts";
import { WORDS } from "./words.ts";

/** The service, which writes documents and pays. */
export type Service = Pick<Configuration, "SERVICE_NAME" | "SERVICE_ADDRESS" | "SERVICE_KVK" | "SERVICE_VAT">;

/** The service above a document, under the logo of the partner that the customer knows. */
export function senderOf(service: Service, logo: Logo | null, locale: Locale): NonNullable<Content["sender"]> {
  const { kvk, vat_number } = WORDS[locale].invoice;
  const { SERVICE_NAME, SERVICE_ADDRESS, SERVICE_KVK, SERVICE_VAT } = service;
  const vat = SERVICE_VAT ? [`${vat_number} ${SERVICE_VAT}`] : [];
  return { lines: [SERVICE_NAME, SERVICE_ADDRESS, `${kvk} ${SERVICE_KVK}`, ...vat], logo };
}

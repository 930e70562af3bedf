import type { Brand } from "#shared/domain/brand.ts";
import type { KeptDocument } from "#shared/domain/documents.ts";
import type { OpenFacts, Period } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Locale } from "#shared/values/locale.ts";
import type { Offer } from "../kit/offer.ts";
import type {} from "../kit/page_request.ts";
import type { Signed } from "../kit/signature.ts";

/** What api.open_mandate_link tells; what lies below `locale` only where the link is open, or was used. */
export type Opened = {
  state: "open" | "signed" | "declined" | "voided" | "expired" | "unknown";
  locale: Locale | null;
  code_sent?: boolean;
  partner_name?: string;
  brand?: Brand | null;
  return_url?: string | null;
  facts?: OpenFacts | null;
  periods?: Period[] | null;
  offer?: Offer | null;
  /** The last day of what is signed for already. */
  held_until?: string | null;
  signed?: Signed | null;
  may_sign_again?: boolean;
};

declare module "../kit/page_request.ts" {
  interface SqlAnswers {
    open_mandate_link: Opened;
    read_link_mandate: KeptDocument;
  }
}

import { longDate, MANDATE_WORDS } from "#shared/domain/mandate_text/mandate_text.ts";
import { readMandateText } from "#shared/domain/mandate_text/read_text.ts";
import { maskEmail } from "#shared/values/mask.ts";
import type { SignedMandate } from "./answers.ts";
import type { Block, Content, Detail } from "./pdf.ts";
import { longMoment, WORDS } from "./words.ts";

/**
 * A signed mandate: the full text in the language it was signed in, then the signature, then where its evidence is
 * kept. The text is attached as a file, so that anybody with the document can compute its SHA-256.
 */
export function composeMandate(mandate: SignedMandate): Content {
  const { locale, title, sections } = readMandateText(mandate.document);
  const words = WORDS[locale];
  const text = sections.flatMap(({ heading, details, points, rest }): Block[] => [
    { kind: "heading", text: heading },
    ...(details.length > 0 ? [{ kind: "details", details } as const] : []),
    ...(points.length > 0 ? [{ kind: "points", points } as const] : []),
    ...rest.map((line) => ({ kind: "paragraph", text: line }) as const),
  ]);
  const { signature, evidence } = words;
  const signed: Detail[] = [
    [signature.name, mandate.signed_name],
    [signature.moment, longMoment(mandate.signed_at, locale)],
    [
      signature.confirmed,
      mandate.code_sent_to === null ? signature.by_name : signature.by_code(maskEmail(mandate.code_sent_to)),
    ],
  ];
  const kept: Detail[] = [
    [evidence.mandate, mandate.mandate_id],
    [evidence.connection, mandate.connection_id],
    [
      evidence.period,
      evidence.from_until(
        longDate(mandate.valid_from, MANDATE_WORDS[locale]),
        longDate(mandate.valid_until, MANDATE_WORDS[locale]),
      ),
    ],
  ];
  const { filename } = MANDATE_WORDS[locale].document;
  return {
    locale,
    title,
    blocks: [
      ...text,
      { kind: "heading", text: signature.title },
      { kind: "details", details: signed },
      { kind: "heading", text: evidence.title },
      { kind: "details", details: kept },
      { kind: "paragraph", text: evidence.kept },
      { kind: "paragraph", text: evidence.attached(filename) },
      { kind: "paragraph", text: mandate.document_sha256 },
    ],
    page: words.page,
    attachment: { name: filename, description: evidence.attachment, text: mandate.document },
  };
}

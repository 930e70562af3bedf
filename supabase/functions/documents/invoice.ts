import { longDate, MANDATE_WORDS } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Invoice } from "./answers.ts";
import type { Content, Detail } from "./pdf.ts";
import type { Service } from "./sender.ts";
import { decimals, euros, monthOf } from "./statement.ts";
import { WORDS } from "./words.ts";

/** An invoice, or a credit note, that the service writes in a partner's name, with what Dutch law asks of one. */
export function composeInvoice(invoice: Invoice, service: Service): Content {
  const { locale, number, supplier, months, vat_regime, corrects } = invoice;
  const { page, date_locale, invoice: words } = WORDS[locale];
  const two = decimals(2, date_locale);
  const euro = euros(date_locale);
  const day = (date: string) => longDate(date, MANDATE_WORDS[locale]);
  const details = (...all: [label: string, value: string | null | undefined][]): Detail[] =>
    all.flatMap(([label, value]): Detail[] => (value ? [[label, value]] : []));
  const line = (...parts: (string | null | undefined)[]) => parts.filter(Boolean).join(" ");
  const rate = new Intl.NumberFormat(date_locale).format(Number(invoice.vat_rate));
  const [year = "", number_of = ""] = invoice.quarter.split("-Q");
  const quarter = words.quarter_name(number_of, year);
  const title = corrects ? words.credit_note(number) : words.title(number);
  return {
    locale,
    title,
    blocks: [
      {
        kind: "figure",
        label: words.total,
        value: euro(invoice.total),
        said: (corrects ? words.back_from : words.goes_to)(supplier.name, quarter),
      },
      {
        kind: "details",
        details: details(
          [words.issued_on, day(invoice.issued_on)],
          [words.quarter, quarter],
          [words.corrects, corrects && words.corrected(corrects.number, day(corrects.issued_on))],
        ),
      },
      {
        kind: "parties",
        parties: [
          {
            heading: words.from,
            details: details(
              [words.name, supplier.name],
              [
                words.address,
                [line(supplier.street, supplier.house_number), line(supplier.postal_code, supplier.city)]
                  .filter(Boolean)
                  .join(", "),
              ],
              [words.kvk, supplier.kvk],
              [words.vat_number, supplier.vat],
            ),
          },
          {
            heading: words.to,
            details: details(
              [words.name, service.SERVICE_NAME],
              [words.address, service.SERVICE_ADDRESS],
              [words.kvk, service.SERVICE_KVK],
              [words.vat_number, service.SERVICE_VAT],
            ),
          },
        ],
      },
      { kind: "heading", text: words.what },
      {
        kind: "table",
        head: words.head,
        rows: months.map(({ period, customers, ere, fee, share }) => [
          monthOf(period, date_locale),
          String(customers),
          two(ere),
          euro(fee),
          euro(share),
        ]),
        sums: [
          [words.net, "", "", "", euro(invoice.net)],
          [vat_regime === "regular" ? words.vat_at(rate) : words.vat, "", "", "", euro(invoice.vat)],
          [words.total, "", "", "", euro(invoice.total)],
        ],
      },
      { kind: "paragraph", text: words.self_billing },
      ...(vat_regime === "regular" ? [] : [{ kind: "paragraph", text: words.regimes[vat_regime] } as const]),
    ],
    page,
  };
}

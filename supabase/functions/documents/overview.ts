import { longDate, MANDATE_WORDS } from "#shared/domain/mandate_text/mandate_text.ts";
import type { YearOverview } from "./answers.ts";
import type { Content } from "./pdf.ts";
import { type Service, senderOf } from "./sender.ts";
import { decimals, euros } from "./statement.ts";
import { WORDS } from "./words.ts";

/** What was sold of a customer in a calendar year, and what was paid in it: what a tax return may ask for. */
export function composeOverview({ locale, customer, logo, cpo, overview }: YearOverview, service: Service): Content {
  const { page, date_locale, overview: words, statement } = WORDS[locale];
  const two = decimals(2, date_locale);
  const perEre = euros(date_locale, 6);
  const exact = euros(date_locale);
  const euro = (amount: number) => exact(String(amount));
  const ere = (amount: number) => two(String(amount));
  const kwh = (amount: number) => decimals(0, date_locale)(String(amount));
  const day = (date: string) => longDate(date, MANDATE_WORDS[locale]);
  const inYear = new Intl.DateTimeFormat(date_locale, { day: "numeric", month: "short", timeZone: "UTC" });
  const head = [
    words.quarter,
    words.sold_on,
    "kWh",
    "ERE",
    words.price,
    words.gross,
    words.fee,
    cpo === null ? words.net : words.net_via,
  ];
  const { year, sales, payments } = overview;
  return {
    locale,
    sender: senderOf(service, logo, locale),
    title: words.title(year),
    blocks: [
      {
        kind: "figure",
        label: cpo === null ? words.paid(year) : words.paid_via(cpo, year),
        value: euro(overview.paid_eur),
        said: words.sold(euro(overview.net_eur), year),
      },
      { kind: "details", details: [[statement.customer, customer]] },
      { kind: "heading", text: words.sales(year) },
      ...(sales.length === 0
        ? [{ kind: "paragraph", text: words.no_sales } as const]
        : [
            {
              kind: "table",
              head,
              rows: sales.map((sale) => [
                quarterOf(sale.quarter, words.quarter_name),
                inYear.format(new Date(sale.sold_on)),
                kwh(sale.kwh),
                ere(sale.ere),
                perEre(String(sale.price_per_ere_eur)),
                euro(sale.gross_eur),
                euro(sale.fee_eur),
                euro(sale.net_eur),
              ]),
              sums: [
                [
                  statement.total,
                  "",
                  kwh(overview.kwh_sold),
                  ere(overview.ere_sold),
                  "",
                  euro(overview.gross_eur),
                  euro(overview.fee_eur),
                  euro(overview.net_eur),
                ],
              ],
            } as const,
          ]),
      { kind: "heading", text: words.payments(year) },
      ...(payments.length === 0
        ? [{ kind: "paragraph", text: words.no_payments } as const]
        : [
            {
              kind: "table",
              head: [words.paid_on, words.to, statement.reference, words.amount],
              rows: payments.map(({ paid_on, amount_eur, to, iban, reference }) => [
                day(paid_on),
                to === "cpo" ? (cpo ?? "") : iban,
                reference,
                euro(amount_eur),
              ]),
              sums: [[statement.total, "", "", euro(overview.paid_eur)]],
            } as const,
          ]),
      { kind: "heading", text: statement.how_title },
      { kind: "points", points: [...words.how(service.SERVICE_NAME), statement.rounded] },
    ],
    page,
  };
}

function quarterOf(quarter: string, name: (number: string, year: string) => string): string {
  const [year = "", number = ""] = quarter.split("-Q");
  return name(number, year);
}

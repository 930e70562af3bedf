import { longDate, MANDATE_WORDS } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Statement } from "./answers.ts";
import type { Content } from "./pdf.ts";
import { type Service, senderOf } from "./sender.ts";
import { WORDS } from "./words.ts";

/**
 * The statement of a payout, to the customer or to the CPO that settles with the customer. It shows the months, their
 * kWh, ERE and yield, the fee, and where the money went.
 */
export function composeStatement(statement: Statement, service: Service): Content {
  const { locale, customer, reference, paid_on, iban_last4, paid_to, rows, totals, other, amount } = statement;
  const { page, date_locale, statement: words } = WORDS[locale];
  // "204,000" reads as thousands
  const [one, two, euro] = [decimals(1, date_locale), decimals(2, date_locale), euros(date_locale)];
  const perEre = euros(date_locale, 6);
  const cells = ({ kwh, ere, price, gross, fee, net }: Statement["totals"] & { price?: string }) => [
    one(kwh),
    two(ere),
    price === undefined ? "" : perEre(price),
    euro(gross),
    euro(fee),
    euro(net),
  ];
  const total = [words.total, ...cells(totals)];
  const isInParts = new Set(rows.map(({ ean_code, period }) => `${ean_code} ${period}`)).size < rows.length;
  const connections = Map.groupBy(rows, ({ ean_code }) => ean_code);
  return {
    locale,
    sender: senderOf(service, statement.logo, locale),
    title: words.title,
    blocks: [
      {
        kind: "figure",
        label: paid_to === null ? words.amount : words.amount_via,
        value: euro(amount),
        said: words.when_and_where(longDate(paid_on, MANDATE_WORDS[locale]), paid_to ?? words.iban(iban_last4 ?? "")),
      },
      {
        kind: "details",
        details: [
          [words.customer, customer],
          [words.reference, reference],
        ],
      },
      ...[...connections].flatMap(
        ([ean_code, months]) =>
          [
            { kind: "heading", text: words.connection(ean_code.replace(/(\d{4})(?=\d)/g, "$1 ")) },
            {
              kind: "table",
              head: words.head,
              rows: months.map((month) => [monthOf(month.period, date_locale), ...cells(month)]),
              ...(connections.size === 1 ? { sums: [total] } : {}),
            },
          ] as const,
      ),
      ...(connections.size === 1
        ? []
        : ([
            { kind: "heading", text: words.all },
            { kind: "table", head: words.head, rows: [], sums: [total] },
          ] as const)),
      ...(Number(other) === 0 ? [] : [{ kind: "paragraph", text: words.other(euro(other)) } as const]),
      { kind: "heading", text: words.how_title },
      {
        kind: "points",
        points: [...words.how(service.SERVICE_NAME), ...(isInParts ? [words.parts] : []), words.rounded],
      },
    ],
    page,
  };
}

/** A decimal in text as people write it, with so many digits behind the comma: exact, and what is longer rounded half up. */
export function decimals(digits: number, locale: string): (text: string) => string {
  const format = new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (text) => format.format(text as Intl.StringNumericLiteral).replace("-", "\u2212");
}

/** An amount in text as mail and pages write it: € 12,34 or €12.34. Exact; a price has up to `digits` decimals. */
export function euros(locale: string, digits = 2): (text: string) => string {
  const format = new Intl.NumberFormat(locale, { style: "currency", currency: "EUR", maximumFractionDigits: digits });
  return (text) => {
    const euro = format.format(text.replace(/^-/, "") as Intl.StringNumericLiteral);
    return /^-.*[1-9]/.test(text) ? `\u2212\u00a0${euro}` : euro;
  };
}

export function monthOf(period: string, locale: string): string {
  return new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone: "UTC" }).format(
    new Date(`${period}-01T00:00:00Z`),
  );
}

import type { Brand, Farewell } from "#shared/domain/answers.ts";
import { longDate, longMoment, MANDATE_WORDS } from "#shared/domain/mandate_text/mandate_text.ts";
import type { GateFor } from "#shared/values/gates.ts";
import type { Locale } from "#shared/values/locale.ts";
import { type Content, MAIL_MESSAGES, sentBy } from "./layout.ts";

/** What a customer is told after signing, as core.notices keeps it. Days are calendar days, amounts euro. */
export type Notice =
  | { kind: "registration_approved" }
  | {
      kind: "registration_rejected";
      /** The gates that were closed: what the customer can do something about. */
      grounds: readonly GateFor<"approval">[];
    }
  | { kind: "something_missing"; missing: readonly ("iban" | "charger")[] }
  | {
      kind: "mandate_ending";
      valid_until: string;
      /** 1, and 2 for the last one. */
      reminder: 1 | 2;
    }
  | { kind: "mandate_ended"; valid_until: string }
  | {
      kind: "mandate_withdrawn";
      by: "customer" | "operator" | "connection_updated" | "connection_archived";
      /** The last day that still counts; null where nothing does but what is booked. */
      covered_until: string | null;
      /** What was charged already and no longer counts. */
      lost_kwh: number;
    }
  | {
      kind: "payout_sent";
      amount_eur: number;
      iban_last4: string;
      /** The days on which the money is expected. */
      from: string;
      until: string;
    }
  /** The quarters it was for, by their first day, and their kWh. */
  | { kind: "payout_paid"; amount_eur: number; iban_last4: string; quarters: readonly string[]; kwh: number }
  | { kind: "payout_failed"; amount_eur: number; iban_last4: string }
  /** By the CPO, through the API; or by the customer of one, on a page, by a code. A person with a claim is told by its own mail. */
  | { kind: "payout_iban_changed"; iban_last4: string; by?: "signatory"; held_until?: string };

/** Every kind; a test compares them with the check of core.notices. */
export const NOTICE_KINDS = Object.keys({
  registration_approved: true,
  registration_rejected: true,
  something_missing: true,
  mandate_ending: true,
  mandate_ended: true,
  mandate_withdrawn: true,
  payout_sent: true,
  payout_paid: true,
  payout_failed: true,
  payout_iban_changed: true,
} satisfies Record<Notice["kind"], true>) as Notice["kind"][];

/** Whom it tells. */
export type NoticeReader = {
  full_name: string;
  /** The partner that serves them: whose customer they are, or who brought them. */
  partner_name: string;
  /** In whose name it is written, where not in the service's own. */
  brand: Brand | null;
  /** `own`: a person with an account of their own, and a page for it. `cpo`: the customer of a CPO, which sees to the rest. */
  account: "own" | "cpo";
  /** Where they see to it; null where they cannot. */
  link: string | null;
};

/** The mail about what became of a registration, a mandate or money. A service mail: it answers a signature, and has no way to opt out. */
export function noticeContent(notice: Notice, reader: NoticeReader, locale: Locale, service: string): Content {
  const { greeting, notices } = MAIL_MESSAGES[locale];
  const { button, ...content } = contentOf(notice, reader, locale, service);
  return {
    ...(reader.brand ? sentBy(reader.brand) : {}),
    greeting: greeting(reader.full_name),
    unexpected: notices.why,
    ...content,
    ...(button && reader.link ? { button: { label: button, link: reader.link } } : {}),
  };
}

type Said = Pick<Content, "subject" | "amount" | "lines" | "after"> & { button?: string };

function contentOf(
  notice: Notice,
  { account, partner_name, link }: NoticeReader,
  locale: Locale,
  service: string,
): Said {
  const { notices } = MAIL_MESSAGES[locale];
  const day = (date: string) => longDate(date, MANDATE_WORDS[locale]);
  switch (notice.kind) {
    case "registration_approved": {
      const { subject, lines, after } = notices.registration_approved;
      return {
        subject,
        lines: lines(service),
        button: notices.view,
        after: account === "own" ? after.own : after.cpo(partner_name),
      };
    }
    case "registration_rejected": {
      const words = notices.registration_rejected;
      const grounds = notice.grounds.map((ground) => words.grounds[ground]);
      return account === "own"
        ? { subject: words.subject, lines: [...words.lines, ...grounds], button: words.button, after: words.unknown }
        : { subject: words.subject, lines: words.lines, after: words.cpo(partner_name) };
    }
    case "something_missing": {
      const { subject, lines, missing, button, after } = notices.something_missing;
      return {
        subject,
        lines: [...lines, notice.missing.map((what) => `- ${missing[what]}`).join("\n")],
        button,
        after,
      };
    }
    case "mandate_ending": {
      const { subject, reminder, lines, button, after } = notices.mandate_ending;
      const until = day(notice.valid_until);
      return { subject: notice.reminder === 1 ? subject(until) : reminder(until), lines: lines(until), button, after };
    }
    case "mandate_ended": {
      const { subject, lines, button, after } = notices.mandate_ended;
      return { subject, lines: lines(day(notice.valid_until)), button, after };
    }
    case "mandate_withdrawn": {
      const { subject, by, covered, not_covered, lost, again, after } = notices.mandate_withdrawn;
      const rest = notice.covered_until ? covered(day(notice.covered_until)) : not_covered;
      const gone = notice.lost_kwh ? [lost(inKwh(notice.lost_kwh, locale))] : [];
      const lines = [
        by[notice.by],
        rest,
        ...gone,
        ...(notice.by === "connection_updated" ? [again(partner_name)] : []),
      ];
      return { subject, lines, button: notices.view, after };
    }
    case "payout_sent": {
      const { subject, between, lines, after } = notices.payout_sent;
      const amount = inEuro(notice.amount_eur, locale);
      const days = between(day(notice.from), day(notice.until));
      return {
        subject: subject(amount),
        amount,
        lines: [...lines(amount, notice.iban_last4, days), notices.net],
        button: notices.earnings,
        after,
      };
    }
    case "payout_paid": {
      const { subject, lines, quarter, covers, after } = notices.payout_paid;
      const amount = inEuro(notice.amount_eur, locale);
      const quarters = notice.quarters.map((first) =>
        quarter(Math.ceil(Number(first.slice(5, 7)) / 3), first.slice(0, 4)),
      );
      const list = new Intl.ListFormat(MANDATE_WORDS[locale].date_locale).format(quarters);
      return {
        subject: subject(amount),
        amount,
        lines: [
          ...lines(amount, notice.iban_last4),
          ...(quarters.length > 0 ? [covers(list, inKwh(notice.kwh, locale))] : []),
          notices.net,
        ],
        button: notices.earnings,
        after,
      };
    }
    case "payout_failed": {
      const { subject, lines, button, own, cpo } = notices.payout_failed;
      const amount = inEuro(notice.amount_eur, locale);
      return {
        subject,
        lines: lines(amount, notice.iban_last4),
        button,
        // who has a page to give it on gives it there
        after: account === "own" || link ? own : cpo(partner_name),
      };
    }
    case "payout_iban_changed": {
      const { subject, lines, held, after } = notices.payout_iban_changed;
      const by = notice.by === "signatory" ? notices.you : partner_name;
      const until = notice.held_until ? longMoment(notice.held_until, MANDATE_WORDS[locale]) : null;
      return {
        subject,
        lines: [...lines(by, notice.iban_last4), held(until)],
        button: notices.earnings,
        after: after(partner_name),
      };
    }
  }
}

/** The sentences of the farewell page, and of its mail. */
export function farewellLines(end: Farewell, locale: Locale): string[] {
  const { account_closed: words } = MAIL_MESSAGES[locale];
  const { date_locale } = MANDATE_WORDS[locale];
  const kwh = (value: number) => inKwh(value, locale);
  const month = new Intl.DateTimeFormat(date_locale, { month: "long", year: "numeric", timeZone: "UTC" });
  const { accounts, mandated, balance_eur, lost_kwh, month_kwh, kept_until } = end;
  return [
    words.access,
    ...(mandated ? [words.mandate] : []),
    ...(month_kwh > 0 ? [words.month(kwh(month_kwh), month.format(new Date(end.month)))] : []),
    ...(lost_kwh > 0 ? [words.lost(kwh(lost_kwh))] : []),
    ...(balance_eur > 0 ? [words.paid(inEuro(balance_eur, locale))] : accounts > 0 ? [words.paid_later] : []),
    kept_until ? words.kept(longDate(kept_until, MANDATE_WORDS[locale])) : words.nothing_kept,
  ];
}

/** Energy as people read it: whole kWh, and with decimals below one. */
export const inKwh = (kwh: number, locale: Locale): string =>
  `${new Intl.NumberFormat(MANDATE_WORDS[locale].date_locale, { maximumFractionDigits: kwh < 1 ? 3 : 0 }).format(kwh)} kWh`;

/** An amount as people write it: € 12,34 or €12.34. */
export function inEuro(amount: number, locale: Locale): string {
  const { date_locale } = MANDATE_WORDS[locale];
  const euro = new Intl.NumberFormat(date_locale, { style: "currency", currency: "EUR" }).format(Math.abs(amount));
  return amount < 0 ? `\u2212\u00a0${euro}` : euro;
}

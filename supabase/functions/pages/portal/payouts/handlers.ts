import { type Cell, dayOf, toCsv } from "../../kit/csv.ts";
import { csvFile } from "../../kit/download.ts";
import { asPdf } from "../../kit/pdf.ts";
import { signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import type { Payout, Payouts } from "./model.ts";
import { payoutsPage } from "./page.ts";

const showPayouts = signedIn(async (visit) =>
  visit.page(payoutsPage(visit.frame, await visit.own<Payouts>("read_portal_payouts"))),
);

/** Every quarter, as the page shows it. */
const downloadPayouts = signedIn(async (visit) => {
  const { payouts } = await visit.list<Payouts>("read_portal_payouts");
  const { payouts: words } = WORDS[visit.locale];
  return csvFile(
    visit,
    words.file,
    toCsv(visit.locale, [columnsOf(words), ...payouts.map((payout) => rowOf(words, payout))]),
  );
});

type Words = (typeof WORDS)["nl"]["payouts"];
const columnsOf = (words: Words): Cell[] => [
  words.quarter,
  words.status,
  words.paid_on,
  words.customers,
  words.kwh,
  words.ere,
  words.yours,
  words.vat,
];
const rowOf = (words: Words, payout: Payout): Cell[] => [
  payout.period,
  words.statuses[payout.status],
  dayOf(payout.paid_at),
  payout.customers,
  payout.kwh,
  payout.ere_units,
  payout.partner_share_eur,
  payout.vat_eur,
];

/** An invoice of the partner as PDF; 404 for another partner's. */
const downloadInvoice = signedIn(async (visit) => {
  const number = visit.c.req.param("number") ?? "";
  const reading = asPdf(visit, visit.own<never>("read_invoice", { number }), visit.frame.to(`/payouts/${number}`));
  const { answer, refused } = await visit.attempt(reading, ["invoice_not_found"]);
  return refused ? visit.unknown() : answer;
});

export const payoutPages = { showPayouts, downloadPayouts, downloadInvoice };

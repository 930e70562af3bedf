import { dayOf } from "#shared/values/dutch_clock.ts";
import { type Cell, toCsv } from "../../kit/csv.ts";
import { csvFile } from "../../kit/download.ts";
import { asPdf } from "../../kit/pdf.ts";
import { signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Payout } from "./model.ts";
import { payoutsPage } from "./page.ts";
import { downloadSettlement, downloadSettlements, showSettlements } from "./settlements.ts";

const showPayouts = signedIn(async (request) =>
  request.page(payoutsPage(request.frame, await request.own("read_portal_payouts"))),
);

/** Every quarter, as the page shows it. */
const downloadPayouts = signedIn(async (request) => {
  const { payouts } = await request.list("read_portal_payouts");
  const { payouts: words } = WORDS[request.locale];
  return csvFile(
    request,
    words.file,
    toCsv(request.locale, [columnsOf(words), ...payouts.map((payout) => rowOf(words, payout))]),
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
  { euro: payout.partner_share_eur },
  { euro: payout.vat_eur },
];

/** An invoice of the partner as PDF; 404 for another partner's. */
const downloadInvoice = signedIn(async (request) => {
  const number = request.c.req.param("number") ?? "";
  const reading = asPdf(request, request.own("read_invoice", { number }), request.frame.to(`/payouts/${number}`));
  const { answer, refused } = await request.attempt(reading, ["invoice_not_found"]);
  return refused ? request.unknown() : answer;
});

export const handlers = {
  showPayouts,
  downloadPayouts,
  showSettlements,
  downloadSettlements,
  downloadSettlement,
  downloadInvoice,
};

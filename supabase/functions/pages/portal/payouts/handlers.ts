import { asPdf } from "../../kit/pdf.ts";
import { signedIn } from "../visit.ts";
import type { Payouts } from "./model.ts";
import { payoutsPage } from "./page.ts";

const showPayouts = signedIn(async (visit) =>
  visit.page(payoutsPage(visit.frame, await visit.own<Payouts>("read_portal_payouts"))),
);

/** An invoice of the partner as PDF; 404 for another partner's. */
const downloadInvoice = signedIn(async (visit) => {
  const number = visit.c.req.param("number") ?? "";
  const reading = asPdf(visit, visit.own<never>("read_invoice", { number }), visit.frame.to(`/payouts/${number}`));
  const { answer, refused } = await visit.attempt(reading, ["invoice_not_found"]);
  return refused ? visit.unknown() : answer;
});

export const payoutPages = { showPayouts, downloadInvoice };

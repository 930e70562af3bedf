import { inEuro } from "#shared/domain/mail/notices.ts";
import { dayOf } from "#shared/values/dutch_clock.ts";
import type { Cell } from "../../kit/csv.ts";
import { longMoment } from "../../kit/document.ts";
import { csvOfParts } from "../../kit/download.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { empty } from "../../kit/parts/empty.ts";
import { icon } from "../../kit/parts/icons.ts";
import { asPdf } from "../../kit/pdf.ts";
import { inNumbers, table } from "../../kit/signed_in_views.ts";
import { STATES } from "../../kit/states.ts";
import { portalPage } from "../frame.ts";
import { rangeOf, waysOn } from "../paging.ts";
import { type PortalFrame, type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Settlement, Settlements } from "./model.ts";

/** Settlements of a page, and of what a file is written in one go. */
const PAGE = 50;
const STRETCH = 1000;

/** The payment that the address names, by its payment_reference or its ten characters; undefined for all. */
const paymentIn = ({ c }: PortalRequest) => /^([0-9a-f]{32}|[0-9A-Z]{10})$/i.exec(c.req.query("payment") ?? "")?.[0];

/** What GET /v1/settlements answers, of all clients. */
export const showSettlements = signedIn(async (request) => {
  const payment = paymentIn(request);
  const from = (request.pageAsked - 1) * PAGE;
  const query = { payment_reference: payment ?? null, limit: PAGE, offset: from };
  return request.page(
    settlementsPage(request.frame, await request.own("read_portal_settlements", query), { payment, from }),
  );
});

export const downloadSettlements = signedIn(async (request) => {
  const { payouts: words } = WORDS[request.locale];
  let offset = 0;
  const read = () =>
    request.list("read_portal_settlements", {
      payment_reference: paymentIn(request) ?? null,
      limit: STRETCH,
      offset,
    });
  return csvOfParts(
    request,
    words.settlements.file,
    columnsOf(words),
    await read(),
    ({ settlements }) => settlements.map((each) => rowOf(words, each)),
    ({ has_more }) => {
      offset += STRETCH;
      return has_more ? read() : null;
    },
  );
});

/** A settlement as PDF, to give to the customer; 404 until it is paid, and for another partner's. */
export const downloadSettlement = signedIn(async (request) => {
  const settlement_id = request.c.req.param("id") ?? "";
  const here = request.frame.to(`/payouts/settlements/${settlement_id}`);
  const reading = asPdf(request, request.own("read_portal_settlement", { settlement_id }), here);
  const { answer, refused } = await request.attempt(reading, ["settlement_not_found"]);
  return refused ? request.unknown() : answer;
});

type Words = (typeof WORDS)["nl"]["payouts"];
const columnsOf = ({ settlements: words, status, paid_on }: Words): Cell[] => [
  words.customer,
  words.reference,
  words.amount,
  status,
  paid_on,
  words.payment,
  "account_id",
  "settlement_id",
  "payment_reference",
];
const rowOf = ({ statuses }: Words, each: Settlement): Cell[] => [
  each.name,
  each.cpo_external_ref,
  { euro: each.amount_eur },
  statuses[each.status],
  dayOf(each.paid_at),
  each.reference,
  each.account_id,
  each.settlement_id,
  each.payment_reference,
];

function settlementsPage(
  frame: PortalFrame,
  { who, settlements, has_more }: Settlements,
  { payment, from }: { payment: string | undefined; from: number },
): Html {
  const { settlements: words, short, status } = WORDS[frame.locale].payouts;
  const asked = payment ? { payment } : {};
  const at = from / PAGE + 1;
  const page = (to: number) => frame.to("/payouts/settlements", { ...asked, ...(to > 1 ? { page: String(to) } : {}) });
  return portalPage(frame, "/payouts", who, {
    title: words.title,
    up: { href: frame.to("/payouts"), label: words.back },
    body: html`<p>${words.what}</p>
${payment ? html`<p>${words.payment}: <code>${settlements[0]?.reference ?? payment}</code>. <a class="link" href="${frame.to("/payouts/settlements")}">${words.all}</a></p>` : ""}
${
  settlements.length === 0
    ? empty("bank", from > 0 ? words.past_end : payment ? words.unknown : words.none)
    : html`<p class="quiet">${rangeOf(frame, from, settlements.length, has_more ? WORDS[frame.locale].start.period.at_least(inNumbers(frame, from + settlements.length)) : from + settlements.length)}</p>
${table(
  words.title,
  [{ name: words.customer }, { name: words.amount }, { name: status, text: true }, { name: words.payment, text: true }],
  settlements.map((each) => [
    html`<a class="link" href="${frame.to(`/customers/${each.account_id}`)}">${each.name ?? each.account_id}</a>${each.cpo_external_ref ? html`<small>${each.cpo_external_ref}</small>` : ""}`,
    inEuro(each.amount_eur, frame.locale),
    html`${chip(STATES.payment[each.status], short[each.status], { status: each.status })}${each.paid_at ? html`<small>${longMoment(each.paid_at, frame.words)}</small>` : ""}${each.status === "paid" ? html`<small><a class="link" href="${frame.to(`/payouts/settlements/${each.settlement_id}`)}">${icon("pdf")} ${words.pdf}<span class="hidden"> ${each.name ?? each.account_id}</span></a></small>` : ""}`,
    html`<code>${each.reference}</code>`,
  ]),
  { blocks: true },
)}
<p class="save"><a class="link" href="${frame.to("/payouts/settlements.csv", asked)}">${icon("csv")} ${words.download}</a></p>`
}
${waysOn(words.pages, [
  ...(at > 1 ? [{ href: page(at - 1), label: words.previous }] : []),
  ...(has_more ? [{ href: page(at + 1), label: words.next }] : []),
])}`,
  });
}

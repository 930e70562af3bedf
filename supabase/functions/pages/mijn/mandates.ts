import { inGroups, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { chip } from "../kit/parts/chip.ts";
import { empty } from "../kit/parts/empty.ts";
import { icon } from "../kit/parts/icons.ts";
import { keptText } from "../kit/signature.ts";
import { doneOf } from "../kit/signed_in_views.ts";
import { STATES } from "../kit/states.ts";
import { claimButton, ownPage, renewButton } from "./frame.ts";
import type { Account, Connection, Mandates } from "./model.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Until when, for which connection, and what was signed. Signing again is for the claim pages, as is withdrawing where there are any. */
export function mandatesPage(frame: MijnFrame, { email, accounts, mandates }: Mandates, news: string | null): Html {
  const words = WORDS[frame.locale].mandate;
  const held = accounts.filter(({ connections }) =>
    connections.some(({ mandate_status }) => mandate_status === "signed"),
  );
  return ownPage(frame, "/mandate", email, {
    title: words.title,
    body: html`${doneOf(news === "signed" ? words.signed : undefined)}
<div class="beside"><section><div class="cards">${accounts.map((account) => connectionsOf(frame, account))}</div>
${held.length > 0 ? html`<h2>${words.stop}</h2>${held.map((account) => withdrawal(frame, account))}` : ""}</section>
<section>${mandates.length === 0 ? empty("pdf", words.none) : html`<h2>${words.documents}</h2>`}
<div class="cards">${mandates.map((signed) => {
      const span = words.document(longDate(signed.valid_from, frame.words), longDate(signed.valid_until, frame.words));
      return html`<section class="sheet" aria-label="${span}"><h3>${span}</h3>
<p class="save"><a class="link" href="${frame.to(`/mandate/${signed.mandate_id}`)}">${icon("pdf")} ${words.pdf}</a></p>
${keptText(frame, signed, words.read)}</section>`;
    })}</div></section></div>`,
  });
}

function connectionsOf(frame: MijnFrame, account: Account): Html {
  const words = WORDS[frame.locale].mandate;
  const { account_id, draft_id, cpo, connections } = account;
  const renewable = connections.some(({ may_sign_again }) => may_sign_again);
  return html`${connections.map(
    (connection) => html`<div class="sheet"><dl>
${cpo ? html`<div><dt>${words.cpo}</dt><dd>${cpo}</dd></div>` : ""}
<div><dt>${words.connection}</dt><dd>${addressOf(connection)}</dd></div>
<div><dt>${words.ean}</dt><dd>${inGroups(connection.ean_code)}</dd></div>
<div><dt>${words.status}</dt><dd>${statusOf(frame, connection)}</dd></div>
<div><dt>${words.registration}</dt><dd>${chip(STATES.registration[connection.registration_status], words.registrations[connection.registration_status], { status: connection.registration_status })}</dd></div>
</dl>
${cpo && connection.may_sign_again ? renewButton(frame, account_id, connection.connection_id, words.renew) : ""}
${draft_id && renewable && connection === connections.at(-1) ? claimButton(frame, account_id, "/mandate", words.renew) : ""}</div>`,
  )}`;
}

function withdrawal(frame: MijnFrame, { account_id, draft_id, cpo, connections }: Account): Html {
  const words = WORDS[frame.locale].mandate;
  if (cpo) {
    const held = connections.filter(({ mandate_status }) => mandate_status === "signed");
    return html`<p class="quiet">${words.revoke_means}</p>
<ul>${held.map((connection) => html`<li><a class="link" href="${frame.to(`/withdraw/${connection.connection_id}`)}">${words.revoke_for(cpo, addressOf(connection))}</a></li>`)}</ul>`;
  }
  return draft_id
    ? html`<p class="quiet">${words.revoke_means}</p>${claimButton(frame, account_id, "/revoke", words.revoke, true)}`
    : html`<p>${words.by_mail} <a href="mailto:${frame.config.SUPPORT_EMAIL}">${frame.config.SUPPORT_EMAIL}</a></p>`;
}

/** An account among others: its CPO and addresses. */
export const nameOf = ({ cpo, connections }: Account) =>
  [cpo, connections.map(addressOf).join("; ")].filter(Boolean).join(": ");

export function addressOf({
  street,
  house_number,
  house_number_addition,
  postal_code,
  city,
}: Pick<Connection, "street" | "house_number" | "house_number_addition" | "postal_code" | "city">): string {
  const number = [house_number, house_number_addition].filter(Boolean).join(" ");
  const place = [postal_code.replace(/^(\d{4})/, "$1 "), city].filter(Boolean).join(" ");
  return `${[street, number].filter(Boolean).join(" ")}, ${place}`;
}

function statusOf(frame: MijnFrame, { mandate_status, valid_until, renewed_until }: Connection): Html {
  const words = WORDS[frame.locale].mandate;
  const day = (date: string | null) => (date ? longDate(date, frame.words) : "");
  const status = words.statuses[mandate_status];
  const word = typeof status === "function" ? status(day(valid_until)) : status;
  return html`${chip(STATES.mandate[mandate_status], word)}${renewed_until ? html`<small>${words.renewed(day(renewed_until))}</small>` : ""}`;
}

import { inEuro } from "#shared/domain/mail/notices.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { doButton, inNumbers, newsOf } from "../kit/signed_in_views.ts";
import { ownPage } from "./frame.ts";
import type { End, Ending } from "./model.ts";
import type { MijnFrame } from "./visit.ts";
import { WORDS } from "./words.ts";

/** Everything in one file, and the way out. */
export function dataPage(frame: MijnFrame, { email }: Ending): Html {
  const words = WORDS[frame.locale].data;
  return ownPage(frame, "/data", email, {
    title: words.title,
    body: html`<h2 class="first">${words.download_title}</h2>
<p>${words.download_what}</p>
<p><a class="link" href="${frame.to("/data.json")}">${words.download}</a></p>
<h2>${words.end_title}</h2>
<p>${words.end_what}</p>
<p><a class="link" href="${frame.to("/data/end")}">${words.end_link}</a></p>`,
  });
}

/** Why the account was not ended. */
type EndRefusal = "recent" | "iban";

/** Before the account ends: what ends with it, what is still paid, and what must be kept until when. */
export function endPage(frame: MijnFrame, { email, end }: Ending, refused: EndRefusal | null): Html {
  const words = WORDS[frame.locale].data;
  return ownPage(frame, "/data", email, {
    title: words.ask_title,
    body: html`${newsOf(refused ? words[refused] : undefined)}
<ul>${meaning(frame, end).map((line) => html`<li>${line}</li>`)}</ul>
<p>${words.first_download} <a href="${frame.to("/data.json")}">${words.download}</a></p>
${doButton(frame, "/data/end", {}, words.yes)}
<p><a class="link" href="${frame.to("/data")}">${words.no}</a></p>`,
  });
}

function meaning(frame: MijnFrame, { accounts, managed_alone, lost_kwh, balance_eur, kept_until }: End): string[] {
  const words = WORDS[frame.locale].data;
  return [
    ...(accounts > 0 ? [words.mandate_ends] : []),
    ...(lost_kwh > 0 ? [words.lost(`${inNumbers(frame, lost_kwh)} kWh`)] : []),
    ...(managed_alone ? [words.managed_alone(managed_alone)] : []),
    words.access_ends,
    words.chargers_end,
    ...(balance_eur > 0 ? [words.paid(inEuro(balance_eur, frame.locale))] : accounts > 0 ? [words.paid_later] : []),
    kept_until ? words.kept(longDate(kept_until, frame.words)) : words.nothing_kept,
    words.gone,
  ];
}

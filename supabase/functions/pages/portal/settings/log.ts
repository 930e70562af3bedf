import { longMoment } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { Change, Log } from "../model.ts";
import { type PortalFrame, signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import { settingPage } from "./frame.ts";

const PAGE = "/settings/log";
const LIMIT = 50;

export const showLog = signedIn(async (visit) => {
  const asked = visit.c.req.query("before") ?? "";
  const before = /^\d{1,18}$/.test(asked) ? asked : null;
  return visit.page(logPage(visit.frame, await visit.own<Log>("read_portal_log", { before, limit: LIMIT }), before));
});

function logPage(frame: PortalFrame, { who, changes, before: next }: Log, before: string | null): Html {
  const words = WORDS[frame.locale].settings.log;
  return settingPage(frame, who, {
    title: words.title,
    body: html`<p>${words.what}</p>
${
  changes.length === 0
    ? html`<p>${words.none}</p>`
    : html`<ul class="pages">${changes.map(
        (change) =>
          html`<li>${whatOf(frame, change)}<small>${longMoment(change.at, frame.words)}, ${byWhom(frame, change)}</small></li>`,
      )}</ul>`
}
<p>${before ? html`<a class="link" href="${frame.to(PAGE)}">${words.newest}</a> ` : ""}${next ? html`<a class="link" href="${frame.to(PAGE, { before: next })}">${words.older}</a>` : ""}</p>`,
  });
}

/** What was done, in words; of a kind that there are no words for yet, its name. */
function whatOf({ locale }: PortalFrame, { action, about, details }: Change): string {
  const words = WORDS[locale].settings.log;
  const actions: Readonly<Record<string, string>> = words.actions;
  const fields: Readonly<Record<string, string>> = words.fields;
  const names = Array.isArray(details.fields)
    ? details.fields.map((field) => fields[String(field)] ?? String(field))
    : [];
  const what = actions[action] ?? words.other(action);
  return [what, ...(about ? [about] : []), ...(names.length > 0 ? [names.join(", ")] : [])].join(": ");
}

function byWhom({ locale }: PortalFrame, { by, email }: Change): string {
  const words = WORDS[locale].settings.log.by;
  return by === "person" ? (email ?? words.gone) : words[by];
}

import type { Html, Page } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import type { OwnSection } from "../kit/own_sections.ts";
import { formToken } from "../kit/sign_in_views.ts";
import { type AskedTwice, areaPage, askTwiceBody } from "../kit/signed_in_views.ts";
import type { MijnFrame } from "./request.ts";

/** One of a person's own pages. */
export function ownPage(frame: MijnFrame, section: OwnSection, email: string, page: Page): Html {
  const { own } = frame.words;
  // the whole address, which has no room in the header, stands in what is folded below it
  const [name = email] = email.split("@");
  return areaPage(frame, frame.sections, own.menu, section, { name, said: own.signed_in(email) }, page);
}

/** A button to the claim pages of an account, where what it says is done. */
export function claimButton(frame: MijnFrame, account_id: string, page: string, label: string, second = false): Html {
  return html`<form class="actions" method="post" action="${frame.to("/open")}">
${formToken(frame.form_token)}
<input type="hidden" name="account" value="${account_id}"><input type="hidden" name="page" value="${page}">
<button class="button${second ? " second" : ""}">${label}</button>
</form>`;
}

/** A button to sign again for a connection of a CPO's customer. */
export function renewButton(frame: MijnFrame, account: string, connection: string, label: string): Html {
  return html`<form class="actions" method="post" action="${frame.to("/renew")}">
${formToken(frame.form_token)}
<input type="hidden" name="account" value="${account}"><input type="hidden" name="connection" value="${connection}">
<button class="button">${label}</button>
</form>`;
}

/** Asked once more, with what it means. */
export function askTwice(
  frame: MijnFrame,
  section: OwnSection,
  email: string,
  asked: AskedTwice,
  page: string,
  fields: Record<string, string>,
): Html {
  const body = askTwiceBody(frame, asked, page, fields, section);
  return ownPage(frame, section, email, { title: asked.title, body });
}

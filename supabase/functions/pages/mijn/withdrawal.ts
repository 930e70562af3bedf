import { hashSecret, newCode } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { inGroups } from "#shared/domain/mandate_text/mandate_text.ts";
import { CODE_REFUSALS } from "#shared/foundation/errors.ts";
import { readCode } from "../kit/code.ts";
import { codeInput } from "../kit/fields.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { formToken } from "../kit/sign_in_views.ts";
import { maskEmail } from "../kit/views.ts";
import { whatIsKept, whatIsLost } from "../kit/withdrawal.ts";
import { ownPage } from "./frame.ts";
import type { SignedMandate } from "./model.ts";
import { type MijnFrame, type MijnVisit, signedIn } from "./visit.ts";
import { WORDS } from "./words.ts";

/**
 * The signatory of a CPO's customer withdraws the mandate for a connection, by a mailed code. Whoever signed a mandate
 * may always withdraw it.
 */

const connectionOf = ({ c }: MijnVisit): string => c.req.param("id") ?? "";

/** The code works in this browser, for this connection. */
const tokenOf = (visit: MijnVisit): string => hashSecret(`${visit.cookie("session")}:withdraw:${connectionOf(visit)}`);

const pageOf = (visit: MijnVisit, more = ""): string => visit.frame.to(`/withdraw/${connectionOf(visit)}${more}`);

const readMandate = (visit: MijnVisit) =>
  visit.attempt(
    visit.own<SignedMandate>("read_signed_mandate", {
      connection_id: connectionOf(visit),
      token_hash: hashSecret(tokenOf(visit)),
    }),
    ["account_not_found", "link_not_open"],
  );

const showWithdrawal = signedIn(async (visit) => {
  const { answer: mandate, refused } = await readMandate(visit);
  if (refused) return refused.code === "link_not_open" ? visit.go("/mandate") : visit.unknown();
  return visit.formPage((returned) => withdrawalPage(visit, mandate, returned?.errors.code));
});

const mailWithdrawalCode = signedIn(async (visit) => {
  const { config } = visit.environment;
  const [token, code] = [tokenOf(visit), newCode()];
  const sending = visit.own("send_withdrawal_code", {
    connection_id: connectionOf(visit),
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    mail: aboutMail(config, "claim_code", visit.locale, { code, purpose: "revoke" }),
  });
  const { refused } = await visit.attempt(sending, ["account_not_found", "link_not_open", "too_many_codes"]);
  if (refused?.code === "too_many_codes") return visit.tooManyCodes(refused, pageOf(visit));
  if (refused?.code === "link_not_open") return visit.go("/mandate");
  if (refused) return visit.unknown();
  visit.logOutcome("sent");
  return visit.c.redirect(pageOf(visit), 303);
});

const withdrawMandate = signedIn(async (visit) => {
  const { errors } = visit.frame.words.code;
  const again = async (error: string) => {
    const { answer: mandate, refused } = await readMandate(visit);
    if (refused) return refused.code === "link_not_open" ? visit.go("/mandate") : visit.unknown();
    return visit.again(pageOf(visit), { code: error }, () => withdrawalPage(visit, mandate, error));
  };
  const code = readCode(visit.form);
  if (code === null) return again(errors.code_missing);
  const token = tokenOf(visit);
  const withdrawing = visit.own("withdraw_signed_mandate", {
    connection_id: connectionOf(visit),
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    key: claimKey(visit.environment),
  });
  const { refused } = await visit.attempt(withdrawing, ["account_not_found", "link_not_open", ...CODE_REFUSALS]);
  if (refused?.code === "account_not_found") return visit.unknown();
  if (refused?.code === "link_not_open") return visit.go("/mandate");
  if (refused) return again(errors[refused.code]);
  visit.logOutcome("withdrawn");
  return visit.told("/mandate", "withdrawn");
});

export const withdrawalPages = { showWithdrawal, mailWithdrawalCode, withdrawMandate };

/** What a withdrawal leaves and loses, to the kWh. */
function whatItMeans(
  frame: MijnFrame,
  { partner_name, renewed_until, withdrawal, ...registration }: SignedMandate,
): string[] {
  const { means } = WORDS[frame.locale].withdraw;
  return [
    ...whatIsKept(frame, withdrawal.covered_until, registration, means),
    ...whatIsLost(frame, withdrawal, renewed_until),
    means.told(partner_name),
    means.again(partner_name),
  ];
}

/** Asked once more, with what it means; a code that is mailed now ends it. */
function withdrawalPage(visit: MijnVisit, mandate: SignedMandate, error?: string): Html {
  const { frame } = visit;
  const { which } = WORDS[frame.locale].withdraw;
  const { code, ask_code, withdrawal: words } = frame.words;
  const { email, partner_name, ean_code, code_sent } = mandate;
  const typing = code_sent || error !== undefined;
  const back = html`<a class="link" href="${frame.to("/mandate")}">${words.back}</a>`;
  return ownPage(frame, "/mandate", email, {
    title: words.title,
    ...(error ? { errors: { code: error } } : {}),
    body: html`<p>${which(partner_name, inGroups(ean_code))}</p>
<ul>${whatItMeans(frame, mandate).map((line) => html`<li>${line}</li>`)}</ul>
${
  typing
    ? html`<form method="post" action="${pageOf(visit)}" novalidate>
${formToken(frame.form_token)}
${codeInput({ label: code.label, hint: code.hint(maskEmail(email)), error })}
<div class="actions"><button class="button second">${words.confirm}</button>${back}</div>
</form>`
    : html`<p>${words.why_code}</p>
<p>${ask_code.to}</p>
<p class="panel address">${maskEmail(email)}</p>`
}
<form${typing ? html` class="sheet"` : ""} method="post" action="${pageOf(visit, "/code")}">
${formToken(frame.form_token)}
${
  typing
    ? html`<h2>${code.no_code}</h2>
<p class="quiet">${code.no_code_help}</p>
<button class="button second">${code.resend}</button>`
    : html`<div class="actions"><button class="button">${ask_code.send}</button>${back}</div>`
}
</form>`,
  });
}

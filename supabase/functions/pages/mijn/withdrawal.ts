import { hashSecret, newCode } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { inGroups } from "#shared/domain/mandate_text/mandate_text.ts";
import { CODE_REFUSALS } from "#shared/foundation/attempt.ts";
import { readCode } from "../kit/code.ts";
import { codeInput } from "../kit/fields.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { formToken } from "../kit/sign_in_views.ts";
import { lastClick, maskEmail } from "../kit/views.ts";
import { whatIsKept, whatIsLost } from "../kit/withdrawal.ts";
import { ownPage } from "./frame.ts";
import type { SignedMandate } from "./model.ts";
import { type MijnFrame, type MijnRequest, signedIn } from "./request.ts";
import { WORDS } from "./words.ts";

/**
 * The signatory of a CPO's customer withdraws the mandate for a connection, by a mailed code. Whoever signed a mandate
 * may always withdraw it.
 */

const connectionOf = ({ c }: MijnRequest): string => c.req.param("id") ?? "";

/** The code works in this browser, for this connection. */
const tokenOf = (request: MijnRequest): string =>
  hashSecret(`${request.cookie("session")}:withdraw:${connectionOf(request)}`);

const pageOf = (request: MijnRequest, more = ""): string =>
  request.frame.to(`/withdraw/${connectionOf(request)}${more}`);

const readMandate = (request: MijnRequest) =>
  request.attempt(
    request.own("open_signed_mandate", {
      connection_id: connectionOf(request),
      token_hash: hashSecret(tokenOf(request)),
    }),
    ["account_not_found", "link_not_open"],
  );

const showWithdrawal = signedIn(async (request) => {
  const { answer: mandate, refused } = await readMandate(request);
  if (refused) return refused.code === "link_not_open" ? request.go("/mandate") : request.unknown();
  return request.formPage((returned) => withdrawalPage(request, mandate, returned?.errors.code));
});

const mailWithdrawalCode = signedIn(async (request) => {
  const { config } = request.environment;
  const [token, code] = [tokenOf(request), newCode()];
  const sending = request.own("send_withdrawal_code", {
    connection_id: connectionOf(request),
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    mail: aboutMail(config, "claim_code", request.locale, { code, purpose: "revoke" }),
  });
  const { refused } = await request.attempt(sending, ["account_not_found", "link_not_open", "too_many_codes"]);
  if (refused?.code === "too_many_codes") return request.tooManyCodes(refused, pageOf(request));
  if (refused?.code === "link_not_open") return request.go("/mandate");
  if (refused) return request.unknown();
  request.logOutcome("sent");
  return request.c.redirect(pageOf(request), 303);
});

const withdrawMandate = signedIn(async (request) => {
  const { errors } = request.frame.words.code;
  const again = async (error: string) => {
    const { answer: mandate, refused } = await readMandate(request);
    if (refused) return refused.code === "link_not_open" ? request.go("/mandate") : request.unknown();
    return request.again(pageOf(request), { code: error }, () => withdrawalPage(request, mandate, error));
  };
  const code = readCode(request.form);
  if (code === null) return again(errors.code_missing);
  const token = tokenOf(request);
  const withdrawing = request.own("withdraw_signed_mandate", {
    connection_id: connectionOf(request),
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    key: claimKey(request.environment),
  });
  const { refused } = await request.attempt(withdrawing, ["account_not_found", "link_not_open", ...CODE_REFUSALS]);
  if (refused?.code === "account_not_found") return request.unknown();
  if (refused?.code === "link_not_open") return request.go("/mandate");
  if (refused) return again(errors[refused.code]);
  request.logOutcome("withdrawn");
  return request.told("", "withdrawn");
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
function withdrawalPage(request: MijnRequest, mandate: SignedMandate, error?: string): Html {
  const { frame } = request;
  const { which } = WORDS[frame.locale].withdraw;
  const { code, ask_code, withdrawal: words } = frame.words;
  const { email, partner_name, ean_code, code_sent } = mandate;
  const typing = code_sent || error !== undefined;
  return ownPage(frame, "/mandate", email, {
    title: words.title,
    ...(error ? { errors: { code: error } } : {}),
    body: html`<p>${which(partner_name, inGroups(ean_code))}</p>
<ul>${whatItMeans(frame, mandate).map((line) => html`<li>${line}</li>`)}</ul>
${
  typing
    ? html`<form method="post" action="${pageOf(request)}" novalidate>
${formToken(frame.form_token)}
${codeInput({ label: code.label, hint: code.hint(maskEmail(email)), error })}
<div class="actions">${lastClick(words.confirm, frame.to("/mandate"), words.back)}</div>
</form>`
    : html`<p>${words.why_code}</p>
<p>${ask_code.to}</p>
<p class="panel address">${maskEmail(email)}</p>`
}
<form${typing ? html` class="sheet"` : ""} method="post" action="${pageOf(request, "/code")}">
${formToken(frame.form_token)}
${
  typing
    ? html`<h2>${code.no_code}</h2>
<p class="quiet">${code.no_code_help}</p>
<button class="button second">${code.resend}</button>`
    : html`<div class="actions">${lastClick(ask_code.send, frame.to("/mandate"), words.back)}</div>`
}
</form>`,
  });
}

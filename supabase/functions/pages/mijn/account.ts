import { hashSecret, newCode, newSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { CODE_REFUSALS } from "#shared/foundation/attempt.ts";
import { isIban, sealIban } from "#shared/values/iban.ts";
import { readCode } from "../kit/code.ts";
import { codeInput, textInput } from "../kit/fields.ts";
import type { Errors, Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { isId } from "../kit/routes.ts";
import { formToken } from "../kit/sign_in_views.ts";
import { maskEmail } from "../kit/views.ts";
import { ownPage } from "./frame.ts";
import type { SignedAccount } from "./model.ts";
import { type MijnFrame, type MijnRequest, signedIn } from "./request.ts";
import { WORDS } from "./words.ts";

/** For the signatory of a CPO's customer: change the account number by a mailed code, and get a link to sign again. */

const accountOf = ({ c }: MijnRequest): string => c.req.param("id") ?? "";

/** The code works in this browser, for this account. */
const tokenOf = (request: MijnRequest): string =>
  hashSecret(`${request.cookie("session")}:account:${accountOf(request)}`);

const pageOf = (request: MijnRequest): string => request.frame.to(`/account/${accountOf(request)}`);

const readAccount = (request: MijnRequest) =>
  request.attempt(
    request.own("read_signed_account", {
      account_id: accountOf(request),
      token_hash: hashSecret(tokenOf(request)),
    }),
    ["account_not_found"],
  );

const showAccount = signedIn(async (request) => {
  const { answer: account, refused } = await readAccount(request);
  if (refused) return request.unknown();
  return request.formPage((returned) =>
    account.code_sent || returned
      ? changePage(request.frame, pageOf(request), account, returned?.errors ?? {}, returned?.typed.get("iban") ?? "")
      : askCodePage(request.frame, pageOf(request), account),
  );
});

const mailAccountCode = signedIn(async (request) => {
  const { config } = request.environment;
  const [account_id, token, code] = [accountOf(request), tokenOf(request), newCode()];
  const sending = request.own("send_account_code", {
    account_id,
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    mail: aboutMail(config, "claim_code", request.locale, { code, purpose: "iban" }),
  });
  const { refused } = await request.attempt(sending, ["account_not_found", "too_many_codes"]);
  if (refused?.code === "too_many_codes") return request.tooManyCodes(refused, pageOf(request));
  if (refused) return request.unknown();
  request.logOutcome("sent");
  return request.c.redirect(pageOf(request), 303);
});

const changeAccount = signedIn(async (request) => {
  const { environment, form, locale, frame } = request;
  const { answer: account, refused: unknown } = await readAccount(request);
  if (unknown) return request.unknown();
  const words = WORDS[locale].account;
  const iban = (form.get("iban") ?? "").replace(/[\s.-]/g, "").toUpperCase();
  const code = readCode(form);
  const errors: Errors = {
    ...((await isIban(iban)) ? {} : { iban: words.wrong }),
    ...(code === null ? { code: frame.words.code.errors.code_missing } : {}),
  };
  const again = (wrong: Errors) =>
    request.again(pageOf(request), wrong, ({ typed }) =>
      changePage(frame, pageOf(request), account, wrong, typed.get("iban") ?? ""),
    );
  if (Object.keys(errors).length > 0) return again(errors);
  const token = tokenOf(request);
  const changing = request.own("change_signed_iban", {
    account_id: accountOf(request),
    partner_id: account.partner_id,
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    key: claimKey(environment),
    iban: sealIban(environment, account.partner_id, iban),
  });
  const { refused } = await request.attempt(changing, ["account_not_found", ...CODE_REFUSALS]);
  if (refused?.code === "account_not_found") return request.unknown();
  if (refused) return again({ code: frame.words.code.errors[refused.code] });
  request.logOutcome("saved");
  return request.told("/earnings", "account_changed");
});

const renewMandate = signedIn(async (request) => {
  const [account_id, connection_id] = [request.form.get("account") ?? "", request.form.get("connection") ?? ""];
  if (!isId(account_id) || !isId(connection_id)) return request.unknown();
  const token = newSecret();
  const asking = request.own("renew_signed_mandate", { account_id, connection_id, new_token_hash: hashSecret(token) });
  const { refused } = await request.attempt(asking, ["account_not_found", "link_not_open", "too_many_codes"]);
  if (refused?.code === "too_many_codes") return request.tooManyCodes(refused, request.frame.to("/mandate"));
  if (refused?.code === "link_not_open") return request.go("/mandate");
  if (refused) return request.unknown();
  request.logOutcome("renewed");
  return request.c.redirect(`${request.frame.root}/mandate/${token}?lang=${request.locale}`, 303);
});

export const accountPages = { showAccount, changeAccount, mailAccountCode, renewMandate };

/** Shown before an account number is replaced. */
function askCodePage(frame: MijnFrame, page: string, { email, iban_last4, partner_name }: SignedAccount): Html {
  const words = WORDS[frame.locale].account;
  const { ask_code } = frame.words;
  return ownPage(frame, "/earnings", email, {
    title: words.title,
    body: html`<p>${iban_last4 ? words.now(iban_last4, partner_name) : words.none(partner_name)}</p>
<p>${words.why_code}</p>
<p>${ask_code.to}</p>
<p class="panel address">${maskEmail(email)}</p>
<form method="post" action="${codeAction(page)}">
${formToken(frame.form_token)}
<div class="actions">
<button class="button">${ask_code.send}</button>
<a class="link" href="${frame.to("/earnings")}">${words.back}</a>
</div>
</form>`,
  });
}

function changePage(
  frame: MijnFrame,
  page: string,
  { email, partner_name }: SignedAccount,
  errors: Errors,
  iban: string,
): Html {
  const words = WORDS[frame.locale].account;
  const { code } = frame.words;
  return ownPage(frame, "/earnings", email, {
    title: words.title,
    errors,
    body: html`<form method="post" action="${page}" novalidate>
${formToken(frame.form_token)}
${textInput({
  id: "iban",
  label: words.iban,
  hint: words.hint(partner_name),
  error: errors.iban,
  value: iban,
  required: true,
  attributes: html` autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="50" data-group="4"`,
})}
${codeInput({ label: code.label, hint: code.hint(maskEmail(email)), error: errors.code })}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${frame.to("/earnings")}">${words.back}</a>
</div>
</form>
<form class="sheet" method="post" action="${codeAction(page)}">
<h2>${code.no_code}</h2>
<p class="quiet">${code.no_code_help}</p>
${formToken(frame.form_token)}
<button class="button second">${code.resend}</button>
</form>`,
  });
}

const codeAction = (page: string) => page.replace(/(\?|$)/, "/code$1");

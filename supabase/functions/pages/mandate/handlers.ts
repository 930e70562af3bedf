import { hashSecret, newCode, newSecret } from "#shared/auth/tokens.ts";
import type { Offer } from "#shared/domain/answers.ts";
import type { Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import { codeToMail, signatureOf } from "#shared/domain/mandate_text/signature.ts";
import { CODE_REFUSALS } from "#shared/foundation/attempt.ts";
import type { Errors } from "../kit/frame.ts";
import { wishedPage, wishesOf } from "../kit/offer.ts";
import type { PageAnswer, PageRequest } from "../kit/page_request.ts";
import { asPdf } from "../kit/pdf.ts";
import { asFile, askCodePage, changedPage, readSignature, signPage, versionOf } from "../kit/signature.ts";
import { MandateRequest, onOpenLink } from "./request.ts";
import { declinePage, readPage } from "./views.ts";
import { WORDS } from "./words.ts";

/** Step 1, and afterwards what became of it. */
async function read(bare: PageRequest): Promise<Response> {
  const request = await MandateRequest.open(bare);
  const closed = request.closed();
  if (closed) return closed;
  const wishes = wishesOf(request);
  const facts = wanted(request);
  const page = readPage(request.frame, request.opened, facts, request.documentOf(facts), wishes);
  return wishedPage(request, page, wishes, request.opened.offer as Offer);
}

/** The facts for the years in the address; for the shortest time where there are none. */
function wanted(request: MandateRequest): Facts {
  const { years } = wishesOf(request);
  const { choices } = request;
  return choices.find(({ validity_years }) => validity_years === years) ?? (choices[0] as Facts);
}

async function download(bare: PageRequest): Promise<Response> {
  const request = await MandateRequest.open(bare);
  const { state, signed } = request.opened;
  if (state !== "open" && !signed) return request.closed() as PageAnswer;
  return asFile(request, signed ?? request.documentOf(wanted(request)));
}

/** What was signed, as a document to keep. */
async function downloadPdf(bare: PageRequest): Promise<Response> {
  const request = await MandateRequest.open(bare);
  if (!request.opened.signed) return request.closed() ?? request.go("");
  return asPdf(request, request.act("read_link_mandate", {}), request.frame.to("/pdf"));
}

/** Step 2. Who has not read step 1 as it is now goes back to it. */
const showSign = onOpenLink((request) => {
  const seen = request.c.req.query("seen");
  if (!seen) return request.go("");
  const facts = request.read(seen);
  if (!facts) return request.page(changedPage(request.frame), 409);
  return request.formPage((returned) =>
    returned || facts.email === null || request.opened.code_sent
      ? signPage(request.frame, facts, request.documentOf(facts), seen, returned ?? undefined)
      : askCodePage(request.frame, facts, seen),
  );
});

const sendCode = onOpenLink(async (request, facts) => {
  const seen = request.form.get("seen") ?? "";
  const { config } = request.environment;
  const token = request.token ?? "";
  const sending = request.act("send_mandate_code", codeToMail(config, token, facts, request.locale, newCode()));
  const { refused } = await request.attempt(sending, ["link_not_open", "signatory_email_missing", "too_many_codes"]);
  if (refused?.code === "too_many_codes")
    return request.tooManyCodes(refused, request.frame.to("/sign", { seen }), WORDS[request.locale].back_to_sign);
  if (refused?.code === "link_not_open") return request.go("", { seen });
  if (!refused) request.logOutcome("sent");
  return request.go("/sign", { seen }); // where no address is known, signing needs no code
});

const sign = onOpenLink(async (request) => {
  const { frame, c, form } = request;
  const facts = request.read(form.get("seen"));
  if (!facts) return request.page(changedPage(frame), 409);
  const [document, seen] = [request.documentOf(facts), versionOf(facts)];

  const { code, name, errors } = readSignature(form, facts, frame.words);
  const again = (wrong: Errors) =>
    request.again(frame.to("/sign", { seen }), wrong, (returned) => signPage(frame, facts, document, seen, returned));
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const signature = signatureOf(request.environment, request.token ?? "", facts, request.locale, {
    signed_name: name,
    code,
    address: request.address,
    user_agent: c.req.header("user-agent") ?? null,
  });
  const signing = request.act("sign_mandate", signature);
  const { refused } = await request.attempt(signing, ["link_not_open", "mandate_changed", ...CODE_REFUSALS]);
  if (!refused) {
    request.logOutcome("signed");
    return request.go("");
  }
  switch (refused.code) {
    case "link_not_open":
      return request.go("");
    case "mandate_changed":
      return request.page(changedPage(frame), 409);
    default:
      return again({ code: frame.words.code.errors[refused.code] });
  }
});

const showDecline = onOpenLink((request, facts) =>
  request.page(declinePage(request.frame, facts.partner_name, request.opened.held_until ?? null)),
);

const decline = onOpenLink(async (request) => {
  const declining = request.act("decline_mandate", {
    address: request.address,
    user_agent: request.c.req.header("user-agent") ?? null,
  });
  const { refused } = await request.attempt(declining, ["link_not_open"]);
  if (!refused) request.logOutcome("declined");
  return request.go("");
});

/** Who signed by this link gets another one to sign again: in the last weeks of what was signed, and after it. */
async function renew(bare: PageRequest): Promise<Response> {
  const request = await MandateRequest.open(bare);
  if (!request.opened.may_sign_again) return request.go("");
  const token = newSecret();
  const asking = request.act("renew_mandate", { new_token_hash: hashSecret(token) });
  const { refused } = await request.attempt(asking, ["link_not_open", "too_many_codes"]);
  if (refused?.code === "too_many_codes") return request.tooManyCodes(refused, request.frame.to(""));
  if (refused) return request.go("");
  request.logOutcome("renewed");
  return request.c.redirect(`${request.frame.root}/mandate/${token}?lang=${request.locale}`, 303);
}

/** What each page of mandate.ts does, and each form. */
export const handlers = {
  read,
  download,
  downloadPdf,
  showSign,
  sign,
  sendCode,
  showDecline,
  decline,
  renew,
};

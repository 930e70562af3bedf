import { hashSecret, newCode, newSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import type { Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import { CODE_REFUSALS } from "#shared/foundation/errors.ts";
import type { Errors } from "../kit/frame.ts";
import { type Offer, wishedPage, wishesOf } from "../kit/offer.ts";
import { asPdf } from "../kit/pdf.ts";
import { asFile, askCodePage, changedPage, readSignature, signPage, versionOf } from "../kit/signature.ts";
import type { PageAnswer, Visit } from "../kit/visit.ts";
import { declinePage, readPage } from "./views.ts";
import { MandateVisit, onOpenLink } from "./visit.ts";
import { WORDS } from "./words.ts";

/** Step 1, and afterwards what became of it. */
async function read(request: Visit): Promise<Response> {
  const visit = await MandateVisit.open(request);
  const closed = visit.closed();
  if (closed) return closed;
  const wishes = wishesOf(visit);
  const facts = wanted(visit);
  const page = readPage(visit.frame, visit.opened, facts, visit.documentOf(facts), wishes);
  return wishedPage(visit, page, wishes, visit.opened.offer as Offer);
}

/** The facts for the years in the address; for the shortest time where there are none. */
function wanted(visit: MandateVisit): Facts {
  const { years } = wishesOf(visit);
  const { choices } = visit;
  return choices.find(({ validity_years }) => validity_years === years) ?? (choices[0] as Facts);
}

async function download(request: Visit): Promise<Response> {
  const visit = await MandateVisit.open(request);
  const { state, signed } = visit.opened;
  if (state !== "open" && !signed) return visit.closed() as PageAnswer;
  return asFile(visit, signed ?? visit.documentOf(wanted(visit)));
}

/** What was signed, as a document to keep. */
async function downloadPdf(request: Visit): Promise<Response> {
  const visit = await MandateVisit.open(request);
  if (!visit.opened.signed) return visit.closed() ?? visit.go("");
  return asPdf(visit, visit.act("read_link_mandate", {}), visit.frame.to("/pdf"));
}

/** Step 2. Who has not read step 1 as it is now goes back to it. */
const showSign = onOpenLink((visit) => {
  const seen = visit.c.req.query("seen");
  if (!seen) return visit.go("");
  const facts = visit.read(seen);
  if (!facts) return visit.page(changedPage(visit.frame), 409);
  return visit.formPage((returned) =>
    returned || facts.email === null || visit.opened.code_sent
      ? signPage(visit.frame, facts, visit.documentOf(facts), seen, returned ?? undefined)
      : askCodePage(visit.frame, facts, seen),
  );
});

const sendCode = onOpenLink(async (visit, facts) => {
  const seen = visit.form.get("seen") ?? "";
  const code = newCode();
  const { partner_name, full_name } = facts;
  const { config } = visit.environment;
  const sending = visit.act("send_mandate_code", {
    code_hash: visit.hashCode(code),
    mail: aboutMail(config, "mandate_code", visit.locale, { code, full_name, partner_name }),
  });
  const { refused } = await visit.attempt(sending, ["link_not_open", "signatory_email_missing", "too_many_codes"]);
  if (refused?.code === "too_many_codes")
    return visit.tooManyCodes(refused, visit.frame.to("/sign", { seen }), WORDS[visit.locale].back_to_sign);
  if (refused?.code === "link_not_open") return visit.go("", { seen });
  if (!refused) visit.logOutcome("sent");
  return visit.go("/sign", { seen }); // where no address is known, signing needs no code
});

const sign = onOpenLink(async (visit) => {
  const { frame, c, form } = visit;
  const facts = visit.read(form.get("seen"));
  if (!facts) return visit.page(changedPage(frame), 409);
  const [document, seen] = [visit.documentOf(facts), versionOf(facts)];

  const { code, name, errors } = readSignature(form, facts, frame.words);
  const again = (wrong: Errors) =>
    visit.again(frame.to("/sign", { seen }), wrong, (returned) => signPage(frame, facts, document, seen, returned));
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const { config } = visit.environment;
  const { full_name, partner_name } = facts;
  const link = `${config.PAGES_URL}/mandate/${visit.token}`;
  const signing = visit.act("sign_mandate", {
    facts,
    signed_name: name,
    code_hash: visit.hashCode(code),
    key: claimKey(visit.environment),
    document,
    document_sha256: hashSecret(document),
    address: visit.address,
    user_agent: c.req.header("user-agent") ?? null,
    mail: aboutMail(config, "mandate_signed", visit.locale, { link, full_name, partner_name, document }),
  });
  const { refused } = await visit.attempt(signing, ["link_not_open", "mandate_changed", ...CODE_REFUSALS]);
  if (!refused) {
    visit.logOutcome("signed");
    return visit.go("");
  }
  switch (refused.code) {
    case "link_not_open":
      return visit.go("");
    case "mandate_changed":
      return visit.page(changedPage(frame), 409);
    default:
      return again({ code: frame.words.code.errors[refused.code] });
  }
});

const showDecline = onOpenLink((visit, facts) =>
  visit.page(declinePage(visit.frame, facts.partner_name, visit.opened.held_until ?? null)),
);

const decline = onOpenLink(async (visit) => {
  const declining = visit.act("decline_mandate", {
    address: visit.address,
    user_agent: visit.c.req.header("user-agent") ?? null,
  });
  const { refused } = await visit.attempt(declining, ["link_not_open"]);
  if (!refused) visit.logOutcome("declined");
  return visit.go("");
});

/** Who signed by this link gets another one to sign again: in the last weeks of what was signed, and after it. */
async function renew(request: Visit): Promise<Response> {
  const visit = await MandateVisit.open(request);
  if (!visit.opened.may_sign_again) return visit.go("");
  const token = newSecret();
  const asking = visit.act("renew_mandate", { new_token_hash: hashSecret(token) });
  const { refused } = await visit.attempt(asking, ["link_not_open", "too_many_codes"]);
  if (refused?.code === "too_many_codes") return visit.tooManyCodes(refused, visit.frame.to(""));
  if (refused) return visit.go("");
  visit.logOutcome("renewed");
  return visit.c.redirect(`${visit.frame.root}/mandate/${token}?lang=${visit.locale}`, 303);
}

/** What each page of mandate.ts does, and each form. */
export const pages = {
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

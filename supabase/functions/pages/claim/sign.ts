import { REFUSALS } from "#shared/domain/claim/flow.ts";
import { readCode } from "../kit/code.ts";
import type { Errors } from "../kit/frame.ts";
import { type Offer, wishedPage, wishesOf } from "../kit/offer.ts";
import { asPdf } from "../kit/pdf.ts";
import {
  asFile,
  askCodePage,
  changedPage,
  readSignature,
  type Signed,
  type SigningFrame,
  signPage,
  versionOf,
} from "../kit/signature.ts";
import type { PageAnswer } from "../kit/visit.ts";
import { placeOf } from "./frame.ts";
import { mandatePage, revokePage } from "./signed_views.ts";
import { type ClaimVisit, holds, onClaim, onDraft, signable, welcome } from "./visit.ts";

/** A page of signing: every step before it is confirmed, or the claim is signed and may be again. */
const onFacts = (run: (visit: ClaimVisit) => PageAnswer) => onClaim(signable, run);

/** The pages of signing, which mandates of every origin share, where a claim has them. */
function signing({ frame }: ClaimVisit): SigningFrame {
  const pages: Record<string, string> = { "": "/mandate", "/code": "/sign-code" };
  return {
    ...frame,
    to: (page, query) => frame.to(pages[page] ?? page, query),
    place: placeOf(frame, "mandate"),
    within: { form_token: frame.form_token },
  };
}

export const showMandate = onFacts((visit) => {
  const wishes = wishesOf(visit);
  const page = mandatePage(visit.frame, visit.claim, visit.wanted, visit.documentOf(visit.wanted), wishes);
  return wishedPage(visit, page, wishes, visit.claim.offer as Offer);
});

export const showSign = onFacts((visit) => {
  const seen = visit.c.req.query("seen");
  if (!seen) return visit.go("/mandate");
  const frame = signing(visit);
  const facts = visit.read(seen);
  if (!facts) return visit.page(changedPage(frame), 409);
  return visit.formPage((returned) =>
    returned || visit.claim.code_sent
      ? signPage(frame, facts, visit.documentOf(facts), seen, returned ?? undefined)
      : askCodePage(frame, facts, seen),
  );
});

export const sendSignCode = onFacts((visit) => {
  const seen = visit.form.get("seen") ?? "";
  return visit.mailCode("sign", visit.go("/sign", { seen }), visit.frame.to("/sign", { seen }));
});

export const sign = onFacts(async (visit) => {
  const { c, form, flow, claim, locale, session } = visit;
  const frame = signing(visit);
  const facts = visit.read(form.get("seen"));
  if (!facts) return visit.page(changedPage(frame), 409);
  const [document, seen] = [visit.documentOf(facts), versionOf(facts)];
  const { code, name, errors } = readSignature(form, facts, frame.words);
  const again = (wrong: Errors) =>
    visit.again(frame.to("/sign", { seen }), wrong, (returned) => signPage(frame, facts, document, seen, returned));
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const user_agent = c.req.header("user-agent") ?? null;
  const about = { facts, brand: claim.brand ?? null, locale, address: visit.address, user_agent };
  const { refused } = await visit.attempt(
    flow.sign({ ...about, signed_name: name, code, proved_by: session?.proved_by }),
    REFUSALS.sign,
  );
  if (!refused) {
    visit.logOutcome("signed");
    // the code that signed also proves the address: sessions of a sign-in link have ended, and this browser continues
    return welcome(visit, flow, { proved_by: "code", stage: "active" }, `?lang=${locale}`);
  }
  switch (refused.code) {
    case "claim_conflict":
    case "claim_not_open":
      return visit.go("");
    case "mandate_changed":
      return visit.page(changedPage(frame), 409);
    case "charger_claimed":
      return visit.go("/charger", { taken: "1" });
    default:
      return again({ code: frame.words.code.errors[refused.code] });
  }
});

export const showRevoke = onClaim(holds, (visit) =>
  visit.formPage((returned) => revokePage(visit.frame, visit.claim, returned?.errors.code)),
);

export const sendRevokeCode = onClaim(holds, (visit) =>
  visit.mailCode("revoke", visit.go("/revoke"), visit.frame.to("/revoke")),
);

export const revoke = onClaim(holds, async (visit) => {
  const { errors } = visit.frame.words.code;
  const again = (code: string) =>
    visit.again(visit.frame.to("/revoke"), { code }, () => revokePage(visit.frame, visit.claim, code));
  const code = readCode(visit.form);
  if (code === null) return again(errors.code_missing);
  const { refused } = await visit.attempt(visit.flow.revoke(code, visit.session?.proved_by), REFUSALS.revoke);
  if (refused && refused.code !== "claim_not_open") return again(errors[refused.code]);
  if (refused) return visit.go("");
  visit.logOutcome("revoked");
  return visit.done("/mandate", "withdrawn");
});

/** The text, to be kept: as it was signed, for these years or those after, or with years in the address as it would be. */
export const download = onDraft((visit) => {
  const { signed, renewal, facts } = visit.claim;
  const { of, years } = visit.c.req.query();
  if (of === "renewal" && renewal) return asFile(visit, renewal);
  if (signed && !(years && facts)) return asFile(visit, signed);
  return facts ? asFile(visit, visit.documentOf(visit.wanted)) : visit.go("");
});

/** What was signed, for these years or those after, as a document to keep. */
export const downloadPdf = onClaim(
  ({ signed }) => signed !== undefined,
  (visit) => {
    const { signed, renewal } = visit.claim;
    const { of } = visit.c.req.query();
    const mandate = of === "renewal" && renewal ? renewal : (signed as Signed);
    const request = { ...proofOf(visit), mandate_id: mandate.mandate_id };
    return asPdf(visit, visit.call("read_claim_mandate", request), visit.frame.to("/pdf", of ? { of } : {}));
  },
);

/** What a payout was for, as a document to keep. */
export const downloadStatement = onClaim(
  ({ payouts, signed }) => signed !== undefined && (payouts ?? []).length > 0,
  (visit) => {
    const line_id = visit.c.req.param("line");
    if (!visit.claim.payouts?.some((payout) => payout.line_id === line_id)) return visit.go("");
    const request = { ...proofOf(visit), line_id };
    return asPdf(visit, visit.call("read_claim_statement", request), visit.frame.to(`/statement/${line_id}`));
  },
);

const proofOf = ({ flow, session }: ClaimVisit) => ({ draft_id: flow.draft_id, session });

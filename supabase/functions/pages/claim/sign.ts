import type { Offer, Signed } from "#shared/domain/answers.ts";
import { REFUSALS } from "#shared/domain/claim/flow.ts";
import { readCode } from "../kit/code.ts";
import type { Errors } from "../kit/frame.ts";
import { wishedPage, wishesOf } from "../kit/offer.ts";
import type { PageAnswer } from "../kit/page_request.ts";
import { asPdf } from "../kit/pdf.ts";
import {
  asFile,
  askCodePage,
  changedPage,
  readSignature,
  type SigningFrame,
  signPage,
  versionOf,
} from "../kit/signature.ts";
import { placeOf } from "./frame.ts";
import { type ClaimRequest, holds, onClaim, onDraft, signable, welcome } from "./request.ts";
import { mandatePage, revokePage } from "./signed_views.ts";

/** A page of signing: every step before it is confirmed, or the claim is signed and may be again. */
const onFacts = (run: (request: ClaimRequest) => PageAnswer) => onClaim(signable, run);

/** The pages of signing, which mandates of every origin share, where a claim has them. */
function signing({ frame }: ClaimRequest): SigningFrame {
  const pages: Record<string, string> = { "": "/mandate", "/code": "/sign-code" };
  return {
    ...frame,
    to: (page, query) => frame.to(pages[page] ?? page, query),
    place: placeOf(frame, "mandate"),
    within: { form_token: frame.form_token },
  };
}

export const showMandate = onFacts((request) => {
  const wishes = wishesOf(request);
  const page = mandatePage(request.frame, request.claim, request.wanted, request.documentOf(request.wanted), wishes);
  return wishedPage(request, page, wishes, request.claim.offer as Offer);
});

export const showSign = onFacts((request) => {
  const seen = request.c.req.query("seen");
  if (!seen) return request.go("/mandate");
  const frame = signing(request);
  const facts = request.read(seen);
  if (!facts) return request.page(changedPage(frame), 409);
  return request.formPage((returned) =>
    returned || request.claim.code_sent
      ? signPage(frame, facts, request.documentOf(facts), seen, returned ?? undefined)
      : askCodePage(frame, facts, seen),
  );
});

export const sendSignCode = onFacts((request) => {
  const seen = request.form.get("seen") ?? "";
  return request.mailCode("sign", request.go("/sign", { seen }), request.frame.to("/sign", { seen }));
});

export const sign = onFacts(async (request) => {
  const { c, form, flow, claim, locale, session } = request;
  const frame = signing(request);
  const facts = request.read(form.get("seen"));
  if (!facts) return request.page(changedPage(frame), 409);
  const [document, seen] = [request.documentOf(facts), versionOf(facts)];
  const { code, name, errors } = readSignature(form, facts, frame.words);
  const again = (wrong: Errors) =>
    request.again(frame.to("/sign", { seen }), wrong, (returned) => signPage(frame, facts, document, seen, returned));
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const user_agent = c.req.header("user-agent") ?? null;
  const about = { facts, brand: claim.brand ?? null, locale, address: request.address, user_agent };
  const { refused } = await request.attempt(
    flow.sign({ ...about, signed_name: name, code, proved_by: session?.proved_by }),
    REFUSALS.sign,
  );
  if (!refused) {
    request.logOutcome("signed");
    if (request.isFromMijn) return request.done("/mandate", "signed");
    // the code that signed also proves the address: sessions of a sign-in link have ended, and this browser continues
    return welcome(request, flow, { proved_by: "code", stage: "active" }, `?lang=${locale}`);
  }
  switch (refused.code) {
    case "claim_conflict":
    case "claim_not_open":
      return request.go("");
    case "mandate_changed":
      return request.page(changedPage(frame), 409);
    case "charger_claimed":
      return request.go("/charger", { taken: "1" });
    default:
      return again({ code: frame.words.code.errors[refused.code] });
  }
});

export const showRevoke = onClaim(holds, (request) =>
  request.formPage((returned) => revokePage(request.frame, request.claim, returned?.errors.code)),
);

export const sendRevokeCode = onClaim(holds, (request) =>
  request.mailCode("revoke", request.go("/revoke"), request.frame.to("/revoke")),
);

export const revoke = onClaim(holds, async (request) => {
  const { errors } = request.frame.words.code;
  const again = (code: string) =>
    request.again(request.frame.to("/revoke"), { code }, () => revokePage(request.frame, request.claim, code));
  const code = readCode(request.form);
  if (code === null) return again(errors.code_missing);
  const { refused } = await request.attempt(request.flow.revoke(code, request.session?.proved_by), REFUSALS.revoke);
  if (refused && refused.code !== "claim_not_open") return again(errors[refused.code]);
  if (refused) return request.go("");
  request.logOutcome("revoked");
  return request.done("", "withdrawn");
});

/** The text, to be kept: as it was signed, for these years or those after, or with years in the address as it would be. */
export const download = onDraft((request) => {
  const { signed, renewal, facts } = request.claim;
  const { of, years } = request.c.req.query();
  if (of === "renewal" && renewal) return asFile(request, renewal);
  if (signed && !(years && facts)) return asFile(request, signed);
  return facts ? asFile(request, request.documentOf(request.wanted)) : request.go("");
});

/** What was signed, for these years or those after, as a document to keep. */
export const downloadPdf = onClaim(
  ({ signed }) => signed !== undefined,
  (request) => {
    const { signed, renewal } = request.claim;
    const { of } = request.c.req.query();
    const mandate = of === "renewal" && renewal ? renewal : (signed as Signed);
    const asked = { ...proofOf(request), mandate_id: mandate.mandate_id };
    return asPdf(request, request.call("read_claim_mandate", asked), request.frame.to("/pdf", of ? { of } : {}));
  },
);

/** What a payout was for, as a document to keep. */
export const downloadStatement = onClaim(
  ({ payouts, signed }) => signed !== undefined && (payouts ?? []).length > 0,
  (request) => {
    const line_id = request.c.req.param("line");
    if (!request.claim.payouts?.some((payout) => payout.line_id === line_id)) return request.go("");
    const asked = { ...proofOf(request), line_id };
    return asPdf(request, request.call("read_claim_statement", asked), request.frame.to(`/statement/${line_id}`));
  },
);

const proofOf = ({ flow, session }: ClaimRequest) => ({ draft_id: flow.draft_id, session });

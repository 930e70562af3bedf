import { REFUSALS } from "#shared/domain/claim/flow.ts";
import { type CodeError, readCode } from "../kit/code.ts";
import { type Offer, wishedPage, wishesOf } from "../kit/offer.ts";
import type { Handler, PageAnswer } from "../kit/visit.ts";
import type { Claim } from "./model.ts";
import type { Name } from "./sql.ts";
import { proofPage, startPage } from "./start_views.ts";
import { ClaimVisit, flowOf, onDraft, underWay, welcome } from "./visit.ts";

/** Whether a code can prove the address: to begin with, or to see a signed claim in another browser. */
const provable = ({ state }: Claim) => state === "open" || state === "active";

/** The start, or where the customer left off. */
export const start = onDraft((visit) => {
  const { claim, session } = visit;
  const closed = visit.closed();
  if (closed) return closed;
  if (session && underWay(claim)) return visit.go(`/${claim.open_step ?? "mandate"}`);
  const wishes = wishesOf(visit);
  return wishedPage(visit, startPage(visit.frame, claim, wishes, visit.notice), wishes, claim.offer as Offer);
});

export const sendCode = onDraft((visit) =>
  provable(visit.claim)
    ? visit.mailCode("prove", visit.go("/proof"), visit.frame.to("/proof"))
    : (visit.closed() ?? visit.go("")),
);

export const showProof = onDraft((visit) => {
  const { claim, frame } = visit;
  if (!provable(claim) || !(claim.code_sent || visit.returned())) return visit.go("");
  return visit.formPage((returned) => proofPage(frame, claim.email ?? "", returned?.errors.code));
});

/** A form without a code in it. */
const askAgain = onDraft((visit) => {
  return provable(visit.claim) ? refuse(visit, "code_missing") : visit.go("");
});

function refuse(visit: ClaimVisit, error: CodeError): PageAnswer {
  const { claim, frame } = visit;
  const code = frame.words.code.errors[error];
  return visit.again(frame.to("/proof"), { code }, () => proofPage(frame, claim.email ?? "", code));
}

/** The one form that does not open the draft first: the statement that judges the code tells all that the answer shows. */
export const prove: Handler<Name> = async (request) => {
  const flow = flowOf(request);
  if (!flow) return request.unknown();
  const code = readCode(request.form);
  if (code === null) return askAgain(request);
  const proving = flow.prove<Claim>(code, request.address_hash, request.browser);
  const { answer, refused } = await request.attempt(proving, REFUSALS.prove);
  // this refusal comes with the claim, for its page
  const claim = answer ?? (refused.fields as { claim: Claim }).claim;
  const visit = new ClaimVisit(request, flow, claim);
  if (!refused) {
    visit.logOutcome("proven");
    const stage = claim.state === "active" ? "active" : "claimed";
    return welcome(visit, flow, { proved_by: "code", stage }, `?lang=${visit.locale}`);
  }
  switch (refused.code) {
    case "claim_conflict":
    case "claim_not_open":
      return visit.go("");
    case "code_expired":
      // Back, in a browser that it let in
      return visit.session ? visit.go("") : refuse(visit, refused.code);
    default:
      return refuse(visit, refused.code);
  }
};

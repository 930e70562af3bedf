import type { Offer } from "#shared/domain/answers.ts";
import type { Claim } from "#shared/domain/claim/answers.ts";
import { REFUSALS } from "#shared/domain/claim/flow.ts";
import { type CodeError, readCode } from "../kit/code.ts";
import { wishedPage, wishesOf } from "../kit/offer.ts";
import type { Handler, PageAnswer } from "../kit/page_request.ts";
import { ClaimRequest, flowOf, onDraft, underWay, welcome } from "./request.ts";
import type { Name } from "./sql.ts";
import { proofPage, startPage } from "./start_views.ts";

/** Whether a code can prove the address: to begin with, or to see a signed claim in another browser. */
const provable = ({ state }: Claim) => state === "open" || state === "active";

/** The start, or where the customer left off. */
export const start = onDraft((request) => {
  const { claim, session } = request;
  const closed = request.closed();
  if (closed) return closed;
  if (session && underWay(claim)) return request.go(`/${claim.open_step ?? "mandate"}`);
  const wishes = wishesOf(request);
  return wishedPage(request, startPage(request.frame, claim, wishes, request.notice), wishes, claim.offer as Offer);
});

export const sendCode = onDraft((request) =>
  provable(request.claim)
    ? request.mailCode("prove", request.go("/proof"), request.frame.to("/proof"))
    : (request.closed() ?? request.go("")),
);

export const showProof = onDraft((request) => {
  const { claim, frame } = request;
  if (!provable(claim) || !(claim.code_sent || request.returned())) return request.go("");
  return request.formPage((returned) => proofPage(frame, claim.email ?? "", returned?.errors.code));
});

/** A form without a code in it. */
const askAgain = onDraft((request) => {
  return provable(request.claim) ? refuse(request, "code_missing") : request.go("");
});

function refuse(request: ClaimRequest, error: CodeError): PageAnswer {
  const { claim, frame } = request;
  const code = frame.words.code.errors[error];
  return request.again(frame.to("/proof"), { code }, () => proofPage(frame, claim.email ?? "", code));
}

/** The one form that does not open the draft first: the statement that judges the code tells all that the answer shows. */
export const prove: Handler<Name> = async (bare) => {
  const flow = flowOf(bare);
  if (!flow) return bare.unknown();
  const code = readCode(bare.form);
  if (code === null) return askAgain(bare);
  const proving = flow.prove(code, bare.address_hash, bare.browser);
  const { answer, refused } = await bare.attempt(proving, REFUSALS.prove);
  // this refusal comes with the claim, for its page
  const claim = answer ?? (refused.fields as { claim: Claim }).claim;
  const request = new ClaimRequest(bare, flow, claim);
  if (!refused) {
    request.logOutcome("proven");
    const stage = claim.state === "active" ? "active" : "claimed";
    return welcome(request, flow, { proved_by: "code", stage }, `?lang=${request.locale}`);
  }
  switch (refused.code) {
    case "claim_conflict":
    case "claim_not_open":
      return request.go("");
    case "code_expired":
      // Back, in a browser that it let in
      return request.session ? request.go("") : refuse(request, refused.code);
    default:
      return refuse(request, refused.code);
  }
};

import { REFUSALS } from "#shared/domain/claim/flow.ts";
import type { Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import { readCode } from "../kit/code.ts";
import type { Errors } from "../kit/frame.ts";
import { asFile, askCodePage, changedPage, readSignature, type SigningFrame, signPage } from "../kit/signature.ts";
import type { Answer } from "../kit/visit.ts";
import { placeOf } from "./frame.ts";
import { mandatePage, revokePage } from "./signed_views.ts";
import { type ClaimVisit, holds, onClaim, onDraft, underWay, welcome } from "./visit.ts";

/** A page of signing: every step before it is confirmed. */
function onFacts(run: (visit: ClaimVisit, facts: Facts) => Answer) {
  return onClaim(underWay, (visit) => (visit.claim.facts ? run(visit, visit.claim.facts) : visit.go("")));
}

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

export const showMandate = onFacts((visit) =>
  visit.page(mandatePage(visit.frame, visit.claim, visit.document, visit.version)),
);

export const showSign = onFacts((visit, facts) => {
  const seen = visit.c.req.query("seen");
  if (!seen) return visit.go("/mandate");
  const frame = signing(visit);
  if (seen !== visit.version) return visit.page(changedPage(frame), 409);
  return visit.formPage((returned) =>
    returned || visit.claim.code_sent
      ? signPage(frame, facts, visit.document, seen, returned ?? undefined)
      : askCodePage(frame, facts, seen),
  );
});

export const sendSignCode = onFacts((visit) => {
  const seen = visit.form.get("seen") ?? "";
  return visit.mailCode("sign", visit.go("/sign", { seen }), visit.frame.to("/sign", { seen }));
});

export const sign = onFacts(async (visit, facts) => {
  const { c, form, flow, claim, locale, document, version, session } = visit;
  const frame = signing(visit);
  if (form.get("seen") !== version) return visit.page(changedPage(frame), 409);
  const { code, name, errors } = readSignature(form, facts, frame.words);
  const again = (wrong: Errors) =>
    visit.again(frame.to("/sign", { seen: version }), wrong, (returned) =>
      signPage(frame, facts, document, version, returned),
    );
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const user_agent = c.req.header("user-agent") ?? null;
  const about = { facts, brand: claim.brand ?? null, locale, address: visit.address, user_agent };
  const { refused } = await visit.attempt(
    flow.sign({ ...about, signed_name: name, code, proved_by: session?.proved_by }),
    REFUSALS.sign,
  );
  if (!refused) {
    visit.became("signed");
    // the code that signed proves the address too: what a sign-in link began has ended, this browser goes on
    return welcome(visit, flow.draft_id, { proved_by: "code", stage: "active" }, `?lang=${locale}`);
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
  const { refused } = await visit.attempt(visit.flow.revoke(code), REFUSALS.revoke);
  if (refused && refused.code !== "claim_not_open") return again(errors[refused.code]);
  if (!refused) visit.became("revoked");
  return visit.go("");
});

/** The text, to be kept: as it would be signed, or as it was. */
export const download = onDraft((visit) => {
  const { signed, facts } = visit.claim;
  return signed || facts ? asFile(visit, signed ?? visit.document) : visit.go("");
});

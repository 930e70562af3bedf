import type { Claim } from "#shared/domain/claim/answers.ts";
import { REFUSALS } from "#shared/domain/claim/flow.ts";
import { STEP_NAMES, type StepName } from "#shared/domain/claim/model.ts";
import { readCode } from "../kit/code.ts";
import type { Errors, Html } from "../kit/frame.ts";
import type { PageRequest } from "../kit/page_request.ts";
import type { Returned } from "../kit/returned.ts";
import { errorsOf, STEPS, shownValue } from "./answers.ts";
import { type ClaimRequest, isLater, onClaim, underWay } from "./request.ts";
import { askIbanCodePage } from "./signed_views.ts";
import { changesIban, STEP_VIEWS } from "./step_views.ts";
import { WORDS } from "./words.ts";

function isStep(name: string | undefined): name is StepName {
  return STEP_NAMES.some((step) => step === name);
}

const hasStep = (claim: Claim, step: string | undefined) => underWay(claim) || isLater(claim, step);

/** The charger's step shows the catalogue: its brands, and the models of one. */
function aboutStep({ c, form }: PageRequest): object {
  // empty: the customer wants to choose another brand than the known one
  const brand = form.get("brand") ?? c.req.query("brand") ?? (c.req.query("other") ? "" : null);
  return { step: c.req.param("step"), brand };
}

/** A step, as it was sent, and what is wrong with it. */
function stepAgain({ frame, claim }: ClaimRequest, name: StepName, { typed, errors }: Returned): Html {
  return STEP_VIEWS[name](frame, claim, shownValue(name, claim, typed), errors);
}

export const showStep = onClaim(
  hasStep,
  (request) => {
    const { claim, frame, form, c } = request;
    const name = c.req.param("step");
    if (!isStep(name)) return request.go("");
    const known = shownValue(name, claim, null);
    const brand = c.req.query("brand");
    // the brand that was just chosen wins over the known one
    const value = (field: string) => (field === "brand" && brand ? brand : known(field));
    const words = WORDS[request.locale];
    const errors = c.req.query("taken")
      ? errorsOf("charger_claimed", { form, words, kit: frame.words })
      : name === "charger" && brand === ""
        ? { brand: words.charger.errors.brand }
        : {};
    return request.formPage((returned) => {
      if (returned) return stepAgain(request, name, returned);
      return name === "payout" && changesIban(claim) && !claim.code_sent
        ? askIbanCodePage(frame, claim)
        : STEP_VIEWS[name](frame, claim, value, errors);
    });
  },
  aboutStep,
);

export const sendPayoutCode = onClaim(changesIban, (request) =>
  request.mailCode("iban", request.go("/payout"), request.frame.to("/payout")),
);

export const saveStep = onClaim(
  hasStep,
  async (request) => {
    const { claim, frame, form, flow, locale, environment, session } = request;
    const name = request.c.req.param("step");
    if (!isStep(name)) return request.go("");
    const words = WORDS[locale];
    const brand = form.get("brand");
    const again = (errors: Errors) =>
      request.again(frame.to(`/${name}`, brand ? { brand } : {}), errors, (returned) =>
        stepAgain(request, name, returned),
      );
    const read = await STEPS[name].read({ environment, form, claim, words });
    const code = readCode(form);
    const changing = name === "payout" && changesIban(claim);
    const missing = changing && code === null ? { code: frame.words.code.errors.code_missing } : {};
    if ("errors" in read) return again({ ...read.errors, ...missing });
    // a form of before there was an account number to change: a second click, or another browser's
    if (changing && !form.has("code")) return request.go(read.iban?.last4 === claim.iban_last4 ? "" : "/payout");
    if (missing.code) return again(missing);
    const { answer: next, refused } = isLater(claim, name)
      ? await request.attempt(
          flow
            .complete(
              name,
              { ...read, code, browser: request.browser, proved_by: session?.proved_by },
              locale,
              claim.brand ?? null,
            )
            .then(() => ""),
          REFUSALS.complete,
        )
      : await request.attempt(
          flow
            .save(name, { ...read, proved_by: session?.proved_by })
            .then(({ open_step }) => `/${open_step ?? "mandate"}`),
          REFUSALS.save,
        );
    if (refused)
      return refused.code === "claim_not_open"
        ? request.go("")
        : again(errorsOf(refused.code, { form, words, kit: frame.words }));
    request.logOutcome("saved");
    return isLater(claim, name) && name === "payout" ? request.done("/earnings", "account_changed") : request.go(next);
  },
  aboutStep,
);

import type { StepName } from "#shared/domain/claim/model.ts";
import type { Frame, Html, Place } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { WORDS } from "./words.ts";

export type ClaimFrame = Frame & {
  /** Of a browser in which the address was proven: what each of its forms sends along. */
  form_token: string;
  /** A step then stands by itself: it leads back to the page of the signed claim. */
  signed: boolean;
  /** Whether this browser may go on to the own pages without another code. */
  opens_own: boolean;
};

/** Where each page stands in the list of steps. */
const PLACES: Record<StepName | "proof" | "mandate", number> = {
  proof: 0,
  details: 1,
  company: 1,
  address: 2,
  ean: 2,
  payout: 3,
  charger: 4,
  mandate: 5,
};

/** Where a page stands among the steps; after the signature there are none any more. */
export function placeOf({ locale, signed }: ClaimFrame, page: keyof typeof PLACES): Place | undefined {
  return signed ? undefined : { steps: WORDS[locale].steps, step: PLACES[page] };
}

export const formToken = ({ form_token }: ClaimFrame): Html =>
  html`<input type="hidden" name="form_token" value="${form_token}">`;

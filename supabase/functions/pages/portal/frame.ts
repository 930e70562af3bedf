import type { Html, Page } from "../kit/frame.ts";
import { areaPage } from "../kit/signed_in_views.ts";
import type { Who } from "./model.ts";
import { type PortalFrame, SECTIONS, type Section } from "./request.ts";
import { WORDS } from "./words.ts";

/** A page of a partner. All are as wide, so that nothing jumps from one to the next. */
export function portalPage(frame: PortalFrame, section: Section, { email, partner_name }: Who, page: Page): Html {
  const words = WORDS[frame.locale];
  return areaPage(frame, SECTIONS, words.menu, section, words.signed_in(email, partner_name), {
    wide: true,
    first: 3,
    ...page,
  });
}

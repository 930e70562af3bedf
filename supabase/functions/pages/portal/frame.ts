import type { Html, Page } from "../kit/frame.ts";
import { areaPage } from "../kit/signed_in_views.ts";
import type { Who } from "./model.ts";
import { type PortalFrame, SECTIONS, type Section } from "./request.ts";
import { WORDS } from "./words.ts";

/** A page of a partner. */
export function portalPage(frame: PortalFrame, section: Section, { email, partner_name }: Who, page: Page): Html {
  const words = WORDS[frame.locale];
  return areaPage(
    frame,
    SECTIONS,
    words.menu,
    section,
    { name: partner_name, said: words.signed_in(email, partner_name) },
    {
      first: 3,
      ...page,
    },
  );
}

import { html } from "hono/html";
import type { Html, Page } from "../../kit/frame.ts";
import { portalPage } from "../frame.ts";
import type { Who } from "../model.ts";
import type { PortalFrame } from "../visit.ts";
import { WORDS } from "../words.ts";

/** One page of the settings, with the way back to all of them. */
export function settingPage(frame: PortalFrame, who: Who, { body, ...page }: Page): Html {
  return portalPage(frame, "/settings", who, {
    ...page,
    body: html`${body}
<p class="apart"><a class="link" href="${frame.to("/settings")}">${WORDS[frame.locale].settings.back}</a></p>`,
  });
}

import { layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import type { Flow, Handler } from "../kit/page_request.ts";
import { rowList } from "../kit/parts/rows.ts";
import { WORDS } from "./words.ts";

/** The front page, for visitors without a link. */
const show: Handler = (request) => {
  const { frame } = request;
  const words = WORDS[frame.locale];
  return request.page(
    layout(frame, {
      title: words.title,
      body: html`<p class="lead">${words.text(frame.config.SERVICE_NAME)}</p>
<p>${words.signatory}</p>
${rowList([
  { href: frame.to("/mijn"), what: words.mine, when: words.mine_has },
  { href: frame.to("/portal"), what: words.portal, when: words.portal_has },
  { href: `${frame.config.BASE_URL}/docs`, what: words.developers, when: words.docs },
])}`,
    }),
  );
};

export const home: Flow = {
  id: "the front page",
  sql: [],
  routes: [
    { method: "GET", path: "", run: show },
    { method: "GET", path: "/", run: show },
  ],
};

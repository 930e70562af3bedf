import type { Flow } from "../kit/page_request.ts";
import { loadedLate } from "../kit/routes.ts";

const does = loadedLate(() => import("./handlers.ts"));

/** Every part of the pages on one page, in both themes, for who builds and checks them. */
export const parts: Flow = {
  id: "the parts of pages",
  sql: [],
  routes: [
    { method: "GET", path: "/docs/parts", run: does("showParts") },
    { method: "GET", path: "/docs/parts.css", run: does("showPartsStyle") },
  ],
};

import type { Flow } from "../kit/page_request.ts";
import { loadedLate } from "../kit/routes.ts";
import { SQL } from "./sql.ts";

const does = loadedLate(() => import("./handlers.ts"));

const PATH = "/mandate/:token";

/** What a signatory does with the link to a mandate: read it, and sign or decline. */
export const mandate: Flow = {
  id: "the pages of a mandate",
  sql: SQL,
  routes: [
    { method: "GET", path: PATH, run: does("read") },
    { method: "GET", path: `${PATH}/document`, run: does("download") },
    { method: "GET", path: `${PATH}/pdf`, run: does("downloadPdf") },
    { method: "GET", path: `${PATH}/sign`, run: does("showSign") },
    { method: "POST", path: `${PATH}/sign`, run: does("sign") },
    { method: "POST", path: `${PATH}/code`, run: does("sendCode") },
    { method: "GET", path: `${PATH}/decline`, run: does("showDecline") },
    { method: "POST", path: `${PATH}/decline`, run: does("decline") },
    { method: "POST", path: `${PATH}/renew`, run: does("renew") },
  ],
};

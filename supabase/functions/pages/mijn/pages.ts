import { hashSecret } from "#shared/auth/tokens.ts";
import { STEP_NAMES } from "#shared/domain/claim/flow.ts";
import { beginClaimSession, claimPath, endClaimSession } from "../kit/claim_session.ts";
import { asPdf } from "../kit/pdf.ts";
import { signInHandlers } from "../kit/sign_in.ts";
import type { Handler } from "../kit/visit.ts";
import { type Asked, chargingPage, monthsCsv, sessionsCsv } from "./charging.ts";
import { earningsPage } from "./earnings.ts";
import { mandatesPage } from "./mandates.ts";
import type { Charging, Earnings, Mandates, Overview } from "./model.ts";
import { overviewPage } from "./overview.ts";
import { PATH } from "./sql.ts";
import { type MijnVisit, onSignIn, signedIn } from "./visit.ts";
import { WORDS } from "./words.ts";

/** Sessions of a page, and of a file: more than ten chargers have in a month. */
const PAGE = 50;
const FILE = 10_000;

/** The claim pages that the buttons lead to: what can be given later, signing again, and the end. */
const CLAIM_PAGES: readonly string[] = ["", ...STEP_NAMES.map((name) => `/${name}`), "/mandate", "/revoke"];
/** Long enough to read a mandate and sign it. */
const CLAIM_SECONDS = 3600;

const showSignIn = onSignIn((visit) => visit.signIn(visit.waiting()?.email));

const showOverview = signedIn(async (visit) =>
  visit.page(overviewPage(visit.frame, await visit.own<Overview>("read_own_overview"))),
);

/** The year and month of the address, as far as they can be ones; the month says the year. */
function askedOf({ c, environment }: MijnVisit): Asked {
  const now = Number(environment.now().toLocaleDateString("en", { year: "numeric", timeZone: "Europe/Amsterdam" }));
  const [, year = "", month] =
    /^(\d{4})(?:-(0[1-9]|1[0-2]))?$/.exec(c.req.query("month") ?? c.req.query("year") ?? "") ?? [];
  const page = c.req.query("page") ?? "";
  if (Number(year) < 2000 || Number(year) > now) return { year: null, month: null, page: 1 };
  return {
    year: Number(year),
    month: month ? `${year}-${month}` : null,
    page: /^[1-9]\d{0,3}$/.test(page) ? Number(page) : 1,
  };
}

const queryOf = ({ year, month }: Asked, limit: number, page = 1) => ({
  year,
  month: month && `${month}-01`,
  limit,
  offset: (page - 1) * limit,
});

const showCharging = signedIn(async (visit) => {
  const asked = askedOf(visit);
  const charging = await visit.own<Charging>("read_own_charging", queryOf(asked, PAGE, asked.page));
  return visit.page(chargingPage(visit.frame, charging, asked));
});

const downloadCharging = signedIn(async (visit) => {
  const asked = askedOf(visit);
  const charging = await visit.own<Charging>("read_own_charging", queryOf(asked, FILE));
  const text = asked.month ? sessionsCsv(visit.frame, charging) : monthsCsv(visit.frame, charging);
  return visit.c.body(text, 200, {
    "Content-Type": "text/csv; charset=utf-8",
    "Content-Disposition": `attachment; filename="${WORDS[visit.locale].charging.file}-${asked.month ?? charging.year}.csv"`,
  });
});

const showEarnings = signedIn(async (visit) => {
  const { year } = askedOf(visit);
  return visit.page(earningsPage(visit.frame, await visit.own<Earnings>("read_own_earnings", { year })));
});

const showMandates = signedIn(async (visit) =>
  visit.page(mandatesPage(visit.frame, await visit.own<Mandates>("read_own_mandates"))),
);

/** A document of the person's own as PDF; another's is none. */
const download = (page: string, key: "mandate_id" | "line_id") =>
  signedIn(async (visit) => {
    const id = visit.c.req.param("id") ?? "";
    const reading = visit.own<never>("read_own_document", { [key]: id });
    const { answer, refused } = await visit.attempt(asPdf(visit, reading, visit.frame.to(`${page}/${id}`)), [
      "mandate_not_found",
      "statement_not_found",
    ]);
    return refused ? visit.unknown() : answer;
  });

/** To the claim pages of an account, where the account number, the charger and the mandate are changed. */
const openClaim = signedIn(async (visit) => {
  const { c, environment, form, locale } = visit;
  const page = CLAIM_PAGES.find((each) => each === form.get("page"));
  const account_id = form.get("account") ?? "";
  if (page === undefined || !UUID.test(account_id)) return visit.unknown();
  const opening = visit.own<{ draft_id: string }>("open_own_claim", { account_id });
  const { answer, refused } = await visit.attempt(opening, ["account_not_found"]);
  if (refused) return visit.unknown();
  const { draft_id } = answer;
  const proof = { proved_by: "code", stage: "active" } as const;
  beginClaimSession(c, environment, draft_id, proof, c.var.root, CLAIM_SECONDS);
  return c.redirect(
    `${claimPath(c.var.root, environment, draft_id)}${page}?${new URLSearchParams({ lang: locale })}`,
    303,
  );
});

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Ends what this browser has: its session, and those of the claims it may have been led to. */
const signOut = signedIn(async (visit) => {
  const { c, environment } = visit;
  const token_hash = hashSecret(visit.cookie("session") ?? "");
  const { draft_ids } = await visit.own<{ draft_ids: string[] }>("end_page_session", { token_hash });
  for (const draft_id of draft_ids) endClaimSession(c, environment, draft_id, c.var.root);
  visit.forget("session");
  return visit.go("/sign-in", { out: "" });
});

/** The English name of the same pages. */
const inEnglish: Handler = ({ c, frame }) => {
  const query = new URLSearchParams({ ...c.req.query(), lang: "en" });
  return c.redirect(`${frame.root}${PATH}${c.req.path.replace(/^\/pages\/me/, "").replace(/\/$/, "")}?${query}`, 303);
};

/** What each page of mijn.ts does, and each form. */
export const pages = {
  ...signInHandlers(onSignIn),
  showSignIn,
  signOut,
  showOverview,
  showCharging,
  downloadCharging,
  showEarnings,
  downloadStatement: download("/statement", "line_id"),
  showMandates,
  downloadMandate: download("/mandate", "mandate_id"),
  openClaim,
  inEnglish,
};

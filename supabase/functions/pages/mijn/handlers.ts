import { hashSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { STEP_NAMES } from "#shared/domain/claim/model.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import type { Farewell } from "#shared/domain/mail/notices.ts";
import { lineOf } from "#shared/values/fields.ts";
import { PERSONAL_SCOPES } from "#shared/values/scopes.ts";
import { beginClaimSession, claimPath, endClaimSession } from "../kit/claim_session.ts";
import { dayOf } from "../kit/csv.ts";
import { csvFile } from "../kit/download.ts";
import { asPdf } from "../kit/pdf.ts";
import { putFlash } from "../kit/returned.ts";
import { isId } from "../kit/routes.ts";
import { signInHandlers } from "../kit/sign_in.ts";
import type { Handler } from "../kit/visit.ts";
import { accountPages } from "./account.ts";
import { chargersPage, removeChargerPage } from "./chargers.ts";
import { type ChargingQuery, chargingPage, monthsCsv, sessionsCsv } from "./charging.ts";
import { closedPage, dataCsv, dataPage, endPage } from "./data.ts";
import { earningsPage } from "./earnings.ts";
import { mandatesPage } from "./mandates.ts";
import type { Chargers, Charging, Earnings, Ending, Mandates, Overview, OwnData, Sharing, Tokens } from "./model.ts";
import { overviewPage } from "./overview.ts";
import { sharingPage, stopSharingPage } from "./sharing.ts";
import { PATH } from "./sql.ts";
import { LASTS, tokensPage } from "./tokens.ts";
import { type MijnVisit, onSignIn, signedIn, withLogin } from "./visit.ts";
import { withdrawalPages } from "./withdrawal.ts";
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
  visit.page(overviewPage(visit.frame, await visit.own<Overview>("read_own_start"))),
);

/** The year and month of the address, as far as they can be ones; the month says the year. */
function askedOf({ c, environment, pageAsked }: MijnVisit): ChargingQuery {
  const now = Number(dayOf(environment.now().toISOString()).slice(0, 4));
  const [, year = "", month] =
    /^(\d{4})(?:-(0[1-9]|1[0-2]))?$/.exec(c.req.query("month") ?? c.req.query("year") ?? "") ?? [];
  if (Number(year) < 2000 || Number(year) > now) return { year: null, month: null, page: 1 };
  return {
    year: Number(year),
    month: month ? `${year}-${month}` : null,
    page: pageAsked,
  };
}

const queryOf = ({ year, month }: ChargingQuery, limit: number, page = 1) => ({
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
  return csvFile(visit, `${WORDS[visit.locale].charging.file}-${asked.month ?? charging.year}`, text);
});

const showEarnings = signedIn(async (visit) => {
  const { year } = askedOf(visit);
  const news = visit.news().typed.get("news");
  return visit.page(earningsPage(visit.frame, await visit.own<Earnings>("read_own_earnings", { year }), news));
});

const showMandates = signedIn(async (visit) =>
  visit.page(mandatesPage(visit.frame, await visit.own<Mandates>("read_own_mandates"), visit.news().typed.get("news"))),
);

/** A document of the person as PDF; 404 for anybody else's. */
const download = (page: string, key: "mandate_id" | "line_id" | "part_id") =>
  signedIn(async (visit) => {
    const id = visit.c.req.param("id") ?? "";
    const reading = visit.own<never>("read_own_document", { [key]: id });
    const { answer, refused } = await visit.attempt(asPdf(visit, reading, visit.frame.to(`${page}/${id}`)), [
      "mandate_not_found",
      "statement_not_found",
      "settlement_not_found",
    ]);
    return refused ? visit.unknown() : answer;
  });

/** A year of an account as PDF. It is written when it is first asked for. */
const downloadOverview = signedIn(async (visit) => {
  const { id: account_id = "", year = "" } = visit.c.req.param();
  const reading = visit.own<never>("read_own_document", { account_id, year: Number(year) });
  const here = visit.frame.to(`/overview/${account_id}/${year}`);
  const { answer, refused } = await visit.attempt(asPdf(visit, reading, here), ["statement_not_found"]);
  return refused ? visit.unknown() : answer;
});

/** To the claim pages of an account, where the account number, the charger and the mandate are changed. */
const openClaim = withLogin(async (visit) => {
  const { c, environment, form, locale } = visit;
  const page = CLAIM_PAGES.find((each) => each === form.get("page"));
  const account_id = form.get("account") ?? "";
  if (page === undefined || !isId(account_id)) return visit.unknown();
  const opening = visit.own<{ draft_id: string }>("open_own_claim", { account_id });
  const { answer, refused } = await visit.attempt(opening, ["account_not_found"]);
  if (refused) return visit.unknown();
  const { draft_id } = answer;
  const proof = { proved_by: "code", stage: "active" } as const;
  beginClaimSession(c, environment, { draft_id }, proof, c.var.root, CLAIM_SECONDS);
  const query = new URLSearchParams({ lang: locale, ...(page ? { from: "mijn" } : {}) });
  return c.redirect(`${claimPath(c.var.root, environment, { draft_id })}${page}?${query}`, 303);
});

const showChargers = withLogin(async (visit) => {
  const news = visit.news();
  const chargers = await visit.own<Chargers>("read_own_chargers");
  return visit.pageOf(chargersPage(visit.frame, chargers, news, visit.environment.config.OCPP_GATEWAY_URL), news);
});

/** An OCPP charger: identity and password are made by the form, so that a second click shows the same. */
const addCharger = withLogin(async (visit) => {
  const { form, environment } = visit;
  const { config } = environment;
  const gateway = config.OCPP_GATEWAY_URL;
  if (gateway === undefined) return visit.unknown();
  const words = WORDS[visit.locale].chargers.errors;
  const name = lineOf(1, 100).safeParse((form.get("name") ?? "").trim());
  const secret = visit.secretOf("charger");
  if (!secret) return visit.foreign();
  const identity = `${config.KEY_PREFIX}-${secret.slice(0, 12)}`;
  // 40 hex digits: the longest password that chargers of OCPP 1.6 and 2.0.1 both take
  const password = secret.slice(-40);
  if (!name.success) return visit.refuse("/chargers", { name: words.name });
  const adding = visit.own("register_own_charger", {
    nickname: name.data,
    ocpp_identity: identity,
    password_hash: hashSecret(password),
  });
  const { refused } = await visit.attempt(adding, ["charger_limit_reached", "ocpp_identity_taken"]);
  if (refused?.code === "charger_limit_reached") return visit.refuse("/chargers", { name: words.limit });
  const address = `${gateway}/${identity}`;
  return visit.told("/chargers", "added", { address, identity, password_once: password });
});

/** A new password, made by the form as well. */
const renewChargerPassword = withLogin(async (visit) => {
  const gateway = visit.environment.config.OCPP_GATEWAY_URL;
  if (gateway === undefined) return visit.unknown();
  const secret = visit.secretOf("charger");
  if (!secret) return visit.foreign();
  const password = secret.slice(-40);
  const renewing = visit.own<{ identity: string }>("renew_ocpp_password", {
    charger_id: visit.c.req.param("id"),
    password_hash: hashSecret(password),
  });
  const { answer, refused } = await visit.attempt(renewing, ["charger_not_found"]);
  if (refused) return visit.unknown();
  const { identity } = answer;
  return visit.told("/chargers", "added", { address: `${gateway}/${identity}`, identity, password_once: password });
});

const chargerOf = async (visit: MijnVisit) => {
  const { email, chargers } = await visit.own<Chargers>("read_own_chargers");
  return { email, charger: chargers.find(({ id }) => id === visit.c.req.param("id")) };
};

const askRemoveCharger = withLogin(async (visit) => {
  const { email, charger } = await chargerOf(visit);
  return charger ? visit.page(removeChargerPage(visit.frame, email, charger)) : visit.unknown();
});

const removeCharger = withLogin(async (visit) => {
  const { removed } = await visit.own<{ removed: boolean }>("remove_own_charger", { id: visit.c.req.param("id") });
  return removed ? visit.told("/chargers", "removed") : visit.go("/chargers");
});

const showSharing = signedIn(async (visit) => {
  const news = visit.news().typed.get("news");
  return visit.page(sharingPage(visit.frame, await visit.own<Sharing>("read_own_sharing"), news));
});

const askStopSharing = withLogin(async (visit) => {
  const { email, partner } = await visit.own<Sharing>("read_own_sharing");
  return partner ? visit.page(stopSharingPage(visit.frame, email, partner)) : visit.go("/sharing");
});

const stopSharing = withLogin(async (visit) => {
  const partner_id = visit.form.get("partner") ?? "";
  if (!isId(partner_id)) return visit.unknown();
  const { ended } = await visit.own<{ ended: boolean }>("stop_sharing", { partner_id });
  return ended ? visit.told("/sharing", "stopped") : visit.go("/sharing");
});

const stopApplication = withLogin(async (visit) => {
  const client_id = visit.form.get("client") ?? "";
  if (!isId(client_id)) return visit.unknown();
  const { ended } = await visit.own<{ ended: boolean }>("stop_application", { client_id });
  return ended ? visit.told("/sharing", "ended") : visit.go("/sharing");
});

const showTokens = withLogin(async (visit) => {
  const news = visit.news();
  return visit.pageOf(tokensPage(visit.frame, await visit.own<Tokens>("read_own_tokens"), news), news);
});

const createToken = withLogin(async (visit) => {
  const { form, environment } = visit;
  const words = WORDS[visit.locale].tokens.errors;
  const name = lineOf(1, 100).safeParse((form.get("name") ?? "").trim());
  const scopes = PERSONAL_SCOPES.filter((scope) => form.getAll("scope").includes(scope));
  const lasts = LASTS.find((each) => each === form.get("expires"));
  if (!name.success || scopes.length === 0 || !lasts) {
    return visit.refuse("/tokens", {
      ...(name.success ? {} : { name: words.name }),
      ...(scopes.length > 0 ? {} : { scopes: words.scopes }),
      ...(lasts ? {} : { expires: words.expires }),
    });
  }
  const made = visit.secretOf("token");
  if (!made) return visit.foreign();
  const secret = `${environment.config.KEY_PREFIX}_pat_${made}`;
  const expires_at =
    lasts === "never" ? null : new Date(environment.now().getTime() + Number(lasts) * 86_400_000).toISOString();
  const creating = visit.own("create_personal_token", {
    name: name.data,
    scopes,
    expires_at,
    token_hash: hashSecret(secret),
    last4: secret.slice(-4),
  });
  const { refused } = await visit.attempt(creating, ["token_limit_reached", "recent_sign_in_required"]);
  if (refused?.code === "recent_sign_in_required")
    return visit.codeFirst("/tokens", (await visit.own<Tokens>("read_own_tokens")).email);
  if (refused) return visit.refuse("/tokens", { name: words.limit });
  return visit.told("/tokens", "created", { secret });
});

const revokeToken = withLogin(async (visit) => {
  const id = visit.form.get("token") ?? "";
  const { refused } = await visit.attempt(visit.own("revoke_personal_token", { id }), ["token_not_found"]);
  return refused ? visit.unknown() : visit.told("/tokens", "revoked");
});

const showData = withLogin(async (visit) => visit.page(dataPage(visit.frame, await visit.own<Ending>("read_own_end"))));

const downloadData = withLogin(async (visit) =>
  visit.c.body(JSON.stringify(await visit.own("export_own_data"), null, 2), 200, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Disposition": `attachment; filename="${WORDS[visit.locale].data.file}.json"`,
  }),
);

const downloadTable = withLogin(async (visit) =>
  csvFile(visit, WORDS[visit.locale].data.file, dataCsv(visit.frame, await visit.own<OwnData>("export_own_data"))),
);

const askEnd = withLogin(async (visit) => {
  const news = visit.news().typed.get("news");
  return visit.page(endPage(visit.frame, await visit.own<Ending>("read_own_end"), news === "iban"));
});

const endAccount = withLogin(async (visit) => {
  const { c, environment, locale } = visit;
  const ending = visit.own<{ closed: boolean; end: Farewell }>("close_own_account", {
    operator: environment.config.SUPPORT_EMAIL,
    key: claimKey(environment),
    mail: aboutMail(environment.config, "account_closed", locale, {}),
  });
  const { answer, refused } = await visit.attempt(ending, ["recent_sign_in_required"]);
  if (refused) return visit.codeFirst("/data/end", (await visit.own<Ending>("read_own_end")).email);
  if (!answer.closed) return visit.told("/data/end", "iban");
  visit.logOutcome("closed");
  visit.forget("session");
  // for this browser, which is signed in no more
  const tell = (page: string, told: Record<string, string>) =>
    putFlash(
      c,
      environment,
      { path: `${c.var.root}${PATH}${page}`, whose: "" },
      { typed: new URLSearchParams(told), errors: {} },
    );
  tell("/closed", { end: JSON.stringify(answer.end) });
  tell("/sign-in", { news: "closed" }); // where Back leads
  return visit.go("/closed");
});

const showClosed = onSignIn((visit) => {
  const end = visit.returned()?.typed.get("end");
  return visit.page(closedPage(visit.frame, end ? JSON.parse(end) : null));
});

/** Ends what this browser has: its session, and those of the claims it may have been led to. */
const signOut = signedIn(async (visit) => {
  const { c, environment } = visit;
  const { draft_ids } = await visit.endSession();
  for (const draft_id of draft_ids) endClaimSession(c, environment, draft_id, c.var.root);
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
  downloadSettlement: download("/settlement", "part_id"),
  downloadOverview,
  ...accountPages,
  ...withdrawalPages,
  showMandates,
  downloadMandate: download("/mandate", "mandate_id"),
  openClaim,
  showChargers,
  addCharger,
  askRemoveCharger,
  removeCharger,
  renewChargerPassword,
  showSharing,
  askStopSharing,
  stopSharing,
  stopApplication,
  showTokens,
  createToken,
  revokeToken,
  showData,
  downloadData,
  downloadTable,
  showClosed,
  askEnd,
  endAccount,
  inEnglish,
};

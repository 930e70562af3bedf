import { hashSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { STEP_NAMES } from "#shared/domain/claim/model.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { dayOf } from "#shared/values/dutch_clock.ts";
import { lineOf, ocppIdentity, serialNumber } from "#shared/values/fields.ts";
import { PERSONAL_SCOPES } from "#shared/values/scopes.ts";
import { beginClaimSession, claimPath } from "../kit/claim_session.ts";
import { csvFile } from "../kit/download.ts";
import type { Handler } from "../kit/page_request.ts";
import { asPdf } from "../kit/pdf.ts";
import { putFlash } from "../kit/returned.ts";
import { isId } from "../kit/routes.ts";
import { signInHandlers } from "../kit/sign_in.ts";
import { accountPages } from "./account.ts";
import { chargersPage, removeChargerPage, WAYS } from "./chargers.ts";
import { type ChargingQuery, chargingPage, monthsCsv, sessionsCsv } from "./charging.ts";
import { closedPage, dataCsv, dataPage, endPage } from "./data.ts";
import { earningsPage } from "./earnings.ts";
import { mandatesPage } from "./mandates.ts";
import { overviewPage } from "./overview.ts";
import { type MijnRequest, onSignIn, signedIn, withLogin } from "./request.ts";
import { sharingPage, stopSharingPage } from "./sharing.ts";
import { PATH } from "./sql.ts";
import { LASTS, tokensPage } from "./tokens.ts";
import { withdrawalPages } from "./withdrawal.ts";
import { WORDS } from "./words.ts";

/** Sessions of a page, and of a file: more than ten chargers have in a month. */
const PAGE = 50;
const FILE = 10_000;

/** The claim pages that the buttons lead to: what can be given later, signing again, and the end. */
const CLAIM_PAGES: readonly string[] = ["", ...STEP_NAMES.map((name) => `/${name}`), "/mandate", "/revoke"];
/** Long enough to read a mandate and sign it. */
const CLAIM_SECONDS = 3600;

const showSignIn = onSignIn((request) => request.signIn(request.waiting()?.email));

const showOverview = signedIn(async (request) =>
  request.page(
    overviewPage(request.frame, await request.own("read_own_start"), request.news().typed.get("news") === "withdrawn"),
  ),
);

/** The year and month of the address, as far as they can be ones; the month says the year. */
function askedOf({ c, environment, pageAsked }: MijnRequest): ChargingQuery {
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

const showCharging = signedIn(async (request) => {
  const asked = askedOf(request);
  const charging = await request.own("read_own_charging", queryOf(asked, PAGE, asked.page));
  return request.page(chargingPage(request.frame, charging, asked));
});

const downloadCharging = signedIn(async (request) => {
  const asked = askedOf(request);
  const charging = await request.own("read_own_charging", queryOf(asked, FILE));
  const text = asked.month ? sessionsCsv(request.frame, charging) : monthsCsv(request.frame, charging);
  return csvFile(request, `${WORDS[request.locale].charging.file}-${asked.month ?? charging.year}`, text);
});

const showEarnings = signedIn(async (request) => {
  const { year } = askedOf(request);
  const news = request.news().typed.get("news");
  return request.page(earningsPage(request.frame, await request.own("read_own_earnings", { year }), news));
});

const showMandates = signedIn(async (request) =>
  request.page(mandatesPage(request.frame, await request.own("read_own_mandates"), request.news().typed.get("news"))),
);

/** A document of the person as PDF; 404 for anybody else's. */
const download = (page: string, key: "mandate_id" | "line_id" | "part_id") =>
  signedIn(async (request) => {
    const id = request.c.req.param("id") ?? "";
    const reading = request.own("open_own_document", { [key]: id });
    const { answer, refused } = await request.attempt(asPdf(request, reading, request.frame.to(`${page}/${id}`)), [
      "mandate_not_found",
      "statement_not_found",
      "settlement_not_found",
    ]);
    return refused ? request.unknown() : answer;
  });

/** A year of an account as PDF. It is written when it is first asked for. */
const downloadOverview = signedIn(async (request) => {
  const { id: account_id = "", year = "" } = request.c.req.param();
  const reading = request.own("open_own_document", { account_id, year: Number(year) });
  const here = request.frame.to(`/overview/${account_id}/${year}`);
  const { answer, refused } = await request.attempt(asPdf(request, reading, here), ["statement_not_found"]);
  return refused ? request.unknown() : answer;
});

/** To the claim pages of an account, where the account number, the charger and the mandate are changed. */
const openClaim = withLogin(async (request) => {
  const { c, environment, form, locale } = request;
  const page = CLAIM_PAGES.find((each) => each === form.get("page"));
  const account_id = form.get("account") ?? "";
  if (page === undefined || !isId(account_id)) return request.unknown();
  const opening = request.own("open_own_claim", { account_id });
  const { answer, refused } = await request.attempt(opening, ["account_not_found"]);
  if (refused) return request.unknown();
  const { draft_id } = answer;
  const proof = { proved_by: "code", stage: "active" } as const;
  beginClaimSession(c, environment, { draft_id }, proof, c.var.root, CLAIM_SECONDS);
  const query = new URLSearchParams({ lang: locale, ...(page ? { from: "mijn" } : {}) });
  return c.redirect(`${claimPath(c.var.root, environment, { draft_id })}${page}?${query}`, 303);
});

const showChargers = withLogin(async (request) => {
  const news = request.news();
  const { req } = request.c;
  // the script asks whether it is heard
  const since = req.query("since");
  if (since && !news.typed.has("since")) {
    news.typed.set("since", since);
    news.typed.set("identity", req.query("identity") ?? "");
  }
  const chargers = await request.own("read_own_chargers");
  return request.pageOf(chargersPage(request.frame, chargers, news, request.environment.config.OCPP_GATEWAY_URL), news);
});

/** What a form makes for one charger: its password, and the secret in the address of a mirror. */
const secretsOf = (request: MijnRequest, charger: string) => ({
  // 40 hex digits: the longest password that chargers of OCPP 1.6 and 2.0.1 both take
  password: (request.secretOf(`charger ${charger}`) ?? "").slice(-40),
  mirror: (request.secretOf(`mirror ${charger}`) ?? "").slice(-40),
});

/** Shown once, and only what fits the charger. What it says since this second, it says with these. */
const tellCredentials = (
  request: MijnRequest,
  gateway: string,
  { identity, password, mirror }: Record<"identity" | "password" | "mirror", string>,
) =>
  request.told("/chargers", "added", {
    identity,
    since: `${request.environment.now().toISOString().slice(0, 19)}Z`,
    ...(request.form.get("way") === "copy"
      ? { mirror_once: `${gateway}/m/${mirror}` }
      : { address: `${gateway}/${encodeURIComponent(identity)}`, password_once: password }),
  });

/** An OCPP charger: the form makes the password, and the identity of a charger without one. A second click shows the same. */
const addCharger = withLogin(async (request) => {
  const { form, environment } = request;
  const { config } = environment;
  const gateway = config.OCPP_GATEWAY_URL;
  if (gateway === undefined) return request.unknown();
  const words = WORDS[request.locale].chargers.errors;
  const name = lineOf(1, 100).safeParse((form.get("name") ?? "").trim());
  const secret = request.secretOf("charger");
  if (!secret) return request.foreign();
  const way = WAYS.find((each) => each === form.get("way"));
  // what was typed under the other answer is none of this one's
  const own = way === "copy" ? "" : (form.get("ocpp_identity") ?? "").trim();
  const identity = own || `${config.KEY_PREFIX}-${secret.slice(0, 12)}`;
  const { password, mirror } = secretsOf(request, identity);
  const errors = {
    ...(name.success ? {} : { name: words.name }),
    ...(way ? {} : { way: words.way }),
    ...(ocppIdentity().safeParse(identity).success ? {} : { ocpp_identity: words.identity }),
  };
  if (!name.success || !way || errors.ocpp_identity) return request.refuse("/chargers", errors);
  const adding = request.own("register_own_charger", {
    nickname: name.data,
    ocpp_identity: identity,
    password_hash: hashSecret(password),
    mirror_hash: hashSecret(mirror),
  });
  const { refused } = await request.attempt(adding, ["charger_limit_reached", "ocpp_identity_taken"]);
  if (refused)
    return request.refuse(
      "/chargers",
      refused.code === "charger_limit_reached" ? { name: words.limit } : { ocpp_identity: words.identity_taken },
    );
  return tellCredentials(request, gateway, { identity, password, mirror });
});

/** A new password, made by the form as well. The shortest, if the charger takes no longer one. */
const renewChargerPassword = withLogin(async (request) => {
  const gateway = request.environment.config.OCPP_GATEWAY_URL;
  if (gateway === undefined) return request.unknown();
  const charger_id = request.c.req.param("id") ?? "";
  const made = secretsOf(request, charger_id);
  if (!made.mirror) return request.foreign();
  const password = made.password.slice(request.form.get("way") === "short" ? -16 : -40);
  const { mirror } = made;
  const renewing = request.own("renew_ocpp_password", {
    charger_id,
    password_hash: hashSecret(password),
    mirror_hash: hashSecret(mirror),
  });
  const { answer, refused } = await request.attempt(renewing, ["charger_not_found"]);
  if (refused) return request.unknown();
  const { identity } = answer;
  return tellCredentials(request, gateway, { identity, password, mirror });
});

/** What a charger is that did not tell it. */
const chooseChargerModel = withLogin(async (request) => {
  const { form, c } = request;
  const id = c.req.param("id") ?? "";
  const words = WORDS[request.locale].chargers.errors;
  const [model, serial] = [`model-${id}`, `serial-${id}`];
  const serial_number = serialNumber().safeParse((form.get(serial) ?? "").trim());
  // one that told its model is only asked for its serial number
  const catalog_charger_id = form.get(model);
  const isNumber = catalog_charger_id === null;
  const isModel = isNumber || isId(catalog_charger_id);
  const errors = {
    ...(isModel ? {} : { [model]: words.model }),
    ...(serial_number.data ? {} : { [serial]: words.serial }),
  };
  if (!serial_number.data || !isModel) return request.refuse("/chargers", errors);
  const choosing = request.own("choose_own_model", {
    charger_id: id,
    catalog_charger_id,
    serial_number: serial_number.data,
  });
  const { refused } = await request.attempt(choosing, ["charger_not_found", "charger_claimed"]);
  if (refused?.code === "charger_claimed") return request.refuse("/chargers", { [serial]: words.claimed });
  return refused ? request.unknown() : request.told("/chargers", isNumber ? "numbered" : "chosen");
});

const chargerOf = async (request: MijnRequest) => {
  const { email, chargers } = await request.own("read_own_chargers");
  return { email, charger: chargers.find(({ id }) => id === request.c.req.param("id")) };
};

const askRemoveCharger = withLogin(async (request) => {
  const { email, charger } = await chargerOf(request);
  return charger ? request.page(removeChargerPage(request.frame, email, charger)) : request.unknown();
});

const removeCharger = withLogin(async (request) => {
  const { removed } = await request.own("remove_own_charger", { id: request.c.req.param("id") });
  return removed ? request.told("/chargers", "removed") : request.go("/chargers");
});

const showSharing = signedIn(async (request) => {
  const news = request.news().typed.get("news");
  return request.page(sharingPage(request.frame, await request.own("read_own_sharing"), news));
});

const askStopSharing = withLogin(async (request) => {
  const { email, partner } = await request.own("read_own_sharing");
  return partner ? request.page(stopSharingPage(request.frame, email, partner)) : request.go("/sharing");
});

const stopSharing = withLogin(async (request) => {
  const partner_id = request.form.get("partner") ?? "";
  if (!isId(partner_id)) return request.unknown();
  const { ended } = await request.own("stop_sharing", { partner_id });
  return ended ? request.told("/sharing", "stopped") : request.go("/sharing");
});

const stopApplication = withLogin(async (request) => {
  const client_id = request.form.get("client") ?? "";
  if (!isId(client_id)) return request.unknown();
  const { ended } = await request.own("stop_application", { client_id });
  return ended ? request.told("/sharing", "ended") : request.go("/sharing");
});

const showTokens = withLogin(async (request) => {
  const news = request.news();
  return request.pageOf(tokensPage(request.frame, await request.own("read_own_tokens"), news), news);
});

const createToken = withLogin(async (request) => {
  const { form, environment } = request;
  const words = WORDS[request.locale].tokens.errors;
  const name = lineOf(1, 100).safeParse((form.get("name") ?? "").trim());
  const scopes = PERSONAL_SCOPES.filter((scope) => form.getAll("scope").includes(scope));
  const lasts = LASTS.find((each) => each === form.get("expires"));
  if (!name.success || scopes.length === 0 || !lasts) {
    return request.refuse("/tokens", {
      ...(name.success ? {} : { name: words.name }),
      ...(scopes.length > 0 ? {} : { scopes: words.scopes }),
      ...(lasts ? {} : { expires: words.expires }),
    });
  }
  const made = request.secretOf("token");
  if (!made) return request.foreign();
  const secret = `${environment.config.KEY_PREFIX}_pat_${made}`;
  const expires_at =
    lasts === "never" ? null : new Date(environment.now().getTime() + Number(lasts) * 86_400_000).toISOString();
  const creating = request.own("create_personal_token", {
    name: name.data,
    scopes,
    expires_at,
    token_hash: hashSecret(secret),
    last4: secret.slice(-4),
  });
  const { refused } = await request.attempt(creating, ["token_limit_reached", "recent_sign_in_required"]);
  if (refused?.code === "recent_sign_in_required")
    return request.codeFirst("/tokens", (await request.own("read_own_tokens")).email);
  if (refused) return request.refuse("/tokens", { name: words.limit });
  return request.told("/tokens", "created", { secret });
});

const revokeToken = withLogin(async (request) => {
  const id = request.form.get("token") ?? "";
  const { refused } = await request.attempt(request.own("revoke_personal_token", { id }), ["token_not_found"]);
  return refused ? request.unknown() : request.told("/tokens", "revoked");
});

const showData = withLogin(async (request) => request.page(dataPage(request.frame, await request.own("read_own_end"))));

const downloadData = withLogin(async (request) =>
  request.c.body(JSON.stringify(await request.own("export_own_data"), null, 2), 200, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Disposition": `attachment; filename="${WORDS[request.locale].data.file}.json"`,
  }),
);

const downloadTable = withLogin(async (request) =>
  csvFile(request, WORDS[request.locale].data.file, dataCsv(request.frame, await request.own("export_own_data"))),
);

const askEnd = withLogin(async (request) => {
  const news = request.news().typed.get("news");
  return request.page(endPage(request.frame, await request.own("read_own_end"), news === "iban"));
});

const endAccount = withLogin(async (request) => {
  const { c, environment, locale } = request;
  const ending = request.own("close_own_account", {
    operator: environment.config.SUPPORT_EMAIL,
    key: claimKey(environment),
    mail: aboutMail(environment.config, "account_closed", locale, {}),
  });
  const { answer, refused } = await request.attempt(ending, ["recent_sign_in_required"]);
  if (refused) return request.codeFirst("/data/end", (await request.own("read_own_end")).email);
  if (!answer.closed) return request.told("/data/end", "iban");
  request.logOutcome("closed");
  request.forget("session");
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
  return request.go("/closed");
});

const showClosed = onSignIn((request) => {
  const end = request.returned()?.typed.get("end");
  return request.page(closedPage(request.frame, end ? JSON.parse(end) : null));
});

const signOut = signedIn(async (request) => {
  await request.endSession();
  return request.go("/sign-in", { out: "" });
});

const goToPortal = withLogin((request) => request.goOn("/portal"));

/** The English name of the same pages. */
const inEnglish: Handler = ({ c, frame }) => {
  const query = new URLSearchParams({ ...c.req.query(), lang: "en" });
  return c.redirect(`${frame.root}${PATH}${c.req.path.replace(/^\/pages\/me/, "").replace(/\/$/, "")}?${query}`, 303);
};

/** What each page of mijn.ts does, and each form. */
export const handlers = {
  ...signInHandlers(onSignIn),
  showSignIn,
  signOut,
  goToPortal,
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
  chooseChargerModel,
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

import { Buffer } from "node:buffer";
import { claimKey } from "#shared/domain/claim/links.ts";
import { type EventType, typesOf } from "#shared/domain/events.ts";
import { refusedUrl } from "#shared/domain/outbound/url.ts";
import { awaitPing } from "#shared/domain/webhooks/ping.ts";
import { newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { toCsv } from "../../kit/csv.ts";
import { csvFile } from "../../kit/download.ts";
import { newOnce } from "../../kit/signed_in_views.ts";
import type { PageAnswer } from "../../kit/visit.ts";
import type { Attempt, OneWebhook, Webhooks } from "../model.ts";
import { type PortalVisit, signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import { askTwicePage, codeFirst } from "./frame.ts";
import {
  ATTEMPTS,
  attemptLines,
  changeWebhookPage,
  type LoggedEvent,
  REPLAYS,
  sentEventPage,
  webhookPage,
  webhooksPage,
} from "./webhook_views.ts";

const PAGE = "/settings/webhooks";
/** Of a file. */
const MOST_ATTEMPTS = 10_000;
const HOUR_MS = 3_600_000;

const idOf = (visit: PortalVisit) => visit.c.req.param("id") ?? "";
const pageOf = (visit: PortalVisit) => `${PAGE}/${idOf(visit)}`;

export const showWebhooks = signedIn(async (visit) => {
  const news = visit.news();
  return visit.pageOf(webhooksPage(visit.frame, await visit.own<Webhooks>("read_portal_webhooks"), news), news);
});

/** An id that is as good as random, of a hash that is. */
const uuidOf = (hash: string) =>
  [hash.slice(0, 8), hash.slice(8, 12), `4${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join(
    "-",
  );

/** The secret that a form makes, and its id: both the same however often the form is sent. Null for none of our forms. */
function secretOf(visit: PortalVisit, use: string) {
  const bytes = visit.secretOf(use);
  const id = visit.secretOf(`id of ${use}`);
  return bytes && id ? { secret: newWebhookSecret(Buffer.from(bytes, "hex")), secret_id: uuidOf(id) } : null;
}

/** The address and event types that a form asks for, null for all types; or the way back to `page`, which says what is wrong. */
function endpointOf(visit: PortalVisit, page: string): { url: string; types: EventType[] | null } | Response {
  const { form, environment, locale } = visit;
  const words = WORDS[locale].settings.webhooks.errors;
  const sent = (form.get("url") ?? "").trim();
  const types =
    form.get("which") === "some" ? typesOf("partner").filter((type) => form.getAll("type").includes(type)) : null;
  const wrong = {
    ...(refusedUrl(sent, environment.config) ? { url: words.url } : {}),
    ...(types?.length === 0 ? { which: words.which } : {}),
  };
  return Object.keys(wrong).length > 0 ? visit.refuse(page, wrong) : { url: new URL(sent).href, types };
}

/** Whether everything was chosen, and something ticked: said, because that is not asked for apart. */
const allAnyway = (form: URLSearchParams) =>
  form.get("which") !== "some" && form.has("type") ? { all_anyway: "yes" } : {};

export const addWebhook = signedIn(async (visit) => {
  const asked = endpointOf(visit, PAGE);
  if (asked instanceof Response) return asked;
  const made = secretOf(visit, "webhook");
  if (!made) return visit.foreign();
  const { secret, secret_id } = made;
  const sealed = sealWebhookSecret(visit.environment, secret_id, secret);
  const creating = visit.own("create_webhook", { ...asked, id: secret_id, secret: sealed, secret_id });
  const { refused } = await visit.attempt(creating, ["endpoint_limit", "recent_sign_in_required"]);
  if (refused?.code === "recent_sign_in_required") return visit.codeBefore(PAGE);
  if (refused) return visit.refuse(PAGE, { url: WORDS[visit.locale].settings.webhooks.errors.limit });
  return visit.told(`${PAGE}/${secret_id}`, "added", { secret, ...allAnyway(visit.form) });
});

/** A page or a form of an endpoint; 404 for another partner's. */
const onWebhook = (run: (visit: PortalVisit) => Promise<Response>) =>
  signedIn(async (visit) => {
    const { answer, refused } = await visit.attempt(run(visit), ["webhook_not_found", "event_not_found"]);
    return refused ? visit.unknown() : answer;
  });

const read = (visit: PortalVisit, limit = 0, skip = 0) =>
  visit.own<OneWebhook>("read_portal_webhook", { webhook_id: idOf(visit), skip, limit });

export const showWebhook = onWebhook(async (visit) => {
  const page = visit.pageAsked;
  const shown = await read(visit, ATTEMPTS, (page - 1) * ATTEMPTS);
  if (page > 1 && shown.attempts.length === 0) return visit.go(pageOf(visit));
  const news = visit.news();
  return visit.pageOf(webhookPage(visit.frame, shown, page, news), news);
});

export const downloadAttempts = onWebhook(async (visit) => {
  const { attempts } = await read(visit, MOST_ATTEMPTS);
  const { attempts_file } = WORDS[visit.locale].settings.webhooks;
  return csvFile(visit, attempts_file, toCsv(visit.locale, attemptLines(visit.frame, attempts)));
});

/** What cannot be asked of an endpoint that is paused. */
async function whileEnabled<Result>(
  visit: PortalVisit,
  act: Promise<Result>,
  then: (result: Result) => PageAnswer,
): Promise<Response> {
  const { answer, refused } = await visit.attempt(act, ["endpoint_disabled"]);
  return refused ? visit.told(pageOf(visit), "paused") : then(answer);
}

export const showChangeWebhook = onWebhook(async (visit) => {
  const news = visit.news();
  return visit.pageOf(changeWebhookPage(visit.frame, await read(visit), news), news);
});

export const changeWebhook = onWebhook(async (visit) => {
  const page = `${pageOf(visit)}/change`;
  const asked = endpointOf(visit, page);
  if (asked instanceof Response) return asked;
  const changing = visit.own("update_webhook", { ...asked, webhook_id: idOf(visit) });
  const { refused } = await visit.attempt(changing, ["recent_sign_in_required"]);
  if (refused) return visit.codeBefore(page);
  visit.environment.kick();
  return visit.told(pageOf(visit), "changed", allAnyway(visit.form));
});

const eventOf = (visit: PortalVisit) => visit.c.req.param("event") ?? "";

/** What was sent of one event: made again from the log, as it was. */
export const showSentEvent = onWebhook(async (visit) => {
  const shown = await read(visit);
  const reading = visit.own<LoggedEvent>("get_event", {
    event_id: eventOf(visit),
    key: claimKey(visit.environment),
  });
  const { answer, refused } = await visit.attempt(reading, ["event_not_found"]);
  return visit.page(sentEventPage(visit.frame, shown, refused ? null : answer));
});

export const sendEventAgain = onWebhook((visit) => {
  const event = eventOf(visit);
  const again = visit.own<{ events: number }>("replay_webhook", { webhook_id: idOf(visit), from: event, to: event });
  return whileEnabled(visit, again, ({ events }) => {
    visit.environment.kick();
    return visit.told(pageOf(visit), "replayed", { events: String(events) });
  });
});

export const testWebhook = onWebhook((visit) => {
  const webhook_id = idOf(visit);
  return whileEnabled(visit, visit.own<{ ping: string }>("ping_webhook", { webhook_id }), async ({ ping }) => {
    const tested = await awaitPing(visit.environment, () =>
      visit.own<{ ok: boolean; attempt: Attempt } | null>("pinged_webhook", { webhook_id, ping }),
    );
    if (!tested) return visit.told(pageOf(visit), "not_tested");
    const { status, error } = tested.attempt;
    return visit.told(pageOf(visit), tested.ok ? "tested" : "failed", {
      status: String(status ?? ""),
      error: error ?? "",
    });
  });
});

export const switchWebhook = onWebhook(async (visit) => {
  const enable = visit.form.get("enable") === "yes";
  await visit.own("switch_webhook", { webhook_id: idOf(visit), enable });
  visit.environment.kick();
  return visit.told(pageOf(visit), enable ? "enabled" : "disabled");
});

export const replayWebhook = onWebhook(async (visit) => {
  const which = REPLAYS.find((each) => each === visit.form.get("which"));
  if (!which) return visit.refuse(pageOf(visit), { which: WORDS[visit.locale].settings.webhooks.replay.error });
  const from = new Date(visit.environment.now().getTime() - Number(which) * HOUR_MS);
  const what = which === "failed" ? { failed: true } : { from: from.toISOString() };
  const replaying = visit.own<{ events: number }>("replay_webhook", { webhook_id: idOf(visit), ...what });
  return whileEnabled(visit, replaying, ({ events }) => {
    visit.environment.kick();
    return visit.told(pageOf(visit), "replayed", { events: String(events) });
  });
});

export const askRotateWebhook = onWebhook(async (visit) => {
  const shown = await read(visit);
  const { frame } = visit;
  const words = WORDS[frame.locale].settings.webhooks.rotate;
  const page = pageOf(visit);
  const before = codeFirst(frame, shown);
  return visit.page(askTwicePage(frame, shown.who, words, `${page}/rotate`, { once: newOnce() }, page, before));
});

export const rotateWebhook = onWebhook(async (visit) => {
  const webhook_id = idOf(visit);
  const made = secretOf(visit, `webhook ${webhook_id}`);
  if (!made) return visit.foreign();
  const { secret, secret_id } = made;
  const sealed = sealWebhookSecret(visit.environment, webhook_id, secret);
  const rotating = visit.own("rotate_webhook", { webhook_id, secret: sealed, secret_id });
  const { refused } = await visit.attempt(rotating, ["recent_sign_in_required"]);
  return refused ? visit.codeBefore(`${pageOf(visit)}/rotate`) : visit.told(pageOf(visit), "rotated", { secret });
});

export const askRemoveWebhook = onWebhook(async (visit) => {
  const { who } = await read(visit);
  const page = pageOf(visit);
  const words = WORDS[visit.locale].settings.webhooks.remove;
  return visit.page(askTwicePage(visit.frame, who, words, `${page}/remove`, {}, page));
});

export const removeWebhook = signedIn(async (visit) => {
  const removing = visit.own("revoke_webhook", { webhook_id: idOf(visit) });
  const { refused } = await visit.attempt(removing, ["webhook_not_found"]);
  // removed before, by this form or a colleague
  return refused ? visit.go(PAGE) : visit.told(PAGE, "removed");
});

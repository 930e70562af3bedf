import { Buffer } from "node:buffer";
import { claimKey } from "#shared/domain/claim/links.ts";
import { type EventType, typesOf } from "#shared/domain/events.ts";
import { refusedUrl } from "#shared/domain/outbound/url.ts";
import { awaitPing } from "#shared/domain/webhooks/ping.ts";
import { newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { toCsv } from "../../kit/csv.ts";
import { csvFile } from "../../kit/download.ts";
import type { PageAnswer } from "../../kit/page_request.ts";
import { newOnce } from "../../kit/signed_in_views.ts";
import { type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { askTwicePage, codeFirst } from "./frame.ts";
import {
  ATTEMPTS,
  attemptLines,
  changeWebhookPage,
  REPLAYS,
  sentEventPage,
  webhookPage,
  webhooksPage,
} from "./webhook_views.ts";

const PAGE = "/settings/webhooks";
/** Of a file. */
const MOST_ATTEMPTS = 10_000;
const HOUR_MS = 3_600_000;

const idOf = (request: PortalRequest) => request.c.req.param("id") ?? "";
const pageOf = (request: PortalRequest) => `${PAGE}/${idOf(request)}`;

export const showWebhooks = signedIn(async (request) => {
  const news = request.news();
  return request.pageOf(webhooksPage(request.frame, await request.own("read_portal_webhooks"), news), news);
});

/** An id that is as good as random, of a hash that is. */
const uuidOf = (hash: string) =>
  [hash.slice(0, 8), hash.slice(8, 12), `4${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join(
    "-",
  );

/** The secret that a form makes, and its id: both the same however often the form is sent. Null for none of our forms. */
function secretOf(request: PortalRequest, use: string) {
  const bytes = request.secretOf(use);
  const id = request.secretOf(`id of ${use}`);
  return bytes && id ? { secret: newWebhookSecret(Buffer.from(bytes, "hex")), secret_id: uuidOf(id) } : null;
}

/** The address and event types that a form asks for, null for all types; or the way back to `page`, which says what is wrong. */
function endpointOf(request: PortalRequest, page: string): { url: string; types: EventType[] | null } | Response {
  const { form, environment, locale } = request;
  const words = WORDS[locale].settings.webhooks.errors;
  const sent = (form.get("url") ?? "").trim();
  const types =
    form.get("which") === "some" ? typesOf("partner").filter((type) => form.getAll("type").includes(type)) : null;
  const wrong = {
    ...(refusedUrl(sent, environment.config) ? { url: words.url } : {}),
    ...(types?.length === 0 ? { which: words.which } : {}),
  };
  return Object.keys(wrong).length > 0 ? request.refuse(page, wrong) : { url: new URL(sent).href, types };
}

/** Whether everything was chosen, and something ticked: said, because that is not asked for apart. */
const allAnyway = (form: URLSearchParams) =>
  form.get("which") !== "some" && form.has("type") ? { all_anyway: "yes" } : {};

export const addWebhook = signedIn(async (request) => {
  const asked = endpointOf(request, PAGE);
  if (asked instanceof Response) return asked;
  const made = secretOf(request, "webhook");
  if (!made) return request.foreign();
  const { secret, secret_id } = made;
  const sealed = sealWebhookSecret(request.environment, secret_id, secret);
  const creating = request.own("create_webhook", { ...asked, id: secret_id, secret: sealed, secret_id });
  const { refused } = await request.attempt(creating, ["endpoint_limit", "recent_sign_in_required"]);
  if (refused?.code === "recent_sign_in_required") return request.codeBefore(PAGE);
  if (refused) return request.refuse(PAGE, { url: WORDS[request.locale].settings.webhooks.errors.limit });
  return request.told(`${PAGE}/${secret_id}`, "added", { secret, ...allAnyway(request.form) });
});

/** A page or a form of an endpoint; 404 for another partner's. */
const onWebhook = (run: (request: PortalRequest) => Promise<Response>) =>
  signedIn(async (request) => {
    const { answer, refused } = await request.attempt(run(request), ["webhook_not_found", "event_not_found"]);
    return refused ? request.unknown() : answer;
  });

const read = (request: PortalRequest, limit = 0, skip = 0) =>
  request.own("read_portal_webhook", { webhook_id: idOf(request), skip, limit });

export const showWebhook = onWebhook(async (request) => {
  const page = request.pageAsked;
  const shown = await read(request, ATTEMPTS, (page - 1) * ATTEMPTS);
  if (page > 1 && shown.attempts.length === 0) return request.go(pageOf(request));
  const news = request.news();
  return request.pageOf(webhookPage(request.frame, shown, page, news), news);
});

export const downloadAttempts = onWebhook(async (request) => {
  const { attempts } = await read(request, MOST_ATTEMPTS);
  const { attempts_file } = WORDS[request.locale].settings.webhooks;
  return csvFile(request, attempts_file, toCsv(request.locale, attemptLines(request.frame, attempts)));
});

/** What cannot be asked of an endpoint that is paused. */
async function whileEnabled<Result>(
  request: PortalRequest,
  act: Promise<Result>,
  then: (result: Result) => PageAnswer,
): Promise<Response> {
  const { answer, refused } = await request.attempt(act, ["endpoint_disabled"]);
  return refused ? request.told(pageOf(request), "paused") : then(answer);
}

export const showChangeWebhook = onWebhook(async (request) => {
  const news = request.news();
  return request.pageOf(changeWebhookPage(request.frame, await read(request), news), news);
});

export const changeWebhook = onWebhook(async (request) => {
  const page = `${pageOf(request)}/change`;
  const asked = endpointOf(request, page);
  if (asked instanceof Response) return asked;
  const changing = request.own("update_webhook", { ...asked, webhook_id: idOf(request) });
  const { refused } = await request.attempt(changing, ["recent_sign_in_required"]);
  if (refused) return request.codeBefore(page);
  request.environment.kick();
  return request.told(pageOf(request), "changed", allAnyway(request.form));
});

const eventOf = (request: PortalRequest) => request.c.req.param("event") ?? "";

/** What was sent of one event: made again from the log, as it was. */
export const showSentEvent = onWebhook(async (request) => {
  const shown = await read(request);
  const reading = request.own("show_event", {
    event_id: eventOf(request),
    key: claimKey(request.environment),
  });
  const { answer, refused } = await request.attempt(reading, ["event_not_found"]);
  return request.page(sentEventPage(request.frame, shown, refused ? null : answer));
});

export const sendEventAgain = onWebhook((request) => {
  const event = eventOf(request);
  const again = request.own("replay_webhook", {
    webhook_id: idOf(request),
    from: event,
    to: event,
  });
  return whileEnabled(request, again, ({ events }) => {
    request.environment.kick();
    return request.told(pageOf(request), "replayed", { events: String(events) });
  });
});

export const testWebhook = onWebhook((request) => {
  const webhook_id = idOf(request);
  return whileEnabled(request, request.own("ping_webhook", { webhook_id }), async ({ ping }) => {
    const tested = await awaitPing(request.environment, () => request.own("read_ping", { webhook_id, ping }));
    if (!tested) return request.told(pageOf(request), "not_tested");
    const { status, error } = tested.attempt;
    return request.told(pageOf(request), tested.ok ? "tested" : "failed", {
      status: String(status ?? ""),
      error: error ?? "",
    });
  });
});

export const switchWebhook = onWebhook(async (request) => {
  const enable = request.form.get("enable") === "yes";
  await request.own("switch_webhook", { webhook_id: idOf(request), enable });
  request.environment.kick();
  return request.told(pageOf(request), enable ? "enabled" : "disabled");
});

export const replayWebhook = onWebhook(async (request) => {
  const which = REPLAYS.find((each) => each === request.form.get("which"));
  if (!which) return request.refuse(pageOf(request), { which: WORDS[request.locale].settings.webhooks.replay.error });
  const from = new Date(request.environment.now().getTime() - Number(which) * HOUR_MS);
  const what = which === "failed" ? { failed: true } : { from: from.toISOString() };
  const replaying = request.own("replay_webhook", { webhook_id: idOf(request), ...what });
  return whileEnabled(request, replaying, ({ events }) => {
    request.environment.kick();
    return request.told(pageOf(request), "replayed", { events: String(events) });
  });
});

export const askRotateWebhook = onWebhook(async (request) => {
  const shown = await read(request);
  const { frame } = request;
  const words = WORDS[frame.locale].settings.webhooks.rotate;
  const page = pageOf(request);
  const before = codeFirst(frame, shown);
  return request.page(askTwicePage(frame, shown.who, words, `${page}/rotate`, { once: newOnce() }, page, before));
});

export const rotateWebhook = onWebhook(async (request) => {
  const webhook_id = idOf(request);
  const made = secretOf(request, `webhook ${webhook_id}`);
  if (!made) return request.foreign();
  const { secret, secret_id } = made;
  const sealed = sealWebhookSecret(request.environment, webhook_id, secret);
  const rotating = request.own("rotate_webhook", { webhook_id, secret: sealed, secret_id });
  const { refused } = await request.attempt(rotating, ["recent_sign_in_required"]);
  return refused
    ? request.codeBefore(`${pageOf(request)}/rotate`)
    : request.told(pageOf(request), "rotated", { secret });
});

export const askRemoveWebhook = onWebhook(async (request) => {
  const { who } = await read(request);
  const page = pageOf(request);
  const words = WORDS[request.locale].settings.webhooks.remove;
  return request.page(askTwicePage(request.frame, who, words, `${page}/remove`, {}, page));
});

export const removeWebhook = signedIn(async (request) => {
  const removing = request.own("revoke_webhook", { webhook_id: idOf(request) });
  const { refused } = await request.attempt(removing, ["webhook_not_found"]);
  // removed before, by this form or a colleague
  return refused ? request.go(PAGE) : request.told(PAGE, "removed");
});

import { typesOf } from "#shared/domain/events.ts";
import { clock } from "#shared/values/dutch_clock.ts";
import type { Cell } from "../../kit/csv.ts";
import { longMoment } from "../../kit/document.ts";
import { radios, textInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { icon } from "../../kit/parts/icons.ts";
import { rowList } from "../../kit/parts/rows.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { doButton, inNumbers, newsOf, onceField, shownOnce, table } from "../../kit/signed_in_views.ts";
import type { Attempt, Client, LoggedEvent, OneWebhook, Webhook, Webhooks } from "../model.ts";
import { pageLinks, rangeOf } from "../paging.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import { codeFirst, countOf, pagesOf, settingPage } from "./frame.ts";

const PAGE = "/settings/webhooks";
/** Attempts of a page. */
export const ATTEMPTS = 20;

/** What can be sent again: what was given up, or what happened in the last so many hours. */
export const REPLAYS = ["failed", "1", "24", "168"] as const;

const wordsOf = ({ locale }: PortalFrame) => WORDS[locale].settings.webhooks;

/** A word by its key; the key itself if there is no word. */
const named = (words: Readonly<Record<string, string>>, key: string) => words[key] ?? key;

/** Every endpoint, and a form for one more. */
export function webhooksPage(frame: PortalFrame, shown: Webhooks, { typed, errors }: Returned): Html {
  const words = wordsOf(frame);
  const { who, webhooks, clients } = shown;
  return settingPage(frame, who, {
    title: words.title,
    errors,
    body: html`${newsOf(typed.get("news") === "removed" ? words.removed : undefined)}
<p>${words.what}</p>
${
  webhooks.length === 0
    ? html`<p>${words.none}</p>`
    : rowList(
        webhooks.map((webhook) => ({
          href: frame.to(`${PAGE}/${webhook.id}`),
          what: webhook.url,
          when: stateOf(frame, webhook),
          chip: chipOf(frame, webhook),
        })),
      )
}
${
  clients.length === 0
    ? ""
    : html`<h2 id="clients">${words.of_clients}</h2>
<p>${words.of_clients_what}</p>
${rowList(
  clients.map(({ id, name, webhooks: counts }) => ({
    href: `${frame.to(`/settings/clients/${id}`)}#webhooks`,
    what: name,
    when: WORDS[frame.locale].settings.overview.webhooks_are(counts.enabled, counts.disabled),
    chip: webhookChip(frame, counts),
  })),
)}`
}
<h2>${words.add}</h2>
${codeFirst(frame, shown)}${addForm(frame, { typed, errors })}`,
  });
}

const addForm = (frame: PortalFrame, news: Returned): Html =>
  endpointForm(frame, PAGE, { url: null, types: ["*"] }, news, wordsOf(frame).submit, onceField());

/** Where events go, and which. */
function endpointForm(
  frame: PortalFrame,
  page: string,
  now: { url: string | null; types: readonly string[] },
  { typed, errors }: Returned,
  submit: string,
  more: Html | "" = "",
): Html {
  const words = wordsOf(frame);
  const ticked = typed.has("which") ? typed.getAll("type") : now.types;
  return html`<form method="post" action="${frame.to(page)}" novalidate>
${formToken(frame.form_token)}${more}
${textInput({ id: "url", label: words.url, hint: words.url_hint, error: errors.url, value: typed.get("url") ?? now.url, required: true, attributes: html` autocomplete="off" inputmode="url" autocapitalize="none" spellcheck="false" maxlength="500"` })}
${radios({
  id: "which",
  label: words.which,
  error: errors.which,
  value: typed.get("which") ?? (now.types.includes("*") ? "all" : "some"),
  options: [
    { value: "all", label: words.all },
    {
      value: "some",
      label: words.some,
      under: html`${typesOf("partner").map(
        (type) =>
          html`<label class="choice"><input type="checkbox" name="type" value="${type}"${ticked.includes(type) ? html` checked` : ""}><span>${named(words.types, type)}<small><code>${type}</code></small></span></label>`,
      )}`,
    },
  ],
})}
<div class="actions"><button class="button">${submit}</button></div>
</form>`;
}

/** Another address, or other events, for an endpoint that keeps its secret and its place. */
export function changeWebhookPage(frame: PortalFrame, shown: OneWebhook, news: Returned): Html {
  const words = wordsOf(frame).change;
  const { who, webhook } = shown;
  const page = `${PAGE}/${webhook.id}`;
  return settingPage(frame, who, {
    title: words.title,
    up: { href: frame.to(page), label: words.back },
    errors: news.errors,
    body: html`<p>${words.what}</p>
${codeFirst(frame, shown)}${endpointForm(frame, `${page}/change`, webhook, news, words.submit)}`,
  });
}

/** An event as it is sent to an endpoint. Null where it is kept no more. */
export function sentEventPage(frame: PortalFrame, shown: OneWebhook, event: LoggedEvent | null): Html {
  const words = wordsOf(frame).sent_event;
  const { who, webhook } = shown;
  const page = `${PAGE}/${webhook.id}`;
  const bodyOf = ({ type, created_at, sequence, data }: LoggedEvent) => ({
    type,
    timestamp: created_at,
    sequence,
    data,
  });
  return settingPage(frame, who, {
    title: words.title,
    up: { href: frame.to(page), label: wordsOf(frame).change.back },
    body: html`${
      event
        ? html`<p>${words.what}</p>
<pre data-copy>${JSON.stringify(bodyOf(event), null, 2)}</pre>
${webhook.status === "enabled" ? doButton(frame, `${page}/event/${event.id}`, {}, words.again) : html`<p>${wordsOf(frame).replay.paused}</p>`}`
        : html`<p>${words.gone}</p>`
    }`,
  });
}

/** Whether anything is sent, and why not. */
export function stateOf(frame: PortalFrame, webhook: Omit<Webhook, "types">): string {
  const { status, disabled_reason, failing_since, last_error } = webhook;
  const words = wordsOf(frame);
  if (status === "disabled") return words.is_disabled(named(words.reasons, disabled_reason ?? ""));
  if (!failing_since) return words.is_enabled;
  return words.is_failing(longMoment(failing_since, frame.words), wrong(frame, last_error));
}

function chipOf({ locale }: PortalFrame, { status, failing_since }: Webhook): Html {
  const words = WORDS[locale].settings.overview;
  if (status === "disabled") return chip("stopped", words.off);
  return failing_since ? chip("stopped", words.failing) : chip("done", words.done);
}

/** How the webhooks of a log stand together; nothing where there are none. */
export function webhookChip({ locale }: PortalFrame, { enabled, disabled, failing }: Client["webhooks"]): Html | null {
  const words = WORDS[locale].settings.overview;
  if (failing > 0) return chip("stopped", words.failing);
  if (disabled > 0) return chip("stopped", words.off);
  return enabled > 0 ? chip("done", words.done) : null;
}

/** Why an attempt failed. */
function wrong(frame: PortalFrame, error: string | null): string {
  const words = wordsOf(frame);
  const status = /^http_(\d+)$/.exec(error ?? "")?.[1];
  return status ? words.answered(status) : named(words.wrong, error ?? "");
}

/** One endpoint: how it stands, what was sent lately, and what can be done with it. */
export function webhookPage(frame: PortalFrame, shown: OneWebhook, at: number, { typed, errors }: Returned): Html {
  const words = wordsOf(frame);
  const { table } = WORDS[frame.locale].bring;
  const { who, webhook, previous_until, retries, attempts, attempts_total } = shown;
  const page = `${PAGE}/${webhook.id}`;
  const enabled = webhook.status === "enabled";
  const from = (at - 1) * ATTEMPTS;
  return settingPage(frame, who, {
    title: words.one,
    up: { href: frame.to(PAGE), label: words.back },
    errors,
    body: html`${newsOf(newsTold(frame, typed))}${newsOf(typed.has("all_anyway") ? words.news.all_anyway : undefined)}
${shownOnce(words.new_title, words.new_once, typed.get("secret"))}
<div class="beside"><section><dl>
<div><dt>${words.url}</dt><dd>${webhook.url}</dd></div>
<div><dt>${words.state}</dt><dd>${chipOf(frame, webhook)} ${stateOf(frame, webhook)}</dd></div>
<div><dt>${words.sent}</dt><dd>${webhook.types.includes("*") ? words.all : webhook.types.map((type) => html`${named(words.types, type)}<br>`)}</dd></div>
<div><dt>${words.waiting}</dt><dd>${words.waiting_is(retries.waiting, retries.given_up)}</dd></div>
${previous_until ? html`<div><dt>${words.secret}</dt><dd>${words.both_until(longMoment(previous_until, frame.words))}</dd></div>` : ""}
</dl>
<div class="actions">${enabled ? doButton(frame, `${page}/test`, {}, words.test) : ""}
${doButton(frame, `${page}/switch`, { enable: enabled ? "no" : "yes" }, enabled ? words.pause : words.enable)}</div>
</section>
<section><h2>${words.replay.title}</h2>
${
  enabled
    ? html`<p>${words.replay.what}</p>
<form method="post" action="${frame.to(`${page}/replay`)}" novalidate>
${formToken(frame.form_token)}
${radios({ id: "which", label: words.replay.which, error: errors.which, value: typed.get("which"), options: REPLAYS.map((value) => ({ value, label: words.replay.options[value] })) })}
<div class="actions"><button class="button second">${words.replay.submit}</button></div>
</form>`
    : html`<p>${words.replay.paused}</p>`
}</section></div>
<h2 id="attempts">${words.attempts}</h2>
${
  attempts.length === 0
    ? html`<p>${words.no_attempts}</p>`
    : html`<p class="quiet">${rangeOf(frame, from, attempts.length, countOf(frame, attempts_total))}. ${words.attempts_kept}</p>
${attemptsTable(frame, page, attempts)}
${pageLinks(table, pagesOf(at, ATTEMPTS, attempts_total, false), (to) => `${frame.to(page, { page: String(to) })}#attempts`)}
<p class="save"><a class="link" href="${frame.to(`${page}/attempts.csv`)}">${icon("csv")} ${words.attempts_download}</a></p>`
}
<h2>${words.more}</h2>
<div class="actions"><a class="button second" href="${frame.to(`${page}/change`)}">${words.change.title}</a><a class="button second" href="${frame.to(`${page}/rotate`)}">${words.rotate.title}</a><a class="button second" href="${frame.to(`${page}/remove`)}">${words.remove.title}</a></div>`,
  });
}

function newsTold(frame: PortalFrame, typed: URLSearchParams): string | undefined {
  const words = wordsOf(frame);
  const news = typed.get("news") ?? "";
  const status = typed.get("status") ?? "";
  if (news === "tested") return words.tested(status);
  if (news === "failed")
    return words.test_failed(typed.get("error") ? wrong(frame, typed.get("error")) : words.answered(status));
  if (news === "replayed") return words.replay.done(Number(typed.get("events")));
  return { ...words.news }[news];
}

/** What came of an attempt, how long it took, and when the next one is. */
function resultOf(frame: PortalFrame, attempt: Attempt): [came: string, took: string, next: string] {
  const words = wordsOf(frame);
  const ok = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
  const came = ok
    ? words.arrived(String(attempt.status))
    : attempt.error
      ? wrong(frame, attempt.error)
      : words.answered(String(attempt.status));
  const next = attempt.next_attempt_at
    ? words.again_at(longMoment(attempt.next_attempt_at, frame.words))
    : ok || attempt.type === "ping"
      ? ""
      : words.given_up;
  return [came, attempt.ms === null ? "" : words.seconds(inNumbers(frame, attempt.ms / 1000, 2)), next];
}

/** An attempt in one line. */
export const attemptText = (frame: PortalFrame, attempt: Attempt): string =>
  [longMoment(attempt.at, frame.words), attempt.type, ...resultOf(frame, attempt)].filter(Boolean).join(", ");

/** The attempts as lines of a file, under what each column is. */
export function attemptLines(frame: PortalFrame, attempts: readonly Attempt[]): Cell[][] {
  const words = wordsOf(frame);
  return [
    [words.at, words.event, "event_id", words.came],
    ...attempts.map((attempt) => [
      clock(attempt.at),
      named(words.types, attempt.type),
      attempt.event_id,
      resultOf(frame, attempt).filter(Boolean).join(", "),
    ]),
  ];
}

function attemptsTable(frame: PortalFrame, page: string, attempts: readonly Attempt[]): Html {
  const words = wordsOf(frame);
  return table(
    words.attempts,
    [words.at, words.event, words.came].map((name) => ({ name, text: true })),
    attempts.map((attempt) => {
      const [came, took, next] = resultOf(frame, attempt);
      return [
        html`${longMoment(attempt.at, frame.words)}<small>${words.nth(attempt.attempt)}</small>`,
        html`${named(words.types, attempt.type)}<small>${
          attempt.type === "ping"
            ? html`<code>${attempt.event_id}</code>`
            : html`<a href="${frame.to(`${page}/event/${attempt.event_id}`)}"><code>${attempt.event_id}</code></a>`
        }</small>`,
        html`${came}${took ? html`<small>${took}</small>` : ""}${next ? html`<small>${next}</small>` : ""}`,
      ];
    }),
    { blocks: true },
  );
}

import { hashSecret } from "#shared/auth/tokens.ts";
import { z } from "#shared/foundation/zod.ts";
import { GATE_NAMES, GATES } from "#shared/values/gates.ts";
import { longMoment, longMonth } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { empty } from "../../kit/parts/empty.ts";
import { rowList } from "../../kit/parts/rows.ts";
import { secretBox } from "../../kit/parts/secret.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { inNumbers, newOnce, newsOf, shownOnce, table } from "../../kit/signed_in_views.ts";
import { portalPage } from "../frame.ts";
import type { Client, Clients, OneClient } from "../model.ts";
import { waysOn } from "../paging.ts";
import { type PortalFrame, type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { codeFirst, countOf, settingPage } from "./frame.ts";
import { attemptText, stateOf, webhookChip } from "./webhook_views.ts";

const PAGE = "/settings/clients";
/** Accounts of a page. */
const ACCOUNTS = 20;

const pageOf = (request: PortalRequest) => `${PAGE}/${request.c.req.param("id")}`;
/** A page or a form of a client; 404 for another partner's. */
const onClient = (run: (request: PortalRequest) => Promise<Response>) =>
  signedIn(async (request) => {
    const { answer, refused } = await request.attempt(run(request), ["client_not_found"]);
    return refused ? request.unknown() : answer;
  });

const read = (request: PortalRequest) => {
  const { req } = request.c;
  return request.own("read_portal_client", { id: req.param("id"), after: req.query("after") ?? null, limit: ACCOUNTS });
};

export const showClients = signedIn(async (request) =>
  request.page(clientsPage(request.frame, await request.own("read_portal_clients"))),
);

export const showClient = onClient(async (request) => {
  const shown = await read(request);
  const later = request.c.req.query("after") !== undefined;
  return request.page(clientPage(request.frame, shown, request.news(), later));
});

export const askRotateClient = onClient(async (request) => {
  const shown = await read(request);
  const { frame } = request;
  const words = WORDS[frame.locale].settings.clients;
  const page = `${PAGE}/${shown.client.id}`;
  const news = request.news();
  return request.pageOf(
    portalPage(frame, "/settings", shown.who, {
      title: words.rotate.title,
      body: html`${codeFirst(frame, shown)}
<p>${shown.client.name}</p>
<ul>${words.rotate.means.map((each) => html`<li>${each}</li>`)}</ul>
<form method="post" action="${frame.to(`${page}/rotate`)}">
${formToken(frame.form_token)}
<input type="hidden" name="once" value="${newOnce()}"><input type="hidden" name="number" value="${String(shown.client.secret_number)}">
<label class="choice"><input type="checkbox" name="revoke_tokens" value="yes"${news.typed.get("revoke_tokens") === "yes" ? html` checked` : ""}><span>${words.revoke_tokens}</span></label>
<div class="actions"><button class="button">${words.rotate.yes}</button><a class="link" href="${frame.to(page)}">${words.rotate.no}</a></div>
</form>`,
    }),
    news,
  );
});

export const rotateClient = onClient(async (request) => {
  const secret = request.secretOf("client secret");
  if (!secret) return request.foreign();
  const rotating = request.own("rotate_client_secret", {
    id: request.c.req.param("id"),
    secret_hash: hashSecret(secret),
    secret_number: z.coerce.number().int().catch(0).parse(request.form.get("number")),
    revoke_tokens: request.form.get("revoke_tokens") === "yes",
  });
  const { answer, refused } = await request.attempt(rotating, ["recent_sign_in_required"]);
  if (refused) return request.codeBefore(`${pageOf(request)}/rotate`);
  return answer.ok ? request.told(pageOf(request), "rotated", { secret }) : request.told(pageOf(request), "replaced");
});

const accountsOf = (frame: PortalFrame, { accounts }: Client): string => {
  const words = WORDS[frame.locale].settings.clients;
  return accounts === 1 ? words.one_account : words.accounts(countOf(frame, accounts));
};

function clientsPage(frame: PortalFrame, { who, clients }: Clients): Html {
  const words = WORDS[frame.locale].settings.clients;
  return settingPage(frame, who, {
    title: words.title,
    body: html`<p>${words.what}</p>
${
  clients.length === 0
    ? html`<p>${words.none}</p>`
    : rowList(
        clients.map((client) => ({
          // what the chip says of its webhooks stands there
          href: `${frame.to(`${PAGE}/${client.id}`)}${!client.disabled_at && client.webhooks.disabled + client.webhooks.failing > 0 ? "#webhooks" : ""}`,
          what: client.name,
          when: accountsOf(frame, client),
          chip: client.disabled_at ? chip("stopped", words.off) : webhookChip(frame, client.webhooks),
        })),
      )
}`,
  });
}

/** One client: what it may do, what its webhooks did lately, and its accounts with what each still needs. */
function clientPage(frame: PortalFrame, shown: OneClient, { typed }: Returned, later: boolean): Html {
  const words = WORDS[frame.locale].settings.clients;
  const { who, client, webhooks, parked, accounts, after } = shown;
  const page = `${PAGE}/${client.id}`;
  const codes = (scopes: readonly string[]) => scopes.map((scope) => html`<code>${scope}</code><br>`);
  return settingPage(frame, who, {
    title: client.name,
    up: { href: frame.to(PAGE), label: words.back },
    body: html`${newsOf(typed.get("news") === "replaced" ? words.replaced : undefined)}${shownOnce(words.new_title, words.new_once, typed.get("secret"))}
<div class="beside"><section><h2>${words.details}</h2>
<dl>
<div><dt>${words.client_id}</dt><dd>${secretBox(client.client_id)}</dd></div>
<div><dt>${words.created}</dt><dd>${longMoment(client.created_at, frame.words)}</dd></div>
<div><dt>${words.secret}</dt><dd>${longMoment(client.secret_rotated_at, frame.words)}</dd></div>
<div><dt>${words.used}</dt><dd>${client.last_used_at ? longMoment(client.last_used_at, frame.words) : words.never_used}</dd></div>
${client.disabled_at ? html`<div><dt>${words.off}</dt><dd>${longMoment(client.disabled_at, frame.words)}</dd></div>` : ""}
<div><dt>${words.scopes}</dt><dd>${codes(client.scopes)}</dd></div>
${client.missing_scopes.length > 0 ? html`<div><dt>${words.missing}</dt><dd>${codes(client.missing_scopes)}</dd></div>` : ""}
</dl>
<p>${words.ask}</p>
${client.disabled_at ? "" : html`<div class="actions"><a class="button second" href="${frame.to(`${page}/rotate`)}">${words.rotate.title}</a></div>`}</section>
<section><h2 id="webhooks">${words.webhooks}</h2>
${webhooks.length === 0 ? empty("bolt", words.no_webhooks) : html`<ul class="pages">${webhooks.map((each) => webhookOf(frame, each))}</ul>`}</section></div>
${parked.length === 0 ? "" : parkedNames(frame, parked)}
<h2 id="accounts">${words.table}</h2>
${
  accounts.length === 0
    ? empty("person", words.no_accounts)
    : html`<p class="quiet">${accountsOf(frame, client)}</p>
${accountsTable(frame, accounts)}`
}
${waysOn(words.pages, [
  ...(later ? [{ href: `${frame.to(page)}#accounts`, label: words.first }] : []),
  ...(after ? [{ href: `${frame.to(page, { after })}#accounts`, label: words.next }] : []),
])}`,
  });
}

/** The names that sessions wait for: a charger that gets such a name gets its sessions. */
function parkedNames(frame: PortalFrame, parked: OneClient["parked"]): Html {
  const words = WORDS[frame.locale].settings.clients.parked;
  return html`<h2 id="parked">${words.title}</h2>
<p>${words.what}</p>
${table(
  words.title,
  [{ name: words.name }, { name: words.sessions }],
  parked.map(({ kind, value, sessions }) => [
    html`<code>${value}</code><small><code>${kind}</code></small>`,
    inNumbers(frame, sessions),
  ]),
)}`;
}

function webhookOf(frame: PortalFrame, webhook: OneClient["webhooks"][number]): Html {
  const words = WORDS[frame.locale].settings.clients;
  return html`<li>${webhook.url}<small>${stateOf(frame, webhook)}</small>${
    webhook.attempts.length === 0
      ? html`<small>${words.no_attempts}</small>`
      : webhook.attempts.map((attempt) => html`<small>${attemptText(frame, attempt)}</small>`)
  }</li>`;
}

function accountsTable(frame: PortalFrame, accounts: OneClient["accounts"]): Html {
  const words = WORDS[frame.locale].settings.clients;
  const needs = ({ checklist, ere_eligible, iban_fits }: OneClient["accounts"][number]) =>
    ere_eligible
      ? iban_fits
        ? words.eligible
        : words.iban
      : html`${GATE_NAMES.map((gate) => html`<small>${checklist[gate] ? "✓" : "✗"} ${GATES[gate][frame.locale]}<span class="hidden">: ${checklist[gate] ? words.has : words.lacks}</span></small>`)}`;
  return table(
    words.table,
    [words.account, words.needs, words.latest].map((name) => ({ name, text: true })),
    accounts.map((each) => [
      html`<a class="link" href="${frame.to(`/customers/${each.account_id}`)}">${each.name ?? each.account_id}</a>${each.reference ? html`<small>${each.reference}</small>` : ""}`,
      needs(each),
      each.latest
        ? html`${longMonth(`${each.latest.period}-01`, frame.words)}<small>${inNumbers(frame, each.latest.total_kwh, 1)} kWh${each.latest.rejected ? html` · ${words.rejected}` : ""}</small>`
        : words.nothing,
    ]),
    { blocks: true },
  );
}

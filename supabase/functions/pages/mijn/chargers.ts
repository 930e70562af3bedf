import { longMoment } from "../kit/document.ts";
import { radios, selectInput, textInput } from "../kit/fields.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { chip } from "../kit/parts/chip.ts";
import { empty } from "../kit/parts/empty.ts";
import { secretBox } from "../kit/parts/secret.ts";
import type { Returned } from "../kit/returned.ts";
import { formToken } from "../kit/sign_in_views.ts";
import { doneOf, inNumbers, onceField } from "../kit/signed_in_views.ts";
import { askTwice, claimButton, ownPage } from "./frame.ts";
import type { Charger, Chargers } from "./model.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Whether the back office of a charger sends a copy, or the charger connects to us. */
export const WAYS = ["copy", "own"] as const;

/** The chargers, and the ways to add one. `gateway` is where one connects by itself, if it can. `typed` has what to enter in it, once. */
export function chargersPage(
  frame: MijnFrame,
  read: Chargers,
  { typed, errors }: Returned,
  gateway: string | undefined,
): Html {
  const { email, accounts, chargers, model_unknown, serial_unknown, models } = read;
  const connects = gateway !== undefined;
  const words = WORDS[frame.locale].chargers;
  const mirror = typed.get("mirror_once");
  const password = typed.get("password_once");
  const claimed = accounts.find(({ draft_id, checklist }) => draft_id && checklist.mandate_signed);
  return ownPage(frame, "/chargers", email, {
    title: words.title,
    errors,
    body: html`${doneOf(Object.entries(words.news).find(([news]) => news === typed.get("news"))?.[1])}
${
  password
    ? html`<div class="panel" role="status"><h2 class="first">${words.new_title}</h2><p>${words.new_once}</p>
<dl>
<div><dt>${words.address}</dt><dd>${secretBox(typed.get("address"))}</dd></div>
<div><dt>${words.identity}</dt><dd>${secretBox(typed.get("identity"))}</dd></div>
<div><dt>${words.password}</dt><dd>${secretBox(password)}</dd></div>
</dl>
<details><summary>${words.only_address}</summary><p>${secretBox(`${typed.get("address")}?auth=${password}`)}</p></details>
${listening(frame, chargers, typed)}</div>`
    : mirror
      ? html`<div class="panel" role="status"><h2 class="first">${words.new_title_copy}</h2><p>${words.mirror_means}</p>
<dl><div><dt>${words.mirror_address}</dt><dd>${secretBox(mirror)}</dd></div></dl>
${listening(frame, chargers, typed)}</div>`
      : typed.has("since")
        ? listening(frame, chargers, typed)
        : ""
}
<div class="beside"><section>${chargers.length === 0 ? empty("charger", words.none) : html`<div class="cards">${chargers.map((charger) => one(frame, charger, read, gateway, (password ?? mirror) !== null && charger.ocpp_identity === typed.get("identity"), html`${noticesOf(frame, charger, read)}${model_unknown.includes(charger.id) || serial_unknown.includes(charger.id) ? modelForm(frame, charger, model_unknown.includes(charger.id) ? models : null, { typed, errors }) : ""}`))}</div>`}
<h2>${words.what_mid}</h2>
<p>${words.mid_means}</p></section>
<section>${claimed || connects ? html`<h2 id="add">${words.add}</h2>` : ""}
${claimed ? html`<p>${words.add_model}</p>${claimButton(frame, claimed.account_id, "/charger", words.add_model_action)}` : ""}
${claimed && connects ? html`<h3>${words.add_ocpp}</h3>` : ""}
${
  connects
    ? html`<form method="post" action="${frame.to("/chargers")}" novalidate>
${formToken(frame.form_token)}${onceField()}
${textInput({ id: "name", label: words.name, hint: words.name_hint, error: errors.name, value: typed.get("name"), required: true, attributes: html` maxlength="100" autocomplete="off"` })}
${radios({ id: "way", label: words.ask, hint: words.ask_means, error: errors.way, value: typed.get("way"), options: WAYS.map((way) => ({ value: way, label: words.ways[way].answer, under: html`<p>${words.ways[way].how}</p>${way === "own" ? textInput({ id: "ocpp_identity", label: words.own_identity, hint: words.own_identity_hint, error: errors.ocpp_identity, value: typed.get("ocpp_identity"), attributes: html` maxlength="64" autocomplete="off" autocapitalize="none" spellcheck="false"` }) : ""}` })) })}
<p>${words.check}</p>
<div class="actions"><button class="button${claimed ? " second" : ""}">${words.submit}</button></div>
</form>`
    : ""
}</section></div>`,
  });
}

/** Whether a charger is heard since its password was made; the script asks again while it is not. */
function listening(frame: MijnFrame, chargers: readonly Charger[], typed: URLSearchParams): Html {
  const words = WORDS[frame.locale].chargers;
  const [identity, since] = [typed.get("identity") ?? "", typed.get("since") ?? ""];
  const seen = chargers.find(({ ocpp_identity }) => ocpp_identity === identity)?.last_seen_at;
  const heard = seen && Date.parse(seen) >= Date.parse(since) ? seen : null;
  const clock = new Intl.DateTimeFormat(frame.words.date_locale, {
    hour: "2-digit",
    minute: "2-digit",
    timeZone: "Europe/Amsterdam",
  });
  return heard
    ? html`<p id="heard" role="status">${chip("done", words.connected_at(clock.format(new Date(heard))))}</p>`
    : html`<p id="heard" role="status" data-listen="${frame.to("/chargers", { identity, since })}">${chip("way", words.not_heard)}</p>`;
}

/** Says which kWh do not count here: of another registration, of another charger at its mirror's address, of a stop that fits no charge. */
function noticesOf(frame: MijnFrame, { id }: Charger, { elsewhere, mixed, unplaced }: Chargers): Html {
  const words = WORDS[frame.locale].chargers;
  const isHere = (each: { id: string }) => each.id === id;
  const moment = (at: string) => longMoment(at, frame.words);
  const [other, shared, stop] = [elsewhere.find(isHere), mixed.find(isHere), unplaced.find(isHere)];
  const lines = [
    other?.until
      ? words.elsewhere_until(other.own, other.since && moment(other.since), moment(other.until))
      : other && words.elsewhere(other.own),
    shared && words.mixed(shared.serial_number, moment(shared.at)),
    stop && words.unplaced(moment(stop.at), stop.meter_wh === null ? null : inNumbers(frame, stop.meter_wh / 1000, 1)),
  ];
  return html`${lines.map((line) => (line ? html`<div class="panel waits"><p>${line}</p></div>` : ""))}`;
}

/**
 * For a charger that did not tell what it is: behind a mirror nobody can ask it. Without `models` it told its model,
 * and not which of the person's chargers it is.
 */
function modelForm(
  frame: MijnFrame,
  { id }: Charger,
  models: Chargers["models"] | null,
  { typed, errors }: Returned,
): Html {
  const words = WORDS[frame.locale].chargers;
  const [model, serial] = [`model-${id}`, `serial-${id}`];
  return html`<form method="post" action="${frame.to(`/chargers/model/${id}`)}" novalidate>${formToken(frame.form_token)}
<p>${models ? words.model_unknown : words.serial_unknown}</p>
${!models ? "" : selectInput({ id: model, label: words.model, error: errors[model], empty: words.choose_model, value: typed.get(model), options: models.map(({ id: value, name: label }) => ({ value, label })) })}
${textInput({ id: serial, label: words.serial, hint: words.serial_hint, error: errors[serial], value: typed.get(serial), attributes: html` maxlength="80" autocomplete="off" autocapitalize="characters" spellcheck="false"` })}
<div class="actions"><button class="button second">${models ? words.model_submit : words.serial_submit}</button></div></form>`;
}

function one(
  frame: MijnFrame,
  charger: Charger,
  { accounts, delivered, mid_unknown, mirrors }: Chargers,
  gateway: string | undefined,
  isTold: boolean,
  chooses: Html | string,
): Html {
  const words = WORDS[frame.locale].chargers;
  const { id, nickname, status, mid_certified, is_charging, current_session, last_seen_at, latest_meter_wh } = charger;
  const { ocpp_identity, password_refused_at } = charger;
  const last = delivered[id];
  const isSigned = accounts.some(({ checklist }) => checklist.mandate_signed);
  const now =
    is_charging && current_session
      ? words.charging(
          inNumbers(frame, current_session.kwh_so_far, 1),
          longMoment(current_session.started_at, frame.words),
        )
      : ocpp_identity || !last
        ? words[ocpp_identity ? status : "no_kwh"]
        : words.by[last.source === "ocpp" || last.source === "sandbox" ? last.source : "company"];
  const isOn = is_charging || status === "online";
  return html`<section class="sheet" aria-label="${nickname}"><h2>${nickname}</h2>
<dl>
<div><dt>${ocpp_identity ? words.status : words.comes}</dt><dd>${ocpp_identity ? chip(isOn ? "done" : "quiet", now, { of: isOn ? "bolt" : "dot" }) : now}</dd></div>
${last ? html`<div><dt>${words.last_kwh}</dt><dd>${longMoment(last.at, frame.words)}</dd></div>` : ""}
${last_seen_at ? html`<div><dt>${words.heard}</dt><dd>${longMoment(last_seen_at, frame.words)}</dd></div>` : ""}
${latest_meter_wh === undefined ? "" : html`<div><dt>${words.meter}</dt><dd>${inNumbers(frame, latest_meter_wh / 1000, 1)} kWh</dd></div>`}
<div><dt>${words.mid}</dt><dd>${mid_certified ? chip("done", isSigned ? words.mid_yes : words.mid_yes_unsigned) : mid_unknown.includes(id) ? chip("way", words.mid_unknown) : chip("stopped", words.mid_no)}</dd></div>
</dl>
${chooses}
${password_refused_at && gateway ? html`<div class="panel waits"><p>${words.refused(longMoment(password_refused_at, frame.words))}</p></div>` : ""}
${
  ocpp_identity && gateway && !last_seen_at && !isTold
    ? html`<p>${words.silent}</p>
<details><summary>${words.silent_own}</summary><ol><li>${words.silent_address} ${secretBox(`${gateway}/${encodeURIComponent(ocpp_identity)}`)}</li>
<li>${words.silent_identity} ${secretBox(ocpp_identity)}</li>
<li>${words.silent_password}</li></ol></details>
<details><summary>${words.silent_copy}</summary><p>${words.silent_mirror}</p></details>`
    : ""
}
${
  ocpp_identity && gateway
    ? (mirrors.includes(id) ? (["copy", "own"] as const) : (["own", "short", "copy"] as const)).map(
        (way) => html`<details><summary>${words.renewals[way].ask}</summary><p>${words.renewals[way].means}</p>
<form method="post" action="${frame.to(`/chargers/${id}/password`)}">${formToken(frame.form_token)}${onceField()}<input type="hidden" name="way" value="${way}">
<div class="actions"><button class="button second">${words.renewals[way].action}</button></div></form></details>`,
      )
    : ""
}
<p><a class="link" href="${frame.to(`/chargers/${id}`)}">${words.remove(nickname)}</a></p></section>`;
}

/** Before a charger is removed: what that means. */
export function removeChargerPage(frame: MijnFrame, email: string, { id, nickname }: Charger): Html {
  const words = WORDS[frame.locale].chargers;
  const asked = { title: words.remove_title(nickname), means: words.remove_means, yes: words.yes, no: words.no };
  return askTwice(frame, "/chargers", email, asked, `/chargers/${id}`, {});
}

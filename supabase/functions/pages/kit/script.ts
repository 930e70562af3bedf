/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { createHash } from "node:crypto";
import { estimateOf, kwhOf, shownYield } from "#shared/values/estimate.ts";
import type { Locale } from "#shared/values/locale.ts";
import { readNumber } from "#shared/values/typed_number.ts";
import { icon } from "./parts/icons.ts";
import { type KitWords, WORDS } from "./words.ts";

/**
 * What a page adds in a browser that runs scripts; every page works without. The browser gets the text of this function, so it
 * uses nothing from outside itself but its arguments, which are words and functions of the pages. Bundles rename what Node has too,
 * such as setTimeout: `window.` keeps the browser's.
 *
 * - A form that posts is sent once, however often its button is pressed, and says that it is under way.
 * - What has `data-copy` gets a button that copies it, and what has `data-print` one that prints the page.
 * - What is typed in a field with `data-group` is shown in groups of that many signs.
 * - An estimate is made again while the kWh are typed, by the rule that made it on the page.
 * - A field with `data-color` gets a color picker, and the preview shows the color while it is chosen.
 * - A chart says the numbers of the column that is tapped, pointed at, or chosen with the arrow keys: its `data-value`.
 * - A form with `data-follow` shows what it finds while one types: `#found` of the page it would lead to.
 * - What has `data-listen` is read again every five seconds, for ten minutes at most, while the page is in sight.
 */
function react(
  words: KitWords["script"],
  read: typeof readNumber,
  kwh: typeof kwhOf,
  estimate: typeof estimateOf,
  shown: typeof shownYield,
  date_locale: string,
  copyIcon: string,
): void {
  const end = (form: HTMLFormElement) => {
    delete form.dataset.sent;
    form.querySelector(":scope .busy")?.remove();
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return;
    // it changes nothing, and may lead to where the page is already
    if (form.method === "get") return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
    const said = document.createElement("p");
    said.className = "busy";
    said.setAttribute("role", "status");
    // files take a while
    if (form.enctype === "multipart/form-data") said.append(document.createElement("progress"), " ");
    (event.submitter?.closest(".actions") ?? form).append(said);
    said.append(words.busy);
    // until the answer replaces the page; a form that seems lost may be sent again
    window.setTimeout(end, 60_000, form);
  });
  // back to a page that the browser kept
  addEventListener("pageshow", () => {
    for (const form of document.forms) end(form);
  });

  // a browser has no clipboard for a page that came unencrypted
  for (const shown of navigator.clipboard ? document.querySelectorAll<HTMLElement>("[data-copy]") : []) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.innerHTML = `${copyIcon}<span aria-live="polite"></span>`;
    const said = button.lastChild as HTMLElement;
    const say = (text: string, hidden: string) => {
      said.textContent = text;
      said.className = hidden;
    };
    say(words.copy, "hidden");
    button.addEventListener("click", async () => {
      const text = shown instanceof HTMLInputElement ? shown.value : (shown.textContent ?? "");
      await navigator.clipboard.writeText(text).then(
        () => say(words.copied, ""),
        () => say(words.not_copied, ""),
      );
      window.setTimeout(say, 2_000, words.copy, "hidden");
    });
    shown.after(button);
  }

  // a browser makes the PDF of what nobody signed yet; what was signed we keep as one
  for (const place of document.querySelectorAll("[data-print]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.append(words.print);
    button.addEventListener("click", () => window.print());
    place.prepend(button, " ");
  }

  // what is folded is printed too, and folded again after it
  addEventListener("beforeprint", () => {
    const folded = document.querySelectorAll<HTMLDetailsElement>(".folded:not([open]), .document details:not([open])");
    const unfold = (open: boolean) => {
      for (const each of folded) each.open = open;
    };
    unfold(true);
    addEventListener("afterprint", () => unfold(false), { once: true });
  });

  for (const field of document.querySelectorAll<HTMLInputElement>("input[data-group]")) {
    const size = Number(field.dataset.group);
    const inGroups = (text: string) => text.match(new RegExp(`.{1,${size}}`, "g"))?.join(" ") ?? "";
    field.addEventListener("input", () => {
      const signs = (text: string) => text.replace(/\s/g, "");
      const before = signs(field.value.slice(0, field.selectionStart ?? field.value.length));
      field.value = inGroups(signs(field.value));
      const caret = inGroups(before).length;
      field.setSelectionRange(caret, caret);
    });
  }

  for (const field of document.querySelectorAll<HTMLInputElement>("input[data-color]")) {
    const sheet = document.querySelector<HTMLLinkElement>('link[href*="/preview.css"]');
    const isColor = () => /^#[0-9a-f]{6}$/i.test(field.value);
    const picker = document.createElement("input");
    picker.type = "color";
    picker.setAttribute("aria-label", field.dataset.color ?? "");
    const show = () => {
      if (isColor()) picker.value = field.value;
      if (!sheet || (field.value && !isColor())) return;
      sheet.href = sheet.href.replace(/\?.*/, `?${new URLSearchParams({ color: field.value })}`);
      // said of another color
      document.querySelector("[data-color-said]")?.remove();
    };
    picker.value = isColor() ? field.value : "#0b6b4f";
    picker.addEventListener("input", () => {
      field.value = picker.value;
      show();
    });
    field.addEventListener("input", show);
    field.after(picker);
  }

  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-yields]")) {
    const offer = form.closest(".offer");
    const facts = JSON.parse(form.dataset.yields ?? "");
    offer?.querySelector(".amount")?.setAttribute("aria-live", "polite");
    form.querySelector<HTMLInputElement>("[name=kwh]")?.addEventListener("input", (event) => {
      const typed = (event.target as HTMLInputElement).value;
      const meant = kwh(read, typed);
      // "3." and "3.50" may become thousands, so they show no amount yet
      const yields =
        meant === null || /^\s*\d{1,3}[.,]\d{0,2}\s*$/.test(typed) ? null : shown(estimate, meant, facts, date_locale);
      for (const place of document.querySelectorAll<HTMLElement>("[data-yield]"))
        place.textContent = yields?.[place.dataset.yield as keyof typeof yields] ?? "–";
    });
  }

  for (const chart of document.querySelectorAll<HTMLElement>(".chart")) {
    const columns = [...chart.children] as HTMLElement[];
    const said = chart.nextElementSibling as HTMLElement;
    let chosen = Math.max(
      columns.findIndex(({ className }) => className),
      0,
    );
    const show = (at: number) => {
      if (!columns[at] || at === chosen) return;
      chosen = at;
      for (const [index, column] of columns.entries()) column.className = index === at ? "chosen" : "";
      said.textContent = columns[at]?.dataset.value ?? "";
    };
    const point = ({ target }: Event) =>
      show(columns.indexOf((target as Element).closest<HTMLElement>("li") as HTMLElement));
    chart.tabIndex = 0;
    chart.addEventListener("pointermove", point);
    chart.addEventListener("pointerdown", point);
    chart.addEventListener("keydown", ({ key }) => {
      if (key === "ArrowLeft" || key === "ArrowRight") show(chosen + (key === "ArrowLeft" ? -1 : 1));
    });
  }

  /** Parts of the page as another address has them now; what they had before if that does not answer with the first. */
  const replace = async (ids: string[], address: string, signal?: AbortSignal) => {
    const answer = await fetch(address, signal ? { signal } : {}).catch(() => null);
    if (!answer?.ok || answer.redirected) return false;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById(ids[0] as string) || signal?.aborted) return false;
    for (const id of ids) {
      const [now, then] = [page.getElementById(id), document.getElementById(id)];
      if (now && now.innerHTML !== then?.innerHTML) then?.replaceWith(now);
    }
    return true;
  };

  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-follow]")) {
    let waits = 0;
    let asked: AbortController | undefined;
    form.querySelector("input[name=q]")?.addEventListener("input", () => {
      window.clearTimeout(waits);
      waits = window.setTimeout(async () => {
        asked?.abort();
        asked = new AbortController();
        const address = new URL(form.action);
        address.search = new URLSearchParams(
          [...new FormData(form)].flatMap(([name, value]) => (value ? [[name, String(value)]] : [])),
        ).toString();
        const { signal } = asked;
        if (await replace(["found", "chips"], address.href, signal)) history.replaceState(null, "", address);
        else if (!signal.aborted) document.querySelector("#found [role=status]")?.replaceChildren(words.not_found);
      }, 400);
    });
  }

  for (const part of document.querySelectorAll<HTMLElement>("[data-listen]")) {
    const until = Date.now() + 600_000;
    const every = window.setInterval(() => {
      const listens = document.getElementById(part.id)?.dataset.listen;
      if (Date.now() > until || !listens) window.clearInterval(every);
      else if (!document.hidden) replace([part.id], listens);
    }, 5_000);
  }
}

/** In a language, at an address that changes with it: a page never meets the script of another version. */
function scriptIn(locale: Locale): { text: string; path: string } {
  const { script, date_locale } = WORDS[locale];
  // without its indentation and the lines of its comments
  const source = String(react).replace(/^\s*(?:\/\/.*\n|\/\*\*.*\*\/\n)?/gm, "");
  const text = `(${source})(${JSON.stringify(script)},${[readNumber, kwhOf, estimateOf, shownYield, JSON.stringify(date_locale), JSON.stringify(String(icon("copy")))].join()});`;
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return { text, path: `/page.js?lang=${locale}&v=${version}` };
}

export const SCRIPTS: Readonly<Record<Locale, { text: string; path: string }>> = {
  nl: scriptIn("nl"),
  en: scriptIn("en"),
};

/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { createHash } from "node:crypto";
import type { Locale } from "#shared/values/locale.ts";
import { readNumber } from "#shared/values/typed_number.ts";
import { estimateOf, kwhOf, shownYield } from "./estimate.ts";
import { type KitWords, WORDS } from "./words.ts";

/**
 * What a page adds in a browser that runs scripts; every page works without. The browser gets the text of this function, so it
 * uses nothing from outside itself but its arguments, which are words and functions of the pages. Bundles rename what Node has too,
 * such as setTimeout: `window.` keeps the browser's.
 *
 * - A form that posts is sent once, however often its button is pressed, and says that it is under way.
 * - What has `data-copy` gets a button that copies it.
 * - What is typed in a field with `data-group` is shown in groups of that many signs.
 * - An estimate is made again while the kWh are typed, by the rule that made it on the page.
 * - A field with `data-color` gets a color picker, and the preview shows the color while it is chosen.
 * - A plot says the value of a bar under the pointer, or chosen with the arrow keys: `data-value` of the bar.
 */
function react(
  words: KitWords["script"],
  read: typeof readNumber,
  kwh: typeof kwhOf,
  estimate: typeof estimateOf,
  shown: typeof shownYield,
  date_locale: string,
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
    button.textContent = words.copy;
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      const text = shown instanceof HTMLInputElement ? shown.value : (shown.textContent ?? "");
      button.textContent = await navigator.clipboard.writeText(text).then(
        () => words.copied,
        () => words.not_copied,
      );
      window.setTimeout(() => {
        button.textContent = words.copy;
      }, 3_000);
    });
    shown.after(" ", button);
  }

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
      const meant = kwh(read, (event.target as HTMLInputElement).value);
      // not a number, or one of two: the button asks
      if (meant.length !== 1) return;
      for (const [name, text] of Object.entries(shown(estimate, meant[0] as number, facts, date_locale)))
        for (const place of offer?.querySelectorAll(`[data-yield=${name}]`) ?? []) place.textContent = text;
    });
  }

  for (const plot of document.querySelectorAll<SVGSVGElement>("svg.bars")) {
    const bars = [...plot.querySelectorAll<SVGElement>("[data-value]")];
    if (bars.length === 0) continue;
    const said = document.createElement("p");
    said.className = "value";
    said.setAttribute("aria-live", "polite");
    plot.after(said);
    plot.setAttribute("tabindex", "0");
    let chosen = bars.length - 1;
    const show = (index: number | null) => {
      if (index !== null) chosen = index;
      for (const [at, bar] of bars.entries()) bar.classList.toggle("chosen", at === index);
      said.textContent = (index === null ? undefined : bars[index]?.dataset.value) ?? "";
    };
    const point = ({ clientX }: PointerEvent) => {
      const distances = bars.map((bar) => {
        const { left, right } = bar.getBoundingClientRect();
        return Math.abs((left + right) / 2 - clientX);
      });
      show(distances.indexOf(Math.min(...distances)));
    };
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    // a finger that lifts leaves too
    plot.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType === "mouse") show(document.activeElement === plot ? chosen : null);
    });
    plot.addEventListener("focus", () => show(chosen));
    plot.addEventListener("blur", () => show(null));
    plot.addEventListener("keydown", ({ key }) => {
      if (key === "ArrowLeft") show(Math.max(chosen - 1, 0));
      if (key === "ArrowRight") show(Math.min(chosen + 1, bars.length - 1));
    });
  }
}

/** In a language, at an address that changes with it: a page never meets the script of another version. */
function scriptIn(locale: Locale): { text: string; path: string } {
  const { script, date_locale } = WORDS[locale];
  const text = `(${react})(${JSON.stringify(script)},${[readNumber, kwhOf, estimateOf, shownYield, JSON.stringify(date_locale)].join()});`;
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return { text, path: `/page.js?lang=${locale}&v=${version}` };
}

export const SCRIPTS: Readonly<Record<Locale, { text: string; path: string }>> = {
  nl: scriptIn("nl"),
  en: scriptIn("en"),
};

// The forms of pages as a browser sees them: found by following links, filled in, and sent.

import type { Browser } from "./claimant.ts";

/** A field as its page shows it; `on`: its value is sent. */
export type Field = { name: string; value: string; kind: string; on: boolean; options: string[] };
export type Form = {
  /** Where it was found, and where it goes, from the root of the pages. */
  page: string;
  action: string;
  upload: boolean;
  fields: Field[];
};

const unescapeHtml = (text: string) =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

const attributesOf = (tag: string): Record<string, string> =>
  Object.fromEntries(
    [...tag.matchAll(/([\w-]+)(?:="([^"]*)")?/g)]
      .slice(1)
      .map(([, name = "", value = ""]) => [name, unescapeHtml(value)]),
  );

/** The forms of a page that change something. */
export function formsOf(text: string, page: string): Form[] {
  return [...text.matchAll(/<form ([^>]*method="post"[^>]*)>([\s\S]*?)<\/form>/g)].map(([, head = "", body = ""]) => {
    const { action = "", enctype } = attributesOf(`form ${head}`);
    const fields = [
      ...body.matchAll(/<(input|button) ([^>]*)>|<(textarea|select) ([^>]*)>([\s\S]*?)<\/(?:textarea|select)>/g),
    ].flatMap(([whole, short, about, long, more_about, within = ""]): Field[] => {
      const tag = short ?? long;
      const { name, value = "", type = "text", ...more } = attributesOf(`${tag} ${about ?? more_about}`);
      if (!name) return [];
      if (tag === "textarea") return [{ name, value: unescapeHtml(within), kind: tag, on: true, options: [] }];
      if (tag === "button") return [{ name, value, kind: tag, on: true, options: [] }];
      if (tag === "select") {
        const options = [...whole.matchAll(/<option ([^>]*)>/g)].map(([, each = ""]) => attributesOf(`option ${each}`));
        const chosen = options.find((option) => "selected" in option) ?? options[0];
        return [
          { name, value: chosen?.value ?? "", kind: tag, on: true, options: options.map((each) => each.value ?? "") },
        ];
      }
      return [{ name, value, kind: type, on: !["checkbox", "radio"].includes(type) || "checked" in more, options: [] }];
    });
    return { page, action, upload: enctype === "multipart/form-data", fields };
  });
}

/** Whether somebody fills the field in, and it may be shown again: no code, and no file. */
export const isTyped = ({ name, kind }: Field): boolean =>
  !["hidden", "file", "password", "button"].includes(kind) && name !== "code";

/** What a browser sends of a form; of several buttons the first. */
export function sentOf({ fields, upload }: Form): URLSearchParams | FormData {
  const buttons = fields.filter(({ kind }) => kind === "button").slice(1);
  const sent = fields.filter((field) => field.on && field.kind !== "file" && !buttons.includes(field));
  if (!upload) return new URLSearchParams(sent.map(({ name, value }) => [name, value]));
  const form = new FormData();
  for (const { name, value } of sent) form.append(name, value);
  for (const { name } of fields.filter(({ kind }) => kind === "file")) form.append(name, new File([], ""));
  return form;
}

/** Follows every link below `from`, each route at most three times, and answers the forms of all pages. */
export async function findForms(
  ask: Browser,
  from: string,
  begin: readonly string[],
  routeOf: (path: string) => string | undefined,
): Promise<Form[]> {
  const forms: Form[] = [];
  const seen = new Set<string>();
  const often = new Map<string, number>();
  const waiting = [...begin];
  for (let href = waiting.shift(); href !== undefined; href = waiting.shift()) {
    const { pathname, search } = new URL(href, "http://pages.test");
    const route = routeOf(pathname);
    const times = often.get(route ?? "") ?? 0;
    if (!route || !pathname.startsWith(from) || seen.has(pathname + search) || times >= 3) continue;
    seen.add(pathname + search);
    often.set(route, times + 1);
    const { status, text, location } = await ask(pathname + search);
    if (status === 303) waiting.push(location ?? "");
    forms.push(...formsOf(text, pathname + search));
    waiting.push(...[...text.matchAll(/<a [^>]*href="([^"#]+)/g)].map(([, to = ""]) => unescapeHtml(to)));
  }
  return forms;
}

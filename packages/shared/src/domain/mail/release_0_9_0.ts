import type { Written } from "./layout.ts";

/**
 * A mail whose text release 0.9.0 wrote: it waits in the outbox, or came from functions of 0.9.0 while they were replaced. Marks
 * {{name}} stand for what SQL added. To be deleted with the release after 1.0.0.
 */
export type Composed = Written & {
  defaults?: Record<string, string>;
  sender?: { name: string };
} & Record<string, unknown>;

export function fillMarks({ subject, html, text, links, reply_to, unsubscribe_url, ...content }: Composed): Written {
  const marks: Record<string, unknown> = { ...content, sender: content.sender?.name };
  const fill = (template: string, quote: (value: string) => string = String) =>
    template.replaceAll(/{{(\w+)}}/g, (mark, name) =>
      quote([marks[name], content.defaults?.[name]].find((value) => typeof value === "string") ?? mark),
    );
  return {
    subject: fill(subject),
    html: fill(html, escapeHtml),
    text: fill(text),
    links: links.map((link) => fill(link)),
    reply_to,
    unsubscribe_url,
  };
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escapeHtml = (value: string) => value.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

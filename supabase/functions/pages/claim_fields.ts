import { html } from "hono/html";
import type { Html } from "./layout.ts";

/** The parts of a form: label above, hint under it, the message at the field, the typed value kept. */
type Field = { id: string; label: string; hint?: string; error?: string | undefined };

export function textInput({
  type = "text",
  attributes = html``,
  value,
  ...field
}: Field & { type?: "text" | "tel"; value: string | null | undefined; attributes?: Html }): Html {
  return html`<div class="field">
<label for="${field.id}">${field.label}</label>
${notes(field)}
<input type="${type}" id="${field.id}" name="${field.id}" value="${value ?? ""}"${described(field)}${attributes}>
</div>`;
}

export function selectInput({
  empty,
  options,
  value,
  ...field
}: Field & { empty: string; options: { value: string; label: string }[]; value: string | null | undefined }): Html {
  return html`<div class="field">
<label for="${field.id}">${field.label}</label>
${notes(field)}
<select id="${field.id}" name="${field.id}"${described(field)}>
<option value="">${empty}</option>
${options.map((option) => html`<option value="${option.value}"${option.value === value ? html` selected` : ""}>${option.label}</option>`)}
</select>
</div>`;
}

/** One of several. `under` is what belongs to a choice: a field to fill in. The summary of errors leads to the first one. */
export function radios({
  options,
  value,
  ...field
}: Field & {
  options: { value: string; label: string; hint?: string; under?: Html }[];
  value: string | null | undefined;
}): Html {
  return html`<fieldset${described(field, false)}>
<legend>${field.label}</legend>
${notes(field)}
${options.map(
  (
    option,
    index,
  ) => html`<label class="choice"><input type="radio"${index === 0 ? html` id="${field.id}"` : ""} name="${field.id}" value="${option.value}"${option.value === value ? html` checked` : ""}><span>${option.label}${option.hint ? html`<small>${option.hint}</small>` : ""}</span></label>
${option.under ? html`<div class="under">${option.under}</div>` : ""}`,
)}
</fieldset>`;
}

const notes = ({ id, hint, error }: Field) =>
  html`${hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : ""}${error ? html`<p class="wrong" id="${id}-error">${error}</p>` : ""}`;

/** A group of choices has no value of its own that could be invalid (WAI-ARIA 1.2). */
function described({ id, hint, error }: Field, has_value = true): Html {
  const ids = [...(hint ? [`${id}-hint`] : []), ...(error ? [`${id}-error`] : [])].join(" ");
  return html`${ids ? html` aria-describedby="${ids}"` : ""}${error && has_value ? html` aria-invalid="true"` : ""}`;
}

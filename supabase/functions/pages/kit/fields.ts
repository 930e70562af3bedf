import type { Html } from "./frame.ts";
import { html } from "./html.ts";

/** The parts of a form: label above, hint under it, the message at the field, the typed value kept. */
type Field = { id: string; label: string; hint?: string | undefined; error?: string | undefined };

export function textInput({
  type = "text",
  required = false,
  attributes = html``,
  value,
  name,
  ...field
}: Field & {
  /** Where it is not the id. */
  name?: string;
  type?: "text" | "tel" | "email" | "password";
  required?: boolean;
  /** Left out of a field that always begins empty. */
  value?: string | null;
  attributes?: Html;
}): Html {
  return html`<div class="field">
<label for="${field.id}">${field.label}</label>
${notes(field)}
<input type="${type}" id="${field.id}" name="${name ?? field.id}"${value === undefined ? "" : html` value="${value ?? ""}"`}${described(field)}${attributes}${required ? html` required` : ""}>
</div>`;
}

/** A file. `accept` is what a browser offers first, and no promise. */
export function fileInput({ accept, ...field }: Field & { accept: string }): Html {
  return html`<div class="field">
<label for="${field.id}">${field.label}</label>
${notes(field)}
<input type="file" id="${field.id}" name="${field.id}" accept="${accept}"${described(field)} required>
</div>`;
}

/** Where a one-time code is typed; kit/code.ts reads it. `value` is one that was typed, where something else of its form was wrong. */
export function codeInput({ label, hint, error, value }: Omit<Field, "id"> & { value?: string | null }): Html {
  return textInput({
    id: "code",
    label,
    hint,
    error,
    ...(value ? { value } : {}),
    required: true,
    attributes: html` class="code" autocomplete="one-time-code" inputmode="numeric" maxlength="9" spellcheck="false"`,
  });
}

export function selectInput({
  empty,
  options,
  value,
  ...field
}: Field & { empty: string; options: { value: string; label: string }[]; value: string | null | undefined }): Html {
  return html`<div class="field">
<label for="${field.id}">${field.label}</label>${notes(field)}
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

export function tick({
  id,
  label,
  error,
  checked,
}: {
  id: string;
  label: string;
  error: string | undefined;
  checked: boolean;
}): Html {
  return html`<div class="tick">
${error ? html`<p class="wrong" id="${id}-error">${error}</p>` : ""}
<label for="${id}"><input type="checkbox" id="${id}" name="${id}" value="yes" required${checked ? html` checked` : ""}${error ? html` aria-invalid="true" aria-describedby="${id}-error"` : ""}><span>${label}</span></label>
</div>`;
}

const notes = ({ id, hint, error }: Field) =>
  html`${hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : ""}${error ? html`<p class="wrong" id="${id}-error">${error}</p>` : ""}`;

/** A group of choices has no value of its own that could be invalid (WAI-ARIA 1.2). */
function described({ id, hint, error }: Field, hasValue = true): Html {
  const ids = [...(hint ? [`${id}-hint`] : []), ...(error ? [`${id}-error`] : [])].join(" ");
  return html`${ids ? html` aria-describedby="${ids}"` : ""}${error && hasValue ? html` aria-invalid="true"` : ""}`;
}

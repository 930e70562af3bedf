import type { KitWords } from "./words.ts";

/** Why a code does not do: none was typed, or one of CODE_REFUSALS. */
export type CodeError = keyof KitWords["code"]["errors"];

/** A typed one-time code without spaces, dots and dashes; null for other text. */
export function readCode(form: URLSearchParams): string | null {
  const code = (form.get("code") ?? "").replace(/[\s.-]/g, "");
  return /^\d{6}$/.test(code) ? code : null;
}

// What is random in a recorded answer, replaced by what is the same in every run. No value is anybody's: tests make them all.

import { createHash } from "node:crypto";

const HOST = "https://api.example.com";

const digest = (what: string) => createHash("sha256").update(what).digest();

/**
 * Replaces each random value by a fixed one of its form; the same value by the same one within an example, which `example` names: a new
 * example changes no other.
 */
export function placeholders(url: string, example: string): (value: unknown) => unknown {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  const stand = (kind: string, value: string, make: (count: number) => string): string => {
    const key = `${kind} ${value}`;
    let placeholder = known.get(key);
    if (placeholder === undefined) {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      placeholder = make(count);
      known.set(key, placeholder);
    }
    return placeholder;
  };
  const uuid = (count: number) => {
    const hex = digest(`uuid ${example} ${count}`).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
  const letters = (count: number, length: number) => {
    let text = "";
    for (let part = 0; text.length < length; part += 1)
      text += digest(`text ${example} ${count} ${part}`).toString("base64url");
    return text.slice(0, length);
  };
  const text = (value: string): string =>
    value
      .replaceAll(url, HOST)
      .replaceAll(encodeURIComponent(url), encodeURIComponent(HOST))
      .replace(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, (found) =>
        stand("jwt", found, (count) => `eyJhbGciOiJFUzI1NiJ9.${letters(count, 40)}.${letters(-count, 40)}`),
      )
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, (found) =>
        stand("uuid", found, uuid),
      )
      .replace(/whsec_[A-Za-z0-9+/]{43}=|[A-Za-z0-9_-]{22,}/g, (found) => {
        if (found.startsWith("whsec_")) return stand("webhook", found, (count) => `whsec_${letters(-count, 43)}=`);
        // a name of ours is of small letters
        if (!/[A-Z]/.test(found) || !/[a-z]/.test(found)) return found;
        // a secret of 43 random letters may begin like a kind of key, or have no digit
        const kind = found.length > 43 ? /^[a-z]+_[a-z]+_/.exec(found)?.[0] : undefined;
        return stand("secret", found, (count) => `${kind ?? ""}${letters(count, 43)}`);
      })
      .replace(/\bKL-[0-9a-f]{10}\b/g, (found) => stand("reference", found, (count) => `KL-${1000 + count}`))
      .replace(/\b[0-9a-f]{10,12}(?=@)/g, (found) => stand("mailbox", found, (count) => `klant${count}`))
      .replace(/\b8716871\d{11}\b/g, (found) =>
        stand("ean", found, (count) => `8716871000000${String(count).padStart(5, "0")}`),
      )
      .replace(/(?<![0-9A-Za-z+])(?!06\d{8}\b|\d{18}\b)[0-9a-f]{10,64}(?![0-9A-Za-z])/g, (found) =>
        stand("hex", found, (count) =>
          digest(`hex ${example} ${count}`).toString("hex").repeat(2).slice(0, found.length),
        ),
      );
  return function replace(value: unknown, name?: string): unknown {
    if (name === "last4") return "x7Qd";
    if (name?.endsWith("_cursor") && typeof value === "string")
      return stand("cursor", value, (count) => `AAAAAAAAAA${letters(count, 12)}`);
    // a mail is pages long
    if (typeof value === "string")
      return name === "html" || name === "text" ? `${text(value).slice(0, 60)}…` : text(value);
    if (Array.isArray(value)) return value.slice(0, 3).map((each) => replace(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, replace(field, key)]));
  } as (value: unknown) => unknown;
}

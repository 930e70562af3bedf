// A browser without a browser: one person's way over the consent page by plain HTTP, with a cookie jar.

import { newSecret } from "#shared/auth/tokens.ts";
import { formTokenOf } from "../../supabase/functions/pages/kit/sign_in.ts";
import { type App, authorizationOf, newVerifier, type Person, type Verifier } from "./oauth_world.ts";

export type Seen = { status: number; headers: Headers; html: string; heading: string };

export function consentVisit(
  { url }: { url: string },
  app: Pick<App, "client_id">,
  fields: Record<string, unknown> = {},
  address = "192.0.2.7",
) {
  const verifier: Verifier = newVerifier();
  const asked = Object.entries(authorizationOf(app, verifier, fields)).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(asked as [string, string][]).toString();
  // as if a page had been shown before
  const secret = newSecret();
  const form_token = formTokenOf(secret);
  const jar = new Map([["consent-form", secret]]);

  async function send(
    step: string,
    form?: Record<string, string>,
    headers: Record<string, string> = {},
    asking = query,
  ): Promise<Seen> {
    const response = await fetch(`${url}/pages/consent${step}?${asking}`, {
      redirect: "manual",
      // empty: not sent
      headers: Object.entries({
        "x-forwarded-for": address,
        "accept-language": "en",
        ...(jar.size > 0 ? { cookie: [...jar].map((cookie) => cookie.join("=")).join("; ") } : {}),
        ...(form ? { "sec-fetch-site": "same-origin" } : {}),
        ...headers,
      }).filter(([, value]) => value !== ""),
      ...(form ? { method: "POST", body: new URLSearchParams(form) } : {}),
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (/max-age=0/i.test(set)) jar.delete(name);
      else jar.set(name, value);
    }
    const returned = response.headers.getSetCookie().find((set) => set.startsWith("form="));
    if (form && response.status === 303 && returned) {
      // back to the form, with its own cookie, whatever came back to this browser meanwhile
      const { pathname, search } = new URL(response.headers.get("location") ?? "", url);
      const others = [...jar].filter(([name]) => name !== "form").map((cookie) => cookie.join("="));
      const cookie = [...others, returned.split(";")[0]].join("; ");
      return send(pathname.replace("/pages/consent", ""), undefined, { cookie }, search.slice(1));
    }
    const html = await response.text();
    const seen: Seen = {
      status: response.status,
      headers: response.headers,
      html,
      heading: /<h1>(.*?)<\/h1>/.exec(html)?.[1] ?? "",
    };
    return seen;
  }

  return {
    form_token,
    verifier,
    query,
    send,
    /** The session, or another cookie; one that is given is kept. */
    cookie: (given?: string, name = "consent") => {
      if (given !== undefined) jar.set(name, given);
      return jar.get(name) ?? "";
    },
    show: (asking?: string) => send("", undefined, {}, asking),
    signIn: ({ email, password }: Pick<Person, "email" | "password">) =>
      send("/sign-in", { email, password, form_token }),
    mailCode: (email: string) => send("/mail-code", { email, form_token }),
    enterCode: (code: string) => send("/code", { code, form_token }),
    allow: (page: Seen) => send("", { proof: proofIn(page) }),
  };
}

export type ConsentVisit = ReturnType<typeof consentVisit>;

export const proofIn = ({ html }: Seen): string => /name="proof" value="([^"]*)"/.exec(html)?.[1] ?? "";

/** Where a page sends the browser on to. */
export const onward = ({ headers }: Seen): URL => new URL((headers.get("refresh") ?? "").replace(/^0;url=/, ""));

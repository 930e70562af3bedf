// A browser without a browser: one person's way over the consent page by plain HTTP, with a cookie jar of one cookie.

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
  let cookie = "";

  async function send(
    step: string,
    form?: Record<string, string>,
    headers: Record<string, string> = {},
    asking = query,
  ) {
    const response = await fetch(`${url}/pages/consent${step}?${asking}`, {
      redirect: "manual",
      headers: {
        "x-forwarded-for": address,
        "accept-language": "en",
        ...(cookie ? { cookie } : {}),
        ...(form ? { "sec-fetch-site": "same-origin" } : {}),
        ...headers,
      },
      ...(form ? { method: "POST", body: new URLSearchParams(form) } : {}),
    });
    const set = response.headers.get("set-cookie");
    if (set) cookie = /max-age=0/i.test(set) ? "" : (set.split(";")[0] ?? "");
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
    verifier,
    query,
    send,
    cookie: (given?: string) => {
      if (given !== undefined) cookie = given;
      return cookie;
    },
    show: (asking?: string) => send("", undefined, {}, asking),
    signIn: ({ email, password }: Pick<Person, "email" | "password">) => send("/sign-in", { email, password }),
    allow: (page: Seen) => send("", { proof: proofIn(page) }),
  };
}

export const proofIn = ({ html }: Seen): string => /name="proof" value="([^"]*)"/.exec(html)?.[1] ?? "";

/** Where a page sends the browser on to. */
export const onward = ({ headers }: Seen): URL => new URL((headers.get("refresh") ?? "").replace(/^0;url=/, ""));

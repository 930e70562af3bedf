// What the tests of the claim pages need: a world with Supabase Auth beside it, drafts, and a browser's cookie jar without the browser.

import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { auth } from "#local/auth.ts";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { claimToken, signInLink } from "#shared/domain/claim/links.ts";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/pages/app.ts";
import { type Answerer, serveHttp } from "../harness/browser.ts";
import { newTokenKey } from "../harness/environment.ts";
import { createWorld, type World, type WorldOptions } from "../harness/world.ts";

const SECRET_KEY = "sb_secret_test";
const PUBLISHABLE_KEY = "sb_publishable_test";

export type ClaimWorld = World & {
  url: string;
  /** What is sent to Supabase Auth meanwhile: method and path. A test may break it. */
  auth: { calls: string[]; broken: boolean };
};

export async function createClaimWorld(options: WorldOptions = {}): Promise<ClaimWorld> {
  const http = await serveHttp();
  const world = await createWorld({
    limits: { lifted: ["page"] },
    ...options,
    variables: {
      PAGES_URL: `${http.url}/pages`,
      SUPABASE_URL: http.url,
      SUPABASE_SECRET_KEY: SECRET_KEY,
      PUBLISHABLE_KEY,
      ...options.variables,
    },
  });
  await world.database.admin.query(
    "update core.partners set name = 'Zonneveld Laadpalen', branding = $1, return_url = 'https://zonneveld.example/klaar' where slug = 'partner-a'",
    [{ display_name: "Zonneveld", primary_color: "#7a1fa2", reply_to: "hulp@zonneveld.example" }],
  );
  const issuer = auth({
    url: http.url,
    database_url: world.database.admin.options.connectionString ?? "",
    key: newTokenKey("auth-1"),
    publishable_key: PUBLISHABLE_KEY,
    secret_key: SECRET_KEY,
    now: () => world.environment.now(),
  });
  const seen: ClaimWorld["auth"] = { calls: [], broken: false };
  const pages = serve(surface, world.environment);
  http.answer = ((request) => {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/auth/v1/")) return pages.fetch(request);
    seen.calls.push(`${request.method} ${pathname}`);
    return seen.broken ? new Response("away", { status: 503 }) : issuer.app.fetch(request);
  }) as Answerer;
  return {
    ...world,
    url: http.url,
    auth: seen,
    async close() {
      await http.close();
      await issuer.close();
      await world.close();
    },
  };
}

export type Draft = { id: string; email: string; link: string };

/** A draft as an import makes it, with the fields told. */
export async function newDraft(
  world: World,
  fields: Record<string, unknown> = {},
  partner = world.partnerA,
): Promise<Draft> {
  const row: Record<string, unknown> = {
    partner_id: partner.id,
    batch_id: "00000000-0000-4000-8000-0000000000ff",
    source: "api",
    type: "particulier",
    name: "Sanne de Vries",
    email: `klant-${randomBytes(5).toString("hex")}@example.nl`,
    phone: "+31612345678",
    external_ref: "KL-1",
    postal_code: "3818LH",
    house_number: 8,
    street: "Dorpsstraat",
    city: "Amersfoort",
    ean_status: "pending",
    send_invite: true,
    expires_at: new Date(Date.now() + 60 * 86_400_000).toISOString(),
    ...fields,
  };
  const names = Object.keys(row);
  const { id, email } = await world.row(
    `insert into core.drafts (${names.join(", ")}) values (${names.map((_, index) => `$${index + 1}`).join(", ")}) returning id, email`,
    ...Object.values(row).map((value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : value)),
  );
  return { id, email, link: `${world.environment.config.PAGES_URL}/claim/${claimToken(world.environment, id)}` };
}

/** A sign-in link, as auth-link makes one. */
export async function newSignInLink(world: World, draft: Draft, return_url: string | null = null): Promise<string> {
  const token = newSecret();
  await world.row(
    `insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
     select partner_id, id, decode($2, 'hex'), $3, private.now() + interval '300 seconds' from core.drafts where id = $1`,
    draft.id,
    hashSecret(token),
    return_url,
  );
  return signInLink(world.environment, token);
}

export type PageAnswer = {
  status: number;
  headers: Headers;
  bytes?: Uint8Array<ArrayBuffer>;
  text: string;
  location: string | null;
};

/** A browser without script: keeps its cookies, each for its path, sends forms as our own pages would, and goes back to a form that is refused. */
export function newBrowser(world: World) {
  const pages = serve(surface, world.environment);
  const jar = new Map<string, { path: string; cookie: string }>();
  const keep = (headers: Headers) => {
    for (const set of headers.getSetCookie()) {
      const [, cookie = "", path = ""] = /^([^;]*).*; Path=([^;]*)/.exec(set) ?? [];
      const key = `${cookie.split("=")[0]} ${path}`;
      if (set.includes("Max-Age=0")) jar.delete(key);
      else jar.set(key, { path, cookie });
    }
  };
  const ask = async (
    address: string,
    {
      form,
      headers = {},
    }: { form?: Record<string, string> | URLSearchParams | FormData; headers?: Record<string, string> } = {},
  ): Promise<PageAnswer> => {
    const url = new URL(address, world.environment.config.PAGES_URL);
    // the longest path first (RFC 6265, 5.4)
    const cookiesOf = ({ pathname }: URL) =>
      [...jar.values()]
        .filter(({ path }) => `${pathname}/`.startsWith(`${path}/`))
        .toSorted((one, other) => other.path.length - one.path.length)
        .map(({ cookie }) => cookie);
    // as bytes: a stream of a form with files says nothing good of being cancelled
    const multipart = form instanceof FormData ? new Response(form) : null;
    const body = multipart ? await multipart.arrayBuffer() : new URLSearchParams(form as Record<string, string>);
    const sent = {
      "content-type": multipart?.headers.get("content-type") ?? "",
      "x-forwarded-for": "192.0.2.9",
      cookie: cookiesOf(url).join("; "),
      ...(form ? { "sec-fetch-site": "same-origin" } : {}),
      ...headers,
    };
    const response = await pages.fetch(
      new Request(url, {
        method: form ? "POST" : "GET",
        ...(form ? { body } : {}),
        headers: Object.entries(sent).filter(([, value]) => value !== ""),
      }),
    );
    keep(response.headers);
    const returned = response.headers.getSetCookie().find((set) => /^(__Secure-)?form=/.test(set));
    if (form && response.status === 303 && returned) {
      const next = new URL(response.headers.get("location") ?? "", url);
      // its own cookie, whatever came back to this browser meanwhile
      const others = headers.cookie
        ? [headers.cookie]
        : cookiesOf(next).filter((each) => !/^(__Secure-)?form=/.test(each));
      const cookie = [...others, returned.split(";")[0]].join("; ");
      return ask(next.href, { headers: { ...headers, cookie } });
    }
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const location = response.headers.get("location");
    return { status: response.status, headers: response.headers, bytes, text, location };
  };
  /** The claim's session. */
  const cookie = () => [...jar.values()].findLast((kept) => /^(__Secure-)?claim=/.test(kept.cookie))?.cookie ?? "";
  /** What it has by a name, as it would send it. */
  const jarred = (name: string) => [...jar.values()].find((kept) => kept.cookie.startsWith(`${name}=`))?.cookie ?? "";
  const cookies = () =>
    [...jar.values()].map(({ path, cookie }) => {
      const [, name = "", value = ""] = /^([^=]*)=(.*)$/.exec(cookie) ?? [];
      return { name, value, path, domain: new URL(world.environment.config.PAGES_URL).hostname };
    });
  return Object.assign(ask, { cookie, jar: jarred, cookies });
}
export type Browser = ReturnType<typeof newBrowser>;

/** Gives a real browser the cookies of one without script: it goes on where that one was. */
export const lend = (page: Page, { cookies }: Browser): Promise<void> => page.context().addCookies(cookies());

/** As much of it as a step needs. */
export type Ask = (address: string, sent?: { form?: Record<string, string> }) => Promise<PageAnswer>;

/** The newest code mailed for a draft. */
export async function mailedCode(world: World, draft: Draft): Promise<string> {
  const { text } = await world.mail(
    "where cause like 'claim_code:' || $1 || ':%' order by created_at desc, age(xmin), ctid desc limit 1",
    draft.id,
  );
  return /^ {4}(\d{6})$/m.exec(text)?.[1] ?? "none";
}

/** Proves the address by its code. */
export async function prove(world: World, ask: Ask, draft: Draft): Promise<PageAnswer> {
  expect((await ask(`${draft.link}/code`, { form: {} })).status).toBe(303);
  return ask(`${draft.link}/proof`, { form: { code: await mailedCode(world, draft) } });
}

/** Has the code mailed that a change after signing needs, and gives the form that it goes with. */
export async function changeForm(world: World, ask: Ask, draft: Draft, page: "payout" | "revoke") {
  const form = { form_token: formToken((await ask(`${draft.link}/${page}`)).text) };
  expect((await ask(`${draft.link}/${page === "payout" ? "iban" : page}-code`, { form })).status).toBe(303);
  return { ...form, code: await mailedCode(world, draft) };
}

export const formToken = (text: string) => /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
export const heading = (text: string) => /<h1>([^<]*)<\/h1>/.exec(text)?.[1];

/** Fills in a step; its own form token is read from the page, at the query told. */
export async function fill(
  ask: Ask,
  draft: Draft,
  step: string,
  form: Record<string, string>,
  query = "",
): Promise<PageAnswer> {
  const { text } = await ask(`${draft.link}/${step}${query}`);
  return ask(`${draft.link}/${step}`, { form: { form_token: formToken(text), ...form } });
}

export const ANSWERS: Record<string, Record<string, string>> = {
  details: { full_name: "Sanne de Vries", type: "particulier", phone: "06 12 34 56 78" },
  address: { postal_code: "3818 lh", house_number: "8", street: "Dorpsstraat", city: "Amersfoort" },
  payout: { iban: "NL91 ABNA 0417 1643 00" },
  charger: { later: "yes" },
};

/** An address of its own, so that the sandbox's register gives it an EAN of its own. */
let house = 100;
export const freshAddress = () => {
  house += 1;
  return { postal_code: "1012 AB", house_number: String(house), street: "Kade", city: "Amsterdam" };
};

/** Every step up to the mandate, or to the one told; the connection is the one the register knows at the address, or the one told. */
export async function answer(
  ask: Ask,
  draft: Draft,
  {
    ean,
    until,
    ...steps
  }: Partial<Record<"details" | "company" | "address" | "payout" | "charger", Record<string, string>>> & {
    ean?: string;
    until?: string;
  } = {},
): Promise<void> {
  const all: Record<string, Record<string, string> | undefined> = { ...ANSWERS, ...steps };
  // every form of a session has the same
  let form_token: string | undefined;
  for (const step of ["details", "company", "address", "ean", "payout", "charger"]) {
    if (step === until) return;
    if (step === "company" && !all.company) continue;
    let form = all[step] ?? {};
    if (step === "ean" && !ean) {
      const { text } = await ask(`${draft.link}/ean`);
      form = { point: /name="point" value="(\d{18})"/.exec(text)?.[1] ?? "", ean_code: "" };
    } else if (step === "ean") form = { point: "other", ean_code: ean ?? "" };
    form_token ??= formToken((await ask(`${draft.link}/${step}`)).text);
    const answered = await ask(`${draft.link}/${step}`, { form: { form_token, ...form } });
    expect(answered.status, `${step}: ${answered.text}`).toBe(303);
  }
}

/** Up to the last click of signing. */
export async function readyToSign(world: World, ask: Ask, draft: Draft): Promise<Record<string, string>> {
  const { text } = await ask(`${draft.link}/mandate`);
  const seen = /seen=([0-9a-f]{16})/.exec(text)?.[1] ?? "";
  const form = { seen, form_token: formToken((await ask(`${draft.link}/sign?seen=${seen}`)).text) };
  expect((await ask(`${draft.link}/sign-code`, { form })).status).toBe(303);
  return { ...form, code: await mailedCode(world, draft), name: "Sanne de Vries", agree: "yes", authority: "yes" };
}

export async function draftRow(world: World, { id }: Draft) {
  return world.row("select * from core.drafts where id = $1", id);
}

/** A signed claim and the browser it was signed in: IBAN and charger were put off, unless told. */
export async function signedClaim(
  world: World,
  steps: Parameters<typeof answer>[2] = {},
  fields: Record<string, unknown> = {},
): Promise<{ draft: Draft; ask: Browser }> {
  const draft = await newDraft(world, fields);
  const ask = newBrowser(world);
  await prove(world, ask, draft);
  await answer(ask, draft, { address: freshAddress(), payout: { later: "yes" }, ...steps });
  const signed = await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
  expect(signed.status, signed.text).toBe(303);
  return { draft, ask };
}

// From the signature on to the own pages, signed in: for the browser that proved the address, and for no login of a stranger.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type Browser,
  type ClaimWorld,
  createClaimWorld,
  type Draft,
  formToken,
  newBrowser,
  newDraft,
  prove,
  signedClaim,
} from "./claimant.ts";

const NOW = "2026-06-15T12:00:00Z";

let world: ClaimWorld;
beforeAll(async () => {
  world = await createClaimWorld({ now: NOW, limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(() => world.travel(NOW));

const PASSWORD = "the stranger's own";
async function auth(path: string, body: object) {
  const { SUPABASE_URL, PUBLISHABLE_KEY = "" } = world.environment.config;
  const response = await fetch(`${SUPABASE_URL}/auth/v1${path}`, {
    method: "POST",
    headers: { apikey: PUBLISHABLE_KEY, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}
const loginsAt = (email: string) => world.row("select array_agg(id) as ids from auth.users where email = $1", email);
const pageSessions = async (email: string) =>
  (
    await world.row(
      "select count(*)::int as n from core.page_sessions s join auth.users u on u.id = s.user_id where u.email = $1",
      email,
    )
  ).n;
const BUTTON = "Naar uw eigen pagina's".replace("'", "&#39;");
/** Presses the button of the page of a signed claim. */
async function goOn(ask: Browser, draft: Draft) {
  const { text } = await ask(draft.link);
  expect(text).toContain(`<button class="button second">${BUTTON}</button>`);
  return ask(`${draft.link}/mijn?lang=nl`, { form: { form_token: formToken(text) } });
}
const signInLink = `<a class="button second" href="/pages/mijn?lang=nl">${BUTTON}</a>`;

describe("contract §6 whoever has just signed goes on to their own pages", () => {
  test("by one button, signed in, without another code", async () => {
    const { draft, ask } = await signedClaim(world);
    const gone = await goOn(ask, draft);
    expect([gone.status, gone.location]).toEqual([303, "/pages/mijn?lang=nl"]);
    const own = await ask(gone.location ?? "");
    expect([own.status, own.text.includes(draft.email)]).toEqual([200, true]);
    expect((await ask(`${world.environment.config.PAGES_URL}/mijn/data/end`)).status).toBe(200);
  });

  test("also where the address was proven in another browser after the signature", async () => {
    const { draft } = await signedClaim(world);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    expect((await goOn(ask, draft)).location).toBe("/pages/mijn?lang=nl");
  });

  test("a quarter of an hour later by signing in", async () => {
    const { draft, ask } = await signedClaim(world);
    const { text } = await ask(draft.link);
    await world.travel("2026-06-15T12:15:00Z");
    expect((await ask(draft.link)).text).toContain(signInLink);
    const late = await ask(`${draft.link}/mijn?lang=nl`, { form: { form_token: formToken(text) } });
    expect(late.location).toBe("/pages/mijn/sign-in?lang=nl");
    expect(await pageSessions(draft.email)).toBe(0);
  });

  test("not by the link of the claim alone, not by a form of another browser, and not before the signature", async () => {
    const { draft, ask } = await signedClaim(world);
    const form = { form_token: formToken((await ask(draft.link)).text) };
    expect((await newBrowser(world)(`${draft.link}/mijn?lang=nl`, { form })).location).not.toContain("/mijn?");
    const other = newBrowser(world);
    await prove(world, other, draft);
    expect((await other(`${draft.link}/mijn?lang=nl`, { form })).status).toBe(403);
    expect(await pageSessions(draft.email)).toBe(0);
    const [open, early] = [await newDraft(world), newBrowser(world)];
    await prove(world, early, open);
    const step = formToken((await early(`${open.link}/details`)).text);
    expect((await early(`${open.link}/mijn`, { form: { form_token: step } })).location).not.toContain("/pages/mijn");
    expect(await pageSessions(open.email)).toBe(0);
  });
});

describe("contract §7 a stranger's login gains nothing by the button", () => {
  test("made before its owner came: the owner goes on, with a login of their own", async () => {
    const email = "nog-niet-gekomen@example.nl";
    const { body: stranger } = await auth("/signup", { email, password: PASSWORD });
    const { draft, ask } = await signedClaim(world, {}, { email });
    expect((await goOn(ask, draft)).location).toBe("/pages/mijn?lang=nl");
    const { ids } = await loginsAt(draft.email);
    expect(ids).toHaveLength(1);
    expect(ids).not.toContain(stranger.user.id);
    expect((await auth("/token?grant_type=password", { email, password: PASSWORD })).status).toBe(400);
    expect((await auth("/token?grant_type=refresh_token", { refresh_token: stranger.refresh_token })).status).not.toBe(
      200,
    );
  });

  test("made after the owner's login is gone: nobody is signed in to it", async () => {
    const { draft, ask } = await signedClaim(world);
    const { text } = await ask(draft.link);
    await world.row(
      "update auth.users set deleted_at = private.now(), email = id || '@deleted.invalid' where email = $1 returning 1",
      draft.email,
    );
    expect((await auth("/signup", { email: draft.email, password: PASSWORD })).status).toBe(200);
    const answer = await ask(`${draft.link}/mijn?lang=nl`, { form: { form_token: formToken(text) } });
    expect(answer.location ?? "").not.toBe("/pages/mijn?lang=nl");
    expect(await pageSessions(draft.email)).toBe(0);
  });

  test("a login whose address was changed at Supabase Auth is not the proved one", async () => {
    const { draft, ask } = await signedClaim(world);
    const { text } = await ask(draft.link);
    const elsewhere = draft.email.replace("@", "-2@");
    await world.row("update auth.users set email = $2 where email = $1 returning 1", draft.email, elsewhere);
    expect((await ask(draft.link)).text).toContain(signInLink);
    const answer = await ask(`${draft.link}/mijn?lang=nl`, { form: { form_token: formToken(text) } });
    expect(answer.location).toBe("/pages/mijn/sign-in?lang=nl");
    expect(await pageSessions(elsewhere)).toBe(0);
  });
});

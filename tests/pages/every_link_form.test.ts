// Every form behind a link, and of signing in: sent twice at once, once more after Back, and with nothing filled in.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashPassword } from "#local/auth.ts";
import { claim } from "../../supabase/functions/pages/claim/claim.ts";
import { consent } from "../../supabase/functions/pages/consent/consent.ts";
import { mandate } from "../../supabase/functions/pages/mandate/mandate.ts";
import { mijn as ownPages } from "../../supabase/functions/pages/mijn/mijn.ts";
import { portal as partnersPages } from "../../supabase/functions/pages/portal/portal.ts";
import { rowCounts } from "../harness/world.ts";
import { authorizationOf, newVerifier, REDIRECT_URI } from "../oauth/oauth_world.ts";
import { createSandboxWorld, type SandboxWorld, START } from "../sandbox/sandbox_world.ts";
import {
  ANSWERS,
  answer,
  type Browser,
  freshAddress,
  heading,
  mailedCode,
  newBrowser,
  newDraft,
  newSignInLink,
  type PageAnswer,
  prove,
  signedClaim,
} from "./claimant.ts";
import { mijn, newCustomer, signInCode } from "./customer.ts";
import { type Form, formsOf, sentOf } from "./forms.ts";
import { newManager, portal } from "./manager.ts";
import { issueLink, pageClient, readyToSign as readyToSignMandate } from "./signatory.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
});
afterAll(() => world.close());

const pathOf = (address: string) => new URL(address, "http://pages.test").pathname;
const sent = new Set<string>();

async function formTo(ask: Browser, page: string, end: string): Promise<Form> {
  const { text, status } = await ask(page);
  const form = formsOf(text, page).find(({ action }) => pathOf(action || page).endsWith(end));
  if (!form) throw new Error(`${page} has no form to ${end}: ${status} ${heading(text)}`);
  return { ...form, action: new URL(form.action || page, page).href };
}

type Fields = Record<string, string>;
/** The headings of the pages that two clicks lead to, and a third after Back, which may be told what is wrong. */
type Pressed = { leads: string; back?: string; fields?: Fields | (() => Promise<Fields>) };

/** Sends a form with nothing filled in, if it asks for something; then twice at once, and once more after Back. */
async function press(
  ask: Browser,
  page: string,
  end: string,
  { leads, back = `200 ${leads}`, fields }: Pressed,
): Promise<void> {
  const form = await formTo(ask, page, end);
  sent.add(pathOf(form.action).replace("/pages", ""));
  const filled = typeof fields === "function" ? await fields() : fields;
  if (filled) await sayWhatIsWrong(ask, form, Object.keys(filled));
  const body = sentOf(form) as URLSearchParams;
  for (const [name, value] of Object.entries(filled ?? {})) body.set(name, value);
  const send = () => ask(form.action, { form: body });
  const shown = async (answered: PageAnswer): Promise<string> => {
    if (answered.status === 303) return shown(await ask(answered.location ?? ""));
    return `${answered.status} ${heading(answered.text)}${summary(answered.text)}`;
  };
  for (const each of await Promise.all([send(), send()]))
    expect(await shown(each), `${end}: either of two clicks`).toBe(`200 ${leads}`);
  expect((await ask(page)).status, `${end}: Back`).toBeLessThan(500);
  expect(await shown(await send()), `${end}: after Back`).toBe(back);
}

const summary = (text: string) => /class="errors"[\s\S]*?<ul>([\s\S]*?)<\/ul>/.exec(text)?.[1] ?? "";

/** The summary of errors leads to each field. What was typed stays. */
async function sayWhatIsWrong(ask: Browser, form: Form, names: readonly string[]): Promise<void> {
  const texts = form.fields.filter(({ name, kind }) => names.includes(name) && ["text", "email"].includes(kind));
  const body = sentOf(form) as URLSearchParams;
  for (const { name } of texts) body.set(name, name === "name" ? "Jan-Willem" : "#");
  const { status, text } = await ask(form.action, { form: body });
  expect([form.action, status]).toEqual([form.action, 422]);
  const ids = [...summary(text).matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(ids.length, form.action).toBeGreaterThan(0);
  for (const id of ids) expect(text, form.action).toContain(` id="${id}"`);
  if (names.includes("name")) expect(text).toContain('value="Jan-Willem"');
}

async function passwordOf(email: string): Promise<string> {
  const password = "een lang wachtwoord";
  await world.row(
    "update auth.users set encrypted_password = $2 where email = $1 returning 1",
    email,
    await hashPassword(password),
  );
  return password;
}

describe("contract §2 every form behind a link, and of signing in: two clicks are one, Back leads on, and errors are named", () => {
  test("of a claim, up to its signature", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    const code = async () => ({ code: await mailedCode(world, draft) });
    await press(ask, `${draft.link}?lang=nl`, "/code", { leads: "Vul de code in" });
    await press(ask, `${draft.link}/proof?lang=nl`, "/proof", { leads: "Wie bent u?", fields: code });
    await answer(ask, draft, { address: freshAddress(), payout: { later: "yes" } });
    const seen = /seen=([0-9a-f]{16})/.exec((await ask(`${draft.link}/mandate`)).text)?.[1];
    const page = `${draft.link}/sign?lang=nl&seen=${seen}`;
    await press(ask, page, "/sign-code", { leads: "Onderteken de machtiging" });
    const before = await rowCounts(world, "mandates");
    await press(ask, page, "/sign", {
      leads: "U bent aangemeld",
      fields: async () => ({ ...(await code()), name: "Sanne de Vries", agree: "yes" }),
    });
    expect((await rowCounts(world, "mandates")).mandates).toBe((before.mandates ?? 0) + 1);
  });

  test("of a claim that is signed", async () => {
    const { draft, ask } = await signedClaim(world, { payout: ANSWERS.payout as Fields });
    const code = async () => ({ code: await mailedCode(world, draft) });
    await press(ask, `${draft.link}/payout?lang=nl`, "/iban-code", { leads: "Waar mag de vergoeding heen?" });
    await press(ask, `${draft.link}/payout?lang=nl`, "/payout", {
      leads: "U bent aangemeld",
      // each change needs a code of its own
      back: '422 Waar mag de vergoeding heen?<li><a href="#code">Deze code werkt niet meer. Vraag een nieuwe code aan</a></li>',
      fields: async () => ({ ...(await code()), iban: "NL02ABNA0123456789" }),
    });
    await press(ask, `${draft.link}/revoke?lang=nl`, "/revoke-code", { leads: "Machtiging intrekken" });
    await press(ask, `${draft.link}/revoke?lang=nl`, "/revoke", {
      leads: "Uw machtiging is ingetrokken",
      fields: code,
    });
  });

  test("of a claim by a sign-in link", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await press(ask, await newSignInLink(world, draft), "", { leads: "Wie bent u?" });
  });

  test("of a mandate", async () => {
    const issued = await issueLink(world);
    const ask = newBrowser(world);
    const { seen, ...ready } = await readyToSignMandate(world, pageClient(world), issued);
    const page = `${issued.link}/sign?lang=nl&seen=${seen}`;
    await press(ask, page, "/sign", { leads: "U heeft ondertekend", fields: ready });
    const other = await issueLink(world);
    await press(
      ask,
      `${other.link}/sign?lang=nl&seen=${/seen=(\w+)/.exec((await ask(other.link)).text)?.[1]}`,
      "/code",
      { leads: "Onderteken de machtiging" },
    );
    await press(ask, `${other.link}/decline?lang=nl`, "/decline", { leads: "U heeft niet ondertekend" });
  });

  test.each([
    ["mijn", mijn, "Dag Sanne", () => newCustomer(world)],
    ["portal", portal, "Overzicht van Zonneveld", () => newManager(world, world.partnerA)],
  ] as const)("of signing in to /%s, by a code and by a password, and out", async (_area, area, home, who) => {
    const { email } = await who();
    const password = await passwordOf(email);
    const ask = newBrowser(world);
    const at = (page: string) => area(world, `${page}?lang=nl`);
    await press(ask, at("/sign-in"), "/mail-code", { leads: "Vul de code in", fields: { email } });
    const code = async () => ({ code: await signInCode(world, email) });
    await press(ask, at("/code"), "/code", { leads: home, fields: code });
    await press(ask, at(""), "/sign-out", { leads: "Log in" });
    await press(ask, at("/sign-in"), "/sign-in", { leads: home, fields: { email, password } });
  });

  test("of consent", async () => {
    const { email } = await newCustomer(world);
    const { id, client_id } = await world.addClient(null, {
      scopes: ["profile:read"],
      grant_types: ["authorization_code", "refresh_token"],
    });
    await world.row(
      "update core.oauth_clients set redirect_uris = $2, name = 'Laadapp' where id = $1 returning 1",
      id,
      [REDIRECT_URI],
    );
    const asked = authorizationOf({ client_id }, newVerifier(), { scope: "profile:read", ui_locales: "nl" });
    const at = (page: string) =>
      `${world.environment.config.PAGES_URL}/consent${page}?${new URLSearchParams(asked as Fields)}`;
    const ask = newBrowser(world);
    const code = async () => ({ code: await signInCode(world, email) });
    await press(ask, at(""), "/mail-code", { leads: "Vul de code in", fields: { email } });
    await press(ask, at("/code"), "/code", { leads: "Geeft u Laadapp toegang?", fields: code });
    await press(ask, at(""), "/sign-out", { leads: "Log in" });
    const password = await passwordOf(email);
    await press(ask, at(""), "/sign-in", { leads: "Geeft u Laadapp toegang?", fields: { email, password } });
    const before = await rowCounts(world, "oauth_consents");
    await press(ask, at(""), "/consent", { leads: "U gaat terug naar Laadapp", back: "200 U gaf Laadapp al toegang" });
    expect((await rowCounts(world, "oauth_consents")).oauth_consents).toBe((before.oauth_consents ?? 0) + 1);
  });

  test("a signature whose session has ended waits for a code, with the name; the code that was typed does not", async () => {
    const draft = await newDraft(world, { expires_at: "2027-01-15T00:00:00Z" });
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    await answer(ask, draft, { address: freshAddress(), payout: { later: "yes" } });
    const seenNow = async () => /seen=([0-9a-f]{16})/.exec((await ask(`${draft.link}/mandate`)).text)?.[1];
    const page = async () => `${draft.link}/sign?lang=nl&seen=${await seenNow()}`;
    const asking = await formTo(ask, await page(), "/sign-code");
    await ask(asking.action, { form: sentOf(asking) });
    const form = await formTo(ask, await page(), "/sign");
    const body = sentOf(form) as URLSearchParams;
    body.set("name", "Jan-Willem van der Meulen");
    body.set("code", "123456");
    await world.travel("2026-11-21T12:00:01Z");
    const answered = await ask(form.action, { form: body });
    const start = answered.location ? await ask(answered.location) : answered;
    expect(/role="status">([^<]*)</.exec(start.text)?.[1]).toContain("staat daarna klaar");
    await prove(world, ask, draft);
    const { text } = await ask(await page());
    await world.travel(START);
    expect(text).toContain('value="Jan-Willem van der Meulen"');
    expect(text).not.toContain('value="123456"');
  });

  test("a code that is typed a day later is said to work no longer", async () => {
    const { email } = await newCustomer(world);
    const ask = newBrowser(world);
    const asking = await formTo(ask, mijn(world, "/sign-in?lang=nl"), "/mail-code");
    const body = sentOf(asking) as URLSearchParams;
    body.set("email", email);
    await ask(asking.action, { form: body });
    const form = await formTo(ask, mijn(world, "/code?lang=nl"), "/code");
    const cookie = ask.jar("mijn-form");
    const { status, text } = await ask(form.action, { form: sentOf(form), headers: { cookie } });
    expect([status, heading(text)]).toEqual([422, "Log in"]);
    expect(summary(text)).toContain('<a href="#email">Deze code werkt niet meer.');
  });

  test("no form is left out", () => {
    const flows = [claim, consent, mandate, ownPages, partnersPages];
    const signsIn = /\/(?:sign-in|mail-code|code|sign-out)$/;
    const paths = flows
      .flatMap(({ routes }) => routes.filter(({ method }) => method === "POST").map(({ path }) => path))
      // the others are in every_form.test.ts
      .filter((path) => !/^\/(?:mijn|portal)\//.test(path) || (signsIn.test(path) && path.split("/").length === 3));
    const pattern = (path: string) =>
      new RegExp(`^${path.replace(/:\w+(?:\{([^/]+)\})?(?=\/|$)/g, (_, rule = "[^/]+") => `(?:${rule})`)}$`);
    expect(paths.filter((path) => ![...sent].some((each) => pattern(path).test(each)))).toEqual([
      // whoever asks for no more mail does so at once, however often
      "/unsubscribe/:token",
      // a session of the own pages each time: claim_own_pages.test.ts
      "/claim/:token/mijn",
      // the newest link is the one that works: mandate.test.ts
      "/mandate/:token/renew",
    ]);
  });
});

// A form that is refused: the redirect back to its page, what waits in the cookie meanwhile, and who forges one.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  answer,
  type ClaimWorld,
  changeForm,
  createClaimWorld,
  type Draft,
  formToken,
  freshAddress,
  heading,
  mailedCode,
  newBrowser,
  newDraft,
  newSignInLink,
  prove,
  readyToSign,
  signedClaim,
} from "./claimant.ts";
import { issueLink, type PageAnswer, pageClient, readyToSign as readyLink } from "./signatory.ts";

let world: ClaimWorld;
beforeAll(async () => {
  world = await createClaimWorld();
});
afterAll(() => world?.close());

const LANGUAGE = { "accept-language": "en-GB,en;q=0.9,nl;q=0.5" };
const lang = ({ text }: PageAnswer) => /<html lang="(\w+)">/.exec(text)?.[1];

describe("contract §2 the first language", () => {
  test("of a draft and a link for which nobody chose one is the browser's", async () => {
    const draft = await newDraft(world);
    const ask = pageClient(world);
    expect(lang(await ask(draft.link, { headers: LANGUAGE }))).toBe("en");
    expect(lang(await ask(await newSignInLink(world, draft), { headers: LANGUAGE }))).toBe("en");
    const { link } = await issueLink(world);
    expect(lang(await ask(link, { headers: LANGUAGE }))).toBe("en");
    expect(lang(await ask(link))).toBe("nl");
  });

  test("that was chosen wins over the browser's, and the one asked for on the page over both", async () => {
    const ask = pageClient(world);
    const draft = await newDraft(world, { locale: "nl" });
    const { link } = await issueLink(world, {}, { locale: "nl" });
    for (const chosen of [draft.link, await newSignInLink(world, draft), link]) {
      expect(lang(await ask(chosen, { headers: LANGUAGE }))).toBe("nl");
      expect(lang(await ask(`${chosen}?lang=en`, { headers: { "accept-language": "nl" } }))).toBe("en");
    }
  });

  test("of a mail to whom nobody chose one for is Dutch", async () => {
    const { connection_id } = await issueLink(world, {}, { send_email: true });
    const { locale } = await world.row(
      "select m.locale from core.mail_outbox m join core.mandate_links l on m.cause = 'mandate_link:' || l.id where l.connection_id = $1",
      connection_id,
    );
    expect(locale).toBe("nl");
  });
});

describe("contract §2 a refused form", () => {
  /** A form of the signing page, refused in a browser that keeps cookies. */
  async function refused(form: Record<string, string> = {}) {
    const ask = pageClient(world);
    const issued = await issueLink(world);
    const ready = await readyLink(world, ask, issued);
    const page = await ask(`${issued.link}/sign?seen=${ready.seen}`);
    const browser = (page.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
    const answer = await ask(`${issued.link}/sign`, {
      form: { ...ready, code: "12", name: '"><b>Sanne', ...form },
      headers: { cookie: browser },
    });
    const [set = ""] = answer.headers.getSetCookie();
    const show = (cookie: string, link = issued.link) =>
      ask(`${link}/sign?seen=${ready.seen}&lang=nl`, { headers: { cookie: `${browser}; ${cookie}` } });
    return { ask, issued, ready, answer, set, cookie: set.split(";")[0] ?? "", show };
  }

  test("is a redirect to its page, which answers 422, says what is wrong and keeps what was typed, once", async () => {
    const { answer, issued, ready, set, cookie, show } = await refused();
    const path = new URL(issued.link).pathname;
    expect([answer.status, answer.location, answer.text]).toEqual([303, `${path}/sign?lang=nl&seen=${ready.seen}`, ""]);
    expect(set).toMatch(new RegExp(`^form=[^;]+; Max-Age=120; Path=${path}/sign; HttpOnly; SameSite=Lax$`));
    const page = await show(cookie);
    expect([page.status, heading(page.text)]).toEqual([422, "Onderteken de machtiging"]);
    expect(page.text).toContain('<a href="#code">');
    expect(page.text).toContain('value="&quot;&gt;&lt;b&gt;Sanne"');
    expect(page.headers.getSetCookie().join()).toMatch(/^form=; Max-Age=0; /);
    expect((await show("")).status).toBe(200);
  });

  test("leaves nothing to read in the cookie, and neither a password nor a code", async () => {
    const { cookie, show } = await refused({ code: "98765", password: "geheim" });
    expect(Buffer.from(cookie.slice(5).split(".")[1] ?? "", "base64url").toString("latin1")).not.toMatch(/Sanne|98765/);
    const { text } = await show(cookie);
    expect(text).not.toMatch(/98765|geheim/);
  });

  test("keeps a code that was not used, because something else was wrong, for who typed it", async () => {
    const { cookie, show } = await refused({ code: "987654", name: "" });
    expect(Buffer.from(cookie.slice(5).split(".")[1] ?? "", "base64url").toString("latin1")).not.toContain("987654");
    const { text } = await show(cookie);
    expect(text).toContain('<a href="#name">');
    expect(text).toMatch(/<input type="text" id="code" name="code" value="987654"/);
  });

  test("is forged by nobody: a changed cookie, another page's and an old one show nothing", async () => {
    const mine = await refused();
    const [nonce, sealed = "", tag] = mine.cookie.slice(5).split(".");
    const other = sealed.startsWith("A") ? "B" : "A";
    const forged = [
      `form=${nonce}.${other}${sealed.slice(1)}.${tag}`,
      `form=${nonce}.${sealed}.${tag?.slice(0, 6)}`,
      `form=${Buffer.from('{"until":9999999999999,"typed":[],"errors":{"code":"Mail your IBAN"}}').toString("base64url")}`,
      "form=..",
      (await refused()).cookie,
    ];
    for (const cookie of forged) expect((await mine.show(cookie)).status, cookie).toBe(200);
    const { now } = world.environment;
    world.environment.now = () => new Date(now().getTime() + 121_000);
    const late = await mine.show(mine.cookie).finally(() => {
      world.environment.now = now;
    });
    expect(late.status).toBe(200);
  });

  test("of 16 kB still fits a cookie of 4 kB, and says what is wrong", async () => {
    for (const name of ["x".repeat(12_000), "é".repeat(1_500)]) {
      const { set, cookie, show } = await refused({
        name,
        ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`n${i}`, "x".repeat(300)])),
      });
      expect(set.length).toBeLessThan(4096);
      const { status, text } = await show(cookie);
      expect([status, text.includes('<a href="#code">')]).toEqual([422, true]);
    }
  });

  test("over https waits in a __Secure- cookie", async () => {
    const { config } = world.environment;
    const PAGES_URL = config.PAGES_URL.replace("http:", "https:");
    const ask = newBrowser({ ...world, environment: { ...world.environment, config: { ...config, PAGES_URL } } });
    const draft = await newDraft(world);
    await prove(world, ask, draft);
    const form = { form_token: formToken((await ask(`${draft.link}/details`)).text), full_name: "S" };
    const page = await ask(`${draft.link}/details`, { form });
    expect([page.status, page.text.includes('value="S"')]).toEqual([422, true]);
    expect(page.headers.getSetCookie().join()).toMatch(/^__Secure-form=; .*Secure/);
  });
});

describe("contract §2 a double click on the form of a code", () => {
  /** A browser that was mailed a code and shown the form, and the same browser without the answer to its first click. */
  async function asked() {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await ask(`${draft.link}/code`, { form: {} });
    const shown = await ask(`${draft.link}/proof`);
    const headers = { cookie: (shown.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "" };
    const send = (browser = headers) => newBrowser(world)(`${draft.link}/proof`, { form: { code }, headers: browser });
    const code = await mailedCode(world, draft);
    return { draft, send };
  }

  test("leads on, though the answer to the first never arrived; a third time the code is used", async () => {
    const { send } = await asked();
    const answers = [await send(), await send(), await send()];
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 422]);
    expect(answers[1]?.headers.getSetCookie().join()).toMatch(/^claim=/);
  });

  test("is of one browser: the right code from another one, or from none that keeps cookies, is used", async () => {
    const { send } = await asked();
    expect((await send()).status).toBe(303);
    for (const cookie of ["", `forms=${"x".repeat(43)}`]) {
      const other = await send({ cookie });
      expect([other.status, other.headers.getSetCookie().join()]).toEqual([422, expect.not.stringContaining("claim=")]);
    }
  });

  test("ten seconds later the code is used", async () => {
    const { draft, send } = await asked();
    expect((await send()).status).toBe(303);
    await world.row(
      "update core.one_time_codes set expires_at = expires_at - interval '10 seconds' where subject = $1 returning 1",
      `claim:${draft.id}`,
    );
    expect((await send()).status).toBe(422);
  });

  test("that signs, or ends a mandate, leads to what became of it", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    await answer(ask, draft, { address: freshAddress() });
    const form = await readyToSign(world, ask, draft);
    for (const click of [1, 2]) expect((await ask(`${draft.link}/sign`, { form })).status, `${click}`).toBe(303);
    const ending = await changeForm(world, ask, draft, "revoke");
    for (const click of [1, 2])
      expect((await ask(`${draft.link}/revoke`, { form: ending })).status, `${click}`).toBe(303);
  });
});

describe("contract §2 a double click on the form of an account number", () => {
  const NUMBERS = ["NL91 ABNA 0417 1643 00", "NL20 INGB 0001 2345 67"] as const;
  const stored = async (draft: Draft) =>
    world.row(
      `select a.iban_last4 as last4, (select count(*)::int from core.mail_outbox m where m.recipient = d.email and m.template = 'customer_iban_changed') as mails
         from core.drafts d join core.accounts a on a.id = d.account_id where d.id = $1`,
      draft.id,
    );

  test("that changes it after signing leads on, stores and mails once; a third time, or another number, needs a new code", async () => {
    const { draft, ask } = await signedClaim(world, { payout: { iban: NUMBERS[0] } });
    const form = { ...(await changeForm(world, ask, draft, "payout")), iban: NUMBERS[1] };
    const send = (fields = {}) => ask(`${draft.link}/payout`, { form: { ...form, ...fields } });
    const clicks = await Promise.all([send(), send()]);
    expect(clicks.map(({ status, location }) => [status, location?.split("?")[0]])).toEqual(
      Array(2).fill([303, new URL(draft.link).pathname]),
    );
    expect(await stored(draft)).toEqual({ last4: "4567", mails: 1 });
    expect((await send()).status, "a third").toBe(422);
    const again = await changeForm(world, ask, draft, "payout");
    expect((await send({ ...again, iban: NUMBERS[0] })).status).toBe(303);
    expect((await send(again)).status, "another number").toBe(422);
    expect(await stored(draft)).toEqual({ last4: "4300", mails: 2 });
  });

  test("that gives the first one after signing leads on; it was not that number that is there: asked for a code", async () => {
    const { draft, ask } = await signedClaim(world);
    const form = { form_token: formToken((await ask(`${draft.link}/payout`)).text), account: "fresh" };
    const send = (iban: string) => ask(`${draft.link}/payout`, { form: { ...form, iban } });
    const clicks = await Promise.all([send(NUMBERS[0]), send(NUMBERS[0])]);
    for (const { status, location } of [...clicks, await send(NUMBERS[0])])
      expect([status, location?.split("?")[0]]).toEqual([303, new URL(draft.link).pathname]);
    expect((await send(NUMBERS[1])).location).toContain("/payout");
    expect(await stored(draft)).toEqual({ last4: "4300", mails: 1 });
  });
});

describe("contract §2 a double click on a sign-in link", () => {
  /** A browser that was shown the link, as often as told: none of the copies saw what another one was answered. */
  async function shown() {
    const draft = await newDraft(world);
    const link = await newSignInLink(world, draft);
    const page = await newBrowser(world)(link);
    const cookie = (page.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
    return { draft, link, click: (from = cookie) => newBrowser(world)(link, { form: {}, headers: { cookie: from } }) };
  }

  test("leads on, also at once, though the answer to the first never arrived; a third time the link is used", async () => {
    const { draft, click } = await shown();
    const answers = await Promise.all([click(), click()]);
    for (const { status, location, headers } of answers)
      expect([status, location, headers.getSetCookie().join()]).toEqual([
        303,
        new URL(draft.link).pathname,
        expect.stringMatching(/^claim=/),
      ]);
    expect((await click()).status).toBe(404);
  });

  test("is of one browser, and of ten seconds: any other click finds it used", async () => {
    const { click, draft } = await shown();
    expect((await click()).status).toBe(303);
    for (const other of ["", `forms=${"x".repeat(43)}`]) {
      const { status, headers } = await click(other);
      expect([status, headers.getSetCookie().join()]).toEqual([404, expect.not.stringContaining("claim=")]);
    }
    const back =
      "update core.draft_links set used_at = used_at - interval '10 seconds' where draft_id = $1 returning 1";
    await world.row(back, draft.id);
    expect((await click()).status).toBe(404);
  });
});

describe("contract §2 a sign-in link that is used", () => {
  test("leads on in the browser that is signed in, and in no other", async () => {
    const draft = await newDraft(world);
    const link = await newSignInLink(world, draft);
    const ask = newBrowser(world);
    expect((await ask(link, { form: {} })).status).toBe(303);
    for (const again of [await ask(link), await ask(link, { form: {} })])
      expect([again.status, again.location]).toEqual([303, new URL(draft.link).pathname]);
    expect((await ask(draft.link)).location).toContain("/details");
    const stranger = await newBrowser(world)(link);
    expect([stranger.status, stranger.text.includes(draft.link.split("/").pop() ?? "")]).toEqual([404, false]);
    const other = newBrowser(world);
    await prove(world, other, await newDraft(world));
    expect((await other(link)).status, "signed in to something else").toBe(404);
  });
});

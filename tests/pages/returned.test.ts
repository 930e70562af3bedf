// A form that is refused: the redirect back to its page, what waits in the cookie meanwhile, and who forges one.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  answer,
  type ClaimWorld,
  changeForm,
  createClaimWorld,
  formToken,
  freshAddress,
  heading,
  mailedCode,
  newBrowser,
  newDraft,
  newSignInLink,
  prove,
  readyToSign,
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
  }, 20_000);

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
      "update core.drafts set proved_at = proved_at - interval '10 seconds' where id = $1 returning 1",
      draft.id,
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

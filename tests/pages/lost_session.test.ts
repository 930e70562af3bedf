// A session that ends while somebody fills in a form: what was typed waits for them, or they are told that it was not sent.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Draft, formToken, heading, newBrowser, newDraft, prove, signedClaim } from "./claimant.ts";
import { browserOf, mijn, newCustomer } from "./customer.ts";

const NOW = "2026-11-20T12:00:00Z";
const TOMORROW = "2026-11-21T12:00:01Z";
const NAME = "Jan-Willem van der Meulen";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(() => world.travel(NOW));

const status = (page: string) => /role="status">([^<]*)</.exec(page)?.[1] ?? "";
const typedName = (page: string) => /name="full_name" value="([^"]*)"/.exec(page)?.[1];

describe("contract §4 a step of a claim whose session has ended", () => {
  /** A browser that was shown the first step, and the form it fills in. */
  async function atFirstStep() {
    const [draft, ask] = [await newDraft(world, { expires_at: "2027-01-15T00:00:00Z" }), newBrowser(world)];
    await prove(world, ask, draft);
    const form_token = formToken((await ask(`${draft.link}/details`)).text);
    return { draft, ask, form: { form_token, full_name: NAME, type: "particulier", phone: "" } };
  }
  const send = (ask: ReturnType<typeof newBrowser>, draft: Draft, form: Record<string, string>, lang = "nl") =>
    ask(`${draft.link}/details?lang=${lang}`, { form });

  test.each([
    ["nl", "staat daarna klaar op dezelfde stap"],
    ["en", "will be waiting at the same step"],
  ])("waits for a code, and is there again, once: %s", async (lang, said) => {
    const { draft, ask, form } = await atFirstStep();
    await world.travel(TOMORROW);
    const asked = await send(ask, draft, form, lang);
    expect(new URL(asked.location ?? draft.link, draft.link).pathname).toBe(new URL(draft.link).pathname);
    const start = asked.location ? await ask(asked.location) : asked;
    expect(status(start.text)).toContain(said);
    expect(start.text, "nothing of it before the code").not.toContain(NAME);
    await prove(world, ask, draft);
    const again = await ask(`${draft.link}/details`);
    expect([again.status, typedName(again.text)]).toEqual([200, NAME]);
    expect(typedName((await ask(`${draft.link}/details`)).text), "told once").not.toBe(NAME);
  });

  test("is not kept without the cookie of that session, or by a form that is none of it; that is said", async () => {
    const { draft, ask, form } = await atFirstStep();
    await world.travel(TOMORROW);
    for (const [browser, sent] of [
      [newBrowser(world), form],
      [ask, { ...form, form_token: "x" }],
    ] as const) {
      const { status: code, location, headers } = await send(browser, draft, sent);
      expect([code, location]).toEqual([303, expect.stringContaining("out=lost")]);
      expect(headers.getSetCookie()).toEqual([]);
      expect(status((await browser(location ?? "")).text)).toContain("is niet verstuurd");
    }
    await prove(world, ask, draft);
    expect(typedName((await ask(`${draft.link}/details`)).text)).not.toBe(NAME);
  });

  test("after the signature nothing is kept, and what was sent is said to be lost", async () => {
    const { draft, ask } = await signedClaim(world, {}, { expires_at: "2027-01-15T00:00:00Z" });
    const form_token = formToken((await ask(`${draft.link}/payout`)).text);
    await world.travel(TOMORROW);
    const { location } = await ask(`${draft.link}/payout`, { form: { form_token, iban: "NL91ABNA0417164300" } });
    const page = await ask(location ?? "");
    expect(heading(page.text)).toBe("Deze aanmelding is al afgerond");
    expect(status(page.text)).toContain("is niet verstuurd");
  });
});

describe("contract §7 a form of the own pages whose session has ended", () => {
  test.each(["/data/end", "/sharing/stop", "/open", "/chargers/00000000-0000-4000-8000-000000000000"])(
    "%s has nothing to keep: that it was not sent is said",
    async (path) => {
      const customer = await newCustomer(world);
      const ask = await browserOf(world, customer);
      const form_token = formToken((await ask(mijn(world))).text);
      await world.travel("2026-11-21T00:00:01Z");
      const form = { form_token, account: customer.account_id, page: "/payout", partner: world.partnerA.id };
      const { location } = await ask(mijn(world, path), { form });
      expect(status((await ask(location ?? "")).text)).toContain("is niet verstuurd");
    },
  );

  test("one that could be kept is not, where the browser shows nothing of its session; and signing out is no form that is lost", async () => {
    const ask = await browserOf(world, await newCustomer(world));
    const form_token = formToken((await ask(mijn(world))).text);
    const form = { form_token, name: "Home Assistant" };
    const stranger = newBrowser(world);
    const { location, headers } = await stranger(mijn(world, "/tokens"), { form });
    expect(headers.getSetCookie()).toEqual([]);
    expect(status((await stranger(location ?? "")).text)).toContain("is niet verstuurd");
    const out = await stranger(mijn(world, "/sign-out"), { form: { form_token } });
    expect((await stranger(out.location ?? "")).text).not.toContain("is niet verstuurd");
  });
});

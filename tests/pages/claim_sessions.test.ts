// What a claim session is worth: one that a partner's sign-in link began ends when the customer signs, and what moves money or ends
// the mandate after that needs a code mailed at that moment (specification section 4.2, docs/attacks.md).

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { withoutIds } from "../harness/without_ids.ts";
import { createPartnerWorld, draftRow as importedRow } from "../partner/partner_world.ts";
import {
  answer,
  type Browser,
  type ClaimWorld,
  changeForm,
  createClaimWorld,
  type Draft,
  draftRow,
  fill,
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

let world: ClaimWorld;
beforeAll(async () => {
  world = await createClaimWorld();
});
afterAll(() => world.close());

const IBAN = "NL91 ABNA 0417 1643 00";
const OTHER_IBAN = "NL20 INGB 0001 2345 67";
const accountOf = async (draft: Draft) =>
  world.row("select * from core.accounts where id = $1", (await draftRow(world, draft)).account_id);
const mandateOf = async (draft: Draft) =>
  (
    await world.row(
      "select m.status from core.mandates m join core.connections c on c.id = m.connection_id where c.account_id = $1",
      (
        await draftRow(world, draft)
      ).account_id,
    )
  ).status;
const ibanMails = async (draft: Draft) =>
  (
    await world.row(
      "select count(*)::int as n from core.mail_outbox where recipient = $1 and template = 'customer_iban_changed'",
      draft.email,
    )
  ).n;
const loginOf = (draft: Draft) =>
  world.row("select id, email_confirmed_at is not null as confirmed from auth.users where email = $1", draft.email);
/** A browser of the partner's, let in by a link it asked for itself. */
async function partnersBrowser(draft: Draft): Promise<Browser> {
  const ask = newBrowser(world);
  expect((await ask(await newSignInLink(world, draft), { form: {} })).status).toBe(303);
  return ask;
}

/** A claim that the customer signs while the partner holds a session got by a link before. */
async function signedBehind(iban: "later" | "fresh") {
  const draft = await newDraft(world);
  const partner = await partnersBrowser(draft);
  const { text } = await partner(`${draft.link}/details`);
  const customer = newBrowser(world);
  await prove(world, customer, draft);
  await answer(customer, draft, {
    address: freshAddress(),
    payout: iban === "later" ? { later: "yes" } : { iban: IBAN },
  });
  const signed = await customer(`${draft.link}/sign`, { form: await readyToSign(world, customer, draft) });
  expect(signed.status).toBe(303);
  return { draft, partner, customer, form_token: formToken(text) };
}

describe("contract §4 a sign-in link of before the signature", () => {
  test.each(["later", "fresh"] as const)(
    "contract §4 no longer reads, pays out elsewhere or ends the mandate (IBAN %s)",
    async (iban) => {
      const { draft, partner, form_token } = await signedBehind(iban);
      const before = await accountOf(draft);
      const page = await partner(draft.link);
      expect(heading(page.text)).toBe("Deze aanmelding is al afgerond");
      expect(withoutIds(page.text)).not.toMatch(/4300|0612345678|31612345678|Kade/);
      for (const path of ["payout", "charger", "revoke", "document", "details"])
        expect((await partner(`${draft.link}/${path}`)).status, path).toBe(303);
      for (const [path, form] of [
        ["payout", { iban: OTHER_IBAN, code: "123456" }],
        ["iban-code", {}],
        ["revoke", { code: "123456" }],
        ["revoke-code", {}],
      ] as const)
        expect((await partner(`${draft.link}/${path}`, { form: { form_token, ...form } })).status, path).toBe(303);
      expect(await accountOf(draft)).toEqual(before);
      expect([await mandateOf(draft), await ibanMails(draft)]).toEqual(["signed", 0]);
    },
  );

  test("contract §4 an account number that is changed while the customer reads the mandate is not signed for", async () => {
    const draft = await newDraft(world);
    const partner = await partnersBrowser(draft);
    const customer = newBrowser(world);
    await prove(world, customer, draft);
    await answer(customer, draft, { address: freshAddress(), payout: { iban: IBAN } });
    const form = await readyToSign(world, customer, draft);
    expect((await fill(partner, draft, "payout", { iban: OTHER_IBAN })).status).toBe(303);
    expect((await customer(`${draft.link}/payout`)).text).toContain("4300");
    // another browser of the customer, who reads the mandate again
    const other = newBrowser(world);
    await world.row("update core.one_time_codes set code_hash = null where subject = $1", `claim:${draft.id}`);
    await prove(world, other, draft);
    expect((await fill(other, draft, "payout", { iban: OTHER_IBAN })).status).toBe(303);
    expect((await customer(`${draft.link}/sign`, { form })).status).toBe(409);
    expect((await draftRow(world, draft)).status).toBe("claimed");
  });

  test("contract §4 an account number that a link session filled in beforehand is asked for again by who proves the address", async () => {
    const draft = await newDraft(world);
    await answer(await partnersBrowser(draft), draft, { address: freshAddress(), payout: { iban: OTHER_IBAN } });
    const customer = newBrowser(world);
    await prove(world, customer, draft);
    expect((await customer(draft.link)).location).toContain("/payout");
    expect(withoutIds((await customer(`${draft.link}/payout`)).text)).not.toContain("4567");
    expect((await customer(`${draft.link}/mandate`)).status).toBe(303);
    expect((await fill(customer, draft, "payout", { iban: IBAN })).status).toBe(303);
    const form = await readyToSign(world, customer, draft);
    expect((await customer(`${draft.link}/sign`, { form })).status).toBe(303);
    expect((await accountOf(draft)).iban_last4).toBe("4300");
  });

  test("contract §4 the browser in which the customer signed goes on, also when a link let it in", async () => {
    const draft = await newDraft(world);
    const ask = await partnersBrowser(draft);
    await answer(ask, draft, { address: freshAddress(), payout: { later: "yes" } });
    const form = await readyToSign(world, ask, draft);
    expect((await ask(`${draft.link}/sign`, { form })).status).toBe(303);
    expect((await ask(draft.link)).text).toContain(`${new URL(draft.link).pathname}/payout`);
    expect((await fill(ask, draft, "payout", { iban: IBAN })).status).toBe(303);
    expect([(await accountOf(draft)).iban_last4, await ibanMails(draft)]).toEqual(["4300", 1]);
  });

  test("contract §4 a cookie whose proof or stage was rewritten is none", async () => {
    const { draft, partner } = await signedBehind("fresh");
    const [name, value] = partner.cookie().split("=");
    const [expires, , , nonce, proof] = (value ?? "").split(".");
    for (const [by, stage] of [
      ["code", "claimed"],
      ["code", "active"],
      ["link", "active"],
    ]) {
      const forged = newBrowser(world);
      const cookie = `${name}=${[expires, by, stage, nonce, proof].join(".")}`;
      expect(heading((await forged(draft.link, { headers: { cookie } })).text)).toBe("Deze aanmelding is al afgerond");
    }
  });

  test("contract §4 a link that waits while the customer signs opens nothing afterwards", async () => {
    const draft = await newDraft(world);
    const waiting = await newSignInLink(world, draft);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    await answer(ask, draft, { address: freshAddress(), payout: { later: "yes" } });
    await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
    const partner = newBrowser(world);
    expect((await partner(waiting)).text).not.toContain("<button");
    expect((await partner(waiting, { form: {} })).headers.get("set-cookie")).toBeNull();
    expect(heading((await partner(draft.link)).text)).toBe("Deze aanmelding is al afgerond");
  });
});

describe("contract §4 a sign-in link of before a code was typed", () => {
  const TYPED = { full_name: "Wilhelmina Getypt", type: "particulier", phone: "06 98 76 54 32" };
  const SEEN = /Getypt|98765432|98 76 54 32|Geheimkade|4300|\b87\d{16}\b|klant-[0-9a-f]{10}/;
  const PAGES = ["details", "company", "address", "ean", "payout", "charger", "mandate", "sign", "document"];

  /** A claim that the customer filled in after a code, up to the mandate or up to a step, while the partner holds sessions by links. */
  async function typedBehind(until = "mandate") {
    const draft = await newDraft(world);
    const early = await partnersBrowser(draft);
    const { text } = await early(`${draft.link}/details`);
    const customer = newBrowser(world);
    await prove(world, customer, draft);
    await answer(customer, draft, {
      details: TYPED,
      address: { ...freshAddress(), street: "Geheimkade" },
      payout: { iban: IBAN },
      until,
    });
    return { draft, customer, early, form_token: formToken(text), late: await partnersBrowser(draft) };
  }

  test.each(["details", "ean", "charger", "mandate"])(
    "contract §4 shows nothing that was typed after the code, on any page, up to %s, and neither does a link used later",
    async (until) => {
      const { draft, early, late } = await typedBehind(until);
      for (const partner of [early, late]) {
        const start = await partner(draft.link);
        expect([start.status, heading(start.text)]).toEqual([200, "Geld voor uw laadstroom"]);
        expect(start.text).not.toMatch(SEEN);
        for (const page of PAGES)
          for (const query of ["", "?lang=en", "?years=1", "?seen=0123456789abcdef"]) {
            const { status, text, location, headers } = await partner(`${draft.link}/${page}${query}`);
            expect([page, status], `${location}`).toEqual([page, 303]);
            expect(`${text} ${location} ${headers.getSetCookie().join()}`).not.toMatch(SEEN);
          }
      }
    },
  );

  test("contract §4 changes nothing of it and mails no code to sign with, on any form", async () => {
    const { draft, early, late, form_token } = await typedBehind();
    const row = await draftRow(world, draft);
    const mails = await world.row("select count(*)::int as n from core.mail_outbox where recipient = $1", draft.email);
    for (const partner of [early, late]) {
      const forms: Record<string, Record<string, string>> = {
        details: { full_name: "Een Ander", type: "particulier", phone: "06 12 12 12 12" },
        company: { company_name: "Anders BV", kvk: "12345678" },
        address: { postal_code: "1012 AB", house_number: "3" },
        ean: { point: "other", ean_code: "871687000000000016" },
        payout: { iban: OTHER_IBAN },
        charger: { later: "yes" },
        sign: { seen: "0123456789abcdef", code: "123456", name: "Een Ander", agree: "yes", authority: "yes" },
        "sign-code": { seen: "0123456789abcdef" },
        "iban-code": {},
        revoke: { code: "123456" },
        "revoke-code": {},
      };
      for (const [page, form] of Object.entries(forms)) {
        const answered = await partner(`${draft.link}/${page}`, { form: { form_token, ...form } });
        expect([page, answered.status, answered.text.match(SEEN)]).toEqual([page, 303, null]);
      }
    }
    expect(await draftRow(world, draft)).toEqual(row);
    expect(
      await world.row("select count(*)::int as n from core.mail_outbox where recipient = $1", draft.email),
    ).toEqual(mails);
  });

  test("contract §4 a form that was on its way while the code was typed changes nothing", async () => {
    const { draft, form_token, early } = await typedBehind();
    const row = await draftRow(world, draft);
    const request = { draft_id: draft.id, step: "details", proved_by: "link", answers: { phone: "+31611111111" } };
    const saving = world.row("select api.save_claim($1, $2)", { kind: "anyone", host: "sandbox" }, request);
    await expect(saving).rejects.toThrow(/claim_not_open/);
    expect((await early(`${draft.link}/details`, { form: { form_token, ...TYPED } })).status).toBe(303);
    expect(await draftRow(world, draft)).toEqual(row);
  });

  test("contract §4 a code that waits to be typed survives the use of a link", async () => {
    const { draft, customer } = await typedBehind();
    const form = await readyToSign(world, customer, draft);
    await partnersBrowser(draft);
    expect((await customer(`${draft.link}/sign`, { form })).status).toBe(303);
    expect((await draftRow(world, draft)).status).toBe("active");
  });

  test("contract §4 the session that typed the code goes on, and one let in by a link goes on once it typed one", async () => {
    const { draft, customer, late } = await typedBehind("charger");
    expect((await customer(`${draft.link}/details`)).text).toContain("Getypt");
    expect((await fill(customer, draft, "charger", { later: "yes" })).status).toBe(303);
    // a portal that leads its customer back
    await world.row("update core.one_time_codes set code_hash = null where subject = $1", `claim:${draft.id}`);
    await prove(world, late, draft);
    expect((await late(`${draft.link}/details`)).text).toContain("Getypt");
    const form = await readyToSign(world, late, draft);
    expect((await late(`${draft.link}/sign`, { form })).status).toBe(303);
    expect((await draftRow(world, draft)).status).toBe("active");
  });

  test("contract §4 before any code a link session goes on, and reads what a link session typed", async () => {
    const draft = await newDraft(world);
    await answer(await partnersBrowser(draft), draft, { details: TYPED, until: "address" });
    const other = await partnersBrowser(draft);
    expect((await other(`${draft.link}/details`)).text).toContain("Getypt");
  });

  test("contract §4 deleting the customer's login in between opens nothing to a link", async () => {
    const { draft } = await typedBehind();
    await world.row("delete from auth.users where email = $1", draft.email);
    const partner = await partnersBrowser(draft);
    expect((await partner(draft.link)).text).not.toMatch(SEEN);
    for (const page of PAGES) expect((await partner(`${draft.link}/${page}`)).status, page).toBe(303);
  });
});

describe("contract §4 a sign-in link and logins", () => {
  test("contract §4 makes none; the code that signs makes it", async () => {
    const draft = await newDraft(world);
    const calls = world.auth.calls.length;
    const ask = await partnersBrowser(draft);
    expect([world.auth.calls.length, await loginOf(draft)]).toEqual([calls, undefined]);
    await answer(ask, draft, { address: freshAddress() });
    expect(await loginOf(draft)).toBeUndefined();
    await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
    expect((await draftRow(world, draft)).status).toBe("active");
    expect((await loginOf(draft)).confirmed).toBe(true);
    expect((await accountOf(draft)).user_id).toBe((await loginOf(draft)).id);
  });

  test("contract §4 deletes none, not even one that nobody confirmed; the code that signs replaces it", async () => {
    const draft = await newDraft(world);
    const { id } = await world.row(
      "insert into auth.users (id, email) values (gen_random_uuid(), $1) returning id",
      draft.email,
    );
    const ask = await partnersBrowser(draft);
    expect(await loginOf(draft)).toEqual({ id, confirmed: false });
    await answer(ask, draft, { address: freshAddress() });
    await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
    const login = await loginOf(draft);
    expect([login.confirmed, login.id === id]).toEqual([true, false]);
    expect((await accountOf(draft)).user_id).toBe(login.id);
  });
});

describe("contract §2 after signing", () => {
  test("contract §2 another IBAN needs a code that was mailed for it: none, a wrong one or one for something else changes nothing", async () => {
    const { draft, ask } = await signedClaim(world, { payout: { iban: IBAN } });
    expect((await ask(`${draft.link}/payout`)).text).not.toContain('name="iban"');
    const ending = await changeForm(world, ask, draft, "revoke");
    const sent = (code: string) => ask(`${draft.link}/payout`, { form: { ...ending, iban: OTHER_IBAN, code } });
    for (const code of ["", "12", ending.code]) expect((await sent(code)).status, code).toBe(422);
    expect([(await accountOf(draft)).iban_last4, await ibanMails(draft)]).toEqual(["4300", 0]);
    const { code } = await changeForm(world, ask, draft, "payout");
    for (let guess = 0; guess < 5; guess += 1)
      expect((await sent(code === "000000" ? "111111" : "000000")).status).toBe(422);
    expect((await sent(code)).text, "five wrong ones end it").toContain("te vaak een verkeerde code");
    expect((await accountOf(draft)).iban_last4).toBe("4300");
    const next = await changeForm(world, ask, draft, "payout");
    expect((await sent(next.code)).status).toBe(303);
    expect([(await accountOf(draft)).iban_last4, await ibanMails(draft)]).toEqual(["4567", 1]);
    expect((await sent(next.code)).status, "a second click").toBe(303);
    expect((await sent(next.code)).status, "a code is used once").toBe(422);
    expect(await ibanMails(draft)).toBe(1);
  });

  test("contract §2 the end of the mandate needs a code that was mailed for it", async () => {
    const { draft, ask } = await signedClaim(world, { payout: { iban: IBAN } });
    const money = await changeForm(world, ask, draft, "payout");
    for (const code of ["", "12", money.code]) {
      const { status, text } = await ask(`${draft.link}/revoke`, { form: { ...money, code } });
      expect([status, text.includes('aria-invalid="true"')]).toEqual([422, true]);
    }
    expect(await mandateOf(draft)).toBe("signed");
    const form = await changeForm(world, ask, draft, "revoke");
    expect(form.code).toBe(await mailedCode(world, draft));
    expect((await ask(`${draft.link}/revoke`, { form })).status).toBe(303);
    expect(await mandateOf(draft)).toBe("revoked");
  });
});

describe("contract §9 attack: claiming with a login that was banned", () => {
  const ban = (draft: Draft, until: string | null) =>
    world.row("update auth.users set banned_until = private.now() + $2::interval where email = $1", draft.email, until);

  test("neither a code nor a sign-in link proves anything, and no step is taken, until the ban has ended", async () => {
    const draft = await newDraft(world);
    await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
      draft.email,
    );
    const link = await newSignInLink(world, draft);
    const ask = newBrowser(world);
    await ask(`${draft.link}/code`, { form: {} });
    const code = await mailedCode(world, draft);
    await ban(draft, "10 years");
    expect((await ask(draft.link)).status).toBe(404);
    expect((await ask(`${draft.link}/proof`, { form: { code } })).headers.getSetCookie().join()).not.toContain(
      "claim=",
    );
    expect((await ask(link)).status).toBe(404);
    expect((await ask(link, { form: {} })).headers.getSetCookie().join()).not.toContain("claim=");
    expect((await draftRow(world, draft)).status).toBe("invited");
    await ban(draft, "-1 second");
    expect((await ask(`${draft.link}/proof`, { form: { code } })).status).toBe(303);
    expect((await draftRow(world, draft)).status).toBe("claimed");
  });

  test("who is banned while claiming does not sign; who is banned afterwards changes and ends nothing", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    await answer(ask, draft, { address: freshAddress(), payout: { iban: IBAN } });
    const form = await readyToSign(world, ask, draft);
    await ban(draft, "1 day");
    expect((await ask(`${draft.link}/sign`, { form })).status).toBe(303);
    expect((await fill(ask, draft, "details", { full_name: "Sanne", type: "particulier", phone: "" })).status).toBe(
      303,
    );
    expect((await draftRow(world, draft)).status).toBe("claimed");
    await ban(draft, null);
    expect((await ask(`${draft.link}/sign`, { form })).status).toBe(303);
    const ending = await changeForm(world, ask, draft, "revoke");
    const paying = await changeForm(world, ask, draft, "payout");
    await ban(draft, "1 day");
    for (const [path, fields] of [
      ["revoke", ending],
      ["payout", { ...paying, iban: OTHER_IBAN }],
    ] as const)
      expect((await ask(`${draft.link}/${path}`, { form: fields })).status, path).toBe(303);
    expect((await ask(draft.link)).status).toBe(404);
    expect([await mandateOf(draft), (await accountOf(draft)).iban_last4]).toEqual(["signed", "4300"]);
  });
});

test("contract §4 somebody signs up with the address while its login is made: 503, and the same code works on the next try", async () => {
  const draft = await newDraft(world);
  const ask = newBrowser(world);
  await ask(`${draft.link}/code`, { form: {} });
  const form = { code: await mailedCode(world, draft) };
  const fetched = globalThis.fetch;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    if (String(input).endsWith("/auth/v1/admin/users"))
      await world.row(
        "insert into auth.users (id, email) values (gen_random_uuid(), $1) on conflict do nothing",
        draft.email,
      );
    return fetched(input, init);
  });
  const { status, headers } = await ask(`${draft.link}/proof`, { form }).finally(() => spy.mockRestore());
  expect([status, headers.get("retry-after"), await loginOf(draft)]).toEqual([
    503,
    "5",
    { id: expect.any(String), confirmed: false },
  ]);
  expect((await ask(`${draft.link}/proof`, { form })).status).toBe(303);
  expect((await loginOf(draft)).confirmed).toBe(true);
});

test("contract §4 over https the cookie of a claim is __Secure-, and no other is read", async () => {
  const secure = await createPartnerWorld({ variables: { PAGES_URL: "https://pages.example/pages" } });
  const { body } = await secure.import([importedRow()]);
  const { email, draft_id, claim_url } = body.created[0];
  const draft = { id: draft_id, email, link: claim_url };
  const ask = newBrowser(secure);
  const entered = await ask(await newSignInLink(secure, draft), { form: {} });
  expect(entered.headers.get("set-cookie")).toMatch(/^__Secure-claim=[^;]+;.*; HttpOnly; Secure; SameSite=Lax$/);
  expect((await ask(draft.link)).location).toContain("/details");
  const plain = newBrowser(secure);
  const cookie = ask.cookie().replace("__Secure-", "");
  expect((await plain(draft.link, { headers: { cookie } })).status).toBe(200);
  await secure.close();
});

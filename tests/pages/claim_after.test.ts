// A claim after its signature: what was put off is given, what was given is changed, the mandate is ended.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { PEOPLE_TENANT } from "#shared/domain/claim/links.ts";
import { openIban } from "#shared/values/iban.ts";
import { statementsOf } from "../harness/world.ts";
import { giveKey } from "../partner/partner_world.ts";
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
  newBrowser,
  newDraft,
  prove,
  readyToSign,
  signedClaim,
} from "./claimant.ts";

let world: ClaimWorld;
/** A model of each kind, all of one brand. */
const models: Record<"mid" | "other" | "without" | "unknown", string> = {
  mid: "",
  other: "",
  without: "",
  unknown: "",
};
beforeAll(async () => {
  world = await createClaimWorld({ limits: "lifted" });
  for (const [kind, mid_meter] of [
    ["mid", true],
    ["other", true],
    ["without", false],
    ["unknown", null],
  ] as const) {
    const { id } = await world.row(
      `insert into core.charger_models (id, brand, model, mid_meter, mid_evidence, mid_source)
       values (gen_random_uuid(), 'Alfen', $1, $2, case when $2::boolean is null then 'variant' else 'certain' end, 'test') returning id`,
      `Test ${kind}`,
      mid_meter,
    );
    models[kind] = id;
  }
});
afterAll(() => world.close());

const IBAN = "NL91 ABNA 0417 1643 00";
const OTHER_IBAN = "NL20 INGB 0001 2345 67";
const giveIban = (ask: Browser, draft: Draft, iban = IBAN) => fill(ask, draft, "payout", { iban });
const charger = (kind: keyof typeof models = "mid", serial_number = "") => ({
  brand: "Alfen",
  catalog_charger_id: models[kind],
  serial_number,
});
/** Its form token is read from the step of the IBAN, which every signed claim has. */
const giveCharger = async (ask: Browser, draft: Draft, form: Record<string, string>) => {
  const { text } = await ask(`${draft.link}/payout`);
  return ask(`${draft.link}/charger`, { form: { form_token: formToken(text), ...form } });
};
const accountOf = async (draft: Draft) =>
  world.row("select * from core.accounts where id = $1", (await draftRow(world, draft)).account_id);
const connectionOf = async (draft: Draft) =>
  world.row("select * from core.connections where account_id = $1", (await draftRow(world, draft)).account_id);
const chargersOf = async (draft: Draft) =>
  (
    await world.database.admin.query("select * from core.chargers where account_id = $1 order by created_at, id", [
      (await draftRow(world, draft)).account_id,
    ])
  ).rows;
const mailsOf = (draft: Draft) =>
  world.mails("where recipient = $1 and template = 'customer_iban_changed' order by created_at", draft.email);
const eligible = async (draft: Draft) =>
  (
    await world.row(
      "select ere_eligible from core.account_gates where account_id = $1",
      (
        await draftRow(world, draft)
      ).account_id,
    )
  ).ere_eligible;
/** The actions of a person on their account, and on what belongs to it. */
const auditsOf = async (draft: Draft) => {
  const { user_id, account_id } = await draftRow(world, draft);
  const { rows } = await world.database.admin.query(
    `select action, partner_id, details from core.audit_log where actor = 'customer:' || $1
        and action in ('account.iban_stored', 'charger.registered', 'mandate.revoked') order by id`,
    [user_id],
  );
  return { rows, user_id, account_id };
};
const texts = (page: { text: string }) => page.text.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
const setConnection = async (draft: Draft, change: string) =>
  world.row(`update core.connections set ${change} where account_id = $1`, (await draftRow(world, draft)).account_id);
const otherPerson = async () => (await signedClaim(world)).ask;

describe("contract §4 after signing nobody is stuck", () => {
  test("who put off IBAN and charger gives them, and becomes eligible", async () => {
    const { draft, ask } = await signedClaim(world);
    expect(await eligible(draft)).toBe(false);
    expect((await connectionOf(draft)).registration_status).toBe("concept");
    const done = await ask(draft.link);
    expect(done.text).toContain(`href="${new URL(draft.link).pathname}/payout?lang=nl">Rekeningnummer doorgeven`);
    expect(done.text).toContain(`href="${new URL(draft.link).pathname}/charger?lang=nl">Laadpaal doorgeven`);
    expect(texts(done)).toContain("Uw registratie is nog niet ingediend.");
    const buttons = [...done.text.matchAll(/class="(button[^"]*)"[^>]*>([^<]*)</g)].map(([, ...button]) => button);
    expect(buttons.slice(0, 3), "what holds the money up is first, and the one that stands out").toEqual([
      ["button", "Rekeningnummer doorgeven"],
      ["button second", "Laadpaal doorgeven"],
      ["button second", expect.stringContaining("eigen pagina")],
    ]);

    const iban = await giveIban(ask, draft);
    expect([iban.status, iban.location]).toEqual([303, `${new URL(draft.link).pathname}?lang=nl`]);
    const account = await accountOf(draft);
    expect(account.iban_last4).toBe("4300");
    expect(
      openIban(world.environment, PEOPLE_TENANT, { ciphertext: account.iban_ciphertext, key_id: account.iban_key_id }),
    ).toBe("NL91ABNA0417164300");
    expect(await mailsOf(draft), "the first one is mailed about too").toHaveLength(1);
    expect((await connectionOf(draft)).registration_status).toBe("concept");
    expect(texts(await ask(draft.link))).not.toContain("Rekeningnummer doorgeven");

    const brands = await ask(`${draft.link}/charger`);
    expect(brands.text).toContain('<option value="Alfen">');
    const page = await ask(`${draft.link}/charger?brand=Alfen`);
    expect(page.text).not.toContain("Ik weet het nog niet");
    const added = await giveCharger(ask, draft, charger("mid", "ab 12"));
    expect([added.status, added.location]).toEqual([303, `${new URL(draft.link).pathname}?lang=nl`]);
    const { user_id } = await draftRow(world, draft);
    expect(await chargersOf(draft)).toMatchObject([
      { partner_id: PEOPLE_TENANT, user_id, serial_number: "AB12", mid_eligible: true, nickname: "Alfen Test mid" },
    ]);
    expect((await connectionOf(draft)).registration_status).toBe("ingediend");
    expect(await eligible(draft)).toBe(true);
    const complete = texts(await ask(draft.link));
    expect(complete).toContain("Uw registratie is ingediend.");
    expect(complete).toContain("Wij hebben alles van u wat nodig is.");
    expect(complete).not.toContain("Wat u nog moet doen");
    const { rows } = await auditsOf(draft);
    expect(rows.map(({ action, partner_id }) => [action, partner_id])).toEqual([
      ["account.iban_stored", PEOPLE_TENANT],
      ["charger.registered", PEOPLE_TENANT],
    ]);
  });

  test("the partner's charger is filled in, for the first one only", async () => {
    const { draft, ask } = await signedClaim(world, {}, { charger: { brand: "Alfen", serial_number: "FIRST1" } });
    expect((await ask(`${draft.link}/charger`)).text).toContain('value="FIRST1"');
    await giveCharger(ask, draft, charger("mid", "FIRST1"));
    const second = await ask(`${draft.link}/charger`);
    expect(second.text).not.toContain('name="catalog_charger_id"');
    expect((await ask(`${draft.link}/charger?brand=Alfen`)).text).toMatch(/name="serial_number" value=""/);
  });

  test("an IBAN that is replaced: the customer is mailed, in the language of the page and the partner's name", async () => {
    const { draft, ask } = await signedClaim(world, { payout: { iban: IBAN } });
    const page = await ask(`${draft.link}/payout?lang=en`);
    expect(texts(page)).toContain("The money now goes to the account ending in 4300.");
    expect(texts(page)).toContain("To change your account number you need a code, which we will e-⁠mail to you.");
    const form = { ...(await changeForm(world, ask, draft, "payout")), iban: OTHER_IBAN };
    expect((await ask(`${draft.link}/payout?lang=en`, { form })).status).toBe(303);
    expect((await accountOf(draft)).iban_last4).toBe("4567");
    const mails = await mailsOf(draft);
    expect(mails).toMatchObject([
      { partner_id: world.partnerA.id, locale: "en", reply_to: "hulp@zonneveld.example", links: [] },
    ]);
    expect(mails[0].text).toContain("through Zonneveld goes to account number **** 4567 from now on");
    expect(JSON.stringify(mails)).not.toContain("INGB");
    const { rows } = await auditsOf(draft);
    expect(rows.map(({ action }) => action)).toEqual(["account.iban_stored"]);
  });

  test.each([{ later: "yes" }, { iban: "" }, {}])("a forged or empty form (%o) takes no IBAN away", async (form) => {
    const { draft, ask } = await signedClaim(world, { payout: { iban: IBAN } });
    await fill(ask, draft, "payout", form);
    expect((await accountOf(draft)).iban_last4).toBe("4300");
    expect(await mailsOf(draft)).toEqual([]);
  });

  test("what is wrong is said at the field, in both languages, and what was typed stays", async () => {
    const { draft, ask } = await signedClaim(world);
    const iban = await giveIban(ask, draft, "NL91ABNA0417164301");
    expect(iban.status).toBe(422);
    expect(iban.text).toContain('<a href="#iban">Dit is geen geldig IBAN.');
    expect(iban.text).toContain('value="NL91ABNA0417164301"');
    const model = await giveCharger(ask, draft, { ...charger(), catalog_charger_id: "" });
    expect([model.status, model.text.includes('<a href="#catalog_charger_id">Kies een model')]).toEqual([422, true]);
    const { text } = await ask(`${draft.link}/payout`);
    const english = await ask(`${draft.link}/charger?lang=en`, {
      form: { form_token: formToken(text), ...charger("mid", "é".repeat(3)) },
    });
    expect(english.status).toBe(422);
    expect(english.text).toContain("Enter a serial number of at most 64 letters and digits");
    expect(english.text).toContain('value="ééé"');
    expect(await chargersOf(draft)).toEqual([]);
  });

  test("a second charger needs its serial number; one of somebody else is refused; the same again changes nothing", async () => {
    const { draft, ask } = await signedClaim(world, { charger: charger("mid") });
    expect((await giveCharger(ask, draft, charger("mid"))).status, "the same without a number").toBe(303);
    expect(await chargersOf(draft)).toHaveLength(1);
    const without = await giveCharger(ask, draft, charger("other"));
    expect([without.status, without.text.includes("Vul het serienummer in.")]).toEqual([422, true]);
    for (let times = 0; times < 2; times++)
      expect((await giveCharger(ask, draft, charger("other", "SECOND-1"))).status).toBe(303);
    expect(await chargersOf(draft)).toHaveLength(2);
    const second = await signedClaim(world);
    const claimed = await giveCharger(second.ask, second.draft, charger("other", "second-1"));
    expect([claimed.status, claimed.text.includes("Deze laadpaal is al door iemand aangemeld.")]).toEqual([422, true]);
    expect(await chargersOf(second.draft)).toEqual([]);
  });

  test("a rejected registration is submitted again with another charger, and not by an IBAN", async () => {
    const { draft, ask } = await signedClaim(world, { charger: charger("without") });
    await setConnection(draft, "registration_status = 'afgekeurd'");
    await giveIban(ask, draft);
    expect((await connectionOf(draft)).registration_status).toBe("afgekeurd");
    await giveCharger(ask, draft, charger("mid", "BETTER-1"));
    expect((await connectionOf(draft)).registration_status).toBe("ingediend");
  });
});

describe("contract §4 the page of a signed claim says what is so", () => {
  const CASES: [
    string,
    { chargers?: (keyof typeof models)[]; iban?: boolean; connection?: string },
    string[],
    string[],
  ][] = [
    [
      "nothing was given",
      {},
      ["Rekeningnummer doorgeven", "Laadpaal doorgeven", "nog niet ingediend"],
      ["Wat u ons heeft doorgegeven", "Wij hebben alles"],
    ],
    [
      "only the IBAN is missing, and the registration is approved",
      { chargers: ["mid"], connection: "registration_status = 'goedgekeurd'" },
      ["Rekeningnummer doorgeven", "is goedgekeurd", "Alfen Test mid"],
      ["Laadpaal doorgeven", "Wij hebben alles"],
    ],
    [
      "everything is there and approved",
      { chargers: ["mid"], iban: true, connection: "registration_status = 'goedgekeurd'" },
      ["is goedgekeurd", "Wij hebben alles", "eindigt op 4300", "Nog een laadpaal doorgeven"],
      ["Wat u nog moet doen"],
    ],
    [
      "everything is there and rejected",
      { chargers: ["mid"], iban: true, connection: "registration_status = 'afgekeurd'" },
      ["is afgekeurd", "Mail ons"],
      ["Wij hebben alles", "Wat u nog moet doen"],
    ],
    [
      "the charger has no MID meter",
      { chargers: ["without"], iban: true },
      ["heeft geen geijkte meter", "Laadpaal met MID-meter doorgeven", "is ingediend"],
      ["Wij kijken nog na", "Wij hebben alles"],
    ],
    [
      "whether it has one is not known yet",
      { chargers: ["unknown"], iban: true },
      ["Wij controleren nog of uw laadpaal", "is ingediend"],
      ["Wat u nog moet doen", "Wij hebben alles"],
    ],
    [
      "the EAN could not be checked",
      { chargers: ["mid"], iban: true, connection: "ean_validation_status = 'unverified'" },
      ["konden de EAN-code nog niet controleren"],
      ["Wij hebben alles", "Wat u nog moet doen"],
    ],
    [
      "the EAN turned out to be another's",
      { chargers: ["mid"], iban: true, connection: "ean_validation_status = 'mismatch'" },
      ["hoort volgens het register niet bij uw adres"],
      ["nog niet nakijken"],
    ],
  ];
  test.each(CASES)("it says so where %s", async (_name, { chargers = [], iban = false, connection }, said, unsaid) => {
    const { draft, ask } = await signedClaim(world, {
      ...(iban ? { payout: { iban: IBAN } } : {}),
      ...(chargers[0] ? { charger: charger(chargers[0]) } : {}),
    });
    if (connection) await setConnection(draft, connection);
    const page = await ask(draft.link);
    expect(page.status).toBe(200);
    for (const words of said) expect(texts(page)).toContain(words);
    for (const words of unsaid) expect(texts(page)).not.toContain(words);
  });
});

describe("contract §2 the customer ends the mandate", () => {
  test("asked once more, then it is over: the page says since when, and only the IBAN can still be changed", async () => {
    const { draft, ask } = await signedClaim(world, { payout: { iban: IBAN }, charger: charger("mid") });
    const { period } = await world.row("select to_char(private.today(), 'YYYY-MM-01') as period");
    const { partner_id, id } = await connectionOf(draft);
    await world.row(
      `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, status, source, received_at)
       select partner_id, id, owner_id, $3, 42.37, 1, 'staged', 'test', now() from core.connections where partner_id = $1 and id = $2`,
      partner_id,
      id,
      period,
    );
    await world.row("update core.connections set registration_status = 'concept' where id = $1 returning 1", id);
    // as of who signs in January: no whole month is covered
    const since = (day: string) =>
      world.row(`update core.mandates set valid_from = ${day} where connection_id = $1 returning 1`, id);
    await since("date_trunc('month', private.today())");
    const first = texts(await ask(`${draft.link}/revoke`));
    expect(first).toContain("Wat al is ingeboekt, blijft ingeboekt.");
    expect(first).toContain("U verliest de 42 kWh van");
    expect(first).not.toContain("wat u eerder laadde");
    await since("date_trunc('month', private.today()) - interval '1 year'");
    const asked = await ask(`${draft.link}/revoke`);
    expect(heading(asked.text)).toBe("Machtiging intrekken");
    expect((await world.row("select status from core.mandates where connection_id = $1", id)).status).toBe("signed");
    expect(asked.text).not.toContain('name="code"');
    expect(texts(asked), "the kWh of a month that is under way").toContain("U verliest de 42 kWh van");
    expect(texts(asked), "nothing is booked of what was never submitted").toContain(
      "dan telt ook niet mee wat u eerder",
    );
    expect(texts(asked)).not.toContain("telt nog mee");
    const form = await changeForm(world, ask, draft, "revoke");
    expect((await ask(`${draft.link}/revoke`, { form })).status).toBe(303);
    expect(await world.row("select * from core.mandates where connection_id = $1", id)).toMatchObject({
      status: "revoked",
      ended_reason: "customer",
    });
    expect((await world.row("select status from core.delivered_months where connection_id = $1", id)).status).toBe(
      "outside_mandate",
    );
    const page = await ask(draft.link);
    const today = new Intl.DateTimeFormat("nl-NL", { dateStyle: "long", timeZone: "Europe/Amsterdam" }).format();
    expect(heading(page.text)).toBe("Uw machtiging is ingetrokken");
    expect(texts(page)).toContain(`Deze is ingetrokken op ${today}`);
    expect(texts(page)).not.toMatch(/Machtiging intrekken|Nog een laadpaal|Wat u nog moet doen|telt nog mee/);

    expect((await ask(`${draft.link}/revoke`)).status).toBe(303);
    expect((await ask(`${draft.link}/charger`)).status).toBe(303);
    expect((await giveCharger(ask, draft, charger("other", "LATE-1"))).status).toBe(303);
    expect(await chargersOf(draft)).toHaveLength(1);
    const other = { ...(await changeForm(world, ask, draft, "payout")), iban: OTHER_IBAN };
    expect((await ask(`${draft.link}/payout`, { form: other })).status).toBe(303);
    expect((await accountOf(draft)).iban_last4).toBe("4567");
  });

  test("ten at once: ended once", async () => {
    const { draft, ask } = await signedClaim(world);
    const form = await changeForm(world, ask, draft, "revoke");
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(`${draft.link}/revoke`, { form })));
    // one uses the code up; of the others some see that it is over, some that the code is
    for (const { status } of answers) expect([303, 422]).toContain(status);
    expect((await auditsOf(draft)).rows).toMatchObject([
      { action: "mandate.revoked", details: { reason: "customer" } },
    ]);
  });

  test("one that ended with its last year says so, and cannot be ended again", async () => {
    const { draft, ask } = await signedClaim(world);
    await world.row(
      "update core.mandates set valid_until = '2026-01-31' where connection_id = $1",
      (await connectionOf(draft)).id,
    );
    const page = await ask(draft.link);
    expect(heading(page.text)).toBe("Uw machtiging is afgelopen");
    expect(texts(page)).toContain("Deze gold tot en met 31 januari 2026.");
    expect((await ask(`${draft.link}/revoke`)).status).toBe(303);
  });
});

describe("contract §4 the locks", () => {
  test("a link without the session, or with somebody else's, shows and changes nothing", async () => {
    const { draft, ask } = await signedClaim(world, { payout: { iban: IBAN } });
    const foreign = await otherPerson();
    for (const cookie of ["", foreign.cookie()]) {
      const headers = { cookie };
      const stranger = newBrowser(world);
      const page = await stranger(draft.link, { headers });
      expect([page.status, heading(page.text)]).toEqual([404, "Deze aanmelding is al afgerond"]);
      expect(page.text).not.toMatch(/\b4300\b|Sanne|Zonneveld|@example\.nl/);
      for (const path of ["payout", "charger", "revoke"]) {
        expect([path, (await stranger(`${draft.link}/${path}`, { headers })).status]).toEqual([path, 303]);
        const form = { ...charger(), iban: OTHER_IBAN };
        const posted = await stranger(`${draft.link}/${path}`, { form, headers });
        expect([path, posted.status, posted.text]).toEqual([path, 303, ""]);
      }
    }
    expect((await accountOf(draft)).iban_last4).toBe("4300");
    expect(await chargersOf(draft)).toEqual([]);
    expect(heading((await ask(draft.link)).text)).toBe("U bent aangemeld");
  });

  test("a form without this session's token changes nothing", async () => {
    const { draft, ask } = await signedClaim(world);
    const other = await signedClaim(world);
    const theirs = formToken((await other.ask(`${other.draft.link}/payout`)).text);
    for (const form_token of ["", theirs])
      for (const path of ["payout", "charger", "revoke"]) {
        const form = { form_token, ...charger(), iban: IBAN };
        expect([path, (await ask(`${draft.link}/${path}`, { form })).status]).toEqual([path, 403]);
      }
    expect((await accountOf(draft)).iban_last4).toBeNull();
    expect(await chargersOf(draft)).toEqual([]);
    expect((await auditsOf(draft)).rows).toEqual([]);
  });

  test("a claim that is not signed has none of it, and a signed one none of the other steps", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    const form = { form_token: formToken((await ask(`${draft.link}/details`)).text) };
    expect((await ask(`${draft.link}/revoke`)).status).toBe(303);
    expect((await ask(`${draft.link}/revoke`, { form })).location).toBe(`${new URL(draft.link).pathname}?lang=nl`);
    for (const name of ["complete_claim", "revoke_claim"] as const) {
      const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
      const request = { draft_id: draft.id, step: "charger", answers: charger() };
      await expect(world.environment.db.call(name, caller, request)).rejects.toMatchObject({ code: "claim_not_open" });
    }
    const signed = await signedClaim(world);
    for (const step of ["details", "company", "address", "ean", "mandate", "sign"])
      expect([step, (await signed.ask(`${signed.draft.link}/${step}`)).location]).toEqual([
        step,
        `${new URL(signed.draft.link).pathname}?lang=nl`,
      ]);
  });

  test("a page is one statement, a form two", async () => {
    const { draft, ask } = await signedClaim(world);
    const { text } = await ask(`${draft.link}/payout`);
    const form = { form_token: formToken(text), iban: IBAN };
    expect(await statementsOf(world, () => ask(draft.link))).toEqual(["open_claim"]);
    expect(await statementsOf(world, () => ask(`${draft.link}/payout`, { form }))).toEqual([
      "open_claim",
      "complete_claim",
    ]);
    const ending = await changeForm(world, ask, draft, "revoke");
    expect(await statementsOf(world, () => ask(`${draft.link}/revoke`, { form: ending }))).toEqual([
      "open_claim",
      "revoke_claim",
    ]);
  });
});

describe("contract §4 races", () => {
  test.each(["", "TABS-1"])("ten tabs add the same charger (%j): one is there", async (serial) => {
    const { draft, ask } = await signedClaim(world);
    const form = { form_token: formToken((await ask(`${draft.link}/payout`)).text), ...charger("mid", serial) };
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(`${draft.link}/charger`, { form })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(303));
    expect(await chargersOf(draft)).toHaveLength(1);
  });

  test("fifteen different ones at once: ten are there, and the eleventh is told", async () => {
    const { draft, ask } = await signedClaim(world);
    const form_token = formToken((await ask(`${draft.link}/payout`)).text);
    const answers = await Promise.all(
      Array.from({ length: 15 }, (_, index) =>
        ask(`${draft.link}/charger`, { form: { form_token, ...charger("mid", `MANY-${index}`) } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(303), ...Array(5).fill(422)]);
    expect(await chargersOf(draft)).toHaveLength(10);
    const refused = answers.find(({ status }) => status === 422);
    expect(refused?.text).toContain("U heeft al tien laadpalen");
    expect((await ask(draft.link)).text).not.toContain("Nog een laadpaal doorgeven");
  });

  test("the pages and POST /chargers at once: the ten are counted together", async () => {
    const { draft, ask } = await signedClaim(world);
    const token = `${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`;
    await world.row(
      "insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'Test', decode($2, 'hex'), $3, '{chargers:write}')",
      (await draftRow(world, draft)).user_id,
      hashSecret(token),
      token.slice(-4),
    );
    const form_token = formToken((await ask(`${draft.link}/payout`)).text);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => [
        ask(`${draft.link}/charger`, { form: { form_token, ...charger("mid", `BOTH-${index}`) } }),
        world.post("/chargers", { nickname: `Box ${index}`, connection_type: "ocpp" }, token),
      ]).flat(),
    );
    expect(await chargersOf(draft)).toHaveLength(10);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201 || status === 303)).toHaveLength(10);
    expect(statuses.filter((status) => status === 409 || status === 422)).toHaveLength(6);
  });

  test("ten people add one serial number at once: one has it, nine are told", async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => signedClaim(world)));
    const answers = await Promise.all(
      people.map(({ ask, draft }) => giveCharger(ask, draft, charger("mid", "WANTED"))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(422)]);
    for (const { status, text } of answers)
      if (status === 422) expect(text).toContain("Deze laadpaal is al door iemand aangemeld.");
    expect(await world.row("select count(*)::int as n from core.chargers where serial_number = 'WANTED'")).toEqual({
      n: 1,
    });
  });
});

describe("contract §4 the telephone number on the first step", () => {
  const phoneOf = async (draft: Draft) =>
    (
      await world.row(
        "select phone from core.signatories where account_id = $1",
        (
          await draftRow(world, draft)
        ).account_id,
      )
    ).phone;
  const details = (phone: string) => ({ full_name: "Sanne de Vries", type: "particulier", phone });

  test("is filled in from the upload, checked, and kept with the signatory", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    const page = await ask(`${draft.link}/details`);
    expect(page.text).toMatch(
      /<input type="tel" id="phone"[^>]* value="\+31612345678"[^>]*autocomplete="tel" inputmode="tel"/,
    );
    const wrong = await fill(ask, draft, "details", details("bel me maar"));
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('<a href="#phone">Vul een telefoonnummer in');
    expect(wrong.text).toContain('value="bel me maar"');
    expect((await draftRow(world, draft)).progress).toEqual({ by_code: true });
  });

  test.each([
    ["06-87 65 43 21", "+31687654321"],
    ["+32 470 12 34 56", "+32470123456"],
    ["  ", null],
  ])("the number %j is kept as %j", async (typed, stored) => {
    const { draft } = await signedClaim(world, { details: details(typed) });
    expect(await phoneOf(draft)).toBe(stored);
  });
});

describe("contract §4 a sign-in link made over HTTP", () => {
  const issue = async (body: object) =>
    world.post("/partner/drafts/auth-link", body, await giveKey(world, world.partnerA.id));
  const signInMails = ({ email }: Draft) =>
    world.mails("where recipient = $1 and template = 'sign_in' order by created_at", email);

  test("opens as it stands in the answer, and leads through the claim back to the partner", async () => {
    const draft = await newDraft(world);
    const return_url = "https://zonneveld.example/klaar?klant=1";
    const { status, body } = await issue({ draft_id: draft.id, return_url });
    expect([status, body.email_sent]).toEqual([200, false]);
    const ask = newBrowser(world);
    const opened = await ask(body.auth_url);
    expect([opened.status, heading(opened.text)]).toEqual([200, "Ga verder met uw aanmelding"]);
    const entered = await ask(body.auth_url, { form: {} });
    expect([entered.status, entered.location]).toEqual([303, new URL(draft.link).pathname]);
    expect(await signInMails(draft)).toEqual([]);
    await answer(ask, draft, { address: freshAddress() });
    await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
    expect((await ask(draft.link)).text).toContain(`href="${return_url}"`);
    expect((await draftRow(world, draft)).status).toBe("active");
  });

  test.each(["nl", "en"])(
    "is mailed where that is asked for, in the draft's language (%s) and the partner's name",
    async (locale) => {
      const draft = await newDraft(world, { locale, name: "Sanne {{accent}} <b>" });
      const { body } = await issue({ draft_id: draft.id, send_email: true });
      expect(body.email_sent).toBe(true);
      const [mail, ...more] = await signInMails(draft);
      expect(more).toEqual([]);
      expect(mail).toMatchObject({
        partner_id: world.partnerA.id,
        locale,
        subject: locale === "nl" ? "Uw link om verder te gaan bij Zonneveld" : "Your link to continue with Zonneveld",
        reply_to: "hulp@zonneveld.example",
        links: [body.auth_url, mail.unsubscribe_url],
      });
      expect(mail.html).toContain("#7a1fa2");
      expect(mail.html).not.toContain("<b>");
      expect(mail.text).toContain(body.auth_url);
      expect(mail.text + mail.html).not.toMatch(/\{\{(partner_name|full_name|unsubscribe_url)\}\}/);
      const ask = newBrowser(world);
      expect((await ask(body.auth_url, { form: {} })).status).toBe(303);
      expect((await ask(draft.link)).location).toContain("/details");
    },
  );

  test("is not mailed to an address that opted out; the link works all the same", async () => {
    const draft = await newDraft(world);
    const first = await issue({ draft_id: draft.id, send_email: true });
    const [mail] = await signInMails(draft);
    await newBrowser(world)(mail.unsubscribe_url, { form: {} });
    const { status, body } = await issue({ email: draft.email, send_email: true });
    expect([status, first.body.email_sent, body.email_sent]).toEqual([200, true, false]);
    expect(await signInMails(draft)).toHaveLength(1);
    expect((await newBrowser(world)(body.auth_url, { form: {} })).status).toBe(303);
    expect((await newBrowser(world)(first.body.auth_url, { form: {} })).status, "the older one is void").toBe(404);
  });

  test("a refusal mails nothing, and withdrawal takes waiting mail along", async () => {
    const draft = await newDraft(world);
    const refused = await issue({ draft_id: draft.id, send_email: true, return_url: "https://evil.example" });
    expect([refused.status, await signInMails(draft)]).toEqual([400, []]);
    expect((await issue({ draft_id: draft.id, send_email: "yes" })).status).toBe(400);
    await issue({ draft_id: draft.id, send_email: true });
    await world.row("update core.mail_outbox set status = 'queued' where recipient = $1", draft.email);
    const key = await giveKey(world, world.partnerA.id);
    expect((await world.post("/partner/drafts/withdraw", { draft_id: draft.id }, key)).status).toBe(200);
    expect(await signInMails(draft)).toEqual([]);
  });
});

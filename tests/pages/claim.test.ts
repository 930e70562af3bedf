import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PEOPLE_TENANT } from "#shared/domain/claim/links.ts";
import { openIban } from "#shared/values/iban.ts";
import { newEan } from "../harness/people.ts";
import { statementsOf } from "../harness/world.ts";
import {
  answer,
  type Browser,
  type ClaimWorld,
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
} from "./claimant.ts";

let world: ClaimWorld;
beforeAll(async () => {
  world = await createClaimWorld();
});
afterAll(() => world.close());

async function claimed(fields: Record<string, unknown> = {}): Promise<{ draft: Draft; ask: Browser }> {
  const draft = await newDraft(world, fields);
  const ask = newBrowser(world);
  expect((await prove(world, ask, draft)).status).toBe(303);
  return { draft, ask };
}
const loginOf = (email: string) => world.row("select * from auth.users where email = $1", email);
const auditsOf = async (draft: Draft) =>
  (
    await world.database.admin.query("select action from core.audit_log where subject_id = $1 order by id", [draft.id])
  ).rows.map(({ action }) => action);

describe("contract §4 a claim, from the link to the account", () => {
  test("proves the address, asks for everything once, signs, and makes an account in the house", async () => {
    const { draft, ask } = await claimed({ charger: { brand: "Alfen", serial_number: "ACE0001" } });
    expect(await draftRow(world, draft)).toMatchObject({ status: "claimed", user_id: (await loginOf(draft.email)).id });
    const model = await world.row(
      "select id, brand, mid_meter from core.charger_models where brand = 'Alfen' and mid_meter limit 1",
    );
    await answer(ask, draft, {
      address: freshAddress(),
      charger: { brand: "Alfen", catalog_charger_id: model.id, serial_number: "ace 0001" },
    });
    const form = await readyToSign(world, ask, draft);
    const shown = (await ask(`${draft.link}/document`)).text;
    expect(shown).toContain("Op verzoek van: Zonneveld Laadpalen (Zonneveld)");
    const signed = await ask(`${draft.link}/sign`, { form, headers: { "user-agent": "Firefox/1.0" } });
    expect(signed.status, signed.text).toBe(303);

    const row = await draftRow(world, draft);
    expect(row).toMatchObject({ status: "active", progress: {} });
    const kept = await world.row("select code_hash from core.one_time_codes where subject = $1", `claim:${draft.id}`);
    expect(kept.code_hash, "a code is used once").toBeNull();
    const account = await world.row("select * from core.accounts where id = $1", row.account_id);
    expect(account).toMatchObject({
      partner_id: PEOPLE_TENANT,
      access_channel: "user",
      user_id: row.user_id,
      type: "particulier",
      payout_handler: "service_pays_customer",
      iban_last4: "4300",
    });
    expect(
      openIban(world.environment, PEOPLE_TENANT, { ciphertext: account.iban_ciphertext, key_id: account.iban_key_id }),
    ).toBe("NL91ABNA0417164300");
    expect(
      await world.row("select full_name, email, phone from core.signatories where account_id = $1", account.id),
    ).toEqual({ full_name: "Sanne de Vries", email: draft.email, phone: "+31612345678" });
    const connection = await world.row("select * from core.connections where account_id = $1", account.id);
    // all four gates held at the signature, so it is submitted by itself
    expect(connection).toMatchObject({ ean_validation_status: "matched", registration_status: "ingediend" });
    expect(await world.row("select * from core.mandates where connection_id = $1", connection.id)).toMatchObject({
      status: "signed",
      link_id: null,
      document: shown,
      signed_name: "Sanne de Vries",
      code_confirmed: true,
      code_sent_to: draft.email,
      address: "192.0.2.9",
      user_agent: "Firefox/1.0",
    });
    expect(await world.row("select * from core.chargers where account_id = $1", account.id)).toMatchObject({
      user_id: row.user_id,
      serial_number: "ACE0001",
      catalog_charger_id: model.id,
      mid_eligible: true,
    });
    expect(await world.row("select * from core.attributions where user_id = $1", row.user_id)).toMatchObject({
      partner_id: world.partnerA.id,
      source: "partner_upload",
      external_ref: "KL-1",
    });
    const copy = await world.mail("where cause = 'claim_signed:' || $1", draft.id);
    expect(copy).toMatchObject({ partner_id: world.partnerA.id, recipient: draft.email, links: [draft.link] });
    expect(copy, "in the partner's name").toMatchObject({ reply_to: "hulp@zonneveld.example" });
    expect(copy.html).toContain("solid #7a1fa2");
    expect(copy.text).toMatch(/waar Zonneveld om vroeg.*op elk moment intrekken\..*Zonneveld, via/s);
    expect(copy.text).toContain(shown);
    expect(await auditsOf(draft)).toEqual(["draft.claimed", "draft.activated"]);

    const done = await ask(draft.link);
    expect(heading(done.text)).toBe("U bent aangemeld");
    expect(done.text).not.toContain("Wat u nog moet doen");
    expect(done.text).toContain('href="https://zonneveld.example/klaar"');
    expect((await ask(`${draft.link}/document`)).text.startsWith(shown)).toBe(true);
  });

  test("a company gives its name and number; without IBAN and charger it is told what that means", async () => {
    const { draft, ask } = await claimed({
      type: "zakelijk",
      name: null,
      kvk: "12345678",
      contact_name: "Jan Jansen",
      company_name: "Bakkerij",
    });
    expect((await fill(ask, draft, "details", { full_name: "Jan Jansen", type: "zakelijk" })).location).toContain(
      "/company",
    );
    const wrong = await fill(ask, draft, "company", { company_name: "", kvk: "123", vat: "NL1" });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain("Vul een KvK-nummer van 8 cijfers in");
    expect(wrong.text, "what was typed is kept").toContain('value="NL1"');
    await answer(ask, draft, {
      details: { full_name: "Jan Jansen", type: "zakelijk" },
      company: { company_name: "Bakkerij De Korenaar B.V.", kvk: "12 34 56 78", vat: "NL001234567B01" },
      address: freshAddress(),
      payout: { later: "yes" },
    });
    const signed = await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
    expect(signed.status, signed.text).toBe(303);
    const { account_id } = await draftRow(world, draft);
    expect(await world.row("select type, company, iban_last4 from core.accounts where id = $1", account_id)).toEqual({
      type: "zakelijk",
      company: { name: "Bakkerij De Korenaar B.V.", kvk: "12345678", vat: "NL001234567B01" },
      iban_last4: null,
    });
    const { text } = await ask(draft.link);
    expect(text).toContain("Wij hebben uw rekeningnummer nog niet.");
    expect(text).toContain("Wij kennen uw laadpaal nog niet.");
  });

  test("a login left behind by a withdrawn claimed draft is used again", async () => {
    const first = await claimed();
    await world.row("delete from core.drafts where id = $1", first.draft.id);
    world.auth.calls.length = 0;
    const again = await claimed({ email: first.draft.email });
    expect(world.auth.calls).toEqual([]);
    expect((await draftRow(world, again.draft)).user_id).toBe((await loginOf(first.draft.email)).id);
  });

  test("a login that nobody confirmed, perhaps laid in wait by a stranger, is made again", async () => {
    const draft = await newDraft(world);
    const stranger = await world.row(
      "insert into auth.users (id, email) values (gen_random_uuid(), $1) returning id",
      draft.email,
    );
    expect((await prove(world, newBrowser(world), draft)).status).toBe(303);
    const login = await loginOf(draft.email);
    expect(login.id).not.toBe(stranger.id);
    expect(login.email_confirmed_at).not.toBeNull();
  });

  test("a login that is deleted halfway is made again by proving the address once more; nothing typed is lost", async () => {
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    await world.row("delete from auth.users where email = $1", draft.email);
    expect(heading((await ask(draft.link)).text)).toBe("Geld voor uw laadstroom");
    await prove(world, ask, draft);
    expect((await ask(draft.link)).location).toContain("/mandate");
    expect((await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) })).status).toBe(303);
    expect(await draftRow(world, draft)).toMatchObject({ status: "active", user_id: (await loginOf(draft.email)).id });
  });

  test("Supabase Auth being away costs no code: the same one works afterwards", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await ask(`${draft.link}/code`, { form: {} });
    const form = { code: await mailedCode(world, draft) };
    world.auth.broken = true;
    const away = await ask(`${draft.link}/proof`, { form }).finally(() => {
      world.auth.broken = false;
    });
    expect(away.status).toBe(503);
    expect(heading(away.text)).toBe("Er gaat iets mis bij ons");
    expect((await draftRow(world, draft)).status).toBe("invited");
    expect((await ask(`${draft.link}/proof`, { form })).status).toBe(303);
  });
});

describe("contract §4 conflict", () => {
  test("the login belongs to another partner, or has an account of its own", async () => {
    for (const what of ["attribution", "account"]) {
      const draft = await newDraft(world);
      const { id } = await world.row(
        "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text)) returning id",
        draft.email,
      );
      if (what === "attribution")
        await world.row("select private.reserve_customer($1, $2, 'manual')", id, world.partnerB.id);
      else
        await world.row(
          `insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
           values ($1, $2, 'user', 'particulier', 'service_pays_customer')`,
          PEOPLE_TENANT,
          id,
        );
      const ask = newBrowser(world);
      expect((await prove(world, ask, draft)).status).toBe(303);
      expect(await draftRow(world, draft)).toMatchObject({ status: "conflict", conflict_reason: "existing_user" });
      const page = await ask(draft.link);
      expect(page.status).toBe(404);
      expect(heading(page.text)).toBe("Deze aanmelding kan niet doorgaan");
      expect(page.text).not.toContain(draft.email);
    }
  });

  test("a sign-in link that meets a conflict is used up, and the conflict stays", async () => {
    const draft = await newDraft(world);
    const link = await newSignInLink(world, draft);
    const { id } = await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text)) returning id",
      draft.email,
    );
    await world.row("select private.reserve_customer($1, $2, 'manual')", id, world.partnerB.id);
    const entered = await newBrowser(world)(link, { form: {} });
    expect([entered.status, heading(entered.text)]).toEqual([404, "Deze aanmelding kan niet doorgaan"]);
    expect(await draftRow(world, draft)).toMatchObject({ status: "conflict", conflict_reason: "existing_user" });
    const used = "select used_at is not null as used from core.draft_links where draft_id = $1";
    expect(await world.row(used, draft.id)).toEqual({ used: true });
  });

  test("the login went to another partner between claim and signature", async () => {
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    const form = await readyToSign(world, ask, draft);
    const { user_id } = await draftRow(world, draft);
    await world.row("select private.reserve_customer($1, $2, 'oauth_consent')", user_id, world.partnerB.id);
    expect((await ask(`${draft.link}/sign`, { form })).status).toBe(303);
    expect(await draftRow(world, draft)).toMatchObject({
      status: "conflict",
      conflict_reason: "existing_user",
      progress: {},
    });
    expect(heading((await ask(draft.link)).text)).toBe("Deze aanmelding kan niet doorgaan");
  });

  test("the EAN is held elsewhere: at claim, at the step, and at the signature", async () => {
    const ean = newEan();
    const first = await claimed();
    const second = await claimed();
    const address = freshAddress();
    await answer(first.ask, first.draft, { address, ean });
    await answer(second.ask, second.draft, { address, ean });
    const late = await readyToSign(world, second.ask, second.draft);
    expect(
      (await first.ask(`${first.draft.link}/sign`, { form: await readyToSign(world, first.ask, first.draft) })).status,
    ).toBe(303);
    expect((await second.ask(`${second.draft.link}/sign`, { form: late })).status).toBe(303);
    expect(await draftRow(world, second.draft)).toMatchObject({
      status: "conflict",
      conflict_reason: "ean_in_use",
      account_id: null,
    });
    expect(
      await world.row(
        "select count(*)::int as n from core.accounts where user_id = $1",
        (await loginOf(second.draft.email)).id,
      ),
    ).toEqual({ n: 0 });

    const third = await claimed();
    await fill(third.ask, third.draft, "address", address);
    const step = await fill(third.ask, third.draft, "ean", { point: "other", ean_code: ean });
    expect(step.status).toBe(422);
    expect(step.text).toContain("Deze EAN-code is al door iemand aangemeld");

    const fourth = await newDraft(world, { ean, ean_status: "provided" });
    await prove(world, newBrowser(world), fourth);
    expect(await draftRow(world, fourth)).toMatchObject({ status: "conflict", conflict_reason: "ean_in_use" });
  });

  test("a charger that is registered elsewhere is a mistake at its step, not the end", async () => {
    const model = await world.row(
      "select id, brand from core.charger_models where brand = 'Alfen' and mid_meter limit 1",
    );
    const charger = { brand: "Alfen", catalog_charger_id: model.id, serial_number: "TWICE-1" };
    const first = await claimed();
    const second = await claimed();
    await answer(first.ask, first.draft, { address: freshAddress(), charger });
    await answer(second.ask, second.draft, { address: freshAddress(), charger });
    const late = await readyToSign(world, second.ask, second.draft);
    await first.ask(`${first.draft.link}/sign`, { form: await readyToSign(world, first.ask, first.draft) });
    const refused = await second.ask(`${second.draft.link}/sign`, { form: late });
    expect(refused.location).toContain("/charger");
    expect((await second.ask(refused.location ?? "")).text).toContain("Deze laadpaal is al door iemand aangemeld");
    expect((await draftRow(world, second.draft)).status).toBe("claimed");
    expect((await fill(second.ask, second.draft, "charger", charger)).status).toBe(422);
  });
});

describe("contract §4 the link alone", () => {
  test("shows who asks and a masked address; what was uploaded or typed needs a code in this browser", async () => {
    const { draft, ask } = await claimed({ name: "Wilhelmina Geheim" });
    await fill(ask, draft, "address", { postal_code: "9999ZZ", house_number: "77" });
    const forwarded = newBrowser(world);
    const page = await forwarded(draft.link);
    expect(page.status).toBe(200);
    expect(page.text).toContain("Zonneveld heeft uw aanmelding klaargezet.");
    expect(page.text).not.toMatch(/Geheim|9999ZZ|31612345678|KL-1/);
    expect(page.text).not.toContain(draft.email);
    for (const path of ["details", "address", "ean", "payout", "charger", "mandate", "sign", "document"]) {
      const answer = await forwarded(`${draft.link}/${path}`);
      expect([path, answer.status, answer.text]).toEqual([path, 303, ""]);
    }
    const typed = await forwarded(`${draft.link}/details`, { form: { full_name: "Iemand Anders", type: "vve" } });
    expect(typed.status).toBe(303);
    expect((await draftRow(world, draft)).progress.answers.full_name).toBeUndefined();
  });

  test("SQL hands out what was uploaded or typed only where the browser has a session", async () => {
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
    const open = async (session: object | null) =>
      JSON.parse(
        await world.environment.db.call("open_claim", caller, {
          draft_id: draft.id,
          address_hash: "test",
          session,
          step: "charger",
        }),
      );
    const shown = ["brand", "code_sent", "email", "fee_pct", "locale", "offer", "partner_name", "state", "status"];
    expect(Object.keys(await open(null)).sort()).toEqual(shown);
    expect(await open({ proved_by: "code", stage: "claimed" })).toMatchObject({
      answers: { full_name: "Sanne de Vries" },
      iban_last4: "4300",
      open_step: null,
    });
    await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
    expect(Object.keys(await open(null)).sort()).toEqual(shown);
    expect(Object.keys(await open({ proved_by: "code", stage: "claimed" }))).toContain("signed");
  });

  test("a session is HttpOnly, Lax, on this claim's path, bound to its draft, and over after a day", async () => {
    const { draft, ask } = await claimed();
    const other = await newDraft(world);
    const set = (await prove(world, newBrowser(world), draft)).headers.get("set-cookie");
    expect(set).toMatch(/; Path=\/pages\/claim\/[\w-]+; HttpOnly; SameSite=Lax$/);
    const borrowed = await newBrowser(world)(other.link, { headers: { cookie: ask.cookie() } });
    expect(heading(borrowed.text)).toBe("Geld voor uw laadstroom");
    const [expires = "", nonce, proof] = ask.cookie().replace("claim=", "").split(".");
    const longer = `claim=${Number(expires) + 1}.${nonce}.${proof}`;
    expect(heading((await newBrowser(world)(draft.link, { headers: { cookie: longer } })).text)).toBe(
      "Geld voor uw laadstroom",
    );
    const { now } = world.environment;
    world.environment.now = () => new Date(Number(expires) * 1000);
    const later = await ask(draft.link).finally(() => {
      world.environment.now = now;
    });
    expect(heading(later.text)).toBe("Geld voor uw laadstroom");
  });

  test("over https the cookie is Secure", async () => {
    const { config } = world.environment;
    const environment = {
      ...world.environment,
      config: { ...config, PAGES_URL: config.PAGES_URL.replace("http:", "https:") },
    };
    const draft = await newDraft(world);
    const set = (await prove(world, newBrowser({ ...world, environment }), draft)).headers.get("set-cookie");
    expect(set).toContain("; Secure");
  });

  test("a form without this session's token changes nothing", async () => {
    const { draft, ask } = await claimed();
    for (const form_token of ["", formToken((await (await claimed()).ask(draft.link)).text), "x".repeat(22)]) {
      const forged = await ask(`${draft.link}/details`, { form: { form_token, full_name: "Mallory", type: "vve" } });
      expect(forged.status).toBe(403);
    }
    expect((await draftRow(world, draft)).progress).toEqual({ by_code: true });
  });

  test("an attacker who holds the link guesses five times, then needs a new mail", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await ask(`${draft.link}/code`, { form: {} });
    const right = await mailedCode(world, draft);
    const guess = (code: string) => ask(`${draft.link}/proof`, { form: { code } });
    const wrong = right === "000000" ? "000001" : "000000";
    for (let tries = 0; tries < 5; tries++) expect((await guess(wrong)).text).toContain("Deze code klopt niet");
    expect((await guess(right)).text).toContain("te vaak een verkeerde code");
    await ask(`${draft.link}/code`, { form: {} });
    expect((await guess(await mailedCode(world, draft))).status).toBe(303);
  });

  test("of ten wrong codes at once five are judged, at the proof and at the signature; the right one comes too late", async () => {
    const begun = await newDraft(world);
    await newBrowser(world)(`${begun.link}/code`, { form: {} });
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    for (const [page, right] of [
      [`${begun.link}/proof`, { code: await mailedCode(world, begun) }],
      [`${draft.link}/sign`, await readyToSign(world, ask, draft)],
    ] as const) {
      const wrong = { ...right, code: right.code === "000000" ? "000001" : "000000" };
      const guesses = await Promise.all(Array.from({ length: 10 }, () => ask(page, { form: wrong })));
      expect(guesses.map(({ status }) => status)).toEqual(Array(10).fill(422));
      expect(guesses.filter(({ text }) => text.includes("Deze code klopt niet"))).toHaveLength(5);
      expect((await ask(page, { form: right })).text).toContain("te vaak een verkeerde code");
    }
    expect([(await draftRow(world, begun)).status, (await draftRow(world, draft)).status]).toEqual([
      "invited",
      "claimed",
    ]);
  });

  test("a code that proves the address does not sign", async () => {
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    const form = await readyToSign(world, ask, draft);
    await ask(`${draft.link}/code`, { form: {} });
    const refused = await ask(`${draft.link}/sign`, { form: { ...form, code: await mailedCode(world, draft) } });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("Deze code klopt niet");
  });
});

describe("contract §4 links that lead nowhere", () => {
  const changed = (change: string) => async (draft: Draft) => {
    await world.row(change, draft.id);
    return draft.link;
  };
  test.each([
    [
      "tampered",
      "Deze link werkt niet",
      async (draft: Draft) => draft.link.replace(/.$/, (last) => (last === "A" ? "E" : "A")),
    ],
    [
      "of another draft's id",
      "Deze link werkt niet",
      async (draft: Draft) => draft.link.replace(/[0-9a-f]{32}/, "0".repeat(32)),
    ],
    ["withdrawn", "Deze aanmelding bestaat niet meer", changed("delete from core.drafts where id = $1")],
    [
      "expired, though no job has noted it",
      "Deze aanmelding is verlopen",
      changed("update core.drafts set expires_at = private.now() where id = $1"),
    ],
    [
      "in conflict",
      "Deze aanmelding kan niet doorgaan",
      changed("update core.drafts set status = 'conflict' where id = $1"),
    ],
    ["finished", "Deze aanmelding is al afgerond", changed("update core.drafts set status = 'active' where id = $1")],
    [
      "a sign-in link nobody made",
      "Deze link werkt niet",
      async () => `${world.environment.config.PAGES_URL}/enter/${"x".repeat(43)}`,
    ],
    [
      "an unsubscribe link nobody made",
      "Deze link werkt niet",
      async () => `${world.environment.config.PAGES_URL}/unsubscribe/${"0".repeat(64)}-x`,
    ],
  ])("a link leads to a kind page, with the same status and no personal data: %s", async (kind, title, linkOf) => {
    const draft = await newDraft(world, { name: "Wilhelmina Geheim" });
    const page = await newBrowser(world)(await linkOf(draft));
    expect(page.status).toBe(404);
    expect(heading(page.text)).toBe(title);
    expect(page.text).not.toMatch(/Geheim|Zonneveld|Amersfoort|@example\.nl/);
    expect(page.text.includes("/mijn?lang=nl"), "whoever has an account already goes on there").toBe(
      kind === "in conflict",
    );
  });

  test("a withdrawal during a claim: the next click says so", async () => {
    const { draft, ask } = await claimed();
    const { text } = await ask(`${draft.link}/details`);
    await world.row("delete from core.drafts where id = $1", draft.id);
    const form = { form_token: formToken(text), full_name: "Sanne de Vries", type: "particulier" };
    const next = await ask((await ask(`${draft.link}/details`, { form })).location ?? "");
    expect(heading(next.text)).toBe("Deze aanmelding bestaat niet meer");
  });

  test("a deactivated partner's open drafts stop: links answer kindly; what customers signed stays theirs", async () => {
    const set = (active: boolean) =>
      world.row("update core.partners set is_active = $2 where id = $1", world.partnerA.id, active);
    const invited = await newDraft(world);
    const link = await newSignInLink(world, invited);
    const halfway = await claimed();
    const finished = await claimed();
    await answer(finished.ask, finished.draft, { address: freshAddress() });
    await finished.ask(`${finished.draft.link}/sign`, { form: await readyToSign(world, finished.ask, finished.draft) });
    const { text } = await halfway.ask(`${halfway.draft.link}/details`);
    await set(false);
    try {
      for (const [ask, path] of [
        [newBrowser(world), invited.link],
        [newBrowser(world), link],
        [halfway.ask, halfway.draft.link],
      ] as const) {
        const page = await ask(path);
        expect([page.status, heading(page.text)]).toEqual([404, "Deze aanmelding bestaat niet meer"]);
        expect(page.text).not.toMatch(/Zonneveld|@example\.nl/);
      }
      const form = { form_token: formToken(text), full_name: "Iemand Anders", type: "particulier" };
      await halfway.ask(`${halfway.draft.link}/details`, { form });
      const { typed } = await world.row(
        "select progress::text as typed from core.drafts where id = $1",
        halfway.draft.id,
      );
      expect(typed).not.toContain("Iemand Anders");
      expect((await newBrowser(world)(link, { form: {} })).status).toBe(404);
      expect(heading((await finished.ask(finished.draft.link)).text)).toBe("U bent aangemeld");
    } finally {
      await set(true);
    }
    expect((await newBrowser(world)(invited.link)).status).toBe(200);
    expect((await newBrowser(world)(link, { form: {} })).status).toBe(303);
  });

  test("a finished claim can be read back with a code", async () => {
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    await ask(`${draft.link}/sign`, { form: await readyToSign(world, ask, draft) });
    const later = newBrowser(world);
    await prove(world, later, draft);
    expect(heading((await later(draft.link)).text)).toBe("U bent aangemeld");
  });
});

describe("contract §4 sign-in links", () => {
  test("opening uses nothing up; the button proves the address, once, and leads into the claim", async () => {
    const draft = await newDraft(world);
    const link = await newSignInLink(world, draft, "https://zonneveld.example/klaar?x=1");
    const scanner = newBrowser(world);
    for (let visits = 0; visits < 3; visits++) {
      const page = await scanner(link);
      expect(heading(page.text)).toBe("Ga verder met uw aanmelding");
      expect(page.text).not.toContain(draft.email);
    }
    const ask = newBrowser(world);
    const entered = await ask(link, { form: {} });
    expect(entered.status).toBe(303);
    expect(entered.location).toBe(new URL(draft.link).pathname);
    expect((await ask(draft.link)).location).toContain("/details");
    expect(await draftRow(world, draft)).toMatchObject({
      status: "claimed",
      progress: { return_url: "https://zonneveld.example/klaar?x=1" },
    });
    const again = await newBrowser(world)(link, { form: {} });
    expect([again.status, heading(again.text)]).toEqual([404, "Deze link is al gebruikt"]);
  });

  test("a sign-in link works 300 seconds and no longer", async () => {
    const draft = await newDraft(world);
    const link = await newSignInLink(world, draft);
    await world.row("update core.draft_links set expires_at = private.now() where draft_id = $1", draft.id);
    for (const form of [undefined, {}]) {
      const page = await newBrowser(world)(link, form ? { form } : {});
      expect([page.status, heading(page.text)]).toEqual([404, "Deze link werkt niet meer"]);
    }
    expect((await draftRow(world, draft)).status).toBe("invited");
  });
});

describe("contract §4 the steps", () => {
  test("progress survives a reload, another browser and going back; the next open step is where one goes on", async () => {
    const { draft, ask } = await claimed();
    await fill(ask, draft, "details", { full_name: "S. de Vries-Bakker", type: "particulier" });
    await fill(ask, draft, "address", { postal_code: "3818lh", house_number: "8-2" });
    const elsewhere = newBrowser(world);
    await prove(world, elsewhere, draft);
    expect((await elsewhere(draft.link)).location).toContain("/ean");
    expect((await elsewhere(`${draft.link}/details`)).text).toContain('value="S. de Vries-Bakker"');
    expect((await elsewhere(`${draft.link}/address`)).text).toContain('value="8 2"');
    expect((await draftRow(world, draft)).name, "the partner's upload is not rewritten").toBe("Sanne de Vries");
  });

  test("several connections at the address: pick one; none: type it; another address asks again", async () => {
    const { draft, ask } = await claimed();
    await fill(ask, draft, "address", { postal_code: "1012AB", house_number: "78" });
    const several = await ask(`${draft.link}/ean`);
    const points = [...several.text.matchAll(/name="point" value="(\d{18})"/g)].map(([, ean]) => ean ?? "");
    expect(points).toHaveLength(2);
    expect((await fill(ask, draft, "ean", {})).text).toContain("Kies een aansluiting");
    await fill(ask, draft, "details", { full_name: "Sanne", type: "particulier" });
    expect((await fill(ask, draft, "ean", { point: points[1] ?? "" })).location).toContain("/payout");
    expect((await draftRow(world, draft)).progress.answers.ean_code).toBe(points[1]);
    expect((await fill(ask, draft, "address", { postal_code: "1012AB", house_number: "47" })).location).toContain(
      "/ean",
    );
    const none = await ask(`${draft.link}/ean`);
    expect(none.text).toContain("Vul de code zelf in");
    const typed = await fill(ask, draft, "ean", { point: "other", ean_code: "8716 8700" });
    expect(typed.status).toBe(422);
    expect(typed.text).toContain('value="8716 8700"');
    const mismatch = await fill(ask, draft, "ean", { point: "other", ean_code: "871687000000000030" });
    expect(mismatch.text).toContain("hoort niet bij uw adres");
    expect((await fill(ask, draft, "ean", { point: "other", ean_code: "871687 000000 000023" })).status).toBe(303);
    expect((await draftRow(world, draft)).progress.ean_check).toMatchObject({ outcome: "unavailable" });
  });

  test("an IBAN is checked, encrypted at once, shown by its last four, and can be put off", async () => {
    const { draft, ask } = await claimed();
    const wrong = await fill(ask, draft, "payout", { iban: "NL91ABNA0417164301" });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('value="NL91ABNA0417164301"');
    await fill(ask, draft, "payout", { iban: "nl91abna0417164300" });
    const { progress } = await draftRow(world, draft);
    expect(JSON.stringify(progress)).not.toContain("0417164300");
    const page = await ask(`${draft.link}/payout`);
    expect(page.text).toContain("Wij hebben het nummer dat eindigt op 4300.");
    expect((await ask(`${draft.link}/address`)).text, "as people write it").toContain('value="3818 LH"');
    await fill(ask, draft, "payout", { iban: "" });
    expect((await draftRow(world, draft)).progress.iban.last4).toBe("4300");
    await fill(ask, draft, "payout", { later: "yes" });
    expect((await draftRow(world, draft)).progress.iban).toBeUndefined();
  });

  test("a model comes from the catalogue, of the brand that was chosen", async () => {
    const { draft, ask } = await claimed({ charger: { brand: "Alfen", serial_number: "AB 1" } });
    const known = await ask(`${draft.link}/charger`);
    expect(known.text, "the brand the partner gave goes straight to its models").toContain('name="catalog_charger_id"');
    expect((await ask(`${draft.link}/charger?other=1`)).text).toContain('<option value="Alfen" selected>');
    const none = await ask(`${draft.link}/charger?lang=nl&brand=`);
    expect(none.text, "going on without a brand").toMatch(
      /<title>Fout: .*<a href="#brand">Kies een merk<.*id="brand-error">Kies een merk</s,
    );
    expect((await ask(`${draft.link}/charger?other=1`)).text).not.toContain("brand-error");
    const other = await world.row("select id from core.charger_models where brand <> 'Alfen' and mid_meter limit 1");
    for (const catalog_charger_id of ["", "x", other.id]) {
      const refused = await fill(ask, draft, "charger", { brand: "Alfen", catalog_charger_id, serial_number: "AB 1" });
      expect(refused.status).toBe(422);
      expect(refused.text).toContain("Kies een model");
    }
  });

  test("what was read must still be what is signed", async () => {
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    const form = await readyToSign(world, ask, draft);
    await fill(ask, draft, "details", { full_name: "Iemand Anders", type: "particulier" });
    const changed = await ask(`${draft.link}/sign`, { form });
    expect(changed.status).toBe(409);
    expect((await draftRow(world, draft)).status).toBe("claimed");
  });
});

describe("contract §4 costs and races", () => {
  test("a page is one statement, a form two, and a call of Auth where the login is made", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    expect(await statementsOf(world, () => ask(draft.link))).toEqual(["open_claim"]);
    expect(await statementsOf(world, () => ask(`${draft.link}/code`, { form: {} }))).toEqual([
      "open_claim",
      "send_claim_code",
    ]);
    const code = await mailedCode(world, draft);
    world.auth.calls.length = 0;
    expect(await statementsOf(world, () => ask(`${draft.link}/proof`, { form: { code } }))).toEqual([
      "prove_claim",
      "prove_claim",
    ]);
    expect(world.auth.calls).toEqual(["POST /auth/v1/admin/users"]);
    const { text } = await ask(`${draft.link}/ean`);
    const form = { form_token: formToken(text), ...{ postal_code: "1012AB", house_number: "9" } };
    expect(await statementsOf(world, () => ask(`${draft.link}/address`, { form }))).toEqual([
      "open_claim",
      "save_claim",
    ]);
    expect(await statementsOf(world, () => ask(`${draft.link.slice(0, -1)}~`)), "a forged token costs none").toEqual(
      [],
    );
  });

  test("ten at once with one code: one gets in, and one login is made", async () => {
    const draft = await newDraft(world);
    await newBrowser(world)(`${draft.link}/code`, { form: {} });
    const form = { code: await mailedCode(world, draft) };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => newBrowser(world)(`${draft.link}/proof`, { form })),
    );
    expect(answers.filter(({ headers }) => headers.has("set-cookie"))).toHaveLength(1);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(422)]);
    expect(await world.row("select count(*)::int as n from auth.users where email = $1", draft.email)).toEqual({
      n: 1,
    });
  });

  test("ten at once with one sign-in link: one gets in", async () => {
    const draft = await newDraft(world);
    const link = await newSignInLink(world, draft);
    const answers = await Promise.all(Array.from({ length: 10 }, () => newBrowser(world)(link, { form: {} })));
    expect(answers.filter(({ headers }) => headers.has("set-cookie"))).toHaveLength(1);
  });

  test("ten signatures at once: one account, one mandate, one mail", async () => {
    const { draft, ask } = await claimed();
    await answer(ask, draft, { address: freshAddress() });
    const form = await readyToSign(world, ask, draft);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(`${draft.link}/sign`, { form })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(303));
    const { user_id } = await draftRow(world, draft);
    expect(await world.row("select count(*)::int as n from core.accounts where user_id = $1", user_id)).toEqual({
      n: 1,
    });
    expect(
      await world.row(
        "select count(*)::int as n from core.mandates m join core.connections c on c.id = m.connection_id join core.accounts a on a.id = c.account_id where a.user_id = $1",
        user_id,
      ),
    ).toEqual({ n: 1 });
  });

  test("ten customers at once want the same EAN: one has it, nine are in conflict", async () => {
    const ean = newEan();
    const address = freshAddress();
    const people = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { draft, ask } = await claimed();
        await answer(ask, draft, { address, ean });
        return { draft, ask, form: await readyToSign(world, ask, draft) };
      }),
    );
    await Promise.all(people.map(({ draft, ask, form }) => ask(`${draft.link}/sign`, { form })));
    const states = await Promise.all(people.map(async ({ draft }) => (await draftRow(world, draft)).status));
    expect(states.sort()).toEqual(["active", ...Array(9).fill("conflict")]);
  });

  test("the log says what became of a claim, and never the token, the address or the code", async () => {
    const draft = await newDraft(world);
    world.log.length = 0;
    await prove(world, newBrowser(world), draft);
    const text = JSON.stringify(world.log);
    expect(text).toContain('"route":"/pages/claim/:token/proof"');
    expect(text).not.toContain(draft.link.split("/").pop());
    expect(text).not.toContain(draft.email);
  });
});

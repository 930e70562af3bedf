// How many mails an address gets in a day, and how many guesses it takes: on production, whoever asks and by whatever means.

import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashAddress, hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { attempt } from "#shared/foundation/attempt.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount, newEan } from "../harness/people.ts";
import { mailedCode as claimCode, createClaimWorld, formToken, newBrowser, signedClaim } from "../pages/claimant.ts";
import { linkFor, pageClient, readMandate } from "../pages/signatory.ts";
import { addDraft, createPartnerWorld, draftRow, type PartnerWorld } from "../partner/partner_world.ts";

const LIMITS = {
  mail: 20,
  mail_kind: 10,
  mail_place: 5,
  draft_invitation: 3,
  draft_invitation_any: 5,
  code_guesses: 20,
};

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld({
    host: "production",
    variables: { MAIL_FROM: "ERE <post@ere.service>", BASE_URL: "https://api.ere.service" },
    now: "2026-11-20T09:00:00Z",
  });
  for (const [bucket, quota] of Object.entries(LIMITS)) await world.limit(bucket, quota);
});
afterAll(() => world.close());

let email = "";
beforeEach(() => {
  email = `${randomBytes(6).toString("hex")}@voorbeeld.nl`;
});

const caller = { kind: "anyone", host: "production", request_id: "test" };
const run = (name: string, request: object) => world.environment.db.call(name, caller, request);
const mails = async (to = email, status = "queued") =>
  (
    await world.row(
      "select count(*)::int as n from core.mail_outbox where recipient = $1 and status = $2 and template <> 'mandate_signed'",
      to,
      status,
    )
  ).n;
const account = (address = email) =>
  createAccount(world, world.partnerA, { person: { full_name: "Sanne de Vries", email: address } });
const mailedLink = async (account_id: string) =>
  (await world.post("/v1/mandate-links", { account_id, send_email: true }, await world.partnerA.client.token())).body;

/** Somebody on a sign-in page who asks for a code: from a network, or a browser that signed in before. */
async function askForCode(address: string, { network = "192.0.2.1", device = null as string | null } = {}) {
  const { environment } = world;
  const token_hash = hashSecret(newSecret());
  const { refused } = await attempt(
    run("send_sign_in_code", {
      address_hash: hashAddress(environment, network),
      email_hash: hashAddress(environment, address),
      device_hash: device && hashSecret(device),
      email: address,
      token_hash,
      code_hash: hashSecret("123456"),
      mail: aboutMail(environment.config, "sign_in", "nl", { code: "123456", app: null }),
      signatories: true,
    }),
    ["too_many_codes"],
  );
  return refused ? null : token_hash;
}

/** A login at an address: only there a code is mailed. */
const login = (address: string) =>
  world.row(
    "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text)) returning id",
    address,
  );

describe("contract §9 attack: mail without end to one address", () => {
  test("forty mandate links of one customer: ten are mailed, and mail_limit says so of the others, whose links work", async () => {
    const { account_id } = await account();
    const answers = [];
    for (let n = 0; n < 40; n++) answers.push(await mailedLink(account_id));
    expect(answers.map(({ email_sent, mail_limit }) => [email_sent, mail_limit])).toEqual([
      ...Array(10).fill([true, false]),
      ...Array(30).fill([false, true]),
    ]);
    expect([await mails(), await mails(email, "dropped")]).toEqual([10, 30]);
    expect((await pageClient(world)(answers[39].mandate_link)).status).toBe(200);
    const { subject, text, links } = await world.mail("where recipient = $1 and status = 'dropped' limit 1", email);
    expect([subject, text, links], "what was dropped leaves no link").toEqual(["", "", []]);
  });

  test("twenty customers at one address: ten mails; without send_email nothing is said of a limit", async () => {
    const sent: boolean[] = [];
    for (let n = 0; n < 20; n++) sent.push((await mailedLink((await account()).account_id)).email_sent);
    expect(sent).toEqual([...Array(10).fill(true), ...Array(10).fill(false)]);
    const { account_id } = await account();
    const { body } = await world.post("/v1/mandate-links", { account_id }, await world.partnerA.client.token());
    expect([body.email_sent, body.mail_limit]).toEqual([false, false]);
  });

  test("one connection whose address changes each time: ten mails", async () => {
    const { account_id } = await account();
    const sent: boolean[] = [];
    for (let n = 0; n < 12; n++) {
      await world.row("update core.signatories set email = $2 where account_id = $1", account_id, `${n}${email}`);
      sent.push((await mailedLink(account_id)).email_sent);
    }
    expect(sent).toEqual([...Array(10).fill(true), false, false]);
  });

  test("a CPO changes the telephone of who signed again and again: ten mails, and no change of which nobody is told", async () => {
    const { account_id } = await account();
    await signMandate(world, account_id);
    const token = await world.partnerA.client.token();
    const answers = [];
    for (let n = 0; n < 12; n++) {
      const person = { phone: `+316123456${10 + n}` };
      answers.push(await world.post("/v1/accounts:update", { account_id, person }, token));
    }
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(200), 429, 429]);
    expect(answers[11]?.body).toMatchObject({ error: "Too many requests", retry_after_seconds: expect.any(Number) });
    const { phone } = await world.row("select phone from core.signatories where account_id = $1", account_id);
    expect(phone).toBe("+31612345619");
  });

  test("tags and dots of large providers are one mailbox; elsewhere they are another's", async () => {
    const [name = ""] = email.split("@");
    const sent: boolean[] = [];
    for (let n = 0; n < 12; n++)
      sent.push((await mailedLink((await account(`s.${name}+${n}@googlemail.com`)).account_id)).email_sent);
    expect(sent).toEqual([...Array(10).fill(true), false, false]);
    expect((await mailedLink((await account(`s${name}@gmail.com`)).account_id)).mail_limit).toBe(true);
    for (const [one, another] of [
      [`${name}@proton.me`, `${name}+x@pm.me`],
      // Proton ignores these too
      [`${name}@proton.me`, `${name.slice(0, 3)}-${name.slice(3, 5)}_${name.slice(5)}.@protonmail.com`],
      [`${name}@icloud.com`, `${name}+x@me.com`],
      [`${name}@hotmail.nl`, `${name}+x@hotmail.nl`],
      [`${name}@fastmail.com`, `${name}+x@fastmail.com`],
      // a provider has one domain a country
      [`${name}@hotmail.be`, `${name}+x@Hotmail.be`],
      [`${name}@outlook.fr`, `${name}+x@outlook.fr`],
      [`${name}@live.co.uk`, `${name}+x@live.co.uk`],
      [`${name}@msn.com`, `${name}+x@msn.com`],
    ])
      expect(
        (await world.row("select private.counted_address($1) = private.counted_address($2) as same", one, another))
          .same,
      ).toBe(true);
    for (const [one, another] of [
      [`${name}@bedrijf.nl`, `${name}+x@bedrijf.nl`],
      [`a.b@hotmail.nl`, `ab@hotmail.nl`],
      [`${name}@hotmail.nl`, `${name}@hotmail.com`],
    ])
      expect(
        (await world.row("select private.counted_address($1) = private.counted_address($2) as same", one, another))
          .same,
      ).toBe(false);
  });

  test("forty codes by four drafts of four partners, and whatever else: ten of a kind, twenty in all", async () => {
    const ask = pageClient(world);
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) {
      const { body } = await world.import([draftRow({ email })], {}, n % 2 ? world.keyA : world.keyB);
      const { draft_id, claim_url } = body.created[0];
      for (let code = 0; code < 10; code++) statuses.push((await ask(`${claim_url}/code`, { form: {} })).status);
      await world.post("/partner/drafts/withdraw", { draft_id }, n % 2 ? world.keyA : world.keyB);
    }
    // withdrawing takes back what still waits, so it is counted by what was answered
    expect(statuses.map((status) => status === 303)).toEqual([...Array(10).fill(true), ...Array(30).fill(false)]);
    const { account_id } = await account();
    for (let n = 0; n < 10; n++) expect((await mailedLink(account_id)).email_sent).toBe(true);
    const { body } = await world.import([draftRow({ email })], { send_invite: true });
    expect(body.invite_ignored, "twenty had gone").toEqual([{ email, reason: "mail_limit" }]);
  });

  test("of thirty asked for at once at the border never more than the limit go out", async () => {
    const { account_id } = await account();
    for (let n = 0; n < 5; n++) await mailedLink(account_id);
    const others = await Promise.all(Array.from({ length: 10 }, () => account()));
    const answers = await Promise.all(others.map(({ account_id }) => mailedLink(account_id)));
    expect(answers.filter(({ email_sent }) => email_sent)).toHaveLength(5);
    expect(await mails()).toBe(10);
  });

  test("the next Dutch day begins afresh, and the counts of the day before are swept; they name nobody", async () => {
    const { account_id } = await account();
    for (let n = 0; n < 11; n++) await mailedLink(account_id);
    await world.freeze("2026-11-20T22:59:00Z");
    expect((await mailedLink(account_id)).mail_limit).toBe(true);
    await world.freeze("2026-11-20T23:01:00Z");
    expect((await mailedLink(account_id)).email_sent).toBe(true);
    await world.row("select private.sweep('mail_counts')");
    const { rows } = await world.database.admin.query("select * from core.mail_counts");
    expect(rows.every(({ day }) => day > new Date("2026-11-20"))).toBe(true);
    expect(JSON.stringify(rows)).not.toContain(email.split("@")[0]);
    await world.freeze("2026-11-20T09:00:00Z");
    await world.row("delete from core.rate_limit_state");
  });

  test("service mail neither counts nor is dropped", async () => {
    const { account_id } = await account();
    for (let n = 0; n < 12; n++) await mailedLink(account_id);
    const before = await world.row("select sum(sent)::int as sent from core.mail_counts");
    for (let n = 0; n < 25; n++)
      await world.row(
        `select private.set_tenant($1), private.enqueue_mail('{"template": "payout_sent", "locale": "nl"}', $2, 'notice:' || gen_random_uuid())`,
        world.partnerA.id,
        email,
      );
    expect(await world.row("select sum(sent)::int as sent from core.mail_counts")).toEqual(before);
    expect(await mails()).toBe(10 + 25);
  });

  test("a client that gives other account numbers again and again: five mails at once, and one at the end of the day with the number that is there", async () => {
    const { account_id, account: created } = await account();
    await signMandate(world, account_id);
    const give = async (nth: number) => {
      const iban = `NL91ABNA041716${String(4000 + nth)}`;
      const sent = { ...accountBody(), cpo_external_ref: created.cpo_external_ref, iban };
      expect((await world.post("/v1/accounts", sent, await world.partnerA.client.token())).status).toBe(200);
    };
    const notices = async () =>
      (
        await world.database.admin.query(
          "select private.notice_details(n) ->> 'iban_last4' as last4, due_at::text as due from core.notices n where account_id = $1 and kind = 'payout_iban_changed' order by due_at, last4",
          [account_id],
        )
      ).rows;
    for (let nth = 1; nth <= 30; nth++) await give(nth);
    const told = await notices();
    expect(told.map(({ last4 }) => last4)).toEqual(["4001", "4002", "4003", "4004", "4005", "4030"]);
    expect(new Date(told[5].due)).toEqual(new Date("2026-11-20T23:00:00Z"));
    await Promise.all(Array.from({ length: 10 }, (_, nth) => give(31 + nth)));
    expect(await notices()).toHaveLength(6);
  });

  test("an endpoint that answers 410 and is enabled again and again: ten mails a day to who manages the partner; another log has its own", async () => {
    const { id: person } = await login(email);
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2)",
      world.partnerA.id,
      person,
    );
    const told = async () =>
      (
        await world.row(
          "select count(*)::int as n from core.mail_outbox where recipient = $1 and template = 'webhook_disabled'",
          email,
        )
      ).n;
    const gone = async (owner: string, times: number) => {
      for (let n = 0; n < times; n++) {
        // a new one each time, as whoever revokes it makes it
        const { id, lease_id } = await world.row(
          `insert into core.webhook_endpoints (partner_id, id, owner_id, url, secret_ciphertext, secret_key_id, delivered_to, lease_id, lease_until)
           values ($1, gen_random_uuid(), $2, 'https://receiver.example', 'x', 'x', 0, gen_random_uuid(), now() + interval '1 hour') returning id, lease_id`,
          world.partnerA.id,
          owner,
        );
        const at = "2026-11-20T09:00:00Z";
        const result = { event_id: randomUUID(), type: "ping", attempt: 1, sequence: 1, at, status: 410, ms: 1 };
        const settled = { partner_id: world.partnerA.id, webhook_id: id, lease_id, results: [result], operator: null };
        await world.environment.slowDb.call("settle_webhook", { ...caller, kind: "worker" }, settled);
        expect((await world.row("select status from core.webhook_endpoints where id = $1", id)).status).toBe(
          "disabled",
        );
      }
    };
    await gone(world.partnerA.id, 14);
    expect(await told()).toBe(10);
    await gone(world.partnerA.client.id, 3);
    expect(await told()).toBe(13);
  });

  test("a counted mail without the key to count by is not written: no limit is passed by", async () => {
    const counted = `select private.set_tenant($1), private.enqueue_mail('{"template": "x", "locale": "nl"}', $2, 'mandate_link:x')`;
    await expect(world.row(counted, world.partnerA.id, email)).rejects.toThrow(/null value/);
  });

  test("the sandbox neither counts nor drops", async () => {
    const sandbox = await createPartnerWorld();
    try {
      for (const [bucket, quota] of Object.entries(LIMITS)) await sandbox.limit(bucket, quota);
      const { account_id } = await createAccount(sandbox, sandbox.partnerA, {
        person: { full_name: "Sanne de Vries", email },
      });
      const token = await sandbox.partnerA.client.token();
      for (let n = 0; n < 25; n++)
        expect((await sandbox.post("/v1/mandate-links", { account_id, send_email: true }, token)).body).toMatchObject({
          email_sent: true,
          mail_limit: false,
        });
      expect((await sandbox.row("select count(*)::int as n from core.mail_counts")).n).toBe(0);
    } finally {
      await sandbox.close();
    }
  });
});

describe("contract §9 attack: a stranger uses up somebody's codes", () => {
  test("one network has five of an address, all of them ten, known here or not; a browser that signed in before has five of its own", async () => {
    await login(email);
    const asked = async (times: number, from: Parameters<typeof askForCode>[1], address = email) => {
      const sent = [];
      for (let n = 0; n < times; n++) sent.push((await askForCode(address, from)) !== null);
      return sent.filter(Boolean).length;
    };
    for (const address of [email, `niemand-${email}`]) {
      expect(await asked(8, { network: "192.0.2.10" }, address)).toBe(5);
      expect(await asked(8, { network: "192.0.2.11" }, address)).toBe(5);
      expect(await asked(8, { network: "192.0.2.12" }, address)).toBe(0);
    }
    expect(await asked(8, { network: "192.0.2.12", device: `a ${email}` })).toBe(5);
    expect(await asked(8, { network: "192.0.2.12", device: `b ${email}` })).toBe(5);
    expect(await asked(1, { network: "192.0.2.12", device: `c ${email}` }), "all such browsers together").toBe(0);
    expect(await mails()).toBe(20);
  });

  test("where other mail used up the day, a code is dropped without a word: a stranger does not learn who is written to", async () => {
    await login(email);
    const { account_id } = await account();
    for (let n = 0; n < 10; n++) await mailedLink(account_id);
    const ask = pageClient(world);
    const { link } = await linkFor(world, account_id);
    const seen = await readMandate(ask, link);
    for (let n = 0; n < 10; n++) expect((await ask(`${link}/code`, { form: { seen } })).status).toBe(303);
    for (let n = 0; n < 10; n++) expect(await askForCode(email, { network: `192.0.2.${n}` })).not.toBeNull();
    expect(
      await askForCode(email, { network: "192.0.2.20" }),
      "as at an address that is written nothing else",
    ).toBeNull();
    expect(await mails()).toBe(20);
    expect(await askForCode(email, { device: `d ${email}` })).not.toBeNull();
    expect(await mails()).toBe(21);
  });

  test("the page of a link says what to do, in both languages, and the newest code still signs", async () => {
    const { account_id } = await account();
    const ask = pageClient(world);
    for (const [locale, words] of [
      ["nl", ["Er zijn vandaag te veel codes aangevraagd", "Gebruik de nieuwste code die u kreeg"]],
      ["en", ["Too many codes were asked for today", "Use the newest code you received"]],
    ] as const) {
      const { link } = await linkFor(world, account_id, { locale });
      const seen = await readMandate(ask, link);
      let refused = await ask(`${link}/code`, { form: { seen } });
      for (let n = 0; n < 10 && refused.status === 303; n++) refused = await ask(`${link}/code`, { form: { seen } });
      expect(refused.status).toBe(429);
      // nine in the morning in UTC, ten in the Netherlands
      expect(refused.headers.get("retry-after")).toBe(String(14 * 3600));
      for (const said of words) expect(refused.text).toContain(said);
    }
  });
});

describe("contract §9 attack: a partner uses up the codes and the guesses of its own customer", () => {
  test("who proved the address in their browser still gets codes, and withdraws by the right one", async () => {
    const claims = await createClaimWorld({ host: "production", limits: "lifted" });
    try {
      const { draft, ask } = await signedClaim(claims, { ean: newEan() });
      for (const [bucket, quota] of Object.entries(LIMITS)) await claims.limit(bucket, quota);
      const partner = newBrowser(claims);
      const asked: number[] = [];
      for (let n = 0; n < 12; n++) asked.push((await partner(`${draft.link}/code`, { form: {} })).status);
      expect(asked.slice(-2)).toEqual([429, 429]);
      for (let n = 0; n < 25; n++) {
        await claims.row("update core.one_time_codes set attempts = 0 where subject = $1", `claim:${draft.id}`);
        await partner(`${draft.link}/proof`, { form: { code: "000000" } });
      }
      const guesses = await claims.row(
        "select count(*)::int as n from core.rate_limit_state where bucket = 'code_guesses' and full_at > private.now() + interval '23 hours'",
      );
      expect(guesses.n, "no guess is left").toBe(1);
      const form = { form_token: formToken((await ask(`${draft.link}/revoke`)).text) };
      expect((await ask(`${draft.link}/revoke-code`, { form })).status).toBe(303);
      const code = await claimCode(claims, draft);
      expect((await ask(`${draft.link}/revoke`, { form: { ...form, code } })).status).toBe(303);
      expect((await claims.row("select status from core.mandates where signed_name = 'Sanne de Vries'")).status).toBe(
        "revoked",
      );
    } finally {
      await claims.close();
    }
  });

  test("a browser has ten codes of its own a day, and one that came by a sign-in link none", async () => {
    const { body } = await world.import([draftRow({ email })]);
    const { draft_id } = body.created[0];
    const { config } = world.environment;
    const send = async (proved_by?: string) => {
      const code_hash = hashSecret(newSecret());
      const mail = aboutMail(config, "claim_code", "nl", { code: "123456", purpose: "sign", brand: { name: "x" } });
      const { refused } = await attempt(run("send_claim_code", { draft_id, code_hash, mail, stage: null, proved_by }), [
        "too_many_codes",
      ]);
      return !refused;
    };
    const sent = async (times: number, proved_by?: string) => {
      const answers: boolean[] = [];
      for (let n = 0; n < times; n++) answers.push(await send(proved_by));
      return answers.filter(Boolean).length;
    };
    expect([await sent(6), await sent(6, "link"), await sent(12, "code"), await sent(1)]).toEqual([6, 4, 10, 0]);
  });

  test("the signatory of a CPO's customer withdraws though the CPO used up the day's mail", async () => {
    const { account_id } = await account();
    await signMandate(world, account_id);
    const other = await account();
    for (let n = 0; n < 10; n++) await mailedLink(other.account_id);
    for (let n = 0; n < 10; n++) await askForCode(email, { network: `192.0.2.${n}` });
    expect((await mailedLink(other.account_id)).mail_limit).toBe(true);
    const { id: connection_id } = await world.row("select id from core.connections where account_id = $1", account_id);
    const ask = async (name: string, about: object) => {
      const { config } = world.environment;
      const mail = aboutMail(config, "claim_code", "nl", { code: "123456", purpose: "revoke" });
      const signatory = { ...caller, kind: "signatory", signatory: email };
      const request = { ...about, token_hash: hashSecret(newSecret()), code_hash: hashSecret("123456"), mail };
      return (await attempt(world.environment.db.call(name, signatory, request), ["too_many_codes"])).refused?.code;
    };
    expect(await ask("send_withdrawal_code", { connection_id })).toBeUndefined();
    expect(await ask("send_account_code", { account_id })).toBeUndefined();
  });
});

describe("contract §9 attack: guessing codes by new links and drafts", () => {
  const guess = (draft_id: string, code: string) =>
    attempt(
      run("prove_claim", {
        draft_id,
        address_hash: hashAddress(world.environment, randomBytes(8).toString("hex")),
        code_hash: hashSecret(code),
        key: claimKey(world.environment),
        repeat_hash: null,
      }),
      ["wrong_code", "too_many_attempts", "too_many_guesses", "code_expired"],
    );
  const send = (draft_id: string, code: string) => {
    const { config } = world.environment;
    const mail = aboutMail(config, "claim_code", "nl", { code, purpose: "prove", brand: { name: "x" } });
    return run("send_claim_code", { draft_id, code_hash: hashSecret(code), mail, stage: null });
  };

  test("twenty wrong ones of an address and a purpose, however many drafts; then the right one does not do either, at the next draft too", async () => {
    const outcomes: string[] = [];
    let last = "";
    for (let draft = 0; draft < 3; draft++) {
      const { body } = await world.import([draftRow({ email })]);
      last = body.created[0].draft_id;
      for (let code = 0; code < 3; code++) {
        await send(last, `right ${draft} ${code}`);
        for (let n = 0; n < 5; n++) outcomes.push((await guess(last, "wrong")).refused?.code ?? "in");
      }
      if (draft < 2) await world.post("/partner/drafts/withdraw", { draft_id: last }, world.keyA);
    }
    expect(outcomes).toEqual([...Array(20).fill("wrong_code"), ...Array(25).fill("too_many_guesses")]);
    expect((await guess(last, "right 2 2")).refused?.code).toBe("too_many_guesses");
    const other = await addDraft(world);
    await send(other.draft_id, "right");
    expect((await guess(other.draft_id, "wrong")).refused?.code, "another address is not concerned").toBe("wrong_code");
  });

  test("of guesses sent at once at the border none is judged beyond it, and a right one uses up nothing", async () => {
    const { body } = await world.import([draftRow({ email })]);
    const { draft_id } = body.created[0];
    for (let code = 0; code < 3; code++) {
      await send(draft_id, `right ${code}`);
      for (let n = 0; n < 5; n++) await guess(draft_id, "wrong");
    }
    const { link } = await linkFor(world, (await account()).account_id);
    expect(link).toBeTruthy();
    await send(draft_id, "right");
    for (let n = 0; n < 3; n++) await guess(draft_id, "wrong");
    await send(draft_id, "right again");
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => guess(draft_id, "wrong")));
    const judged = outcomes.filter(({ refused }) => refused?.code === "wrong_code").length;
    expect(judged).toBe(2);
  });

  test("strangers' wrong guesses leave a browser that signed in before alone", async () => {
    await login(email);
    const redeem = async (token_hash: string | null, code: string, device: string | null = null) =>
      (
        await attempt(
          run("redeem_sign_in_code", {
            token_hash,
            code_hash: hashSecret(code),
            key: claimKey(world.environment),
            email,
            device_hash: device && hashSecret(device),
            signatory_hash: null,
          }),
          ["wrong_code", "too_many_attempts", "too_many_guesses", "code_expired"],
        )
      ).refused?.code ?? "in";
    for (let n = 0; n < 4; n++) {
      const token = await askForCode(email);
      for (let guess = 0; guess < 5; guess++) expect(await redeem(token, "000000")).toBe("wrong_code");
    }
    expect(await redeem(await askForCode(email), "123456")).toBe("too_many_guesses");
    const known = await askForCode(email, { device: `e ${email}` });
    expect(await redeem(known, "123456", `e ${email}`)).toBe("in");
  });
});

describe("contract §4 limits of mail and many at once", () => {
  test("of one mailbox under several spellings in a file five are invited, in a rehearsal too", async () => {
    const rows = Array.from({ length: 8 }, (_, n) => draftRow({ email: `${email.split("@")[0]}+${n}@gmail.com` }));
    const ignored = rows.slice(3).map(({ email }) => ({ email, reason: "mail_limit" }));
    const dry = await world.import(rows, { send_invite: true, dry_run: true });
    expect([dry.body.added, dry.body.invite_ignored]).toEqual([8, ignored]);
    const { body } = await world.import(rows, { send_invite: true });
    expect([body.added, body.invite_ignored]).toEqual([8, ignored]);
  });

  test("two imports of one mailbox under other spellings, in opposite orders: neither waits for ever, and no count is lost", async () => {
    const names = Array.from({ length: 20 }, () => randomBytes(6).toString("hex"));
    const rows = (tag: string, order: string[]) => order.map((name) => draftRow({ email: `${name}+${tag}@gmail.com` }));
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all([
        world.import(rows(`a${round}`, names), { send_invite: true }),
        world.import(rows(`b${round}`, [...names].reverse()), { send_invite: true }, world.keyB),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
    const { rows: counts } = await world.database.admin.query(
      "select distinct sent from core.mail_counts where subject = any (array(select private.mail_subject(n || '@gmail.com', $2) from unnest($1::text[]) n))",
      [names, claimKey(world.environment)],
    );
    expect(counts).toEqual([{ sent: 5 }]);
  });

  test("a reminder counts, and one beyond the limit is not sent", async () => {
    const { body } = await world.import([draftRow({ email })], { send_invite: true });
    await world.row(
      "update core.drafts set created_at = created_at - interval '4 days' where id = $1",
      body.created[0].draft_id,
    );
    await world.limit("mail", 1);
    const { config } = world.environment;
    const links = { key: claimKey(world.environment), pages_url: config.PAGES_URL };
    await world.environment.slowDb.call("run_draft_jobs", { ...caller, kind: "worker" }, { links, size: 10 });
    await world.limit("mail", 20);
    expect([await mails(), await mails(email, "dropped")]).toEqual([1, 1]);
  });
});

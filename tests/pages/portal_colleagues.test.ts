// Colleagues of a partner's pages: invited, accepting, removed.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueUserToken } from "#shared/auth/tokens.ts";
import type { Partner } from "../harness/people.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading, newBrowser } from "./claimant.ts";
import { createCustomerWorld, mijn, signIn } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser, signInToPortal } from "./manager.ts";
import { signedCustomer } from "./signatory_customer.ts";

let world: SandboxWorld;
let manager: Manager;
let ask: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  manager = await newManager(world, world.partnerA);
  ask = await portalBrowser(world, manager);
});
afterAll(() => world.close());

const PAGE = "/settings/colleagues";
const newAddress = () => `collega-${randomUUID().slice(0, 8)}@example.nl`;
const tokenOf = async (browser: Browser, page = PAGE) => formToken((await browser(portal(world, page))).text);
/** What the form that invites sends along. */
async function formOf(browser: Browser): Promise<Record<string, string>> {
  const { text } = await browser(portal(world, PAGE));
  return { form_token: formToken(text), once: /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "" };
}
const managers = async ({ id } = world.partnerA) =>
  Number((await world.row("select count(*) as n from core.partner_managers where partner_id = $1", id)).n);

async function invite(email: string, browser = ask) {
  return browser(portal(world, PAGE), { form: { ...(await formOf(browser)), email } });
}

/** The newest mail to an address: the world's clock stands still, so the rows' places say which it is. */
const mailTo = (email: string) => world.mail("where recipient = $1 order by age(xmin), ctid desc limit 1", email);

/** The link in the newest invitation of an address. */
async function linkOf(email: string): Promise<string> {
  const { links } = await world.mail(
    "where recipient = $1 and template = 'manager_invitation' order by age(xmin), ctid desc limit 1",
    email,
  );
  return links[0];
}

/** Accepts as the owner of the mailbox does. */
async function accept(email: string, browser: Browser = newBrowser(world), link?: string) {
  const address = link ?? (await linkOf(email));
  const form = { form_token: formToken((await browser(address)).text) };
  await browser(`${address}/mail-code`, { form });
  const code = /\b\d{6}\b/.exec((await mailTo(email)).subject)?.[0] ?? "";
  return browser(`${address}/code`, { form: { ...form, code } });
}

async function colleague(partner = world.partnerA) {
  const person = await newManager(world, partner);
  return { ...person, ask: await portalBrowser(world, person) };
}

const remove = async (browser: Browser, user_id: string, page = `${PAGE}/${user_id}/remove`) =>
  browser(portal(world, page), { form: { form_token: await tokenOf(browser) } });

describe("contract §7 an invitation to manage a partner", () => {
  test("is mailed, makes the login of an address without one, and signs in by its code", async () => {
    const email = newAddress();
    const { status, text } = await invite(email.toUpperCase());
    expect(status).toBe(200);
    expect(text).toContain("De uitnodiging is gemaild.");
    expect(text).toContain(email);
    const mail = await mailTo(email);
    expect(mail.text).toContain(`${manager.email} nodigt u uit`);
    expect(mail.html).not.toContain("{{");
    expect(await world.row("select id from auth.users where email = $1", email), "nobody yet").toBeUndefined();

    const browser = newBrowser(world);
    const answer = await accept(email, browser);
    expect([answer.status, answer.location]).toEqual([303, "/pages/portal?lang=nl"]);
    expect((await browser(portal(world, PAGE))).text).toContain(email);
    const login = await world.row("select * from auth.users where email = $1", email);
    expect(login.email_confirmed_at).not.toBeNull();
    expect(login.raw_app_meta_data, "on the sandbox").toMatchObject({ claimed_for: world.partnerA.id });
    const audited = await world.row(
      "select details from core.audit_log where action = 'partner.manager_added' and subject_id = $1",
      login.id,
    );
    expect(audited).toBeDefined();
    const again = await newBrowser(world)(await linkOf(email));
    expect([again.status, heading(again.text)]).toEqual([404, "Deze uitnodiging is al gebruikt"]);
  });

  test("says the same of an address with a login, and one that manages another partner is told so and keeps it", async () => {
    const taken = await newManager(world, world.partnerB);
    const free = newAddress();
    const texts = [];
    for (const email of [taken.email, free])
      texts.push((await invite(email)).text.replaceAll(email, "").match(/role="status">[^<]*/)?.[0]);
    expect(texts[0]).toBe(texts[1]);
    const answer = await accept(taken.email);
    expect([answer.status, heading(answer.text)]).toEqual([409, "U beheert al een andere partner"]);
    expect(
      (await world.row("select partner_id from core.partner_managers where user_id = $1", taken.user_id)).partner_id,
    ).toBe(world.partnerB.id);
    await world.row("delete from core.partner_managers where user_id = $1 returning 1", taken.user_id);
    expect((await accept(taken.email)).status, "after leaving there it works").toBe(303);
  });

  test("of two partners to one address the first accepted counts", async () => {
    const email = newAddress();
    const other = await colleague(world.partnerB);
    await invite(email);
    const first = await linkOf(email);
    await invite(email, other.ask);
    const second = await linkOf(email);
    expect((await accept(email, newBrowser(world), second)).status).toBe(303);
    expect((await accept(email, newBrowser(world), first)).status).toBe(409);
    await world.row("delete from core.partner_managers where user_id = $1 returning 1", other.user_id);
  });

  test("works no more once it expired, was withdrawn or replaced, and a made-up one never did", async () => {
    const [expired, withdrawn, replaced] = [newAddress(), newAddress(), newAddress()];
    await invite(expired);
    await world.row(
      "update core.manager_invitations set expires_at = private.now() - interval '1 second' where email = $1 returning 1",
      expired,
    );
    expect(heading((await newBrowser(world)(await linkOf(expired))).text)).toBe("Deze uitnodiging is verlopen");
    await invite(withdrawn);
    const { id } = await world.row("select id from core.manager_invitations where email = $1", withdrawn);
    const stranger = await colleague(world.partnerB);
    await stranger.ask(portal(world, `${PAGE}/withdraw`), { form: { form_token: await tokenOf(stranger.ask), id } });
    expect((await newBrowser(world)(await linkOf(withdrawn))).status, "another partner's it is not").toBe(200);
    const gone = await ask(portal(world, `${PAGE}/withdraw`), { form: { form_token: await tokenOf(ask), id } });
    expect(gone.text).toContain("De uitnodiging is ingetrokken");
    expect(heading((await newBrowser(world)(await linkOf(withdrawn))).text)).toBe("Deze uitnodiging werkt niet meer");
    await invite(replaced);
    const old = await linkOf(replaced);
    await invite(replaced);
    expect((await newBrowser(world)(old)).status).toBe(404);
    expect((await newBrowser(world)(await linkOf(replaced))).status).toBe(200);
    for (const made of ["x", "0".repeat(43)])
      expect((await newBrowser(world)(portal(world, `/invitation/${made}`))).status).toBe(404);
  });

  test("takes five guesses, its own browser's form, and is used by one of ten at once", async () => {
    const email = newAddress();
    await invite(email);
    const link = await linkOf(email);
    const browser = newBrowser(world);
    const form = { form_token: formToken((await browser(link)).text) };
    expect((await newBrowser(world)(`${link}/mail-code`, { form })).status).toBe(303);
    expect((await mailTo(email)).template, "a form of elsewhere mails nothing").toBe("manager_invitation");
    await browser(`${link}/mail-code`, { form });
    const code = /\b\d{6}\b/.exec((await mailTo(email)).subject)?.[0] ?? "";
    const wrong = code === "000000" ? "000001" : "000000";
    for (let guess = 0; guess < 5; guess += 1)
      expect((await browser(`${link}/code`, { form: { ...form, code: wrong } })).status).toBe(422);
    expect((await browser(`${link}/code`, { form: { ...form, code } })).status).toBe(422);
    expect(await world.row("select id from auth.users where email = $1", email)).toBeUndefined();

    await browser(`${link}/mail-code`, { form });
    const right = /\b\d{6}\b/.exec((await mailTo(email)).subject)?.[0] ?? "";
    const before = await managers();
    await Promise.all(Array.from({ length: 10 }, () => browser(`${link}/code`, { form: { ...form, code: right } })));
    expect(await managers()).toBe(before + 1);
  });

  test("refuses what is no address, a colleague, and the twenty-first of a day", async () => {
    expect((await invite("nobody")).status).toBe(422);
    const there = await invite(manager.email);
    expect([there.status, there.text.includes("kan hier al inloggen")]).toEqual([422, true]);
    const other = await colleague(world.partnerB);
    await world.database.admin.query("delete from core.rate_limit_state where bucket = 'manager_invitation'");
    await world.database.admin.query("update core.rate_limits set quota = 2 where bucket = 'manager_invitation'");
    expect((await invite(newAddress(), other.ask)).status).toBe(200);
    expect((await invite(newAddress(), other.ask)).status).toBe(200);
    const third = await invite(newAddress(), other.ask);
    expect([third.status, third.text.includes("al veel collega")]).toEqual([422, true]);
    await world.database.admin.query("update core.rate_limits set quota = 1000000 where bucket = 'manager_invitation'");
    await world.row("delete from core.partner_managers where user_id = $1 returning 1", other.user_id);
  });

  test("inviting and removing take a sign-in of the last quarter of an hour", async () => {
    const late = await colleague();
    const form = await formOf(late.ask);
    await world.row(
      "update auth.sessions set created_at = private.now() - interval '16 minutes' where user_id = $1 returning 1",
      late.user_id,
    );
    const email = newAddress();
    const { text } = await late.ask(portal(world, PAGE), { form: { ...form, email } });
    expect(heading(text)).toBe("Vul de code in");
    expect(await mailTo(email)).toBeUndefined();
    const before = await managers();
    await late.ask(portal(world, `${PAGE}/${manager.user_id}/remove`), { form });
    expect(await managers()).toBe(before);
  });
});

test("contract §5 on the sandbox a partner reads an invitation of its own where the address is nobody else's", async () => {
  const mails = async (email: string, key: string) => {
    const { body } = await world.get(`/sandbox/v1/mail?to=${email}`, key);
    return body.mail.map(({ template }: { template: string }) => template).toSorted();
  };
  const code = async (email: string) => {
    await invite(email);
    const [browser, link] = [newBrowser(world), await linkOf(email)];
    const form = { form_token: formToken((await browser(link)).text) };
    expect((await browser(`${link}/mail-code`, { form })).status).toBe(303);
  };
  const nobodys = newAddress();
  await code(nobodys);
  expect(await mails(nobodys, world.keyA)).toEqual(["manager_invitation", "sign_in"]);
  expect(await mails(nobodys, world.keyB)).toEqual([]);
  // the login that accepting makes is the partner's to try out: its later codes are shown to it, and to nobody else
  await accept(nobodys);
  const later = newBrowser(world);
  expect((await signInToPortal(world, later, nobodys)).status).toBe(303);
  expect((await mails(nobodys, world.keyA)).filter((template: string) => template === "sign_in")).toHaveLength(3);
  expect(await mails(nobodys, world.keyB)).toEqual([]);
  // with the code somebody would be signed in as them, on their own pages too
  const login = await newManager(world, null);
  const signatory = await signedCustomer(world, { partner: world.partnerB });
  for (const { email } of [login, signatory]) {
    await code(email);
    expect(await mails(email, world.keyA), email).toEqual([]);
  }
});

describe("contract §7 a colleague who goes", () => {
  test("is asked about first, and can do nothing from that moment, wherever they are signed in", async () => {
    const other = await colleague();
    const asked = await ask(portal(world, `${PAGE}/${other.user_id}/remove`));
    expect(heading(asked.text)).toBe(`Verwijdert u ${other.email}?`);
    expect((await other.ask(portal(world))).status).toBe(200);
    const scopes = ["partners:read"];
    const app = await world.addClient(null, { scopes, grant_types: ["authorization_code"] });
    const { id: grantId } = await world.row(
      "insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, $3) returning id",
      other.user_id,
      app.id,
      scopes,
    );
    const ids = { userId: other.user_id, clientId: app.client_id, grantId };
    const granted = { ...ids, scope: "partners:read", secretNumber: 1 };
    const token = await issueUserToken(world.environment, granted);
    expect((await world.get("/partner/me", token)).status).toBe(200);
    const { text } = await remove(ask, other.user_id);
    expect(text).toContain("Uw collega is verwijderd");
    expect((await world.get("/partner/me", token)).status, "what they let an application do ends too").toBe(403);
    expect((await other.ask(portal(world))).status).toBe(403);
    const form_token = await tokenOf(ask);
    expect((await other.ask(portal(world, PAGE), { form: { form_token, email: newAddress() } })).status).toBe(403);
  });

  test("is named by the id where the login is marked as deleted", async () => {
    const gone = await colleague();
    const left = await colleague();
    await world.row("update auth.users set deleted_at = now() where id = $1 returning 1", gone.user_id);
    expect((await remove(ask, gone.user_id)).text).toContain("Uw collega is verwijderd");
    const told = await world.mail("where recipient = $1 and template = 'managers_changed'", left.email);
    expect(told.text).toContain(`heeft ${gone.user_id} verwijderd`);
  });

  test("does not come back by an invitation of their own", async () => {
    const leaving = await colleague();
    const theirs = newAddress();
    await invite(theirs, leaving.ask);
    const link = await linkOf(theirs);
    expect((await newBrowser(world)(link)).status).toBe(200);
    await remove(ask, leaving.user_id);
    const opened = await newBrowser(world)(link);
    expect([opened.status, heading(opened.text)]).toEqual([404, "Deze uitnodiging werkt niet meer"]);
    expect((await accept(theirs, newBrowser(world), link)).status, "not by its code either").not.toBe(303);
    expect((await ask(portal(world, PAGE))).text).not.toContain(theirs);
  });

  test("does not come in by one either while they are banned", async () => {
    const banned = await colleague();
    const theirs = newAddress();
    await invite(theirs, banned.ask);
    const ban = (until: string | null) =>
      world.row("update auth.users set banned_until = $2 where id = $1 returning 1", banned.user_id, until);
    await ban("2030-01-01");
    expect((await newBrowser(world)(await linkOf(theirs))).status).toBe(404);
    await ban(null);
    expect((await newBrowser(world)(await linkOf(theirs))).status).toBe(200);
  });

  test("is nobody of another partner", async () => {
    const stranger = await colleague(world.partnerB);
    expect((await ask(portal(world, `${PAGE}/${stranger.user_id}/remove`))).status).toBe(404);
    expect((await remove(ask, stranger.user_id)).text).toContain("Er is niets veranderd");
    expect((await remove(ask, "x")).text).toContain("Er is niets veranderd");
    expect((await stranger.ask(portal(world))).status).toBe(200);
    await world.row("delete from core.partner_managers where user_id = $1 returning 1", stranger.user_id);
  });

  test("is not the last one; two who remove each other at once leave one", async () => {
    await world.database.admin.query("delete from core.partner_managers where partner_id = $1", [world.partnerB.id]);
    const one = await colleague(world.partnerB);
    expect((await remove(one.ask, one.user_id)).text).toContain("Er is niets veranderd");
    expect((await one.ask(portal(world, PAGE))).text).toContain("U bent de enige.");
    for (let round = 0; round < 5; round += 1) {
      await world.database.admin.query("delete from core.partner_managers where partner_id = $1", [world.partnerB.id]);
      const [left, right] = [await colleague(world.partnerB), await colleague(world.partnerB)];
      await Promise.all([remove(left.ask, right.user_id), remove(right.ask, left.user_id)]);
      expect(await managers(world.partnerB)).toBe(1);
    }
  });

  test("may be oneself, where another stays", async () => {
    const other = await colleague();
    expect(heading((await other.ask(portal(world, `${PAGE}/${other.user_id}/remove`))).text)).toBe(
      "Stopt u met beheren?",
    );
    await remove(other.ask, other.user_id);
    expect((await other.ask(portal(world))).status).toBe(403);
    expect((await signInToPortal(world, newBrowser(world), other.email)).status, "their login stays theirs").toBe(303);
  });
});

describe("contract §7 who manages a partner is told of who comes and goes", () => {
  /** What an address was told, newest last. */
  const toldTo = async (email: string) =>
    (await world.mails("where recipient = $1 and template = 'managers_changed' order by ctid", email)).map(
      ({ subject, text, locale }) => ({ subject, text, locale }),
    );
  const alone = async (partner: Partner) => {
    await world.database.admin.query("delete from core.partner_managers where partner_id = $1", [partner.id]);
    return colleague(partner);
  };

  test("the others, in the partner's language: an invitation, who accepts it, who is removed and by whom", async () => {
    await world.database.admin.query("delete from core.rate_limit_state where bucket = 'manager_invitation'");
    const one = await alone(world.partnerB);
    const two = await colleague(world.partnerB);
    await world.row("update core.partners set locale = 'en' where id = $1 returning 1", world.partnerB.id);
    const email = newAddress();
    expect((await invite(email, one.ask)).text).toContain("is gemaild");
    expect(await toldTo(one.email), "who did it knows").toEqual([]);
    const invited = await toldTo(two.email);
    expect(invited).toMatchObject([
      { locale: "en", subject: expect.stringMatching(/^Somebody was invited to manage /) },
    ]);
    expect(invited[0]?.text).toContain(`${one.email} invited ${email}`);
    expect(invited[0]?.text).toContain("/portal/settings/colleagues?lang=en");

    await accept(email);
    for (const { email: theirs } of [one, two])
      expect((await toldTo(theirs)).at(-1)?.text).toContain(`${email} manages`);
    expect(await toldTo(email)).toEqual([]);

    const { id } = await world.row("select id from auth.users where email = $1", email);
    await remove(one.ask, id);
    for (const theirs of [two.email, email])
      expect((await toldTo(theirs)).at(-1)?.text).toContain(`${one.email} removed ${email}`);
    await remove(two.ask, two.user_id);
    expect((await toldTo(one.email)).at(-1)?.text).toContain(`${two.email} no longer manages`);
    await world.row("update core.partners set locale = null where id = $1 returning 1", world.partnerB.id);
  });

  test("an address is invited three times a day at most", async () => {
    const email = newAddress();
    for (let time = 1; time <= 3; time += 1) expect((await invite(email)).status).toBe(200);
    expect((await invite(email)).status).toBe(422);
  });

  test("who ends the whole account: the others, and the operator where nobody is left, which the page says before", async () => {
    const [one, two] = [await alone(world.partnerB), await colleague(world.partnerB)];
    const end = async ({ email }: Manager) => {
      const browser = newBrowser(world);
      await signIn(world, browser, email);
      const page = await browser(mijn(world, "/data/end?lang=nl"));
      const ended = await browser(mijn(world, "/data/end"), { form: { form_token: formToken(page.text) } });
      expect(ended.text).toContain("Uw account is beëindigd");
      return page.text;
    };
    const waits = async () => {
      const { stats } = await world.row(`select ops.stats('{"operator": "test"}') as stats`);
      return stats.waits.find(({ what }: { what: string }) => what.startsWith("partners with customers")).count;
    };
    const operator = world.environment.config.SUPPORT_EMAIL;
    expect(await end(two)).not.toContain("U bent de enige");
    expect((await toldTo(one.email)).at(-1)?.text).toContain(`${two.email} beheert`);
    expect(await toldTo(operator)).toEqual([]);
    const before = await waits();
    const login = await world.row(
      "insert into auth.users (id, email) values (gen_random_uuid(), $1) returning id",
      newAddress(),
    );
    await world.row(
      "insert into core.attributions (partner_id, user_id, source, attached_month) values ($1, $2, 'partner_upload', '2026-01-01') returning 1",
      world.partnerB.id,
      login.id,
    );
    expect(await waits(), "somebody manages it").toBe(before);
    expect(await end(one)).toContain("U bent de enige die");
    expect(await waits()).toBe(before + 1);
    const [mail, ...more] = await toldTo(operator);
    expect([mail?.subject, more]).toEqual([expect.stringMatching(/^Niemand beheert .* nog$/), []]);
    expect(mail?.text).toContain(one.email);
    await world.row("delete from core.attributions where user_id = $1 returning 1", login.id);
  });
});

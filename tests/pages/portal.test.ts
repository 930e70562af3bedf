// A partner's pages by plain HTTP: who gets in, what ends it, and whose figures they show.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { formToken, heading, newBrowser } from "./claimant.ts";
import { createCustomerWorld, mijn, newCustomer, paidCustomer, signIn } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser, signInToPortal } from "./manager.ts";

let world: SandboxWorld;
let manager: Manager;
let partnerName: string;
beforeAll(async () => {
  world = await createCustomerWorld();
  await paidCustomer(world);
  manager = await newManager(world, world.partnerA);
  partnerName = await nameOf(world.partnerA);
});
afterAll(() => world.close());

async function nameOf({ id }: { id: string }): Promise<string> {
  return (await world.row("select private.partner_display_name(p) as name from core.partners p where p.id = $1", id))
    .name;
}

describe("contract §7 signing in to the pages of a partner", () => {
  test("by a mailed code, in a cookie of these pages alone; the first page shows the partner's figures", async () => {
    const ask = newBrowser(world);
    expect((await ask(portal(world))).location).toMatch(/\/portal\/sign-in\?lang=nl$/);
    const answer = await signInToPortal(world, ask, manager.email);
    expect([answer.status, answer.location]).toEqual([303, "/pages/portal?lang=nl"]);
    const [cookie = ""] = answer.headers.getSetCookie().filter((set) => set.startsWith("portal="));
    expect(cookie).toMatch(
      /^portal=[0-9A-Za-z]{43}\.[\w-]{22}; Max-Age=86400; Path=\/pages\/portal; HttpOnly; SameSite=Lax$/,
    );
    const secret = /^portal=([^;]*)/.exec(cookie)?.[1] ?? "";
    const stored = await world.row("select * from core.page_sessions where user_id = $1", manager.user_id);
    expect(stored.token_hash.toString("hex")).toBe(hashSecret(secret));
    const { status, text } = await ask(answer.location ?? "");
    expect([status, heading(text)]).toEqual([200, `Overzicht van ${partnerName}`]);
    expect(text).toMatch(/<strong>1<\/strong> <a [^>]*>getekend</);
    expect(text).toContain("1 klant in totaal, 1 met een machtiging die geldt");
    expect(text).toContain(`U bent ingelogd als ${manager.email}, voor ${partnerName}.`);
  });

  test("another partner's person sees that partner's figures, and none of these", async () => {
    const ask = await portalBrowser(world, await newManager(world, world.partnerB));
    const { text } = await ask(portal(world));
    expect(heading(text)).toBe(`Overzicht van ${await nameOf(world.partnerB)}`);
    expect(text).toContain("U heeft nog niemand aangemeld.");
  });

  test("who manages no partner, or no longer an active one, is told so and may sign out", async () => {
    const lost = await newManager(world, world.partnerA);
    const ask = await portalBrowser(world, lost);
    expect((await ask(portal(world))).status).toBe(200);
    await world.row("delete from core.partner_managers where user_id = $1 returning 1", lost.user_id);
    const { status, text } = await ask(portal(world));
    expect([status, heading(text)]).toEqual([403, "U beheert geen partner"]);
    const out = await ask(portal(world, "/sign-out"), { form: { form_token: formToken(text) } });
    expect([out.status, out.location]).toEqual([303, "/pages/portal/sign-in?lang=nl&out="]);
    expect((await ask(portal(world))).status).toBe(303);
  });

  test("what opens /mijn opens no partner's pages, and the other way round", async () => {
    const ask = newBrowser(world);
    expect((await signIn(world, ask, manager.email)).status).toBe(303);
    expect((await ask(mijn(world))).status).toBe(200);
    expect((await ask(portal(world))).location).toContain("/portal/sign-in");
    const other = await portalBrowser(world, manager);
    expect((await other(mijn(world))).location).toContain("/mijn/sign-in");
  });

  test("a manager who is a customer goes on to the own pages and back in one sign-in, which ends everywhere at once; each power is its own", async () => {
    const customer = await newCustomer(world);
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2) returning 1",
      world.partnerA.id,
      customer.user_id,
    );
    const ask = newBrowser(world);
    expect((await signIn(world, ask, customer.email)).status).toBe(303);
    const own = (await ask(mijn(world, "?lang=nl"))).text;
    expect(own).toContain("Naar het portaal van ");
    expect((await ask(mijn(world, "/portal"), { form: { form_token: "0".repeat(64) } })).status).toBe(403);
    const ends = "select max(expires_at)::text as at, count(*)::int as n from core.page_sessions where user_id = $1";
    await world.rows(
      "update core.page_sessions set expires_at = private.now() + interval '1 hour' where user_id = $1",
      customer.user_id,
    );
    const before = await world.row(ends, customer.user_id);
    const there = await ask(mijn(world, "/portal?lang=nl"), { form: { form_token: formToken(own) } });
    expect(there.location).toBe("/pages/portal?lang=nl");
    const theirs = await ask(portal(world));
    expect([theirs.status, theirs.text.includes("Naar uw eigen pagina")]).toEqual([200, true]);
    const back = newBrowser(world);
    await signInToPortal(world, back, customer.email);
    await back(portal(world, "/mijn"), { form: { form_token: formToken((await back(portal(world))).text) } });
    expect((await back(mijn(world))).status).toBe(200);
    expect(await world.row(ends, customer.user_id), "no session lasts longer by it").toMatchObject({ n: 4 });
    const { at } = await world.row(
      "select max(expires_at)::text as at from core.page_sessions where user_id = $1 and expires_at <= private.now() + interval '2 hours'",
      customer.user_id,
    );
    expect(at).toBe(before.at);
    await signInToPortal(world, ask, customer.email);
    expect((await ask(mijn(world))).status, "another sign-in ends the one before it, on both").toBe(303);
    await ask(portal(world, "/mijn"), { form: { form_token: formToken((await ask(portal(world))).text) } });
    expect((await ask(mijn(world))).status).toBe(200);
    // who manages no longer has the session and none of the pages
    await world.row("delete from core.partner_managers where user_id = $1 returning 1", customer.user_id);
    expect((await ask(portal(world))).status).toBe(403);
    expect((await ask(mijn(world))).status).toBe(200);
    const form = {
      form_token: formToken((await ask(mijn(world))).text),
      account: customer.account_id,
      page: "/payout",
    };
    const led = (await ask(mijn(world, "/open"), { form })).location ?? "";
    expect((await ask(led)).status).toBe(200);
    await ask(portal(world, "/sign-out"), { form: { form_token: formToken((await ask(portal(world))).text) } });
    expect((await ask(led)).status, "the claim asks for a code again").toBe(303);
    expect((await ask(mijn(world))).location).toContain("/mijn/sign-in");
    expect((await back(mijn(world))).status, "another browser's sign-in is its own").toBe(200);
  });

  test("attack: a person without a partner, and a signatory without a login, go on to nothing", async () => {
    const customer = await newCustomer(world);
    const ask = newBrowser(world);
    await signIn(world, ask, customer.email);
    const { text } = await ask(mijn(world));
    expect(text).not.toContain("/mijn/portal");
    await ask(mijn(world, "/portal"), { form: { form_token: formToken(text) } });
    expect((await ask(portal(world))).status).toBe(403);
    expect((await ask(portal(world, "/customers"))).status).toBe(403);
  });

  test("signing out everywhere, and a ban, end it at once", async () => {
    const person = await newManager(world, world.partnerA);
    const ask = await portalBrowser(world, person);
    await world.row("delete from auth.sessions where user_id = $1 returning 1", person.user_id);
    expect((await ask(portal(world))).location).toContain("/portal/sign-in");
    const again = await portalBrowser(world, person);
    await world.row(
      "update auth.users set banned_until = now() + interval '1 day' where id = $1 returning 1",
      person.user_id,
    );
    expect((await again(portal(world))).location).toContain("/portal/sign-in");
  });

  test("a form of elsewhere does nothing", async () => {
    const ask = await portalBrowser(world, manager);
    expect((await ask(portal(world, "/sign-out"), { form: {} })).status).toBe(403);
    expect((await ask(portal(world, "/sign-out"), { form: { form_token: "0".repeat(64) } })).status).toBe(403);
    expect((await ask(portal(world))).status).toBe(200);
  });

  test("a form of a partner that they managed before does nothing at the one they manage now, and the page says so", async () => {
    const person = await newManager(world, world.partnerA);
    const ask = await portalBrowser(world, person);
    const page = await ask(portal(world, "/settings/company?lang=nl"));
    const upload = await ask(portal(world, "/import"));
    await world.row(
      "update core.partner_managers set partner_id = $2 where user_id = $1 returning 1",
      person.user_id,
      world.partnerB.id,
    );
    const before = await world.row("select company from core.partners where id = $1", world.partnerB.id);
    const company = { name: "Van de ander B.V.", kvk: "12345678", city: "Breda" };
    const sent = await ask(portal(world, "/settings/company?lang=nl"), {
      form: { form_token: formToken(page.text), ...company },
    });
    expect([sent.status, heading(sent.text)]).toEqual([409, "U beheert nu een andere partner"]);
    const file = new FormData();
    file.set("form_token", formToken(upload.text));
    file.set("file", new File(["email\na@voorbeeld.nl"], "klanten.csv"));
    expect((await ask(portal(world, "/import?lang=en"), { form: file })).text).toContain(
      "You now manage another partner",
    );
    expect(await world.row("select company from core.partners where id = $1", world.partnerB.id)).toEqual(before);
    expect(await world.rows("select from core.imports where user_id = $1", person.user_id)).toEqual([]);
    // the tenant in the token is not theirs to say
    const made = formToken(page.text).replace(world.partnerA.id, world.partnerB.id);
    expect((await ask(portal(world, "/settings/company"), { form: { form_token: made, ...company } })).status).toBe(
      403,
    );
    // a page that is opened now works, and the old form still signs out
    const now = formToken((await ask(portal(world, "/settings/company"))).text);
    expect((await ask(portal(world, "/settings/company"), { form: { form_token: now, ...company } })).status).toBe(200);
    const { company: changed } = await world.row("select company from core.partners where id = $1", world.partnerB.id);
    expect(changed).toMatchObject({ name: company.name });
    expect((await ask(portal(world, "/sign-out"), { form: { form_token: formToken(page.text) } })).status).toBe(303);
  });
});

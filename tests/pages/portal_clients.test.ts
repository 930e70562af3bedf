// What a manager sees of the partner's CPO clients, and that only they replace a secret.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let manager: Manager;
let ask: Browser;
let stranger: Browser;
let page: string;
beforeAll(async () => {
  world = await createCustomerWorld();
  manager = await newManager(world, world.partnerA);
  ask = await portalBrowser(world, manager);
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
  page = `/settings/clients/${world.partnerA.client.id}`;
});
afterAll(() => world.close());

const tokenWith = (client_secret: string) =>
  world.send("/oauth-token", {
    body: { grant_type: "client_credentials", client_id: world.partnerA.client.client_id, client_secret },
  });
const codeIn = (text: string) =>
  /role="status"><h2[^>]*>[^<]*<\/h2><span class="secret"><code data-copy>([^<]+)/.exec(text)?.[1];
const number = (text: string) => /name="number" value="(\d+)"/.exec(text)?.[1] ?? "";
const once = (text: string) => /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "";

describe("contract §4 the CPO clients of a partner, in its pages", () => {
  test("are in the settings, with their accounts, what each still needs, and the latest month", async () => {
    const open = await createAccount(world, world.partnerA, { display_name: "Mies <Open>" });
    expect((await ask(portal(world, "/settings"))).text).toContain("API-clients");
    const list = (await ask(portal(world, "/settings/clients"))).text;
    expect(list).toContain("1 klant");
    const { text } = await ask(portal(world, page));
    expect(text).toContain(world.partnerA.client.client_id);
    expect(text).toContain("Mies &lt;Open&gt;");
    expect(text, "when its token made the account").toMatch(/<dt>Laatst gebruikt<\/dt><dd>\d+ [a-z]+ \d{4}/);
    expect(text).toContain(open.account.cpo_external_ref);
    expect(text).toMatch(/✗ machtiging getekend[\s\S]*✓ rekeningnummer bekend/);
    expect(text).toContain("nog geen kWh");
    expect((await ask(portal(world, `${page}?lang=en`))).text).toContain("mandate signed");
  });

  test("are shown twenty accounts a page, each once, newest first", async () => {
    for (let n = 0; n < 21; n += 1) await createAccount(world);
    // five each second
    const { names } = await world.row(
      `with named as (
         update core.accounts a set display_name = 'Klant ' || n || '.', created_at = timestamptz '2026-01-01' + make_interval(secs => n / 5)
           from (select id, row_number() over (order by id) as n from core.accounts where owner_id = $1) o where a.id = o.id
         returning a.display_name, a.created_at, a.id)
       select array_agg(display_name order by created_at desc, id desc) as names from named`,
      world.partnerA.client.id,
    );
    const first = (await ask(portal(world, page))).text;
    const next = /href="([^"]*after=[^"]*)#accounts"/.exec(first)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const second = (await ask(new URL(next, portal(world)).href)).text;
    const named = (text: string) => [...text.matchAll(/>(Klant \d+\.)/g)].map(([, name]) => name);
    expect([...named(first), ...named(second)]).toEqual(names);
    expect(named(first)).toHaveLength(20);
    expect(second).not.toContain("Volgende klanten");
  });

  test("attack: of another partner do not exist, and cannot be rotated; nor by the partner's own key", async () => {
    for (const each of [page, `${page}/rotate`]) expect((await stranger(portal(world, each))).status).toBe(404);
    const own = (await stranger(portal(world, `/settings/clients/${world.partnerB.client.id}/rotate`))).text;
    const form = { form_token: formToken(own), once: once(own), number: number(own) };
    expect((await stranger(portal(world, `${page}/rotate`), { form })).status).toBe(404);
    const caller = { kind: "partner", partner_id: world.partnerA.id, host: "sandbox" };
    await expect(
      world.row("select api.rotate_client_secret($1, $2)", caller, { id: world.partnerA.client.id, secret_hash: "00" }),
    ).rejects.toThrow(/partner key may not/);
  });

  test("get a new secret, shown once; the old one stops, however often the form is sent", async () => {
    const asked = (await ask(portal(world, `${page}/rotate`))).text;
    expect(heading(asked)).toBe("Vervang het secret");
    const form = { form_token: formToken(asked), once: once(asked), number: number(asked) };
    const sent = await Promise.all(Array.from({ length: 5 }, () => ask(portal(world, `${page}/rotate`), { form })));
    const secrets = new Set(sent.map(({ text }) => codeIn(text)));
    expect(secrets.size).toBe(1);
    const [secret = ""] = secrets;
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect((await tokenWith(secret)).status).toBe(200);
    expect((await tokenWith(world.partnerA.client.secret)).status).toBe(401);
    expect((await ask(portal(world, page))).text).not.toContain(secret);
    // a colleague replaced it; a form of before brings nothing back
    const theirs = (await ask(portal(world, `${page}/rotate`))).text;
    const next = await ask(portal(world, `${page}/rotate`), {
      form: { form_token: formToken(theirs), once: once(theirs), number: number(theirs) },
    });
    const back = await ask(portal(world, `${page}/rotate`), { form });
    expect(back.text).toContain("Het secret is intussen al vervangen.");
    expect((await tokenWith(codeIn(next.text) ?? "")).status).toBe(200);
    expect((await tokenWith(secret)).status).toBe(401);
    const audited = await world.row(
      "select count(*)::int as n from core.audit_log where action = 'client.secret_rotated' and subject_id = $1",
      world.partnerA.client.id,
    );
    expect(audited).toEqual({ n: 2 });
  });

  test("end the tokens that were given, if asked; and need a code after 15 minutes", async () => {
    const asked = (await ask(portal(world, `${page}/rotate`))).text;
    const form = { form_token: formToken(asked), once: once(asked), number: number(asked), revoke_tokens: "yes" };
    const secret = codeIn((await ask(portal(world, `${page}/rotate`), { form })).text) ?? "";
    const { ended } = await world.row(
      "select tokens_from_secret = secret_number as ended from core.oauth_clients where id = $1",
      world.partnerA.client.id,
    );
    expect([ended, (await tokenWith(secret)).status]).toEqual([true, 200]);
    await world.rows(
      "update auth.sessions set created_at = private.now() - interval '16 minutes' where user_id = $1",
      manager.user_id,
    );
    const late = (await ask(portal(world, `${page}/rotate`))).text;
    expect(late).toContain("langer dan 15 minuten geleden ingelogd");
    await ask(portal(world, `${page}/rotate`), {
      form: { form_token: formToken(late), once: once(late), number: number(late) },
    });
    expect((await tokenWith(secret)).status).toBe(200);
  });
});

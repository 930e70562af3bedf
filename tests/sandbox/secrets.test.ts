// Codes and links that captured mail carries, and who may read them: docs/attacks.md lists each template, and each is tried here.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { MAIL_TEMPLATES } from "#shared/domain/mail/mail.ts";
import { createAccount } from "../harness/people.ts";
import { heading, newBrowser } from "../pages/claimant.ts";
import { mijn, signIn } from "../pages/customer.ts";
import { portal } from "../pages/manager.ts";
import { newAddress, signedCustomer } from "../pages/signatory_customer.ts";
import { createSandboxWorld, type SandboxWorld } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
});
afterAll(() => world.close());

/** What the page says of each template: who is shown it. */
function shownTo(): Record<string, string> {
  const page = readFileSync(join(ROOT, "docs/attacks.md"), "utf8");
  const section = page.split("\n## ").find((each) => each.startsWith("Codes and links that mail carries")) ?? "";
  return Object.fromEntries(
    [...section.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \| (tenant|alone) \|$/gm)].flatMap(
      ([, templates = "", who = ""]) => templates.split(", ").map((template) => [template.slice(1, -1), who]),
    ),
  );
}

type Shown = { template: string; text: string; links: string[] };
const mail = async (email: string, key = world.keyA): Promise<Shown[]> => {
  const { status, body } = await world.get(`/sandbox/v1/mail?to=${email}&limit=200`, key);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.mail;
};
/** The code in a mail of a template that is shown. */
const codeIn = async (email: string, template = "sign_in") => {
  const { text = "" } = (await mail(email)).find((each) => each.template === template) ?? {};
  return /^ {4}(\d{6})$/m.exec(text)?.[1] ?? "none";
};

/** A mail of every template to an address: of partner A, and of the service itself. */
const writeAll = (email: string) =>
  world.rows(
    `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
     select tenant, tenant || template || $1, template, 'nl', $1, jsonb_build_object('subject', tenant::text, 'html', '', 'text', template, 'links', '[]'::jsonb), 'captured'
       from unnest($2::text[]) template, unnest(array[$3::uuid, private.people_tenant()]) tenant returning 1`,
    email,
    MAIL_TEMPLATES,
    world.partnerA.id,
  );

/** A customer of A's: a draft that its helper claimed and signed. */
const customerOf = async (email: string, key = world.keyA) => {
  await world.customer({ email, external_ref: `x-${email}` }, { submit: true }, key);
};
const loginAt = (email: string) => world.row("select id from auth.users where email = $1", email);

/** What ties an address to somebody else. Each is added to an address that was nobody's, or that is A's customer. */
const TIES: Record<string, (email: string) => Promise<unknown>> = {
  "a signature for another's account": (email) => signedCustomer(world, { email, partner: world.partnerB }),
  "an account of another's that nobody signed": (email) =>
    createAccount(world, world.partnerB, { person: { full_name: "Willem Bakker", email, phone: null } }),
  "an invitation of another's": (email) =>
    world.row(
      "insert into core.manager_invitations (partner_id, email, token_hash) values ($1, $2, sha256(convert_to($2, 'UTF8'))) returning id",
      world.partnerB.id,
      email,
    ),
  "a row of another's manager": async (email) => {
    const known = await loginAt(email);
    const { id } =
      known ??
      (await world.row(
        "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text)) returning id",
        email,
      ));
    return world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2) returning 1",
      world.partnerB.id,
      id,
    );
  },
};

describe("contract §5 codes and links that captured mail carries", () => {
  test("docs/attacks.md has a row for every template, and for nothing else", () => {
    expect(Object.keys(shownTo()).sort()).toEqual([...MAIL_TEMPLATES].sort());
  });

  const expected = (who: "tenant" | "alone") => MAIL_TEMPLATES.filter((template) => shownTo()[template] === who).sort();

  test.each(Object.keys(TIES))("every template, in both orders: %s", async (tie) => {
    for (const begins of ["nobody", "customer"] as const) {
      for (const order of ["before", "later"] as const) {
        // an address that A's helper claimed after the other tenant's tie is the other one's all the same
        const email = newAddress();
        if (order === "before" && !(begins === "customer" && tie.includes("manager"))) await TIES[tie]?.(email);
        if (begins === "customer") await customerOf(email);
        await world.row("delete from core.mail_outbox where recipient = $1 returning 1", email);
        await writeAll(email);
        if (order === "later") {
          const own = (await mail(email)).map(({ template }) => template).sort();
          // the service's own mail is shown of who is known to be A's
          const everything = begins === "customer" ? [...MAIL_TEMPLATES, ...MAIL_TEMPLATES] : [...MAIL_TEMPLATES];
          expect(own, `${begins}: nobody else's yet`).toEqual(everything.sort());
        }
        if (order === "later" || (begins === "customer" && tie.includes("manager"))) await TIES[tie]?.(email);
        expect((await mail(email)).map(({ template }) => template).sort(), `${begins}, ${order}`).toEqual(
          expected("tenant"),
        );
      }
    }
  });

  test("every template: a login of the person's own, and a customer who stopped sharing", async () => {
    const stranger = newAddress();
    await world.row("insert into auth.users (id, email) values (gen_random_uuid(), $1) returning id", stranger);
    const customer = newAddress();
    await customerOf(customer);
    await world.row("delete from core.attributions where user_id = $1 returning 1", (await loginAt(customer)).id);
    for (const email of [stranger, customer]) {
      await world.row("delete from core.mail_outbox where recipient = $1 returning 1", email);
      await writeAll(email);
      expect((await mail(email)).map(({ template }) => template).sort()).toEqual(expected("tenant"));
    }
  });

  test("a partner that drafts and claims an address reads no code of another tenant's signatory", async () => {
    const { email } = await signedCustomer(world, { partner: world.partnerB });
    await customerOf(email);
    const ask = newBrowser(world);
    await signIn(world, ask, email).catch(() => null);
    expect((await mail(email)).filter(({ template }) => template === "sign_in")).toEqual([]);
  });

  test("a partner reads no code of a customer of its own whom another tenant adds later, and never enters the portal of another tenant", async () => {
    const email = newAddress();
    await customerOf(email);
    const ask = newBrowser(world);
    await signIn(world, ask, email);
    expect(
      (await mail(email)).some(({ template }) => template === "sign_in"),
      "its own customer's",
    ).toBe(true);
    await TIES["a row of another's manager"]?.(email);
    await signIn(world, newBrowser(world), email, "", portal);
    expect((await mail(email)).filter(({ template }) => template === "sign_in")).toEqual([]);
  });

  test("an integrator rehearses: a claim, and /mijn of its customer and of its signatory", async () => {
    const { email, claim_url } = await world.draft();
    const ask = newBrowser(world);
    await ask(`${claim_url}/code`, { form: {} });
    await ask(`${claim_url}/proof`, { form: { code: await codeIn(email, "claim_code") } });
    expect((await ask(claim_url)).location).toContain("/details");

    for (const own of [newAddress(), (await signedCustomer(world)).email]) {
      if (!(await world.row("select 1 from core.signatories where email = $1", own))) await customerOf(own);
      const browser = newBrowser(world);
      await signIn(world, browser, own);
      const code = await codeIn(own);
      expect(code).toMatch(/^\d{6}$/);
      const page = await browser(mijn(world));
      expect([page.status, heading(page.text)?.startsWith("Dag")]).toEqual([200, true]);
    }
  });
});

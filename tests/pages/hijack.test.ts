// Whoever signs up at Supabase Auth first, with somebody else's address and a password of their own, keeps nothing of the login once its
// owner proves the address by a code of ours (docs/attacks.md).

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { hashPassword } from "#local/auth.ts";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { createAccount } from "../harness/people.ts";
import { consentVisit } from "../oauth/consent_visit.ts";
import { REDIRECT_URI } from "../oauth/oauth_world.ts";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";
import {
  answer,
  type Browser,
  formToken,
  freshAddress,
  newBrowser,
  newDraft,
  newSignInLink,
  prove,
  readyToSign,
} from "./claimant.ts";
import { mijn, signIn, signInCode } from "./customer.ts";
import { portal } from "./manager.ts";
import { pageClient, readyToSign as readyToSignLink } from "./signatory.ts";
import { signedCustomer } from "./signatory_customer.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
});
afterAll(() => world.close());

const PASSWORD = "the stranger's own";
const newAddress = () => `slachtoffer-${randomBytes(5).toString("hex")}@example.nl`;
const loginAt = (email: string) => world.row("select * from auth.users where email = $1", email);

async function auth(path: string, body: object, bearer = "") {
  const response = await fetch(`${world.environment.config.SUPABASE_URL}/auth/v1${path}`, {
    method: Object.keys(body).length > 0 ? "POST" : "GET",
    headers: {
      apikey: world.environment.config.PUBLISHABLE_KEY ?? "",
      "content-type": "application/json",
      ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
    },
    ...(Object.keys(body).length > 0 ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: await response.json() };
}

/** What a stranger has who signed up with an address that is not theirs, and took every way in there is. */
type Stranger = { email: string; id: string; jwt: string; refresh: string; token: string; ask: Browser; oauth: string };

async function strangerAt(email: string, owning: boolean): Promise<Stranger> {
  const { body } = await auth("/signup", { email, password: PASSWORD });
  const id = body.user.id;
  const token = `${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`;
  await world.row(
    `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'Stranger', decode($2, 'hex'), 'abcd', '{sessions:read}') returning id`,
    id,
    hashSecret(token),
  );
  const app = await world.addClient(null, { scopes: ["sessions:read"], grant_types: ["authorization_code"] });
  const oauth = (
    await world.row(
      "insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, '{sessions:read}') returning id",
      id,
      app.id,
    )
  ).id;
  await world.row(
    "insert into core.oauth_codes (code_hash, grant_id, redirect_uri, code_challenge, expires_at) values (sha256(convert_to($1::text, 'UTF8')), $1::uuid, 'https://x.example', 'x', now() + interval '1 day') returning 1",
    oauth,
  );
  await world.row(
    "insert into auth.identities (provider_id, user_id, identity_data, provider) values ($1, $2, '{}', 'google') returning 1",
    `google-${email}`,
    id,
  );
  await world.row(
    "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) values (gen_random_uuid(), $1, 'totp', 'verified', now(), now()) returning 1",
    id,
  );
  await world.row(
    "update auth.users set phone = '+31600000000', phone_confirmed_at = now() where id = $1 returning 1",
    id,
  );
  if (owning)
    await world.row(
      `insert into core.chargers (partner_id, user_id, owner_id, nickname, connection_type, ocpp_identity, ocpp_password_hash)
       values (private.people_tenant(), $1, $1, 'Van de vreemde', 'ocpp', $2, sha256('stranger')) returning id`,
      id,
      `CP${randomBytes(6).toString("hex")}`,
    );
  const ask = newBrowser(world);
  const form = { form_token: formToken((await ask(mijn(world, "/sign-in"))).text), email, password: PASSWORD };
  expect((await ask(mijn(world, "/sign-in"), { form })).status).toBe(303);
  expect((await ask(mijn(world))).status, "in, until the owner comes").toBe(200);
  return { email, id, jwt: body.access_token, refresh: body.refresh_token, token, ask, oauth };
}

/** Nothing that the stranger had opens anything, wherever it is tried. */
async function nothingIsLeft({ email, id, jwt, refresh, token, ask, oauth }: Stranger): Promise<void> {
  expect((await auth("/token?grant_type=password", { email, password: PASSWORD })).status, "password").toBe(400);
  expect((await auth("/token?grant_type=refresh_token", { refresh_token: refresh })).status, "refresh token").toBe(400);
  expect((await auth("/user", {}, jwt)).status, "session at Auth").toBe(403);
  expect((await world.get("/tokens", jwt)).status, "session here").toBe(401);
  expect((await world.get("/sessions", token)).status, "personal token").toBe(401);
  expect((await ask(mijn(world))).location, "page session").toContain("/mijn/sign-in");
  const left = await world.row(
    `select (select count(*)::int from core.oauth_grants where id = $2 and revoked_at is null) as grants,
            (select count(*)::int from core.oauth_codes where grant_id = $2) as codes,
            (select count(*)::int from auth.identities where user_id = $1 and provider <> 'email') as identities,
            (select count(*)::int from auth.mfa_factors where user_id = $1) as factors,
            (select count(*)::int from auth.users where id = $1 and phone is not null) as phones,
            (select count(*)::int from core.chargers where user_id = $1 and ocpp_password_hash = sha256('stranger')) as chargers`,
    id,
    oauth,
  );
  expect(left).toEqual({ grants: 0, codes: 0, identities: 0, factors: 0, phones: 0, chargers: 0 });
}

/** Each way in which somebody proves an address by a code of ours. */
const PROOFS: Record<string, (email: string) => Promise<unknown>> = {
  "the code of a claim": async (email) => prove(world, newBrowser(world), await newDraft(world, { email })),
  "the code that signs a claim which a link began": async (email) => {
    const draft = await newDraft(world, { email });
    const ask = newBrowser(world);
    await ask(await newSignInLink(world, draft), { form: {} });
    await answer(ask, draft, { address: freshAddress() });
    const form = await readyToSign(world, ask, draft);
    expect((await ask(`${draft.link}/sign`, { form })).status).toBe(303);
  },
  "the code of an invitation": async (email) => {
    const token = newSecret();
    await world.row(
      "insert into core.manager_invitations (partner_id, email, token_hash) values ($1, $2, decode($3, 'hex')) returning id",
      world.partnerA.id,
      email,
      hashSecret(token),
    );
    const ask = newBrowser(world);
    const link = portal(world, `/invitation/${token}`);
    const form = { form_token: formToken((await ask(link)).text) };
    await ask(`${link}/mail-code`, { form });
    const code = await signInCode(world, email);
    expect((await ask(`${link}/code`, { form: { ...form, code } })).status).toBe(303);
  },
  "the code to sign in": async (email) => {
    expect((await signIn(world, newBrowser(world), email)).status).toBe(303);
  },
};

describe("contract §9 attack: signing up first with somebody else's address", () => {
  test.each(Object.keys(PROOFS))("a login that owns nothing is made again by us: %s", async (how) => {
    const stranger = await strangerAt(newAddress(), false);
    await PROOFS[how]?.(stranger.email);
    const login = await loginAt(stranger.email);
    expect(login.id).not.toBe(stranger.id);
    expect(login.raw_app_meta_data).toMatchObject({ proved_email: stranger.email });
    await nothingIsLeft(stranger);
  });

  test.each(Object.keys(PROOFS))(
    "a login that owns something loses every way in, and its owner is mailed: %s",
    async (how) => {
      const stranger = await strangerAt(newAddress(), true);
      await PROOFS[how]?.(stranger.email);
      const login = await loginAt(stranger.email);
      expect(login.id).toBe(stranger.id);
      expect(login.raw_app_meta_data).toMatchObject({ proved_email: stranger.email, providers: ["email"] });
      await nothingIsLeft(stranger);
      const mails = await world.rows(
        "select partner_id = private.people_tenant() as ours from core.mail_outbox where recipient = $1 and template = 'login_secured'",
        stranger.email,
      );
      expect(mails).toEqual([{ ours: true }]);
    },
  );

  test("a session that begins while the login is secured is deleted too", async () => {
    const stranger = await strangerAt(newAddress(), true);
    const ask = newBrowser(world);
    const proving = signIn(world, ask, stranger.email);
    await vi.waitFor(
      async () => expect(await world.rows("select 1 from auth.sessions where user_id = $1", stranger.id)).toEqual([]),
      { timeout: 60_000, interval: 20 },
    );
    // Supabase Auth compared the password a moment before
    const { id } = await world.row(
      "insert into auth.sessions (id, user_id) values (gen_random_uuid(), $1) returning id",
      stranger.id,
    );
    expect((await proving).status).toBe(303);
    const left = await world.rows("select id from auth.sessions where user_id = $1", stranger.id);
    expect(left).toHaveLength(1);
    expect(left).not.toContainEqual({ id });
  });

  test("a stranger who signs up while the login is made gets nothing of it, and the same code works afterwards", async () => {
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    await ask(`${draft.link}/code`, { form: {} });
    const { subject } = await world.mail("where recipient = $1 and template = 'claim_code'", draft.email);
    const form = { code: subject.slice(0, 6) };
    const fetched = globalThis.fetch;
    let stranger: Stranger | undefined;
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      if (String(input).endsWith("/admin/users") && !stranger) {
        spy.mockRestore();
        stranger = await strangerAt(draft.email, false);
      }
      return fetched(input, init);
    });
    expect((await ask(`${draft.link}/proof`, { form })).status).toBe(503);
    expect((await ask(`${draft.link}/proof`, { form })).status).toBe(303);
    expect((await loginAt(draft.email)).id).not.toBe(stranger?.id);
    await nothingIsLeft(stranger as Stranger);
  });

  test("two proofs at once make one login", async () => {
    const email = newAddress();
    await strangerAt(email, false);
    const answers = await Promise.all([
      signIn(world, newBrowser(world), email),
      PROOFS["the code of a claim"]?.(email),
    ]);
    const { status } = answers[0] as { status: number };
    // the claim may end the stranger's login first, and with it the code that was mailed for it: then the next code is good
    expect(status === 422 ? (await signIn(world, newBrowser(world), email)).status : status).toBe(303);
    const logins = await world.rows(
      "select raw_app_meta_data ->> 'proved_email' as proved from auth.users where email = $1",
      email,
    );
    expect(logins).toEqual([{ proved: email }]);
  });

  test("where the owner of our functions may not delete foreign identities, nobody gets the login, and the log says why", async () => {
    const stranger = await strangerAt(newAddress(), true);
    const { admin } = world.database;
    await admin.query("revoke delete on auth.identities from postgres");
    try {
      const answer = await signIn(world, newBrowser(world), stranger.email);
      expect(answer.status).toBe(503);
    } finally {
      await admin.query("grant delete on auth.identities to postgres");
    }
    expect(JSON.stringify(world.log)).toContain("may not secure logins of Supabase Auth");
    expect((await loginAt(stranger.email)).raw_app_meta_data.proved_email).toBeUndefined();
    expect((await world.get("/tokens", stranger.jwt)).status, "nothing was done by halves").toBe(200);
  });

  test("an address that is changed at Supabase Auth is not proved: the proof is of login and address", async () => {
    const [own, victim] = [newAddress(), newAddress()];
    expect((await signIn(world, newBrowser(world), own)).status).toBe(303);
    const { id } = await world.row(
      "update auth.users set email = $2, encrypted_password = $3 where email = $1 returning id",
      own,
      victim,
      await hashPassword(PASSWORD),
    );
    expect((await signIn(world, newBrowser(world), victim)).status).toBe(303);
    expect((await loginAt(victim)).id).not.toBe(id);
    expect((await auth("/token?grant_type=password", { email: victim, password: PASSWORD })).status).toBe(400);
  });

  test("a person whose address was proved keeps the password they set, and every session, by more codes", async () => {
    const email = newAddress();
    const ask = newBrowser(world);
    expect((await signIn(world, ask, email)).status).toBe(303);
    const { id } = await world.row(
      "update auth.users set encrypted_password = $2 where email = $1 returning id",
      email,
      await hashPassword("my own password"),
    );
    await PROOFS["the code of a claim"]?.(email);
    expect((await signIn(world, newBrowser(world), email)).status).toBe(303);
    expect((await auth("/token?grant_type=password", { email, password: "my own password" })).status).toBe(200);
    expect((await ask(mijn(world))).status).toBe(200);
    expect((await loginAt(email)).id).toBe(id);
  });

  test("a sign-in link binds a claim to no login that a stranger made", async () => {
    const stranger = await strangerAt(newAddress(), true);
    const draft = await newDraft(world, { email: stranger.email });
    await newBrowser(world)(await newSignInLink(world, draft), { form: {} });
    const row = await world.row("select status, user_id from core.drafts where id = $1", draft.id);
    expect(row).toEqual({ status: "claimed", user_id: null });
  });

  /** Somebody at B, which the address has nothing to do with so far, has it manage B and types the code of the invitation. */
  const manageB = async (email: string) => {
    const token = newSecret();
    await world.row(
      "insert into core.manager_invitations (partner_id, email, token_hash) values ($1, $2, decode($3, 'hex')) returning id",
      world.partnerB.id,
      email,
      hashSecret(token),
    );
    const theirs = newBrowser(world);
    const link = portal(world, `/invitation/${token}`);
    const form = { form_token: formToken((await theirs(link)).text) };
    await theirs(`${link}/mail-code`, { form });
    const { subject } = await world.mail("where cause like 'invitation_code:%' and recipient = $1", email);
    expect((await theirs(`${link}/code`, { form: { ...form, code: subject.slice(0, 6) } })).status).toBe(303);
    expect((await theirs(portal(world))).status).toBe(200);
  };

  test("on the sandbox a login that one tenant reads the codes of is secured before it manages another", async () => {
    const { email } = await world.draft();
    const { draft_id } = await world.row("select id as draft_id from core.drafts where email = $1", email);
    await world.claim(draft_id, { submit: true });
    const ask = newBrowser(world);
    expect((await signIn(world, ask, email)).status, "by a code that A reads").toBe(303);
    await manageB(email);
    expect((await ask(mijn(world))).location, "A's browser is out").toContain("/mijn/sign-in");
  });

  test("on the sandbox the first signature for another tenant ends what signs in at that address", async () => {
    const { email, account_id } = await signedCustomer(world);
    const ask = newBrowser(world);
    expect((await signIn(world, ask, email)).status, "by a code that A reads").toBe(303);
    expect((await ask(mijn(world))).status).toBe(200);
    // A's own account is another's from now on, so that B reads the code
    await world.row(
      "update core.signatories set email = 'ander@example.nl' where account_id = $1 returning 1",
      account_id,
    );
    const { account_id: theirs } = await createAccount(world, world.partnerB, {
      person: { full_name: "Willem Bakker", email, phone: null },
    });
    const { body } = await world.post("/v1/mandate-links", { account_id: theirs }, await world.partnerB.client.token());
    const page = pageClient(world);
    const form = await readyToSignLink(world, page, {
      link: body.mandate_link,
      token: "",
      account_id: theirs,
      connection_id: body.connection_id,
    });
    expect((await page(`${body.mandate_link}/sign`, { form })).status).toBe(303);
    expect((await ask(mijn(world))).location, "A's browser is out").toContain("/mijn/sign-in");
  });

  /** The code to sign in with, as A reads it. */
  const readByA = async (email: string) => {
    const { body } = await world.get(`/sandbox/v1/mail?to=${email}`, world.keyA);
    const mail = body.mail.find(({ template }: { template: string }) => template === "sign_in");
    return /^ {4}(\d{6})$/m.exec(mail?.text)?.[1] ?? "none";
  };

  test("on the sandbox a login that an application makes by a code which one tenant reads is secured before it manages another", async () => {
    const { email } = await signedCustomer(world);
    const app = await world.addClient(null, {
      scopes: ["sessions:read"],
      grant_types: ["authorization_code", "refresh_token"],
    });
    await world.row(
      "update core.oauth_clients set redirect_uris = $2, name = 'Laadapp', operated_by = 'Laadapp B.V.' where id = $1 returning 1",
      app.id,
      [REDIRECT_URI],
    );
    const visit = consentVisit(world, app, { scope: "sessions:read" });
    await visit.show();
    expect((await visit.mailCode(email)).status).toBe(303);
    const signedIn = await visit.enterCode(await readByA(email));
    expect(signedIn.status, "by a code that A reads").toBe(303);
    const { id } = await loginAt(email);
    expect(await world.rows("select 1 from auth.sessions where user_id = $1", id)).toHaveLength(1);
    await manageB(email);
    expect(await world.rows("select 1 from auth.sessions where user_id = $1", id), "A's session").toEqual([]);
  });

  test("on the sandbox a code that was mailed for a login which a reset deletes makes no login that nobody secures", async () => {
    const { draft_id, email } = await world.draft();
    expect((await world.claim(draft_id, { submit: true })).status).toBe(200);
    const ask = newBrowser(world);
    const form = { form_token: formToken((await ask(mijn(world, "/sign-in"))).text) };
    expect((await ask(mijn(world, "/mail-code"), { form: { ...form, email } })).status).toBe(303);
    const code = await readByA(email);
    expect(code).toMatch(/^\d{6}$/);
    expect((await world.reset()).status).toBe(200);
    expect((await ask(mijn(world, "/code"), { form: { ...form, code } })).location).toBeNull();
    expect((await ask(mijn(world))).location).toContain("/mijn/sign-in");
    expect(await world.rows("select 1 from auth.users where email = $1", email)).toEqual([]);
  });
});

// What is left of a credential when the person behind it signed out or was banned, or the partner behind an application is gone.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type App,
  authorizationOf,
  codeOf,
  createOAuthWorld,
  exchange,
  newVerifier,
  type OAuth,
  type Person,
  refresh,
  tokensOf,
} from "./oauth_world.ts";

let world: OAuth;
let person: Person;
let app: App;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  person = await world.person();
  app = await world.app();
});

const authorize = (session: string) => world.post("/oauth-authorize", authorizationOf(app, newVerifier()), session);
const mint = (session: string, fields: Record<string, unknown> = {}) =>
  world.post("/tokens", { name: "Home Assistant", scopes: ["energy:read"], ...fields }, session);

/** Supabase Auth as a dashboard reaches it. */
async function atAuth(path: string, fields: { body?: unknown; session?: string }) {
  const { body = {}, session } = fields;
  return fetch(`${world.url}/auth/v1${path}`, {
    method: "POST",
    headers: {
      apikey: world.environment.config.PUBLISHABLE_KEY ?? "",
      "content-type": "application/json",
      ...(session ? { authorization: `Bearer ${session}` } : {}),
    },
    body: JSON.stringify(body),
  });
}
async function signIn({ email, password }: Person): Promise<string> {
  const answer = await atAuth("/token?grant_type=password", { body: { email, password } });
  return ((await answer.json()) as { access_token: string }).access_token;
}

describe("contract §9 attack: using a session after signing out", () => {
  test("its JWT, good for an hour more, mints no token, shows none and gets no code", async () => {
    const session = await signIn(person);
    expect((await mint(session)).status).toBe(200);
    expect((await authorize(session)).status).toBe(200);
    expect((await atAuth("/logout", { session })).status).toBe(204);
    for (const answer of [await mint(session), await authorize(session), await world.get("/tokens", session)])
      expect(answer).toMatchObject({ status: 401, body: { error: "Missing or invalid API token" } });
  });

  test("signing out here leaves a sign-in elsewhere alone", async () => {
    const [here, elsewhere] = [await signIn(person), await signIn(person)];
    await atAuth("/logout?scope=local", { session: here });
    expect([(await authorize(here)).status, (await authorize(elsewhere)).status]).toEqual([401, 200]);
  });

  test("a session that Supabase Auth has limited in time ends with it", async () => {
    const session = await signIn(person);
    await world.row("update auth.sessions set not_after = private.now() where user_id = $1", person.id);
    expect((await authorize(session)).status).toBe(401);
  });

  test.each([
    ["none", undefined],
    ["no UUID", "session"],
    ["an unknown one", crypto.randomUUID()],
  ])("a JWT with %s as its session_id is nobody's", async (_what, session_id) => {
    expect((await authorize(await person.session({ session_id }))).status).toBe(401);
  });

  test("the session of somebody else does not do", async () => {
    await signIn(person);
    const { id } = await world.row("select id from auth.sessions where user_id = $1", person.id);
    const other = await world.person();
    expect((await authorize(await other.session({ session_id: id }))).status).toBe(401);
  });

  test("what the api functions run as cannot read logins or sessions itself", async () => {
    for (const table of ["users", "sessions", "refresh_tokens"]) {
      const denied = world.database.admin.query(`set role api_owner; select from auth.${table}`);
      await expect(denied, table).rejects.toMatchObject({ code: "42501" });
    }
    const owner = await world.row(
      `select r.rolsuper, bool_and(c.relrowsecurity) as secured from pg_proc p join pg_roles r on r.oid = p.proowner, pg_class c
        where p.oid = 'private.signed_in_at(uuid, uuid)'::regprocedure and c.relnamespace = 'auth'::regnamespace and c.relkind = 'r' group by 1`,
    );
    expect(owner).toEqual({ rolsuper: false, secured: true });
  });
});

describe("contract §9 attack: using a login that was banned", () => {
  const ban = (until: string | null) =>
    world.row("update auth.users set banned_until = private.now() + $2::interval where id = $1", person.id, until);

  test("personal token, application, refresh token, session and partner management stop, and come back with the ban's end", async () => {
    const scoped = await world.app({ scopes: ["energy:read", "partners:read"] });
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2)",
      world.partnerB.id,
      person.id,
    );
    const session = await person.session();
    const personal = (await mint(session)).body.token;
    const tokens = await tokensOf(world, person, scoped, "energy:read partners:read");
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const statuses = async () => [
      (await world.get("/energy", personal)).status,
      (await world.get("/energy", tokens.access_token)).status,
      (await world.get("/partner/me", tokens.access_token)).status,
      (await world.get("/tokens", session)).status,
      (await authorize(session)).status,
    ];
    expect(await statuses()).toEqual([200, 200, 200, 200, 200]);
    await ban("10 years");
    expect(await statuses()).toEqual([401, 401, 401, 401, 401]);
    const invalid = { status: 400, body: { error: "invalid_grant" } };
    expect(await refresh(world, scoped, tokens.refresh_token)).toMatchObject(invalid);
    expect(await exchange(world, app, code, verifier)).toMatchObject(invalid);
    await ban("-1 second");
    expect(await statuses()).toEqual([200, 200, 200, 200, 200]);
    expect((await refresh(world, scoped, tokens.refresh_token)).status).toBe(200);
    expect((await exchange(world, app, code, verifier)).status).toBe(200);
  });
});

describe("contract §9 attack: a key for good from a browser left open", () => {
  const age = (minutes: number) =>
    world.row(
      "update auth.sessions set created_at = private.now() - make_interval(mins => $2::int) where user_id = $1",
      person.id,
      minutes,
    );
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

  test("a token that never expires, or not within a year, needs a sign-in of the last 15 minutes", async () => {
    const session = await signIn(person);
    await age(14);
    expect((await mint(session)).status).toBe(200);
    await age(16);
    for (const expires_at of [undefined, null, inDays(367)])
      expect(await mint(session, { expires_at })).toMatchObject({
        status: 403,
        body: { error: "recent_sign_in_required" },
      });
    expect((await mint(session, { expires_at: inDays(300) })).status).toBe(200);
    expect((await mint(await signIn(person))).status, "after signing in again").toBe(200);
  });

  test("refreshing a session is not signing in", async () => {
    const { email, password } = person;
    const begun = await (await atAuth("/token?grant_type=password", { body: { email, password } })).json();
    await age(60);
    const { refresh_token } = begun as { refresh_token: string };
    const renewed = await (await atAuth("/token?grant_type=refresh_token", { body: { refresh_token } })).json();
    expect(await mint((renewed as { access_token: string }).access_token)).toMatchObject({ status: 403 });
  });
});

describe("contract §9 attack: the application of a deactivated partner", () => {
  const set = (active: boolean) =>
    world.row("update core.partners set is_active = $2 where id = $1", world.partnerB.id, active);

  test("gets no code and no token, uses none, and may still revoke", async () => {
    app = await world.app({ partner: world.partnerB.id });
    const tokens = await tokensOf(world, person, app);
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const refused = { status: 400, body: { error: "unauthorized_client" } };
    await set(false);
    try {
      expect(await authorize(await person.session())).toMatchObject(refused);
      expect(await exchange(world, app, code, verifier)).toMatchObject(refused);
      expect(await refresh(world, app, tokens.refresh_token)).toMatchObject(refused);
      expect((await world.get("/energy", tokens.access_token)).status).toBe(401);
    } finally {
      await set(true);
    }
    expect((await world.get("/energy", tokens.access_token)).status).toBe(200);
    expect((await refresh(world, app, tokens.refresh_token)).status).toBe(200);
    expect((await exchange(world, app, code, verifier)).status).toBe(200);
  });
});

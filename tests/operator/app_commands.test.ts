import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import {
  type App,
  authorizationOf,
  codeOf,
  createOAuthWorld,
  newVerifier,
  type OAuth,
  type Person,
  REDIRECT_URI,
  refresh,
  tokensOf,
} from "../oauth/oauth_world.ts";
import { auditOf, operatorOf, type Ran } from "./operator.ts";

const NOBODY = "0b0d1e00-0000-4000-8000-000000000000";
const NOON = "2026-11-20T12:00:00Z";

let world: OAuth;
let operator: ReturnType<typeof operatorOf>;
beforeAll(async () => {
  world = await createOAuthWorld();
  operator = operatorOf(world.database);
});
afterAll(() => world.close());
beforeEach(() => world.freeze(NOON));

/** The command succeeded, and left exactly these audit rows. */
async function done(command: string | string[], ...actions: string[]): Promise<Ran> {
  let ran: Ran | undefined;
  const audit = await auditOf(world.database.admin, async () => {
    ran = await operator(command);
  });
  expect([ran?.err, ran?.code]).toEqual(["", 0]);
  expect(audit.map(({ actor, action }) => [actor, action])).toEqual(
    actions.map((action) => ["operator:tester", action]),
  );
  return ran as Ran;
}

async function refused(command: string | string[], text: string): Promise<void> {
  let ran: Ran | undefined;
  const audit = await auditOf(world.database.admin, async () => {
    ran = await operator(command);
  });
  expect(ran?.err).toContain(text);
  expect([ran?.code, ran?.out, audit]).toEqual([1, "", []]);
}

const creating = (fields: Record<string, string[]> = {}) => {
  const options = {
    "operated-by": ["Laadapp B.V."],
    "redirect-uris": [REDIRECT_URI],
    scopes: ["chargers:read", "sessions:read", "energy:read"],
    ...fields,
  };
  return ["app", "create", "Laadapp", ...Object.entries(options).flatMap(([name, values]) => [`--${name}`, ...values])];
};
async function create(fields: Record<string, string[]> = {}): Promise<App> {
  const { json } = await done(creating(fields), "app.created");
  return { ...json.app, client_secret: json.client_secret };
}

describe("contract §8 app", () => {
  test("contract §8 app create registers an application whose users come through the whole flow", async () => {
    const { json } = await done(creating(), "app.created");
    expect(json).toEqual({
      app: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        client_id: expect.stringMatching(/^app_[0-9A-Za-z]{13}$/),
        name: "Laadapp",
        operated_by: "Laadapp B.V.",
        partner_id: null,
        partner_slug: null,
        redirect_uris: [REDIRECT_URI],
        scopes: ["chargers:read", "sessions:read", "energy:read"],
        people: 0,
        secret_rotated_at: NOON,
        disabled_at: null,
        created_at: NOON,
      },
      client_secret: expect.stringMatching(/^cs_[0-9A-Za-z]{43}$/),
    });
    const app = { ...json.app, client_secret: json.client_secret };
    await tokensOf(world, await world.person(), app);
    const { json: listed } = await done("app list");
    expect(listed.apps).toContainEqual({ ...json.app, people: 1 });
    expect(JSON.stringify(listed)).not.toContain(json.client_secret);
  });

  test.each([
    ["http", "http://app.example/callback"],
    ["a fragment", "https://app.example/callback#x"],
    ["credentials", "https://user@app.example/callback"],
    ["no host", "https:///callback"],
    ["a space", "https://app.example/a b"],
    ["other letters", "https://app.example/é"],
    ["another scheme", "javascript:alert(1)"],
    ["a host that only begins like localhost", "http://localhost.evil.example/"],
    ["501 characters", `https://app.example/${"x".repeat(481)}`],
    ["nothing", ""],
  ])("§4.5 a redirect URI with %s is refused", async (_what, uri) => {
    await refused(creating({ "redirect-uris": [uri] }), "Give one to ten redirect URIs");
  });

  test.each(["http://localhost:8123/callback", "http://127.0.0.1/callback", "http://[::1]:9/", "https://app.example"])(
    "§4.5 a redirect URI may be %s",
    async (uri) => {
      expect(await create({ "redirect-uris": [uri] })).toMatchObject({ redirect_uris: [uri] });
    },
  );

  test("contract §8 app create refuses eleven redirect URIs, an unknown partner, an empty name", async () => {
    const many = Array.from({ length: 11 }, (_, i) => `https://app.example/${i}`);
    await refused(creating({ "redirect-uris": many }), "Give one to ten redirect URIs");
    await refused(creating({ partner: ["nobody"] }), "No partner has");
    await refused(creating({ "operated-by": [" "] }), "A name is");
  });

  test("contract §8 app rotate-secret: the old secret is dead at once; with --revoke-tokens the access tokens are too", async () => {
    const app = await create();
    const { refresh_token } = await tokensOf(world, await world.person(), app);
    const { json } = await done(`app rotate-secret ${app.client_id}`, "client.secret_rotated");
    expect(await refresh(world, app, refresh_token)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    const renewed = { ...app, client_secret: json.client_secret };
    expect((await refresh(world, renewed, refresh_token)).status).toBe(200);
    await done(`app rotate-secret ${app.client_id} --revoke-tokens`, "client.secret_rotated");
  });

  test("contract §8 app disable ends it for good, and says so when repeated", async () => {
    const app = await create();
    const { json } = await done(`app disable ${app.client_id}`, "client.disabled");
    expect(json).toMatchObject({ changed: true, app: { disabled_at: NOON } });
    const person = await world.person();
    const answer = await world.post("/oauth-authorize", authorizationOf(app, newVerifier()), await person.session());
    expect(answer).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect((await done(`app disable ${app.id}`)).json).toMatchObject({ changed: false });
    await refused(`app rotate-secret ${app.client_id}`, "is disabled for good");
  });

  test("§5 app set-scopes replaces what it may ask for; client set-scopes and client link refuse an application", async () => {
    const app = await world.app();
    const set = `app set-scopes ${app.client_id} energy:read profile:read`;
    expect((await done(set, "client.scopes_set")).json).toMatchObject({
      changed: true,
      app: { scopes: ["energy:read", "profile:read"] },
    });
    expect((await done(set)).json.changed).toBe(false);
    for (const command of [
      `client set-scopes ${app.client_id} cpo:accounts:read`,
      `client link ${app.client_id} partner-a`,
    ])
      await refused(command, "is an application; use app set-scopes or app link");
    const row = await world.row("select scopes, partner_id from core.oauth_clients where id = $1", app.id);
    expect(row).toEqual({ scopes: ["energy:read", "profile:read"], partner_id: null });
  });

  test("§4.5 app link: first consents attribute from then on", async () => {
    const app = await create();
    const before = await world.person();
    await codeOf(world, before, app, newVerifier());
    const { json } = await done(`app link ${app.client_id} partner-a`, "client.linked");
    expect(json).toMatchObject({ changed: true, app: { partner_slug: "partner-a" } });
    expect((await done(`app link ${app.client_id} partner-a`)).json.changed).toBe(false);
    const after = await world.person();
    for (const person of [before, after]) await codeOf(world, person, app, newVerifier());
    const attributed = await world.row("select array_agg(user_id) as people from core.attributions");
    expect(attributed.people).toEqual([after.id]);
    expect((await done("app list --partner partner-a")).json.apps).toHaveLength(1);
    expect((await done("app list --partner partner-b")).json.apps).toEqual([]);
    await refused(`app link ${app.client_id} nobody`, "No partner has");
  });

  test("contract §8 a CPO client is no application", async () => {
    const { client_id } = world.partnerA.client;
    for (const command of ["app disable", "app rotate-secret"])
      await refused(`${command} ${client_id}`, "No application has");
    await refused(`app link ${client_id} partner-a`, "No application has");
    await refused(`app disable ${NOBODY}`, "No application has");
    expect(JSON.stringify((await done("app list")).json)).not.toContain(client_id);
  });
});

describe("contract §8 token", () => {
  async function personalToken(person: Person): Promise<{ id: string; token: string }> {
    const token = `ere_pat_${newSecret()}`;
    const { id } = await world.row(
      `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
       values ($1, 'Mijn script', decode($2, 'hex'), $3, '{sessions:read}') returning id`,
      person.id,
      hashSecret(token),
      token.slice(-4),
    );
    return { id, token };
  }
  const cpoRoute = (token: string) => world.get("/v1/accounts", token);

  test("contract §8 token list shows a person's own tokens and what applications hold, newest first, and no token", async () => {
    const person = await world.person();
    const app = await world.app();
    const { id } = await personalToken(person);
    await world.freeze("2026-11-20T13:00:00Z");
    const tokens = await tokensOf(world, person, app, "energy:read");
    const { json, out } = await done(`token list --user ${person.email.toUpperCase()}`);
    expect(json.tokens).toEqual([
      {
        id: expect.any(String),
        kind: "application",
        user_id: person.id,
        email: person.email,
        name: "Laadapp",
        scopes: ["energy:read"],
        created_at: "2026-11-20T13:00:00Z",
        last_used_at: "2026-11-20T13:00:00Z",
        expires_at: "2026-12-20T13:00:00Z",
        revoked_at: null,
      },
      expect.objectContaining({ id, kind: "personal", name: "Mijn script", created_at: NOON, revoked_at: null }),
    ]);
    expect(out).not.toContain(tokens.refresh_token);
    expect((await done(`token list --user ${person.id} --limit 1`)).json.tokens).toEqual(json.tokens.slice(0, 1));
    expect((await done("token list --limit 2")).json.tokens).toHaveLength(2);
    await refused("token list --user nobody@example.nl", "Nobody has");
  });

  test("contract §8 token revoke ends a personal token at once, and says so when repeated", async () => {
    const { id, token } = await personalToken(await world.person());
    expect((await cpoRoute(token)).body.error).toBe("cpo_token_required");
    expect((await done(`token revoke ${id}`, "token.revoked")).json).toMatchObject({
      changed: true,
      token: { id, revoked_at: NOON },
    });
    expect((await cpoRoute(token)).status).toBe(401);
    expect((await done(`token revoke ${id}`)).json.changed).toBe(false);
  });

  test("contract §8 token revoke ends what an application holds; with the last of it the consent is withdrawn", async () => {
    const person = await world.person();
    const app = await world.app();
    const held = [await tokensOf(world, person, app), await tokensOf(world, person, app)];
    const { tokens } = (await done(`token list --user ${person.id}`)).json;
    const withdrawn = async () =>
      (await world.row("select withdrawn_at from core.oauth_consents where user_id = $1", person.id)).withdrawn_at;

    await done(`token revoke ${tokens[0].id}`, "oauth.grant_ended");
    expect(await withdrawn()).toBeNull();
    const { json } = await done(`token revoke ${tokens[1].id}`, "oauth.grant_ended");
    expect(json).toMatchObject({ changed: true, token: { kind: "application", revoked_at: NOON } });
    expect(await withdrawn()).not.toBeNull();
    for (const { access_token, refresh_token } of held) {
      expect((await cpoRoute(access_token)).status).toBe(401);
      expect(await refresh(world, app, refresh_token)).toMatchObject({ body: { error: "invalid_grant" } });
    }
    expect((await done(`token revoke ${tokens[1].id}`)).json.changed).toBe(false);

    await codeOf(world, person, app, newVerifier());
    expect(await withdrawn(), "consent given again").toBeNull();
  });

  test("contract §8 token revoke of nothing says that there is nothing", async () => {
    await refused(`token revoke ${NOBODY}`, "No token has");
    await refused("token revoke nonsense", "No token has");
  });
});

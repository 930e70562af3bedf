// A world with Supabase Auth beside it, over real HTTP: people with sessions, applications, and the steps of the code flow.

import { createHash, randomBytes } from "node:crypto";
import { importJWK, type JWTHeaderParameters, SignJWT } from "jose";
import { expect } from "vitest";
import { auth } from "#local/auth.ts";
import { functionFor } from "#shared/http/routes.ts";
import { type Surface, serve } from "#shared/http/serve.ts";
import { surface as pages } from "../../supabase/functions/pages/app.ts";
import { type Answer, SURFACES } from "../harness/answers.ts";
import { type Answerer, serveHttp } from "../harness/browser.ts";
import { newTokenKey } from "../harness/environment.ts";
import { createWorld, type World, type WorldOptions } from "../harness/world.ts";

export const REDIRECT_URI = "https://app.example/callback?from=ere";
export const SCOPES = ["chargers:read", "sessions:read", "energy:read"];

/** `undefined` leaves a claim out. */
type Claims = Record<string, unknown>;

export type Person = { id: string; email: string; password: string; session: (claims?: Claims) => Promise<string> };
export type App = { id: string; client_id: string; client_secret: string };
type Tokens = { access_token: string; refresh_token: string; scope: string };

export type OAuth = World & {
  url: string;
  /** A login, as old as told. */
  person: (fields?: { created_at?: string; email?: string }) => Promise<Person>;
  app: (fields?: { partner?: string | null; scopes?: string[]; redirect_uris?: string[] }) => Promise<App>;
  /** A JWT signed with the key of Supabase Auth, for whoever is told. */
  signSession: (claims: Claims, header?: Partial<JWTHeaderParameters>, key?: object) => Promise<string>;
  /** The key set of Supabase Auth: a test may rotate it. */
  authKeys: { current: Record<string, unknown>; fetched: number; answer: (() => Response) | null };
};

export type Verifier = { code_verifier: string; code_challenge: string };
export function newVerifier(): Verifier {
  const code_verifier = randomBytes(32).toString("base64url");
  return { code_verifier, code_challenge: createHash("sha256").update(code_verifier).digest("base64url") };
}

/** `surfaces` are served beside our own. */
export async function createOAuthWorld({
  surfaces = [],
  ...options
}: WorldOptions & { surfaces?: readonly Surface[] } = {}): Promise<OAuth> {
  const http = await serveHttp();
  const PUBLISHABLE_KEY = "sb_publishable_test";
  const SUPABASE_SECRET_KEY = "sb_secret_test";
  const world = await createWorld({
    ...options,
    variables: {
      BASE_URL: http.url,
      AUTH_URL: http.url,
      PAGES_URL: `${http.url}/pages`,
      SUPABASE_URL: http.url,
      PUBLISHABLE_KEY,
      SUPABASE_SECRET_KEY,
      ...options.variables,
    },
  });
  const key = newTokenKey("auth-1");
  const authKeys: OAuth["authKeys"] = { current: key, fetched: 0, answer: null };
  const issuer = auth({
    url: http.url,
    database_url: world.database.admin.options.connectionString ?? "",
    key,
    publishable_key: PUBLISHABLE_KEY,
    secret_key: SUPABASE_SECRET_KEY,
  });
  const functions = new Map(
    [...SURFACES, pages, ...surfaces].map((surface) => [surface.slug, serve(surface, world.environment)]),
  );
  http.answer = ((request) => {
    const { pathname } = new URL(request.url);
    // as the gateway in front would, for clients that tests do not write the headers of
    if (!request.headers.has("x-forwarded-for")) request.headers.set("x-forwarded-for", "192.0.2.1");
    if (pathname === "/auth/v1/.well-known/jwks.json") {
      authKeys.fetched += 1;
      const { d: _private, ...published } = authKeys.current;
      return authKeys.answer?.() ?? Response.json({ keys: [published] });
    }
    if (pathname.startsWith("/auth/v1/")) return issuer.app.fetch(request);
    const slug = functionFor(pathname) ?? pathname.split("/")[1] ?? "";
    return functions.get(slug)?.fetch(request) ?? new Response(null, { status: 404 });
  }) as Answerer;

  const signSession: OAuth["signSession"] = async (claims, header = {}, signing = authKeys.current) => {
    const now = Math.floor(world.environment.now().getTime() / 1000);
    const session_id = crypto.randomUUID();
    await world.row(
      "insert into auth.sessions (id, user_id, created_at) select $1, id, private.now() from auth.users where id = $2",
      session_id,
      claims.sub ?? null,
    );
    return new SignJWT({
      iss: `${http.url}/auth/v1`,
      aud: "authenticated",
      role: "authenticated",
      is_anonymous: false,
      session_id,
      iat: now,
      exp: now + 3600,
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", typ: "JWT", kid: String((signing as { kid?: string }).kid), ...header })
      .sign(await importJWK(signing, "ES256"));
  };

  return {
    ...world,
    url: http.url,
    authKeys,
    signSession,
    async person({ created_at, email = `${randomBytes(5).toString("hex")}@example.nl` } = {}) {
      const password = randomBytes(9).toString("base64url");
      const response = await fetch(`${http.url}/auth/v1/signup`, {
        method: "POST",
        headers: { apikey: PUBLISHABLE_KEY, "content-type": "application/json" },
        body: JSON.stringify({ email, password, data: { full_name: "Sanne de Vries" } }),
      });
      const { user } = (await response.json()) as { user: { id: string } };
      await world.row(
        `update auth.users set created_at = coalesce($2::timestamptz, private.now()), raw_app_meta_data = raw_app_meta_data || jsonb_build_object('proved_email', email)
          where id = $1`,
        user.id,
        created_at ?? null,
      );
      return {
        id: user.id,
        email,
        password,
        session: (claims = {}) => signSession({ sub: user.id, email, ...claims }),
      };
    },
    async app({ partner = null, scopes = SCOPES, redirect_uris = [REDIRECT_URI] } = {}) {
      const { id, client_id, secret } = await world.addClient(partner, {
        scopes,
        grant_types: ["authorization_code", "refresh_token"],
      });
      await world.row(
        "update core.oauth_clients set redirect_uris = $2, name = 'Laadapp', operated_by = 'Laadapp B.V.' where id = $1",
        id,
        redirect_uris,
      );
      return { id, client_id, client_secret: secret };
    },
    async close() {
      await http.close();
      await issuer.close();
      await world.close();
    },
  };
}

/** A request to oauth-authorize that is right, but for what is told. */
export function authorizationOf(
  app: Pick<App, "client_id">,
  { code_challenge }: Verifier,
  fields: Record<string, unknown> = {},
) {
  return {
    client_id: app.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: "code",
    scope: SCOPES.join(" "),
    state: "a state",
    code_challenge,
    code_challenge_method: "S256",
    ...fields,
  };
}

/** The code that a person gives an application. */
export async function codeOf(
  world: OAuth,
  person: Person,
  app: App,
  verifier: Verifier,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const answer = await world.post("/oauth-authorize", authorizationOf(app, verifier, fields), await person.session());
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return new URL(answer.body.redirect_url).searchParams.get("code") ?? "";
}

export function exchange(
  world: OAuth,
  app: App,
  code: string,
  { code_verifier }: Verifier,
  fields: Record<string, unknown> = {},
): Promise<Answer> {
  const { client_id, client_secret } = app;
  const grant_type = "authorization_code";
  return world.post("/oauth-token", {
    ...{ grant_type, client_id, client_secret, code, redirect_uri: REDIRECT_URI, code_verifier },
    ...fields,
  });
}

export function refresh(
  world: OAuth,
  app: App,
  refresh_token: string,
  fields: Record<string, unknown> = {},
): Promise<Answer> {
  const { client_id, client_secret } = app;
  return world.post("/oauth-token", {
    grant_type: "refresh_token",
    client_id,
    client_secret,
    refresh_token,
    ...fields,
  });
}

export function revoke(world: OAuth, app: App, token: string, fields: Record<string, unknown> = {}): Promise<Answer> {
  const { client_id, client_secret } = app;
  return world.post("/oauth-revoke", { client_id, client_secret, token, ...fields });
}

/** The whole flow, for tests about what comes after it. */
export async function tokensOf(world: OAuth, person: Person, app: App, scope = SCOPES.join(" ")): Promise<Tokens> {
  const verifier = newVerifier();
  const answer = await exchange(world, app, await codeOf(world, person, app, verifier, { scope }), verifier);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

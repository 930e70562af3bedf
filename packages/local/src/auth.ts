// The part of Supabase Auth (GoTrue) that supabase-js and our functions use, for the local stack. It has accounts with
// e-mail and password, ES256 sessions with a key set, and refresh tokens that rotate. It also has sign-in with a token
// that the admin requested, and the other admin calls. Hosted, Supabase Auth itself answers these paths.

import { Buffer } from "node:buffer";
import { createHash, randomBytes, randomUUID, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import { createLocalJWKSet, importJWK, type JWK, jwtVerify, SignJWT } from "jose";
// @ts-types="npm:@types/pg@8.23.1"
import pg from "pg";

type AuthConfiguration = {
  /** Public root of the project; the issuer is `<url>/auth/v1`. */
  url: string;
  /** Connects as supabase_auth_admin, which owns the tables. */
  database_url: string;
  /** Private ES256 key with a kid. */
  key: JWK;
  publishable_key: string;
  secret_key: string;
  /** False where strangers may not sign up, as hosted: logins come by our codes. */
  signup?: boolean;
  /** The clock for sessions, if it is not the machine's. */
  now?: () => Date;
};

type User = {
  id: string;
  email: string;
  encrypted_password: string;
  email_confirmed_at: Date | null;
  last_sign_in_at: Date | null;
  raw_app_meta_data: Record<string, unknown> | null;
  raw_user_meta_data: Record<string, unknown> | null;
  banned_until: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** How somebody signed in, as the claim `amr` says. */
type Method = "password" | "otp";

const SESSION_SECONDS = 3600;
const MIN_PASSWORD = 6;

export function auth(config: AuthConfiguration): { app: Hono; close(): Promise<void> } {
  // nobody waits for a database that stopped, or for a table that is locked
  const patience = { connectionTimeoutMillis: 5_000, query_timeout: 10_000 };
  const pool = new pg.Pool({ connectionString: config.database_url, max: 4, ...patience });
  pool.on("error", () => {}); // an idle connection broke; the next query opens another
  pool.on("connect", (client) => client.on("error", () => {})); // of a client in use: its statement fails and says so
  const issuer = `${config.url}/auth/v1`;
  const { d: _private, ...public_key } = config.key;
  const keySet = { keys: [{ ...public_key, key_ops: ["verify"] }] };
  const verificationKeys = createLocalJWKSet(keySet);
  const signingKey = importJWK(config.key, "ES256");

  async function rows<T extends pg.QueryResultRow>(statement: string, ...values: unknown[]): Promise<T[]> {
    return (await pool.query<T>(statement, values)).rows;
  }

  // Sessions -----------------------------------------------------------------------------------------------------------

  /** Signing in begins a session. */
  async function openSignInSession(user: User, method: Method) {
    refuseBanned(user, method);
    const session_id = randomUUID();
    const refresh_token = newRefreshToken();
    await rows(
      `with session as (insert into auth.sessions (id, user_id) values ($1, $2) returning id, user_id)
       insert into auth.refresh_tokens (token_hash, user_id, session_id, method) select $3, user_id, id, $4 from session`,
      session_id,
      user.id,
      hash(refresh_token),
      method,
    );
    return answerSignInSession(user, method, session_id, refresh_token);
  }

  async function answerSignInSession(user: User, method: Method, session_id: string, refresh_token: string) {
    const now = Math.floor((config.now?.() ?? new Date()).getTime() / 1000);
    const access_token = await new SignJWT({
      email: user.email,
      phone: "",
      role: "authenticated",
      aal: "aal1",
      amr: [{ method, timestamp: now }],
      session_id,
      is_anonymous: false,
      app_metadata: user.raw_app_meta_data ?? {},
      user_metadata: user.raw_user_meta_data ?? {},
    })
      .setProtectedHeader({ alg: "ES256", typ: "JWT", kid: String(config.key.kid) })
      .setIssuer(issuer)
      .setSubject(user.id)
      .setAudience("authenticated")
      .setIssuedAt(now)
      .setExpirationTime(now + SESSION_SECONDS)
      .sign(await signingKey);
    const session = {
      access_token,
      token_type: "bearer",
      expires_in: SESSION_SECONDS,
      expires_at: now + SESSION_SECONDS,
    };
    return { ...session, refresh_token, user: present(user) };
  }

  async function signIn(email: string, password: string) {
    const [user] = await rows<User>("select * from auth.users where email = $1 and deleted_at is null", email);
    // an unknown address costs as much time as a wrong password, and answers the same
    const matches = await verifyPassword(password, user?.encrypted_password ?? UNKNOWN_PASSWORD);
    if (!user || !matches) throw refuse(400, "invalid_credentials", "Invalid login credentials");
    await rows("update auth.users set last_sign_in_at = now() where id = $1", user.id);
    return openSignInSession(user, "password");
  }

  /** What signs a person in once, within the hour. The codes and links that Supabase Auth makes with it would lead nowhere here. */
  async function generateLink({ type, ...input }: Record<string, unknown>) {
    if (type !== "magiclink")
      throw refuse(400, "validation_failed", `Invalid email action link type requested: ${type}`);
    const [user] = await rows<User>(
      "select * from auth.users where email = $1 and not is_sso_user and deleted_at is null",
      emailOf(input),
    );
    // Supabase Auth makes the login; here that is an error, so that a call by mistake is noticed
    if (!user) throw refuse(404, "user_not_found", "User with this email not found");
    const hashed_token = randomBytes(28).toString("hex");
    await rows(
      `insert into auth.one_time_tokens (user_id, token_hash) values ($1, $2)
       on conflict (user_id) do update set token_hash = excluded.token_hash, created_at = now()`,
      user.id,
      hash(hashed_token),
    );
    return { ...present(user), hashed_token, verification_type: type, redirect_to: config.url };
  }

  async function verify({ token_hash, type }: Record<string, unknown>) {
    if (!type) throw refuse(400, "validation_failed", "Verify requires a verification type");
    if (!token_hash) throw refuse(400, "validation_failed", "Verify requires either a token or a token hash");
    if (type !== "magiclink" && type !== "email")
      throw refuse(400, "validation_failed", "Invalid email verification type");
    // one statement decides between two that come at once
    const [used] = await rows<{ user_id: string }>(
      "delete from auth.one_time_tokens where token_hash = $1 and created_at > now() - interval '1 hour' returning user_id",
      hash(String(token_hash)),
    );
    const [user] = await rows<User>(
      `update auth.users set last_sign_in_at = now(), email_confirmed_at = coalesce(email_confirmed_at, now())
        where id = $1 and deleted_at is null returning *`,
      used?.user_id,
    );
    if (!user) throw refuse(403, "otp_expired", "Email link is invalid or has expired");
    return openSignInSession(user, "otp");
  }

  async function refresh(token: string) {
    const refresh_token = newRefreshToken();
    // one statement decides between two that come at once
    const [used] = await rows<{ user_id: string; session_id: string; method: Method }>(
      `with used as (
         update auth.refresh_tokens set revoked = true where token_hash = $1 and not revoked returning user_id, session_id, method),
       session as (update auth.sessions s set refreshed_at = now(), updated_at = now() from used where s.id = used.session_id),
       successor as (
         insert into auth.refresh_tokens (token_hash, user_id, session_id, method) select $2, user_id, session_id, method from used)
       select * from used`,
      hash(token),
      hash(refresh_token),
    );
    if (!used) {
      // a token that is used twice may have been stolen: nobody keeps the session
      await rows(
        "delete from auth.sessions where id = (select session_id from auth.refresh_tokens where token_hash = $1)",
        hash(token),
      );
      throw refuse(400, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found");
    }
    const [user] = await rows<User>("select * from auth.users where id = $1 and deleted_at is null", used.user_id);
    if (!user) throw refuse(403, "user_not_found", "User from sub claim in JWT does not exist");
    refuseBanned(user, used.method);
    return answerSignInSession(user, used.method, used.session_id, refresh_token);
  }

  /** The person of the bearer token, whose session has not been ended. */
  async function signedIn(c: Context): Promise<{ user: User; session_id: string }> {
    let claims: { sub?: string; session_id?: unknown };
    try {
      const options = { issuer, audience: "authenticated", algorithms: ["ES256"] };
      claims = (await jwtVerify(bearer(c), verificationKeys, options)).payload;
    } catch {
      throw refuse(403, "bad_jwt", "invalid JWT: unable to parse or verify signature");
    }
    const [user] = await rows<User>(
      `select u.* from auth.users u where u.id = $1 and u.deleted_at is null
          and exists (select from auth.sessions s where s.id::text = $2 and s.user_id = u.id)`,
      claims.sub,
      claims.session_id,
    );
    if (!user) throw refuse(403, "session_not_found", "Session from session_id claim in JWT does not exist");
    return { user, session_id: String(claims.session_id) };
  }

  // Accounts -----------------------------------------------------------------------------------------------------------

  async function createUser(
    input: Record<string, unknown>,
    user_metadata: unknown,
    app_metadata: unknown,
  ): Promise<User> {
    const email = emailOf(input);
    const password = String(input.password ?? "");
    if (password.length < MIN_PASSWORD) {
      throw refuse(422, "weak_password", `Password should be at least ${MIN_PASSWORD} characters.`);
    }
    const [user] = await rows<User>(
      `insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
                               raw_app_meta_data, raw_user_meta_data)
       values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated', $1, $2, now(), $3, $4)
       on conflict do nothing returning *`,
      email,
      await hashPassword(password),
      JSON.stringify({ provider: "email", providers: ["email"], ...record(app_metadata) }),
      JSON.stringify(record(user_metadata)),
    );
    if (!user) throw refuse(422, "user_already_exists", "User already registered");
    return user;
  }

  async function findUser(id: string): Promise<User> {
    const [user] = await rows<User>("select * from auth.users where id::text = $1 and deleted_at is null", id);
    if (!user) throw refuse(404, "user_not_found", "User not found");
    return user;
  }

  // Routes -------------------------------------------------------------------------------------------------------------

  const app = new Hono().basePath("/auth/v1");
  app.use(
    cors({
      origin: "*",
      allowHeaders: ["authorization", "apikey", "content-type", "x-client-info", "x-supabase-api-version"],
    }),
  );
  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    // a NUL inside user data: text of JSON that Postgres cannot hold
    if ((error as { code?: string }).code === "22P05") {
      return c.json({ code: 400, error_code: "validation_failed", msg: "User data must not contain NUL" }, 400);
    }
    console.error(JSON.stringify({ level: "error", event: "auth_failed", message: error.message }));
    return c.json(
      { code: 500, error_code: "unexpected_failure", msg: "Unexpected failure, please check server logs" },
      500,
    );
  });
  app.notFound((c) => c.json({ code: 404, error_code: "not_found", msg: "Not found" }, 404));

  app.get("/.well-known/jwks.json", (c) => c.json(keySet));
  app.get("/health", (c) => c.json({ name: "GoTrue", version: "local", description: "local Auth issuer" }));

  app.use(async (c, next) => {
    const key = c.req.header("apikey") ?? bearer(c);
    if (!equal(key, config.publishable_key) && !equal(key, config.secret_key)) {
      throw refuse(401, "no_authorization", "Invalid API key");
    }
    await next();
  });
  app.get("/settings", (c) =>
    c.json({
      external: { email: true, phone: false },
      disable_signup: config.signup === false,
      mailer_autoconfirm: true,
      phone_autoconfirm: false,
    }),
  );
  app.post("/signup", async (c) => {
    if (config.signup === false) throw refuse(422, "signup_disabled", "Signups not allowed for this instance");
    const input = await body(c);
    const user = await createUser(input, input.data, {});
    return c.json(await openSignInSession(user, "password"));
  });
  app.post("/token", async (c) => {
    const input = await body(c);
    switch (c.req.query("grant_type")) {
      case "password":
        return c.json(await signIn(emailOf(input), String(input.password ?? "")));
      case "refresh_token":
        return c.json(await refresh(String(input.refresh_token ?? "")));
      default:
        throw refuse(400, "unsupported_grant_type", "unsupported_grant_type");
    }
  });
  app.post("/verify", async (c) => c.json(await verify(await body(c))));
  app.get("/user", async (c) => c.json(present((await signedIn(c)).user)));
  app.post("/logout", async (c) => {
    const { user, session_id } = await signedIn(c);
    const scope = c.req.query("scope") ?? "global";
    await rows(
      `delete from auth.sessions
        where user_id = $1 and case $3 when 'local' then id = $2 when 'others' then id <> $2 else true end`,
      user.id,
      session_id,
      scope,
    );
    return c.body(null, 204);
  });

  app.use("/admin/*", async (c, next) => {
    if (!equal(bearer(c), config.secret_key) && !equal(c.req.header("apikey") ?? "", config.secret_key)) {
      throw refuse(401, "not_admin", "This endpoint requires a valid secret key");
    }
    await next();
  });
  app.post("/admin/users", async (c) => {
    const input = await body(c);
    return c.json(present(await createUser(input, input.user_metadata, input.app_metadata)));
  });
  app.post("/admin/generate_link", async (c) => c.json(await generateLink(await body(c))));
  app.get("/admin/users", async (c) => {
    const per_page = Math.min(Math.max(Number(c.req.query("per_page")) || 50, 1), 1000);
    const page = Math.max(Number(c.req.query("page")) || 1, 1);
    const users = await rows<User>(
      "select * from auth.users where deleted_at is null order by created_at, id limit $1 offset $2",
      per_page,
      (page - 1) * per_page,
    );
    return c.json({ users: users.map(present), aud: "authenticated" });
  });
  app.get("/admin/users/:id", async (c) => c.json(present(await findUser(c.req.param("id")))));
  app.delete("/admin/users/:id", async (c) => {
    const user = await findUser(c.req.param("id"));
    await rows("delete from auth.users where id = $1", user.id);
    return c.json(present(user));
  });

  return { app, close: () => pool.end() };
}

function refuseBanned(user: User, method: Method): void {
  if (user.banned_until && user.banned_until.getTime() > Date.now())
    throw refuse(method === "otp" ? 403 : 400, "user_banned", "User is banned");
}

function newRefreshToken(): string {
  return randomBytes(24).toString("base64url");
}

/** A user as GoTrue writes it. */
function present(user: User) {
  return {
    id: user.id,
    aud: "authenticated",
    role: "authenticated",
    email: user.email,
    email_confirmed_at: user.email_confirmed_at,
    phone: "",
    confirmed_at: user.email_confirmed_at,
    last_sign_in_at: user.last_sign_in_at,
    app_metadata: user.raw_app_meta_data ?? {},
    user_metadata: user.raw_user_meta_data ?? {},
    identities: [],
    created_at: user.created_at,
    updated_at: user.updated_at,
    is_anonymous: false,
  };
}

function refuse(status: 400 | 401 | 403 | 404 | 422, error_code: string, msg: string): HTTPException {
  return new HTTPException(status, { res: Response.json({ code: status, error_code, msg }, { status }) });
}

async function body(c: Context): Promise<Record<string, unknown>> {
  try {
    return record(await c.req.json());
  } catch {
    throw refuse(400, "bad_json", "Could not parse request body as JSON");
  }
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function emailOf(input: Record<string, unknown>): string {
  const email = String(input.email ?? "")
    .trim()
    .toLowerCase();
  if (!/^[^\s@\0]+@[^\s@\0]+$/.test(email) || email.length > 254) {
    throw refuse(400, "validation_failed", "Unable to validate email address: invalid format");
  }
  return email;
}

function bearer(c: Context): string {
  return c.req.header("authorization")?.match(/^Bearer (.+)$/i)?.[1] ?? "";
}

function equal(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

type Derive = (password: string, salt: Buffer, length: number, options: { N: number }) => Promise<Buffer>;
const derive = promisify(scrypt) as Derive;
/** These passwords never leave the developer's machine, so a hash costs 3 ms instead of 50. */
const COST = "1024";
/** Of hashes that do not say their cost. */
const OLD_COST = "16384";
const UNKNOWN_PASSWORD = `${"00".repeat(16)}:${"00".repeat(32)}:${COST}`;

/** As `auth.users.encrypted_password` keeps it here. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `${salt.toString("hex")}:${(await derive(password, salt, 32, { N: Number(COST) })).toString("hex")}:${COST}`;
}

async function verifyPassword(password: string, kept: string): Promise<boolean> {
  const [salt = "", expected = "", cost = OLD_COST] = kept.split(":");
  return equal((await derive(password, Buffer.from(salt, "hex"), 32, { N: Number(cost) })).toString("hex"), expected);
}

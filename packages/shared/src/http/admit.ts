import { readSignInSession } from "#shared/auth/sign_in_session.ts";
import { hashSecret, readAccessToken, sameSecret } from "#shared/auth/tokens.ts";
import type { Caller, Rate } from "#shared/foundation/caller.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError, type ErrorCode, Refusal } from "#shared/foundation/errors.ts";
import type { CallerRule, EndpointSpec } from "./endpoint.ts";

/** A credential whose signature or form was verified; whether it is still good is for the database to say. */
type Credential =
  | { kind: "cpo"; client_id: string; token_id: string; scopes: string[]; issued_at: number }
  | {
      kind: "user";
      client_id: string;
      user_id: string;
      grant_id: string;
      token_id: string;
      scopes: string[];
      issued_at: number;
    }
  | { kind: "personal_token"; token_hash: string }
  | { kind: "partner_key"; key_hash: string; key_host: Caller["host"]; host: Caller["host"] }
  | { kind: "session"; user_id: string; session_id: string | null };

/** One way to read a bearer: the credential, or null where it is of another kind, or not a good one of this kind. */
type Reader = (bearer: string, environment: Environment) => Promise<Credential | null>;

const readJwt: Reader = async (bearer, environment) => {
  const token = await readAccessToken(environment, bearer);
  if (!token) return null;
  const { clientId: client_id, id: token_id, scopes, issuedAt: issued_at } = token;
  // under the client-credentials grant a token's subject is the client itself (RFC 9068 section 2.2)
  if (token.subject === client_id) return { kind: "cpo", client_id, token_id, scopes, issued_at };
  if (!token.grantId) return null;
  return {
    kind: "user",
    client_id,
    user_id: token.subject,
    grant_id: token.grantId,
    token_id,
    scopes,
    issued_at,
  };
};

const readPersonalToken: Reader = async (bearer, { config }) =>
  bearer.startsWith(`${config.KEY_PREFIX}_pat_`) ? { kind: "personal_token", token_hash: hashSecret(bearer) } : null;

const readPartnerKey: Reader = async (bearer, { config }) => {
  const key_host = partnerKeyHost(bearer, config.KEY_PREFIX);
  return key_host && { kind: "partner_key", key_hash: hashSecret(bearer), key_host, host: config.API_HOST };
};

/** The host a partner key says it is for, or null when it is none. Keys live in the database of their host. */
function partnerKeyHost(bearer: string, prefix: string): "sandbox" | "production" | null {
  if (bearer.startsWith(`${prefix}_test_`)) return "sandbox";
  return bearer.startsWith(`${prefix}_live_`) ? "production" : null;
}

const readSignInSessionJwt: Reader = async (bearer, environment) => {
  const session = await readSignInSession(environment, bearer);
  return session && { kind: "session", user_id: session.userId, session_id: session.sessionId };
};

const READERS: readonly Reader[] = [readPersonalToken, readPartnerKey, readJwt, readSignInSessionJwt];

/** Refusals of a good credential of the wrong kind: credential x kind of caller the route wants (docs/decisions.md §1). */
const WRONG_KIND: Record<Credential["kind"], Partial<Record<CallerRule["kind"], ErrorCode>>> = {
  cpo: { user: "insufficient_scope", partner: "insufficient_scope", sandbox: "insufficient_scope" },
  user: { cpo: "cpo_token_required", sandbox: "insufficient_scope" },
  personal_token: { cpo: "cpo_token_required", sandbox: "insufficient_scope" },
  partner_key: { cpo: "insufficient_scope", user: "insufficient_scope", session: "partner_api_key_scope" },
  session: {},
};

function wrongKind(credential: Credential, rule: CallerRule): ApiError {
  const code = WRONG_KIND[credential.kind][rule.kind] ?? "missing_or_invalid_token";
  if (code === "insufficient_scope" && "scope" in rule) {
    return rule.scope ? new ApiError(code, { required_scope: rule.scope }) : new ApiError("partner_api_key_scope");
  }
  // the catalogue takes any CPO token, whatever its scopes
  if (code === "cpo_token_required" && "scope" in rule && !rule.scope)
    return new ApiError(code, { required_scope: "any" });
  return new ApiError(code);
}

type Admission = { caller: Caller; rate: Rate | null };

/**
 * Admits a request to an endpoint, failing closed: credential (401), kind of caller (403), scope (403), rate limit (429), in
 * that order. Signatures are checked before the database is touched; the database decides the rest in one statement.
 * @throws {ApiError} the refusal.
 */
export async function admit(
  spec: EndpointSpec,
  request: Request,
  environment: Environment,
  requestId: string,
): Promise<Admission> {
  const base = { host: environment.config.API_HOST, request_id: requestId };
  if (spec.caller.kind === "anyone") return { caller: { kind: "anyone", ...base }, rate: null };

  const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  if (!bearer) throw new ApiError("missing_or_invalid_token");

  if (spec.caller.kind === "worker") {
    if (!sameSecret(bearer, environment.config.WORKER_SECRET)) throw new ApiError("missing_or_invalid_token");
    return { caller: { kind: "worker", ...base }, rate: null };
  }
  return admitBearer(spec, bearer, environment, requestId);
}

/**
 * Admits whoever a bearer is of, as admit() does for a request that carries it in its header.
 * @throws {ApiError} the refusal.
 */
export async function admitBearer(
  spec: Pick<EndpointSpec, "caller" | "limit">,
  bearer: string,
  environment: Environment,
  requestId: string,
): Promise<Admission> {
  const credential = await read(bearer, environment);
  if (!credential) throw new ApiError("missing_or_invalid_token");
  const { kind, scope = null, key = false } = spec.caller as { kind: string; scope?: string | null; key?: boolean };
  try {
    const admitted = JSON.parse(
      await environment.db.call("admit", credential, { kind, scope, key, bucket: spec.limit }),
    );
    const base = { host: environment.config.API_HOST, request_id: requestId };
    return { caller: { ...admitted.caller, ...base }, rate: admitted.rate };
  } catch (error) {
    if (error instanceof Refusal && error.code === "wrong_kind") throw wrongKind(credential, spec.caller);
    if (error instanceof ApiError && error.code === "missing_or_invalid_token") throw explained(error, credential);
    if (error instanceof ApiError && error.code !== "service_unavailable") throw error;
    throw new ApiError("authentication_unavailable", {}, error);
  }
}

/** A partner key that says itself that it is for the other host: the one refusal of a credential that is worth explaining. */
function explained(error: ApiError, credential: Credential): ApiError {
  if (credential.kind !== "partner_key" || credential.key_host === credential.host) return error;
  const { key_host, host } = credential;
  return new ApiError(error.code, { detail: `This is a ${key_host} key; it does not work on the ${host} host.` });
}

async function read(bearer: string, environment: Environment): Promise<Credential | null> {
  for (const reader of READERS) {
    const credential = await reader(bearer, environment);
    if (credential) return credential;
  }
  return null;
}

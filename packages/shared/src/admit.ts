import type { Caller, CallerRule, EndpointSpec, Rate } from "./endpoint.ts";
import type { Environment } from "./environment.ts";
import { ApiError, type ErrorCode } from "./errors.ts";
import { readAccessToken, sameSecret } from "./tokens.ts";

/** A credential whose signature or form was verified; whether it is still good is for the database to say. */
type Credential =
  | { kind: "cpo"; client_id: string; scopes: string[]; issued_at: number }
  | { kind: "user"; client_id: string; scopes: string[]; issued_at: number };

/** One way to read a bearer: a credential, or null for "not mine". A reader that recognises a bad one says so with null too. */
type Reader = (bearer: string, environment: Environment) => Promise<Credential | null>;

const readJwt: Reader = async (bearer, environment) => {
  const token = await readAccessToken(environment, bearer);
  if (!token) return null;
  // under the client-credentials grant a token's subject is the client itself (RFC 9068 section 2.2)
  const kind = token.subject === token.clientId ? "cpo" : "user";
  return { kind, client_id: token.clientId, scopes: token.scopes, issued_at: token.issuedAt };
};

const READERS: readonly Reader[] = [readJwt];

/** Refusals of a good credential of the wrong kind: credential x kind of caller the route wants (contract table 1). */
const WRONG_KIND: Record<Credential["kind"], Partial<Record<CallerRule["kind"], ErrorCode>>> = {
  cpo: {},
  user: { cpo: "cpo_token_required" },
};

export type Admission = { caller: Caller; rate: Rate | null };

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

  const credential = await read(bearer, environment);
  if (!credential) throw new ApiError("missing_or_invalid_token");
  if (credential.kind !== spec.caller.kind) {
    const code = WRONG_KIND[credential.kind][spec.caller.kind] ?? "missing_or_invalid_token";
    throw new ApiError(code, code === "cpo_token_required" && !spec.caller.scope ? { required_scope: "any" } : {});
  }
  try {
    const answer = await environment.db.call("admit", credential, { scope: spec.caller.scope, bucket: spec.limit });
    const { caller, rate } = JSON.parse(answer) as { caller: Omit<Caller, keyof typeof base>; rate: Rate };
    return { caller: { ...caller, ...base }, rate };
  } catch (error) {
    throw error instanceof ApiError && error.code !== "service_unavailable"
      ? error
      : new ApiError("authentication_unavailable", {}, error);
  }
}

async function read(bearer: string, environment: Environment): Promise<Credential | null> {
  for (const reader of READERS) {
    const credential = await reader(bearer, environment);
    if (credential) return credential;
  }
  return null;
}

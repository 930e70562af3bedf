import { readSignInSession } from "#shared/auth/sign_in_session.ts";
import { hashSecret, opens, readAccessToken } from "#shared/auth/tokens.ts";
import type {} from "#shared/foundation/admission.ts";
import type { Json, SqlAnswer } from "#shared/foundation/answers.ts";
import { BoundedMap } from "#shared/foundation/bounded_map.ts";
import type { Entering } from "#shared/foundation/call.ts";
import type { Admitted, Caller, Ticket } from "#shared/foundation/caller.ts";
import { type Db, NotAdmitted, ranOutOfTime, read } from "#shared/foundation/db.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError, type ErrorCode } from "#shared/foundation/errors.ts";
import type { Replica } from "#shared/foundation/replica.ts";
import type { CallerRule, EndpointSpec } from "./endpoint.ts";

/** A credential with a valid signature or form. The database decides whether it is still valid. */
type Credential =
  | { kind: "cpo"; client_id: string; token_id: string; scopes: string[]; secret_number: number }
  | {
      kind: "user";
      client_id: string;
      user_id: string;
      grant_id: string;
      token_id: string;
      scopes: string[];
      secret_number: number;
    }
  | { kind: "personal_token"; token_hash: string }
  | { kind: "partner_key"; key_hash: string; key_host: Caller["host"]; host: Caller["host"] }
  | { kind: "session"; user_id: string; session_id: string | null }
  /** A token of ours, as an OCPI platform sends it: decoded, and as it came. */
  | { kind: "ocpi_token"; token_hashes: string[] }
  /** A browser signed in to a person's pages. This is never a bearer: only pages use it. */
  | { kind: "page_session"; token_hash: string };

/** One way to read a bearer: returns the credential, or null if it is another kind or invalid. */
type Reader = (bearer: string, environment: Environment) => Promise<Credential | null>;

const readJwt: Reader = async (bearer, environment) => {
  const token = await readAccessToken(environment, bearer);
  if (!token) return null;
  const { clientId: client_id, id: token_id, scopes, secretNumber: secret_number } = token;
  // under the client-credentials grant a token's subject is the client itself (RFC 9068 section 2.2)
  if (token.subject === client_id) return { kind: "cpo", client_id, token_id, scopes, secret_number };
  if (!token.grantId) return null;
  return {
    kind: "user",
    client_id,
    user_id: token.subject,
    grant_id: token.grantId,
    token_id,
    scopes,
    secret_number,
  };
};

const readPersonalToken: Reader = async (bearer, { config }) =>
  bearer.startsWith(`${config.KEY_PREFIX}_pat_`) ? { kind: "personal_token", token_hash: hashSecret(bearer) } : null;

const readPartnerKey: Reader = async (bearer, { config }) => {
  const key_host = partnerKeyHost(bearer, config.KEY_PREFIX);
  return key_host && { kind: "partner_key", key_hash: hashSecret(bearer), key_host, host: config.API_HOST };
};

/** The host in a partner key, or null if it is not a partner key. Each host's database has its own keys. */
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
const PERSON = { cpo: "cpo_token_required", sandbox: "insufficient_scope" } as const;
const WRONG_KIND: { [kind in Credential["kind"]]?: { [wanted in CallerRule["kind"]]?: ErrorCode } } = {
  cpo: { user: "insufficient_scope", partner: "insufficient_scope", sandbox: "insufficient_scope" },
  user: PERSON,
  personal_token: PERSON,
  partner_key: { cpo: "insufficient_scope", user: "insufficient_scope", session: "partner_api_key_scope" },
};

function wrongKind(credential: Credential, rule: CallerRule): ApiError {
  const code = WRONG_KIND[credential.kind]?.[rule.kind] ?? "missing_or_invalid_token";
  if (code === "insufficient_scope" && "scope" in rule) {
    return rule.scope ? new ApiError(code, { required_scope: rule.scope }) : new ApiError("partner_api_key_scope");
  }
  // the catalogue takes any CPO token, whatever its scopes
  if (code === "cpo_token_required" && "scope" in rule && !rule.scope)
    return new ApiError(code, { required_scope: "any" });
  return new ApiError(code);
}

/** For an endpoint, for signed-in pages, or for OCPI. */
type Rule = {
  caller: CallerRule | { kind: "ocpi"; scope: "cdrs" | null };
  limit: EndpointSpec["limit"] | "page" | "ocpi";
};

/** They act for another partner now than the request is for. Nothing was done. */
export class TenantChanged extends ApiError {
  constructor(cause: Error) {
    super("service_unavailable", {}, cause);
  }
}

/**
 * The partner of each CPO client, as this process last saw it. Only a guess, because the operator may link a client
 * to another partner.
 */
const TENANTS = new BoundedMap<string, string>(10_000);

/**
 * The caller of a request, as a promise. At first only the form and signature of the credential are checked. The first
 * statement then admits the caller, or fails closed, and debits their rate limit, together with its own work. Order:
 * credential (401), kind of caller (403), scope (403), rate limit (429).
 */
export class Admission implements Entering {
  readonly #environment: Environment;
  readonly #rule: Rule;
  readonly #ticket: Ticket | null;
  /** The database's decision, which is final; undefined until it was asked. */
  #decision: Promise<Admitted> | undefined;
  /** Who was admitted, for whoever cannot wait; null before that, or if they were refused. */
  admitted: Admitted | null;
  /** For the log: set once a replica answered. */
  readOn: "replica" | undefined;

  private constructor(environment: Environment, rule: Rule, ticket: Ticket | null, admitted: Admitted | null = null) {
    this.#environment = environment;
    this.#rule = rule;
    this.#ticket = ticket;
    this.admitted = admitted;
    if (admitted) this.#decide(Promise.resolve(admitted));
  }

  /** Of a caller who needs no decision of the database. */
  static of(environment: Environment, rule: Rule, caller: Caller): Admission {
    return new Admission(environment, rule, null, { caller, rate: null });
  }

  /**
   * `tenant` is the partner the request is for, if it says so. A caller who acts for another partner now is not
   * admitted.
   */
  static with(
    credential: Credential,
    environment: Environment,
    rule: Rule,
    requestId: string,
    tenant?: string,
  ): Admission {
    const { kind, scope = null, key = false } = rule.caller as { kind: string; scope?: string | null; key?: boolean };
    return new Admission(environment, rule, {
      credential,
      demand: { kind, scope, key, bucket: rule.limit },
      host: environment.config.API_HOST,
      request_id: requestId,
      ...(tenant ? { tenant } : {}),
    });
  }

  /** Whether it makes sense to ask the database: it has not admitted or refused yet, and was reachable. */
  get isWaiting(): boolean {
    return !this.#decision;
  }

  /**
   * The partner they act for, needed to prepare something before the first statement. Guessed if this process has
   * seen them before; the statement then admits them only for that partner.
   */
  async tenant(): Promise<string> {
    const guess = this.#ticket && TENANTS.get(clientOf(this.#ticket));
    if (this.#ticket && guess && !this.admitted) {
      this.#ticket.tenant = guess;
      return guess;
    }
    return (await this.admit()).caller.partner_id ?? "";
  }

  async enter(db: Db, name: string, input: (object | null)[], replica?: Replica): Promise<string> {
    if (replica?.isTried) {
      const { caller, flushed } = await this.admit();
      const answer = flushed ? await replica.read(name, caller, flushed, input[0] ?? null) : null;
      if (answer !== null) {
        this.readOn = "replica";
        return answer;
      }
    }
    if (this.#decision) return db.call(name, (await this.#decision).caller, ...input);
    const { answer, admission } = await this.#present((ticket) => db.open(name, ticket, ...input));
    this.#decide(Promise.resolve(this.#keep(admission)));
    return read(name, answer);
  }

  /**
   * Admission in its own statement, if no other statement did it. That happens if the request needs nothing from the
   * database, or is too large to read before admission. It also happens if a refusal rolled back the debit.
   */
  admit(): Promise<Admitted> {
    // whatever the result, it is not asked again
    return (
      this.#decision ??
      this.#decide(
        this.#present((ticket) => this.#environment.db.call("admit", ticket)).then((admission) =>
          this.#keep(admission),
        ),
      )
    );
  }

  #decide(decision: Promise<Admitted>): Promise<Admitted> {
    // whoever awaits it sees a refusal; maybe nobody does
    decision.catch(() => {});
    this.#decision = decision;
    return decision;
  }

  #keep(admission: string): Admitted {
    const { caller, ...rest } = JSON.parse(admission as Json<SqlAnswer<"admit" | "charge">>);
    const { host, request_id } = this.#ticket as Ticket;
    this.admitted = { caller: { ...caller, host, request_id }, ...rest };
    if (caller.kind === "cpo" && caller.partner_id) TENANTS.set(clientOf(this.#ticket as Ticket), caller.partner_id);
    return this.admitted;
  }

  /**
   * @throws {ApiError} why they are not admitted
   * @throws the statement's error, if it failed after admission
   */
  async #present<T>(run: (ticket: Ticket) => Promise<T>): Promise<T> {
    try {
      return await run(this.#ticket as Ticket);
    } catch (error) {
      if (error instanceof NotAdmitted) throw this.#close(this.#refused(error));
      // a lock timeout or a statement timeout came after admission, so it is charged like a refusal
      if (error instanceof ApiError && error.code === "service_unavailable" && !ranOutOfTime(error.cause))
        throw this.#close(new ApiError("authentication_unavailable", {}, error));
      throw error;
    }
  }

  #close(why: Error): Error {
    this.#decide(Promise.reject(why));
    return why;
  }

  #refused({ refusal }: NotAdmitted): Error {
    const credential = (this.#ticket as Ticket).credential as Credential;
    if (refusal.code === "tenant_changed") {
      TENANTS.delete(clientOf(this.#ticket as Ticket));
      return new TenantChanged(refusal);
    }
    if (refusal.code === "wrong_kind") return wrongKind(credential, this.#rule.caller as CallerRule);
    return refusal.code === "missing_or_invalid_token" ? explained(refusal as ApiError, credential) : refusal;
  }
}

/**
 * Reads the credential of a request. Refuses what needs no database: a missing, forged or expired credential.
 * @throws {ApiError} `missing_or_invalid_token`
 */
export async function admissionOf(
  rule: Rule,
  request: Request,
  environment: Environment,
  requestId: string,
): Promise<Admission> {
  const base = { host: environment.config.API_HOST, request_id: requestId };
  if (rule.caller.kind === "anyone") return Admission.of(environment, rule, { kind: "anyone", ...base });

  const sent = request.headers.get("authorization");
  const bearer = /^Bearer +([\x21-\x7e]+)$/i.exec(sent ?? "")?.[1];
  if (!bearer) throw (await import("./explain.ts")).noBearer(sent);

  if (rule.caller.kind === "worker") {
    const { secret } = rule.caller;
    if (!opens(bearer, environment.config[secret])) throw new ApiError("missing_or_invalid_token");
    // the gateway is a caller of its own: in SQL it acts for the owner of a charger, and reaches nobody else's rows
    const kind = secret === "GATEWAY_SECRET" ? "gateway" : "worker";
    return Admission.of(environment, rule, { kind, ...base });
  }
  return readBearer(rule, bearer, environment, requestId);
}

/**
 * The owner of a bearer, as admissionOf() reads it from the header.
 * @throws like admissionOf()
 */
export async function readBearer(
  rule: Rule,
  bearer: string,
  environment: Environment,
  requestId: string,
): Promise<Admission> {
  for (const reader of READERS) {
    const credential = await reader(bearer, environment);
    if (credential) return Admission.with(credential, environment, rule, requestId);
  }
  throw (await import("./explain.ts")).unread(bearer, environment);
}

/** The CPO client of a ticket; empty for other credentials, whose partner is not remembered. */
const clientOf = (ticket: Ticket) => {
  const credential = ticket.credential as Credential;
  return credential.kind === "cpo" ? credential.client_id : "";
};

/** A partner key of the other host. This is the only refused credential that gets an explanation. */
function explained(error: ApiError, credential: Credential): ApiError {
  if (credential.kind !== "partner_key" || credential.key_host === credential.host) return error;
  const { key_host, host } = credential;
  return new ApiError(error.code, { detail: `This is a ${key_host} key; it does not work on the ${host} host.` });
}

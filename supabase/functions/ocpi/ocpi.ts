import { Hono } from "hono";
import { getPath } from "hono/utils/url";
import { hashSecret } from "#shared/auth/tokens.ts";
import { tokensIn } from "#shared/domain/charging_in/ocpi/credentials.ts";
import { partyIn, routingOf } from "#shared/domain/charging_in/ocpi/routing.ts";
import { callFor } from "#shared/foundation/call.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError, type ErrorCode, isErrorCode } from "#shared/foundation/errors.ts";
import { logRequest } from "#shared/foundation/log.ts";
import { Admission } from "#shared/http/admit.ts";
import { readText } from "#shared/http/body.ts";
import type { Pages } from "#shared/http/serve.ts";
import { receiveCdr, showCdr } from "./cdrs.ts";
import { register, showCredentials, unregister } from "./credentials.ts";
import { OcpiAnswer } from "./envelope.ts";
import { type PlatformRequest, SQL } from "./platform_request.ts";
import { showDetails, showVersions } from "./versions.ts";

const MAX_BODY = 256 * 1024;

type Handler = (asked: PlatformRequest) => Promise<OcpiAnswer>;
type Route = { run: Handler; scope: "cdrs" | null };

/** By path and method. A registration token opens those without a scope. */
const ROUTES: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
  "/ocpi/versions": { GET: { run: showVersions, scope: null } },
  "/ocpi/2.2.1": { GET: { run: showDetails, scope: null } },
  "/ocpi/2.2.1/credentials": {
    GET: { run: showCredentials, scope: null },
    POST: { run: register("POST"), scope: null },
    PUT: { run: register("PUT"), scope: null },
    DELETE: { run: unregister, scope: null },
  },
  "/ocpi/2.2.1/receiver/cdrs": { POST: { run: receiveCdr, scope: "cdrs" } },
  "/ocpi/2.2.1/receiver/cdrs/:party/:cdr_id": { GET: { run: showCdr, scope: "cdrs" } },
};

/** Where OCPI answers otherwise than the error table: a broken field reached the OCPI layer, and a full lot is ours. */
const STATUS: Partial<Record<ErrorCode, number>> = { invalid_request: 200, parked_limit: 503 };

function refused(error: ApiError): OcpiAnswer {
  const status = STATUS[error.code] ?? error.status;
  const code = status >= 500 ? 3000 : error.code === "invalid_request" || error.code === "invalid_json" ? 2001 : 2000;
  // OCPI's own scheme, not ours
  const message =
    error.code === "missing_or_invalid_token"
      ? "Send Authorization: Token and your token of this connection, in base64."
      : String(error.body().detail);
  return new OcpiAnswer(status, code, undefined, message);
}

/** As a client may name its requests: printable, 64 characters at most. */
const idIn = (request: Request, header: string) => /^[\x21-\x7e]{1,64}$/.exec(request.headers.get(header) ?? "")?.[0];

async function handle(
  environment: Environment,
  self: string,
  { run, scope }: Route,
  request: Request,
  params: Record<string, string>,
  asked: { request_id: string; admission?: Admission; notes: Record<string, string> },
): Promise<OcpiAnswer> {
  const tokens = tokensIn(request.headers.get("authorization"));
  if (tokens.length === 0) throw new ApiError("missing_or_invalid_token");
  const rule = { caller: { kind: "ocpi", scope }, limit: "ocpi" } as const;
  const credential = { kind: "ocpi_token", token_hashes: tokens.map(hashSecret) } as const;
  const admission = Admission.with({ ...credential }, environment, rule, asked.request_id);
  asked.admission = admission;
  if (Number(request.headers.get("content-length") ?? 0) > 64 * 1024) await admission.admit();
  if (!/^(identity)?$/i.test(request.headers.get("content-encoding") ?? "")) {
    await admission.admit();
    return new OcpiAnswer(415, 2000, undefined, "Send the body without Content-Encoding.");
  }
  const hasBody = request.method === "POST" || request.method === "PUT";
  try {
    const answer = await run({
      environment,
      self,
      request,
      param: (name) => params[name] ?? "",
      text: hasBody ? await readText(request, MAX_BODY) : "",
      tokens,
      call: callFor({ id: "ocpi", sql: SQL }, environment, admission),
      owner: async () => (await admission.admit()).caller.client_id ?? "",
      note: (line) => Object.assign(asked.notes, line),
    });
    await admission.admit();
    return answer;
  } catch (error) {
    // the rollback undid the admission and its debit; count the request anyway
    if (admission.isWaiting) await admission.admit();
    throw error;
  }
}

/** The function, with OCPI's envelope on every answer. Without OCPI_PARTY it has no routes. */
function routes(environment: Environment): Hono {
  // a slash at the end is the same path
  const app = new Hono({ getPath: (request) => getPath(request).replace(/(?<=.)\/+$/, "") });
  const { OCPI_PARTY: self } = environment.config;
  const respond = async (request: Request, path: string | null, params: Record<string, string>) => {
    const started = performance.now();
    const asked: Parameters<typeof handle>[5] = { request_id: crypto.randomUUID(), notes: {} };
    let answer: OcpiAnswer;
    let failure: ApiError | undefined;
    try {
      if (!self || !path) throw new ApiError("not_found");
      const methods = ROUTES[path] ?? {};
      const route = methods[request.method];
      if (!route) {
        answer = new OcpiAnswer(405, 2000, undefined, `This path takes ${Object.keys(methods).join(", ")}.`);
        answer.headers.Allow = Object.keys(methods).join(", ");
      } else answer = await handle(environment, self, route, request, params, asked);
    } catch (error) {
      failure =
        error instanceof ApiError && isErrorCode(error.code) ? error : new ApiError("internal_error", {}, error);
      answer = refused(failure);
      if (failure.retryAfter !== null) answer.headers["Retry-After"] = String(failure.retryAfter);
    }
    const theirs = idIn(request, "x-request-id");
    const correlation = idIn(request, "x-correlation-id");
    const caller = asked.admission?.admitted?.caller;
    logRequest(
      environment.log,
      started,
      {
        request_id: asked.request_id,
        function: "ocpi",
        method: request.method,
        route: path ?? "none",
        status: answer.status,
        status_code: answer.code,
        client_id: caller?.client_id,
        partner_id: caller?.partner_id,
        their_request_id: theirs,
        correlation_id: correlation,
        error: failure?.code,
        ...asked.notes,
      },
      failure,
    );
    const isFunctional = ROUTES[path ?? ""]?.[request.method]?.scope === "cdrs";
    return answer.respond(environment.now(), {
      ...(isFunctional ? routingOf({ from: self, to: partyIn(request.headers, "from") }) : {}),
      "X-Request-ID": theirs ?? asked.request_id,
      ...(correlation ? { "X-Correlation-ID": correlation } : {}),
    });
  };
  if (self) for (const path of Object.keys(ROUTES)) app.all(path, (c) => respond(c.req.raw, path, c.req.param()));
  app.all("/*", (c) => respond(c.req.raw, null, {}));
  return app;
}

export const ocpi: Pages = { sql: SQL, slow: [], maxBody: MAX_BODY, routes };

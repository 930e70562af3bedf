import type { ErrorField, ErrorFields } from "./error_fields.ts";
import { fitsIn, type Rate } from "./rate.ts";

/**
 * The error table: the one place that knows a status number or the text of an error on the wire.
 *
 * A key is the name used inside (TypeScript and SQL alike); `error` is what the client reads, where the specification's text
 * differs from the key. `detail` says what to do next, and `message` is the text of that field where the specification has one. `fields` names what else the body may carry (specification section 7): see
 * error_fields.ts.
 */
type ErrorRow = {
  status: number;
  error?: string;
  detail: string;
  message?: string;
  fields?: readonly ErrorField[];
  /** False: a repeat fails too, until a person changes something. The answer then has no Retry-After. */
  retry?: false;
};

const table = {
  // 400: cannot be read, or breaks a field rule
  invalid_json: { status: 400, detail: "Send one JSON object, encoded as UTF-8." },
  invalid_request: { status: 400, detail: "A field breaks its rule; see issues.", fields: ["issues", "step"] },
  invalid_iban: { status: 400, detail: "An IBAN is 15 to 34 letters and digits; nothing was changed." },
  invalid_ean: { status: 400, detail: "An EAN is 18 digits." },
  vendor_and_model_required: {
    status: 400,
    detail: "Send vendor and model, as the charger reports them in its BootNotification.",
  },
  connection_type_required: {
    status: 400,
    error: 'connection_type is required and must be "ocpp"',
    detail: "Chargers of other makers' clouds are linked in the dashboard; here an OCPP charger is registered.",
  },
  serial_number_required: {
    status: 400,
    detail: "From the second charger on, serial_number is required: it is the idempotency key.",
  },
  invalid_cursor: {
    status: 400,
    detail: "after is no next_cursor of this list; leave it out to begin at its start.",
  },
  return_url_not_allowed: {
    status: 400,
    detail:
      "return_url must start with the URL registered for this client, followed by /, ? or nothing, without a fragment.",
    message: "return_url must be the registered return URL, followed by /, ? or nothing, without a fragment.",
    fields: ["message"],
  },
  draft_id_required: {
    status: 400,
    detail: "Send draft_id, from GET /partner/drafts or the answer of the import; sign-in links also take email.",
    fields: ["code"],
  },
  consent_required: {
    status: 400,
    detail: "Send consent: true once every customer agreed that you pass their data on.",
    message: "Bevestig met consent: true dat elke klant toestemming gaf om zijn of haar gegevens met ons te delen.",
    fields: ["message"],
  },
  unknown_state: {
    status: 400,
    detail: "states are eligible, rejected, no_mandate, ean_unverified, no_mid_charger and no_iban. Nothing was made.",
    fields: ["unknown"],
  },
  unsupported_grant_type: {
    status: 400,
    detail: "grant_type must be client_credentials, authorization_code or refresh_token.",
  },
  unauthorized_client: { status: 400, detail: "This client is not provisioned for this grant; ask the operator." },
  invalid_scope: { status: 400, detail: "The requested scope exceeds what this client was granted." },
  invalid_grant: {
    status: 400,
    detail:
      "This code or refresh token is unknown, expired, used, revoked, or was given for another client, redirect_uri or code_challenge. Send the user to the authorization page again.",
  },
  unsupported_response_type: { status: 400, detail: "response_type must be code." },
  invalid_redirect_uri: {
    status: 400,
    detail: "redirect_uri must be one registered for this client, letter for letter.",
  },

  // 401: no credential that can be read
  missing_or_invalid_token: {
    status: 401,
    error: "Missing or invalid API token",
    detail: "Send Authorization: Bearer with a valid, unexpired credential for this host.",
  },
  invalid_client: {
    status: 401,
    detail:
      "Unknown client, wrong secret, or credentials outside the body. Send client_id and client_secret in the body.",
  },

  // 403: readable, but not for this
  cpo_token_required: {
    status: 403,
    detail: "This route needs a client-credentials token of a CPO client.",
    fields: ["required_scope"],
  },
  client_not_linked: { status: 403, detail: "This client is not linked to an active partner yet; ask the operator." },
  no_partner_linked: {
    status: 403,
    error: "No partner is linked to this API key",
    detail: "The credential is good, but no active partner stands behind it; ask the operator.",
  },
  recent_sign_in_required: {
    status: 403,
    detail:
      "A token that lasts longer than a year is made within 15 minutes of signing in. Sign in again, or give an earlier expires_at.",
  },
  partner_api_key_scope: { status: 403, detail: "A partner API key reaches the Partner API only." },
  insufficient_scope: {
    status: 403,
    error: "Insufficient scope",
    detail: "The credential lacks the scope this route needs.",
    fields: ["required_scope"],
  },

  // 404: no such thing for this caller; a foreign tenant's object answers the same
  not_found: { status: 404, error: "Not found", detail: "No route answers this method and path; see GET /docs." },
  account_not_found: { status: 404, detail: "No account of this client has that id or reference." },
  connection_not_found: {
    status: 404,
    detail: "No active connection of this client matches everything that was sent.",
  },
  charger_not_found: {
    status: 404,
    detail: "You have no such charger, by this id or external_ref; a new password is for one that connects by OCPP.",
  },
  statement_not_found: { status: 404, detail: "No payout to this customer has that id." },
  upload_not_found: { status: 404, detail: "You have no upload with this id." },
  charging_session_not_found: { status: 404, detail: "You have no charging session with this id." },
  settlement_not_found: { status: 404, detail: "No payment that was made to you has a settlement with that id." },
  invoice_not_found: { status: 404, detail: "You have no invoice with that number." },
  mandate_not_found: { status: 404, detail: "Nobody has signed a mandate for this connection yet." },
  customer_not_found: {
    status: 404,
    detail: "You have brought no customer with that customer_ref or account id.",
    fields: ["step"],
  },
  draft_not_found: { status: 404, detail: "You have no draft with that id or address.", fields: ["code"] },
  webhook_not_found: { status: 404, detail: "You have no webhook endpoint with that id." },
  event_not_found: { status: 404, detail: "This log has no event with that id, or it is older than 90 days." },

  token_not_found: { status: 404, detail: "You have no token with that id." },

  claim_not_open: {
    status: 404,
    detail: "This claim is at another step, has ended, or cannot begin; open its link to see.",
  },
  claim_conflict: {
    status: 404,
    detail: "The e-mail address or the EAN is registered with us in another way; the draft is in conflict.",
  },
  link_not_open: { status: 404, detail: "This link was used, has expired or never was; ask for a new one." },

  cdr_not_found: { status: 404, detail: "You sent no CDR with this party and id." },

  // 405: OCPI's credentials
  ocpi_method: {
    status: 405,
    detail: "POST registers, once. PUT and DELETE are for a platform that is registered. Ask the operator for a token.",
  },

  // 408: it took too long
  request_timeout: { status: 408, detail: "The body did not arrive whole within 30 seconds. Send it again." },

  // 409: the right thing in the wrong state
  mandate_changed: { status: 409, detail: "The facts are no longer those that were read. Read the mandate again." },
  ocpp_identity_taken: {
    status: 409,
    error: 'A charger with ocpp_identity "{ocpp_identity}" already exists',
    detail: "Choose another ocpp_identity, or leave it out and take the one you are given.",
    fields: ["ocpp_identity"],
  },
  connection_superseded: {
    status: 409,
    detail: "The charger was removed, got a new password, or has a newer connection. Close this one.",
  },
  token_limit_reached: { status: 409, detail: "You have 50 tokens; revoke one first." },
  name_taken: {
    status: 409,
    detail: "Another charger of yours has this name (kind says which); remove it there first. Nothing was changed.",
    fields: ["kind"],
  },
  parked_limit: {
    status: 409,
    detail:
      "200,000 of your sessions wait for their charger. Give their names to chargers first; see GET /v1/charging-sessions/parked. Nothing was stored.",
  },
  ean_in_use: { status: 409, detail: "Another active connection holds this EAN.", fields: ["step"] },
  no_connection: { status: 409, detail: "The account has no active connection.", fields: ["step"] },
  ambiguous_connection: { status: 409, detail: "The account has several active connections; send connection_id." },
  mandate_acknowledgement_required: {
    status: 409,
    detail:
      "This change revokes the connection's mandate, and months that are not registered no longer count. Repeat with acknowledge_mandate_lapses: true. The connection stays as it was.",
  },
  mandate_already_signed: { status: 409, detail: "The connection already has a signed mandate." },
  draft_active: {
    status: 409,
    detail:
      "The customer has claimed this draft and it is an account now; they turn off sharing in their own account. Nothing was changed.",
    fields: ["code"],
  },
  draft_not_claimable: {
    status: 409,
    detail: "This draft cannot be claimed any more; reason says why.",
    fields: ["status", "reason", "draft_status", "step"],
  },
  unsupported_type: {
    status: 409,
    detail:
      "A virtual charger and submission are for particulier drafts; claim this one without submit. Nothing was done.",
  },
  nothing_to_review: {
    status: 409,
    detail:
      "No registration of this customer waits for review. One is decided once. Of a CPO account it is submitted when the last of the four gates opens, and closed_gates says which are closed; of a draft when the customer submits.",
    fields: ["registration_status", "closed_gates"],
  },
  nothing_to_settle: {
    status: 409,
    detail:
      "No month of this quarter can be booked, and none is settled; left_out says why each is not. A month counts once it is over, of a connection whose four gates are open and whose registration is approved.",
    fields: ["left_out"],
  },
  api_key_exists: {
    status: 409,
    detail: "You have an active API key. Send rotate: true to replace it; the old one stops working at once.",
  },
  charger_limit_reached: {
    status: 409,
    detail: "An account, or a person, holds at most 10 active chargers.",
    fields: ["step"],
  },
  endpoint_limit: {
    status: 409,
    detail: "An event log has at most 10 webhook endpoints; revoke one first.",
  },
  endpoint_disabled: { status: 409, detail: "Nothing is sent to a disabled endpoint; enable it first." },
  charger_claimed: {
    status: 409,
    detail: "A charger of this brand with this serial number is active on another account.",
    fields: ["step"],
  },

  // 410: it was there
  cursor_expired: {
    status: 410,
    detail:
      "An event after this cursor is older than 90 days and is not kept. Read on from oldest_cursor, and look up by the other endpoints what you may have missed.",
    fields: ["oldest_cursor"],
  },

  // 413, 415, 422: understood, but too much or impossible
  payload_too_large: { status: 413, detail: "The body is larger than this route accepts." },
  file_type: { status: 415, detail: 'Send an Excel workbook (.xlsx) or "CSV UTF-8".' },
  unreadable_file: { status: 422, detail: "The file cannot be read." },
  unknown_columns: {
    status: 422,
    detail:
      "These headings (headers) name no months and no sessions, or both; see the guide on sessions, or send kind.",
    fields: ["headers"],
  },
  ambiguous_decimals: {
    status: 422,
    detail: "Nothing in the column tells decimals from thousands (value). Send decimal=, or decimal=. with the file.",
    fields: ["column", "sheet_row", "value"],
  },
  ambiguous_session: {
    status: 422,
    detail:
      "Two of your chargers have a session with this id (session_id). Send its charging_session_id. Nothing was changed.",
    fields: ["session_id"],
  },
  ean_address_mismatch: {
    status: 422,
    detail: "The EAN register knows this address, but not with this EAN. Check the EAN, postal code and house number.",
    fields: ["step"],
  },
  url_not_allowed: { status: 422, detail: "Events are sent to a public https address by its name." },
  catalog_unresolved: {
    status: 422,
    detail: "No catalogue model could be resolved; choose one of suggestions, or GET /v1/catalog/chargers.",
    fields: ["suggestions", "step"],
  },
  signatory_email_missing: {
    status: 422,
    detail: "The signatory has no e-mail address; send the link yourself, with send_email: false.",
  },

  wrong_code: { status: 422, detail: "The code is not the one that was mailed; the guess was counted." },
  code_expired: { status: 422, detail: "The code works no more, or none was mailed. Ask for a new one." },
  too_many_attempts: { status: 422, detail: "The code was guessed wrong five times. Ask for a new one." },
  too_many_guesses: {
    status: 422,
    detail: "Too many wrong codes were typed for this address today. Try again tomorrow.",
  },

  // 429
  too_many_codes: {
    status: 429,
    detail: "No more codes are mailed for now; one that was mailed before may still work.",
    fields: ["retry_after_seconds"],
  },
  too_many_requests: {
    status: 429,
    error: "Too many requests",
    detail: "Wait retry_after_seconds, then continue.",
    fields: ["retry_after_seconds", "step"],
  },

  // 500: our failure; the cause is in the log only
  account_create_failed: {
    status: 500,
    detail: "The account could not be created; nothing was stored. Repeat with the same cpo_external_ref.",
  },
  update_failed: {
    status: 500,
    detail: "The connection could not be updated; nothing was stored. It is safe to repeat.",
  },
  mandate_link_failed: { status: 500, detail: "The link could not be made; nothing was stored. It is safe to repeat." },
  catalog_lookup_failed: { status: 500, detail: "The catalogue could not be read. It is safe to repeat." },
  ingest_failed: { status: 500, detail: "The months could not be stored; nothing was. It is safe to repeat." },
  charger_update_failed: { status: 500, detail: "The charger could not be changed; nothing was stored." },
  charger_create_failed: { status: 500, detail: "The charger could not be registered; nothing was stored." },
  list_failed: { status: 500, detail: "The list could not be read. It is safe to repeat." },
  customers_failed: { status: 500, error: "Failed to fetch customers", detail: "It is safe to repeat." },
  drafts_list_failed: { status: 500, error: "Failed to fetch drafts", detail: "It is safe to repeat." },
  drafts_create_failed: {
    status: 500,
    error: "Failed to create drafts",
    detail: "Nothing was stored. It is safe to repeat: a draft is made once.",
  },
  draft_withdraw_failed: { status: 500, error: "Failed to withdraw draft", detail: "Nothing changed; safe to repeat." },
  auth_link_failed: { status: 500, error: "Failed to mint auth link", detail: "It is safe to repeat." },
  partner_read_failed: { status: 500, error: "Failed to fetch partner data", detail: "It is safe to repeat." },
  partner_update_failed: {
    status: 500,
    error: "Failed to update partner",
    detail: "Nothing was stored. It is safe to repeat.",
  },
  sandbox_step_failed: {
    status: 500,
    detail: "The step could not be done; what came before it is. It is safe to repeat.",
    fields: ["step"],
  },
  token_failed: { status: 500, error: "server_error", detail: "The token could not be issued. It is safe to repeat." },
  authorize_failed: {
    status: 500,
    error: "server_error",
    detail: "The code could not be issued; nothing was stored. It is safe to repeat.",
  },
  revoke_failed: {
    status: 500,
    error: "server_error",
    detail: "The token could not be revoked. It is safe to repeat.",
  },
  internal_error: { status: 500, detail: "Something went wrong on our side. Quote request_id when you ask about it." },

  // 503: try again
  authentication_unavailable: {
    status: 503,
    error: "Authentication is temporarily unavailable, try again shortly",
    detail: "Wait Retry-After seconds, then repeat.",
  },
  gateway_not_configured: {
    status: 503,
    detail: "Chargers cannot connect to this host by themselves yet; ask the operator. Nothing was stored.",
    retry: false,
  },
  document_not_ready: {
    status: 503,
    detail: "The document is being written. Wait Retry-After seconds, then repeat.",
  },
  service_unavailable: {
    status: 503,
    error: "Service is temporarily unavailable, try again shortly",
    detail: "Wait Retry-After seconds, then repeat.",
    fields: ["step"],
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof table;
/** What the body of one error may carry. */
export type FieldsOf<Code extends ErrorCode> = ErrorFields<
  (typeof table)[Code] extends { fields: readonly (infer Name extends ErrorField)[] } ? Name : never
>;
export const ERRORS: Readonly<Record<ErrorCode, ErrorRow>> = table;

/** The text a client reads in `error`; `{name}` in it is one of the fields. */
export function wireText(code: ErrorCode, fields: Readonly<Record<string, unknown>> = {}): string {
  const { error = code } = ERRORS[code];
  return error.replace(/\{(\w+)\}/g, (placeholder, field) => String(fields[field] ?? placeholder));
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/** Seconds a client should wait after a 503. */
const RETRY_AFTER_UNAVAILABLE = 5;

/**
 * A rule refused. With a code of the error table it is an ApiError. Another code is for a caller inside the service
 * that expects it; to everybody else it is our failure.
 */
export class Refusal extends Error {
  readonly code: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** What the limiter said, where this request was counted. */
  readonly rate: Rate | null;

  constructor(code: string, fields: Readonly<Record<string, unknown>>, cause: unknown, rate: Rate | null) {
    super(code, { cause });
    this.code = code;
    this.fields = fields;
    this.rate = rate;
  }
}

/**
 * An error of the API on its way to the client. `fields` are the extra fields of the body (they may replace `detail`);
 * `cause` is for the log only.
 */
export class ApiError extends Refusal {
  declare readonly code: ErrorCode;
  declare readonly fields: ErrorFields;

  constructor(code: ErrorCode, fields: ErrorFields = {}, cause?: unknown, rate: Rate | null = null) {
    super(code, fields, cause, rate);
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  /** Seconds to wait before a repeat, or null where waiting changes nothing. */
  get retryAfter(): number | null {
    if (ERRORS[this.code].retry === false) return null;
    if (this.status === 503) return RETRY_AFTER_UNAVAILABLE;
    if (this.status !== 429) return null;
    return Math.max(this.fields.retry_after_seconds ?? (this.rate ? fitsIn(this.rate) : 1), 1);
  }

  body(): Record<string, unknown> {
    const { detail, message } = ERRORS[this.code];
    return {
      error: wireText(this.code, this.fields),
      detail,
      ...(message === undefined ? {} : { message }),
      ...this.fields,
      ...(this.status === 429 ? { retry_after_seconds: this.retryAfter } : {}),
    };
  }
}

/** What is wrong with a one-time code: private.judge_guess. */
export const CODE_REFUSALS = [
  "wrong_code",
  "code_expired",
  "too_many_attempts",
  "too_many_guesses",
] as const satisfies readonly ErrorCode[];

/** The result of an act that a rule may refuse: its answer, or the refusal. */
export type Attempt<Result, Code extends ErrorCode> =
  | { answer: Result; refused: null }
  | { answer: null; refused: ApiError & { readonly code: Code } };

/** Waits for an act that may be refused with one of `codes`, which are for the caller to handle. Any other error is thrown. */
export async function attempt<Result, const Code extends ErrorCode>(
  act: Promise<Result>,
  codes: readonly Code[],
): Promise<Attempt<Result, Code>> {
  try {
    return { answer: await act, refused: null };
  } catch (error) {
    if (isOneOf(error, codes)) return { answer: null, refused: error };
    throw error;
  }
}

function isOneOf<Code extends ErrorCode>(
  error: unknown,
  codes: readonly Code[],
): error is ApiError & { readonly code: Code } {
  return error instanceof ApiError && codes.some((code) => code === error.code);
}

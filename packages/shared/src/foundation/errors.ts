import type { ErrorField, ErrorFields } from "./error_fields.ts";
import { fitsIn, type Rate } from "./rate.ts";

/**
 * The error table: the one place that knows a status number or the text of an error on the wire.
 *
 * A key is the name used inside, in TypeScript and SQL alike. `error` is what the client reads, if the specification's
 * text differs from the key. `detail` says what to do next. `message` is the text of that field, if the specification
 * has one. `fields` names what else the body may carry (specification section 7): see error_fields.ts.
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
  invalid_request: {
    status: 400,
    detail: "A field breaks its rule; see issues.",
    fields: ["issues", "step"],
  },
  invalid_iban: { status: 400, detail: "Send an IBAN of 15 to 34 letters and digits. Nothing was changed." },
  invalid_ean: { status: 400, detail: "Send an EAN of 18 digits." },
  vendor_and_model_required: {
    status: 400,
    detail: "Send vendor and model, as in the charger's BootNotification.",
  },
  connection_type_required: {
    status: 400,
    error: 'connection_type is required and must be "ocpp"',
    detail: 'Send connection_type: "ocpp". Only chargers that connect by OCPP are registered here.',
  },
  serial_number_required: {
    status: 400,
    detail: "Send serial_number from the second charger on: it is the idempotency key.",
  },
  invalid_cursor: {
    status: 400,
    detail: "after is not a next_cursor of this list. Leave it out to begin at the start.",
  },
  return_url_not_allowed: {
    status: 400,
    detail: "Send the return URL registered for this client, followed by /, ? or nothing, without a fragment.",
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
    detail:
      "Send eligible, rejected, no_mandate, ean_unverified, no_mid_charger or no_iban as states. Nothing was made.",
    fields: ["unknown"],
  },
  unsupported_grant_type: {
    status: 400,
    detail: "grant_type must be client_credentials, authorization_code or refresh_token.",
  },
  unauthorized_client: { status: 400, detail: "This client may not use this grant; ask the operator." },
  invalid_scope: {
    status: 400,
    detail: "Ask only for scopes that this client was granted, separated by spaces.",
  },
  invalid_grant: {
    status: 400,
    detail:
      "This code or refresh token is unknown, expired, used, revoked, or of another client, redirect_uri or code_challenge. Send the user to the authorization page again.",
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
    detail: "The credential is wrong, revoked, or not for this host and path.",
  },
  invalid_client: {
    status: 401,
    detail: "Unknown client or wrong secret. Send client_id and client_secret in the body.",
  },

  // 403: readable, but not for this
  cpo_token_required: {
    status: 403,
    detail: "Use a client-credentials token of a CPO client.",
    fields: ["required_scope"],
  },
  client_not_linked: { status: 403, detail: "This client is not linked to an active partner yet; ask the operator." },
  no_partner_linked: {
    status: 403,
    error: "No partner is linked to this API key",
    detail: "The credential is valid, but no active partner belongs to it; ask the operator.",
  },
  recent_sign_in_required: {
    status: 403,
    detail:
      "partners:write, and a token of more than a year, need a sign-in of the last 15 minutes. Sign in again, or ask for less.",
  },
  partner_api_key_scope: {
    status: 403,
    detail: "A partner API key opens the Partner API only.",
  },
  insufficient_scope: {
    status: 403,
    error: "Insufficient scope",
    detail: "The credential lacks required_scope. cpo: takes a CPO client's token, partner a partner's key.",
    fields: ["required_scope"],
  },

  // 404: no such thing for this caller; a foreign tenant's object answers the same
  not_found: { status: 404, error: "Not found", detail: "No route answers this method and path; see GET /docs." },
  account_not_found: {
    status: 404,
    detail: "This client has no account with that id or reference; see GET /v1/accounts.",
  },
  connection_not_found: {
    status: 404,
    detail: "No active connection of this client matches everything that was sent; see GET /v1/accounts.",
  },
  charger_not_found: {
    status: 404,
    detail: "You have no charger with this id or external_ref. A new password is only for an OCPP charger.",
  },
  statement_not_found: { status: 404, detail: "No payout to this customer has that id." },
  upload_not_found: {
    status: 404,
    detail: "You have no upload with this id; POST /v1/uploads answers it.",
  },
  charging_session_not_found: {
    status: 404,
    detail: "You have no charging session with this id; see GET /v1/charging-sessions.",
  },
  settlement_not_found: {
    status: 404,
    detail: "You have no paid settlement with that id; see GET /v1/settlements.",
  },
  invoice_not_found: { status: 404, detail: "You have no invoice with that number; see GET /partner/invoices." },
  mandate_not_found: {
    status: 404,
    detail: "Nobody has signed a mandate for this connection yet; see POST /v1/mandate-links.",
  },
  customer_not_found: {
    status: 404,
    detail:
      "This partner has no customer with that customer_ref or account id; see GET /partner/customers, or GET /v1/accounts.",
    fields: ["step"],
  },
  draft_not_found: {
    status: 404,
    detail: "You have no draft with that id or address; see GET /partner/drafts.",
    fields: ["code"],
  },
  client_not_found: { status: 404, detail: "You have no client with that id; list yours first." },
  webhook_not_found: {
    status: 404,
    detail: "You have no webhook endpoint with that id; list yours first.",
  },
  event_not_found: { status: 404, detail: "This log has no event with that id, or it is older than 90 days." },

  token_not_found: { status: 404, detail: "You have no token with that id; see GET /tokens." },

  claim_not_open: {
    status: 404,
    detail: "This claim is at another step, has ended, or cannot begin; open its link to see.",
  },
  claim_conflict: {
    status: 404,
    detail: "The e-mail address or the EAN is registered with us in another way; the draft is in conflict.",
  },
  link_not_open: { status: 404, detail: "This link was used or has expired, or never existed; ask for a new one." },

  cdr_not_found: { status: 404, detail: "You sent no CDR with this party and id." },

  // 405: OCPI's credentials
  ocpi_method: {
    status: 405,
    detail: "Register by POST, once. PUT and DELETE are for a registered platform. Ask the operator for a token.",
  },

  // 408: it took too long
  request_timeout: { status: 408, detail: "The body did not arrive whole within 30 seconds. Send it again." },

  // 409: the right thing in the wrong state
  mandate_changed: { status: 409, detail: "What the mandate says has changed since you read it. Read it again." },
  ocpp_identity_taken: {
    status: 409,
    error: 'A charger with ocpp_identity "{ocpp_identity}" already exists',
    detail: "Choose another ocpp_identity, or leave it out to get one.",
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
  name_in_use: {
    status: 409,
    detail:
      "A session that began at started_at was stored by this name (kind says which). Send a later from, or withdraw the session first. Nothing was changed.",
    fields: ["kind", "started_at"],
  },
  parked_limit: {
    status: 409,
    detail:
      "200,000 of your sessions wait for their charger, or today's evidence is full. Name those chargers first; see GET /v1/charging-sessions/parked. Nothing was stored.",
  },
  ean_in_use: {
    status: 409,
    detail: "Another active connection has this EAN. If yours is right, ask the operator.",
    fields: ["step"],
  },
  no_connection: { status: 409, detail: "The account has no active connection.", fields: ["step"] },
  ambiguous_connection: { status: 409, detail: "The account has several active connections; send connection_id." },
  mandate_acknowledgement_required: {
    status: 409,
    detail:
      "This change ends the mandate, and months that are not booked no longer count. To make it, repeat with acknowledge_mandate_lapses: true.",
  },
  account_signed: {
    status: 409,
    detail: "Somebody has signed for this account: only person.email and person.phone can change. Nothing was changed.",
  },
  mandate_already_signed: {
    status: 409,
    detail: "A mandate is signed already. Issue a link from 1 November of its last year on.",
  },
  mandate_not_signed: {
    status: 409,
    detail: "No mandate of this connection is signed, or it has ended. Nothing was changed.",
  },
  draft_active: {
    status: 409,
    detail:
      "The customer has signed: this draft is an account now, and only the customer can stop sharing. Nothing was changed.",
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
      "Only a particulier draft can be submitted with a virtual charger. Claim this one without submit. Nothing was done.",
  },
  nothing_to_review: {
    status: 409,
    detail:
      "No registration of this customer waits for review: it was decided, or it is not submitted yet. A CPO account's is submitted once closed_gates is empty.",
    fields: ["registration_status", "closed_gates"],
  },
  nothing_to_settle: {
    status: 409,
    detail: "No month of this quarter can be settled; left_out says why for each.",
    fields: ["left_out"],
  },
  already_settled: {
    status: 409,
    detail: "These stay settled; reset first. Nothing was changed.",
    fields: ["settled"],
  },
  api_key_exists: {
    status: 409,
    detail: "You have an active API key. Send rotate: true to replace it; the old one stops working at once.",
  },
  charger_limit_reached: {
    status: 409,
    detail: "An account or a person has at most 10 active chargers. Remove one first.",
    fields: ["step"],
  },
  endpoint_limit: {
    status: 409,
    detail: "An event log has at most 10 webhook endpoints; revoke one first.",
  },
  endpoint_disabled: { status: 409, detail: "Nothing is sent to a disabled endpoint; enable it first." },
  charger_claimed: {
    status: 409,
    detail:
      "An active charger of another account has this brand and serial number. If yours is right, ask the operator.",
    fields: ["step"],
  },

  // 410: it was there
  cursor_expired: {
    status: 410,
    detail:
      "Events after this cursor are older than 90 days and were deleted. Read on from oldest_cursor, and read what you missed from the other endpoints.",
    fields: ["oldest_cursor"],
  },

  // 413, 415, 422: understood, but too much or impossible
  payload_too_large: { status: 413, detail: "The body is larger than this route accepts. Send less." },
  file_type: { status: 415, detail: 'Send an Excel workbook (.xlsx) or "CSV UTF-8".' },
  unreadable_file: {
    status: 422,
    detail: 'The file cannot be read. Save it again as .xlsx or "CSV UTF-8".',
  },
  unknown_columns: {
    status: 422,
    detail:
      "The headings (headers) fit neither months nor sessions, or both. Rename them by the guide on sessions, or send kind.",
    fields: ["headers", "sheet_row"],
  },
  ambiguous_columns: {
    status: 422,
    detail:
      "Two columns (columns) may be the kWh, and they differ. Send columns= with the heading of the right one, or its place from 1.",
    fields: ["columns"],
  },
  ambiguous_units: {
    status: 422,
    detail: "The heading (column) names another unit of energy than its cells (units). Correct the file.",
    fields: ["column", "units"],
  },
  ambiguous_decimals: {
    status: 422,
    detail: "The numbers of this column may have decimals or thousands. Send a comma or a point as decimal.",
    fields: ["column", "sheet_row", "value"],
  },
  ambiguous_dates: {
    status: 422,
    detail:
      "The day or the month may come first in this column's dates. Send dates=dmy or dates=mdy: the answer says which date each means.",
    fields: ["column", "sheet_row", "value", "dmy", "mdy"],
  },
  unknown_zone: {
    status: 422,
    detail: "We do not know the time zone (value). Write one such as Europe/Amsterdam, UTC or +02:00.",
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
  url_not_allowed: { status: 422, detail: "Send an https URL whose host is a public name." },
  catalog_unresolved: {
    status: 422,
    detail:
      "The catalogue cannot tell the model. Send a catalog_charger_id of suggestions or GET /v1/catalog/chargers.",
    fields: ["suggestions", "step"],
  },
  company_required: {
    status: 422,
    detail:
      "The mandate of a zakelijk or vve account names the company. Create the account with company, or with display_name.",
  },
  signatory_email_missing: {
    status: 422,
    detail: "The signatory has no e-mail address; send the link yourself, with send_email: false.",
  },

  wrong_code: {
    status: 422,
    detail: "This is not the code that was mailed, and the guess was counted. Type the newest.",
  },
  code_expired: { status: 422, detail: "The code has expired, or none was mailed. Ask for a new one." },
  too_many_attempts: { status: 422, detail: "The code was guessed wrong five times. Ask for a new one." },
  too_many_guesses: {
    status: 422,
    detail: "Too many wrong codes were typed for this address today. Try again tomorrow.",
  },

  // 429
  too_many_codes: {
    status: 429,
    detail: "No more codes are mailed for now. The last one may still work; else wait retry_after_seconds.",
    fields: ["retry_after_seconds"],
  },
  too_many_requests: {
    status: 429,
    error: "Too many requests",
    detail: "Wait retry_after_seconds, then continue.",
    fields: ["retry_after_seconds", "reason", "step"],
  },

  // 500: our failure; the cause is in the log only
  account_create_failed: {
    status: 500,
    detail: "The account could not be created; nothing was stored. Repeat with the same cpo_external_ref.",
  },
  update_failed: {
    status: 500,
    detail: "The change could not be stored; everything is as it was. It is safe to repeat.",
  },
  mandate_link_failed: { status: 500, detail: "The link could not be made; nothing was stored. It is safe to repeat." },
  catalog_lookup_failed: { status: 500, detail: "The catalogue could not be read. It is safe to repeat." },
  ingest_failed: { status: 500, detail: "What you sent could not be stored; nothing was. It is safe to repeat." },
  charger_update_failed: {
    status: 500,
    detail: "The charger could not be changed; nothing was stored. It is safe to repeat.",
  },
  charger_create_failed: {
    status: 500,
    detail: "The charger could not be registered; nothing was stored. It is safe to repeat.",
  },
  list_failed: { status: 500, detail: "The list could not be read. It is safe to repeat." },
  customers_failed: { status: 500, error: "Failed to fetch customers", detail: "It is safe to repeat." },
  drafts_list_failed: { status: 500, error: "Failed to fetch drafts", detail: "It is safe to repeat." },
  drafts_create_failed: {
    status: 500,
    error: "Failed to create drafts",
    detail: "Nothing was stored. It is safe to repeat.",
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
    detail: "The step could not be done; the steps before it are done. It is safe to repeat.",
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
    detail: "Chargers cannot connect to this host yet; ask the operator. Nothing was stored.",
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
 * A rule refused. With a code of the error table it is an ApiError. Other codes are for callers inside the service that
 * handle them. If nobody does, the client gets a 500.
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

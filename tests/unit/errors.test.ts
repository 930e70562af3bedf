import { describe, expect, test } from "vitest";
import { ERROR_FIELDS } from "#shared/foundation/error_fields.ts";
import { ApiError, ERRORS, isErrorCode, wireText } from "#shared/foundation/errors.ts";
import { describeCause } from "#shared/foundation/log.ts";

const CODES = Object.keys(ERRORS).filter(isErrorCode);

// contract section 1; what a later surface brings joins its row
const STATUS: Record<number, string[]> = {
  400: [
    "invalid_json",
    "invalid_request",
    "invalid_iban",
    "vendor_and_model_required",
    "return_url_not_allowed",
    "serial_number_required",
    "unsupported_grant_type",
    "unauthorized_client",
    "invalid_scope",
    "draft_id_required",
    "consent_required",
  ],
  401: ["Missing or invalid API token", "invalid_client"],
  403: [
    "cpo_token_required",
    "client_not_linked",
    "Insufficient scope",
    "partner_api_key_scope",
    "No partner is linked to this API key",
  ],
  404: ["Not found", "account_not_found", "connection_not_found", "draft_not_found"],
  409: [
    "ean_in_use",
    "no_connection",
    "ambiguous_connection",
    "mandate_acknowledgement_required",
    "mandate_already_signed",
    "charger_limit_reached",
    "charger_claimed",
    "draft_active",
    "draft_not_claimable",
    "api_key_exists",
  ],
  413: ["payload_too_large"],
  422: ["ean_address_mismatch", "catalog_unresolved", "signatory_email_missing"],
  429: ["Too many requests"],
  500: [
    "account_create_failed",
    "update_failed",
    "ingest_failed",
    "list_failed",
    "catalog_lookup_failed",
    "mandate_link_failed",
    "Failed to fetch customers",
    "Failed to create drafts",
    "Failed to withdraw draft",
    "Failed to mint auth link",
  ],
  503: ["Authentication is temporarily unavailable, try again shortly"],
};

test.each(Object.entries(STATUS).flatMap(([status, texts]) => texts.map((text) => [text, Number(status)] as const)))(
  "§7 the text `%s` comes with status %i",
  (text, status) => {
    expect(CODES.filter((code) => wireText(code) === text).map((code) => ERRORS[code].status)).toEqual([status]);
  },
);

test("§7 every error says what to do next, in a sentence", () => {
  for (const code of CODES) expect([code, ERRORS[code].detail]).toEqual([code, expect.stringMatching(/^\w.*\.$/s)]);
});

test("§7 no two errors look the same to a client, but for the server_error of RFC 6749", () => {
  const seen = CODES.filter((code) => wireText(code) !== "server_error").map(
    (code) => `${ERRORS[code].status} ${wireText(code)}`,
  );
  expect(new Set(seen).size).toBe(seen.length);
});

test("§7 isErrorCode knows the table's own keys only", () => {
  expect(["ean_in_use", "toString", "__proto__", ""].map(isErrorCode)).toEqual([true, false, false, false]);
});

test("contract §1 the fields of an error come after its text and detail, and may replace the detail", () => {
  expect(new ApiError("catalog_unresolved", { suggestions: [] }).body()).toEqual({
    error: "catalog_unresolved",
    detail: ERRORS.catalog_unresolved.detail,
    suggestions: [],
  });
  expect(new ApiError("catalog_unresolved", { detail: "Which?" }).body()).toMatchObject({ detail: "Which?" });
});

test("§7 every field that an error may carry is named by a row of the error table", () => {
  const named = new Set(CODES.flatMap((code) => ERRORS[code].fields ?? []));
  expect([...named].sort()).toEqual(Object.keys(ERROR_FIELDS).sort());
});

test("§8 how long to wait comes from the limiter, or from whoever else was busy", () => {
  const rate = { allowed: false, bucket: "token", quota: 60, window: 60, full_in: 65_100_000 };
  expect(new ApiError("too_many_requests", {}, undefined, rate).body()).toEqual({
    error: "Too many requests",
    detail: ERRORS.too_many_requests.detail,
    retry_after_seconds: 7,
  });
  const waits = [
    new ApiError("too_many_requests", {}, undefined, { ...rate, full_in: 0 }),
    new ApiError("too_many_requests", { retry_after_seconds: 60 }),
    new ApiError("too_many_requests"),
    new ApiError("service_unavailable"),
    new ApiError("ean_in_use"),
  ].map(({ retryAfter }) => retryAfter);
  expect(waits).toEqual([1, 60, 1, 5, null]);
});

describe("contract §1 what the log says of a cause", () => {
  const database = Object.assign(new Error('invalid input syntax for type uuid: "Sanne"'), {
    severity: "ERROR",
    code: "23505",
    detail: "Key (iban)=(NL91) already exists.",
    constraint: "accounts_pkey",
    where: 'PL/pgSQL function api.f(jsonb) line 3 at SQL statement\nunnamed portal with parameters: $1 = "Sanne"',
  });
  const parse = (text: string) => {
    try {
      return JSON.parse(text);
    } catch (error) {
      return error;
    }
  };
  const cases: [string, unknown, Record<string, unknown>][] = [
    [
      "a database error: where, and nothing it quotes",
      database,
      {
        sqlstate: "23505",
        constraint: "accounts_pkey",
        place: "PL/pgSQL function api.f(jsonb) line 3 at SQL statement",
      },
    ],
    ["an error of the API: what it wraps", new ApiError("service_unavailable", {}, database), { sqlstate: "23505" }],
    ["a text that quotes", parse('{"name": Sanne "NL91'), { type: "SyntaxError", message: expect.stringMatching(/…/) }],
    [
      "a network error",
      Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
      { code: "ECONNREFUSED", message: "connect ECONNREFUSED" },
    ],
    [
      "a write to a connection that broke, whose code looks like an SQLSTATE",
      Object.assign(new Error("write EPIPE"), { code: "EPIPE" }),
      { code: "EPIPE", message: "write EPIPE" },
    ],
    ["something that is no error", "Sanne", { type: "string" }],
  ];
  test.each(cases)("contract §1 the log says of %s, and nothing more", (_what, cause, expected) => {
    const described = describeCause(cause);
    expect(described).toMatchObject(expected);
    expect(JSON.stringify(described)).not.toMatch(/Sanne|NL91/);
  });
});

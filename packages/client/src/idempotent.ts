/**
 * POST requests that are safe to repeat: always, or where the body has the named field. openapi.json marks them with `x-idempotent`;
 * a test compares the two.
 */
export const IDEMPOTENT: Readonly<Record<string, true | string>> = {
  "/oauth-token": true,
  "/oauth-revoke": true,
  "/v1/accounts": "cpo_external_ref",
  "/v1/accounts:update": true,
  "/v1/connections:update": true,
  "/v1/chargers": "serial_number",
  "/v1/chargers:remove": true,
  "/v1/chargers:update": true,
  "/v1/charging-sessions": true,
  "/v1/charging-sessions:withdraw": true,
  "/v1/sessions:batch": true,
  "/v1/uploads": true,
  "/partner/customers": true,
  "/partner/drafts/import": true,
  "/partner/drafts/withdraw": true,
  "/partner/company": true,
  "/partner/payout-iban": true,
  "/partner/branding": true,
  "/partner/invites": true,
  "/partner/uploads": true,
  "/sandbox/v1/drafts/{id}/claim": true,
  "/sandbox/v1/customers/{id}/chargers": true,
  "/sandbox/v1/customers/{id}/sync": true,
  "/sandbox/v1/customers/{id}/review": true,
  "/sandbox/v1/customers/{id}/sign": true,
  "/sandbox/v1/customers/{id}/expire-mandate": true,
  "/sandbox/v1/settle": true,
  "/sandbox/v1/fixtures": true,
  "/sandbox/v1/reset": true,
};

const RULES = Object.entries(IDEMPOTENT).map(
  ([path, rule]) => [new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`), rule] as const,
);

/** Whether a request may be sent again though it may have been done: GET, DELETE, and the POST requests above. */
export function isIdempotent(method: string, path: string, body: BufferSource | undefined): boolean {
  if (method !== "POST") return true;
  const rule = RULES.find(([known]) => known.test(path))?.[1];
  if (typeof rule !== "string") return rule === true;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))[rule];
    return typeof value === "string" && value !== "";
  } catch {
    return false;
  }
}

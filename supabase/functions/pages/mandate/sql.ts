/** The api functions behind the signing page. Opening and acting are two statements: at most two round trips a request. */
export const SQL = [
  "open_mandate_link",
  "send_mandate_code",
  "sign_mandate",
  "decline_mandate",
  "renew_mandate",
  "read_link_mandate",
] as const;
export type Name = (typeof SQL)[number];

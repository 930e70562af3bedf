/**
 * The rate limits that integrators meet, as they are published: requests in so many seconds, refilled continuously. SQL
 * counts by core.rate_limits; a test checks that both agree. The operator may give a client a larger quota.
 */
export const RATE_LIMITS = {
  cpo_read: { quota: 300, window_seconds: 60 },
  cpo_write: { quota: 120, window_seconds: 60 },
  cpo_sessions: { quota: 60, window_seconds: 60 },
  token: { quota: 60, window_seconds: 60 },
  user: { quota: 60, window_seconds: 60 },
  partner_read: { quota: 120, window_seconds: 60 },
  partner_write: { quota: 60, window_seconds: 60 },
  partner_import: { quota: 10, window_seconds: 60 },
  sandbox: { quota: 60, window_seconds: 60 },
} as const;

export type Bucket = keyof typeof RATE_LIMITS;

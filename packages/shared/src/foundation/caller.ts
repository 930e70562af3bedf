/** The admitted caller, as SQL receives it in the first argument of every api function. */
export type Caller = {
  kind: string;
  client_id?: string;
  user_id?: string;
  /** The person who acts for a partner; absent when its API key does. */
  manager_id?: string;
  partner_id?: string;
  /** When the person of a session signed in. */
  signed_in_at?: string;
  host: "sandbox" | "production";
  request_id: string;
};

/** What the rate limiter said, in SQL's own words; `window`, `reset` and `retry_after` in seconds. */
export type Rate = {
  allowed: boolean;
  bucket: string;
  quota: number;
  window: number;
  remaining: number;
  reset: number;
  retry_after: number;
};

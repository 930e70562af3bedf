/** What every file of the documentation is sent with. The policy inside a page cannot forbid frames; a header can. */
export const HEADERS = {
  "Content-Security-Policy": "frame-ancestors 'none'",
  "X-Frame-Options": "DENY",
  "X-Content-Type-Options": "nosniff",
} as const;

// Addresses of a hosted database, made of what the Management API says of its pooler.

import type { Pooler } from "./management_api.ts";

/** Supavisor has transactions at 6543, and sessions of the same host at 5432. */
const [TRANSACTIONS, SESSIONS] = [6543, 5432];

export const isLoopback = ({ db_host }: Pooler): boolean => /^(127\.0\.0\.1|localhost)$/.test(db_host);

/**
 * How a role reaches the database: by transactions, as functions do inside the platform, or by a session from elsewhere, which is
 * encrypted.
 * @param ca file with the certificate of the platform's authority, which signs its databases' and no browser knows; without it the
 * certificate is not verified
 */
export function databaseUrl(
  pooler: Pooler,
  role: string,
  password: string,
  by: "transactions" | "session",
  ca?: string,
): string {
  // the pooler knows whose a login is by what follows its name: postgres.<ref>
  const user = encodeURIComponent(pooler.db_user.replace(/^postgres/, role));
  const port = pooler.db_port === TRANSACTIONS && by === "session" ? SESSIONS : pooler.db_port;
  const url = `postgresql://${user}:${encodeURIComponent(password)}@${pooler.db_host}:${port}/${pooler.db_name}`;
  if (by === "transactions" || isLoopback(pooler)) return url;
  return ca ? `${url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}` : `${url}?sslmode=no-verify`;
}

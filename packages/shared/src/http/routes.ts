/**
 * Maps the specification's paths to functions. The local front door, the alias entries of `supabase/config.toml` and
 * any production front use it. The longest prefix that ends at a segment wins.
 */
export const ROUTES: Readonly<Record<string, string>> = {
  "/v1": "cpo-v1",
  "/partner": "partner",
  "/sandbox": "sandbox",
  "/oauth-token": "oauth-token",
  "/.well-known/oauth-authorization-server": "oauth-token",
  "/oauth-authorize": "oauth-authorize",
  "/oauth-revoke": "oauth-revoke",
  "/pages": "pages",
  "/docs": "docs",
  "/openapi.json": "docs",
  "/llms.txt": "docs",
  "/ocpp": "ocpp",
  "/ocpi": "ocpi",
  "/worker": "worker",
  "/health": "worker",
  "/documents": "documents",
  "/chargers": "personal",
  "/sessions": "personal",
  "/energy": "personal",
  "/ere-position": "personal",
  "/profile": "personal",
  "/tokens": "personal",
};

/** The slug of the function for a path, or null. */
export function functionFor(path: string): string | null {
  const prefix = Object.keys(ROUTES)
    .filter((candidate) => path === candidate || path.startsWith(`${candidate}/`))
    .sort((a, b) => b.length - a.length)[0];
  return prefix === undefined ? null : (ROUTES[prefix] ?? null);
}

/** Why a request was refused, in more words than the error table has. Loaded when there is something to explain. */

import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/** What is wrong with a request that no route answers: its method, a slash at the end, or its path. */
export function notFound(
  routes: readonly { method: string; path: string }[],
  pathsOf: (path: string) => readonly string[],
  { method, path }: { method: string; path: string },
): ApiError {
  const slash = path.length > 1 && path.endsWith("/");
  const asked = (slash ? path.slice(0, -1) : path).split("/");
  const same = (route: string) => {
    const parts = route.split("/");
    return parts.length === asked.length && parts.every((part, n) => part.startsWith("{") || part === asked[n]);
  };
  const methods = routes.flatMap((each) => (pathsOf(each.path).some(same) ? [each.method] : []));
  if (slash && methods.length > 0)
    return new ApiError("not_found", { detail: "Leave out the slash at the end of the path." });
  // a path of the other host has the method
  if (methods.length === 0 || methods.includes(method)) return new ApiError("not_found");
  return new ApiError("not_found", { detail: `This path takes ${methods.join(" and ")}, not ${method}.` });
}

/** Why no bearer can be read; `sent` is the header Authorization. */
export const noBearer = (sent: string | null): ApiError =>
  new ApiError("missing_or_invalid_token", {
    detail: sent
      ? "The header Authorization must be Bearer, a space and the credential."
      : "Send the header Authorization: Bearer, a space and a credential for this path.",
  });

/** Why a bearer opens nothing, as far as it says so itself: a token that has expired, or is of another host. */
export function unread(bearer: string, { config, now }: Environment): ApiError {
  const claims = claimsOf(bearer);
  const again = claims.client_id ? " Get another one: POST /oauth-token." : "";
  const detail =
    claims.client_id && claims.iss !== config.AUTH_URL
      ? `This access token is of another host.${again}`
      : Number(claims.exp) * 1000 <= now().getTime()
        ? `This token has expired.${again}`
        : undefined;
  return new ApiError("missing_or_invalid_token", detail ? { detail } : {});
}

/** What a JWT says, whoever signed it; nothing of another text. */
function claimsOf(bearer: string): Record<string, unknown> {
  try {
    const said: unknown = JSON.parse(atob((bearer.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
    return typeof said === "object" && said !== null ? { ...said } : {};
  } catch {
    return {};
  }
}

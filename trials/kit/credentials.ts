// What the demo's partner, client and person hold, got as they get it.

import { createHash } from "node:crypto";
import type { Stack } from "#local/stack.ts";
import { newSecret } from "#shared/auth/tokens.ts";
import { USER_SCOPES } from "#shared/values/scopes.ts";

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

/** A credential of each kind that openapi.json names. */
export async function credentialsOf({ auth, auth_url, demo }: Stack): Promise<Record<string, string>> {
  const cpo = await post(`${auth_url}/oauth-token`, {
    grant_type: "client_credentials",
    client_id: demo.cpo.client_id,
    client_secret: demo.cpo.client_secret,
  });
  const signedIn = await post(
    `${auth.url}/auth/v1/token?grant_type=password`,
    { email: demo.user.email, password: demo.user.password },
    { apikey: auth.publishable_key },
  );
  const { client_id, client_secret, redirect_uri } = demo.oauth_app;
  const code_verifier = newSecret();
  const agreed = await post(
    `${auth_url}/oauth-authorize`,
    {
      client_id,
      redirect_uri,
      response_type: "code",
      scope: Object.keys(USER_SCOPES).join(" "),
      state: "trial",
      code_challenge: createHash("sha256").update(code_verifier).digest("base64url"),
      code_challenge_method: "S256",
    },
    { authorization: `Bearer ${signedIn.access_token}` },
  );
  const code = new URL(agreed.redirect_url ?? "").searchParams.get("code");
  const grant = { grant_type: "authorization_code", code, redirect_uri, client_id, client_secret, code_verifier };
  const user = await post(`${auth_url}/oauth-token`, grant);
  return {
    cpo: cpo.access_token ?? "",
    user: user.access_token ?? "",
    session: signedIn.access_token ?? "",
    personal_token: demo.personal_token,
    partner_key: demo.partner.api_key,
  };
}

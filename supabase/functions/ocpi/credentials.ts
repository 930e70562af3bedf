import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import {
  agreedWith,
  credentialsOf,
  sealTheirToken,
  TheirCredentials,
} from "#shared/domain/charging_in/ocpi/credentials.ts";
import type { Endpoints, Platform as PlatformType } from "#shared/domain/charging_in/ocpi/platform.ts";
import { parseJson } from "#shared/http/body.ts";
import { ruleText } from "#shared/http/rules.ts";
import { MAX_LEVELS } from "#shared/values/json.ts";
import { done, OcpiAnswer, wrong } from "./envelope.ts";
import type { PlatformRequest } from "./platform_request.ts";

const ours = ({ environment: { config }, self }: PlatformRequest, token: string) =>
  credentialsOf({ ...config, OCPI_PARTY: self }, token);

/** Our credentials, with the token that the platform called with. */
export async function showCredentials(asked: PlatformRequest) {
  await asked.owner();
  // of what the header may mean, ours is base64url of 32 bytes
  const token = asked.tokens.find((each) => /^[\w-]{43}$/.test(each)) ?? "";
  return done(ours(asked, token));
}

/**
 * POST and PUT: we read the platform's endpoints with its token, and answer with a token of ours. What it says is stored
 * only when all of that succeeded.
 */
export const register = (method: "POST" | "PUT") => async (asked: PlatformRequest) => {
  const { environment, call, tokens, note } = asked;
  const sent = TheirCredentials.safeParse(parseJson(asked.text, MAX_LEVELS), { error: ruleText });
  if (!sent.success) {
    const [issue] = sent.error.issues;
    await asked.owner();
    return wrong([issue?.path.join("."), issue?.message].filter(Boolean).join(": "));
  }
  const { owner_id, origins } = JSON.parse(await call("read_ocpi_registration", { method }));
  const { Platform, PlatformFault } = await import("#shared/domain/charging_in/ocpi/platform.ts");
  let platform: PlatformType;
  let found: Endpoints;
  try {
    platform = new Platform(sent.data.url, origins, sent.data.token, environment.config);
    found = await platform.discover();
  } catch (error) {
    if (!(error instanceof PlatformFault)) throw error;
    note({ platform: error.reason });
    return new OcpiAnswer(200, error.code, undefined, `Your versions and endpoints cannot be used: ${error.reason}.`);
  }
  const token = newSecret();
  await call("register_ocpi", {
    method,
    called_with: tokens.map(hashSecret),
    ...agreedWith(sent.data, found, platform.plain),
    token_hash: hashSecret(token),
    their_token: sealTheirToken(environment, owner_id, sent.data.token),
  });
  if (found.cdrs_url) environment.kick();
  return done(ours(asked, token));
};

export async function unregister({ call }: PlatformRequest) {
  await call("unregister_ocpi", {});
  return done();
}

// What an application holds of a person: codes and tokens, presented by others, again, and after they were revoked.

import { newSecret } from "#shared/auth/tokens.ts";
import type { Answer } from "../harness/answers.ts";
import type { User } from "../harness/people.ts";
import {
  type App,
  codeOf,
  exchange,
  newVerifier,
  type OAuth,
  refresh,
  revoke,
  tokensOf,
  type Verifier,
} from "../oauth/oauth_world.ts";
import type { Told } from "./requests.ts";

/** An application that a person allowed, and what it has of them; the code was not presented yet. */
export type Allowed = { app: App; verifier: Verifier; held: Record<Secret, string> };
type Secret = "authorization code" | "refresh token" | "rotated refresh token" | "access token";

export async function allowed(world: OAuth, user: User): Promise<Allowed> {
  const app = await world.app();
  const person = {
    ...{ id: user.id, email: user.email, password: "" },
    session: (claims = {}) => world.signSession({ sub: user.id, email: user.email, ...claims }),
  };
  const first = await tokensOf(world, person, app);
  const next = await refresh(world, app, first.refresh_token);
  const verifier = newVerifier();
  const held = {
    "authorization code": await codeOf(world, person, app, verifier),
    "refresh token": next.body.refresh_token,
    "rotated refresh token": first.refresh_token,
    "access token": next.body.access_token,
  };
  return { app, verifier, held };
}

type Attack = { world: OAuth; victim: Allowed; others: readonly Allowed[]; told: Told };

/** Everything of the victim's but its application's secret, at each door. @returns what was wrong, one line each. */
export async function attackOAuth({ world, victim, others, told }: Attack): Promise<string[]> {
  const faults: string[] = [];
  const attempts: [string, (text: string) => Promise<Answer>][] = others.flatMap(({ app }) => [
    ["code", (text) => exchange(world, app, text, victim.verifier)],
    ["refresh token", (text) => refresh(world, app, text)],
    ["token to revoke", (text) => revoke(world, app, text)],
  ]);
  for (const [as, present] of attempts)
    for (const [secret, text] of Object.entries(victim.held)) {
      const [answer, missing] = [await present(text), await present(newSecret())];
      const shape = ({ status, body }: Answer) => `${status} ${JSON.stringify({ ...body, request_id: "" })}`;
      told(secret, "another application", answer.status < 300 ? "as nobody's" : String(answer.status));
      if (shape(answer) !== shape(missing))
        faults.push(`the ${secret} as ${as}: ${shape(answer)}, not ${shape(missing)}`);
    }
  return faults;
}

/** Presents what an application itself holds for another person, again, and after it ended all of it. @returns what still worked. */
export async function presentAgain(
  world: OAuth,
  { app, verifier, held }: Allowed,
  another: Allowed,
): Promise<string[]> {
  const worked: string[] = [];
  const look = (what: string, { status }: Answer) => status < 400 && worked.push(what);
  const code = held["authorization code"];
  look("a code in the browser of another", await exchange(world, app, code, another.verifier));
  const { body } = await exchange(world, app, code, verifier);
  look("a code again", await exchange(world, app, code, verifier));
  for (const token of [body.refresh_token, held["refresh token"]]) await revoke(world, app, token);
  for (const token of [held["refresh token"], held["rotated refresh token"], body.refresh_token])
    look("a refresh token after its end", await refresh(world, app, token));
  for (const token of [held["access token"], body.access_token])
    look("an access token after its end", await world.get("/chargers", token));
  return worked;
}

// An application as it is written with oauth4webapi: it knows the issuer, its own credentials, and nothing else.

import * as oauth from "oauth4webapi";
import { expect } from "vitest";
import { type ConsentVisit, consentVisit, onward } from "./consent_visit.ts";
import type { Person } from "./oauth_world.ts";

const http = { [oauth.allowInsecureRequests]: true };

type Registered = { client_id: string; client_secret: string; redirect_uri: string };

/** `by`: how it authenticates at our token and revocation endpoints. */
export async function application(
  url: string,
  { client_id, client_secret, redirect_uri }: Registered,
  by: "post" | "basic" = "post",
) {
  const issuer = new URL(url);
  const discovered = await oauth.discoveryRequest(issuer, { ...http, algorithm: "oauth2" });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const client: oauth.Client = { client_id };
  const authenticate = by === "basic" ? oauth.ClientSecretBasic(client_secret) : oauth.ClientSecretPost(client_secret);
  return {
    server,
    client,
    /** Sends a person's browser over the consent page, and validates what comes back. */
    async callback(
      person: Pick<Person, "email" | "password">,
      scope: string,
      signIn = (visit: ConsentVisit) => visit.signIn(person),
    ) {
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const code_challenge = await oauth.calculatePKCECodeChallenge(verifier);
      const visit = consentVisit({ url }, { client_id }, { redirect_uri, scope, state, code_challenge });
      expect((await visit.show()).heading).toBe("Sign in");
      expect((await signIn(visit)).status).toBe(303);
      const asked = await visit.show();
      expect(asked.heading).toMatch(/^Do you want to give .* access\?$/);
      const answer = onward(await visit.allow(asked));
      expect(answer.href.startsWith(redirect_uri)).toBe(true);
      return { answer: oauth.validateAuthResponse(server, client, answer, state), verifier };
    },
    async redeem({ answer, verifier }: { answer: URLSearchParams; verifier: string }) {
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authenticate,
        answer,
        redirect_uri,
        verifier,
        http,
      );
      return oauth.processAuthorizationCodeResponse(server, client, response);
    },
    async refresh(refresh_token = "") {
      const response = await oauth.refreshTokenGrantRequest(server, client, authenticate, refresh_token, http);
      return oauth.processRefreshTokenResponse(server, client, response);
    },
    async revoke(token = "") {
      await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, authenticate, token, http));
    },
    /** The status a protected resource answers. */
    async get(path: string, token: string): Promise<number> {
      try {
        return (await oauth.protectedResourceRequest(token, "GET", new URL(path, url), undefined, undefined, http))
          .status;
      } catch (error) {
        if (error instanceof oauth.WWWAuthenticateChallengeError) return error.status;
        throw error;
      }
    },
  };
}

// The token endpoint of the npm package oidc-provider, which issues signed JWTs (RFC 9068) from memory: clients, keys and all. What
// ours is held against. CLIENTS has [{client_id, client_secret, scope}].

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

type Client = { client_id: string; client_secret: string; scope: string };
const clients: Client[] = JSON.parse(process.env.CLIENTS ?? "[]");
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const api = "https://bench.test/";

const provider = new Provider("http://127.0.0.1", {
  clients: clients.map((client) => ({
    ...client,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: "client_secret_post",
    id_token_signed_response_alg: "ES256",
  })),
  jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "bench", alg: "ES256", use: "sig" }] },
  scopes: [...new Set(clients.flatMap(({ scope }) => scope.split(" ")))],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => api,
      useGrantedResource: () => true,
      getResourceServerInfo: (_: unknown, __: string, { scope }: Client) => ({
        scope,
        accessTokenFormat: "jwt",
        accessTokenTTL: 3600,
        jwt: { sign: { alg: "ES256" } },
      }),
    },
  },
});

createServer(provider.callback()).listen(Number(process.env.PORT), "127.0.0.1", () => console.error("listening"));

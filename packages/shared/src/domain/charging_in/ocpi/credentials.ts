// Credentials of OCPI 2.2.1: tokens, roles, and what a platform says about itself.

import { Buffer } from "node:buffer";
import type { Configuration } from "#shared/foundation/configuration.ts";
import { z } from "#shared/foundation/zod.ts";
import { open, type Sealed, seal } from "#shared/values/sealed.ts";

type Keys = Parameters<typeof seal>[0];

/** Platforms send CDRs to an eMSP only, so that is our role. */
const ROLE = "EMSP";

/** What a platform answers, or sends, as its Credentials object; some send it in a list of one. */
export const TheirCredentials = z.preprocess(
  (sent) => (Array.isArray(sent) && sent.length === 1 ? sent[0] : sent),
  z.object({
    token: z.string().regex(/^[\x21-\x7e]{1,64}$/, "must be 1 to 64 printable characters"),
    url: z.string(),
    roles: z
      .array(
        z.object({
          role: z.string().trim().toUpperCase(),
          party_id: z.string().regex(/^[A-Za-z0-9]{3}$/, "must be three letters or digits"),
          country_code: z.string().regex(/^[A-Za-z]{2}$/, "must be two letters"),
        }),
      )
      .min(1)
      .max(100),
  }),
);
type TheirCredentials = z.output<typeof TheirCredentials>;

const partiesAs = (role: string, { roles }: TheirCredentials): string[] => [
  ...new Set(
    roles
      .filter((each) => each.role === role)
      .map(({ country_code, party_id }) => `${country_code}-${party_id}`.toUpperCase()),
  ),
];

/**
 * What a registration stores of a platform. `parties` are its CPOs as `NL-TNM`, which may send CDRs; the operator adds
 * those behind a hub. `hubs` may pass on what is theirs. `hint` tells the operator what is missing to get CDRs.
 */
export function agreedWith(
  credentials: TheirCredentials,
  { cdrs_url, hint }: { cdrs_url: string | null; hint: string | null },
  plain_token: boolean,
) {
  const parties = partiesAs("CPO", credentials);
  const hubs = partiesAs("HUB", credentials);
  const roles = credentials.roles.slice(0, 8).map(({ role }) => role.replace(/\W/g, "").slice(0, 30));
  const noRole = parties.length || hubs.length ? null : `no role CPO or HUB in their credentials: ${roles.join(", ")}`;
  return {
    versions_url: credentials.url,
    cdrs_url,
    parties,
    hubs,
    plain_token,
    hint: [noRole, hint].filter(Boolean).join("; ") || null,
  };
}

/** What we need to know of ourselves. */
export type Self = Pick<Configuration, "BASE_URL" | "SERVICE_NAME"> & { OCPI_PARTY: string };

export const versionsUrl = ({ BASE_URL }: Pick<Self, "BASE_URL">) => `${BASE_URL}/ocpi/versions`;

/** Our Credentials object, with a token of ours. */
export function credentialsOf(self: Self, token: string) {
  const [country_code, party_id] = self.OCPI_PARTY.split("-");
  const business_details = { name: self.SERVICE_NAME };
  return { token, url: versionsUrl(self), roles: [{ role: ROLE, business_details, party_id, country_code }] };
}

/**
 * The tokens that an Authorization header may mean: what it says in base64, and what it says as it is, because many
 * platforms do not encode it. None if it is no `Token`.
 */
export function tokensIn(header: string | null): string[] {
  const sent = /^Token +([\x21-\x7e]{1,500})$/i.exec(header ?? "")?.[1];
  if (!sent) return [];
  const decoded = /^[A-Za-z0-9+/]+={0,2}$/.test(sent) ? Buffer.from(sent, "base64").toString("latin1") : "";
  return /^[\x21-\x7e]+$/.test(decoded) ? [decoded, sent] : [sent];
}

/** The header with a token of theirs (OCPI 2.2.1, 4.1.2), or as some platforms want it: `plain`. */
export const authorizationOf = (token: string, plain: boolean) =>
  `Token ${plain ? token : Buffer.from(token).toString("base64")}`;

const belongsTo = (owner_id: string) => `ocpi ${owner_id}`;

export const sealTheirToken = (keys: Keys, owner_id: string, token: string): Sealed =>
  seal(keys, belongsTo(owner_id), token);

/** @throws {Error} when key, client and ciphertext do not belong together. */
export const openTheirToken = (keys: Keys, owner_id: string, sealed: Sealed): string =>
  open(keys, belongsTo(owner_id), sealed);

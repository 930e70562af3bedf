// Credentials of OCPI 2.2.1: tokens, roles, and what a platform says about itself.

import { Buffer } from "node:buffer";
import type { Configuration } from "#shared/foundation/configuration.ts";
import { z } from "#shared/foundation/zod.ts";
import { open, type Sealed, seal } from "#shared/values/sealed.ts";

type Keys = Parameters<typeof seal>[0];

/** Platforms send CDRs to an eMSP only, so that is our role. */
const ROLE = "EMSP";

/** What a platform answers, or sends, as its Credentials object. */
export const TheirCredentials = z.object({
  token: z.string().regex(/^[\x21-\x7e]{1,64}$/, "must be 1 to 64 printable characters"),
  url: z.string(),
  roles: z
    .array(
      z.object({
        role: z.string(),
        party_id: z.string().regex(/^[A-Za-z0-9]{3}$/, "must be three letters or digits"),
        country_code: z.string().regex(/^[A-Za-z]{2}$/, "must be two letters"),
      }),
    )
    .min(1)
    .max(100),
});
type TheirCredentials = z.output<typeof TheirCredentials>;

/** The parties that may send CDRs, as `NL-TNM`: CPOs. The operator adds those behind a hub. */
export const partiesOf = ({ roles }: TheirCredentials): string[] => [
  ...new Set(
    roles
      .filter(({ role }) => role === "CPO")
      .map(({ country_code, party_id }) => `${country_code}-${party_id}`.toUpperCase()),
  ),
];

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

/** The header with a token of theirs (OCPI 2.2.1, 4.1.2). */
export const authorizationOf = (token: string) => `Token ${Buffer.from(token).toString("base64")}`;

const belongsTo = (owner_id: string) => `ocpi ${owner_id}`;

export const sealTheirToken = (keys: Keys, owner_id: string, token: string): Sealed =>
  seal(keys, belongsTo(owner_id), token);

/** @throws {Error} when key, client and ciphertext do not belong together. */
export const openTheirToken = (keys: Keys, owner_id: string, sealed: Sealed): string =>
  open(keys, belongsTo(owner_id), sealed);

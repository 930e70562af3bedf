import { lineIn } from "../line.ts";
import type { PortalRequest } from "../request.ts";

/** What the address looks for, as it was typed; what it cannot mean is left out. */
export type CustomerQuery = {
  q?: string;
  city?: string;
  active?: "yes" | "no";
  source?: string;
  charger?: string;
  mail?: "failed";
  /** Whom the partner brought, or the accounts of its CPO clients. */
  by?: "brought" | "api";
  registration?: string;
  /** What an account of a CPO client lacks. */
  needs?: string;
  /** As 2026-03. */
  month?: string;
};

export const SOURCES = [
  "partner_upload",
  "partner_invite",
  "referral_link",
  "referral_code",
  "oauth_consent",
  "manual",
] as const;
export const CHARGERS = ["with", "without", "without_mid"] as const;
export const REGISTRATIONS = ["concept", "ingediend", "goedgekeurd", "afgekeurd"] as const;
export const ACTIVE = ["yes", "no"] as const;
export const BY = ["brought", "api"] as const;
export const MAIL = ["failed"] as const;
export const NEEDS = ["signature", "ean", "months", "iban", "payment"] as const;

export function askedOf({ c }: PortalRequest): CustomerQuery {
  const one = <Of extends string>(name: string, of: readonly Of[]) => of.find((each) => each === c.req.query(name));
  const month = /^20\d\d-(0[1-9]|1[0-2])$/.exec(c.req.query("month") ?? "")?.[0];
  return withoutEmpty({
    q: lineIn(c.req.query("q")),
    city: lineIn(c.req.query("city")),
    active: one("active", ACTIVE),
    source: one("source", SOURCES),
    charger: one("charger", CHARGERS),
    by: one("by", BY),
    mail: one("mail", MAIL),
    needs: one("needs", NEEDS),
    registration: one("registration", REGISTRATIONS),
    month,
  });
}

/** What api.read_portal_customers looks for. */
export const lookedFor = ({ q, active, month, ...rest }: CustomerQuery) => ({
  ...rest,
  // only who was brought has a source, and only accounts of a client are judged for what they need
  by: rest.by ?? (rest.source ? "brought" : rest.needs ? "api" : undefined),
  text: q,
  is_active: active && active === "yes",
  month: month && `${month}-01`,
});

function withoutEmpty(fields: { [Name in keyof CustomerQuery]: CustomerQuery[Name] | undefined }): CustomerQuery {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

import { branding } from "./branding/en.ts";
import { customer, customers } from "./customers/en.ts";
import { drafts } from "./drafts/en.ts";
import { en as bring } from "./import/en.ts";
import type { PortalWords } from "./nl.ts";
import { payouts } from "./payouts/en.ts";
import { settings } from "./settings/en.ts";

/** The sentences of a partner's pages in English. */
export const en: PortalWords = {
  sign_in: {
    why: (service) => `Here you see the customers you brought to ${service}, and what you earn by it.`,
    which: "Sign in with the e-mail address at which you were invited.",
  },
  menu: {
    label: "Your pages",
    "": "Overview",
    "/customers": "Customers",
    "/import": "Sign up customers",
    "/drafts": "Sign-ups",
    "/payouts": "Payouts",
    "/settings": "Settings",
  },
  signed_in: (email, partner) => `You are signed in as ${email}, for ${partner}.`,
  not_theirs: {
    title: "You manage no partner",
    why: "You are signed in, but with this e-mail address you manage no partner, or no longer. Ask a colleague to invite you, or sign in with another e-mail address.",
  },

  start: {
    title: (partner) => `Overview of ${partner}`,
    customers: "Customers",
    customers_is: (total, active) => `${total}, of whom ${active} with a signed mandate`,
    chargers: "Chargers",
    this_month: "Charged this month",
    total: "Charged in all",
    ere: "ERE",
    ere_hint: "Of months that a mandate covers.",
    share: "Your share still to come",
    share_hint: "An estimate: the ERE that are not sold yet, at the last average price.",
    drafts: "Sign-ups",
    statuses: {
      invited: "Invited",
      claimed: "Begun",
      active: "Became a customer",
      conflict: "Known to us already",
      expired: "Expired",
    },
    months: "By month",
    months_title: "Charged by your customers by month, in kWh",
    months_description: (total, most) => `${total} kWh in all, the most in ${most}.`,
    no_months: "Your customers have not charged anything that we know of yet.",
    table: "Charged by month",
    month: "Month",
    kwh: "kWh",
    active: "Customers who charged",
  },

  bring,
  settings,
  customers,
  customer,
  drafts,
  payouts,
  branding,
};

import { branding } from "./branding/en.ts";
import { colleagues, invitation } from "./colleagues/en.ts";
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
    attention: {
      title: "Needs your attention",
      nothing: "Nothing at the moment.",
      conflict: (count, one) => `${count} ${one ? "sign-up is" : "sign-ups are"} known to us already`,
      ean: (count, one) =>
        `The connection of ${count} ${one ? "sign-up" : "sign-ups"} was not found, or is more than one`,
      expiring: (count, one) => `${count} ${one ? "sign-up expires" : "sign-ups expire"} within 14 days`,
      rejected: (count, one) => `The registration of ${count} ${one ? "customer" : "customers"} was rejected`,
      without_charger: (count, one) => `${count} ${one ? "customer has" : "customers have"} no charger yet`,
      without_mid: (count, one) => `${count} ${one ? "customer has" : "customers have"} no charger with a MID meter`,
      disabled: (count, one) => `${count} ${one ? "webhook is" : "webhooks are"} off`,
      failing: (count, one) => `${count} ${one ? "webhook fails" : "webhooks fail"}`,
      no_account: "There is no account yet to which we can pay you",
      cap: (left, cap) => `You can sign up ${left} of ${cap} more customers in these 30 days`,
      newest_drafts: (count) => `Counted among your newest ${count} sign-ups.`,
      newest_customers: (count) => `Counted among your newest ${count} customers.`,
    },
    customers: "Customers",
    customers_is: (total, active) => `${total}, of whom ${active} with a signed mandate`,
    customers_many: (count) => `You brought more than ${count} customers.`,
    sum: "Show what they charged and what it yielded (this takes a while)",
    months_ere_title: "ERE of your customers by month",
    months_ere_description: (total) => `${total} ERE in all.`,
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
  colleagues,
  invitation,
};

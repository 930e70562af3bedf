import { ended } from "#shared/values/sentence.ts";
import { branding } from "./branding/en.ts";
import { colleagues, invitation } from "./colleagues/en.ts";
import { customer, customers } from "./customers/en.ts";
import { drafts } from "./drafts/en.ts";
import { en as bring } from "./import/en.ts";
import type { PortalWords } from "./nl.ts";
import { payouts } from "./payouts/en.ts";
import { settings } from "./settings/en.ts";
import { en as uploads } from "./uploads/en.ts";

/** The sentences of a partner's pages in English. */
export const en: PortalWords = {
  sign_in: {
    why: (service) => `Here you see the customers you brought to ${service}, and what you earn from them.`,
    which: "Sign in with the e-⁠mail address at which you were invited.",
  },
  menu: {
    label: "Your pages",
    "": "Overview",
    "/customers": "Customers",
    "/import": "Sign up customers",
    "/uploads": "Charging data",
    "/drafts": "Sign-ups",
    "/payouts": "Payouts",
    "/settings": "Settings",
  },
  filters: { label: "Filters", without: "remove this filter", clear: "Clear all" },
  range: (from, to, all) => `${from} to ${to} of ${all}`,
  signed_in: (email, partner) => `You are signed in as ${email}, for ${ended(partner)}`,
  not_theirs: {
    title: "You do not manage a partner",
    why: "You are signed in, but with this e-⁠mail address you do not manage a partner, or no longer do. Ask a colleague to invite you, or sign in with another e-⁠mail address.",
  },

  other_partner: {
    title: "You now manage another partner",
    text: "This page was still open for the partner you managed before. Nothing has changed: neither at that partner nor at the one you manage now.",
    home: "To the overview",
  },

  mail_failures: {
    unknown_address: "there is no such address",
    mailbox_full: "the mailbox is full",
    refused: "the customer's mail server refused the mail",
    given_up: "no mail server took the mail, however often we tried",
  },

  start: {
    title: (partner) => `Overview of ${partner}`,
    attention: {
      title: "Needs your attention",
      look: "Look",
      nothing: "Nothing at the moment.",
      conflict: (count, one) => `${count} ${one ? "sign-up is" : "sign-ups are"} already known to us`,
      draft_mail: (count, one) => `Our mail did not reach ${count} ${one ? "sign-up" : "sign-ups"}`,
      ean: (count, one) =>
        `The connection of ${count} ${one ? "sign-up" : "sign-ups"} was not found, or there is more than one`,
      expiring: (count, one) => `${count} ${one ? "sign-up expires" : "sign-ups expire"} within 14 days`,
      rejected: (count, one) => `The registration of ${count} ${one ? "customer" : "customers"} was rejected`,
      customer_mail: (count, one) => `Our mail did not reach ${count} ${one ? "customer" : "customers"}`,
      account_mail: (count, one) =>
        `Our mail did not reach ${count} ${one ? "customer" : "customers"} from your software`,
      without_charger: (count, one) => `${count} ${one ? "customer has" : "customers have"} no charger yet`,
      without_mid: (count, one) => `The newest charger of ${count} ${one ? "customer" : "customers"} has no MID meter`,
      disabled: (count, one) => `${count} ${one ? "webhook is" : "webhooks are"} off`,
      failing: (count, one) => `${count} ${one ? "webhook is" : "webhooks are"} failing`,
      invoices: "We still need details from you for your invoices",
      holds: "holds money back",
      payment_back: {
        account: "Our last payment to you failed. Check your account number",
        holder: "Our last payment to you failed. Mail us",
        none: "Our last payment to you failed. We pay the amount again with the next payout",
      },
      iban_wrong: (count, one) =>
        `${count} ${one ? "customer has an account number that is wrong. We cannot pay it" : "customers have an account number that is wrong. We cannot pay them"}`,
      paid_back: (count, one) =>
        `The bank could not make our payment to ${count} ${one ? "customer" : "customers"}. Give another account number`,
      months_rejected: (count, one) =>
        `A month of ${count} ${one ? "customer" : "customers"} from your software was rejected. Deliver it again`,
      unsigned: (count, one) =>
        `The mandate of ${count} ${one ? "customer" : "customers"} from your software waits for a signature`,
      account_ean: (count, one) =>
        `The connection (EAN) of ${count} ${one ? "customer" : "customers"} from your software is wrong`,
      of_client: (client, what) => `${client}: ${what}`,
      parked: (count, one) =>
        `${count} ${one ? "charging session waits" : "charging sessions wait"} for a charger that we do not know`,
      no_account: "We have no account to pay you on yet",
      cap: (left, cap) => `You can sign up ${left} more customers of the ${cap} in these 30 days`,
      newest_drafts: (count) => `Counted among your newest ${count} sign-ups.`,
      newest_customers: (count) => `Counted among your newest ${count} customers.`,
    },
    funnel: {
      title: "From invitation to customer",
      invited: "invited",
      claimed: "started",
      signed: "signed",
      of: (share) => `${share}% of those invited`,
      customers: (count, one, active) =>
        `${count} ${one ? "customer" : "customers"} in all, ${active} with a mandate in force`,
    },
    quarters: {
      title: "What you earned",
      plot: "Your share by quarter, in euro",
      earned: (quarters) => `earned in ${quarters} ${quarters === 1 ? "quarter" : "quarters"}`,
      to_come: (euro) =>
        `± ${euro} is still to come: our estimate of the ERE that are not sold yet, at the latest average price.`,
      all: "All payouts and invoices",
    },
    period: {
      choose: "Choose a period",
      month: "This month",
      customers: "New customers",
      charged: "Charged",
      euro: "For you, estimated",
      unknown: "not known yet",
      no_factor: "How many ERE a kWh of that year brings is not set yet.",
      unknown_why: "We know a price once ERE have been sold.",
      at_least: (count) => `${count} or more`,
      more: (value, than) => `${value} more than in all of ${than}`,
      less: (value, than) => `${value} less than in all of ${than}`,
      same: (than) => `As much as in all of ${than}`,
    },
    next: {
      title: "Next payout",
      none: "none yet",
      none_why: "We pay your share once the ERE of a quarter have been sold.",
      to: (last4) => `To the account that ends in ${last4}.`,
    },
    months_of: (year) => `By month in ${year}`,
    months_said: (kwh, ere, count, one) => `${kwh} kWh, ${ere} ERE, ${count} ${one ? "customer" : "customers"} charged`,
    figures: "Figures",
    chargers: "Chargers",
    as_of: (moment: string) => `As of ${moment}.`,
    total: "Charged in total",
    ere: "ERE",
    ere_hint: "For the months a mandate covers.",
    months_title: "Charged by your customers by month, in kWh",
    months_description: (total, most) => `${total} kWh in total, the most in ${most}.`,
    own_pages: "To your own pages as a customer",
    counting: "We are counting your figures for the first time. Come back in a minute.",
    no_months_in: (year, runs) => `Nothing ${runs ? "has been" : "was"} charged in ${year}${runs ? " yet" : ""}.`,
    no_months: "We know of no charging session of your current customers yet.",
    table: "Charged by month",
    month: "Month",
    all_months: "Together",
    kwh: "kWh",
    active: "Who charged",
  },

  bring,
  uploads,
  settings,
  customers,
  customer,
  drafts,
  payouts,
  branding,
  colleagues,
  invitation,
};

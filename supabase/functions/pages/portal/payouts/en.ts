import type { payouts as payoutsNl } from "./nl.ts";

/** The sentences about what a partner earns, in English. */
export const payouts: typeof payoutsNl = {
  title: "Payouts",
  quarters: "By quarter",
  quarters_are: (count) => (count === 1 ? "1 quarter" : `${count} quarters`),
  invoices_are: (count) => (count === 1 ? "1 invoice" : `${count} invoices`),
  download: "Download all quarters (CSV)",
  file: "payouts",
  paid_on: "Paid on",
  total: "Together",
  quarter: "Quarter",
  quarter_short: (quarter) => `Q${quarter}`,
  quarter_name: (quarter, year) => `Quarter ${quarter} of ${year}`,
  nothing:
    "Nothing has been sold yet. A quarter is listed here once its ERE are sold; that takes some months from the end of the quarter.",
  when: "When a quarter is over it is registered with the government. Then we sell the ERE, and then we pay you your share.",
  status: "Status",
  statuses: {
    pending: "Still to be paid",
    approved: "On its way to your bank",
    paid: "Paid",
    failed: "Payment failed: check your account",
    none_due: "Nothing to pay",
  },
  short: {
    pending: "still to be paid",
    approved: "on its way",
    paid: "paid",
    failed: "failed",
    none_due: "nothing due",
  },
  customers: "Customers",
  kwh: "kWh",
  ere: "ERE",
  yours: "Your share",
  vat: "Plus VAT",
  account: (last4) => `We pay to the account ending in ${last4}.`,
  no_account: "We have no account to pay you on yet.",
  to_account: "Enter an account",
  to_company: "Go to your company details",
  held: (moment) =>
    `The account number was entered or changed recently. For your safety we transfer nothing to it until ${moment}.`,
  invoices: "Invoices",
  no_invoices: "There are no invoices yet. We issue them on your behalf, each quarter, once your share is settled.",
  pdf: "PDF",
  corrects: (number) => `Credit note for ${number}`,
  net_and_vat: (net, vat) => `${net} and ${vat} VAT`,
  how: "How your share is calculated",
  share: (fee, share) =>
    `We keep ${fee} of what a customer's ERE earn as our fee. Of that fee, ${share} is yours. The rest of the proceeds goes to the customer.`,
  example: (part, amount) =>
    `That is ${part} of the proceeds: if a customer's ERE earn €100, ${amount} is yours. It applies from the month in which the customer came to you.`,
  signed_terms:
    "For each customer the percentages of the day they signed apply. Your share excludes VAT, which is added if you charge it.",
};

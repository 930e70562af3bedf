import type { payouts as payoutsNl } from "./nl.ts";

/** The sentences about what a partner earns, in English. */
export const payouts: typeof payoutsNl = {
  title: "Payouts",
  quarters: "By quarter",
  quarter: "Quarter",
  quarter_name: (quarter, year) => `Quarter ${quarter} of ${year}`,
  nothing:
    "Nothing has been sold yet. A quarter is listed here once its ERE are sold; expect that some months after the quarter ends.",
  when: "When a quarter is over it is booked with the authority. Then we sell the ERE, and after that we pay you your part.",
  status: "Status",
  statuses: {
    pending: "Still to be paid",
    approved: "On its way to your bank",
    paid: "Paid",
    failed: "Payment failed: check your account",
  },
  customers: "Customers",
  kwh: "kWh",
  ere: "ERE",
  yours: "Your part",
  vat: "VAT on top",
  account: (last4) => `We pay to the account ending in ${last4}.`,
  no_account: "There is no account yet to which we can pay you.",
  to_account: "Enter an account",
  to_company: "To company details",
  held: (moment) =>
    `The account number was entered or changed recently. For your safety we transfer nothing to it until ${moment}.`,
  invoices: "Invoices",
  no_invoices: "There are no invoices yet. We write them in your name, by quarter, once your part is settled.",
  number: "Number",
  pdf: "PDF",
  corrects: (number) => `Credit note for ${number}`,
  issued: "Date",
  net: "Your part",
  sum: "Total",
  how: "How your part is reckoned",
  share: (fee, share) =>
    `Of what a customer's ERE yield we keep ${fee} as our fee. Of that fee ${share} is yours. The rest of the proceeds goes to the customer.`,
  example: (part, amount) =>
    `That is ${part} of the proceeds: if a customer's ERE yield €100, ${amount} is yours. It counts from the month in which you brought the customer.`,
  signed_terms:
    "For a customer the percentages count that held when they signed. Your part is without VAT, which comes on top if you charge it.",
};

import type { DocumentWords } from "./nl.ts";

export const en: DocumentWords = {
  date_locale: "en-GB",
  page: (number, of) => `Page ${number} of ${of}`,

  signature: {
    title: "Signature",
    name: "Name",
    moment: "Signed on",
    confirmed: "Confirmed by",
    by_code: (email) => `a code, mailed to ${email}`,
    by_name: "the name alone",
  },
  evidence: {
    title: "Evidence",
    mandate: "Reference of the mandate",
    connection: "Reference of the connection",
    period: "Holds",
    from_until: (from, until) => `from ${from} up to and including ${until}`,
    kept: "How it was signed is kept under the reference of the mandate.",
    attached: (file) =>
      `The text as it was signed is in this document as the file ${file}. The fingerprint of that text (SHA-256) is:`,
    attachment: "The text of the mandate, as signed",
  },

  statement: {
    title: "Statement of your payout",
    customer: "Name",
    amount: "Paid",
    paid_on: "On",
    to: "To",
    iban: (last4) => `the account that ends in ${last4}`,
    reference: "Reference of the payment",
    connection: (ean) => `Connection ${ean}`,
    head: ["Month", "kWh", "ERE", "Yield", "Fee", "For you"],
    euro: (amount) => `€ ${amount}`,
    total: "Total",
    other: (amount) => `Settled with earlier payouts: ${amount}.`,
    how_title: "How this was computed",
    how: (service) => [
      "1 ERE (emission reduction unit) stands for 1 kg of CO2 avoided. The government sets each year how many ERE a kWh gives.",
      `Yield: your part of what ${service} was paid for the ERE.`,
      `Fee: what ${service} keeps of it, as agreed in your mandate, including VAT.`,
    ],
  },
};

import type { SettingsWords } from "./nl.ts";

/** The sentences of a partner's settings in English. */
export const settings: SettingsWords = {
  back: "Back to settings",
  overview: {
    title: "Settings",
    todo: "To do:",
    company: "Company",
    company_todo: "details that your invoices need",
  },

  company: {
    title: "Company",
    what: "These details are on the invoices for your share, which we write in your name.",
    invoices_need_nothing: "We have everything that your invoices need.",
    invoices_need: {
      vat_regime_missing:
        "For your invoices we need to know first how you charge VAT: regularly, as an exempt small business, from another country, or not at all. Send that to the address at the foot of this page.",
      vat_number_missing: "For your invoices we still need your VAT number.",
      vat_number_not_dutch:
        "You charge Dutch VAT, but this is no Dutch VAT number. Correct the number, or send us a mail.",
      vat_number_dutch:
        "As far as we know your company is in another country, but this is a Dutch VAT number. Correct the number, or send us a mail.",
      address_missing: "For your invoices we still need your street and town.",
    },
    fields: {
      name: "Name of the company",
      kvk: "KvK number",
      vat: "VAT number",
      street: "Street",
      house_number: "House number",
      postal_code: "Postal code",
      city: "Town",
    },
    hints: {
      name: "As registered with the Chamber of Commerce.",
      kvk: "8 digits.",
      vat: "Such as NL123456789B01.",
      street: undefined,
      house_number: undefined,
      postal_code: undefined,
      city: undefined,
    },
    errors: {
      name: "Give a name of at most 120 characters",
      kvk: "A KvK number has 8 digits",
      vat: "A VAT number has 4 to 20 characters",
      street: "Give a street of at most 120 characters",
      house_number: "Give a house number of at most 20 characters",
      postal_code: "A postal code looks like 1234 AB",
      city: "Give a town of at most 120 characters",
    },
    submit: "Save",
    saved: "The details were saved.",
  },
};

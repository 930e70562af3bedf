import type { SettingsWords } from "./nl.ts";

/** The sentences of a partner's settings in English. */
export const settings: SettingsWords = {
  back: "Back to settings",
  sign_in_again: {
    why: "You signed in more than 15 minutes ago. Sign in again, so that we know that it is you, and not somebody who found your browser open.",
    link: "Sign in again",
  },
  overview: {
    title: "Settings",
    todo: "To do:",
    company: "Company",
    company_todo: "details that your invoices need",
    account: "Account number",
    account_todo: "where we pay your share to",
    account_is: (iban, holder) => `${iban}, in the name of ${holder}`,
    return_url: "Address for sign-in links",
    return_url_none: "Not filled in: a sign-in link does not lead back to your website.",
    keys: "API key",
    keys_none: "There is no key.",
    keys_is: (prefix, last4) => `There is a key: ${prefix}…${last4}`,
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

  account: {
    title: "Account number",
    none: "We have no account number of yours yet. Your share waits until you give one.",
    change: "Change the account number",
    add: "Give an account number",
    what: "We tell everybody who manages these pages about the change by mail. Then we wait for 48 hours before we pay, so that nobody can redirect your money.",
    iban: "Account number (IBAN)",
    iban_hint: "Such as NL91 ABNA 0417 1643 00. One from another country will do.",
    account_holder: "In the name of",
    account_holder_hint: "As on the statements of your bank.",
    held: (moment) =>
      `This number was entered or changed a short while ago. For your safety we pay nothing to it until ${moment}.`,
    submit: "Save",
    saved: "The account number was saved. Everybody who manages these pages gets a mail.",
    errors: {
      iban: "This is no account number. Check its letters and digits",
      account_holder: "Say in whose name the account is, in 2 to 120 characters",
    },
  },

  return_url: {
    title: "Address for sign-in links",
    what: "Do you make sign-in links for customers with the API? Such a link can lead the customer back to your website when they are done. It may lead to this address only, so that nobody takes your customers anywhere else.",
    below:
      "A sign-in link may lead to this address itself and to everything behind it: https://www.yourcompany.com/charging includes https://www.yourcompany.com/charging/done?customer=12.",
    now: "Now",
    none: "not filled in",
    label: "Address on your website",
    hint: "Begins with https://. Leave it empty if your sign-in links lead nowhere back.",
    submit: "Save",
    saved: "The address was saved.",
    cleared: "The address is gone. Sign-in links do not lead back to your website any more.",
    errors: {
      return_url:
        "Give an address that begins with https://, of at most 500 characters, without user name, question mark or hash",
    },
  },

  keys: {
    title: "API key",
    what: "With an API key your own software brings customers and reads your figures. Nobody can change your account number or settings with it. One key works at a time.",
    none: "You have no key yet.",
    mint: "Make a key",
    new_title: "Your new key",
    new_once: "Copy the key now: we do not show it again.",
    exists: "There is a key already, or this form was used before. Nothing was changed.",
    revoked: "The key was revoked and does not work any more.",
    yours: "Your key",
    looks: "Begins and ends",
    made: "Made",
    used: "Last used",
    never_used: "never",
    rotate: {
      title: "Replace the key",
      means: [
        "You get a new key, which we show once.",
        "The old key stops working at that moment: software that uses it stands still until you give it the new one.",
      ],
      yes: "Replace the key now",
      no: "Leave the key as it is",
    },
    revoke: {
      title: "Revoke the key",
      means: [
        "The key stops working at that moment: software that uses it stands still.",
        "You can make a new key afterwards. The revoked one does not come back.",
      ],
      yes: "Revoke the key now",
      no: "Leave the key as it is",
    },
  },
};

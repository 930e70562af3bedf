import { ended } from "#shared/values/sentence.ts";
import type { ClaimWords } from "./nl.ts";

export const en: ClaimWords = {
  steps: ["E-mail", "Details", "Connection", "Payout", "Charger", "Mandate"],
  continue: "Continue",
  save: "Save",
  start: {
    title: "Get paid for charging your car",
    benefit: (partner) =>
      `Do you charge an electric car at your own charger? Then you can be paid for it. ${partner} has prepared your registration.`,
    why_title: "Where does the money come from?",
    why: (service) =>
      `Companies that sell petrol or diesel have to buy proof of clean driving: certificates called ERE. ${service} has your charging registered, sells the ERE it earns, and you receive the proceeds less our fee.`,
    given: (partner) => `${partner} has already shared your details with us.`,
    how_title: "What will you do?",
    how: "You check your details, say where the money should go and sign a mandate. It takes about five minutes, and you can stop at any point and pick it up later.",
    need: "Have these to hand:",
    needed: [
      "your e-⁠mail, for a code",
      "your energy bill, if you want to check the EAN code",
      "your account number (IBAN)",
      "the brand and model of your charger",
    ],
    to: "First we send you a code, so that nobody else sees your details. It goes to",
    send: "Mail me the code",
    have_code: "I already have a code",
    stop: "If you would rather not take part, close this page. Nothing happens without your mandate.",
    contact: (partner) => `A question for ${partner} itself? Mail`,
  },
  out: {
    kept: "It took too long, so we ask you for a code again. What you just filled in will be waiting at the same step.",
    lost: "We ask you for a code again. What you just did was not sent. Do it once more after that.",
  },
  proof: {
    title: "Enter the code",
    submit: "Continue",
  },
  enter: {
    title: "Continue your registration",
    text: (partner) => `This link is from ${ended(partner)} It works once.`,
    submit: "Continue",
  },
  details: {
    title: "Who are you?",
    intro: (partner) => `This is what ${partner} gave us. Please correct anything that isn't right.`,
    full_name: "Your name",
    full_name_hint: "First and last name. You are the one who signs the mandate.",
    type: "Who are you registering for?",
    types: {
      particulier: "Myself, as a private individual",
      zakelijk: "A company",
      vve: "An owners' association (VvE)",
    },
    phone: "Telephone number (optional)",
    phone_hint: "We only call if there is a problem with your registration.",
    errors: {
      full_name: "Enter your first and last name",
      type: "Choose who you are registering for",
      phone: "Enter a telephone number, such as 06 12345678 or +32 470 12 34 56",
    },
  },
  company: {
    title: { zakelijk: "Your company", vve: "Your owners' association" },
    company_name: "Name",
    company_name_hint: "As in the trade register (KvK)",
    kvk: "KvK number",
    kvk_hint: { zakelijk: "8 digits", vve: "8 digits. Leave this empty if you do not know it." },
    vat: "VAT number (optional)",
    errors: { company_name: "Enter the name", kvk: "Enter a KvK number of 8 digits" },
  },
  address: {
    title: "Where is the charger?",
    hint: "The address of the electricity connection you charge from.",
    postal_code: "Postal code",
    house_number: "House number",
    street: "Street (optional)",
    city: "City (optional)",
    errors: {
      postal_code: "Enter a postal code, such as 1234 AB",
      house_number: "Enter a house number, such as 12 or 12 A",
      street: "Enter a street of at most 120 characters",
      city: "Enter a city of at most 120 characters",
    },
  },
  ean: {
    title: "Which connection is it?",
    one: "One electricity connection is known at this address.",
    several:
      "More than one electricity connection is known at this address. Choose the one your charger is on. Your energy bill says which one is yours.",
    none: "We cannot look up the connection at this address. Please enter the code yourself.",
    legend: "EAN code",
    other: "Another EAN code",
    typed: "EAN code",
    typed_hint: "18 digits, usually beginning with 87. The code is on your energy bill, under electricity.",
    errors: {
      choose: "Choose a connection",
      ean_code: "Enter the EAN code of 18 digits",
      ean_in_use: "This EAN code has already been registered. Check that you chose the right one",
      ean_address_mismatch: "This EAN code does not belong to your address. Check the code and the address",
    },
  },
  payout: {
    why_code: "To change your account number you need a code, which we will e-⁠mail to you. That way we know it is you.",
    title: "Where should we send the money?",
    keep: (last4) => `We have the number that ends in ${last4}. Only fill this in if it should be another one.`,
    iban: "IBAN",
    iban_hint: "For example NL91 ABNA 0417 1643 00",
    later: "Don't have it to hand?",
    later_hint:
      "Carry on without it, and give it later through the same link. Your charging only counts once we have your account number.",
    later_submit: "I will give it later",
    now: (last4) => `The money now goes to the account ending in ${last4}.`,
    safe: "We store your account number encrypted and use it only to pay you.",
    errors: { iban: "This is not a valid IBAN. Check the number" },
  },
  charger: {
    title: "Which charger do you have?",
    why: "Only electricity measured by a certified meter (MID) counts.",
    brand: "Brand",
    choose_brand: "Choose a brand",
    model: "Model",
    choose_model: "Choose a model",
    no_mid: "no MID meter: does not count",
    serial_number: "Serial number (optional)",
    serial_number_needed: "Serial number",
    serial_number_hint: "You will find it on a label on the charger",
    other_brand: "Choose another brand",
    later: "Not sure, or is your charger not listed?",
    later_hint:
      "Carry on without it, and tell us later through the same link. Your charging only counts once we know your charger.",
    later_submit: "I do not know yet",
    errors: {
      brand: "Choose a brand",
      model: "Choose a model",
      serial_number: "Enter a serial number of at most 64 letters and digits",
      charger_claimed: "This charger has already been registered. Check the serial number",
      charger_limit_reached:
        "You already have ten chargers, which is the most you can have. E-mail us if one of them has gone",
      serial_number_required: "Enter the serial number, so that we know it is a different charger",
    },
  },
  mandate: {
    title: "Check and read your mandate",
    intro: (service) =>
      `With this mandate ${service} may have your charging registered. If everything is right, you sign with your name and a code we e-⁠mail to you.`,
    rest: "What else you filled in",
    payout: "Account number",
    payout_known: (last4) => `ends in ${last4}`,
    charger: "Charger",
    later: "to be told later",
    change: "Change something",
  },
  done: {
    own_pages: "Go to your own pages",
    own_pages_are: "Your own pages show what you charge, what it earns and how far your registration is.",
    title: "You are registered",
    thanks: (date) => `Your mandate was signed on ${date}. We have mailed you a copy.`,
    signed_on: (date) => `You signed it on ${date}.`,
    ended: {
      revoked: {
        title: "Your mandate was withdrawn",
        since: (date) => `It was withdrawn on ${date} and is no longer valid.`,
        means: "Your charging is no longer registered. What is registered stays registered.",
      },
      expired: {
        title: "Your mandate has ended",
        since: (date) => `It was valid up to and including ${date}.`,
        means: "Electricity charged after that day is not registered. What is registered stays registered.",
      },
    },
    kept: (until) => `What you charged up to and including ${until} still counts.`,
    todo: {
      title: "What you still have to do",
      iban: {
        text: "We do not have your account number yet. Without it your charging does not count.",
        action: "Add your account number",
      },
      charger: {
        text: "We do not know your charger yet. Without a charger with a certified meter (MID) your charging does not count.",
        action: "Add your charger",
      },
      mid_charger: {
        text: "The charger you added has no certified meter (MID). So your charging does not count. Do you have another one that does?",
        action: "Add a charger with a MID meter",
      },
    },
    registration: {
      concept: (_service) => "Your registration has not been submitted yet. We do that once we know your charger.",
      ingediend: (service) => `Your registration has been submitted. ${service} is reviewing it now.`,
      goedgekeurd: (_service) => "Your registration has been approved.",
      afgekeurd: (service) =>
        `Your registration was rejected. If you add another charger, ${service} will review it again. E-mail us if you do not know why.`,
    },
    complete: "We have everything we need from you.",
    mid_waits:
      "We are still checking whether your charger has a certified meter (MID). You do not need to do anything.",
    ean_waits: "We could not check the EAN code yet and will try again. You do not need to do anything.",
    ean_wrong:
      "According to the register, the EAN code does not belong to your address. E-mail us and we will sort it out together.",
    paid: {
      title: "What you were paid",
      payout: (amount, date) => `${amount} on ${date}: see the statement`,
    },
    given: {
      title: "What you told us",
      change_iban: "Change the account number",
      chargers: (count) => (count === 1 ? "Charger" : "Chargers"),
      add_charger: "Add another charger",
    },
  },
  revoke: {
    means: {
      kept: (until) => `What you charged up to and including ${until} still counts. You will still be paid for it.`,
      nothing_kept: "What is registered stays registered. You will still be paid for it.",
      at_once: "It takes effect at once. If you want to take part again later, you sign again.",
    },
  },
  used: {
    title: "This registration has been completed",
    text: "The mandate has been signed.",
    help: "To see where it stands, add something or withdraw the mandate, ask for a code by e-⁠mail first.",
  },
  gone: {
    title: "This registration no longer exists",
    text: "It was withdrawn, or expired too long ago. Nothing was registered.",
    help: "If you would like to take part after all, ask the company that sent you the link for a new one.",
  },
  expired: {
    title: "This registration has expired",
    text: "The link worked for 60 days. Nothing was registered.",
    help: "If you would like to take part after all, ask the company that sent you the link for a new one.",
  },
  conflict: {
    title: "This registration cannot continue",
    text: "Your e-⁠mail address or your connection is already registered with us in another way. Nothing has changed.",
    help: "If you already have an account with us, sign in there. If you think this is a mistake, e-⁠mail us and we will look into it.",
    sign_in: "Sign in",
  },
  link_used: {
    title: "This link has been used",
    text: "A link to continue works only once, so that nobody else can use it.",
    help: "Ask the company that gave you this link for a new one.",
  },
  link_expired: {
    title: "This link no longer works",
    text: "A link to continue works for 5 minutes, or until a newer one is sent.",
    help: "Ask the company that gave you this link for a new one.",
  },
  unsubscribe: {
    title: "Stop receiving messages?",
    text: "We will no longer send you invitations, from this company or any other.",
    kept: "A registration that is waiting for you stays: the link in your mail still works. You will still get any code or copy you ask for.",
    submit: "Send me no more messages",
  },
  unsubscribed: {
    title: "You will receive no more messages",
    text: "We have recorded that. We will not invite you at this e-⁠mail address again.",
  },
};

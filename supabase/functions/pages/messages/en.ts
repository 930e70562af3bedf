import { en as mandate } from "#shared/domain/mandate_text/en.ts";
import type { Messages } from "./nl.ts";

export const en: Messages = {
  ...mandate,
  lang: "en",
  language: "Language",
  error_prefix: "Error: ",
  error_title: "Something is not right",
  steps_label: "Steps",
  steps: ["Read", "Sign", "Done"],
  step_done: "done",
  back: "Back",
  questions: "Questions? Mail",
  retry_in: (seconds) =>
    seconds < 90
      ? "Try again in a minute."
      : seconds < 5400
        ? `Try again in ${Math.ceil(seconds / 60)} minutes.`
        : `Try again in ${Math.ceil(seconds / 3600)} hours.`,

  read: {
    title: "Read your mandate",
    who: (partner) => `${partner} asks for your mandate.`,
    why: (partner, service) =>
      `Do you charge an electric car at your own charger? Then you avoid emissions. On behalf of ${partner}, ${service} has that electricity registered. That is only allowed with your mandate.`,
    how: (email) =>
      email
        ? "Read the mandate below. Is everything right? Then you sign with your name and a code that we mail you. It takes about three minutes."
        : "Read the mandate below. Is everything right? Then you sign with your name. It takes about two minutes.",
    wrong: (partner) => `Is something not right? Then do not sign, and let ${partner} know.`,
    save: "Save as text",
    continue: "Continue to sign",
    decline: "I do not want to sign",
  },

  ask_code: {
    title: "Ask for a code",
    why: "This is how we know that it is you who signs.",
    to: "We will mail a code to",
    wrong: (partner) => `Is this not your e-mail address? Please let ${partner} know.`,
    send: "Mail me the code",
  },

  sign: {
    title: "Sign the mandate",
    no_email: "We have no e-mail address of yours. So you sign with your name alone. We record that no code was used.",
    again: "Read the mandate once more",
    code: "Code from the mail",
    code_hint: (email) => `6 digits, sent to ${email}. The code works for 10 minutes.`,
    name: "Your name",
    name_hint: "Type your first and last name. This is your signature.",
    agree: "I have read the mandate and I agree.",
    authority: (company) =>
      company
        ? `On behalf of ${company} I am allowed to sign.`
        : "On behalf of the company or association I am allowed to sign.",
    submit: "Sign",
    no_code: "No code received?",
    no_code_help: "It can take a minute. Look in your junk mail too.",
    resend: "Mail me a new code",
    errors: {
      code_missing: "Enter the code of 6 digits",
      wrong_code: "This code is not right. Look once more in the newest mail",
      code_expired: "This code no longer works. Ask for a new code",
      too_many_attempts: "You entered a wrong code too often. Ask for a new code",
      name: "Type your first and last name",
      agree: "Tick that you have read the mandate and agree",
      authority: "Tick that you are allowed to sign",
    },
  },

  signed: {
    title: "You have signed",
    thanks: (date) => `Your mandate was signed on ${date}.`,
    mailed: (email) => `A copy goes to ${email}.`,
    next_title: "What happens next?",
    next: (partner, service) => [
      `${service} checks the connection and has your charging electricity registered.`,
      `${partner} keeps you informed. There is nothing you need to do.`,
      "Would you like to stop? You can withdraw the mandate at any time. Send us a mail.",
    ],
    keep: "Keep your mandate",
    keep_help: "With the link to this page you can always read it again.",
    signature: "Signature",
    signed_name: "Name",
    signed_at: "Signed on",
    confirmed: "Confirmed with",
    by_code: (email) => `a code, mailed to ${email}`,
    by_name: "the name alone",
    fingerprint: "Fingerprint of the text (SHA-256)",
    ended: {
      revoked: "This mandate was withdrawn. It is no longer valid.",
      expired: "This mandate has ended. It is no longer valid.",
    },
  },

  decline: {
    title: "Do you not want to sign?",
    means: (partner) =>
      `Then your charging electricity is not registered. ${partner} sees that you did not sign. You cannot use this link afterwards.`,
    later: "Not sure yet? Then close this page. You can come back later with the same link.",
    confirm: "Yes, I do not sign",
    back: "No, back to the mandate",
  },

  declined: {
    title: "You have not signed",
    text: (partner) => `We have recorded that. Nothing is registered. There is nothing more you need to do.
Would you like to sign after all? Then ask ${partner} for a new link.`,
  },

  claim: {
    through: (service) => `via ${service}`,
    steps: ["E-mail", "Details", "Connection", "Payout", "Charger", "Mandate"],
    continue: "Continue",
    save: "Save",
    start: {
      title: "Your registration for ERE",
      who: (partner) => `${partner} has prepared a registration for you.`,
      why: (partner, service) =>
        `Do you charge an electric car at your own charger? Then you avoid emissions. ${service} has that electricity registered, and that is worth a compensation. ${partner} has already passed on your details to us.`,
      how: "You check your details, choose where the compensation goes and sign a mandate. It takes about five minutes. You can stop halfway and continue later.",
      need: "Keep this at hand",
      needed: [
        "your e-mail, for a code",
        "your energy bill, if you want to check the EAN code",
        "your account number (IBAN)",
        "brand and model of your charger",
      ],
      to: "First we mail you a code, so that nobody else sees your details. It goes to",
      send: "Mail me the code",
      have_code: "I already have a code",
      stop: "Would you rather not take part? Then close this page. Nothing happens without your mandate.",
      contact: (partner) => `A question for ${partner} itself? Mail`,
    },
    proof: {
      title: "Enter the code",
      submit: "Continue",
      no_code_help: "It can take a minute. Look in your junk mail too.",
      errors: {
        code_missing: "Enter the code of 6 digits",
        wrong_code: "This code is not right. Look once more in the newest mail",
        code_expired: "This code no longer works. Ask for a new code",
        too_many_attempts: "You entered a wrong code too often. Ask for a new code",
      },
    },
    enter: {
      title: "Continue your registration",
      text: (partner) => `This link is from ${partner}. It works once.`,
      submit: "Continue",
    },
    details: {
      title: "Who are you?",
      intro: (partner) => `This is what ${partner} passed on to us. Is something not right? Then change it.`,
      full_name: "Your name",
      full_name_hint: "First and last name. You are the one who signs the mandate.",
      type: "For whom do you register?",
      types: {
        particulier: "For myself, as a private person",
        zakelijk: "For a company",
        vve: "For an owners' association (VvE)",
      },
      phone: "Telephone number (optional)",
      phone_hint: "We only call when something is the matter with your registration.",
      errors: {
        full_name: "Enter your first and last name",
        type: "Choose for whom you register",
        phone: "Enter a telephone number, such as 06 12345678 or +32 470 12 34 56",
      },
    },
    company: {
      title: { zakelijk: "Your company", vve: "Your owners' association" },
      company_name: "Name",
      company_name_hint: "As in the trade register (KvK)",
      kvk: "KvK number",
      kvk_hint: { zakelijk: "8 digits", vve: "8 digits. Do you not know it? Then leave this empty." },
      vat: "VAT number (optional)",
      errors: { company_name: "Enter the name", kvk: "Enter a KvK number of 8 digits" },
    },
    address: {
      title: "Where is the charger?",
      hint: "The address of the electricity connection that you charge at.",
      postal_code: "Postal code",
      house_number: "House number",
      house_number_hint: "With its addition, such as 12 or 12 A",
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
        "More than one electricity connection is known at this address. Choose that of your charger. Your energy bill says which one is yours.",
      none: "We cannot look up the connection at this address. Enter the code yourself.",
      legend: "EAN code",
      other: "Another EAN code",
      typed: "EAN code",
      typed_hint: "18 digits, usually beginning with 87. The code is on your energy bill, under electricity.",
      errors: {
        choose: "Choose a connection",
        ean_code: "Enter the EAN code of 18 digits",
        ean_in_use: "Somebody has registered this EAN code already. Check that you chose the right one",
        ean_address_mismatch: "This EAN code does not belong to your address. Check the code and the address",
      },
    },
    payout: {
      title: "Where may the compensation go?",
      legend: "Account number",
      keep: (last4) => `The number that ends in ${last4}`,
      fresh: "This account number",
      iban: "IBAN",
      iban_hint: "Such as NL91 ABNA 0417 1643 00",
      later: "I will tell you later",
      later_hint: "With the same link. Your charging counts only once we have your account number.",
      now: (last4) => `Now the compensation goes to the number that ends in ${last4}.`,
      safe: "We keep your account number encrypted and use it for paying out only.",
      errors: { choose: "Choose one of these", iban: "This is not a valid IBAN. Check the number once more" },
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
      serial_number_hint: "It is on a label on the charger",
      other_brand: "Choose another brand",
      later: "Do you not know, or is your charger not listed?",
      later_hint:
        "Then continue without. You can tell us later with the same link. Your charging counts only once we know your charger.",
      later_submit: "I do not know yet",
      errors: {
        brand: "Choose a brand",
        model: "Choose a model",
        serial_number: "Enter a serial number of at most 64 letters and digits",
        charger_claimed: "Somebody has registered this charger already. Check the serial number once more",
        charger_limit_reached: "You have ten chargers already, and cannot have more. Mail us when one is gone",
        serial_number_required: "Enter the serial number. It tells us that it is another charger",
      },
    },
    mandate: {
      title: "Check and read your mandate",
      intro: (service) =>
        `With this mandate ${service} may have your charging electricity registered. Is everything right? Then you sign with your name and a code that we mail you.`,
      rest: "What else you filled in",
      payout: "Account number",
      payout_known: (last4) => `ends in ${last4}`,
      charger: "Charger",
      later: "you will tell us later",
      change: "Change something",
    },
    done: {
      title: "You are registered",
      thanks: (date) => `Your mandate was signed on ${date}. We have mailed you a copy.`,
      ended: {
        revoked: {
          title: "Your mandate was withdrawn",
          since: (date) => `It was withdrawn on ${date} and is no longer valid.`,
          means: "Your charging electricity is no longer registered. What has been booked stays booked.",
        },
        expired: {
          title: "Your mandate has ended",
          since: (date) => `It was valid up to and including ${date}.`,
          means: "Electricity charged after that day is not registered. What has been booked stays booked.",
        },
      },
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
          text: "The charger you added has no certified meter (MID). So your charging does not count. Do you have one with such a meter?",
          action: "Add a charger with a MID meter",
        },
      },
      registration: {
        concept: (_service) => "Your registration has not been submitted yet. We do that once we know your charger.",
        ingediend: (service) => `Your registration has been submitted. ${service} is reviewing it now.`,
        goedgekeurd: (_service) => "Your registration has been approved.",
        afgekeurd: (service) =>
          `Your registration was rejected. Do you add another charger? Then ${service} reviews it again. Do you not know why? Mail us.`,
      },
      complete: "We have everything we need from you.",
      mid_waits:
        "We are still finding out whether your charger has a certified meter (MID). There is nothing you need to do for that.",
      ean_waits: "We could not check the EAN code yet. We try again. There is nothing you need to do for that.",
      ean_wrong:
        "According to the register the EAN code does not belong to your address. Mail us, and we will find out together.",
      yields: (partner, service) => `${partner} or ${service} lets you know what your charging yields.`,
      given: {
        title: "What you told us",
        change_iban: "Change the account number",
        chargers: (count) => (count === 1 ? "Charger" : "Chargers"),
        add_charger: "Add another charger",
      },
    },
    revoke: {
      title: "Withdraw your mandate",
      means: (service) => [
        `Then ${service} no longer has your charging electricity registered, nor that of months that have not been booked yet.`,
        "What has been booked stays booked. You will still receive the compensation for it.",
        "It takes effect at once, and you cannot undo it here. Would you like to take part again later? Then mail us.",
      ],
      confirm: "Yes, withdraw my mandate",
      back: "No, back",
    },
    used: {
      title: "This registration has been completed",
      text: "The mandate has been signed.",
      help: "Would you like to see how it stands, add something or withdraw the mandate? Then we mail you a code first.",
    },
    gone: {
      title: "This registration no longer exists",
      text: "It was withdrawn, or expired too long ago. Nothing was registered.",
      help: "Would you like to take part after all? Ask the company that sent you the link for a new one.",
    },
    expired: {
      title: "This registration has expired",
      text: "The link worked for 60 days. Nothing was registered.",
      help: "Would you like to take part after all? Ask the company that sent you the link for a new one.",
    },
    conflict: {
      title: "This registration cannot go on",
      text: "Your e-mail address or your connection is already known to us in another way. Nothing was changed now.",
      help: "Do you think this is not right? Mail us, and we will find out.",
    },
    link_used: {
      title: "This link has been used",
      text: "A link to continue works once. So nobody else can use it.",
      help: "Ask the company that gave you this link for a new one.",
    },
    link_expired: {
      title: "This link no longer works",
      text: "A link to continue works for 5 minutes, and until a newer one is made.",
      help: "Ask the company that gave you this link for a new one.",
    },
    unsubscribe: {
      title: "Receive no more messages?",
      text: "Then we no longer write to invite you, not for another company either.",
      kept: "A registration that waits for you stays: the link in your mail still works. A code or a copy that you ask for yourself, we will mail you.",
      submit: "Send me no more messages",
    },
    unsubscribed: {
      title: "You will receive no more messages",
      text: "We have recorded that. We no longer invite you at this e-mail address.",
    },
  },

  return_to: (partner) => `Back to ${partner}`,

  unknown: {
    title: "This link does not work",
    text: "Perhaps the link was not copied in full. Open it once more from the mail or message you received.",
    help: "Does it still not work? Ask the company that sent you the link for a new one.",
  },
  expired: {
    title: "This link has expired",
    text: "The link worked for 14 days. Nothing was signed.",
    help: "Ask the company that sent you the link for a new one.",
  },
  voided: {
    title: "This link is no longer valid",
    text: "A newer link was made, or the details were changed. Nothing was signed.",
    help: "Use the newest link you received, or ask the company that sent you the link for one.",
  },
  changed: {
    title: "The details have changed",
    text: "Something changed since you read the mandate. Nothing has been signed yet.",
    help: "Read the mandate again. Is everything right? Then you can sign.",
    action: "Read again",
  },
  too_many_codes: {
    title: "You asked for too many codes",
    text: "A code you received earlier may still work.",
    action: "Back to signing",
  },
  too_many_requests: {
    title: "One moment please",
    text: "There are too many requests from your network.",
  },
  refused: {
    title: "We cannot process this",
    text: "The form did not come from this page, or was too large. Nothing was signed. Open the link again from your mail.",
  },
  failed: {
    title: "Something went wrong on our side",
    text: "Try again in a few minutes. What you had already signed stays signed.",
    quote: "Does it keep going wrong? Mail us this number:",
  },
  not_found: {
    title: "This page does not exist",
    text: "Check the address, or open the link again from your mail.",
  },

  consent: {
    bad_request: {
      title: "This link from the app is not right",
      text: "We do not know the app that sent you here. Or the app's link is not right. Nothing was shared.",
      help: "Go back to the app and try again. Does that not help? Then ask the maker of the app.",
    },
    sign_in: {
      title: "Sign in",
      why: (app, service) => `${app} asks for access to the data that ${service} has about you.`,
      next: (app) =>
        `Sign in first. Then you see what ${app} asks for, and you decide. ${app} does not get to see your password.`,
      email: "E-mail address",
      password: "Password",
      submit: "Sign in",
      no_password: "No password?",
      no_password_help: "Enter your e-mail address above. We will mail you a code with which you can sign in once.",
      mail_code: "Mail me a code",
      errors: {
        email: "Enter your e-mail address",
        password: "Enter your password",
        wrong: "This e-mail address and this password do not belong together",
        unconfirmed: "Confirm your e-mail address first, with the link in the mail you received",
      },
    },
    code: {
      title: "Enter the code",
      sent: (email) =>
        `Does ${email} belong to an account? Then a mail with a code of 6 digits is on its way to you now.`,
      hint: "The code works for 10 minutes, in this browser only.",
      submit: "Sign in",
      back: "Sign in another way",
      no_code_help: "It can take a minute. Look in your junk mail too, and check the e-mail address.",
    },
    ask: {
      title: (app) => `Do you give ${app} access?`,
      who: (app, operator, service) =>
        `The app ${app}, by ${operator}, asks for access to the data that ${service} has about you.`,
      who_unknown: (app, service) => `The app ${app} asks for access to the data that ${service} has about you.`,
      signed_in: "You are signed in as",
      other: "Sign in as somebody else",
      may: (app) => `Then ${app} may:`,
      scopes: {
        "chargers:read": "see which chargers you have, and whether they are charging",
        "chargers:write": "add chargers for you",
        "sessions:read": "see your charging sessions: when, how long and how many kWh",
        "energy:read": "see how much you charge each month and what your ERE bring in",
        "profile:read": "see your name and e-mail address",
        "partners:read": "see the figures of the company you manage, without the names of customers",
        "partners:write": "change the settings of the company you manage, and add customers",
      },
      may_not: (app) => `${app} does not see your password, and can do no more than what is listed above.`,
      stop: (email) => `The access lasts until you stop it. You can stop it at any time with a mail to ${email}.`,
      back_to: (host) => `After your choice you go back to ${host}.`,
      allow: "Yes, give access",
      refuse: "No, give no access",
      again:
        "Your choice was not processed yet: the page had expired or the question has changed. Read it once more and choose again.",
    },
    done: {
      title: (app) => `You are going back to ${app}`,
      text: "Is nothing happening? Then use the button.",
      onward: (app) => `Continue to ${app}`,
    },
  },

  home: {
    title: "Charging becomes ERE",
    text: (service) =>
      `${service} is the service with which charge-point operators turn electric charging into ERE: Dutch emission reduction units.`,
    signatory:
      "Did you receive a link to sign a mandate? Then open that link. There is nothing you need to do on this page.",
    developers: "For developers",
    openapi: "Description of the API (OpenAPI)",
  },
};

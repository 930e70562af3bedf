import { en as mandate } from "#shared/domain/mandate_text/en.ts";
import { ended } from "#shared/values/sentence.ts";
import type { KitWords } from "./nl.ts";

export const en: KitWords = {
  ...mandate,
  lang: "en",
  language: "Language",
  error_prefix: "Error: ",
  error_title: "There is a problem",
  step: (number, of) => `Step ${number} of ${of}`,
  back: "Back",
  skip: "Skip to the content",
  more: "More",
  script: {
    print: "Print or save as PDF",
    not_found: "The search did not work. Below is still what you looked for before. Try the button.",
    copy: "Copy",
    copied: "Copied",
    not_copied: "Your browser does not allow copying: select the text",
    busy: "One moment…",
  },
  questions: "Questions? Mail",
  through: (service) => `via ${service}`,
  retry_in: (seconds) =>
    seconds < 90
      ? "Try again in a minute."
      : seconds < 5400
        ? `Try again in ${Math.ceil(seconds / 60)} minutes.`
        : `Try again in ${Math.ceil(seconds / 3600)} hours.`,

  code: {
    label: "Code from the mail",
    hint: (email) => `6 digits, sent to ${email}. The code works for 10 minutes.`,
    no_code: "No code received?",
    no_code_help:
      "It can take a minute. Look in your junk mail too. Only the newest code works. We send no more than a few codes a day to one address: if none comes, try again tomorrow.",
    resend: "Mail me a new code",
    errors: {
      code_missing: "Enter the code of 6 digits",
      wrong_code: "This code is not right. Check it against the newest mail",
      code_expired: "This code no longer works. Ask for a new code",
      too_many_attempts: "You entered a wrong code too often. Ask for a new code",
      too_many_guesses: "A wrong code was entered too often today. Try again tomorrow",
    },
  },

  sign_in: {
    again: "This form did not come from the page you were shown, or your browser keeps no cookies. Sign in here.",
    title: "Sign in",
    email: "E-mail address",
    password: "Password",
    sign_out: "Sign out",
    signed_out: "You are signed out.",
    kept: "Sign in again first. What you filled in will be there again: check it, and then send it.",
    lost: "You were not signed in any more. What you just did was not sent. Sign in again, and then do it once more.",
    submit: "Sign in",
    how: "We will mail you a code with which you can sign in once. You need no password.",
    by_password: "Sign in with a password",
    mail_code: "Mail me a code",
    errors: {
      email: "Enter your e-⁠mail address",
      password: "Enter your password, or have a code mailed to you above",
      wrong: "This e-⁠mail address and this password do not belong together",
      unconfirmed: "Confirm your e-⁠mail address first, with the link in the mail you received",
    },
    code: {
      title: "Enter the code",
      again: (email) =>
        `For this step we want to be sure that it is you. We mailed a code to ${email}. Then you go on where you were.`,
      confirm: "Confirm with this code",
      sent: (email) => `Do we know ${email}? Then a mail with a code of 6 digits is on its way to you now.`,
      hint: "The code works for 10 minutes, in this browser only.",
      back: "Sign in another way",
      no_code_help:
        "It can take a minute. Look in your junk mail too, and check the e-⁠mail address. Only the newest code works. We send no more than a few mails a day to one address: if no code comes, try again tomorrow.",
    },
  },

  scopes: {
    "chargers:read": "see which chargers you have, and whether they are charging",
    "chargers:write": "add chargers for you",
    "sessions:read": "see your charging sessions: when, how long and how many kWh",
    "energy:read": "see how much you charge each month and what your ERE earn",
    "profile:read": "see your name and e-⁠mail address",
    "partners:read": "see the figures of the company you manage, without the names of customers",
    "partners:write": "change the settings of the company you manage, and add customers",
  },

  withdrawal: {
    title: "Withdraw your mandate",
    why_code: "To withdraw you need a code, which we will e-⁠mail to you. That way we know it is you.",
    means: {
      lost: (kwh, month) => `You lose the ${kwh} of ${month}, because a part of a month does not count.`,
      nothing_lost: (month) => `We have no kWh of ${month} yet. What you charge this month no longer counts.`,
      from_now: (service) => `From now on ${service} no longer has your charging registered.`,
      renewal: (until) => `Your renewal up to and including ${until} lapses too.`,
      if_approved: "Your registration is still being reviewed: this holds if it is approved.",
      unregistered:
        "Your registration is not complete yet. If you withdraw now, what you charged before does not count either, apart from what is registered already.",
    },
    confirm: "Yes, withdraw my mandate",
    back: "No, go back",
  },

  own: {
    menu: {
      label: "Your pages",
      "": "Overview",
      "/charging": "Charging",
      "/earnings": "Money",
      "/mandate": "Mandate",
      "/chargers": "Chargers",
      "/sharing": "Who sees what",
      "/tokens": "Your programs",
      "/data": "Data",
    },
    signed_in: (email) => `You are signed in as ${email}.`,
  },

  read: {
    to_button: "To the button below",
    save: "Save as text",
    continue: "Continue to sign",
    decline: "I do not want to sign",
  },

  period: {
    title: "For how long do you sign?",
    hint: "A mandate covers whole calendar years. You can withdraw it at any time.",
    until: (until) => `Up to and including ${until}`,
    calendar_years: (years, first, last) =>
      years === 1 ? `1 calendar year: ${first}` : `${years} calendar years: ${first} up to and including ${last}`,
    signs_for: (from, until) => `You sign for the period from ${from} up to and including ${until}.`,
    renews: (until, from) =>
      `Your current mandate is valid up to and including ${until}. Nothing about it changes. This new one begins on ${from}.`,
  },

  offer: {
    title: "What you earn and what it costs",
    unknown: "We cannot say yet what your charging will earn. That depends on the price at which the ERE are sold.",
    kwh: "About how many kWh do you charge in a year?",
    kwh_hint: (kwh) => `A car that charges at home often uses some ${kwh} kWh a year.`,
    kwh_error: "Enter a number of kWh, from 1 to 1,000,000",
    compute: "Calculate",
    a_year: (kwh) => `a year for you, at ${kwh} kWh`,
    a_year_to: (kwh, partner) => `a year to ${partner}, at ${kwh} kWh`,
    fee_is_off: (percent) =>
      `This is an estimate, at the latest price. The cost of our service (${percent}%) is already taken off.`,
    sum: "Estimate for a year",
    gross: "What your ERE earn",
    costs: (percent) => `Cost of our service (${percent}%)`,
    for_you: "For you",
    for_partner: (partner) => `To ${partner}`,
    ask_partner: (partner) =>
      `We pay this to ${partner}, which settles with you. Ask ${partner} what you receive of it.`,
    how: "How we work this out",
    computed: (kwh, factor, price) =>
      `This is an estimate. How we work it out: ${kwh} kWh × ${factor} ERE per kWh × ${price} per ERE, the latest average price. The price may rise or fall.`,
    fee: "What our service costs",
    fee_is: (percent) =>
      `${percent}% of what your ERE earn, including VAT. We keep that; you never pay anything yourself.`,
    when: "When you receive money",
    when_paid: (least) =>
      `After each quarter we register what you charged. Once the ERE are sold we transfer the money, as soon as it is at least ${least}. That takes some months after the end of the quarter.`,
    when_via: (partner) =>
      `After each quarter we register what you charged. Once the ERE are sold, ${partner} settles with you. That takes some months after the end of the quarter.`,
    read: "See also the",
    conditions: "conditions",
    and: "and the",
    privacy: "privacy statement",
    who: (service) => `Who is ${service}?`,
    kvk: "KvK number",
    phone: "Telephone",
    mail: "E-mail",
  },

  ask_code: {
    title: "Ask for a code",
    why: "This is how we know that it is you who signs.",
    to: "We will mail a code to",
    wrong: (partner) => `Not your e-⁠mail address? Please let ${partner} know.`,
    send: "Mail me the code",
  },

  sign: {
    title: "Sign the mandate",
    no_email: "We do not have your e-⁠mail address, so you sign with your name alone. We record that no code was used.",
    again: "Read the mandate again",
    name: "Your name",
    name_hint: "Type your first and last name. This is your signature.",
    agree: "I have read the mandate and I agree.",
    authority: (company) =>
      company
        ? `I am allowed to sign on behalf of ${ended(company)}`
        : "I am allowed to sign on behalf of the company or association.",
    submit: "Sign",
    errors: {
      name: "Type your first and last name",
      agree: "Tick that you have read the mandate and agree",
      authority: "Tick that you are allowed to sign",
    },
  },

  signed: {
    next_title: "What happens next?",
    keep: "Keep your mandate",
    save_pdf: "Save as PDF",
    signature: "Signature",
    signed_name: "Name",
    signed_at: "Signed on",
    confirmed: "Confirmed with",
    by_code: (email) => `a code, mailed to ${email}`,
    by_name: "the name alone",
    fingerprint: "Fingerprint of the text (SHA-256)",
    holds: (until) => `Your mandate is valid up to and including ${until}.`,
    renewed: (until) => `You have renewed it already, up to and including ${until}.`,
    renewal: "Your mandate for the years after it",
    renew: {
      title: "Renew your mandate",
      text: (until) =>
        `Your mandate ends on ${until} and is not renewed by itself. What you charge after that only counts if you sign again.`,
      action: "Read and sign the new one",
    },
    sign_again: {
      title: "Take part again?",
      text: "If you sign again, what you charge this year counts again.",
      action: "Read and sign again",
    },
  },

  return_to: (partner) => `Back to ${partner}`,

  unknown: {
    title: "This link does not work",
    text: "The link may not have been copied in full. Open it again from the mail or message you received.",
    help: "If it still does not work, ask the company that sent you the link for a new one.",
  },
  changed: {
    title: "The details have changed",
    text: "Something changed since you read the mandate. Nothing has been signed yet.",
    help: "Read the mandate again. If everything is right, you can sign.",
    action: "Read again",
  },
  too_many_codes: {
    title: "Too many codes were asked for today",
    text: "Use the newest code you received: it works for ten minutes. If it no longer works, ask for a new one later.",
  },
  document_not_ready: {
    title: "Your document is being made",
    text: "That takes a few seconds. Then try again.",
    action: "Try again",
  },
  too_many_requests: {
    title: "One moment please",
    text: "There are too many requests from your network.",
  },
  refused: {
    title: "We cannot process this",
    text: "The form did not come from this page, was too large, or did not arrive whole. Nothing was signed. Open the link again from your mail.",
  },
  file_too_large: {
    title: "This file is too large",
    text: "We read nothing of it and nothing has changed. Go back to the page before: it says how large a file may be.",
  },
  failed: {
    title: "Something went wrong on our side",
    text: "Try again in a few minutes. What you had already signed stays signed.",
    quote: "If it keeps going wrong, e-⁠mail us this number:",
  },
  not_found: {
    title: "This page does not exist",
    text: "Check the address, or open the link again from your mail.",
    home: "To the start page",
  },
};

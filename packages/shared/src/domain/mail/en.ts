import type { MailMessages } from "./nl.ts";

export const en: MailMessages = {
  lang: "en",
  greeting: (name) => `Dear ${name},`,
  hello: "Hello,",
  somebody: "Sir or Madam",
  through: (partner, service) => `${partner}, through ${service}`,
  regards: "Kind regards,",
  questions: "Questions? Mail",
  linkFallback: "Does the button not work? Copy this address into your browser:",
  mandate_link: {
    subject: (partner) => `${partner} asks for your mandate for your charging electricity`,
    lines: (partner, service) => [
      `${partner} would like the electricity you charge with at home or on your premises to be registered as emission reduction (ERE). ${service} does that. It needs your mandate.`,
      "First you read what you sign. Then you sign with your name and a code that we mail you. It takes about three minutes.",
    ],
    button: "Read and sign",
    after: "The link works for 14 days and is for you only. Do not forward it.",
    unexpected:
      "You receive this message because your signature is asked for. Not expecting it? Then there is nothing you need to do.",
  },
  mandate_code: {
    subject: (code) => `${code} is your code to sign`,
    lines: (partner) => [`You are about to sign the mandate that ${partner} asks for. Enter this code on the page:`],
    after: "The code works for 10 minutes. Give it to nobody: with this code you sign.",
    unexpected: "Did you not ask for this code? Then there is nothing you need to do.",
  },
  mandate_signed: {
    subject: "Your mandate has been signed",
    lines: (partner) => [
      `Thank you. You have signed the mandate that ${partner} asked for. Keep this mail: what you signed is below.`,
    ],
    button: "View your mandate",
    after:
      "Would you like to stop? You can withdraw the mandate at any time. Let us know; the address is at the end of this mail.",
    after_claim:
      "The button also shows where your registration stands. There you can add what is missing, and withdraw the mandate at any time.",
    document: "This is what you signed",
    unexpected: "Did you not sign this yourself? Tell us at once.",
  },
  claim: {
    subject: (partner) => `${partner} has prepared your registration for ERE`,
    lines: (partner, service) => [
      `Do you charge an electric car at your own charger? Then you avoid emissions, and that is worth a compensation: ERE. ${partner} has already prepared your registration with ${service}.`,
      "You check your details, choose where the compensation goes and sign a mandate. It takes about five minutes.",
    ],
    button: "View your registration",
    after: "The link works for 60 days and is for you only. You can stop halfway and continue later.",
  },
  reminder: {
    subject: (partner) => `Your registration for ERE with ${partner} is still waiting`,
    lines: (partner, service) => [
      `Some time ago ${partner} prepared your registration with ${service}. With it you receive a compensation for the electricity you charge with at home or on your premises.`,
      "Nothing happens without your mandate. Taking part takes about five minutes.",
    ],
    button: "Complete your registration",
    after: "Would you rather not take part? Then there is nothing you need to do: the registration ends by itself.",
  },
  invitation: {
    message: (partner: string, words: string) => `${partner} writes: “${words}”`,
    why: (partner) => `You receive this message because ${partner} gave us your e-mail address to invite you.`,
    unsubscribe: "Receive no more messages",
  },
  sign_in: {
    subject: (partner) => `Your link to continue with ${partner}`,
    lines: (partner) => [`With this link you continue your registration with ${partner}.`],
    button: "Continue",
    after: "The link works for 5 minutes and only once. Do not forward it.",
    unexpected: "Did you not ask for this link? Then there is nothing you need to do.",
  },
  sign_in_code: {
    subject: (code) => `${code} is your code to sign in`,
    lines: (app, service) => [
      `You are about to sign in to ${service}, because the app ${app} asks for access. Enter this code on the page:`,
    ],
    after: "The code works for 10 minutes. Give it to nobody: whoever has the code can sign in as you.",
    unexpected: "Did you not ask for this code? Then there is nothing you need to do.",
  },
  claim_code: {
    subject: {
      prove: (code) => `${code} is your code to continue`,
      sign: (code) => `${code} is your code to sign`,
      iban: (code) => `${code} is your code to change your account number`,
      revoke: (code) => `${code} is your code to withdraw your mandate`,
    },
    lines: {
      prove: (partner) => [
        `You opened the registration that ${partner} prepared for you. Enter this code on the page:`,
      ],
      sign: (partner) => [
        `You are about to sign the mandate of your registration through ${partner}. Enter this code on the page:`,
      ],
      iban: (partner) => [
        `You are about to change the account number of your registration through ${partner}. Enter this code on the page:`,
      ],
      revoke: (partner) => [
        `You are about to withdraw the mandate of your registration through ${partner}. Enter this code on the page:`,
      ],
    },
    after: {
      prove: "The code works for 10 minutes. Give it to nobody.",
      sign: "The code works for 10 minutes. Give it to nobody: with this code you sign.",
      iban: "The code works for 10 minutes. Give it to nobody: with this code your compensation goes to another account number.",
      revoke: "The code works for 10 minutes. Give it to nobody: with this code your mandate is withdrawn.",
    },
    unexpected: "Did you not ask for this code? Then there is nothing you need to do.",
  },
  iban_changed: {
    subject: (partner) => `The account number of ${partner} has changed`,
    lines: (partner, iban, holder) => [`Payouts to ${partner} go to ${iban} from now on, in the name of ${holder}.`],
    after: "Did you change this yourself? Then there is nothing you need to do.",
    unexpected: "Did you not change this? Tell us at once.",
  },
  customer_iban_changed: {
    subject: "Your account number has been recorded",
    lines: (partner, iban) => [
      `The compensation of your registration through ${partner} goes to account number ${iban} from now on.`,
    ],
    after: "Did you do this yourself? Then there is nothing you need to do.",
    unexpected: "Did you not do this? Tell us at once.",
  },
};

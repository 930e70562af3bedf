import type { MailMessages } from "./nl.ts";

export const en: MailMessages = {
  lang: "en",
  greeting: (name) => `Dear ${name},`,
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
    document: "This is what you signed",
    unexpected: "Did you not sign this yourself? Tell us at once.",
  },
};

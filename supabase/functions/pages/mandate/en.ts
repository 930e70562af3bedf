import type { MandateWords } from "./nl.ts";

export const en: MandateWords = {
  steps: ["Read", "Sign", "Done"],

  read: {
    title: "Read your mandate",
    who: (partner) => `${partner} asks for your mandate.`,
    why: (partner, service) =>
      `Do you charge an electric car at your own charger? Then you avoid emissions. On behalf of ${partner}, ${service} has that electricity registered. That takes your mandate.`,
    how: (email) =>
      email
        ? "Read the mandate below. Is everything right? Then you sign with your name and a code that we mail you. It takes about three minutes."
        : "Read the mandate below. Is everything right? Then you sign with your name. It takes about two minutes.",
    wrong: (partner) => `Is something not right? Then do not sign, and let ${partner} know.`,
  },

  signed: {
    title: "You have signed",
    thanks: (date) => `Your mandate was signed on ${date}.`,
    mailed: (email) => `A copy goes to ${email}.`,
    next: (partner, service) => [
      `${service} checks the connection and has your charging registered.`,
      `${partner} keeps you informed. There is nothing you need to do.`,
      "You can withdraw the mandate at any time, on your own pages or by e-⁠mailing us.",
    ],
    own_pages: "Your own pages: what you charge and what it earns",
    keep_help: "With the link to this page you can always read it again.",
    ended: {
      revoked: {
        title: "This mandate was withdrawn",
        text: "It is no longer valid. What is registered stays registered.",
      },
      expired: {
        title: "This mandate has ended",
        text: "It is no longer valid. What you charge after that does not count.",
      },
    },
  },

  decline: {
    title: "Would you rather not sign?",
    means: (partner) =>
      `Then your charging is not registered. ${partner} sees that you did not sign. You cannot use this link afterwards.`,
    means_renewal: (until) =>
      `Then your current mandate stays valid up to and including ${until}. What you charge after that is not registered. You cannot use this link afterwards.`,
    later: "Not sure yet? Then close this page. You can come back later with the same link.",
    confirm: "I will not sign",
    back: "Go back to the mandate",
  },

  declined: {
    title: "You have not signed",
    text: (partner) => `We have recorded that. Nothing is registered. There is nothing more you need to do.
Would you like to sign after all? Then ask ${partner} for a new link.`,
    text_renewal: (
      partner,
      until,
    ) => `We have recorded that. Your current mandate stays valid up to and including ${until}.
Would you like to renew after all? Then ask ${partner} for a new link.`,
  },

  back_to_sign: "Back to signing",

  expired: {
    title: "This link has expired",
    text: "Nothing was signed with it.",
    help: "Ask the company that sent you the link for a new one.",
  },
  voided: {
    title: "This link is no longer valid",
    text: "A newer link was sent, another link was used to sign, the details have changed, or the company that sent it no longer takes part. Nothing was signed with this link.",
    help: "Use the newest link you received, or ask the company that sent you the link for one.",
  },
};

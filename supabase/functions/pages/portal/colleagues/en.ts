import { ended } from "#shared/values/sentence.ts";
import type { ColleaguesWords, InvitationWords } from "./nl.ts";

/** The sentences about colleagues, and about an invitation, in English. */
export const colleagues: ColleaguesWords = {
  title: "Colleagues",
  what: "These people can sign in here. They see your customers, and can change every setting.",
  table: "Who can sign in here",
  email: "E-mail address",
  since: "Since",
  last: "Last signed in",
  never: "not yet",
  you: "This is you.",
  remove: "Remove",
  remove_whom: (email) => `Remove ${email}`,
  leave: "Stop managing",
  how_many: (count) => `${count} people.`,
  last_one: "You are the only one. Do you want to stop? Then invite a colleague first.",

  invitations: "Invited",
  until: (day) => `The link works until ${day}.`,
  withdraw: "Withdraw",
  withdraw_whom: (email) => `Withdraw the invitation of ${email}`,

  invite: "Invite a colleague",
  hint: "Your colleague gets a mail with a link that works for seven days. Anyone invited before gets a new one; the old one then stops working.",
  submit: "Mail the invitation",
  errors: {
    email: "Enter an e-⁠mail address, such as name@company.com",
    there: "This colleague can already sign in here",
    limit: "You have invited many colleagues today. Try again tomorrow",
  },
  news: {
    invited: "The invitation was mailed.",
    withdrawn: "The invitation was withdrawn: its link no longer works.",
    removed: "Your colleague was removed, and can do nothing here from now on.",
    not_removed: "Nothing was changed: this colleague had left already, or is the last one.",
  },
  removing: {
    title: (email) => `Remove ${email}?`,
    means: [
      "This colleague sees nothing here from now on, even where they are still signed in.",
      "What this colleague allowed other programs to do on your behalf ends, and so do the invitations they have sent.",
      "Do they know the API key? Then replace it in the settings, or it keeps working.",
      "You can invite the same colleague again later.",
    ],
    yes: "Remove the colleague",
    no: "Remove nobody",
  },
  leaving: {
    title: "Do you want to stop managing?",
    means: ["You see nothing here from now on.", "A colleague can invite you again later."],
    yes: "Stop managing",
    no: "Keep managing",
  },
};

export const invitation: InvitationWords = {
  title: (partner) => `Help manage ${partner}`,
  invited: (partner, service) => `You are invited to manage ${partner} at ${ended(service)}`,
  for: (email) => `The invitation is for ${email}. We mail a code to that address, so that we know it is you.`,
  other:
    "Somebody is already signed in in this browser. If you continue, you will be signed in with the address of this invitation.",
  mail_code: "Mail me the code",
  code_title: "Enter the code",
  code_sent: (email) => `We have mailed a code to ${email}.`,
  code_hint: "6 digits. The code works for 10 minutes.",
  accept: "Accept the invitation",
  used: {
    title: "This invitation has already been used",
    text: "Was that you? Then sign in with the e-⁠mail address at which you were invited.",
  },
  withdrawn: {
    title: "This invitation no longer works",
    text: "It was withdrawn, or there is a newer one. See whether you have a newer mail, or ask your colleague to invite you again.",
  },
  expired: {
    title: "This invitation has expired",
    text: "An invitation works for seven days. Ask your colleague to invite you again.",
  },
  elsewhere: {
    title: "You already manage another partner",
    text: "With one e-⁠mail address you can manage one partner. Ask for an invitation at another address, or stop managing the other partner first: then this invitation works after all.",
  },
  sign_in: "To the sign-in page",
};

import type { ColleaguesWords, InvitationWords } from "./nl.ts";

/** The sentences about colleagues, and about an invitation, in English. */
export const colleagues: ColleaguesWords = {
  title: "Colleagues",
  what: "These people can sign in here. They see your customers, and can change every setting.",
  table: "Who manages this with you",
  email: "Email address",
  since: "Since",
  last: "Last signed in",
  never: "not yet",
  you: "yourself",
  remove: "Remove",
  remove_whom: (email) => `Remove ${email}`,
  leave: "Leave",
  last_one: "You are the only one. Invite a colleague first if you want to leave.",

  invitations: "Invited",
  until: (day) => `works until ${day}`,
  withdraw: "Withdraw",
  withdraw_whom: (email) => `Withdraw the invitation of ${email}`,

  invite: "Invite a colleague",
  hint: "Your colleague gets a mail with a link that works for seven days. Who was invited before gets a new one; the old one then stops working.",
  submit: "Mail the invitation",
  errors: {
    email: "Give an email address, such as name@company.com",
    there: "This colleague manages with you already",
    limit: "You have invited many colleagues today. Try again tomorrow",
    recent: "You signed in more than a quarter of an hour ago. Sign in again, and then invite",
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
      "This colleague sees nothing here from now on, also where they are still signed in.",
      "What this colleague has let other programs do in your name ends, and so do the invitations they have sent.",
      "Do they know the API key? Then replace it in the settings, or it goes on working.",
      "You can invite the same colleague again later.",
    ],
    yes: "Yes, remove",
    no: "No, go back",
  },
  leaving: {
    title: "Do you want to leave?",
    means: ["You see nothing here from now on.", "A colleague can invite you again later."],
    yes: "Yes, I am leaving",
    no: "No, I am staying",
  },
};

export const invitation: InvitationWords = {
  title: (partner) => `Manage ${partner} with us`,
  invited: (partner, service) => `You are invited to manage ${partner} at ${service}.`,
  for: (email) => `The invitation is for ${email}. We mail a code there, so that we know it is you.`,
  other:
    "Somebody is signed in in this browser. If you go on, that will be the address of this invitation from then on.",
  mail_code: "Mail me the code",
  code_title: "Type the code",
  code_sent: (email) => `We have mailed a code to ${email}.`,
  code_hint: "Six digits. The code works for ten minutes.",
  accept: "Accept the invitation",
  used: {
    title: "This invitation was used already",
    text: "Was that you? Then sign in with the email address at which you were invited.",
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
    title: "You manage another partner already",
    text: "With one email address you manage one partner. Ask for an invitation at another address, or leave the other partner first: then this invitation works after all.",
  },
  sign_in: "To the sign-in page",
};

import type { ConsentWords } from "./nl.ts";

export const en: ConsentWords = {
  bad_request: {
    title: "This link from the app is not right",
    text: "We do not know the app that sent you here, or the app's link is not right. Nothing was shared.",
    help: "Go back to the app and try again. If that does not help, ask the maker of the app.",
    maker: (request_id) =>
      `For the maker of the app: client_id is unknown, or redirect_uri is not, letter for letter, one that is registered for it. Request ${request_id}.`,
  },
  sign_in: {
    why: (app, service) => `${app} asks for access to the data that ${service} has about you.`,
    next: (app) =>
      `Sign in first. Then you see what ${app} asks for, and you decide. ${app} does not get to see your password.`,
  },
  ask: {
    title: (app) => `Do you want to give ${app} access?`,
    who: (app, operator, service) =>
      `The app ${app}, by ${operator}, asks for access to the data that ${service} has about you.`,
    who_unknown: (app, service) => `The app ${app} asks for access to the data that ${service} has about you.`,
    signed_in: "You are signed in as",
    other: "Sign in as somebody else",
    may: (app) => `Then ${app} may:`,
    may_not: (app) => `${app} does not see your password, and can do no more than what is listed above.`,
    stop: (email) =>
      `The access lasts until you stop it. You can stop it at any time: on your own pages under “Who sees what”, or by mailing ${email}.`,
    back_to: (host) => `After your choice you go back to ${host}.`,
    allow: "Yes, give access",
    refuse: "No, do not give access",
    again:
      "Your choice was not processed yet: the page had expired or the question has changed. Read it once more and choose again.",
  },
  decided: {
    title: (app) => `You gave ${app} access already`,
    text: (app) => `Your choice was processed. Go back to ${app}: you can close this page.`,
  },
  done: {
    title: (app) => `You are going back to ${app}`,
    text: "Is nothing happening? Then use the button.",
    onward: (app) => `Continue to ${app}`,
  },
};

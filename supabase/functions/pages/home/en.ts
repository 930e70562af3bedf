import type { HomeWords } from "./nl.ts";

export const en: HomeWords = {
  title: "Get paid for clean charging",
  text: (service) =>
    `With ${service}, charging companies turn electric charging into ERE: certificates that sellers of petrol and diesel have to buy. Part of that money goes to whoever charges.`,
  signatory: "Were you sent a link to register or to sign a mandate? Then open that link.",
  mine: "My pages, for people who charge",
  mine_has: "What you got and will get, your chargers and your mandate",
  portal: "For partners",
  portal_has: "Your customers, your payouts and your settings",
  developers: "For developers",
  docs: "Documentation of the API",
};

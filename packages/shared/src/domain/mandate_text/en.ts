import type { MandateWords } from "./nl.ts";

export const en: MandateWords = {
  date_locale: "en-GB",
  document: {
    title: "Mandate to register charging electricity (ERE)",
    who: "I authorise",
    service: "Name",
    on_request_of: "At the request of",
    holder: "Who I am",
    full_name: "Name",
    company: { zakelijk: "Company", vve: "Owners' association (VvE)" },
    kvk: "KvK number",
    connection: "For this connection",
    ean: "EAN code",
    address: "Address",
    house_number: "house number",
    validity: "For this period",
    from: "From",
    until: "Up to and including",
    whole_years:
      "The mandate holds for whole calendar years. It ends by itself after the last day and is not renewed tacitly.",
    allow: "What I allow",
    allowed: (service) => [
      `${service} may register the electricity delivered to electric vehicles through this connection with the Dutch Emissions Authority (NEa), and sell the emission reduction units (ERE) that follow from it.`,
      "The NEa may look up in the grid operator's register of connections whether this connection is mine.",
      "The verifier, who checks the registration, may come to the address to look at the charger and the meter.",
    ],
    declare: "What I declare",
    declared: (company) => [
      "The details above are right.",
      "I have authorised nobody else for this connection and this period.",
      ...(company === null ? [] : [`On behalf of ${company} I am allowed to sign.`]),
    ],
    the_company: "the company or association",
    stop: "Stopping",
    stopping: (service, email) =>
      `I can withdraw this mandate at any time: on the website of ${service}, or with a mail to ${email}. What has been registered stays registered.`,
    filename: "mandate.txt",
  },
};

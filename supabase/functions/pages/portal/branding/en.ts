import { ended } from "#shared/values/sentence.ts";
import type { BrandingWords } from "./nl.ts";

/** The sentences of the page about a partner's brand in English. */
export const branding: BrandingWords = {
  title: "Branding",
  what: (service) =>
    `This is how your customers recognise you: on the pages where they sign up and sign, and in the mail that ${service} sends them on your behalf.`,

  preview: "What it looks like",
  on: { light: "On a light background", dark: "On a dark background" },
  sample_button: "Begin",
  sample_link: "Read more",
  sample_letter: "Dear Ms De Vries,",
  colors: {
    none: "You have not chosen a colour of your own. We use our green.",
    button: {
      white: "Buttons have your colour, with white letters.",
      black: "Buttons have your colour, with black letters, because white ones do not read well on it.",
    },
    links: {
      lighter_on_dark: "Links have your colour, and a lighter shade of it on a dark background.",
      darker_on_light: "Links have your colour, and a darker shade of it on a light background.",
      both: "Links have a darker or lighter shade of your colour, so that they read well.",
    },
  },

  look: "Name and colour",
  fields: {
    display_name: "Name",
    primary_color: "Colour",
    reply_to: "Address for replies",
  },
  hints: {
    display_name: (name) => `As your customers know you. Leave this empty for ${ended(name)}`,
    primary_color: "A colour code such as #0b6b4f, from your house style. Leave this empty for our green.",
    reply_to: "Replies of customers to our mail go there.",
  },
  errors: {
    display_name: "Enter a name of at most 120 characters",
    primary_color: "A colour code looks like #0b6b4f",
    reply_to: "Enter an e-⁠mail address, such as name@company.com",
  },
  submit: "Save",
  try: "Preview first",
  pick: "Pick a colour",
  saved: "Your name and colour were saved.",

  logo: "Logo",
  no_logo: "You have no logo yet. Your name is shown instead.",
  has_logo: "This is your logo.",
  file: "File",
  file_hint:
    "A PNG of at most 100 kB and 1000 pixels high and wide. It stands on white, so white in a logo cannot be seen.",
  upload: "Save logo",
  logo_saved: "Your logo was saved. Your customers see it from now on.",
  refused: {
    missing: "Choose a file",
    not_png: "This is not a PNG. Save your logo as a PNG in your drawing program, or ask your designer for a PNG",
    too_heavy: "This file is larger than 100 kB. Make the picture smaller; 400 pixels wide is enough",
    too_wide: "This picture is more than 1000 pixels wide or high. Make it smaller; 400 pixels wide is enough",
    broken: "This file is damaged: it is not what it says it is. Save your logo as a PNG again",
    too_detailed: "This picture has too much detail for a logo. Make it smaller; 400 pixels wide is enough",
  },
  remove: "Remove the logo",
  removing: {
    title: "Remove the logo?",
    means: [
      "Your customers then see your name instead.",
      "In mail that was already sent it stays for another 90 days.",
    ],
    yes: "Remove the logo",
    no: "Keep the logo",
  },
  removed: "Your logo was removed.",
};

// Written by npm run generate -- fonts from @fontsource-variable/public-sans 5.3.0 (OFL-1.1): Public Sans, Latin, every weight, WOFF2.

/** The file under the pages' root; its name changes with what is in it. */
export const FONT_NAME = "public-sans-5ed4d31c988e.woff2";

/** The pages of a person that the menu leads to, under where they are. */
export const OWN_SECTIONS = [
  "",
  "/charging",
  "/earnings",
  "/mandate",
  "/chargers",
  "/sharing",
  "/tokens",
  "/data",
] as const;
export type OwnSection = (typeof OWN_SECTIONS)[number];

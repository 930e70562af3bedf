import type { HomeWords } from "./nl.ts";

export const en: HomeWords = {
  title: "Charging becomes ERE",
  text: (service) =>
    `${service} is the service with which charge-point operators turn electric charging into ERE: Dutch emission reduction units.`,
  signatory:
    "Did you receive a link to sign a mandate? Then open that link. There is nothing you need to do on this page.",
  developers: "For developers",
  openapi: "Description of the API (OpenAPI)",
};

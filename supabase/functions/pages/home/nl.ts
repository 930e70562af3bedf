/** The sentences of the front page in Dutch: the original. */
export const nl = {
  title: "Laadstroom wordt ERE",
  text: (service: string) =>
    `${service} is de dienst waarmee laadpaalbedrijven elektrisch laden omzetten in ERE: Nederlandse emissiereductie-eenheden.`,
  signatory:
    "Kreeg u een link om een machtiging te ondertekenen? Open dan die link. Op deze pagina hoeft u niets te doen.",
  developers: "Voor ontwikkelaars",
  openapi: "Beschrijving van de API (OpenAPI)",
};

export type HomeWords = typeof nl;

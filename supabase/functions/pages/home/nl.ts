/** The sentences of the front page in Dutch: the original. */
export const nl = {
  title: "Laadstroom wordt ERE",
  text: (service: string) =>
    `Met ${service} zetten laadpaalbedrijven elektrisch laden om in ERE: bewijzen die verkopers van benzine en diesel moeten kopen. Van dat geld krijgt wie laadt een deel.`,
  signatory: "Heeft u een link gekregen om u aan te melden of een machtiging te ondertekenen? Open dan die link.",
  mine: "Mijn pagina's, voor wie laadt",
  portal: "Voor partners",
  developers: "Voor ontwikkelaars",
  docs: "Documentatie van de API",
};

export type HomeWords = typeof nl;

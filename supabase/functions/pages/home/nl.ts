/** The sentences of the front page in Dutch: the original. */
export const nl = {
  title: "Laadstroom wordt ERE",
  text: (service: string) =>
    `Met ${service} zetten laadpaalbedrijven elektrisch laden om in ERE: bewijzen die verkopers van benzine en diesel moeten kopen. Van dat geld krijgt wie laadt een deel.`,
  signatory: "Heeft u een link gekregen om u aan te melden of een machtiging te ondertekenen? Open dan die link.",
  mine: "Mijn pagina's, voor wie laadt",
  mine_has: "Wat u kreeg en nog krijgt, uw laadpalen en uw machtiging",
  portal: "Voor partners",
  portal_has: "Uw klanten, uw uitbetalingen en uw instellingen",
  developers: "Voor ontwikkelaars",
  docs: "Documentatie van de API",
};

export type HomeWords = typeof nl;

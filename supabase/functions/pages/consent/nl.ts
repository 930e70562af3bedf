/** The sentences of the page where an application asks for access in Dutch: the original. */
export const nl = {
  bad_request: {
    title: "Deze link van de app klopt niet",
    text: "Wij kennen de app die u hierheen stuurde niet, of de link van de app klopt niet. Er is niets gedeeld.",
    help: "Ga terug naar de app en probeer het opnieuw. Helpt dat niet? Vraag het dan aan de maker van de app.",
    maker: (request_id: string) =>
      `Voor de maker van de app: client_id is onbekend, of redirect_uri is niet letter voor letter een adres dat daarvoor is opgegeven. Verzoek ${request_id}.`,
  },
  sign_in: {
    why: (app: string, service: string) => `${app} vraagt toegang tot de gegevens die ${service} over u heeft.`,
    next: (app: string) =>
      `Log eerst in. Daarna ziet u wat ${app} vraagt, en beslist u zelf. ${app} krijgt uw wachtwoord niet te zien.`,
  },
  ask: {
    title: (app: string) => `Geeft u ${app} toegang?`,
    who: (app: string, operator: string, service: string) =>
      `De app ${app}, van ${operator}, vraagt toegang tot de gegevens die ${service} over u heeft.`,
    who_unknown: (app: string, service: string) =>
      `De app ${app} vraagt toegang tot de gegevens die ${service} over u heeft.`,
    signed_in: "U bent ingelogd als",
    other: "Log in als iemand anders",
    may: (app: string) => `Dan mag ${app}:`,
    may_not: (app: string) => `${app} ziet uw wachtwoord niet, en kan niet meer dan wat hierboven staat.`,
    stop: (email: string) =>
      `De toegang blijft tot u die stopt. Stoppen kan altijd: op uw eigen pagina's bij Wie ziet wat, of met een mail naar ${email}.`,
    back_to: (host: string) => `Na uw keuze gaat u terug naar ${host}.`,
    allow: "Ja, geef toegang",
    refuse: "Nee, geef geen toegang",
    again:
      "Uw keuze is nog niet verwerkt: de pagina was verlopen of de vraag is veranderd. Lees de vraag nog eens en kies opnieuw.",
  },
  decided: {
    title: (app: string) => `U gaf ${app} al toegang`,
    text: (app: string) => `Uw keuze is verwerkt. Ga terug naar ${app}: u kunt deze pagina sluiten.`,
  },
  done: {
    title: (app: string) => `U gaat terug naar ${app}`,
    text: "Gebeurt er niets? Gebruik dan de knop.",
    onward: (app: string) => `Verder naar ${app}`,
  },
};

export type ConsentWords = typeof nl;

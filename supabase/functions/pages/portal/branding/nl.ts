import { ended } from "#shared/values/sentence.ts";
/** The sentences of the page about a partner's brand in Dutch: the original. */
export const branding = {
  title: "Huisstijl",
  what: (service: string) =>
    `Zo herkennen uw klanten u: op de pagina's waar zij zich aanmelden en tekenen, en in de mail die ${service} hun namens u stuurt.`,

  preview: "Zo ziet het eruit",
  on: { light: "Op een lichte achtergrond", dark: "Op een donkere achtergrond" },
  sample_button: "Begin",
  sample_link: "Meer lezen",
  sample_letter: "Beste mevrouw De Vries,",
  colors: {
    none: "U heeft geen eigen kleur gekozen. Wij gebruiken ons groen.",
    button: {
      white: "Op knoppen staat uw kleur met witte letters.",
      black: "Op knoppen staat uw kleur met zwarte letters, want witte zijn daarop niet goed te lezen.",
    },
    links: {
      lighter_on_dark: "Links hebben uw kleur, en op een donkere achtergrond een lichtere tint ervan.",
      darker_on_light: "Links hebben uw kleur, en op een lichte achtergrond een donkerdere tint ervan.",
      both: "Links hebben een donkerdere of lichtere tint van uw kleur, zodat ze goed te lezen zijn.",
    },
  },

  look: "Naam en kleur",
  fields: {
    display_name: "Naam",
    primary_color: "Kleur",
    reply_to: "Adres voor antwoorden",
  },
  hints: {
    display_name: (name: string) => `Zoals uw klanten u kennen. Laat u dit leeg, dan is het ${ended(name)}`,
    primary_color: "Een kleurcode zoals #0b6b4f; die staat in uw huisstijl. Laat u dit leeg, dan is het ons groen.",
    reply_to: "Hier komt het aan als een klant op een mail antwoordt.",
  },
  errors: {
    display_name: "Vul een naam in van hoogstens 120 tekens",
    primary_color: "Een kleurcode ziet eruit als #0b6b4f",
    reply_to: "Vul een e-⁠mailadres in, zoals naam@bedrijf.nl",
  },
  submit: "Bewaar",
  try: "Bekijk eerst",
  pick: "Kies een kleur",
  saved: "Uw naam en kleur zijn bewaard.",

  logo: "Logo",
  no_logo: "U heeft nog geen logo. Uw naam staat er in letters.",
  has_logo: "Dit is uw logo.",
  file: "Bestand",
  file_hint:
    "Een PNG van hoogstens 100 kB en 1000 pixels hoog en breed. Het staat op een witte achtergrond, dus wit in een logo is niet te zien.",
  upload: "Bewaar logo",
  logo_saved: "Uw logo is bewaard. Uw klanten zien het vanaf nu.",
  refused: {
    missing: "Kies een bestand",
    not_png: "Dit is geen PNG. Bewaar uw logo in uw tekenprogramma als PNG, of vraag uw ontwerper om een PNG",
    too_heavy: "Dit bestand is groter dan 100 kB. Maak de afbeelding kleiner, 400 pixels breed is genoeg",
    too_wide: "Deze afbeelding is meer dan 1000 pixels breed of hoog. Maak hem kleiner, 400 pixels breed is genoeg",
    broken: "Dit bestand is beschadigd: het klopt niet met wat het over zichzelf zegt. Bewaar uw logo opnieuw als PNG",
    too_detailed: "Deze afbeelding heeft te veel details voor een logo. Maak hem kleiner, 400 pixels breed is genoeg",
  },
  remove: "Haal het logo weg",
  removing: {
    title: "Haalt u het logo weg?",
    means: ["Uw klanten zien dan uw naam in letters.", "In mail die al verstuurd is, blijft het nog 90 dagen staan."],
    yes: "Haal het logo weg",
    no: "Laat het logo staan",
  },
  removed: "Uw logo is weggehaald.",
};

export type BrandingWords = typeof branding;

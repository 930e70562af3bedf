/** The sentences of a mandate link in Dutch: the original. */
export const nl = {
  steps: ["Lezen", "Ondertekenen", "Klaar"],

  read: {
    title: "Lees uw machtiging",
    who: (partner: string) => `${partner} vraagt uw machtiging.`,
    why: (partner: string, service: string) =>
      `Laadt u een elektrische auto op uw eigen laadpaal? Dan voorkomt u uitstoot. In opdracht van ${partner} laat ${service} die laadstroom registreren. Dat mag alleen met uw machtiging.`,
    how: (email: boolean): string =>
      email
        ? "Lees de machtiging hieronder. Klopt alles? Dan ondertekent u met uw naam en een code die wij u mailen. Dat duurt ongeveer drie minuten."
        : "Lees de machtiging hieronder. Klopt alles? Dan ondertekent u met uw naam. Dat duurt ongeveer twee minuten.",
    wrong: (partner: string) => `Klopt er iets niet? Onderteken dan niet en laat het ${partner} weten.`,
  },

  signed: {
    title: "U heeft ondertekend",
    thanks: (date: string) => `Uw machtiging is ondertekend op ${date}.`,
    mailed: (email: string) => `Een kopie gaat naar ${email}.`,
    next: (partner: string, service: string) => [
      `${service} controleert of de aansluiting klopt en laat uw laadstroom registreren.`,
      `${partner} houdt u op de hoogte. U hoeft niets te doen.`,
      "Wilt u stoppen? U kunt de machtiging op elk moment intrekken, op uw eigen pagina's of met een mail aan ons.",
    ],
    own_pages: "Uw eigen pagina's: wat u laadt en wat het oplevert",
    keep_help: "Met de link naar deze pagina kunt u de machtiging altijd weer lezen.",
    ended: {
      revoked: {
        title: "Deze machtiging is ingetrokken",
        text: "De machtiging geldt niet meer. Wat al is ingeboekt, blijft ingeboekt.",
      },
      expired: {
        title: "Deze machtiging is afgelopen",
        text: "De machtiging geldt niet meer. Wat u daarna laadt, telt niet mee.",
      },
    },
  },

  decline: {
    title: "Wilt u niet ondertekenen?",
    means: (partner: string) =>
      `Dan wordt uw laadstroom niet geregistreerd. ${partner} ziet dat u niet heeft ondertekend. U kunt deze link daarna niet meer gebruiken.`,
    means_renewal: (until: string) =>
      `Dan geldt uw huidige machtiging tot en met ${until}. Laadstroom van daarna wordt niet geregistreerd. U kunt deze link daarna niet meer gebruiken.`,
    later: "Weet u het nog niet? Sluit dan deze pagina. U kunt later terugkomen met dezelfde link.",
    confirm: "Ja, ik onderteken niet",
    back: "Nee, terug naar de machtiging",
  },

  declined: {
    title: "U heeft niet ondertekend",
    text: (partner: string) => `Dat hebben wij vastgelegd. Er is niets geregistreerd. U hoeft niets meer te doen.
Wilt u toch ondertekenen? Vraag ${partner} dan om een nieuwe link.`,
    text_renewal: (
      partner: string,
      until: string,
    ) => `Dat hebben wij vastgelegd. Uw huidige machtiging geldt tot en met ${until}.
Wilt u toch verlengen? Vraag ${partner} dan om een nieuwe link.`,
  },

  back_to_sign: "Terug naar ondertekenen",

  expired: {
    title: "Deze link is verlopen",
    text: "Er is niets mee ondertekend.",
    help: "Vraag een nieuwe link aan het bedrijf dat u de link stuurde.",
  },
  voided: {
    title: "Deze link geldt niet meer",
    text: "Er is een nieuwere link gemaakt, met een andere link ondertekend, de gegevens zijn gewijzigd, of het bedrijf dat de link stuurde doet niet meer mee. Met deze link is niets ondertekend.",
    help: "Gebruik de nieuwste link die u kreeg, of vraag er een aan het bedrijf dat u de link stuurde.",
  },
};

export type MandateWords = typeof nl;

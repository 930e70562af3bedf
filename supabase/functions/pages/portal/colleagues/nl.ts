import { ended } from "#shared/values/sentence.ts";
/** The sentences about colleagues, and about an invitation, in Dutch: the original. */
export const colleagues = {
  title: "Collega's",
  what: "Deze mensen kunnen hier inloggen. Zij zien uw klanten, en kunnen alle instellingen wijzigen.",
  table: "Wie hier kan inloggen",
  email: "E-mailadres",
  since: "Sinds",
  last: "Laatst ingelogd",
  never: "nog niet",
  you: "Dit bent u.",
  remove: "Verwijder",
  remove_whom: (email: string) => `Verwijder ${email}`,
  leave: "Stop met beheren",
  how_many: (count: number) => `${count} mensen.`,
  last_one: "U bent de enige. Wilt u stoppen? Nodig dan eerst een collega uit.",

  invitations: "Uitgenodigd",
  until: (day: string) => `De link werkt tot en met ${day}.`,
  withdraw: "Trek in",
  withdraw_whom: (email: string) => `Trek in: de uitnodiging van ${email}`,

  invite: "Nodig een collega uit",
  hint: "Uw collega krijgt een mail met een link die zeven dagen werkt. Wie al was uitgenodigd, krijgt een nieuwe; de oude werkt dan niet meer.",
  submit: "Mail de uitnodiging",
  errors: {
    email: "Vul een e-⁠mailadres in, zoals naam@bedrijf.nl",
    there: "Deze collega kan hier al inloggen",
    limit: "U heeft vandaag al veel collega's uitgenodigd. Probeer het morgen weer",
  },
  news: {
    invited: "De uitnodiging is gemaild.",
    withdrawn: "De uitnodiging is ingetrokken: de link werkt niet meer.",
    removed: "Uw collega is verwijderd, en kan hier vanaf nu niets meer.",
    not_removed: "Er is niets veranderd: deze collega was al weg, of is de laatste.",
  },
  removing: {
    title: (email: string) => `Verwijdert u ${email}?`,
    means: [
      "Deze collega ziet hier vanaf nu niets meer, ook niet waar nog ingelogd is.",
      "Wat deze collega aan andere programma's heeft toegestaan namens u, houdt op. Open uitnodigingen van deze collega ook.",
      "Kent deze collega de API-sleutel? Vervang die dan bij de instellingen: de sleutel blijft anders werken.",
      "U kunt dezelfde collega later weer uitnodigen.",
    ],
    yes: "Verwijder de collega",
    no: "Verwijder niemand",
  },
  leaving: {
    title: "Stopt u met beheren?",
    means: ["U ziet hier vanaf nu niets meer.", "Een collega kan u later weer uitnodigen."],
    yes: "Stop met beheren",
    no: "Blijf beheren",
  },
};

export const invitation = {
  title: (partner: string) => `Help mee ${partner} te beheren`,
  invited: (partner: string, service: string) => `U bent uitgenodigd om ${partner} te beheren bij ${ended(service)}`,
  for: (email: string) =>
    `De uitnodiging is voor ${email}. Wij mailen daar een code naartoe, zodat wij weten dat u het bent.`,
  other:
    "In deze browser is al iemand ingelogd. Gaat u verder, dan bent u daarna ingelogd met het adres van deze uitnodiging.",
  mail_code: "Mail mij de code",
  code_title: "Vul de code in",
  code_sent: (email: string) => `Wij hebben een code gemaild naar ${email}.`,
  code_hint: "6 cijfers. De code werkt 10 minuten.",
  accept: "Neem de uitnodiging aan",
  used: {
    title: "Deze uitnodiging is al gebruikt",
    text: "Was u dat zelf? Log dan in met het e-⁠mailadres waarop u bent uitgenodigd.",
  },
  withdrawn: {
    title: "Deze uitnodiging werkt niet meer",
    text: "De uitnodiging is ingetrokken, of er is een nieuwere. Kijk of u een nieuwere mail heeft, of vraag uw collega om u opnieuw uit te nodigen.",
  },
  expired: {
    title: "Deze uitnodiging is verlopen",
    text: "Een uitnodiging werkt zeven dagen. Vraag uw collega om u opnieuw uit te nodigen.",
  },
  elsewhere: {
    title: "U beheert al een andere partner",
    text: "Met één e-⁠mailadres beheert u één partner. Vraag om een uitnodiging op een ander e-⁠mailadres, of stop eerst met het beheren van de andere partner: dan werkt deze uitnodiging alsnog.",
  },
  sign_in: "Naar het inloggen",
};

export type ColleaguesWords = typeof colleagues;
export type InvitationWords = typeof invitation;

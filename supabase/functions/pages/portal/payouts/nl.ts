/** The sentences about what a partner earns, in Dutch: the original. */
export const payouts = {
  title: "Uitbetalingen",
  quarters: "Per kwartaal",
  quarters_are: (count: number) => (count === 1 ? "1 kwartaal" : `${count} kwartalen`),
  invoices_are: (count: number) => (count === 1 ? "1 factuur" : `${count} facturen`),
  download: "Download alle kwartalen (CSV)",
  file: "uitbetalingen",
  paid_on: "Betaald op",
  quarter: "Kwartaal",
  quarter_short: (quarter: string) => `K${quarter}`,
  quarter_name: (quarter: string, year: string) => `${quarter}e kwartaal ${year}`,
  nothing:
    "Er is nog niets verkocht. Een kwartaal komt hier te staan zodra de ERE ervan verkocht zijn; reken op enkele maanden na het einde van het kwartaal.",
  when: "Een kwartaal wordt na afloop ingeboekt bij de overheid. Daarna verkopen wij de ERE, en dan betalen wij uw deel uit.",
  status: "Stand",
  statuses: {
    pending: "Wordt nog betaald",
    approved: "Onderweg naar uw bank",
    paid: "Betaald",
    failed: "Betaling mislukt: controleer uw rekening",
    none_due: "Niets te betalen",
  },
  short: {
    pending: "wordt nog betaald",
    approved: "onderweg",
    paid: "betaald",
    failed: "mislukt",
    none_due: "niets te betalen",
  },
  customers: "Klanten",
  kwh: "kWh",
  ere: "ERE",
  yours: "Uw deel",
  vat: "Btw erbij",
  account: (last4: string) => `Wij betalen op de rekening die eindigt op ${last4}.`,
  no_account: "Er is nog geen rekening waarop wij u kunnen betalen.",
  to_account: "Vul een rekening in",
  to_company: "Naar uw bedrijfsgegevens",
  held: (moment: string) =>
    `Het rekeningnummer is kort geleden ingevuld of gewijzigd. Voor uw veiligheid maken wij er niets naar over tot ${moment}.`,
  invoices: "Facturen",
  no_invoices: "Er zijn nog geen facturen. Wij maken ze namens u, per kwartaal, als uw deel vaststaat.",
  pdf: "pdf",
  corrects: (number: string) => `Creditnota bij ${number}`,
  net_and_vat: (net: string, vat: string) => `${net} en ${vat} btw`,
  how: "Hoe uw deel wordt berekend",
  share: (fee: string, share: string) =>
    `Van wat de ERE van een klant opbrengen houden wij ${fee} in voor onze dienst. Van die kosten is ${share} voor u. De rest van de opbrengst is voor de klant.`,
  example: (part: string, amount: string) =>
    `Dat is ${part} van de opbrengst: brengen de ERE van een klant € 100 op, dan is ${amount} voor u. Het geldt vanaf de maand waarin de klant bij u kwam.`,
  signed_terms:
    "Voor elke klant gelden de percentages van het moment waarop die tekende. Uw deel is zonder btw; die komt erbij als u btw rekent.",
};

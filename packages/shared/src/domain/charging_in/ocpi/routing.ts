// OCPI-from-* and OCPI-to-* (OCPI 2.2.1, 4.2.1): the parties of a message. Only functional modules have them.

/** Who sends it, and who is meant: each as NL-TNM. Empty if nobody is named. */
export type Route = { from: string | undefined; to: string | undefined };

/** The headers of a message. */
export const routingOf = (route: Route): Record<string, string> =>
  Object.fromEntries(
    Object.entries(route).flatMap(([side, party]) => {
      const [country, id] = party?.split("-") ?? [];
      return country && id
        ? [
            [`OCPI-${side}-country-code`, country],
            [`OCPI-${side}-party-id`, id],
          ]
        : [];
    }),
  );

/** The party that a header names, in upper case. */
export function partyIn(headers: Headers, side: "from" | "to"): string {
  const country = headers.get(`ocpi-${side}-country-code`) ?? "";
  const party = headers.get(`ocpi-${side}-party-id`) ?? "";
  return country || party ? `${country}-${party}`.toUpperCase() : "";
}

/** A moment by the clock of the Netherlands, as spreadsheets of both languages read it. */
export const clock = (moment: string | null): string | null =>
  moment &&
  new Date(moment).toLocaleString("sv-SE", { timeZone: "Europe/Amsterdam", dateStyle: "short", timeStyle: "medium" });

/** The day of a moment in the Netherlands. */
export const dayOf = <Moment extends string | null>(moment: Moment): Moment =>
  (clock(moment)?.slice(0, 10) ?? null) as Moment;

/** The year in the Netherlands. */
export const thisYear = (): number => Number(dayOf(new Date().toISOString()).slice(0, 4));

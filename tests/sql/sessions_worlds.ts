// Random worlds of chargers, for the model of sessions: who registers and names them when, and who tells which charge.

import fc from "fast-check";
import { EVSE_NAMES, Model, type Name, type Names, type Registration, type Told } from "./sessions_model.ts";

export type Door = "api" | "file" | "file with ids" | "ocpi" | "ocpp";
export type Telling = Told & { charge: number };
export type Act = { at: number } & (
  | { does: "register"; client: number; charger: number; names: Names }
  | { does: "remove"; row: number }
  | { does: "name"; row: number; names: Names; from?: number }
  | { does: "tell"; door: Door; told: Telling[] }
  | { does: "withdraw"; client: number; source: string; id: string }
  // a booking takes a month of every client, or gives it back
  | { does: "book"; month: string }
  | { does: "open"; month: string }
  // the operator doubts the meter of a charger, or confirms it
  | { does: "judge"; row: number; mid: boolean | null }
);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Time goes in steps of nine days. Chargers and names change in the first hours of a step, each at a whole hour. */
const STEP = 9 * 24 * HOUR;
const STEPS = 8;
export const BEGIN = Date.UTC(2026, 0, 5);

const times = <T>(least: number, most: number, one: fc.Arbitrary<T>) =>
  fc.array(one, { minLength: least, maxLength: most });
const often = (chance: number) => fc.nat(99).map((drawn) => drawn >= 100 - chance);
const step = fc.nat(STEPS - 1);

/** What a world is made of. simple: chargers keep their registration and names, and tellings name an EVSE that there is. */
export const seedsOf = (simple: boolean) =>
  fc.record({
    sockets: fc.constantFrom(1, 2, 2),
    lies: fc.constant(simple ? 0 : 1),
    chargers: times(
      1,
      2,
      times(
        1,
        simple ? 1 : 3,
        fc.record({
          gap: fc.constantFrom(0, 0, 1, 2),
          lasts: fc.constantFrom(1, 2, 3, 5),
          client: fc.constantFrom(0, 0, 1, 2),
          external_ref: often(50),
          evses: often(80),
        }),
      ),
    ),
    moves: times(
      0,
      simple ? 0 : 4,
      fc.record({
        step,
        row: fc.nat(11),
        what: fc.constantFrom("external_ref" as const, "evses" as const),
        value: fc.constantFrom(0, 1, 2, null),
        backdated: often(75),
      }),
    ),
    days: times(1, 2, fc.nat(4)),
    charges: times(
      2,
      5,
      fc.record({
        charger: fc.nat(11),
        // one more than there are sockets, where clients lie
        evse: fc.integer({ min: 1, max: 3 }),
        day: fc.nat(11),
        // may last until its charger is removed
        early: often(30),
        minute: fc.nat(100),
        minutes: fc.integer({ min: 15, max: 300 }),
        kw: fc.integer({ min: 2, max: 6 }),
        fileNamesEvse: simple ? fc.constant(true) : often(70),
        series: times(
          1,
          3,
          fc.record({
            teller: fc.nat(11),
            door: fc.constantFrom<Door>("api", "file with ids", "file", "ocpi", "ocpp", "api"),
            namesEvse: simple ? fc.constant(true) : often(70),
            clock: fc.tuple(fc.integer({ min: -2, max: 2 }), fc.integer({ min: -2, max: 2 })),
            tellings: times(
              1,
              2,
              fc.record({
                late: fc.constantFrom(0, 0, 1, 1, 2, 4),
                minutes: fc.nat(900),
                // -100: it is corrected to nothing, or comes back
                percent: fc.constantFrom(0, 0, 0, 0.5, 5, -5, -100),
                name: fc.nat(11),
                withdrawn: often(15),
                after: fc.nat(20),
              }),
            ),
          }),
        ),
      }),
    ),
  });
type Seeds = ReturnType<typeof seedsOf> extends fc.Arbitrary<infer T> ? T : never;

const sourceOf = (door: Door) => (door === "file with ids" ? "api" : door);

export function play(model: Model, act: Act): void {
  if (act.does === "register") model.register(act.at, act.client, act.charger, act.names);
  else if (act.does === "remove") model.remove(act.at, act.row);
  else if (act.does === "name") model.name(act.at, act.row, act.names, act.from);
  else if (act.does === "withdraw") model.withdraw(act.client, act.source, act.id);
  else if (act.does === "tell") model.tell(act.at, act.told);
}

/** Registers, removes and names chargers. No name stands at two chargers of a client. */
function administer({ sockets, chargers, moves }: Seeds, model: Model): Act[] {
  const acts: Act[] = [];
  const active = () => model.registrations.filter(({ until }) => until === Infinity);
  const holder = (client: number, names: Names) =>
    model
      .standing()
      .find((span) => span.at.client === client && model.namesOf(names).some(({ value }) => value === span.value))?.at;
  const free = (client: number, what: keyof Names, first: number) =>
    [first, 0, 1, 2].find((value) => !holder(client, { [what]: value }));
  for (let now = 0; now < STEPS; now += 1) {
    let hour = 0;
    const add = (act: (at: number) => Act) => {
      hour += 1;
      const made = act(BEGIN + now * STEP + hour * HOUR);
      acts.push(made);
      play(model, made);
    };
    for (const [charger, lives] of chargers.entries()) {
      let begin = 0;
      for (const { gap, lasts, client, external_ref, evses } of lives) {
        begin += gap;
        const registered = active().find((each) => each.charger === charger);
        if (now === begin)
          add((at) => ({
            at,
            does: "register",
            client,
            charger,
            names: {
              ...(external_ref ? { external_ref: free(client, "external_ref", charger) } : {}),
              // a charger of one socket says so before it charges; of another we think that it has two
              ...(evses || sockets === 1 ? { evses: free(client, "evses", charger) } : {}),
            },
          }));
        begin += lasts;
        if (now === begin && registered) add((at) => ({ at, does: "remove", row: registered.row }));
      }
    }
    for (const { row, what, value, backdated } of moves.filter(({ step }) => step === now)) {
      const into = active()[row % Math.max(1, active().length)];
      const names = { [what]: value };
      const out = into && holder(into.client, names);
      if (!into || out === into) continue;
      if (out) add((at) => ({ at, does: "name", row: out.row, names: { [what]: null } }));
      // From the end of its last span. Where the charger was not there yet, or loses names by it, we have no rule.
      const [first] = model.namesOf(names);
      const from = Math.max(
        ...model.spans
          .filter((span) => span.at.client === into.client && span.value === first?.value)
          .map(({ until }) => until),
      );
      const clear =
        from > into.since &&
        !model.standing().some(({ at, evse }) => at === into && (what === "evses") === (evse !== null));
      add((at) => ({ at, does: "name", row: into.row, names, ...(backdated && clear ? { from } : {}) }));
    }
  }
  return acts;
}

/** The names by which a door may tell a charge in truth: they meant its charger and EVSE when it began, or nothing. */
function namesFor(
  then: Model,
  door: Door,
  { client, charger }: Registration,
  evse: number | null,
  start: number,
  at: number,
): Name[] {
  const rows = then.registrations.filter(
    (each) => each.client === client && each.charger === charger && each.since < at,
  );
  const ids = (some: Registration[]) => some.map(({ row }) => ({ kind: "charger_id", value: String(row) }));
  // a charger speaks for itself while it is registered; what it remembers from before has no rule yet
  if (door === "ocpp") return ids(rows.filter((each) => each.since < start && at < each.removed));
  const given = then.spans
    .filter((span) => span.at.client === client && (span.evse === null || span.evse === evse))
    .filter((span) => (then.meant(client, span, start)?.at.charger ?? charger) === charger)
    .map(({ kind, value }) => ({ kind, value }));
  if (door === "ocpi") return given.filter(({ kind }) => EVSE_NAMES.includes(kind));
  return [...given, ...ids(rows), { kind: "serial_number", value: then.serials[charger] as string }];
}

/** Tells the charges. They begin hours from any border of a span, so that no door's clock puts one on its other side. */
function tell({ sockets, lies, days, charges }: Seeds, then: Model): Act[] {
  const acts: Act[] = [];
  const dayOf = (day: number) => BEGIN + (days[day % days.length] as number) * STEP;
  const charged: { charger: number; evse: number; start: number; end: number }[] = [];
  for (const [
    charge,
    { charger: drawn, day, early, minute, minutes: length, kw, series, ...said },
  ] of charges.entries()) {
    const charger = drawn % then.serials.length;
    const evse = Math.min(said.evse, sockets + lies);
    const start = dayOf(day) + (early ? -2 : 48) * HOUR + minute * MINUTE;
    const end = start + length * MINUTE;
    const near = (other: { start: number; end: number }) =>
      start < other.end + 10 * MINUTE && other.start < end + 10 * MINUTE;
    const registered = then.registrations.filter((each) => each.charger === charger);
    if (
      registered.length === 0 ||
      charged.some((other) => other.charger === charger && other.evse === evse && near(other))
    )
      continue;
    charged.push({ charger, evse, start, end });
    for (const [place, { teller, door, namesEvse, clock, tellings }] of series.entries()) {
      // sources use the same ids, and each source another for each series
      const number = series.slice(0, place).filter((other) => sourceOf(other.door) === sourceOf(door)).length;
      const by = registered[teller % registered.length] as Registration;
      // A row of a file without ids is known by its EVSE: all of them name it, or none does.
      const named = { ocpi: true, ocpp: true, file: said.fileNamesEvse, api: namesEvse, "file with ids": namesEvse }[
        door
      ];
      for (const [again, { late, minutes, percent, name, withdrawn, after }] of tellings.entries()) {
        const { client } = by;
        // a charger speaks, and a platform pushes, at any time; what is late otherwise is exported once a step
        const weekly = late > 0 && !["ocpi", "ocpp"].includes(door);
        const moment = weekly
          ? dayOf(day) + 6 * 24 * HOUR + client * HOUR + (door === "api" ? 0 : 10) * MINUTE
          : end + (10 + minutes) * MINUTE;
        const at = moment + late * STEP + (charge * 10 + place * 3 + again) * 1000;
        const names = namesFor(then, door, by, named ? evse : null, start, at);
        const told = names[name % Math.max(1, names.length)];
        if (!told) continue;
        const source = sourceOf(door);
        // a CDR that is corrected is another one, and one without energy is no charge; a charger measures once
        const id = door === "file" ? null : `C${charge}S${number}T${door === "ocpi" ? again : 0}`;
        const wh = Math.round(
          ((kw * 1000 * length) / 60) *
            (1 + (door === "ocpp" || (door === "ocpi" && percent === -100) ? 0 : percent) / 100),
        );
        const span = { start: start + clock[0] * MINUTE, end: end + clock[1] * MINUTE };
        acts.push({
          at,
          does: "tell",
          door,
          told: [{ charge, client, source, id, by: told, evse: named && door !== "ocpi" ? evse : null, ...span, wh }],
        });
        if (withdrawn && id !== null && door !== "ocpp")
          acts.push({ at: at + after * 24 * HOUR + 500, does: "withdraw", client, source, id });
      }
    }
  }
  return acts;
}

/** What happens in a world, in order. Tellings of a client that follow each other by one door come in one request. */
export function storyOf(seeds: Seeds, serials: string[]): Act[] {
  const then = new Model(serials, seeds.sockets);
  const acts = [...administer(seeds, then), ...tell(seeds, then)].sort((one, other) => one.at - other.at);
  const story: Act[] = [];
  for (const act of acts) {
    const last = story.at(-1);
    const joins =
      act.does === "tell" &&
      last?.does === "tell" &&
      act.door === last.door &&
      !["ocpi", "ocpp"].includes(act.door) &&
      // a row of a file that comes twice in it, under two names that nobody knows yet, has no order
      last.told.every((told) => act.told.every((one) => told.client === one.client && told.charge !== one.charge));
    if (joins) Object.assign(last, { at: act.at, told: [...last.told, ...act.told] });
    else story.push(act);
  }
  return story;
}

export const bookings = times(
  4,
  20,
  fc.record({
    step,
    minutes: fc.nat(12_000),
    month: fc.constantFrom<"2026-01-01" | "2026-02-01">("2026-01-01", "2026-02-01"),
    does: fc.constantFrom<"book" | "open" | "move" | "judge">("book", "open", "move", "move", "judge"),
    charge: fc.nat(11),
    mid: fc.constantFrom(true, false, null),
  }),
);
type Bookings = typeof bookings extends fc.Arbitrary<infer T> ? T : never;

/** From the begin of the first day on which cars charge to two hours before a Dutch month ends. */
const TO_BORDER = (24 * 24 + 21) * HOUR;
/** From those two hours to the next month. */
const ASTRAY = 2.5 * HOUR;

/** A story at the end of January, in which months are booked and given back, and meters are doubted. What one source alone tells, it tells of either month: at first of February, where it tells it twice, and again at any time. */
export function booked(story: Act[], seeds: Seeds, drawn: Bookings): Act[] {
  const first = new Set<string>();
  const acts = structuredClone(story);
  const alone = (charge: number) => {
    const series = seeds.charges[charge]?.series ?? [];
    return series.length === 1 && series[0] && sourceOf(series[0].door) === "api" ? series[0] : undefined;
  };
  const days = new Map<number, { start: number; end: number }>();
  for (const act of acts) {
    act.at += TO_BORDER;
    for (const told of act.does === "tell" ? act.told : []) {
      told.start += TO_BORDER;
      told.end += TO_BORDER;
      days.set(told.charge, { start: told.start, end: told.end });
      const astray = alone(told.charge)?.tellings.length === 2 && !first.has(`${told.id}`) ? ASTRAY : 0;
      first.add(`${told.id}`);
      told.start += astray;
      told.end += astray;
    }
  }
  for (const { step, minutes, month, does, charge, mid } of drawn) {
    const at = BEGIN + TO_BORDER + step * STEP + minutes * MINUTE;
    if (does === "judge") {
      acts.push({ at, does, row: charge, mid });
      continue;
    }
    if (does !== "move") {
      acts.push({ at, does, month });
      continue;
    }
    const before = acts
      .filter((act) => act.does === "tell" && act.at < at && act.told.some((told) => alone(told.charge)))
      .flatMap((act) => (act.does === "tell" ? act.told.map((told) => ({ door: act.door, told })) : []))
      .filter(({ told }) => alone(told.charge));
    const last = before.findLast(({ told }) => told.charge === before[charge % before.length]?.told.charge);
    const day = last && days.get(last.told.charge);
    if (!last || !day) continue;
    const astray = month === "2026-02-01" ? ASTRAY : 0;
    const told = { ...last.told, start: day.start + astray, end: day.end + astray };
    acts.push({ at, does: "tell", door: last.door, told: [told] });
  }
  return acts.sort((a, b) => a.at - b.at);
}

// The rules by which a charge counts, without a database: what each client said, in order, to the sessions that count.

export type Name = { kind: string; value: string };
/** The chargers' places in the world; moments are milliseconds, and the span of a registration is [from, until). */
export type Registration = {
  row: number;
  charger: number;
  client: number;
  since: number;
  from: number;
  until: number;
  removed: number;
  /** Whether another came after it: then its span is decided. */
  followed: boolean;
};
type Span = Name & { at: Registration; evse: number | null; since: number; until: number };
/** id is null in a file without ids; evse where the telling names none. Only OCPP tells of a row, its own. */
export type Told = {
  client: number;
  source: string;
  id: string | null;
  by: Name;
  evse: number | null;
  start: number;
  end: number;
  wh: number;
};
type Parked = Told & { heard: number };
export type Session = Parked & { at: Registration; assumed: boolean; elsewhere: boolean; withdrawn: boolean };
/** The EVSEs of a charger with their names are one list, known by a number. Null takes the names away. */
export type Names = { external_ref?: number | null | undefined; evses?: number | null | undefined };

const within = (moment: number, since: number, until: number) => since <= moment && moment < until;
const same = (one: Name, other: Name) => one.kind === other.kind && one.value === other.value;
export const EVSE_NAMES = ["evse_uid", "evse_id", "meter_id"];

export class Model {
  readonly registrations: Registration[] = [];
  readonly spans: Span[] = [];
  readonly sessions: Session[] = [];
  parked: Parked[] = [];

  readonly serials: string[];
  readonly sockets: number;

  constructor(serials: string[], sockets: number) {
    this.serials = serials;
    this.sockets = sockets;
  }

  /** A registration begins where the last one ended that has a session with energy that counts; one without owns nothing: what does not count there yet never will. */
  register(now: number, client: number, charger: number, names: Names) {
    const before = this.registrations.filter((each) => each.charger === charger);
    const counted = this.counted();
    for (const each of before)
      if (!each.followed && !counted.some(({ at, wh }) => at === each && wh > 0)) {
        each.until = -Infinity;
        for (const one of this.sessions) one.elsewhere ||= one.at === each && !counted.includes(one);
      }
    const from = Math.max(-Infinity, ...before.map(({ until }) => until));
    for (const each of before) each.followed = true;
    const row = this.registrations.length;
    this.registrations.push({
      row,
      charger,
      client,
      since: now,
      from,
      until: Infinity,
      removed: Infinity,
      followed: false,
    });
    this.name(now, row, names);
  }

  remove(now: number, row: number) {
    const at = this.registrations[row] as Registration;
    at.until = at.removed = now;
    for (const span of this.standing()) if (span.at === at) span.until = now;
  }

  /** Names that are given replace those of their kind, and free what waits for them. */
  name(now: number, row: number, names: Names, since = now) {
    const at = this.registrations[row] as Registration;
    for (const span of this.standing())
      if (span.at === at && names[span.evse ? "evses" : "external_ref"] !== undefined) span.until = now;
    const given = this.namesOf(names).map((name) => ({ ...name, at, since, until: Infinity }));
    this.spans.push(...given);
    const told = [...given, { kind: "serial_number", value: this.serials[at.charger] as string }];
    const freed = this.parked.filter(({ client, by }) => client === at.client && told.some((name) => same(name, by)));
    this.parked = this.parked.filter((each) => !freed.includes(each));
    this.tell(now, freed);
  }

  /** What a name meant at a moment, as far as we know now. */
  meant(client: number, { kind, value }: Name, moment: number): { at: Registration; evse?: number | null } | undefined {
    const own = this.registrations.filter((each) => each.client === client);
    const lasting = {
      charger_id: own.find(({ row }) => String(row) === value),
      serial_number: own.findLast(({ charger }) => this.serials[charger] === value),
    };
    if (kind in lasting) {
      const at = lasting[kind as keyof typeof lasting];
      return at && { at };
    }
    const spans = this.spans
      .filter((each) => each.at.client === client && same(each, { kind, value }))
      .sort((a, b) => a.since - b.since);
    return spans.find(({ since, until }, place) => within(moment, place === 0 ? -Infinity : since, until));
  }

  /** What comes, or is freed, together arrives in the order of begins. */
  tell(now: number, together: (Told & { heard?: number })[]) {
    const order = ({ source, id, evse }: Told) => `${source} ${id ?? evse ?? 1}`;
    for (const told of together.toSorted(
      (a, b) => a.start - b.start || (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0),
    ))
      this.tellOne(told.heard ?? now, told);
  }

  private tellOne(now: number, told: Told) {
    const meant = this.meant(told.client, told.by, told.start);
    const owner = this.registrations.find(
      (each) =>
        each.client === told.client && each.charger === meant?.at.charger && within(told.start, each.from, each.until),
    );
    const at = owner ?? (meant && told.start < meant.at.removed ? meant.at : undefined);
    if (!at && told.by.kind === "charger_id") return; // refused
    this.parked = this.parked.filter(
      (each) =>
        !(
          each.client === told.client &&
          each.source === told.source &&
          (told.id === null
            ? same(each.by, told.by) && each.evse === told.evse && each.start === told.start
            : each.id === told.id)
        ),
    );
    if (!at) return void this.parked.push({ ...told, heard: now });
    const evse = meant?.evse ?? told.evse;
    const id = told.id ?? `${evse ?? 1}@${told.start}`;
    const session = {
      ...told,
      id,
      evse: evse ?? 1,
      assumed: !evse,
      at,
      elsewhere: !owner,
      heard: now,
      withdrawn: false,
    };
    const known = this.sessions.find((each) => each.at === at && each.source === told.source && each.id === id);
    if (!known) this.sessions.push(session);
    // CDRs that were credited stay so
    else if (known.heard <= now)
      Object.assign(known, session, { withdrawn: known.withdrawn && known.source === "ocpi" });
  }

  withdraw(client: number, source: string, id: string) {
    const mine = (each: Told) => each.client === client && each.source === source && each.id === id;
    const stored = this.sessions.filter(mine);
    if (stored.length + this.parked.filter(mine).length > 1) return; // ambiguous
    for (const each of stored) each.withdrawn = true;
    this.parked = this.parked.filter((each) => !mine(each));
  }

  /** In the order of arrival the first of those that overlap at an EVSE counts, at most as many at once as sockets. */
  counted(): Session[] {
    const plausible: Session[] = [];
    const counted: Session[] = [];
    for (const one of this.sessions.filter(({ withdrawn, elsewhere }) => !withdrawn && !elsewhere)) {
      const meets = (other: Session) => other.at === one.at && other.start < one.end && one.start < other.end;
      const twice = plausible.some(
        (other) => meets(other) && (other.assumed || one.assumed || other.evse === one.evse),
      );
      const moments = [one, ...counted.filter(meets)].map(({ start }) => Math.max(start, one.start));
      const most = Math.max(
        ...moments.map(
          (moment) => counted.filter((other) => meets(other) && within(moment, other.start, other.end)).length,
        ),
      );
      const full =
        most >= (new Set(this.spans.filter(({ at, evse }) => at === one.at && evse).map(({ evse }) => evse)).size || 2);
      plausible.push(one);
      if (!twice && !full) counted.push(one);
    }
    return counted;
  }

  standing = () => this.spans.filter(({ until }) => until === Infinity);

  namesOf({ external_ref, evses }: Names): (Name & { evse: number | null })[] {
    const numbers = Array.from({ length: this.sockets }, (_, place) => place + 1);
    return [
      ...(external_ref == null ? [] : [{ kind: "external_ref", value: `REF-${external_ref}`, evse: null }]),
      ...(evses == null
        ? []
        : numbers.flatMap((evse) =>
            EVSE_NAMES.map((kind) => ({ kind, value: `${kind.toUpperCase()}-${evses}-${evse}`, evse })),
          )),
    ];
  }
}

// In whatever order a charge is told, by whatever door: it counts once, where the model says, and months are the sums.
// SESSION_WORLDS says how many worlds, SESSION_SEED which; a failure prints the seed and the shortest story that fails.

import { createHash } from "node:crypto";
import fc from "fast-check";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCdr } from "#shared/domain/charging_in/ocpi/cdr.ts";
import { type Item, readItem } from "#shared/domain/charging_in/session_item.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { newEan } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { EVSE_NAMES, Model, type Name, type Names, type Told } from "./sessions_model.ts";

const WORLDS = Number(process.env.SESSION_WORLDS ?? 200);
const SEED = Number(process.env.SESSION_SEED ?? Date.now() % 1_000_000_000);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Time goes in steps of nine days: in the first hours chargers and names change, and two days later cars charge. */
const STEP = 9 * 24 * HOUR;
const STEPS = 12;
const BEGIN = Date.UTC(2026, 0, 5);
const CLIENTS = [0, 1, 2];

type Act =
  | { does: "register"; at: number; client: number; charger: number; names: Names }
  | { does: "remove"; at: number; row: number }
  | { does: "name"; at: number; row: number; names: Names; from?: number }
  | { does: "tell"; at: number; door: Door; told: Telling[] }
  | { does: "withdraw"; at: number; client: number; source: string; id: string };
type Telling = Told & { charge: number };
type Door = "api" | "file" | "file with ids" | "ocpi" | "ocpp";
const SOURCES = { api: "api", file: "file", "file with ids": "api", ocpi: "ocpi", ocpp: "ocpp" } as const;

const step = fc.nat(STEPS - 1);
const life = fc.record({
  step,
  lasts: fc.constantFrom(1, 2, 3, STEPS),
  client: fc.constantFrom(...CLIENTS),
  ref: fc.boolean(),
  evses: fc.boolean(),
});
const move = fc.record({
  step,
  row: fc.nat(),
  what: fc.constantFrom("external_ref" as const, "evses" as const),
  to: fc.constantFrom(0, 1, 2, null),
  from: fc.boolean(),
});
const telling = fc.record({
  late: fc.constantFrom(0, 0, 0, 1, 2, 3, 6),
  minutes: fc.nat(900),
  percent: fc.constantFrom(0, 0, 0, 0.5, 5, -5),
  name: fc.nat(),
  inFile: fc.boolean(),
  withdrawn: fc.constantFrom(false, false, false, true),
});
const series = fc.record({
  teller: fc.nat(),
  door: fc.constantFrom<Door>("api", "api", "file", "ocpi", "ocpp"),
  namesEvse: fc.boolean(),
  begin: fc.integer({ min: -2, max: 2 }),
  end: fc.integer({ min: -2, max: 2 }),
  tellings: fc.array(telling, { minLength: 1, maxLength: 2 }),
});
const charge = fc.record({
  charger: fc.nat(),
  evse: fc.constantFrom<number>(1, 1, 2, 2, 3),
  step,
  early: fc.constantFrom(false, false, true),
  minute: fc.nat(150),
  minutes: fc.integer({ min: 15, max: 300 }),
  kw: fc.integer({ min: 2, max: 6 }),
  fileNamesEvse: fc.boolean(),
  series: fc.array(series, { minLength: 1, maxLength: 3 }),
});
const seeds = fc.record({
  sockets: fc.constantFrom(1, 2, 2),
  chargers: fc.array(fc.array(life, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
  moves: fc.array(move, { maxLength: 3 }),
  charges: fc.array(charge, { minLength: 1, maxLength: 5 }),
});
type Seeds = typeof seeds extends fc.Arbitrary<infer T> ? T : never;

// TEMPORARY
const ON: string = process.env.SESSION_ON ?? "lives moves lies assumed withdrawn";
const simpler = (s: Seeds): Seeds => ({
  ...s,
  chargers: ON.includes("lives") ? s.chargers : s.chargers.map((l) => l.slice(0, 1)),
  moves: ON.includes("moves") ? s.moves : [],
  charges: s.charges.map((c) => ({
    ...c,
    evse: ON.includes("lies") ? c.evse : Math.min(c.evse, s.sockets),
    fileNamesEvse: c.fileNamesEvse || !ON.includes("assumed"),
    series: c.series.map((one) => ({
      ...one,
      namesEvse: one.namesEvse || !ON.includes("assumed"),
      tellings: one.tellings.map((t) => ({ ...t, withdrawn: t.withdrawn && ON.includes("withdrawn") })),
    })),
  })),
});

const play = (model: Model, act: Act) => {
  if (act.does === "register") model.register(act.at, act.client, act.charger, act.names);
  else if (act.does === "remove") model.remove(act.at, act.row);
  else if (act.does === "name") model.name(act.at, act.row, act.names, act.from);
  else if (act.does === "withdraw") model.withdraw(act.client, act.source, act.id);
  else for (const told of act.told) model.tell(act.at, told);
};

/** Registers, removes and names chargers, each at a whole hour. No name stands at two chargers of a client. */
function lives({ sockets, chargers, moves }: Seeds, model: Model): Act[] {
  const acts: Act[] = [];
  const hours: number[] = Array(2 * STEPS).fill(0);
  const add = (step: number, act: (at: number) => Act) => {
    hours[step] = (hours[step] ?? 0) + 1;
    const made = act(BEGIN + step * STEP + (hours[step] ?? 0) * HOUR);
    acts.push(made);
    play(model, made);
  };
  const holder = (client: number, names: Names) =>
    model.spans.find(
      ({ at, kind, value, until }) =>
        at.client === client &&
        until === Infinity &&
        model.namesOf(names).some((name) => name.kind === kind && name.value === value),
    )?.at;
  const free = (client: number, first: number, what: keyof Names) =>
    [first, 0, 1, 2].find((to) => !holder(client, { [what]: to }));
  for (let now = 0; now < STEPS; now += 1) {
    chargers.forEach((spans, charger) => {
      const active = () => model.registrations.find((each) => each.charger === charger && each.until === Infinity);
      for (const { step, lasts, client, ref, evses } of spans) {
        const row = active()?.row;
        if (now === step + lasts && row !== undefined) add(now, (at) => ({ does: "remove", at, row }));
        if (now !== step || active()) continue;
        const names = {
          ...(ref ? { external_ref: free(client, charger, "external_ref") } : {}),
          // the number of sockets of a charger is known before it charges
          ...(evses || sockets === 1 ? { evses: free(client, charger, "evses") } : {}),
        };
        add(now, (at) => ({ does: "register", at, client, charger, names }));
      }
    });
    for (const { row, what, to, from } of moves.filter(({ step }) => step === now)) {
      const active = model.registrations.filter(({ until }) => until === Infinity);
      const into = active[row % Math.max(1, active.length)];
      const names = { [what]: to };
      const out = into && holder(into.client, names);
      if (!into || out === into) continue;
      if (out) add(now, (at) => ({ does: "name", at, row: out.row, names: { [what]: null } }));
      const [name] = model.namesOf(names);
      const before = model.spans
        .filter(({ at, kind, value }) => at.client === into.client && kind === name?.kind && value === name.value)
        .map(({ until }) => until);
      // since its last span ended, if that is clear: the charger was there then, and loses no name
      const since = Math.max(...before);
      const clear =
        from &&
        since > into.since &&
        !model.spans.some(
          ({ at, evse, until }) => at === into && until === Infinity && (evse !== null) === (what === "evses"),
        );
      add(now, (at) => ({ does: "name", at, row: into.row, names, ...(clear ? { from: since } : {}) }));
    }
  }
  return acts;
}

/**
 * Tells each charge in truth: by a name that meant its charger and EVSE when it began, or meant nothing then.
 * Borders of spans are hours away from charges, so that no clock of a door puts a charge on the other side.
 */
function tellings({ sockets, charges }: Seeds, then: Model): Act[] {
  const acts: Act[] = [];
  const driven: { charger: number; evse: number; start: number; end: number }[] = [];
  charges.forEach((each, charge) => {
    const charger = each.charger % then.serials.length;
    // one more than it has sockets is a lie, and too many at once
    const evse = Math.min(each.evse, sockets + 1);
    // one that is early may last until its charger is removed
    const start = BEGIN + each.step * STEP + (each.early ? -2 : 48) * HOUR + each.minute * MINUTE;
    const end = start + each.minutes * MINUTE;
    const taken = driven.some(
      (other) =>
        other.charger === charger &&
        other.evse === evse &&
        start < other.end + 10 * MINUTE &&
        other.start < end + 10 * MINUTE,
    );
    const registered = then.registrations.filter((one) => one.charger === charger);
    if (taken || registered.length === 0) return;
    driven.push({ charger, evse, start, end });
    each.series.forEach(({ teller, door, namesEvse, begin, end: ending, tellings }, place) => {
      const { client } = registered[teller % registered.length] as (typeof registered)[number];
      // a row of a file without ids is known by its EVSE: two of them agree whether they name it
      const named = door === "ocpi" || door === "ocpp" || (door === "file" ? each.fileNamesEvse : namesEvse);
      tellings.forEach(({ late, minutes, percent, name, inFile, withdrawn }, again) => {
        const at = end + 10 * MINUTE + minutes * MINUTE + late * STEP + 1000 * (charge * 8 + place * 2 + again);
        const names = namesFor(then, client, charger, evse, start, at, door, named);
        const by = names[name % Math.max(1, names.length)];
        if (!by) return;
        // a CDR does not change: what is corrected is another one; a charger tells once what it measured
        const changed = door === "ocpp" ? 0 : percent;
        const id = door === "file" ? null : `C${charge}S${place}T${door === "ocpi" && changed ? again + 1 : 0}`;
        const wh = Math.round(((each.kw * 1000 * each.minutes) / 60) * (1 + changed / 100));
        const told = {
          charge,
          client,
          source: SOURCES[door],
          id,
          by,
          evse: named && door !== "ocpi" ? evse : null,
          start: start + begin * MINUTE,
          end: end + ending * MINUTE,
          wh,
        };
        acts.push({ does: "tell", at, door: door === "api" && inFile ? "file with ids" : door, told: [told] });
        if (withdrawn && id !== null && door !== "ocpp")
          acts.push({ does: "withdraw", at: at + (name % 20) * 24 * HOUR + 500, client, source: SOURCES[door], id });
      });
    });
  });
  return acts;
}

function namesFor(
  then: Model,
  client: number,
  charger: number,
  evse: number,
  start: number,
  at: number,
  door: Door,
  named: boolean,
): Name[] {
  const rows = then.registrations.filter(
    (each) => each.client === client && each.charger === charger && each.since < at,
  );
  const byRow = (each: { row: number }) => ({ kind: "charger_id", value: String(each.row) });
  if (door === "ocpp") return rows.filter((each) => each.since < start && at < each.removed).map(byRow);
  const given = then.spans.filter(
    (span) => span.at.client === client && (span.evse === null || (named && span.evse === evse)),
  );
  const true_ = given.filter((name) => (then.meant(client, name, start)?.at.charger ?? charger) === charger);
  const unnamed = [...rows.map(byRow), { kind: "serial_number", value: then.serials[charger] as string }];
  const kinds = true_.map(({ kind, value }) => ({ kind, value }));
  return door === "ocpi" ? kinds.filter(({ kind }) => EVSE_NAMES.includes(kind)) : [...kinds, ...kinds, ...unnamed];
}

/** What happens in a world, in order. Tellings of one client by one door that follow each other come together. */
function story(seeds: Seeds, serials: string[]): Act[] {
  const then = new Model(serials, seeds.sockets);
  const acts = lives(seeds, then);
  acts.push(...tellings(seeds, then));
  const together: Act[] = [];
  const cdrs = new Set<string>();
  for (const act of acts.sort((one, other) => one.at - other.at)) {
    const last = together.at(-1);
    const [one] = act.does === "tell" ? act.told : [];
    const apart = (told: Told) => told.client === one?.client && Math.abs(told.start - one.start) > 12 * HOUR;
    if (
      one &&
      last?.does === "tell" &&
      act.does === "tell" &&
      last.door === act.door &&
      act.door !== "ocpi" &&
      act.door !== "ocpp" &&
      last.told.every(apart)
    )
      Object.assign(last, { at: act.at, told: [...last.told, one] });
    else together.push(act);
  }
  // a CDR is taken once, and credited once it was
  return together.filter((act) => {
    const id = act.does === "tell" && act.door === "ocpi" ? `${act.told[0]?.client} ${act.told[0]?.id}` : null;
    if (act.does === "withdraw" && act.source === "ocpi") {
      const credit = `credit ${act.client} ${act.id}`;
      const first = cdrs.has(`${act.client} ${act.id}`) && !cdrs.has(credit);
      cdrs.add(credit);
      return first;
    }
    if (id === null) return true;
    const first = !cdrs.has(id);
    cdrs.add(id);
    return first;
  });
}

const iso = (moment: number) => `${new Date(moment).toISOString().slice(0, 19)}Z`;
const words = (act: Act) => {
  const { does, at, ...rest } = act;
  if (act.does !== "tell")
    return [`${iso(at)} ${does} ${JSON.stringify(rest, (key, value) => (key === "from" ? iso(value) : value))}`];
  return act.told.map(
    ({ client, by, start, end, wh, ...told }) =>
      `${iso(at)} client ${client} tells by ${act.door}: ${JSON.stringify(told)} ${by.kind} ${by.value} ${iso(start)} ${iso(end)} ${wh} Wh`,
  );
};

let world: World;
let session: pg.PoolClient;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ now: iso(BEGIN) });
  session = await world.database.admin.connect();
  // the clock that a test sets, without a new plan each time
  await session.query(
    "create or replace function private.now() returns timestamptz language sql stable parallel safe return current_setting('test.now')::timestamptz",
  );
  await session.query(`set test.now = '${iso(BEGIN)}'`);
});
afterAll(async () => {
  process.stdout.write(`${WORLDS} worlds; SESSION_WORLDS says how many. SESSION_SEED=${SEED}\n`);
  session.release(true);
  await world.freeze(iso(BEGIN));
  await world.close();
});

/** Two clients of one partner, and one of another, each with an account, a connection and an OCPI platform. */
async function addClients(): Promise<{ id: string; partner_id: string; account_id: string; connection_id: string }[]> {
  count += 1;
  const { rows } = await session.query(
    `with client as (
       insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes, grant_types)
       select 'cpo_model_' || $1 || '_' || n, p::uuid, 'Model', sha256('x'), '{cpo:sessions:write}', '{client_credentials}' from unnest($2::text[]) with ordinality as t (p, n)
       returning id, partner_id, client_id),
     platform as (
       insert into core.ocpi_connections (partner_id, owner_id, status, parties) select partner_id, id, 'unregistered', '{NL-TNM}' from client),
     account as (
       insert into core.accounts (partner_id, client_id, type, display_name, payout_handler)
       select partner_id, id, 'particulier', 'M', 'service_pays_customer' from client returning partner_id, id, owner_id),
     location as (
       insert into core.locations (partner_id, postal_code, house_number) select distinct partner_id, '3818LH', 8 from client
       on conflict on constraint locations_address_key do update set house_number = excluded.house_number returning partner_id, id),
     connection as (
       insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status)
       select a.partner_id, a.id, a.owner_id, l.id, ($3::text[])[row_number() over ()], 'matched' from account a join location l using (partner_id)
       returning id, account_id, owner_id)
     select c.id, c.partner_id, n.account_id, n.id as connection_id from client c join connection n on n.owner_id = c.id order by c.client_id`,
    [count, [world.partnerA.id, world.partnerA.id, world.partnerB.id], CLIENTS.map(newEan)],
  );
  return rows;
}

/** Does what the story says by the functions of the API, at its moment, and returns what counts. */
async function happen(acts: Act[], serials: string[], sockets: number) {
  const clients = await addClients();
  const rows: string[] = [];
  const model = new Model(serials, sockets);
  const call = async (at: number, name: string, kind: string, client: number, input: object) => {
    const { id, partner_id } = clients[client] ?? {};
    const caller = { kind, host: "sandbox", ...(kind === "gateway" ? {} : { partner_id, client_id: id }) };
    const { rows } = await session.query({
      name,
      text: `with clock as materialized (select set_config('test.now', $1, false)) select api.${name}($2, $3) as answer from clock`,
      values: [iso(at), caller, JSON.stringify(input)],
    });
    return rows[0].answer;
  };
  const namesOf = ({ external_ref, evses }: Names) => ({
    ...(external_ref === undefined ? {} : { external_ref: model.namesOf({ external_ref })[0]?.value ?? null }),
    ...(evses === undefined
      ? {}
      : {
          evses:
            evses === null
              ? []
              : Array.from({ length: sockets }, (_, place) =>
                  Object.fromEntries(
                    model
                      .namesOf({ evses })
                      .filter(({ evse }) => evse === place + 1)
                      .map(({ kind, value }) => [kind, value]),
                  ),
                ),
        }),
  });
  const nameOf = ({ kind, value }: Name) => ({ [kind]: kind === "charger_id" ? rows[Number(value)] : value });
  const sha256 = (what: unknown) => createHash("sha256").update(JSON.stringify(what)).digest("hex");
  const cdr = async (at: number, client: number, fields: object) => {
    const read = readCdr({
      country_code: "NL",
      party_id: "TNM",
      cdr_location: { id: "L", city: "Gent", country: "NLD", evse_uid: "#NA", evse_id: "#NA", ...fields },
      currency: "EUR",
      charging_periods: [],
      total_cost: { excl_vat: 4 },
      total_time: 1,
      last_updated: iso(at),
      cdr_token: { country_code: "NL", party_id: "TNM", uid: "1", type: "RFID", contract_id: "1" },
      auth_method: "WHITELIST",
      total_energy: 1,
      start_date_time: iso(at),
      end_date_time: iso(at),
      ...fields,
    });
    if ("refused" in read) throw new Error(read.refused);
    const taken = await call(at, "take_cdr", "ocpi", client, {
      cdr: { ...read, place: 0, sent_sha256: sha256(fields) },
    });
    expect(taken).toMatchObject({ status: "taken" });
  };

  const deliver = async (at: number, door: Door, told: Telling[]) => {
    const [{ client, by, id, evse, start, end, wh }] = told as [Telling];
    if (door === "ocpi")
      return cdr(at, client, {
        id,
        start_date_time: iso(start),
        end_date_time: iso(end),
        total_energy: wh / 1000,
        meter_id: "#NA",
        evse_uid: "X",
        ...(by.kind === "evse_uid" ? {} : { evse_uid: "#NB" }),
        ...nameOf(by),
      });
    if (door === "ocpp") {
      const [charger_id] = Object.values(nameOf(by));
      await session.query(
        "insert into core.ocpp_links (partner_id, charger_id, owner_id, generation, connected_at) select partner_id, id, owner_id, 1, private.now() from core.chargers where id = $1 on conflict do nothing",
        [charger_id],
      );
      const event = (type: string, moment: number, readings: object) => ({
        kind: "event",
        type,
        transaction: id,
        at: iso(moment),
        connector: evse,
        clock: "charger",
        readings,
      });
      const happened = [
        event("Started", start, { first: { at: iso(start), wh: 1000 } }),
        event("Ended", end, { end: { at: iso(end), wh: 1000 + wh } }),
      ];
      return call(at, "tell_ocpp", "gateway", client, { charger_id, generation: 1, protocol: "ocpp2.0.1", happened });
    }
    const items = told.map(
      (each, place) =>
        readItem(
          {
            session_id: each.id,
            ...nameOf(each.by),
            ...(each.evse ? { evse_no: each.evse } : {}),
            started_at: iso(each.start),
            ended_at: iso(each.end),
            kwh: each.wh / 1000,
          },
          place,
          door === "file" ? "file" : "api",
        ) as Item,
    );
    const statuses = ["created", "updated", "unchanged", "superseded", "parked", "invalid"];
    if (door === "api")
      return call(at, "deliver_charging_sessions", "cpo", client, {
        sessions: items,
        sent_sha256: sha256(at),
        dry_run: false,
      });
    return call(at, "deliver_upload", "cpo", client, {
      upload_id: crypto.randomUUID(),
      kind: "sessions",
      sha256: sha256(at),
      decimal: null,
      file_name: "f.csv",
      rows: items.length,
      columns: [],
      items,
      rejected: [],
      statuses,
      dry_run: false,
    });
  };

  for (const act of acts) {
    const { at } = act;
    if (act.does === "tell") await deliver(at, act.door, act.told);
    else if (act.does === "withdraw" && act.source === "ocpi")
      await cdr(at, act.client, { id: `CREDIT-${act.id}`, credit: true,
        credit_reference_id: act.id, evse_uid: "X" });
    else if (act.does === "withdraw")
      await call(at, "withdraw_charging_sessions", "cpo", act.client, {
        session_ids: [act.id],
        sent_sha256: sha256(at),
      }).catch((error) => expect(error).toMatchObject({ message: "ambiguous_session" }));
    else if (act.does === "register") {
      const { account_id } = clients[act.client] ?? {};
      const answer = await call(at, "register_charger", "cpo", act.client, {
        account_id,
        ...MID_CHARGER,
        serial_number: serials[act.charger],
        power_kw: 11,
        ...namesOf(act.names),
      });
      rows.push(answer.charger_id);
    } else {
      const client = model.registrations[act.row]?.client ?? 0;
      const input = { charger_id: rows[act.row] };
      if (act.does === "remove") await call(at, "remove_charger", "cpo", client, input);
      else
        await call(at, "update_charger", "cpo", client, {
          ...input,
          ...namesOf(act.names),
          ...(act.from ? { from: iso(act.from) } : {}),
        });
    }
    play(model, act);
  }
  const {
    rows: [found],
  } = await session.query(
    `select (select coalesce(json_agg(json_build_array(s.charger_id, s.source, s.external_id, s.wh) order by s.arrival), '[]') from core.charging_sessions s where s.owner_id = any ($1) and s.counted) as sessions,
            (select coalesce(json_object_agg(m.charger_id || ' ' || to_char(m.month, 'YYYY-MM'), m.wh), '{}') from core.charger_months m where m.owner_id = any ($1) and m.sessions > 0) as chargers,
            (select coalesce(json_object_agg(d.connection_id || ' ' || to_char(d.period, 'YYYY-MM'), d.total_kwh * 1000), '{}') from core.delivered_months d where d.owner_id = any ($1) and d.session_count > 0) as connections`,
    [clients.map(({ id }) => id)],
  );
  const named = (text: string) =>
    [...rows, ...clients.map(({ connection_id }) => connection_id)].reduce(
      (said, id, place) => said.replaceAll(id, place < rows.length ? `row ${place}` : `client ${place - rows.length}`),
      text,
    );
  return { model, found: JSON.parse(named(JSON.stringify(found))) };
}

const dutchMonth = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "Europe/Amsterdam",
  year: "numeric",
  month: "2-digit",
});

function expected(model: Model) {
  const sum = (key: (session: ReturnType<Model["counted"]>[number]) => string) => {
    const sums: Record<string, number> = {};
    for (const each of model.counted())
      sums[`${key(each)} ${dutchMonth.format(each.start)}`] =
        (sums[`${key(each)} ${dutchMonth.format(each.start)}`] ?? 0) + each.wh;
    return sums;
  };
  return { chargers: sum(({ at }) => `row ${at.row}`), connections: sum(({ at }) => `client ${at.client}`) };
}

test("§1 each charge counts once, where the model says, and months are their sums", {
  timeout: WORLDS * 1000 + 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(seeds.map(simpler), async (drawn) => {
      const serials = drawn.chargers.map((_, place) => `M${count}-${place}`);
      const acts = story(drawn, serials);
      const told = () => ["", ...acts.flatMap(words)].join("\n");
      const { model, found } = await happen(acts, serials, drawn.sockets).catch((error) => {
        throw new Error(`${error.message}${told()}`, { cause: error });
      });
      const counted = model.counted() as (Telling & ReturnType<Model["counted"]>[number])[];
      expect(new Set(counted.map(({ charge }) => charge)).size, `the model counts each charge once${told()}`).toBe(
        counted.length,
      );
      const { sessions, ...months } = found;
      expect(months, told()).toEqual(expected(model));
      expect(sessions.length, told()).toBe(counted.length);
    }),
    { numRuns: WORLDS, seed: SEED },
  );
});

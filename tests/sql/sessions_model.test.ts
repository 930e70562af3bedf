// In whatever order charges are told, by whatever door: each counts once, where the model says, and months are the sums.
// SESSION_WORLDS says how many worlds, SESSION_SEED which. SESSION_SIMPLE=1 leaves registrations and names as they are.
// A failure prints the seed and the shortest story that fails.

import { createHash, randomUUID } from "node:crypto";
import fc from "fast-check";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCdr } from "#shared/domain/charging_in/ocpi/cdr.ts";
import { readItem } from "#shared/domain/charging_in/session_item.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { newEan } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { Model, type Name, type Names } from "./sessions_model.ts";
import {
  type Act,
  BEGIN,
  booked,
  bookings,
  type Door,
  play,
  seedsOf,
  storyOf,
  type Telling,
} from "./sessions_worlds.ts";

const WORLDS = Number(process.env.SESSION_WORLDS ?? 120);
const SEED = Number(process.env.SESSION_SEED ?? Date.now() % 1_000_000_000);
/** Worlds take 0.1 s each; what is left goes to shrinking one that fails. */
const LIMIT = 120_000 + WORLDS * 500;

const iso = (moment: number) => `${new Date(moment).toISOString().slice(0, 19)}Z`;
const sha256 = (what: unknown) => createHash("sha256").update(JSON.stringify(what)).digest("hex");

let world: World;
let session: pg.PoolClient;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ now: iso(BEGIN) });
  session = await world.database.admin.connect();
  // a clock that is set without planning every function again
  await session.query(
    `create or replace function private.now() returns timestamptz language sql stable parallel safe
     return current_setting('test.now')::timestamptz`,
  );
  await session.query("select set_config('test.now', $1, false)", [iso(BEGIN)]);
});
afterAll(async () => {
  process.stdout.write(`${WORLDS} worlds; SESSION_WORLDS says how many. SESSION_SEED=${SEED}\n`);
  session.release(true);
  await world.freeze(iso(BEGIN));
  await world.close();
});

type Client = { id: string; partner_id: string; account_id: string; connection_id: string };

/** Two clients of one partner, and one of another, each with an account, a connection and an OCPI platform. */
async function addClients(): Promise<Client[]> {
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
    [count, [world.partnerA.id, world.partnerA.id, world.partnerB.id], [newEan(), newEan(), newEan()]],
  );
  return rows;
}

/** What counts for ERE, unless its month is booked. */
const COUNTS = "s.counted and s.flags = '{}' and h.mid_eligible";

/** Does what a story says by the functions of the API, each at its moment. */
class Service {
  readonly rows: string[] = [];
  readonly clients: Client[];
  readonly model: Model;

  constructor(clients: Client[], model: Model) {
    this.clients = clients;
    this.model = model;
  }

  async call(at: number, name: string, input: object, client?: number) {
    const { id, partner_id } = this.clients[client ?? -1] ?? {};
    const kind = client === undefined ? "gateway" : name === "take_cdr" ? "ocpi" : "cpo";
    const { rows } = await session.query({
      name,
      text: `with clock as materialized (select set_config('test.now', $1, false)) select api.${name}($2, $3) as answer from clock`,
      values: [iso(at), { kind, host: "sandbox", partner_id, client_id: id }, JSON.stringify(input)],
    });
    return rows[0].answer;
  }

  async do(act: Act): Promise<void> {
    const { at } = act;
    const serial_number = "charger" in act ? this.model.serials[act.charger] : undefined;
    if (act.does === "tell") {
      this.tellings.push(...act.told);
      await this.tell(at, act.door, act.told);
    } else if (act.does === "withdraw" && act.source === "ocpi")
      await this.takeCdr(at, act.client, { id: `CREDIT-${act.id}`, credit: true, credit_reference_id: act.id });
    else if (act.does === "withdraw")
      await this.call(
        at,
        "withdraw_charging_sessions",
        { session_ids: [act.id], sent_sha256: sha256(at) },
        act.client,
      ).catch((error) => expect(error).toMatchObject({ message: "ambiguous_session" }));
    else if (act.does === "book") await this.book(act.month);
    else if (act.does === "open") await this.open([act.month]);
    else if (act.does === "judge") {
      const charger = this.rows[act.row % Math.max(1, this.rows.length)];
      await this.judge(charger ? [charger] : [], act.mid);
    } else if (act.does === "register") {
      const { account_id } = this.clients[act.client] ?? {};
      const charger = { account_id, ...MID_CHARGER, serial_number, power_kw: 11, ...this.given(act.names) };
      this.rows.push((await this.call(at, "register_charger", charger, act.client)).charger_id);
    } else {
      const { client } = this.model.registrations[act.row] ?? {};
      const charger = { charger_id: this.rows[act.row] };
      if (act.does === "remove") await this.call(at, "remove_charger", charger, client);
      else {
        const from = act.from === undefined ? {} : { from: iso(act.from) };
        await this.call(at, "update_charger", { ...charger, ...this.given(act.names), ...from }, client);
      }
    }
    play(this.model, act);
  }

  async tell(at: number, door: Door, told: Telling[]) {
    const [{ client, by, id, evse, start, end, wh }] = told as [Telling];
    if (door === "ocpi") {
      const times = { start_date_time: iso(start), end_date_time: iso(end) };
      return this.takeCdr(at, client, { id, ...times, total_energy: wh / 1000, ...this.named(by) });
    }
    if (door === "ocpp") {
      const charger_id = this.rows[Number(by.value)];
      await session.query(
        `insert into core.ocpp_links (partner_id, charger_id, owner_id, generation, connected_at)
         select partner_id, id, owner_id, 1, private.now() from core.chargers where id = $1 on conflict do nothing`,
        [charger_id],
      );
      const event = (type: string, moment: number, reading: string, wh: number) => ({
        ...{ kind: "event", type, transaction: id, at: iso(moment), connector: evse, clock: "charger" },
        readings: { [reading]: { at: iso(moment), wh } },
      });
      const happened = [event("Started", start, "first", 1000), event("Ended", end, "end", 1000 + wh)];
      return this.call(at, "take_ocpp_messages", { charger_id, generation: 1, protocol: "ocpp2.0.1", happened });
    }
    const items = told.map((each, place) =>
      readItem(
        {
          ...{ session_id: each.id, ...this.named(each.by), ...(each.evse ? { evse_no: each.evse } : {}) },
          ...{ started_at: iso(each.start), ended_at: iso(each.end), kwh: each.wh / 1000 },
        },
        place,
        door === "file" ? "file" : "api",
      ),
    );
    if (door === "api") {
      const input = { sessions: items, sent_sha256: sha256(at), dry_run: false };
      return this.call(at, "store_charging_sessions", input, client);
    }
    const upload = { upload_id: randomUUID(), kind: "sessions", sha256: sha256(at), said: {}, file_name: "f.csv" };
    const statuses = ["created", "updated", "unchanged", "superseded", "parked", "invalid"];
    const rows = { rows: items.length, columns: [], read: {}, items, rejected: [], statuses, dry_run: false };
    return this.call(at, "deliver_upload", { ...upload, ...rows }, client);
  }

  async takeCdr(at: number, client: number, { evse_uid = "#NB", evse_id = "#NA", ...fields }: Record<string, unknown>) {
    const cdr = readCdr({
      ...{ country_code: "NL", party_id: "TNM", currency: "EUR", charging_periods: [], total_cost: { excl_vat: 4 } },
      ...{ total_energy: 1, total_time: 1, last_updated: iso(at), start_date_time: iso(at), end_date_time: iso(at) },
      cdr_token: { country_code: "NL", party_id: "TNM", uid: "1", type: "RFID", contract_id: "1" },
      cdr_location: { id: "L", city: "Gent", country: "NLD", evse_uid, evse_id },
      auth_method: "WHITELIST",
      ...fields,
    });
    const answer = await this.call(at, "take_cdr", { cdr: { ...cdr, place: 0, sent_sha256: sha256(fields) } }, client);
    expect(answer).toMatchObject({ status: "taken" });
  }

  /** What is booked, by connection and month: the charges in it. */
  readonly inBooking = new Map<string, { charge: number; wh: number }[]>();

  /** The charges of such sessions in months that are open, each with its connection and month. */
  async charges(which: string): Promise<{ place: string; charge: number; wh: number }[]> {
    const { rows } = await session.query(
      `select s.charger_id, s.source, s.external_id, s.wh::int, s.connection_id || ' ' || s.month as place,
              to_char(s.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as start
         from core.charging_sessions s
         join core.chargers h on h.id = s.charger_id
        where s.owner_id = any ($1) and ${which}`,
      [this.clients.map(({ id }) => id)],
    );
    return rows
      .filter((row) => !this.inBooking.has(row.place))
      .map((row) => {
        const found = this.tellings.find(
          (told) =>
            told.source === row.source &&
            (told.id === null
              ? iso(told.start) === row.start && told.wh === row.wh && row.source === "file"
              : row.external_id.split(":").at(-1) === told.id),
        );
        if (!found) throw new Error(`nobody told ${JSON.stringify(row)}`);
        return { place: row.place, charge: found.charge, wh: row.wh };
      });
  }

  readonly tellings: Telling[] = [];

  /** Takes the months that a connection has by now, and that no booking has. */
  async book(month: string) {
    const open = await this.charges(COUNTS);
    const { rows } = await session.query(
      `update core.delivered_months set status = 'submitted' where owner_id = any ($1) and period = $2 and not locked
       returning connection_id || ' ' || period as place`,
      [this.clients.map(({ id }) => id), month],
    );
    for (const { place } of rows)
      this.inBooking.set(
        place,
        open.filter((each) => each.place === place),
      );
  }

  /** Doubts the meter of chargers, or confirms it. */
  async judge(chargers: string[], mid: boolean | null) {
    await session.query("update core.chargers set mid_eligible = $2 where id = any ($1)", [chargers, mid]);
  }

  async open(months: string[]) {
    for (const month of months) {
      for (const place of this.inBooking.keys()) if (place.endsWith(month)) this.inBooking.delete(place);
      await session.query(
        "update core.delivered_months set status = 'staged' where owner_id = any ($1) and period = $2",
        [this.clients.map(({ id }) => id), month],
      );
      for (const { partner_id, connection_id } of this.clients)
        await session.query(
          "select private.set_tenant($1), private.release_charging_sessions(array[$2::uuid], array[$3::date])",
          [partner_id, connection_id, month],
        );
      await this.noneTwice();
    }
  }

  /** No charge is in two bookings, or in one and in an open month; none waits but for a month that is booked, or for a booking that it is in. */
  async noneTwice() {
    const booked = [...this.inBooking.values()].flat();
    const open = await this.charges(COUNTS);
    const energy = [...booked, ...open].filter(({ wh }) => wh > 0).map(({ charge }) => charge);
    expect(energy.toSorted()).toEqual([...new Set(energy)].toSorted());
    const waiting = await this.charges("'after_lock' = any (s.flags)");
    expect(waiting.filter(({ charge }) => !booked.some((each) => each.charge === charge))).toEqual([]);
  }

  named = ({ kind, value }: Name) => ({ [kind]: kind === "charger_id" ? this.rows[Number(value)] : value });

  given({ external_ref, evses }: Names) {
    const list = Object.groupBy(this.model.namesOf({ evses }), ({ evse }) => String(evse));
    return {
      ...(external_ref === undefined ? {} : { external_ref: this.model.namesOf({ external_ref })[0]?.value ?? null }),
      ...(evses === undefined
        ? {}
        : { evses: Object.values(list).map((names = []) => Object.assign({}, ...names.map(this.named))) }),
    };
  }

  /** What counts, by charger and by connection, and how many sessions wait. */
  async found() {
    const { rows } = await session.query(
      `select (select json_agg(json_build_array(m.charger_id, to_char(m.month, 'YYYY-MM'), m.wh, m.sessions)) from core.charger_months m
                where m.owner_id = any ($1) and m.sessions > 0) as chargers,
              (select json_agg(json_build_array(d.connection_id, to_char(d.period, 'YYYY-MM'), d.total_kwh * 1000, d.session_count))
                 from core.delivered_months d where d.owner_id = any ($1) and d.session_count > 0) as connections,
              (select count(*)::int from core.parked_charging p where p.owner_id = any ($1)) as parked`,
      [this.clients.map(({ id }) => id)],
    );
    const [{ chargers, connections, parked }] = rows;
    const by = (name: string, ids: string[], months: [string, string, number, number][] | null) =>
      (months ?? []).map(([id, ...month]) => [`${name} ${ids.indexOf(id)}`, ...month].join(" ")).sort();
    const places = this.clients.map(({ connection_id }) => connection_id);
    return { chargers: by("row", this.rows, chargers), connections: by("client", places, connections), parked };
  }
}

const dutchMonth = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "Europe/Amsterdam",
  year: "numeric",
  month: "2-digit",
});

function expected(model: Model): Awaited<ReturnType<Service["found"]>> {
  const by = (name: string, place: "row" | "client") => {
    const months = Object.groupBy(
      model.counted(),
      ({ at, start }) => `${name} ${at[place]} ${dutchMonth.format(start)}`,
    );
    return Object.entries(months)
      .map(([month, sessions = []]) => `${month} ${sessions.reduce((sum, { wh }) => sum + wh, 0)} ${sessions.length}`)
      .sort();
  };
  return { chargers: by("row", "row"), connections: by("client", "client"), parked: model.parked.length };
}

const words = ({ at, does, ...rest }: Act) =>
  `${iso(at)} ${does} ${JSON.stringify(rest, (_, value) => (value > BEGIN - 1e9 ? iso(value) : value))}`;

test("§1 each charge counts once, where the model says, and months are their sums", {
  timeout: LIMIT + 60_000,
}, async () => {
  const seeds = seedsOf(process.env.SESSION_SIMPLE === "1");
  await fc.assert(
    fc.asyncProperty(fc.noBias(seeds), async (drawn) => {
      const clients = await addClients();
      const serials = drawn.chargers.map((_, place) => `M${count}-${place}`);
      const story = storyOf(drawn, serials);
      const told = ["", ...story.map(words), ""].join("\n");
      const service = new Service(clients, new Model(serials, drawn.sockets));
      try {
        for (const act of story) await service.do(act);
      } catch (error) {
        throw new Error(`${error}${told}`, { cause: error });
      }
      const energy = service.model.counted().filter(({ wh }) => wh > 0);
      const charges = energy.map((counted) => (counted as unknown as Telling).charge);
      expect(charges.length, `the model counts a charge twice${told}`).toBe(new Set(charges).size);
      expect(await service.found(), told).toEqual(expected(service.model));
    }),
    { numRuns: WORLDS, seed: SEED, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true },
  );
});

test("§3 a charge is in one booking, or counts in an open month; it waits for no month that it is not in; once all months are open what counts is their sum", {
  timeout: LIMIT + 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.noBias(seedsOf(true)), fc.noBias(bookings), async (seeds, months) => {
      const drawn = { ...seeds, days: [0] };
      const clients = await addClients();
      const serials = drawn.chargers.map((_, place) => `M${count}-${place}`);
      const story = booked(storyOf(drawn, serials), drawn, months);
      const told = ["", ...story.map(words), ""].join("\n");
      const service = new Service(clients, new Model(serials, drawn.sockets));
      try {
        for (const act of story) {
          await service.do(act);
          await service.noneTwice();
        }
        await service.judge(service.rows, true);
        await service.noneTwice();
        await service.open(["2026-01-01", "2026-02-01"]);
      } catch (error) {
        throw new Error(`${error}${told}`, { cause: error });
      }
      const { rows } = await session.query(
        `select count(*) filter (where 'after_lock' = any (s.flags))::int as waiting, coalesce(sum(s.wh) filter (where s.flags = '{}' and s.ended_at is not null), 0)::int as wh,
                (select coalesce(sum(d.total_kwh) * 1000, 0)::int from core.delivered_months d where d.owner_id = any ($1)) as delivered
           from core.charging_sessions s where s.owner_id = any ($1)`,
        [clients.map(({ id }) => id)],
      );
      expect(rows[0], told).toEqual({ waiting: 0, wh: rows[0].delivered, delivered: rows[0].delivered });
    }),
    { numRuns: Math.ceil(WORLDS / 2), seed: SEED, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true },
  );
});

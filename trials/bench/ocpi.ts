// CDRs that OCPI platforms push, one in a request.

import { createHash } from "node:crypto";
import type { Bench } from "./kit/bench.ts";
import { rateAgainst } from "./kit/findings.ts";
import { ask, type Outgoing, wire } from "./kit/load.ts";
import { requests, takeTurns } from "./kit/measure.ts";
import { liftLimits, seed } from "./kit/seed.ts";
import { debit, LIKE_SESSIONS, rowsBeside, SESSIONS_BEFORE } from "./kit/sessions.ts";
import { withStack } from "./kit/stack.ts";

/** Platforms, one charger each: the CDRs of one platform are taken one after the other. */
const PLATFORMS = 16;

/** Tables like those that a CDR leaves rows in, with their checks, indexes and foreign keys, without row-level security. */
const TABLES = `
  create table bench.cdrs (like core.ocpi_cdrs including all,
    foreign key (partner_id, owner_id) references core.ocpi_connections (partner_id, owner_id));
  create table bench.connections (like core.ocpi_connections including all);
  insert into bench.connections select * from core.ocpi_connections;
  ${LIKE_SESSIONS}`;

const INSERT = `
  with sent as (
    select r.*, b.body -> 'cdr' as cdr, sha256(convert_to(b.body ->> 'cdr', 'UTF8')) as digest
      from (select $1::jsonb as body) b
     cross join lateral jsonb_to_record(b.body) as r (partner_id uuid, owner_id uuid, charger_id uuid, connection_id uuid)),
  cdr as (
    insert into bench.cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, status, document, document_sha256)
    select s.partner_id, s.owner_id, 'NL-TNM', s.cdr ->> 'id', s.digest, 'taken', s.cdr, s.digest from sent s),
  session as (
    insert into bench.sessions (partner_id, charger_id, id, connection_id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
    select s.partner_id, s.charger_id, gen_random_uuid(), s.connection_id, s.owner_id, 'ocpi', s.cdr ->> 'id',
           (s.cdr ->> 'start_date_time')::timestamptz, (s.cdr ->> 'start_date_time')::timestamptz, (s.cdr ->> 'end_date_time')::timestamptz, ((s.cdr ->> 'total_energy')::numeric * 1000)::bigint,
           'completed', now() from sent s
    returning partner_id, charger_id, connection_id, owner_id, id, external_id, started_at, wh),
  counted as (
    update bench.connections c set taken = c.taken + 1 from session n where c.partner_id = n.partner_id and c.owner_id = n.owner_id),
  changed as (
    insert into bench.changes (partner_id, owner_id, charger_id, session_id) select partner_id, owner_id, charger_id, id from session),
  ${rowsBeside("bench", "owner_id")}, ${debit("bench")}
  insert into bench.evidence (partner_id, charger_id, session_id, owner_id, source, external_id, document_sha256)
  select n.partner_id, n.charger_id, n.id, n.owner_id, 'ocpi', n.external_id, s.digest from session n, sent s`;

const hash = (token: string) => createHash("sha256").update(token).digest("hex");

type Connected = { partner_id: string; owner_id: string; charger_id: string; connection_id: string };

export const ocpi: Bench = {
  about: "POST /ocpi/2.2.1/receiver/cdrs, one CDR each, beside one bare insert of the rows that it leaves",
  defaults: { accounts: 10_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      await seed(stack.admin, PLATFORMS, options.accounts, { booked: false });
      await liftLimits(stack.admin);
      const { rows } = await stack.admin.query<Connected>(
        `with charger as (
           select distinct on (h.owner_id) h.partner_id, h.owner_id, h.id, h.connection_id from core.chargers h where h.status = 'active' order by h.owner_id, h.id),
         named as (
           insert into core.charger_names (partner_id, owner_id, kind, value, charger_id, evse_no)
           select partner_id, owner_id, 'evse_uid', upper(id::text), id, 1 from charger),
         connection as (
           insert into core.ocpi_connections (partner_id, owner_id, status, parties, token_hash)
           select partner_id, owner_id, 'registered', '{NL-TNM}', sha256(convert_to('token-' || owner_id, 'UTF8')) from charger)
         select partner_id, owner_id, id as charger_id, connection_id from charger`,
      );
      await stack.admin.query(TABLES);
      await stack.admin.query(SESSIONS_BEFORE);
      await stack.admin.query("vacuum (analyze)");
      const ours = await stack.serve("ocpi", { OCPI_PARTY: "NL-ERE" });
      const floor = await stack.serveFloor({ insert: INSERT });
      let sent = 0;
      /** The next CDR, an hour after the last one of its charger. */
      const next = () => {
        const connected = rows[sent % rows.length] as Connected;
        const hours = Math.floor(sent++ / rows.length);
        const moment = (later: number) => new Date(Date.UTC(2020, 0, 1) + (hours + later) * 3_600_000).toISOString();
        return { connected, cdr: cdrOf(`B-${sent}`, connected.charger_id, moment(0), moment(0.9)) };
      };
      const push = (): Outgoing => {
        const { connected, cdr } = next();
        const authorization = `Token ${Buffer.from(`token-${connected.owner_id}`).toString("base64")}`;
        return { method: "POST", path: "/ocpi/2.2.1/receiver/cdrs", headers: { authorization }, body: cdr };
      };
      const insert = (): Outgoing => {
        const { connected, cdr } = next();
        return { method: "POST", path: "/insert", body: { ...connected, cdr } };
      };
      const { status_code } = await ask<{ status_code: number }>(ours.url, push());
      const stored = await stack.admin.query("select flags from core.charging_sessions where source = 'ocpi' ");
      if (status_code !== 1000 || stored.rows[0]?.flags.length !== 0)
        throw new Error(`a CDR was answered ${status_code}, and stored as ${JSON.stringify(stored.rows)}`);
      const load = (server: typeof ours, make: () => Outgoing) =>
        requests(stack, server, { url: server.url, next: () => wire(make()), concurrency: PLATFORMS });
      const turns = await takeTurns({ ours: load(ours, push), floor: load(floor, insert) }, options);
      return [
        rateAgainst(
          `POST /ocpi/2.2.1/receiver/cdrs, ${PLATFORMS} platforms at once`,
          "CDRs/s",
          turns.ours,
          { what: "one bare insert of its rows", figures: turns.floor },
          { at_least: 0.25 },
          1,
        ),
      ];
    }),
};

/** As a platform sends it; its card and tariff are not kept. */
const cdrOf = (id: string, evse_uid: string, start_date_time: string, end_date_time: string) => ({
  country_code: "NL",
  party_id: "TNM",
  id,
  start_date_time,
  end_date_time,
  cdr_token: {
    country_code: "NL",
    party_id: "TNM",
    uid: "012345678",
    type: "RFID",
    contract_id: hash(id).slice(0, 30),
  },
  auth_method: "WHITELIST",
  cdr_location: {
    id: "LOC1",
    address: "Stationsplein 1",
    city: "Utrecht",
    country: "NLD",
    coordinates: { latitude: "52.089444", longitude: "5.110278" },
    evse_uid,
    evse_id: "#NA",
    connector_id: "1",
    connector_standard: "IEC_62196_T2",
    connector_format: "SOCKET",
    connector_power_type: "AC_3_PHASE",
  },
  currency: "EUR",
  charging_periods: [{ start_date_time, dimensions: [{ type: "ENERGY", volume: 5 }] }],
  total_cost: { excl_vat: 1.5 },
  total_energy: 5,
  total_time: 0.9,
  last_updated: end_date_time,
});

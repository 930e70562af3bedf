// Charges that chargers tell by OCPP 2.0.1: begin and end, as the gateway passes them on.

import type { Bench } from "./kit/bench.ts";
import { rateAgainst } from "./kit/findings.ts";
import { ask, type Outgoing, wire } from "./kit/load.ts";
import { requests, takeTurns } from "./kit/measure.ts";
import { liftLimits, seed } from "./kit/seed.ts";
import { LIKE_SESSIONS, rowsBeside, SESSIONS_BEFORE } from "./kit/sessions.ts";
import { withStack } from "./kit/stack.ts";

const CHARGERS = 16;
const SECRET = "s".repeat(64);

/** Tables like those that a charge leaves rows in, with their checks, indexes and foreign keys, without row-level security. */
const TABLES = `
  create table bench.transactions (like core.ocpp_transactions including all,
    foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id));
  ${LIKE_SESSIONS}`;

/** The transaction and its session as they ended, and the words of the end. */
const INSERT = `
  with sent as (
    select r.*, r.messages -> 0 as words, r.messages -> 1 as last, sha256(convert_to(r.messages ->> 1, 'UTF8')) as digest, gen_random_uuid() as id
      from (select $1::jsonb as body) b
     cross join lateral jsonb_to_record(b.body) as r (partner_id uuid, owner_id uuid, charger_id uuid, connection_id uuid, messages jsonb)),
  transaction as (
    insert into bench.transactions (partner_id, charger_id, owner_id, source_id, connector, started_at, first_at, meter_start_wh, last_at, last_wh, ended_at, end_wh, clock)
    select s.partner_id, s.charger_id, s.owner_id, s.words -> 'payload' -> 'transactionInfo' ->> 'transactionId', 1, (s.words -> 'payload' ->> 'timestamp')::timestamptz,
           (s.words -> 'payload' ->> 'timestamp')::timestamptz, 0, now(), 5000, now(), 5000, 'charger' from sent s),
  session as (
    insert into bench.sessions (partner_id, charger_id, id, connection_id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
    select s.partner_id, s.charger_id, s.id, s.connection_id, s.owner_id, 'ocpp', s.words -> 'payload' -> 'transactionInfo' ->> 'transactionId',
           (s.words -> 'payload' ->> 'timestamp')::timestamptz, (s.words -> 'payload' ->> 'timestamp')::timestamptz, now(), 5000, 'completed', now() from sent s
    returning partner_id, charger_id, connection_id, owner_id, id, external_id, started_at, wh),
  changed as (
    insert into bench.changes (partner_id, owner_id, charger_id, session_id) select s.partner_id, s.owner_id, s.charger_id, s.id from sent s),
  ${rowsBeside("bench", "charger_id")}
  insert into bench.evidence (partner_id, charger_id, session_id, owner_id, source, external_id, document, document_sha256)
  select s.partner_id, s.charger_id, n.id, s.owner_id, 'ocpp', n.external_id, s.last, s.digest from session n, sent s`;

type Connected = { partner_id: string; owner_id: string; charger_id: string; connection_id: string };

export const ocpp: Bench = {
  about: "POST /ocpp/messages, one charge each (begin and end), beside one bare insert of the rows that it leaves",
  defaults: { accounts: 10_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      await seed(stack.admin, 1, options.accounts, { booked: false });
      await liftLimits(stack.admin);
      const { rows } = await stack.admin.query<Connected>(
        `with charger as (
           select h.partner_id, h.owner_id, h.id, h.connection_id from core.chargers h where h.status = 'active' order by h.id desc limit $1),
         linked as (
           insert into core.ocpp_links (partner_id, charger_id, owner_id, generation, protocol, connected_at)
           select partner_id, id, owner_id, 1, 'ocpp2.0.1', now() from charger)
         select partner_id, owner_id, id as charger_id, connection_id from charger`,
        [CHARGERS],
      );
      await stack.admin.query(TABLES);
      await stack.admin.query(SESSIONS_BEFORE);
      await stack.admin.query("update core.chargers set created_at = '2020-01-01Z'");
      await stack.admin.query("vacuum (analyze)");
      const ours = await stack.serve("ocpp", { GATEWAY_SECRET: SECRET, OCPP_GATEWAY_URL: "wss://gateway.example" });
      const floor = await stack.serveFloor({ insert: INSERT });
      let sent = 0;
      /** The next charge, an hour after the last one of its charger. */
      const next = () => {
        const connected = rows[sent % rows.length] as Connected;
        const hours = Math.floor(sent++ / rows.length);
        const moment = (later: number) => new Date(Date.UTC(2021, 0, 1) + (hours + later) * 3_600_000).toISOString();
        const message = (eventType: string, timestamp: string, seqNo: number, value: number) => ({
          action: "TransactionEvent",
          payload: {
            eventType,
            timestamp,
            seqNo,
            triggerReason: "CablePluggedIn",
            transactionInfo: { transactionId: `t-${sent}` },
            evse: { id: 1 },
            meterValue: [{ timestamp, sampledValue: [{ value }] }],
          },
          received_at: timestamp,
          live: false,
          sent_sha256: "0".repeat(64),
        });
        return {
          connected,
          messages: [
            message("Started", moment(0), 0, sent * 5000),
            message("Ended", moment(0.9), 1, sent * 5000 + 5000),
          ],
        };
      };
      const tell = (): Outgoing => {
        const { connected, messages } = next();
        const headers = { authorization: `Bearer ${SECRET}` };
        const body = { charger_id: connected.charger_id, generation: 1, protocol: "ocpp2.0.1", messages };
        return { method: "POST", path: "/ocpp/messages", headers, body };
      };
      const insert = (): Outgoing => {
        const { connected, messages } = next();
        return { method: "POST", path: "/insert", body: { ...connected, messages } };
      };
      const answer = await ask<unknown>(ours.url, tell());
      const stored = await stack.admin.query("select wh::int, flags from core.charging_sessions where source = 'ocpp'");
      const { wh, flags } = stored.rows[0] ?? {};
      if (wh !== 5000 || flags.length !== 0)
        throw new Error(`answered ${JSON.stringify(answer)}, stored as ${JSON.stringify(stored.rows)}`);
      const load = (server: typeof ours, make: () => Outgoing) =>
        requests(stack, server, { url: server.url, next: () => wire(make()), concurrency: CHARGERS });
      const turns = await takeTurns({ ours: load(ours, tell), floor: load(floor, insert) }, options);
      return [
        rateAgainst(
          `POST /ocpp/messages, a charge of each of ${CHARGERS} chargers at once`,
          "charges/s",
          turns.ours,
          { what: "one bare insert of its rows", figures: turns.floor },
          { at_least: 0.25 },
          1,
        ),
      ];
    }),
};

// Who writes while things break. Each writer keeps what it was told, and `check` compares it with what is stored.

import { createHash } from "node:crypto";
import type pg from "pg";
import type { CodeboekPoint } from "../../tests/harness/ean_codeboek.ts";
import type { Random } from "../kit/random.ts";
import type { Trial } from "../kit/stack.ts";
import type { Journal, Outcome } from "./journal.ts";

export type Writing = {
  trial: Trial;
  journal: Journal;
  random: Random;
  /** Told apart from all others of the run. */
  id: number;
  credentials: Record<string, string>;
  over: () => boolean;
};
export type Writer = {
  kind: string;
  /** Writes once, and remembers what came of it. */
  once: () => Promise<void>;
  /** Compares what was acknowledged with what is stored. Nobody writes any more. */
  check: (db: pg.Pool) => Promise<void>;
  /** How much was acknowledged, and how much nobody knows of. */
  told: () => Record<Outcome, number>;
};

export const counted = (told: readonly { outcome: Outcome }[]) => ({
  done: told.filter(({ outcome }) => outcome === "done").length,
  open: told.filter(({ outcome }) => outcome === "open").length,
});

let eans = 0;
const newEan = () => `8716871${String(++eans).padStart(11, "0")}`;

/** What the EAN register knows: the connection of every account here. */
export const POINTS: CodeboekPoint[] = [];

/** A body of POST /v1/accounts, at an address of its own. */
export function accountOf(reference: string) {
  const ean_code = newEan();
  const postal_code = `${1_000 + Math.floor(eans / 9_000)}LH`;
  const house_number = 1 + (eans % 9_000);
  POINTS.push({
    ean: ean_code,
    address: { postalCode: postal_code, streetNumber: house_number, street: "Dorpsstraat", city: "Amersfoort" },
    product: "ELK",
    gridOperatorEan: "8716871000002",
  });
  return {
    cpo_external_ref: reference,
    iban: "NL91ABNA0417164300",
    person: { full_name: "Sanne de Vries", email: `${reference}@example.nl`, phone: "0612345678" },
    connection: {
      ean_code,
      postal_code,
      house_number: String(house_number),
      street: "Dorpsstraat",
      city: "Amersfoort",
    },
  };
}

/** An account of the demo's client, made before anything breaks. */
async function newAccount({
  journal,
  credentials,
  id,
}: Writing): Promise<{ account_id: string; connection_id: string }> {
  const answer = await journal.send("setup", "createAccount", {
    token: credentials.cpo ?? "",
    body: accountOf(`setup-${id}`),
  });
  if (answer?.status !== 200) throw new Error(`no account: ${JSON.stringify(answer)}`);
  return answer.body;
}

/** Months that are over, from the first of delivery on; the newest are left to charging sessions. */
export function pastMonths(): string[] {
  const now = new Date();
  const months = (now.getUTCFullYear() - 2026) * 12 + now.getUTCMonth();
  return Array.from(
    { length: Math.min(Math.max(months, 2), 24) },
    (_, n) => `${2026 + Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, "0")}`,
  );
}

/** Monthly totals, two months a request, each value sent for one write only. */
export async function months(writing: Writing): Promise<Writer> {
  const { journal, random, credentials, over } = writing;
  const { account_id, connection_id } = await newAccount(writing);
  type Told = { body: string; totals: Record<string, number>; outcome: Outcome; sent: number };
  const told: Told[] = [];
  const known = pastMonths();
  return {
    kind: "months",
    told: () => counted(told),
    async once() {
      const value = (told.length + 1) / 1000;
      const first = random.below(known.length - 1);
      const totals = { [known[first] ?? ""]: value, [known[first + 1] ?? ""]: value + 1000 };
      const body = {
        account_id,
        months: Object.entries(totals).map(([period, total_kwh]) => ({ period, total_kwh, session_count: 1 })),
      };
      const mine: Told = { body: JSON.stringify(body), totals, outcome: "open", sent: 0 };
      told.push(mine);
      const { answer, ...result } = await journal.write(random, over, () =>
        journal.send("months", "deliverMonths", { token: credentials.cpo ?? "", body }),
      );
      Object.assign(mine, result);
      if (result.outcome === "done" && answer?.body.accepted !== 2)
        journal.complain("months: an acknowledged month was not taken", JSON.stringify(answer?.body));
    },
    async check(db) {
      const { rows: stored } = await db.query<{ period: string; total: number }>(
        "select to_char(period, 'YYYY-MM') as period, total_kwh::float as total from core.delivered_months where connection_id = $1",
        [connection_id],
      );
      for (const period of known) {
        const of = told.filter(({ totals }) => period in totals);
        const last = of.findLastIndex(({ outcome }) => outcome === "done");
        // whatever nobody knows of may have come last
        const possible = of
          .filter(({ outcome }, n) => n === last || outcome === "open")
          .map(({ totals }) => totals[period]);
        const found = stored.find((row) => row.period === period)?.total;
        if (found === undefined ? last >= 0 : !possible.includes(found))
          journal.complain("months: a month holds another value than was acknowledged last", `${period}: ${found}`);
      }
      const { rows: deliveries } = await db.query<{ sha: string; count: number }>(
        "select body_sha256 as sha, count(*)::int as count from core.deliveries where connection_id = $1 group by 1",
        [connection_id],
      );
      const counts = new Map(deliveries.map(({ sha, count }) => [sha, count]));
      for (const { body, outcome, sent } of told) {
        const sha = createHash("sha256").update(body).digest("hex");
        const count = counts.get(sha) ?? 0;
        counts.delete(sha);
        if (count > sent || (outcome === "done" && count < 1))
          journal.complain(
            "months: a delivery is not stored as often as it was acknowledged",
            `${count} of ${sent}: ${body}`,
          );
      }
      if (counts.size > 0) journal.complain("months: a delivery is stored that nobody sent", [...counts.keys()].join());
    },
  };
}

const HOUR = 3_600_000;

/** Charging sessions, three a request, one after the other at one charger. */
export async function sessions(writing: Writing): Promise<Writer> {
  const { journal, random, credentials, over, id } = writing;
  const token = credentials.cpo ?? "";
  const { account_id } = await newAccount(writing);
  const made = await journal.send("setup", "registerCharger", {
    token,
    body: { account_id, ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023", serial_number: `FAULTS${id}` },
  });
  const charger_id: string = made?.body.charger_id;
  if (made?.status !== 200) throw new Error(`no charger: ${JSON.stringify(made)}`);
  type Told = { ids: string[]; kwh: number; outcome: Outcome; sent: number };
  const told: Told[] = [];
  const start = Date.UTC(2026, 0, 2);
  return {
    kind: "sessions",
    told: () => counted(told),
    async once() {
      const n = told.length;
      const items = [0, 1, 2].map((place) => {
        const started = start + (n * 3 + place) * (HOUR / 3);
        return {
          session_id: `${id}-${n}-${place}`,
          charger_id,
          started_at: new Date(started).toISOString(),
          ended_at: new Date(started + HOUR / 4).toISOString(),
          kwh: 2 + random.below(500) / 1000,
        };
      });
      if (start + n * HOUR + HOUR > Date.now()) return;
      const mine: Told = {
        ids: items.map(({ session_id }) => session_id),
        kwh: items.reduce((sum, { kwh }) => sum + kwh, 0),
        outcome: "open",
        sent: 0,
      };
      told.push(mine);
      const { answer, ...result } = await journal.write(random, over, () =>
        journal.send("sessions", "deliverChargingSessions", { token, body: { sessions: items } }),
      );
      Object.assign(mine, result);
      const { created = 0, unchanged = 0 } = answer?.body ?? {};
      if (result.outcome === "done" && created + unchanged !== 3)
        journal.complain("sessions: an acknowledged session was not taken", JSON.stringify(answer?.body));
    },
    async check(db) {
      const { rows: stored } = await db.query<{ external_id: string; kwh: number }>(
        "select external_id, wh::float / 1000 as kwh from core.charging_sessions where charger_id = $1",
        [charger_id],
      );
      const byId = new Map(stored.map((row) => [row.external_id, row.kwh]));
      if (byId.size !== stored.length) journal.complain("sessions: a session is stored twice");
      let kwh = 0;
      for (const { ids, outcome, kwh: sum } of told) {
        const found = ids.filter((each) => byId.has(each));
        if (outcome === "done" && found.length < 3)
          journal.complain("sessions: an acknowledged session is lost", ids.join());
        if (found.length % 3 !== 0) journal.complain("sessions: a request is stored in part", ids.join());
        if (found.length === 3) kwh += sum;
        for (const each of ids) byId.delete(each);
      }
      if (byId.size > 0) journal.complain("sessions: a session is stored that nobody sent", [...byId.keys()].join());
      const { rows } = await db.query<{ kept: number; delivered: number }>(
        `select (select coalesce(sum(wh), 0)::float / 1000 from core.charger_months where charger_id = $1) as kept,
                (select coalesce(sum(m.total_kwh), 0)::float from core.delivered_months m join core.chargers c using (connection_id) where c.id = $1) as delivered`,
        [charger_id],
      );
      const [sums] = rows;
      for (const [name, sum = -1] of [
        ["charger's months", sums?.kept],
        ["delivered months", sums?.delivered],
      ] as const)
        if (Math.abs(sum - kwh) > 0.0005)
          journal.complain(`sessions: the ${name} are not the sum of its sessions`, `${sum}, not ${kwh}`);
    },
  };
}

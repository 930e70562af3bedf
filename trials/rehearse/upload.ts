// Delivers the same charging sessions twice, in each way that we know of, and takes back what counts twice, by the steps of
// docs/operations.md.

import { writeFileSync } from "node:fs";
import { withStack } from "../kit/stack.ts";
import { type Customer, checking, openOffice, type Rehearsal } from "./office.ts";

const QUARTER = "2026-Q1";
const DIFFERS = "differs_from_sessions";
const HOUR = 3_600_000;
const KWH = 10;
const SESSIONS = 6;

type Session = { session_id: string; started_at: string; ended_at: string; kwh: number };

/** Of a month of 2026, one a day. */
const sessionsOf = (month: number, name: string, shift = 0): Session[] =>
  Array.from({ length: SESSIONS }, (_, day) => {
    const start = Date.UTC(2026, month - 1, day + 2, 18) + shift;
    const at = (moment: number) => `${new Date(moment).toISOString().slice(0, 19)}Z`;
    return { session_id: `${name}-${day}`, started_at: at(start), ended_at: at(start + HOUR), kwh: KWH };
  });

export async function upload({ seed, say = () => {} }: Rehearsal) {
  const { checks, check } = checking(say);
  await withStack(async (trial) => {
    const office = await openOffice(trial, { seed });
    const { db, journal, token, stack } = office;
    const [one, other] = (await office.customers(2)) as [Customer, Customer];
    const send = async (customer: Customer, sessions: Session[]) =>
      (
        await journal.send("sessions", "deliverChargingSessions", {
          token,
          body: { sessions: sessions.map((session) => ({ ...session, charger_id: customer.charger_id })) },
        })
      )?.body;
    const sendFile = async (customer: Customer, sessions: Session[], names = true) => {
      const lines = sessions.map(({ session_id, started_at, ended_at, kwh }) =>
        [...(names ? [session_id] : []), customer.charger_id, started_at, ended_at, kwh].join(";"),
      );
      const head = `${names ? "session_id;" : ""}charger_id;started_at;ended_at;kwh`;
      const answer = await fetch(`${stack.base_url}/v1/uploads`, {
        ...{ method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "text/csv" } },
        body: [head, ...lines].join("\n"),
      });
      return answer.json();
    };
    const total = async (customer: Customer, month: number) => {
      const { rows } = await db.query(
        "select total_kwh::float as kwh from core.delivered_months where connection_id = $1 and period = make_date(2026, $2, 1)",
        [customer.connection_id, month],
      );
      return rows[0]?.kwh ?? 0;
    };
    const counts = async (what: string, customer: Customer, month: number, kwh = SESSIONS * KWH) => {
      const found = await total(customer, month);
      check(`${what}: kWh`, found, found === kwh);
    };

    const file = await sendFile(one, sessionsOf(1, "A"));
    const again = await sendFile(one, sessionsOf(1, "A"));
    check(
      "the same file twice: its id",
      again.upload_id,
      Boolean(file.upload_id) && again.upload_id === file.upload_id,
    );
    await counts("the same file twice", one, 1);
    await send(one, sessionsOf(1, "A"));
    await counts("the same sessions as a file and as JSON", one, 1);
    await sendFile(one, sessionsOf(1, "A"), false);
    await counts("the same sessions in a file without ids", one, 1);
    const named = await send(one, sessionsOf(1, "B"));
    check(
      "the same sessions under other ids: flags",
      named?.results?.[0]?.flags,
      /duplicate|overlapping/.test(JSON.stringify(named?.results?.[0])),
    );
    await counts("the same sessions under other ids", one, 1);
    await send(one, sessionsOf(1, "C", 30_000));
    await counts("the same sessions under other ids, half a minute later", one, 1);

    await send(one, sessionsOf(2, "D"));
    await office.deliver(one, "2026-02", SESSIONS * KWH);
    await counts("sessions, and the month typed too", one, 2);
    await office.deliver(one, "2026-03", SESSIONS * KWH);
    await send(one, sessionsOf(3, "E"));
    await counts("the month typed, and its sessions too", one, 3);
    await office.deliver(one, "2026-02", 2 * SESSIONS * KWH);
    const preview = await office.run(`booking preview ${QUARTER} --partner demo`);
    const [flagged] = preview.flagged;
    check("twice the kWh typed: flags in booking preview", flagged?.flags, flagged?.flags.includes(DIFFERS));
    const handed = [{ period: "2026-02", from_sessions: true }];
    await journal.send("months", "deliverMonths", { token, body: { account_id: one.account_id, months: handed } });
    await counts("the month handed back to its sessions", one, 2);
    await office.agrees("delivered twice", check);

    // what no rule can see: the sessions of one customer, under other ids at the charger of another
    const withdraw = (name: string) =>
      journal.send("sessions", "withdrawChargingSessions", {
        token,
        body: { session_ids: sessionsOf(1, name).map(({ session_id }) => session_id) },
      });
    await send(other, sessionsOf(1, "F"));
    await counts("at another customer's charger", other, 1);
    await withdraw("F");
    await counts("taken back", other, 1, 0);
    await counts("taken back: whose they are", one, 1);

    await send(other, sessionsOf(1, "G"));
    const booking = await office.book(QUARTER);
    await office.run(`booking credit ${booking}`);
    const sale = await office.sell(booking);
    await office.pay();
    const before = await office.money(one);
    await withdraw("G");
    const late = (await office.run(`booking preview ${QUARTER} --partner demo`)).left_out;
    check(
      "taken back once it is paid: left out in booking preview",
      JSON.stringify(late),
      /withdrawn_after_lock/.test(JSON.stringify(late)),
    );
    await office.run(`sale reverse ${sale} --reason "delivered twice" --recover`);
    const row = await office.rowOf(booking, other);
    await office.run(`booking reverse-credit ${row} --reason "delivered twice"`);
    const granted = office.file("granted.csv");
    writeFileSync(granted, `row_id,accepted_kwh,reason\n${row},0,delivered twice\n`);
    await office.run(`booking credit ${booking} --file ${granted}`);
    await office.sell(booking);
    await office.pay();
    const [right, wrong] = [await office.money(one), await office.money(other)];
    check(
      "taken back once it is paid: whose they are",
      JSON.stringify(right),
      JSON.stringify(right) === JSON.stringify(before),
    );
    check(
      "taken back once it is paid: whoever was paid owes it",
      JSON.stringify(wrong),
      wrong.paid > 0 && Math.abs(wrong.paid + wrong.balance) < 0.005,
    );
    const rest = await office.run(`booking preview ${QUARTER} --partner demo`);
    check("taken back once it is paid: months to book", rest.total.months, rest.total.months === 0);
    await office.agrees("taken back once it is paid", check);
    for (const { promise, first } of journal.broken()) check(promise, first, false);
  });
  return { seed, checks };
}

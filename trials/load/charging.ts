// Chargers that charge through the OCPP gateway, and send each message unchanged until it is answered.

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Charger, PASSWORD } from "../../tests/harness/ocpp.ts";
import type { Outcome } from "./journal.ts";
import { counted, type Writer, type Writing } from "./writers.ts";

const HOUR = 3_600_000;

/** One charger of the demo's person, by either version of OCPP. */
export async function charging({ trial, journal, random, over, id }: Writing): Promise<Writer> {
  const { ocpp_url, demo } = trial.stack;
  const identity = `faults-${id}`;
  const { rows } = await trial.db.query<{ id: string }>(
    `insert into core.chargers (partner_id, owner_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash, power_kw)
     select private.people_tenant(), u.id, u.id, $2, 'ocpp', $2, $3, 22 from auth.users u where u.email = $1 returning id`,
    [demo.user.email, identity, createHash("sha256").update(PASSWORD).digest()],
  );
  const charger_id = rows[0]?.id ?? "";
  const protocol = id % 2 ? "ocpp2.0.1" : "ocpp1.6";
  const told: { started_at: string; wh: number; outcome: Outcome }[] = [];
  let link: Charger | null = null;
  let register = 100_000;
  // whole seconds: that is how sessions are stored
  let time = Math.floor(Date.now() / 1_000) * 1_000 - 390 * 24 * HOUR;

  /** The answer to a message; null where it is over before one comes. */
  const say = async (action: string, payload: object): Promise<{ transactionId: number } | null> => {
    for (;;) {
      const at = performance.now();
      link ??= await Charger.connect(ocpp_url, identity, { protocols: [protocol] }).catch(() => null);
      const answer: unknown[] | null = (await link?.call(action, payload)) ?? null;
      journal.note("charging", at, answer ? 200 : 503);
      if (answer?.[0] === 3) return answer[2] as { transactionId: number };
      if (answer) journal.complain(`charging: ${action} was answered by an error`, JSON.stringify(answer));
      link = null;
      if (over()) return null;
      await sleep(100 + random.below(300));
    }
  };

  const charge16 = async (wh: number, [started, middle, ended]: string[]) => {
    const begun = await say("StartTransaction", {
      ...{ connectorId: 1, idTag: "X", meterStart: register, timestamp: started },
    });
    if (!begun) return null;
    const { transactionId } = begun;
    const meterValue = [{ timestamp: middle, sampledValue: [{ value: String(register + Math.floor(wh / 2)) }] }];
    return (
      (await say("MeterValues", { connectorId: 1, transactionId, meterValue })) &&
      say("StopTransaction", { transactionId, meterStop: register + wh, timestamp: ended })
    );
  };
  const charge201 = async (wh: number, moments: string[]) => {
    const steps = [
      ["Started", 0, "Sample.Periodic"],
      ["Updated", Math.floor(wh / 2), "Sample.Periodic"],
      ["Ended", wh, "Transaction.End"],
    ] as const;
    for (const [seqNo, [eventType, charged, context]] of steps.entries()) {
      const timestamp = moments[seqNo];
      const answer = await say("TransactionEvent", {
        ...{ eventType, timestamp, seqNo, triggerReason: "Trigger", evse: { id: 1 } },
        transactionInfo: { transactionId: `t${told.length}` },
        meterValue: [{ timestamp, sampledValue: [{ value: register + charged, context }] }],
      });
      if (!answer) return null;
    }
    return true;
  };

  return {
    kind: "charging",
    told: () => counted(told),
    async once() {
      const wh = 1_000 + random.below(19_000);
      const moments = [0, 0.5, 1].map((hours) => new Date(time + hours * HOUR).toISOString());
      const mine = { started_at: moments[0] ?? "", wh, outcome: "open" as Outcome };
      told.push(mine);
      if (await (protocol === "ocpp1.6" ? charge16 : charge201)(wh, moments)) mine.outcome = "done";
      register += wh;
      time += 1.5 * HOUR;
      if (over()) await link?.close();
    },
    async check(db) {
      const { rows: stored } = await db.query<{ started_at: Date; wh: string; flags: string[]; ended: boolean }>(
        "select started_at, wh, flags, ended_at is not null as ended from core.charging_sessions where charger_id = $1",
        [charger_id],
      );
      for (const { started_at, wh, outcome } of told) {
        const found = stored.filter((row) => row.started_at.toISOString() === started_at);
        const [row] = found;
        const isWhole = row && Number(row.wh) === wh && row.ended && row.flags.length === 0;
        if (found.length > 1) journal.complain("charging: a session is stored twice", JSON.stringify(found));
        if (outcome === "done" && !isWhole)
          journal.complain("charging: an acknowledged session is lost, or another", JSON.stringify(row ?? started_at));
      }
      if (stored.length > told.length) journal.complain("charging: a session is stored that no charger told");
    },
  };
}

import { isAction } from "#shared/domain/charging_in/ocpp/actions.ts";
import { evidenceOf, keepable } from "#shared/domain/charging_in/ocpp/evidence.ts";
import { readMessage } from "#shared/domain/charging_in/ocpp/read.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { MAX_LEVELS } from "#shared/values/json.ts";

const Message = z.object({
  action: z.string(),
  payload: z.unknown(),
  received_at: z.iso.datetime({ precision: 3 }),
  live: z.boolean(),
  sent_sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be SHA-256 in hexadecimal digits"),
});

export const takeMessages = endpoint(
  {
    id: "takeMessages",
    summary: "Take what a charger says, in order, and answer it",
    description:
      "What is answered is stored. Sending the same messages again changes nothing and gets the same answers, so the " +
      "gateway may repeat a request whose answer was lost. `live`: a message tells what happens now, so its time of " +
      "arrival may stand for a charger's wrong clock. `mirror`: transaction ids are another back office's.",
    caller: { kind: "worker", secret: "GATEWAY_SECRET" },
    limit: null,
    sql: ["take_ocpp_messages"],
    body: z.object({
      charger_id: z.guid(),
      generation: z.int().min(1),
      protocol: z.enum(["ocpp1.6", "ocpp2.0.1"]),
      mirror: z.boolean().default(false),
      messages: z.array(Message).min(1).max(50),
    }),
    // a frame may have 256 KiB, and what was held back comes with it
    maxBody: 2 * 1024 * 1024,
    // a frame has so many levels, itself among them; here its payload lies two levels deeper
    levels: MAX_LEVELS + 2,
    response: z.object({
      answers: z
        .array(
          z.union([
            z.object({ payload: z.record(z.string(), z.unknown()) }),
            z.object({ error: z.object({ code: z.string(), description: z.string() }) }),
          ]),
        )
        .meta({ description: "In the order of messages: a CALLRESULT's payload, or a CALLERROR" }),
    }),
    errors: ["connection_superseded"],
    failure: "internal_error",
  },
  async ({ body: { charger_id, generation, protocol, mirror, messages }, call, environment: { log } }) => {
    const read = messages.map((message) => {
      const reading = readMessage(protocol, message);
      if (reading.unusable) {
        const action = isAction(protocol, message.action) ? message.action : "other";
        log({ level: "warn", event: "ocpp_unusable", charger_id, action, field: reading.unusable });
      }
      return { message, ...reading };
    });
    const telling = read.filter(({ happened }) => happened);
    const happened = telling.map(({ message, happened, arrived_at }) => {
      const evidence = happened && evidenceOf(protocol, message, happened);
      return keepable({ ...happened, arrived_at, ...(evidence ? { evidence } : {}) });
    });
    // most messages, such as a StatusNotification, cost no statement
    const { ids } =
      happened.length > 0
        ? JSON.parse(await call("take_ocpp_messages", { charger_id, generation, protocol, mirror, happened }))
        : { ids: [] };
    return {
      answers: read.map((each) => each.answer(ids[telling.indexOf(each)] ?? undefined)),
    };
  },
);

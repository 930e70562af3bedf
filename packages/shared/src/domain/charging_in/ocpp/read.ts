/**
 * What a message of a charger means: what happened, and what the charger is answered. Lenient, because a strict reader
 * loses sessions: unknown fields are ignored, lengths are not judged, and only what is used must be there.
 */

import { createHash } from "node:crypto";
import { answerTo, type CallAnswer, type Protocol } from "./actions.ts";
import { type Reading as MeterReading, type Readings, readingsOf } from "./energy.ts";
import { countOf, type Fields, isObject, type Moment, meterOf, momentOf, objectOf, textOf } from "./lenient.ts";

export type { Protocol } from "./actions.ts";

export type Message = {
  action: string;
  payload: unknown;
  /** When the gateway received it, ISO 8601 in UTC. */
  received_at: string;
  /** Whether it tells what happens now: the charger is no longer sending what it queued while it was away. */
  live: boolean;
};

type Boot = {
  vendor: string | null;
  model: string | null;
  meter_type: string | null;
  serial_number: string | null;
  meter_serial_number: string | null;
  firmware: string | null;
};

/** What happened at a charger, for SQL to store. Readings are in Wh, times in UTC. */
export type Happening =
  | { kind: "boot"; boot: Boot }
  /** 1.6 StartTransaction; its transaction gets an id, whatever it lacks: its stop must find it. */
  | ({ kind: "start"; connector: number; meter_wh: number | null; id_tag: string | null } & Moment)
  /** Values outside a transaction event. `transaction`: as the charger named it, null if it did not. */
  | ({ kind: "values"; connector: number; transaction: string | null; samples?: MeterReading[] } & Readings)
  /** 1.6 StopTransaction. */
  | ({ kind: "stop"; transaction: string | null; meter_wh: number | null; readings: Readings } & Moment)
  /** 1.6 StatusNotification of a connector whose charge is over. */
  | ({ kind: "status"; connector: number; status: "Finishing" | "Available" } & Moment)
  /** 2.0.1 TransactionEvent. */
  | ({
      kind: "event";
      transaction: string;
      type: "Started" | "Updated" | "Ended";
      connector: number | null;
      readings: Readings;
      id_tag: string | null;
    } & Moment);

export type Reading = {
  happened: Happening | null;
  /** When it arrived, if it tells what happens now; else null. */
  arrived_at: string | null;
  /** `transactionId` is what SQL gave to a `start`. */
  answer: (transactionId?: number) => CallAnswer;
  /** Why a message that should tell something cannot be used. */
  unusable?: string;
};

/** Text that a charger reports of itself: one line, 120 characters. */
const label = (value: unknown) =>
  textOf(value)
    ?.replace(/\p{Cc}+/gu, " ")
    .slice(0, 120)
    .toWellFormed() ?? null;

function bootOf(protocol: Protocol, payload: Fields): Boot {
  if (protocol === "ocpp1.6") {
    return {
      vendor: label(payload.chargePointVendor),
      model: label(payload.chargePointModel),
      meter_type: label(payload.meterType),
      serial_number: label(payload.chargePointSerialNumber) ?? label(payload.chargeBoxSerialNumber),
      meter_serial_number: label(payload.meterSerialNumber),
      firmware: label(payload.firmwareVersion),
    };
  }
  const station = objectOf(payload.chargingStation);
  return {
    vendor: label(station.vendorName),
    model: label(station.model),
    meter_type: null,
    serial_number: label(station.serialNumber),
    meter_serial_number: null,
    firmware: label(station.firmwareVersion),
  };
}

const EVENTS = ["Started", "Updated", "Ended"] as const;

/** OCPP 2.0.1 says 36 letters. Some chargers send more: beyond what is stored as it is, the hash stands for it. */
const LONGEST_ID = 256;
/** With `@` and the ten digits of a time, for an id that is used again, it fits the 120 signs of a session's id. */
const LONGEST_STORED = 109;
const storedId = (transaction: string) =>
  transaction.length > LONGEST_STORED
    ? `sha256:${createHash("sha256").update(transaction).digest("hex")}`
    : transaction;

/** The transaction that a message of 1.6 names. */
const nameOf = (payload: Fields) => {
  const named = textOf(payload.transactionId);
  return named === null ? null : storedId(named);
};

type What = { happened?: Happening; unusable?: string };

function startOf(payload: Fields, moment: Moment): What {
  const meter_wh = meterOf(payload.meterStart);
  const happened = {
    kind: "start",
    connector: countOf(payload.connectorId, 1, 100) ?? 1,
    meter_wh,
    id_tag: label(payload.idTag),
    ...moment,
  } as const;
  return meter_wh === null ? { happened, unusable: "meterStart" } : { happened };
}

function eventOf(payload: Fields, moment: Moment, { received_at, live }: Message): What {
  const transaction = textOf(objectOf(payload.transactionInfo).transactionId);
  const type = EVENTS.find((name) => name.toLowerCase() === textOf(payload.eventType)?.toLowerCase());
  if (transaction === null || transaction.length > LONGEST_ID) return { unusable: "transactionInfo.transactionId" };
  if (!type) return { unusable: "eventType" };
  const connector = countOf(objectOf(payload.evse).id, 1, 100);
  const readings = readingsOf(payload.meterValue, received_at, live);
  const id_tag = label(objectOf(payload.idToken).idToken);
  return {
    happened: { kind: "event", transaction: storedId(transaction), type, connector, readings, id_tag, ...moment },
  };
}

function valuesOf(protocol: Protocol, payload: Fields, { received_at, live }: Message): What | null {
  const connector = countOf(protocol === "ocpp1.6" ? payload.connectorId : payload.evseId, 0, 100) ?? 1;
  // the main meter of the station is no car's
  if (connector === 0) return null;
  const samples: MeterReading[] = [];
  const readings = readingsOf(payload.meterValue, received_at, live, samples);
  if (!readings.first && readings.signed.length === 0) return null;
  const several = samples.length > 1 ? { samples } : {};
  return { happened: { kind: "values", connector, transaction: nameOf(payload), ...readings, ...several } };
}

const FREE = ["Finishing", "Available"] as const;

/** Where another back office gives the ids, it tells which connector a stop means. */
function statusOf(payload: Fields, moment: Moment): What | null {
  const connector = countOf(payload.connectorId, 1, 100);
  const status = FREE.find((name) => name === textOf(payload.status));
  return connector && status ? { happened: { kind: "status", connector, status, ...moment } } : null;
}

function happeningOf(protocol: Protocol, message: Message, payload: Fields): What | null {
  const moment = () => momentOf(payload.timestamp, message.received_at, message.live);
  switch (message.action) {
    case "BootNotification":
      return { happened: { kind: "boot", boot: bootOf(protocol, payload) } };
    case "MeterValues":
      return valuesOf(protocol, payload, message);
  }
  switch (`${protocol} ${message.action}`) {
    case "ocpp1.6 StartTransaction":
      return startOf(payload, moment());
    case "ocpp1.6 StopTransaction":
      return {
        happened: {
          kind: "stop",
          transaction: nameOf(payload),
          meter_wh: meterOf(payload.meterStop),
          readings: readingsOf(payload.transactionData, message.received_at, message.live),
          ...moment(),
        },
      };
    case "ocpp1.6 StatusNotification":
      // a status without a time is of now
      return statusOf(payload, momentOf(payload.timestamp ?? message.received_at, message.received_at, message.live));
    case "ocpp2.0.1 TransactionEvent": {
      return eventOf(payload, moment(), message);
    }
    default:
      return null;
  }
}

/** Reads one CALL of a charger. */
export function readMessage(protocol: Protocol, sent: Message): Reading {
  const payload = objectOf(sent.payload);
  // a station of 2.0.1 may say itself that it queued an event
  const message = { ...sent, live: sent.live && !(protocol === "ocpp2.0.1" && payload.offline === true) };
  const what = happeningOf(protocol, message, payload);
  const unusable = isObject(message.payload) ? what?.unusable : "payload";
  return {
    happened: what?.happened ?? null,
    arrived_at: message.live ? message.received_at : null,
    answer: (transactionId) => answerTo(protocol, message.action, payload, message.received_at, transactionId),
    ...(unusable ? { unusable } : {}),
  };
}

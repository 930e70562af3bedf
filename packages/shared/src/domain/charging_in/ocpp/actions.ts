/** The answer to every action that a charger may call, of OCPP 1.6 and 2.0.1. */

import type { Fields } from "./lenient.ts";

export type Protocol = "ocpp1.6" | "ocpp2.0.1";
export type CallAnswer = { payload: Fields } | { error: { code: string; description: string } };

/** Seconds between heartbeats: a charger is online if it was heard of in the last 15 minutes. */
const HEARTBEAT_SECONDS = 600;

type Call = { payload: Fields; currentTime: string; transactionId: number };
type Table = Readonly<Record<string, (call: Call) => Fields>>;

const nothing = () => ({});
const rejected = () => ({ status: "Rejected" });

const BOTH: Table = {
  // never Pending or Rejected: a registrar must not be why a car does not charge
  BootNotification: ({ currentTime }) => ({ status: "Accepted", currentTime, interval: HEARTBEAT_SECONDS }),
  Heartbeat: ({ currentTime }) => ({ currentTime }),
  DataTransfer: () => ({ status: "UnknownVendorId" }),
  SignCertificate: rejected,
  StatusNotification: nothing,
  MeterValues: nothing,
  FirmwareStatusNotification: nothing,
  LogStatusNotification: nothing,
  SecurityEventNotification: nothing,
};

const ACTIONS: Readonly<Record<Protocol, Table>> = {
  "ocpp1.6": {
    ...BOTH,
    DiagnosticsStatusNotification: nothing,
    SignedFirmwareStatusNotification: nothing,
    Authorize: () => ({ idTagInfo: { status: "Accepted" } }),
    StartTransaction: ({ transactionId }) => ({ transactionId, idTagInfo: { status: "Accepted" } }),
    StopTransaction: nothing,
  },
  "ocpp2.0.1": {
    ...BOTH,
    Authorize: () => ({ idTokenInfo: { status: "Accepted" } }),
    TransactionEvent: ({ payload }) => ("idToken" in payload ? { idTokenInfo: { status: "Accepted" } } : {}),
    ClearedChargingLimit: nothing,
    NotifyChargingLimit: nothing,
    NotifyCustomerInformation: nothing,
    NotifyDisplayMessages: nothing,
    NotifyEvent: nothing,
    NotifyMonitoringReport: nothing,
    NotifyReport: nothing,
    PublishFirmwareStatusNotification: nothing,
    ReportChargingProfiles: nothing,
    ReservationStatusUpdate: nothing,
    NotifyEVChargingNeeds: rejected,
    NotifyEVChargingSchedule: rejected,
    Get15118EVCertificate: () => ({ status: "Failed", exiResponse: "" }),
    GetCertificateStatus: () => ({ status: "Failed" }),
  },
};

/** Whether OCPP has it as a call of a charger. Any other may hold what nobody may read, so it is not logged. */
export const isAction = (protocol: Protocol, action: string) => Object.hasOwn(ACTIONS[protocol], action);

/** What the charger is answered. @param transactionId of a StartTransaction */
export function answerTo(
  protocol: Protocol,
  action: string,
  payload: Fields,
  currentTime: string,
  transactionId = 0,
): CallAnswer {
  const make = isAction(protocol, action) ? ACTIONS[protocol][action] : undefined;
  if (!make) return { error: { code: "NotImplemented", description: "This action is not supported." } };
  return { payload: make({ payload, currentTime, transactionId }) };
}

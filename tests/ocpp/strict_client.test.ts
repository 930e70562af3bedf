// A strict client holds every answer to the schemas that the Open Charge Alliance publishes, against the gateway and the real edge function.

import { RPCClient } from "ocpp-rpc";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Gateway } from "../../packages/gateway/src/gateway.ts";
import { Charger, startTestGateway } from "../harness/ocpp.ts";
import { type Edge, serveEdge } from "../harness/ocpp_edge.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
const gateways: Gateway[] = [];
let edge: Edge;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", variables: { OCPP_GATEWAY_URL: "ws://gateway.test" } });
  edge = await serveEdge(world);
  for (let n = 0; n < 2; n += 1) gateways.push(await startTestGateway({ ...edge.settings, drainMs: 0 }));
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
  edge?.close();
  await world?.close();
});

const newCharger = async () => {
  const user = await world.addUser();
  const { body } = await world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, await user.token());
  return { id: body.id as string, ...(body.ocpp as { identity: string; password: string; mirror_endpoint: string }) };
};
const sessions = async (id: string) => {
  const { list } = await world.row(
    "select array_agg(wh::int order by started_at) as list from core.charging_sessions where charger_id = $1 and ended_at is not null",
    id,
  );
  return list;
};
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

const TIMESTAMP = ago(1);
const DATA = [{ timestamp: TIMESTAMP, sampledValue: [{ value: "1" }] }];
const CALLS_16: Record<string, object> = {
  BootNotification: { chargePointVendor: "Alfen BV", chargePointModel: "NG910-60023" },
  Heartbeat: {},
  StatusNotification: { connectorId: 1, errorCode: "NoError", status: "Available" },
  Authorize: { idTag: "X" },
  MeterValues: { connectorId: 1, meterValue: DATA },
  DataTransfer: { vendorId: "X" },
  DiagnosticsStatusNotification: { status: "Idle" },
  FirmwareStatusNotification: { status: "Idle" },
};
const TOKEN = { idToken: "X", type: "ISO14443" };
const CALLS_201: Record<string, object> = {
  BootNotification: { reason: "PowerUp", chargingStation: { vendorName: "Alfen BV", model: "NG910-60023" } },
  Heartbeat: {},
  StatusNotification: { timestamp: TIMESTAMP, connectorStatus: "Available", evseId: 1, connectorId: 1 },
  Authorize: { idToken: TOKEN },
  MeterValues: { evseId: 1, meterValue: [{ timestamp: TIMESTAMP, sampledValue: [{ value: 1 }] }] },
  DataTransfer: { vendorId: "X" },
  FirmwareStatusNotification: { status: "Idle" },
  LogStatusNotification: { status: "Idle" },
  SecurityEventNotification: { type: "X", timestamp: TIMESTAMP },
  SignCertificate: { csr: "X" },
  NotifyReport: { requestId: 1, generatedAt: TIMESTAMP, seqNo: 0 },
  NotifyMonitoringReport: { requestId: 1, generatedAt: TIMESTAMP, seqNo: 0 },
  NotifyDisplayMessages: { requestId: 1 },
  NotifyCustomerInformation: { data: "X", seqNo: 0, generatedAt: TIMESTAMP, requestId: 1 },
  ClearedChargingLimit: { chargingLimitSource: "EMS" },
  NotifyChargingLimit: { chargingLimit: { chargingLimitSource: "EMS" } },
  PublishFirmwareStatusNotification: { status: "Idle" },
  ReservationStatusUpdate: { reservationId: 1, reservationUpdateStatus: "Expired" },
  NotifyEVChargingNeeds: { evseId: 1, chargingNeeds: { requestedEnergyTransfer: "AC_three_phase" } },
  Get15118EVCertificate: { iso15118SchemaVersion: "X", action: "Install", exiRequest: "X" },
};

const connect = async (protocol: string, { identity, password }: { identity: string; password: string }) => {
  const client = new RPCClient({
    endpoint: gateways[0]?.url ?? "",
    identity,
    password,
    protocols: [protocol],
    strictMode: true,
  } as ConstructorParameters<typeof RPCClient>[0]); // its types ask for every option
  client.handle("ChangeConfiguration", async () => ({ status: "Accepted" }));
  client.handle("SetVariables", async () => ({
    setVariableResult: [
      { attributeStatus: "Accepted", component: { name: "SampledDataCtrlr" }, variable: { name: "TxUpdatedInterval" } },
    ],
  }));
  await client.connect();
  return client;
};

test("contract §6 a strict client of OCPP 1.6 takes every answer, and charges", async () => {
  const charger = await newCharger();
  const client = await connect("ocpp1.6", charger);
  for (const [action, payload] of Object.entries(CALLS_16)) await client.call(action, payload);
  const start = { connectorId: 1, idTag: "X", meterStart: 1000, timestamp: ago(3) };
  const { transactionId } = (await client.call("StartTransaction", start)) as { transactionId: number };
  await client.call("StopTransaction", { transactionId, meterStop: 13_000, timestamp: ago(1) });
  await client.close();
  expect(await sessions(charger.id)).toEqual([12_000]);
});

test("contract §6 a strict client of OCPP 2.0.1 takes every answer, and charges", async () => {
  const charger = await newCharger();
  const client = await connect("ocpp2.0.1", charger);
  for (const [action, payload] of Object.entries(CALLS_201)) await client.call(action, payload);
  const event = (eventType: string, hours: number, value: number, more: object = {}) =>
    client.call("TransactionEvent", {
      ...{ eventType, timestamp: ago(hours), triggerReason: "Authorized", seqNo: 0, evse: { id: 1 }, ...more },
      transactionInfo: { transactionId: "t-1" },
      meterValue: [{ timestamp: ago(hours), sampledValue: [{ value }] }],
    });
  await event("Started", 3, 1000, { idToken: TOKEN });
  await event("Updated", 2, 5000);
  await event("Ended", 1, 13_000);
  await client.close();
  expect(await sessions(charger.id)).toEqual([12_000]);
});

test("contract §6 a charger that moves between two gateways loses nothing", async () => {
  const { id, identity, password } = await newCharger();
  const links: Charger[] = [];
  const on = async (n: number) => {
    const link = await Charger.connect(gateways[n]?.url ?? "", identity, { password });
    links.push(link);
    return link;
  };
  // as deep as a frame may be, so that gateway and function must agree on it
  const x = JSON.parse(`${'{"x":'.repeat(47)}{}${"}".repeat(47)}`);
  const start = { connectorId: 1, idTag: "X", meterStart: 0, timestamp: ago(3), x };
  const [, , { transactionId }] = (await (await on(0)).call("StartTransaction", start)) as [
    number,
    string,
    { transactionId: number },
  ];
  const stop = { transactionId, meterStop: 9000, timestamp: ago(1) };
  const second = await on(1);
  expect(await second.call("StartTransaction", start)).toEqual([3, "m1", expect.objectContaining({ transactionId })]);
  // both connections stand, and what comes twice is once
  expect(await links[0]?.call("StopTransaction", stop)).toEqual([3, "m2", {}]);
  expect(await second.call("StopTransaction", stop)).toEqual([3, "m2", {}]);
  expect(await sessions(id)).toEqual([9000]);
  await second.close();
});

test("contract §6 a mirror without a password that sends eight charges in one go and hangs up loses none", async () => {
  const { id, mirror_endpoint } = await newCharger();
  const path = `${new URL(mirror_endpoint).pathname}/NL*ABC*E00001`;
  const mirror = await Charger.connect(gateways[0]?.url ?? "", "any", { path, headers: { Authorization: "" } });
  const frames = Array.from({ length: 8 }, (_, n) => [
    ["StartTransaction", { connectorId: 1, idTag: "X", meterStart: 2_000 * n, timestamp: ago(20 - 2 * n) }],
    ["StopTransaction", { transactionId: 70 + n, meterStop: 2_000 * (n + 1), timestamp: ago(19 - 2 * n) }],
  ]).flat();
  for (const [n, [action, payload]] of frames.slice(0, -1).entries())
    mirror.socket.send(JSON.stringify([2, `${n}`, action, payload]));
  const [action, payload] = frames.at(-1) ?? [];
  await new Promise<void>((resolve) => mirror.socket.send(JSON.stringify([2, "x", action, payload]), () => resolve()));
  mirror.socket.terminate();
  await expect.poll(() => sessions(id), { timeout: 10_000 }).toEqual(Array(8).fill(2_000));
});

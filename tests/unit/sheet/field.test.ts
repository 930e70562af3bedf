// Files as chargers' platforms, home automation and offices really write them (design: field, A).

import Excel from "exceljs";
import { describe, expect, test } from "vitest";
import { type ReadUpload, readUpload, UploadFault } from "#shared/domain/charging_in/file/read_upload.ts";

type Said = NonNullable<Parameters<typeof readUpload>[1]>;
const read = (file: string | Uint8Array, said: Said = {}) =>
  readUpload(typeof file === "string" ? new TextEncoder().encode(file) : file, said);

/** What became of a file: its kWh and when its sessions began and ended in UTC, or how it is refused. */
async function outcome(file: string | Uint8Array, said: Said = {}) {
  try {
    const { read: was, items, rejected, ignored } = await read(file, said);
    return {
      kwh: was.sums.kwh,
      times: items.map((item) => [short(item.started_at), short(item.ended_at)].join(" ")),
      as: was.read_as,
      not: rejected.map(({ sheet_row, status, reason }) => `${sheet_row} ${status ?? reason}`),
      ignored,
    };
  } catch (error) {
    if (error instanceof UploadFault) return { refused: error.code, ...error.fields };
    throw error;
  }
}
const short = (moment: unknown) => (typeof moment === "string" ? moment.slice(5, 16) : "-");

/** A session from 18:00 to 20:10 on 10 March 2026 in Amsterdam. */
const MARCH = ["03-10T17:00 03-10T19:10"];
const sessions = (headings: string, ...rows: string[]) => [headings, ...rows].join("\n");
const DAY = "10-03-2026 18:00;10-03-2026 20:10";

async function book(write: (book: Excel.Workbook) => void): Promise<Uint8Array> {
  const made = new Excel.Workbook();
  write(made);
  return new Uint8Array(await made.xlsx.writeBuffer());
}

test.each<[who: string, file: string]>([
  [
    "evcc in Dutch",
    "\ufeffAangemaakt,Beëindigd,Oplaadpunt,Kilometerstand (km),Beginwaarde meter (kWh),Eindwaarde meter (kWh),Energie (kWh),Duur,SoC start (%),Zonne-energie (%),Prijs,Prijs/kWh,CO₂/kWh\n" +
      "2026-03-10 18:00:00,2026-03-10 20:10:00,PAAL-17,,1463.8,1482.2,18.42,2h10m0s,40,12.5,1.12,0.2917,",
  ],
  [
    "evcc in German",
    "Startzeit;Endzeit;Ladepunkt;Kennung;Anfangszählerstand (kWh);Endzählerstand (kWh);Energie (kWh);Ladedauer;Sonne (%);Preis;Preis/kWh\n" +
      "2026-03-10 18:00:00;2026-03-10 20:10:00;PAAL-17;;4000,1;4018,52;18,42;2h10m;1;2,5;0,3",
  ],
  [
    "ev-server",
    "id,chargingStationID,connectorID,siteName,timezone,startDate,startTime,endDate,endTime,totalConsumptionkWh,totalDurationMins,totalInactivityMins,price,priceUnit\r\n" +
      '12345,"PAAL-17",1,"Site","Europe/Amsterdam","2026-03-10","18:00:00","2026-03-10","20:10:00",18.42,130,5,4.6,"EUR"\r\n',
  ],
  [
    "ChargePoint",
    "Station Name,Start Date,Start Time Zone,End Date,End Time Zone,Total Duration (hh:mm:ss),Energy (kWh),GHG Savings (kg),Port Number,EVSE ID,Country,Fee,Plug In Event Id,System S/N\n" +
      "PAAL-17,2026-03-10 18:00,CET,2026-03-10 20:10,CET,02:10:00,18.42,7.7,1,1234,Netherlands,1.2,555,SN1",
  ],
  [
    "Zaptec",
    "Start Date/Time,End Date/Time,Duration (Hours),Energy (kWh),User Name,Charger Name,Device Name,Session ID\n" +
      "2026-03-10 18:00:00,2026-03-10 20:10:00,2.17,18.42,Jan,PAAL-17,ZAP001,abc-1",
  ],
  [
    "a CDR of a Dutch platform",
    "CDR_ID;Start_datetime;End_datetime;Duration;Volume;Charge_Point_ID;EVSE_ID;Meter_ID;Calculated_Cost\n" +
      "C1;2026-03-10 18:00:00;2026-03-10 20:10:00;02:10:00;18,42;PAAL-17;NL*TNM*E177*1;M1;5,20",
  ],
  [
    "a wallbox in German, without an end",
    "Startzeit;Benutzer;Wallbox;geladen (kWh);Ladedauer;Zählerstand Start;Kosten (€)\n10.03.2026 18:00;Jan;PAAL-17;18,42;2:10:00;4000,1;5",
  ],
  [
    "home automation in Dutch",
    "Sessie ID;Laadpaal;Start;Einde;Duur;Start (kWh MID);Einde (kWh MID);Geladen (kWh)\n1;PAAL-17;2026-03-10T18:00:00+01:00;2026-03-10T20:10:00+01:00;2:10;4000,1;4018,52;18,42",
  ],
  [
    "an app with prices",
    "Id,Charge point,Start time,Stop time,Consumed (kWh),Price (EUR),Price per kWh\n9,PAAL-17,2026-03-10 18:00,2026-03-10 20:10,18.42,5.1,0.3",
  ],
  [
    "a portal with units in square brackets",
    "Charging station;Serial number;Connector;Started at;Stopped at;Consumption [kWh]\nPAAL-17;S1;1;2026-03-10 18:00;2026-03-10 20:10;18,42",
  ],
  [
    "an office, with title rows and a total",
    `Laadsessies maart 2026;;;\nKlant: Bedrijf;;;\n;;;\nLaadpaal;Start;Eind;kWh\nPAAL-17;${DAY};18,42\nTotaal;;;18,42`,
  ],
  [
    "an office, day and clock apart",
    "Laadpunt;Startdatum;Starttijd;Einddatum;Eindtijd;kWh\nPAAL-17;10-03-2026;18:00;10-03-2026;20:10;18,42",
  ],
  [
    "a wallbox that names seconds, with a line for Excel",
    'sep=;\r\n"Wallbox";"Startzeit";"Anzeigename";"Geladene Energie in kWh";"Ladedauer in s";"";"Zählerstand Start";"Zählerstand Ende";"Benutzername";"Ladekosten in € (Arbeitspreis) 30,00 ct/kWh"\r\n' +
      '"PAAL-17";"10.03.2026 18:00";"Jan";"18,42";"7800";"";"4000,1";"4018,52";"Jan";"5,53"\r\n',
  ],
  [
    "a set of profiles that knows plugs and charges",
    "Session,ConnectionStartDateTime,ConnectionEndDateTime,ChargingStartDateTime,ChargingEndDateTime,Power,Energy,ConnectionHours,ChargingHours,ChargingStation,Socket\n" +
      "S1,2026-03-10 17:00:00,2026-03-10 22:00:00,2026-03-10 18:00:00,2026-03-10 20:10:00,8.5,18.42,5,2.17,PAAL-17,1",
  ],
  [
    "a table of a server, in watt hours that the headings name",
    "charge_box_id,connector_id,start_timestamp,start_meter_wh,stop_timestamp,stop_meter_wh\n" +
      "PAAL-17,1,2026-03-10T18:00:00.000,4000100,2026-03-10T20:10:00.000,4018520",
  ],
  [
    "its own ids of chargers",
    `charger_id,started_at,ended_at,energy_delivered_kwh\nPAAL-17,2026-03-10T17:00:00Z,2026-03-10T19:10:00Z,18.42`,
  ],
])("§4.1 a session as it is written by %s", async (_who, file) => {
  const { items, rejected, read: was } = await read(file);
  expect(rejected.filter(({ status }) => status !== "summary")).toEqual([]);
  expect(items).toMatchObject([
    { external_ref: "PAAL-17", wh: 18_420, started_at: "2026-03-10T17:00:00Z", ended_at: "2026-03-10T19:10:00Z" },
  ]);
  expect(was.sums).toEqual({
    kwh: 18.42,
    sessions: 1,
    first_day: "2026-03-10",
    last_day: "2026-03-10",
    first_date: "10 March 2026",
    months: [{ period: "2026-03", kwh: 18.42, sessions: 1 }],
  });
});

test.each<[headings: string, cells: string, kwh: number | string, as?: string]>([
  // a unit in the heading wins over bare words; money, prices, powers and percentages are never energy
  ["Totaal;Energie (kWh)", "6,45;18,42", 18.42, "Energie (kWh)"],
  ["Totaal (€);Volume (kWh)", "6,45;18,42", 18.42, "Volume (kWh)"],
  ["Energie (€);Starttarief (€);Volume (kWh)", "6,45;0,35;18,42", 18.42, "Volume (kWh)"],
  ["kWh-prijs;kWh", "0,35;18,42", 18.42, "kWh"],
  ["Verbruik;Energie", "80%;18,42", 18.42, "Energie"],
  ["Verbruik;Energie", "€ 6,45;18,42", 18.42, "Energie"],
  ["Verbruik;Energie", "6,45;18,42 kWh", 18.42, "Energie"],
  ["Energie (kW);kWh", "11;18,42", 18.42, "kWh"],
  ["Accucapaciteit (kWh);Geladen", "77;18,42", 18.42, "Geladen"],
  ["Teller (kWh);Geladen", "4018,52;18,42", 18.42, "Geladen"],
  ["Energie [Wh]", "18420", 18.42],
  ["Verbruik in MWh", "0,01842", 18.42],
  ["energy_kwh", "18,42", 18.42],
  ["totalConsumptionkWh", "18,42", 18.42],
  // the unit of joined words counts for the cells too
  ["sessionEnergyWh", "18420", 18.42],
  ["WhDelivered", "18420", 18.42],
  ["EnergyMWh", "0,01842", 18.42],
  ["energyKwh", "18,42", 18.42],
  ["Meterstand begin (kWh);Meterstand eind (kWh)", "4000,1;4018,52", 18.42],
  ["kWh", "18,42 kWh", 18.42],
  ["Geladen kWh", "18,42 kWh", 18.42],
  ["kWhDelivered;kWhRequested", "18,42;40", 18.42, "kWhDelivered"],
  // what somebody asked for, a part, a sum since long ago, or a unit not counted by one
  ["Energie;Requested energy (kWh)", "18,42;40", 18.42, "Energie"],
  ["Zonne-energie (kWh);Energie", "4;18,42", 18.42, "Energie"],
  ["Energy (kWh);Green energy (kWh)", "18,42;4", 18.42, "Energy (kWh)"],
  ["Snelheid (kWh/h);Energie", "11;18,42", 18.42, "Energie"],
  ["Laadverlies (kWh);Energie", "1,2;18,42", 18.42, "Energie"],
  ["kWh incl. verlies;kWh", "19;18,42", "ambiguous_columns"],
  ["kWh rate;Energie", "0,25;18,42", 18.42, "Energie"],
  ["Lifetime energy (kWh);Energie", "4018,52;18,42", 18.42, "Energie"],
  ["kWh cumulatief", "4018,52", "unknown_columns"],
  ["E pres [0.1 Wh]", "184200", "unknown_columns"],
  ["Energie (x1000 kWh)", "18,42", "unknown_columns"],
  ["Verbruik", "66,3 MJ", "unknown_columns"],
  // two that agree are one
  ["Energie (kWh);Energie (Wh)", "18,42;18430", 18.42, "Energie (kWh)"],
  ["Energie (kWh);Geleverd (kWh)", "18,42;20", "ambiguous_columns"],
  ["Verbruik;Volume", "18,42;20", "ambiguous_columns"],
  ["Energie (kWh)", "18420 Wh", "ambiguous_units"],
  ["Totaal", "6,45", "unknown_columns"],
  ["Energie", "€ 6,45", "unknown_columns"],
  ["kWh tarief;€/kWh", "0,35;0,35", "unknown_columns"],
  ["Meterstand (kWh)", "4018,52", "unknown_columns"],
])("§4.1 the energy of %s with %s is %s", async (headings, cells, kwh, as) => {
  const said = await outcome(sessions(`Laadpaal;Start;Eind;${headings}`, `P;${DAY};${cells}`));
  if (typeof kwh === "string") expect(said).toMatchObject({ refused: kwh });
  else expect(said).toMatchObject({ kwh, times: MARCH, as: as ? { kwh: as } : {} });
});

test("§4.1 of two columns of energy that differ the sender chooses, by heading or place", async () => {
  const file = sessions("Laadpaal;Start;Eind;Energie (kWh);Geleverd (kWh)", `P;${DAY};18,42;20`);
  expect(await outcome(file)).toMatchObject({ columns: ["Energie (kWh)", "Geleverd (kWh)"] });
  for (const columns of ["geleverd (kWh)", "5"]) expect(await outcome(file, { columns })).toMatchObject({ kwh: 20 });
  expect(await outcome(file, { columns: "4" })).toMatchObject({ kwh: 18.42 });
  expect(await outcome(file, { columns: "Laadpas" })).toMatchObject({ refused: "ambiguous_columns" });
});

test.each<[format: [string, string], kwh: [number, number], is: number]>([
  [['"€" #,##0.00', '0.00 "kWh"'], [6.45, 18.42], 18.42],
  [["[$€-413] #,##0.00", "0.00"], [6.45, 18.42], 18.42],
  [["0%", "General"], [0.8, 18.42], 18.42],
  [['"€" 0.00', '#,##0 "Wh"'], [6.45, 18_420], 18.42],
  [["[$kr-414] 0.00", "0.00"], [6.45, 18.42], 18.42],
  [['0.00" GJ"', "0.00"], [0.066, 18.42], 18.42],
  // it shows thousands
  [["0%", '#,##0.00,"kWh"'], [0.8, 18_420], 18.42],
  [["0%", '[>=1000]#,##0.0,"MWh";0.0"kWh"'], [0.8, 312.5], 312.5],
])("§4.1 the formats %j say what columns of a workbook are", async (formats, numbers, is) => {
  const file = await book((made) => {
    const page = made.addWorksheet("S");
    page.addRow(["Klantnummer", "Maand", "Verbruik", "Energie"]);
    page.addRow(["FIELD-1", "2026-03", ...numbers]);
    formats.forEach((format, at) => {
      page.getCell(2, 3 + at).numFmt = format;
    });
  });
  expect(await outcome(file)).toMatchObject({ kwh: is, as: { kwh: "Energie" } });
});

test.each<[what: string, headings: string, rows: string[], said: Said, is: object]>([
  // A4: the order of day and month
  [
    "13 in the second place",
    "Charger;Start;End;kWh",
    ["P;03-12-2026 18:00;03-12-2026 20:00;5", "P;03-13-2026 18:00;03-13-2026 20:00;5"],
    {},
    {
      refused: "ambiguous_dates",
      column: "Start",
      sheet_row: 2,
      value: "03-12-2026 18:00",
      dmy: "3 December 2026",
      mdy: "12 March 2026",
    },
  ],
  [
    "the month first, as the sender says",
    "Charger;Start;End;kWh",
    ["P;03-12-2026 18:00;03-12-2026 20:00;5", "P;03-13-2026 18:00;03-13-2026 20:00;5"],
    { dates: "mdy" },
    { kwh: 10, times: ["03-12T17:00 03-12T19:00", "03-13T17:00 03-13T19:00"] },
  ],
  [
    "the day first, as the sender says",
    "Charger;Start;End;kWh",
    ["P;03-12-2026 18:00;03-12-2026 20:00;5", "P;03-13-2026 18:00;03-13-2026 20:00;5"],
    { dates: "dmy" },
    { times: ["12-03T17:00 12-03T19:00"], not: ["3 bad_started_at"] },
  ],
  [
    "both orders",
    "Laadpaal;Start;Eind;kWh",
    ["P;13-03-2026 18:00;13-03-2026 20:00;5", "P;03-14-2026 18:00;03-14-2026 20:00;5"],
    {},
    { refused: "ambiguous_dates" },
  ],
  [
    "slashes below English headings",
    "Charger;Start;End;kWh",
    ["P;3/10/2026 18:00;3/10/2026 20:10;5"],
    {},
    { refused: "ambiguous_dates" },
  ],
  [
    "slashes, one of which is day first",
    "Charger;Start;End;kWh",
    ["P;3/10/2026 18:00;3/10/2026 20:10;5", "P;13/10/2026 18:00;13/10/2026 20:10;5"],
    {},
    { times: ["10-03T16:00 10-03T18:10", "10-13T16:00 10-13T18:10"] },
  ],
  [
    "slashes below Dutch headings",
    "Laadpaal;Start;Eind;kWh",
    ["P;3/10/2026 18:00;3/10/2026 20:10;5"],
    {},
    { times: ["10-03T16:00 10-03T18:10"] },
  ],
  [
    "slashes below German headings",
    "Ladepunkt;Beginn;Ende;kWh",
    ["P;3/10/2026 18:00;3/10/2026 20:10;5"],
    {},
    { times: ["10-03T16:00 10-03T18:10"] },
  ],
  [
    "slashes of one day and month",
    "Charger;Start;End;kWh",
    ["P;3/3/2026 18:00;3/3/2026 20:10;5"],
    {},
    { times: ["03-03T17:00 03-03T19:10"] },
  ],
  [
    "AM and PM beside slashes",
    "Laadpaal;Start;Eind;kWh",
    ["P;3/10/2026 6:00 PM;3/10/2026 8:10 PM;5"],
    {},
    { refused: "ambiguous_dates" },
  ],
  [
    "AM and PM in another column",
    "Laadpaal;Datum;Starttijd;Eindtijd;kWh",
    ["P;3/10/2026;6:00 PM;8:10 PM;5"],
    {},
    { refused: "ambiguous_dates" },
  ],
  [
    "AM and PM, as the sender says",
    "Charger;Start;End;kWh",
    ["P;3/10/2026 6:00 PM;3/10/2026 8:10 PM;5"],
    { dates: "mdy" },
    { times: MARCH },
  ],
  [
    "dashes beside slashes that may be either",
    "Charger;Start;End;kWh",
    ["P;13-03-2026 18:00;4/3/2026 20:10;5"],
    {},
    { refused: "ambiguous_dates", column: "End", dmy: "4 March 2026", mdy: "3 April 2026" },
  ],
  ["dashes below English headings", "Charger;Start;End;kWh", [`P;${DAY};5`], {}, { times: MARCH }],
  [
    "two digits of the year",
    "Laadpaal;Start;Eind;kWh",
    ["P;10-03-26 18:00;10-03-26 20:10;5"],
    {},
    { not: ["2 two_digit_year"] },
  ],
  [
    "months as their first days, the month first",
    "Customer number,Month,kWh",
    ["FIELD-1,1/1/2026,1", "FIELD-1,4/1/2026,2"],
    {},
    { refused: "ambiguous_dates", sheet_row: 3, value: "4/1/2026", dmy: "4 January 2026", mdy: "1 April 2026" },
  ],
  [
    "months as their first days with dashes, below English headings",
    "Customer number,Month,kWh",
    ["FIELD-1,03-01-2026,2"],
    {},
    { refused: "ambiguous_dates", dmy: "3 January 2026", mdy: "1 March 2026" },
  ],
  [
    "months as midnights of their first days",
    "Klantnummer;Maand;kWh",
    ["FIELD-1;2026-03-01 00:00:00;2", "FIELD-1;01-04-2026 00:00;4", "FIELD-1;03-01-2026;8"],
    {},
    { kwh: 6, not: ["4 bad_period"] },
  ],
  [
    "months as their first days, as the sender says",
    "Customer number,Month,kWh",
    ["FIELD-1,4/1/2026,2", "FIELD-1,1/4/2026,4", "FIELD-1,5/2026,8"],
    { dates: "mdy" },
    { kwh: 10, not: ["3 bad_period"] },
  ],
  // A5: the end
  [
    "an end that nobody understands",
    "Laadpaal;Start;Slot;kWh",
    [`P;${DAY};5`],
    {},
    { refused: "unknown_columns", detail: expect.stringMatching(/the end or a duration\. Not understood: Slot\./) },
  ],
  [
    "a duration without a unit",
    "Laadpaal;Start;Duur;kWh",
    ["P;10-03-2026 18:00;130;5"],
    {},
    { refused: "unknown_columns", detail: expect.stringContaining("Not understood: Duur.") },
  ],
  [
    "a duration of minutes and seconds",
    "Laadpaal;Start;Duur (mm:ss);kWh",
    ["P;10-03-2026 18:00;130:00;5"],
    {},
    { refused: "unknown_columns" },
  ],
  ["minutes", "Laadpaal;Start;Duur (min);kWh", ["P;10-03-2026 18:00;130;5"], {}, { times: MARCH }],
  ["seconds", "Laadpaal;Start;Duur in seconden;kWh", ["P;10-03-2026 18:00;7800;5"], {}, { times: MARCH }],
  ["hours", "Charger;Start;Duration (hours);kWh", ["P;2026-03-10 18:00;2,1666667;5"], {}, { times: MARCH }],
  ["a duration in words", "Laadpaal;Start;Duur;kWh", ["P;10-03-2026 18:00;2 u 10 min;5"], {}, { times: MARCH }],
  ["a duration as ISO writes it", "Laadpaal;Start;Duur;kWh", ["P;10-03-2026 18:00;PT2H10M;5"], {}, { times: MARCH }],
  [
    "durations with days",
    "Laadpaal;Start;Duur;kWh",
    ["P;10-03-2026 18:00;0 days 02:10:00;5", "P;11-03-2026 18:00;1 day, 2:10;5"],
    {},
    { times: [...MARCH, "03-11T17:00 03-12T19:10"] },
  ],
  [
    "a duration that is none, in one row",
    "Laadpaal;Start;Duur;kWh",
    ["P;10-03-2026 18:00;2:10;5", "P;11-03-2026 18:00;lang;5"],
    {},
    { times: MARCH, not: ["3 bad_duration"] },
  ],
  [
    "an empty end",
    "Laadpaal;Start;Eind;kWh",
    ["P;10-03-2026 18:00;;5", "P;11-03-2026 18:00;-;5"],
    {},
    { times: ["03-10T17:00 -", "03-11T17:00 -"] },
  ],
  [
    "an empty column of ends beside a duration",
    "Laadpaal;Start;Eind;Duur;kWh",
    ["P;10-03-2026 18:00;;2:10;5"],
    {},
    { times: MARCH },
  ],
  // A6: day and clock, zones
  [
    "one date for both, over midnight",
    "Laadpaal;Datum;Begintijd;Eindtijd;kWh",
    ["P;10-03-2026;18:00;20:10;5", "P;10-03-2026;23:00;01:10;5"],
    {},
    { times: [...MARCH, "03-10T22:00 03-11T00:10"], as: { started_at: "Datum + Begintijd", ended_at: "Eindtijd" } },
  ],
  [
    "a moment and the clock of its end",
    "Laadpaal;Start;Eindtijd;kWh",
    ["P;10-03-2026 18:00;20:10;5"],
    {},
    { times: MARCH },
  ],
  [
    "days that are written as midnight",
    "Laadpaal;Startdatum;Starttijd;Einddatum;Eindtijd;kWh",
    ["P;2026-03-10 00:00:00;18:00;2026-03-10 00:00:00;20:10;5"],
    {},
    { times: MARCH },
  ],
  [
    "clocks that are written as 1899",
    "Laadpaal;Startdatum;Starttijd;Eindtijd;kWh",
    ["P;10-03-2026;30-12-1899 18:00;30-12-1899 20:10;5"],
    {},
    { times: MARCH },
  ],
  [
    "zones of a column",
    "Laadpunt;Start;Eind;Tijdzone;kWh",
    [
      `P;${DAY};UTC;1`,
      `P;${DAY.replaceAll("03", "04")};Coordinated Universal Time (UTC);1`,
      `P;${DAY.replaceAll("03", "06")};CET;1`,
      `P;${DAY.replaceAll("03", "07")};+02:00;1`,
      `P;${DAY.replaceAll("03", "08")};Europe/London;1`,
      `P;${DAY.replaceAll("03", "09")};N/A;1`,
    ],
    {},
    {
      times: [
        "03-10T18:00 03-10T20:10",
        "04-10T18:00 04-10T20:10",
        "06-10T16:00 06-10T18:10",
        "07-10T16:00 07-10T18:10",
        "08-10T17:00 08-10T19:10",
        "09-10T16:00 09-10T18:10",
      ],
    },
  ],
  [
    "a zone that nobody knows",
    "Laadpunt;Start;Eind;Tijdzone;kWh",
    [`P;${DAY};PST;1`],
    {},
    { refused: "unknown_zone", column: "Tijdzone", sheet_row: 2, value: "PST" },
  ],
  [
    "a zone that no time needs",
    "Laadpunt;Start;Eind;Tijdzone;kWh",
    ["P;2026-03-10T17:00:00Z;2026-03-10T19:10:00Z;lokaal;1"],
    {},
    { times: MARCH },
  ],
  [
    "a zone in the heading",
    "Laadpunt;Start (UTC);End_UTC;kWh",
    ["P;10-03-2026 17:00;10-03-2026 19:10;1"],
    {},
    { times: MARCH },
  ],
  [
    "times of the place beside those that do not say it",
    "Laadpunt;Start_datetime;End_datetime;Timezone;LocalStart_datetime;LocalEnd_datetime;kWh",
    ["P;2026-03-10T17:00:00;2026-03-10T19:10:00;Europe/Amsterdam;2026-03-10T18:00:00;2026-03-10T20:10:00;1"],
    {},
    { times: MARCH },
  ],
  [
    "offsets of hours, other signs",
    "Laadpunt;Start;Eind;kWh",
    ["P;2026-03-10 17:00:00+00;2026/03/10 19:10 UTC;1"],
    {},
    { times: MARCH },
  ],
  // A9, A10, A12: guards, sums, cells that nobody quoted
  [
    "guards of exporters",
    "Laadpaal;Start;Eind;kWh",
    ["=\"P\";\u200e10-03-2026\u00a018:00;'10-03-2026 20:10;'18,42"],
    {},
    { kwh: 18.42, times: MARCH },
  ],
  [
    "sums",
    "Laadpaal;Start;Eind;kWh",
    [
      `P;${DAY};18,42`,
      ";;Totaal;18,42",
      "Totaal kWh;;;18,42",
      "Totaal maart 2026;;;18,42",
      ";;;18,42",
      "Subtotal:;01-03-2026 00:00;31-03-2026 00:00;18,42",
      "P;;Totaal;18,42",
      "P Totaal;;;18,42",
      "TotalEnergies 3;;;18,42",
    ],
    {},
    { kwh: 18.42, not: [...[3, 4, 5, 6, 7, 8, 9].map((row) => `${row} summary`), "10 bad_started_at"] },
  ],
  [
    "a sum in the place of an id",
    "Sessie;Laadpaal;Start;Eind;kWh",
    [`1;P;${DAY};18,42`, "Totaal;P;01-03-2026 00:00;31-03-2026 23:59;18,42"],
    {},
    { kwh: 18.42, not: ["3 summary"] },
  ],
  [
    "sums of a customer",
    "Klantnummer;Maand;kWh",
    ["FIELD-1;2026-03;18,42", "FIELD-1;Totaal;18,42", "FIELD-1;Totaal 2026;18,42"],
    {},
    { kwh: 18.42, not: ["3 summary", "4 summary"] },
  ],
  [
    "the headings again, then a table of money below",
    "Laadpaal;Start;Eind;kWh",
    [
      `P;${DAY};18,42`,
      "Laadpaal;Start;Eind;kWh",
      `P;${DAY.replaceAll("10-", "11-")};1,58`,
      "Laadpaal;Start;Eind;Bedrag",
      `P;${DAY.replaceAll("10-", "12-")};6,45`,
    ],
    {},
    { kwh: 20, not: ["3 summary", "5 other_headings", "6 other_headings"] },
  ],
  [
    "months below others in money",
    "Klantnummer;Maand;kWh",
    ["FIELD-1;2026-03;312,5", "Klantnummer;Maand;Kosten", "FIELD-1;2026-04;45,1"],
    {},
    { kwh: 312.5, not: ["3 other_headings", "4 other_headings"] },
  ],
  [
    "words in the place of times and kWh, and headings that nobody knows",
    "Laadpaal;Start;Eind;kWh",
    [
      "Lader;storing;storing;storing",
      `P;${DAY};18,42`,
      "Naam;Van;Tot;Bedrag",
      `P;${DAY.replaceAll("10-", "12-")};6,45`,
    ],
    {},
    { kwh: 18.42, not: ["4 other_headings", "5 other_headings", "2 bad_started_at"] },
  ],
  ["a charger that is called Total", "Laadpaal;Start;Eind;kWh", [`TotalEnergies 3;${DAY};18,42`], {}, { kwh: 18.42 }],
  [
    "a session without its charger",
    "Laadpaal;Start;Eind;kWh",
    [`P;${DAY};18,42`, `;${DAY};5`],
    {},
    { kwh: 18.42, not: ["3 no_charger"] },
  ],
  // A13: what is not needed
  [
    "words in columns that are not needed",
    "Laadpaal;Start;Eind;kWh;Land;Laadtype;Meterstand begin;Meterstand eind;EVSE nr",
    [`P;${DAY};5;Nederland;Normaal;n.v.t.;-;-`, `P;${DAY.replaceAll("10-", "11-")};6;Mars;AC;abc;12,5;1`],
    {},
    { kwh: 11, not: [], ignored: { 1: ["power_type"], 2: ["meter_start_kwh", "country"] } },
  ],
  [
    "numbers of EVSEs that no charger has",
    "Laadpaal;EVSE nr;Start;Eind;kWh",
    [`P;0;${DAY};1`, `Q;Type 2;${DAY};2`, `R;2;${DAY};4`],
    {},
    { kwh: 7, ignored: { 1: ["evse_no"], 2: ["evse_no"] } },
  ],
  [
    // evcc 7005
    "readings of 0 beside kWh, of a charger without a meter",
    "Laadpaal;Start;Eind;kWh;Meterstand begin;Meterstand eind",
    [`P;${DAY};5;0;0`, `Q;${DAY};0;0;0`, `R;${DAY};;0;0`],
    {},
    { kwh: 5, not: [], ignored: { 1: ["meter_start_kwh", "meter_end_kwh"] } },
  ],
  [
    "a kWh that cannot be read beside both readings",
    "Laadpaal;Start;Eind;kWh;Meterstand begin;Meterstand eind",
    [`P;${DAY};veel;10,5;15,5`, `P;${DAY.replaceAll("10-", "11-")};5,0;15,5;20,5`],
    {},
    { kwh: 10, ignored: { 1: ["kwh"] } },
  ],
  // A14: the usable heading
  [
    "readings before times",
    "Laadpaal;Start (kWh);Starttijd;Eind (kWh);Eindtijd;Verbruik",
    ["P;4000,1;10-03-2026 18:00;4018,52;10-03-2026 20:10;18,42"],
    {},
    { kwh: 18.42, times: MARCH },
  ],
  [
    "a day alone before day and clock",
    "Laadpaal;Startdatum;Starttijd;Eindtijd;kWh",
    ["P;10-03-2026;10-03-2026 18:00;10-03-2026 20:10;5"],
    {},
    { times: MARCH },
  ],
  [
    "an empty heading before a full one",
    "Laadpaal;Station;Start;Begin;Eind;kWh",
    [";P;;10-03-2026 18:00;10-03-2026 20:10;5"],
    {},
    { times: MARCH },
  ],
])("§4.1 a file with %s", async (_what, headings, rows, said, is) => {
  expect(await outcome(sessions(headings, ...rows), said)).toMatchObject(is);
});

test("§4.1 a number in a column of kWh that is money by its format is not counted", async () => {
  const file = await book((made) => {
    const page = made.addWorksheet("S");
    page.addRow(["Klantnummer", "Maand", "kWh"]);
    for (const month of [1, 2, 3]) page.addRow(["FIELD-1", `2026-0${month}`, 6.5]);
    page.getCell("C4").numFmt = '"€" 0.00';
  });
  expect(await outcome(file)).toMatchObject({ kwh: 13, not: ["4 bad_kwh"] });
});

test("§4.1 a duration above a day is read and written in full", async () => {
  const file = await book((made) => {
    const page = made.addWorksheet("S");
    page.addRow(["Laadpaal", "Start", "Duur", "kWh"]);
    page.addRow(["P", "10-03-2026 18:00", 1 + 130 / 1440, 5]);
    page.getCell("C2").numFmt = "[h]:mm";
  });
  expect(await outcome(file)).toMatchObject({ times: ["03-10T17:00 03-11T19:10"] });
  expect((await read(file)).table[0]?.cells[2]?.text).toBe("26:10:00");
});

test("§4.1 abroad stays abroad, whatever its country is called", async () => {
  const { items } = await read(
    sessions(
      "Laadpaal;Start;Eind;kWh;Land",
      ...["België", "Deutschland", "DE", "NLD", "The Netherlands"].map(
        (land, day) => `P;${DAY.replaceAll("10-", `1${day}-`)};5;${land}`,
      ),
    ),
  );
  expect(items.map(({ flags }) => flags)).toEqual([["abroad"], ["abroad"], ["abroad"], undefined, undefined]);
});

test("§4.1 a decimal comma that nobody quoted is no column: the row is refused by its own words, in CSV only", async () => {
  const file = ["Customer number,Month,Sessions,kWh", "FIELD-1,2026-03,1,312,5", "FIELD-2,2026-03,1,98.5,,"].join("\n");
  const { rejected, items } = await read(file);
  expect(rejected).toMatchObject([
    { sheet_row: 2, reason: "too_many_cells", detail: expect.stringContaining("quotes") },
  ]);
  expect(items).toMatchObject([{ total_kwh: 98.5 }]);
  // the cell that is too many is the empty one at the end
  for (const [row, is] of [
    ["FIELD-1,2026-03,1,312.5,", { not: ["2 too_many_cells"] }],
    ["FIELD-1,2026-03,312,5,", { not: ["2 too_many_cells"] }],
    ["FIELD-1,2026-03,312.5,5,", { kwh: 312.5 }],
    ["FIELD-1;2026-03;312;5;", { kwh: 312 }],
  ] as const) {
    const headings = "Customer number,Month,kWh,Remark";
    expect(await outcome(`${row.includes(";") ? headings.replaceAll(",", ";") : headings}\n${row}`)).toMatchObject(is);
  }
  const beside = await book((made) => {
    const page = made.addWorksheet("S");
    page.addRow(["Klantnummer", "Maand", "kWh"]);
    page.addRow(["FIELD-1", "2026-03", 312.5, null, "een opmerking"]);
  });
  expect(await outcome(beside)).toMatchObject({ kwh: 312.5, not: [] });
});

test("§4.1 an EAN that Excel rounded is never used", async () => {
  const { rejected, items, ignored } = await read(
    "EAN;Klantnummer;Maand;kWh\n871687110000000000;;2026-03;1\n8,71687E+17;;2026-03;2\n871687110000000018;;2026-03;4\n8,71687E+17;FIELD-1;2026-03;8\nn.v.t.;FIELD-2;2026-03;16\n\u001f871687110000000018;;2026-04;32",
  );
  expect(rejected.map(({ sheet_row, reason, detail }) => [sheet_row, reason, detail?.slice(0, 13)])).toEqual([
    [2, "rounded_ean", "Excel rounded"],
    [3, "rounded_ean", "Excel rounded"],
  ]);
  expect(items.map(({ ean, total_kwh }) => [ean, total_kwh])).toEqual([
    ["871687110000000018", 4],
    [null, 8],
    [null, 16],
    ["871687110000000018", 32],
  ]);
  expect(ignored).toEqual({ 4: ["ean"] });
});

describe("§4.1 ids of sessions in a file", () => {
  const ids = async (headings: string, ...rows: string[]) => {
    const { read: was, items, rejected } = await read(sessions(headings, ...rows));
    return [was.ids_ignored, items.map(({ external_id }) => external_id ?? null), rejected.map(({ reason }) => reason)];
  };

  test("words for nothing are no ids", async () => {
    const rows = ["N/A", "-", "null", "none", "unknown", "0", "n.v.t.", "S-1"].map(
      (id, day) => `${id};P;${DAY.replaceAll("10-", `1${day}-`)};5`,
    );
    expect(await ids("Sessie;Laadpaal;Start;Eind;kWh", ...rows)).toEqual([false, [...Array(7).fill(null), "S-1"], []]);
  });

  test("numbers that a spreadsheet rounded are no ids, and no names", async () => {
    expect(
      await ids("Sessie;Laadpaal;Start;Eind;kWh", `1,2E+10;P;${DAY};5`, `7;4,01E+15;${DAY};5`, `1E+17;P;11-${DAY};1`),
    ).toEqual([false, [null], ["bad_external_ref", "bad_started_at"]]);
  });

  test("of one id at two EVSEs or times no id is used; rows that agree in EVSE and start are doubled", async () => {
    expect(await ids("Sessie;Laadpaal;EVSE nr;Start;Eind;kWh", `501;P;1;${DAY};5`, `501;P;2;${DAY};6`)).toEqual([
      true,
      [null, null],
      [],
    ]);
    expect(await ids("Sessie;Laadpaal;Start;Eind;kWh", `1;P;${DAY};5`, `1;P;${DAY.replaceAll("03", "04")};6`)).toEqual([
      true,
      [null, null],
      [],
    ]);
    expect(
      await ids("Sessie;Laadpaal;Start;Eind;kWh", `1;P;${DAY};5`, `1;P;${DAY};5`, `2;P;11-03-2026 18:00;;1`),
    ).toEqual([false, ["2"], ["duplicate_in_file", "duplicate_in_file"]]);
  });

  test.each<[words: string[], numbers: (number | null)[]]>([
    [
      ["B", "A"],
      [2, 1],
    ],
    [["B"], [2]],
    [["Connector 2"], [2]],
    [
      ["2.0", "1.0"],
      [2, 1],
    ],
    [["rechts"], [2]],
    [["Type 2"], [null]],
    [["NL*TNM*E177*2"], [2]],
    [["NL*TNM*E177001"], [null]],
  ])("EVSEs that are called %j are %j in every file, whatever the order of its rows", async (words, numbers) => {
    for (const heading of ["EVSE", "Connector"]) {
      const rows = words.map((word, day) => `P;${word};1${day}-03-2026 18:00;1${day}-03-2026 20:10;1`);
      const { items } = await read(sessions(`Laadpaal;${heading};Start;Eind;kWh`, ...rows));
      expect(items.map(({ evse_no }) => evse_no ?? null)).toEqual(numbers);
    }
  });

  test("other words have numbers of their own, the same in every file, and assumed", async () => {
    const numbers = async (...words: string[]) => {
      const rows = words.map((word, day) => `P;${word};1${day}-03-2026 18:00;1${day}-03-2026 20:10;1`);
      const { items } = await read(sessions("Laadpaal;EVSE;Start;Eind;kWh", ...rows));
      expect(items.map(({ evse_assumed }) => evse_assumed)).toEqual(
        words.map((word) => (word === "1" ? undefined : true)),
      );
      return items.map(({ evse_no }) => evse_no);
    };
    const [front, back] = await numbers("voor", "achter");
    expect(front).not.toBe(back);
    expect(await numbers("achter", "oprit", "voor")).toEqual([back, expect.any(Number), front]);
    expect(await numbers("1", "achter")).toEqual([1, back]);
    // words with one number between them say none
    for (const words of [
      ["NL*TNM*E177*1", "NL*TNM*E178*1"],
      ["linksvoor", "linksachter"],
      ["binnen", "garage"],
    ])
      expect(await numbers(...words.toReversed())).toEqual((await numbers(...words)).reverse());
    expect(new Set(await numbers(...Array.from({ length: 9 }, (_, n) => `plek ${"abcdefghi"[n]}`))).size).toBe(9);
  });
});

describe("§4.1 the sheet and row of the headings", () => {
  const SESSIONS = ["Laadpaal", "Start", "Eind", "kWh"];
  const ROW = ["PAAL-17", "10-03-2026 18:00", "10-03-2026 20:10", 18.42];
  const where = async (write: (made: Excel.Workbook) => void): Promise<ReadUpload["read"]> =>
    (await read(await book(write))).read;

  test("a workbook with six sheets of which the fourth is right; hidden ones are none", async () => {
    const was = await where((made) => {
      made.addWorksheet("Leeg");
      made.addWorksheet("Verborgen", { state: "hidden" }).addRows([SESSIONS, ["nee", "", "", 1]]);
      made.addWorksheet("Uitleg").addRow(["Dit bestand heeft sessies"]);
      made.addWorksheet("Alleen koppen").addRow(SESSIONS);
      const page = made.addWorksheet("Sessies & zo");
      page.addRow(["Rapport"]);
      page.addRow([]);
      page.addRows([SESSIONS, ROW]);
      made.addWorksheet("Later").addRows([SESSIONS, ["nee", "", "", 1]]);
    });
    expect(was).toMatchObject({ sheet: "Sessies & zo", header_row: 3, sums: { kwh: 18.42 } });
  });

  test("sessions come before months, and months before nothing", async () => {
    const months = (made: Excel.Workbook) =>
      made.addWorksheet("Maanden").addRows([
        ["Klantnummer", "Maand", "kWh"],
        ["FIELD-1", "2026-03", 26.92],
      ]);
    const both = await where((made) => {
      months(made);
      made.addWorksheet("Sessies").addRows([SESSIONS, ROW]);
    });
    expect(both).toMatchObject({ sheet: "Sessies" });
    const alone = await where((made) => {
      made.addWorksheet("Grafiek").addRow(["x"]);
      months(made);
      made.addWorksheet("Later").addRow(["y"]);
    });
    expect(alone).toMatchObject({
      sheet: "Maanden",
      sums: { kwh: 26.92, first_day: "2026-03-01", last_day: "2026-03-31" },
    });
  });

  test("a file that fits both kinds is of the kind with more columns", async () => {
    const file = (extra: string) =>
      sessions(`Klantnummer;Maand;kWh;Laadpaal;Start;Eind${extra}`, `K;2026-03;5;P;${DAY};3`);
    expect((await read(file(""))).kind).toBe("sessions");
    expect((await read(file(""), { kind: "months" })).kind).toBe("months");
    expect(await outcome(file(";Sessies"))).toMatchObject({ refused: "unknown_columns" });
  });

  test("none of the first 20 rows: it says which came nearest, and what it lacks", async () => {
    const rows = [...Array.from({ length: 20 }, (_, n) => `regel ${n};x`), "Laadpaal;Start;Eind;kWh", `P;${DAY};5`];
    expect(await outcome(rows.join("\n"))).toMatchObject({ refused: "unknown_columns" });
    expect(await outcome(rows.slice(1).join("\n"))).toMatchObject({ kwh: 5 });
    expect(await outcome(sessions("Rapport;;", "Laadpaal;Start;kWh", "P;10-03-2026 18:00;5"))).toMatchObject({
      headers: ["Laadpaal", "Start", "kWh"],
      sheet_row: 2,
      detail: expect.stringMatching(/^Row 2 comes nearest .+ the end or a duration\./),
    });
  });
});

/** Files of 5,000 rows, each with another fault. */
const FAULTY: [what: string, headings: string, row: (n: number) => string][] = [
  ["month first", "Charger;Start;End;kWh", () => "P;3/13/2026 18:00;3/13/2026 20:10;5"],
  ["two columns of energy", "Laadpaal;Start;Eind;Energie (kWh);Volume (kWh)", (n) => `P;${DAY};5;${n}`],
  ["clocks without a day", "Laadpaal;Starttijd;Eindtijd;kWh", () => "P;18:00;20:10;5"],
  ["zones", "Laadpaal;Start;Eind;Tijdzone;kWh", (n) => `P;${DAY};Zone/Nergens${n};5`],
  ["ids that come again", "Sessie;Laadpaal;Start;Eind;kWh", (n) => `${n % 7};P${n};${DAY};5`],
  ["sums", "Laadpaal;Start;Eind;kWh", () => "Totaal;;;5"],
  ["dashes and slashes", "Charger;Start;End;kWh", () => "P;13-03-2026 18:00;13/3/2026 20:10;5"],
  ["halves of numbers", "Charger,Start,End,kWh,Note", () => "P,2026-03-10 18:00,2026-03-10 20:10,18,42,"],
  ["other words for EVSEs", "Laadpaal;EVSE;Start;Eind;kWh", (n) => `P${n % 60};plek ${n.toString(36)}x;${DAY};5`],
  ["too many cells", "Charger,Start,End,kWh", () => "P,2026-03-10 18:00,2026-03-10 20:10,18,42"],
  [
    "countries and types in words",
    "Laadpaal;Start;Eind;kWh;Land;Laadtype",
    (n) => `P${n};${DAY};5;Land van ${n};Soort ${n}`,
  ],
  ["EVSEs in words", "Laadpaal;EVSE;Start;Eind;kWh", (n) => `P;Stekker ${n};${DAY};5`],
  ["two-digit years", "Laadpaal;Start;Eind;kWh", () => "P;10-03-26 18:00;10-03-26 20:10;5"],
  [
    "durations in words",
    "Laadpaal;Start;Duur;kWh",
    (n) => `P${n};10-03-2026 18:00;${n} minuten en ${n} seconden lang;5`,
  ],
  ["rounded EANs", "EAN;Maand;kWh", () => "8,71687E+17;2026-03;5"],
];
test("§4.1 attack: 5,000 rows of each fault are answered in bounded time", async () => {
  for (const [what, headings, row] of FAULTY) {
    const file = sessions(headings, ...Array.from({ length: 4_999 }, (_, n) => row(n)), row(5_000));
    const before = process.cpuUsage();
    await outcome(file);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6, `${what}: seconds of the processor`).toBeLessThan(1);
  }
});

test("§4.1 a file that is right but for its last row loses that row alone", async () => {
  const rows = Array.from({ length: 100 }, (_, n) => `P${n};${DAY};5,5`);
  for (const [last, why] of [
    ["P;gisteren;vandaag;5,5", "bad_started_at"],
    [`P;${DAY};€ 5`, "bad_kwh"],
    [`P;${DAY};12%`, "bad_kwh"],
    ["P;10-03-26 18:00;;5,5", "two_digit_year"],
    ["Totaal;;;550", "summary"],
    [`P;${DAY};5,5;6`, "too_many_cells"],
  ])
    expect(await outcome(sessions("Laadpaal;Start;Eind;Energie (kWh)", ...rows, last as string))).toMatchObject({
      kwh: 550,
      not: [`102 ${why}`],
    });
});

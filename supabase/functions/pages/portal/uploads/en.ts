import type { UploadWords } from "./nl.ts";

/** The sentences of uploading months and charging sessions, in English. */
export const en: UploadWords = {
  title: "Deliver charging data",
  what: "Deliver months or charging sessions with a file from your spreadsheet. You first see what would happen to each row. Nothing is stored until you confirm it.",
  no_client:
    "Charging data belongs to a connection for charge-point operators (CPO), and you have none yet. Ask us to make one.",
  file: "File from Excel, or CSV",
  hint: "An Excel workbook (.xlsx) or CSV. At most 2 MB and 5,000 rows. We read the first visible sheet with sessions, or else with months.",
  client: "For which connection?",
  choose: "Choose",
  more: "If we read the file wrong",
  kind: "What does the file have?",
  by_header: "The columns say that",
  kinds: { months: "Months", sessions: "Charging sessions" },
  decimal: "What is the decimal sign?",
  by_column: "The numbers say that",
  decimals: { ",": "A comma: 7,5", ".": "A point: 7.5" },
  dates: "What comes first in a date: the day or the month?",
  by_dates: "The dates say that",
  orders: { dmy: "The day: 31-3-2026", mdy: "The month: 3/31/2026" },
  kwh_column: "Which column has the kWh?",
  kwh_column_hint: "Needed only if we ask for it. Fill in the name of the column, or its number from the left.",
  kept: "We keep the file for an hour, encrypted. Only you can see it. After that we keep the rows as evidence.",
  submit: "See what would happen",
  examples: [
    { name: "months", label: "Example with months" },
    { name: "sessions", label: "Example with sessions" },
  ],
  columns: "Which columns does the file need?",
  columns_what: {
    months: "Months: customer number, EAN or connection_id; month; and kWh. The number of sessions may be there too.",
    sessions:
      "Sessions: a name of the charger (charger, serial number or EVSE id); start; end or duration; and kWh or two meter readings. Session (your own number), meter readings and time zone may be there too. Day and time may stand in two columns.",
  },
  errors: {
    client: "Choose for which connection",
    too_many_rows: "This file has more than 5,000 rows. Divide it over several files",
    no_rows: "There are no rows below the columns",
    unknown_columns: (lacks, unread, row) =>
      `There is no column for ${lacks}. Row ${row} looks most like names of columns.${unread ? ` We do not know these columns: ${unread}.` : ""} The names of the columns must be in one of the first 20 rows. See below which columns are needed`,
    ambiguous_columns: (columns) =>
      `Each of these columns may be the kWh, and they differ: ${columns}. Fill in below which column has the kWh, and choose the file again`,
    ambiguous_units: (column, units) =>
      `The name of column ${column} says another unit than its cells: ${units}. Mend the file and choose it again`,
    ambiguous_dates: (column, row, value, dmy, mdy) =>
      `Column ${column}, row ${row}, says ${value}. ${dmy && mdy ? `Is that ${dmy} or ${mdy}?` : `That can only be ${dmy ?? mdy}, but other dates may be read otherwise.`} Choose below what comes first, and choose the file again`,
    unknown_zone: (column, row, value) =>
      `Column ${column}, row ${row}, says ${value}. We do not know that time zone. Write for example Europe/Amsterdam, UTC or +02:00, and choose the file again`,
    both_kinds:
      "The columns are those of months and also those of sessions. Choose below what the file has, and choose the file again",
    ambiguous_decimals: (column, row, value) =>
      `Column ${column}, row ${row}, says ${value}. That may be thousands or three decimals. Choose the decimal sign, and choose the file again`,
  },
  needs: {
    customer: "the customer",
    month: "the month",
    kwh: "the kWh",
    charger: "the charger",
    start: "the start",
    end: "the end or the duration",
    kwh_or_readings: "kWh or two meter readings",
  },
  look: {
    title: "This would happen",
    sum: (good, all) => `Of ${all === "1" ? "1 row" : `${all} rows`}, ${good} will be stored. Nothing is stored yet.`,
    confirm: (rows) => `Deliver ${rows} rows`,
    confirm_one: "Deliver this row",
    none: "No row can be stored. Mend the file and choose it again.",
    other: "Choose another file",
  },
  done: {
    title: "Delivered",
    title_none: "Nothing stored",
    sum: (good, all) => `Of ${all === "1" ? "1 row" : `${all} rows`}, ${good} ${good === "1" ? "was" : "were"} stored.`,
    known: "This file was stored before. Nothing changed.",
    more: "Deliver another file",
  },
  gone: {
    title: "We do not keep this file any more",
    text: "We keep a file for an hour, and only for the person who chose it. Choose the file again: what was stored already is not counted twice.",
  },
  waiting: (rows) =>
    rows === "1" ? "1 row waits until we know its charger." : `${rows} rows wait until we know their charger.`,
  ignored: (headers) => `We skip these columns: ${headers}.`,
  read: {
    title: "What we read",
    where: (sheet, row) =>
      sheet === null
        ? `The names of the columns are in row ${row}.`
        : `Sheet ${sheet}, with the names of the columns in row ${row}.`,
    sum: (kwh, sessions, first, last) =>
      `The rows that we could read are ${kwh} kWh in ${sessions === "1" ? "1 session" : `${sessions} sessions`}, from ${first} to ${last}.`,
    sum_months: (kwh, first, last) => `The rows that we could read are ${kwh} kWh, from ${first} to ${last}.`,
    first: (date) => `The first row is of ${date}.`,
    column: "What",
    heading: "Column of your file",
    month: "Month",
    kwh: "kWh",
    span: (sessions, first, last) =>
      `The rows that we could read are ${sessions === null ? "" : `${sessions === "1" ? "1 session" : `${sessions} sessions`} `}from ${first} to ${last}.`,
    fates: {
      look: { stored: "kWh to be stored", waiting: "kWh waiting for the charger", left: "kWh not to be stored" },
      done: { stored: "kWh stored", waiting: "kWh waiting for the charger", left: "kWh not stored" },
    },
    total: "Together",
    ids_ignored:
      "The session numbers in this file belong to more than one charge. We do not use them: we know a session by its EVSE and start.",
  },
  over_quota:
    "You had sent a lot that day, so we did not keep the outcome of each row. Choose the same file once more to see the rows.",
  left_out: (fields) => `Left out, because it cannot be read: ${fields}.`,
  good: "Good",
  check: "Look here",
  bad: "Not stored",
  rows: "Every row and what happens to it",
  outcome: "Row and outcome",
  mend: "Download the rows to mend (CSV)",
  mend_why: "What is wrong",
  status: {
    ingested: "Month stored",
    outside_mandate: "Stored, but does not count: the mandate does not cover this month",
    locked: "Not changed: this month is booked already",
    created: "Session stored",
    updated: "Session corrected",
    unchanged: "Was known already",
    superseded: "A later row has the same session",
    parked: "Kept until we know the charger",
    invalid: "Not stored",
    summary: "A total or headings: we do not count it",
  },
  unreadable: (column) => `${column} cannot be read`,
  reason: {
    unknown_charger:
      "We know no charger by this name. Is the name in your file right? Then mail us the name, and which customer has this charger. After that the session counts by itself.",
    charger_removed: "The charger with this name was removed.",
    ambiguous_charger: "The names belong to two chargers.",
    no_charger: "The charger is missing.",
    no_account: "The customer is missing.",
    account_not_found: "We do not know this customer.",
    ambiguous_connection: "The customer has several connections. Fill in the EAN too.",
    future_period: "This month has not begun yet.",
    duplicate_in_file: "Another row says the same. Leave one of them.",
    no_session_id: "The session number is missing.",
    session_id_reused: "This session number belongs to another charge.",
    too_many_cells:
      "This row has more cells than there are columns. Put quotes around a number with a comma, or use semicolons.",
    other_headings: "This row is in a table below, which has other headings. Send that table in a file of its own.",
    two_digit_year: "The year has two digits. Write it with four.",
    rounded_ean: "Excel rounded the EAN. Format the column as text, fill in all 18 digits, and choose the file again.",
    other: "This row cannot be read.",
  },
  beyond_power: "This is more than the chargers can give in a month. Check the kWh.",
  flagged: (why) => `Does not count: ${why ?? "this cannot be right"}.`,
  flags: {
    negative: "the kWh are negative",
    ends_before_start: "the end is before the start",
    wrong_clock: "the time is in the future, or long before we knew the charger",
    too_long: "the session lasts longer than 31 days",
    beyond_power: "the charger cannot give so many kWh in that time",
    beyond_capacity: "more cars charged at once than the charger can take",
    other_registration: "the charger was registered elsewhere at that time",
    no_end: "the end is missing",
    meter_disagrees: "the kWh and the meter readings do not agree",
    abroad: "the charger is not in the Netherlands",
    duplicate: "we know this charge already",
    overlapping: "another car was charging at this EVSE at that time",
    withdrawn: "this session was taken back",
  },
  not_counted: {
    mid: "Does not count yet: the charger's meter is not confirmed as MID.",
    typed_total: "Does not count: you delivered a total of this month.",
    outside_mandate: "Does not count: the mandate does not cover this month.",
    running: "Does not count yet: the session has no end.",
    locked: "Does not count: the month was booked already.",
  },
};

// From kWh to ERE to euro: factors, bookings, sales, figures, the ledger.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Argument, Option } from "commander";
import {
  type Command,
  changed,
  count,
  type Input,
  limit,
  list,
  type Machine,
  type Row,
  titled,
  whole,
} from "./command.ts";
import { readCreditFile } from "./credit_file.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { placeOf, writePrivate } from "./private_file.ts";
import { showQuarter } from "./quarter.ts";
import { euro, fields, table } from "./text.ts";

const quarter = () => new Argument("<quarter>", "a quarter, such as 2026-Q2");
const year = () => new Argument("<delivery_year>", "the year of charging").argParser(whole(2100));
const booking = () =>
  new Argument("<booking>", "id of the booking; or its run or quarter, if only one booking matches");
const ofPartner = () => new Option("--partner <partner>", "only of this partner (id or slug)");
const reason = () =>
  new Option("--reason <text>", "the reason, for the audit log; no personal data").makeOptionMandatory();
const sale = () => new Argument("<sale>", "reference or id of the sale");

const BOOKING_COLUMNS =
  "booking_id quarter number partner_slug status rows kwh waiting registered rejected accepted_kwh ere granted_ere sold_ere gross_eur";
const BOOKING_SUMS = "rows kwh waiting registered rejected accepted_kwh ere granted_ere sold_ere gross_eur";
/** What is typed after a step of a quarter: `quarter` names the next one of each partner. */
const nextOf = (of: Row | undefined) => `quarter ${of?.quarter}`;
const SALE_COLUMNS =
  "reference quarter partner_slug sold_on buyer ere price gross_eur rows customers_eur partners_eur service_eur reversed_ere";
const FIGURES_COLUMNS = "partner_slug delivery_year ere_per_kwh price_per_ere_eur published_at";
const ALLOCATION_COLUMNS = "row_id ean_code period ere gross_eur fee_pct fee_eur partner_share_eur net_eur reversed";

function preview({ quarter, flagged, flagged_months, taken, left_out, total }: OpsAnswer): string {
  const sum = total as { months: number; kwh: number; ere: number };
  return [
    titled(
      `Implausible, but included: ${count(flagged_months, "month")}`,
      flagged,
      "partner_slug ean_code period kwh session_count flags",
    ),
    titled("Taken in", taken, "partner_slug months kwh ere", "months kwh ere"),
    titled("Left out", left_out, "reason months kwh", "months kwh"),
    `${quarter}: ${count(sum.months, "month")}, ${sum.kwh} kWh, ${sum.ere} ERE would be booked.`,
    ...(sum.months > 0 ? [`Next: booking open ${quarter}`] : []),
  ].join("\n\n");
}

function opened(answer: OpsAnswer): string {
  if ((answer.bookings as Row[]).length === 0)
    return "Nothing to open: no month of this quarter waits to be booked. booking preview shows the reasons.";
  const said = answer.changed
    ? "Opened. The months are taken in when it is submitted."
    : "Nothing to open: these are already open.";
  const [{ quarter } = {}] = answer.bookings as Row[];
  return `${said}\n${list("bookings", `run_id ${BOOKING_COLUMNS}`, { next: `booking submit ${quarter}` })(answer)}`;
}

/** The open bookings among those named; if none is open, the submitted ones, which need nothing. */
function toSubmit({ bookings }: OpsAnswer): Row[] {
  const rows = bookings as Row[];
  const being = (wanted: string) => rows.filter(({ status }) => status === wanted);
  return [being("open"), being("submitted")].find(({ length }) => length > 0) ?? rows;
}

function submitted({ results }: OpsAnswer): string {
  const all = results as { changed: boolean; booking: Row }[];
  const empty = all.filter(({ booking }) => booking.status === "open");
  const isSame = all.every(({ changed }) => !changed);
  return [
    isSame ? "Nothing to change: no month was added." : "Submitted. Its months are locked. Export it for the register.",
    list("bookings", BOOKING_COLUMNS, { sums: BOOKING_SUMS, next: nextOf(all[0]?.booking) })({
      bookings: all.map(({ booking }) => booking),
    }),
    ...empty.map(
      ({ booking: { partner_slug, quarter } }) =>
        `${partner_slug} has no month that can be booked, so its booking stays open; booking preview ${quarter} ` +
        `--partner ${partner_slug} says why.`,
    ),
  ].join("\n\n");
}

function checked({ ok, checks, wrong }: OpsAnswer): string {
  // what agrees was found as it was expected
  if (ok) return `Everything agrees.\n\n${table(checks as Row[], ["check", "found"])}`;
  const found = table(checks as Row[], ["check", "expected", "found", "wrong"]);
  return `${found}\n\n${titled("Differences", wrong, "partner_slug check expected found wrong first")}`;
}

/** `--all` of an export: what the register has not answered yet. What it answered must not be sent to it again. */
const unansweredOf = ({ bookings }: OpsAnswer): Row[] =>
  (bookings as Row[]).filter(({ status, waiting }) => status === "submitted" && Number(waiting) > 0);

/** @throws {OperatorError} if options are missing, or do not go together */
function checkExport(input: Input): Input {
  const { all, to, out } = input;
  if (!all && out === undefined)
    throw new OperatorError("Give --out, the file to write; or --all with --to, a folder.");
  if (all && (to === undefined || out !== undefined))
    throw new OperatorError("With --all give --to, the folder for the files, and no --out.");
  return input;
}
function checkSale(input: Input): Input {
  const { all, ere, partner } = input;
  if (!all && ere === undefined)
    throw new OperatorError("Give --ere; or --all to sell all that is unsold of a quarter.");
  if (all && (ere !== undefined || partner !== undefined))
    throw new OperatorError("--all sells all that is unsold of every partner, so it takes no --ere and no --partner.");
  return input;
}

/** Writes the file of one booking, or of each that waits for the register into a folder. Only the operator can read them. */
async function exportBookings({ all, to, out: _, ...input }: Input, { call, say }: Machine): Promise<OpsAnswer> {
  if (!all) return call("booking_export", input);
  const bookings = unansweredOf(await call("booking_list", input));
  if (bookings.length === 0)
    throw new OperatorError(
      `No booking of ${input.booking} waits for the register. Name one, with --out, to write it again.`,
    );
  const folder = placeOf(to);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const files: Row[] = [];
  for (const { booking_id, partner_slug, quarter, number } of bookings) {
    const { csv, ...rest } = await call("booking_export", { booking: booking_id });
    const file = join(folder, `${partner_slug}-${quarter}${Number(number) > 1 ? `-${number}` : ""}.csv`);
    writePrivate(file, csv);
    files.push({ partner_slug, file, ...rest });
    say(`${partner_slug}: written, ${files.length} of ${bookings.length}\n`);
  }
  return { files };
}

/** Credits one booking, or without its name each booking that the file has rows of: all of them, or nothing. */
async function creditBookings(input: Input, { call, connect, say }: Machine): Promise<OpsAnswer> {
  if (input.booking !== undefined) return call("booking_credit", input);
  if (!input.rows || input.granted !== undefined)
    throw new OperatorError("Name the booking; or give a --file of several bookings, without --granted.");
  const { bookings } = (await call("booking_credit_preview", { rows: input.rows })) as {
    bookings: { booking_id: string; partner_slug: string; row_ids: string[] }[];
  };
  const bookingOf = new Map(bookings.flatMap(({ booking_id, row_ids }) => row_ids.map((row) => [row, booking_id])));
  const rowsOf = Map.groupBy(input.rows as { row_id: string }[], ({ row_id }) => bookingOf.get(row_id));
  const results: OpsAnswer[] = [];
  await connect(async (session) => {
    await session.query("begin");
    try {
      for (const { booking_id, partner_slug } of bookings) {
        results.push(await session.call("booking_credit", { booking: booking_id, rows: rowsOf.get(booking_id) }));
        say(`${partner_slug}: read, ${results.length} of ${bookings.length}\n`);
      }
      await session.query("commit");
    } catch (error) {
      await session.query("rollback");
      throw error;
    }
  });
  return { changed: results.some(({ changed }) => changed), bookings: results.map(({ booking }) => booking) };
}

type PreviewedSale = Row & { booking_id: string; ere: number; unsold_ere: number };

/** Sells ERE of one booking, or all that is unsold of each booking of a quarter at one price. */
async function recordSales({ all, ...input }: Input, { call, say }: Machine): Promise<OpsAnswer> {
  if (!all) return call("sale_record", input);
  const { sales } = (await call("sale_preview", input)) as { sales: PreviewedSale[] };
  const results: OpsAnswer[] = [];
  for (const { booking_id, partner_slug, reference, ere } of sales) {
    results.push(await call("sale_record", { ...input, booking: booking_id, reference, ere: String(ere) }));
    say(`${partner_slug}: sold, ${results.length} of ${sales.length}\n`);
  }
  const recorded = results.map(({ sale }) => sale as Row);
  // in cents, so that the sum is exact
  const cents = recorded.reduce(
    (sum, { gross_eur, reversed_eur }) =>
      sum + Math.round(Number(gross_eur) * 100) - Math.round(Number(reversed_eur) * 100),
    0,
  );
  return {
    changed: results.some(({ changed }) => changed),
    sales: recorded,
    gross_eur: cents / 100,
    unsold: sales.filter(({ unsold_ere }) => unsold_ere > 0),
  };
}

/** Bookings with ERE that this reference cannot sell, because they have a sale of that reference. */
function unsoldText(sales: Row[]): string[] {
  const unsold = sales.filter(({ unsold_ere }) => Number(unsold_ere) > 0);
  if (unsold.length === 0) return [];
  return [
    titled(
      "Not sold: the reference is taken by a sale of the booking. Sell these ERE under another reference",
      unsold,
      "partner_slug number reference unsold_ere",
    ),
  ];
}

const ALL_SALES = "partner_slug reference ere price gross_eur reversed_eur customers_eur partners_eur service_eur";

export const ERE_COMMANDS: Command[] = [
  {
    name: "quarter",
    summary: "Show where each partner stands in a quarter, and the next command to type",
    details:
      "next is the first step that waits: wait (the quarter runs), open, submit, export, credit, sell, publish, pay, " +
      "approve, send, settle or done. preview: months were delivered, and none can be booked. deliver: there are no " +
      "months. due_eur is for customers and partners, without VAT. figures says whether the year's are published.",
    example: "quarter 2026-Q3",
    takes: [quarter(), ofPartner()],
    ops: "quarter_show",
    view: showQuarter,
  },
  {
    name: "factor list",
    summary: "List the ERE per kWh of each year",
    example: "factor list",
    ops: "factor_list",
    view: list("factors", "delivery_year renewable_share ere_per_kwh bookable_until"),
  },
  {
    name: "factor set",
    summary: "Set the ERE per kWh of a year, and until when its months can be booked",
    details:
      "ERE per kWh is share x 183 g/MJ x 3.6 MJ/kWh / 1000. A share that was used in a booking cannot be changed.",
    example: "factor set 2027 --share 0.52 --bookable-until 2028-03-31",
    takes: [
      year(),
      new Option("--share <number>", "the renewable share of the electricity, 0 to 1, at most four decimals"),
      new Option("--bookable-until <date>", "the last day on which the register takes months of that year"),
    ],
    ops: "factor_set",
    view: changed("factor", "Factor set."),
  },
  {
    name: "booking preview",
    summary: "Show which months a booking of a quarter would include now, and why it leaves out the rest",
    details:
      "Implausible months come first, but can be booked. The quarter may still be running. --csv writes every month " +
      "into a file, with its reason and flags.",
    example: "booking preview 2026-Q2 --partner laadpunt-zuid",
    takes: [quarter(), ofPartner(), new Option("--csv <file>", "write every month into this file")],
    ops: "booking_preview",
    writes: { field: "csv", option: "csv" },
    view: preview,
  },
  {
    name: "booking open",
    summary: "Open a booking of a quarter for each partner that has months for it",
    details:
      "Bookings opened together share a run id. A booking that is already open is shown. If it was submitted, a " +
      "supplementary booking is opened for later months.",
    example: "booking open 2026-Q2",
    takes: [quarter(), ofPartner()],
    ops: "booking_open",
    view: opened,
  },
  {
    name: "booking submit",
    summary: "Add every month that may be booked to a booking, and lock it",
    details:
      "A run or a quarter means all its open bookings, each in its own transaction. If interrupted, run the command " +
      "again. A booking without months stays open; booking preview says why.",
    example: "booking submit 2026-Q2",
    takes: [new Argument("<booking>", "id of a booking, of a run, or a quarter"), ofPartner()],
    ops: "booking_submit",
    each: {
      list: "booking_list",
      pick: toSubmit,
      input: ({ booking_id }) => ({ booking: booking_id }),
      label: ({ partner_slug, quarter, number }) => `${partner_slug} ${quarter} number ${number}`,
    },
    view: submitted,
  },
  {
    name: "booking withdraw",
    summary: "Withdraw a booking before any row was credited or rejected",
    details:
      "Its months are open again: they can be delivered and booked again. If it was exported, give a --reason: the " +
      "register may have its file and has to drop it too.",
    example: "booking withdraw 2026-Q2 --partner laadpunt-zuid",
    takes: [booking(), ofPartner(), new Option("--reason <text>", "the reason, for the audit log; no personal data")],
    ends: ({ booking }) => `The booking ${booking} will be withdrawn, and its months will be open again.`,
    ops: "booking_withdraw",
    view: changed("booking", "Booking withdrawn."),
  },
  {
    name: "booking list",
    summary: "List bookings and their results, newest quarter first",
    example: "booking list --partner laadpunt-zuid",
    takes: [
      new Argument("[booking]", "only this booking, run or quarter"),
      ofPartner(),
      new Option("--status <status>", "only these").choices(["open", "submitted", "withdrawn"]),
      limit(50),
    ],
    ops: "booking_list",
    view: list("bookings", BOOKING_COLUMNS),
  },
  {
    name: "booking export",
    summary: "Write the file for the register",
    details:
      "A CSV in UTF-8, described in docs/ere.md. We store its SHA-256; every export has the same bytes. Only you " +
      "can read the file.",
    example: "booking export 2026-Q2 --partner laadpunt-zuid --out 2026-Q2.csv",
    takes: [
      booking(),
      ofPartner(),
      new Option("--out <file>", "the file to write; a bare name is one in ./out, which git ignores"),
      new Option("--all", "every booking of the quarter that waits for the register"),
      new Option("--to <folder>", "with --all: the folder for the files, <partner>-<quarter>.csv"),
    ],
    looks: {
      ops: ({ all }) => (all ? "booking_list" : undefined),
      view: (answer) =>
        list("bookings", "partner_slug number rows kwh waiting export_sha256", { sums: "rows kwh waiting" })({
          bookings: unansweredOf(answer),
        }),
    },
    ends: ({ all, to }) => (all ? `A file of each is written into ${to}; they name people.` : undefined),
    ops: "booking_export",
    prepare: checkExport,
    perform: { also: ["booking_list"], run: exportBookings },
    writes: { field: "csv", option: "out" },
    view: ({ files, ...answer }) =>
      files
        ? `Written. Send them to the register, and record what it grants by booking credit --file.\n${list("files", "partner_slug file sha256")({ files })}`
        : `Written. Send it to the register. Record what it grants by booking credit: all of it without --file, or a CSV of row_id,accepted_kwh,reason.\n${fields(answer)}`,
  },
  {
    name: "booking credit",
    summary: "Record what the register granted",
    details:
      "Without --file every waiting row is credited in full. The file has the columns row_id,accepted_kwh,reason. A " +
      "lower accepted_kwh credits that much; 0 rejects the row and opens its month. Rows that are not in the file " +
      "keep waiting. If one row is wrong, nothing is credited. Use --granted if the register's total differs from " +
      "the sum of the rows.",
    example: "booking credit 2026-Q2 --partner laadpunt-zuid --file granted.csv",
    takes: [
      new Argument("[booking]", "id of the booking, or its run or quarter; without it the rows of the file say which"),
      ofPartner(),
      new Option("--file <file>", "the grants, row by row, of one booking or of several"),
      new Option("--granted <ere>", "the total ERE granted, at most six decimals"),
    ],
    ops: "booking_credit",
    prepare: ({ file, ...input }) => (file === undefined ? input : { ...input, rows: readCreditFile(String(file)) }),
    looks: {
      ops: ({ booking, file }) => (booking === undefined && file !== undefined ? "booking_credit_preview" : undefined),
      view: list("bookings", "partner_slug quarter number rows kwh accepted_kwh rejected", {
        sums: "rows kwh accepted_kwh rejected",
      }),
    },
    ends: ({ booking }) => (booking === undefined ? "These bookings will be credited by the file." : undefined),
    perform: { also: ["booking_credit_preview"], run: creditBookings },
    view: (answer) =>
      answer.bookings
        ? `${answer.changed ? "Credited." : "Nothing to change: it was so already."}\n${list("bookings", BOOKING_COLUMNS, { sums: BOOKING_SUMS, next: nextOf((answer.bookings as Row[])[0]) })(answer)}`
        : `${changed("booking", "Credited.")(answer)}\n\nNext: ${nextOf(answer.booking as Row)}`,
  },
  {
    name: "booking reverse-credit",
    summary: "Undo the credit or the rejection of a row",
    details: "The row waits for a credit again. Refused while its ERE are sold: reverse the sale first.",
    example: 'booking reverse-credit 0b0d1e00-0000-4000-8000-000000000000 --reason "wrong row in the file"',
    takes: [new Argument("<row>", "the row_id of the export"), reason()],
    ends: ({ row }) => `The credit or rejection of row ${row} will be undone.`,
    ops: "booking_reverse_credit",
    view: changed("booking", "Credit reversed."),
  },
  {
    name: "sale record",
    summary: "Sell ERE of a booking, and split the money over its rows",
    details:
      "The reference makes the command safe to repeat: the same values change nothing, other values are refused.",
    example:
      'sale record 2026-Q2 --partner laadpunt-zuid --ere 1200.5 --price 0.42 --buyer "Brandstof N.V." --reference BR-2026-081',
    takes: [
      booking(),
      ofPartner(),
      new Option("--ere <number>", "number of ERE, at most six decimals"),
      new Option("--all", "all that is credited and unsold of every partner's booking of the quarter: one sale each"),
      new Option("--price <euro>", "euro per ERE, at most six decimals").makeOptionMandatory(),
      new Option("--buyer <name>", "who bought them").makeOptionMandatory(),
      new Option("--reference <reference>", "reference of the sale, the buyer's or our own").makeOptionMandatory(),
      new Option("--date <date>", "date of sale; today if omitted"),
    ],
    looks: {
      ops: ({ all }) => (all ? "sale_preview" : undefined),
      view: ({ sales, ere, gross_eur }) =>
        [
          list("sales", "partner_slug number reference ere reversed_ere gross_eur recorded", {
            sums: "ere reversed_ere gross_eur",
          })({ sales }),
          `${ere} ERE in ${count((sales as Row[]).length, "sale")}; invoice the buyer ${euro(gross_eur)}, the sum of sales that are each rounded to the cent.`,
          ...unsoldText(sales as Row[]),
        ].join("\n\n"),
    },
    ends: ({ all, buyer, price }) =>
      all ? `All these ERE will be sold to ${buyer} at ${price} euro each.` : undefined,
    ops: "sale_record",
    prepare: checkSale,
    perform: { also: ["sale_preview"], run: recordSales },
    view: (answer) => {
      if (!answer.sales) return `${changed("sale", "Sale recorded.")(answer)}\n\nNext: ${nextOf(answer.sale as Row)}`;
      const sales = answer.sales as Row[];
      if (sales.length === 0 && (answer.unsold as Row[]).length === 0)
        return "Nothing to sell: no booking of this quarter has credited ERE.";
      return [
        `${answer.changed ? "Sold." : "Nothing to change: it was so already."} Invoice the buyer ${euro(answer.gross_eur)}.\n${list("sales", ALL_SALES, { sums: "ere gross_eur reversed_eur customers_eur partners_eur service_eur" })(answer)}`,
        ...unsoldText(answer.unsold as Row[]),
        ...(sales.length > 0 ? [`Next: ${nextOf(sales[0])}`] : []),
      ].join("\n\n");
    },
  },
  {
    name: "sale list",
    summary: "List sales, newest first",
    example: "sale list",
    takes: [new Argument("[booking]", "only of this booking, run or quarter"), ofPartner(), limit(50)],
    ops: "sale_list",
    view: list("sales", SALE_COLUMNS, {
      sums: "ere gross_eur rows customers_eur partners_eur service_eur reversed_ere",
    }),
  },
  {
    name: "sale show",
    summary: "Show how a sale was split over the rows of its booking",
    example: "sale show BR-2026-081",
    takes: [sale(), ofPartner(), limit(50)],
    ops: "sale_show",
    view: (answer) => {
      const sale = answer.sale as Row;
      return [
        `${sale.reference} sold ${sale.ere} ERE of ${sale.partner_slug}, ${sale.quarter}, to ${sale.buyer} for ${euro(sale.gross_eur)}.`,
        fields(sale),
        list("allocations", ALLOCATION_COLUMNS, { sums: "ere gross_eur fee_eur partner_share_eur net_eur" })(answer),
      ].join("\n\n");
    },
  },
  {
    name: "sale reverse",
    summary: "Reverse a sale, as far as it has not been paid out",
    details: "--recover also reverses the paid part: it becomes a negative balance, which later payouts settle.",
    example: 'sale reverse BR-2026-081 --reason "the buyer withdrew"',
    takes: [sale(), ofPartner(), reason(), new Option("--recover", "also reverse the part that was paid out")],
    ends: ({ sale, recover }) =>
      `The sale ${sale} will be ` +
      `reversed${recover ? ", also the part that was paid out: its customers will owe that" : ""}.`,
    ops: "sale_reverse",
    view: changed("sale", "Sale reversed."),
  },
  {
    name: "figures publish",
    summary: "Publish the yield of a year, to appear in positions from now on",
    details: "For all partners' accounts and for people without a partner. Repeat it for a partner that came later.",
    example: "figures publish 2026",
    takes: [year(), ofPartner()],
    ops: "figures_publish",
    view: (answer) =>
      `${answer.changed ? "Published." : "Nothing to change: they are already published."}\n${list("figures", FIGURES_COLUMNS)(answer)}`,
  },
  {
    name: "figures list",
    summary: "List the published figures, with the average price of an ERE",
    example: "figures list",
    ops: "figures_list",
    view: list("figures", FIGURES_COLUMNS),
  },
  {
    name: "ledger check",
    summary: "Prove that kWh, ERE and money agree, from the delivered months to the last cent",
    details: "Exit code 1 if something does not agree; the first difference of each check is named.",
    example: "ledger check",
    takes: [ofPartner()],
    ops: "ledger_check",
    fails: ({ ok }) => ok === false,
    view: checked,
  },
];

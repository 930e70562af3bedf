// Books wrong kWh and corrects it, by the steps of docs/operations.md, at each moment that it may be noticed.

import { writeFileSync } from "node:fs";
import { withStack } from "../kit/stack.ts";
import { type Customer, checking, type Office, openOffice, type Rehearsal } from "./office.ts";

const QUARTER = "2026-Q1";
const MONTH = "2026-02";
const RIGHT_KWH = 100;
const MUCH_KWH = 1_000;
const LITTLE_KWH = 10;

/** One of each: delivered with too many kWh, with too few, and right from the beginning. */
type Three = { much: Customer; little: Customer; right: Customer };

/** How far the money had gone when somebody noticed. */
const MOMENTS = [
  "before it is submitted",
  "once it is submitted",
  "once it is credited",
  "once it is sold",
  "once it is paid",
];

export async function booking({ seed, say = () => {} }: Rehearsal) {
  const { checks, check } = checking(say);
  await withStack(async (trial) => {
    const office = await openOffice(trial, { seed });
    const people = await office.customers(MOMENTS.length * 3);
    for (const [far, moment] of MOMENTS.entries()) {
      const [much, little, right] = people.splice(0, 3) as [Customer, Customer, Customer];
      const three = { much, little, right };
      const paid = await goWrong(office, three, far);
      await correct(office, three, far, paid);
      await settle(office);
      const money = await moneyOf(office, three);
      check(
        `noticed ${moment}: paid and owed, for much, little, right`,
        JSON.stringify(money),
        money.every(({ paid, balance }) => paid > 0 && isSame(paid + balance, sumOf(money.at(-1)))),
      );
      if (far < 4)
        check(
          `noticed ${moment}: nobody owes`,
          "",
          money.every(({ balance }) => balance >= 0),
        );
      else await workOff(office, three, check);
      await office.agrees(`noticed ${moment}`, check);
    }
    for (const { promise, first } of office.journal.broken()) check(promise, first, false);
  });
  return { seed, checks };
}

type Wrong = { booking: string; sale: string };

/** Books the wrong kWh, as far as it had gone. */
async function goWrong(office: Office, { much, little, right }: Three, far: number): Promise<Wrong> {
  await office.deliver(much, MONTH, MUCH_KWH);
  await office.deliver(little, MONTH, LITTLE_KWH);
  await office.deliver(right, MONTH, RIGHT_KWH);
  const wrong = { booking: "", sale: "" };
  if (far >= 1) wrong.booking = await office.book(QUARTER);
  if (far >= 2) await office.run(`booking credit ${wrong.booking}`);
  if (far >= 3) wrong.sale = await office.sell(wrong.booking);
  if (far >= 4) await office.pay();
  return wrong;
}

/** docs/operations.md, "A booking is wrong". */
async function correct(office: Office, { much, little }: Three, far: number, { booking, sale }: Wrong): Promise<void> {
  const redeliver = async (...customers: Customer[]) => {
    for (const customer of customers) await office.deliver(customer, MONTH, RIGHT_KWH);
  };
  if (far === 1) await office.run(`booking withdraw ${booking} --reason "wrong kWh"`);
  if (far <= 1) return redeliver(much, little);
  if (far >= 3) await office.run(`sale reverse ${sale} --reason "wrong kWh"${far === 4 ? " --recover" : ""}`);
  const [high, low] = [await office.rowOf(booking, much), await office.rowOf(booking, little)];
  for (const row of [high, low]) await office.run(`booking reverse-credit ${row} --reason "wrong kWh"`);
  const granted = office.file("granted.csv");
  writeFileSync(granted, `row_id,accepted_kwh,reason\n${high},${RIGHT_KWH},wrong kWh\n${low},0,delivered again\n`);
  await office.run(`booking credit ${booking} --file ${granted}`);
  if (far >= 3) await office.sell(booking);
  await redeliver(little);
}

/** What is left goes the usual way: booked, credited, sold and paid. */
async function settle(office: Office): Promise<void> {
  await finish(office, QUARTER);
  await office.pay();
}

async function finish(office: Office, quarter: string): Promise<void> {
  await office.book(quarter);
  const { bookings } = await office.run(`booking list ${quarter} --status submitted`);
  for (const { booking_id, waiting } of bookings) {
    if (waiting > 0) await office.run(`booking credit ${booking_id}`);
    const [row] = (await office.run(`booking list ${booking_id}`)).bookings;
    if (row.ere - row.sold_ere > 0.0001) await office.sell(booking_id);
  }
}

/** Whoever was paid too much gets nothing until later sales have settled it. */
async function workOff(office: Office, three: Three, check: (what: string, found: unknown, holds: boolean) => void) {
  const before = await moneyOf(office, three);
  for (const [kwh, period] of [
    [RIGHT_KWH, "2026-04"],
    [MUCH_KWH, "2026-05"],
  ] as const) {
    for (const customer of Object.values(three)) await office.deliver(customer, period, kwh);
    await finish(office, "2026-Q2");
    await office.pay();
    const [much, , right] = await moneyOf(office, three);
    const isPaid = much?.paid !== before[0]?.paid;
    const isRight = isSame(sumOf(much), sumOf(right)) && (kwh === RIGHT_KWH ? !isPaid : isPaid && much?.balance === 0);
    check(`noticed once it is paid: ${period} later, whoever got too much`, JSON.stringify(much), isRight);
  }
}

const moneyOf = async (office: Office, { much, little, right }: Three) => [
  await office.money(much),
  await office.money(little),
  await office.money(right),
];
const sumOf = (money?: { paid: number; balance: number }) => (money ? money.paid + money.balance : Number.NaN);
/** A cent goes to one of two in every sale. */
const isSame = (one: number, other: number) => Math.abs(one - other) < 0.025;

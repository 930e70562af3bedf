import type { readNumber } from "./typed_number.ts";

/** About what an electric car charges at home in a year; the customer puts their own number in its place. */
export const TYPICAL_KWH = 2500;

// The script of the pages runs these too: each function uses nothing from outside itself but its arguments.

type Estimate = { gross: number; fee: number; net: number };

/**
 * Euro that `factors` make together, such as kWh, ERE per kWh and the price of an ERE: the one estimate of every page. Divided as a sale
 * is (core.allocations): gross rounded to the cent, the fee cut to it. Exact for factors of up to six decimals.
 */
export function estimateOf(factors: readonly number[], fee_pct: number): Estimate {
  const product = factors.reduce((total, factor) => total * BigInt(Math.round(factor * 1e6)), 100n);
  const one = 10n ** BigInt(6 * factors.length);
  const gross = Number((2n * product + one) / (2n * one));
  const fee = Math.floor((gross * Math.round(fee_pct * 100)) / 10_000);
  return { gross: gross / 100, fee: fee / 100, net: (gross - fee) / 100 };
}

/**
 * The kWh a year that are meant, from 1 to a million, or null. `read` is readNumber. A group of three is thousands: of two values the
 * first counts, because nobody knows a year to the thousandth.
 */
export function kwhOf(read: typeof readNumber, typed: string): number | null {
  const kwh = Math.round((read(typed, "kWh")[0] ?? 0) * 1000) / 1000;
  return kwh >= 1 && kwh <= 1_000_000 ? kwh : null;
}

/** ERE per kWh, the price of an ERE in euro, and the fee in percent. */
export type YieldFacts = readonly [number, number, number];

/** What a year yields, as pages write it: `about` in whole euros, unless it is a few. `estimate` is estimateOf. */
export function shownYield(
  estimate: typeof estimateOf,
  kwh: number,
  [ere_per_kwh, price_per_ere_eur, fee_pct]: YieldFacts,
  date_locale: string,
) {
  const { gross, fee, net } = estimate([kwh, ere_per_kwh, price_per_ere_eur], fee_pct);
  const euro = (amount: number, digits = 2) =>
    new Intl.NumberFormat(date_locale, {
      style: "currency",
      currency: "EUR",
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }).format(amount);
  return {
    about: `± ${euro(net, net < 10 ? 2 : 0)}`,
    kwh: new Intl.NumberFormat(date_locale, { maximumFractionDigits: 6 }).format(kwh),
    gross: euro(gross),
    fee: fee > 0 ? `\u2212\u00a0${euro(fee)}` : euro(fee),
    net: euro(net),
  };
}

export type Estimate = { gross: number; fee: number; net: number };

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

import type { EanRegisterAddress } from "#shared/domain/answers.ts";
import { eanRegisterOf } from "#shared/domain/ean_register/ean_register.ts";
import type { EanRegisterAnswer } from "#shared/domain/ean_register/types.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { workThrough } from "#shared/foundation/work_through.ts";

export type DraftLookup = EanRegisterAddress & { draft_id: string };
type DraftLookupResult = { draft_id: string; ean_register: EanRegisterAnswer };

/** Time that a request may spend on the EAN register. The scheduled job looks up the rest. */
const BUDGET_MS = 8_000;
/** Lookups in parallel: the EAN register is a public service with a rate limit. */
const AT_ONCE = 4;

/** The EAN register's answers, in order, for as many addresses as the time allows. */
export async function lookUp(
  environment: Environment,
  due: readonly DraftLookup[],
  budgetMs = BUDGET_MS,
): Promise<DraftLookupResult[]> {
  const ean_register = eanRegisterOf(environment);
  const results: DraftLookupResult[] = [];
  const deadline = Date.now() + budgetMs;
  const ask = async ({ draft_id, ...address }: DraftLookup) => {
    results.push({ draft_id, ean_register: ean_register.known(address) ?? (await ean_register.lookup(address)) });
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeIsUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, budgetMs);
  });
  await Promise.race([workThrough(due, AT_ONCE, ask, () => Date.now() < deadline), timeIsUp]);
  clearTimeout(timer);
  return [...results];
}

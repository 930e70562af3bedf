import { eanRegisterOf } from "#shared/domain/ean_register/ean_register.ts";
import type { EanRegisterAddress, EanRegisterAnswer } from "#shared/domain/ean_register/types.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { workThrough } from "#shared/foundation/work_through.ts";

export type DraftLookup = EanRegisterAddress & { draft_id: string };
type DraftLookupResult = { draft_id: string; ean_register: EanRegisterAnswer };

/** What a request may spend on the EAN register; whom it does not get to, the scheduled job looks up. */
const BUDGET_MS = 8_000;
/** Questions under way at once: the EAN register is a public service with a rate limit. */
const AT_ONCE = 4;

/** The EAN register's answers for as many of the addresses as the time allows, in the order they came. */
export async function lookUp(
  environment: Environment,
  due: readonly DraftLookup[],
  budget_ms = BUDGET_MS,
): Promise<DraftLookupResult[]> {
  const ean_register = eanRegisterOf(environment);
  const results: DraftLookupResult[] = [];
  const deadline = Date.now() + budget_ms;
  const ask = async ({ draft_id, ...address }: DraftLookup) => {
    results.push({ draft_id, ean_register: ean_register.known(address) ?? (await ean_register.lookup(address)) });
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeIsUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, budget_ms);
  });
  await Promise.race([workThrough(due, AT_ONCE, ask, () => Date.now() < deadline), timeIsUp]);
  clearTimeout(timer);
  return [...results];
}

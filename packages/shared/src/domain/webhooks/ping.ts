import type { Environment } from "#shared/foundation/environment.ts";

/** A call takes ten seconds at most, and the worker is kicked. */
const PATIENCE_MS = 15_000;
const LOOK_MS = 500;

/** Has the worker send a ping that was asked for, and looks until something came of it: null where the worker did not come to it in time. */
export async function awaitPing<Result>(
  environment: Pick<Environment, "kick">,
  look: () => Promise<Result | null>,
): Promise<Result | null> {
  environment.kick();
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const result = await look();
    if (result !== null) return result;
  }
  return null;
}

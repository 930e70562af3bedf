import type { Environment } from "#shared/foundation/environment.ts";

/** A receiver may take ten seconds, as for an event; the rest is for the worker to begin and end. */
const PATIENCE_MS = 12_000;
const LOOK_MS = 500;

/** Wakes the worker for a requested ping, and waits for its result: null if the worker did not send it in time. */
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

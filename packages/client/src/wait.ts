/** A timer. Waits longer than timers allow, such as Infinity, are cut to the longest: they would end at once. */
export const after = (ms: number, run: () => void) => setTimeout(run, Math.min(ms, 2 ** 31 - 1));

/** Waits for something that others wait for too, and no longer than the caller wants to. @throws the signal's reason. */
export function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}

/** @throws the signal's reason. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = after(ms, resolve);
  });
  await orAborted(over, signal).finally(() => clearTimeout(timer));
}

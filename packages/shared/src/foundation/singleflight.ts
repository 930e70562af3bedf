/**
 * Runs `work` for everybody who asks at the same time at once: calls that come before it has begun share one run, and those that come
 * while it runs share the next one. So whoever calls knows that a run began after their call, and there is never more than one.
 */
export function singleflight<Input extends unknown[], Result>(
  work: (...input: Input) => Promise<Result>,
): (...input: Input) => Promise<Result> {
  let before: Promise<unknown> = Promise.resolve();
  let waiting: Promise<Result> | undefined;
  return (...input) => {
    waiting ??= before.then(() => {
      waiting = undefined;
      const running = work(...input);
      before = running.catch(() => {});
      return running;
    });
    return waiting;
  };
}

/**
 * Shares runs of `work` between callers. Calls that come before a run begins share it; calls that come while it runs
 * share the next run. So every caller gets a run that began after their call, and there is never more than one at a
 * time.
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

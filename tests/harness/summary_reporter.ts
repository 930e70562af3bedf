import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

/** Closes a run with one line that a machine can read: `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled_errors: readonly unknown[], reason: TestRunEndReason) {
    const count = { passed: 0, failed: unhandled_errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      // a file that does not load, or a hook that breaks, has failed although none of its tests did
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    }
    if (reason === "failed") count.failed ||= 1; // nothing ran: the set-up failed, or no file was found
    const line = `${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`;
    // after everything that other reporters have to say
    process.once("exit", () => process.stdout.write(line));
  }
}

import type { Reporter, TestModule, TestRunEndReason, Vitest } from "vitest/node";
import { unanswered } from "./answered.ts";

/** Closes a run with one line that a machine can read: `N passed, N failed, N skipped`. */
export default class SummaryReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest) {
    this.#vitest = vitest;
  }

  async onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly unknown[],
    reason: TestRunEndReason,
  ): Promise<void> {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      // a file that does not load, or a hook that breaks, has failed although none of its tests did
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    }
    if (reason === "failed") count.failed ||= 1; // nothing ran: the set-up failed, or no file was found
    const missing = reason === "passed" && (await this.#ranEverything(modules)) ? unanswered() : [];
    if (missing.length > 0) {
      count.failed += 1;
      process.exitCode = 1;
      console.error(`No test runs ${missing.join(", ")}, whose answer TypeScript reads.`);
    }
    const line = `${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`;
    // after everything that other reporters have to say
    process.once("exit", () => process.stdout.write(line));
  }

  async #ranEverything(modules: readonly TestModule[]): Promise<boolean> {
    if (!this.#vitest) return false;
    const { project, testNamePattern } = this.#vitest.config;
    return (
      !testNamePattern &&
      project.length === 0 &&
      modules.length === (await this.#vitest.globTestSpecifications()).length
    );
  }
}

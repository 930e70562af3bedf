// What a bench is.

import type { Finding } from "./findings.ts";
import type { Options } from "./measure.ts";

export type Bench = {
  /** One line: what is held against what. */
  about: string;
  /** Where the command line says nothing. */
  defaults: Options;
  run(options: Options): Promise<Finding[]>;
};

/** Says on standard error how far a bench is: standard output is for what it found. */
export function progress(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${text}\n`);
}

/** Something a person has to see to before this can be measured; `message` says what. */
export class BenchError extends Error {}

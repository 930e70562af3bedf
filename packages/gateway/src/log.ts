/** One line of JSON for each thing worth knowing. Never a payload, a tag or a password. */

export type Log = (event: string, fields?: Record<string, unknown>) => void;

export const consoleLog: Log = (event, fields = {}) =>
  void process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), event, ...fields })}\n`);

import { userInfo } from "node:os";
import { createInterface } from "node:readline/promises";
import { readStack } from "#local/stack.ts";
import { run } from "./run.ts";

/** A container's user may have no name. */
function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

/** On standard error, because standard output may be JSON for another program. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question}\nGo on? [y/N] `)).trim());
  } catch {
    return false; // Ctrl-C and Ctrl-D are not a yes
  } finally {
    terminal.close();
  }
}

/** One line of standard input. At a terminal it is asked for. */
async function readLine(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    if (process.stdin.isTTY) return await terminal.question(question);
    for await (const line of terminal) return line;
    return "";
  } finally {
    terminal.close();
  }
}

// a reader such as `| head` may stop early; the command still runs to its end
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  operator: osUser(),
  readLine,
  local: () => readStack(process.env.OPERATOR_STACK || undefined) ?? undefined,
  ...(process.stdout.isTTY && { screen: { width: process.stdout.columns || 120, color: !process.env.NO_COLOR } }),
  ...(process.stdin.isTTY && process.stderr.isTTY && { confirm }),
});

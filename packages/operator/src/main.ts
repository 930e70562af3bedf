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

/** On standard error: what is printed may be JSON for another program. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question}\nGo on? [y/N] `)).trim());
  } catch {
    return false; // Ctrl-C and Ctrl-D are no yes
  } finally {
    terminal.close();
  }
}

// who reads no further, as `| head` does, has what it wanted; what the command does is done to its end
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  operator: osUser(),
  local: () => readStack(process.env.OPERATOR_STACK || undefined) ?? undefined,
  ...(process.stdin.isTTY && process.stderr.isTTY && { confirm }),
});

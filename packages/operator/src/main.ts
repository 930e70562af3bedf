import { userInfo } from "node:os";
import { readStack } from "../../local/src/stack.ts";
import { run } from "./run.ts";

/** A container's user may have no name. */
function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  operator: osUser(),
  localDatabaseUrl: () => readStack()?.operator_database_url,
});

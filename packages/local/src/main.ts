// npm start: the whole product on this machine, on one port, without Docker.

import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { DATA_DIRS, DEFAULT_PORT } from "./stack.ts";

const HELP = `Runs the API on this machine: PostgreSQL, all functions on Deno, scheduled jobs, a local Auth issuer.

  npm start -- [options]

  --host sandbox|production   which host to be                          (sandbox)
  --port <number>             where to listen, on 127.0.0.1             (${DEFAULT_PORT})
  --ocpp-port <number>        where chargers connect by OCPP            (a free one, the same at every start)
  --data-dir <folder>         where data and secrets are kept           (.local/data; .local/production for that host)
  --auth-signup on|off        whether strangers may sign up at Auth     (on; hosted it is off)
  --replica                   follow the database with a replica, and read long lists there
  --fresh                     throw that data away first
  --help                      this text
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      host: { type: "string", default: "sandbox" },
      port: { type: "string", default: String(DEFAULT_PORT) },
      "ocpp-port": { type: "string" },
      "data-dir": { type: "string" },
      "auth-signup": { type: "string", default: "on" },
      replica: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { host, fresh, help, replica } = values;
  if (host !== "sandbox" && host !== "production") throw new Error(`--host is sandbox or production, not "${host}"`);
  const auth_signup = values["auth-signup"];
  if (auth_signup !== "on" && auth_signup !== "off")
    throw new Error(`--auth-signup is on or off, not "${auth_signup}"`);
  const port = portOf("port", values.port);
  const ocpp_port = values["ocpp-port"] === undefined ? undefined : portOf("ocpp-port", values["ocpp-port"]);
  const data_dir = values["data-dir"] === undefined ? DATA_DIRS[host] : resolve(values["data-dir"]);
  return { host, port, data_dir, fresh, help, auth_signup, replica, ...(ocpp_port ? { ocpp_port } : {}) } as const;
}

function portOf(option: string, text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535)
    throw new Error(`--${option} is a number from 1 to 65535, not "${text}"`);
  return port;
}

/** What a person can do about a failure of the file system. */
function advise(error: NodeJS.ErrnoException, data_dir: string): string | undefined {
  switch (error.code) {
    case "ENOSPC":
    case "EDQUOT":
      return `No space left on the disk of ${data_dir}. Make room, or choose another folder with --data-dir.`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `Not allowed to write in ${data_dir} (${error.path ?? error.message}).\nMake it yours, or choose another folder with --data-dir.`;
    case "ENOTDIR":
    case "EEXIST":
      return `${error.path ?? data_dir} is in the way: a file where a folder is needed. Choose another folder with --data-dir.`;
    default:
      return undefined;
  }
}

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split(". To specify")[0]}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }

  const started = performance.now();
  const say = (topic: string, text: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(5);
    process.stdout.write(`${seconds} s  ${topic.padEnd(10)} ${text}\n`);
  };

  // heard from the first moment on; a second time it does not wait for an orderly end
  const asked = Promise.withResolvers<"asked">();
  const stopping = new AbortController();
  asked.promise.then(() => stopping.abort());
  let times = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      times += 1;
      if (times === 1) asked.resolve("asked");
      // npm passes on the signal that the terminal has sent already
      else if (times > 2) process.exit(130);
    });
  }

  if (process.env.npm_lifecycle_event) {
    // npm killed hard passes nothing on; a stack that nobody sees any more would hold the port and the data
    const npm = process.ppid;
    setInterval(() => process.ppid === npm || asked.resolve("asked"), 200).unref();
  }

  // loaded once it is known that something starts
  const { StackError, startStack } = await import("./runner.ts");

  try {
    const running = await startStack(options, say, stopping.signal);
    const [{ demoClaimLink }, { welcome }] = await Promise.all([import("./demo_draft.ts"), import("./welcome.ts")]);
    const claimLink = await demoClaimLink(running.stack).catch((error: Error) => `(none: ${error.message})`);
    process.stdout.write(`${welcome(running.stack, options.data_dir, claimLink)}\n`);
    // up to three seconds of the processor, which nobody has to wait for
    const { packClient } = await import("../../docs/src/pack_client.ts");
    packClient(join(options.data_dir, "docs")).catch((error: Error) => say("client", error.message));
    const end = await Promise.race([asked.promise, running.broken]);
    if (end === "asked") say("stopping", "");
    await running.stop();
    if (end !== "asked") throw end;
    say("stopped", "");
    return 0;
  } catch (error) {
    if (stopping.signal.aborted && error instanceof StackError) {
      say("stopped", "");
      return 0;
    }
    const known =
      error instanceof StackError ? error.message : advise(error as NodeJS.ErrnoException, options.data_dir);
    process.stderr.write(`\n${known ?? (error as Error).stack}\n`);
    return 1;
  }
}

process.exit(await main());

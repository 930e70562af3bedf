// The command line: reads what was typed, runs one ops function, prints a table or JSON, answers with an exit code.

import { Argument, CommanderError, Command as Program } from "commander";
import { hashSecret, newPartnerKey, newSecret } from "#shared/auth/tokens.ts";
import type { Command, Input } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { type Answer, callOps, OperatorError } from "./database.ts";

/** Everything a command reaches outside itself. */
type Io = {
  out: (text: string) => void;
  err: (text: string) => void;
  env: Record<string, string | undefined>;
  /** Who the audit log names. */
  operator: string;
  /** The database of the stack that runs on this machine, if one does. */
  localDatabaseUrl: () => string | undefined;
};

const NAME = "npm run -s operator --";
const DONE = 0;
const FAILED = 1;
const USAGE = 2;

/** Exit code: 0 done, 1 refused or failed, 2 not understood. */
export async function run(argv: string[], io: Io): Promise<number> {
  try {
    await build(io).parseAsync(readHelp(argv), { from: "user" });
    return DONE;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USAGE;
    if (!(error instanceof OperatorError)) throw error;
    io.err(`error: ${error.message}\n`);
    return FAILED;
  }
}

/** `help partner create` is `partner create --help`. */
function readHelp(argv: string[]): string[] {
  const [first, ...words] = argv;
  if (first !== "help") return argv;
  const asked = words.slice(0, 2);
  const known = COMMANDS.some(({ name }) => `${name} `.startsWith(`${asked.join(" ")} `.trimStart()));
  return known ? [...asked, "--help"] : asked;
}

function build(io: Io): Program {
  const program = new Program(NAME)
    .description("Runs the service: partners, clients, connections, reviews. Every change leaves an audit row.")
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError(`See: ${NAME} help`)
    .helpCommand("help [command...]", "how to use a command, such as: help partner create")
    .addHelpText(
      "after",
      "\nThe database is --database-url, else OPERATOR_DATABASE_URL, else the running local stack.\nExit code: 0 done, 1 refused or failed, 2 not understood.",
    );
  for (const command of COMMANDS) {
    const [noun = "", verb = ""] = command.name.split(" ");
    const parent = program.commands.find((known) => known.name() === noun) ?? addNoun(program, noun);
    const leaf = parent
      .command(verb)
      .description(command.details ? `${command.summary}.\n${command.details}` : `${command.summary}.`)
      .summary(command.summary)
      .showHelpAfterError(`See: ${NAME} help ${command.name}`)
      .addHelpText("after", `\nExample:\n  ${NAME} ${command.example}`);
    for (const taken of command.takes ?? []) {
      if (taken instanceof Argument) leaf.addArgument(taken);
      else leaf.addOption(taken);
    }
    leaf
      .option("--json", "print JSON, for scripts")
      .option("--database-url <url>", "the database to run it on, with the login operator")
      .action(() => execute(command, leaf, io));
  }
  return program;
}

function addNoun(program: Program, noun: string): Program {
  const verbs = COMMANDS.flatMap(({ name }) => (name.startsWith(`${noun} `) ? [name.slice(noun.length + 1)] : []));
  return program.command(noun).description(verbs.join(", ")).helpCommand(false);
}

async function execute(command: Command, leaf: Program, io: Io): Promise<void> {
  const { json, databaseUrl } = leaf.opts<{ json?: boolean; databaseUrl?: string }>();
  const typed = readInput(leaf);
  const made = makeCredentials(command, typed, io);
  const name = typeof command.ops === "string" ? command.ops : command.ops(typed);
  const answer = await callOps(findDatabase(databaseUrl, io), name, {
    ...(command.prepare?.(typed) ?? typed),
    ...made.stored,
    operator: io.operator,
  });
  const shown: Answer = { ...answer, ...made.shown };
  if (json) return io.out(`${JSON.stringify(shown, null, 2)}\n`);
  const secret = Object.entries(made.shown ?? {}).map(([name, value]) => `\n\n  ${name}  ${value}`);
  io.out(`${command.view(answer)}${secret.join("")}\n`);
}

/** What was typed, under the names of the ops functions: `--return-url` is return_url. */
function readInput(leaf: Program): Input {
  const values = leaf.opts();
  return Object.fromEntries([
    ...leaf.registeredArguments.map((argument, index) => [argument.name(), leaf.processedArgs[index]]),
    ...leaf.options
      .map((option) => [
        option.attributeName().replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        values[option.attributeName()],
      ])
      .filter(([name, value]) => value !== undefined && name !== "json" && name !== "database_url"),
  ]);
}

function makeCredentials(
  { makes }: Command,
  typed: Input,
  { env }: Io,
): { stored?: Input; shown?: Record<string, string> } {
  if (!makes) return {};
  if (makes === "key") {
    const API_HOST = typed.host === "production" ? "production" : "sandbox";
    const { api_key, stored } = newPartnerKey({ KEY_PREFIX: env.KEY_PREFIX ?? "ere", API_HOST });
    return { stored, shown: { api_key } };
  }
  const client_secret = `cs_${newSecret()}`;
  return {
    stored: {
      secret_hash: hashSecret(client_secret),
      ...(makes === "client" && { client_id: `cpo_${newSecret(9)}` }),
      ...(makes === "app" && { client_id: `app_${newSecret(9)}` }),
    },
    shown: { client_secret },
  };
}

function findDatabase(option: string | undefined, { env, localDatabaseUrl }: Io): string {
  const url = option || env.OPERATOR_DATABASE_URL || localDatabaseUrl();
  if (url) return url;
  throw new OperatorError(
    "No database is named and no local stack runs here. Start one (npm start), set OPERATOR_DATABASE_URL, or give --database-url.",
  );
}

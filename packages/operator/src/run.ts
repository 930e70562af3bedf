// The command line: parses the arguments, runs one ops function, prints a table or JSON, and returns an exit code.

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Argument, CommanderError, Help, type Option, Command as Program } from "commander";
import type { Stack } from "#local/stack.ts";
import { hashSecret, newPartnerKey, newSecret } from "#shared/auth/tokens.ts";
import type { Command, Input, Row } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { callOps, connectOps, type Open, OperatorError, type OpsAnswer } from "./database.ts";
import { placeOf, writePrivate } from "./private_file.ts";
import { scramVerifier } from "./scram.ts";
import { onScreen, plain, type Screen } from "./text.ts";

/** Everything that a command reaches outside itself. */
type Io = {
  out: (text: string) => void;
  err: (text: string) => void;
  env: Record<string, string | undefined>;
  /** The person's name, which the audit log stores beside the login. */
  operator: string;
  /** The stack that runs on this machine, if there is one. */
  local: () => LocalStack | undefined;
  /** Asks the person at the terminal, and returns whether they said yes. Absent if there is no terminal. */
  confirm?: (question: string) => Promise<boolean>;
  /** Reads a line from standard input. At a terminal the question stands before it. */
  readLine?: (question: string) => Promise<string>;
  /** The terminal that `out` writes to. Absent if it writes into a file or another program. */
  screen?: Screen;
  /** Opens a new connection if absent. */
  open?: Open;
};

type Shown = Io & { show: (view: () => string, more?: Screen) => void };

/** What we know about a stack on this machine: its database, its logins, and the environment for its commands. */
export type LocalStack = Pick<
  Stack,
  "database_url" | "operator_database_url" | "operator_logins" | "operator_environment"
>;

type Deployment = { host: "sandbox" | "production"; key_prefix: string };

const NAME = "npm run -s operator --";
const DONE = 0;
const FAILED = 1;
const USAGE = 2;
const EXIT_CODES = "Exit code: 0 done, 1 refused or failed, 2 not understood.";

/** Exit code: 0 done, 1 refused or failed, 2 not understood. */
export async function run(argv: string[], machine: Io): Promise<number> {
  // names and other printed texts come from strangers
  const io: Shown = {
    ...machine,
    // colors of ours are added after the texts were made harmless
    show: (view, more = {}) => machine.out(`${onScreen({ ...machine.screen, ...more }, view)}\n`),
    out: (text) => machine.out(plain(text)),
    err: (text) => machine.err(plain(text)),
  };
  try {
    let code = DONE;
    const words = readHelp(argv);
    const program = build(io, words, async (command, leaf) => {
      code = await execute(command, leaf, io);
    });
    await program.parseAsync(words, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USAGE;
    if (!(error instanceof OperatorError)) throw error;
    io.err(`error: ${error.message}\n`);
    return FAILED;
  }
}

/**
 * `help partner create`, `partner help create` and `partner create help` are `partner create --help`; `help` is never
 * the name of a new partner.
 */
function readHelp(argv: string[]): string[] {
  const at = argv.slice(0, 3).indexOf("help");
  const [first] = argv;
  if (at < 0 || (at > 0 && !COMMANDS.some(({ name }) => `${name} `.startsWith(`${first} `)))) return argv;
  const words = argv.toSpliced(at, 1);
  const asked = words.slice(0, 2);
  const known = COMMANDS.some(({ name }) => `${name} `.startsWith(`${asked.join(" ")} `.trimStart()));
  return known ? [...asked, "--help"] : asked;
}

function build(io: Io, words: string[], run: (command: Command, leaf: Program) => Promise<void>): Program {
  const program = new Program(NAME)
    .description("Run the service: partners, clients, connections, reviews. Every change leaves an audit row.")
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .configureHelp({ optionDescription: describe })
    .showHelpAfterError(`See: ${NAME} help`)
    .helpCommand("help [command...]", "how to use a command, such as: help partner create")
    .addHelpText(
      "after",
      `\nThe database is --database-url, else OPERATOR_DATABASE_URL, else the running\nlocal stack; of two that run, OPERATOR_STACK names the stack.json of one. On that\nstack --as, or OPERATOR_NAME, is the login to act by; elsewhere the URL has it.\n${EXIT_CODES}`,
    );
  const asked = words.find((word) => !word.startsWith("-"));
  for (const command of COMMANDS) {
    const [noun = "", verb] = command.name.split(" ");
    const parent = verb ? (program.commands.find((known) => known.name() === noun) ?? addNoun(program, noun)) : program;
    // nobody sees the verbs of another noun
    if (verb && noun !== asked) continue;
    const leaf = parent
      .command(verb ?? noun)
      .description(command.details ? `${command.summary}.\n${command.details}` : `${command.summary}.`)
      .summary(command.summary)
      .showHelpAfterError(`See: ${NAME} help ${command.name}`)
      .addHelpText("after", `\nExample:\n  ${NAME} ${command.example}`);
    for (const taken of command.takes ?? []) {
      if (taken instanceof Argument) leaf.addArgument(taken);
      else leaf.addOption(taken);
    }
    if (command.verbose) leaf.option("--verbose", "show every field");
    if (command.ends) leaf.option("--yes", "do it without asking; for scripts");
    leaf
      .option("--json", "print JSON, for scripts")
      .option(
        "--database-url <url>",
        `the database to run it on, with ${command.owner ? "its owner" : "an operator's login"}`,
      )
      .option("--as <name>", "the login to use, from those of the local stack")
      .action(() => run(command, leaf));
  }
  return program;
}

function addNoun(program: Program, noun: string): Program {
  const verbs = COMMANDS.flatMap(({ name }) => (name.startsWith(`${noun} `) ? [name.slice(noun.length + 1)] : []));
  return program
    .command(noun)
    .description(verbs.join(", "))
    .showHelpAfterError(`See: ${NAME} help ${noun}`)
    .helpCommand(false);
}

/** In commander's notation, with whether it may be omitted. */
function describe(option: Option): string {
  const said = new Help().optionDescription(option);
  return option.mandatory ? `${said} (required)` : said;
}

/** @returns the exit code */
async function execute(command: Command, leaf: Program, io: Shown): Promise<number> {
  const {
    json,
    yes,
    verbose = false,
    ...chosen
  } = leaf.opts<Chosen & { json?: boolean; yes?: boolean; verbose?: boolean }>();
  const typed = readInput(leaf);
  const { url, env } = findDatabase(command, chosen, io);
  checkWritable(command, typed);
  const { open } = io;
  const input = command.prepare?.(typed) ?? typed;
  const look = typeof command.looks?.ops === "function" ? command.looks.ops(typed) : command.looks?.ops;
  const found =
    look && !(json && yes)
      ? await callOps(url, look, { ...input, look: true, operator: io.operator }, { open })
      : undefined;
  const looked = found && onScreen({ ...io.screen, color: false }, () => command.looks?.view(found) ?? "");
  // on standard error, as the question: what is printed may be for another program
  if (looked) io.err(`${looked}\n\n`);
  const question = command.looks && !looked ? undefined : command.ends?.(typed);
  if (question && !yes) await confirm(question, io);
  const made = await makeCredentials(command, url, open);
  const name = typeof command.ops === "string" ? command.ops : command.ops(typed);
  const schema = command.owner ? "private" : "ops";
  const callAny = (name: string, input: Input, label: string = command.name) =>
    patiently(label, io, callOps(url, name, { ...input, ...made.stored, operator: io.operator }, { schema, open }));
  const call = (input: Input, label?: string) => callAny(name, input, label);

  const answer = command.each
    ? await callEach(command.each, command.each.pick(await callOps(url, command.each.list, typed, { open })), call, io)
    : command.perform
      ? await command.perform.run(input, {
          call: callAny,
          connect: (work, to = url) =>
            connectOps(
              to,
              ({ call, query }) =>
                work({ query, call: (name, input) => call(name, { ...input, operator: io.operator }) }),
              { schema, open },
            ),
          env,
          say: io.err,
          readLine: (question) => readLine(question, io),
        })
      : await call(input);
  const shown = writeFile(command, answer, typed);
  if (json) io.out(`${JSON.stringify({ ...shown, ...made.shown }, null, 2)}\n`);
  else {
    const secret = Object.entries(made.shown ?? {}).map(([name, value]) => `\n\n  ${name}  ${value}`);
    io.show(() => `${command.view(shown)}${secret.join("")}`, { verbose });
  }
  return command.fails?.(answer) ? FAILED : DONE;
}

/** Runs row by row, so that an error leaves the earlier rows done. Reports progress. */
async function callEach(
  { input, label }: NonNullable<Command["each"]>,
  rows: Row[],
  call: (input: Input, label: string) => Promise<OpsAnswer>,
  io: Io,
): Promise<OpsAnswer> {
  const results: OpsAnswer[] = [];
  for (const row of rows) {
    results.push(await call(input(row), label(row)));
    if (rows.length > 1) io.err(`${label(row)}: done, ${results.length} of ${rows.length}\n`);
  }
  return { results };
}

/** Prints every ten seconds that the database is still at work. */
async function patiently<T>(label: string, io: Io, work: Promise<T>): Promise<T> {
  const began = Date.now();
  const timer = setInterval(
    () => io.err(`${label}: at work for ${Math.round((Date.now() - began) / 1000)} seconds\n`),
    10_000,
  );
  return work.finally(() => clearInterval(timer));
}

/** The answer without the field that was written into a file. */
function writeFile({ writes }: Command, answer: OpsAnswer, typed: Input): OpsAnswer {
  if (!writes) return answer;
  const { [writes.field]: content, ...shown } = answer;
  if (typed[writes.option] === undefined) return shown;
  const path = placeOf(typed[writes.option]);
  writing(path, (file) => writePrivate(file, content));
  return { ...shown, file: path };
}

/** If the file cannot be written, refuse before anything is done. */
function checkWritable({ writes }: Command, typed: Input): void {
  if (!writes || typed[writes.option] === undefined) return;
  writing(placeOf(typed[writes.option]), (file) => {
    const there = existsSync(file);
    if (there && statSync(file).isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    accessSync(there ? file : dirname(file), constants.W_OK);
  });
}

function writing(path: string, write: (file: string) => void): void {
  try {
    write(path);
  } catch (error) {
    throw new OperatorError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** Options for the command line itself; the database does not get them. */
const LOCAL_OPTIONS = new Set(["json", "database_url", "as", "yes", "verbose"]);

/** @throws {OperatorError} without a yes, or if nobody is there to answer. */
async function readLine(question: string, io: Io): Promise<string> {
  if (!io.readLine) throw new OperatorError("There is no standard input to read from.");
  return io.readLine(question);
}

async function confirm(question: string, io: Io): Promise<void> {
  if (!io.confirm) throw new OperatorError(`${question} Nobody is here to be asked: add --yes. Nothing was changed.`);
  if (!(await io.confirm(question))) throw new OperatorError("Nothing was changed.");
}

/** The arguments, under the names of the ops functions: `--return-url` is return_url. */
function readInput(leaf: Program): Input {
  const values = leaf.opts();
  return Object.fromEntries([
    ...leaf.registeredArguments.map((argument, index) => [argument.name(), leaf.processedArgs[index]]),
    ...leaf.options
      .map((option) => [
        option.attributeName().replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        values[option.attributeName()],
      ])
      .filter(([name, value]) => value !== undefined && !LOCAL_OPTIONS.has(String(name))),
  ]);
}

async function makeCredentials(
  { makes }: Command,
  url: string,
  open?: Open,
): Promise<{ stored?: Input; shown?: Record<string, string> }> {
  if (!makes) return {};
  if (makes === "key") {
    // the prefix of a key shows deployment and host, and the database knows both
    const { host, key_prefix } = (await callOps(url, "host_show", {}, { open })).host as Deployment;
    const { api_key, stored } = newPartnerKey({ KEY_PREFIX: key_prefix, API_HOST: host });
    return { stored, shown: { api_key } };
  }
  if (makes === "login") {
    const password = newSecret();
    return { stored: { verifier: scramVerifier(password) }, shown: { password } };
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

type Chosen = { databaseUrl?: string; as?: string };

/** Where a command runs, and its environment: on the local stack, variables that are not set come from the stack. */
function findDatabase(
  { owner }: Command,
  { databaseUrl, as }: Chosen,
  { env, local }: Io,
): { url: string; env: Io["env"] } {
  const named = databaseUrl || (owner && env.OWNER_DATABASE_URL) || env.OPERATOR_DATABASE_URL;
  if (named && as) throw new OperatorError("--as picks a login of the local stack; elsewhere the URL has the login.");
  if (named) return { url: named, env };
  const stack = local();
  if (!stack && env.OPERATOR_STACK) {
    throw new OperatorError(
      `No running stack wrote ${env.OPERATOR_STACK}; OPERATOR_STACK is the path of a stack.json.`,
    );
  }
  if (!stack) {
    throw new OperatorError(
      "No database is named and no local stack runs here. Start one (npm start), set " +
        `${owner ? "OWNER" : "OPERATOR"}_DATABASE_URL, or give --database-url.`,
    );
  }
  const login = as || env.OPERATOR_NAME;
  const url = owner ? stack.database_url : login ? stack.operator_logins[login] : stack.operator_database_url;
  if (!url) {
    throw new OperatorError(
      `The local stack has no login ${login}; it has ${Object.keys(stack.operator_logins).join(", ")}.`,
    );
  }
  return { url, env: { ...stack.operator_environment, ...env } };
}

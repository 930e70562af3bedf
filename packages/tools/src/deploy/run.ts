// npm run deploy:new: reads what was typed, walks the steps for each host, says what each did.

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readEnv } from "./env_file.ts";
import { ManagementApi } from "./management_api.ts";
import { type Ask, answersFor, type Host, QUESTIONS } from "./questions.ts";
import { filesIn, knownFault, type Platform, STEPS, type Walk } from "./steps.ts";

const HOSTS: readonly Host[] = ["sandbox", "production"];

/** Everything a deployment reaches outside itself. */
type Io = {
  say: (text: string) => void;
  /** Absent where nobody is there to be asked. */
  ask?: Ask;
  platform: Platform;
};

const HELP = `Deploys from zero: a Supabase project for each host, from nothing to a first request.

  npm run deploy:new -- [sandbox] [production] --secrets <folder> [--yes]

  sandbox, production   which hosts                                              (both, the sandbox first)
  --secrets <folder>    where answers, keys and passwords are kept, a folder a host; nothing secret is written elsewhere or printed
  --yes                 ask nothing: every answer is in <folder>/<host>/answers.env, and each question is answered with yes
  --help                this text

SUPABASE_ACCESS_TOKEN has to be set: the dashboard makes one under Account, Access Tokens.
Run it again after a failure, and it goes on where it stopped; run again, a host that is complete stays as it is.

What it does:

${STEPS.map(({ title }, index) => `  ${`${index + 1}`.padStart(2)}  ${title}`).join("\n")}

What it asks, and <folder>/<host>/answers.env may say beforehand:

${QUESTIONS.map(({ name, about }) => `  ${name.padEnd(18)}${about}`).join("\n")}
  ${"DATABASE_PASSWORD".padEnd(18)}Of the database of PROJECT_REF; made where the project is made
  ${"DATABASE_CA".padEnd(18)}File with the certificate of the platform's authority (dashboard, Database, SSL). Empty: encrypted, and not verified
`;

/** @returns the exit code: 0 done, 1 something has to be put right, 2 not understood */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions(argv);
  } catch (error) {
    io.say(`${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    io.say(HELP);
    return 0;
  }
  const token = io.platform.cli.SUPABASE_ACCESS_TOKEN;
  if (!token) {
    io.say("SUPABASE_ACCESS_TOKEN is not set: the dashboard makes one under Account, Access Tokens.");
    return 2;
  }
  const ask = options.yes ? undefined : io.ask;
  if (!options.yes && !ask) {
    io.say("Nobody is here to be asked: add --yes, with every answer in <folder>/<host>/answers.env.");
    return 2;
  }
  const api = new ManagementApi(io.platform.api_url, token);
  const confirm = async (question: string) => !ask || /^y(es)?$/i.test((await ask(`${question} [y/N] `)).trim());
  for (const host of options.hosts) {
    const folder = join(options.secrets, host);
    try {
      // before anything secret is in it
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const files = filesIn(folder);
      io.say(`\nThe ${host} host, with its secrets in ${folder}\n`);
      const answers = { ...(await answersFor(host, files.answers, ask)) };
      await walk({ host, files, answers, platform: io.platform, api, confirm }, io.say);
    } catch (error) {
      const fault = knownFault(error);
      if (fault === null) throw error;
      io.say(
        `\n${withoutSecrets(fault, folder)}\n\nWhat was done stays. Put that right, and run the same command again: it goes on here.`,
      );
      return 1;
    }
  }
  io.say(NEXT);
  return 0;
}

function readOptions(argv: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      secrets: { type: "string" },
      yes: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const strange = positionals.find((host) => !HOSTS.some((known) => known === host));
  if (strange !== undefined) throw new Error(`A host is sandbox or production, not "${strange}".`);
  if (values.secrets === undefined && !values.help)
    throw new Error("--secrets <folder> is missing: where keys and passwords are kept.");
  const hosts = HOSTS.filter((host) => positionals.length === 0 || positionals.includes(host));
  return { hosts, secrets: resolve(values.secrets ?? "."), yes: values.yes, help: values.help };
}

async function walk(walk: Walk, say: Io["say"]): Promise<void> {
  for (const [index, { title, run: step }] of STEPS.entries()) {
    say(`${`${index + 1}`.padStart(2)}/${STEPS.length}  ${title}`);
    const { did, undo } = await step(walk);
    say(`       ${did}`);
    if (undo) say(`       to undo: ${undo}`);
  }
}

/** What a program of others said, with nothing in it that the files of this host hold. */
function withoutSecrets(text: string, folder: string): string {
  const files = filesIn(folder);
  const SECRET = /PASSWORD|SECRET|KEYS?$|DATABASE_URL|SMTP_URL/;
  const values = [files.answers, files.functions, files.operator, files.partner].flatMap((file) => {
    try {
      return Object.entries(readEnv(file)).flatMap(([name, value]) =>
        SECRET.test(name) && value.length >= 8 ? [value, URL.parse(value)?.password ?? ""] : [],
      );
    } catch {
      return []; // what cannot be read was not sent anywhere either
    }
  });
  return values.filter(Boolean).reduce((clean, value) => clean.replaceAll(value, "<secret>"), text);
}

const NEXT = `
Done. What is left for a person:

  keep the folder of secrets in a password manager: without IBAN_KEYS no IBAN can be read again
  guess twelve times from outside, and see 429   (docs/deploy.md, "Check the client's address")
  logins of operators, two for payouts: npm run -s operator -- login create <name>   (docs/deploy.md, "Operate")
  deployments by CI: SUPABASE_ACCESS_TOKEN, SUPABASE_DB_PASSWORD and SUPABASE_PROJECT_REF in GitHub   (docs/deploy.md, "Deploy by CI")
  /health/ready of the sandbox is 200 before production has its first customer; then somebody elsewhere asks it every minute   (docs/operations.md)
`;

#!/usr/bin/env node
import process from "node:process";
import { parseArgs } from "node:util";
import type { Event } from "../events.ts";
import { ApiError } from "../index.ts";
import { ACCESS_OPTIONS, UsageError } from "./account.ts";
import { type Line, listen } from "./listen.ts";
import { listTypes, trigger } from "./trigger.ts";

const HELP = `ere-client listen --forward-to <url>   post new events to a receiver, signed as a webhook
ere-client trigger <type>              make the sandbox produce an event
ere-client trigger --list              the types, and why the sandbox cannot produce some

The credential comes from the environment, or is asked for:
  BASE_URL, AUTH_URL          the host, and where tokens come from if that is another host
  PARTNER_KEY                 a partner's key: its log, and what trigger always needs
  CLIENT_ID, CLIENT_SECRET    a CPO client: its log
  WEBHOOK_SECRET              what listen signs with (whsec_…); a new one each time unless set

Options:
  --base-url <url>  --auth-url <url>  --client-id <id>    instead of BASE_URL, AUTH_URL, CLIENT_ID
  --log client|partner   whose log: the client's if there is a client id, else the partner's
  --after <cursor>       listen: begin behind this cursor instead of now
  --types <a,b>          listen: only these types
  --json                 one JSON object a line
`;

const clock = () => new Date().toTimeString().slice(0, 8);
const seconds = (ms: number) => `${ms / 1000} s`;

function inWords(line: Line): string {
  switch (line.kind) {
    case "listening":
      return `Sending new events of ${line.log} to ${line.forward_to}\nSigned with ${line.secret}\nCtrl-C stops.`;
    case "delivered":
      return `${clock()}  ${line.type}  #${line.sequence}  ${line.status} in ${line.ms} ms`;
    case "failed":
      return `${clock()}  ${line.type}  #${line.sequence}  ${line.status ?? line.error}; again in ${seconds(line.retry_in_ms)}`;
    case "waiting":
      return `${clock()}  The log could not be read: ${line.error} Again in ${seconds(line.retry_in_ms)}`;
    case "cursor_expired":
      return `${clock()}  Events after that cursor are older than 90 days. Continues from the oldest that is kept.`;
    case "stopped":
      return `Stopped.${line.after ? ` --after ${line.after} continues.` : ""}`;
  }
}

const write = (text: string) => process.stdout.write(`${text}\n`);

async function main(argv: string[]): Promise<number> {
  const [command, ...args] = argv;
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  if (command === "listen") {
    const text = { type: "string" } as const;
    const options = { ...ACCESS_OPTIONS, "forward-to": text, after: text, types: text };
    const { values } = parseArgs({ args, options });
    if (values.help) return help();
    await listen(values, (line) => write(values.json ? JSON.stringify(line) : inWords(line)), stop.signal);
    return 0;
  }
  if (command === "trigger") {
    const options = { ...ACCESS_OPTIONS, list: { type: "boolean", default: false } } as const;
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    if (values.help) return help();
    if (values.list) return list(values.json);
    if (positionals.length > 1) throw new UsageError("name one type of event");
    stop.signal.addEventListener("abort", () => process.exit(1));
    for (const event of await trigger(positionals[0], values)) write(values.json ? JSON.stringify(event) : told(event));
    return 0;
  }
  if (command === undefined || command === "--help" || command === "help") return help();
  throw new UsageError(`there is no command ${command}`);
}

function help(): number {
  process.stdout.write(HELP);
  return 0;
}

function list(json: boolean): number {
  for (const line of listTypes())
    write(
      json
        ? JSON.stringify(line)
        : `${line.log.padEnd(8)} ${line.type.padEnd(28)} ${line.why ? `no: ${line.why}` : ""}`.trimEnd(),
    );
  return 0;
}

const told = ({ created_at, type, sequence, account_id, id }: Event) =>
  [created_at, type.padEnd(28), `#${sequence}`, account_id ?? id].join("  ");

/** 0: done; 1: failed or refused; 2: not understood. */
process.exitCode = await main(process.argv.slice(2)).catch((error: Error & { code?: string }) => {
  const usage = error instanceof UsageError || error.code?.startsWith("ERR_PARSE_ARGS") === true;
  process.stderr.write(`${error.message}\n${usage ? "ere-client --help says how.\n" : ""}`);
  if (error instanceof ApiError && error.status === 401) process.stderr.write("Check the credential and BASE_URL.\n");
  return usage ? 2 : 1;
});

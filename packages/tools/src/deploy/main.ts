import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { checkoutForUpload } from "./checkout_for_upload.ts";
import { DeployError } from "./management_api.ts";
import { run } from "./run.ts";

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C and Ctrl-D close it, and a question that nobody answers would wait for ever
  const closed = new AbortController();
  terminal.once("close", () => closed.abort());
  try {
    return await terminal.question(question, { signal: closed.signal });
  } catch {
    throw new DeployError("Nothing more was done.");
  } finally {
    terminal.close();
  }
}

const { SUPABASE_ACCESS_TOKEN = "" } = process.env;

process.exitCode = await run(process.argv.slice(2), {
  say: (text) => process.stdout.write(`${text}\n`),
  ...(process.stdin.isTTY && process.stdout.isTTY && { ask }),
  platform: {
    api_url: "https://api.supabase.com",
    project_url: (ref) => `https://${ref}.supabase.co`,
    cli: { SUPABASE_ACCESS_TOKEN },
    checkout: checkoutForUpload,
    pause: (ms) => sleep(ms),
  },
});

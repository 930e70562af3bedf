// README's first account, commands of docs/deploy.md and npm run demo, as a newcomer runs them, against a stack of their own.
// tests/docs/guides.test.ts runs those of the guides.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { freePort } from "#local/postgres.ts";
import { type RunningStack, startStack } from "#local/runner.ts";
import { prepare, prepareSandbox } from "../harness/prepared.ts";

const run = promisify(execFile);

let folder: string;
let running: RunningStack;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ere-story-"));
  await prepareSandbox(join(folder, "data"));
  running = await startStack({ host: "sandbox", port: await freePort(), data_dir: join(folder, "data"), fresh: false });
});
afterAll(async () => {
  await running?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The commands of a page between a sentence and the end of the code block that follows it. */
function commandsAfter(sentence: string, page: string): string {
  const [, after] = readFileSync(join(ROOT, page), "utf8").split(sentence);
  const commands = after && /```sh\n(.*?)```/s.exec(after)?.[1];
  if (!commands) throw new Error(`${page} has no commands after "${sentence}"`);
  return commands;
}

/** The checkout as a newcomer has it, beside the stack.json of this stack. */
function newcomer(name: string): (script: string) => Promise<{ stdout: string }> {
  const checkout = join(folder, name);
  mkdirSync(join(checkout, ".local"), { recursive: true });
  writeFileSync(join(checkout, ".local/stack.json"), JSON.stringify(running.stack));
  for (const entry of ["package.json", "packages", "node_modules"])
    symlinkSync(join(ROOT, entry), join(checkout, entry));
  return (script) =>
    run("bash", ["-euo", "pipefail", "-c", script], {
      cwd: checkout,
      env: {
        ...process.env,
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
        OPERATOR_DATABASE_URL: running.stack.operator_database_url,
      },
    });
}

test("§1 README: a first account, by curl, exactly as written", async () => {
  const bash = newcomer("first-account");
  const { stdout } = await bash(commandsAfter("your first account", "README.md"));
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, ean_validation_status: "matched", iban_stored: true });
});

test("contract §9 docs/deploy.md: the check of the client's address, exactly as written", async () => {
  const bash = newcomer("address");
  const { functions } = JSON.parse(readFileSync(join(folder, "data/secrets.json"), "utf8"));
  const set = `BASE_URL=${running.stack.base_url} WORKER_SECRET=${functions.WORKER_SECRET}\n`;
  const asked = await bash(set + commandsAfter("## Check the client's address", "docs/deploy.md"));
  expect(JSON.parse(asked.stdout)).toMatchObject({ client_address: "127.0.0.1" });

  const guesses = commandsAfter("send a wrong secret twelve times from outside", "docs/deploy.md");
  const here = guesses.replace(/^API=.*$/m, `API=${running.stack.functions_url}`);
  expect(here).not.toBe(guesses);
  const guessed = await bash(here);
  expect(guessed.stdout.trim().split(" ")).toEqual([...Array(10).fill("401"), "429", "429"]);
});

test("§1 npm run demo: the whole story told against a stack of its own, signing included", async () => {
  const demo = join(ROOT, "packages/local/src/demo.ts");
  const { stdout } = await run(process.execPath, [demo, "--stack", join(folder, "data/stack.json")]);
  expect(stdout).toContain("All gates are open");
  expect(stdout, "an event arrives at a receiver").toContain('"type": "account.eligibility_changed"');
  expect(stdout, "a row of the file is judged by itself").toMatch(/"invalid": 1[\s\S]*"bad_started_at"/);
  // 25.92 kWh by the file and 599.625 typed, x 0.332694 = 208.115068 ERE at 0.40 euro; of each month the fee of a fifth is cut to the cent
  expect(stdout).toMatch(/625\.545 kWh → 208\.12 ERE → € 83\.25[\s\S]*gets € 66\.61 after a fee of 20 %/);
  expect(stdout).toContain("Done.");
  expect(stdout).not.toContain(running.stack.demo.cpo.client_secret);
});

test("§1 npm run demo says what it takes: --help ends with 0, what it does not know with 2", async () => {
  const demo = join(ROOT, "packages/local/src/demo.ts");
  const help = await run(process.execPath, [demo, "--help"]);
  expect(help.stdout).toContain("npm run demo -- [options]");
  await expect(run(process.execPath, [demo, "--fast"])).rejects.toMatchObject({
    code: 2,
    stderr: `Unknown option '--fast'\n\n${help.stdout}`,
  });
});

test("§1 npm run demo ends with four open gates on the production host too, where no mail server is set", async () => {
  const data_dir = join(folder, "production");
  await prepare(data_dir);
  const production = await startStack({ host: "production", port: await freePort(), data_dir, fresh: false });
  try {
    const demo = join(ROOT, "packages/local/src/demo.ts");
    const { stdout } = await run(process.execPath, [demo, "--stack", join(data_dir, "stack.json")]);
    expect(stdout).toMatch(/Vouch for the EAN[\s\S]*operator -- connection set-ean-status [0-9a-f-]{36} manual/);
    expect(stdout).toMatch(/No mail server is set[\s\S]*operator -- mail list --to sanne@example\.nl --show/);
    expect(stdout).toMatch(/All gates are open[\s\S]*"ere_eligible": true[\s\S]*Done\./);
  } finally {
    await production.stop();
  }
});

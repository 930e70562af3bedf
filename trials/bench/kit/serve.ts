// Processes that serve HTTP beside the bench: functions and floors on Deno, each told its port, each gone when the bench is.

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { denoProgram, ROOT } from "#local/checkout.ts";
import { freePort } from "#local/postgres.ts";
import { writeBundle } from "../../../packages/tools/src/bundle.ts";

export type Served = {
  url: string;
  pid: number;
  /** JavaScript's memory at its highest since this was asked last, in bytes; only of what was started to watch it. */
  peakMemory(): Promise<number>;
  stop(): Promise<void>;
};

const BOOT = fileURLToPath(new URL("../deno/boot.ts", import.meta.url));

/** What Deno compiled stays between runs, as the platform keeps it. */
const DENO_DIR = `${ROOT}node_modules/.cache/bench-deno`;

/** The entry of an edge function, from the root of the repository. */
export const functionEntry = (slug: string): string => `${ROOT}supabase/functions/${slug}/index.ts`;
/** An entry of the bench's own, `deno/floor` for one. */
export const ownEntry = (name: string): string => fileURLToPath(new URL(`../${name}.ts`, import.meta.url));

/** Starts an entry with `Deno.serve` in it, bundled as it is deployed. What it logs goes to a file, as with `npm start`. */
export async function serveOnDeno(
  entry: string,
  variables: Record<string, string>,
  logFolder: string,
): Promise<Served> {
  const bundle = join(logFolder, "bundles", entry.slice(ROOT.length).replaceAll("/", "-"));
  if (!existsSync(bundle)) await writeBundle(entry, bundle);
  const permissions = ["--no-prompt", "--allow-net", "--allow-env", "--allow-sys", `--allow-read=${ROOT},${bundle}`];
  return serve(denoProgram(), ["run", "--quiet", ...permissions, BOOT, join(bundle, "index.js")], variables, logFolder);
}

/** Starts an entry on the Node that runs the bench; it says `listening` as Deno's do. */
export async function serveOnNode(
  entry: string,
  variables: Record<string, string>,
  logFolder: string,
): Promise<Served> {
  return serve(process.execPath, [entry], variables, logFolder);
}

/** On a free port, and on another one if somebody else takes that first. */
async function serve(...how: Parameters<typeof serveOn>): Promise<Served> {
  for (let again = 0; ; again += 1)
    try {
      return await serveOn(...how);
    } catch (error) {
      if (again === 3 || !/AddrInUse|EADDRINUSE/.test(String(error))) throw error;
    }
}

async function serveOn(program: string, args: string[], variables: Record<string, string>, logFolder: string) {
  const port = await freePort();
  const log = openSync(join(logFolder, `served-${port}.log`), "a");
  const child = spawn(program, args, {
    cwd: ROOT,
    stdio: ["pipe", log, "pipe"],
    env: {
      PATH: process.env.PATH,
      DENO_DIR,
      DENO_NO_UPDATE_CHECK: "1",
      NO_COLOR: "1",
      PORT: String(port),
      ...variables,
    },
  });
  closeSync(log);
  const lines = linesOf(child);
  child.stdin?.on("error", () => {}); // EPIPE when it is already gone
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await lines.next("listening");
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    async peakMemory() {
      child.stdin?.write("\n");
      return Number((await lines.next("peak ")).slice("peak ".length));
    },
    async stop() {
      child.stdin?.end();
      const patience = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await exited;
      clearTimeout(patience);
    },
  };
}

/** What a process says on standard error, waited for by how a line begins. @throws when the process ends instead. */
function linesOf(child: ChildProcess): { next(begin: string): Promise<string> } {
  let said = "";
  let waiting: (PromiseWithResolvers<string> & { begin: string }) | undefined;
  const look = () => {
    const lines = said.split("\n");
    const at = waiting ? lines.slice(0, -1).findIndex((line) => line.startsWith(waiting?.begin ?? "")) : -1;
    if (at < 0) return;
    said = lines.slice(at + 1).join("\n");
    waiting?.resolve(lines[at] ?? "");
    waiting = undefined;
  };
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    said += chunk;
    look();
  });
  child.once("exit", (code) => waiting?.reject(new Error(`a served process ended with ${code}:\n${said}`)));
  return {
    next(begin) {
      const wait = Promise.withResolvers<string>();
      waiting = { ...wait, begin };
      look();
      return wait.promise;
    },
  };
}

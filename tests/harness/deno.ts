// An edge function as the platform runs it: its own files only, no packages, one process, on the Deno version of the platform.

import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { denoProgram, ROOT } from "#local/checkout.ts";

export type Running = {
  url: string;
  /** Everything it has written so far. */
  said(): string;
  stop(signal?: "SIGKILL"): Promise<void>;
};

/** What Deno compiled stays between runs, and goes with `npm ci`. */
const CACHE = `${ROOT}node_modules/.cache/deno`;

/** What Deno compiled is kept by path, and the paths of a test do not come back. */
export const forgetCompiled = (): void => rmSync(`${CACHE}/gen`, { recursive: true, force: true });

/** Only what the folder holds: no configuration or lock file above it, no packages, nothing fetched. */
const ALONE = ["--no-config", "--no-lock", "--no-npm", "--no-remote", "--node-modules-dir=none"];

/** What Deno keeps to itself, and where it keeps it. */
const denoEnvironment = () => ({ ...process.env, DENO_DIR: CACHE, DENO_NO_UPDATE_CHECK: "1" });

/** The platform hands a handler its requests; `Deno.serve` of a process has to be told where to listen. A function without a slug gets all. */
const BOOT = `
const { serve } = Deno;
const handlers = new Map();
for (const [slug, entrypoint] of Object.entries(JSON.parse(Deno.args[0]))) {
  // an alias is the same program
  Deno.serve = (handler) => handlers.set(entrypoint, handler);
  await import("file://" + Deno.cwd() + "/" + entrypoint);
  handlers.set(slug, handlers.get(entrypoint));
}
const handlerFor = ({ url }) => handlers.get("") ?? handlers.get(new URL(url).pathname.split("/")[1]);
serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log("listening " + port) },
  (request) => handlerFor(request)?.(request) ?? new Response(null, { status: 404 }),
);
`;

/** Starts what lies in a folder. Nothing of this checkout is in reach. */
export function bootFunction(folder: string, entrypoint: string, variables: Record<string, string>): Promise<Running> {
  return bootFunctions(folder, { "": entrypoint }, variables);
}

/** The same with several functions, slug to entrypoint, in one process: for what is asked of all of them together. */
export async function bootFunctions(
  folder: string,
  entrypoints: Record<string, string>,
  variables: Record<string, string>,
): Promise<Running> {
  const child = spawn(
    denoProgram(),
    [
      ...["run", ...ALONE],
      // no files but its own, no programs, no native code
      ...["--no-prompt", "--allow-net", "--allow-env", "--allow-sys", "--allow-read=."],
      ...["-", JSON.stringify(entrypoints)],
    ],
    { cwd: folder, env: { ...denoEnvironment(), ...variables }, stdio: "pipe" },
  );
  child.stdin.end(BOOT);
  const output: Buffer[] = [];
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  const said = () => Buffer.concat(output).toString();
  return {
    url: `http://127.0.0.1:${await listening(child, said)}`,
    said,
    async stop(signal) {
      const gone = new Promise((resolve) => child.once("close", resolve));
      if (child.exitCode === null && child.kill(signal)) await gone;
    },
  };
}

function listening(child: ChildProcess, said: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", () => {
      const port = said().match(/^listening (\d+)$/m)?.[1];
      if (port) resolve(port);
    });
    child.once("exit", (code) => reject(new Error(`Deno ended with ${code}:\n${said()}`)));
  });
}

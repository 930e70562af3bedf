// The client as integrators get it: packed, and installed in a folder of theirs without the registry.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "#local/checkout.ts";
import { packClient } from "../../packages/docs/src/pack_client.ts";

export const run = promisify(execFile);

let packed: Promise<string> | undefined;

/** Makes in a folder what `npm install` of the tarball makes: the package, and the one it depends on. */
export async function installClient(folder: string): Promise<void> {
  const at = (...path: string[]) => join(folder, ...path);
  packed ??= pack();
  mkdirSync(at("node_modules/@ere-api/client"), { recursive: true });
  await run("tar", ["-xzf", await packed, "--strip-components=1", "-C", at("node_modules/@ere-api/client")]);
  for (const name of ["openapi-fetch", "openapi-typescript-helpers"])
    cpSync(join(ROOT, "node_modules", name), at("node_modules", name), { recursive: true });
  writeFileSync(at("package.json"), JSON.stringify({ type: "module", dependencies: { "@ere-api/client": "*" } }));
}

/** The file that the documentation serves: once for all files of a process, because it takes three seconds of the processor. */
async function pack(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ere-client-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return packClient(folder);
}

/** The first Node 20 of this machine, which need not be the one that runs the tests. */
export async function node20(): Promise<string | null> {
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    const program = join(directory, "node");
    const version = await run(program, ["--version"]).then(
      ({ stdout }) => stdout,
      () => "",
    );
    if (version.startsWith("v20.")) return program;
  }
  return null;
}

// The client as integrators get it: packed, and installed in a folder of theirs without the registry.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "#local/checkout.ts";
import { packClient } from "../../packages/docs/src/pack_client.ts";

export const run = promisify(execFile);

/** Makes in a folder what `npm install` of the tarball makes: the package, and the one it depends on. */
export async function installClient(folder: string): Promise<void> {
  const at = (...path: string[]) => join(folder, ...path);
  mkdirSync(at("node_modules/@ere-api/client"), { recursive: true });
  const packed = await packClient(at("node_modules"));
  await run("tar", ["-xzf", packed, "--strip-components=1", "-C", at("node_modules/@ere-api/client")]);
  for (const name of ["openapi-fetch", "openapi-typescript-helpers"])
    cpSync(join(ROOT, "node_modules", name), at("node_modules", name), { recursive: true });
  writeFileSync(at("package.json"), JSON.stringify({ type: "module", dependencies: { "@ere-api/client": "*" } }));
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

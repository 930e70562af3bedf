// The client as integrators get it: packed, and installed in a folder of theirs without the registry.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "#local/checkout.ts";

export const run = promisify(execFile);

let packed: Promise<string> | undefined;

/** Makes in a folder what `npm install` of the tarball makes: the package, and the one it depends on. */
export async function installClient(folder: string): Promise<void> {
  const at = (...path: string[]) => join(folder, ...path);
  packed ??= pack();
  mkdirSync(at("node_modules/ere-client"), { recursive: true });
  await run("tar", ["-xzf", await packed, "--strip-components=1", "-C", at("node_modules/ere-client")]);
  for (const name of ["openapi-fetch", "openapi-typescript-helpers"])
    cpSync(join(ROOT, "node_modules", name), at("node_modules", name), { recursive: true });
  writeFileSync(at("package.json"), JSON.stringify({ type: "module", dependencies: { "ere-client": "*" } }));
}

/** The tarball: once for all files of a process, because it takes four seconds of the processor. */
async function pack(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ere-client-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  // packing compiles into dist, and files that run beside each other must not share it: each packs a copy, where its paths hold
  const copy = mkdtempSync(join(ROOT, "packages/.client-"));
  try {
    const source = join(ROOT, "packages/client");
    for (const name of ["src", "package.json", "tsconfig.json", "README.md", "LICENSE"])
      cpSync(join(source, name), join(copy, name), { recursive: true });
    // as a fresh clone has it: npm pack generates the types
    rmSync(join(copy, "src/schema.ts"), { force: true });
    symlinkSync(join(source, "node_modules"), join(copy, "node_modules"));
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: copy });
    const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf("[\n")));
    return join(folder, filename);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
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

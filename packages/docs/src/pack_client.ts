// npm run pack: the typed client as one file, which the documentation serves and a release publishes.

import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const CLIENT = join(ROOT, "packages/client");

/** The name of the file, without the scope of the package. */
export function clientFile(): string {
  const { version } = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8"));
  return `ere-client-${version}.tgz`;
}

/** What was packed, by what it was packed from: it takes three seconds of the processor, and every `npm start` needs the file. */
const KEPT = join(ROOT, "node_modules/.cache/ere-client");
const BUILT_FROM = [
  "openapi.json",
  "package-lock.json",
  "tsconfig.json",
  "packages/client",
  "packages/docs/src/pack_client.ts",
];

function fingerprint(): string {
  const hash = createHash("sha256");
  for (const path of BUILT_FROM.flatMap(filesIn)) hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
  return hash.digest("hex").slice(0, 16);
}

/** The files at a path, but what is generated or installed. */
function filesIn(path: string): string[] {
  if (/\/(node_modules|dist|schema\.ts|\.[^/]+)$/.test(path)) return [];
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  const names = readdirSync(join(ROOT, path)).sort();
  return names.flatMap((name) => filesIn(`${path}/${name}`));
}

/** Packs the client into a folder: compiled for `import`, and in `cjs` for `require`, with the types of the API once. */
export async function packClient(folder: string): Promise<string> {
  const kept = join(KEPT, fingerprint());
  if (!existsSync(join(kept, clientFile()))) await pack(kept);
  // what stands there may be of another branch
  place(join(kept, "schema.ts"), join(CLIENT, "src"));
  place(join(kept, clientFile()), folder);
  return join(folder, clientFile());
}

/** Whoever reads the folder meanwhile sees all of the file or nothing. */
function place(file: string, folder: string, name = basename(file)): void {
  mkdirSync(folder, { recursive: true });
  const aside = join(folder, `.${randomUUID()}`);
  cpSync(file, aside);
  renameSync(aside, join(folder, name));
}

async function pack(kept: string): Promise<void> {
  const made = mkdtempSync(join(tmpdir(), "ere-pack-"));
  const at = (...path: string[]) => join(made, ...path);
  try {
    await run(process.execPath, [join(CLIENT, "generate.ts")]);
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const compile = (project: string, out: string) =>
      run(process.execPath, [compiler, "-p", join(CLIENT, project), "--outDir", at("package/dist", out)]);
    await Promise.all([compile("tsconfig.json", ""), compile("tsconfig.cjs.json", "cjs")]);
    writeFileSync(at("package/dist/cjs/package.json"), '{ "type": "commonjs" }\n');
    const types = 'export type * from "../schema.js" with { "resolution-mode": "import" };\n';
    writeFileSync(at("package/dist/cjs/schema.d.ts"), types);
    for (const name of ["package.json", "README.md", "LICENSE"]) cpSync(join(CLIENT, name), at("package", name));
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", made], { cwd: at("package") });
    const [{ filename }] = JSON.parse(stdout);
    place(join(CLIENT, "src/schema.ts"), kept);
    place(at(filename), kept, clientFile());
  } catch (error) {
    // a compiler says on standard output what is wrong
    const { message, stdout = "" } = error as Error & { stdout?: string };
    throw new Error(`The client could not be packed: ${message}\n${stdout}`, { cause: error });
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

if (import.meta.main) process.stdout.write(`${await packClient(process.cwd())}\n`);

// What docs/security.md says about the packages that we use: their licenses, their install scripts, and the advisories about them.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";

type Component = {
  name: string;
  version: string;
  purl: string;
  licenses?: { license?: { id?: string; name?: string }; expression?: string }[];
};
type Locked = { version?: string; link?: boolean; hasInstallScript?: boolean; optional?: boolean };

const readJson = (file: string) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));
const LOCKED: Record<string, Locked> = readJson("package-lock.json").packages;

/** Packages whose package.json names no license of SPDX; each says it in a file. */
const IN_A_FILE: Record<string, string> = { "png-js": "MIT", precond: "MIT" };

const licenseOf = ({ name, licenses = [] }: Component) =>
  licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name).join(" AND ") ||
  (IN_A_FILE[name] ?? "none");

/** The first column of the table in docs/security.md. */
function allowedLicenses(): string[] {
  const [, section = ""] = readFileSync(join(ROOT, "docs/security.md"), "utf8").split("\n## Packages\n");
  const [table = ""] = section.split("\n## ");
  return [...table.matchAll(/^\| ((?:`[\w.-]+`(?:, )?)+) \|/gm)].flatMap(
    ([, cell = ""]) => cell.match(/[\w.-]+/g) ?? [],
  );
}

/** Whether one may take a package by these licenses: all of AND, one of OR. */
const isAllowed = (license: string, allowed: readonly string[]) =>
  license
    .replace(/[()]/g, "")
    .split(/ and /i)
    .every((part) => part.split(/ or /i).some((one) => allowed.includes(one)));

test("the SBOM names every installed package, in the version of the lock file, and each has an allowed license", () => {
  const written = execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx"], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  });
  const { bomFormat, specVersion, components }: { bomFormat: string; specVersion: string; components: Component[] } =
    JSON.parse(written.toString());
  expect([bomFormat, Number(specVersion) >= 1.5]).toEqual(["CycloneDX", true]);
  const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
  const required = Object.entries(LOCKED)
    .filter(([path, { link, optional }]) => path.includes("node_modules/") && !link && !optional)
    .map(([path, { version }]) => `${path.split("node_modules/").at(-1)}@${version}`);
  expect(required.filter((each) => !listed.has(each))).toEqual([]);
  expect(components.filter(({ purl }) => !purl.startsWith("pkg:npm/"))).toEqual([]);

  const allowed = allowedLicenses();
  expect(allowed).toContain("MIT");
  const refused = components.filter((component) => !isAllowed(licenseOf(component), allowed));
  expect(refused.map((component) => `${component.name}: ${licenseOf(component)}`)).toEqual([]);
  // none is listed that nobody needs
  const used = components.map(licenseOf).join(" ");
  expect(allowed.filter((license) => !used.includes(license))).toEqual([]);
});

test.each([
  ["GPL-3.0-only", false],
  ["MIT AND GPL-3.0-only", false],
  ["(MIT OR GPL-3.0-only)", true],
  ["MIT or MPL-2.0", true],
  ["none", false],
])("a package with the license %s: %s", (license, expected) => {
  expect(isAllowed(license, allowedLicenses())).toBe(expected);
});

test("an install script runs only if package.json allows it by name", () => {
  const named = Object.keys(readJson("package.json").allowScripts);
  const scripts = Object.entries(LOCKED)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.split("node_modules/").at(-1) ?? "");
  expect([...new Set(scripts)].sort()).toEqual(named.sort());
});

/** What `node audit.ts` says, asking a registry of the test's. */
async function audit(status: number, advisories: object) {
  const registry = createServer((request, response) => {
    request.resume().on("end", () => {
      const isAudit = request.url === "/-/npm/v1/security/advisories/bulk";
      response
        .writeHead(isAudit ? status : 404, { "content-type": "application/json" })
        .end(JSON.stringify(advisories));
    });
  });
  await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  const cache = mkdtempSync(join(tmpdir(), "ere-npm-"));
  const child = spawn(process.execPath, [join(ROOT, "packages/tools/src/audit.ts")], {
    // npm keeps what it was told of an advisory
    env: { ...process.env, npm_config_registry: url, npm_config_fetch_retries: "0", npm_config_cache: cache },
  });
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  registry.close();
  rmSync(cache, { recursive: true, force: true });
  return { code, said };
}

const advisory = (severity: string) => ({
  hono: [
    {
      id: 1,
      url: "https://github.com/advisories/GHSA-test",
      title: "A header too many",
      severity,
      vulnerable_versions: "<99",
      cwe: [],
      cvss: { score: 0, vectorString: null },
    },
  ],
});

test("a grave advisory about a package that we deploy fails the audit; a slight one, or a registry without any, does not", async () => {
  expect(await audit(200, advisory("critical"))).toMatchObject({
    code: 1,
    said: expect.stringContaining("critical  hono"),
  });
  expect(await audit(200, advisory("moderate"))).toMatchObject({
    code: 0,
    said: expect.stringContaining("moderate  hono"),
  });
  expect(await audit(200, {})).toMatchObject({ code: 0, said: expect.stringContaining("0 vulnerable packages") });
  expect(await audit(405, {})).toMatchObject({ code: 0, said: expect.stringContaining("Not audited") });
});

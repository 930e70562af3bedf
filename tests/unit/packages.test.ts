// What `npm ci` does with package-lock.json.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Locked = {
  version: string;
  integrity?: string;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  /** A package of this repository: npm makes a link to it, and takes nothing. */
  link?: boolean;
  engines?: { node?: string };
};

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));
const { "": root, ...packages }: Record<string, Locked> = read("package-lock.json").packages;

/** Whether a range of Node versions such as `^20.19.0 || >=22.12` has versions of 20 in it. */
const takes20 = (range: string) =>
  range.split("||").some((part) => {
    const [, sign, major] = /^\s*(\^|>=|)\s*v?(\d+)/.exec(part) ?? [];
    return range === "*" || (sign === ">=" ? Number(major) <= 20 : Number(major) === 20);
  });

test("no package warns on the Node that README asks for", () => {
  expect(root?.engines).toEqual({ node: ">=20" });
  expect(readFileSync(new URL("../../README.md", import.meta.url), "utf8")).toContain("Node 20 or newer");
  const warned = Object.entries(packages).filter(([, { engines }]) => engines?.node && !takes20(engines.node));
  expect(warned.map(([path, { version, engines }]) => `${path}@${version} ${engines?.node}`)).toEqual([]);
});

test(".nvmrc names the Node that npm scripts run by", () => {
  const version = readFileSync(new URL("../../.nvmrc", import.meta.url), "utf8").trim();
  expect(packages["node_modules/node"]?.version.split(".")[0]).toBe(version);
});

test("a release has one version, wherever it is written", () => {
  const { version } = read("package.json");
  const told: Record<string, string | undefined> = {
    "openapi.json": read("openapi.json").info.version,
    "package-lock.json": root?.version,
    "examples/cpo/package.json": read("examples/cpo/package.json").dependencies["@ere-api/client"],
    ...Object.fromEntries(["client", "gateway"].map((name) => [name, read(`packages/${name}/package.json`).version])),
    ...Object.fromEntries(
      ["client", "gateway"].map((name) => [`${name}, locked`, packages[`packages/${name}`]?.version]),
    ),
  };
  for (const page of ["packages/client/README.md", "examples/cpo/README.md"]) {
    const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
    told[page] = /ere-client-(.*?)\.tgz/.exec(text)?.[1];
  }
  expect(Object.entries(told).filter(([, each]) => each !== version)).toEqual([]);
});

test("npm ci takes no package whose content is another than the one that was locked", () => {
  const taken = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
  const unchecked = taken.filter(([, { integrity }]) => !integrity);
  // The registry that the lock file was written from has these programs for its own platform only. On another platform npm takes
  // what the registry gives there.
  const programs = /^node_modules\/(@biomejs\/cli|@deno\/|@supabase\/cli)[\w-]+$/;
  expect(unchecked.filter(([path, { optional }]) => !(optional && programs.test(path)))).toEqual([]);
  const here = unchecked.filter(([path]) => /linux-x64(-glibc)?$/.test(path));
  expect(here, "the platform that CI runs on is checked whole").toEqual([]);
  expect(Object.values(packages).filter(({ integrity }) => integrity && !integrity.startsWith("sha512-"))).toEqual([]);
});

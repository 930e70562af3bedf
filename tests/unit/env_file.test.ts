import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { addToEnv, EnvFileError, readEnv } from "../../packages/tools/src/deploy/env_file.ts";

const folder = mkdtempSync(join(tmpdir(), "ere-env-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
/** A file with this content. */
function fileWith(content: string): string {
  const path = join(folder, `${files++}.env`);
  writeFileSync(path, content);
  return path;
}

describe("adding to a file of variables", () => {
  test("makes it where it is not there, for its owner alone, below what it is for", () => {
    const path = join(folder, "deep/new.env");
    expect(addToEnv(path, { A: "1", B: "two words" }, "What it is for.")).toEqual(["A", "B"]);
    expect(readFileSync(path, "utf8")).toBe("# What it is for.\nA=1\nB='two words'\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("leaves what stands there, letter for letter, and fills in what is empty", () => {
    const path = fileWith("# mine\nexport A = 'kept'  # by hand\nB=\n\nC=3");
    expect(addToEnv(path, { A: "new", B: "$& filled", D: "4" }, "")).toEqual(["B", "D"]);
    expect(readFileSync(path, "utf8")).toBe("# mine\nexport A = 'kept'  # by hand\nB='$& filled'\n\nC=3\nD=4\n");
  });

  test("of nothing that is missing writes nothing", () => {
    const path = fileWith("A=1");
    const before = statSync(path).mtimeMs;
    expect(addToEnv(path, { A: "2" }, "")).toEqual([]);
    expect([readFileSync(path, "utf8"), statSync(path).mtimeMs]).toEqual(["A=1", before]);
  });

  test.each([
    "plain",
    "https://user:p%40ss@host:6543/db?a=b",
    "with spaces",
    '{"json": ["of", "keys"]}',
    "l'Étoile",
    "# no comment",
    "$HOME",
    "back\\slash",
    "",
  ])("a value is read as it was written: %s", (value) => {
    const path = join(folder, `${files++}.env`);
    addToEnv(path, { A: value, B: "after" }, "");
    expect(readEnv(path)).toEqual({ A: value, B: "after" });
  });

  test.each(["both ' and \"", "two\nlines", "l'$HOME"])(
    "a value that no file can hold is refused unnamed: %j",
    (value) => {
      const path = join(folder, `${files++}.env`);
      const refused = () => addToEnv(path, { A: value }, "");
      expect(refused).toThrow(EnvFileError);
      expect(refused).not.toThrow(value);
      expect(readEnv(path)).toEqual({});
    },
  );
});

test.each([
  ["A=1\nmerge conflict >>>>", 2],
  ["A='open", 1],
  ["A='two\nlines'", 1],
  ["{}", 1],
])("a file that is none is refused, and stays: %j", (content, line) => {
  const path = fileWith(content);
  expect(() => addToEnv(path, { B: "2" }, "")).toThrow(`line ${line}:`);
  expect(readFileSync(path, "utf8")).toBe(content);
});

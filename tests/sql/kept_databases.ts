import { afterAll } from "vitest";
import { dropDatabase } from "../harness/database.ts";

/** Databases of one test file, which are dropped at its end. */
export function keptDatabases(): (making: Promise<string>) => Promise<string> {
  const names: string[] = [];
  afterAll(async () => {
    for (const name of names) await dropDatabase(name);
  });
  return async (making) => {
    const name = await making;
    names.push(name);
    return name;
  };
}

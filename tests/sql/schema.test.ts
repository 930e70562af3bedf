import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type Database } from "../harness/database.ts";

const HEADER = `-- The database as the migrations leave it: to read, and to see in a diff what a migration changes. Never edited, never run.
-- Written by \`npm run schema\`.
`;

let database: Database;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

test("supabase/schema.sql is what the migrations make", async () => {
  const query = readFileSync(new URL("../harness/describe_schema.sql", import.meta.url), "utf8");
  const { rows } = await database.admin.query<{ content: string }>(query);
  const schema = [HEADER, ...rows.map(({ content }) => content)].join("\n\n");
  await expect(`${schema}\n`).toMatchFileSnapshot("../../supabase/schema.sql");
});

import pg from "pg";
import { describe, expect, test } from "vitest";
import { databaseUrl } from "../../packages/tools/src/deploy/database_url.ts";

const hosted = {
  database_type: "PRIMARY",
  db_user: "postgres.abcdefghijklmnopqrst",
  db_host: "aws-0-eu-central-1.pooler.supabase.com",
  db_port: 6543,
  db_name: "postgres",
};

describe("a role of a hosted database", () => {
  test("of the functions is at the transaction pooler, by a name that says the project", () => {
    expect(databaseUrl(hosted, "edge_slow", "a/b@c", "transactions")).toBe(
      "postgresql://edge_slow.abcdefghijklmnopqrst:a%2Fb%40c@aws-0-eu-central-1.pooler.supabase.com:6543/postgres",
    );
  });

  test("of an operator is at the session pooler, encrypted", () => {
    const connectionString = databaseUrl(hosted, "operator", "secret", "session");
    const { user, port, ssl } = new pg.Client({ connectionString });
    expect([user, port, ssl]).toEqual(["operator.abcdefghijklmnopqrst", 5432, { rejectUnauthorized: false }]);
  });

  test("has its certificate verified where that of the platform's authority is given", () => {
    const url = databaseUrl(hosted, "operator", "secret", "session", "/keys/prod ca.crt");
    expect(new URL(url).searchParams.get("sslrootcert")).toBe("/keys/prod ca.crt");
    expect(new URL(url).searchParams.get("sslmode")).toBe("verify-full");
  });
});

test("a database of this machine is where it is, and its line is not encrypted", () => {
  const local = { ...hosted, db_user: "postgres", db_host: "127.0.0.1", db_port: 54322 };
  expect(databaseUrl(local, "operator", "secret", "session")).toBe(
    "postgresql://operator:secret@127.0.0.1:54322/postgres",
  );
});

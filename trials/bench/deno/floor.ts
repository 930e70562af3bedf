// The floor that figures are held against: the framework, driver, pool and runtime of a function, one statement a request, and
// nothing of ours. STATEMENTS names the statements; a GET gives one the values of its query, a POST its body as the only one.

import process from "node:process";
import { Hono } from "hono";
import pg from "pg";

const statements: Record<string, string> = JSON.parse(process.env.STATEMENTS ?? "{}");
const pool = new pg.Pool({ connectionString: process.env.EDGE_DATABASE_URL, max: 4 });
const app = new Hono();

app.get("/:name", async (c) => {
  const { rows } = await pool.query(statements[c.req.param("name")] ?? "", Object.values(c.req.query()));
  const [row] = rows;
  // an answer that Postgres has written already is passed on as the text it is
  return row.answer === undefined ? c.json(row) : c.body(row.answer, 200, { "Content-Type": "application/json" });
});

app.post("/:name", async (c) => {
  const { rowCount } = await pool.query(statements[c.req.param("name")] ?? "", [await c.req.text()]);
  return c.json({ rows: rowCount });
});

Deno.serve(app.fetch);

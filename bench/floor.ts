// The floor every figure is held against: the same framework, driver and runtime, one primary-key lookup, and nothing of ours.
// Started by the bench scripts on Deno, with PORT and DATABASE_URL.

import process from "node:process";
import { Hono } from "hono";
// @ts-types="npm:@types/pg@8.23.1"
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 });
const app = new Hono();

app.get("/read", async (c) => {
  const { rows } = await pool.query(
    "select to_json(a) as answer from core.accounts a where a.partner_id = $1 and a.id = $2",
    [c.req.query("partner"), c.req.query("account")],
  );
  return c.json(rows[0].answer);
});

// as many rows as a batch has months, in one statement
app.post("/write", async (c) => {
  const months = await c.req.json();
  const { rowCount } = await pool.query(
    `insert into bench.months (connection_id, period, total_kwh)
     select m.connection_id, m.period, m.total_kwh from jsonb_to_recordset($1::jsonb) as m (connection_id uuid, period date, total_kwh numeric)
     on conflict (connection_id, period) do update set total_kwh = excluded.total_kwh`,
    [JSON.stringify(months)],
  );
  return c.json({ rowCount });
});

Deno.serve(
  { hostname: "127.0.0.1", port: Number(process.env.PORT), onListen: () => console.log("listening") },
  app.fetch,
);

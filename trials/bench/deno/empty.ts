// The least that a function can be: the framework and one route.

import { Hono } from "hono";

const app = new Hono();
app.get("/health", (c) => c.json({ ok: true }));
Deno.serve(app.fetch);

// Writes openapi.json from the endpoints' declarations: `npm run openapi`. A test fails when the committed file is out of date.
import { readFileSync, writeFileSync } from "node:fs";

import type { Surface } from "#shared/http/serve.ts";
import { describe, type Examples } from "./openapi.ts";
import { describeWebhooks } from "./webhooks.ts";

const root = new URL("../../../", import.meta.url);

/** The functions that integrators call, in the order of the document. */
const FUNCTIONS = ["oauth-token", "oauth-authorize", "oauth-revoke", "cpo-v1", "partner", "sandbox", "personal"];

async function surfaceOf(folder: string): Promise<Surface> {
  const { surface } = await import(new URL(`supabase/functions/${folder}/app.ts`, root).href);
  return surface;
}

export async function openapi(): Promise<string> {
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const surfaces = await Promise.all(FUNCTIONS.map(surfaceOf));
  const examples: Examples = JSON.parse(readFileSync(new URL("tests/contract/examples.json", root), "utf8"));
  const webhooks = describeWebhooks();
  const document = await describe(surfaces, { version, server: "https://api.example.com", examples, webhooks });
  return `${written(document)}\n`;
}

const WIDTH = 120;

/** JSON in which an object or a list that fits on one line stands on one. `around` is how much of that line is taken. */
function written(value: unknown, indent = "", around = 0): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((each) => written(each, inner, 1))
    : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${written(each, inner, key.length + 5)}`);
  const line = isList ? `[${parts.join(", ")}]` : parts.length > 0 ? `{ ${parts.join(", ")} }` : "{}";
  if (!line.includes("\n") && indent.length + around + line.length <= WIDTH) return line;
  const [open, close] = isList ? "[]" : "{}";
  return `${open}\n${parts.map((part) => inner + part).join(",\n")}\n${indent}${close}`;
}

if (import.meta.main) writeFileSync(new URL("openapi.json", root), await openapi());

// openapi.json as other programs read it: Spectral, and Prism as a proxy that holds every request and answer against it.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type RulesetDefinition, Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "#local/postgres.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { ENDPOINTS, named, type Sample, samplesFor } from "./samples.ts";

const FILE = fileURLToPath(new URL("../../openapi.json", import.meta.url));
const document = JSON.parse(readFileSync(FILE, "utf8"));

/** Redocly holds the examples against their schemas, in far less time: tests/unit/openapi.test.ts. */
const rules = { "oas3-valid-media-example": "off", "oas3-valid-schema-example": "off" } as const;

test("§9.5 it is good OpenAPI by the recommended rules of Spectral", async () => {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [oas as RulesetDefinition], rules });
  const found = await spectral.run(document);
  expect(found.map(({ code, path, message }) => `${code} ${path.join(".")}: ${message}`)).toEqual([]);
});

let world: OAuth;
let prism: ChildProcess;
let proxy: string;
let sample: (endpoint: (typeof ENDPOINTS)[number]) => Sample;

beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  sample = await samplesFor(world);
  const port = await freePort();
  const program = createRequire(import.meta.url).resolve("@stoplight/prism-cli/dist/index.js");
  const options = ["proxy", "--errors", "--host", "127.0.0.1", "--port", String(port), FILE, world.url];
  prism = spawn(process.execPath, [program, ...options], { stdio: ["ignore", "pipe", "inherit"] });
  proxy = `http://127.0.0.1:${port}`;
  await new Promise<void>((resolve, reject) => {
    prism.stdout?.on("data", (text) => String(text).includes("Prism is listening") && resolve());
    prism.once("exit", (code) => reject(new Error(`Prism ended with ${code}`)));
  });
});
afterAll(async () => {
  prism?.kill();
  await world?.close();
});

const send = ({ method, path, body, token }: Sample) =>
  fetch(`${proxy}${path}`, {
    method,
    headers: {
      ...(body ? { "content-type": typeof body === "string" ? "text/csv" : "application/json" } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    ...(body ? { body: typeof body === "string" ? body : JSON.stringify(body) } : {}),
  });

const described = ENDPOINTS.filter(({ path, method }) => document.paths[path]?.[method.toLowerCase()]);

test.each(named(described))("§9.5 %s: request and answer are as the document says, by Prism", async (_, endpoint) => {
  const response = await send(sample(endpoint));
  const text = await response.text();
  expect([response.status, response.headers.get("sl-violations")], text.slice(0, 2000)).toEqual([
    endpoint.status ?? 200,
    null,
  ]);
});

test("§9.5 Prism notices what the document does not say, or the tests before prove nothing", async () => {
  const deliver = ENDPOINTS.find(({ id }) => id === "deliverMonths");
  if (!deliver) throw new Error("no deliverMonths");
  const response = await send({ ...sample(deliver), body: { account_id: 5 } });
  expect([response.status, JSON.stringify(await response.json())]).toEqual([422, expect.stringContaining("months")]);
});

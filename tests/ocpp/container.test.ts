// The files that packages/gateway/Containerfile copies, installed as it says: they are all that the gateway needs.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";

const containerfile = readFileSync(join(ROOT, "packages/gateway/Containerfile"), "utf8");
const instruction = (name: string) =>
  [...containerfile.matchAll(new RegExp(`^${name} (.+)$`, "gm"))].map(([, text = ""]) => text);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ere-gateway-"));
  for (const copied of instruction("COPY")) {
    const names = copied.split(" ");
    const into = names.pop() ?? "";
    for (const name of names)
      cpSync(join(ROOT, name), join(folder, into === "./" ? name : into), {
        recursive: true,
        filter: (path) => !path.includes("/node_modules"),
      });
  }
  for (const command of instruction("RUN")) {
    const [program = "", ...options] = command.split(" ");
    execFileSync(program, [...options, "--prefer-offline"], { cwd: folder, stdio: "pipe" });
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the container's files start, answer on the second port, and end in order on SIGTERM", async () => {
  const [program = "", ...options]: string[] = JSON.parse(instruction("CMD")[0] ?? "[]");
  expect(program).toBe("node");
  const gateway = spawn(process.execPath, options, {
    cwd: folder,
    env: {
      GATEWAY_FUNCTION_URL: "https://project.example/functions/v1/ocpp",
      GATEWAY_SECRET: "s".repeat(40),
      HOST: "127.0.0.1",
      PORT: "0",
      ADMIN_PORT: "0",
    },
  });
  let said = "";
  gateway.stdout.on("data", (part) => {
    said += part;
  });
  const ended = new Promise((resolve) => gateway.once("exit", resolve));
  await expect.poll(() => said).toContain("admin_port");
  const { admin_port } = JSON.parse(said.split("\n")[0] ?? "");
  expect(await (await fetch(`http://127.0.0.1:${admin_port}/health`)).json()).toEqual({ ok: true, connections: 0 });
  gateway.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(said).toContain('"event":"stopped"');
});

test("a gateway that is not configured says what is missing, and ends", async () => {
  const gateway = spawn(process.execPath, ["packages/gateway/src/main.ts"], { cwd: folder, env: {} });
  let said = "";
  gateway.stderr.on("data", (part) => {
    said += part;
  });
  expect(await new Promise((resolve) => gateway.once("exit", resolve))).toBe(1);
  expect(said).toContain("GATEWAY_FUNCTION_URL");
});

// npm run deploy:new of production: a project, keys and an address of its own, beside the sandbox's files.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys } from "#local/keys.ts";
import { addToEnv } from "../../packages/tools/src/deploy/env_file.ts";
import { type Project, startProject } from "../harness/project.ts";
import { deployOn, PATIENCE_MS, SERVICE, secretsIn } from "./deployment.ts";

let production: Project;
const folder = mkdtempSync(join(tmpdir(), "ere-secrets-"));
const sandbox = newKeys();
beforeAll(async () => {
  production = await startProject();
  addToEnv(join(folder, "sandbox/functions.env"), sandbox, "");
});
afterAll(async () => {
  await production?.stop();
  rmSync(folder, { recursive: true });
});

test(
  "has a project, keys and a partner of its own, says who the service is, and answers at an address of its own",
  async () => {
    const answers = { ...SERVICE, ORGANIZATION: "test", PUBLIC_URL: production.url, PARTNER: "Laadpunt Zuid" };
    addToEnv(join(folder, "production/answers.env"), answers, "");
    const { code, said } = await deployOn(production, ["production", "--secrets", folder, "--yes"]);
    expect(code, said).toBe(0);
    expect(said).toContain(`${production.url} leads to the functions`);
    for (const secret of secretsIn(join(folder, "production"))) expect(said).not.toContain(secret);
    const secrets = Object.fromEntries(production.api.secrets);
    expect(secrets).toMatchObject({ ...SERVICE, API_HOST: "production", BASE_URL: production.url });
    for (const [name, key] of Object.entries(sandbox)) expect([name, secrets[name]]).not.toEqual([name, key]);
    const { rows } = await production.admin.query("select host from core.deployment");
    expect(rows).toEqual([{ host: "production" }]);
  },
  PATIENCE_MS,
);

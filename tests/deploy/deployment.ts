// Runs npm run deploy:new on a platform that stands in for the real one, and reads the files that it leaves.

import { join } from "node:path";
import { readEnv } from "../../packages/tools/src/deploy/env_file.ts";
import { run } from "../../packages/tools/src/deploy/run.ts";
import { bundledCheckout } from "../harness/bundles.ts";
import type { Project } from "../harness/project.ts";

/** A walk runs the CLI four times, and starts every function: a quarter of a minute, on a machine with something else to do much more. */
export const PATIENCE_MS = 300_000;

/** What production says of itself, beside what the sandbox says. */
export const SERVICE = {
  SERVICE_NAME: "ERE Dienst",
  SUPPORT_EMAIL: "hulp@example.nl",
  MAIL_FROM: "ERE Dienst <post@example.nl>",
  SERVICE_ADDRESS: "Stationsplein 8, 3818 LH Amersfoort",
  SERVICE_KVK: "12345678",
  SERVICE_PHONE: "+31 20 123 45 67",
  CONDITIONS_URL: "https://example.nl/voorwaarden",
  PRIVACY_URL: "https://example.nl/privacy",
};

export type Walked = { code: number; said: string };

/** `replies` are what somebody types; without them nobody is there. */
export async function deployOn(
  { api, url }: Project,
  argv: string[],
  replies?: string[],
): Promise<Walked & { asked: string[] }> {
  const said: string[] = [];
  const asked: string[] = [];
  const code = await run(argv, {
    say: (text) => said.push(text),
    ...(replies && {
      ask: async (question) => {
        asked.push(question);
        return replies.shift() ?? "";
      },
    }),
    platform: {
      api_url: api.url,
      project_url: () => url,
      cli: { ...api.environment, SUPABASE_PROFILE: api.profile },
      checkout: bundledCheckout,
      pause: async () => {},
    },
  });
  return { code, said: said.join("\n"), asked };
}

/** Every value of the files that nobody may see. */
export const secretsIn = (folder: string): string[] =>
  ["answers", "functions", "operator", "first_partner"].flatMap((name) =>
    Object.entries(readEnv(join(folder, `${name}.env`))).flatMap(([key, value]) =>
      /PASSWORD|SECRET|_KEYS?$|DATABASE_URL/.test(key) && key !== "PUBLISHABLE_KEY"
        ? [value, URL.parse(value)?.password || value]
        : [],
    ),
  );

// The first answer of a function that was not running, and how large it is.

import { functionFolders, weigh } from "../../packages/tools/src/bundle.ts";
import { type Bench, progress } from "./kit/bench.ts";
import { against, alone, type Finding } from "./kit/findings.ts";
import { type Outgoing, openConnection, wire } from "./kit/load.ts";
import { median } from "./kit/measure.ts";
import { addPartner, addPerson } from "./kit/people.ts";
import { processorTime } from "./kit/processor.ts";
import { tokenRequest } from "./kit/routes.ts";
import { bearer, liftLimits, seed, tokensOf } from "./kit/seed.ts";
import { ownEntry, type Served } from "./kit/serve.ts";
import { type Stack, withStack } from "./kit/stack.ts";

const MEGABYTE = 1_000_000;

export const cold: Bench = {
  about: "process start to first answer of each function, beside an empty Hono function; bytes bundled and minified",
  defaults: { accounts: 10, rounds: 9, seconds: 1 },
  run: ({ accounts, rounds }) =>
    withStack(async (stack) => {
      const usual = await usualRequests(stack, accounts);
      const findings: Finding[] = [];
      for (const slug of functionFolders()) {
        progress(slug);
        const first = usual[slug];
        const starts = await inTurns(
          {
            health: () => firstAnswer(stack.serve(slug), { path: `/${slug}/health` }),
            empty: () => firstAnswer(stack.serveEntry(ownEntry("deno/empty")), { path: "/health" }),
            ...(first && {
              usual: () => firstAnswer(stack.serve(slug, { GATEWAY_SECRET }), first),
              statement: () => firstAnswer(stack.serveFloor({ one: "select 1 as one" }), { path: "/one" }),
            }),
          },
          rounds,
        );
        const compare = (what: string, ours: Start | undefined, floor: Start | undefined, floorWhat: string) => {
          if (!ours || !floor) return;
          const processor_ratio =
            ours.processor_ms && floor.processor_ms ? ours.processor_ms / floor.processor_ms : null;
          const details = { processor_ms: ours.processor_ms, processor_ratio };
          const beside = { what: floorWhat, value: floor.ms };
          findings.push(against(`${slug}: ${what}`, "ms", ours.ms, beside, { at_most: 2 }, details));
        };
        compare("first answer", starts.health, starts.empty, "an empty Hono function");
        // what is loaded late is late for somebody
        compare(
          "first answer to a usual request",
          starts.usual,
          starts.statement,
          "a Hono function that answers one bare statement",
        );
        findings.push(
          alone(`${slug}: bundled and minified`, "bytes", (await weigh(slug)).whole, { at_most: MEGABYTE }),
        );
      }
      return findings;
    }),
};

const GATEWAY_SECRET = "g".repeat(64);

/** What each function is asked most, by its slug: an answer that needs the database, where the function has one. */
async function usualRequests(stack: Stack, accounts: number): Promise<Record<string, Outgoing>> {
  const seeded = await seed(stack.admin, 1, accounts);
  await liftLimits(stack.admin);
  const [token] = await tokensOf(stack, seeded.clients);
  const partner = await addPartner(stack.admin, "bench");
  const person = await addPerson(stack.admin, 1);
  return {
    "cpo-v1": { path: "/v1/ere-positions?cpo_external_ref=bench-1", headers: bearer(token) },
    docs: { path: "/openapi.json" },
    ocpp: {
      method: "POST",
      path: "/ocpp/chargers:admit",
      headers: bearer(GATEWAY_SECRET),
      body: { identity: "bench", password: "" },
    },
    "oauth-token": tokenRequest(seeded, 0),
    pages: { path: "/pages" },
    partner: { path: "/partner/me", headers: bearer(partner.key) },
    personal: { path: "/profile", headers: bearer(person.token) },
    sandbox: { path: "/sandbox/v1/mail", headers: bearer(partner.key) },
  };
}

type Start = { ms: number; processor_ms: number | null };

async function firstAnswer(starting: Promise<Served>, request: Outgoing): Promise<Start> {
  const begun = performance.now();
  const served = await starting;
  const connection = await openConnection(served.url);
  const { status, body } = await connection.send(wire(request));
  const ms = performance.now() - begun;
  const processor_ms = processorTime(served.pid);
  connection.close();
  if (status !== 200) throw new Error(`${request.path} answered ${status}: ${body}`);
  await served.stop();
  return { ms, processor_ms };
}

/** Each once to fill Deno's cache, then all in turn; of each the median, and the mean processor time. */
async function inTurns(
  sides: Record<string, () => Promise<Start>>,
  rounds: number,
): Promise<Record<string, Start | undefined>> {
  const starts: Record<string, Start[]> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, start] of Object.entries(sides)) {
      const one = await start();
      if (round >= 0) starts[name] = [...(starts[name] ?? []), one];
    }
  }
  return Object.fromEntries(
    Object.entries(starts).map(([name, list]) => {
      // the clock ticks in hundredths of a second, of which a start takes a few: only many together say something
      const used = list.reduce((sum, { processor_ms }) => sum + (processor_ms ?? Number.NaN), 0) / list.length;
      return [name, { ms: median(list, ({ ms }) => ms).ms, processor_ms: Number.isNaN(used) ? null : used }];
    }),
  );
}

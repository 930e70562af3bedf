// Lists on a read replica, and what the primary has left for writes meanwhile.

import { readFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { batches } from "./batch.ts";
import { type Bench, progress } from "./kit/bench.ts";
import { alone, durationAgainst, type Finding, rateAgainst } from "./kit/findings.ts";
import { load, wire } from "./kit/load.ts";
import { type Contender, median, requests, takeTurns } from "./kit/measure.ts";
import { bearer, inTurn, liftLimits, seed, tokensOf } from "./kit/seed.ts";
import type { Served } from "./kit/serve.ts";
import { type Stack, withStack } from "./kit/stack.ts";

const CLIENTS = 50;
const LISTS = 16;
const MONTHS = 12;
const PATH = "/v1/ere-positions?limit=200";

export const replica: Bench = {
  about: "lists on a read replica beside the primary, and a primary's batches while lists run on either",
  defaults: { accounts: 20_000, rounds: 7, seconds: 2 },
  run: (options) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, CLIENTS, options.accounts);
      await liftLimits(stack.admin);
      const tokens = await tokensOf(stack, seeded.clients);
      const follower = await stack.replica();
      const serving = async () => ({
        primary: await stack.serve("cpo-v1"),
        replica: await stack.serve("cpo-v1", { EDGE_REPLICA_DATABASE_URL: follower.url }),
      });
      const next = inTurn(tokens.map((token) => wire({ path: PATH, headers: bearer(token) })));
      const reading = await serving();
      const lists = (its: Served, concurrency: number) => requests(stack, its, { url: its.url, next, concurrency });
      progress("lists");
      const single = await takeTurns({ ours: lists(reading.replica, 1), primary: lists(reading.primary, 1) }, options);
      const many = await takeTurns(
        { ours: lists(reading.replica, LISTS), primary: lists(reading.primary, LISTS) },
        options,
      );

      progress("writes beside lists");
      // hosted the replica and the functions of others have cores of their own: here they get what the writes leave
      leaveToOthers(follower.pid);
      const listing = await serving();
      for (const { pid } of Object.values(listing)) leaveToOthers(pid);
      const writes = batches(stack, await stack.serve("cpo-v1"), seeded, tokens, MONTHS);
      const rates = { primary: [] as number[], replica: [] as number[] };
      const beside =
        (name: keyof typeof rates): Contender =>
        async (seconds) => {
          // a little before the writes begin, and after they end
          const running = load({ url: listing[name].url, next, concurrency: LISTS }, seconds + 0.4);
          await sleep(200);
          const figures = await writes(seconds);
          const { took, seconds: lasted } = await running;
          rates[name].push(took.length / lasted);
          return figures;
        };
      const rateOf = (name: keyof typeof rates) => median(rates[name], (rate) => rate);
      const turns = await takeTurns(
        { without: writes, onReplica: beside("replica"), onPrimary: beside("primary") },
        options,
      );
      const writesWhat = `POST /v1/sessions:batch of ${MONTHS} months, 16 at once, while ${LISTS} lists run`;
      const ofAlone = { what: "the same without lists", figures: turns.without };
      const findings: Finding[] = [
        durationAgainst(
          `p50 of GET ${PATH} on the replica, one at a time`,
          single.ours,
          { what: "on the primary", figures: single.primary },
          "p50_ms",
          { at_most: 1.5 },
        ),
        rateAgainst(
          `GET ${PATH} on the replica, ${LISTS} at once`,
          "lists/s",
          many.ours,
          { what: "on the primary", figures: many.primary },
          null,
        ),
        alone(
          "processor time of the primary's Postgres for a list on the replica",
          "us",
          many.ours.postgres_us ?? 0,
          null,
          { on_the_primary: many.primary.postgres_us },
        ),
        rateAgainst(`${writesWhat} on the replica`, "batches/s", turns.onReplica, ofAlone, { at_least: 0.9 }),
        rateAgainst(`${writesWhat} on the primary`, "batches/s", turns.onPrimary, ofAlone, null),
        alone("lists on the replica meanwhile", "lists/s", rateOf("replica"), null, {
          on_the_primary: rateOf("primary"),
        }),
        alone("lists that the replica answered", "of all", shareOf(stack, [reading.replica, listing.replica]), {
          at_least: 0.9,
        }),
      ];
      return findings;
    }),
};

/** What a process starts from now on runs when nobody else wants the processor, and so does its first thread. */
const leaveToOthers = (pid: number) => setPriority(pid, constants.priority.PRIORITY_LOW);

/** By their logs, which have one in twenty requests that succeed. */
function shareOf({ folder }: Stack, served: Served[]): number {
  const logs = served.map(({ url }) => readFileSync(join(folder, `served-${new URL(url).port}.log`), "utf8"));
  const lists = logs.flatMap((log) => log.split("\n")).filter((line) => line.includes('"endpoint":"listErePositions"'));
  return lists.filter((line) => line.includes('"read_on":"replica"')).length / lists.length;
}

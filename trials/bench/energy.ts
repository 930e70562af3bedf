// What ten years of charging cost a person who looks at their own: all read monthly totals, so nothing should.

import type { Bench } from "./kit/bench.ts";
import { against, alone, rateAgainst } from "./kit/findings.ts";
import { wire } from "./kit/load.ts";
import { requests, takeTurns } from "./kit/measure.ts";
import { addPerson } from "./kit/people.ts";
import { bearer, liftLimits } from "./kit/seed.ts";
import { withStack } from "./kit/stack.ts";

const CONCURRENCY = 8;

export const energy: Bench = {
  about: "a person's energy, position, sessions and pages after ten years of charging, beside after one month",
  defaults: { accounts: 1, rounds: 11, seconds: 0.5 },
  run: (options) =>
    withStack(async (stack) => {
      await liftLimits(stack.admin);
      const decade = await addPerson(stack.admin, 3650);
      const month = await addPerson(stack.admin, 30);
      await stack.admin.query("vacuum (analyze)");
      const ours = await stack.serve("personal");
      const findings = [
        alone("charging sessions taken in, 5,000 a batch", "sessions/s", decade.sessions / decade.seconds, null),
      ];
      for (const path of ["/energy", "/ere-position", "/sessions?limit=20"]) {
        const asked = (token: string) =>
          requests(stack, ours, {
            url: ours.url,
            next: () => wire({ path, headers: bearer(token) }),
            concurrency: CONCURRENCY,
          });
        const turns = await takeTurns({ decade: asked(decade.token), month: asked(month.token) }, options);
        findings.push(
          rateAgainst(
            `GET ${path} after ten years, ${CONCURRENCY} at once`,
            "requests/s",
            turns.decade,
            { what: "the same after one month", figures: turns.month },
            { at_least: 0.8 },
          ),
        );
      }
      const pages = await stack.serve("pages");
      // the second has twelve months to show where the other has one or two
      for (const [path, target] of [
        ["/pages/mijn", { at_most: 1.5 }],
        ["/pages/mijn/charging", null],
      ] as const) {
        // one at a time: what somebody waits who opens it
        const asked = (secret: string) =>
          requests(stack, pages, {
            url: pages.url,
            next: () => wire({ path, headers: { cookie: `mijn=${secret}` } }),
            concurrency: 1,
          });
        const turns = await takeTurns({ decade: asked(decade.page_secret), month: asked(month.page_secret) }, options);
        const { p50_ms: floor } = turns.month;
        const { p50_ms, served_us, postgres_us } = turns.decade;
        findings.push(
          against(`${path} after ten years`, "ms", p50_ms, { what: "the same after one month", value: floor }, target, {
            served_us,
            postgres_us,
          }),
        );
      }
      return findings;
    }),
};

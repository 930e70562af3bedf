// What Postgres writes to its log: nothing that somebody without a credential can fill it with, and no address of a person.

import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serve } from "#shared/http/serve.ts";
import { surface as ocpi } from "../../supabase/functions/ocpi/app.ts";
import { surface as pages } from "../../supabase/functions/pages/app.ts";
import { PATH } from "../../supabase/functions/pages/portal/sql.ts";
import { BASE_URL } from "../harness/environment.ts";
import { formToken } from "../pages/claimant.ts";
import { newManager, portal, portalBrowser } from "../pages/manager.ts";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
});
afterAll(() => world.close());

/** What the backends of this database wrote to the log meanwhile. Other tests write to the same file. */
async function loggedDuring(run: () => Promise<unknown>): Promise<string[]> {
  const { folder } = await world.row("select current_setting('data_directory') as folder");
  const log = () => readFileSync(`${folder}/postgres.log`, "utf8");
  const before = log().length;
  await run();
  const { pids } = await world.row(
    "select array_agg(pid) as pids from pg_stat_activity where datname = current_database()",
  );
  const ours = new RegExp(`\\[(${pids.join("|")})\\] (ERROR|FATAL|DETAIL|STATEMENT)`);
  return log()
    .slice(before)
    .split("\n")
    .filter((line) => ours.test(line));
}

const secret = () => randomBytes(32).toString("hex");

test("contract §1 the log is where this looks, and an error of one of our connections is in it", async () => {
  const failing = () => world.environment.db.call("no_such_function", {}).catch(() => {});
  expect((await loggedDuring(failing)).join()).toContain("ERROR:  function api.no_such_function");
});

test("contract §1 attack: made-up keys, tokens and secrets are refused on every surface, and Postgres logs no line of them", async () => {
  const { KEY_PREFIX, PAGES_URL } = world.environment.config;
  const made = [
    ...["/v1/accounts", "/partner/me", "/profile", "/tokens", "/sandbox/v1/mail"].flatMap((path) =>
      ["test", "live", "pat"].map((kind) => ({ path, bearer: () => `${KEY_PREFIX}_${kind}_${secret()}` })),
    ),
    { path: "/v1/accounts", bearer: () => secret() },
  ];
  const others = [serve(ocpi, world.environment), serve(pages, world.environment)];
  const statuses = new Set<number>();
  const lines = await loggedDuring(async () => {
    for (let time = 0; time < 50; time += 1) {
      const answers = await Promise.all([
        ...made.map(({ path, bearer }) => world.send(path, { token: bearer() })),
        world.post("/v1/accounts", { cpo_external_ref: "x" }, `${KEY_PREFIX}_test_${secret()}`),
        ...["/oauth-token", "/oauth-revoke"].map((path) =>
          world.send(path, {
            method: "POST",
            headers: { "content-type": "application/x-www-form-urlencoded" },
            raw: new URLSearchParams({
              grant_type: "client_credentials",
              token: secret(),
              client_id: time % 2 ? "nobody" : world.partnerA.client.client_id,
              client_secret: secret(),
            }),
          }),
        ),
        others[0]?.fetch(
          new Request(new URL("/ocpi/2.2.1/credentials", BASE_URL), {
            headers: { authorization: `Token ${secret()}` },
          }),
        ),
      ]);
      for (const answer of answers) statuses.add(answer?.status ?? 0);
      const page = await others[1]?.fetch(
        new Request(`${PAGES_URL}${PATH}`, {
          headers: { cookie: `${PATH.slice(1)}=${secret()}`, "x-forwarded-for": "192.0.2.1" },
        }),
      );
      statuses.add(page?.status ?? 0);
    }
  });
  expect([...statuses].sort()).toEqual([303, 401]);
  expect(lines).toEqual([]);
});

test("contract §1 attack: an address that is imported and invited many times at once is in no error that Postgres logs", async () => {
  const email = `sanne-${randomUUID()}@example.nl`;
  const rows = [email, email.toUpperCase()].map((each) => ({ naam: "Sanne de Vries", email: each }));
  const ask = await portalBrowser(world, await newManager(world, world.partnerA));
  const page = portal(world, "/settings/colleagues");
  const shown = [await ask(page), await ask(page), await ask(page)];
  const invite = ({ text }: { text: string }) => {
    const once = /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "";
    return ask(page, { form: { form_token: formToken(text), once, email } });
  };
  const lines = await loggedDuring(async () => {
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, (_, n) =>
        world.post("/partner/drafts/import", { consent: true, rows }, n % 2 ? world.keyA : world.keyB),
      ),
      ...shown.map(invite),
    ]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
  expect(await world.rows("select partner_id from core.drafts where email = $1", email)).toHaveLength(1);
  expect(
    await world.rows("select id from core.manager_invitations where email = $1 and withdrawn_at is null", email),
  ).toHaveLength(1);
  expect(lines).toEqual([]);
});

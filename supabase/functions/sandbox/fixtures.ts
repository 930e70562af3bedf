import { createHash } from "node:crypto";
import { claimKey, claimLinks } from "#shared/domain/claim/links.ts";
import { COUNTERS } from "#shared/domain/import/model.ts";
import { ApiError, wireText } from "#shared/foundation/errors.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { CALLER } from "./caller.ts";
import { ChargerProfile, SyncResult } from "./charger_profile.ts";
import {
  endMandate,
  REHEARSAL_ERRORS,
  REHEARSAL_SQL,
  type Rehearsed,
  rehearse,
  TEST,
  type Wishes,
} from "./rehearsal.ts";

type Recipe = {
  ean: string;
  wishes?: Partial<Pick<Wishes, "iban">> & { mid?: boolean };
  /** What happens once the customer has submitted. */
  ending?: "goedgekeurd" | "afgekeurd" | "revoke";
};

const UNVERIFIED = "871687000000000023";

const RECIPES = {
  eligible: { ean: TEST.ean, ending: "goedgekeurd" },
  rejected: { ean: TEST.ean, ending: "afgekeurd" },
  no_mandate: { ean: TEST.ean, ending: "revoke" },
  ean_unverified: { ean: UNVERIFIED },
  no_mid_charger: { ean: TEST.ean, wishes: { mid: false } },
  no_iban: { ean: TEST.ean, wishes: { iban: null } },
} as const satisfies Record<string, Recipe>;
type State = keyof typeof RECIPES;
const STATES = Object.keys(RECIPES) as State[];
const isState = (value: unknown): value is State => typeof value === "string" && Object.hasOwn(RECIPES, value);

const Fixture = z.object({
  state: z.string().meta({ description: "The state you asked for" }),
  ok: z.boolean().meta({ description: "Whether it was created" }),
  account_id: z.guid().nullable().meta({ description: "The account" }),
  email: z.string().meta({ description: "E-mail address" }),
  ean: z.string().meta({ description: "EAN of the connection, 18 digits" }),
  sync: SyncResult.nullable().meta({ description: "The sessions that were collected from the charger" }),
  error: z.string().nullable().meta({ description: "The error's name; null if the state was created" }),
});

export const createFixtures = endpoint(
  {
    id: "createSandboxFixtures",
    summary: "Create one customer in each of six states",
    description:
      "eligible: all gates are open and the registration is approved; rejected: it is rejected; no_mandate: the " +
      "customer ended the mandate; ean_unverified: the EAN register did not respond; no_mid_charger: the charger " +
      "has no MID meter; no_iban: there is no IBAN to pay to. Each customer is claimed, signed and submitted like " +
      "any other, with external_ref FIXTURE-<STATE>. Registrations that are not decided here are reviewed after 2 " +
      "minutes. A repeat replaces the customer of that state. If one state fails, its row says so, and the others " +
      "are created.",
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: [...REHEARSAL_SQL, "clear_fixture", "import_drafts", "review_customer"] as const,
    body: z
      .object({
        states: z
          .array(z.unknown())
          .max(100)
          .nullish()
          .meta({
            override: { type: "array", items: { type: "string", enum: STATES } },
            description: "All six if omitted",
          }),
      })
      .meta({ id: "CreateSandboxFixtures" }),
    bodyOptional: true,
    response: z
      .object({ fixtures: z.array(Fixture).meta({ description: "One customer per state" }) })
      .meta({ id: "SandboxFixtures" }),
    errors: ["unknown_state", ...REHEARSAL_ERRORS, "nothing_to_review"],
    failure: "sandbox_step_failed",
  },
  async ({ body, call, environment, admitted, address, fail }) => {
    const unknown = body.states?.filter((state) => !isState(state)) ?? [];
    if (unknown.length > 0)
      return fail("unknown_state", {
        unknown: unknown.map((state) => (typeof state === "string" ? state : JSON.stringify(state)).slice(0, 40)),
      });
    const states = [...new Set(body.states ?? STATES)].filter(isState);
    const caller = await admitted();

    const create = async (state: State, email: string): Promise<Rehearsed> => {
      const { ean, wishes = {}, ending }: Recipe = RECIPES[state];
      const external_ref = `FIXTURE-${state.toUpperCase()}`;
      await call("clear_fixture", { external_ref, email, key: claimKey(environment) });
      const row = { place: 1, email, type: "particulier", name: `Fixture ${state}`, external_ref, ean };
      const imported = JSON.parse(
        await call("import_drafts", {
          source: "api",
          send_invite: false,
          rows: [{ ...row, postal_code: TEST.postal_code, house_number: TEST.house_number, city: TEST.city }],
          over_request_limit: 0,
          counters: COUNTERS,
          links: claimLinks(environment),
        }),
      );
      const [draft] = imported.created;
      if (!draft?.draft_id) throw new ImportRefused(imported.rejected[0]?.reason);
      const { mid = true, iban } = wishes;
      const context = { environment, caller, address, call };
      const rehearsed = await rehearse(context, draft.draft_id, {
        ...{ submit: true, iban, ean: null, phone: null, street: null },
        profile: ChargerProfile.parse({ mid }),
      });
      const customer = { id: rehearsed.account_id, key: claimKey(environment) };
      if (ending === "revoke") await endMandate(context, rehearsed);
      else if (ending) await call("review_customer", { ...customer, outcome: ending });
      return rehearsed;
    };

    const fixtures: z.output<typeof Fixture>[] = [];
    let failure: unknown;
    for (const state of states) {
      const email = emailOf(state, caller.partner_id ?? "");
      const { ean } = RECIPES[state];
      try {
        const { account_id, sync } = await create(state, email);
        fixtures.push({ state, ok: true, account_id, email, ean, sync, error: null });
      } catch (error) {
        failure = error;
        const { request_id } = caller;
        environment.log({ level: "warn", event: "fixture_failed", request_id, state, ...describeCause(error) });
        fixtures.push({ state, ok: false, account_id: null, email, ean, sync: null, error: reasonOf(error) });
      }
    }
    // where everything failed and the fault is ours, the answer is that failure and no rows
    const ours = !(failure instanceof ImportRefused || (failure instanceof ApiError && failure.status < 500));
    if (ours && fixtures.length > 0 && fixtures.every(({ ok }) => !ok)) throw failure;
    return { fixtures };
  },
);

/** The import makes no such draft: its counter says why. */
class ImportRefused extends Error {}

function reasonOf(error: unknown): string {
  if (error instanceof ImportRefused) return error.message;
  return wireText(error instanceof ApiError ? error.code : "sandbox_step_failed");
}

/** Logins belong to a whole host, so each partner's fixtures have addresses of their own. */
function emailOf(state: State, partner_id: string): string {
  const partner = createHash("sha256").update(partner_id).digest("hex").slice(0, 12);
  return `fixture-${state.replaceAll("_", "-")}.${partner}@example.com`;
}

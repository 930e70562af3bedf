import { hashAddress } from "#shared/auth/tokens.ts";
import type { EanRegisterAddress } from "#shared/domain/answers.ts";
import { ClaimFlow, type CodePurpose, type Kept, REFUSALS } from "#shared/domain/claim/flow.ts";
import { claimKey, mac, PEOPLE_TENANT } from "#shared/domain/claim/links.ts";
import { STEP_NAMES, type StepName } from "#shared/domain/claim/model.ts";
import { eanRegisterOf } from "#shared/domain/ean_register/ean_register.ts";
import type { Call, SqlAnswer } from "#shared/foundation/answers.ts";
import { attempt } from "#shared/foundation/attempt.ts";
import type { Caller } from "#shared/foundation/caller.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError, ERRORS } from "#shared/foundation/errors.ts";
import { sealIban } from "#shared/values/iban.ts";
import type { Rehearsal } from "./answers.ts";
import type { ChargerProfile } from "./charger_profile.ts";

/** The customer's data if neither the draft nor the caller gives it (docs/decisions.md §5). */
export const TEST = {
  full_name: "Test Klant",
  company_name: "Testbedrijf",
  kvk: "12345678",
  phone: "+31612345678",
  street: "Teststraat",
  city: "Teststad",
  postal_code: "1234AB",
  house_number: 1,
  ean: "871687000000000016",
  iban: "NL91ABNA0417164300",
} as const;

export const REHEARSAL_SQL = [
  "find_rehearsal",
  "settle_rehearsal",
  "connect_virtual_charger",
  "sync_customer",
] as const;

/** What a rehearsal may run into. */
export const REHEARSAL_ERRORS = [
  "draft_not_found",
  "draft_not_claimable",
  "unsupported_type",
  "ean_address_mismatch",
  "charger_claimed",
  "charger_limit_reached",
  "catalog_unresolved",
  "customer_not_found",
  "no_connection",
] as const;

/** What the caller wants of the customer. iban null: no IBAN. undefined: the test IBAN, if one is needed. */
export type Wishes = {
  submit: boolean;
  iban: string | null | undefined;
  ean: string | null;
  phone: string | null;
  street: string | null;
  profile: ChargerProfile;
};

type StepResult = "done" | "already_done" | "skipped";
type Sync = SqlAnswer<"sync_customer">;
type Draft = Rehearsal;
/** Of a customer who has signed. */
type Active = Draft & {
  draft_status: "active";
  account_id: string;
  customer_ref: string;
  registration_status: NonNullable<Draft["registration_status"]>;
};
export type Rehearsed = Active & {
  steps: { claim: StepResult; activate: StepResult; submit: StepResult; iban: StepResult };
  sync: Sync | null;
};

type Step = "claim" | "activate" | "submit" | "iban" | "charger" | "sync";
/** By whom and from where a rehearsal was asked for, and what it may run. */
type RehearsalContext = {
  environment: Environment;
  caller: Caller;
  address: string;
  call: Call<(typeof REHEARSAL_SQL)[number]>;
};

/** How often a step is begun again because somebody on the claim pages moved the draft meanwhile. */
const ATTEMPTS = 8;
/** How long a rehearsal waits for another of the same draft, and how often it looks. */
const WAIT_MS = 8_500;
const LOOK_MS = 150;

/**
 * Acts as the customer of a draft, from the step it has reached. It proves the address with the mailed code, confirms
 * every page, signs, and connects a virtual charger. A completed step is reported and skipped. A step that fails is
 * named, and earlier steps stay.
 * @throws {ApiError} `draft_not_found`, `unsupported_type`, or the error of a step, with its `step`.
 */
export async function rehearse(context: RehearsalContext, id: string, wishes: Wishes): Promise<Rehearsed> {
  const { call, environment } = context;
  const key = claimKey(environment);
  const lease = crypto.randomUUID();
  const find = async (named: string, more: { profile?: ChargerProfile; leave?: true } = {}): Promise<Draft> =>
    JSON.parse(await call("find_rehearsal", { id: named, key, lease, ...more }));
  const iban = wishes.iban === undefined && wishes.submit ? TEST.iban : (wishes.iban ?? null);
  const isDone = ({ stage, iban_present, charger }: Draft) =>
    stage === "active" && (!iban || iban_present) && (!wishes.submit || charger);

  const deadline = performance.now() + WAIT_MS;
  let draft = await find(id, wishes.submit ? { profile: wishes.profile } : {});
  while (!draft.held && !isDone(draft)) {
    if (performance.now() > deadline)
      throw new ApiError("service_unavailable", {}, new Error("another rehearsal of the draft goes on"));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    draft = await find(draft.draft_id);
  }
  try {
    return await play(context, draft, wishes, iban, find);
  } catch (error) {
    // where this fails too, the lease ends by itself
    await find(draft.draft_id, { leave: true }).catch(() => {});
    throw error;
  }
}

/** The steps of a rehearsal that holds the draft, or has nothing to move. */
async function play(
  context: RehearsalContext,
  found: Draft,
  wishes: Wishes,
  iban: string | null,
  find: (draft_id: string, more?: { leave: true }) => Promise<Draft>,
): Promise<Rehearsed> {
  const { call, environment } = context;
  let draft = found;
  if (wishes.submit && draft.type !== "particulier") throw new ApiError("unsupported_type");
  const steps: Rehearsed["steps"] = {
    claim: "already_done",
    activate: "already_done",
    submit: "skipped",
    iban: "skipped",
  };

  for (let turn = 0; ; turn += 1) {
    const step = draft.stage === "claimed" ? "activate" : "claim";
    await during(step, () => enter(context, draft, wishes.ean));
    if (draft.stage === "active") break;
    if (turn === ATTEMPTS)
      throw new ApiError("sandbox_step_failed", { step }, new Error(`somebody moved the draft ${ATTEMPTS} times`));
    const moved = await during(step, () =>
      step === "claim" ? claim(context, draft) : activate(context, draft, wishes, iban),
    );
    if (moved) steps[step] = "done";
    draft = await find(draft.draft_id);
  }
  if (iban) {
    const missing = !draft.iban_present;
    if (missing) await during("iban", () => addIban(context, draft, iban));
    steps.iban = missing || steps.activate === "done" ? "done" : "already_done";
  }

  let sync: Sync | null = null;
  if (wishes.submit) {
    const customer = { id: draft.account_id, key: claimKey(environment) };
    steps.submit = draft.charger ? "already_done" : "done";
    if (!draft.charger)
      await during("charger", () => call("connect_virtual_charger", { ...customer, profile: wishes.profile }));
    sync = await during("sync", async () => JSON.parse(await call("sync_customer", customer)));
  }
  draft = await find(draft.draft_id, { leave: true });
  if (!isActive(draft)) throw new Error("a rehearsal ended without an account");
  return { ...draft, steps, sync };
}

const isActive = (draft: Draft): draft is Active =>
  draft.draft_status === "active" && Boolean(draft.account_id && draft.customer_ref && draft.registration_status);

/** Names the step that failed. An error that is not a refusal is our failure, and its cause goes to the log. */
export async function during<T>(step: Step, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ApiError)) throw new ApiError("sandbox_step_failed", { step }, error);
    throw new ApiError(error.code, { ...error.fields, step }, error.cause, error.rate);
  }
}

const NOT_CLAIMABLE = {
  expired: "The draft expired 60 days after it was made; withdraw it and make it again.",
  conflict:
    "The address has a login of its own or belongs to another partner, or the EAN is held by another connection.",
  banned_login: "The login of its customer is banned.",
  existing_login: "The address has a login that no claim of yours made, and the helper enters nobody else's account.",
} as const;

function notClaimable(status: Draft["draft_status"], reason: keyof typeof NOT_CLAIMABLE): ApiError {
  const detail = `${ERRORS.draft_not_claimable.detail} ${NOT_CLAIMABLE[reason]}`;
  return new ApiError("draft_not_claimable", { detail, status, draft_status: status, reason });
}

/**
 * However far the claim is: only a login that a claim of the caller made is entered. Where the pages would end the draft in
 * conflict it does too, and an EAN that is given is judged like an uploaded one.
 */
async function enter(context: RehearsalContext, draft: Draft, ean: string | null): Promise<void> {
  const { draft_status, foreign_login, banned_login } = draft;
  if (draft_status === "expired" || draft_status === "conflict") throw notClaimable(draft_status, draft_status);
  if (draft_status !== "active") await settle(context, draft, ean);
  if (foreign_login) throw notClaimable(draft_status, "existing_login");
  if (banned_login) throw notClaimable(draft_status, "banned_login");
}

async function settle({ call }: RehearsalContext, { draft_id }: Draft, ean: string | null): Promise<void> {
  const { refused } = await attempt(call("settle_rehearsal", { draft_id, ean }), ["draft_not_claimable"]);
  if (refused) throw notClaimable("conflict", "conflict");
}

/**
 * The code of a rehearsal is the same each time, and mailed only while it is needed. So callers who play one draft at
 * once do not void each other's code. It is checked like any other code.
 */
function codeOf(environment: Environment, draft: Draft, purpose: CodePurpose): string {
  const digest = mac(environment, `rehearsal:${draft.draft_id}:${purpose}`);
  return String([...digest].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 1_000_000, 0)).padStart(
    6,
    "0",
  );
}

const STAGES = { prove: "invited", sign: "claimed", iban: "active", revoke: "active" } as const;

/** Mails the code and reads it; null when somebody moved the draft meanwhile. */
async function mailedCode(flow: ClaimFlow, draft: Draft, purpose: CodePurpose): Promise<string | null> {
  const code = codeOf(flow.environment, draft, purpose);
  const stage = STAGES[purpose];
  const { refused } = await attempt(
    flow.sendCode(purpose, draft.locale, draft.brand, { code, stage }),
    REFUSALS.sendCode,
  );
  return refused ? null : code;
}

/** Each request counts as another visitor, because the limit of the partner's key counts requests already. */
const visitorOf = ({ environment, caller }: RehearsalContext) =>
  hashAddress(environment, `sandbox:${caller.request_id}`);

/** What the customer does, with the helper as who does it. */
const flowOf = ({ environment, caller }: RehearsalContext, { draft_id }: Draft) =>
  new ClaimFlow(environment, caller.request_id, draft_id, { kind: "sandbox" });

/** Whether it was this call that proved the address; false when somebody moved the draft meanwhile. */
async function claim(context: RehearsalContext, draft: Draft): Promise<boolean> {
  const flow = flowOf(context, draft);
  const code = await mailedCode(flow, draft, "prove");
  if (code === null) return false;
  const { refused } = await attempt(flow.prove(code, visitorOf(context)), REFUSALS.prove);
  if (refused?.code === "claim_conflict") throw notClaimable("conflict", "conflict");
  return !refused;
}

/** Confirms open answers, changes answers that the caller wants to change, and signs. False as for claim(). */
async function activate(
  context: RehearsalContext,
  draft: Draft,
  wishes: Wishes,
  iban: string | null,
): Promise<boolean> {
  const flow = flowOf(context, draft);
  const wanted = new Set<StepName>([
    ...(wishes.phone ? ["details" as const] : []),
    ...(wishes.street ? ["address" as const] : []),
    ...(wishes.ean ? ["ean" as const] : []),
    ...(wishes.iban !== undefined || iban ? ["payout" as const] : []),
  ]);
  const answers = answersOf(draft, wishes);
  for (const step of STEP_NAMES) {
    if (step === "company" && draft.type === "particulier") continue;
    if (draft.confirmed.includes(step) && !wanted.has(step)) continue;
    const kept = await answers[step](context.environment, iban);
    const { refused } = await attempt(flow.save(step, kept), ["claim_not_open", "ean_in_use"]);
    // what came to be in use meanwhile, or is in use at the address
    if (refused?.code === "ean_in_use") await settle(context, draft, String(kept.answers.ean_code));
    if (refused) return false;
  }

  const code = await mailedCode(flow, draft, "sign");
  const { facts, periods = [] } = await flow.open({
    address_hash: visitorOf(context),
    session: { proved_by: "code", stage: "claimed" },
  });
  const [period] = periods; // the shortest, which the pages preselect too
  if (!code || !facts || !period) return false;
  const { brand, locale } = draft;
  const signature = { signed_name: facts.full_name, address: context.address, user_agent: "sandbox" };
  const { refused } = await attempt(
    flow.sign({ facts: { ...facts, ...period }, brand, code, locale, ...signature }),
    REFUSALS.sign,
  );
  if (refused?.code === "claim_conflict") throw notClaimable("conflict", "conflict");
  if (refused?.code === "charger_claimed") throw refused;
  return !refused;
}

/** Ends the mandate as the customer does, by a code; a draft that somebody moved meanwhile is left. */
export async function endMandate(context: RehearsalContext, draft: Draft): Promise<void> {
  const flow = flowOf(context, draft);
  const code = await mailedCode(flow, draft, "revoke");
  if (code) await attempt(flow.revoke(code), REFUSALS.revoke);
}

/** Of a customer who signed without. */
async function addIban(context: RehearsalContext, draft: Draft, iban: string): Promise<void> {
  const kept = { answers: {}, iban: sealIban(context.environment, PEOPLE_TENANT, iban), missing: true };
  // where somebody moved the draft meanwhile, the answer shows it
  await attempt(flowOf(context, draft).complete("payout", kept, draft.locale, draft.brand), ["claim_not_open"]);
}

type Answerer = (environment: Environment, iban: string | null) => Kept | Promise<Kept>;

/** What the customer answers on each page: what is known of them, what the caller wants, and test values for the rest. */
function answersOf({ type, answers: known, candidates }: Draft, wishes: Wishes): Record<StepName, Answerer> {
  const address: EanRegisterAddress = {
    postal_code: String(known.postal_code ?? TEST.postal_code),
    house_number: Number(known.house_number ?? TEST.house_number),
    house_number_addition: known.house_number_addition == null ? null : String(known.house_number_addition),
  };
  const ean_code = wishes.ean ?? known.ean_code ?? candidates[0]?.ean_code ?? TEST.ean;
  return {
    details: () => ({
      answers: { type, full_name: known.full_name ?? TEST.full_name, phone: wishes.phone ?? known.phone ?? TEST.phone },
    }),
    company: () => ({
      answers: {
        company_name: known.company_name ?? TEST.company_name,
        kvk: known.kvk ?? (type === "zakelijk" ? TEST.kvk : null),
        vat: known.vat,
      },
    }),
    address: async (environment) => ({
      answers: { ...address, street: wishes.street ?? known.street ?? TEST.street, city: known.city ?? TEST.city },
      ean_register: await eanRegisterOf(environment).lookup(address),
    }),
    ean: async (environment) => ({
      answers: { ean_code },
      ean_register: await eanRegisterOf(environment).lookup(address, String(ean_code)),
    }),
    payout: (environment, iban) =>
      iban ? { answers: {}, iban: sealIban(environment, PEOPLE_TENANT, iban) } : { answers: {}, later: true },
    charger: () => ({ answers: { catalog_charger_id: null, serial_number: null } }),
  };
}

// What the tests of the sandbox helpers need: a world with Supabase Auth beside it, two partners with keys, and what a person finds
// in the database afterwards.

import { expect } from "vitest";
import type { Answer } from "../harness/answers.ts";
import type { WorldOptions } from "../harness/world.ts";
import { type ClaimWorld, createClaimWorld } from "../pages/claimant.ts";
import { draftRow, giveKey } from "../partner/partner_world.ts";

export type SandboxWorld = ClaimWorld & {
  keyA: string;
  keyB: string;
  /** One imported draft, as an integrator makes it. */
  draft: (fields?: Record<string, unknown>, key?: string) => Promise<Imported>;
  claim: (id: string, body?: unknown, key?: string) => Promise<Answer>;
  /** Claimed and submitted, as the helper says it. */
  customer: (fields?: Record<string, unknown>, body?: Record<string, unknown>, key?: string) => Promise<Answer["body"]>;
  /** POST /sandbox/v1/customers/{id}/{helper}. */
  play: (
    id: string,
    helper: "chargers" | "sync" | "review" | "sign" | "expire-mandate",
    body?: unknown,
    key?: string,
  ) => Promise<Answer>;
  reset: (key?: string) => Promise<Answer>;
  /** The worker's run, with what it counted. */
  work: () => Promise<Record<string, number>>;
  /** Every row of a statement. */
  // biome-ignore lint/suspicious/noExplicitAny: a test names the columns it selects
  rows: (statement: string, ...values: unknown[]) => Promise<any[]>;
};
export type Imported = { draft_id: string; email: string; claim_url: string; ean_status: string };

export const START = "2026-11-20T12:00:00Z";
/** START and so many seconds. */
export const later = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();
/** The n-th EAN test value's code: 16, 23, 30, 47, 54 or 61. */
export const testEan = (ending: number) => `8716870000000000${ending}`;

/** The clock stands still at START, so that what is generated does not depend on the day the tests run. */
export async function createSandboxWorld(options: WorldOptions = {}): Promise<SandboxWorld> {
  const world = await createClaimWorld({
    limits: { lifted: ["page", "sandbox", "partner_read", "partner_write", "partner_import"] },
    now: START,
    ...options,
  });
  const keyA = await giveKey(world, world.partnerA.id);
  const keyB = await giveKey(world, world.partnerB.id);
  const draft: SandboxWorld["draft"] = async (fields = {}, key = keyA) => {
    const { status, body } = await world.post(
      "/partner/drafts/import",
      { consent: true, send_invite: false, rows: [draftRow(fields)] },
      key,
    );
    expect([status, body.added, body.rejected], JSON.stringify(body)).toEqual([200, 1, []]);
    return body.created[0];
  };
  const claim: SandboxWorld["claim"] = (id, body, key = keyA) =>
    world.send(`/sandbox/v1/drafts/${encodeURIComponent(id)}/claim`, { method: "POST", token: key, body });
  return {
    ...world,
    keyA,
    keyB,
    draft,
    claim,
    async customer(fields = {}, body = { submit: true }, key = keyA) {
      const { draft_id } = await draft(fields, key);
      const answer = await claim(draft_id, body, key);
      expect(answer.status, JSON.stringify([answer.body, world.log.at(-1)])).toBe(200);
      return answer.body;
    },
    play: (id, helper, body, key = keyA) =>
      world.send(`/sandbox/v1/customers/${encodeURIComponent(id)}/${helper}`, { method: "POST", token: key, body }),
    reset: (key = keyA) => world.send("/sandbox/v1/reset", { method: "POST", token: key }),
    async work() {
      const { status, body } = await world.post("/worker/run", {}, world.environment.config.WORKER_SECRET);
      expect(status, JSON.stringify(world.log.at(-1))).toBe(200);
      return body.jobs;
    },
    rows: async (statement, ...values) => (await world.database.admin.query(statement, values)).rows,
  };
}

/** Everything a claim made of a draft, without ids and times: equal for two claims that did the same. */
export async function madeOf(world: SandboxWorld, draft_id: string) {
  const [made] = await world.rows(
    `select d.status, d.external_ref, d.account_id is not null as has_account, d.user_id is not null as has_user, d.progress,
            (select jsonb_agg(jsonb_build_object('source', t.source, 'external_ref', t.external_ref, 'month', t.attached_month, 'partner', t.partner_id = d.partner_id))
               from core.attributions t where t.user_id = d.user_id) as attributions,
            (select jsonb_agg(to_jsonb(a) - '{id,user_id,owner_id,created_at,updated_at,iban_ciphertext}'::text[]) from core.accounts a where a.user_id = d.user_id) as accounts,
            (select jsonb_agg(to_jsonb(s) - '{id,account_id,owner_id,email,created_at,updated_at}'::text[]) from core.signatories s where s.account_id = d.account_id) as signatories,
            (select jsonb_agg(to_jsonb(c) - '{id,account_id,owner_id,location_id,ean_code,created_at,updated_at}'::text[] || jsonb_build_object('location', to_jsonb(l) - '{id,created_at}'::text[]))
               from core.connections c join core.locations l on l.id = c.location_id where c.account_id = d.account_id) as connections,
            (select jsonb_agg(to_jsonb(m) - '{id,connection_id,owner_id,link_id,document,document_sha256,code_sent_to,signed_from,address,user_agent,created_at}'::text[]
                              || jsonb_build_object('evidence', m.document is not null and m.document_sha256 is not null))
               from core.mandates m join core.connections c on c.id = m.connection_id where c.account_id = d.account_id) as mandates,
            (select jsonb_agg(jsonb_build_object('outcome', e.outcome, 'source', e.source)) from core.ean_checks e join core.connections c on c.id = e.connection_id
              where c.account_id = d.account_id) as ean_checks,
            (select count(*)::int from core.chargers h where h.account_id = d.account_id) as chargers,
            (select jsonb_agg(jsonb_build_object('template', m.template, 'status', m.status) order by m.template)
               from core.mail_outbox m where m.recipient = d.email) as mail,
            (select jsonb_agg(a.action order by a.action) from core.audit_log a
              where a.subject_id in (d.id, d.account_id) or a.subject_id in (select c.id from core.connections c where c.account_id = d.account_id)) as audit
       from core.drafts d where d.id = $1`,
    draft_id,
  );
  return made;
}

/** How many rows of each table of `core`, and how many logins: equal before and after says that nothing is left. */
export async function everyCount(world: SandboxWorld): Promise<Record<string, number>> {
  const tables = await world.rows(
    "select relname as name from pg_class where relnamespace = 'core'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1",
  );
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as n from core.${name}`);
  const rows = await world.rows([...counts, "select 'auth.users', count(*)::int from auth.users"].join(" union all "));
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

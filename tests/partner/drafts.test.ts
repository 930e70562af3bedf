// GET /partner/drafts, /withdraw, /auth-link (specification sections 3 and 4.2).

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { claimToken, readClaimToken } from "#shared/domain/claim/links.ts";
import { rowCounts } from "../harness/world.ts";
import {
  addCustomer,
  addDraft,
  addLogin,
  createPartnerWorld,
  draftRow,
  newEmail,
  type PartnerWorld,
} from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
});
afterAll(() => world.close());

const list = async (query = "", key = world.keyA) => (await world.get(`/partner/drafts${query}`, key)).body.drafts;
const withdraw = (draft_id: unknown, key = world.keyA) => world.post("/partner/drafts/withdraw", { draft_id }, key);
const authLink = (body: object, key = world.keyA) => world.post("/partner/drafts/auth-link", body, key);
const setStatus = (draft_id: string, status: string, more = "") =>
  world.row(`update core.drafts set status = $2 ${more} where id = $1`, draft_id, status);

describe("§4.2 GET /partner/drafts", () => {
  test("contract §4 shows what was imported, newest first, to its partner alone", async () => {
    const first = await addDraft(world, { external_ref: "KL-1", plaats: "Amersfoort" });
    const second = await addDraft(world, { external_ref: "KL-2" });
    const drafts = await list();
    const ids = drafts.map(({ draft_id }: { draft_id: string }) => draft_id);
    expect(ids.indexOf(second.draft_id)).toBeLessThan(ids.indexOf(first.draft_id));
    expect(drafts.at(ids.indexOf(first.draft_id))).toEqual({
      draft_id: first.draft_id,
      status: "invited",
      type: "particulier",
      naam: "Sanne de Vries",
      email: first.email,
      external_ref: "KL-1",
      city: "Amersfoort",
      ean_status: "pending",
      ean_candidates: 0,
      claim_url: first.claim_url,
      batch_id: expect.any(String),
      created_at: expect.any(String),
      invited_at: null,
      claimed_at: null,
      expires_at: expect.any(String),
      mail_failed_at: null,
      mail_failed_reason: null,
    });
    expect(await list("", world.keyB)).toEqual([]);
    expect(await list("?external_ref=KL-1", world.keyB)).toEqual([]);
  });

  test("the claim link is derived: the same each time, and the pages read the draft from it", async () => {
    const { draft_id, claim_url } = await addDraft(world);
    const token = claim_url.split("/claim/")[1] ?? "";
    expect(token).toBe(claimToken(world.environment, draft_id));
    expect(readClaimToken(world.environment, token)).toBe(draft_id);
    const { dump } = await world.row("select string_agg(d::text, '') as dump from core.drafts d");
    expect(dump).not.toContain(token);
  });

  test("filters by external_ref and by status; what nothing has matches nothing", async () => {
    const draft = await addDraft(world, { external_ref: "Onze klant 7%_" });
    await setStatus(draft.draft_id, "conflict");
    expect(await list(`?external_ref=${encodeURIComponent("Onze klant 7%_")}`)).toMatchObject([
      { draft_id: draft.draft_id, status: "conflict", claim_url: null },
    ]);
    expect(await list("?status=conflict")).toHaveLength(1);
    expect(await list("?external_ref=onze%20klant%207%25_")).toEqual([]);
    for (const status of ["nonsense", "Invited", "invited,claimed"]) {
      const { status: answered, body } = await world.get(`/partner/drafts?status=${status}`, world.keyA);
      expect([answered, body.error, body.issues[0].path], status).toEqual([400, "invalid_request", "status"]);
    }
    expect(await list("?status=")).toEqual(await list(""));
    expect(await list("?external_ref=%00")).toEqual([]);
  });

  test("a draft whose days are over shows as expired before any job ran", async () => {
    const { draft_id } = await addDraft(world, { external_ref: "overdue" });
    await world.row("update core.drafts set expires_at = now() - interval '1 second' where id = $1", draft_id);
    expect(await list("?external_ref=overdue&status=expired")).toMatchObject([{ draft_id, claim_url: null }]);
    expect(await list("?external_ref=overdue&status=invited")).toEqual([]);
  });

  test("contract §4 a person sees no more of a claimed or active draft than of a customer, and gets no link to it; a key sees all", async () => {
    const reader = await world.manager(world.partnerA, "partners:read");
    for (const status of ["invited", "claimed", "active", "conflict"]) {
      const external_ref = `MASK-${status}`;
      const { draft_id, email } = (await world.import([draftRow({ external_ref })])).body.created[0];
      await world.row("update core.drafts set status = $2 where id = $1", draft_id, status);
      const read = async (token: string, query = "") =>
        (await world.get(`/partner/drafts${query}`, token)).body.drafts.find(
          (each: { draft_id: string }) => each.draft_id === draft_id,
        );
      const whole = await read(world.keyA);
      expect(whole).toMatchObject({ naam: "Sanne de Vries", email, external_ref });
      const customer = ["claimed", "active"].includes(status);
      expect(await read(reader)).toEqual(
        customer ? { ...whole, naam: null, email: null, external_ref: null, claim_url: null } : whole,
      );
      const found = await read(reader, `?external_ref=${external_ref}`);
      expect(found?.draft_id, "nor can it be asked for by what is not shown").toBe(customer ? undefined : draft_id);
      expect((await read(world.keyA, `?external_ref=${external_ref}`)).draft_id).toBe(draft_id);
    }
  });
});

describe("§4.2 POST /partner/drafts/withdraw", () => {
  test.each(["invited", "claimed", "expired", "conflict"])(
    "§3 a draft that is %s is removed, and its links with it",
    async (status) => {
      const { draft_id, email } = await addDraft(world);
      expect((await authLink({ draft_id })).status).toBe(200);
      await setStatus(draft_id, status);
      expect((await withdraw(draft_id)).body).toEqual({ ok: true });
      const { drafts, links } = await world.row(
        "select (select count(*)::int from core.drafts where id = $1) as drafts, (select count(*)::int from core.draft_links where draft_id = $1) as links",
        draft_id,
      );
      expect([drafts, links]).toEqual([0, 0]);
      expect((await withdraw(draft_id)).body).toMatchObject({ error: "draft_not_found", code: "draft_not_found" });
      // the address is free again
      expect((await world.import([draftRow({ email })])).body.added).toBe(1);
    },
  );

  test("§3 an active draft stays: 409 draft_active", async () => {
    const { draft_id } = await addDraft(world);
    await setStatus(draft_id, "active");
    expect(await withdraw(draft_id)).toMatchObject({
      status: 409,
      body: { error: "draft_active", code: "draft_active" },
    });
    expect(await world.row("select status from core.drafts where id = $1", draft_id)).toEqual({ status: "active" });
  });

  test("§3 the login of a claimed draft remains, unlinked from the partner; a new draft may be made for it", async () => {
    const { draft_id, email } = await addDraft(world);
    const { id } = await addLogin(world, email);
    await setStatus(draft_id, "claimed", `, user_id = '${id}', claimed_at = now()`);
    await world.row("select private.reserve_customer($1, $2, 'partner_upload')", id, world.partnerA.id);
    expect((await world.import([draftRow({ email })])).body.rejected).toMatchObject([{ reason: "already_drafted" }]);
    expect((await withdraw(draft_id)).status).toBe(200);
    expect(await world.row("select id from auth.users where id = $1", id)).toEqual({ id });
    expect(await world.row("select 1 from core.attributions where user_id = $1", id)).toBeUndefined();
    expect((await world.import([draftRow({ email })])).body.added).toBe(1);
  });

  test("§3 mail that waits is not sent any more; an audit row without personal data stays", async () => {
    const { email, draft_id } = (await world.import([draftRow()], { send_invite: true })).body.created[0];
    await world.row("update core.mail_outbox set status = 'queued' where cause = 'claim:' || $1", draft_id);
    await withdraw(draft_id);
    expect(await world.row("select 1 from core.mail_outbox where recipient = $1", email)).toBeUndefined();
    const audit = await world.row(
      "select * from core.audit_log where subject_id = $1 order by id desc limit 1",
      draft_id,
    );
    expect(audit).toMatchObject({
      action: "draft.withdrawn",
      details: { status: "invited" },
      partner_id: world.partnerA.id,
    });
    expect(JSON.stringify(audit)).not.toContain(email);
  });

  test("a foreign draft, a missing one and no id at all answer the same: 404; nothing sent: draft_id_required", async () => {
    const { draft_id } = await addDraft(world);
    const before = await rowCounts(world, "drafts", "audit_log");
    const strip = ({ body }: { body: Record<string, unknown> }) => ({ ...body, request_id: null });
    const foreign = await withdraw(draft_id, world.keyB);
    expect(foreign.status).toBe(404);
    for (const id of [randomUUID(), "no uuid", 7, [draft_id]])
      expect(strip(await withdraw(id))).toEqual(strip(foreign));
    for (const id of [undefined, null, ""])
      expect(await withdraw(id)).toMatchObject({
        status: 400,
        body: { error: "draft_id_required", code: "draft_id_required" },
      });
    expect(await rowCounts(world, "drafts", "audit_log")).toEqual(before);
  });

  test("§3 a withdrawal waits for a claim under way and sees what came of it", async () => {
    const { draft_id } = await addDraft(world);
    const claim = await world.database.admin.connect();
    await claim.query("begin");
    await claim.query("select 1 from core.drafts where id = $1 for update", [draft_id]);
    const withdrawal = withdraw(draft_id);
    const waiting = () =>
      world.row("select 1 as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
    await expect.poll(waiting).toEqual({ n: 1 });
    await claim.query("update core.drafts set status = 'active' where id = $1", [draft_id]);
    await claim.query("commit");
    claim.release();
    expect((await withdrawal).body).toMatchObject({ error: "draft_active" });
  });

  test("ten withdrawals at once: one is done, nine find nothing", async () => {
    const { draft_id } = await addDraft(world);
    const answers = await Promise.all(Array.from({ length: 10 }, () => withdraw(draft_id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)]);
  });
});

describe("§4.2 POST /partner/drafts/auth-link", () => {
  test("§4.2 a link for 300 seconds, by draft_id or by e-mail in any spelling; stored as its hash", async () => {
    const { draft_id, email } = await addDraft(world);
    const answer = await authLink({ draft_id });
    expect(answer.body).toEqual({
      ok: true,
      auth_url: expect.stringMatching(/\/pages\/enter\/[0-9A-Za-z]{43}$/),
      expires_in: 300,
      resume: false,
      return_url: "https://partner-a.example/klaar",
      email_sent: false,
      mail_limit: false,
    });
    const hash = hashSecret(answer.body.auth_url.split("/").pop());
    expect(
      await world.row(
        "select draft_id, extract(epoch from expires_at - created_at)::int as lives from core.draft_links where token_hash = decode($1, 'hex')",
        hash,
      ),
    ).toEqual({ draft_id, lives: 300 });
    expect((await authLink({ email: `  ${email.toUpperCase()} ` })).status).toBe(200);
    expect((await authLink({ draft_id, email })).status).toBe(200);
  });

  test("§4.2 mailed to its customer as often as it is asked for on the sandbox, at once too", async () => {
    await world.limit("mail_kind", 10);
    const { draft_id, email } = await addDraft(world);
    const answers = await Promise.all(Array.from({ length: 12 }, () => authLink({ draft_id, send_email: true })));
    expect(answers.map(({ status, body }) => [status, body.email_sent])).toEqual(Array(12).fill([200, true]));
    const { count } = await world.row(
      "select count(*)::int from core.mail_outbox where recipient = $1 and template = 'sign_in'",
      email,
    );
    expect(count).toBe(12);
  });

  test("§3 a newer link voids the older; of ten minted at once one is left", async () => {
    const { draft_id } = await addDraft(world);
    await Promise.all(Array.from({ length: 10 }, () => authLink({ draft_id })));
    const { open, made } = await world.row(
      "select count(*)::int as made, count(*) filter (where expires_at > now())::int as open from core.draft_links where draft_id = $1",
      draft_id,
    );
    expect([made, open]).toEqual([10, 1]);
  });

  test("contract §4 resume says whether the customer has a login already", async () => {
    const { draft_id, email } = await addDraft(world);
    await addLogin(world, email);
    expect((await authLink({ draft_id })).body.resume).toBe(true);
  });

  test("contract §4 an active draft: a link while the account is empty, then draft_not_claimable, already_active", async () => {
    const { draft_id } = await addDraft(world);
    const { id } = await addLogin(world);
    await setStatus(draft_id, "active", `, user_id = '${id}'`);
    expect((await authLink({ draft_id })).body).toMatchObject({ ok: true, resume: true });
    const person = await addCustomer(world, world.partnerB, "manual");
    await setStatus(draft_id, "active", `, user_id = '${person}'`);
    expect(await authLink({ draft_id })).toMatchObject({
      status: 409,
      body: { error: "draft_not_claimable", status: "active", reason: "already_active" },
    });
  });

  test.each(["expired", "conflict"])("§3 a draft that is %s: 409 with status and reason", async (status) => {
    const { draft_id } = await addDraft(world);
    await setStatus(draft_id, status);
    expect(await authLink({ draft_id })).toMatchObject({
      status: 409,
      body: { error: "draft_not_claimable", status, reason: status },
    });
  });

  test("contract §4 several drafts for an e-mail: the newest that can be claimed", async () => {
    const email = newEmail();
    const old = await addDraft(world, { email });
    await setStatus(old.draft_id, "expired");
    const open = await addDraft(world, { email });
    const answer = await authLink({ email });
    const { draft_id } = await world.row(
      "select draft_id from core.draft_links where token_hash = decode($1, 'hex')",
      hashSecret(answer.body.auth_url.split("/").pop()),
    );
    expect(draft_id).toBe(open.draft_id);
  });

  test("contract §4 both must denote one draft; another partner's looks missing; neither: draft_id_required", async () => {
    const one = await addDraft(world);
    const other = await addDraft(world);
    for (const answer of [
      await authLink({ draft_id: one.draft_id, email: other.email }),
      await authLink({ draft_id: one.draft_id }, world.keyB),
      await authLink({ email: one.email }, world.keyB),
      await authLink({ draft_id: "no uuid" }),
      await authLink({ email: "nobody@voorbeeld.nl" }),
      await authLink({ email: "no address" }),
    ])
      expect(answer).toMatchObject({ status: 404, body: { error: "draft_not_found" } });
    for (const body of [{}, { draft_id: "", email: null }])
      expect(await authLink(body)).toMatchObject({ status: 400, body: { error: "draft_id_required" } });
  });

  const base = "https://partner-a.example/klaar";
  test.each([base, `${base}/`, `${base}/x?y=1`, `${base}?y=1`, `${base}/a..b/...?next=/../x`])(
    "§4.2 return_url %s is allowed",
    async (return_url) => {
      const { draft_id } = await addDraft(world);
      expect((await authLink({ draft_id, return_url })).body.return_url).toBe(return_url);
    },
  );

  test.each([
    `${base}x`,
    "https://partner-a.example/klaa",
    "https://partner-b.example/klaar",
    "http://partner-a.example/klaar",
    `${base}/#x`,
    "https://partner-a.example/Klaar",
    `${base}/../x`,
    `${base}/..`,
    `${base}/a/%2E./..\\..?x`,
  ])("§4.2 return_url %s: 400 return_url_not_allowed, and no link", async (return_url) => {
    const { draft_id } = await addDraft(world);
    expect(await authLink({ draft_id, return_url })).toMatchObject({
      status: 400,
      body: { error: "return_url_not_allowed", message: expect.stringContaining("registered") },
    });
    expect(await world.row("select 1 from core.draft_links where draft_id = $1", draft_id)).toBeUndefined();
  });

  test("§8 a return_url over 500 characters: 400", async () => {
    const { draft_id } = await addDraft(world);
    expect((await authLink({ draft_id, return_url: `${base}/${"x".repeat(500)}` })).status).toBe(400);
  });

  test("a partner without a registered URL: none is answered, and none is allowed", async () => {
    await world.row("update core.partners set return_url = null where id = $1", world.partnerB.id);
    const { draft_id } = await addDraft(world, {}, world.keyB);
    expect((await authLink({ draft_id }, world.keyB)).body.return_url).toBeNull();
    expect((await authLink({ draft_id, return_url: base }, world.keyB)).body.error).toBe("return_url_not_allowed");
  });
});

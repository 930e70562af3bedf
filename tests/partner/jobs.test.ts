// What the worker does for drafts: expiry, purge, reminders, look-ups (contract section 4).

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { claimKey } from "#shared/domain/claim/links.ts";
import { lookUp } from "#shared/domain/import/look_up.ts";
import { serve } from "#shared/http/serve.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import { addDraft, createPartnerWorld, draftRow, type PartnerWorld } from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
});
afterAll(() => world.close());
const START = "2026-11-20T12:00:00Z";
beforeEach(async () => {
  await world.row("delete from core.drafts");
  await world.row("delete from core.mail_outbox");
  await world.freeze(START);
});

const onDay = (day: number, hour = 1) =>
  world.freeze(new Date(Date.parse(START) + day * 86_400_000 + hour * 3_600_000).toISOString());

async function work(): Promise<Record<string, number>> {
  const { fetch } = serve(worker, world.environment);
  const response = await fetch(
    new Request("http://api.test/worker/run", {
      method: "POST",
      headers: { authorization: `Bearer ${world.environment.config.WORKER_SECRET}` },
    }),
  );
  expect(response.status).toBe(200);
  return (await response.json()).drafts;
}
const mailTo = (email: string) => world.mails("where recipient = $1 order by created_at, cause", email);
async function invite() {
  const row = draftRow();
  const { body } = await world.import([row], { send_invite: true });
  return body.created[0] as { draft_id: string; email: string; claim_url: string };
}

test("contract §4 reminders on day 3, 10 and 30, each once, with the claim link and a way to stop", async () => {
  const { email, claim_url, draft_id } = await invite();
  const sent: [number, number][] = [];
  for (const day of [0, 2, 3, 3, 9, 10, 11, 29, 30, 31, 59]) {
    await onDay(day);
    await work();
    sent.push([day, (await mailTo(email)).length - 1]);
  }
  expect(sent).toEqual([
    [0, 0],
    [2, 0],
    [3, 1],
    [3, 1],
    [9, 1],
    [10, 2],
    [11, 2],
    [29, 2],
    [30, 3],
    [31, 3],
    [59, 3],
  ]);
  const [, reminder] = await mailTo(email);
  expect(reminder).toMatchObject({ template: "reminder", cause: `claim_reminder:${draft_id}:1` });
  expect(reminder.text).toContain(claim_url);
  expect(reminder.text).toContain("/unsubscribe/");
});

test("contract §4 after days without a worker one reminder stands for those missed; two workers at once write it once", async () => {
  const { email } = await invite();
  await onDay(12);
  const ran = await Promise.all([work(), work(), work()]);
  expect(ran.reduce((sum, { reminded = 0 }) => sum + reminded, 0)).toBe(1);
  await work();
  expect(await mailTo(email)).toHaveLength(2);
});

test("contract §4 no reminder where send_invite was false, once claimed or withdrawn, to who opted out, or of a deactivated partner", async () => {
  const { email: silent } = await addDraft(world);
  const claimed = await invite();
  const withdrawn = await invite();
  const stopped = await invite();
  await world.row("update core.drafts set status = 'claimed' where id = $1", claimed.draft_id);
  await world.post("/partner/drafts/withdraw", { draft_id: withdrawn.draft_id }, world.keyA);
  await world.row("select private.suppress(private.email_hash($1, $2))", stopped.email, claimKey(world.environment));
  const off = draftRow();
  await world.import([off], { send_invite: true }, world.keyB);
  await world.row("update core.partners set is_active = false where id = $1", world.partnerB.id);
  await onDay(3);
  expect((await work()).reminded).toBe(0);
  for (const [email, mails] of [
    [silent, 0],
    [claimed.email, 1],
    [withdrawn.email, 1],
    [stopped.email, 1],
    [off.email, 1],
  ] as const)
    expect(await mailTo(email)).toHaveLength(mails);
  await world.row("update core.partners set is_active = true where id = $1", world.partnerB.id);
});

test("contract §9 reminders that fall due while a partner is deactivated are sent once it is active again", async () => {
  const { email } = await invite();
  const set = (active: boolean) =>
    world.row("update core.partners set is_active = $2 where id = $1", world.partnerA.id, active);
  await set(false);
  await onDay(12);
  await work();
  expect(await mailTo(email)).toHaveLength(1);
  await set(true);
  await work();
  expect((await mailTo(email)).map(({ template }) => template)).toEqual(["claim", "reminder"]);
});

test("contract §4 mail about a draft that waits until the draft expires is not sent any more", async () => {
  const { email, draft_id } = await invite();
  const other = await invite();
  await world.row("update core.mail_outbox set status = 'queued'");
  await world.row("update core.drafts set expires_at = private.now() where id = $1", draft_id);
  await work();
  expect([(await mailTo(email)).length, (await mailTo(other.email)).length]).toEqual([0, 1]);
});

test("contract §4 invited expires 60 days after creation, claimed does not; 30 days later the expired draft is deleted", async () => {
  const open = await addDraft(world);
  const claimed = await addDraft(world);
  await world.row("update core.drafts set status = 'claimed' where id = $1", claimed.draft_id);
  const status = async ({ draft_id }: { draft_id: string }) =>
    (await world.row("select status from core.drafts where id = $1", draft_id))?.status;
  await onDay(59);
  expect((await work()).expired).toBe(0);
  await onDay(60);
  expect(await work()).toMatchObject({ expired: 1, purged: 0 });
  expect([await status(open), await status(claimed)]).toEqual(["expired", "claimed"]);
  expect((await world.post("/partner/drafts/auth-link", { draft_id: open.draft_id }, world.keyA)).body).toMatchObject({
    reason: "expired",
  });
  await onDay(90);
  expect((await work()).purged).toBe(1);
  expect([await status(open), await status(claimed)]).toEqual([undefined, "claimed"]);
});

test("contract §4 csv imports are looked up afterwards; what gets no answer is tried again hourly for a day", async () => {
  const { body } = await world.import([8, 78, 47, 61].map((huisnummer) => draftRow({ huisnummer })));
  expect(body.created.map(({ ean_status }: { ean_status: string }) => ean_status)).toEqual(Array(4).fill("pending"));
  expect((await work()).looked_up).toBe(4);
  const { rows } = await world.database.admin.query(
    "select house_number, ean_status, jsonb_array_length(ean_candidates) as n from core.drafts order by 1",
  );
  expect(rows).toEqual([
    { house_number: 8, ean_status: "resolved", n: 1 },
    { house_number: 47, ean_status: "not_found", n: 0 },
    { house_number: 61, ean_status: "failed", n: 0 },
    { house_number: 78, ean_status: "ambiguous", n: 2 },
  ]);
  expect((await work()).looked_up).toBe(0);
  await onDay(0, 2);
  expect((await work()).looked_up).toBe(1);
  await onDay(2);
  expect((await work()).looked_up).toBe(0);
});

test("contract §9 the addresses of a deactivated partner's drafts are not looked up until it is active again", async () => {
  const row = draftRow({ postcode: "3818LH", huisnummer: "8" });
  await world.import([row]);
  const status = async () =>
    (await world.row("select ean_status from core.drafts where email = $1", row.email)).ean_status;
  const set = (active: boolean) =>
    world.row("update core.partners set is_active = $2 where id = $1", world.partnerA.id, active);
  await set(false);
  await work();
  expect(await status()).toBe("pending");
  await set(true);
  await work();
  expect(await status()).not.toBe("pending");
});

test("contract §4 two workers at once look each address up once", async () => {
  await world.import(Array.from({ length: 30 }, () => draftRow()));
  const ran = await Promise.all([work(), work(), work()]);
  expect(ran.reduce((sum, { looked_up = 0 }) => sum + looked_up, 0)).toBe(30);
});

test("contract §4 an answer that comes after the draft was withdrawn, or got an EAN, changes nothing", async () => {
  const { draft_id } = await addDraft(world);
  const caller = { kind: "worker", host: "sandbox", request_id: "x" };
  const due = { partner_id: world.partnerA.id, draft_id };
  await world.row("update core.drafts set ean = '871687000000000016', ean_status = 'provided' where id = $1", draft_id);
  const register = { source: "sandbox", outcome: "points", points: [{ ean_code: "871687000000000023" }] };
  expect(await world.environment.slowDb.call("record_draft_lookup", caller, due, register)).toBe("null");
  expect(await world.row("select ean from core.drafts where id = $1", draft_id)).toEqual({ ean: "871687000000000016" });
  await world.row("delete from core.drafts");
  expect(await world.environment.slowDb.call("record_draft_lookup", caller, due, register)).toBe("null");
});

test("contract §4 with a register of our own (EAN_REGISTER=table) the import finds the points in the database", async () => {
  const own = await createPartnerWorld({ host: "production", variables: { EAN_REGISTER: "table" } });
  await own.row(
    "insert into core.ean_register_points values ('871687999999999991', '3818LH', 8, null, 'Laan', 'Amersfoort'), ('871687999999999992', '3818LH', 9, 'A', 'Laan', 'Amersfoort'), ('871687999999999993', '3818LH', 9, 'A', 'Laan', 'Amersfoort')",
  );
  const { body } = await own.import([draftRow(), draftRow({ huisnummer: "9a" }), draftRow({ huisnummer: "10" })], {
    source: "api",
  });
  expect(body.created.map((each: Record<string, unknown>) => [each.ean_status, each.ean_candidates])).toEqual([
    ["resolved", 1],
    ["ambiguous", 2],
    ["not_found", 0],
  ]);
  await own.close();
});

test("§4.2 a register that does not answer costs a request no more than its budget; the addresses wait for the worker", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  const slow = await createPartnerWorld({
    host: "production",
    variables: { EAN_REGISTER: "http", EAN_REGISTER_URL: `http://127.0.0.1:${port}` },
  });
  const address = { postal_code: "3818LH", house_number: 8, house_number_addition: null };
  const due = Array.from({ length: 20 }, () => ({ draft_id: crypto.randomUUID(), ...address }));
  const started = performance.now();
  expect(await lookUp(slow.environment, due, 200)).toEqual([]);
  // the register itself would be waited for 3 s, and then once more
  expect(performance.now() - started).toBeLessThan(3_000);
  silent.closeAllConnections();
  silent.close();
  await slow.close();
});

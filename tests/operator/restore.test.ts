// restore save and restore apply. The rehearsal (trials/rehearse/restore.ts) restores a real server between them; here
// the state from before the moment is put back by statements.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import { auditOf, operate, operatorOf } from "./operator.ts";

let world: PartnerWorld;
let folder: string;
let operator: ReturnType<typeof operatorOf>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "restore-"));
  world = await createPartnerWorld();
  operator = operatorOf(world.database);
});
afterAll(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function done(argv: string[]) {
  const ran = await operator(argv);
  expect([argv.join(" "), ran.code, ran.err]).toEqual([argv.join(" "), 0, ""]);
  return ran.json;
}

test("contract §8 what ended after the moment ends again, an opt-out counts again, and no event gets a number twice", async () => {
  const account = await createAccount(world);
  await signMandate(world, account.account_id);
  const user = await world.addUser();
  await user.token();
  const { id: token } = await world.row("select id from core.personal_tokens where user_id = $1", user.id);
  const client = await world.addClient(world.partnerB.id);
  const cursorOf = async (after = "") =>
    (await world.get(`/v1/events?after=${after}`, await world.partnerA.client.token())).body;
  const first = await cursorOf();
  expect(first.events.length).toBeGreaterThan(0);
  await world.row("select pg_sleep(1.1)");
  const since = new Date().toISOString();

  const { connection_id } = account;
  await done(["mandate", "revoke", connection_id, "--asked-by-customer", "--yes"]);
  await done(["token", "revoke", token, "--yes"]);
  await done(["client", "disable", client.client_id, "--yes"]);
  await done(["client", "rotate-secret", world.partnerB.client.client_id, "--yes"]);
  const hash = "ab".repeat(32);
  await world.row("insert into core.suppressions (email_hash) values (decode($1, 'hex'))", hash);
  const later = await cursorOf(first.next_cursor);
  expect(later.events.length).toBeGreaterThan(0);

  const to = join(folder, "saved");
  const audited = await auditOf(world.database.admin, async () => {
    expect(await done(["restore", "save", "--since", since, "--to", to])).toMatchObject({ opt_outs: 1, files: [] });
  });
  expect(audited.map(({ action }) => action)).toEqual(["restore.saved"]);
  expect([statSync(to).mode & 0o777, statSync(join(to, "saved.json")).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(readdirSync(to)).toEqual(["saved.json"]);
  const again = await operator(["restore", "save", "--since", since, "--to", to]);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("has files already")]);

  // the database of the moment
  await world.row("delete from core.suppressions");
  await world.row("update core.personal_tokens set revoked_at = null where id = $1", token);
  await world.row("update core.oauth_clients set disabled_at = null where id = $1", client.id);
  await world.row(
    "update core.mandates set status = 'signed', ended_at = null, ended_reason = null where connection_id = $1",
    connection_id,
  );
  await world.row("delete from core.events where created_at >= $1", since);
  await world.row(
    `update core.event_heads h set sequence = (select coalesce(max(e.sequence), 0) from core.events e
      where e.partner_id = h.partner_id and e.owner_id = h.owner_id)`,
  );

  const applied = await done(["restore", "apply", to, "--yes"]);
  expect(applied).toMatchObject({ opt_outs: 1 });
  expect(applied.done.map(({ action, outcome }: Record<string, string>) => [action, outcome])).toEqual([
    ["mandate.revoked", "done"],
    ["token.revoked", "done"],
    ["client.disabled", "done"],
  ]);
  expect(applied.by_hand).toEqual([
    expect.objectContaining({
      action: "client.secret_rotated",
      do: `run client rotate-secret ${world.partnerB.client.id} --revoke-tokens (of an application: app rotate-secret)`,
    }),
  ]);
  expect(
    await world.row(
      `select (select revoked_at is not null from core.personal_tokens where id = $1) as token,
              (select disabled_at is not null from core.oauth_clients where id = $2) as client,
              (select status from core.mandates where connection_id = $3) as mandate,
              (select encode(email_hash, 'hex') from core.suppressions) as hash`,
      token,
      client.id,
      connection_id,
    ),
  ).toEqual({ token: true, client: true, mandate: "revoked", hash });

  // a cursor from after the moment neither fails nor passes over what comes now
  const told = await cursorOf(later.next_cursor);
  expect(told.events.map(({ type }: { type: string }) => type)).toEqual(["mandate.revoked"]);

  const repeated = await done(["restore", "apply", to, "--yes"]);
  expect(repeated).toMatchObject({ opt_outs: 0, logs: 0 });
  expect(new Set(repeated.done.map(({ outcome }: { outcome: string }) => outcome))).toEqual(
    new Set(["was so already"]),
  );
});

test("contract §8 a moment that is none, a folder that is not whole and a folder of the other host are refused; nothing is changed", async () => {
  const to = join(folder, "bad");
  for (const since of ["yesterday", "2999-01-01", "2026-13-01T00:00:00Z"]) {
    const { code, err } = await operator(["restore", "save", "--since", since, "--to", to]);
    expect([code, err]).toEqual([1, expect.stringContaining("A moment is written")]);
  }
  expect(readdirSync(folder)).not.toContain("bad");
  const file = join(mkdtempSync(join(folder, "broken-")), "saved.json");
  const apply = async () => operator(["restore", "apply", file.replace("/saved.json", ""), "--yes"]);
  expect(await apply()).toMatchObject({ code: 1, err: expect.stringContaining("cannot be read (ENOENT)") });
  const whole = JSON.stringify({ host: "production", since: "x", opt_outs: ["ab"], logs: [], deeds: [], batches: [] });
  for (const text of ["", "{}", whole.slice(0, -20)]) {
    writeFileSync(file, text);
    expect(await apply()).toMatchObject({ code: 1, err: expect.stringContaining("is not what restore save wrote") });
  }
  writeFileSync(file, whole);
  const before = await world.row("select count(*) as n from core.suppressions");
  expect(await apply()).toMatchObject({ code: 1, err: expect.stringContaining("belongs to the sandbox host") });
  expect(await world.row("select count(*) as n from core.suppressions")).toEqual(before);
  expect(readFileSync(file, "utf8")).toBe(whole);
  const { code, err } = await operate(
    ["restore", "apply", file.replace("/saved.json", "")],
    { OPERATOR_DATABASE_URL: world.database.url("operator") },
    { confirm: async () => false },
  );
  expect([code, err]).toEqual([1, "error: Nothing was changed.\n"]);
});

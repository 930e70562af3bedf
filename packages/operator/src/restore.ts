// Around a restore: saves what the restore would lose and what protects somebody, and does it again afterwards.

import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { Input, Machine, Row } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { exportBatch } from "./payouts.ts";
import { placeOf, writePrivate } from "./private_file.ts";

const Deed = z.object({
  at: z.string(),
  actor: z.string(),
  action: z.string(),
  partner_slug: z.string(),
  subject_id: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
});
type Deed = z.output<typeof Deed>;

const Saved = z.object({
  host: z.string(),
  since: z.string(),
  opt_outs: z.array(z.string()),
  logs: z.array(z.object({ partner_id: z.string(), owner_id: z.string(), sequence: z.number() })),
  deeds: z.array(Deed),
  batches: z.array(z.string()),
});

const FILE = "saved.json";

/** How a deed is done again: by an ops function, or by a person who runs or asks what the sentence says. */
type Again = { ops: string; input: (deed: Deed) => Input } | ((deed: Deed) => string);

const byId = (ops: string, name: string, more: Input = {}): Again => ({
  ops,
  input: ({ subject_id }) => ({ [name]: subject_id, ...more }),
});

const AGAIN: Readonly<Record<string, Again>> = {
  "mandate.revoked": {
    ops: "mandate_revoke",
    // a later signature stands; only what the customer asked for is recorded as asked by the customer
    input: ({ subject_id, at, details }) => ({
      connection: subject_id,
      asked_by_customer: details.reason === "customer",
      signed_before: at,
    }),
  },
  "partner.deactivated": byId("partner_deactivate", "partner"),
  "connection.archived": byId("connection_archive", "connection"),
  "token.revoked": byId("token_revoke", "token"),
  "personal_token.revoked": byId("token_revoke", "token"),
  "oauth.grant_ended": byId("token_revoke", "token"),
  "client.disabled": byId("client_disable", "client"),
  "webhook.revoked": byId("webhook_revoke", "webhook"),
  // a new secret is shown once, to whoever passes it on
  "client.secret_rotated": ({ subject_id }) =>
    `run client rotate-secret ${subject_id} --revoke-tokens (of an application: app rotate-secret)`,
  "partner.key_minted": ({ partner_slug }) => `run partner mint-key ${partner_slug} --rotate`,
  "partner.key_revoked": ({ partner_slug }) => `run partner mint-key ${partner_slug} --rotate`,
  "webhook.rotated": ({ subject_id }) => `run webhook rotate ${subject_id}`,
  "operator.login_disabled": ({ details }) => `run login disable ${String(details.role).replace("operator_", "")}`,
  "user.account_closed": () => "revoke the mandates of that person, and ask them to close the account again",
  "draft.withdrawn": ({ partner_slug }) => `ask ${partner_slug} to withdraw it again`,
  "partner.manager_removed": ({ partner_slug }) => `ask ${partner_slug} to remove the manager again`,
  "account.iban_stored": ({ subject_id }) => `before you pay: ask customer ${subject_id} which IBAN is theirs`,
  "partner.iban_changed": ({ partner_slug }) => `before you pay: ask ${partner_slug} which IBAN is theirs`,
  "account.updated": ({ partner_slug }) => `ask ${partner_slug} to correct that account again (accounts:update)`,
  "client.scopes_set": ({ subject_id, details }) =>
    `run client set-scopes ${subject_id} ${(details.after as string[] | undefined)?.join(" ") ?? "<scopes>"}`,
  "charger.password_renewed": () => "ask the owner to renew the password of that charger again",
  "partner.manager_invitation_withdrawn": ({ partner_slug }) => `ask ${partner_slug} to withdraw that invitation again`,
  "user.sharing_stopped": () => "ask the person to stop sharing again",
};

/** `restore save`: one file for `restore apply`, and the files that the bank got. */
export async function saveBefore({ to, ...input }: Input, machine: Machine): Promise<OpsAnswer> {
  const folder = placeOf(to);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new OperatorError(`${folder} has files already; give a new folder, so that nothing saved before is lost.`);
  const saved = Saved.parse(await machine.call("restore_save", { ...input, actions: Object.keys(AGAIN) }));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writePrivate(join(folder, FILE), `${JSON.stringify(saved, null, 2)}\n`);
  const files: Row[] = [];
  for (const batch of saved.batches) {
    const file = join(folder, `${batch}.xml`);
    // the rest is saved whatever becomes of one file
    const why = await exportBatch({ batch, again: true, to_keep: true, reason: "before a restore" }, machine).then(
      ({ xml }) => writePrivate(file, xml),
      (error: Error) => error.message,
    );
    files.push({ batch, file: why ? null : file, why: why ?? null });
  }
  const { since, opt_outs, deeds } = saved;
  return { folder, since, opt_outs: opt_outs.length, deeds: deeds.length, files };
}

/** `restore apply`: does again what a machine may do, and lists the rest with who does it. */
export async function applyAfter({ folder, ...input }: Input, { call, say }: Machine): Promise<OpsAnswer> {
  const { deeds, batches, ...saved } = readSaved(String(folder));
  const { opt_outs, logs } = await call("restore_apply", { ...input, ...saved });
  const done: Row[] = [];
  const by_hand: Row[] = [];
  // of two deeds about one thing the second finds nothing to do
  for (const deed of deeds) {
    const { at, action, subject_id } = deed;
    const again = AGAIN[action];
    if (typeof again === "function") {
      const todo = again(deed);
      if (!by_hand.some((row) => row.do === todo && row.subject_id === subject_id))
        by_hand.push({ at, action, subject_id, do: todo });
    } else if (again) {
      const outcome = await call(again.ops, again.input(deed)).then(
        ({ changed }) => (changed === false ? "was so already" : "done"),
        (error: unknown) => {
          if (error instanceof OperatorError) return error.message;
          throw error;
        },
      );
      done.push({ at, action, subject_id, outcome });
      if (done.length % 100 === 0) say(`${done.length} of ${deeds.length}\n`);
    }
  }
  for (const batch of batches)
    by_hand.push({ at: null, action: "payout.exported", subject_id: batch, do: "payout adopt" });
  return { since: saved.since, opt_outs, logs, done, by_hand };
}

function readSaved(folder: string): z.output<typeof Saved> {
  const file = join(folder, FILE);
  try {
    return Saved.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(code ? `${file} cannot be read (${code}).` : `${file} is not what restore save wrote.`);
  }
}

// Steps of a payout that need the keys of the IBANs, so they run on the operator's machine: checking IBANs, and writing
// the bank file. A decrypted IBAN exists only in the memory of this process and in that file.

import { createHash, createHmac } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { isSEPACountry, isValidIBAN } from "ibantools";
import * as z from "zod";
import { ConfigurationError, readKeyRing } from "#shared/foundation/configuration.ts";
import { openIban, sealIban } from "#shared/values/iban.ts";
import { open, type Sealed, seal } from "#shared/values/sealed.ts";
import { readBankFile } from "./bank_answer.ts";
import type { Input, Machine } from "./command.ts";
import { textOf } from "./credit_file.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { creditTransfers, readTransfers, type Transfer } from "./sepa_file.ts";

type Keys = Parameters<typeof openIban>[0];
type Payee = { partner_id: string; account_id: string | null; iban: Sealed; failed: Sealed[] };
type Owed = { partner_id: string; account_id: string | null; name: string; amount_eur: number; iban: Sealed };
type Line = { line_id: string; reference: string; partner_id: string; name: string; amount_eur: number; iban: Sealed };

/** Countries that joined SEPA after the library's list was written (EPC409-09). */
const JOINED_SINCE = ["AL", "MD", "ME", "MK", "RS"];

const inSepa = (iban: string) => isSEPACountry(iban.slice(0, 2)) || JOINED_SINCE.includes(iban.slice(0, 2));

/** Why nothing can be paid to an IBAN, or null. */
function problemOf(keys: Keys, { partner_id, iban, failed }: Payee): string | null {
  try {
    const clear = openIban(keys, partner_id, iban);
    if (!isValidIBAN(clear)) return "iban_invalid";
    if (!inSepa(clear)) return "iban_outside_sepa";
    return failed.some((each) => openIban(keys, partner_id, each) === clear) ? "iban_failed" : null;
  } catch {
    return "iban_unreadable"; // the error may quote the IBAN
  }
}

/** The same for the same IBAN, and nothing to whoever has no keys. */
const hashIban = ({ config }: Keys, iban: string) =>
  createHmac("sha256", config.IBAN_KEYS.keys[config.IBAN_KEYS.current] ?? "")
    .update(`payout iban ${iban}`)
    .digest("hex");

/**
 * Stores an IBAN that two operators typed. It is read from standard input, so that no history of a shell has it, and
 * leaves this machine encrypted, with a keyed hash by which the database compares both.
 */
export async function storeIban(input: Input, { call, env, readLine }: Machine): Promise<OpsAnswer> {
  const keys = readKeys(env);
  const read = accountIban.safeParse(await readLine("IBAN: "));
  if (!read.success) throw new OperatorError("That is no IBAN of a country that SEPA reaches. Nothing was stored.");
  const { partner_id } = await call("payout_iban", input);
  const iban = sealIban(keys, String(partner_id), read.data);
  const hash = hashIban(keys, read.data);
  return call("payout_iban", { ...input, iban, hash });
}

/** Checks the IBANs of all payees who are due, and has the database create the batch of those it can pay. */
export async function prepare(input: Input, { call, env }: Machine): Promise<OpsAnswer> {
  const keys = readKeys(env);
  const { payees } = (await call("payout_due", input)) as { payees: Payee[] };
  const judged = payees.map((payee) => ({
    partner_id: payee.partner_id,
    account_id: payee.account_id,
    ciphertext: payee.iban.ciphertext,
    failed: payee.failed,
    problem: problemOf(keys, payee),
  }));
  return call("payout_prepare", { ...input, judged });
}

/**
 * The batch with the file for the bank as `xml`. The database stores the first file, so every export has the same
 * bytes.
 */
export async function exportBatch({ out, ...input }: Input, { call, env }: Machine): Promise<OpsAnswer> {
  const keys = readKeys(env);
  const debtor = readDebtor(env);
  const answer = await call("payout_export", input);
  const { batch_id } = answer.batch as { batch_id: string };
  if (answer.file) return { batch: answer.batch, xml: openFile(keys, batch_id, answer.file as Sealed) };
  const transfers = (answer.lines as Line[]).map(({ line_id, reference, partner_id, name, amount_eur, iban }) => ({
    line_id,
    reference,
    name,
    amount_eur,
    iban: openFor(line_id, keys, partner_id, iban),
  }));
  const { created_at, pays_on } = answer as { created_at: string; pays_on: string };
  const xml = creditTransfers(batch_id, created_at, debtor, transfers, pays_on);
  return { ...(await call("payout_keep_file", { date: pays_on, ...sealFile(keys, batch_id, xml) })), xml };
}

function openFile(keys: Keys, batch: string, file: Sealed): string {
  let opened: string;
  try {
    opened = open(keys, belongsToBatch(batch), file);
  } catch {
    throw new OperatorError(
      `The file of batch ${batch} is encrypted with the key "${file.key_id}", which these IBAN_KEYS do not have or have ` +
        "otherwise. Set the keys that the functions have, with the old ones. Nothing was written.",
    );
  }
  return gunzipSync(Buffer.from(opened, "base64")).toString();
}

/** Reads a file of the bank, and has the database decide what comes of it. */
export async function readAnswer({ file, ...input }: Input, { call, env }: Machine): Promise<OpsAnswer> {
  const account = accountIban.safeParse(env.PAYOUT_ACCOUNT_IBAN ?? "");
  if (!account.success)
    throw new OperatorError("Set PAYOUT_ACCOUNT_IBAN to the account we pay from; entries of another one are left out.");
  const { message, left, ...read } = readBankFile(String(file), account.data);
  return { message, left, ...(await call("payout_answer", { ...input, ...read })) };
}

const belongsToBatch = (batch_id: string) => `payout file ${batch_id}`;

const sealFile = (keys: Keys, batch: string, xml: string) => ({
  batch,
  file: seal(keys, belongsToBatch(batch), gzipSync(xml).toString("base64")),
  sha256: createHash("sha256").update(xml).digest("hex"),
});

/**
 * Takes in a batch that the bank has and a restore took away, from its file. It is prepared under the same ids. Once
 * somebody else has approved it, this very file is stored as exported, so no other file is made of it.
 */
export async function adopt({ file, ...input }: Input, { call, env }: Machine): Promise<OpsAnswer> {
  const keys = readKeys(env);
  const xml = textOf(String(file));
  const { batch_id, transfers } = readTransfers(xml);
  const named = { ...input, batch: batch_id };
  const known = await call("payout_adopt", named);
  if (known.payees) {
    return call("payout_adopt", { ...named, lines: matchPayees(keys, known.payees as Owed[], transfers) });
  }
  if ((known.batch as { status: string }).status !== "approved") return known;
  const adopted = { ...named, adopted: true };
  const { lines } = await call("payout_export", adopted);
  const here = (lines as Line[]).map((line) => ({
    ...line,
    iban: openFor(line.line_id, keys, line.partner_id, line.iban),
  }));
  const say = (all: Omit<Transfer, "reference">[]) =>
    all.map(({ line_id, amount_eur, iban }) => `${line_id} ${amount_eur} ${iban}`).sort();
  if (say(here).join() !== say(transfers).join())
    throw new OperatorError(`The file pays something else than the batch ${batch_id} here; nothing was stored.`);
  return { changed: true, ...(await call("payout_keep_file", { ...adopted, ...sealFile(keys, batch_id, xml) })) };
}

/**
 * Whom each payment of the bank paid: somebody who is owed exactly that, by IBAN and name, else by IBAN, else by name.
 * Either may have changed since.
 */
function matchPayees(keys: Keys, owed: Owed[], transfers: Omit<Transfer, "reference">[]) {
  const byAmount = Map.groupBy(
    owed.map((payee) => ({ ...payee, clear: clearIban(keys, payee) })),
    ({ amount_eur }) => amount_eur,
  );
  const lines: object[] = [];
  let unknown = transfers;
  for (const likeness of [3, 2, 1]) {
    unknown = unknown.filter(({ line_id, name, iban, amount_eur }) => {
      const payees = byAmount.get(amount_eur) ?? [];
      const at = payees.findIndex((payee) => 2 * +(payee.clear === iban) + +(payee.name === name) === likeness);
      const [payee] = at < 0 ? [] : payees.splice(at, 1);
      if (!payee) return true;
      const { ciphertext, key_id, last4 } = sealIban(keys, payee.partner_id, iban);
      const sealed = { iban_ciphertext: ciphertext, iban_key_id: key_id, iban_last4: last4 };
      const { partner_id, account_id } = payee;
      lines.push({ line_id, payee: account_id ?? partner_id, partner_id, name, amount: amount_eur, ...sealed });
      return false;
    });
  }
  if (unknown.length === 0) return lines;
  const named = unknown.slice(0, 10).map(({ name, amount_eur }) => `${amount_eur.toFixed(2)} to ${name}`);
  throw new OperatorError(
    `Of ${transfers.length} payments of the file, ${unknown.length} are not what anybody is owed here: ` +
      `${named.join(", ")}. Record what happened before that payment again, then repeat this.`,
  );
}

function clearIban(keys: Keys, { partner_id, iban }: Owed): string {
  try {
    return openIban(keys, partner_id, iban);
  } catch {
    return ""; // none, or of another key
  }
}

function openFor(line_id: string, keys: Keys, partner_id: string, iban: Sealed): string {
  try {
    return openIban(keys, partner_id, iban);
  } catch {
    throw new OperatorError(
      `The IBAN of line ${line_id} cannot be decrypted with these IBAN_KEYS. Nothing was exported.`,
    );
  }
}

/** @throws {OperatorError} if IBAN_KEYS is not set. */
export function readKeys(env: Machine["env"]): Keys {
  try {
    return { config: { IBAN_KEYS: readKeyRing(env.IBAN_KEYS ?? "") } };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new OperatorError(
      "IBANs and webhook secrets are encrypted: set IBAN_KEYS to the value that the functions have, for this " +
        "command only (docs/deploy.md).",
    );
  }
}

const accountIban = z
  .string()
  .transform((iban) => iban.replace(/\s/g, "").toUpperCase())
  .refine((iban) => isValidIBAN(iban) && inSepa(iban));

const account = z.object({
  PAYOUT_ACCOUNT_NAME: z.string().regex(/^(?=.*[A-Za-z0-9])[A-Za-z0-9/?:().,'+ -]{1,70}$/),
  PAYOUT_ACCOUNT_IBAN: accountIban,
  PAYOUT_ACCOUNT_BIC: z
    .string()
    .regex(/^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/)
    .optional(),
});

function readDebtor(env: Machine["env"]) {
  const read = account.safeParse({ ...env, PAYOUT_ACCOUNT_BIC: env.PAYOUT_ACCOUNT_BIC || undefined });
  if (read.success) {
    const { PAYOUT_ACCOUNT_NAME: name, PAYOUT_ACCOUNT_IBAN: iban, PAYOUT_ACCOUNT_BIC: bic } = read.data;
    return { name, iban, bic };
  }
  const wrong = [...new Set(read.error.issues.map(({ path }) => path.join(".")))].join(", ");
  throw new OperatorError(`Set the account we pay from: not set, or not readable: ${wrong}.`);
}

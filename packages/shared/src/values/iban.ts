import { type Keys, open, type Sealed, seal } from "./sealed.ts";

/** An IBAN as the database keeps it: SQL knows that there is one, and its last four characters. */
export type SealedIban = Sealed & {
  last4: string /** Whether its check digits are right (ISO 13616). */;
  checksum_ok: boolean;
};

/** Whether a text is an IBAN, by the length of its country and its checksum. */
export async function isIban(text: string): Promise<boolean> {
  const { isValidIBAN } = await import("ibantools");
  return isValidIBAN(text);
}

/** Encrypts an IBAN before it reaches the database, bound to its tenant: a ciphertext copied to another partner's row does not open. */
export function sealIban(keys: Keys, partnerId: string, iban: string): SealedIban {
  return { ...seal(keys, partnerId, iban), last4: iban.slice(-4), checksum_ok: hasChecksum(iban) };
}

/** The rule of ISO 13616: the first four characters behind the rest, letters as 10 to 35, the remainder by 97 is 1. */
function hasChecksum(iban: string): boolean {
  const digits = `${iban.slice(4)}${iban.slice(0, 4)}`.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return /^\d+$/.test(digits) && BigInt(digits) % 97n === 1n;
}

/** @throws {Error} when key, tenant and ciphertext do not belong together. */
export function openIban(keys: Keys, partnerId: string, sealed: Sealed): string {
  return open(keys, partnerId, sealed);
}

/**
 * Fetches what SQL asks of two ciphertexts of a tenant: whether they are of one IBAN, and which was compared. One that does not open
 * with these keys is another.
 */
export async function compareIbans(
  keys: Keys,
  { partner_id, stored, sent }: { partner_id: string; stored: Sealed; sent: Sealed },
): Promise<{ as: string; same: boolean }> {
  const read = (sealed: Sealed) => {
    try {
      return openIban(keys, partner_id, sealed);
    } catch {
      return null; // what was thrown may quote it
    }
  };
  const there = read(stored);
  return { as: stored.ciphertext, same: there !== null && there === read(sent) };
}

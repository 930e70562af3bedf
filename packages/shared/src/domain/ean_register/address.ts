import type { EanRegisterAddress } from "#shared/domain/answers.ts";
import type { PartialAddress } from "./types.ts";

/** "a", "A", "-A" and " A" are one addition; "" is none. Registers, customers and the BAG each write their own form. */
export function sameForm(text: string | null | undefined): string {
  return (text ?? "").replace(/[^\p{L}\p{N}]/gu, "").toUpperCase();
}

/** Equal for all spellings of the same address. */
export function addressKey({ postal_code, house_number, house_number_addition }: PartialAddress): string {
  return `${sameForm(postal_code)} ${house_number} ${sameForm(house_number_addition)}`;
}

/** Whether it has both a postal code and a house number. */
export function isWhole(address: PartialAddress): address is EanRegisterAddress {
  return address.postal_code !== undefined && address.house_number !== undefined;
}

import { type PartialAddress, type RegisterAnswer, registerOf } from "#shared/domain/ean_register/ean_register.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { ConnectionInput } from "./connection_input.ts";

type Question = Pick<ConnectionInput, "ean_code" | "postal_code" | "house_number" | "house_number_addition">;

/**
 * For operations that may need the EAN register. The rules in SQL say whether they do (a repeat, a no-op and a taken EAN do not), so
 * the register is asked over the network only then, and never inside a transaction.
 */
export const ASKING_REGISTER = {
  register: (environment: Environment, question: Question): Promise<RegisterAnswer> =>
    registerOf(environment).lookup(question, question.ean_code),
};

/** An answer that costs nothing, to hand over at once: it keeps the usual request at one statement. */
export function knownAnswer(
  environment: Environment,
  known: PartialAddress & { ean_code?: string | undefined },
): RegisterAnswer | null {
  return known.ean_code === undefined ? null : registerOf(environment).known(known, known.ean_code);
}

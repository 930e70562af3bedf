import { eanRegisterOf } from "#shared/domain/ean_register/ean_register.ts";
import type { EanRegisterAnswer, PartialAddress } from "#shared/domain/ean_register/types.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { ConnectionInput } from "./connection_input.ts";

type Question = Pick<ConnectionInput, "ean_code" | "postal_code" | "house_number" | "house_number_addition">;

/**
 * For operations that may need the EAN register. SQL decides whether they do: a repeat, a no-op and a taken EAN do
 * not. We call the EAN register only if SQL needs it, and never inside a transaction.
 */
export const NEEDS_EAN_REGISTER = {
  ean_register: (environment: Environment, question: Question): Promise<EanRegisterAnswer> =>
    eanRegisterOf(environment).lookup(question, question.ean_code),
};

/** An answer known without a network call, passed along at once so that the usual request stays one statement. */
export function knownAnswer(
  environment: Environment,
  known: PartialAddress & { ean_code?: string | undefined },
): EanRegisterAnswer | null {
  return known.ean_code === undefined ? null : eanRegisterOf(environment).known(known, known.ean_code);
}

import { type PartialAddress, type RegisterAnswer, registerOf } from "#shared/domain/ean_register/ean_register.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { ConnectionInput } from "./connection_input.ts";

type Question = Pick<ConnectionInput, "ean_code" | "postal_code" | "house_number" | "house_number_addition">;

/**
 * Runs an operation that may need the EAN register. The rules in SQL say whether it does (a repeat, a no-op and a taken EAN do
 * not), so the register is asked over the network only then, and never inside a transaction; an answer that costs nothing is
 * handed over at once, which is what keeps the usual request at one statement.
 */
export async function askingRegister(
  environment: Environment,
  known: PartialAddress & { ean_code?: string | undefined },
  operation: (register: RegisterAnswer | null) => Promise<string>,
): Promise<string> {
  const register = registerOf(environment);
  const first = await operation(known.ean_code === undefined ? null : register.known(known, known.ean_code));
  if (!first.startsWith('{"ask_register"')) return first;
  const { ask_register: question } = JSON.parse(first) as { ask_register: Question };
  return operation(await register.lookup(question, question.ean_code));
}

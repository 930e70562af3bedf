import { createEanRegister, type EanRegister, type RegisterAnswer } from "../../../packages/shared/src/ean_register.ts";
import { type Environment, oncePerEnvironment } from "../../../packages/shared/src/environment.ts";
import type { ConnectionInput } from "./connection_input.ts";

type Question = Pick<ConnectionInput, "ean_code" | "postal_code" | "house_number" | "house_number_addition">;

/** A question of which some parts may be known to the database only. */
type Unsettled = { [field in keyof Question]?: Question[field] | undefined };

const registerOf = oncePerEnvironment(
  ({ config }): EanRegister =>
    createEanRegister({
      host: config.API_HOST,
      driver: config.EAN_REGISTER,
      url: config.EAN_REGISTER_URL ?? null,
      ...(config.EAN_REGISTER_KEY ? { api_key: config.EAN_REGISTER_KEY } : {}),
    }),
);

/**
 * Runs an operation that may need the EAN register. The rules in SQL say whether it does (a repeat, a no-op and a taken EAN do
 * not), so the register is asked over the network only then, and never inside a transaction; an answer that costs nothing is
 * handed over at once, which is what keeps the usual request at one statement.
 */
export async function askingRegister(
  environment: Environment,
  known: Unsettled,
  operation: (register: RegisterAnswer | null) => Promise<string>,
): Promise<string> {
  const register = registerOf(environment);
  const first = await operation(isWhole(known) ? register.known(known, known.ean_code) : null);
  if (!first.startsWith('{"ask_register"')) return first;
  const { ask_register: question } = JSON.parse(first) as { ask_register: Question };
  return operation(await register.lookup(question, question.ean_code));
}

function isWhole(question: Unsettled): question is Question {
  return question.ean_code !== undefined && question.postal_code !== undefined && question.house_number !== undefined;
}

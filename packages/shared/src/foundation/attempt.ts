import { ApiError, type ErrorCode } from "./errors.ts";

/** What is wrong with a one-time code: private.judge_guess. */
export const CODE_REFUSALS = [
  "wrong_code",
  "code_expired",
  "too_many_attempts",
  "too_many_guesses",
] as const satisfies readonly ErrorCode[];

/** The result of an act that a rule may refuse: its answer, or the refusal. */
export type Attempt<Result, Code extends ErrorCode> =
  | { answer: Result; refused: null }
  | { answer: null; refused: ApiError & { readonly code: Code } };

/** Waits for an act that may be refused with one of `codes`, which are for the caller to handle. Any other error is thrown. */
export async function attempt<Result, const Code extends ErrorCode>(
  act: Promise<Result>,
  codes: readonly Code[],
): Promise<Attempt<Result, Code>> {
  try {
    return { answer: await act, refused: null };
  } catch (error) {
    if (isOneOf(error, codes)) return { answer: null, refused: error };
    throw error;
  }
}

function isOneOf<Code extends ErrorCode>(
  error: unknown,
  codes: readonly Code[],
): error is ApiError & { readonly code: Code } {
  return error instanceof ApiError && codes.some((code) => code === error.code);
}

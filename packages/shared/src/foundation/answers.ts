// What api functions answer: JSON text that carries its type.

import type { z } from "./zod.ts";

declare const carried: unique symbol;

/** JSON text of a T, as an api function answered it. It may be passed on as it is; JSON.parse gives the T. */
export type Json<T> = string & { readonly [carried]: T };

declare global {
  interface JSON {
    /** What an api function answered. It is `unknown` until a schema of SqlAnswers says what it is. */
    parse<T>(text: Json<T>): T;
  }
}

/**
 * What api functions answer, by name, where TypeScript reads it. Each surface adds the outputs of its own schemas, and
 * imports their file by `import type` only. The tests hold every answer against its schema: tests/harness/sql_answers.ts.
 */
// biome-ignore lint/suspicious/noEmptyInterface: surfaces add to it
export interface SqlAnswers {}

export type SqlAnswer<Name extends string> = Name extends keyof SqlAnswers ? SqlAnswers[Name] : unknown;

/** The types of a surface's schemas, by api function. */
export type AnswersOf<Schemas extends Readonly<Record<string, z.ZodType>>> = {
  [Name in keyof Schemas]: z.output<Schemas[Name]>;
};

/** Runs one of the named api functions, and gives its JSON text. */
export type Call<Name extends string> = <Called extends Name>(
  name: Called,
  ...input: (object | null)[]
) => Promise<Json<SqlAnswer<Called>>>;

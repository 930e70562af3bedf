// What a command is, and what several of them say alike.

import { Argument, InvalidArgumentError, Option } from "commander";
import type * as z from "zod";
import type { Answer } from "./database.ts";
import { fields, table } from "./text.ts";

export type Input = Record<string, unknown>;

export type Command = {
  /** Noun and verb; a noun alone where there is one thing to do with it. */
  name: string;
  summary: string;
  /** What else to know before running it. */
  details?: string;
  /** What is typed after the program's name. */
  example: string;
  takes?: (Argument | Option)[];
  /** The function in schema ops; its input is what was typed, by name. */
  ops: string | ((input: Input) => string);
  /** Whether `ops` names a function of schema private, which none but the owner of the database may run. */
  owner?: true;
  /** What is sent instead of what was typed. */
  prepare?: (input: Input) => Input;
  /** What is done instead of running that one function, where part of it is done on this machine; `also` are further functions it runs. */
  perform?: { also: string[]; run: (input: Input, machine: Machine) => Promise<Answer> };
  /** What is lost at once and does not come back by itself: asked about before it is done. Nothing is asked where it says nothing. */
  ends?: (input: Input) => string | undefined;
  /** Runs once for each row of a list that an ops function answers, in a transaction each: what is done stays done. */
  each?: {
    list: string;
    pick: (listed: Answer) => Row[];
    input: (row: Row) => Input;
    label: (row: Row) => string;
  };
  /** A field of the answer that goes into the file which an option names: of people or of money, so nobody else can read it. */
  writes?: { field: string; option: string };
  /** Whether the answer says that something is wrong, which is exit code 1. */
  fails?: (answer: Answer) => boolean;
  /** Makes a secret, stored as its hash, and shows it once. */
  makes?: "client" | "app" | "secret" | "key" | "login";
  /** What a person reads. With `each`, the answers are its `results`. */
  view: (answer: Answer) => string;
};

/** What a command of several steps has: the database's functions, each in a transaction of its own, and the environment. */
export type Machine = {
  call: (ops: string, input: Input) => Promise<Answer>;
  env: Record<string, string | undefined>;
  /** Says how far it is, on standard error. */
  say: (text: string) => void;
};

export type Row = Record<string, unknown>;

/** What will come of it, about the thing that an argument names: `Client cpo_4fGh2kLm will stop working for good.` */
export const about =
  (argument: string, what: string) =>
  (input: Input): string =>
    `${argument.charAt(0).toUpperCase()}${argument.slice(1)} ${input[argument]} ${what}.`;

export const list = (key: string, columns: string) => (answer: Answer) => {
  const rows = answer[key] as Row[];
  return rows.length > 0 ? table(rows, columns.split(" ")) : `No ${key.replaceAll("_", " ")}.`;
};

/** A table under its title. */
export const titled = (title: string, rows: unknown, columns: string): string =>
  `${title}\n${(rows as Row[]).length > 0 ? table(rows as Row[], columns.split(" ")) : "  none"}`;

export const changed = (key: string, done: string) => (answer: Answer) =>
  `${answer.changed === false ? "Nothing to change: it was so already." : done}\n${fields(answer[key] as Row)}`;

/** Typed text read by a field rule of the API. */
export const read =
  <T>(schema: z.ZodType<T>) =>
  (value: string): T => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const said = result.error.issues[0]?.message ?? "cannot be read";
    // our own rules go on after "It", the library's are sentences
    throw new InvalidArgumentError(/^[A-Z]/.test(said) ? `${said}.` : `It ${said}.`);
  };

export const whole = (max: number) => (value: string) => {
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= 1 && number <= max) return number;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
};

export const partner = () => new Argument("<partner>", "id or slug of the partner");
export const limit = (fallback: number) =>
  new Option("--limit <number>", "how many at most, up to 1000").argParser(whole(1000)).default(fallback);

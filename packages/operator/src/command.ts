// A command, and the parts that several commands share.

import { Argument, InvalidArgumentError, Option } from "commander";
import type * as z from "zod";
import type { OpsAnswer, Session } from "./database.ts";
import { fields, table } from "./text.ts";

export type Input = Record<string, unknown>;

export type Command = {
  /** Noun and verb; a noun alone where there is one thing to do with it. */
  name: string;
  summary: string;
  /** Help text: what to know before running it. */
  details?: string;
  /** Arguments after the program's name. */
  example: string;
  takes?: (Argument | Option)[];
  /** The function in schema ops. Its input is the arguments, by name. */
  ops: string | ((input: Input) => string);
  /** Whether `ops` names a function of schema private, which only the owner of the database may run. */
  owner?: true;
  /** Replaces the arguments as input. */
  prepare?: (input: Input) => Input;
  /**
   * Replaces the call of that one function if part of the work is done on this machine. `also` lists the other
   * functions it runs.
   */
  perform?: { also: string[]; run: (input: Input, machine: Machine) => Promise<OpsAnswer> };
  /**
   * The consequences that cannot be undone: the person is asked to confirm them first. Without text, nobody is asked.
   */
  ends?: (input: Input) => string | undefined;
  /**
   * Reads what `ends` is about by an ops function, and shows it before the question. If it shows nothing, or there is no
   * function, nobody is asked. It may be the function of the command itself: given `look: true`, that refuses or shows,
   * and changes nothing.
   */
  looks?: {
    ops: string | ((input: Input) => string | undefined);
    view: (answer: OpsAnswer) => string | undefined;
  };
  /**
   * Runs once for each row of a list that an ops function returns. Each row has its own transaction, so finished rows
   * stay done.
   */
  each?: {
    list: string;
    pick: (listed: OpsAnswer) => Row[];
    input: (row: Row) => Input;
    label: (row: Row) => string;
  };
  /**
   * A field of the answer that goes into the file named by an option, as private_file.ts says.
   */
  writes?: { field: string; option: string };
  /** Whether the view shows more if asked: option --verbose, which `details` reads. */
  verbose?: true;
  /** Whether the answer reports a problem: exit code 1. */
  fails?: (answer: OpsAnswer) => boolean;
  /** Creates a secret, stores its hash, and shows it once. */
  makes?: "client" | "app" | "secret" | "key" | "login";
  /** Output for a person. With `each`, the answers are in `results`. */
  view: (answer: OpsAnswer) => string;
};

/** What a command of several steps gets: the database's functions, each in its own transaction, and the environment. */
export type Machine = {
  call: (ops: string, input: Input) => Promise<OpsAnswer>;
  /** Several calls on one connection: to the database of the command, or to another one by its URL. */
  connect: <T>(work: (session: Session) => Promise<T>, url?: string) => Promise<T>;
  env: Record<string, string | undefined>;
  /** Reports progress on standard error. */
  say: (text: string) => void;
  /** Reads a secret from standard input: one line. */
  readLine: (question: string) => Promise<string>;
};

export type Row = Record<string, unknown>;

/** The consequences for the thing that an argument names: `Client cpo_4fGh2kLm will stop working for good.` */
export const about =
  (argument: string, what: string) =>
  (input: Input): string =>
    `${argument.charAt(0).toUpperCase()}${argument.slice(1)} ${input[argument]} ${what}.`;

/** `1 booking`, `3 bookings`. */
export const count = (number: unknown, one: string): string => `${number} ${one}${Number(number) === 1 ? "" : "s"}`;

/** What a list says where it is empty, which of its columns are added up, and what is typed next. */
type ListWords = { none?: string; sums?: string; next?: string };

export const list =
  (key: string, columns: string, { none, sums = "", next }: ListWords = {}) =>
  (answer: OpsAnswer) => {
    const rows = answer[key] as Row[];
    if (rows.length === 0) return none ?? `No ${key.replaceAll("_", " ")}.`;
    return `${table(rows, columns.split(" "), sums.split(" "))}${next ? `\n\nNext: ${next}` : ""}`;
  };

/** A table under its title. */
export const titled = (title: string, rows: unknown, columns: string, sums = ""): string =>
  `${title}\n${(rows as Row[]).length > 0 ? table(rows as Row[], columns.split(" "), sums.split(" ")) : "  none"}`;

export const changed = (key: string, done: string) => (answer: OpsAnswer) =>
  `${answer.changed === false ? "Nothing to change: it was so already." : done}\n${fields(answer[key] as Row)}`;

/** An argument parsed by a field rule of the API. */
export const read =
  <T>(schema: z.ZodType<T>) =>
  (value: string): T => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const said = result.error.issues[0]?.message ?? "cannot be read";
    // our own rules continue the sentence after "It"; the library's rules are sentences
    throw new InvalidArgumentError(/^[A-Z]/.test(said) ? `${said}.` : `It ${said}.`);
  };

export const whole = (max: number) => (value: string) => {
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= 1 && number <= max) return number;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
};

export const partner = () => new Argument("<partner>", "id or slug of the partner");
export const limit = (fallback: number) =>
  new Option("--limit <number>", "maximum number of rows, up to 1000").argParser(whole(1000)).default(fallback);

import type { Rate } from "./rate.ts";

/** The admitted caller, as SQL receives it in the first argument of every api function. */
export type Caller = {
  kind: string;
  client_id?: string;
  user_id?: string;
  /** The person who acts for a partner; absent when its API key does. */
  manager_id?: string;
  partner_id?: string;
  /** When the person of a session signed in. */
  signed_in_at?: string;
  host: "sandbox" | "production";
  request_id: string;
};

/** A credential still to be admitted, as SQL receives it in place of a caller: the function that a request runs first admits it. */
export type Ticket = {
  /** A credential whose signature or form was verified; whether it is still good is for the database to say. */
  credential: { kind: string };
  /** What the endpoint asks of it. `key`: whether a partner's API key will do. */
  demand: { kind: string; scope: string | null; key: boolean; bucket: string | null };
  /** The partner that the request was made up for, where it had to be known before: another is not admitted. */
  tenant?: string;
  host: Caller["host"];
  request_id: string;
};

/** What the database says of a ticket. `flushed`: how far its log was then, if admission had its own statement. */
export type Admitted = { caller: Caller; rate: Rate | null; flushed?: string };

import type { Admitted as Admission } from "./admission.ts";

/** The admitted caller, as SQL receives it in the first argument of every api function. */
export type Caller = Admission["caller"] & { host: "sandbox" | "production"; request_id: string };

/** A credential still to be admitted: api.enter does it in the first statement of a request, and gives the caller. */
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

/** What the database says of a ticket. */
export type Admitted = Admission & { caller: Caller };

import type { Caller } from "./caller.ts";
import { connect } from "./db.ts";
import { Refusal } from "./errors.ts";
import { describeCause, type Log } from "./log.ts";
import type { Limits } from "./pool.ts";

/** A copy of the database that follows it, for long lists of callers who were admitted on the primary. */
export type Replica = {
  /** Whether it is asked at all: it was there, or it is time to look again. */
  readonly isTried: boolean;
  /**
   * Runs a list that `api.read_replica` knows. Null if the replica is away, behind `flushed` or no replica any more: the primary then
   * answers.
   * @throws {Refusal} of the rules
   */
  read(list: string, caller: Caller, flushed: string, query: object | null): Promise<string | null>;
  end(): Promise<void>;
};

/** What a replica that hangs costs the request that notices, so that the primary still has time to answer within ten seconds. */
const LIMITS: Limits = { max: 4, patience_ms: 2_000 };
/** So long the primary answers, until one request looks again. */
const AWAY_MS = 1_000;

/** The log has a line each time the replica stops answering. */
export function connectReplica(url: string, log: Log, limits = LIMITS): Replica {
  const db = connect(url, limits);
  /** When it is looked for again; Infinity while somebody does; 0 while it answers. */
  let again = 0;
  const away = (why: unknown) => {
    if (again === 0) log({ level: "warn", event: "replica_away", cause: describeCause(why) });
    again = performance.now() + AWAY_MS;
    return null;
  };
  const isTried = () => performance.now() >= again;
  return {
    get isTried() {
      return isTried();
    },
    async read(list, caller, flushed, query) {
      if (!isTried()) return null;
      const isLook = again > 0;
      if (isLook) again = Number.POSITIVE_INFINITY;
      try {
        const answer = await db.call("read_replica", caller, { list, flushed }, query);
        if (answer === "null") return away(new Error("the replica is behind"));
        if (isLook) again = 0;
        return answer;
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === "service_unavailable") return away(error);
        if (isLook) again = 0;
        throw error;
      }
    },
    end: () => db.end(),
  };
}

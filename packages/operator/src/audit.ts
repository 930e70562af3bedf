// Verifies the audit log and the ledger in parts: a long run shows progress, and no statement takes long.

import type { Input, Machine, Row } from "./command.ts";
import type { OpsAnswer } from "./database.ts";

const LINKS = 100_000;

type Chain = { partner_id: string; partner_slug: string; log: string; links: number; first: number };
type Part = { last: number | null; links: number; is_there: boolean; done: boolean; fault: Row | null };
type Seals = { seals: number; is_there: boolean; last: Row | null; wrong: Row | null };

/** Walks every chain to its end, then the seals. Names the first wrong row of each chain. */
export async function verify(input: Input, { call, say }: Machine): Promise<OpsAnswer> {
  const { chains } = (await call("audit_chains", input)) as { chains: Chain[] };
  const total = chains.reduce((sum, { links }) => sum + links, 0);
  const wrong: Row[] = [];
  let walked = 0;
  let isThere = false;
  for (const { partner_id, partner_slug, log, first } of chains) {
    for (let after = first - 1, done = false; !done; ) {
      const asked = { partner_id, log, after, size: LINKS, expect: input.expect };
      const part = (await call("audit_verify_part", asked)) as Part;
      walked += part.links;
      isThere ||= part.is_there;
      if (part.fault) wrong.push({ partner_slug, log, ...part.fault });
      done = part.done || part.fault !== null;
      after = part.last ?? after;
      if (total > LINKS && part.links > 0) say(`${walked} of ${total} rows\n`);
    }
  }
  const seals = (await call("audit_verify_seals", input)) as Seals;
  if (seals.wrong) wrong.push({ fault: "seal_broken", ...seals.wrong });
  const expected = input.expect === undefined ? undefined : isThere || seals.is_there;
  return {
    ok: wrong.length === 0 && expected !== false,
    rows: walked,
    ...(expected === undefined ? {} : { expected }),
    wrong,
    seals: seals.seals,
    sealed: seals.last,
    chains: chains.map(({ first: _, ...chain }) => chain),
  };
}

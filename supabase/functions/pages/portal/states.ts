import type { ChipKind } from "../kit/parts/chip.ts";

/** How everything here that has a state stands, by the word of the API: the one table of colors. */
export const STATES = {
  draft: { invited: "way", claimed: "way", active: "done", conflict: "yours", expired: "stopped" },
  registration: { concept: "quiet", ingediend: "way", goedgekeurd: "done", afgekeurd: "stopped" },
  payout: { pending: "way", approved: "way", paid: "done", failed: "stopped", none_due: "quiet" },
  month: { staged: "way", outside_mandate: "stopped", submitted: "way", registered: "done", rejected: "stopped" },
} as const satisfies Record<string, Record<string, ChipKind>>;

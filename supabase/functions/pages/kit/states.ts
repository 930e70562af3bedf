import type { ChipKind } from "./parts/chip.ts";

/** How each of these stands, by the word of the API. */
export const STATES = {
  draft: { invited: "way", claimed: "way", active: "done", conflict: "yours", expired: "stopped" },
  mandate: { pending: "yours", signed: "done", expired: "stopped", revoked: "stopped", declined: "quiet" },
  registration: { concept: "quiet", ingediend: "way", goedgekeurd: "done", afgekeurd: "stopped" },
  month: { staged: "way", outside_mandate: "stopped", submitted: "way", registered: "done", rejected: "stopped" },
  payment: { pending: "way", approved: "way", paid: "done", failed: "stopped", none_due: "quiet" },
} as const satisfies Record<string, Record<string, ChipKind>>;

import type { ChipKind } from "../kit/parts/chip.ts";

/** How who was signed up stands, and a registration, by the word of the API. */
export const STATES = {
  draft: { invited: "way", claimed: "way", active: "done", conflict: "yours", expired: "stopped" },
  registration: { concept: "quiet", ingediend: "way", goedgekeurd: "done", afgekeurd: "stopped" },
} as const satisfies Record<string, Record<string, ChipKind>>;

import { z } from "#shared/foundation/zod.ts";

export const DraftEanStatus = z
  .enum(["pending", "resolved", "ambiguous", "not_found", "provided", "no_address", "failed"])
  .meta({
    id: "DraftEanStatus",
    description:
      "pending: not looked up yet; resolved: one metering point at the address; ambiguous: several, the customer " +
      "chooses; not_found: none; provided: the row had the EAN; failed: no response, retried for a day",
  });

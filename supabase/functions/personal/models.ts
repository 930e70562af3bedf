/** What more than one answer of the personal API is made of. */
import { z } from "#shared/foundation/zod.ts";

export const month = () =>
  z
    .string()
    .regex(/^\d{4}-\d{2}$/)
    .meta({ example: "2026-03" });

/** Models that several answers of the personal API share. */
import { z } from "#shared/foundation/zod.ts";

export const month = () =>
  z
    .string()
    .regex(/^\d{4}-\d{2}$/)
    .meta({ example: "2026-03" });

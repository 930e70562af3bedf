import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";
import { PERSONAL_SCOPES } from "#shared/values/scopes.ts";

export const Scope = z.enum(PERSONAL_SCOPES);

export const Token = z
  .object({
    id: z.guid().meta({ description: "Its id; it never changes" }),
    name: z.string().meta({ description: "The name you gave it" }),
    scopes: z.array(Scope).meta({ description: "The scopes it has" }),
    last4: z.string().meta({ description: "The last four characters, to tell tokens apart" }),
    created_at: instant().meta({ description: "When it was created" }),
    expires_at: instant().nullable().meta({ description: "When it expires" }),
    last_used_at: instant().nullable().meta({ description: "To the minute" }),
  })
  .meta({ id: "PersonalToken" });
export type Token = z.output<typeof Token>;

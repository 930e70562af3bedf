import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { Who } from "../model.ts";

/** As api.read_portal_colleagues answers. */
const Colleagues = z.object({
  who: Who,
  own_id: z.string(),
  signed_in_recently: z.boolean(),
  managers: z.array(
    z.object({ user_id: z.string(), email: z.string(), since: z.string(), last_sign_in_at: z.string().nullable() }),
  ),
  invitations: z.array(z.object({ id: z.string(), email: z.string(), expires_at: z.string() })),
});
export type Colleagues = z.output<typeof Colleagues>;

/** The answer of api.open_invitation. */
const Opened = z.discriminatedUnion("state", [
  z.object({ state: z.literal("unknown") }),
  z.object({
    state: z.enum(["open", "used", "withdrawn", "expired"]),
    email: z.string(),
    partner_name: z.string(),
    code_sent: z.boolean(),
  }),
]);
/** Of a link that we know. */
export type Invitation = Exclude<z.output<typeof Opened>, { state: "unknown" }>;

export const ANSWERS = {
  read_portal_colleagues: Colleagues,
  open_invitation: Opened,
  invite_manager: z.object({ invited: z.boolean().nullable() }),
  withdraw_manager_invitation: z.object({ withdrawn: z.boolean() }),
  remove_manager: z.object({ removed: z.boolean() }),
  accept_invitation: z.object({ email: z.string(), accepted: z.boolean() }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}

import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { claimToken } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { DueNotice } from "./answers.ts";

const BATCH = 100;
/** Time kept for sending mail and for the rest of the run. */
const RESERVE_MS = 12_000;

/**
 * Writes a mail of each notice that is due. A notice is leased for five minutes, and one statement then settles mail
 * and notice. So a worker that dies loses none, and two workers write none twice.
 */
export async function mailNotices(
  environment: Environment,
  call: Call<"due_notices" | "mail_notices">,
  deadline: number,
): Promise<{ mailed: number }> {
  const result = { mailed: 0 };
  while (Date.now() < deadline - RESERVE_MS) {
    const due = JSON.parse(await call("due_notices", { size: BATCH }));
    if (due.length === 0) break;
    const { mailed } = JSON.parse(
      await call(
        "mail_notices",
        due.map((each) => mailAbout(environment, each)),
      ),
    );
    result.mailed += mailed;
  }
  return result;
}

function mailAbout(
  environment: Environment,
  { partner_id, notice_id, notice, locale, draft_id, may_sign_in, may_sign, ...reader }: DueNotice,
) {
  const { config } = environment;
  // a customer without own pages gets a link to sign, as the CPO would issue it
  const token = may_sign && !draft_id ? newSecret() : null;
  const page = draft_id
    ? `${config.PAGES_URL}/claim/${claimToken(environment, draft_id)}`
    : token && `${config.PAGES_URL}/mandate/${token}`;
  const link = may_sign_in ? `${config.PAGES_URL}/mijn/earnings?lang=${locale}` : page;
  const mail = aboutMail(config, notice.kind, locale, { notice, reader: { ...reader, link } });
  return { partner_id, notice_id, draft_id, token_hash: token && hashSecret(token), mail };
}

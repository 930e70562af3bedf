import { secretKey, signInByMail } from "#shared/auth/supabase_auth.ts";
import { hashSecret, newCode } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { CODE_REFUSALS } from "#shared/foundation/errors.ts";
import { readCode } from "../../kit/code.ts";
import type { Handler, PageAnswer } from "../../kit/visit.ts";
import { onSignIn, type PortalVisit } from "../visit.ts";
import { closedInvitationPage, invitationCodePage, invitationPage, type Opened } from "./views.ts";

type Invited = { token: string; path: string; opened: Opened };

/** A page of an invitation that is open; any other says how it stands. */
const onInvitation = (run: (visit: PortalVisit, invited: Invited) => PageAnswer): Handler =>
  onSignIn(async (visit) => {
    const { token, address_hash } = visit;
    const opened =
      token && (await visit.call<Opened>("open_invitation", { token_hash: hashSecret(token), address_hash }));
    if (!token || !opened || opened.state === "unknown") return visit.unknown();
    visit.logOutcome(opened.state);
    if (opened.state !== "open") return visit.page(closedInvitationPage(visit.frame, opened.state), 404);
    return run(visit, { token, path: `/invitation/${token}`, opened });
  });

/** A form of one that this browser was shown. */
const onForm = (run: (visit: PortalVisit, invited: Invited) => PageAnswer): Handler =>
  onInvitation((visit, invited) => (visit.isOwnForm() ? run(visit, invited) : visit.go(invited.path)));

const showInvitation = onInvitation((visit, { path, opened }) =>
  visit.page(invitationPage(visit.frame, path, opened, visit.formToken(), visit.cookie("session") !== undefined)),
);

const mailInvitationCode = onForm(async (visit, { token, path }) => {
  const { environment, locale, frame } = visit;
  secretKey(environment); // without one the code would be mailed in vain
  const code = newCode();
  const sending = visit.call("send_invitation_code", {
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    mail: aboutMail(environment.config, "sign_in", locale, { code, purpose: "join" }),
  });
  const { refused } = await visit.attempt(sending, ["too_many_codes", "link_not_open"]);
  if (refused?.code === "too_many_codes") return visit.tooManyCodes(refused, frame.to(`${path}/code`));
  return visit.go(refused ? path : `${path}/code`);
});

const showInvitationCode = onInvitation((visit, { path, opened }) =>
  visit.formPage((returned) => invitationCodePage(visit.frame, path, opened, visit.formToken(), returned?.errors.code)),
);

const acceptInvitation = onForm(async (visit, { token, path, opened }) => {
  const { frame, form, environment } = visit;
  const { errors } = frame.words.code;
  const again = (code: string) =>
    visit.again(frame.to(`${path}/code`), { code }, () =>
      invitationCodePage(frame, path, opened, visit.formToken(), code),
    );
  const code = readCode(form);
  if (code === null) return again(errors.code_missing);
  const accepting = visit.call<{ email: string; accepted: boolean }>("accept_invitation", {
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    key: claimKey(environment),
  });
  const { answer, refused } = await visit.attempt(accepting, [...CODE_REFUSALS, "link_not_open"]);
  if (refused?.code === "link_not_open") return visit.go(path);
  if (refused) return again(errors[refused.code]);
  if (!answer.accepted) {
    visit.logOutcome("manages_another_partner");
    return visit.page(closedInvitationPage(frame, "elsewhere"), 409);
  }
  visit.logOutcome("accepted");
  const jwt = await signInByMail(environment, answer.email);
  return jwt ? visit.begin(jwt) : visit.go("/sign-in");
});

/** What the pages of an invitation do. */
export const invitationPages = { showInvitation, mailInvitationCode, showInvitationCode, acceptInvitation };

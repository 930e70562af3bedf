import { secretKey, signInByMail } from "#shared/auth/supabase_auth.ts";
import { hashSecret, newCode } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { CODE_REFUSALS } from "#shared/foundation/attempt.ts";
import { readCode } from "../../kit/code.ts";
import type { Handler, PageAnswer } from "../../kit/page_request.ts";
import { onSignIn, type PortalRequest } from "../request.ts";
import type { Invitation } from "./model.ts";
import { closedInvitationPage, invitationCodePage, invitationPage } from "./views.ts";

type Invited = { token: string; path: string; opened: Invitation };

/** A page of an invitation that is open; any other says how it stands. */
const onInvitation = (run: (request: PortalRequest, invited: Invited) => PageAnswer): Handler =>
  onSignIn(async (request) => {
    const { token, address_hash } = request;
    const opened = token && (await request.call("open_invitation", { token_hash: hashSecret(token), address_hash }));
    if (!token || !opened || opened.state === "unknown") return request.unknown();
    request.logOutcome(opened.state);
    if (opened.state !== "open") return request.page(closedInvitationPage(request.frame, opened.state), 404);
    return run(request, { token, path: `/invitation/${token}`, opened });
  });

/** A form of one that this browser was shown. */
const onForm = (run: (request: PortalRequest, invited: Invited) => PageAnswer): Handler =>
  onInvitation((request, invited) => (request.isOwnForm() ? run(request, invited) : request.go(invited.path)));

const showInvitation = onInvitation((request, { path, opened }) =>
  request.page(
    invitationPage(request.frame, path, opened, request.formToken(), request.cookie("session") !== undefined),
  ),
);

const mailInvitationCode = onForm(async (request, { token, path }) => {
  const { environment, locale, frame } = request;
  secretKey(environment); // without one the code would be mailed in vain
  const code = newCode();
  const sending = request.call("send_invitation_code", {
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    mail: aboutMail(environment.config, "sign_in", locale, { code, purpose: "join" }),
  });
  const { refused } = await request.attempt(sending, ["too_many_codes", "link_not_open"]);
  if (refused?.code === "too_many_codes") return request.tooManyCodes(refused, frame.to(`${path}/code`));
  return request.go(refused ? path : `${path}/code`);
});

const showInvitationCode = onInvitation((request, { path, opened }) =>
  request.formPage((returned) =>
    invitationCodePage(request.frame, path, opened, request.formToken(), returned?.errors.code),
  ),
);

const acceptInvitation = onForm(async (request, { token, path, opened }) => {
  const { frame, form, environment } = request;
  const { errors } = frame.words.code;
  const again = (code: string) =>
    request.again(frame.to(`${path}/code`), { code }, () =>
      invitationCodePage(frame, path, opened, request.formToken(), code),
    );
  const code = readCode(form);
  if (code === null) return again(errors.code_missing);
  const accepting = request.call("accept_invitation", {
    token_hash: hashSecret(token),
    code_hash: hashSecret(`${token}:${code}`),
    key: claimKey(environment),
  });
  const { answer, refused } = await request.attempt(accepting, [...CODE_REFUSALS, "link_not_open"]);
  if (refused?.code === "link_not_open") return request.go(path);
  if (refused) return again(errors[refused.code]);
  if (!answer.accepted) {
    request.logOutcome("manages_another_partner");
    return request.page(closedInvitationPage(frame, "elsewhere"), 409);
  }
  request.logOutcome("accepted");
  const jwt = await signInByMail(environment, answer.email);
  return jwt ? request.begin(jwt) : request.go("/sign-in");
});

/** What the pages of an invitation do. */
export const handlers = { showInvitation, mailInvitationCode, showInvitationCode, acceptInvitation };

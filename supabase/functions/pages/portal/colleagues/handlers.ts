import { hashSecret } from "#shared/auth/tokens.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { email as address } from "#shared/values/fields.ts";
import { signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { COLLEAGUES, colleaguesPage, removePage } from "./views.ts";

const showColleagues = signedIn(async (request) => {
  const news = request.news();
  return request.pageOf(colleaguesPage(request.frame, await request.own("read_portal_colleagues"), news), news);
});

const inviteColleague = signedIn(async (request) => {
  const { form, locale, environment } = request;
  const { config } = environment;
  const { errors } = WORDS[locale].colleagues;
  const email = address().safeParse((form.get("email") ?? "").slice(0, 254)).data;
  if (!email) return request.refuse(COLLEAGUES, { email: errors.email });
  // a second click sends the same link, and no second mail
  const token = request.secretOf("invitation")?.slice(0, 43);
  if (!token) return request.foreign();
  const link = `${config.PAGES_URL}/portal/invitation/${token}`;
  const inviting = request.own("invite_manager", {
    email,
    token_hash: hashSecret(token),
    mail: aboutMail(config, "manager_invitation", locale, { link }),
  });
  const { answer, refused } = await request.attempt(inviting, ["recent_sign_in_required"]);
  if (refused) return request.codeBefore(COLLEAGUES);
  if (!answer.invited)
    return request.refuse(COLLEAGUES, { email: answer.invited === null ? errors.limit : errors.there });
  return request.told(COLLEAGUES, "invited");
});

const withdrawInvitation = signedIn(async (request) => {
  const id = request.form.get("id") ?? "";
  const { withdrawn } = await request.own("withdraw_manager_invitation", { id });
  return withdrawn ? request.told(COLLEAGUES, "withdrawn") : request.go(COLLEAGUES);
});

const askRemoveColleague = signedIn(async (request) => {
  const colleagues = await request.own("read_portal_colleagues");
  const id = request.c.req.param("id") ?? "";
  const theirs = colleagues.managers.some(({ user_id }) => user_id === id);
  if (!theirs) return request.unknown();
  return colleagues.managers.length > 1
    ? request.page(removePage(request.frame, colleagues, id))
    : request.told(COLLEAGUES, "not_removed");
});

const removeColleague = signedIn(async (request) => {
  const id = request.c.req.param("id") ?? "";
  const removing = request.own("remove_manager", { user_id: id });
  const { answer, refused } = await request.attempt(removing, ["recent_sign_in_required"]);
  if (refused) return request.codeBefore(`${COLLEAGUES}/${id}/remove`);
  return request.told(COLLEAGUES, answer.removed ? "removed" : "not_removed");
});

/** What the page about colleagues does. */
export const handlers = {
  showColleagues,
  inviteColleague,
  withdrawInvitation,
  askRemoveColleague,
  removeColleague,
};

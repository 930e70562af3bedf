import { hashSecret } from "#shared/auth/tokens.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { email as address } from "#shared/values/fields.ts";
import { signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import { COLLEAGUES, type Colleagues, colleaguesPage, removePage } from "./views.ts";

const showColleagues = signedIn(async (visit) => {
  const news = visit.news();
  return visit.pageOf(colleaguesPage(visit.frame, await visit.own<Colleagues>("read_portal_colleagues"), news), news);
});

const inviteColleague = signedIn(async (visit) => {
  const { form, locale, environment } = visit;
  const { config } = environment;
  const { errors } = WORDS[locale].colleagues;
  const email = address().safeParse((form.get("email") ?? "").slice(0, 254)).data;
  if (!email) return visit.refuse(COLLEAGUES, { email: errors.email });
  // a second click sends the same link, and no second mail
  const token = visit.secretOf("invitation")?.slice(0, 43);
  if (!token) return visit.foreign();
  const link = `${config.PAGES_URL}/portal/invitation/${token}`;
  const inviting = visit.own<{ invited: boolean | null }>("invite_manager", {
    email,
    token_hash: hashSecret(token),
    mail: aboutMail(config, "manager_invitation", locale, { link }),
  });
  const { answer, refused } = await visit.attempt(inviting, ["recent_sign_in_required"]);
  if (refused) return visit.codeBefore(COLLEAGUES);
  if (!answer.invited)
    return visit.refuse(COLLEAGUES, { email: answer.invited === null ? errors.limit : errors.there });
  return visit.told(COLLEAGUES, "invited");
});

const withdrawInvitation = signedIn(async (visit) => {
  const id = visit.form.get("id") ?? "";
  const { withdrawn } = await visit.own<{ withdrawn: boolean }>("withdraw_manager_invitation", { id });
  return withdrawn ? visit.told(COLLEAGUES, "withdrawn") : visit.go(COLLEAGUES);
});

const askRemoveColleague = signedIn(async (visit) => {
  const colleagues = await visit.own<Colleagues>("read_portal_colleagues");
  const id = visit.c.req.param("id") ?? "";
  const theirs = colleagues.managers.some(({ user_id }) => user_id === id);
  if (!theirs) return visit.unknown();
  return colleagues.managers.length > 1
    ? visit.page(removePage(visit.frame, colleagues, id))
    : visit.told(COLLEAGUES, "not_removed");
});

const removeColleague = signedIn(async (visit) => {
  const id = visit.c.req.param("id") ?? "";
  const removing = visit.own<{ removed: boolean }>("remove_manager", { user_id: id });
  const { answer, refused } = await visit.attempt(removing, ["recent_sign_in_required"]);
  if (refused) return visit.codeBefore(`${COLLEAGUES}/${id}/remove`);
  return visit.told(COLLEAGUES, answer.removed ? "removed" : "not_removed");
});

/** What the page about colleagues does. */
export const colleaguePages = {
  showColleagues,
  inviteColleague,
  withdrawInvitation,
  askRemoveColleague,
  removeColleague,
};

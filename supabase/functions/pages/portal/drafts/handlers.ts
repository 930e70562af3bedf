import { claimLinks } from "#shared/domain/claim/links.ts";
import { isId } from "../../kit/routes.ts";
import { type PortalVisit, signedIn } from "../visit.ts";
import { askWithdrawPage, draftPage } from "./draft.ts";
import { draftsPage } from "./list.ts";
import type { Drafts, MailingState, OneDraft } from "./model.ts";
import { askedOf } from "./query.ts";

/** Drafts of a page. */
const PAGE = 50;

const showDrafts = signedIn(async (visit) => {
  const { q, ...rest } = askedOf(visit);
  const border = visit.c.req.query("after") ?? "";
  const after = isId(border) ? border : null;
  const drafts = await visit.own<Drafts>("read_portal_drafts", { for: { ...rest, text: q }, after, limit: PAGE });
  return visit.page(draftsPage(visit.frame, drafts, askedOf(visit), after, visit.news().typed.get("news")));
});

const idOf = ({ c }: PortalVisit) => c.req.param("id") ?? "";

const read = (visit: PortalVisit, with_link: boolean) =>
  visit.attempt(
    visit.own<OneDraft>("read_portal_draft", {
      draft_id: idOf(visit),
      with_link,
      links: claimLinks(visit.environment),
    }),
    ["draft_not_found"],
  );

/** The link is a secret: it is on the page once, when it was asked for. */
const showDraft = signedIn(async (visit) => {
  const news = visit.news().typed.get("news");
  const { answer, refused } = await read(visit, news === "link");
  return refused ? visit.unknown() : visit.page(draftPage(visit.frame, answer, news));
});

const showLink = signedIn(async (visit) => {
  const { refused } = await read(visit, false);
  return refused ? visit.unknown() : visit.told(`/drafts/${idOf(visit)}`, "link");
});

const inviteAgain = signedIn(async (visit) => {
  const inviting = visit.own<{ state: MailingState }>("invite_draft_again", {
    draft_id: idOf(visit),
    links: claimLinks(visit.environment),
  });
  const { answer, refused } = await visit.attempt(inviting, ["draft_not_found"]);
  if (refused) return visit.unknown();
  return visit.told(`/drafts/${idOf(visit)}`, answer.state === "may" ? "sent" : "not_sent");
});

const askWithdraw = signedIn(async (visit) => {
  const { answer, refused } = await read(visit, false);
  if (refused) return visit.unknown();
  if (answer.draft.status === "active") return visit.go(`/drafts/${idOf(visit)}`);
  return visit.page(askWithdrawPage(visit.frame, answer));
});

const withdraw = signedIn(async (visit) => {
  const withdrawing = visit.own("withdraw_draft", { draft_id: idOf(visit) });
  const { refused } = await visit.attempt(withdrawing, ["draft_not_found", "draft_active"]);
  // it signed meanwhile, which its page says
  if (refused?.code === "draft_active") return visit.go(`/drafts/${idOf(visit)}`);
  return refused ? visit.unknown() : visit.told("/drafts", "withdrawn");
});

export const draftPages = { showDrafts, showDraft, showLink, inviteAgain, askWithdraw, withdraw };

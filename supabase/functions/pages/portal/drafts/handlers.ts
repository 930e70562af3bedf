import { claimLinks } from "#shared/domain/claim/links.ts";
import { csvOfParts } from "../../kit/download.ts";
import { isId } from "../../kit/routes.ts";
import { type PortalVisit, signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import { askWithdrawPage, draftPage } from "./draft.ts";
import { columnsOf, rowOf } from "./file.ts";
import { askWithdrawDraftsPage, draftsPage, hereOf, type Place, withdrawalOf } from "./list.ts";
import type { Drafts, MailingState, OneDraft } from "./model.ts";
import { askedOf, PAGE } from "./query.ts";

/** Drafts that a file is written from in one go. */
const STRETCH = 1000;

/** What is looked for, from which draft on it is searched, and how many of what is found are left out. */
function queryOf(visit: PortalVisit, after: string | null, skip: number, limit: number) {
  const { q, ...rest } = askedOf(visit);
  return { for: { ...rest, text: q }, after, skip, limit };
}

function placeOf({ c, pageAsked }: PortalVisit): Place {
  const border = c.req.query("after") ?? "";
  return { after: isId(border) ? border : null, page: pageAsked };
}

/** Where in the list the reader is, or came from. */
const hereIn = (visit: PortalVisit) => hereOf(askedOf(visit), placeOf(visit));

const showDrafts = signedIn(async (visit) => {
  const { after, page } = placeOf(visit);
  const drafts = await visit.own<Drafts>("read_portal_drafts", queryOf(visit, after, (page - 1) * PAGE, PAGE));
  const last = Math.max(Math.ceil(drafts.total / PAGE), 1);
  // its drafts were withdrawn
  if (page > last) return visit.go("/drafts", hereOf(askedOf(visit), { after, page: last }));
  const { typed } = visit.news();
  return visit.page(
    draftsPage(visit.frame, drafts, askedOf(visit), { after, page }, typed, visit.c.req.query("tick") === "all"),
  );
});

/** All of what is looked for. */
const downloadDrafts = signedIn(async (visit) => {
  const { frame, locale } = visit;
  let after: string | null = null;
  let skip = 0;
  const read = () => visit.list<Drafts>("read_portal_drafts", queryOf(visit, after, skip, STRETCH));
  return csvOfParts(
    visit,
    WORDS[locale].drafts.file,
    columnsOf(frame),
    await read(),
    ({ drafts }) => drafts.map((draft) => rowOf(frame, draft)),
    ({ total, more_after }) => {
      skip += STRETCH;
      if (skip < total) return read();
      after = more_after;
      skip = 0;
      return after === null ? null : read();
    },
  );
});

/** The drafts that were ticked, at most a page of them. */
const ticked = (named: readonly string[]): string[] => [...new Set(named.filter(isId))].slice(0, PAGE);

/** What is done with the drafts that were ticked: they are reminded at once, and asked about before they are withdrawn. */
const actOnDrafts = signedIn(async (visit) => {
  const draft_ids = ticked(visit.form.getAll("draft"));
  // back to the part of the list that they were ticked in
  const here = hereIn(visit);
  if (draft_ids.length === 0) return visit.told("/drafts", "none_ticked", {}, here);
  if (visit.form.get("act") === "withdraw") return visit.c.redirect(withdrawalOf(visit.frame, here, draft_ids), 303);
  const links = claimLinks(visit.environment);
  const { sent, not_sent } = await visit.own<{ sent: number; not_sent: number }>("invite_drafts_again", {
    draft_ids,
    links,
  });
  return visit.told("/drafts", "reminded", { done: String(sent), left: String(not_sent) }, here);
});

const askWithdrawDrafts = signedIn(async (visit) => {
  const ids = ticked(visit.c.req.queries("draft") ?? []);
  const here = hereIn(visit);
  if (ids.length === 0) return visit.go("/drafts", here);
  const named = { for: { ids, sort: here.sort }, after: null, skip: 0, limit: PAGE };
  const { who, drafts } = await visit.own<Drafts>("read_portal_drafts", named);
  const open = drafts.filter(({ status }) => status !== "active");
  if (open.length === 0) return toldWithdrawn(visit, { withdrawn: 0, kept: drafts.length }, ids);
  return visit.page(askWithdrawDraftsPage(visit.frame, who, open, here));
});

type Withdrawn = { withdrawn: number; kept: number };

function toldWithdrawn(visit: PortalVisit, { withdrawn, kept }: Withdrawn, ids: readonly string[]): Response {
  const news = withdrawn + kept === 0 ? "withdrawn_before" : "withdrawn_all";
  const counts = { done: String(withdrawn), left: String(kept), before: String(ids.length - withdrawn - kept) };
  return visit.told("/drafts", news, counts, hereIn(visit));
}

const withdrawDrafts = signedIn(async (visit) => {
  const draft_ids = ticked(visit.c.req.queries("draft") ?? []);
  return toldWithdrawn(visit, await visit.own<Withdrawn>("withdraw_drafts", { draft_ids }), draft_ids);
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
  return refused ? visit.unknown() : visit.page(draftPage(visit.frame, answer, news, hereIn(visit)));
});

const showLink = signedIn(async (visit) => {
  const { refused } = await read(visit, false);
  return refused ? visit.unknown() : visit.told(`/drafts/${idOf(visit)}`, "link", {}, hereIn(visit));
});

const inviteAgain = signedIn(async (visit) => {
  const inviting = visit.own<{ state: MailingState }>("invite_draft_again", {
    draft_id: idOf(visit),
    links: claimLinks(visit.environment),
  });
  const { answer, refused } = await visit.attempt(inviting, ["draft_not_found"]);
  if (refused) return visit.unknown();
  return visit.told(`/drafts/${idOf(visit)}`, answer.state === "may" ? "sent" : "not_sent", {}, hereIn(visit));
});

const askWithdraw = signedIn(async (visit) => {
  const { answer, refused } = await read(visit, false);
  if (refused) return visit.unknown();
  if (answer.draft.status === "active") return visit.go(`/drafts/${idOf(visit)}`, hereIn(visit));
  return visit.page(askWithdrawPage(visit.frame, answer, hereIn(visit)));
});

const withdraw = signedIn(async (visit) => {
  const withdrawing = visit.own("withdraw_draft", { draft_id: idOf(visit) });
  const { refused } = await visit.attempt(withdrawing, ["draft_not_found", "draft_active"]);
  // it signed meanwhile, which its page says
  if (refused?.code === "draft_active") return visit.go(`/drafts/${idOf(visit)}`, hereIn(visit));
  // withdrawn before, by this form or a colleague
  return visit.told("/drafts", refused ? "withdrawn_before" : "withdrawn", {}, hereIn(visit));
});

export const draftPages = {
  downloadDrafts,
  actOnDrafts,
  askWithdrawDrafts,
  withdrawDrafts,
  showDrafts,
  showDraft,
  showLink,
  inviteAgain,
  askWithdraw,
  withdraw,
};

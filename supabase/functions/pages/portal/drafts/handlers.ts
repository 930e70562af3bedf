import { claimLinks } from "#shared/domain/claim/links.ts";
import { csvOfParts } from "../../kit/download.ts";
import { isId } from "../../kit/routes.ts";
import { type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { askWithdrawPage, draftPage } from "./draft.ts";
import { columnsOf, rowOf } from "./file.ts";
import { askWithdrawDraftsPage, draftsPage, hereOf, type Place, withdrawalOf } from "./list.ts";
import type { Withdrawn } from "./model.ts";
import { askedOf, PAGE, stagesOf } from "./query.ts";

/** Drafts that a file is written from in one go. */
const STRETCH = 1000;

/** What is looked for, from which draft on it is searched, and how many of what is found are left out. */
function queryOf(request: PortalRequest, after: string | null, skip: number, limit: number) {
  const { q, status, ...rest } = askedOf(request);
  return { for: { ...rest, ...(status ? { status: stagesOf(status) } : {}), text: q }, after, skip, limit };
}

function placeOf({ c, pageAsked }: PortalRequest): Place {
  const border = c.req.query("after") ?? "";
  return { after: isId(border) ? border : null, page: pageAsked };
}

/** Where in the list the reader is, or came from. */
const hereIn = (request: PortalRequest) => hereOf(askedOf(request), placeOf(request));

const showDrafts = signedIn(async (request) => {
  const { after, page } = placeOf(request);
  const drafts = await request.own("read_portal_drafts", queryOf(request, after, (page - 1) * PAGE, PAGE));
  const last = Math.max(Math.ceil(drafts.total / PAGE), 1);
  // its drafts were withdrawn
  if (page > last) return request.go("/drafts", hereOf(askedOf(request), { after, page: last }));
  const { typed } = request.news();
  return request.page(
    draftsPage(request.frame, drafts, askedOf(request), { after, page }, typed, request.c.req.query("tick") === "all"),
  );
});

/** All of what is looked for. */
const downloadDrafts = signedIn(async (request) => {
  const { frame, locale } = request;
  let after: string | null = null;
  let skip = 0;
  const read = () => request.list("read_portal_drafts", queryOf(request, after, skip, STRETCH));
  return csvOfParts(
    request,
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
const actOnDrafts = signedIn(async (request) => {
  const draft_ids = ticked(request.form.getAll("draft"));
  // back to the part of the list that they were ticked in
  const here = hereIn(request);
  if (draft_ids.length === 0) return request.told("/drafts", "none_ticked", {}, here);
  if (request.form.get("act") === "withdraw")
    return request.c.redirect(withdrawalOf(request.frame, here, draft_ids), 303);
  const links = claimLinks(request.environment);
  const { sent, not_sent } = await request.own("invite_drafts_again", {
    draft_ids,
    links,
  });
  return request.told("/drafts", "reminded", { done: String(sent), left: String(not_sent) }, here);
});

const askWithdrawDrafts = signedIn(async (request) => {
  const ids = ticked(request.c.req.queries("draft") ?? []);
  const here = hereIn(request);
  if (ids.length === 0) return request.go("/drafts", here);
  const named = { for: { ids, sort: here.sort }, after: null, skip: 0, limit: PAGE };
  const { who, drafts } = await request.own("read_portal_drafts", named);
  const open = drafts.filter(({ status }) => status !== "active");
  if (open.length === 0) return toldWithdrawn(request, { withdrawn: 0, kept: drafts.length }, ids);
  return request.page(askWithdrawDraftsPage(request.frame, who, open, here));
});

function toldWithdrawn(request: PortalRequest, { withdrawn, kept }: Withdrawn, ids: readonly string[]): Response {
  const news = withdrawn + kept === 0 ? "withdrawn_before" : "withdrawn_all";
  const counts = { done: String(withdrawn), left: String(kept), before: String(ids.length - withdrawn - kept) };
  return request.told("/drafts", news, counts, hereIn(request));
}

const withdrawDrafts = signedIn(async (request) => {
  const draft_ids = ticked(request.c.req.queries("draft") ?? []);
  return toldWithdrawn(request, await request.own("withdraw_drafts", { draft_ids }), draft_ids);
});

const idOf = ({ c }: PortalRequest) => c.req.param("id") ?? "";

const read = (request: PortalRequest, with_link: boolean) =>
  request.attempt(
    request.own("read_portal_draft", {
      draft_id: idOf(request),
      with_link,
      links: claimLinks(request.environment),
    }),
    ["draft_not_found"],
  );

/** The link is a secret: it is on the page once, when it was asked for. */
const showDraft = signedIn(async (request) => {
  const news = request.news().typed.get("news");
  const { answer, refused } = await read(request, news === "link");
  return refused ? request.unknown() : request.page(draftPage(request.frame, answer, news, hereIn(request)));
});

const showLink = signedIn(async (request) => {
  const { refused } = await read(request, false);
  return refused ? request.unknown() : request.told(`/drafts/${idOf(request)}`, "link", {}, hereIn(request));
});

const inviteAgain = signedIn(async (request) => {
  const inviting = request.own("invite_draft_again", {
    draft_id: idOf(request),
    links: claimLinks(request.environment),
  });
  const { answer, refused } = await request.attempt(inviting, ["draft_not_found"]);
  if (refused) return request.unknown();
  return request.told(`/drafts/${idOf(request)}`, answer.state === "may" ? "sent" : "not_sent", {}, hereIn(request));
});

const askWithdraw = signedIn(async (request) => {
  const { answer, refused } = await read(request, false);
  if (refused) return request.unknown();
  if (answer.draft.status === "active") return request.go(`/drafts/${idOf(request)}`, hereIn(request));
  return request.page(askWithdrawPage(request.frame, answer, hereIn(request)));
});

const withdraw = signedIn(async (request) => {
  const withdrawing = request.own("withdraw_draft", { draft_id: idOf(request) });
  const { refused } = await request.attempt(withdrawing, ["draft_not_found", "draft_active"]);
  // it signed meanwhile, which its page says
  if (refused?.code === "draft_active") return request.go(`/drafts/${idOf(request)}`, hereIn(request));
  // withdrawn before, by this form or a colleague
  return request.told("/drafts", refused ? "withdrawn_before" : "withdrawn", {}, hereIn(request));
});

export const handlers = {
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

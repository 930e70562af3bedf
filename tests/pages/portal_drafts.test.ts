// The drafts of a partner on its own pages: what is wrong with each, the invitation once more, the link, and the end of it.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimKey } from "#shared/domain/claim/links.ts";
import { later, type SandboxWorld, START } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
let other: Browser;
let manager: Manager;
beforeAll(async () => {
  world = await createCustomerWorld();
  manager = await newManager(world, world.partnerA);
  ask = await portalBrowser(world, manager);
  other = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(() => world.close());

const page = (query = "") => portal(world, `/drafts${query}`);
const listed = (text: string) => [...text.matchAll(/drafts\/[0-9a-f-]{36}[^>]*>([^<]*)/g)].map(([, name]) => name);
/** Sends a form as the page of the draft has it, and follows to the page that tells what came of it. */
async function send(browser: Browser, draft_id: string, what: string, fields: Record<string, string> = {}) {
  const { text } = await browser(page(`/${draft_id}`));
  return browser(page(`/${draft_id}/${what}`), { form: { form_token: formToken(text), ...fields } });
}
const mailsTo = (email: string) =>
  world.rows("select template, cause from core.mail_outbox where recipient = $1 order by created_at, cause", email);
const DAY = 86_400;

describe("§4.2 the drafts of a partner on its pages", () => {
  test("are listed newest first, and found by what was uploaded, by status, and by what needs attention", async () => {
    const expiring = await world.draft({ naam: "Vera Verloopt", external_ref: "REF-VERA" });
    await world.row(
      "update core.drafts set expires_at = $2 where id = $1 returning 1",
      expiring.draft_id,
      later(13 * DAY),
    );
    const conflict = await world.draft({ naam: "Karel Conflict" });
    await world.row(
      "update core.drafts set status = 'conflict', conflict_reason = 'ean_in_use' where id = $1 returning 1",
      conflict.draft_id,
    );
    const several = await world.draft({ naam: "Mia Meer" });
    await world.row("update core.drafts set ean_status = 'ambiguous' where id = $1 returning 1", several.draft_id);
    const gone = await world.draft({ naam: "Eddy Eerder" });
    await world.row("update core.drafts set expires_at = $2 where id = $1 returning 1", gone.draft_id, later(-1));
    const foreign = await world.draft({ naam: "Zus Zelfde", external_ref: "REF-VERA" }, world.keyB);
    const found = async (query: string) => listed((await ask(page(query))).text).sort();
    expect(await found("")).toEqual(["Eddy Eerder", "Karel Conflict", "Mia Meer", "Vera Verloopt"]);
    expect(await found("?q=ref-vera")).toEqual(["Vera Verloopt"]);
    expect(await found(`?q=${conflict.email.toUpperCase()}`)).toEqual(["Karel Conflict"]);
    expect(await found("?q=%25")).toEqual([]);
    expect(await found("?q=%00")).toHaveLength(4);
    expect(await found("?status=expired")).toEqual(["Eddy Eerder"]);
    expect(await found("?status=nonsense")).toHaveLength(4);
    expect(await found("?needs=conflict")).toEqual(["Karel Conflict"]);
    expect(await found("?needs=ean")).toEqual(["Mia Meer"]);
    expect(await found("?needs=expiring")).toEqual(["Vera Verloopt"]);
    expect(await found("?needs=expiring&status=conflict")).toEqual([]);
    expect(await found(`?after=${foreign.draft_id}`)).toHaveLength(4);
    // whose address or EAN it is, is nobody's business
    const { text } = await ask(page(`/${conflict.draft_id}`));
    expect(text).toContain("het e-⁠mailadres of de aansluiting staat al op een andere manier bij ons");
    expect(text).not.toContain("ean_in_use");
    for (const each of [expiring, conflict, several, gone])
      expect((await ask(page(`/${each.draft_id}?lang=en`))).status).toBe(200);
    expect(listed((await other(page())).text)).toEqual(["Zus Zelfde"]);
  });

  test("a page goes on behind its last draft, and neither repeats nor skips one", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Vol', 'vol') returning id");
    await world.row(
      `insert into core.drafts (partner_id, batch_id, source, type, name, email, ean_status, send_invite, created_at, expires_at)
       select $1, gen_random_uuid(), 'csv', 'particulier', 'Nr ' || n, 'vol' || n || '@voorbeeld.nl', 'resolved', false, now() - make_interval(secs => n / 3), now() + interval '60 days'
         from generate_series(1, 5120) n`,
      id,
    );
    const browser = await portalBrowser(world, await newManager(world, { id }));
    const seen: (string | undefined)[] = [];
    let next: string | undefined = page("?q=Nr 51".replace(" ", "+"));
    while (next) {
      const { text } = (await browser(next)) as { text: string };
      seen.push(...listed(text));
      next = /href="([^"]*)">(?:Volgende|Zoek verder onder oudere aanmeldingen)</
        .exec(text)?.[1]
        ?.replaceAll("&amp;", "&");
    }
    // 51, 510 to 519, 5100 to 5120: the last are behind what one page looks through
    expect([seen.length, new Set(seen).size]).toEqual([1 + 10 + 21, 1 + 10 + 21]);
    await world.rows("delete from core.drafts where partner_id = $1 and split_part(name, ' ', 2)::int > 5000", id);
    const { text } = await browser(page());
    expect(text).toContain("1 tot en met 25 van 5.000");
    expect(text, "there are no older ones").not.toContain("Zoek verder");
  });

  test("chips count each stage whatever else is looked for, the list says where one is, sorts, and is downloaded whole", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Chips', 'chips') returning id");
    await world.row(
      `insert into core.drafts (partner_id, batch_id, source, type, name, email, city, ean_status, send_invite, status, created_at, expires_at)
       select $1, gen_random_uuid(), 'csv', 'particulier', chr(90 - n % 26) || ' nr ' || n, 'chips' || n || '@voorbeeld.nl', 'Plaats ' || n, 'resolved', false,
              case when n <= 3 then 'claimed' else 'invited' end, now() - make_interval(secs => n), now() + make_interval(days => 70 - n)
         from generate_series(1, 60) n`,
      id,
    );
    const browser = await portalBrowser(world, await newManager(world, { id }));
    const at = async (query: string) => (await browser(page(query))).text;
    const chips = (text: string) =>
      [...text.matchAll(/>([A-Z][^<]*) <strong>(\d+)<\/strong>/g)].map(([, name, count]) => `${name} ${count}`);
    const first = await at("");
    expect(chips(first), "nobody is at the others").toEqual(["Uitgenodigd 57", "Begonnen 3"]);
    expect(first).toContain("1 tot en met 25 van 60");
    const [second, third] = [await at("?page=2"), await at("?page=3")];
    expect(third).toContain("51 tot en met 60 van 60");
    expect(new Set([first, second, third].flatMap(listed)).size).toBe(60);
    expect(chips(await at("?status=claimed"))).toEqual(["Begonnen 3", "Uitgenodigd 57"]);
    expect(listed(await at("?status=begun")), "started, or a customer since").toHaveLength(3);
    expect(listed(await at("?status=claimed"))).toHaveLength(3);
    expect(await at("?status=claimed")).toContain("1 tot en met 3 van 3");
    const pages = await Promise.all(["", "&page=2", "&page=3"].map((each) => at(`?sort=name${each}`)));
    const byName = pages.flatMap(listed).map((name) => name?.[0]);
    expect(byName).toHaveLength(60);
    expect(byName).toEqual(byName.toSorted());
    expect(await at("?sort=name")).toMatch(/<th [^>]*aria-sort="ascending"><a [^>]*>Wie</);
    expect(listed(await at("?sort=oldest"))[0]).toBe(listed(third).at(-1));
    expect(listed(await at("?sort=until"))[0]).toContain("nr 60");
    expect(listed(await at("?sort=nonsense"))).toEqual(listed(first));
    const { text: csv } = await browser(portal(world, "/drafts.csv"));
    expect(csv.trim().split("\r\n")).toHaveLength(61);
    expect((await browser(portal(world, "/drafts.csv?status=claimed"))).text.trim().split("\r\n")).toHaveLength(4);
  });

  test("those that are ticked are mailed at once, or withdrawn after a question; another partner's are left alone", async () => {
    const drafts = await Promise.all(["Anna", "Bert", "Carla"].map((naam) => world.draft({ naam })));
    const foreign = await world.draft({ naam: "Vreemd" }, world.keyB);
    const ids = [...drafts, foreign].map(({ draft_id }) => draft_id);
    const [anna] = drafts;
    const [, every = ""] = /href="([^"]+tick=all[^"]*)"/.exec((await ask(page())).text) ?? [];
    const { text: chosen } = await ask(every.replaceAll("&amp;", "&"));
    expect(chosen.match(/ checked/g)).toHaveLength(chosen.match(/name="draft"/g)?.length ?? 0);
    const post = async (to: string, fields: [string, string][]) => {
      const form = new FormData();
      form.set("form_token", formToken((await ask(page())).text));
      for (const [name, value] of fields) form.append(name, value);
      const encoded = new URLSearchParams([...form].map(([name, value]) => [name, String(value)]));
      return ask(page(to), { form: encoded });
    };
    const all = ids.map((id): [string, string] => ["draft", id]);
    await send(ask, anna?.draft_id ?? "", "invite");
    const sent = await post("/act", [["act", "remind"], ...all, ["draft", "x"]]);
    expect(sent.text).toContain("2 gemaild. 1 niet:");
    expect(await mailsTo(foreign.email)).toEqual([]);
    expect((await post("/act", [["act", "remind"]])).text).toContain("U heeft niemand gekozen.");

    const { location } = await post("/act?status=invited&sort=name", [["act", "withdraw"], ...all.slice(1)]);
    const asked = await ask(location ?? "");
    expect(heading(asked.text)).toBe("2 aanmeldingen intrekken?");
    expect(asked.text, "who").toContain("<p>Bert en Carla.</p>");
    expect(asked.text, "nobody of another partner").not.toContain("Vreemd");
    const inEnglish = /href="([^"]+)"[^>]*>English</.exec(asked.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect((await ask((location ?? "").split("?")[0] + inEnglish)).text).toContain("<p>Bert and Carla.</p>");
    expect(asked.text, "nobody of them began").not.toContain("De klant was al begonnen");
    const BEGUN = "Wie al begonnen was, verliest wat is ingevuld, maar kan nog inloggen.";
    expect(asked.text).not.toContain(BEGUN);
    const begin = (at: string) =>
      world.row(`update core.drafts set claimed_at = ${at} where id = $1 returning 1`, ids[1]);
    await begin("private.now()");
    expect((await ask(location ?? "")).text, "one of them began").toContain(BEGUN);
    await begin("null");
    const count = async () =>
      (await world.row("select count(*)::int as n from core.drafts where id = any ($1)", ids)).n;
    expect(await count()).toBe(4);
    const these = `/withdraw?${new URLSearchParams([...all.slice(1), ["status", "invited"], ["sort", "name"]])}`;
    const told = await Promise.all(Array.from({ length: 5 }, () => post(these, [])));
    expect(await count(), "the first and the other partner's stay").toBe(2);
    for (const { text } of told) expect(text, "the filter and the order stay").toMatch(/value="name" selected/);
    const again = await post(these, []);
    expect(again.text).toContain("Al eerder ingetrokken. Er is nu niets veranderd.");
    const one = await post("/act?sort=city", [["act", "withdraw"], ...all]);
    expect((await ask(one.location ?? "")).text).toContain("1 aanmelding intrekken?");
    const left = await ask(page(`/withdraw?sort=city&${new URLSearchParams(all.slice(1))}`));
    expect(left.location, "asked about what is gone").toContain("sort=city");
    expect((await ask(left.location ?? "")).text).toContain("Al eerder ingetrokken.");
    expect((await ask(page("/withdraw"))).status, "nobody is named").toBe(303);
  });

  test("of many that are withdrawn the first are named; their page of the list, empty now, gives way to the last one", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Veel', 'veel') returning id");
    await world.row(
      `insert into core.drafts (partner_id, batch_id, source, type, name, email, ean_status, send_invite, created_at, expires_at)
       select $1, gen_random_uuid(), 'csv', 'particulier', 'Nr ' || n, 'veel' || n || '@voorbeeld.nl', 'resolved', false, now() - make_interval(secs => n), now() + interval '60 days'
         from generate_series(1, 58) n`,
      id,
    );
    const browser = await portalBrowser(world, await newManager(world, { id }));
    const { text } = await browser(page("?page=3"));
    const draft_ids = [...text.matchAll(/name="draft" value="([^"]+)"/g)].map(([, draft = ""]) => ["draft", draft]);
    const form = new URLSearchParams([["form_token", formToken(text)], ["act", "withdraw"], ...draft_ids]);
    const { location } = await browser(page("/act?page=3"), { form });
    const asked = await browser(location ?? "");
    expect(asked.text).toContain("<p>Nr 51, Nr 52, Nr 53, Nr 54, Nr 55 en 3 anderen.</p>");
    const to = /action="([^"]*\/drafts\/withdraw[^"]*)"/.exec(asked.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const colleague = await portalBrowser(world, await newManager(world, { id }));
    const theirs = formToken((await colleague(to)).text);
    const shown = await Promise.all(
      [browser, colleague].map(async (each, index) => {
        const done = await each(to, { form: { form_token: index === 0 ? formToken(asked.text) : theirs } });
        return done.location ? await each(done.location) : done;
      }),
    );
    // two colleagues do it at once: the second is never told that these became customers
    const told = shown.map(({ text }) => /class="panel[^>]*role="status"[^>]*>([^<]*)/.exec(text)?.[1]);
    expect(told.sort()).toEqual(["8 ingetrokken.", "Al eerder ingetrokken. Er is nu niets veranderd."]);
    for (const { text } of shown) expect(text).toContain("26 tot en met 50 van 50");
  });

  test("of two who withdraw and mail the same at once, neither is refused", async () => {
    for (let round = 0; round < 5; round++) {
      const drafts = await Promise.all(Array.from({ length: 10 }, () => world.draft()));
      const ids = drafts.map(({ draft_id }): [string, string] => ["draft", draft_id]);
      const [one, two] = await Promise.all(
        [manager, await newManager(world, world.partnerA)].map((each) => portalBrowser(world, each)),
      );
      const post = async (browser: Browser, to: string, fields: [string, string][]) => {
        const form = new URLSearchParams([["form_token", formToken((await browser(page())).text)], ...fields]);
        return browser(page(to), { form });
      };
      const answers = await Promise.all([
        post(one as Browser, `/withdraw?${new URLSearchParams(ids)}`, []),
        post(two as Browser, "/act", [["act", "remind"], ...ids]),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
  });

  test("the invitation is mailed once more, a day apart and three times at most, and the page says when", async () => {
    const { draft_id, email } = await world.draft({ naam: "Iris Invite" });
    expect((await ask(page(`/${draft_id}`))).text).toContain("Mail de uitnodiging<");
    const { text } = await send(ask, draft_id, "invite");
    expect(text).toContain("De uitnodiging is gemaild.");
    expect(text).toContain("Opnieuw mailen kan vanaf 21 november 2026");
    expect(text).not.toContain("/invite?");
    expect(await mailsTo(email)).toEqual([{ template: "claim", cause: `claim_resent:${draft_id}:1` }]);
    // the form of before, sent again
    expect((await send(ask, draft_id, "invite")).text).toContain("De uitnodiging is niet gemaild.");
    for (const days of [1, 2, 3]) {
      await world.travel(later(days * DAY + 60));
      const browser = await portalBrowser(world, manager);
      await send(browser, draft_id, "invite");
      expect(await mailsTo(email)).toHaveLength(Math.min(days + 1, 3));
      if (days === 3) expect((await browser(page(`/${draft_id}`))).text).toContain("al drie keer");
    }
    await world.travel(START);
    const audit = await world.rows(
      "select details ->> 'manager_id' as manager from core.audit_log where action = 'draft.invited_again' and subject_id = $1",
      draft_id,
    );
    expect(audit).toEqual(Array(3).fill({ manager: manager.user_id }));
  });

  test("its page leads back to the list as it was, also after something was done or refused there", async () => {
    const { draft_id } = await world.draft({ naam: "Fien Filter" });
    const { text } = await ask(page("?status=invited&sort=name&q=Filter"));
    const to = (of: string, inside: RegExp) => inside.exec(of)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const back = (of: string) =>
      new URL(to(of, /href="([^"]+)">(?:Alle aanmeldingen|Trek niets in)</), world.url).searchParams;
    const expected = { lang: "nl", q: "Filter", status: "invited", sort: "name" };
    const own = await ask(to(text, /href="([^"]+)">Fien Filter</));
    expect(Object.fromEntries(back(own.text))).toEqual(expected);
    const form = { form_token: formToken(own.text) };
    for (const what of ["invite", "link"]) {
      const done = await ask(to(own.text, new RegExp(`action="([^"]+/${what}[^"]*)"`)), { form });
      const shown = done.location ? await ask(done.location) : done;
      expect(Object.fromEntries(back(shown.text)), what).toEqual(expected);
    }
    const asked = await ask(to(own.text, /href="([^"]+\/withdraw[^"]*)"/));
    expect(Object.fromEntries(back(asked.text)), "no").toEqual(expected);
    const withdrawn = await ask(to(asked.text, /action="([^"]+\/withdraw[^"]*)"/), { form });
    const list = withdrawn.location ? await ask(withdrawn.location) : withdrawn;
    expect(list.text, draft_id).toMatch(/value="name" selected/);
    expect(list.text).toContain('value="Filter"');
  });

  test("ten clicks at once send one mail", async () => {
    const { draft_id, email } = await world.draft();
    await Promise.all(Array.from({ length: 10 }, () => send(ask, draft_id, "invite")));
    expect(await mailsTo(email)).toHaveLength(1);
  });

  test("nobody is mailed who opted out, signed, expired or conflicts", async () => {
    const out = await world.draft({ naam: "Otto Opt-out" });
    await world.row(
      "insert into core.suppressions (email_hash) values (private.email_hash($1, $2)) returning 1",
      out.email,
      claimKey(world.environment),
    );
    expect((await ask(page(`/${out.draft_id}`))).text).toContain("wil geen mail meer");
    await send(ask, out.draft_id, "invite");
    expect(await mailsTo(out.email)).toEqual([]);
    for (const status of ["expired", "conflict"]) {
      const { draft_id, email } = await world.draft();
      await world.row("update core.drafts set status = $2 where id = $1 returning 1", draft_id, status);
      await send(ask, draft_id, "invite");
      expect(await mailsTo(email)).toEqual([]);
      expect((await send(ask, draft_id, "link")).text).not.toContain("/claim/");
    }
  });

  test("the link is shown when it is asked for, once, and is the one that the API gives", async () => {
    const { draft_id, claim_url } = await world.draft();
    expect((await ask(page(`/${draft_id}`))).text).not.toContain("/claim/");
    const { text } = await send(ask, draft_id, "link");
    expect(text).toContain(`value="${claim_url}" readonly`);
    expect((await ask(page(`/${draft_id}`))).text).not.toContain("/claim/");
    expect((await ask(page())).text).not.toContain("/claim/");
    // no address shows it
    expect((await ask(page(`/${draft_id}?news=link&with_link=true`))).text).not.toContain("/claim/");
  });

  test("is withdrawn after being asked twice, once, and never when it is active", async () => {
    const { draft_id, email } = await world.draft({ naam: "Wout Weg" });
    const asked = await ask(page(`/${draft_id}/withdraw`));
    expect([asked.status, heading(asked.text)]).toEqual([200, "Aanmelding van Wout Weg intrekken?"]);
    const form = { form_token: formToken(asked.text) };
    const done = await ask(page(`/${draft_id}/withdraw`), { form });
    expect([heading(done.text), done.text.includes("De aanmelding is ingetrokken.")]).toEqual(["Aanmeldingen", true]);
    expect(await world.rows("select from core.drafts where email = $1", email)).toEqual([]);
    const again = await ask(page(`/${draft_id}/withdraw`), { form });
    expect(again.text).toContain("Al eerder ingetrokken.");
    expect(again.text).not.toContain("De aanmelding is ingetrokken.");

    const signed = await world.draft({ naam: "Alie Actief" });
    await world.claim(signed.draft_id, { submit: true });
    expect((await ask(page(`/${signed.draft_id}/withdraw`))).location).toContain(`/drafts/${signed.draft_id}?`);
    expect((await ask(page(`/${signed.draft_id}/withdraw`), { form })).location).toContain(
      `/drafts/${signed.draft_id}?`,
    );
    const { text } = await ask(page(`/${signed.draft_id}`));
    const to = /href="([^"]*customers\/cus_[^"]*)"/.exec(text)?.[1] ?? "";
    expect(heading((await ask(to)).text)).toContain("Alie Actief");
  });

  test("another partner's draft is unknown on every path, and stays as it was", async () => {
    const { draft_id, email } = await world.draft({ naam: "Ada Andermans" });
    const form = { form_token: formToken((await other(page())).text) };
    for (const path of [`/${draft_id}`, `/${draft_id}/withdraw`]) expect((await other(page(path))).status).toBe(404);
    for (const what of ["link", "invite"])
      expect((await other(page(`/${draft_id}/${what}`), { form })).status).toBe(404);
    const { text } = await other(page(`/${draft_id}/withdraw`), { form });
    expect(text, "as of one that was withdrawn before").toContain("Al eerder ingetrokken.");
    expect(await mailsTo(email)).toEqual([]);
    expect(await world.rows("select status from core.drafts where id = $1", draft_id)).toEqual([{ status: "invited" }]);
    for (const path of ["/nonsense", `/${crypto.randomUUID()}`]) expect((await ask(page(path))).status).toBe(404);
  });

  test("a form of elsewhere does nothing", async () => {
    const { draft_id, email } = await world.draft();
    for (const what of ["link", "invite", "withdraw"])
      for (const form of [{}, { form_token: "0".repeat(64) }])
        expect((await ask(page(`/${draft_id}/${what}`), { form })).status).toBe(403);
    expect(await mailsTo(email)).toEqual([]);
    expect(await world.rows("select status from core.drafts where id = $1", draft_id)).toEqual([{ status: "invited" }]);
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { attempt } from "#shared/foundation/attempt.ts";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Ask, issueLink, linkFor, mailedCode, pageClient, readMandate, readyToSign } from "./signatory.ts";

let world: World;
let ask: Ask;
beforeAll(async () => {
  world = await createWorld({ limits: { lifted: ["page", "cpo_write"] } });
  ask = pageClient(world);
});
afterAll(() => world.close());

const heading = (text: string) => /<h1>([^<]*)<\/h1>/.exec(text)?.[1];
const mandateOf = (connection_id: string) =>
  world.row("select * from core.mandates where connection_id = $1", connection_id);
const linkRow = (connection_id: string) =>
  world.row(
    "select * from core.mandate_links where connection_id = $1 order by created_at desc limit 1",
    connection_id,
  );
const codeRow = async (connection_id: string) =>
  world.row("select * from core.one_time_codes where subject = $1", `mandate:${(await linkRow(connection_id)).id}`);
const count = async (statement: string, ...values: unknown[]) =>
  Number((await world.row(`select count(*) as n from ${statement}`, ...values)).n);

describe("§2 signing", () => {
  test("stores the evidence: the text, its SHA-256, name, code proof, address, user agent, time", async () => {
    const issued = await issueLink(world, {}, { validity_years: 3 });
    const form = await readyToSign(world, ask, issued);
    const shown = (await ask(`${issued.link}/document`)).text;
    const sent = { ...form, name: "  Sanne  🐢 de Vries ", code: `${form.code?.slice(0, 3)} ${form.code?.slice(3)}` };
    const signed = await ask(`${issued.link}/sign`, { form: sent, headers: { "user-agent": "Firefox/1.0" } });
    expect(signed.status).toBe(303);
    expect(signed.location).toBe(`/pages/mandate/${issued.token}?lang=nl`);

    const year = thisYear();
    const mandate = await mandateOf(issued.connection_id);
    expect(mandate).toMatchObject({
      status: "signed",
      signed_name: "Sanne  🐢 de Vries",
      code_confirmed: true,
      code_sent_to: "sanne@example.nl",
      address: "192.0.2.9",
      user_agent: "Firefox/1.0",
    });
    expect(mandate.document).toBe(shown);
    expect(mandate.document).toContain(`31 december ${year + 2}`);
    expect(mandate.document_sha256).toBe(hashSecret(shown));
    expect((await codeRow(issued.connection_id)).code_hash, "a code is used once").toBeNull();
    const copy = await world.mail("where cause = 'mandate_signed:' || $1", mandate.link_id);
    expect(copy.text).toContain(shown);
    expect(copy.links).toEqual([issued.link]);
  });

  test("the signed text can be fetched again by the same link, also after the link's 14 days", async () => {
    const issued = await issueLink(world, {}, { locale: "en" });
    await ask(`${issued.link}/sign`, { form: await readyToSign(world, ask, issued) });
    await world.row(
      "update core.mandate_links set expires_at = private.now() where connection_id = $1",
      issued.connection_id,
    );
    const { document, document_sha256 } = await mandateOf(issued.connection_id);
    const again = await ask(`${issued.link}/document`);
    expect(again.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(again.headers.get("content-disposition")).toBe('attachment; filename="mandate.txt"');
    expect(again.text.startsWith(document)).toBe(true);
    expect(again.text).toContain(document_sha256);
    const page = await ask(`${issued.link}?lang=nl`);
    expect(heading(page.text)).toBe("U heeft ondertekend");
    expect(page.text, "the way to pages of their own").toContain("/mijn?lang=nl");
    expect(page.text, "its text is folded").toMatch(/<details class="folded"><summary>[^<]+<\/summary>\s*<article/);
    expect(page.text, "the text keeps the language it was signed in").toContain('<article class="document" lang="en"');
    await world.row("update core.mandates set status = 'revoked' where connection_id = $1", issued.connection_id);
    expect((await ask(issued.link)).text).toContain("It is no longer valid");
  });

  test("without an e-mail address the name and tick suffice, and that is recorded", async () => {
    const issued = await issueLink(world, { person: { full_name: "Sanne de Vries" } });
    const seen = await readMandate(ask, issued.link);
    const page = await ask(`${issued.link}/sign?seen=${seen}`);
    expect(page.text).toContain("geen e-⁠mailadres");
    expect(page.text).not.toContain('name="code"');
    expect(page.text, "back to the period that was chosen").toMatch(/href="[^"]*[?&;]years=1"/);
    const signed = await ask(`${issued.link}/sign`, { form: { seen, name: "Sanne", agree: "yes" } });
    expect(signed.status).toBe(303);
    expect(await mandateOf(issued.connection_id)).toMatchObject({ code_confirmed: false, code_sent_to: null });
    expect((await ask(issued.link)).text).toContain("alleen de naam");
    expect((await ask(issued.link)).text, "no address, no pages of their own").not.toContain("/mijn?");
    const code = await ask(`${issued.link}/code`, { form: { seen } });
    expect(code.status).toBe(303);
  });

  test.each(["zakelijk", "vve"])("who signs for a %s has to tick the authority to sign", async (type) => {
    const issued = await issueLink(world, { type, company: { name: "Korenaar B.V.", kvk: "12345678", vat: null } });
    const form = await readyToSign(world, ask, issued);
    const refused = await ask(`${issued.link}/sign`, { form });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("Vink aan dat u mag ondertekenen");
    expect((await ask(`${issued.link}/sign`, { form: { ...form, authority: "yes" } })).status).toBe(303);
    expect((await mandateOf(issued.connection_id)).document).toContain("Ik mag namens Korenaar B.V. ondertekenen.");
  });

  test("ten at once: one signature, and the other nine see it", async () => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(`${issued.link}/sign`, { form })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(303));
    expect(await count("core.mandates where connection_id = $1", issued.connection_id)).toBe(1);
    expect(
      await count("core.audit_log where subject_id = $1 and action = 'mandate.signed'", issued.connection_id),
    ).toBe(1);
    expect(heading((await ask(issued.link)).text)).toBe("U heeft ondertekend");
  });

  test("ten at once in SQL: one signs, nine are refused with link_not_open", async () => {
    const { token, connection_id } = await issueLink(world, { person: { full_name: "Sanne de Vries" } });
    const caller = { kind: "anyone", host: "sandbox", request_id: "race" };
    const token_hash = hashSecret(token);
    const { db } = world.environment;
    const { facts, periods } = JSON.parse(
      await db.call("open_mandate_link", caller, { token_hash, address_hash: "race" }),
    );
    const request = {
      token_hash,
      facts: { ...facts, ...periods[0] },
      signed_name: "S",
      document: "d",
      document_sha256: "h",
      address: "a",
      user_agent: "u",
    };
    const attempts = await Promise.all(
      Array.from({ length: 10 }, () => attempt(db.call("sign_mandate", caller, request), ["link_not_open"])),
    );
    expect(attempts.filter(({ refused }) => refused)).toHaveLength(9);
    expect(await count("core.mandates where connection_id = $1", connection_id)).toBe(1);
  });

  test("signing and declining at once: one of them happened", async () => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    await Promise.all([ask(`${issued.link}/sign`, { form }), ask(`${issued.link}/decline`, { form: {} })]);
    expect(await count("core.mandates where connection_id = $1", issued.connection_id)).toBe(1);
  });
});

describe("§2 what is typed", () => {
  const nothing = { name: "", agree: "" };
  test("every field that is wrong is named, linked, and described; the name is kept, the code is not", async () => {
    const issued = await issueLink(world);
    const { seen = "" } = await readyToSign(world, ask, issued);
    const { status, text } = await ask(`${issued.link}/sign`, {
      form: { seen, code: "12 typed", name: '"><script>x' },
    });
    expect(status).toBe(422);
    expect(text).toContain("<title>Fout: ");
    for (const id of ["code", "agree"]) {
      expect(text).toContain(`<a href="#${id}">`);
      expect(text).toContain(`id="${id}-error"`);
    }
    expect(text).toContain('aria-describedby="code-hint code-error" aria-invalid="true"');
    expect(text).toContain('value="&quot;&gt;&lt;script&gt;x"');
    expect(text).not.toContain("<script>");
    expect(text).not.toContain("12 typed");
  });

  test.each([
    ["one letter", "S"],
    ["spaces", "   "],
    ["NUL", "San\u0000ne"],
    ["a line break", "San\nne"],
    ["121 characters", "s".repeat(121)],
  ])("a name of %s is asked again", async (_what, name) => {
    const issued = await issueLink(world, { person: { full_name: "Sanne de Vries" } });
    const seen = await readMandate(ask, issued.link);
    const answer = await ask(`${issued.link}/sign`, { form: { seen, name, agree: "yes" } });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain("Typ uw voornaam en achternaam");
    expect(await mandateOf(issued.connection_id)).toBeUndefined();
  });

  test.each([
    "'; drop table core.mandates; --",
    "Łukasz Żółć-Ñandú",
    "محمد علي",
    "山田 太郎",
    "{{partner_name}}",
    "O'Brien <b>&amp;",
  ])("the name %s is a name like any other", async (full_name) => {
    const issued = await issueLink(world, { person: { full_name, email: "naam@example.nl" } });
    const form = { ...(await readyToSign(world, ask, issued)), name: full_name };
    expect((await ask(`${issued.link}/sign`, { form })).status).toBe(303);
    const mandate = await mandateOf(issued.connection_id);
    expect(mandate.signed_name).toBe(full_name);
    expect(mandate.document).toContain(`Naam: ${full_name}\n`);
    expect((await ask(issued.link)).text).not.toContain("<b>");
  });

  test("the fifth wrong code is the last; the right one no longer helps, a new one does", async () => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    const wrong = form.code === "000000" ? "000001" : "000000";
    for (let attempt = 0; attempt < 5; attempt++) {
      const answer = await ask(`${issued.link}/sign`, { form: { ...form, code: wrong } });
      expect(answer.status).toBe(422);
      expect(answer.text).toContain("Deze code klopt niet");
      expect(answer.text, "what was typed is kept").toContain('value="Sanne de Vries"');
      expect(answer.text).toMatch(/name="agree" value="yes" required checked/);
    }
    const locked = await ask(`${issued.link}/sign`, { form });
    expect(locked.text).toContain("te vaak een verkeerde code");
    expect((await ask(`${issued.link}/code`, { form: { seen: form.seen ?? "" } })).status).toBe(303);
    const code = await mailedCode(world, issued.connection_id);
    expect((await ask(`${issued.link}/sign`, { form: { ...form, code } })).status).toBe(303);
  });

  test("only the newest code works", async () => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    const { seen = "" } = form;
    expect((await ask(`${issued.link}/code`, { form: { seen } })).status).toBe(303);
    const newest = await mailedCode(world, issued.connection_id);
    if (newest !== form.code)
      expect((await ask(`${issued.link}/sign`, { form })).text).toContain("Deze code klopt niet");
    expect((await ask(`${issued.link}/sign`, { form: { ...form, code: newest } })).status).toBe(303);
  });

  test("a code proves the address it was mailed to, and none that came in its place", async () => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    const moved = "update core.signatories set email = $2 where account_id = $1";
    await world.row(moved, issued.account_id, "ander@example.nl");
    const again = { ...form, seen: await readMandate(ask, issued.link) };
    expect((await ask(`${issued.link}/sign`, { form: again })).text).toContain("Deze code werkt niet meer");
    expect(await mandateOf(issued.connection_id)).toBeUndefined();
  });

  test("the code is kept as a hash that the database cannot try out, and is not in the log", async () => {
    const issued = await issueLink(world);
    const { code = "" } = await readyToSign(world, ask, issued);
    const { code_hash } = await codeRow(issued.connection_id);
    expect(code_hash.toString("hex")).toBe(hashSecret(`${issued.token}:${code}`));
    expect(JSON.stringify(world.log)).not.toContain(issued.token);
    expect(JSON.stringify(world.log)).not.toContain(hashSecret(issued.token));
  });

  test("an empty form and a form of the wrong type store nothing", async () => {
    const issued = await issueLink(world);
    const seen = await readMandate(ask, issued.link);
    expect((await ask(`${issued.link}/sign`, { form: { seen, ...nothing } })).status).toBe(422);
    const json = await ask(`${issued.link}/sign`, { form: { seen }, headers: { "content-type": "application/json" } });
    expect(json.status).toBe(403);
    const huge = await ask(`${issued.link}/sign`, { form: { seen, name: "x".repeat(17_000) } });
    expect(huge.status).toBe(413);
    expect(huge.text).toContain("<h1>");
    expect(await mandateOf(issued.connection_id)).toBeUndefined();
  });
});

describe("§2 facts that change between reading and signing", () => {
  test("another holder name: nothing is signed, the mandate is read again", async () => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    await world.row("update core.signatories set full_name = 'Iemand Anders' where account_id = $1", issued.account_id);
    for (const answer of [
      await ask(`${issued.link}/sign`, { form }),
      await ask(`${issued.link}/sign?seen=${form.seen}`),
    ]) {
      expect(answer.status).toBe(409);
      expect(heading(answer.text)).toBe("De gegevens zijn gewijzigd");
    }
    expect(await mandateOf(issued.connection_id)).toBeUndefined();
    const seen = await readMandate(ask, issued.link);
    expect((await ask(`${issued.link}/sign`, { form: { ...form, seen } })).status).toBe(303);
  });

  test("SQL compares too: facts that changed between the two statements of one request", async () => {
    const { token } = await issueLink(world, { person: { full_name: "Sanne de Vries" } });
    const caller = { kind: "anyone", host: "sandbox", request_id: "t" };
    const { db } = world.environment;
    const opened = JSON.parse(
      await db.call("open_mandate_link", caller, { token_hash: hashSecret(token), address_hash: "t" }),
    );
    const request = {
      token_hash: hashSecret(token),
      facts: { ...opened.facts, city: "Elders" },
      signed_name: "S",
      document: "d",
      document_sha256: "h",
    };
    await expect(db.call("sign_mandate", caller, request)).rejects.toMatchObject({ code: "mandate_changed" });
  });

  test("connections:update voids the link that is open in a browser", async () => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    const updated = await world.post(
      "/v1/connections:update",
      { account_id: issued.account_id, connection: { house_number: "9" } },
      await world.partnerA.client.token(),
    );
    expect(updated.body).toMatchObject({ changed: true });
    const answer = await ask(`${issued.link}/sign`, { form });
    expect(answer.status).toBe(404);
    expect(heading(answer.text)).toBe("Deze link geldt niet meer");
    expect(await mandateOf(issued.connection_id)).toBeUndefined();
  });

  test("step 2 cannot be reached without step 1", async () => {
    const { link, token } = await issueLink(world);
    expect((await ask(`${link}/sign`)).location).toBe(`/pages/mandate/${token}?lang=nl`);
    expect((await ask(`${link}/sign`, { form: { name: "Sanne", agree: "yes", code: "123456" } })).status).toBe(409);
  });
});

describe("§2 links", () => {
  test("contract §9 of a deactivated partner are closed: nothing is mailed, signed or declined; once it is active again they open", async () => {
    const issued = await issueLink(world);
    const signed = await issueLink(world);
    expect((await ask(`${signed.link}/sign`, { form: await readyToSign(world, ask, signed) })).status).toBe(303);
    const form = await readyToSign(world, ask, issued);
    const set = (active: boolean) =>
      world.row("update core.partners set is_active = $2 where id = $1", world.partnerA.id, active);
    const mails = () => world.row("select count(*)::int as n from core.mail_outbox");
    const before = await mails();
    await set(false);
    try {
      for (const [path, sent] of [
        ["", undefined],
        ["/code", { seen: form.seen ?? "" }],
        ["/sign", form],
        ["/decline", {}],
      ] as const) {
        const page = await ask(issued.link + path, sent ? { form: sent } : {});
        expect([page.status, heading(page.text)], path).toEqual([404, "Deze link geldt niet meer"]);
      }
      expect([await mandateOf(issued.connection_id), await mails()]).toEqual([undefined, before]);
      expect((await ask(signed.link)).status, "what was signed can still be read").toBe(200);
    } finally {
      await set(true);
    }
    expect((await ask(`${issued.link}/sign`, { form })).status).toBe(303);
    expect((await mandateOf(issued.connection_id))?.status).toBe("signed");
  });

  test("unknown, tampered, voided and expired links: one status, no personal data, nothing to do with them", async () => {
    const voided = await issueLink(world);
    await linkFor(world, voided.account_id);
    const expired = await issueLink(world);
    await world.row(
      "update core.mandate_links set expires_at = private.now() where connection_id = $1",
      expired.connection_id,
    );
    const good = await issueLink(world);
    const flipped = good.link.slice(0, -1) + (good.link.endsWith("a") ? "b" : "a");
    const never = `${world.environment.config.PAGES_URL}/mandate/${newSecret()}`;
    const links = [
      voided.link,
      expired.link,
      flipped,
      never,
      `${good.link}x`,
      good.link.slice(0, -1),
      `${never.slice(0, -43)}%27%20or%201=1--`,
    ];
    for (const link of links) {
      for (const answer of [
        await ask(link),
        await ask(`${link}/document`),
        await ask(`${link}/sign?seen=1`),
        await ask(`${link}/decline`),
        await ask(`${link}/code`, { form: { seen: "1" } }),
        await ask(`${link}/sign`, { form: { seen: "1", name: "Sanne", agree: "yes" } }),
        await ask(`${link}/decline`, { form: {} }),
      ]) {
        expect(answer.status).toBe(404);
        expect(answer.text).not.toMatch(/Sanne|example\.nl|3818 ?LH|8716871|partner-a/);
        expect(answer.text).toMatch(/<h1>Deze link (werkt niet|is verlopen|geldt niet meer)<\/h1>/);
      }
    }
    expect(await mandateOf(expired.connection_id)).toBeUndefined();
  });

  test("a GET or HEAD changes nothing: mail scanners open every link", async () => {
    const { link, connection_id } = await issueLink(world);
    const before = await linkRow(connection_id);
    const mails = await count("core.mail_outbox");
    for (const path of ["", "/document", "/sign?seen=x", "/decline", "/code"])
      for (const method of ["GET", "HEAD"]) await ask(`${link}${path}`, { method });
    expect(await linkRow(connection_id)).toEqual(before);
    expect(await count("core.mail_outbox")).toBe(mails);
    expect(await mandateOf(connection_id)).toBeUndefined();
  });

  test("declining is final, and leaves the mandate declined", async () => {
    const issued = await issueLink(world, {}, { locale: "en" });
    const form = await readyToSign(world, ask, issued);
    expect((await ask(`${issued.link}/decline`, { form: {} })).status).toBe(303);
    const page = await ask(issued.link);
    expect(heading(page.text)).toBe("You have not signed");
    expect((await ask(`${issued.link}/sign`, { form })).location).toBe(`/pages/mandate/${issued.token}?lang=en`);
    expect(await mandateOf(issued.connection_id)).toMatchObject({ status: "declined", document: null });
  });

  test("the link back is the client's registered address, and never a script", async () => {
    const issued = await issueLink(world, {}, { return_url: "https://partner-a.example/klaar?x=1" });
    await ask(`${issued.link}/decline`, { form: {} });
    expect((await ask(issued.link)).text).toContain('href="https://partner-a.example/klaar?x=1" rel="noreferrer"');
    await world.row(
      "update core.mandate_links set return_url = 'javascript:alert(1)' where connection_id = $1",
      issued.connection_id,
    );
    expect((await ask(issued.link)).text).not.toContain("javascript:");
  });
});

describe("§2 requests", () => {
  test.each([
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["a sibling host", { "sec-fetch-site": "same-site" }],
    ["another origin, in a browser without Sec-Fetch-Site", { "sec-fetch-site": "", origin: "https://evil.example" }],
  ])("a form from %s is refused", async (_from, headers) => {
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    for (const path of ["/sign", "/code", "/decline"])
      expect((await ask(`${issued.link}${path}`, { form, headers })).status).toBe(403);
    expect(await mandateOf(issued.connection_id)).toBeUndefined();
  });

  test("a browser that sends no Sec-Fetch-Site signs as well: with our origin, or none for want of a referrer", async () => {
    const origin = new URL(world.environment.config.PAGES_URL).origin;
    for (const given of [origin, "null"]) {
      const issued = await issueLink(world, { person: { full_name: "Sanne de Vries" } });
      const seen = await readMandate(ask, issued.link);
      const answer = await ask(`${issued.link}/sign`, {
        form: { seen, name: "Sanne", agree: "yes" },
        headers: { "sec-fetch-site": "", origin: given },
      });
      expect(answer.status).toBe(303);
    }
  });

  test("every page forbids framing, storing, sniffing, indexing and telling its address", async () => {
    const { link } = await issueLink(world);
    for (const address of [link, `${link}/sign?seen=x`, `${link}x`, "/pages", "/pages/nothing"]) {
      const { headers } = await ask(address);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-robots-tag")).toContain("noindex");
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get("set-cookie")).toBeNull();
    }
    expect((await ask(link)).text).not.toMatch(/ style=|<style|<script(?! defer src="\/pages\/page\.js)| on\w+=/);
  });

  test("the log names the route and the outcome, never the link", async () => {
    const issued = await issueLink(world);
    world.log.length = 0;
    await ask(`${issued.link}/sign`, { form: await readyToSign(world, ask, issued) });
    expect(world.log.at(-1)).toMatchObject({
      event: "request",
      function: "pages",
      method: "POST",
      route: "/pages/mandate/:token/sign",
      status: 303,
      outcome: "signed",
    });
    expect(JSON.stringify(world.log)).not.toMatch(new RegExp(`${issued.token}|192\\.0\\.2\\.9|Sanne|example\\.nl`));
  });

  test("language: asked for, else the link's, else the browser's", async () => {
    const { link } = await issueLink(world, {}, { locale: "en" });
    expect((await ask(link, { headers: { "accept-language": "nl" } })).text).toContain('<html lang="en">');
    expect((await ask(`${link}?lang=nl`)).text).toContain('<html lang="nl">');
    expect((await ask(`${link}?lang=xx`)).text).toContain('<html lang="en">');
    expect((await ask(`${link}x`, { headers: { "accept-language": "en" } })).text).toContain('<html lang="en">');
  });

  test("at most two statements a request", async () => {
    const { db } = world.environment;
    let calls = 0;
    const count: typeof db.call = (...given) => {
      calls += 1;
      return db.call(...given);
    };
    const counting = { ...world, environment: { ...world.environment, db: { ...db, call: count } } };
    const counted = pageClient(counting);
    const issued = await issueLink(world);
    const form = await readyToSign(world, ask, issued);
    const steps: [string, Record<string, string> | undefined][] = [
      ["", undefined],
      [`/sign?seen=${form.seen}`, undefined],
      ["/code", { seen: form.seen ?? "" }],
      ["/sign", form],
      ["/document", undefined],
    ];
    for (const [path, sent] of steps) {
      calls = 0;
      await counted(`${issued.link}${path}`, sent ? { form: sent } : {});
      expect(calls, path).toBe(sent ? 2 : 1);
    }
  });

  test("the front page leads to the documentation of the API", async () => {
    const { text } = await ask("/pages");
    expect(text).toContain(`href="${world.environment.config.BASE_URL}/docs"`);
  });
});
